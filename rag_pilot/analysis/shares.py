"""A share and a mean that carry their denominator and what is missing from it, and how they are written.

They follow the rules for small numbers of questions; they do not know what is counted.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from ..errors import DataError
from .intervals import Interval, t_interval, wilson

COUNTS_ONLY_UNDER, PERCENT_FROM, MEANS_FROM = 10, 30, 40
"""How many questions an interval, a percentage and an interval of a mean need (simulated for this project)."""


def percent(share: float) -> str:
    """A share as a whole percentage, without its sign; 0 and 100 only where nothing, or all, was counted."""
    whole = round(100 * share)
    return "<1" if whole == 0 and share > 0 else ">99" if whole == 100 and share < 1 else str(whole)


def _missing_text(missing: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {reason}" for reason, count in missing.items() if count)


@dataclass(frozen=True)
class Share:
    """A count of n questions, and how many more are missing from n, by reason."""

    count: int
    n: int
    missing: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 <= self.count <= self.n:
            raise DataError(f"{self.count} of {self.n} is not a share; expected 0 <= count <= n")

    @property
    def value(self) -> float | None:
        """The share as a fraction; None where n is 0."""
        return self.count / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """Wilson's 95 % interval; None where n is 0."""
        return wilson(self.count, self.n)

    @property
    def bounds(self) -> Interval | None:
        """The share if all that is missing counted against it, and for it; None where nothing was asked."""
        absent = sum(self.missing.values())
        asked = self.n + absent
        return Interval(self.count / asked, (self.count + absent) / asked) if asked else None

    def text(self) -> str:
        """Such as '41 of 50 (82 %, 69-92)': counts alone under 10, the interval from 10, the percentage from 30."""
        interval, counts = self.interval, f"{self.count} of {self.n}"
        if interval is None:
            return "no data"
        span = f"{percent(interval.low)}-{percent(interval.high)}"
        if self.n < COUNTS_ONLY_UNDER:
            return counts
        return (
            f"{counts} ({span} %)" if self.n < PERCENT_FROM else f"{counts} ({percent(self.count / self.n)} %, {span})"
        )

    def missing_text(self) -> str:
        """Such as '3 not permitted, 1 error'; empty where nothing is missing."""
        return _missing_text(self.missing)


@dataclass(frozen=True)
class Mean:
    """A mean of n values between 0 and 1 with Student's interval, and how many are missing from it, by reason."""

    values: tuple[float, ...]
    missing: Mapping[str, int] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """How many values the mean is over."""
        return len(self.values)

    @property
    def value(self) -> float | None:
        """The mean; None where there is no value."""
        return math.fsum(self.values) / self.n if self.n else None

    @property
    def interval(self) -> Interval | None:
        """The 95 % interval within 0 and 1; None under 40 values, where Student's interval cannot be relied on."""
        interval = t_interval(self.values) if self.n >= MEANS_FROM else None
        return interval and Interval(max(0.0, interval.low), min(1.0, interval.high))

    def text(self) -> str:
        """Such as '0.71 (0.66-0.76), n = 172'."""
        if self.value is None:
            return "no data"
        span = f" ({self.interval.low:.2f}-{self.interval.high:.2f})" if self.interval else ""
        return f"{self.value:.2f}{span}, n = {self.n}"

    def missing_text(self) -> str:
        """Such as '3 not permitted'; empty where nothing is missing."""
        return _missing_text(self.missing)


def share_of(outcomes: Iterable[bool | None], reason: str = "not measured") -> Share:
    """The share that is true; None counts as missing."""
    counts = Counter(outcomes)
    return Share(counts[True], counts[True] + counts[False], {reason: counts[None]} if counts[None] else {})
