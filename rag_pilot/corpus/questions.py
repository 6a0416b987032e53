"""The question set: read without changing a byte of it, and checked against the documents before anybody relies on it.

It knows documents and who may open them, neither passages nor any system under test. Checks are pure and name ids.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, overload

from ..errors import DataError
from ..files import read_jsonl
from ..identity import fold
from ..records import Document, Question, Record
from .access import group_names, may_open
from .facts import Facts, numbers_and_codes, spaced

SIZE = (150, 300)
"""How many questions a pilot asks: at 200 and 80 % right the 95 % margin is 5.5 points (the method's days 1-2)."""

UNANSWERABLE = (0.10, 0.15)
"""The share that the documents do not answer: declining well is part of the job (the method's days 1-2)."""

LEAST_PER_CATEGORY = 12
"""A smaller category is shown as counts, hardly as a share."""

_TEXTS = ("expected", "category", "lang", "quote", "source", "validated_by", "added")


@dataclass(frozen=True)
class QuestionSet(Sequence[Question]):
    """The questions of a file in its order; `left_out` are the ids of those with `answerable: null`."""

    questions: tuple[Question, ...]
    left_out: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Question, ...]: ...
    def __getitem__(self, index: int | slice) -> Question | tuple[Question, ...]:
        return self.questions[index]

    def __len__(self) -> int:
        return len(self.questions)


@dataclass(frozen=True)
class Finding(Record):
    """One thing that a person should know of the set: `error` makes numbers wrong, `warning` makes them weaker."""

    severity: str
    what: str
    ids: tuple[str, ...]
    what_to_do: str


# -- reading -----------------------------------------------------------------------------------------------------------


def read_questions(path: Path, everyone: str | None) -> QuestionSet:
    """Read questions.jsonl; `everyone` joins every asker's groups. A line that is not as agreed is a DataError."""
    if not path.is_file():
        raise DataError(f"{path}: no such file; write one question as a JSON object per line")
    questions: list[Question] = []
    left_out: list[str] = []
    lines: dict[str, int] = {}
    for number, row in read_jsonl(path):
        try:
            question = parse_question(row, everyone)
        except ValueError as fault:
            raise DataError(f"{path}, line {number}: {fault}") from None
        if question.id in lines:
            raise DataError(f"{path}, lines {lines[question.id]} and {number}: the id {question.id!r} stands twice")
        lines[question.id] = number
        if row["answerable"] is None:
            left_out.append(question.id)
        else:
            questions.append(question)
    return QuestionSet(tuple(questions), tuple(left_out))


def parse_question(row: Mapping[str, Any], everyone: str | None) -> Question:
    """The question of one line's object; a ValueError says what is not as agreed. `answerable` may be null."""
    known = [f.name for f in fields(Question)]
    if unknown := sorted(row.keys() - set(known)):
        raise ValueError(f"unknown key {', '.join(map(repr, unknown))}; expected some of {', '.join(known)}")
    if missing := [name for name in ("id", "question", "groups", "answerable") if name not in row]:
        raise ValueError(f"{', '.join(missing)} is missing; every question has id, question, groups and answerable")
    for name in ("id", "question"):
        if not isinstance(row[name], str) or not row[name].strip():
            raise ValueError(f'{name} is {row[name]!r}; expected text in "quotes", not empty')
    if not isinstance(row["answerable"], bool | None):
        raise ValueError(f"answerable is {row['answerable']!r}; expected true or false, or null to leave it out")
    for name in (*_TEXTS, "doc"):
        if not isinstance(row.get(name), str | None):
            raise ValueError(f"{name} is {row[name]!r}; expected text")
    row = {name: value for name, value in row.items() if value is not None or name in ("groups", "answerable")}
    for name in ("groups", "also"):
        names = row.get(name, [])
        if not isinstance(names, list) or not all(isinstance(item, str) for item in names):
            raise ValueError(f'{name} is {names!r}; expected a list such as ["hr"]')
    amendments = row.get("amendments", [])
    if not isinstance(amendments, list) or not all(isinstance(item, dict) for item in amendments):
        raise ValueError(f"amendments is {amendments!r}; expected a list of objects")
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no character; retype the text") from None
    try:
        groups = group_names(row["groups"]) if row["groups"] else frozenset()
    except ValueError as fault:
        raise ValueError(f"groups {fault}") from None
    return Question.from_json({**row, "groups": groups | ({everyone} if everyone else set())})


# -- checking ----------------------------------------------------------------------------------------------------------


def check_questions(
    questions: Sequence[Question], documents: Iterable[Document], everyone: str | None
) -> list[Finding]:
    """What is wrong or weak in a set, errors first; an empty list means that nothing was found."""
    known = {document.id: document for document in documents}
    answerable = [q for q in questions if q.answerable]
    findings = [
        *_sizes(questions),
        *_references(questions, known),
        *_permissions(questions, known, everyone),
        *_answers(answerable, known),
        *_repeats(questions),
        *_segments(questions, known),
    ]
    return sorted(findings, key=lambda finding: finding.severity != "error")


def _error(what: str, questions: Iterable[Question], what_to_do: str) -> Finding:
    return Finding("error", what, tuple(q.id for q in questions), what_to_do)


def _warning(what: str, questions: Iterable[Question], what_to_do: str) -> Finding:
    return Finding("warning", what, tuple(q.id for q in questions), what_to_do)


def _sizes(questions: Sequence[Question]) -> Iterator[Finding]:
    n, (fewest, most) = len(questions), SIZE
    if left_out := questions.left_out if isinstance(questions, QuestionSet) else ():
        yield Finding("warning", f"{len(left_out)} left out: answerable is null", left_out, "decide true or false")
    if not n:
        yield _error("no questions", (), "collect what people really asked")
        return
    if not fewest <= n <= most:
        advice = "collect more: fewer are a start, never a verdict" if n < fewest else "keep those that people ask most"
        yield _warning(f"{n} questions; a pilot asks {fewest} to {most}", (), advice)
    none = [q for q in questions if not q.answerable]
    low, high = UNANSWERABLE
    what = f"{len(none)} of {n} questions ({len(none) / n:.0%}) are unanswerable; expected {low:.0%} to {high:.0%}"
    if len(none) in (0, n):
        yield _error(what, (), "both kinds are needed: declining is measured on one, answers on the other")
    elif not low <= len(none) / n <= high:
        yield _warning(what, none, "add questions of the kind that is too rare")


def _references(questions: Sequence[Question], known: Mapping[str, Document]) -> Iterator[Finding]:
    if nameless := [q for q in questions if q.answerable and not q.doc]:
        yield _error(f"{len(nameless)} answerable questions name no document", nameless, "fill in doc")
    if lost := [q for q in questions if q.docs - known.keys()]:
        names = ", ".join(sorted({doc for q in lost for doc in q.docs - known.keys()}))
        what = f"{len(lost)} questions name documents that were not read: {names}"
        yield _error(what, lost, "correct doc or also, or see why the file was skipped")
    if silent := [q for q in questions if q.answerable and not q.expected.strip()]:
        yield _error(f"{len(silent)} answerable questions have no expected answer", silent, "write expected")


def _permissions(
    questions: Sequence[Question], known: Mapping[str, Document], everyone: str | None
) -> Iterator[Finding]:
    named = frozenset(group for document in known.values() for group in document.groups)
    always = frozenset({everyone} if everyone else ())

    def opens(question: Question) -> bool:
        return any(may_open(known[doc].groups, question.groups | always) for doc in question.docs & known.keys())

    if everyone and known and everyone not in named:
        yield _warning(f"no document is open to everyone ({everyone})", (), "check the name in pilot.toml")
    if closed := [q for q in questions if not may_open(named, q.groups | always)]:
        what = f"{len(closed)} questions nobody may answer: their asker may open no document at all"
        yield _error(what, closed, "name the asker's groups as the documents spell them")
    with_document = [q for q in questions if q.docs & known.keys()]
    if barred := [q for q in with_document if q.answerable and not opens(q)]:
        what = f"{len(barred)} answerable questions whose asker may not open the expected document"
        yield _error(what, barred, "set answerable to false, or correct the groups of the asker or the document")
    if open_after_all := [q for q in with_document if not q.answerable and opens(q)]:
        what = f"{len(open_after_all)} unanswerable questions name a document that their asker may open"
        yield _warning(what, open_after_all, "set answerable to true, or doc to null if it does not answer")


def _answers(answerable: Sequence[Question], known: Mapping[str, Document]) -> Iterator[Finding]:
    facts = {
        doc: Facts.of(f"{known[doc].title}\n{known[doc].text}") for q in answerable for doc in q.docs & known.keys()
    }
    strange: dict[str, list[str]] = {}
    unquoted: list[Question] = []
    for question in answerable:
        texts = [facts[doc] for doc in question.docs & known.keys()]
        if not texts:
            continue
        told = [*texts, Facts.of(question.question)]  # an answer may repeat a number of the question
        if missing := [fact for fact in numbers_and_codes(question.expected) if not any(t.hold(fact) for t in told)]:
            strange[question.id] = missing
        if question.quote and not any(spaced(question.quote) in text.spaced for text in texts):
            unquoted.append(question)
    if strange:
        listed = "; ".join(f"{id_}: {', '.join(missing)}" for id_, missing in strange.items())
        what = f"{len(strange)} expected answers hold numbers or codes that their document does not: {listed}"
        advice = "correct expected or doc; if the document is out of date, tell its owner"
        yield Finding("warning", what, tuple(strange), advice)
    if unquoted:
        yield _warning(f"{len(unquoted)} quotes do not stand in their document", unquoted, "copy the words again")


def _repeats(questions: Sequence[Question]) -> Iterator[Finding]:
    """Same text (composed, blanks and case folded): a duplicate where the answers agree, else a conflict.

    The same words from askers with other groups are no conflict where one may open the answer and the other may not.
    """
    same: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        same[fold(question.question)].append(question)
    duplicates: list[Question] = []
    for alike in same.values():
        answers = [(q.answerable, fold(q.expected)) for q in alike]
        clashing = [
            q
            for q, answer in zip(alike, answers, strict=True)
            if any(
                answer != other_answer and (q.groups == other.groups or q.answerable and other.answerable)
                for other, other_answer in zip(alike, answers, strict=True)
            )
        ]
        if clashing:
            what = f"{len(clashing)} questions with one text have different answers: {alike[0].question!r}"
            yield _error(what, clashing, "agree on one answer, or say in the question what differs")
        duplicates += [q for q, answer in zip(alike, answers, strict=True) if answers.count(answer) > 1]
    if duplicates:
        what = f"{len(duplicates)} questions stand more than once with one answer"
        yield _warning(what, duplicates, "keep one of each: a repeated question counts twice")


def _segments(questions: Sequence[Question], known: Mapping[str, Document]) -> Iterator[Finding]:
    sizes = Counter(q.category for q in questions if q.category)
    if small := {name: n for name, n in sorted(sizes.items()) if n < LEAST_PER_CATEGORY}:
        listed = ", ".join(f"{name} {n}" for name, n in small.items())
        what = f"{len(small)} categories have under {LEAST_PER_CATEGORY} questions: {listed}"
        yield _warning(what, [q for q in questions if q.category in small], "collect more of them, or merge categories")
    if unsorted := [q for q in questions if not q.category]:
        yield _warning(f"{len(unsorted)} questions have no category", unsorted, "fill in category")
    spoken = Counter(document.lang for document in known.values() if document.lang)
    asked = Counter(q.lang for q in questions if q.lang)
    if len(spoken) > 1 and (unmarked := [q for q in questions if not q.lang]):
        yield _warning(f"{len(unmarked)} questions have no lang, documents have several", unmarked, "fill in lang")
    for lang in sorted(spoken.keys() - asked.keys()) if asked else ():
        yield _warning(f"{spoken[lang]} documents are in {lang!r}, no question is", (), "ask in that language too")
    for lang in sorted(asked.keys() - spoken.keys()) if spoken else ():
        asking = [q for q in questions if q.lang == lang]
        yield _warning(f"{len(asking)} questions are in {lang!r}, no document is", asking, "check lang")
