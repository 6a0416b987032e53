"""Is an agreed criterion met, and what so many questions can show of it before the first run.

A criterion is met or not met only where the exact one-sided 95 % bound says so; else this many questions do not decide
it. The module knows criteria and results, and nothing of how they were measured or of what follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from ..errors import DataError, SettingsError
from .headline import Estimate
from .intervals import lower_bound, upper_bound
from .shares import Share

PRACTICAL_MOST = 1000
"""More questions than this nobody collects for a pilot."""


@dataclass(frozen=True)
class Criterion:
    """What was agreed before the first run, such as: wrong, at most 0.05, of all questions."""

    name: str
    measure: str
    direction: str  # at_most | at_least
    limit: float
    denominator: str

    def __post_init__(self) -> None:
        if self.direction not in ("at_most", "at_least") or not 0 <= self.limit <= 1 or not self.denominator:
            raise SettingsError(
                f"criterion {self.name!r}: {self.direction} {self.limit} of {self.denominator!r}; expected at_most or "
                "at_least, a limit between 0 and 1 and the questions that it is a share of"
            )

    def text(self) -> str:
        """Such as 'wrong at most 5 % of all questions'."""
        return f"{self.measure} {self.direction.replace('_', ' ')} {100 * self.limit:g} % of {self.denominator}"


def _state(limit: float, at_most: bool, low: float, high: float) -> str:
    met, missed = (high <= limit, low > limit) if at_most else (low >= limit, high < limit)
    return "met" if met else "not met" if missed else "not decided"


@dataclass(frozen=True)
class Judgement:
    """One criterion against its result: met, not met or not decided; `low` and `high` are one-sided bounds."""

    criterion: Criterion
    state: str
    value: float | None
    low: float | None
    high: float | None
    n: float  # questions, or the effective number of a headline
    needed: int | None  # questions that would decide at the observed rate; None: not by a practical number, or decided
    words: str
    confidence: float = 0.95  # of the bounds
    why: str = ""  # it may not be decided on these questions


def acceptance(criterion: Criterion, result: Share | Estimate | None, looks: int = 1) -> Judgement:
    """Judge a criterion by one-sided Clopper-Pearson bounds at 95 % (97.5 % if an extension of the set was planned).

    A headline enters with its effective number of questions, through the same beta quantiles. `looks` is 2 where an
    extension was planned, on the first set and on the extended one alike; more are refused.
    """
    confidence = _confidence(looks)
    n = 0.0 if result is None else result.n_eff if isinstance(result, Estimate) else float(result.n)
    value = None if result is None else result.value
    if criterion.limit == 0 and criterion.direction == "at_most" and value is not None:
        return _none_allowed(criterion, value, n, result)
    if value is None or n == 0:
        return Judgement(criterion, "not decided", None, None, None, 0.0, None, f"{criterion.text()}: no data.")
    low, high = lower_bound(value * n, n, confidence) or 0.0, upper_bound(value * n, n, confidence) or 0.0
    at_most = criterion.direction == "at_most"
    state = _state(criterion.limit, at_most, low, high)
    needed = questions_to_decide(value, criterion, confidence) if state == "not decided" else None
    bound = f"at most {100 * high:.1f} %" if at_most else f"at least {100 * low:.1f} %"
    level = " at 97.5 %, for the extension planned," if looks == 2 else ""
    counted = result.text() if result is not None else ""
    absent = result.missing_text() if isinstance(result, Share) else ""
    missing = f" Not in it: {absent}." if absent else ""
    words = f"{criterion.text()}: {state}; {counted}, one-sided{level} {bound}.{missing}"
    if state == "not decided":
        more = "not by a practical number" if needed is None else f"about {needed}"
        words += f" Questions, all answers read, that would decide it at this rate: {more}."
    return Judgement(criterion, state, value, low, high, n, needed, words, confidence)


def undecided(judgement: Judgement, why: str) -> Judgement:
    """The criterion without a verdict and without numbers, because it may not be decided on these questions."""
    criterion = judgement.criterion
    words = f"{criterion.text()}: not decided. {why}"
    return Judgement(criterion, "not decided", None, None, None, 0.0, None, words, why=why)


def _confidence(looks: int) -> float:
    if looks not in (1, 2):
        raise DataError(f"{looks} looks at a criterion; expected 1, or 2 if one extension was planned beforehand")
    return 1 - 0.05 / looks


def _none_allowed(criterion: Criterion, value: float, n: float, result: Share | Estimate | None) -> Judgement:
    """A limit of zero is a demand on this run, every question of it looked at: no sample could ever show it."""
    state = "met" if value == 0 else "not met"
    counted = result.text() if result is not None else ""
    words = f"{criterion.measure}, none allowed in any question of this run: {state}; {counted}."
    return Judgement(criterion, state, value, value, value, n, None, words)


def questions_to_decide(rate: float, criterion: Criterion, confidence: float = 0.95) -> int | None:
    """The fewest questions that would decide the criterion at this observed rate; None for more than 1,000."""
    n = np.arange(1, PRACTICAL_MOST + 1)
    high = np.ones(len(n)) if rate == 1 else special.betaincinv(rate * n + 1, n - rate * n, confidence)
    low = np.zeros(len(n)) if rate == 0 else special.betaincinv(rate * n, n - rate * n + 1, 1 - confidence)
    at_most = criterion.direction == "at_most"
    limit = criterion.limit
    decided = (high <= limit) | (low > limit) if at_most else (low >= limit) | (high < limit)
    return int(n[decided][0]) if decided.any() else None


# -- before the first run --------------------------------------------------------------------------------------------


ESTIMATED = ("correct", "wrong", "declined")
"""Measures of which 50 answers are read and the others estimated; the rest are counted over all questions."""
WELL_WITHIN = 0.4
"""A system with this share of the faults that are allowed, such as 2 % for 5 %, should be shown to be good enough."""
CHANCE = 0.8


@dataclass(frozen=True)
class CanShow:
    """What n questions can show if all answers are read: the counts that meet a criterion, and that fail it; and the
    chance that a system well within the limit, at `rate`, is shown to meet it."""

    n: int
    met_if: int | None  # at most (or at least) so many; None: never
    not_met_if: int | None  # at least (or at most) so many; None: never
    words: str
    rate: float | None = None
    chance: float | None = None
    needed: int | None = None  # questions that give a chance of 80 %; None: not by a practical number


def can_show(criterion: Criterion, n: int, looks: int = 1) -> CanShow:
    """Which counts of n questions would decide the criterion, to be printed when it is locked; `looks` as above."""
    at_most, confidence = criterion.direction == "at_most", _confidence(looks)
    if at_most and criterion.limit == 0:
        return CanShow(n, 0, 1, f"{criterion.measure}: none allowed in any question of the run; one is enough to fail.")
    bounds = [(lower_bound(k, n, confidence) or 0.0, upper_bound(k, n, confidence) or 0.0) for k in range(n + 1)]
    states = [_state(criterion.limit, at_most, *bound) for bound in bounds]
    met = [k for k, state in enumerate(states) if n and state == "met"]
    unmet = [k for k, state in enumerate(states) if n and state == "not met"]
    met_if = (max(met) if at_most else min(met)) if met else None
    not_met_if = (min(unmet) if at_most else max(unmet)) if unmet else None
    most, least = ("at most", "at least") if at_most else ("at least", "at most")
    parts = [
        f"met with {most} {met_if}" if met_if is not None else "cannot be met",
        f"not met with {least} {not_met_if}" if not_met_if is not None else "cannot be missed",
    ]
    rate = WELL_WITHIN * criterion.limit if at_most else 1 - WELL_WITHIN * (1 - criterion.limit)
    chance, needed = _chance(criterion, n, met_if, rate), questions_to_show(criterion, rate, looks)
    half = criterion.limit <= 0.1 if at_most else criterion.limit >= 0.9  # simulated for 2 % where 5 % are allowed
    read = f" ({'about half that' if half else 'less'} with 50 read and the judge)"
    words = (
        f"{criterion.text()}, {n} questions, all answers read: {', '.join(parts)}. If {100 * rate:.3g} % are true, the "
        f"chance to show it is {100 * chance:.0f} %{read if criterion.measure in ESTIMATED else ''}; for 80 % it takes "
        f"{'no practical number of' if needed is None else needed} questions."
    )
    planned = " An extension is planned: both verdicts are at 97.5 %." if looks == 2 else ""
    return CanShow(n, met_if, not_met_if, words + planned, rate, chance, needed)


def chance_to_meet(criterion: Criterion, n: int, true_rate: float, looks: int = 1) -> float:
    """The exact chance that n questions, all answers read, show the criterion met at this true rate."""
    return _chance(criterion, n, can_show(criterion, n, looks).met_if, true_rate)


def _chance(criterion: Criterion, n: int, met_if: int | None, true_rate: float) -> float:
    if met_if is None:
        return 0.0
    if criterion.direction == "at_most":
        return float(special.bdtr(met_if, n, true_rate))
    return 1.0 if met_if == 0 else float(special.bdtrc(met_if - 1, n, true_rate))


def questions_to_show(criterion: Criterion, true_rate: float, looks: int = 1) -> int | None:
    """The fewest questions from which on the exact chance to show the criterion met stays at 80 % or more, all answers
    read, at this true rate; None for more than 1,000.

    The chance falls a little wherever one more question allows no further fault; so an n before it may do too.
    """
    limit, rate = criterion.limit, true_rate
    if criterion.direction == "at_least":  # as many misses at most
        limit, rate = 1 - limit, 1 - rate
    n = np.arange(1, 2 * PRACTICAL_MOST + 1)
    faults = stats.binom.ppf(1 - _confidence(looks), n, limit) - 1  # the most that still have their bound at the limit
    chance = np.where(faults >= 0, special.bdtr(np.maximum(faults, 0), n, rate), 0.0)
    short = np.flatnonzero(chance < CHANCE)
    needed = int(n[short[-1]]) + 1 if len(short) else 1
    return needed if needed <= PRACTICAL_MOST else None
