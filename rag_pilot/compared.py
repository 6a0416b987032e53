"""Retrievers over the same questions, nothing answered: keyword, dense and hybrid, and the searches of others.

What their results mean is known in `results`; how a search works is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .answering.answerer import NOT_FOUND
from .building import Built, Variant, embed_questions
from .errors import ModelError
from .evaluation import Run, run_eval
from .hosted import HostedSearch
from .pilot import Pilot
from .results import Result
from .retrieval.hybrid import METHODS, Retriever


def retrievers(
    pilot: Pilot, variant: Variant | None = None, others: Mapping[str, Retriever] | None = None
) -> dict[str, Result]:
    """Keyword, dense and hybrid retrieval over the same questions, nothing answered.

    Beside them the hosted search of pilot.toml where it names a store, and `others`: anything with
    `search(question, groups, k)` whose hits name our documents. ModelError where one of these answers no question.
    """
    variant = variant or pilot.baseline
    built = pilot.build(replace(variant, settings=variant.settings.changed({"retrieval.method": "hybrid"})))
    hosted = pilot.settings.hosted
    asked: dict[str, Retriever] = {"hosted": HostedSearch(hosted)} if hosted.store else {}
    embed_questions(built.index, pilot.questions)
    ours = {name: built.index.using(name) for name in METHODS}
    found = {name: Result(pilot, _asked(pilot, index), built, index) for name, index in ours.items()}
    return found | {name: _of_others(pilot, built, name, other) for name, other in {**asked, **(others or {})}.items()}


def _asked(pilot: Pilot, retriever: Retriever) -> Run:
    """A run in memory, nothing answered: for measures of retrieval."""
    return run_eval(pilot.questions, retriever, lambda _: NOT_FOUND, min_similarity=None)


def _of_others(pilot: Pilot, built: Built, name: str, retriever: Retriever) -> Result:
    """Another's search over the questions; a passage of it has the groups of its document, closed where unknown."""
    run = _asked(pilot, retriever)
    if run.questions and run.errors == len(run.questions):
        raise ModelError(f"{name}: no question was answered; the first: {run.answers[run.questions[0].id].reason}")
    may_open = {d.id: d.groups for d in built.documents.documents}
    groups: dict[str, frozenset[str]] = {}
    for hit in (hit for answer in run.answers.values() for hit in answer.hits):
        of_document = may_open.get(hit["doc"], frozenset())
        groups[hit["id"]] = groups.get(hit["id"], of_document) & of_document  # an id that stands for two documents
    return Result(pilot, run, replace(built, groups={**groups, **built.groups}), retriever)
