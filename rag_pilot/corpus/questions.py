"""The question set, read without changing a byte of it; what is wrong with it stands in checks.py."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, overload

from ..errors import DataError
from ..files import read_jsonl
from ..records import Question
from .access import all_of, group_names

_TEXTS = ("expected", "category", "lang", "quote", "source", "validated_by", "added")


@dataclass(frozen=True)
class QuestionSet(Sequence[Question]):
    """The questions of a file in its order; `undecided` are those with `answerable: null`, which no run asks."""

    questions: tuple[Question, ...]
    undecided: tuple[Question, ...] = ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """The ids of the undecided."""
        return tuple(q.id for q in self.undecided)

    @overload
    def __getitem__(self, index: int) -> Question: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Question, ...]: ...
    def __getitem__(self, index: int | slice) -> Question | tuple[Question, ...]:
        return self.questions[index]

    def __len__(self) -> int:
        return len(self.questions)


def read_questions(path: Path, everyone: str | None) -> QuestionSet:
    """Read questions.jsonl; `everyone` joins every asker's groups. A line that is not as agreed is a DataError."""
    if not path.is_file():
        raise DataError(f"{path}: no such file; write one question as a JSON object per line")
    questions: list[Question] = []
    undecided: list[Question] = []
    lines: dict[str, int] = {}
    for number, row in read_jsonl(path):
        try:
            question = parse_question(row, everyone)
        except ValueError as fault:
            raise DataError(f"{path}, line {number}: {fault}") from None
        if question.id in lines:
            raise DataError(f"{path}, lines {lines[question.id]} and {number}: the id {question.id!r} stands twice")
        lines[question.id] = number
        (undecided if row["answerable"] is None else questions).append(question)
    return QuestionSet(tuple(questions), tuple(undecided))


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
    asked = row.get("asked", 1)
    if not isinstance(asked, int) or isinstance(asked, bool) or asked < 1:
        raise ValueError(f"asked is {asked!r}; expected how often, a whole number from 1")
    try:
        json.dumps(row, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError("holds half of a surrogate pair, which is no character; retype the text") from None
    try:
        groups = group_names(row["groups"]) if row["groups"] else frozenset()
    except ValueError as fault:
        raise ValueError(f"groups {fault}") from None
    answerable = bool(row["answerable"])  # of an undecided one nobody knows: it is asked by no run
    return Question.from_json({**row, "answerable": answerable, "groups": groups | ({everyone} if everyone else set())})


def closed_to(
    question: Question, documents: Mapping[str, AbstractSet[str]], readers: AbstractSet[str]
) -> tuple[frozenset[str], ...]:
    """What keeps readers from a question and its reference: of each such document the groups, one of which they need.

    `documents` maps ids to those who may open them. Every one that the reference names must be open to them. A question
    without a document, or whose document is gone, can itself tell something: they must have the asker's groups too.
    """
    there = sorted(question.docs & documents.keys())
    own = () if there and not question.adopted else all_of(question.groups)
    needed = (*(frozenset(documents[d]) for d in there), *own)
    return tuple(groups for groups in needed if not groups & readers)
