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
from typing import Any, NamedTuple

from .corpus.access import may_open
from .corpus.question_file import QuestionFile
from .errors import DataError
from .files import append_jsonl, read_jsonl, saving
from .grading.labels import LabelStore
from .grading.production import Served
from .identity import fold, nearest
from .pilot import Pilot
from .records import FAILED_IN_USE
from .review import draws


class Joined(NamedTuple):
    """The id of a question that joined the set; `finished`: an earlier try had been cut short between its two files."""

    id: str
    finished: bool


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


def adopt(pilot: Pilot, answer_id: str, expected: str = "", doc: str = "", answerable: bool = True) -> Joined:
    """Append the question of a failed answer to questions.jsonl and order.jsonl; returns its new id.

    `expected` and `doc` are what the expert says is right and the document that holds it. DataError where the answer
    was not read or is correct, where an answerable question lacks either or its asker may not open the document, and
    where a question of the set asks the same; then nothing is written. A try that was cut short after the first of the
    two files is finished: the question stays as it was written then.
    """
    order, questions = pilot.data / "order.jsonl", QuestionFile(pilot.data / "questions.jsonl")
    with saving(order):  # from the first look on: two who adopt one answer must not both find it absent
        read = read_answers(pilot)
        if answer_id not in read:
            failed = ", ".join(id_ for id_, one in read.items() if one.failed and not one.known) or "none"
            raise DataError(
                f"{answer_id!r} is no real answer that was read in a spot check; those that failed: {failed}"
            )
        one, rows = read[answer_id], questions.read()
        ids = [str(row["id"]) for _, row in read_jsonl(order)]
        if one.known and rows[one.known].get("source") == FAILED_IN_USE and one.known not in ids:
            id_, finished = one.known, True  # adopted by a program that died before it wrote the order
        else:
            ids = pilot.order()
            if fault := _refused(pilot, one, expected.strip(), doc, answerable):
                raise DataError(f"{answer_id}{fault}")
            numbers = [int(m[1]) for i in rows if (m := re.fullmatch(r"p(\d+)", i))]
            id_ = f"p{max(numbers, default=0) + 1:04d}"
            finished = False
            questions.add(_row(pilot, id_, one, expected.strip(), doc, answerable))
        append_jsonl(order, {"position": len(ids) + 1, "id": id_})
    return Joined(id_, finished)


def _row(pilot: Pilot, id_: str, one: ReadAnswer, expected: str, doc: str, answerable: bool) -> dict[str, Any]:
    return {
        "id": id_,
        "question": one.served.question,
        "expected": expected,
        "doc": doc or None,
        "groups": sorted(one.served.groups - {pilot.everyone}),
        "answerable": answerable,
        "source": FAILED_IN_USE,
        "validated_by": one.annotator,
        "added": date.today().isoformat(),
    }


def _refused(pilot: Pilot, one: ReadAnswer, expected: str, doc: str, answerable: bool) -> str:
    """Why an answer cannot join the set, as the end of a sentence that begins with its id; or empty."""
    if not one.failed:
        return f" was labelled correct by {one.annotator}; only answers that failed join the set"
    if one.known:
        return f" repeats question {one.known!r} of the set; correct or complete that one"
    fault = _unfit(pilot, one.served, expected, doc, answerable)
    return f": {fault}" if fault else ""


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
