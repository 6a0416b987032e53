"""The only code that opens a connection to a model API: `llm` over any OpenAI-compatible address.

The key comes from the environment and stands nowhere else. A call that fails raises ModelError with its cause; it is
neither a decline nor a wrong answer. A reasoning model's thoughts are cut off: an answer stands after the last
</think>. Retries, pacing and caching are not known here yet.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from ..errors import ModelError
from ..settings import ModelTable
from .answerer import Reply


def connect(base_url: str, key_variable: str, timeout: float, table: str) -> tuple[Any, str]:
    """A client of that address, and its key; ModelError where the key is missing. `table` is the one of pilot.toml."""
    import openai

    key = os.environ.get(key_variable, "").strip()
    if not key and not base_url:
        raise ModelError(
            f"no key: set the environment variable {key_variable}, or {table}.base_url for a server of your own"
        )
    return openai.OpenAI(api_key=key or "none", base_url=base_url or None, timeout=timeout, max_retries=0), key


def chat_model(settings: ModelTable, table: str = "answer") -> Callable[[str], Reply]:
    """A function from prompt to reply; raises ModelError at once where the key is missing.

    `table` is the one of pilot.toml that names the model.
    """
    client, key = connect(settings.base_url, settings.key_variable, settings.timeout, table)

    def call(prompt: str) -> Reply:
        started, fault = time.perf_counter(), ""
        try:
            response = client.chat.completions.create(
                model=settings.model,
                messages=[{"role": "user", "content": str(prompt)}],
                temperature=settings.temperature,
                max_tokens=settings.max_tokens,
            )
            reply = _reply(response, time.perf_counter() - started)
        except Exception as error:  # the library's own, and whatever a reply that is no chat completion makes of it
            fault = cause_of(error, key)
        if fault := fault or reply.fault:  # raised here, so that it carries no exception that may hold the key
            raise ModelError(fault)
        return reply

    return call


def _reply(response: Any, seconds: float) -> Reply:
    """The reply of a response, whose every part may be missing or null."""
    if not hasattr(response, "model_dump"):
        raise ModelError(f"found {str(response)[:80]!r}, expected a chat completion; check base_url")
    row = response.model_dump(warnings=False)
    if row.get("error"):
        raise ModelError(f"no reply: {row['error']}")
    choice = (row.get("choices") or [{}])[0]
    message, usage = choice.get("message") or {}, row.get("usage") or {}
    content = message.get("content")
    text = content if isinstance(content, str) else ""
    said = text.rpartition("</think>")[2].strip()
    reply = Reply(
        "" if "<think>" in said else said,
        model=row.get("model") or "",
        tokens_in=usage.get("prompt_tokens") or 0,
        tokens_out=usage.get("completion_tokens") or 0,
        seconds=seconds,
        finish=choice.get("finish_reason") or "",
    )
    if reply.fault == "no reply" and (text.strip() or message.get("reasoning_content")):
        raise ModelError("no answer: the model thought aloud and came to no answer; raise max_tokens")
    return reply


def cause_of(fault: Exception, key: str) -> str:
    """What went wrong in one line, the key cut out before the line is."""
    if getattr(fault, "code", None) == "content_filter":
        return "filtered"
    name = "" if isinstance(fault, ModelError) else f"{type(fault).__name__}: "
    text = " ".join(f"{name}{fault}".split())
    return (text.replace(key, "***") if key else text)[:300]
