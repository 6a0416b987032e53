"""The words and numbers of the pictures in the language of a report: counts, shares, intervals, plurals.

Words stand in `texts/figures.toml`. What a number means, and whether it may be shown, is decided by who asks.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.headline import Estimate
from ...analysis.intervals import Interval
from ...analysis.shares import COUNTS_ONLY_UNDER, PERCENT_FROM, Mean, Share, percent
from ..speech import NARROW, form_of, speech

POINT_GROUP_UNIT_DASH = {"en": (".", ",", " ", "-"), "fr": (",", NARROW, NARROW, "–"), "pl": (",", NARROW, NARROW, "–")}


class Wording:
    """How one language says what a picture shows; SettingsError for a language that reports do not have."""

    def __init__(self, language: str) -> None:
        self.language, self._words = language, speech("figures", language)
        self._point, self._group, self._unit, self._dash = POINT_GROUP_UNIT_DASH[language]

    def __call__(self, key: str, **values: object) -> str:
        """A sentence of `texts/figures.toml` with its places filled in."""
        return self._words[key].format(**values)

    def name(self, kind: str, code: str) -> str:
        """What a code is called, such as the cause `not_retrieved`; a name that is no code stands as it is."""
        return self._words.get(f"{kind}_{code}".replace(" ", "_").replace(",", ""), code)

    def counted(self, what: str, n: int) -> str:
        """Such as '1 question' and '3 questions', in the right one of a language's forms."""
        return f"{self.number(n)} {form_of(self._words[what], n, self.language)}"

    def number(self, value: float, digits: int = 0, sign: bool = False) -> str:
        """A number with the language's decimal mark and groups of three; a minus is a minus, and zero has no sign."""
        shown = f"{abs(value):,.{digits}f}".replace(",", "\0").replace(".", self._point).replace("\0", self._group)
        rounded = round(value, digits)
        return ("−" if rounded < 0 else "+" if sign and rounded > 0 else "") + shown

    def percent(self, share: float) -> str:
        """Such as '82 %'; 0 and 100 only where nothing, or all, was counted."""
        return f"{percent(share)}{self._unit}%"

    def limit(self, share: float) -> str:
        """A limit as it was agreed, such as '2.5 %'."""
        return f"{100 * share:g}".replace(".", self._point) + f"{self._unit}%"

    def span(self, interval: Interval) -> str:
        """Such as '69-92', in percent."""
        return f"{percent(interval.low)}{self._dash}{percent(interval.high)}"

    def of(self, count: int, n: int) -> str:
        """Such as '41 of 50'."""
        return self("of", count=self.number(count), n=self.number(n))

    def share(self, share: Share) -> str:
        """Such as '41 of 50 (82 %, 69-92)': counts alone under 10, the interval from 10, the percentage from 30."""
        interval, counts = share.interval, self.of(share.count, share.n)
        if interval is None:
            return self("no_data")
        if share.n < COUNTS_ONLY_UNDER:
            return counts
        if share.n < PERCENT_FROM:
            return f"{counts} ({self.span(interval)}{self._unit}%)"
        return f"{counts} ({self.percent(share.count / share.n)}, {self.span(interval)})"

    def mean(self, mean: Mean) -> str:
        """Such as '0.71 (0.66-0.76)'."""
        if mean.value is None:
            return self("no_data")
        ends = [self.number(end, 2) for end in mean.interval or ()]
        return self.number(mean.value, 2) + (f" ({self._dash.join(ends)})" if ends else "")

    def estimate(self, estimate: Estimate) -> str:
        """Such as '72 % (64-80)'."""
        return f"{self.percent(estimate.value)} ({self.span(estimate.interval)})"

    def missing(self, missing: Mapping[str, int]) -> str:
        """What a caption says of that which is not in a picture; empty where nothing is."""
        parts = [f"{self.number(n)} {self.name('missing', why)}" for why, n in missing.items() if n]
        return " " + self("not_in_it", what=", ".join(parts)) if parts else ""

    def first_read(self, first: int | None) -> str:
        """What a count is over while not all is read; empty where it is over all."""
        return "" if first is None else " " + self("first_read", n=self.counted("questions", first))
