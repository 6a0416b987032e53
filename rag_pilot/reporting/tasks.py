"""What document owners must mend: one task for each document that is missing, out of date or lacks what is asked.

The list is kept as a table in which owners mark what is done; writing it again keeps their marks.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..audit import words_on
from ..corpus.access import read_table
from ..files import write_text
from ..results import Result

COLUMNS = ("document", "owner", "questions", "what is missing", "done")


@dataclass(frozen=True)
class Task:
    """One document to be mended, with the questions that need it, by id and text."""

    document: str
    owner: str
    questions: tuple[tuple[str, str], ...]
    missing: str


def owners_tasks(result: Result) -> list[Task]:
    """The tasks that follow from the bad answers of a run, by owner, those with the most questions first.

    Documents without an owner stand last: somebody has to be found for them.

    Bad answers with a label and the cause missing_or_stale lead to a task, so do documents that the expert calls out of
    date, whatever she says of the answer, and documents that the run read as a change
    has mended them, while the old ones are still in place. Nothing is hidden: this is for owners.
    """
    by_id = {q.id: q for q in result.questions}
    found: dict[str, list[tuple[str, str]]] = {}
    details: dict[str, dict[str, None]] = {}
    for i in result.listed:
        cause = result.causes.get(i)
        if cause is None or cause.name != "missing_or_stale":
            continue
        name = by_id[i].doc or ", ".join(sorted(by_id[i].docs))
        found.setdefault(name, []).append((i, by_id[i].question))
        details.setdefault(name, {})[cause.detail] = None
    for i, label in result.expert.current.items():
        name = by_id[i].doc or ""
        if label.stale and name in result.documents and i not in dict(found.get(name, ())):
            found.setdefault(name, []).append((i, by_id[i].question))
            details.setdefault(name, {})[f"out of date, says {label.annotator}"] = None
    for name, change in result.laid_over.items():
        found.setdefault(name, [])
        details.setdefault(name, {})[f"mended for this run only: put the version of {change} in its place"] = None
    tasks = [
        Task(
            name,
            result.documents[name].owner if name in result.documents else "",
            tuple(asked),
            "; ".join(detail.rstrip(".") for detail in details[name]),
        )
        for name, asked in found.items()
    ]
    return sorted(tasks, key=lambda t: (not t.owner, t.owner, -len(t.questions), t.document))


def visible(tasks: Sequence[Task], result: Result) -> tuple[list[Task], int]:
    """The tasks that the pilot's readers may see whole, and how many are left out.

    Left out is also what quotes words that they may not read, as a note of the expert can.
    """
    readers = result.pilot.readers
    closed = {d.id for d in result.documents.values() if not d.groups & readers}
    named = [t for t in tasks if t.document not in closed and not any(result.hidden(i) for i, _ in t.questions)]
    words = result.rights.words
    shown = [t for t in named if not words.closed(words_on(f"{t.missing} {dict(t.questions)}"), readers)]
    return shown, len(tasks) - len(shown)


def write_tasks(path: Path, tasks: Sequence[Task], marks: Path | None = None) -> None:
    """Write a table of tasks; what stands under `done` in `marks` (by default the file itself) is kept by document."""
    marks = marks or path
    known = {row["document"]: row["done"] for _, row in read_table(marks, COLUMNS, COLUMNS)} if marks.exists() else {}
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for task in tasks:
        asked = "; ".join(f"{i}: {question}" for i, question in task.questions)
        writer.writerow([task.document, task.owner, asked, task.missing, known.get(task.document, "")])
    write_text(path, text.getvalue())
