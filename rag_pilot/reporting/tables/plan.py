"""Tables of the plan and of its end: cost, acceptance criteria, the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...analysis.acceptance import Judgement
from ...analysis.cost import Prices, Usage, monthly_cost
from ...analysis.decision import Decision
from ...lock import as_locked
from ...settings import Settings
from ..html import NOT_MEASURED, Html, element, listing, note, paragraph, section, table, tag
from ..words import DECISION, MEASURE, plain, plural

STATE = {"met": "good", "not met": "bad", "not decided": "open"}


def cost_plan(settings: Settings) -> Html:
    """What a month costs: the formula, its illustration, and the load and prices of this pilot."""
    own, used = settings.cost, Usage(2600, 200)
    money = monthly_cost(own.questions_per_month, used, Prices(own.input_per_million, own.output_per_million))
    rows = [
        ("Illustration", 10_000, "2,800", "5.00 USD for input and output", "140 USD"),
        (
            "This pilot, before it is measured",
            own.questions_per_month,
            f"{used.tokens_in + used.tokens_out:,.0f} (assumed)",
            f"{own.input_per_million:.2f} {own.currency} for input, {own.output_per_million:.2f} for output",
            f"{money:,.0f} {own.currency}",
        ),
    ]
    head = ("Case", "Questions a month", "Tokens a question", "Price of a million tokens", "A month costs")
    return section(
        paragraph(element("strong", "Monthly cost = questions a month × tokens a question × price of a token.")),
        table("What a month costs", head, rows),
        note("The first run measures the tokens; then notebook 09 shows the real figure. Prices are in pilot.toml."),
    )


PLANNED = {"second_look": "a second look at the judge", "extension_planned": "an extension of the question set"}
"""Plans that a lock may hold."""


def criteria(lines: Sequence[str], locked: Mapping[str, Any] | None, settings: Settings | None = None) -> Html:
    """The acceptance criteria with what the questions can show of each, and whether they are locked.

    `settings`, where given, are held against the lock: what was changed since is not shown as agreed.
    """
    names = [c.get("name", "") for c in locked["criteria"]] if locked else []
    named = names if len(names) == len(lines) else [str(n) for n in range(1, len(lines) + 1)]
    differs = settings is not None and locked is not None and not as_locked(settings, locked)
    if locked and differs:
        state = paragraph(
            tag("not what was locked", "bad"),
            f" pilot.toml was changed since {locked['date']}: restore it, or amend the lock with a reason. Below: what "
            "pilot.toml says now.",
        )
    elif locked:
        state = paragraph(
            tag("locked", "good"),
            f" on {locked['date']} by {locked['author']}, {plural(locked['changes_planned'], 'change')} planned, "
            f"{''.join(f'{words}, ' for name, words in PLANNED.items() if locked.get(name))}hash {locked['hash']}.",
        )
    else:
        state = paragraph(tag("not locked", "open"), " Agree on the criteria and lock them before the first run.")
    rows = [(name, plain(line)) for name, line in zip(named, lines, strict=True)]
    return section(
        state,
        table(
            f"{'What pilot.toml says' if differs else 'What was agreed'}, and what these questions can show",
            ("Criterion", "In numbers"),
            rows,
            empty="none yet",
        ),
        listing(amended) if (amended := _amendments(locked)) else None,
        note("Between the two counts the result is 'not decided by this many questions'."),
    )


def agreed(locked: Mapping[str, Any] | None) -> Html:
    """When the criteria were agreed, and every amendment since, with what it replaced and why."""
    if not locked:
        return section("Nothing is locked yet.")
    amended, first = _amendments(locked), locked
    while "amends" in first:
        first = first["amends"]
    when = f"Agreed on {first['date']} by {first['author']}, before the first run"
    if not amended:
        return section(f"{when}, and not changed since.")
    return section(paragraph(tag("amended", "open"), f" {when}; changed since:"), listing(amended))


def _amendments(locked: Mapping[str, Any] | None) -> list[str]:
    """One sentence for each amendment, the latest first."""
    told, entry = [], locked
    while entry and "amends" in entry:
        older = entry["amends"]
        was = [_limit(c) for c in older["criteria"] if c not in entry["criteria"]]
        if (planned := older.get("changes_planned")) != (now := entry.get("changes_planned")):
            was.append(f"{plural(planned or 0, 'change')} planned, now {now}")
        for name, words in PLANNED.items():
            if bool(older.get(name)) != bool(entry.get(name)):
                was.append(f"{words}{'' if older.get(name) else ': not planned'}")
        before = f"before, as of {older['date']}: {', '.join(was)}" if was else f"before: as of {older['date']}"
        told.append(f"Amended on {entry['date']} by {entry['author']} ({before}): {entry['why']}")
        entry = older
    return told


def _limit(criterion: Mapping[str, Any]) -> str:
    for name, words in (("at_most", "at most"), ("at_least", "at least")):
        if criterion.get(name) is not None:
            return f"{criterion.get('name', '')} {words} {100 * criterion[name]:g} %"
    return str(criterion.get("name", ""))


def judgements(found: Sequence[Judgement]) -> Html:
    """Each acceptance criterion against the run: met, not met or not decided."""
    rows = [(j.criterion.name, tag(j.state, STATE.get(j.state, "")), _agreed(j), _seen(j), _needed(j)) for j in found]
    head = ("Criterion", "Result", "Agreed", "Measured", "Questions that would decide")
    met = sum(j.state == "met" for j in found)
    level = f"{100 * max((j.confidence for j in found), default=0.95):g}"
    return section(
        paragraph(element("strong", f"{met} of {plural(len(found), 'criterion', 'criteria')} met.")) if found else None,
        table("Acceptance", head, rows, empty="no criterion was agreed"),
        note(
            f"A criterion is met or not met only where the one-sided {level} % bound says so; a limit of none by count."
        ),
    )


def _agreed(judgement: Judgement) -> str:
    c = judgement.criterion
    measure = MEASURE.get(c.measure, c.measure)
    if c.direction == "at_most" and c.limit == 0:
        return f"{measure}: none in {c.denominator}"
    return f"{measure}: {c.direction.replace('_', ' ')} {100 * c.limit:g} % of {c.denominator}"


def _seen(judgement: Judgement) -> str:
    if judgement.value is None or judgement.low is None or judgement.high is None:
        return NOT_MEASURED
    at_most = judgement.criterion.direction == "at_most"
    if at_most and judgement.criterion.limit == 0:
        return f"{judgement.value * judgement.n:.0f} of {judgement.n:.0f}"
    bound = f"at most {100 * judgement.high:.1f} %" if at_most else f"at least {100 * judgement.low:.1f} %"
    n = f"n = {judgement.n:.0f}" if judgement.n == int(judgement.n) else f"worth {judgement.n:.0f} read by hand"
    return f"{100 * judgement.value:.1f} % ({bound}), {n}"


def _needed(judgement: Judgement) -> str:
    if judgement.state != "not decided" or judgement.value is None:
        return "–"
    return f"about {judgement.needed:,}" if judgement.needed else "no practical number"


def decision(found: Decision) -> Html:
    """What follows from the pilot, in a word, and why."""
    word, meaning = DECISION.get(found.verdict, (found.verdict, ""))
    return section(paragraph(word, kind="big"), meaning, listing(plain(reason) for reason in found.reasons))
