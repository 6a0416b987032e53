"""The sets of questions against which criteria were held: data/<pilot>/decisions.jsonl, append-only, beside the lock.

Whoever adds questions after a verdict and asks again gets a second chance at it: with four extensions a true 5 % is
called "at most 5 %" in 9 % of pilots (simulated for this project). One extension may be planned, in the lock, before
the first verdict; then both are at 97.5 %. This module knows ids, and neither criteria nor results.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from .files import append_jsonl, read_whole, saving
from .identity import fingerprint
from .records import Record
from .said import Said

FILE = "decisions.jsonl"


@dataclass(frozen=True)
class DecidedSet(Record):
    """One line: the criteria were held against those n questions; `planned`: an extension was planned by then."""

    date: str
    questions: str  # fingerprint of their ids
    n: int
    planned: bool
    states: tuple[str, ...] = ()  # what was found of each criterion, such as "few wrong: not met"


def read_sets(path: Path) -> list[DecidedSet]:
    """Every set so far, oldest first; half a last line (an interrupted write) is left out."""
    return read_whole(path, DecidedSet.from_json)


def note_set(path: Path, ids: Collection[str], planned: bool, states: Sequence[str]) -> None:
    """Append a line for a set against which the criteria are held, unless it stands there or they may not be."""
    line = DecidedSet(date.today().isoformat(), fingerprint(sorted(ids)), len(ids), planned, tuple(states))
    with saving(path):
        known = read_sets(path)
        if line.questions not in {one.questions for one in known} and not closed_to(known, ids):
            append_jsonl(path, line)


def looks(sets: Sequence[DecidedSet], planned: bool) -> int:
    """How often each criterion may be judged: as planned at the first verdict, `planned` now where there was none.

    A plan that is made or withdrawn afterwards moves no level.
    """
    return 2 if (sets[0].planned if sets else planned) else 1


def closed_to(sets: Sequence[DecidedSet], ids: Collection[str]) -> str:
    """Why the criteria cannot be decided on these questions, after those sets; empty where they can."""
    print_ = fingerprint(sorted(ids))
    if not sets or print_ in {known.questions for known in sets}:
        return ""
    found = f" ({'; '.join(sets[0].states)})" if sets[0].states else ""
    first, seen = sets[0], f"The criteria were held against {sets[0].n} questions on {sets[0].date}"
    if not first.planned:
        return Said(
            "closed_set_found" if first.states else "closed_set",
            f"{seen}, and no extension was planned then: these {len(ids)} are another set, which would be a second "
            f"chance. What was found then stands{found}; go back to those questions, or begin a pilot with a "
            "lock of its own.",
            n=first.n,
            date=first.date,
            now=len(ids),
            **({"states": tuple(map(_found, first.states))} if first.states else {}),
        )
    if len(sets) > 1:
        told = f"{seen} and against {sets[1].n} on {sets[1].date}, as planned: there is no third time."
        return Said("closed_twice", told, n=first.n, date=first.date, then=sets[1].n, on=sets[1].date)
    return ""


def _found(recorded: str) -> Said:
    name, _, state = recorded.rpartition(": ")
    return Said("found_state", recorded, name=name, state=state)
