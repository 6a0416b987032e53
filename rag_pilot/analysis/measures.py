"""What is counted over a run: retrieval, answers, leaks.

Every number carries what it was counted over and what is missing from it; nothing drops out silently. This module
does not know where runs are kept, nor which label counts (grades).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from ..records import LABELS, Answer, Question
from .grades import Graded
from .sample import DECLINES_IN_TEXT
from .shares import Mean, Share

# -- retrieval -------------------------------------------------------------------------------------------------------


def rank_of(accepted: AbstractSet[str], ranking: Sequence[str]) -> int | None:
    """The place (from 1) of the first passage of an accepted document in a list of document ids, as shown; or None."""
    return next((rank for rank, doc in enumerate(ranking, start=1) if doc in accepted), None)


def ndcg(accepted: AbstractSet[str], ranking: Sequence[str], k: int) -> float:
    """nDCG@k with binary relevance: the sum of 1/log2(1 + rank) of accepted documents, over that of a perfect ranking.

    Ranks are of documents: several passages of one count once, where the first stands (Jarvelin and Kekalainen, 2002).
    """
    found = [rank for rank, doc in enumerate(list(dict.fromkeys(ranking))[:k], start=1) if doc in accepted]
    ideal = range(1, min(len(accepted), k) + 1)
    return sum(1 / math.log2(1 + rank) for rank in found) / sum(1 / math.log2(1 + rank) for rank in ideal)


@dataclass(frozen=True)
class Retrieval:
    """How well one list of passages found the expected documents; `ranks` is by question, None where not found."""

    hit1: Share
    hit5: Share
    mrr: Mean
    recall5: Mean
    ndcg10: Mean
    ranks: Mapping[str, int | None]

    def hits(self, k: int) -> dict[str, bool]:
        """Whether the expected document stood among the first k, by question."""
        return {question_id: rank is not None and rank <= k for question_id, rank in self.ranks.items()}

    def reciprocal_ranks(self) -> dict[str, float]:
        """1/rank by question, 0 where the document was not found."""
        return {question_id: 1 / rank if rank else 0.0 for question_id, rank in self.ranks.items()}


def retrieval(
    questions: Iterable[Question], rankings: Mapping[str, Sequence[str]], may_open: Callable[[Question], bool]
) -> Retrieval:
    """Hit@1, Hit@5, MRR, recall@5 and nDCG@10 over answerable questions whose expected document the asker may open.

    `rankings` holds document ids, best first, one for each passage as shown. An empty ranking counts 0, a question
    without one is missing. Recall@5 is the mean share of all accepted documents (`doc` and `also`) among the first
    five.
    """
    ranks: dict[str, int | None] = {}
    recalls: list[float] = []
    gains: list[float] = []
    missing: Counter[str] = Counter()
    for question in questions:
        if not question.answerable:
            missing["unanswerable"] += 1
        elif not question.docs:
            missing["no reference document"] += 1
        elif not may_open(question):
            missing["not permitted"] += 1
        elif question.id not in rankings:
            missing["no ranking"] += 1
        else:
            ranking = rankings[question.id]
            ranks[question.id] = rank_of(question.docs, ranking)
            recalls.append(len(question.docs.intersection(ranking[:5])) / len(question.docs))
            gains.append(ndcg(question.docs, ranking, 10))
    found = [rank or math.inf for rank in ranks.values()]
    return Retrieval(
        hit1=Share(sum(rank <= 1 for rank in found), len(found), missing),
        hit5=Share(sum(rank <= 5 for rank in found), len(found), missing),
        mrr=Mean(tuple(1 / rank for rank in found), missing),
        recall5=Mean(tuple(recalls), missing),
        ndcg10=Mean(tuple(gains), missing),
        ranks=ranks,
    )


@dataclass(frozen=True)
class Leaks:
    """Questions for which a passage that the asker may not open reached a list; `passages` are its ids, by question."""

    share: Share
    passages: Mapping[str, tuple[str, ...]]


def leaks(
    questions: Iterable[Question], answers: Mapping[str, Answer], groups_of: Mapping[str, AbstractSet[str]]
) -> Leaks:
    """The leak rate over questions with a stored answer: every candidate list, and what the model was shown.

    A question that ended in an error kept no list: it is missing, and not free of leaks.
    `groups_of` maps passage ids to the groups that may open them; a passage that it lacks counts as forbidden.
    """
    found: dict[str, tuple[str, ...]] = {}
    n = 0
    missing: Counter[str] = Counter()
    for question in questions:
        answer = answers.get(question.id)
        if answer is None:
            missing["not answered"] += 1
            continue
        seen = {hit["id"] for hit in answer.hits}.union(*answer.lists.values())
        if answer.status == "error" and not seen:
            missing["error"] += 1
            continue
        n += 1
        if forbidden := {p for p in seen if question.groups.isdisjoint(groups_of.get(p, frozenset()))}:
            found[question.id] = tuple(sorted(forbidden))
    return Leaks(Share(len(found), n, dict(missing)), found)


# -- answers ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FourWay:
    """Answered or declined, by whether the documents can answer; errors and texts that may be declines stand apart."""

    answerable: Mapping[str, int]  # answered | declined | error | not answered -> questions
    unanswerable: Mapping[str, int]
    flagged: int  # of those answered: texts that decline in their own words, or hold the mark inside a longer text

    @property
    def answered(self) -> Share:
        """Answerable questions that were answered."""
        return _of_two(self.answerable, "answered")

    @property
    def rightly_declined(self) -> Share:
        """Unanswerable questions that were declined."""
        return _of_two(self.unanswerable, "declined")


def _of_two(row: Mapping[str, int], name: str) -> Share:
    missing = {reason: row[reason] for reason in ("error", "not answered") if row[reason]}
    return Share(row[name], row["answered"] + row["declined"], missing)


def four_way(questions: Iterable[Question], answers: Mapping[str, Answer]) -> FourWay:
    """The table of answered and declined against answerable and unanswerable."""
    rows: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
    flagged = 0
    for question in questions:
        answer = answers.get(question.id)
        status = answer.status if answer else "not answered"
        rows[question.answerable][status] += 1
        flagged += answer is not None and status == "answered" and not DECLINES_IN_TEXT.isdisjoint(answer.flags)
    return FourWay(rows[True], rows[False], flagged)


def label_shares(graded: Mapping[str, Graded]) -> dict[str, Share]:
    """The share of each label and of errors. A failed call stays in the denominator: failing must not raise a score."""
    counts = Counter("error" if g.by == "error" else g.label for g in graded.values())
    missing = {"not graded": counts[None]} if counts[None] else {}
    n = len(graded) - counts[None]
    return {name: Share(counts[name], n, missing) for name in (*LABELS, "error")}
