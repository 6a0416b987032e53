"""Pictures of answers: their labels, why bad ones are bad, and the judge against the expert."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...analysis.causes import Pareto
from ...analysis.intervals import Interval
from ...analysis.shares import COUNTS_ONLY_UNDER, Share
from ...grading.agreement import Gate
from ...records import JUDGE_LABELS, LABELS
from ..html import Html
from ..words import LABEL_ORDER, cause_name, first_read, plural
from .drawing import INK, LABEL_LOOK, drawing, interval, no_picture, not_in_it, percent_axis, rows


def labels(shares: Mapping[str, Mapping[str, Share]]) -> Html:
    """How the answers of each run are labelled, errors and answers without a label included."""
    counts = {run: _label_counts(of) for run, of in shares.items()}
    if not any(sum(c.values()) for c in counts.values()):
        return no_picture("Labels: no question was asked.")
    asked = {run: sum(c.values()) for run, c in counts.items()}
    with drawing(1.5 + 0.72 * len(counts)) as sheet:
        axis = sheet.axes[0]
        for y, (run, of) in enumerate(counts.items()):
            _stack(axis, y, of, asked[run])
        rows(axis, [f"{run}\nn = {asked[run]}" for run in counts])
        percent_axis(axis)
        axis.set_ylim(len(counts) - 0.4, -0.6)
        used = [name for name in LABEL_ORDER if name in LABELS or any(of[name] for of in counts.values())]
        axis.legend(
            handles=[_patch(name) for name in used],
            loc="lower left",
            bbox_to_anchor=(0, 1.0),
            ncols=len(used),
            frameon=False,
            handlelength=1.6,
            columnspacing=1.2,
        )
        said = "; ".join(
            f"{run}: " + ", ".join(f"{of[name]} {name}" for name in LABEL_ORDER if of[name]) + f" of {asked[run]}"
            for run, of in counts.items()
        )
        return sheet.html(
            f"Labels of all answers (n = {', '.join(str(a) for a in sorted(set(asked.values())))} questions)",
            f"Label distribution. {said}.",
            "Counts as they stand, the judge's labels taken at their word. The score estimates the share correct, and "
            "how sure that is, from the person's labels.",
        )


def _label_counts(shares: Mapping[str, Share]) -> dict[str, int]:
    absent = max((s.missing.get("not graded", 0) for s in shares.values()), default=0)
    return {name: shares[name].count if name in shares else 0 for name in LABEL_ORDER[:-1]} | {"not graded": absent}


def _stack(axis: Any, y: float, counts: Mapping[str, int], asked: int) -> None:
    left = 0.0
    for name in LABEL_ORDER:
        if not counts[name]:
            continue
        colour, hatch = LABEL_LOOK[name]
        width = counts[name] / asked
        edge = "#777777" if name == "not graded" else "white"
        axis.barh(y, width, left=left, height=0.56, color=colour, hatch=hatch, edgecolor=edge, linewidth=0.8)
        box = {"facecolor": "white", "edgecolor": "none", "pad": 1.6, "alpha": 0.92}
        inside = width >= 0.03
        axis.text(
            left + width / 2,
            y if inside else y - 0.37,
            str(counts[name]),
            ha="center",
            va="center",
            fontsize=9,
            bbox=box if inside else None,
        )
        left += width


def _patch(name: str) -> Any:
    from matplotlib.patches import Patch

    colour, hatch = LABEL_LOOK[name]
    edge = "#777777" if name == "not graded" else "white"
    return Patch(facecolor=colour, hatch=hatch, edgecolor=edge, label=name)


def causes(found: Pareto) -> Html:
    """The causes of bad answers, largest first, with intervals of their shares from 10 bad answers on."""
    if not found.rows:
        return no_picture(f"Causes: no bad answer has a cause{first_read(found.first)}.")
    most = max(row.share.count for row in found.rows)
    with drawing(1.0 + 0.42 * len(found.rows)) as sheet:
        axis = sheet.axes[0]
        for y, row in enumerate(found.rows):
            axis.barh(y, row.share.count, height=0.62, color="#d55e00" if y == 0 else "#e8b08d")
            span, end = row.share.interval, float(row.share.count)
            if span is not None and row.share.n >= COUNTS_ONLY_UNDER:
                interval(axis, y, Interval(span.low * row.share.n, span.high * row.share.n))
                end = span.high * row.share.n
            axis.text(end + 0.02 * found.known, y, row.share.text(), va="center", fontsize=9.5)
        rows(axis, [cause_name(row.cause) for row in found.rows])
        axis.set_xlim(0, max(most * 1.9, found.known * 0.75))
        axis.xaxis.set_visible(False)
        axis.spines["bottom"].set_visible(False)
        first = found.rows[0]
        said = ", ".join(f"{cause_name(row.cause)} {row.share.count} of {row.share.n}" for row in found.rows)
        return sheet.html(
            f"Why answers are bad (n = {found.known} of {found.bad} bad answers, cause known)",
            f"The largest cause is {cause_name(first.cause)}, {first.share.text()}. {said}.",
            f"Mend the largest first. Thin lines: 95 % intervals of the shares{first_read(found.first)}."
            + not_in_it(first.share.missing_text()),
        )


def confusion(gate: Gate) -> Html:
    """The judge's labels against the expert's, in counts."""
    if not gate.n:
        return no_picture("Judge and expert: no answer has both labels.")
    used = [label for label in LABELS if any((label, other) in gate.matrix for other in JUDGE_LABELS)]
    most = max(gate.matrix.values())
    with drawing(1.4 + 0.62 * len(used)) as sheet:
        from matplotlib.patches import Rectangle

        axis = sheet.axes[0]
        for y, expert in enumerate(used):
            for x, judge in enumerate(JUDGE_LABELS):
                count = gate.matrix.get((expert, judge), 0)
                same = expert == judge
                shade = (0.08 + 0.5 * count / most) if count else 0.0
                colour = "#0072b2" if same else "#d55e00"
                axis.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, color=colour, alpha=shade, linewidth=0))
                edge, width = (INK, 1.8) if same else ("#c9ced4", 0.8)
                box = Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, facecolor="none", edgecolor=edge, linewidth=width)
                axis.add_patch(box)
                weight = "bold" if same else "normal"
                axis.text(x, y, str(count), ha="center", va="center", fontsize=13, fontweight=weight)
        rows(axis, [f"expert: {label} ({gate.recall[label][1]})" for label in used])
        axis.set_xticks(range(3), [f"judge: {label}" for label in JUDGE_LABELS])
        axis.xaxis.tick_top()
        axis.tick_params(axis="x", length=0)
        axis.spines[:].set_visible(False)
        axis.set_xlim(-0.5, 2.5)
        said = "; ".join(
            f"expert {label}: " + ", ".join(f"judge {j} {gate.matrix.get((label, j), 0)}" for j in JUDGE_LABELS)
            for label in used
        )
        return sheet.html(
            f"Judge against expert: {gate.agreed} of {gate.n} alike (n = {gate.n} answers)",
            f"{gate.agreed} of {gate.n} labels are alike, state {gate.state}. {said}.",
            "Framed in bold: both say the same. Orange: they differ."
            + (f" {plural(gate.dropped, 'answer')} without both labels not shown." if gate.dropped else ""),
        )
