"""What was read of every file, and what was not: counts, copies, what no question needs.

Pure: documents and their passages in, one record a file out. Whether a document is out of date, and who is shown which
line, is decided elsewhere.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from markdown_it import MarkdownIt

from ..records import Document, Passage, Question, Record
from .documents import Documents, Skipped
from .near_duplicates import Family, exact_duplicates, near_duplicates

_BLOCKS = MarkdownIt("commonmark").enable("table").disable("inline")
_LONG = 20  # characters; shorter words stand inside others by chance
_PAGE_MARK = re.compile(r"^<!-- page \d+ -->$", re.MULTILINE)


@dataclass(frozen=True)
class FileRecord(Record):
    """One file that was read, in numbers; `covered` is the share of its text that stands in some passage.

    A page without text counts as a page of text that stands nowhere. Tokens are those of its passages, each with its
    title and headings. `questions` is None where there are no questions yet.
    """

    document: Document
    words: int
    headings: int
    tables: int
    passages: int
    tokens: int
    pages: int
    empty_pages: int
    found: int  # words that stand in some passage
    questions: int | None

    @property
    def expected(self) -> float:
        """Words that it would have if its pages without text held as many as the others."""
        return (
            self.words * self.pages / (self.pages - self.empty_pages) if self.empty_pages < self.pages else self.words
        )

    @property
    def covered(self) -> float:
        """Between 0 and 1."""
        return self.found / self.expected if self.expected else 0.0


@dataclass(frozen=True)
class Inventory(Record):
    """Every file of a pilot: read (in the order of their paths) or refused; `counted_with` is what counted tokens."""

    files: tuple[FileRecord, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    copies: tuple[tuple[str, ...], ...] = ()  # ids of documents with the same words
    families: tuple[Family, ...] = ()  # near duplicates that are no mere copies
    asked: int = 0  # questions
    counted_with: str = ""

    @property
    def covered(self) -> float | None:
        """The share of all text read that stands in some passage, by words; None where nothing was read."""
        expected = sum(file.expected for file in self.files)
        return sum(file.found for file in self.files) / expected if expected else None

    @property
    def unasked(self) -> tuple[str, ...]:
        """Ids of documents that no question names."""
        return tuple(file.document.id for file in self.files if file.questions == 0)

    @property
    def unknown_keys(self) -> Counter[str]:
        """Keys of front matter for which files were refused, with the number of those files."""
        return Counter(key for skipped in self.skipped for key in skipped.unknown)


def inventory(
    found: Documents, passages: Iterable[Passage], questions: Sequence[Question] = (), counted_with: str = ""
) -> Inventory:
    """What was read of each document; `passages` are all of theirs, in any order."""
    by_document: dict[str, list[Passage]] = defaultdict(list)
    for passage in passages:
        by_document[passage.doc].append(passage)
    named = Counter(doc for question in questions for doc in question.docs) if questions else None
    files = tuple(
        _record(d, by_document[d.id], *found.pages.get(d.id, (0, 0)), None if named is None else named[d.id])
        for d in sorted(found.documents, key=lambda d: d.path)
    )
    documents = [file.document for file in files]
    copies = exact_duplicates(documents)
    families = [f for f in near_duplicates(documents) if not any(set(f.ids) <= set(same) for same in copies)]
    return Inventory(files, found.skipped, found.notes, tuple(copies), tuple(families), len(questions), counted_with)


def _record(
    document: Document, passages: Sequence[Passage], pages: int, empty_pages: int, questions: int | None
) -> FileRecord:
    text = _PAGE_MARK.sub("", document.text)
    words = Counter(_words(text))
    held = Counter(word for passage in passages for word in _words(passage.text))
    lost = words - held
    if any(len(word) > _LONG for word in lost):  # one longer than a passage is cut: its pieces follow one another
        joined = "".join("".join(passage.text.split()) for passage in passages)
        lost = Counter({word: n for word, n in lost.items() if len(word) <= _LONG or word not in joined})
    kinds = Counter(token.type for token in _BLOCKS.parse(text))
    return FileRecord(
        document=document,
        words=words.total(),
        headings=kinds["heading_open"],
        tables=kinds["table_open"],
        passages=len(passages),
        tokens=sum(passage.tokens for passage in passages),
        pages=pages,
        empty_pages=empty_pages,
        found=words.total() - lost.total(),
        questions=questions,
    )


def _words(text: str) -> list[str]:
    """What stands between blanks and holds a letter or digit: no mark of Markdown."""
    return [word for word in text.split() if re.search(r"\w", word)]
