"""The acceptance criteria of pilot.toml: what they are, what questions can show of them, how often they are held.

How a run does against them is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable

from .analysis.acceptance import Criterion, can_show
from .records import Question
from .settings import Settings


def criteria(settings: Settings) -> list[Criterion]:
    """The acceptance criteria of pilot.toml."""
    return [
        Criterion(
            c.name,
            c.measure,
            "at_most" if c.at_most is not None else "at_least",
            c.at_most if c.at_most is not None else c.at_least or 0.0,
            c.of,
        )
        for c in settings.acceptance
    ]


def what_can_be_shown(settings: Settings, questions: Iterable[Question]) -> list[str]:
    """What so many questions (200 while there are none) can show of each criterion, printed when it is locked."""
    asked, looks = [q for q in questions if not q.adopted], verdicts_planned(settings)
    if not asked:
        assumed = "There are no questions yet: what follows assumes 200 of them."
        return [assumed, *(can_show(c, 200, looks).words for c in criteria(settings))]
    answerable = sum(q.answerable for q in asked)
    return [can_show(c, answerable if c.measure == "hit5" else len(asked), looks).words for c in criteria(settings)]


def verdicts_planned(settings: Settings) -> int:
    """How often each criterion may be judged: twice where an extension of the question set was planned."""
    return 2 if settings.pilot.extension_planned else 1
