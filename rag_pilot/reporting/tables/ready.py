"""Tables of what a step stands on, and of what watches the assistant once it is in use."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.acceptance import Judgement
from ...pilot import Pilot
from ...results import Result
from ..html import NOT_MEASURED, Html, element, note, paragraph, section, table, tag
from ..speech import Voice
from ..words import plural

SHOWN = 5


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


def watch(result: Result, found: Sequence[Judgement]) -> Html:
    """What is looked at after launch, when, where it stands in this run, and the limit that was agreed."""
    faithful = next((s.mean.text() for s in result.scores if s.name == "faithfulness"), NOT_MEASURED)
    gated = [
        (
            Voice("en").code("measure", j.criterion.measure),
            "before every change of documents, model or prompt",
            NOT_MEASURED if j.value is None else f"{100 * j.value:.1f} %",
            f"{j.criterion.direction.replace('_', ' ')} {100 * j.criterion.limit:g} %",
        )
        for j in found
    ]
    adopted = sum(q.adopted for q in result.questions)
    rows = [
        *gated,
        ("Faithfulness: claims that the cited passages support", "with them", faithful, "watch for a fall"),
        ("20 real answers, re-read by a person", "each month: rag-pilot review PILOT --file FILE", "–", "–"),
        ("Questions that failed in use join the set", "each month: rag-pilot adopt PILOT", f"{adopted} so far", "–"),
    ]
    return section(
        paragraph(element("strong", f"{plural(len(result.questions), 'question')} become the release gate.")),
        table("What watches it after launch", ("What", "When", "Now", "Agreed"), rows),
        note("Answers that a person and the judge see differently are a reason to test the judge again: notebook 06."),
    )
