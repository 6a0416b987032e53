"""Below which similarity should the system decline? Swept over stored answers, so that no call is needed.

The rule is fixed beforehand: the exact one-sided 95 % bound of the wrong rate must stay under the agreed limit; among
such thresholds the one with most correct answers is taken. Nested cross-validation says whether that is worth anything
on questions that did not choose it. This module never sees a fused score: only a similarity of question and passage
can be compared with a threshold.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import special

from ..errors import DataError
from ..records import Answer, Question
from ..said import Said
from .grades import Graded
from .intervals import CONFIDENCE, upper_bound

WRONG_COSTS = 2.0
"""How many right answers one wrong answer weighs when the gain over always answering is computed."""


@dataclass(frozen=True)
class Scored:
    """One stored answer: its best similarity (None: no hit has one), and how it counts without a threshold."""

    question_id: str
    score: float | None
    answerable: bool
    answered: bool
    label: str


def scored_answers(
    questions: Iterable[Question], answers: Mapping[str, Answer], graded: Mapping[str, Graded]
) -> tuple[list[Scored], int]:
    """The answers that have a label, as the sweep takes them, and how many questions have none."""
    asked = list(questions)
    rows = []
    for q in asked:
        settled = graded.get(q.id)
        if settled is not None and settled.label is not None:
            answer = answers[q.id]
            rows.append(Scored(q.id, answer.similarity, q.answerable, answer.status == "answered", settled.label))
    return rows, len(asked) - len(rows)


@dataclass(frozen=True)
class Point:
    """What a threshold does: answers under it are declined; None declines none ("always answer")."""

    threshold: float | None
    n: int
    answered: int
    correct: int
    wrong: int

    @property
    def declined(self) -> int:
        """How many are declined, rightly or not."""
        return self.n - self.answered

    @property
    def coverage(self) -> float:
        """The share of questions answered."""
        return self.answered / self.n

    @property
    def risk(self) -> float | None:
        """The share of wrong ones among those answered; None where none is."""
        return self.wrong / self.answered if self.answered else None


@dataclass(frozen=True)
class Sweep:
    """The curve, the threshold that the rule takes on all questions, and what cross-validation says of it.

    `chosen` is None where there is no useful threshold; `candidate` is what the rule takes, useful or not. `held_out`
    counts each question under the threshold that the other folds choose; `unlabelled` questions are in no count.
    """

    points: tuple[Point, ...]
    always: Point | None
    candidate: Point | None
    chosen: float | None
    held_out: Point | None  # of many thresholds, so of none
    wrong_bound: float | None  # one-sided 95 %, of the wrong rate among `held_out`
    gain_bound: float | None  # one-sided 95 %, in right answers a question: the smaller of the two gains, see `sweep`
    answered_range: tuple[float, float] | None  # over the folds' choices, on all questions
    without_score: int
    unlabelled: int  # questions without a label
    judged: int  # labels of the admitted judge
    words: str
    said: tuple[Said, ...] = field(default=(), compare=False)  # the sentences of `words`, one by one


class _Table:
    """The outcome of every question answered and declined, as arrays."""

    def __init__(self, rows: Sequence[Scored]) -> None:
        self.score = np.array([math.inf if r.score is None else r.score for r in rows], dtype=float)
        self.answered = np.array([r.answered for r in rows], dtype=bool)
        self.correct = np.array([r.label == "correct" for r in rows], dtype=bool)
        self.wrong = np.array([r.label == "wrong" for r in rows], dtype=bool)
        self.unanswerable = np.array([not r.answerable for r in rows], dtype=bool)

    def counts(self, thresholds: np.ndarray, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Answered, correct and wrong among `rows` at each threshold, by brute force."""
        keep = self.score[rows][None, :] >= thresholds[:, None]
        correct = np.where(keep, self.correct[rows], self.unanswerable[rows])
        return (keep & self.answered[rows]).sum(1), correct.sum(1), (keep & self.wrong[rows]).sum(1)

    def choose(self, rows: np.ndarray, limit: float) -> float | None:
        """The rule: bound of the wrong rate at most `limit`, then most correct, then fewest wrong, then the lowest."""
        thresholds = _thresholds(self.score[rows])
        _, correct, wrong = self.counts(thresholds, rows)
        fits = special.betaincinv(wrong + 1.0, np.maximum(len(rows) - wrong, 1e-9), CONFIDENCE) <= limit
        if not fits.any():
            return None
        best = np.lexsort((thresholds, wrong, -correct, ~fits))[0]
        return float(thresholds[best])


def _thresholds(scores: np.ndarray) -> np.ndarray:
    """Always answer, each observed score, and one above all of them."""
    seen = np.unique(scores[np.isfinite(scores)])
    return np.concatenate([[-math.inf], seen, seen[-1:] + 1e-4])


def sweep(
    rows: Iterable[Scored], wrong_limit: float, seed: int, folds: int = 10, *, unlabelled: int = 0, judged: int = 0
) -> Sweep:
    """Sweep the threshold over all observed scores; `wrong_limit` is the agreed share of wrong among all questions.

    The gains over always answering and over always declining (a right answer 1, a wrong one -2) are paired by question,
    over seeded folds that hold both kinds of questions; only if the one-sided 95 % bounds of both are above 0 is the
    threshold useful: a system that declines nearly everything helps nobody. An answer without a similarity is never
    declined. Neither ids nor the order of the rows change anything. `unlabelled` questions and `judged` labels are
    told.
    """
    rows = sorted(rows, key=_content)
    if not 0 < wrong_limit < 1:
        raise DataError(f"a limit of {wrong_limit} for the wrong rate; expected a share between 0 and 1")
    if unfit := [r for r in rows if r.score is not None and not math.isfinite(r.score)]:
        raise DataError(f"question {unfit[0].question_id!r}: similarity {unfit[0].score}; expected a number or none")
    table, n = _Table(rows), len(rows)
    unanswerable = int(table.unanswerable.sum())
    without = sum(r.score is None for r in rows)
    told = _told(without if without < n else 0, unlabelled, judged)

    def none(why: Said, points: tuple[Point, ...] = (), candidate: Point | None = None) -> Sweep:
        always, said = points[0] if points else None, (why, *told)
        counts = (without, unlabelled, judged)
        return Sweep(points, always, candidate, None, None, None, None, None, *counts, " ".join(said), said)

    smaller = min(unanswerable, n - unanswerable)
    if smaller < 2 or without == n:
        key, lacks = (
            ("no_similarity", "no answer has a similarity")
            if smaller >= 2
            else ("too_few_of_a_kind", "it needs at least 2 labelled ones of both kinds")
        )
        have = n - unanswerable
        words = f"No threshold can be tuned: {lacks}; have {have} answerable, {unanswerable} unanswerable."
        return none(Said(key, words, have=have, none=unanswerable))
    everything, thresholds = np.arange(n), _thresholds(table.score)
    points = tuple(
        Point(float(t) if math.isfinite(t) else None, n, int(a), int(c), int(w))
        for t, a, c, w in zip(thresholds, *table.counts(thresholds, everything), strict=True)
    )
    candidate_at = table.choose(everything, wrong_limit)
    candidate = next((p for p, t in zip(points, thresholds, strict=True) if t == candidate_at), None)
    fold_of = _folds(table.unanswerable, min(folds, smaller), seed)
    choices = [table.choose(everything[fold_of != k], wrong_limit) for k in range(fold_of.max() + 1)]
    if candidate is None or None in choices:
        words = (
            f"No useful threshold: with {n} questions even declining everything does not show a wrong rate of at most "
            f"{100 * wrong_limit:g} %."
        )
        return none(Said("limit_out_of_reach", words, n=n, limit=wrong_limit), points, candidate)
    chosen = np.array([c for c in choices if c is not None])
    keep = table.score >= chosen[fold_of]
    wrong, correct = keep & table.wrong, np.where(keep, table.correct, table.unanswerable)
    worth = correct * 1.0 - WRONG_COSTS * wrong
    gain_bound = min(
        _lower_bound(worth - (table.correct * 1.0 - WRONG_COSTS * table.wrong)),
        _lower_bound(worth - table.unanswerable),
    )
    shares = table.counts(chosen, everything)[0] / n
    held_out = Point(None, n, int((keep & table.answered).sum()), int(correct.sum()), int(wrong.sum()))
    wrong_bound = upper_bound(held_out.wrong, n)
    spread = (float(shares.min()), float(shares.max()))
    useful = gain_bound > 0 and candidate.threshold is not None
    said = (_words(useful, candidate, points[0], held_out, wrong_bound, spread), *told)
    return Sweep(
        points,
        points[0],
        candidate,
        candidate.threshold if useful else None,
        held_out,
        wrong_bound,
        gain_bound,
        spread,
        without,
        unlabelled,
        judged,
        " ".join(said),
        said,
    )


def not_begun(found: Sweep, first: str, changed: bool, later: int) -> Sweep:
    """The sweep of nothing, with its cause: the `first` answer of the order waits, and with it `later` labels."""
    why = "it has changed since it was read" if changed else "nobody has read it"
    waiting = f", and {later} label{'s' * (later > 1)} further down the order wait for it" if later else ""
    words = (
        "No threshold can be tuned yet: it is taken from the answers of the order up to the last one read, and "
        f"the first of them, to question {first}, waits to be read: {why}{waiting}."
    )
    key = ("first_changed" if changed else "first_unread") + "_waiting" * bool(later)
    said = Said(key, words, question=first, **({"n": later} if later else {}))
    return replace(found, words=words, said=(said,))


def _content(row: Scored) -> tuple[Any, ...]:
    """All of a row but its id: rows that agree in it can change places without changing a result."""
    return row.score is not None, row.score or 0.0, row.answerable, row.answered, row.label


def _lower_bound(gain: np.ndarray) -> float:
    """Student's one-sided 95 % lower bound of a mean."""
    return float(gain.mean() - special.stdtrit(len(gain) - 1, CONFIDENCE) * gain.std(ddof=1) / math.sqrt(len(gain)))


def _folds(unanswerable: np.ndarray, folds: int, seed: int) -> np.ndarray:
    """A fold number for each question, both kinds spread evenly."""
    rng, fold_of = np.random.default_rng(seed), np.zeros(len(unanswerable), dtype=int)
    for kind in (True, False):
        members = rng.permutation(np.flatnonzero(unanswerable == kind))
        fold_of[members] = np.arange(len(members)) % folds
    return fold_of


def _words(
    useful: bool, candidate: Point, always: Point, held_out: Point, bound: float | None, spread: tuple[float, float]
) -> Said:
    if candidate.threshold is None:
        return Said("no_threshold_needed", "No threshold is needed: always answering keeps the limit.")
    seen = (
        f"Under {candidate.threshold:.4f} decline: on questions that did not choose it {held_out.wrong} of "
        f"{held_out.n} wrong (at most {100 * (bound or 0):.1f} %), {always.wrong} when always answering; between "
        f"{100 * spread[0]:.0f} and {100 * spread[1]:.0f} % answered, depending on the questions."
    )
    low, high = spread
    what = {"threshold": candidate.threshold, "wrong": held_out.wrong, "n": held_out.n, "bound": bound or 0.0}
    told = Said("declining_under", seen, **what, always=always.wrong, low=100 * low, high=high)
    if useful:
        return told
    none = f"No useful threshold: no gain over both always answering and always declining is shown. {seen}"
    return Said("no_gain", none, seen=told)


def _told(without: int, unlabelled: int, judged: int) -> tuple[Said, ...]:
    """What is missing from the counts, or was not said by rule or expert."""
    rows = (
        Said("told_without", f"Without a similarity, and never declined by it: {without}.", n=without),
        Said("told_unlabelled", f"Without a label, and not counted: {unlabelled}.", n=unlabelled),
        Said("told_judged", f"Labels by the admitted judge: {judged}.", n=judged),
    )
    return tuple(said for said in rows if said.values["n"])
