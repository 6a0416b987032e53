"""Intervals for shares, paired differences and means: the only place that turns counts into bounds.

Shares and differences are fractions (0.05 is 5 %); counts may be real numbers, so that an effective number of questions
can be given. No data has no interval (None), and counts that cannot be are an error. It does not know what is counted.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy import special

from ..errors import DataError

CONFIDENCE = 0.95


class Interval(NamedTuple):
    """Two bounds, as fractions."""

    low: float
    high: float


def _checked(count: float, n: float) -> bool:
    if not (math.isfinite(count) and math.isfinite(n) and 0 <= count <= n):
        raise DataError(f"{count} of {n} is not a count of a number of questions; expected 0 <= count <= n")
    return n > 0


def wilson(count: float, n: float, confidence: float = CONFIDENCE) -> Interval | None:
    """The score interval of a share (Wilson 1927), within 0 and 1; None when n = 0."""
    if not _checked(count, n):
        return None
    share, z2 = count / n, float(special.ndtri((1 + confidence) / 2)) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return Interval(0.0 if count == 0 else max(0.0, centre - half), 1.0 if count == n else min(1.0, centre + half))


def lower_bound(count: float, n: float, confidence: float = CONFIDENCE) -> float | None:
    """The exact one-sided lower bound of a share (Clopper and Pearson 1934), by beta quantiles; None when n = 0."""
    if not _checked(count, n):
        return None
    return float(special.betaincinv(count, n - count + 1, 1 - confidence)) if count > 0 else 0.0


def upper_bound(count: float, n: float, confidence: float = CONFIDENCE) -> float | None:
    """The exact one-sided upper bound of a share (Clopper and Pearson 1934), by beta quantiles; None when n = 0."""
    if not _checked(count, n):
        return None
    return float(special.betaincinv(count + 1, n - count, confidence)) if count < n else 1.0


def clopper_pearson(count: float, n: float, confidence: float = CONFIDENCE) -> Interval | None:
    """The exact two-sided interval of a share: a one-sided bound on either side, each with half of the risk."""
    one_sided = (1 + confidence) / 2
    low, high = lower_bound(count, n, one_sided), upper_bound(count, n, one_sided)
    return None if low is None or high is None else Interval(low, high)


def bonett_price(fixed: int, broken: int, n: int, confidence: float = CONFIDENCE) -> Interval | None:
    """The interval of a paired difference of shares (fixed - broken)/n (Bonett and Price 2012); None when n = 0."""
    if not _checked(fixed, n) or not _checked(broken, n) or not _checked(fixed + broken, n):
        return None
    gain, loss = (fixed + 1) / (n + 2), (broken + 1) / (n + 2)
    half = float(special.ndtri((1 + confidence) / 2)) * math.sqrt((gain + loss - (gain - loss) ** 2) / (n + 2))
    return Interval(max(-1.0, gain - loss - half), min(1.0, gain - loss + half))


def normal_margin(share: float, n: float) -> float | None:
    """The margin of error in the method's text, 1.96*sqrt(p(1-p)/n): shown beside, never decided on."""
    return 1.96 * math.sqrt(share * (1 - share) / n) if _checked(share * n, n) else None


def t_interval(values: Sequence[float], confidence: float = CONFIDENCE) -> Interval | None:
    """Student's interval of a mean; None for fewer than two values, and where all are equal (no spread to judge by)."""
    x = np.asarray(values, dtype=float)
    if not np.isfinite(x).all():
        raise DataError("a mean was asked over a value that is not a number; leave it out and count it as missing")
    if len(x) < 2 or x.min() == x.max():
        return None
    half = float(special.stdtrit(len(x) - 1, (1 + confidence) / 2)) * float(x.std(ddof=1)) / math.sqrt(len(x))
    return Interval(float(x.mean()) - half, float(x.mean()) + half)
