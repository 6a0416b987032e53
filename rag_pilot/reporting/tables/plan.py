"""Tables of the plan and of its end: cost, acceptance criteria, the decision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...analysis.acceptance import Judgement
from ...analysis.cost import Prices, Usage, monthly_cost
from ...analysis.decision import Decision
from ...lock import as_locked
from ...said import Said
from ...settings import Settings
from ..html import Html, element, listing, note, paragraph, section, table, tag
from ..speech import Voice
from ..words import plain, plural

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
        listing(amended) if (amended := _amendments(locked, Voice("en"))) else None,
        note("Between the two counts the result is 'not decided by this many questions'."),
    )


def agreed(locked: Mapping[str, Any] | None, language: str = "en") -> Html:
    """When the criteria were agreed, and every amendment since, with what it replaced and why."""
    say = Voice(language)
    if not locked:
        return section(say("nothing_locked"), lang=language)
    amended, first = _amendments(locked, say), locked
    while "amends" in first:
        first = first["amends"]
    when = say("agreed_on", date=first["date"], author=first["author"])
    if not amended:
        return section(say("not_changed", agreed=when), lang=language)
    changed = paragraph(tag(say("amended_tag"), "open"), " ", say("changed_since", agreed=when))
    return section(changed, listing(amended), lang=language)


def _amendments(locked: Mapping[str, Any] | None, say: Voice) -> list[str]:
    """One sentence for each amendment, the latest first."""
    told, entry = [], locked
    while entry and "amends" in entry:
        older = entry["amends"]
        was = [_limit(c, say) for c in older["criteria"] if c not in entry["criteria"]]
        if (planned := older.get("changes_planned")) != (now := entry.get("changes_planned")):
            was.append(say("changes_planned", n=planned or 0, now=now))
        for name in PLANNED:
            if bool(older.get(name)) != bool(entry.get(name)):
                what = say(f"plan_{name}")
                was.append(what if older.get(name) else say("not_planned", what=what))
        date = older["date"]
        before = say("before_was", date=date, was=", ".join(was)) if was else say("before", date=date)
        told.append(say("amended", date=entry["date"], author=entry["author"], before=before, why=entry["why"]))
        entry = older
    return told


def _limit(criterion: Mapping[str, Any], say: Voice) -> str:
    for name in ("at_most", "at_least"):
        if criterion.get(name) is not None:
            return say(f"limit_{name}", name=criterion.get("name", ""), limit=criterion[name])
    return str(criterion.get("name", ""))


def judgements(found: Sequence[Judgement], language: str = "en") -> Html:
    """Each acceptance criterion against the run: met, not met or not decided."""
    say = Voice(language)
    rows = [
        (
            j.criterion.name,
            tag(say.code("state", j.state), STATE.get(j.state, "")),
            _agreed(j, say),
            _seen(j, say),
            _needed(j, say),
        )
        for j in found
    ]
    head = [say(key) for key in ("criterion", "result", "agreed_column", "measured", "would_decide")]
    met = sum(j.state == "met" for j in found)
    return section(
        paragraph(element("strong", say("met_of", met=met, n=len(found)))) if found else None,
        table(say("acceptance"), head, rows, empty=say("no_criterion")),
        note(say("judged_note", level=max((j.confidence for j in found), default=0.95))),
        lang=language,
    )


def _agreed(judgement: Judgement, say: Voice) -> str:
    c = judgement.criterion
    if c.direction == "at_most" and c.limit == 0:
        return say("none_in", measure=c.measure, of=c.denominator)
    return say(f"{c.direction}_of", measure=c.measure, limit=c.limit, of=c.denominator)


def _seen(judgement: Judgement, say: Voice) -> str:
    if judgement.value is None or judgement.low is None or judgement.high is None:
        return say("not_measured")
    n, at_most = judgement.n, judgement.criterion.direction == "at_most"
    if at_most and judgement.criterion.limit == 0:
        return say("seen_count", count=judgement.value * n, n=n)
    over = say("over_n" if n == int(n) else "over_worth", n=n)
    bound = judgement.high if at_most else judgement.low
    return say("seen_at_most" if at_most else "seen_at_least", value=judgement.value, bound=bound, over=over)


def _needed(judgement: Judgement, say: Voice) -> str:
    if judgement.state != "not decided" or judgement.value is None:
        return "–"
    return say("needed_about", n=judgement.needed) if judgement.needed else say("needed_none")


def decision(found: Decision, language: str = "en") -> Html:
    """What follows from the pilot, in a word, and why."""
    say = Voice(language)
    word, meaning = say.code("word", found.verdict), say.texts.get(f"meaning_{found.verdict}", "")
    told = (reason if language == "en" else say_reason(reason, say) for reason in found.reasons)
    return section(paragraph(word, kind="big"), meaning, listing(plain(reason) for reason in told), lang=language)


def say_reason(reason: str, say: Voice) -> str:
    """A reason of a decision in words; of open criteria, which stand in the table below it, the names."""
    if not isinstance(reason, Said) or reason.key != "open":
        return say.say(reason)
    judged: Sequence[Judgement] = reason.values["judgements"]  # type: ignore[assignment]
    told = say("open_below", names=", ".join(j.criterion.name for j in judged))
    return " ".join([told, *dict.fromkeys(say.say(j.why) for j in judged if j.why)])
