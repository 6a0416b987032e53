"""A pilot with one secret in each place from which text reaches a page, all of them for hr alone."""

import json
from pathlib import Path
from typing import Any

from tiny import SETTINGS, tiny_pilot

from rag_pilot.files import append_jsonl, write_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.records import FAILED_IN_USE, Label

SENTENCE = "Whoever passes the quizzical gate by moonlight receives zqsentence bonuses of 4711 marks a year"
"""Stands in a restricted document, and is quoted by what people wrote of documents that are open to everyone."""
CHANGE = f"""
[[change]]
name = "three-sentences"
cause = "wrong_despite_passage"
hypothesis = "{SENTENCE}, and two sentences are too few."
measure = "correct"
set = {{ "answer.sentences" = 3, "answer.coverage" = 0.05 }}
"""
TO_THE_GROUP = ("zqfile", "zqtitle", "zqheading", "zqlink", "zqowner", "zqcopy", "zqquestion", "zqexpected", "zqnobody")
TO_THE_GROUP += ("zqcategory", "zqsource", "zqlater", "zqnote", "zqsentence")
"""Words that stand on the pages for hr: of a document (its file, title, heading, address, owner, copy), of a question
about it (with what was expected, its category and source, and a note), of questions without a document, and in
quotations."""
TO_NOBODY = ("zqrefused", "zqquote", "zqold", "zqwhy", "zqterm", "zqalso")
"""Words that no page holds: of a refused file; and what no table shows."""


def planted_pilot(root: Path) -> Pilot:
    """The tiny pilot with those words planted, and one run that is labelled."""
    data = tiny_pilot(root).data
    (data / "pilot.toml").write_text(SETTINGS + CHANGE, encoding="utf-8")
    head = (
        "---\ngroups: [hr]\nowner: Zqowner Smith\nlink: https://intranet.invalid/zqlink\n"
        "review_by: 2020-01-01\n---\n# Zqtitle pay\n\n## Zqheading bands\n\n"
    )
    (data / "documents" / "hr").mkdir()
    for name in ("zqfile", "zqcopy"):
        (data / "documents" / "hr" / f"{name}.md").write_text(f"{head}{SENTENCE}.\n", encoding="utf-8")
    (data / "documents" / "zqrefused.md").write_text("# No groups\n\nNobody may read it.\n", encoding="utf-8")
    (data / "glossary.toml").write_text('bonuses = ["zqterm"]\n', encoding="utf-8")
    write_jsonl(data / "questions.jsonl", _questions(data))
    pilot = Pilot.open("tiny", root)
    pilot.lock_acceptance()
    answers = Ledger(pilot).result().run.answers
    labels = {"q1": "correct", "q2": "correct", "q3": "correct", "q6": "wrong", "s1": "wrong"}
    said: dict[str, Any] = {
        "q6": {"note": f"Is it not that {SENTENCE}?", "cause": "reference_wrong"},
        "q2": {"also": "zqfile"},
        "s1": {"note": "zqnote is not said", "also": "zqalso", "cause": "reference_wrong"},
    }
    for position, (question, label) in enumerate(labels.items(), start=1):
        line = Label(question, answers[question].sha, "Maud", label, position=position, **said.get(question, {}))
        append_jsonl(data / "labels.jsonl", line)
    return pilot


def _questions(data: Path) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in (data / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    rows[0]["category"], rows[-1]["expected"] = SENTENCE, f"120 euros, and: {SENTENCE}"
    hr = {"groups": ["hr"], "category": "zqcategory", "source": "zqsource", "lang": "en", "answerable": True}
    amended = {"field": "expected", "old": "zqold", "date": "2026-01-02", "author": "Maud", "why": "zqwhy"}
    about = {"expected": "zqexpected 99 marks", "doc": "zqfile", "quote": "zqquote bonuses", "amendments": [amended]}
    return [
        *rows,
        {"id": "s1", "question": "Which zqquestion bonuses are paid by moonlight?", **hr, **about},
        {"id": "s2", "question": "Is zqnobody paid for the quizzical gate?", **hr, "answerable": False},
        {"id": "s3", "question": "Who decides on zqlater?", **hr, "answerable": None},
        {"id": "s4", "question": "Is zqquestion asked twice?", **hr, **about, "source": FAILED_IN_USE},
    ]
