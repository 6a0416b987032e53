"""Posting lists in a few flat arrays: which passages hold a word and how often, in memory or mapped from disk.

Built from a stream, so that the tokens of all passages never stand in memory together. What a word weighs is not known
here.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[Any]


@dataclass(frozen=True)
class Postings:
    """Word w stands in `passages[starts[w]:starts[w + 1]]` (ascending), as often as `counts` says at the same places.

    `words` gives each word's number, in order of first appearance; `lengths` the number of tokens of each passage.
    """

    words: Mapping[str, int]
    starts: Numbers
    passages: Numbers
    counts: Numbers
    lengths: Numbers

    @classmethod
    def of(cls, corpus: Iterable[Sequence[str]]) -> Postings:
        """The posting lists of passages given as tokens."""
        words: dict[str, int] = {}
        lengths, ends, held, counts = array("i"), array("q", [0]), array("i"), array("i")
        for tokens in corpus:
            found = Counter(tokens)
            held.extend([words.setdefault(word, len(words)) for word in found])
            counts.extend(found.values())
            lengths.append(len(tokens))
            ends.append(len(held))
        return cls(words, *_turned(_flat(held), _flat(counts), _flat(ends), len(words)), _flat(lengths))

    def of_word(self, word: str) -> tuple[Numbers, Numbers] | None:
        """(passages, counts) of a word, or None where no passage holds it."""
        number = self.words.get(word)
        if number is None:
            return None
        place = slice(int(self.starts[number]), int(self.starts[number + 1]))
        return self.passages[place], self.counts[place]

    def spread(self) -> dict[str, int]:
        """How many passages hold each word."""
        return dict(zip(self.words, np.diff(self.starts).tolist(), strict=True))


def _flat(numbers: array[int]) -> Numbers:
    return np.frombuffer(numbers, dtype=np.dtype(numbers.typecode)) if numbers else np.zeros(0, numbers.typecode)


def _turned(held: Numbers, counts: Numbers, ends: Numbers, words: int) -> tuple[Numbers, Numbers, Numbers]:
    """(starts, passages, counts) by word from the same by passage: the transpose of a sparse matrix, in linear time."""
    from scipy.sparse import csr_matrix

    turned = csr_matrix((counts, held, ends), shape=(len(ends) - 1, words)).tocsc()
    smallest = np.min_scalar_type(int(counts.max(initial=0)))
    return turned.indptr.astype(np.int64), turned.indices.astype(np.int32, copy=False), turned.data.astype(smallest)
