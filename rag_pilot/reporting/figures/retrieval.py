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
from .drawing import (
    FAINT,
    INK,
    MIDDLE,
    OTHER_MARKER,
    RETRIEVER_LOOK,
    beside,
    drawing,
    interval,
    no_picture,
    percent_axis,
    point,
    rows,
    short,
)
from .wording import Wording

PIXELS_FROM = 1000  # points of a group, above which they are drawn as pixels, so that no page gets heavy


def retrieval(results: Mapping[str, Retrieval], *, language: str = "en") -> Html:
    """Hit@1, Hit@5 and MRR of each retriever or run, with intervals."""
    say = Wording(language)
    if not any(r.hit5.n for r in results.values()):
        return no_picture(say, say("no_ranking"))
    n, names, gap = max(r.hit5.n for r in results.values()), list(results), 1.3
    measures = ("hit1", "hit5", "mrr")
    with drawing(0.75 + 0.29 * len(measures) * (len(names) + gap), lang=language) as sheet:
        axis, places = sheet.axes[0], []
        for block, measure in enumerate(measures):
            top = block * (len(names) + gap)
            axis.text(0, top - 0.9, say(f"{measure}_means"), va="center", fontweight="bold")
            for place, name in enumerate(names):
                value: Share | Mean = getattr(results[name], measure)
                colour, marker = RETRIEVER_LOOK.get(name, (MIDDLE, OTHER_MARKER))
                interval(axis, top + place, value.interval if _enough(value) else None)
                if value.value is not None:
                    hollow = name not in RETRIEVER_LOOK and name != names[-1]  # of runs the last one is filled
                    point(axis, value.value, top + place, colour, marker, hollow)
                beside(axis, top + place, say.share(value) if isinstance(value, Share) else say.mean(value))
                places.append(top + place)
        rows(axis, names)
        axis.set_yticks(places, [short(say.name("retriever", name)) for name in names] * len(measures))
        axis.set_ylim(places[-1] + 0.6, -1.4)
        percent_axis(axis, say)
        return sheet.html(
            say("retrieval_title", n=say.counted("questions", n)),
            _found(results, say),
            say("retrieval_caption") + say.missing(next(iter(results.values())).hit5.missing),
        )


def _enough(value: Share | Mean) -> bool:
    return isinstance(value, Mean) or value.n >= COUNTS_ONLY_UNDER


def _found(results: Mapping[str, Retrieval], say: Wording) -> str:
    """The finding: who finds most, and how often the others do."""
    order = sorted(results, key=lambda name: -(results[name].hit5.value or 0.0))
    called = {name: say.name("retriever", name) for name in order}
    return say(
        "retrieval_alt" if len(order) > 1 else "retrieval_alt_one",
        best=called[order[0]],
        share=say.share(results[order[0]].hit5),
        others="".join(f"; {called[name]} {say.share(results[name].hit5)}" for name in order[1:]),
        first=", ".join(f"{called[name]} {say.share(results[name].hit1)}" for name in order),
        mrr=", ".join(f"{called[name]} {say.mean(results[name].mrr)}" for name in order),
    )


def retrieval_by(segments: Mapping[str, Sequence[Segment]], by: str, *, language: str = "en") -> Html:
    """Hit@5 in each category or language, one column for each retriever."""
    say = Wording(language)
    names, what = sorted({s.name for found in segments.values() for s in found}), say.name("by", by)
    if not names:
        return no_picture(say, say("no_segment", by=what))
    with drawing(1.15 + 0.38 * len(names), columns=len(segments), lang=language) as sheet:
        for axis, (retriever, found) in zip(sheet.axes, segments.items(), strict=True):
            colour, marker = RETRIEVER_LOOK.get(retriever, (MIDDLE, OTHER_MARKER))
            rows(axis, [short(name, 18) for name in names])
            percent_axis(axis, say, parts=2)
            for segment in found:
                y, share = names.index(segment.name), segment.share
                if share.n >= COUNTS_ONLY_UNDER and share.value is not None:
                    interval(axis, y, share.interval)
                    point(axis, share.value, y, colour, marker)
                text = say.of(share.count, share.n) if share.n else say("no_data")
                beside(axis, y, text + (" ▼" if segment.worst else ""))
            axis.set_title(short(say.name("retriever", retriever), 18))
        n = max(sum(s.share.n for s in found) for found in segments.values())
        absent = sum((Counter(s.share.missing) for s in next(iter(segments.values()))), Counter[str]())
        low = _lower(segments, say)
        counts = "; ".join(
            f"{say.name('retriever', retriever)}: "
            + ", ".join(f"{s.name} {say.of(s.share.count, s.share.n)}" for s in found)
            for retriever, found in segments.items()
        )
        return sheet.html(
            say("segments_title", by=what, n=say.counted("questions", n)),
            f"{low} {say('segments_alt', by=what, counts=counts)}",
            f"{say('segments_caption', few=COUNTS_ONLY_UNDER)} {low}{say.missing(absent)}",
        )


def _lower(segments: Mapping[str, Sequence[Segment]], say: Wording) -> str:
    worst = [
        f"{s.name} ({say.name('retriever', retriever)}, {say.of(s.share.count, s.share.n)})"
        for retriever, found in segments.items()
        for s in found
        if s.worst
    ]
    return say("segments_worst", names=", ".join(worst)) if worst else say("segments_none")


def similarities(result: Result, *, language: str = "en") -> Html:
    """The best similarity of questions whose document was found, was missed, or does not exist."""
    say, markers = Wording(language), {"found": "o", "missed": "x", "unanswerable": "+"}
    groups: dict[str, list[float]] = {name: [] for name in markers}
    without, ranks = 0, result.retrieval.ranks
    for question in result.drawn:
        best = result.run.answers[question.id].similarity
        if best is None or question.answerable and question.id not in ranks:
            without += 1
        elif not question.answerable:
            groups["unanswerable"].append(best)
        else:
            groups["missed" if ranks[question.id] is None else "found"].append(best)
    if not any(groups.values()):
        return no_picture(say, say("no_similarity"))
    called = {name: say(f"document_{name}") for name in groups}
    middles = {name: statistics.median(values) for name, values in groups.items() if values}
    with drawing(2.9, lang=language) as sheet:
        axis = sheet.axes[0]
        for y, (name, values) in enumerate(groups.items()):
            spread = [y + 0.27 * (((7 * i) % 19) / 9 - 1) for i in range(len(values))]
            pixels = len(values) > PIXELS_FROM
            face = {"facecolors": "none"} if markers[name] == "o" else {}
            axis.scatter(
                sorted(values),
                spread,
                s=18,
                marker=markers[name],
                edgecolors=MIDDLE if face else None,
                color=None if face else MIDDLE,
                linewidths=1.1,
                rasterized=pixels,
                **face,
            )
            if values:
                axis.plot([middles[name]] * 2, [y - 0.4, y + 0.4], color=INK, linewidth=2.4)
                beside(axis, y, say("median", value=say.number(middles[name], 2)))
        rows(axis, [f"{called[name]}\nn = {say.number(len(values))}" for name, values in groups.items()])
        axis.set_xlabel(say("similarity_axis"))
        axis.xaxis.set_major_formatter(lambda v, _: say.number(v, 1))
        axis.xaxis.get_major_locator().set_params(steps=[1, 2, 5, 10], min_n_ticks=2)
        axis.grid(axis="x", color=FAINT)
        others = groups["missed"] + groups["unanswerable"]
        above = sum(v >= middles.get("found", 2.0) for v in others)
        trap = say("similarity_trap", above=say.of(above, len(others)))
        said = ", ".join(
            f"{called[name]} {say('median', value=say.number(middles[name], 2))} (n = {say.number(len(values))})"
            for name, values in groups.items()
            if values
        )
        return sheet.html(
            say("similarity_title", n=say.counted("questions", sum(map(len, groups.values())))),
            f"{trap} {say('similarity_alt', medians=said)}",
            f"{trap} {say('similarity_caption')}" + say.missing({"no similarity": without}),
        )
