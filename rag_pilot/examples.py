"""Runs that came with a pilot, in data/<pilot>/example-runs/: shown beside its own, counted in no score and no verdict.

Each is what another answerer or judge made of the same questions; it says itself which (run.json). What the expert read
of it stands beside it (labels.jsonl).
"""

from __future__ import annotations

from .evaluation import restated
from .pilot import Pilot
from .results import Result
from .runs import open_run

FOLDER = "example-runs"


def example_runs(pilot: Pilot) -> list[Result]:
    """The example runs of a pilot, by name; DataError where one does not fit the questions."""
    found = sorted(path.parent for path in (pilot.data / FOLDER).glob("*/run.json"))
    if not found:
        return []
    questions, built = pilot.questions, pilot.build()
    return [Result(pilot, restated(open_run(folder, questions)), built) for folder in found]
