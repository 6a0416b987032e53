"""Tables of money: what a month costs by the tokens of a run, and what a run would cost before it is made."""

from __future__ import annotations

from ...analysis.cost import Prices, Spending, Tariff, Usage, WhatIf, monthly_cost, what_if
from ...answering.answerer import instructed
from ...answering.context import tokens_of
from ...forecast import Calls, Forecast
from ...settings import Settings
from ..html import NOT_MEASURED, Html, element, listing, note, paragraph, section, table
from ..words import plural


def cost(spent: Spending, settings: Settings) -> Html:
    """What a month costs at the measured tokens, who used them, and what each lever would save."""
    own, tariff, used = settings.cost, Tariff.of(settings.cost), spent.answering
    grading = _grading(spent, settings, tariff)
    elsewhere = [name for name in ("embedding", "rerank") if getattr(settings, name).kind == "model"]
    if elsewhere:
        apart = f"Not in it: {' and '.join(elsewhere)} at an address; their tokens are {NOT_MEASURED}."
        grading = f"{grading} {apart}" if grading else apart
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


ASKED = {
    "check": "Check before the run",
    "rewrite": "Rewriting questions",
    "answer": "Answering",
    "judge": "Grading",
}
NO_MODEL = {
    ("answer", "extractive"): "Answering: 0 calls, the extractive answerer asks no model.",
    ("rewrite", "none"): "Rewriting questions: 0 calls, none is rewritten by a model.",
    ("judge", "offline"): "Grading: 0 calls, the offline judge asks no model.",
    ("judge", "none"): "Grading: 0 calls, nobody grades.",
}


def dry_run(found: Forecast, settings: Settings) -> Html:
    """What a run would call and cost, with what is estimated and how."""
    currency = settings.cost.currency
    paid = f"{plural(found.asked, 'call')}, about {found.money:,.2f} {currency}"
    rows = [
        (
            f"{ASKED[c.what]} ({c.model}){', the second time' if c.again else ''}",
            c.asked,
            c.kept if c.what != "check" else "–",
            f"{c.tokens_in:,}",
            f"{c.tokens_out:,}",
            f"{c.money:,.2f}",
        )
        for c in found.calls
    ]
    head = ("What", "Calls to pay for", "Kept, free", "Tokens in", "Tokens out", currency)
    return section(
        paragraph(paid if found.calls else "Not measured" if found.uncounted else "No model is called", kind="big"),
        f"The run {found.run} is complete: its answers are not asked again." if found.run else None,
        table(f"Before the run: {plural(found.questions, 'question')}", head, rows) if rows else None,
        listing(NO_MODEL[what, kind] for what, kind in found.models.items() if not (found.run and what != "judge")),
        listing(_estimated(found, settings)) if found.asked else None,
        paragraph("Not counted: what follows.") if found.uncounted else None,
        listing(found.uncounted) if found.uncounted else None,
    )


def _estimated(found: Forecast, settings: Settings) -> list[str]:
    """What of a forecast is no count but an estimate, and how it was made."""
    own = settings.cost
    told = [
        "Estimated: tokens in, from the prompts as the run would send them, a token for every four letters. That is "
        "about right for English; other languages take more tokens a letter.",
        *_lengths(found.calls),
    ]
    if any(c.again for c in found.calls):
        told.append(
            "The second time is not part of this run: before a change of answers is first planned, notebook 07 asks "
            "the configuration of pilot.toml once more, to see how much its answers vary by themselves."
        )
    if found.unknown:
        told.append(
            f"{plural(found.unknown, 'question')} not rewritten yet: passages were looked up by the question as it was "
            "asked, and may be others in the run."
        )
    if found.ungraded:
        told.append(
            f"Grading counts {plural(found.ungraded, 'answer')} that nobody has seen yet, as long as an answer is "
            "taken to be: at most so many, because a decline is not graded."
        )
    for who in ("rewrite", "judge"):
        if any(c.what == who for c in found.calls) and getattr(own, f"{who}_input_per_million") is None:
            told.append(f"No price of its own for {ASKED[who].lower()} in [cost]: the answering model's is taken.")
    told.append(
        f"Prices from [cost] in pilot.toml: {own.input_per_million:g} and {own.output_per_million:g} {own.currency} a "
        "million tokens in and out for answering. Not counted: calls that fail and are made again."
    )
    return told


def _lengths(calls: tuple[Calls, ...]) -> list[str]:
    paid = [c for c in calls if c.asked]
    measured = [f"{ASKED[c.what].lower()} from {plural(c.replies, 'reply', 'replies')}" for c in paid if c.replies]
    limits = list(dict.fromkeys(ASKED[c.what].lower() for c in paid if not c.replies))
    told = [f"Tokens out: the mean of earlier runs by the same model ({', '.join(measured)})."] if measured else []
    if limits:
        told.append(
            f"Tokens out not measured for {', '.join(limits)}: no earlier run tells them, so that every reply counts "
            "with its upper limit, max_tokens; the real cost is lower."
        )
    return told
