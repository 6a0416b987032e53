"""Retrievers over the same questions, nothing answered: keyword, dense and hybrid, and the searches of others.

What their results mean is known in `results`; how a search works is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from .analysis.measures import rank_of
from .analysis.shares import Share
from .analysis.weights import EQUAL, GRID, ChosenWeight, Paired, Ranks, choose_weight, paired
from .answering.answerer import NOT_FOUND
from .building import Built, Variant, embed_questions
from .errors import DataError, ModelError
from .evaluation import run_eval
from .hosted import HostedSearch
from .pilot import Pilot
from .records import Question
from .results import Result
from .retrieval.fusion import HOW, Fusion
from .retrieval.hybrid import HybridIndex, Retriever
from .runs import Run
from .settings import RetrievalTable, Settings

OURS = ("keyword", "dense", "hybrid")


def retrievers(
    pilot: Pilot, variant: Variant | None = None, others: Mapping[str, Retriever] | None = None
) -> dict[str, Result]:
    """Keyword, dense and hybrid retrieval over the same questions, nothing answered.

    Beside them the hosted search of pilot.toml where it names a store, and `others`: anything with
    `search(question, groups, k)` whose hits name our documents. ModelError where one of these answers no question.
    """
    variant = variant or pilot.baseline
    if not pilot.questions:
        raise DataError(f"{pilot.data / 'questions.jsonl'} holds no question to search: collect them in notebook 01")
    built = pilot.build(replace(variant, settings=variant.settings.changed({"retrieval.method": "hybrid"})))
    hosted, find = pilot.settings.hosted, variant.settings.retrieval
    asked: dict[str, Retriever] = {"hosted": HostedSearch(hosted)} if hosted.store else {}
    embed_questions(built.index, pilot.questions)
    ours = {name: built.index.using(name) for name in OURS}
    found = {name: Result(pilot, _asked(pilot, index, name, find), built, index) for name, index in ours.items()}
    return found | {
        name: _of_others(pilot, built, name, other, find) for name, other in {**asked, **(others or {})}.items()
    }


@dataclass(frozen=True)
class Weighing:
    """What fusing gains in one language (or all): hybrid against each list alone, and the weight that is chosen."""

    lang: str  # empty: all questions
    against: Mapping[str, Paired]  # list alone -> what hybrid as configured gains and loses
    hits: Mapping[str, Share]  # Hit@5 of keyword, dense and hybrid
    chosen: Mapping[str, ChosenWeight]  # way of fusing -> its weight
    not_compared: int = 0  # questions that ended in an error by one of the three


def weighings(pilot: Pilot, results: Mapping[str, Result], variant: Variant | None = None) -> list[Weighing]:
    """For all questions and for each language, what fusing gains, and how much the dense list should weigh.

    `results` are those of `retrievers`. Under thirty questions of a language no weight is chosen for it.
    """
    settings = (variant or pilot.baseline).settings
    ranks = {name: results[name].retrieval.ranks for name in OURS}
    index = results["hybrid"].built.index.using("hybrid", reranker=None)  # it is the lists that are weighed
    asked = [q for q in pilot.questions if q.id in ranks["hybrid"]]
    grids = {how: {w: _ranks(index.using(fusion=Fusion(how, w)), asked, settings) for w in GRID} for how in HOW}
    found = []
    for lang in ("", *sorted({q.lang for q in asked} - {""})):
        mine = {q.id for q in pilot.questions if lang in ("", q.lang)}
        own = {name: {i: rank for i, rank in ranks[name].items() if i in mine} for name in OURS}
        chosen = {
            how: choose_weight(
                {w: {i: r[i] for i in sorted(mine & r.keys())} for w, r in grid.items()}, settings.pilot.seed
            )
            for how, grid in grids.items()
        }
        hits = {
            name: Share(sum(rank is not None and rank <= 5 for rank in r.values()), len(r)) for name, r in own.items()
        }
        against = {name: _paired(own[name], own["hybrid"]) for name in ("keyword", "dense")}
        ended = set().union(*own.values())
        found.append(Weighing(lang, against, hits, chosen, len(ended) - min(p.n for p in against.values())))
    return found if len({q.lang for q in asked}) > 1 else found[:1]


@dataclass(frozen=True)
class Ablation:
    """What one setting does: the same questions with it turned; gained and lost are by turning it."""

    setting: str
    now: Any
    turned: Any
    result: Result
    first: Paired  # Hit@1
    five: Paired  # Hit@5
    not_compared: int = 0  # questions that ended in an error one way or the other


TIES = "ties"
"""Equal fused scores, decided by the keyword list instead of the similarity; no setting, it is shown only."""


def ablations(pilot: Pilot, variant: Variant | None = None) -> tuple[Result, list[Ablation]]:
    """Retrieval as configured, and with each setting turned that needs no other index, one at a time.

    What needs one (embedding, passages, titles) is a change of notebook 07. ModelError where one of these answers no
    question.
    """
    variant = variant or pilot.baseline
    settings = variant.settings
    built = pilot.build(variant)
    embed_questions(built.index, pilot.questions)
    base = Result(pilot, _asked(pilot, built.index, "as configured", settings.retrieval), built, built.index)
    found = []
    glossary = bool(pilot.glossary(replace(variant, settings=settings.changed({"retrieval.glossary": True}))))
    for name, to in _turned(settings, glossary).items():
        other = pilot.build(replace(variant, settings=settings.changed({name: to})))
        embed_questions(other.index, pilot.questions)
        result = Result(pilot, _asked(pilot, other.index, name, settings.retrieval), other, other.index)
        table, _, key = name.partition(".")
        found.append((name, getattr(getattr(settings, table), key), to, result))
    if settings.retrieval.method == "hybrid":
        views = [("retrieval.method", "hybrid", method, built.index.using(method)) for method in ("keyword", "dense")]
        views.append((TIES, "similarity", "keyword list", built.index.using(ties="keyword")))
        for name, now, to, index in views:
            run = _asked(pilot, index, f"{name} {to}", settings.retrieval)
            found.append((name, now, to, Result(pilot, run, built, index)))
    before = base.retrieval.ranks
    return base, [_ablation(row, before, row[-1].retrieval.ranks) for row in found]


def _ablation(row: tuple[str, Any, Any, Result], before: Ranks, after: Ranks) -> Ablation:
    first, five = (_paired(before, after, k) for k in (1, 5))
    return Ablation(*row, first, five, len(before.keys() | after.keys()) - five.n)


def _paired(before: Ranks, after: Ranks, k: int = 5) -> Paired:
    """Compare over the questions that came to an end both ways."""
    both = sorted(before.keys() & after.keys())
    return paired({i: before[i] for i in both}, {i: after[i] for i in both}, k)


def _turned(settings: Settings, glossary: bool) -> dict[str, Any]:
    """The settings that change what is found without another index: dotted name -> its other value."""
    find = settings.retrieval
    other: dict[str, Any] = {}
    if find.method == "hybrid":
        other["retrieval.fusion"] = "ranks" if find.fusion == "scores" else "scores"
        if find.dense_weight != EQUAL:
            other["retrieval.dense_weight"] = EQUAL
    if glossary:
        other["retrieval.glossary"] = not find.glossary
    if settings.rewrite.kind != "none":
        other["rewrite.kind"] = "none"
    if settings.rerank.kind != "none":
        other["rerank.kind"] = "none"
    elif find.rerank:
        other["retrieval.rerank"] = ""
    other["retrieval.per_text"] = 0 if find.per_text == 1 else 1
    other["retrieval.per_document"] = 0 if find.per_document else 1
    return other


def _ranks(index: HybridIndex, questions: Sequence[Question], settings: Settings) -> dict[str, int | None]:
    """The rank of the expected document among the first ten passages, None beyond."""
    table, found = settings.retrieval, {}
    for question in questions:
        hits = index.search(question.question, question.groups, 10, table.depth, table.rrf_k)
        found[question.id] = rank_of(question.docs, [hit.doc for hit in hits])
    return found


def _asked(pilot: Pilot, retriever: Retriever, name: str, table: RetrievalTable) -> Run:
    """A run in memory, asked as a run on disk would be, nothing answered: for measures of retrieval.

    ModelError where every question is an error.
    """
    how = {"depth": table.depth, "rrf_k": table.rrf_k}
    run = run_eval(
        pilot.questions,
        retriever,
        lambda _: NOT_FOUND,
        min_similarity=None,
        k=table.k,
        search=how if isinstance(retriever, HybridIndex) else None,
        info={"config": {"retrieval": {"k": table.k, **how}}},
    )
    if run.questions and run.errors == len(run.questions):
        raise ModelError(f"{name}: no question was answered; the first: {run.answers[run.questions[0].id].reason}")
    return run


def _of_others(pilot: Pilot, built: Built, name: str, retriever: Retriever, table: RetrievalTable) -> Result:
    """Another's search over the questions; a passage of it has the groups of its document, closed where unknown."""
    run = _asked(pilot, retriever, name, table)
    may_open = {d.id: d.groups for d in built.documents.documents}
    groups: dict[str, frozenset[str]] = {}
    for hit in (hit for answer in run.answers.values() for hit in answer.hits):
        of_document = may_open.get(hit["doc"], frozenset())
        groups[hit["id"]] = groups.get(hit["id"], of_document) & of_document  # an id that stands for two documents
    return Result(pilot, run, replace(built, groups={**groups, **built.groups}), retriever)
