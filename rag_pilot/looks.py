"""The record of every look that was taken at a judge, data/<pilot>/gates.jsonl: append-only, beside labels and lock.

A judge is tested on the first answers of the order that need a person. Once it was, those have done their part: another
judge (another model or prompt, or a fitted one after the fixed one) may have been chosen or mended by what was seen on
them, and is tested on answers further down. Fitting itself is no mending: what a fitted judge says of a labelled answer
comes from a fit without it. This module knows ids, judges and outcomes, and no label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from .files import append_jsonl, read_whole, saving
from .fitting import FOLDS, STRENGTH
from .grading.agreement import Gate
from .grading.judge import FULL, LONG, OWN_FULL, OWN_SOME, RUBRIC, RULES, SOME
from .identity import fingerprint
from .records import Record

ASKED_BY = ("model", "revision", "base_url", "temperature", "max_tokens", "repeat")
"""What of a judging model's settings can change its labels."""
FILE = "gates.jsonl"


@dataclass(frozen=True)
class Look(Record):
    """One line of gates.jsonl: a judge was looked at on those questions; of `n` that it had graded it `agreed`."""

    date: str
    judge: str  # its fingerprint
    name: str
    run: str  # the first run in which these answers stood
    questions: tuple[str, ...]
    answers: str  # fingerprint of each question with its answer's text
    n: int
    agreed: int
    state: str
    look: int = 1  # 2: the planned second one


def judge_id(table: Mapping[str, Any]) -> str:
    """The fingerprint of a judge by its settings: all that decides what it says of a text, and the prompt."""
    kind = table.get("kind", "offline")
    if kind == "model":
        return fingerprint([kind, RUBRIC, {name: table.get(name) for name in ASKED_BY}])
    rules = [RULES, FULL, SOME, LONG, OWN_FULL, OWN_SOME]
    return fingerprint([kind, rules, *([STRENGTH, FOLDS] if kind == "fitted" else [])])


def read_looks(path: Path) -> list[Look]:
    """Every look at a judge so far, oldest first; half a last line (an interrupted write) is left out."""
    return read_whole(path, Look.from_json)


def before(looks: Sequence[Look], judge: str) -> set[str]:
    """The questions on which other judges were tested before this one was for the first time."""
    first = next((place for place, look in enumerate(looks) if look.judge == judge), len(looks))
    return {question for look in looks[:first] for question in look.questions}


def new_to(judge: str, looks: Sequence[Look], order: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """The questions, of those `wanted` in this order, that stand after all on which another judge was tested before."""
    seen = before(looks, judge)
    last = max((place for place, question in enumerate(order) if question in seen), default=-1)
    further = set(order[last + 1 :])
    return [question for question in wanted if question in further]


def note_looks(path: Path, table: Mapping[str, Any], run: str, shas: Mapping[str, str], taken: Sequence[Gate]) -> None:
    """Append a line for each look taken, unless it stands there: the same look in another run or later is none.

    `shas` are the answers that can test the judge, in order: question -> fingerprint of the answer's text.
    """
    name, judge = str(table.get("model") or table.get("kind") or "offline"), judge_id(table)
    today, new = date.today().isoformat(), []
    for number, found in enumerate(taken, start=1):
        asked = tuple(shas)[: found.asks]
        answers = fingerprint([[i, shas[i]] for i in asked])
        new.append(Look(today, judge, name, run, asked, answers, found.n, found.agreed, found.state, number))
    if {_key(look) for look in new} <= {_key(look) for look in read_looks(path)}:
        return
    with saving(path):
        known = {_key(look) for look in read_looks(path)}
        for look in new:
            if _key(look) not in known:
                append_jsonl(path, look)


def _key(look: Look) -> tuple[str, str, int, int, str]:
    return look.judge, look.answers, look.n, look.agreed, look.state


def tested(looks: Sequence[Look], judge: str) -> tuple[int, int] | None:
    """(labels on which it said the same as the expert, of so many) when this judge was last tested; None: never."""
    return next(((look.agreed, look.n) for look in reversed(looks) if look.judge == judge), None)
