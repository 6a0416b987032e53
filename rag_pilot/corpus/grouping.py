"""Questions that ask the same, brought together for the people who choose 150 to 300 out of thousands.

Leader clustering: the questions in the order of how often they were asked, each joins the most similar leading question
that is similar enough, else leads a group of its own. So whoever reads a leading question has read what every member is
close to. Two texts with other numbers, codes or acronyms never ask the same, however alike they look. A group is a
proposal: it does not know what the questions mean, nor which model made the vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..identity import fold
from ..records import Question
from .facts import numbers_and_codes
from .questions import QuestionSet

DECIMALS = 4
"""Similarities are rounded before they are compared, so that two processors make the same groups."""


@dataclass(frozen=True)
class Group:
    """Places of questions that ask the same, the leading one first; `asked` is how often they were asked together."""

    members: tuple[int, ...]
    asked: int


@dataclass(frozen=True)
class Groups:
    """Questions with their groups, those asked most first; `how` says by what they were compared."""

    questions: tuple[Question, ...]
    groups: tuple[Group, ...] = ()
    how: str = ""
    chosen: frozenset[str] = frozenset()  # ids of questions that are decided already


def group_questions(
    known: QuestionSet, embed: Callable[[list[str]], NDArray[np.floating[Any]]] | None, model: str, alike: float = 1.0
) -> Groups:
    """Decided and undecided questions in groups; no group where none is undecided.

    `embed` gives unit vectors and `model` names it; where it is None the letters alone are compared, and `model` says
    why.
    """
    if not known.undecided:
        return Groups(())
    questions = (*known, *known.undecided)
    texts, asked = [q.question for q in questions], [q.asked for q in questions]
    if embed is None:
        found = group_alike(texts, asked)
        how = f"Compared by their letters alone, so only the same words are brought together: {model}."
    else:
        found = group_alike(texts, asked, embed(texts), alike)
        how = f"Compared by {model}, from a cosine of {alike:g}; other numbers, codes or acronyms part them."
    return Groups(questions, found, how, frozenset(q.id for q in known))


def group_alike(
    texts: Sequence[str], asked: Sequence[int], vectors: NDArray[np.floating[Any]] | None = None, threshold: float = 1.0
) -> tuple[Group, ...]:
    """Group texts by unit vectors (one row a text) at a cosine of at least `threshold`; without vectors by letters.

    Texts of the same letters and digits always belong together. Groups stand by how often they were asked.
    """
    n = len(texts)
    if len(asked) != n or vectors is not None and (len(vectors) != n or not np.isfinite(vectors).all()):
        raise DataError(f"{n} texts need {n} counts, and {n} vectors of finite numbers where there are any")
    by_letters: dict[str, int] = {}
    members: list[list[int]] = []
    leaders = np.zeros_like(vectors) if vectors is not None else np.zeros((n, 0))
    told = [_Told.of(text) for text in texts]
    for i in sorted(range(n), key=lambda i: (-asked[i], len(texts[i]), texts[i], i)):
        home = by_letters.get(told[i].letters)
        if home is None and vectors is not None:
            alike = np.round(leaders[: len(members)] @ vectors[i], DECIMALS)
            near = np.flatnonzero(alike >= threshold)
            nearest = near[np.argsort(-alike[near], kind="stable")]
            home = next((int(g) for g in nearest if told[members[g][0]].may_be_asked_by(told[i])), None)
        if home is None:
            home = len(members)
            leaders[home] = vectors[i] if vectors is not None else 0
            members.append([])
        members[home].append(i)
        by_letters.setdefault(told[i].letters, home)
    groups = [Group(tuple(group), sum(asked[i] for i in group)) for group in members]
    return tuple(sorted(groups, key=lambda group: -group.asked))


@dataclass(frozen=True)
class _Told:
    """What of a text must agree before two can ask the same."""

    letters: str
    numbers: frozenset[str]
    acronyms: frozenset[str]
    words: frozenset[str]

    @classmethod
    def of(cls, text: str) -> _Told:
        words = re.findall(r"[^\W\d_]+", text)
        capitals = frozenset(w.casefold() for w in words if w.isupper() and len(w) > 1)
        shouted = 2 * len(capitals) > len(words)
        return cls(
            re.sub(r"[\W_]", "", fold(text)) or fold(text),
            frozenset(numbers_and_codes(text)),
            frozenset() if shouted else capitals,
            frozenset(w.casefold() for w in words),
        )

    def may_be_asked_by(self, other: _Told) -> bool:
        return self.numbers == other.numbers and self.acronyms <= other.words and other.acronyms <= self.words
