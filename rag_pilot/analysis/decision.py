"""What follows from the judged criteria: build, test fine-tuning, fix the documents, stop, or not decided.

The module knows the judgements and the causes, and nothing of how either was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..said import Said
from .acceptance import Judgement
from .causes import Pareto
from .shares import COUNTS_ONLY_UNDER

LABELS_NEEDED = 50
"""Answers of the order that a person must have labelled on the very run that a final decision rests on."""

DECISIONS = ("build", "test_fine_tuning", "fix_documents", "stop", "not_decided")


@dataclass(frozen=True)
class Decision:
    """What follows (one of DECISIONS) and why, in two sentences; a page says them in its language (see `Said`)."""

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
                Said(
                    "leaking",
                    f"For {leaking} questions something that the asker may not open reached a list, a prompt or a "
                    "file.",
                    n=leaking,
                ),
                Said("leaking_then", "Nothing goes live before that is mended and the run repeated."),
            ),
        )
    if not judgements:
        return Decision(
            "not_decided",
            (
                Said("no_criterion", "No criterion was agreed."),
                Said("no_criterion_then", "Agree one and lock it, then measure again."),
            ),
        )
    done, wanted = labelled
    if done < wanted:
        return Decision(
            "not_decided",
            (
                Said(
                    "labelled",
                    f"{done} of {wanted} answers of the order are labelled on this run.",
                    done=done,
                    wanted=wanted,
                ),
                Said(
                    "labelled_then",
                    f"A final decision needs all {wanted}: read the others in the form (05; 07 for what changes "
                    f"altered). Where it ends before, set labels = {LABELS_NEEDED} in pilot.toml; a closed answer "
                    "needs a reader who may open it.",
                    wanted=wanted,
                    labels=LABELS_NEEDED,
                ),
            ),
        )
    of = {state: [j for j in judgements if j.state == state] for state in ("met", "not met", "not decided")}
    met, n = len(of["met"]), len(judgements)
    standing = f"{met} of {n} criteria are met"
    largest = _largest(causes)
    if met == n:
        gate = Said("then_gate", f"The question set becomes the release gate; {largest}.", largest=largest)
        return Decision("build", (Said("all_met", "All agreed criteria are met."), gate))
    if not of["not met"]:
        open_ones = tuple(of["not decided"])
        return Decision(
            "not_decided",
            (
                Said("none_missed", f"{standing}, none is missed, and the others are open.", met=met, n=n),
                Said("open", "; ".join(j.words for j in open_ones), judgements=open_ones),
            ),
        )
    names = tuple(j.criterion.name for j in of["not met"])
    missed = Said("missed", f"{standing}; missed: {', '.join(names)}.", met=met, n=n, names=names)
    if changes_left:
        more = f"Planned changes still open: {changes_left}; {largest}."
        return Decision("not_decided", (missed, Said("changes_left", more, n=changes_left, largest=largest)))
    for cause, verdict, then in (
        ("missing_or_stale", "fix_documents", "no choice of model will solve that"),
        ("format_or_tone", "test_fine_tuning", "the facts are right, so fine-tuning is worth testing"),
    ):
        if 2 * causes.count(cause) > causes.known:
            count, known = causes.count(cause), causes.known
            few = " (few to go by)" if known < COUNTS_ONLY_UNDER else ""
            reason = f"{count} of {known} bad answers have the cause {cause}{few}: {then}."
            key = f"most_{verdict}{'_few' if few else ''}"
            return Decision(verdict, (missed, Said(key, reason, cause=cause, count=count, known=known)))
    neither = f"Neither documents nor tone explain most bad answers; {largest}."
    return Decision("stop", (missed, Said("neither", neither, largest=largest)))


def _largest(causes: Pareto) -> Said:
    if not causes.rows:
        return Said("no_cause_known", "no cause of a bad answer is known")
    first = causes.rows[0]
    count, n = first.share.count, first.share.n
    words = f"the largest cause of bad answers is {first.cause} ({count} of {n})"
    return Said("largest", words, cause=first.cause, count=count, n=n)
