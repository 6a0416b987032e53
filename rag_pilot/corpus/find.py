"""Finding a document as a person does who has titles and words only; nothing of the system under test is used.

Case and accents are folded. Every word must occur, in the title, the file's name or the text, at the start of a word:
`urlop` finds `urlopu`. It ranks nothing beyond that; passages, indexes and scores are not known here.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..identity import fold_word
from ..records import Document, Record
from .access import may_open

SNIPPET = 150  # characters
_BETWEEN = re.compile(r"[\W_]+")
_WORD = re.compile(r"(?:[^\W_][\u0300-\u036f]*)+")  # a letter may be followed by its accent


@dataclass(frozen=True)
class Found(Record):
    """The first documents that hold the words, each with a piece of its text, and how many there are in all."""

    documents: tuple[Document, ...] = ()
    snippets: tuple[str, ...] = ()
    total: int = 0


def find_documents(documents: Iterable[Document], words: str, groups: frozenset[str], limit: int = 9) -> Found:
    """The documents open to `groups` that hold all the words: most of them in the title first, then in a row.

    Whatever is equal in that comes by title and id. No word finds nothing.
    """
    wanted = folded_words(words)
    if not wanted:
        return Found()
    row = " " + " ".join(wanted)
    ranked = []
    for document in documents:
        if not may_open(document.groups, groups):
            continue
        title, text = _folded(f"{document.title} {document.id}"), _folded(document.text)
        in_title = [f" {word}" in title for word in wanted]
        if all(here or f" {word}" in text for here, word in zip(in_title, wanted, strict=True)):
            apart = row not in title and row not in text
            ranked.append((-sum(in_title), apart, fold_word(document.title), document.id, document))
    best = [document for *_, document in sorted(ranked, key=lambda entry: entry[:-1])[:limit]]
    return Found(tuple(best), tuple(snippet(d.text, wanted) for d in best), len(ranked))


def folded_words(words: str) -> tuple[str, ...]:
    """What is looked for: each word once, folded; HRF-112 is two."""
    return tuple(dict.fromkeys(fold_word(match) for match in _WORD.findall(words)))


def word_spans(text: str, wanted: Sequence[str]) -> list[tuple[int, int]]:
    """Where in a text the words stand that begin like a wanted one (start, end)."""
    starts = tuple(wanted)
    return [match.span() for match in _WORD.finditer(text) if starts and fold_word(match[0]).startswith(starts)]


def snippet(text: str, wanted: Sequence[str]) -> str:
    """The piece of a text where most of the words stand together, the first such; its beginning where none does."""
    spans = word_spans(text, wanted)
    starts = [start for start, _ in spans]
    words = [next(w for w in wanted if fold_word(text[a:b]).startswith(w)) for a, b in spans]
    best, most = 0, 0
    for i, start in enumerate(starts):
        near = len(set(words[i : bisect_left(starts, start + SNIPPET)]))
        if near > most:
            best, most = start, near
        if most == len(wanted):
            break
    start = max(best - SNIPPET // 3, 0)
    start = text.find(" ", start, best) + 1 or start if start else 0
    piece = text[start : start + SNIPPET]
    whole = start + SNIPPET >= len(text)
    piece = piece if whole else piece.rpartition(" ")[0] or piece
    return f"{'… ' if start else ''}{' '.join(piece.split())}{'' if whole else ' …'}"


@lru_cache(maxsize=10_000)
def _folded(text: str) -> str:
    """The folded words of a text, a blank before each."""
    return _BETWEEN.sub(" ", f" {fold_word(text)}")
