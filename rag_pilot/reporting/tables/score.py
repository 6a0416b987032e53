"""Tables of the score: the headline, answered or declined, and the labels given so far."""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.headline import Estimate, Headline
from ...analysis.measures import FourWay
from ...analysis.shares import Share, percent
from ...records import LABELS
from ..html import NO_DATA, NOT_MEASURED, Html, listing, note, paragraph, section, table
from ..words import LABEL_MEANS, plural

LESS = "less than can be told"
"""The remainder, where the shares that are estimated apart leave none."""


def _judge_bounds(found: Headline) -> Html | None:
    """What the unreadable replies could still make of the judge's own count; nothing where all could be read."""
    bounds, judge = found.judge.bounds, found.judge
    unread = sum(judge.missing.values())
    if not unread or bounds is None:
        return None
    return note(
        f"The judge alone: {judge.count} of {judge.n} readable labels say correct, {unread} of {judge.n + unread} are "
        f"unreadable; with these all wrong or all correct "
        f"{judge.count} to {judge.count + unread} of {judge.n + unread} "
        f"({percent(bounds.low)} to {percent(bounds.high)} %). Not an estimate."
    )


def headline(found: Headline) -> Html:
    """The score in one big sentence, then the shares of the four labels and who gave the labels."""
    if found.correct is None:
        return section(paragraph("No score yet", kind="big"), found.words, _judge_bounds(found))
    estimates: dict[str, Estimate | None] = {n: getattr(found, n) for n in ("correct", "wrong", "declined")}
    rows = []
    for label in LABELS:
        if label == "partly":
            share = LESS if found.partly is None else f"{percent(found.partly)} %"
            rows.append((label, share, "the remainder", "–"))
        elif (e := estimates[label]) is None:
            rows.append((label, NOT_MEASURED, NOT_MEASURED, "–"))
        else:
            span = f"{percent(e.interval.low)} to {percent(e.interval.high)} %"
            rows.append((label, f"{percent(e.value)} %", span, f"{e.n_eff:.0f}"))
    if found.errors:
        rows.append(("no label: the call failed", f"{percent(found.errors / found.asked)} %", "counted", "–"))
    shares = [found.partly, *(e.value for e in estimates.values() if e), found.errors / found.asked]
    rounded = sum(round(100 * share) for share in shares if share is not None)
    whom = [
        ("a person", found.by_person),
        ("the judge, corrected by the person's labels", found.by_judge),
        ("rule (declines, answers to what cannot be answered)", found.by_rule),
        ("nobody", found.not_graded),
        ("failed calls, no label", found.errors),
        ("asked", found.asked),
    ]
    interval = found.correct.interval
    return section(
        paragraph(
            f"{percent(found.correct.value)} % correct: between {percent(interval.low)} and {percent(interval.high)} % "
            "on questions like these.",
            kind="big",
        ),
        found.words,
        table(
            f"Estimated shares of {plural(found.asked, 'question')}",
            ("Label", "Share", "95 % interval", "Worth so many read by hand"),
            rows,
        ),
        note(f"Each share is rounded by itself: they add up to {rounded} % here, unrounded to 100 %.")
        if rounded != 100 and not found.excess
        else None,
        table("Labels given by", ("Who", "Questions"), whom, total=True),
        _judge_bounds(found),
    )


def four_way(found: FourWay) -> Html:
    """Answered or declined, by whether the documents can answer."""
    columns = ("answered", "declined", "error", "not answered")
    used = [c for c in columns if c in columns[:2] or found.answerable.get(c) or found.unanswerable.get(c)]
    rows = [
        (name, *(row.get(c, 0) for c in used), sum(row.get(c, 0) for c in columns))
        for name, row in (
            ("The documents can answer", found.answerable),
            ("The documents cannot answer", found.unanswerable),
        )
    ]
    return section(
        listing(
            (
                f"Of the questions that can be answered, {found.answered.text()} were answered.",
                f"Of those that cannot, {found.rightly_declined.text()} were declined, as they should be."
                if found.rightly_declined.n
                else "No question was asked that they cannot answer: whether the system declines rightly is not known.",
            )
        ),
        table("Answered or declined", ("Questions", *used, "All"), rows),
        note(f"{plural(found.flagged, 'answered text')} may be a decline in other words: a person reads it.")
        if found.flagged
        else None,
    )


def label_shares(shares: Mapping[str, Share]) -> Html:
    """How many of the answers that have a label have each; with what the others could still make of it.

    Counts alone: where some have none, those that have one are no random sample, and the judge's are taken at its word.
    The headline estimates the shares.
    """
    absent = next((s.missing_text() for s in shares.values() if s.missing_text()), "")
    rows = [
        (name, f"{s.count} of {s.n}", *([_bounds(s)] if absent else []), LABEL_MEANS.get(name, ""))
        for name, s in shares.items()
    ]
    head = ("Label", "Answers", *(["With all others against or for it"] if absent else []), "What it means")
    return section(
        table("Labels of the answers that have one", head, rows),
        note(f"Not in it: {absent}. These are counts, not the estimate for all questions.") if absent else None,
    )


def _bounds(share: Share) -> str:
    bounds = share.bounds
    return NO_DATA if bounds is None else f"{percent(bounds.low)} to {percent(bounds.high)} %"
