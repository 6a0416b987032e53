"""Two runs of a pilot side by side, question by question: outcomes that the comparisons of `analysis` take.

A question that the documents answer is compared wherever its asker may open the document in one of the runs: where it
is not there, or closed, nothing was found. What ended in an error is not measured, which is no miss. Which change made
the runs differ is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .analysis.comparison import Comparison, MeanDifference, compare, compare_means
from .analysis.grades import judge_label, rule_label
from .records import Question
from .results import Result

Outcomes = Mapping[str, bool | None]


def unchanged(before: Result, after: Result) -> set[str]:
    """The questions that both runs answer with the same text, or decline."""
    pairs = ((i, a, after.run.answers.get(i)) for i, a in before.run.answers.items())
    return {i for i, one, two in pairs if two is not None and (one.status, one.sha) == (two.status, two.sha)}


def failed(before: Result, after: Result) -> dict[str, bool]:
    """The questions that one of the runs could not answer -> whether it never will (filtered or truncated twice)."""
    found: dict[str, bool] = {}
    for answer in (a for side in (before, after) for a in side.run.answers.values() if a.status == "error"):
        found[answer.question_id] = found.get(answer.question_id, False) or answer.final
    return found


def compared(before: Result, after: Result) -> set[str]:
    """The questions whose place of the right document is compared."""
    sides = (before, after)
    return {q.id for side in sides for q in side.questions if q.answerable and q.docs and side.may_open(q)}


def adopted_in_both(before: Result, after: Result, measure: str) -> int:
    """How many of the questions that a measure compares in both runs joined because they had failed in use.

    They are compared as all are: the exact test holds for any fixed set, and a change is measured on what prompted it.
    """
    asked = compared(before, after) if measure == "hit5" else after.by_id.keys()
    return sum(q.adopted and q.id in asked and q.id in after.by_id for q in before.questions)


def places(before: Result, after: Result) -> tuple[dict[str, int | None], dict[str, int | None]]:
    """The place of the right document by question, None where it is not shown; without those that failed."""
    asked, lost = compared(before, after), failed(before, after)

    def side(result: Result) -> dict[str, int | None]:
        return {i: result.ranks.get(i) for i in result.run.answers if i in asked and i not in lost}

    return side(before), side(after)


def hits(before: Result, after: Result, k: int) -> tuple[Outcomes, Outcomes]:
    """Whether a right document stood among the first k, by question; None where the call failed."""
    asked, found = compared(before, after), places(before, after)

    def side(result: Result, ranks: Mapping[str, int | None]) -> Outcomes:
        return {i: (ranks[i] or k + 1) <= k if i in ranks else None for i in result.run.answers if i in asked}

    return side(before, found[0]), side(after, found[1])


@dataclass(frozen=True)
class RetrievalChange:
    """What became of retrieval between two runs, over the questions that both hold: shown, never decided on."""

    hit1: Comparison
    hit5: Comparison
    mrr: MeanDifference


def retrieval_change(before: Result, after: Result, at_level: float) -> RetrievalChange:
    """Hit@1 and Hit@5 by the exact test, MRR by the mean difference with its interval where that can be relied on."""
    lost = failed(before, after)
    one, five = (compare(*hits(before, after, k), at_level, f"Hit@{k}", failed=lost, common_only=True) for k in (1, 5))
    sides = places(before, after)
    both = sides[0].keys() & sides[1].keys()
    first, second = ({i: 1 / rank if (rank := side[i]) else 0.0 for i in both} for side in sides)
    return RetrievalChange(one, five, compare_means(first, second))


@dataclass(frozen=True)
class Flips:
    """How many of n questions came out differently when the same system was asked twice.

    An upper limit where `ungraded` is not 0: so many of the flips are texts that changed and that nobody graded.
    """

    flips: int
    n: int
    ungraded: int = 0
    failed: int = 0  # questions that one of the two could not answer, in neither number


def flips(once: Result, twice: Result) -> Flips:
    """What a model's answers vary by themselves, by rule and by the judge, whom here no gate need admit.

    The judge's own errors only add to it: its labels decide nothing here. The same text is no difference.
    """
    same, lost = unchanged(once, twice), failed(once, twice)
    asked = [q for q in once.questions if q.id in twice.run.answers and q.id not in lost]
    sides = [{q.id: _graded_alone(q, r) for q in asked} for r in (once, twice)]
    changed = [q.id for q in asked if q.id not in same]
    ungraded = [i for i in changed if None in (sides[0][i], sides[1][i])]
    differ = [i for i in changed if i in ungraded or sides[0][i] != sides[1][i]]
    return Flips(len(differ), len(asked), len(ungraded), len(lost))


def _graded_alone(question: Question, result: Result) -> bool | None:
    answer = result.run.answers[question.id]
    label = rule_label(question, answer) or judge_label(answer, result.verdicts.get(question.id))
    return label == "correct" if label else None


def correct(result: Result) -> Outcomes:
    """Right or not by rule or expert; None where neither has spoken."""
    return {i: g.label == "correct" if g.by in ("rule", "expert") else None for i, g in result.graded.items()}


def judged(result: Result) -> dict[str, bool]:
    """Right or not by the judge, where it has labelled this very text."""
    labels = {i: judge_label(a, result.verdicts.get(i)) for i, a in result.run.answers.items()}
    return {i: label == "correct" for i, label in labels.items() if label}
