"""Pictures of week 2: what each change did, and what declining more would do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...analysis.intervals import wilson
from ...analysis.shares import COUNTS_ONLY_UNDER
from ...analysis.threshold import Point, Sweep
from ...ledger import Tried
from ..html import Html
from ..words import VERDICT, plural
from .drawing import FAINT, INK, drawing, interval, no_picture, percent_axis, rows


def risk_coverage(sweep: Sweep) -> Html:
    """What declining more would do: wrong among the answered against the share answered, and the chosen threshold."""
    drawn = [p for p in sweep.points if p.risk is not None]
    if not drawn or sweep.always is None:
        return no_picture(sweep.words)
    always, taken = sweep.always, sweep.candidate
    verdict = "no useful threshold"
    if taken is not None and taken.threshold is None:
        verdict = "none is needed"
    elif sweep.chosen is not None:
        verdict = f"decline under {sweep.chosen:.4f}"
    with drawing(3.6) as sheet:
        axis = sheet.axes[0]
        drawn.sort(key=lambda p: (p.answered, p.wrong))
        enough = [p for p in drawn if p.answered >= COUNTS_ONLY_UNDER]
        axis.plot([p.coverage for p in drawn], [p.risk for p in drawn], color="#a9b1ba", linewidth=1.2, linestyle=":")
        axis.plot([p.coverage for p in enough], [p.risk for p in enough], color="#0072b2", linewidth=1.8)
        _mark(axis, always, f"always answer: {always.wrong} of {always.answered} wrong", "o", "#d55e00")
        if taken is not None and taken.threshold is not None and taken.answered:
            word = "chosen" if sweep.chosen is not None else "rule's choice, not useful"
            text = f"{word}: under {taken.threshold:.4f}, {taken.wrong} of {taken.answered} wrong"
            _mark(axis, taken, text, "D", INK)
        axis.legend(loc="lower left", bbox_to_anchor=(-0.01, 1.0), ncols=2, frameon=False, handletextpad=0.3)
        axis.set_xlabel(f"share of the {always.n} questions that is answered")
        axis.set_ylabel("wrong among those answered")
        axis.set_xlim(0, 1.02)
        marked = [always] if taken is None else [always, taken]
        tops = [span.high for p in marked if (span := wilson(p.wrong, p.answered)) is not None]
        axis.set_ylim(0, min(1.0, 1.15 * max([p.risk or 0.0 for p in enough] + tops)))
        axis.xaxis.set_major_formatter(lambda v, _: f"{100 * v:.0f} %")
        axis.yaxis.set_major_formatter(lambda v, _: f"{100 * v:.0f} %")
        axis.grid(color=FAINT)
        return sheet.html(
            f"Decline threshold: {verdict} (n = {always.n} questions)",
            f"{verdict}. Always answering: {always.wrong} of {always.answered} answered are wrong. {sweep.words}",
            f"To the left the system declines more. Vertical lines: 95 % intervals; dotted: under {COUNTS_ONLY_UNDER} "
            f"answers. {sweep.words}",
        )


def _mark(axis: Any, point: Point, text: str, marker: str, colour: str) -> None:
    span = wilson(point.wrong, point.answered)
    if span is not None:
        axis.plot([point.coverage] * 2, list(span), color=colour, linewidth=1.6)
    axis.plot(point.coverage, point.risk, marker, color=colour, markersize=8, zorder=5, linestyle="none", label=text)


def changes(tried: Sequence[Tried]) -> Html:
    """The score before and after each change, with intervals and the verdict."""
    seen = [t for t in tried if t.comparison.before.n]
    if not seen:
        return no_picture("Changes: none was tried now; what was decided before stands in the ledger.")
    with drawing(1.2 + 0.95 * len(seen)) as sheet:
        axis, lines = sheet.axes[0], []
        for y, one in enumerate(seen):
            c = one.comparison
            for share, offset, face in ((c.before, -0.16, "white"), (c.after, 0.16, "#0072b2")):
                value = share.value or 0.0
                interval(axis, y + offset, share.interval, "#0072b2")
                axis.plot(value, y + offset, "o", color="#0072b2", markerfacecolor=face, markersize=7.5, zorder=4)
            word = VERDICT.get(c.verdict, (c.verdict, ""))[0]
            moved = "no difference" if c.difference is None else f"{100 * c.difference:+.1f} points"
            if c.interval:
                moved += f" ({100 * c.interval.low:+.1f} to {100 * c.interval.high:+.1f})"
            counts = f"{c.before.count} → {c.after.count}: {len(c.fixed)} fixed, {len(c.broken)} broken"
            axis.text(1.04, y - 0.24, word.upper(), va="center", fontsize=9.5, fontweight="bold")
            axis.text(1.04, y + 0.02, moved, va="center", fontsize=9)
            axis.text(1.04, y + 0.28, counts, va="center", fontsize=9)
            lines.append(
                f"{one.change.name}: {c.measure} {c.before.count} to {c.after.count} of {c.before.n}, {moved}, "
                f"{len(c.fixed)} fixed, {len(c.broken)} broken, {word}"
            )
        rows(axis, [f"{t.change.name}\n{t.comparison.measure}, n = {t.comparison.before.n}" for t in seen])
        percent_axis(axis, room=0.5)
        return sheet.html(
            f"What each change did (n = {plural(len(seen), 'change')})",
            "; ".join(lines) + ".",
            "Open: before. Filled: after. Lines: 95 % intervals of each score; the exact test of the questions that "
            "changed decides, not the overlap. A gain was measured on the questions that prompted it: expect less.",
        )
