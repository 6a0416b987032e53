"""How much the dense list should weigh: chosen by cross-validation, and told with what it gains over equal weights.

What is reported of a chosen weight are questions that did not take part in choosing it. This module knows ranks by
question and neither indexes nor documents.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import DataError
from .intervals import Interval, bonett_price

GRID = tuple(n / 10 for n in range(11))
"""Weights that are tried: 0 is the keyword list alone, 1 the dense list alone."""
EQUAL = 0.5
FOLDS = 10
FEWEST = 30
"""Questions under which no weight is chosen: three in a fold."""

Ranks = Mapping[str, int | None]  # question -> rank of the expected document, None where it was not found


@dataclass(frozen=True)
class Paired:
    """Questions whose document is among the first five by one way and not by another; a difference is a fraction."""

    gained: int
    lost: int
    n: int

    @property
    def interval(self) -> Interval | None:
        """The interval of the difference of the two shares."""
        return bonett_price(self.gained, self.lost, self.n)

    @property
    def better(self) -> bool | None:
        """Whether the whole interval is above 0 (True) or below (False); None where it cannot be told."""
        found = self.interval
        return None if found is None or found.low <= 0 <= found.high else found.low > 0


def paired(before: Ranks, after: Ranks, k: int = 5) -> Paired:
    """Compare Hit@k by question; two different sets of questions are an error."""
    if before.keys() != after.keys():
        raise DataError("the two ways hold different questions; compare them over the same ones")
    hits = [(_hit(before[q], k), _hit(after[q], k)) for q in before]
    return Paired(sum(b > a for a, b in hits), sum(a > b for a, b in hits), len(hits))


@dataclass(frozen=True)
class ChosenWeight:
    """The weight that all questions choose (None under FEWEST), those of the folds, and what it gains on the others."""

    weight: float | None
    folds: tuple[float, ...]
    against_equal: Paired
    hits: int = 0  # of against_equal.n questions, each by a weight that it did not help to choose
    first: int = 0  # the same with the document first
    equal_hits: int = 0
    unseen: Ranks = field(default_factory=dict, repr=False)  # of those questions, by the weight of the other folds

    @property
    def recommended(self) -> float:
        """The chosen weight where it is shown to be better than equal weights, else equal weights."""
        return self.weight if self.weight is not None and self.against_equal.better else EQUAL


def choose_weight(ranks: Mapping[float, Ranks], seed: int, folds: int = FOLDS) -> ChosenWeight:
    """The weight with the best sum of Hit@5 and reciprocal rank, and by cross-validation what that choice gains.

    `ranks` holds the ranks by question for every weight, equal ones among them. Ties go to the weight nearest to equal
    ones. The folds are drawn by seed; each question is scored by the weight that the other folds choose.
    """
    if EQUAL not in ranks:
        raise DataError(f"the ranks by equal weights ({EQUAL}) are missing; they are what a choice is held against")
    ids = sorted(ranks[EQUAL])
    if any(found.keys() != ranks[EQUAL].keys() for found in ranks.values()):
        raise DataError("not every weight was asked the same questions")
    if len(ids) < FEWEST:
        return ChosenWeight(None, (), Paired(0, 0, len(ids)))
    random.Random(seed).shuffle(ids)
    unseen: dict[str, int | None] = {}
    chosen = []
    for fold in range(folds):
        test = ids[fold::folds]
        weight = _best(ranks, sorted(set(ids) - set(test)))
        chosen.append(weight)
        unseen |= {q: ranks[weight][q] for q in test}
    return ChosenWeight(
        _best(ranks, ids),
        tuple(chosen),
        paired(ranks[EQUAL], unseen),
        sum(_hit(rank, 5) for rank in unseen.values()),
        sum(_hit(rank, 1) for rank in unseen.values()),
        sum(_hit(rank, 5) for rank in ranks[EQUAL].values()),
        unseen,
    )


def _best(ranks: Mapping[float, Ranks], ids: Sequence[str]) -> float:
    def worth(weight: float) -> float:
        found = (ranks[weight][q] for q in ids)
        return sum(_hit(rank, 5) + (1 / rank if rank else 0.0) for rank in found)

    return max(ranks, key=lambda weight: (round(worth(weight), 9), -abs(weight - EQUAL), -weight))


def _hit(rank: int | None, k: int) -> bool:
    return rank is not None and rank <= k
