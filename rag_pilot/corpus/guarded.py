"""The words of restricted passages: does a text hold some that its reader could have read nowhere?

A piece is six words in a row of a passage that is not open to everyone; every third word begins one, so that eight
words in a row are always recognised. A piece that also stands in something open to the reader is nobody's secret. Where
a text comes from, and why it is looked at, is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
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
        self._readers: dict[int, frozenset[str]] = {}
        self._passage: dict[int, str] = {}
        self._sizes = {PIECE}
        for passage in passages:
            if everyone not in groups.get(passage.id, ()):
                words = _words(passage.text)
                whole = [hash(tuple(words))] if FEWEST <= len(words) < PIECE else []
                self._sizes.update({len(words)} if whole else ())
                for piece in (*whole, *_pieces(words, PIECE)[::STEP], *_pieces(words, PIECE)[-1:]):
                    self._readers.setdefault(piece, frozenset())
                    self._passage.setdefault(piece, passage.id)
        same: dict[frozenset[str], frozenset[str]] = {}  # few sets of groups, many pieces

        def open_to(readers: AbstractSet[str], text: str) -> None:
            for piece in self._held(text):
                if not readers <= self._readers[piece]:
                    known = self._readers[piece] | readers
                    self._readers[piece] = same.setdefault(known, known)

        for passage in passages:
            head = " ".join((passage.title, *passage.headings))
            open_to(groups.get(passage.id, frozenset()), f"{head} {passage.text}")
        for document in documents:
            open_to(document.groups, document.text)

    def _held(self, text: str) -> list[int]:
        """The known pieces in a text."""
        words = _words(text)
        return [piece for size in sorted(self._sizes) for piece in _pieces(words, size) if piece in self._readers]

    def closed(self, text: str, readers: AbstractSet[str], but: str = "") -> tuple[str, ...]:
        """The passages of which a text holds words that no reader of those groups could have read; what `but` holds
        too (the reader's own question) does not count."""
        own = set(self._held(but))
        found = (piece for piece in self._held(text) if self._readers[piece].isdisjoint(readers))
        return tuple(sorted({self._passage[piece] for piece in found if piece not in own}))


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def _pieces(words: Sequence[str], size: int) -> list[int]:
    """All runs of so many words."""
    return [hash(run) for run in zip(*(words[start:] for start in range(size)), strict=False)]
