"""Who answers and who grades, by the settings; and whether they can be reached before a run is begun.

A model's replies are kept in the pilot's cache. How a model is called is known in `answering/` alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .answering.answerer import LLM, Reply
from .answering.extractive import extractive
from .answering.remembered import remembered
from .answering.start import check_model
from .grading.judge import SHAPE, Judge, model_judge, offline_judge, read_label
from .grading.sorting import read_sorted
from .settings import ModelTable, Settings

BESIDE = 500
"""Tokens of a prompt beside its passages, and of a judge's beside the answer: instructions, headings, question."""


def answerer(settings: Settings, cache: Path, instead: Callable[[str], Reply] | None = None) -> LLM:
    """The answerer of those settings; a model's replies are kept in the folder `cache`.

    `instead` gets what the model would be asked and was not asked before.
    """
    table = settings.answer
    if table.kind == "extractive":
        return extractive(table.sentences, table.coverage)
    return remembered(table, cache, instead=instead)


def judge_of(settings: Settings, cache: Path, instead: Callable[[str], Reply] | None = None) -> Judge | None:
    """The judge of those settings, or None; `instead` as in `answerer`."""
    if settings.judge.kind == "model":
        return model_judge(remembered(settings.judge, cache, "judge", read_label, SHAPE, instead))
    return None if settings.judge.kind == "none" else offline_judge  # fitting.py fits it once there are labels


def scorer_of(settings: Settings, cache: Path) -> LLM | None:
    """The model that checks claims and passages for the scores, or None: rules do."""
    return remembered(settings.judge, cache, "judge", read_sorted) if settings.judge.scores == "model" else None


def at_once(table: ModelTable) -> int:
    """How many calls a model may get at once; what is no model works alone."""
    return table.concurrency if table.kind == "model" else 1


def check_models(settings: Settings) -> list[str]:
    """One call to the answerer and to the judge, where they are models: their names as they answered.

    RunStoppedError says in one sentence what is wrong.
    """
    return [check_model(table, size, name) for name, table, size in checked(settings)]


def checked(settings: Settings) -> list[tuple[str, ModelTable, int]]:
    """The models that are checked before a run, each with the tokens of the longest prompt that the run can make."""
    cut, shown = settings.passages, settings.retrieval.k
    longest = shown * max(cut.max_tokens, cut.parent_tokens) + BESIDE
    scores = settings.judge.scores == "model"  # its prompts hold the passages too
    judged = longest if scores else settings.answer.max_tokens + BESIDE
    found: list[tuple[str, ModelTable, int]] = []
    if settings.answer.kind == "model":
        found.append(("answer", settings.answer, longest))
    if settings.judge.kind == "model" or scores:
        found.append(("judge", settings.judge, judged))
    return found
