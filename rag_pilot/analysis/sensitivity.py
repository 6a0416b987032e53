"""The smallest gain that a question set can show, said before anything is changed.

It knows how many questions there are and how many changes are planned, no answers.
"""

from __future__ import annotations

from ..corpus.checks import Finding
from .comparison import BROKEN_EXPECTED, TOTAL_LEVEL, detectable


def can_detect(answerable: int, changes_planned: int) -> Finding:
    """The smallest gain that so many questions show four times in five, at the level of the first planned change.

    By the exact power of McNemar's test (see `comparison.detectable`).
    """
    level = TOTAL_LEVEL / changes_planned
    gain = detectable(answerable, BROKEN_EXPECTED, level)
    twice = detectable(2 * answerable, BROKEN_EXPECTED, level)
    planned = f"{changes_planned} planned {'change' if changes_planned == 1 else 'changes'}"
    if gain is None:
        what = f"no gain of a change can be shown by {answerable} answerable questions"
        return Finding("warning", what, (), "collect more questions before anything is changed")
    what = (
        f"smallest gain shown four times in five by these {answerable} answerable questions: {100 * gain:.1f} points "
        f"(if a change breaks {BROKEN_EXPECTED:.0%} of them; {planned})"
    )
    more = f"; twice the questions would show {100 * twice:.1f} points" if twice else ""
    return Finding("note", what, (), f"plan few changes, each large enough to do more{more}")
