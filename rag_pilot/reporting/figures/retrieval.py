"""Pictures of retrieval: who finds the right document, where not, and why similarity is no measure of it."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence

from ...analysis.measures import Retrieval
from ...analysis.segments import Segment
from ...analysis.shares import COUNTS_ONLY_UNDER, Mean, Share
from ...results import Result
from ..html import Html
from ..words import plural
from .drawing import (
    FAINT,
    INK,
    OTHER_LOOK,
    RETRIEVER_LOOK,
    drawing,
    interval,
    no_picture,
    not_in_it,
    percent_axis,
    rows,
)


def retrieval(results: Mapping[str, Retrieval]) -> Html:
    """Hit@1, Hit@5 and MRR of each retriever, with intervals."""
    if not results or not any(r.hit5.n for r in results.values()):
        return no_picture("Retrieval: no question has a ranking.")
    measures = {
        "Hit@1": "the right document is first",
        "Hit@5": "it is among the first 5",
        "MRR": "mean of 1/rank: 1 if first, 1/2 if second ...",
    }
    n, names, gap = max(r.hit5.n for r in results.values()), list(results), 1.25
    places = [block * (len(names) + gap) + row for block in range(len(measures)) for row in range(len(names))]
    with drawing(0.7 + 0.29 * len(measures) * (len(names) + gap)) as sheet:
        axis = sheet.axes[0]
        for block, (measure, meaning) in enumerate(measures.items()):
            heading = f"{measure}: {meaning}"
            axis.text(0, block * (len(names) + gap) - 0.85, heading, va="center", fontsize=9.5, fontweight="bold")
            for place, name in zip(places[block * len(names) :], names, strict=False):
                value, (colour, _) = _of(results[name], measure), RETRIEVER_LOOK.get(name, OTHER_LOOK)
                axis.barh(place, value.value or 0, color=colour, height=0.78, alpha=0.85)
                interval(axis, place, value.interval)
                axis.text(1.02, place, _short(value), va="center", fontsize=9.5)
        axis.set_yticks(places, names * len(measures))
        axis.set_ylim(places[-1] + 0.6, -1.3)
        axis.tick_params(axis="y", length=0)
        percent_axis(axis, room=0.42)
        alt = "; ".join(
            f"{name}: Hit@1 {r.hit1.text()}, Hit@5 {r.hit5.text()}, MRR {r.mrr.text()}" for name, r in results.items()
        )
        missing = next(iter(results.values())).hit5.missing_text()
        return sheet.html(
            f"Is the right document found? (n = {plural(n, 'question')})",
            f"Share of questions whose document is found, with 95 % intervals. {alt}.",
            "Bars: the share of questions. Thin lines: 95 % intervals; where they overlap widely, the difference "
            f"may be chance.{not_in_it(missing)}",
        )


def _of(result: Retrieval, measure: str) -> Share | Mean:
    by_name: dict[str, Share | Mean] = {"Hit@1": result.hit1, "Hit@5": result.hit5, "MRR": result.mrr}
    return by_name[measure]


def _short(value: Share | Mean) -> str:
    return value.text().removesuffix(f", n = {value.n}") if isinstance(value, Mean) else value.text()


def retrieval_by(segments: Mapping[str, Sequence[Segment]], by: str) -> Html:
    """Hit@5 in each category or language, one column for each retriever."""
    names = sorted({s.name for found in segments.values() for s in found})
    if not names:
        return no_picture(f"Hit@5 by {by}: no question was measured.")
    with drawing(1.1 + 0.36 * len(names), columns=len(segments)) as sheet:
        for axis, (retriever, found) in zip(sheet.axes, segments.items(), strict=True):
            colour, marker = RETRIEVER_LOOK.get(retriever, OTHER_LOOK)
            rows(axis, names)
            percent_axis(axis, room=0.45)
            axis.set_xticks([0, 0.5, 1], ["0", "50", "100 %"])
            for segment in found:
                y, share = names.index(segment.name), segment.share
                if share.n >= COUNTS_ONLY_UNDER and share.value is not None:
                    interval(axis, y, share.interval, colour)
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
        absent = sum((Counter(s.share.missing) for s in next(iter(segments.values()))), Counter[str]())
        return sheet.html(
            f"Right document among the first 5, by {by} (n = {plural(n, 'question')})",
            f"Hit@5 by {by}. {alt}.",
            f"Points with 95 % intervals; under {COUNTS_ONLY_UNDER} questions only the counts stand there. Few "
            "questions give wide lines: read no ranking into them."
            + (" ▼: shown to be lower than the rest." if worst else " None is shown to be lower than the rest.")
            + not_in_it(Share(0, 0, absent).missing_text()),
        )


def similarities(result: Result) -> Html:
    """The best similarity of questions whose document was found, was missed, or does not exist."""
    names = ("document found", "document missed", "unanswerable")
    groups: dict[str, list[float]] = {name: [] for name in names}
    without = 0
    for question in result.drawn:
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
        return no_picture("Similarities: no answer has one.")
    middles = {name: statistics.median(values) for name, values in groups.items() if values}
    looks = {names[0]: ("#0072b2", "o"), names[1]: ("#d55e00", "x"), names[2]: ("#5f6670", "+")}
    with drawing(3.1) as sheet:
        axis = sheet.axes[0]
        for y, (name, values) in enumerate(groups.items()):
            colour, marker = looks[name]
            spread = [y + 0.27 * (((7 * i) % 19) / 9 - 1) for i in range(len(values))]
            axis.scatter(sorted(values), spread, s=16, marker=marker, color=colour, alpha=0.65, linewidths=1.1)
            if values:
                axis.plot([middles[name]] * 2, [y - 0.4, y + 0.4], color=INK, linewidth=2)
                axis.text(middles[name], y - 0.42, f"median {middles[name]:.2f}", ha="center", va="bottom", fontsize=9)
        rows(axis, [f"{name}\nn = {len(values)}" for name, values in groups.items()])
        axis.set_ylim(2.5, -0.75)
        axis.set_xlabel("best cosine similarity of question and passage")
        axis.grid(axis="x", color=FAINT)
        others = groups[names[1]] + groups[names[2]]
        above = sum(v >= middles.get(names[0], 2.0) for v in others)
        said = ", ".join(
            f"{name} median {middles[name]:.2f} (n = {len(values)})" for name, values in groups.items() if values
        )
        trap = (
            f"{above} of {len(others)} questions without their document score at or above the median of those with it"
        )
        return sheet.html(
            f"The best passage's similarity is no quality measure (n = {sum(map(len, groups.values()))} questions)",
            f"Best similarity: {said}. {trap}.",
            f"{trap}. A high similarity says that texts are alike, not that the answer stands there: never steer by "
            "it, and set no threshold that the question set has not confirmed."
            + (
                f" {plural(without, 'question')} without a similarity or a permitted document not shown."
                if without
                else ""
            ),
        )
