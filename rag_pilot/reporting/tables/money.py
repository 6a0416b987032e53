"""Tables of money: what a month costs by the tokens of a run, and what a run would cost before it is made."""

from __future__ import annotations

from ...analysis.cost import Prices, Spending, Tariff, Usage, WhatIf, monthly_cost, what_if
from ...answering.answerer import instructed
from ...answering.context import tokens_of
from ...forecast import Calls, Forecast
from ...settings import Settings
from ..html import Html, element, listing, note, paragraph, section, table
from ..speech import Voice
from ..words import plural


def cost(spent: Spending, settings: Settings, language: str = "en") -> Html:
    """What a month costs at the measured tokens, who used them, and what each lever would save."""
    say, own, tariff, used = Voice(language), settings.cost, Tariff.of(settings.cost), spent.answering
    elsewhere = [name for name in ("embedding", "rerank") if getattr(settings, name).kind == "model"]
    apart = say("elsewhere", names=tuple(say(f"what_{name}") for name in elsewhere)) if elsewhere else ""
    grading = " ".join(filter(None, (_grading(spent, settings, tariff, say), apart)))
    if used is None:
        return section(
            paragraph(element("strong", say("cost_of_model")), f" {say('not_measured')}."),
            say("no_tokens"),
            note(grading) if grading else None,
            lang=language,
        )
    shown, fixed = settings.retrieval.k, tokens_of(instructed(settings.answer.instructions))
    levers = what_if(own.questions_per_month, spent, tariff, shown, max(1, round(shown * 5 / 8)), fixed)
    questions, currency = own.questions_per_month, own.currency
    rows = [_who(say("answering"), used, tariff.answering, questions, say)]
    if spent.rewriting:
        rows.append(_who(say("rewriting"), spent.rewriting, tariff.rewriting, questions, say))
    elif settings.rewrite.kind == "model":
        rows.append((say("rewriting"), *[say("not_measured")] * 5))
    absent = [
        say("mean_free", n=used.without_call) if used.without_call else "",
        say("mean_silent", n=used.not_reported) if used.not_reported else "",
        say("mean_failed", n=used.errors) if used.errors else "",
    ]
    users = (say("what"), say("mean_of"), say("tokens_in"), say("tokens_out"))
    month, saved = say("money_month", currency=currency), say("money_saved", currency=currency)
    return section(
        paragraph(say("money_a_month", money=levers[0].cost, currency=currency), kind="big"),
        say("at_the_mean", questions=questions),
        table(say("who_uses"), (*users, say("a_million", currency=currency), say("a_month")), rows),
        table(say("levers"), (say("lever"), month, saved), [_lever(row, say) for row in levers]),
        note(say("fixed_part", n=fixed)),
        note("; ".join(a for a in absent if a) + ".") if any(absent) else None,
        note(grading) if grading else None,
        lang=language,
    )


def _who(what: str, used: Usage, prices: Prices, questions: int, say: Voice) -> tuple[object, ...]:
    money = monthly_cost(questions, used, prices)
    each = say("price_pair", input=prices.input, output=prices.output)
    tokens = (say.number(n, ",.0f") for n in (used.tokens_in, used.tokens_out))
    return what, say.number(used.n), *tokens, each, say.number(money, ",.0f")


def _lever(row: WhatIf, say: Voice) -> tuple[object, ...]:
    if row.cost is None or row.saved is None:
        return say.say(row.lever), say("not_measured"), say("not_known", missing=row.missing)
    return say.say(row.lever), say.number(row.cost, ",.0f"), say.number(row.saved, ",.0f")


def _grading(spent: Spending, settings: Settings, tariff: Tariff, say: Voice) -> str:
    """What the judge used in a run; it grades no question of a month."""
    if settings.judge.kind != "model":
        return ""
    if spent.judging is None:
        return say("judge_silent")
    used, prices = spent.judging, tariff.judging
    return say(
        "judge_used",
        n=used.n,
        into=used.tokens_in,
        out=used.tokens_out,
        money=monthly_cost(used.n, used, prices),
        currency=settings.cost.currency,
        price_in=prices.input,
        price_out=prices.output,
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
