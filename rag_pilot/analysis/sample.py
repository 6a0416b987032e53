"""Which answers a person reads, and in which order: decided by a seed before any answer is seen.

Every prefix of the order is close to proportional in category and language, so its labelled answers are a random sample
of those that need a person. This module knows no judge and computes no score.
"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..errors import DataError
from ..records import Answer, Question

DECLINES_IN_TEXT = frozenset({"own_words", "mixed"})
"""Flags of an answered text that may be a decline: only a person can tell."""


def seeded_order(questions: Iterable[Question], seed: int) -> list[str]:
    """All question ids in a random order, interleaved by category and, within each, by language.

    A category's count in any prefix stays within about one question of its share. The order depends on the seed and on
    the questions, not on how they were listed. Source: systematic sampling with random starts.
    """
    cells: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for question in questions:
        cells[question.category][question.lang].append(question.id)
    ids = [i for languages in cells.values() for cell in languages.values() for i in cell]
    if len(set(ids)) < len(ids):
        raise DataError(f"question id {next(i for i in ids if ids.count(i) > 1)!r} stands twice; make the ids unique")
    rng = random.Random(seed)
    categories = []
    for _, languages in sorted(cells.items()):
        shuffled = [rng.sample(sorted(cell), len(cell)) for _, cell in sorted(languages.items())]
        categories.append(_interleave(shuffled, rng))
    return _interleave(categories, rng)


def _interleave(parts: Sequence[Sequence[str]], rng: random.Random) -> list[str]:
    """Merge sequences so that each is spread evenly over the whole, from a random start."""
    keyed = []
    for part in parts:
        start = rng.random()
        keyed += [((place + start) / len(part), item) for place, item in enumerate(part)]
    return [item for _, item in sorted(keyed)]


def needs_person(question: Question, answer: Answer) -> bool:
    """Whether no rule can label the answer: answered and answerable, or a text that may itself be a decline."""
    return answer.status == "answered" and (question.answerable or not DECLINES_IN_TEXT.isdisjoint(answer.flags))


def first_that_need_a_person(
    order: Sequence[str], questions: Iterable[Question], answers: Mapping[str, Answer], n: int = 50
) -> list[str]:
    """The first `n` questions of the order whose answer needs a person, in order; fewer where there are fewer."""
    needs = _needs(questions, answers)
    return [question_id for question_id in order if needs(question_id)][:n]


@dataclass(frozen=True)
class Sample:
    """How far the expert has read down the order.

    `read` are the labelled questions that form a random sample, `waiting` the question that ends it, `beyond` labelled
    questions after it: they wait for it.
    """

    read: tuple[str, ...]
    waiting: str | None
    beyond: tuple[str, ...]


def read_so_far(
    order: Sequence[str], questions: Iterable[Question], answers: Mapping[str, Answer], labelled: Container[str]
) -> Sample:
    """The random sample that the labels form: the answers that need a person, in order, up to the first unread one.

    Labels further down (of answers that a comparison asked for, or unchanged since an earlier run) are no random
    sample.
    """
    needs = _needs(questions, answers)
    wanted = [question_id for question_id in order if needs(question_id)]
    end = next((place for place, question_id in enumerate(wanted) if question_id not in labelled), len(wanted))
    read, waiting = tuple(wanted[:end]), wanted[end] if end < len(wanted) else None
    return Sample(read, waiting, tuple(q for q in wanted[end:] if q in labelled))


def up_to_read(order: Sequence[str], sample: Sample, n: int) -> Sequence[str]:
    """The order up to the `n`-th answer that was read, or the last one where fewer are; also what rules label there.

    All of it where fewer than `n` need a person and each of them is read.
    """
    if sample.waiting is None and len(sample.read) < n:
        return order
    return order[: order.index(sample.read[:n][-1]) + 1] if sample.read else ()


def _needs(questions: Iterable[Question], answers: Mapping[str, Answer]) -> Callable[[str], bool]:
    """A test for ids of the order; a question that is not in the set, or not yet answered, is an error."""
    known = {question.id: question for question in questions}

    def needs(question_id: str) -> bool:
        if question_id not in known:
            raise DataError(
                f"the order names question {question_id!r}, which the set does not hold; put it back, "
                "or write a new order before any answer is seen"
            )
        if question_id not in answers:
            raise DataError(f"question {question_id!r} has no answer yet; resume the run before answers are read")
        return needs_person(known[question_id], answers[question_id])

    return needs
