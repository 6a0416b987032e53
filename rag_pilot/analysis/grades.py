"""Which label an answer has, and who gave it: a rule, the expert, the judge, or nobody.

It knows the order of precedence (error, the system's own decline, expert, rule, judge) and nothing of shares. A
judge's label counts only where the judge was admitted; a label belongs to one text and never passes to a changed one.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ..errors import DataError
from ..records import KINDS, LABELS, Answer, Label, Question, Record, Verdict
from .sample import DECLINES_IN_TEXT

STATUSES = ("answered", "declined", "error")

R = TypeVar("R", Answer, Verdict)


def by_question(records: Iterable[R]) -> dict[str, R]:
    """The records by question id; a question that stands twice is an error, for no count could be trusted."""
    found: dict[str, R] = {}
    for record in records:
        if record.question_id in found:
            raise DataError(f"question {record.question_id!r} stands twice in one run; keep one row for each question")
        found[record.question_id] = record
    return found


# -- labels of persons -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ExpertLabels:
    """The persons' labels that count for one run, by question.

    `stale` are questions that have labels for other texts only, `unknown` ids of labels whose question the run lacks.
    """

    current: Mapping[str, Label]
    stale: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()


def expert_labels(labels: Iterable[Label], answers: Mapping[str, Answer], main: str | None = None) -> ExpertLabels:
    """The label of a person that counts for each answer, from the lines of an append-only store in their order.

    By question, text, annotator and kind the last line counts, and a line without a label retracts it. `adjudicated`
    replaces `label`; `repeat`, `second` and `spot` never count. Where several persons labelled one answer, the one
    named `main` counts; where she has none, because it is closed to her, what all the others agree on, else nothing.
    """
    last: dict[tuple[str, str, str, str], Label] = {}
    for label in labels:
        if label.label not in (None, *LABELS) or label.kind not in KINDS:
            raise DataError(
                f"question {label.question_id!r}: label {label.label!r} of kind {label.kind!r}; "
                f"expected a label of {', '.join(LABELS)} and a kind of {', '.join(KINDS)}"
            )
        key = (label.question_id, label.answer_sha, label.annotator, label.kind)
        last.pop(key, None)  # the order of the lines is the order of time
        last[key] = label
    texts: dict[str, dict[str, list[Label]]] = defaultdict(lambda: defaultdict(list))
    for label in last.values():
        if label.label is not None and label.kind in ("label", "adjudicated"):
            texts[label.question_id][label.answer_sha].append(label)
    current, stale = {}, []
    for question_id, by_text in texts.items():
        if question_id in answers:
            if read := by_text.get(answers[question_id].sha):
                if counts := _counting(read, main):
                    current[question_id] = counts
            else:
                stale.append(question_id)
    return ExpertLabels(current, tuple(sorted(stale)), tuple(sorted(texts.keys() - answers.keys())))


def _counting(read: Sequence[Label], main: str | None) -> Label | None:
    adjudicated = [label for label in read if label.kind == "adjudicated"]
    if adjudicated:
        return adjudicated[-1]
    own = [label for label in read if label.annotator == main] or list(read)
    if len({label.label for label in own}) > 1 and main is not None:
        return None
    if len(own) > 1 and main is None:
        names = ", ".join(sorted(label.annotator for label in own))
        raise DataError(
            f"question {own[0].question_id!r} was labelled by {names}: name the annotator whose labels count, "
            "or settle the answer by one more label of kind 'adjudicated'"
        )
    return own[-1]


# -- rules -----------------------------------------------------------------------------------------------------------


def rule_label(question: Question, answer: Answer) -> str | None:
    """The label that needs no reading, or None: declines, and answers to what the documents cannot answer."""
    if answer.status not in STATUSES:
        raise DataError(f"question {question.id!r}: status {answer.status!r}; expected one of {', '.join(STATUSES)}")
    if answer.status == "declined":
        return "declined" if question.answerable else "correct"
    if answer.status == "answered" and not question.answerable and DECLINES_IN_TEXT.isdisjoint(answer.flags):
        return "wrong"
    return None


def citation_rule(question: Question, answer: Answer, label: str | None) -> str | None:
    """A judge's `correct` becomes `partly` where the answer cites no document that the reference accepts.

    A judge compares texts and never sees documents. A person saw the citations: her label already holds this half.
    """
    return "partly" if label == "correct" and question.docs.isdisjoint(answer.docs) else label


def scored(question: Question, label: str) -> str:
    """A person's label as it counts: key 4, "the text says that it cannot answer", is right where nobody could."""
    return "correct" if label == "declined" and not question.answerable else label


@dataclass(frozen=True)
class Graded(Record):
    """The label that counts for one answer (None where there is none) and who gave it."""

    label: str | None
    by: str  # rule | expert | judge | not_graded | error


def settle(
    questions: Iterable[Question],
    answers: Mapping[str, Answer],
    verdicts: Mapping[str, Verdict],
    labels: Mapping[str, Label],
    judge_admitted: bool,
) -> dict[str, Graded]:
    """The label of every question; one without an answer yet is `not_graded`.

    An expert's label goes before the rule for answered questions (she read it); the system's own declines need no
    reader. A verdict for another text than the answer's is not used.
    """
    settled = {}
    for question in questions:
        answer = answers.get(question.id)
        settled[question.id] = (
            Graded(None, "not_graded")
            if answer is None
            else _settle(question, answer, verdicts.get(question.id), labels.get(question.id), judge_admitted)
        )
    return settled


def _settle(question: Question, answer: Answer, verdict: Verdict | None, label: Label | None, admitted: bool) -> Graded:
    rule = rule_label(question, answer)
    if answer.status == "error":
        return Graded(None, "error")
    if label is not None and label.label is not None and label.answer_sha == answer.sha and answer.status == "answered":
        return Graded(scored(question, label.label), "expert")
    if rule is not None:
        return Graded(rule, "rule")
    if admitted and (judged := judge_label(answer, verdict)) is not None:
        return Graded(judged, "judge")
    return Graded(None, "not_graded")


def judge_label(answer: Answer, verdict: Verdict | None) -> str | None:
    """A judge's label of this very text, after the citation rule; None without a verdict or where it was unreadable."""
    if verdict is None or verdict.by == "rule" or verdict.answer_sha != answer.sha:
        return None
    return verdict.label
