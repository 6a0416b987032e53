"""The words of restricted passages: does a text hold some that its reader could have read nowhere?

A piece is six words in a row of a passage that is not open to everyone; every third word begins one, so that eight
words in a row are always recognised. A piece that also stands in something open to the reader is nobody's secret. Where
a text comes from, and why it is looked at, is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet

from ..identity import fold
from ..records import Document, Passage

PIECE, STEP = 6, 3
FEWEST = 4  # a passage of fewer words is not told from common speech

_WORD = re.compile(r"[^\W_]+")


class Guarded:
    """What stands in restricted passages only, and who may read it.

    `groups` maps passage ids to those who may open them (as in `Built.groups`). Words of a document that is open to a
    reader are no secret to him, however they are cut.
    """

    def __init__(
        self,
        passages: Iterable[Passage],
        documents: Iterable[Document],
        groups: Mapping[str, AbstractSet[str]],
        everyone: str,
    ) -> None:
        passages, documents = list(passages), list(documents)
        self._readers: dict[int, set[str]] = {}
        self._passage: dict[int, str] = {}
        for passage in passages:
            if everyone not in groups.get(passage.id, ()):
                for piece in _pieces(_words(passage.text), STEP):
                    self._readers.setdefault(piece, set())
                    self._passage.setdefault(piece, passage.id)
        self._sizes = {PIECE, *(len(w) for p in passages if FEWEST <= len(w := _words(p.text)) < PIECE)}
        for passage in passages:
            head = " ".join((passage.title, *passage.headings))
            self._open(f"{head} {passage.text}", groups.get(passage.id, ()))
        for document in documents:
            self._open(document.text, document.groups)

    def _open(self, text: str, groups: Iterable[str]) -> None:
        for piece in self._held(text):
            self._readers[piece].update(groups)

    def _held(self, text: str) -> Iterator[int]:
        """The known pieces in a text."""
        words = _words(text)
        for size in sorted(self._sizes):
            yield from (piece for piece in _pieces(words, 1, size) if piece in self._readers)

    def closed(self, text: str, readers: AbstractSet[str], but: str = "") -> tuple[str, ...]:
        """The passages of which a text holds words that no reader of those groups could have read; what `but` holds
        too (the reader's own question) does not count."""
        own = set(self._held(but))
        found = (piece for piece in self._held(text) if self._readers[piece].isdisjoint(readers))
        return tuple(sorted({self._passage[piece] for piece in found if piece not in own}))


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def _pieces(words: Sequence[str], step: int, size: int = PIECE) -> Iterator[int]:
    """Pieces of `size` words, one every `step` words and the last; with steps, a shorter text is one piece."""
    last = len(words) - size
    if last < 0:
        if step > 1 and len(words) >= FEWEST:
            yield hash(tuple(words))
        return
    for start in range(0, last, step):
        yield hash(tuple(words[start : start + size]))
    yield hash(tuple(words[last:]))
