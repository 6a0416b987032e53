"""What a month costs, from the tokens that a run measured.

Prices are the user's, in her currency; the module knows none. Declines without a call cost nothing and are counted as
such; answers for which the endpoint named no tokens are missing, not free. Tokens of a reply that was kept from an
earlier call count: a month's questions find nothing kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import SettingsError
from ..records import Answer, Verdict
from ..said import Said
from ..settings import CostTable


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
    """Mean tokens a question; `without_call` of the n questions needed no call, such as declines before any model."""

    tokens_in: float
    tokens_out: float
    n: int = 0
    without_call: int = 0
    not_reported: int = 0
    errors: int = 0


@dataclass(frozen=True)
class Spending:
    """What a run used: to answer, to rewrite questions and to grade. None: no model does, or its endpoint tells none.

    Grading belongs to the pilot and to its release gate; a month's questions are rewritten and answered only.
    """

    answering: Usage | None = None
    rewriting: Usage | None = None
    judging: Usage | None = None


def spending(answers: Iterable[Answer], verdicts: Iterable[Verdict] = ()) -> Spending:
    """What a run used, the tokens of replies that were kept from earlier calls included.

    A failed answer keeps nothing of what it used, its rewriting neither.
    """
    all_answers = list(answers)
    judged = [v for v in verdicts if v.reused is not None]
    fine = [a for a in all_answers if a.status != "error"]
    rewritten = any(a.rewriting for a in fine)
    return Spending(
        usage(all_answers),
        _mean([a.rewriting or None for a in fine], len(all_answers) - len(fine)) if rewritten else None,
        _mean([v.spent or {} for v in judged]),
    )


def usage(answers: Iterable[Answer]) -> Usage | None:
    """The mean use of a run, None where no answer tells its tokens; failed calls and untold ones are counted apart."""
    rows: list[Mapping[str, int] | None] = []
    errors = 0
    for answer in answers:
        if answer.status == "error":
            errors += 1
        elif answer.reason in ("no_passage", "low_similarity"):
            rows.append(None)
        else:
            rows.append({"tokens_in": answer.tokens_in, "tokens_out": answer.tokens_out})
    return _mean(rows, errors)


def _mean(rows: Sequence[Mapping[str, int] | None], errors: int = 0) -> Usage | None:
    """The mean over calls that tell their tokens, and over None: what needed no call; None where no call tells any."""
    told = [row for row in rows if row and row.get("tokens_in")]
    free = sum(row is None for row in rows)
    if not (n := len(told) + free) or not told and free < len(rows):
        return None
    into, out = (sum(row[name] for row in told) / n for name in ("tokens_in", "tokens_out"))
    return Usage(into, out, n, free, len(rows) - n, errors)


def monthly_cost(questions: float, used: Usage, prices: Prices, cached_tokens: float = 0) -> float:
    """Questions a month times the price of a question; `cached_tokens` of its input are paid at the cached price."""
    cached = min(cached_tokens, used.tokens_in) if prices.cached is not None else 0.0
    money = (used.tokens_in - cached) * prices.input + cached * (prices.cached or 0) + used.tokens_out * prices.output
    return questions * money / 1e6


@dataclass(frozen=True)
class WhatIf:
    """One lever and the monthly cost with it; or, in `missing`, what must be known to tell."""

    lever: str
    cost: float | None = None
    saved: float | None = None
    missing: str = ""


@dataclass(frozen=True)
class Tariff:
    """The prices of who answers, rewrites and grades, and of a small model that could; the share of easy questions."""

    answering: Prices
    rewriting: Prices
    judging: Prices
    small: Prices | None = None
    easy_share: float | None = None

    @classmethod
    def of(cls, table: CostTable) -> Tariff:
        """The prices in pilot.toml; a rewriter or judge without a price of its own has the answering model's."""

        def named(who: str) -> Prices | None:
            given = [getattr(table, f"{who}_{side}_per_million") for side in ("input", "output")]
            return None if None in given else Prices(*given)

        answering = Prices(table.input_per_million, table.output_per_million, table.cached_per_million)
        plain = replace(answering, cached=None)
        return cls(answering, named("rewrite") or plain, named("judge") or plain, named("small"), table.easy_share)


def paid_so_far(table: CostTable, tokens: Mapping[str, tuple[int, int]]) -> str:
    """What tokens in and out of who answers, rewrites and grades come to, such as '0.42 USD'."""
    tariff = Tariff.of(table)
    prices = {"answer": tariff.answering, "rewrite": tariff.rewriting, "judge": tariff.judging}
    money = sum(monthly_cost(1, Usage(*used), prices[who]) for who, used in tokens.items())
    return f"{money:,.2f} {table.currency}"


SMALL = ("small_input_per_million", "small_output_per_million")


def what_if(
    questions: float, spent: Spending, tariff: Tariff, shown: int, fewer: int, prefix_tokens: float
) -> list[WhatIf]:
    """The levers on the monthly cost, cheapest to try first; estimates, each alone, from the measured means.

    `shown` passages make up the input but for `prefix_tokens` (the fixed part of the prompt). Of a lever whose price is
    not known, `missing` names the setting. Nothing where no answer tells its tokens.
    """
    if not 0 < fewer <= shown:
        raise SettingsError(f"{shown} passages, {fewer} instead; expected 0 < fewer <= shown")
    used, rewriting = spent.answering, spent.rewriting
    if used is None:
        return []

    def month(answered: float, by: Prices | None = None) -> float:
        return answered + (monthly_cost(questions, rewriting, by or tariff.rewriting) if rewriting else 0.0)

    prices, small, share = tariff.answering, tariff.small, tariff.easy_share
    answered = monthly_cost(questions, used, prices)
    now, prefix = month(answered), min(prefix_tokens, used.tokens_in)
    rows = [WhatIf(Said("lever_now", "as measured"), now, 0.0)]

    def add(lever: str, cost: float | None, missing: str = "") -> None:
        rows.append(WhatIf(lever, None, None, missing) if cost is None else WhatIf(lever, cost, now - cost))

    if fewer < shown:
        fewer_words = f"{fewer} {'passage' if fewer == 1 else 'passages'} instead of {shown}"
        leaner = replace(used, tokens_in=prefix + (used.tokens_in - prefix) * fewer / shown)
        add(
            Said("lever_fewer", fewer_words, fewer=fewer, shown=shown),
            month(monthly_cost(questions, leaner, prices)),
        )
    add(
        Said("lever_small", "a small model for rewriting"),
        month(answered, small) if small and rewriting else None,
        _lacking(SMALL) if rewriting else Said("no_rewriting", "no rewriting that was measured"),
    )
    cached = monthly_cost(questions, used, prices, cached_tokens=prefix)
    add(
        Said("lever_cached", "the fixed part of the prompt cached"),
        month(cached) if prices.cached is not None else None,
        "cached_per_million",
    )
    if small and share is not None:
        routed = (1 - share) * answered + share * monthly_cost(questions, used, small)
        words = f"a router: a small model for {100 * share:g} % of the questions"
        add(Said("lever_router", words, share=share), month(routed))
    else:
        lacking = (() if small else SMALL) + (() if share is not None else ("easy_share",))
        add(Said("lever_router_unknown", "a router: a small model for easy questions"), None, _lacking(lacking))
    return rows


def _lacking(names: tuple[str, ...]) -> Said:
    return Said("settings", " and ".join(names), names=names)
