"""What can be known of a pilot before anything is asked: how large its documents are, and how fresh, source by source.

Documents are read and counted; no index is built and no model is loaded. What is shown of it to whom is decided
elsewhere.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass

from .pilot import Pilot
from .records import Document
from .retrieval.embedding import cheap_counter

ROOMY = 0.5
"""Of a context window: documents up to this share fit comfortably, with room for instructions, question and growth."""


@dataclass(frozen=True)
class CorpusSize:
    """The tokens of all documents that were read, by the tokenizer that `counted_with` names."""

    documents: int
    tokens: int
    counted_with: str
    closed: int = 0  # documents that not everybody may open

    def fits(self, window: int) -> str:
        """Whether a model of that window could read everything at each question: 'yes', 'barely' or 'no'."""
        return "yes" if self.tokens <= ROOMY * window else "barely" if self.tokens <= window else "no"


def corpus_size(pilot: Pilot) -> CorpusSize:
    """What a model would have to read if every document stood in every prompt."""
    documents = pilot.documents().documents
    count, counted_with = cheap_counter(pilot.settings.passages.counted_with)
    closed = sum(pilot.everyone not in d.groups for d in documents)
    return CorpusSize(len(documents), sum(count([d.text for d in documents])), counted_with, closed)


@dataclass(frozen=True)
class Source:
    """The documents of one folder, how old each may be (`days`, 0: no bound), and which are out of date today."""

    name: str  # the folder below documents/; empty: those that stand in none
    days: int
    documents: tuple[Document, ...]
    stale: tuple[Document, ...]

    @property
    def undated(self) -> int:
        """Documents of which nobody knows when they were updated: no bound can find them."""
        return sum(not d.updated for d in self.documents)


def sources(pilot: Pilot) -> list[Source]:
    """The folders that `fresh` in pilot.toml names, and the other documents by their first folder; none is left out.

    A folder that is named and holds no document is among them, without any.
    """
    table, found = pilot.settings.documents, defaultdict[str, list[Document]](list)
    for document in pilot.documents().documents:
        first, below, _ = document.path.partition("/")
        found[table.source_of(document.path) or (first if below else "")].append(document)
    return [
        Source(
            name, table.fresh.get(name, table.fresh_days), tuple(inside), tuple(d for d in inside if pilot.why_stale(d))
        )
        for name, inside in ((name, found.get(name, [])) for name in sorted(found.keys() | table.fresh.keys()))
    ]
