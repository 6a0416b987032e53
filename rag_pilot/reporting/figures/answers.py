"""Pictures of answers: their labels, why bad ones are bad, and the judge against the expert."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...analysis.causes import Pareto
from ...analysis.intervals import Interval
from ...analysis.shares import COUNTS_ONLY_UNDER, Share
from ...grading.agreement import Gate
from ...records import JUDGE_LABELS, LABELS
from ..html import Html
from ..words import LABEL_ORDER
from .drawing import (
    DARK,
    INK,
    LABEL_LOOK,
    MIDDLE,
    PALE,
    Sheet,
    beside,
    drawing,
    interval,
    no_picture,
    percent_axis,
    rows,
    short,
)
from .wording import Wording


def labels(shares: Mapping[str, Mapping[str, Share]], *, language: str = "en") -> Html:
    """How the answers of each run are labelled, errors and answers without a label included."""
    say, counts = Wording(language), {run: _label_counts(of) for run, of in shares.items()}
    asked = {run: sum(c.values()) for run, c in counts.items()}
    if not any(asked.values()):
        return no_picture(say, say("no_labels"))
    called = {name: say.name("label", name) for name in LABEL_ORDER}
    with drawing(1.05 + 0.72 * len(counts), lang=language) as sheet:
        axis = sheet.axes[0]
        rows(axis, [f"{short(run)}\nn = {say.number(asked[run])}" for run in counts])
        percent_axis(axis, say)
        axis.set_ylim(len(counts) - 0.6, -0.75)
        for y, (run, of) in enumerate(counts.items()):
            _stack(sheet, y, {name: of[name] / (asked[run] or 1) for name in LABEL_ORDER if of[name]})
            _name(sheet, y, {called[name]: of[name] for name in LABEL_ORDER if of[name]}, asked[run], say)
        told = [
            say("labels_run", run=run, n=say.number(asked[run]), counts=_listed(of, called, say))
            for run, of in counts.items()
        ]
        numbers = sorted(set(asked.values()))
        n = say.counted("questions", numbers[0]) if len(numbers) == 1 else ", ".join(map(say.number, numbers))
        return sheet.html(say("labels_title", n=n), "; ".join(told) + ".", say("labels_caption"))


def _label_counts(shares: Mapping[str, Share]) -> dict[str, int]:
    absent = max((s.missing.get("not graded", 0) for s in shares.values()), default=0)
    return {name: shares[name].count if name in shares else 0 for name in LABEL_ORDER[:-1]} | {"not graded": absent}


def _listed(counts: Mapping[str, int], called: Mapping[str, str], say: Wording) -> str:
    given = {called[name]: counts[name] for name in LABEL_ORDER if counts[name]}
    return ", ".join(say("labelled", count=say.number(n), label=name) for name, n in given.items())


def _stack(sheet: Sheet, y: float, widths: Mapping[str, float]) -> None:
    left = 0.0
    for name, width in widths.items():
        fill, hatch = LABEL_LOOK[name]
        edge = "white" if name in DARK else MIDDLE
        sheet.axes[0].barh(
            y, width, left=left, height=0.5, color=fill, hatch=hatch, edgecolor=edge, linewidth=0.8, zorder=2
        )
        left += width


def _name(sheet: Sheet, y: float, counts: Mapping[str, int], asked: int, say: Wording) -> None:
    """The name and count of each part: within it where it is wide enough, else above the bar, neighbours together."""
    texts = [say("labelled", count=say.number(count), label=name) for name, count in counts.items()]
    wide, left, narrow = sheet.share_of_axis(texts), 0.0, list[tuple[str, float]]()
    groups = [narrow]
    for text, needed, count in zip(texts, wide, counts.values(), strict=True):
        share = count / asked
        if share > needed + 0.02:
            box = {"facecolor": "white", "edgecolor": "none", "pad": 1.6, "alpha": 0.95}
            sheet.axes[0].text(left + share / 2, y, text, ha="center", va="center", bbox=box, zorder=5)
            groups.append([])
        else:
            groups[-1].append((text, left + share / 2))
        left += share
    parts = [(", ".join(t for t, _ in g), sum(x for _, x in g) / len(g)) for g in groups if g]
    ends = sheet.share_of_axis([text for text, _ in parts])
    for (text, _), x in zip(parts, _apart([x for _, x in parts], ends), strict=True):
        sheet.axes[0].text(x, y - 0.4, text, ha="left", va="center", zorder=5)


def _apart(centres: Sequence[float], widths: Sequence[float], gap: float = 0.02) -> list[float]:
    """Left ends of texts as near to their centres as they can stand beside each other between 0 and 1."""
    lefts: list[float] = []
    for centre, width in zip(centres, widths, strict=True):
        least = lefts[-1] + widths[len(lefts) - 1] + gap if lefts else 0.0
        lefts.append(max(least, centre - width / 2))
    most = 1.0
    for k in reversed(range(len(lefts))):
        lefts[k] = min(lefts[k], most - widths[k])
        most = lefts[k] - gap
    return lefts


def causes(found: Pareto, *, language: str = "en") -> Html:
    """The causes of bad answers, largest first, with intervals of their shares from 10 bad answers on."""
    say = Wording(language)
    if not found.rows:
        return no_picture(say, say("no_causes") + say.first_read(found.first))
    with drawing(0.75 + 0.42 * len(found.rows), lang=language) as sheet:
        axis = sheet.axes[0]
        called = [say.name("cause", row.cause) for row in found.rows]
        for y, row in enumerate(found.rows):
            fill, hatch = (MIDDLE, "") if y == 0 else ("white", "///")
            axis.barh(y, row.share.count, height=0.58, color=fill, hatch=hatch, edgecolor=MIDDLE, linewidth=0.8)
            span, n = row.share.interval, row.share.n
            if span is not None and n >= COUNTS_ONLY_UNDER:
                interval(axis, y, Interval(span.low * n, span.high * n))
            beside(axis, y, say.share(row.share))
        rows(axis, [short(name, 34) for name in called])
        axis.set_xlim(0, max((row.share.interval or Interval(0, 1)).high * row.share.n for row in found.rows) * 1.02)
        axis.xaxis.set_visible(False)
        axis.spines["bottom"].set_visible(False)
        first, *others = [f"{name}, {say.share(row.share)}" for name, row in zip(called, found.rows, strict=True)]
        return sheet.html(
            say("causes_title", n=say.of(found.known, found.bad)),
            say("causes_alt", first=first, others="".join(f"; {other}" for other in others)),
            say("causes_caption") + say.first_read(found.first) + say.missing(found.rows[0].share.missing),
        )


def confusion(gate: Gate, *, language: str = "en") -> Html:
    """The judge's labels against the expert's, in counts."""
    say = Wording(language)
    if not gate.n:
        return no_picture(say, say("no_pairs"))
    used = [label for label in LABELS if any((label, other) in gate.matrix for other in JUDGE_LABELS)]
    called = {label: say.name("label", label) for label in LABELS}
    with drawing(1.25 + 0.55 * len(used), lang=language) as sheet:
        axis = sheet.axes[0]
        for y, expert in enumerate(used):
            for x, judge in enumerate(JUDGE_LABELS):
                _cell(axis, x, y, gate.matrix.get((expert, judge), 0), max(gate.matrix.values()), expert == judge, say)
        rows(axis, [f"{say('expert', label=called[label])} ({say.number(gate.recall[label][1])})" for label in used])
        axis.set_xticks(range(3), [say("judge", label=called[label]) for label in JUDGE_LABELS])
        axis.xaxis.tick_top()
        axis.tick_params(axis="x", length=0)
        axis.spines[:].set_visible(False)
        axis.set_xlim(-0.5, 2.5)
        said = "; ".join(
            f"{say('expert', label=called[label])} – "
            + ", ".join(f"{say('judge', label=called[j])} {gate.matrix.get((label, j), 0)}" for j in JUDGE_LABELS)
            for label in used
        )
        alike, state = say.of(gate.agreed, gate.n), say.name("gate", gate.state)
        return sheet.html(
            say("confusion_title", alike=alike, n=say.counted("answers", gate.n)),
            say("confusion_alt", alike=alike, state=state, counts=said),
            say("confusion_caption") + say.missing({"pair": gate.dropped}),
        )


def _cell(axis: Any, x: int, y: int, count: int, most: int, same: bool, say: Wording) -> None:
    """A count, the darker the larger, framed where both say the same."""
    from matplotlib.patches import Rectangle

    shade = (0.06 + 0.34 * count / most) if count else 0.0
    axis.add_patch(Rectangle((x - 0.46, y - 0.43), 0.92, 0.86, color=MIDDLE, alpha=shade, linewidth=0))
    edge, width = (INK, 2.2) if same else (PALE, 0.8)
    axis.add_patch(Rectangle((x - 0.46, y - 0.43), 0.92, 0.86, facecolor="none", edgecolor=edge, linewidth=width))
    axis.text(x, y, say.number(count), ha="center", va="center", fontweight="bold" if same else "normal")
