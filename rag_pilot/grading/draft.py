"""What a person has written about one question so far, and why it could not stand like that; no file, no screen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any, Self

from ..corpus.access import group_names, may_open
from ..corpus.facts import spaced
from ..records import Document, Record
from .form_parts import Texts
from .items import Groups


@dataclass(frozen=True)
class Draft(Record):
    """The fields of a question that the form fills in, as the form holds them; `groups` with ; between."""

    answerable: bool | None = None
    expected: str = ""
    doc: str = ""
    also: tuple[str, ...] = ()
    quote: str = ""
    groups: str = ""
    category: str = ""
    validated_by: str = ""

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> Self:
        """The draft of a question as questions.jsonl holds it."""
        texts = {name: row.get(name) or "" for name in ("expected", "doc", "quote", "category", "validated_by")}
        return cls(row["answerable"], also=tuple(row.get("also") or ()), groups="; ".join(row["groups"] or ()), **texts)

    def changes(self, before: Draft) -> dict[str, Any]:
        """The fields that differ from an earlier draft, as questions.jsonl holds them."""
        names = [f.name for f in fields(self) if self[f.name] != before[f.name]]
        return {name: self._value(name) for name in names}

    def asker(self) -> Groups:
        """The groups of the asker that are written down; a ValueError says which cannot be one."""
        return group_names(self.groups.split(";")) if self.groups.strip() else frozenset()

    def _value(self, name: str) -> Any:
        value = self[name]
        if name == "groups":
            return sorted(self.asker())
        return list(value) if name == "also" else (value or None) if name == "doc" else value


def reasons(draft: Draft, documents: Mapping[str, Document], everyone: str, say: Texts) -> list[str]:
    """Why a question cannot stand as it is written, in sentences, most urgent first; none: it is complete.

    The quote is another matter, see `quote_fault`: a document that is out of date lacks the words of the right answer.
    """
    if draft.answerable is None:
        return [say["need_decision"]]
    try:
        asker = draft.asker() | {everyone}
    except ValueError as fault:
        return [say["bad_groups"].format(fault)]
    named = [doc for doc in (draft.doc, *draft.also) if doc]
    known = [documents[doc] for doc in named if doc in documents]
    opened = [d for d in known if may_open(d.groups, asker)]
    found = [say["lost_document"].format(doc) for doc in named if doc not in documents]
    if draft.answerable:
        if not draft.doc:
            found.append(say["need_document"])
        elif known and not opened:
            found.append(say["closed_document"].format(known[0].title, " / ".join(sorted(known[0].groups))))
        if not draft.expected.strip():
            found.append(say["need_expected"])
    elif opened:
        found.append(say["open_document"].format(opened[0].title))
    return found


def quote_fault(draft: Draft, documents: Mapping[str, Document], say: Texts) -> list[str]:
    """Why the quote cannot be taken from any document named; none: it can, or there is no quote."""
    named = [doc for doc in (draft.doc, *draft.also) if doc]
    if not draft.quote.strip() or any(stands_in(draft.quote, documents[doc]) for doc in named if doc in documents):
        return []
    return [say["quote_not_there" if named else "quote_without_document"]]


def stands_in(quote: str, document: Document) -> bool:
    """Whether the words stand in a document, white space apart."""
    return spaced(quote) in _spaced(f"{document.title}\n{document.text}")


@lru_cache(maxsize=10_000)
def _spaced(text: str) -> str:
    return spaced(text)
