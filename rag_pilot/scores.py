"""Faithfulness, answer relevance and context precision of a run, each with its denominator and what is missing from it.

No acceptance criterion, headline or decision reads them. Faithfulness was held against people (benchmarks/judge.py),
the other two were not. Computed from a run's records and the passages as they stand now: one that is gone, or that its
asker may not open any more, is not read. How a claim is checked is known in `grading/`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from contextlib import closing
from dataclasses import dataclass

from .analysis.shares import Mean
from .answering.answerer import LLM
from .errors import ModelError, RunStoppedError
from .grading.faithfulness import Checked, claims_of, faithfulness
from .grading.unvalidated import answer_relevance, context_precision
from .pool import finished
from .progress import progress
from .records import Answer, Hit, Passage, Question
from .runs import Run

FAITHFULNESS, RELEVANCE, CONTEXT_PRECISION = NAMES = ("faithfulness", "answer relevance", "context precision")
VALIDATED = frozenset({FAITHFULNESS})
DECLINED, ERROR, UNANSWERABLE = "declined", "error", "cannot be answered"
GONE, FAILED = "a passage is gone or closed to its asker", "the call failed"


@dataclass(frozen=True)
class Score:
    """One score of a run by question; `by` is offline or model."""

    name: str
    checked: Mapping[str, Checked]
    by: str

    @property
    def validated(self) -> bool:
        """Whether it was held against people's judgement."""
        return self.name in VALIDATED

    @property
    def held(self) -> int:
        """Claims, or passages, that hold."""
        return sum(sum(c.held) for c in self.checked.values())

    @property
    def of(self) -> int:
        """All claims, or passages, that were checked."""
        return sum(len(c.held) for c in self.checked.values())

    @property
    def mean(self) -> Mean:
        """The mean over the questions that have a value, and how many have none, by reason."""
        missing = Counter(c.why for c in self.checked.values() if c.value is None)
        return Mean(tuple(c.value for c in self.checked.values() if c.value is not None), missing)


def scores(
    run: Run,
    passages: Mapping[str, Passage],
    groups: Mapping[str, AbstractSet[str]],
    llm: LLM | None = None,
    threads: int = 1,
) -> tuple[Score, ...]:
    """The scores of NAMES over all questions of a run, offline or by a model that `threads` ask at once.

    `groups` maps passage ids to who may open them now. A decline has neither faithfulness nor relevance, an error
    nothing, and what cannot be answered no context precision.
    """

    def of(one: tuple[str, Question]) -> tuple[tuple[str, str], Checked]:
        name, question = one
        return (name, question.id), _of(name, question, run.answers[question.id], passages, groups, llm)

    todo = [(name, question) for question in run.questions for name in NAMES]  # one at a time, so that a stop is soon
    with closing(finished(of, todo, threads, llm)) as checking:
        found = dict(progress(checking, "scores", len(todo)))
    by = "model" if llm else "offline"
    return tuple(Score(name, {q.id: found[name, q.id] for q in run.questions}, by) for name in NAMES)


def _of(
    name: str,
    question: Question,
    answer: Answer,
    passages: Mapping[str, Passage],
    groups: Mapping[str, AbstractSet[str]],
    llm: LLM | None,
) -> Checked:
    if answer.status == "error":
        return Checked(why=ERROR)
    shown = [str(hit["id"]) for hit in answer.hits]
    closed = any(i not in passages or question.groups.isdisjoint(groups.get(i, frozenset())) for i in shown)
    gone, hits = Checked(why=GONE) if closed else None, [Hit(passages[i]) for i in shown if not closed]
    claims = claims_of(answer.text or "")
    if name == CONTEXT_PRECISION:
        if not question.answerable:
            return Checked(why=UNANSWERABLE)
        return gone or _tried(lambda: context_precision(question.question, question.expected, hits, llm))
    if answer.status != "answered":
        return Checked(why=DECLINED)
    if name == RELEVANCE:
        return gone or _tried(lambda: answer_relevance(question.question, claims, llm))
    return gone or _tried(lambda: faithfulness(question.question, claims, hits, llm))


def _tried(check: Callable[[], Checked]) -> Checked:
    """What a check says; a call that fails is that one value's, the end of all calls everybody's."""
    try:
        return check()
    except RunStoppedError:
        raise
    except ModelError:
        return Checked(why=FAILED)
