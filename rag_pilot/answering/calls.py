"""The only code that opens a connection to a model API: calls over any OpenAI-compatible address, made again where
that can help.

The key comes from the environment and stands nowhere else. A call that fails for good (faults.py, pacing.py) raises
ModelError with its cause, or RunStoppedError where the next one would fail alike. What is asked, and what a reply
means, is not known here: see client.py for chat, endpoints.py for vectors and scores.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cached_property
from threading import Lock
from typing import Any, Generic, TypeVar

from ..errors import ModelError, NotStoredError, RunStoppedError
from ..progress import tell
from ..settings import ModelTable
from .faults import BrokenReplyError, Fault, read_fault
from .pacing import Pace

T = TypeVar("T")

UNREACHED = 3
"""Calls in a row, of different prompts, that never reached the server though made again: the run ends."""
OPENAI = "https://api.openai.com/v1"
"""Of an empty base_url; no variable of the environment stands in for it, because replies are kept by their address."""
CONNECT_SECONDS = 10.0
"""A host that is not there says nothing: no longer is waited for the connection itself, whatever `timeout` is."""
STORED = "RAG_PILOT_STORED"
"""The environment variable under which no address is called: at "1" all that is not stored is a NotStoredError."""
MISSING = {
    "answer": "an answer",
    "judge": "a grade",
    "rewrite": "a question as rewritten",
    "embedding": "a vector",
    "rerank": "an order of passages",
    "hosted": "what the hosted search finds (it is never kept)",
}
"""Table of pilot.toml -> what a call to its address would give."""


def only_stored() -> bool:
    """Whether nothing may be asked of an address, as while pages are made: they show what was paid for before."""
    return os.environ.get(STORED) == "1"


def connect(base_url: str, key_variable: str, timeout: float, table: str) -> tuple[Any, str]:
    """A client of that address, and its key; RunStoppedError where it is missing. `table` is the one of pilot.toml.

    NotStoredError where only what is stored may be used: whoever comes here has not found it.
    """
    import openai

    if only_stored():
        raise NotStoredError(
            f"[{table}] {MISSING.get(table, 'a reply')} is not stored, and pages are made without calling a model; "
            "`rag-pilot run` asks for what a run needs, and `rag-pilot export --run` for whatever is missing"
        )
    key = os.environ.get(key_variable, "").strip()
    if not key and not base_url:
        raise RunStoppedError(
            f"no key: set the environment variable {key_variable}, or {table}.base_url for a server of your own"
        )
    patience = openai.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
    return openai.OpenAI(api_key=key or "none", base_url=base_url or OPENAI, timeout=patience, max_retries=0), key


class Calls(Generic[T]):
    """Calls of one model over one address, for any number of threads; it connects at its first call.

    `table` is the one of pilot.toml that names the model; `sent` are the parameters that go with every call.
    """

    def __init__(self, settings: ModelTable, table: str, sent: Mapping[str, Any] | None = None) -> None:
        self.settings, self.table = settings, table
        self._pace = Pace(settings.requests_per_minute, settings.tokens_per_minute)
        self._lock = Lock()
        self._sent: Mapping[str, Any] = dict(sent or {})
        self._asked_for = tuple(name for name in self._sent if name != "max_tokens")
        self._unreached = 0  # calls in a row that were given up because the server was not reached

    def _made(self, client: Any, what: Any, sent: Mapping[str, Any]) -> T:
        """One call and what it means; whatever it raises is read as a fault."""
        raise NotImplementedError

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

    def _asked(self, what: Any, tokens: int) -> T:
        """What the first call that comes through means; `tokens` are counted against what a minute allows."""
        self.connect()
        table, tried, round = self.settings, 0, self._pace.round
        while True:
            went = self._pace.wait(tokens, round)
            sent = self._sent
            got = self._once(what, sent)
            unreached = isinstance(got, Fault) and got.unreached
            if not unreached:
                self._unreached = 0
            if not isinstance(got, Fault):
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

    def _once(self, what: Any, sent: Mapping[str, Any]) -> T | Fault:
        """One call. What failed comes back as a Fault, so that no exception lives on that may hold the key."""
        client, key = self._connection
        try:
            return self._made(client, what, sent)
        except Exception as error:  # the library's own, and whatever an odd reply makes of it
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


def read_row(response: Any, expected: str) -> dict[str, Any]:
    """A response as plain data; ModelError where it is none, BrokenReplyError where it says itself that it failed."""
    row = response if isinstance(response, dict) else None
    if hasattr(response, "model_dump"):
        row = response.model_dump(warnings=False)
    if row is None:
        raise ModelError(f"found {str(response)[:80]!r}, expected {expected}; check base_url")
    if row.get("error"):
        raise BrokenReplyError(f"no reply: {row['error']}")
    return row
