"""Tables of the score: the headline, answered or declined, and the labels given so far."""

from __future__ import annotations

from collections.abc import Mapping

from ...analysis.headline import Estimate, Headline
from ...analysis.measures import FourWay
from ...analysis.shares import Share, percent
from ...records import LABELS
from ..html import NO_DATA, Html, listing, note, paragraph, section, table
from ..speech import Voice
from ..words import LABEL_MEANS, plural


def _judge_bounds(found: Headline, say: Voice) -> Html | None:
    """What the unreadable replies could still make of the judge's own count; nothing where all could be read."""
    bounds, judge = found.judge.bounds, found.judge
    unread = sum(judge.missing.values())
    if not unread or bounds is None:
        return None
    counts = {"count": judge.count, "n": judge.n, "unread": unread, "all": judge.n + unread}
    return note(say("judge_alone", **counts, most=judge.count + unread, low=bounds.low, high=bounds.high))


def rounding(found: Headline, say: Voice) -> Html | None:
    """Why the shares as they are shown do not add up to 100; nothing where they do."""
    if found.correct is None:
        return None
    estimates = [e.value for e in (found.correct, found.wrong, found.declined) if e]
    shares = [found.partly, *estimates, found.errors / found.asked]
    rounded = sum(round(100 * share) for share in shares if share is not None)
    return note(say("rounded", sum=rounded)) if rounded != 100 and not found.excess else None


def headline(found: Headline, language: str = "en") -> Html:
    """The score in one big sentence, then the shares of the four labels and who gave the labels."""
    say = Voice(language)
    words, alone = say.sentences(found), _judge_bounds(found, say)
    if found.correct is None:
        return section(paragraph(say("no_score"), kind="big"), words, alone, lang=language)
    estimates: dict[str, Estimate | None] = {n: getattr(found, n) for n in ("correct", "wrong", "declined")}
    rows = []
    for label in LABELS:
        name = say(f"label_{label}")
        if label == "partly":
            share = say("less") if found.partly is None else say.percent(found.partly)
            rows.append((name, share, say("remainder"), "–"))
        elif (e := estimates[label]) is None:
            rows.append((name, say("not_measured"), say("not_measured"), "–"))
        else:
            span = say("from_to", low=e.interval.low, high=e.interval.high)
            rows.append((name, say.percent(e.value), span, f"{e.n_eff:.0f}"))
    if found.errors:
        rows.append((say("no_label_failed"), say.percent(found.errors / found.asked), say("counted"), "–"))
    whom = [
        (say("by_person"), found.by_person),
        (say("by_judge_corrected"), found.by_judge),
        (say("by_rule_what"), found.by_rule),
        (say("by_nobody"), found.not_graded),
        (say("failed_no_label"), found.errors),
        (say("asked"), found.asked),
    ]
    of, within = found.correct.value, found.correct.interval
    return section(
        paragraph(say("big_score", value=of, low=within.low, high=within.high), kind="big"),
        words,
        table(say("shares_of", n=found.asked), [say(key) for key in ("label", "share", "interval", "worth")], rows),
        rounding(found, say),
        table(say("given_by"), (say("who"), say("questions")), [(w, say.number(n)) for w, n in whom], total=True),
        alone,
        lang=language,
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
