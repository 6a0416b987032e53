"""Faithfulness, answer relevance and context precision of a run, each with its denominator and what is missing from it.

No acceptance criterion, headline or decision reads them. Faithfulness was held against people (benchmarks/judge.py),
the other two were not. Computed from a run's records and the passages as they stand now: one that is gone, or that its
asker may not open any more, is not read. How a claim is checked is known in `grading/`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from .analysis.shares import Mean
from .answering.answerer import LLM
from .errors import ModelError, RunStoppedError
from .grading.faithfulness import Checked, claims_of, faithfulness
from .grading.unvalidated import answer_relevance, context_precision
from .progress import progress
from .records import Answer, Hit, Passage, Question
from .runs import Run

NAMES = ("faithfulness", "answer relevance", "context precision")
VALIDATED = frozenset(NAMES[:1])
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

    def of(question: Question) -> tuple[Checked, ...]:
        return _of(question, run.answers[question.id], passages, groups, llm)

    with ThreadPoolExecutor(threads) as pool:
        try:
            done = pool.map(of, run.questions) if llm else map(of, run.questions)
            rows = list(progress(done, "scores", len(run.questions)))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            getattr(llm, "halt", bool)()
            raise
    by = "model" if llm else "offline"
    return tuple(
        Score(name, {q.id: row[n] for q, row in zip(run.questions, rows, strict=True)}, by)
        for n, name in enumerate(NAMES)
    )


def _of(
    question: Question,
    answer: Answer,
    passages: Mapping[str, Passage],
    groups: Mapping[str, AbstractSet[str]],
    llm: LLM | None,
) -> tuple[Checked, ...]:
    if answer.status == "error":
        return (Checked(why=ERROR),) * 3
    shown = [str(hit["id"]) for hit in answer.hits]
    closed = any(i not in passages or question.groups.isdisjoint(groups.get(i, frozenset())) for i in shown)
    gone, hits = Checked(why=GONE) if closed else None, [Hit(passages[i]) for i in shown if not closed]
    claims = claims_of(answer.text or "")
    answered, answerable = answer.status == "answered", question.answerable
    return (
        _tried(lambda: gone or faithfulness(question.question, claims, hits, llm), DECLINED, answered),
        _tried(lambda: gone or answer_relevance(question.question, claims, llm), DECLINED, answered),
        _tried(
            lambda: gone or context_precision(question.question, question.expected, hits, llm), UNANSWERABLE, answerable
        ),
    )


def _tried(check: Callable[[], Checked], otherwise: str, applies: bool) -> Checked:
    """What a check says where it applies; a call that fails is that one value's, the end of all calls everybody's."""
    if not applies:
        return Checked(why=otherwise)
    try:
        return check()
    except RunStoppedError:
        raise
    except ModelError:
        return Checked(why=FAILED)
