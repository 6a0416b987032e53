"""Tables of what a step stands on, and of what watches the assistant once it is in use."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.acceptance import Judgement
from ...pilot import Pilot
from ...results import LEAK_MEASURE, Result
from ...scores import FAITHFULNESS
from ...settings import Alert
from ..html import Html, element, note, paragraph, section, table, tag
from ..speech import Voice
from ..words import plural

SHOWN = 5
REREAD = 20  # real answers that a person re-reads each month after launch (the method)


def reading_order(ids: Sequence[str], seed: int) -> Html:
    """That the order in which answers are read is drawn, by which seed, and how it begins."""
    if not ids:
        return section("No question can be asked yet, so that there is no order to draw: come back with questions.")
    first = ", ".join(ids[:SHOWN])
    return section(f"{plural(len(ids), 'question')} in an order drawn with seed {seed}. It begins: {first}.")


def ready(pilot: Pilot) -> Html:
    """What the first run stands on: criteria, questions, order of reading, documents; what is missing, and where."""
    locked, drawn = pilot.locked, (pilot.data / "order.jsonl").exists()
    faults = sum(f.severity == "error" for f in pilot.check())
    found, asked = pilot.documents(), len(pilot.collected)
    rows = [
        _row("Acceptance criteria", f"locked on {locked['date']}" if locked else "", "lock them in 00_plan"),
        _row("Questions", str(asked) if asked and not faults else "", _mend(asked, faults)),
        _row(
            "Order of reading",
            "drawn" if drawn else "",
            "see it in 01_collect_questions; else the run draws it, by the same seed, before any answer is seen",
        ),
        _row(
            "Documents",
            f"{len(found.documents)} read, {len(found.skipped)} refused" if found.documents else "",
            "put them into documents/ and see in 02_index_documents what was read",
        ),
    ]
    return section(table("What the first run stands on", ("What", "State", "Found, or to do"), rows))


def _row(what: str, there: str, to_do: str) -> tuple[object, ...]:
    return (what, tag("there", "good"), there) if there else (what, tag("missing", "open"), to_do)


def _mend(asked: int, faults: int) -> str:
    return (
        f"{asked}, {plural(faults, 'error')}: mend them in 01_collect_questions"
        if asked
        else "see 01_collect_questions"
    )


def watch(result: Result, found: Sequence[Judgement], language: str = "en") -> Html:
    """What is looked at after launch, when, where it stands in this run, what was agreed and when an alert says so."""
    say = Voice(language)
    alerts: dict[str, Alert] = {alert.measure: alert for alert in result.settings.alert}

    def limit(measure: str) -> str:
        alert = alerts.pop(measure, None)
        return say("watch_no_alert") if alert is None else _bound(alert.at_most, alert.at_least, say)

    def share(value: float | None) -> str:
        return say("not_measured") if value is None else say.format_field(value, ".1f%")

    rows: list[tuple[object, ...]] = []
    for j in found:
        c = j.criterion
        agreed = _bound(c.limit, None, say) if c.direction == "at_most" else _bound(None, c.limit, say)
        alert = say("watch_none") if c.measure == LEAK_MEASURE else limit(c.measure)
        rows.append((say.code("measure", c.measure), say("watch_changes"), share(j.value), agreed, alert))
    mean = next(s.mean for s in result.scores if s.name == FAITHFULNESS)
    faithful = share(None) if mean.value is None else say("watch_mean", value=mean.value, n=mean.n)
    rows.append((say("watch_faithfulness"), say("watch_with"), faithful, "–", limit(FAITHFULNESS)))
    for measure in list(alerts):
        seen = result.measured(measure)
        value = share(None if seen is None else seen.value)
        rows.append((say.code("measure", measure), say("watch_with"), value, "–", limit(measure)))
    adopted = say("watch_so_far", n=sum(q.adopted for q in result.questions))
    rows += [
        (say("watch_reread", n=REREAD), say("watch_month_review"), "–", "–", "–"),
        (say("watch_failed"), say("watch_month_adopt"), adopted, "–", "–"),
    ]
    head = [say(key) for key in ("watch_what", "watch_when", "watch_now", "agreed_column", "watch_alert")]
    return section(
        paragraph(element("strong", say("watch_become", n=len(result.questions)))),
        table(say("watch_title"), head, rows),
        note(say("watch_alerts")),
        note(say("watch_judge")),
        lang=language,
    )


def _bound(at_most: float | None, at_least: float | None, say: Voice) -> str:
    if at_most is not None:
        return say("watch_at_most", limit=at_most)
    return say("watch_at_least", limit=at_least or 0.0)
