"""Documents that say the same: exact copies, and families whose words run alike over most of their length.

Two documents are near duplicates where the Jaccard index of their sets of five-word runs (Broder 1997, "On the
resemblance and containment of documents") is at least `ALIKE`. The count is exact, not sampled. It knows texts, not who
may open them; a short text inside a long one is not found.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..identity import fold
from ..records import Document, Record

RUN = 5
"""Words in a run."""

ALIKE = 0.7
"""The least share of common runs: 100 words of which three were changed apart from each other still reach it."""

_FACTOR = np.uint64(0x9E3779B97F4A7C15)  # odd, so that multiplying loses nothing
_ROWS = 500  # documents compared with all others at a time, which bounds the memory
_MARKS = re.compile(r"<!--.*?-->", re.DOTALL)

Hashes = NDArray[np.uint64]
Numbers = NDArray[np.int64]
Shares = NDArray[np.float64]


@dataclass(frozen=True)
class Family(Record):
    """Documents that are linked, each to at least one other, as near duplicates; the shares are those of the links."""

    ids: tuple[str, ...]
    least: float
    most: float


def words_of(text: str) -> list[str]:
    """The words of a Markdown text as they are compared, page marks and other comments left out."""
    return re.findall(r"\w+", fold(_MARKS.sub(" ", text)))


def exact_duplicates(documents: Iterable[Document]) -> list[tuple[str, ...]]:
    """Ids of documents with the same words in the same order, each set once, in the documents' order."""
    same: dict[str, list[str]] = defaultdict(list)
    for document in documents:
        same[" ".join(words_of(document.text))].append(document.id)
    return [tuple(ids) for words, ids in same.items() if words and len(ids) > 1]


def near_duplicates(documents: Sequence[Document], alike: float = ALIKE) -> list[Family]:
    """Families of near duplicates, exact ones among them, in the documents' order."""
    from scipy.sparse import csr_matrix
    from scipy.sparse.csgraph import connected_components

    numbers: dict[str, int] = {}
    sets = [_runs([numbers.setdefault(w, len(numbers) + 1) for w in words_of(d.text)]) for d in documents]
    sizes = np.array([len(runs) for runs in sets])
    rows, columns, weights = _shared(sets)
    if not len(rows):
        return []
    holds = csr_matrix((np.ones(len(rows), dtype=np.int64), (rows, columns)), (len(sets), len(weights)))
    weighed = holds.multiply(weights).tocsr()
    links: list[tuple[Numbers, Numbers, Shares]] = []
    for start in range(0, len(sets), _ROWS):
        common = (weighed[start : start + _ROWS] @ holds.T).tocoo()
        here, there = common.row + start, common.col
        share = common.data / (sizes[here] + sizes[there] - common.data)
        linked = (share >= alike) & (here < there)
        links.append((here[linked], there[linked], share[linked]))
    first, second, shares = (np.concatenate(part) for part in zip(*links, strict=True))
    graph = csr_matrix((np.ones(len(first)), (first, second)), (len(sets), len(sets)))
    count, family_of = connected_components(graph, directed=False)
    least, most = np.ones(count), np.zeros(count)
    np.minimum.at(least, family_of[first], shares)
    np.maximum.at(most, family_of[first], shares)
    members: dict[int, list[str]] = defaultdict(list)
    for document, family in zip(documents, family_of.tolist(), strict=True):
        members[family].append(document.id)
    return [Family(tuple(ids), float(least[f]), float(most[f])) for f, ids in members.items() if len(ids) > 1]


def _runs(words: Sequence[int]) -> Hashes:
    """The hashes of a text's runs of words, each once; a text shorter than a run is one run."""
    numbers = np.array(words, dtype=np.uint64)
    size = min(RUN, len(numbers))
    if not size:
        return numbers
    count = len(numbers) - size + 1
    hashes = np.full(count, size, dtype=np.uint64)
    for offset in range(size):
        hashes = (hashes ^ numbers[offset : offset + count]) * _FACTOR
        hashes ^= hashes >> np.uint64(29)
    return np.unique(hashes)


def _shared(sets: Sequence[Hashes]) -> tuple[Numbers, Numbers, Numbers]:
    """(row, column) of every document that holds a run which another holds too, and the weight of each column.

    Runs that stand in exactly the same documents are one column, which weighs as much as they are many: boilerplate
    of thousands of runs costs as little as one.
    """
    owners = np.repeat(np.arange(len(sets)), [len(runs) for runs in sets])
    runs = np.concatenate(sets) if sets else np.zeros(0, dtype=np.uint64)
    order = np.argsort(runs, kind="stable")
    runs, owners = runs[order], owners[order]
    starts = np.flatnonzero(np.append(True, runs[1:] != runs[:-1])[: len(runs)])
    holders = np.diff(np.append(starts, len(runs)))
    shared = holders > 1
    if not shared.any():
        none = np.zeros(0, dtype=np.int64)
        return none, none, none
    names = np.random.default_rng(0).integers(0, 2**64, len(sets), dtype=np.uint64)
    marks = np.add.reduceat(names[owners], starts)[shared]  # equal for runs of the same documents
    _, first, weights = np.unique(marks, return_index=True, return_counts=True)
    starts, holders = starts[shared][first], holders[shared][first]
    columns = np.repeat(np.arange(len(starts)), holders)
    within = np.arange(len(columns)) - np.repeat(np.cumsum(holders) - holders, holders)
    return owners[np.repeat(starts, holders) + within], columns, weights.astype(np.int64)
