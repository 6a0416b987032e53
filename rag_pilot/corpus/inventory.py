"""What a folder of files came to: per document its size and what of it can be found, and what looks alike or is old.

It reads nothing and decides nothing: a person looks at it before anything is embedded. What a question asks is known
only by the document that it names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date

from markdown_it import MarkdownIt

from ..records import Document, Passage, Question, Record
from .documents import Documents, Skipped, why_stale
from .near_duplicates import exact_duplicates, near_duplicates
from .passages import PAGE

_PARSER = MarkdownIt("commonmark").enable("table")
_PARSER.core.ruler.disable("inline")


@dataclass(frozen=True)
class Entry(Record):
    """A document as it was read; `covered` is the share of its text that stands in passages, pages without text out."""

    document: Document
    words: int
    headings: int
    tables: int
    passages: int
    covered: float
    pages: int = 0  # of a PDF
    empty_pages: int = 0  # of these without text


@dataclass(frozen=True)
class Alike(Record):
    """Two documents with the same words in the same order (`share` 1), or nearly so."""

    first: Document
    second: Document
    share: float

    @property
    def apart(self) -> bool:
        """Whether somebody may open one of them and not the other."""
        return self.first.groups != self.second.groups


@dataclass(frozen=True)
class Inventory(Record):
    """Everything that is known of a folder; `questions` is how many there are, None where there is no file of them."""

    entries: tuple[Entry, ...]
    skipped: tuple[Skipped, ...]
    notes: tuple[str, ...]
    alike: tuple[Alike, ...]
    old: tuple[tuple[Document, str], ...]  # and why each counts as out of date
    unasked: tuple[Document, ...]
    questions: int | None
    today: date

    @property
    def covered(self) -> float | None:
        """The share of all words that stands in passages; None without any word."""
        words = sum(entry.words for entry in self.entries)
        return sum(entry.words * entry.covered for entry in self.entries) / words if words else None

    @property
    def other_keys(self) -> Counter[str]:
        """Unknown keys of front matter, and how many files are refused for each."""
        return Counter(key for skip in self.skipped for key in skip.unknown)


def take_inventory(
    found: Documents,
    passages: Iterable[Passage],
    questions: Sequence[Question] | None,
    today: date,
    fresh_days: int = 0,
) -> Inventory:
    """The inventory of a folder on a day; `fresh_days` as in `why_stale`."""
    parts: dict[str, list[str]] = defaultdict(list)
    for passage in passages:
        parts[passage.doc].append(passage.text)
    named = {doc for question in questions or () for doc in question.docs}
    old = ((document, why_stale(document, today, fresh_days)) for document in found.documents)
    return Inventory(
        entries=tuple(
            _entry(document, parts[document.id], found.pages.get(document.id, (0, 0))) for document in found.documents
        ),
        skipped=found.skipped,
        notes=found.notes,
        alike=_alike(found.documents),
        old=tuple((document, why) for document, why in old if why),
        unasked=tuple(document for document in found.documents if document.id not in named),
        questions=None if questions is None else len(questions),
        today=today,
    )


def _entry(document: Document, parts: Sequence[str], pages: tuple[int, int]) -> Entry:
    text = "\n".join(line for line in document.text.split("\n") if not PAGE.match(line.strip()))
    words = Counter(text.split())
    lost = words - Counter(word for part in parts for word in part.split())
    kinds = Counter(token.type for token in _PARSER.parse(text))
    return Entry(
        document=document,
        words=words.total(),
        headings=kinds["heading_open"],
        tables=kinds["table_open"],
        passages=len(parts),
        covered=(1 - lost.total() / max(words.total(), 1)) * (1 - pages[1] / max(pages[0], 1)),
        pages=pages[0],
        empty_pages=pages[1],
    )


def _alike(documents: Sequence[Document]) -> tuple[Alike, ...]:
    by_id = {document.id: document for document in documents}
    same = [Alike(by_id[ids[0]], by_id[other], 1.0) for ids in exact_duplicates(documents) for other in ids[1:]]
    near = [Alike(by_id[pair.first], by_id[pair.second], pair.alike) for pair in near_duplicates(documents)]
    return (*same, *near)
