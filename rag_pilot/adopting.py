"""The living set: a real answer that a person found at fault joins the questions, with its date.

Its words and its asker's groups stay as they were; what would have been right, and where it stands, is the expert's
word. The id goes to the end of the order of reading, so nothing that was read before moves. No run and no judge is
known here.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from .corpus.access import may_open
from .corpus.question_file import QuestionFile
from .errors import DataError
from .files import append_jsonl, saving
from .grading.labels import LabelStore
from .grading.production import Served
from .identity import fold, nearest
from .pilot import Pilot
from .review import draws

SOURCE = "production"
"""What `source` says of a question that joined the set like this."""


@dataclass(frozen=True)
class ReadAnswer:
    """A real answer that was read in a spot check; `known` is the id of the question that asks the same, or empty."""

    served: Served
    label: str
    note: str
    annotator: str
    known: str

    @property
    def failed(self) -> bool:
        """Whether it was labelled otherwise than correct."""
        return self.label != "correct"


def read_answers(pilot: Pilot) -> dict[str, ReadAnswer]:
    """The answers of production that a person has read, by their id in the draw, such as real.jsonl:7."""
    spots = [x for x in LabelStore(pilot.data / "labels.jsonl").counting() if x.kind == "spot"]
    labels = {(x.question_id, x.answer_sha, x.annotator): x for x in spots}
    rows, found = QuestionFile(pilot.data / "questions.jsonl").read(), {}
    for draw in draws(pilot):
        for (id_, sha), row in zip(draw.drawn, draw.served, strict=False):  # a draw of a run has no served rows
            if label := labels.get((id_, sha, draw.annotator)):
                served = Served.from_json(row)
                known = _known(rows, served, pilot.everyone)
                found[id_] = ReadAnswer(served, str(label.label), label.note, label.annotator, known)
    return found


def adopt(pilot: Pilot, answer_id: str, expected: str = "", doc: str = "", answerable: bool = True) -> str:
    """Append the question of a failed answer to questions.jsonl and order.jsonl; returns its new id.

    `expected` and `doc` are what the expert says is right and the document that holds it. DataError where the answer
    was not read or is correct, where an answerable question lacks either or its asker may not open the document, and
    where a question of the set asks the same; then nothing is written.
    """
    read = read_answers(pilot)
    if answer_id not in read:
        failed = ", ".join(id_ for id_, one in read.items() if one.failed and not one.known) or "none"
        raise DataError(f"{answer_id!r} is no real answer that was read in a spot check; those that failed: {failed}")
    one = read[answer_id]
    if not one.failed:
        raise DataError(f"{answer_id} was labelled correct by {one.annotator}; only answers that failed join the set")
    if one.known:
        raise DataError(f"{answer_id} repeats question {one.known!r} of the set; correct or complete that one")
    if fault := _unfit(pilot, one.served, expected.strip(), doc, answerable):
        raise DataError(f"{answer_id}: {fault}")
    order, questions = pilot.data / "order.jsonl", QuestionFile(pilot.data / "questions.jsonl")
    with saving(order):
        ids = pilot.order()
        numbers = [int(m[1]) for id_ in questions.read() if (m := re.fullmatch(r"p(\d+)", id_))]
        row: dict[str, Any] = {
            "id": f"p{max(numbers, default=0) + 1:04d}",
            "question": one.served.question,
            "expected": expected.strip(),
            "doc": doc or None,
            "groups": sorted(one.served.groups - {pilot.everyone}),
            "answerable": answerable,
            "source": SOURCE,
            "validated_by": one.annotator,
            "added": date.today().isoformat(),
        }
        questions.add(row)
        append_jsonl(order, {"position": len(ids) + 1, "id": row["id"]})
    return str(row["id"])


def _known(rows: Mapping[str, Mapping[str, Any]], served: Served, everyone: str) -> str:
    """The question with these words of an asker with these groups: of another asker they are another question."""
    text, groups = fold(served.question), served.groups - {everyone}
    alike = (id_ for id_, row in rows.items() if fold(row["question"]) == text)
    return next((id_ for id_ in alike if frozenset(rows[id_]["groups"]) - {everyone} == groups), "")


def _unfit(pilot: Pilot, served: Served, expected: str, doc: str, answerable: bool) -> str:
    """Why the question cannot join the set like this, or empty."""
    documents = {d.id: d for d in pilot.documents().documents}
    asker = served.groups | {pilot.everyone}
    if not served.groups:
        return "it does not name its asker's groups, and nobody may guess them"
    if doc and doc not in documents:
        meant = nearest(doc, documents)
        return f"no document {doc!r} was read" + (f"; did you mean {meant!r}?" if meant else "")
    opens = bool(doc) and may_open(documents[doc].groups, asker)
    if answerable and not (expected and doc):
        return (
            "an answerable question needs what the expert says is right and the document that holds it (--expected "
            "TEXT --doc ID); where the documents do not answer it, say --unanswerable"
        )
    if answerable and not opens:
        return f"its asker ({', '.join(sorted(asker))}) may not open {doc!r}: say --unanswerable, or name another one"
    if not answerable and opens:
        return f"its asker may open {doc!r}: if it answers, leave out --unanswerable; if not, leave out --doc"
    return ""
