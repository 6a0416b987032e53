"""What follows from the judged criteria: build, test fine-tuning, fix the documents, stop, or not decided.

The module knows the judgements and the causes, and nothing of how either was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .acceptance import Judgement
from .causes import Pareto
from .shares import COUNTS_ONLY_UNDER

LABELS_NEEDED = 50
"""Answers of the order that a person must have labelled on the very run that a final decision rests on."""

DECISIONS = ("build", "test_fine_tuning", "fix_documents", "stop", "not_decided")


@dataclass(frozen=True)
class Decision:
    """What follows (one of DECISIONS) and why, in two sentences."""

    verdict: str
    reasons: tuple[str, str]


def decide(
    judgements: Sequence[Judgement],
    causes: Pareto,
    leaking: int = 0,
    changes_left: int = 0,
    *,
    labelled: tuple[int, int],
) -> Decision:
    """Build if all criteria are met; else what the causes of the bad answers say, once no planned change is left.

    A question that was given a forbidden passage (`leaking` of them) stops everything; without it nothing is decided
    before the answers of the order that a decision needs are `labelled` (so many, of so many). "Most" is more than half
    of the bad answers whose cause is known.
    """
    if leaking:
        return Decision(
            "stop",
            (
                f"For {leaking} questions something that the asker may not open reached a list, a prompt or a file.",
                "Nothing goes live before that is mended and the run repeated.",
            ),
        )
    if not judgements:
        return Decision("not_decided", ("No criterion was agreed.", "Agree one and lock it, then measure again."))
    done, wanted = labelled
    if done < wanted:
        return Decision(
            "not_decided",
            (
                f"{done} of {wanted} answers of the order are labelled on this run.",
                f"A final decision needs all {wanted}: read the others in the form (05; 07 for what changes altered). "
                f"Where it ends before, set labels = {LABELS_NEEDED} in pilot.toml; a closed answer needs a reader who "
                "may open it.",
            ),
        )
    of = {state: [j for j in judgements if j.state == state] for state in ("met", "not met", "not decided")}
    standing = f"{len(of['met'])} of {len(judgements)} criteria are met"
    largest = _largest(causes)
    if len(of["met"]) == len(judgements):
        return Decision(
            "build", ("All agreed criteria are met.", f"The question set becomes the release gate; {largest}.")
        )
    if not of["not met"]:
        open_ones = "; ".join(j.words for j in of["not decided"])
        return Decision("not_decided", (f"{standing}, none is missed, and the others are open.", open_ones))
    missed = f"{standing}; missed: {', '.join(j.criterion.name for j in of['not met'])}."
    if changes_left:
        return Decision(
            "not_decided",
            (missed, f"Planned changes still open: {changes_left}; {largest}."),
        )
    for cause, verdict, then in (
        ("missing_or_stale", "fix_documents", "no choice of model will solve that"),
        ("format_or_tone", "test_fine_tuning", "the facts are right, so fine-tuning is worth testing"),
    ):
        if 2 * causes.count(cause) > causes.known:
            few = " (few to go by)" if causes.known < COUNTS_ONLY_UNDER else ""
            reason = f"{causes.count(cause)} of {causes.known} bad answers have the cause {cause}{few}: {then}."
            return Decision(verdict, (missed, reason))
    return Decision("stop", (missed, f"Neither documents nor tone explain most bad answers; {largest}."))


def _largest(causes: Pareto) -> str:
    if not causes.rows:
        return "no cause of a bad answer is known"
    first = causes.rows[0]
    return f"the largest cause of bad answers is {first.cause} ({first.share.count} of {first.share.n})"
