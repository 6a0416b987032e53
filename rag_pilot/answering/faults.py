"""What a call that failed means: end the run, wait and ask again, ask otherwise, or give this question up.

It reads the exceptions of the `openai` library and whatever an odd reply made of it; nothing is called or waited for
here. No text that leaves holds the key.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal

from ..errors import ModelError
from ..settings import ModelTable

SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Codes of a 429 that no waiting mends."""


class BrokenReplyError(ModelError):
    """A reply that says of itself that it is none; the next one may be whole."""


@dataclass(frozen=True)
class Fault:
    """A cause in one line and what to do; `after` is the wait that the endpoint asks for, in seconds."""

    text: str
    then: Literal["stop", "pause", "again", "adapt", "give up"]
    after: float | None = None
    parameter: str = ""  # that must not be sent
    unreached: bool = False  # nobody replied at all


def read_fault(error: Exception, key: str, settings: ModelTable) -> Fault:
    """What a failed call means.

    429: all wait. 401, 402, 403, 404 and a spent quota: the run ends, with the provider's text. 5xx, 408, 409, cut
    connection, time-out and half a JSON text: again. 400 for max_tokens, temperature or response_format: without. All
    else: given up.
    """
    import openai

    text, status, code = cause_of(error, key), getattr(error, "status_code", None), getattr(error, "code", None)
    if code == "content_filter":
        return Fault(text, "give up")
    if status == 429 and not SPENT & {code, getattr(error, "type", None)}:
        return Fault(text, "pause", _asked_wait(error))
    if status in (401, 402, 403, 404, 429):
        return Fault(_with_hint(text, status, settings), "stop")
    if status == 400 and (parameter := _refused_parameter(error)):
        return Fault(text, "adapt", parameter=parameter)
    if status in (408, 409) or (status or 0) >= 500:
        return Fault(text, "again", _asked_wait(error))
    never_there = type(error.__cause__).__name__ == "ConnectTimeout"  # of whichever HTTP library openai brings
    if isinstance(error, openai.APIConnectionError) and (never_there or not isinstance(error, openai.APITimeoutError)):
        where = settings.base_url or "its address"
        return Fault(f"{text} (is a server running at {where}?)", "again", unreached=True)
    if isinstance(error, openai.APITimeoutError):
        return Fault(f"{text} (timeout is {settings.timeout:g} s)", "again")
    return Fault(text, "again" if isinstance(error, BrokenReplyError | json.JSONDecodeError) else "give up")


def cause_of(fault: Exception, key: str) -> str:
    """What went wrong in one line, the key cut out before the line is."""
    if getattr(fault, "code", None) == "content_filter":
        return "filtered"
    name = "" if isinstance(fault, ModelError) else f"{type(fault).__name__}: "
    text = " ".join(f"{name}{fault}".split())
    return (text.replace(key, "***") if key else text)[:300]


def _with_hint(text: str, status: int, settings: ModelTable) -> str:
    address = settings.base_url.rstrip("/")
    if status in (401, 403):
        return f"{text}; check the key in the environment variable {settings.key_variable}"
    if status != 404:
        return f"{text}; check the account"
    if address.endswith("/completions"):
        return f"{text}; base_url must end before /chat/completions: that is added to it"
    if address and "/v1" not in address:
        return f"{text}; check base_url ({address}; most servers want /v1 at its end) and the model {settings.model!r}"
    return f"{text}; check the model {settings.model!r} (on Azure the name of the deployment) and base_url"


def _refused_parameter(error: Exception) -> str:
    """The parameter that a 400 complains of, where it is one that the client can do without."""
    named, said = getattr(error, "param", None), str(error)
    if named == "max_tokens" or "max_completion_tokens" in said:
        return "max_tokens"
    others = ("temperature", "response_format")
    return next((name for name in others if named == name or (not named and name in said)), "")


def _asked_wait(error: Any) -> float | None:
    """Seconds of the reply's Retry-After, which is a number or a date; None without one that can be read."""
    asked = error.response.headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(asked))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(asked).timestamp() - time.time())
    except (TypeError, ValueError):
        return None
