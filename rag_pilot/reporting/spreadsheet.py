"""What the command line tells of labels that go to a spreadsheet and come back."""

from __future__ import annotations

from ..grading.labels_csv import Exported, Returned
from ..records import CAUSES, LABELS
from .words import plural


def exported_lines(done: Exported, pilot: str, annotator: str) -> list[str]:
    """What was written, what was left out, and what may stand in the columns that are to be filled in."""
    needed = ", ".join(need or "groups that nobody has" for need in done.needed)
    return [
        f"{plural(done.rows, 'answer')} for {annotator}, {done.labelled} of them labelled: {done.path}",
        *([f"{done.hidden} more left out: they hold text that needs {needed}"] if done.hidden else []),
        f"  label  {', '.join(LABELS)}; empty: no label yet",
        f"  cause  of what is not correct: {', '.join(CAUSES)}, format_or_tone, reference_wrong, or empty",
        "  note   anything; also: another document that answers it too; stale: yes if the document is out of date",
        f"Leave the other columns as they are, then: rag-pilot labels import {pilot} {done.path}",
    ]


def imported_lines(done: Returned) -> list[str]:
    """What was saved, and what was not with its reason."""
    told = [
        f"{done.path}: {done.how}",
        f"{plural(len(done.new), 'label')} new, {len(done.changed)} changed, {done.unchanged} as before; "
        f"{plural(done.empty, 'row')} without a label, {len(done.refused)} refused",
    ]
    if done.changed:
        told.append(f"changed: {', '.join(done.changed)}")
    if done.kept:
        told.append(f"emptied, but the label stands (take it back in the form): {', '.join(done.kept)}")
    if done.absent:
        told.append(f"not in the file: {plural(done.absent, 'answer')} to be read")
    return [*told, *(f"  {done.unit} {left.line} refused: {left.reason}" for left in done.refused)]
