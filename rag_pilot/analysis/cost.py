"""What a month costs and where the time goes, from the tokens and seconds that a run measured.

Prices and budgets are the user's, in her currency; the module knows none. Declines without a call cost nothing and are
counted as such; answers for which the endpoint named no tokens are missing, not free.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..errors import SettingsError
from ..records import Answer

P95_FROM = 20
"""Under 20 measurements the 95th percentile is the slowest one."""


@dataclass(frozen=True)
class Prices:
    """Prices for a million tokens; `cached` is that of input kept by the endpoint, None where there is none."""

    input: float
    output: float
    cached: float | None = None

    def __post_init__(self) -> None:
        if min(self.input, self.output, self.cached or 0) < 0:
            raise SettingsError(
                f"a price below 0: {self.input}, {self.output}, {self.cached}; expected money a million tokens"
            )


@dataclass(frozen=True)
class Usage:
    """Mean tokens a question; `without_call` of the n questions were declined before any model was asked."""

    tokens_in: float
    tokens_out: float
    n: int = 0
    without_call: int = 0
    not_reported: int = 0
    errors: int = 0


def usage(answers: Iterable[Answer]) -> Usage | None:
    """The mean use of a run, None where no answer tells its tokens; failed calls and untold ones are counted apart."""
    told, silent, free, errors = [], 0, 0, 0
    for answer in answers:
        no_call = answer.reason in ("no_passage", "low_similarity")
        if answer.status == "error":
            errors += 1
        elif answer.tokens_in or no_call:
            told.append(answer)
            free += no_call
        else:
            silent += 1
    if not told:
        return None
    n = len(told)
    return Usage(sum(a.tokens_in for a in told) / n, sum(a.tokens_out for a in told) / n, n, free, silent, errors)


def monthly_cost(questions: float, used: Usage, prices: Prices, cached_tokens: float = 0) -> float:
    """Questions a month times the price of a question; `cached_tokens` of its input are paid at the cached price."""
    cached = min(cached_tokens, used.tokens_in) if prices.cached is not None else 0.0
    money = (used.tokens_in - cached) * prices.input + cached * (prices.cached or 0) + used.tokens_out * prices.output
    return questions * money / 1e6


@dataclass(frozen=True)
class WhatIf:
    """One lever and the monthly cost with it."""

    lever: str
    cost: float
    saved: float


def what_if(
    questions: float,
    used: Usage,
    prices: Prices,
    shown: int,
    fewer: int,
    prefix_tokens: float,
    small: Prices | None = None,
    easy_share: float = 0.5,
) -> list[WhatIf]:
    """The levers on the monthly cost, cheapest to try first; estimates, each alone, from the measured mean.

    `shown` passages make up the input but for `prefix_tokens` (the fixed part of the prompt); `small` are the prices
    of a small model that could take the `easy_share` of the questions.
    """
    if not 0 < fewer <= shown or not 0 <= easy_share <= 1:
        raise SettingsError(
            f"{shown} passages, {fewer} instead, easy share {easy_share}; expected 0 < fewer <= shown, 0 to 1"
        )
    now = monthly_cost(questions, used, prices)
    prefix = min(prefix_tokens, used.tokens_in)
    leaner = replace(used, tokens_in=prefix + (used.tokens_in - prefix) * fewer / shown)
    costs = {"as measured": now, f"{fewer} passages instead of {shown}": monthly_cost(questions, leaner, prices)}
    if prices.cached is not None:
        costs["stable prefix cached"] = monthly_cost(questions, used, prices, cached_tokens=prefix)
    if small is not None:
        routed = (1 - easy_share) * now + easy_share * monthly_cost(questions, used, small)
        costs[f"small model for {100 * easy_share:g} % of the questions"] = routed
    return [WhatIf(lever, cost, now - cost) for lever, cost in costs.items()]


@dataclass(frozen=True)
class StageTime:
    """Seconds of one stage over the n answers that went through it; p95 only from 20 of them."""

    stage: str
    n: int
    p50: float | None  # None: a budget was given, and nothing was measured
    p95: float | None
    budget: float | None
    within: bool | None  # None: no budget, or no p95


def stage_times(answers: Iterable[Answer], budgets: Mapping[str, float]) -> list[StageTime]:
    """p50 and p95 of every stage in the order met, `total`, then budgets without a measurement; seconds throughout.

    Failed calls are left out.
    """
    spent: dict[str, list[float]] = {}
    total: list[float] = []
    for answer in answers:
        if answer.status != "error" and answer.seconds:
            for stage, seconds in answer.seconds.items():
                spent.setdefault(stage, []).append(seconds)
            total.append(sum(answer.seconds.values()))
    if total:
        spent["total"] = total
    measured = [_stage(stage, seconds, budgets.get(stage)) for stage, seconds in spent.items()]
    return measured + [StageTime(s, 0, None, None, budgets[s], None) for s in budgets if s not in spent]


def _stage(stage: str, seconds: Sequence[float], budget: float | None) -> StageTime:
    p95 = float(np.percentile(seconds, 95)) if len(seconds) >= P95_FROM else None
    within = p95 <= budget if p95 is not None and budget is not None else None
    return StageTime(stage, len(seconds), float(np.percentile(seconds, 50)), p95, budget, within)
