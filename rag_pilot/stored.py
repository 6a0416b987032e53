"""A run on disk, opened by the name of its folder with what it means; nothing is asked and nothing run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .building import SEARCHING, Variant
from .errors import DataError
from .examples import FOLDER
from .files import read_records
from .pilot import Pilot
from .records import Answer, Question
from .results import Result
from .runs import AGAIN, Run, open_run


def stored_runs(pilot: Pilot) -> dict[str, Path]:
    """The folders of a pilot's runs by name, and of the example runs that came with it."""
    own, others = (sorted(f.glob("*/run.json")) for f in (pilot.results / "runs", pilot.data / FOLDER))
    return {path.parent.name: path.parent for path in (*own, *others)}


def stored_result(pilot: Pilot, name: str | None = None, *, gone: bool = False) -> Result:
    """A run by its folder's name (None: the latest), with its index; DataError where there is none.

    An example run is the latest only where the pilot has none of its own, a second asking of the baseline never.
    Answers to questions that the set no longer has are refused; with `gone` they are left out.
    """
    known = stored_runs(pilot)
    once = [f for f in known.values() if f"-{AGAIN}-" not in f.name]
    asked = [f for f in once if f.is_relative_to(pilot.results)] or once
    latest = max(asked, key=lambda f: (f / "run.json").stat().st_mtime).name if asked else ""
    if (name or latest) not in known:
        listed = ", ".join(known) or "none yet: `rag-pilot run` makes one"
        raise DataError(f"no run {name!r} of pilot {pilot.name}; runs are: {listed}" if name else f"runs: {listed}")
    folder = known[name or latest]
    return result_of(pilot, _still_asked(pilot, folder) if gone else open_run(folder, pilot.questions))


def _still_asked(pilot: Pilot, folder: Path) -> Run:
    questions = tuple(pilot.questions)
    known = {q.id for q in questions}
    answers = read_records(folder / "answers.jsonl", Answer.from_json)
    removed = [Question(a.question_id, "") for a in answers if a.question_id not in known]
    run = open_run(folder, [*questions, *removed])  # which refuses answers to questions that it is not told of
    return replace(run, questions=tuple(q for q in run.questions if q.id in known))


def result_of(pilot: Pilot, run: Run) -> Result:
    """A run with the index that it was asked of, built from the documents as they stand now."""
    config = run.info.get("config", {})
    set_ = {f"{t}.{k}": v for t in ("passages", *SEARCHING, "answer") for k, v in config.get(t, {}).items()}
    variant = Variant(pilot.settings.changed(set_), tuple(config.get("changes", ())))
    return Result(pilot, run, pilot.build(variant))
