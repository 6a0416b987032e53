"""Tables of money: what a month costs by the tokens of a run, and what a run would cost before it is made."""

from __future__ import annotations

from ...analysis.cost import Prices, Spending, Tariff, Usage, WhatIf, monthly_cost, what_if
from ...answering.answerer import instructed
from ...answering.context import tokens_of
from ...settings import Settings
from ..html import NOT_MEASURED, Html, element, note, paragraph, section, table
from ..words import plural


def cost(spent: Spending, settings: Settings) -> Html:
    """What a month costs at the measured tokens, who used them, and what each lever would save."""
    own, tariff, used = settings.cost, Tariff.of(settings.cost), spent.answering
    grading = _grading(spent, settings, tariff)
    if used is None:
        return section(
            paragraph(element("strong", "Cost of the model: "), f"{NOT_MEASURED}."),
            "No answer of this run reports tokens. The extractive answerer asks no model and costs nothing a question.",
            note(grading) if grading else None,
        )
    shown, fixed = settings.retrieval.k, tokens_of(instructed(settings.answer.instructions))
    levers = what_if(own.questions_per_month, spent, tariff, shown, max(1, round(shown * 5 / 8)), fixed)
    rows = [_who("Answering", used, tariff.answering, own.questions_per_month)]
    if spent.rewriting:
        rows.append(_who("Rewriting the question", spent.rewriting, tariff.rewriting, own.questions_per_month))
    elif settings.rewrite.kind == "model":
        rows.append(("Rewriting the question", *[NOT_MEASURED] * 5))
    absent = [
        f"{plural(used.without_call, 'question')} declined before any model was asked: no tokens"
        if used.without_call
        else "",
        f"{plural(used.not_reported, 'answer')} without reported tokens, not in the mean" if used.not_reported else "",
        f"{plural(used.errors, 'failed call')}, not in the mean" if used.errors else "",
    ]
    return section(
        paragraph(f"{levers[0].cost:,.0f} {own.currency} a month", kind="big"),
        f"{own.questions_per_month:,} questions a month, at the mean of the tokens that the endpoint counted.",
        table(
            "Who uses the tokens of a question",
            ("What", "Mean of", "Tokens in", "Tokens out", f"{own.currency} a million, in and out", "A month"),
            rows,
        ),
        table(
            "What each lever would save, alone (estimates)",
            ("Lever", f"{own.currency} a month", f"{own.currency} saved"),
            [_lever(row) for row in levers],
        ),
        note(
            f"The fixed part of the prompt has about {fixed:,} tokens (four letters each); some providers keep only "
            "longer ones. Whether answers stay as good with a lever is a change of week 2: measure it."
        ),
        note("; ".join(a for a in absent if a) + ".") if any(absent) else None,
        note(grading) if grading else None,
    )


def _who(what: str, used: Usage, prices: Prices, questions: int) -> tuple[object, ...]:
    money = f"{monthly_cost(questions, used, prices):,.0f}"
    each = f"{prices.input:g} and {prices.output:g}"
    return what, used.n, f"{used.tokens_in:,.0f}", f"{used.tokens_out:,.0f}", each, money


def _lever(row: WhatIf) -> tuple[object, ...]:
    if row.cost is None or row.saved is None:
        return row.lever, NOT_MEASURED, f"not known: {row.missing}"
    return row.lever, f"{row.cost:,.0f}", f"{row.saved:,.0f}"


def _grading(spent: Spending, settings: Settings, tariff: Tariff) -> str:
    """What the judge used in a run; it grades no question of a month."""
    if settings.judge.kind != "model":
        return ""
    if spent.judging is None:
        return f"What the judge used is {NOT_MEASURED}: no reply of it tells its tokens."
    used, money = spent.judging, monthly_cost(spent.judging.n, spent.judging, tariff.judging)
    return (
        f"Grading is no part of the month: the judge read {plural(used.n, 'answer')} with {used.tokens_in:,.0f} tokens "
        f"in and {used.tokens_out:,.0f} out each, {money:,.2f} {settings.cost.currency} for a run that finds nothing "
        f"kept ({tariff.judging.input:g} and {tariff.judging.output:g} a million)."
    )
