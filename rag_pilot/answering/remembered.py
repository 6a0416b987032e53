"""A model whose replies are kept on disk: what was asked once is never paid for again.

Kept is a reply that came through whole and `passed`; so a second try of one that did not always reaches the model. What
the store is keyed by can change a reply, `repeat` included; what a prompt is made of stands in the prompt.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from ..errors import ModelError, RunStoppedError
from ..retrieval.replies import Replies
from ..settings import ModelTable
from .answerer import Reply
from .client import ChatModel

KEPT = ("model", "tokens_in", "tokens_out", "seconds", "finish", "not_applied")
"""What is kept of a reply beside its text."""


class Remembered:
    """A function from prompt to reply, as ChatModel is; no key is needed where every reply is known."""

    def __init__(self, llm: Callable[[str], Reply], replies: Replies, passed: Callable[[str], object] = bool) -> None:
        self._llm, self._replies, self._passed = llm, replies, passed
        self.halt: Callable[[], object] = getattr(llm, "halt", bool)

    def __call__(self, prompt: str) -> Reply:
        """The reply that is kept, else the model's; RunStoppedError where the store cannot be used."""
        if (known := self._in_store(self._replies.known, prompt)) is not None:
            return _reply(known, reused=True)
        reply = self._llm(prompt)
        if not self._passed(reply):
            return reply
        kept = {"text": str(reply), **{name: getattr(reply, name) for name in KEPT}}
        stands = self._in_store(self._replies.keep, prompt, json.dumps(kept, ensure_ascii=True))
        return _reply(stands or "", reused=False)

    def _in_store(self, do: Callable[..., str | None], *what: Any) -> str | None:
        try:
            return do(*what)
        except ModelError as fault:  # before anything more is paid for
            raise RunStoppedError(str(fault)) from None


def remembered(
    settings: ModelTable,
    folder: Path,
    table: str = "answer",
    passed: Callable[[str], object] = bool,
    shape: Mapping[str, Any] | None = None,
    instead: Callable[[str], Reply] | None = None,
) -> Remembered:
    """The model of a table of pilot.toml, asked for replies of a `shape` (a JSON schema), kept in `folder`.

    `instead` gets what would be asked of it.
    """
    by = settings.asked_by | ({"shape": shape} if shape else {})
    replies = Replies(folder / f"{table}.sqlite", by)
    return Remembered(instead or ChatModel(settings, table, shape), replies, passed)


def _reply(kept: str, reused: bool) -> Reply:
    row = json.loads(kept)
    row["not_applied"] = tuple(row["not_applied"])
    return Reply(row.pop("text"), **row, reused=reused)
