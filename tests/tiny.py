"""A pilot of three documents and six questions that loads no model, with notebooks of its own."""

import json
from pathlib import Path

import nbformat

from rag_pilot.files import append_jsonl
from rag_pilot.grading.labels import LabelStore
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.records import Label

SECRET = "91,500"  # stands in a document that hr alone may open

SETTINGS = """
[pilot]
title = "Tiny <pilot>"
annotator = "Maud"
changes_planned = 1
[[acceptance]]
name = "few wrong"
measure = "wrong"
at_most = 0.05
[[acceptance]]
name = "found"
measure = "hit5"
at_least = 0.5
of = "answerable questions"
[[alert]]
measure = "wrong"
at_most = 5e-2
[[alert]]
measure = "hit5"
at_least = 5e-1
[retrieval]
method = "keyword"
[answer]
coverage = 0.2
"""

DOCUMENTS = {
    "leave": ("all-staff", "# Annual leave\n\nEverybody gets 25 days of annual leave a year.\n"),
    "travel": ("all-staff", "# Travel\n\nA taxi is claimed on form T-7. The hotel limit is 95 euros a night.\n"),
    "salaries": ("hr", f"# Salaries\n\nBand 7 pays {SECRET} euros a year.\n"),
}

QUESTIONS = (
    ("q1", "How many days of annual leave a year?", "25 days of annual leave a year", "leave", [], True),
    ("q2", "On which form is a taxi claimed?", "On form T-7.", "travel", [], True),
    ("q3", "What does band 7 pay?", f"{SECRET} euros", "salaries", ["hr"], True),
    ("q4", "Is annual leave paid for <b>dogs</b>?", "", None, [], False),
    ("q5", "What does band 9 pay a year?", "", None, ["hr"], False),
    ("q6", "What is the hotel limit a night?", "120 euros a night", "travel", [], True),
)

LABELS = {"q1": "correct", "q2": "correct", "q3": "correct", "q6": "wrong"}


def tiny_pilot(root: Path, name: str = "tiny") -> Pilot:
    data = root / "data" / name
    (data / "documents").mkdir(parents=True)
    (data / "pilot.toml").write_text(SETTINGS, encoding="utf-8")
    for doc, (group, text) in DOCUMENTS.items():
        head = f"---\ngroups: [{group}]\nowner: Head of {doc}\n---\n"
        (data / "documents" / f"{doc}.md").write_text(head + text, encoding="utf-8")
    keys = ("id", "question", "expected", "doc", "groups", "answerable")
    lines = [json.dumps(dict(zip(keys, row, strict=True))) + "\n" for row in QUESTIONS]
    (data / "questions.jsonl").write_text("".join(lines), encoding="utf-8")
    return Pilot.open(name, root)


def run_and_label(pilot: Pilot) -> None:
    """The first run, and the expert's labels of the four answers that need her."""
    pilot.lock_acceptance()
    answers = Ledger(pilot).result().run.answers
    for position, (question, label) in enumerate(LABELS.items(), start=1):
        line = Label(
            question, answers[question].sha, "Maud", label, position=position, saved_at="2026-01-05T10:00:00+01:00"
        )
        append_jsonl(pilot.data / "labels.jsonl", line)
    assert len(LabelStore(pilot.data / "labels.jsonl").read()) == len(LABELS)


def notebook(path: Path, *cells: str) -> Path:
    """Write a notebook; a cell that begins with # is Markdown."""
    made = [nbformat.v4.new_markdown_cell(c) if c.startswith("#") else nbformat.v4.new_code_cell(c) for c in cells]
    for number, cell in enumerate(made):
        cell.id = f"c{number}"
    path.parent.mkdir(parents=True, exist_ok=True)
    nbformat.write(nbformat.v4.new_notebook(cells=made), path)
    return path
