"""Documents that say the same: exact copies, and pairs whose words run alike over most of their length.

Two documents are near duplicates where the Jaccard index of their sets of five-word runs (Broder 1997, "On the
resemblance and containment of documents") is at least `ALIKE`. The search is exact: two sets that alike share one of
their rarest members (the prefix filter of Bayardo, Ma and Srikant 2007), so boilerplate that stands everywhere costs
nothing. It knows texts, neither who may open them nor what they mean; a short text inside a long one is not found.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..identity import fold
from ..records import Document

RUN = 5
"""Words in a run."""

ALIKE = 0.7
"""The least share of common runs: 100 words of which three were changed apart from each other still reach it."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing
_MARKS = re.compile(r"<!--.*?-->", re.DOTALL)

Runs = NDArray[np.uint64]


@dataclass(frozen=True)
class NearDuplicates:
    """Two documents by id and the share of runs that they have in common."""

    first: str
    second: str
    alike: float


def words_of(text: str) -> list[str]:
    """The words of a Markdown text as they are compared, page marks and other comments left out."""
    return re.findall(r"\w+", fold(_MARKS.sub(" ", text)))


def exact_duplicates(documents: Iterable[Document]) -> list[tuple[str, ...]]:
    """Ids of documents with the same words in the same order, each set once, in the documents' order."""
    same: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for document in documents:
        same[tuple(words_of(document.text))].append(document.id)
    return [tuple(ids) for ids in same.values() if len(ids) > 1]


def near_duplicates(documents: Sequence[Document], alike: float = ALIKE) -> list[NearDuplicates]:
    """Every pair at least so much alike that is no exact duplicate, the most alike first."""
    numbers: dict[str, int] = {}
    seen: set[tuple[str, ...]] = set()
    sets: list[Runs] = []
    ids: list[str] = []
    for document in documents:
        words = tuple(words_of(document.text))
        if words and words not in seen:  # of exact duplicates the first stands for all
            seen.add(words)
            ids.append(document.id)
            sets.append(_runs([numbers.setdefault(word, len(numbers) + 1) for word in words]))
    if not sets:
        return []
    values, counts = np.unique(np.concatenate(sets), return_counts=True)
    holding: dict[int, list[int]] = defaultdict(list)  # a rare run -> the sets whose prefix holds it
    found: list[NearDuplicates] = []
    for here in sorted(range(len(sets)), key=lambda i: (len(sets[i]), i)):
        runs = sets[here]
        frequency = counts[np.searchsorted(values, runs)]
        rarest = np.lexsort((runs, frequency))[: len(runs) - math.ceil(alike * len(runs)) + 1]
        shared = [int(runs[i]) for i in rarest if frequency[i] > 1]
        others = {other for run in shared for other in holding[run] if len(sets[other]) >= alike * len(runs)}
        for other in others:
            common = len(np.intersect1d(runs, sets[other], assume_unique=True))
            share = common / (len(runs) + len(sets[other]) - common)
            if share >= alike:
                first, second = sorted((here, other))
                found.append(NearDuplicates(ids[first], ids[second], share))
        for run in shared:
            holding[run].append(here)
    return sorted(found, key=lambda pair: (-pair.alike, pair.first, pair.second))


def _runs(words: Sequence[int]) -> Runs:
    """The hashes of a text's runs of words, each once, sorted; a text shorter than a run is one run."""
    numbers = np.array(words, dtype=np.uint64)
    size = min(RUN, len(numbers))
    hashes = np.full(len(numbers) - size + 1, size, dtype=np.uint64)
    for offset in range(size):
        hashes = (hashes ^ numbers[offset : len(numbers) - size + 1 + offset]) * _FACTOR
        hashes ^= hashes >> np.uint64(29)
    return np.unique(hashes)
