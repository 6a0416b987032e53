"""The pictures of a pilot: each a function of plain results, drawn the same way everywhere.

One width, one white page, fixed colours and hatches, counts beside what they belong to, intervals drawn, n in the title,
and an alt text that states the finding with its numbers. It computes no measure and keeps no state.
"""

from __future__ import annotations

import io
import statistics
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..analysis.causes import Pareto
from ..analysis.intervals import Interval, wilson
from ..analysis.measures import Retrieval, Segment
from ..analysis.shares import COUNTS_ONLY_UNDER, Mean, Share
from ..analysis.threshold import Point, Sweep
from ..grading.agreement import Gate
from ..records import JUDGE_LABELS, LABELS
from .html import Html, paragraph, picture, section
from .words import LABEL_ORDER, VERDICT, cause_name, plural

if TYPE_CHECKING:
    from ..ledger import Tried
    from ..results import Result

WIDTH = 8.0  # inches; 768 pixels on a page

LABEL_LOOK = {  # colour-blind safe (Okabe and Ito 2008), and told apart by hatch where there is no colour
    "correct": ("#0072b2", ""),
    "partly": ("#8ecae6", "///"),
    "wrong": ("#d55e00", "xxx"),
    "declined": ("#c3c8ce", "..."),
    "error": ("#4d4d4d", "\\\\\\"),
    "not graded": ("#ffffff", ""),
}
RETRIEVER_LOOK = {"keyword": ("#b8860b", "s"), "dense": ("#a0468c", "^"), "hybrid": ("#00695c", "o")}
OTHER_LOOK = ("#4d4d4d", "D")

INK, FAINT = "#1b1f24", "#e3e6ea"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": "#9aa2ab",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "rag-pilot",
    "svg.fonttype": "path",
}


class _Drawing:
    """One figure of its own while it is drawn; settings of the reader's session do not reach it, nor it them."""

    def __init__(self, height: float, columns: int = 1) -> None:
        import matplotlib  # half a second to import, needed here only

        self._settings = matplotlib.rc_context()
        self._settings.__enter__()
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
        self.axes: list[Any] = list(self.figure.subplots(1, columns, sharey=True, squeeze=False)[0])
        for axis in self.axes:
            axis.set_axisbelow(True)

    def __enter__(self) -> _Drawing:
        return self

    def __exit__(self, *fault: object) -> None:
        self._settings.__exit__(None, None, None)

    def html(self, title: str, alt: str, caption: str) -> Html:
        """The figure as a picture with its title."""
        self.figure.suptitle(title, x=0.0, ha="left", fontsize=12, fontweight="bold", color=INK)
        data = io.BytesIO()
        self.figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
        return picture(data.getvalue(), alt, caption)


def _rows(axis: Any, names: Sequence[str]) -> None:
    """Named rows, the first at the top, no ticks."""
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)


def _percent_axis(axis: Any, room: float = 0.0) -> None:
    axis.set_xlim(0, 1 + room)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axis.grid(axis="x", color=FAINT)
    axis.spines["bottom"].set_bounds(0, 1)


def _interval(axis: Any, y: float, interval: Interval | None, colour: str = INK, width: float = 1.6) -> None:
    if interval is not None:
        axis.plot([interval.low, interval.high], [y, y], color=colour, linewidth=width, solid_capstyle="butt", zorder=3)
        axis.plot([interval.low, interval.high], [y, y], "|", color=colour, markersize=7, zorder=3)


def _missing(missing: Mapping[str, int]) -> str:
    text = ", ".join(f"{count} {reason}" for reason, count in missing.items() if count)
    return f" Not in it: {text}." if text else ""


def _no_picture(words: str) -> Html:
    return section(paragraph(words, " There is nothing to draw yet."))


# -- retrieval ---------------------------------------------------------------------------------------------------------


def retrieval(results: Mapping[str, Retrieval]) -> Html:
    """Hit@1, Hit@5 and MRR of each retriever, with intervals."""
    if not results or not any(r.hit5.n for r in results.values()):
        return _no_picture("Retrieval: no question has a ranking.")
    measures = {"Hit@1": "right document first", "Hit@5": "right document\namong the first 5", "MRR": "mean of 1/rank"}
    n = max(r.hit5.n for r in results.values())
    names, places, gap = list(results), [], 0.7
    with _Drawing(0.9 + 0.31 * 3 * (len(names) + gap)) as drawing:
        axis = drawing.axes[0]
        for block, measure in enumerate(measures):
            top = block * (len(names) + gap)
            places.append(top + (len(names) - 1) / 2)
            for row, name in enumerate(names):
                value = _of(results[name], measure)
                colour, _ = RETRIEVER_LOOK.get(name, OTHER_LOOK)
                axis.barh(top + row, value.value or 0, color=colour, height=0.78, alpha=0.85)
                _interval(axis, top + row, value.interval)
                axis.text(1.02, top + row, f"{name}: {_short(value)}", va="center", color=colour, fontsize=9.5)
        axis.set_yticks(places, [f"{m}\n{words}" for m, words in measures.items()])
        axis.set_ylim(3 * (len(names) + gap) - gap - 0.4, -0.6)
        axis.tick_params(axis="y", length=0)
        _percent_axis(axis, room=0.62)
        alt = "; ".join(
            f"{name}: Hit@1 {r.hit1.text()}, Hit@5 {r.hit5.text()}, MRR {r.mrr.text()}" for name, r in results.items()
        )
        missing = next(iter(results.values())).hit5.missing
        return drawing.html(
            f"Is the right document found? ({plural(n, 'question')})",
            f"Share of questions whose document is found, with 95 % intervals. {alt}.",
            "Bars: the share of questions. Thin lines: 95 % intervals; where they overlap widely, the difference "
            f"may be chance.{_missing(missing)}",
        )


def _of(result: Retrieval, measure: str) -> Share | Mean:
    return {"Hit@1": result.hit1, "Hit@5": result.hit5, "MRR": result.mrr}[measure]


def _short(value: Share | Mean) -> str:
    return value.text().removesuffix(f", n = {value.n}") if isinstance(value, Mean) else value.text()


def retrieval_by(segments: Mapping[str, Sequence[Segment]], by: str) -> Html:
    """Hit@5 in each category or language, one column for each retriever."""
    names = sorted({s.name for found in segments.values() for s in found})
    if not names:
        return _no_picture(f"Hit@5 by {by}: no question was measured.")
    with _Drawing(1.1 + 0.36 * len(names), columns=len(segments)) as drawing:
        for axis, (retriever, found) in zip(drawing.axes, segments.items(), strict=True):
            colour, marker = RETRIEVER_LOOK.get(retriever, OTHER_LOOK)
            _rows(axis, names)
            _percent_axis(axis, room=0.45)
            axis.set_xticks([0, 0.5, 1], ["0", "50", "100 %"])
            for segment in found:
                y, share = names.index(segment.name), segment.share
                if share.n >= COUNTS_ONLY_UNDER and share.value is not None:
                    _interval(axis, y, share.interval, colour)
                    axis.plot(share.value, y, marker, color=colour, markersize=6.5, zorder=4)
                text = f"{share.count} of {share.n}" if share.n else "no data"
                axis.text(1.07, y, text + (" ▼" if segment.worst else ""), va="center", fontsize=8.5)
            axis.set_title(retriever, color=colour)
        alt = "; ".join(
            f"{retriever}: " + ", ".join(f"{s.name} {s.share.count} of {s.share.n}" for s in found)
            for retriever, found in segments.items()
        )
        n = max(sum(s.share.n for s in found) for found in segments.values())
        worst = any(s.worst for found in segments.values() for s in found)
        return drawing.html(
            f"Right document among the first 5, by {by} ({plural(n, 'question')})",
            f"Hit@5 by {by}. {alt}.",
            f"Points with 95 % intervals; under {COUNTS_ONLY_UNDER} questions only the counts stand there. Few questions "
            "give wide lines: read no ranking into them."
            + (" ▼: shown to be lower than the rest." if worst else " None is shown to be lower than the rest."),
        )


# -- answers -----------------------------------------------------------------------------------------------------------


def labels(shares: Mapping[str, Mapping[str, Share]]) -> Html:
    """How the answers of each run are labelled, errors and answers without a label included."""
    counts = {run: _label_counts(of) for run, of in shares.items()}
    if not any(sum(c.values()) for c in counts.values()):
        return _no_picture("Labels: no question was asked.")
    asked = {run: sum(c.values()) for run, c in counts.items()}
    with _Drawing(1.5 + 0.72 * len(counts)) as drawing:
        axis = drawing.axes[0]
        for y, (run, of) in enumerate(counts.items()):
            _stack(axis, y, of, asked[run])
            if not of["not graded"]:
                _interval(axis, y + 0.4, wilson(of["correct"], asked[run]), LABEL_LOOK["correct"][0])
        _rows(axis, [f"{run}\nn = {asked[run]}" for run in counts])
        _percent_axis(axis)
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
        return drawing.html(
            f"Labels of all answers ({', '.join(sorted({plural(a, 'question') for a in asked.values()}))})",
            f"Label distribution. {said}.",
            "Counts as they stand. The line under a bar is the 95 % interval of the share correct; it is left out while "
            "answers are not graded: then the headline, not this picture, estimates the share.",
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
        return _no_picture("Causes: no bad answer has a cause.")
    most = max(row.share.count for row in found.rows)
    with _Drawing(1.0 + 0.42 * len(found.rows)) as drawing:
        axis = drawing.axes[0]
        for y, row in enumerate(found.rows):
            axis.barh(y, row.share.count, height=0.62, color="#d55e00" if y == 0 else "#e8b08d")
            span, end = row.share.interval, float(row.share.count)
            if span is not None and row.share.n >= COUNTS_ONLY_UNDER:
                _interval(axis, y, Interval(span.low * row.share.n, span.high * row.share.n))
                end = span.high * row.share.n
            axis.text(end + 0.02 * found.known, y, row.share.text(), va="center", fontsize=9.5)
        _rows(axis, [cause_name(row.cause) for row in found.rows])
        axis.set_xlim(0, max(most * 1.9, found.known * 0.75))
        axis.xaxis.set_visible(False)
        axis.spines["bottom"].set_visible(False)
        first = found.rows[0]
        said = ", ".join(f"{cause_name(row.cause)} {row.share.count} of {row.share.n}" for row in found.rows)
        return drawing.html(
            f"Why answers are bad ({found.known} of {found.bad} bad answers with a known cause)",
            f"The largest cause is {cause_name(first.cause)}, {first.share.text()}. {said}.",
            "Mend the largest first. Thin lines: 95 % intervals of the shares." + _missing(first.share.missing),
        )


def similarities(result: Result) -> Html:
    """The best similarity of questions whose document was found, was missed, or does not exist."""
    names = ("document found", "document missed", "unanswerable")
    groups: dict[str, list[float]] = {name: [] for name in names}
    without = 0
    for question in result.questions:
        ranks = result.retrieval.ranks
        if question.answerable and question.id not in ranks:
            without += 1
            continue
        name = names[2] if not question.answerable else names[1] if ranks[question.id] is None else names[0]
        best = result.run.answers[question.id].similarity
        if best is None:
            without += 1
        else:
            groups[name].append(best)
    if not any(groups.values()):
        return _no_picture("Similarities: no answer has one.")
    middles = {name: statistics.median(values) for name, values in groups.items() if values}
    looks = {names[0]: ("#0072b2", "o"), names[1]: ("#d55e00", "x"), names[2]: ("#5f6670", "+")}
    with _Drawing(3.1) as drawing:
        axis = drawing.axes[0]
        for y, (name, values) in enumerate(groups.items()):
            colour, marker = looks[name]
            spread = [y + 0.27 * (((7 * i) % 19) / 9 - 1) for i in range(len(values))]
            axis.scatter(sorted(values), spread, s=16, marker=marker, color=colour, alpha=0.65, linewidths=1.1)
            if values:
                axis.plot([middles[name]] * 2, [y - 0.4, y + 0.4], color=INK, linewidth=2)
                axis.text(middles[name], y - 0.42, f"median {middles[name]:.2f}", ha="center", va="bottom", fontsize=9)
        _rows(axis, [f"{name}\nn = {len(values)}" for name, values in groups.items()])
        axis.set_ylim(2.5, -0.75)
        axis.set_xlabel("best cosine similarity of question and passage")
        axis.grid(axis="x", color=FAINT)
        others = groups[names[1]] + groups[names[2]]
        above = sum(v >= middles.get(names[0], 2.0) for v in others)
        said = ", ".join(
            f"{name} median {middles[name]:.2f} (n = {len(values)})" for name, values in groups.items() if values
        )
        trap = f"{above} of {len(others)} questions without their document score at or above the median of those with it"
        return drawing.html(
            f"The similarity of the best passage is no quality measure ({sum(map(len, groups.values()))} questions)",
            f"Best similarity: {said}. {trap}.",
            f"{trap}. A high similarity says that texts are alike, not that the answer stands there: never steer by it, "
            f"and set no threshold that the question set has not confirmed."
            + (f" {plural(without, 'question')} without a similarity or a permitted document not shown." if without else ""),
        )


def confusion(gate: Gate) -> Html:
    """The judge's labels against the expert's, in counts."""
    if not gate.n:
        return _no_picture("Judge and expert: no answer has both labels.")
    rows = [label for label in LABELS if any((label, other) in gate.matrix for other in JUDGE_LABELS)]
    most = max(gate.matrix.values())
    with _Drawing(1.4 + 0.62 * len(rows)) as drawing:
        from matplotlib.patches import Rectangle

        axis = drawing.axes[0]
        for y, expert in enumerate(rows):
            for x, judge in enumerate(JUDGE_LABELS):
                count = gate.matrix.get((expert, judge), 0)
                same = expert == judge
                shade = (0.08 + 0.5 * count / most) if count else 0.0
                colour = "#0072b2" if same else "#d55e00"
                axis.add_patch(Rectangle((x - 0.5, y - 0.5), 1, 1, color=colour, alpha=shade, linewidth=0))
                frame = {"edgecolor": INK if same else "#c9ced4", "linewidth": 1.8 if same else 0.8}
                axis.add_patch(Rectangle((x - 0.46, y - 0.44), 0.92, 0.88, facecolor="none", **frame))
                weight = "bold" if same else "normal"
                axis.text(x, y, str(count), ha="center", va="center", fontsize=13, fontweight=weight)
        _rows(axis, [f"expert: {label} ({gate.recall[label][1]})" for label in rows])
        axis.set_xticks(range(3), [f"judge: {label}" for label in JUDGE_LABELS])
        axis.xaxis.tick_top()
        axis.tick_params(axis="x", length=0)
        axis.spines[:].set_visible(False)
        axis.set_xlim(-0.5, 2.5)
        said = "; ".join(
            f"expert {label}: " + ", ".join(f"judge {j} {gate.matrix.get((label, j), 0)}" for j in JUDGE_LABELS)
            for label in rows
        )
        return drawing.html(
            f"Judge against expert: {gate.agreed} of {gate.n} alike (n = {gate.n} answers)",
            f"{gate.agreed} of {gate.n} labels are alike, state {gate.state}. {said}.",
            "Framed in bold: both say the same. Orange: they differ."
            + (f" {plural(gate.dropped, 'answer')} without both labels not shown." if gate.dropped else ""),
        )


# -- week 2 ------------------------------------------------------------------------------------------------------------


def risk_coverage(sweep: Sweep) -> Html:
    """What declining more would do: wrong among the answered against the share answered, and the chosen threshold."""
    drawn = [p for p in sweep.points if p.risk is not None]
    if not drawn or sweep.always is None:
        return _no_picture(sweep.words)
    always, taken = sweep.always, sweep.candidate
    verdict = "no useful threshold"
    if taken is not None and taken.threshold is None:
        verdict = "none is needed"
    elif sweep.chosen is not None:
        verdict = f"decline under {sweep.chosen:.4f}"
    with _Drawing(3.6) as drawing:
        axis = drawing.axes[0]
        drawn.sort(key=lambda p: (p.answered, p.wrong))
        axis.plot([p.coverage for p in drawn], [p.risk for p in drawn], color="#0072b2", linewidth=1.8)
        _mark(axis, always, f"always answer: {always.wrong} of {always.answered} wrong", "o", "#d55e00")
        if taken is not None and taken.threshold is not None and taken.answered:
            word = "chosen" if sweep.chosen is not None else "best by the rule, no proven gain"
            text = f"{word}: under {taken.threshold:.4f} decline\n{taken.wrong} of {taken.answered} wrong"
            _mark(axis, taken, text, "D", INK)
        axis.set_xlabel(f"share of the {always.n} questions that is answered")
        axis.set_ylabel("wrong among those answered")
        axis.set_xlim(0, 1.02)
        high = max([p.risk or 0 for p in drawn] + [(wilson(always.wrong, always.answered) or (0, 0))[1]])
        axis.set_ylim(0, min(1.0, high * 1.3 + 0.02))
        axis.xaxis.set_major_formatter(lambda v, _: f"{100 * v:.0f} %")
        axis.yaxis.set_major_formatter(lambda v, _: f"{100 * v:.0f} %")
        axis.grid(color=FAINT)
        return drawing.html(
            f"Decline threshold: {verdict} (n = {always.n} questions)",
            f"{verdict}. Always answering: {always.wrong} of {always.answered} answered are wrong. {sweep.words}",
            f"To the left the system declines more. Vertical lines: 95 % intervals. {sweep.words}",
        )


def _mark(axis: Any, point: Point, text: str, marker: str, colour: str) -> None:
    span = wilson(point.wrong, point.answered)
    if span is not None:
        axis.plot([point.coverage] * 2, list(span), color=colour, linewidth=1.6)
    axis.plot(point.coverage, point.risk, marker, color=colour, markersize=8, zorder=5)
    right = point.coverage > 0.5
    place = {"xytext": (-8 if right else 8, 10), "textcoords": "offset points", "ha": "right" if right else "left"}
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.9}
    axis.annotate(text, (point.coverage, point.risk), fontsize=9, color=colour, va="bottom", bbox=box, zorder=6, **place)


def changes(tried: Sequence[Tried]) -> Html:
    """The score before and after each change, with intervals and the verdict."""
    seen = [t for t in tried if t.comparison.before.n]
    if not seen:
        return _no_picture("Changes: none was tried.")
    with _Drawing(1.2 + 0.95 * len(seen)) as drawing:
        axis, lines = drawing.axes[0], []
        for y, one in enumerate(seen):
            c = one.comparison
            for share, offset, face in ((c.before, -0.16, "white"), (c.after, 0.16, "#0072b2")):
                value = share.value or 0.0
                _interval(axis, y + offset, share.interval, "#0072b2", 1.4)
                axis.plot(value, y + offset, "o", color="#0072b2", markerfacecolor=face, markersize=7.5, zorder=4)
            word = VERDICT.get(c.verdict, (c.verdict, ""))[0]
            moved = "no difference" if c.difference is None else f"{100 * c.difference:+.1f} points"
            if c.interval:
                moved += f" ({100 * c.interval.low:+.1f} to {100 * c.interval.high:+.1f})"
            axis.text(1.04, y - 0.24, word.upper(), va="center", fontsize=9.5, fontweight="bold")
            axis.text(1.04, y + 0.02, moved, va="center", fontsize=9)
            axis.text(1.04, y + 0.28, f"{len(c.fixed)} fixed, {len(c.broken)} broken", va="center", fontsize=9)
            lines.append(
                f"{one.change.name}: {c.measure} {c.before.count} to {c.after.count} of {c.before.n}, {moved}, "
                f"{len(c.fixed)} fixed, {len(c.broken)} broken, {word}"
            )
        _rows(axis, [f"{t.change.name}\n{t.comparison.measure}, n = {t.comparison.before.n}" for t in seen])
        _percent_axis(axis, room=0.5)
        return drawing.html(
            f"What each change did ({plural(len(seen), 'change')})",
            "; ".join(lines) + ".",
            "Open: before. Filled: after. Lines: 95 % intervals of each score; the exact test of the questions that "
            "changed decides, not the overlap. A kept gain was measured on the questions that prompted it: expect less.",
        )

