"""The fused list cut to its first hits, so that one document, one section or one text does not fill them.

It comes after the lists and sees only what the asker may open: a passage that she may not open hides no copy of it that
she may. Which of two copies is the right one to cite is not known here; the better ranked stands.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..corpus.near_duplicates import RUN, words_of
from ..records import Passage

ALIKE = 0.9
"""The least share of common five-word runs of two passages of one text: of 100 words one may differ."""
_NUMBER = re.compile(r"\d+")


@dataclass(frozen=True)
class Merging:
    """How many of what belongs together are hits; the first in the list always is one.

    `per_document` bounds the hits of one document, `per_text` those of near duplicates as they are shown, whatever
    their document (0: no bound); what is beyond the second comes after everything else, within the other bounds. Of
    passages with one parent only the best is a hit, but for `sections` False.
    """

    per_document: int = 0
    per_text: int = 0
    sections: bool = True

    def first(self, rows: Sequence[int], passage: Callable[[int], Passage], k: int) -> tuple[list[int], int]:
        """The first k of `rows`, best first, that are hits, and how many of them are there without filling up.

        Near duplicates beyond the bound fill up to k. Where the second is less than k, more rows may give better hits.
        """
        taken: Counter[str] = Counter()
        parents: set[tuple[str, str]] = set()
        texts: list[_Text] = []
        kept: list[int] = []
        copies: list[int] = []

        def keep(row: int, found: Passage) -> None:
            kept.append(row)
            taken[found.doc] += 1
            if found.parent:
                parents.add((found.doc, found.parent))

        def bounded(found: Passage) -> bool:
            beside = self.sections and (found.doc, found.parent) in parents
            return beside or 0 < self.per_document <= taken[found.doc]

        for row in rows:
            if len(kept) >= k:
                break
            found = passage(row)
            if bounded(found):
                continue
            if self.per_text:
                text = _text(found.shown)
                if sum(text.repeats(other) for other in texts) >= self.per_text:
                    copies.append(row)
                    continue
                texts.append(text)
            keep(row, found)
        distinct = len(kept)
        for row in copies:  # what was kept meanwhile may be of its document or section
            if len(kept) < k and not bounded(found := passage(row)):
                keep(row, found)
        return kept, distinct


SECTIONS = Merging()
SEPARATE = Merging(sections=False)
"""Every passage is a hit of its own."""


@dataclass(frozen=True)
class _Text:
    """A passage as it is compared with another: its five-word runs, and its numbers, each as often as it stands."""

    runs: frozenset[tuple[str, ...]]
    numbers: Counter[str]

    def repeats(self, other: _Text) -> bool:
        """Whether both are one text, with the same numbers: 25 days and 26 days are two."""
        if self is other:
            return True
        both = len(self.runs & other.runs) if self.numbers == other.numbers else 0
        return both >= ALIKE * (len(self.runs) + len(other.runs) - both)


@lru_cache(maxsize=256)  # copies come by the hundred
def _text(text: str) -> _Text:
    words = words_of(text)
    runs = frozenset(zip(*(words[n:] for n in range(RUN)), strict=False)) or frozenset([tuple(words)])
    return _Text(runs, Counter(_NUMBER.findall(text)))
