"""Several candidate lists as one: by ranks (RRF) or by standardised scores, with a weight for each list.

By ranks is the article's way and needs no scores; by scores keeps what ranks forget: how far the first is before the
second. Which weight suits a question set is for cross-validation to say (`analysis/weights.py`), not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import SettingsError

HOW = ("ranks", "scores")
DECIMALS = 6
"""Of a fused score: what is beyond differs from one processor to the next."""


@dataclass(frozen=True)
class Fusion:
    """How lists are fused; the dense list counts `dense_weight` (0 to 1), the keyword list the rest."""

    how: str = "ranks"
    dense_weight: float = 0.5

    def __post_init__(self) -> None:
        if self.how not in HOW:
            raise SettingsError(f"fusion is {self.how!r}; expected one of {', '.join(HOW)}")
        if not 0 <= self.dense_weight <= 1:
            raise SettingsError(f"dense_weight is {self.dense_weight}; expected a number from 0 to 1")

    def weights(self, lists: Mapping[str, object]) -> dict[str, float]:
        """The weight of each list, 1 for both where they are equal; a list alone has all, one of weight 0 is left out.

        A list that is alone because the other was not made is not weighed.
        """
        both = {"keyword": 2 * (1 - self.dense_weight), "dense": 2 * self.dense_weight}
        return {name: both[name] for name in lists if both[name] > 0} if len(lists) > 1 else dict.fromkeys(lists, 1.0)


@dataclass(frozen=True)
class Candidates:
    """A list: its rows, best first, the scores of every row in any list, and the moments over all permitted rows."""

    rows: NDArray[np.intp]
    scores: Mapping[int, float]  # a row without a score (no shared word) has 0
    mean: float = 0.0
    deviation: float = 0.0

    def standard(self, row: int) -> float:
        """Standard deviations of a row above the mean of what the asker may open; 0 where all are alike."""
        return (self.scores.get(row, 0.0) - self.mean) / self.deviation if self.deviation > 0 else 0.0


def fuse(lists: Mapping[str, Candidates], fusion: Fusion, rrf_k: int = 60) -> dict[int, float]:
    """Row -> fused score, for every row that stands in a list that counts.

    By ranks: the sum of weight/(rrf_k + rank) (reciprocal rank fusion, Cormack, Clarke and Buettcher 2009). By scores:
    the weighted sum of standardised scores, a convex combination (Bruch, Gai and Ingber 2023, who find that it beats
    RRF and that the dense list should weigh more).
    """
    weights = fusion.weights(lists)
    fused: dict[int, float] = {}
    for name, weight in weights.items():
        for rank, row in enumerate(lists[name].rows.tolist(), start=1):
            fused[row] = fused.get(row, 0.0) + weight / (rrf_k + rank)
    if fusion.how == "ranks":
        return fused
    return {
        row: round(sum(weight * lists[name].standard(row) for name, weight in weights.items()), DECIMALS)
        for row in fused
    }


def moments(scores: NDArray[Any], count: int) -> tuple[float, float]:
    """Mean and standard deviation of `count` scores, of which those not given are 0."""
    wide = scores.astype(np.float64)
    mean = float(wide.sum()) / count
    return mean, float(np.sqrt(max(0.0, float((wide * wide).sum()) / count - mean * mean)))
