"""Which answers test a judge, and the record of every test: results/<pilot>/gates.jsonl, append-only.

A judge is tested on the first answers of the order that need a person. Once it was, those have done their part: another
judge (another model or prompt, or a fitted one after the fixed one) may have been chosen or mended by what was seen on
them, and is tested on answers further down. Fitting itself is no mending: what a fitted judge says of a labelled answer
comes from a fit without it. This module knows ids and judges, and no label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from .files import append_jsonl, read_records
from .fitting import FOLDS, STRENGTH
from .grading.agreement import NOT_READ, Gate
from .grading.judge import FULL, LONG, OWN_FULL, OWN_SOME, RUBRIC, SOME
from .identity import fingerprint
from .records import Record

ASKED_BY = ("model", "revision", "base_url", "temperature", "max_tokens", "repeat")
"""What of a judging model's settings can change its labels."""
CHANGED = "The judge was changed after it was tested on these answers: read the next {} of the order to confirm it"


@dataclass(frozen=True)
class Look(Record):
    """One line of gates.jsonl: a judge was tested on those questions of a run; of `n` it had graded it `agreed`."""

    date: str
    judge: str  # its fingerprint
    name: str
    run: str
    questions: tuple[str, ...]
    n: int
    agreed: int
    state: str


def judge_id(table: Mapping[str, Any]) -> str:
    """The fingerprint of a judge by its settings: all that decides what it says of a text, and the prompt."""
    kind = table.get("kind", "offline")
    if kind == "model":
        return fingerprint([kind, RUBRIC, {name: table.get(name) for name in ASKED_BY}])
    rules = [FULL, SOME, LONG, OWN_FULL, OWN_SOME]
    return fingerprint([kind, rules, *([STRENGTH, FOLDS] if kind == "fitted" else [])])


def read_looks(path: Path) -> list[Look]:
    """Every test of a judge so far, oldest first."""
    return read_records(path, Look.from_json) if path.exists() else []


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


def note_look(path: Path, table: Mapping[str, Any], run: str, questions: Sequence[str], found: Gate) -> None:
    """Append a line for a test, unless it stands there; none while answers wait to be read, or without a judge."""
    if found.state in (NOT_READ, "no data"):
        return
    name = str(table.get("model") or table.get("kind") or "offline")
    judge, asked = judge_id(table), tuple(questions[: found.asks])
    known = {(look.judge, look.run, look.questions, look.n, look.agreed, look.state) for look in read_looks(path)}
    said = (found.n, found.agreed, found.state)
    if (judge, run, asked, *said) not in known:
        append_jsonl(path, Look(date.today().isoformat(), judge, name, run, asked, *said))


def tested(looks: Sequence[Look], judge: str) -> tuple[int, int] | None:
    """(labels on which it said the same as the expert, of so many) when this judge was last tested; None: never."""
    return next(((look.agreed, look.n) for look in reversed(looks) if look.judge == judge), None)
