"""The table of a spot check: a person's labels beside the judge's, once everything that was drawn is read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...records import JUDGE_LABELS, LABELS
from ...review import SpotCheck
from ..html import Html, facts, join, note, section, table
from ..words import plural


def review(every: Sequence[SpotCheck]) -> Html:
    """The last spot check, and a line of each before; of one that is not read through only how far it is."""
    if not every:
        return section("No spot check was drawn.")
    before = [(c.draw.date, c.draw.source, f"{len(c.rows)} of {len(c.draw.drawn)}", _agreed(c)) for c in every[:-1]]
    head = ("Drawn on", "From", "Read", "Labels that agree")
    return join([_one(every[-1]), section(table("Earlier spot checks", head, before)) if before else ""])


def _agreed(found: SpotCheck) -> str:
    return (
        found.agreement.text() if found.done and found.judged else "no judge's label" if found.done else "not all read"
    )


def _one(found: SpotCheck) -> Html:
    draw, (person, judge) = found.draw, found.stricter
    closed = f"; {draw.closed} more are closed to {draw.annotator}" if draw.closed else ""
    rests = "rests" if draw.gone == 1 else "rest"
    gone = f"; {draw.gone} more {rests} on a text that is gone, or the question is" if draw.gone else ""
    rows: list[tuple[str, object]] = [
        ("Drawn", f"{len(draw.drawn)} of {plural(draw.of, 'unread answer')} of {draw.source}{closed}{gone}"),
        ("On, by seed", f"{draw.date}, {draw.seed}"),
        ("Read", f"{len(found.rows)} of {len(draw.drawn)}"),
    ]
    if draw.left_out:
        rows.append(("Rows of the file that could not be read", draw.left_out))
    if found.closed:
        rows.append((f"No longer open to {draw.annotator}, or gone", found.closed))
    if not found.done:
        return section(found.words, facts("The spot check", rows))
    if found.judged:
        missing = found.agreement.missing_text()
        rows.append(("Labels that agree", found.agreement.text() + (f"; {missing}" if missing else "")))
        rows.append(("The person is stricter / the judge is", f"{person} / {judge} of {len(found.judged)}"))
    counts = Counter((a, b or "none") for _, a, b in found.rows)
    judges = (*JUDGE_LABELS, "none") if found.judged else ("none",)
    matrix = [(label, *(counts[label, j] for j in judges)) for label in LABELS]
    differing = [row for row in found.judged if row[1] != row[2]]
    return section(
        found.words,
        facts("The spot check", rows),
        table("Labels of the same answers", (f"{draw.annotator}'s label", *(f"judge: {j}" for j in judges)), matrix),
        table("Where they differ", ("Question", draw.annotator, "Judge"), differing) if differing else None,
        note("These labels are in no score, and no judge is tested on them."),
    )
