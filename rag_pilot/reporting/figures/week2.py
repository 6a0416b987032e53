"""Pictures of week 2: what each change did, and what declining more would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...analysis.intervals import Interval, wilson
from ...analysis.shares import COUNTS_ONLY_UNDER
from ...analysis.threshold import Point, Sweep
from ...ledger import Tried
from ..html import Html
from .drawing import FAINT, INK, MIDDLE, PALE, beside, drawing, interval, no_picture, point, rows, short
from .wording import Wording

LEAST_SIDE = 0.1  # of the axis of differences, so that a small one does not look large: 10 points


def risk_coverage(sweep: Sweep, *, language: str = "en") -> Html:
    """What declining more would do: wrong among the answered against the share answered, and the chosen threshold."""
    say = Wording(language)
    drawn = sorted((p for p in sweep.points if p.risk is not None), key=lambda p: (p.answered, p.wrong))
    if not drawn or sweep.always is None:
        return no_picture(say, sweep.words if language == "en" else say("no_sweep"))
    always, taken = sweep.always, sweep.candidate
    marks = [(always, say("always", wrong=say.of(always.wrong, always.answered)), "o")]
    if taken is not None and taken.threshold is not None and taken.answered:
        words = say("chosen" if sweep.chosen is not None else "not_useful", at=say.number(taken.threshold, 4))
        marks.append((taken, words + "\n" + say("so_many_wrong", wrong=say.of(taken.wrong, taken.answered)), "D"))
    with drawing(3.6, lang=language) as sheet:
        axis = sheet.axes[0]
        enough = [p for p in drawn if p.answered >= COUNTS_ONLY_UNDER]
        axis.plot([p.coverage for p in drawn], [p.risk for p in drawn], color=MIDDLE, linewidth=1.2, linestyle=":")
        axis.plot([p.coverage for p in enough], [p.risk for p in enough], color=MIDDLE, linewidth=1.8)
        spans = [_span(p, sweep.judged) for p, _, _ in marks]
        high = max(
            [p.risk or 0.0 for p in enough] + [p.risk or 0.0 for p, _, _ in marks] + [s.high for s in spans if s]
        )
        axis.set_xlim(0, 1)
        axis.set_ylim(0, min(1.0, 1.15 * high) or 0.1)
        _marks(axis, marks, spans)
        axis.set_xlabel(say("coverage_axis", n=say.counted("of_questions", always.n)))
        axis.set_ylabel(say("risk_axis"))
        for way in (axis.xaxis, axis.yaxis):
            way.set_major_formatter(lambda v, _: say.limit(round(v, 3)))
        axis.grid(color=FAINT)
        verdict = _verdict(sweep, say)
        alt = [say("always_alt", wrong=say.of(always.wrong, always.answered))]
        if len(marks) > 1 and taken is not None and taken.threshold is not None:
            taken_wrong = say.of(taken.wrong, taken.answered)
            alt.append(say("taken_alt", at=say.number(taken.threshold, 4), wrong=taken_wrong))
        if sweep.held_out is not None:
            alt.append(say("held_out_alt", wrong=say.of(sweep.held_out.wrong, sweep.held_out.n)))
        lines = say("judged_no_lines", n=say.number(sweep.judged)) if sweep.judged else say("risk_lines")
        return sheet.html(
            say("risk_title", verdict=verdict, n=say.counted("questions", always.n)),
            f"{verdict[:1].upper()}{verdict[1:]}. {' '.join(alt)}",
            f"{say('risk_caption', few=COUNTS_ONLY_UNDER)} {lines}" + say.missing({"label": sweep.unlabelled}),
        )


def _verdict(sweep: Sweep, say: Wording) -> str:
    if sweep.candidate is not None and sweep.candidate.threshold is None:
        return say("none_needed")
    return say("no_useful") if sweep.chosen is None else say("decline_under", at=say.number(sweep.chosen, 4))


def _span(at: Point, judged: int) -> Interval | None:
    """The interval of the wrong ones; none of few answers, nor of labels of which some are the judge's."""
    return None if judged or at.answered < COUNTS_ONLY_UNDER else wilson(at.wrong, at.answered)


def _marks(axis: Any, marks: Sequence[tuple[Point, str, str]], spans: Sequence[Interval | None]) -> None:
    """The points with their words on the right, as near to their height as they can stand."""
    top, least = axis.get_ylim()[1], 0.17
    places: list[float] = []
    for k in sorted(range(len(marks)), key=lambda k: marks[k][0].risk or 0.0):
        (at, text, marker), span, risk = marks[k], spans[k], marks[k][0].risk or 0.0
        place = max(risk / top, 0.08, *(p + least for p in places))
        if span is not None:
            axis.plot([at.coverage] * 2, list(span), color=INK, linewidth=1.5)
        point(axis, at.coverage, risk, marker=marker, hollow=marker == "o")
        axis.plot([at.coverage, 1.0], [risk, place * top], color=PALE, linewidth=0.8, zorder=1, clip_on=False)
        beside(axis, place * top, text)
        places.append(place)


def changes(tried: Sequence[Tried], *, language: str = "en") -> Html:
    """What each change did to the questions that it was measured on: the difference with its interval, the verdict.

    Both are the ledger's, as they were when the verdict was taken: it is never revised, also where a label was since.
    """
    say, seen = Wording(language), [t for t in tried if t.comparison.before.n]
    if not seen:
        return no_picture(say, say("no_changes"))
    verdicts = [str(t.entry.get("verdict", t.comparison.verdict)) for t in seen]
    with drawing(1.1 + 0.8 * len(seen), lang=language) as sheet:
        axis, told, side = sheet.axes[0], [], LEAST_SIDE
        for y, (one, verdict) in enumerate(zip(seen, verdicts, strict=True)):
            moved, span = _difference(one)
            interval(axis, y, span)
            point(axis, moved, y, hollow=verdict != "kept")
            side = max([side, abs(moved), *(abs(end) for end in span or ())])
            word, difference, counts = say.name("verdict", verdict), _points(moved, span, say), _counts(one, say)
            beside(axis, y, word.upper(), -1, "bold")
            beside(axis, y, difference)
            beside(axis, y, counts, 1)
            measure = say.name("measure", one.comparison.measure)
            told.append(f"{one.change.name}: {word}, {measure} {counts}, {difference}")
        axis.axvline(0, color=INK, linewidth=1.0, zorder=1)
        rows(axis, [f"{short(t.change.name)}\n{_measured(t, say)}" for t in seen])
        axis.set_xlim(-1.05 * side, 1.05 * side)
        axis.set_xlabel(say("difference_axis"))
        axis.xaxis.set_major_formatter(lambda v, _: say.number(100 * v, sign=True))
        axis.xaxis.get_major_locator().set_params(nbins=4, steps=[1, 2, 5, 10])
        axis.grid(axis="x", color=FAINT)
        kept = say("kept_of", kept=say.number(verdicts.count("kept")), n=say.counted("of_changes", len(seen)))
        return sheet.html(
            say("changes_title", n=say.counted("changes", len(seen))),
            f"{kept} {'; '.join(told)}.",
            say("changes_caption"),
        )


def _measured(one: Tried, say: Wording) -> str:
    n = one.entry.get("questions", one.comparison.n)
    return f"{say.name('measure', one.comparison.measure)}, n = {say.number(n)}"


def _difference(one: Tried) -> tuple[float, Interval | None]:
    found = one.entry.get("difference", one.comparison.difference), one.entry.get("interval", one.comparison.interval)
    return found[0] or 0.0, Interval(*found[1]) if found[1] else None


def _counts(one: Tried, say: Wording) -> str:
    """Questions fixed and broken; with the scores before and after, where they are still those of the verdict."""
    c = one.comparison
    now = len(c.fixed), len(c.broken)
    fixed, broken = one.entry.get("fixed", now[0]), one.entry.get("broken", now[1])
    counts = say("fixed_broken", fixed=say.number(fixed), broken=say.number(broken))
    if (fixed, broken) != now:
        return counts
    return f"{say('before_after', before=say.number(c.before.count), after=say.of(c.after.count, c.after.n))}, {counts}"


def _points(moved: float, span: Interval | None, say: Wording) -> str:
    if span is None:
        return say("points", moved=say.number(100 * moved, 1, True))
    low, high = (say.number(100 * end, 1, True) for end in span)
    return say("points_span", moved=say.number(100 * moved, 1, True), span=say("from_to", low=low, high=high))
