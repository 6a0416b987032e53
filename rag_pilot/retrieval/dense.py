"""Cosines of questions to passages: a fast product over permitted rows, then the exact value for those that matter.

The product is in float32 and differs in its last digits from one processor, or one batch, to the next; it chooses
candidates and tells, rounded to 1e-4 too, how similarities are spread. What ranks and is shown is the cosine in double
precision, rounded to 1e-4, of a passage's best window. Where vectors come from is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

Cosines = NDArray[np.float64]

DECIMALS = 4
BLOCK = 512
"""Rows multiplied at once, so that those gathered from far apart stay in the processor's cache."""
BATCH_BYTES = 64 << 20
"""Most memory that the products of a batch of questions take."""
KEPT_BYTES = 128 << 20
"""Most memory that a copy of the vectors of one set of permitted passages takes; there are at most two."""


@dataclass(frozen=True)
class Dense:
    """Unit vectors of passages, float32, shape (windows, dimension); `starts` is the row of each one's first window."""

    vectors: NDArray[np.float32]
    starts: NDArray[Any]
    _kept: list[tuple[NDArray[np.intp], NDArray[np.float32] | None]] = field(default_factory=list, repr=False)

    def batch(self, rows: int) -> int:
        """How many questions may be multiplied with that many passages at once."""
        return max(1, BATCH_BYTES // (4 * max(1, rows) * max(1, len(self.vectors) // max(1, len(self.starts)))))

    def near(self, queries: NDArray[np.float32], rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Approximate cosines of each query to the best window of those passages, shape (queries, rows)."""
        windows, first = self._windows(rows)
        if windows[-1] - windows[0] == len(windows) - 1:
            found = queries @ self.vectors[windows[0] : windows[-1] + 1].T
        elif (beside := self._side_by_side(windows)) is not None:
            found = queries @ beside.T
        else:
            found = np.empty((len(queries), len(windows)), dtype=np.float32)
            for at in range(0, len(windows), BLOCK):
                np.matmul(queries, self.vectors[windows[at : at + BLOCK]].T, out=found[:, at : at + BLOCK])
        return found if first is None else np.maximum.reduceat(found, first, axis=1)

    def _side_by_side(self, windows: NDArray[np.intp]) -> NDArray[np.float32] | None:
        """A copy of those windows' vectors, from the second time that just these are asked for; None: not kept.

        Which these are is compared by value, so that a copy can never serve an asker who may open something else.
        """
        matrix: NDArray[np.float32] | None = None
        for known, copy in self._kept:
            if np.array_equal(known, windows):
                if copy is None and 4 * len(windows) * self.vectors.shape[1] <= KEPT_BYTES:
                    copy = self.vectors[windows]
                matrix = copy
        others = [pair for pair in self._kept if not np.array_equal(pair[0], windows)]
        self._kept[:] = [(windows, matrix), *others][:2]
        return matrix

    def exact(self, query: NDArray[np.float32], rows: NDArray[np.intp]) -> Cosines:
        """Cosines of the query to the best window of those passages, rounded to 1e-4."""
        windows, first = self._windows(rows)
        found, wide = np.empty(len(windows)), query.astype(np.float64)
        for at in range(0, len(windows), BLOCK):
            found[at : at + BLOCK] = (self.vectors[windows[at : at + BLOCK]] * wide).sum(axis=1)
        return np.round(found if first is None else np.maximum.reduceat(found, first), DECIMALS)

    def candidates(self, near: NDArray[np.float32], depth: int) -> NDArray[np.intp]:
        """The places in `near` that may be among the `depth` best once cosines are exact and rounded."""
        if not 0 < depth < len(near):
            return np.arange(len(near))
        least = float(np.partition(near, len(near) - depth)[len(near) - depth])
        margin = 10.0**-DECIMALS + self.vectors.shape[1] * 2.0**-23  # a step of rounding, and twice float32's error
        return np.flatnonzero(near >= np.float32(least - margin))

    def _windows(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp] | None]:
        """(the rows of those passages' windows, where each passage's begin; None: one window each)."""
        if len(self.starts) == len(self.vectors):
            return rows, None
        ends = np.append(self.starts[1:], len(self.vectors))
        sizes = ends[rows] - self.starts[rows]
        first = np.cumsum(sizes) - sizes
        return np.repeat(self.starts[rows] - first, sizes) + np.arange(int(sizes.sum())), first


def check_unit(vectors: NDArray[np.float32]) -> None:
    """DataError for vectors that are not of length 1."""
    if not np.allclose(np.sqrt(np.einsum("ij,ij->i", vectors, vectors)), 1, atol=1e-2):
        raise DataError("embed returned vectors that are not of length 1; divide each by its norm")
