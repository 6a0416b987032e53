"""The only code that opens a connection to a model API: `llm` over any OpenAI-compatible address.

The key comes from the environment and stands nowhere else. A call that fails is made again where that can help
(faults.py, pacing.py); then it raises ModelError with its cause, neither a decline nor a wrong answer, or
RunStoppedError where the next question would fail alike. A reasoning model's thoughts are cut off: an answer stands
after the last </think>. What was asked before is not known here: see remembered.py.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any

from ..errors import ModelError, RunStoppedError
from ..progress import tell
from ..settings import ModelTable
from .answerer import Reply
from .context import cut_at, cut_sentence, tokens_of
from .faults import BrokenReplyError, Fault, read_fault
from .pacing import Pace

UNREACHED = 3
"""Calls in a row, of different prompts, that never reached the server though made again: the run ends."""
CONNECT_SECONDS = 10.0
"""A host that is not there says nothing: no longer is waited for the connection itself, whatever `timeout` is."""
MISFITS = 3
"""From so many counts that fit no prompt and were no cut, a server's counts are not looked at any more."""
PADDING = " ".join(str(n) for n in range(100)) + "\n\n"


def connect(base_url: str, key_variable: str, timeout: float, table: str) -> tuple[Any, str]:
    """A client of that address, and its key; RunStoppedError where it is missing. `table` is the one of pilot.toml."""
    import openai

    key = os.environ.get(key_variable, "").strip()
    if not key and not base_url:
        raise RunStoppedError(
            f"no key: set the environment variable {key_variable}, or {table}.base_url for a server of your own"
        )
    patience = openai.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
    return openai.OpenAI(api_key=key or "none", base_url=base_url or None, timeout=patience, max_retries=0), key


def chat_model(settings: ModelTable, table: str = "answer") -> ChatModel:
    """A function from prompt to reply; raises ModelError at once where the key is missing."""
    model = ChatModel(settings, table)
    model.connect()
    return model


class ChatModel:
    """A function from prompt to reply over one address, for any number of threads; it connects at its first call.

    `table` is the one of pilot.toml that names the model; `shape` the JSON schema that its replies are asked to have.
    """

    def __init__(self, settings: ModelTable, table: str = "answer", shape: Mapping[str, Any] | None = None) -> None:
        self.settings, self.table = settings, table
        self._pace = Pace(settings.requests_per_minute, settings.tokens_per_minute)
        self._lock = Lock()
        self._sent: Mapping[str, Any] = {"temperature": settings.temperature, "max_tokens": settings.max_tokens}
        if shape:
            schema = {"name": table, "strict": True, "schema": dict(shape)}
            self._sent |= {"response_format": {"type": "json_schema", "json_schema": schema}}
        self._asked_for = tuple(name for name in self._sent if name != "max_tokens")
        self._misfits = 0  # counts that looked like a cut prompt and were none
        self._unreached = 0  # calls in a row that were given up because the server was not reached

    @cached_property
    def _connection(self) -> tuple[Any, str]:
        return connect(self.settings.base_url, self.settings.key_variable, self.settings.timeout, self.table)

    def connect(self) -> None:
        """Look for the key; nothing is sent."""
        with self._lock:
            _ = self._connection

    def halt(self) -> None:
        """Give up the calls that wait for their turn or to be made again; later ones are made as ever."""
        self._pace.halt()

    @property
    def not_applied(self) -> tuple[str, ...]:
        """The settings that the endpoint refused and that are not sent any more."""
        return tuple(name for name in self._asked_for if name not in self._sent)

    def __call__(self, prompt: str) -> Reply:
        """The model's reply; ModelError where there is none, RunStoppedError where none can be expected."""
        reply = self._asked(prompt)
        if (size := cut_at(prompt, reply.tokens_in, reply.tokens_out)) and self._misfits < MISFITS:
            longer = PADDING + prompt  # asked once more, because one count may be chance
            second = self._asked(longer)
            if cut_at(longer, second.tokens_in, second.tokens_out):
                raise self._stopped(cut_sentence(prompt, size))
            self._misfits += 1
        if reply.fault:
            raise ModelError(reply.fault)
        return reply

    def _asked(self, prompt: str) -> Reply:
        """The first reply that comes through."""
        self.connect()
        table, tried, round = self.settings, 0, self._pace.round
        while True:
            went = self._pace.wait(tokens_of(prompt) + table.max_tokens, round)
            sent = self._sent
            got = self._once(prompt, sent)
            unreached = isinstance(got, Fault) and got.unreached
            if not unreached:
                self._unreached = 0
            if isinstance(got, Reply):
                self._pace.came_through()
                return got
            if got.then == "stop":
                raise self._stopped(got.text)
            if got.then == "pause":
                self._pause(got, went, round)
            elif got.then == "adapt" and self._adapted(sent, got.parameter):
                continue
            elif got.then == "again" and tried < (min(1, table.retries) if self._unreached else table.retries):
                tried += 1
                self._pace.rest(max(got.after or 0, table.retry_seconds * 2 ** (tried - 1)), round)
            else:
                text = got.text + (f"; asked {tried + 1} times" if tried else "")
                if unreached:
                    self._count_unreached(text)
                raise ModelError(text)

    def _once(self, prompt: str, sent: Mapping[str, Any]) -> Reply | Fault:
        """One call. What failed comes back as a Fault, so that no exception lives on that may hold the key."""
        client, key = self._connection
        started = time.perf_counter()
        try:
            response = client.chat.completions.create(
                model=self.settings.model, messages=[{"role": "user", "content": str(prompt)}], **sent
            )
            return _reply(response, time.perf_counter() - started, self.not_applied)
        except Exception as error:  # the library's own, and whatever a reply that is no chat completion makes of it
            return read_fault(error, key, self.settings)

    def _count_unreached(self, text: str) -> None:
        """End the run where several calls in a row reached nobody; from the first on the others are soon given up."""
        with self._lock:
            self._unreached += 1
            gone = self._unreached >= UNREACHED
        if gone:
            raise self._stopped(f"{UNREACHED} calls in a row did not reach the server: {text}")

    def _pause(self, fault: Fault, went: float, round: int) -> None:
        seconds = self._pace.pause(went, fault.after, self.settings.retry_seconds, round)
        if self._pace.pauses > self.settings.retries:
            raise self._stopped(
                f"after {self._pace.pauses - 1} pauses the endpoint still refuses every call: {fault.text}"
            )
        if seconds >= 1:
            tell(f"[{self.table}] too many requests: all calls wait {seconds:.0f} s")

    def _adapted(self, sent: Mapping[str, Any], parameter: str) -> bool:
        """Do without a parameter that was `sent`, for good; False where it was not sent."""
        with self._lock:
            if self._sent is sent and parameter in sent:
                kept = {name: value for name, value in sent.items() if name != parameter}
                self._sent = kept | ({"max_completion_tokens": sent["max_tokens"]} if parameter == "max_tokens" else {})
        return parameter in sent

    def _stopped(self, text: str) -> RunStoppedError:
        self.halt()
        self._unreached = 0
        self.__dict__.pop("_connection", None)  # the next run looks for the key anew
        return RunStoppedError(f"{self.settings.model}: {text}")


def _reply(response: Any, seconds: float, not_applied: tuple[str, ...]) -> Reply:
    """The reply of a response, whose every part may be missing or null."""
    if not hasattr(response, "model_dump"):
        raise ModelError(f"found {str(response)[:80]!r}, expected a chat completion; check base_url")
    row = response.model_dump(warnings=False)
    if row.get("error"):
        raise BrokenReplyError(f"no reply: {row['error']}")
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
        not_applied=not_applied,
        reused=False,
    )
    if reply.fault == "no reply" and (text.strip() or message.get("reasoning_content")):
        raise ModelError("no answer: the model thought aloud and came to no answer; raise max_tokens")
    return reply
