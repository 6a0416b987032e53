"""Tables of the parts of a question set: what retrieval found in each, how its answers were labelled, why declined."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...analysis.segments import FOUND, GIVEN, OTHER_REASON, UNREAD, Row
from ...analysis.shares import COUNTS_ONLY_UNDER, MEANS_FROM, PERCENT_FROM, Share
from ...records import DECLINE_REASONS, LABELS
from ...results import Result
from ...scores import NAMES, VALIDATED
from ..html import NOT_MEASURED, Html, element, join, note, section, table, tag, whole
from ..words import DECLINE, plural

OPEN = ("category", "language")
"""Parts that are shown at once; the others when they are clicked on."""


def retrieval_segments(result: Result) -> Html:
    """Hit@1, Hit@5, MRR, recall@5 and leaks of each part, over answerable questions that the asker may see."""
    return _by_key(result, lambda rows: [_of_parts("Right document found", FOUND, rows)], scored=False)


def segments(result: Result) -> Html:
    """Labels, declines with their reasons, uncited sentences and scores of each part."""

    def of_answers(rows: Sequence[Row]) -> list[Html]:
        labels = [name for name in (*LABELS, "error") if name != "error" or _counted(rows[0], name)]
        reasons = [name for name in (*DECLINE_REASONS, OTHER_REASON) if _counted(rows[0], name)]
        return [
            _of_parts("Labels", labels, rows),
            _of_parts("Answered or declined", GIVEN, rows),
            *([_of_parts("Why declined, of the declines", reasons, rows)] if reasons else []),
            _of_parts("What the answers rest on", NAMES, rows),
        ]

    unread = len(result.drawn) - len(result.counted)
    judged = sum(g.by == "judge" for g in result.counted.values())
    read = f"Labels are over the first {len(result.counted)} questions of the order, those up to the last answer read."
    return section(
        note(f"{read} The other {unread} stand as “{UNREAD}”: the judge is not admitted.") if unread else None,
        note(f"{plural(judged, 'label')} of the admitted judge at its word; the score, above, allows for its errors.")
        if judged
        else None,
        _by_key(result, of_answers, scored=True),
    )


def _counted(row: Row, name: str) -> bool:
    value = row.values[name]
    return isinstance(value, Share) and value.count > 0


def _by_key(result: Result, tables: Callable[[Sequence[Row]], list[Html]], *, scored: bool) -> Html:
    shown, alone, lower = [], [], False
    for key in result.segments:
        total, *parts = rows = result.measures_by(key, scored=scored)
        if len(parts) < 2:
            alone.append(f"{key} ({parts[0].part if parts else 'no question'})")
            continue
        lower = lower or any(row.worst for row in parts)
        state = {"open": ""} if key in OPEN else {}
        heading = element("summary", element("strong", f"By {key}"), f": {len(parts)} parts")
        shown.append(element("details", heading, *tables(rows), **state))
    return section(
        *shown,
        note(f"Of one part only, so not shown: {', '.join(alone)}.") if alone else None,
        note(
            "At this set's mix, by name. In brackets: 95 % intervals. "
            f"Under {COUNTS_ONLY_UNDER} questions only counts, under {PERCENT_FROM} no percentage and no rank, under "
            f"{MEANS_FROM} no interval of a mean: few questions swing by chance. A question counts in each group of "
            "its asker. " + ("" if lower else "No part is shown to be lower than the rest.")
        ),
    )


def _of_parts(caption: str, names: Sequence[str], rows: Sequence[Row]) -> Html:
    lines = [(row.part, row.questions, *(_value(row, name) for name in names), _missing(row, names)) for row in rows]
    gaps = any(line[-1] for line in lines)
    head = ("Part", "Questions", *(_heading(name) for name in names), *(["Not in it"] if gaps else []))
    return table(caption, head, [(*line[:-1], line[-1] or "none") if gaps else line[:-1] for line in lines])


def _heading(name: str) -> str:
    unvalidated = " (unvalidated)" if name in NAMES and name not in VALIDATED else ""
    return DECLINE.get(name, name) + unvalidated


def _value(row: Row, name: str) -> Html | str:
    """A value that is broken over lines before its interval only."""
    value = row.values.get(name)
    if value is None:
        return NOT_MEASURED
    counts, bracket, interval = value.text().partition(" (")
    said = [whole(counts), *([" ", whole(f"({interval}")] if bracket else [])]
    return join([*said, *([element("br"), tag("lower than the rest", "bad")] if name in row.worst else [])])


def _missing(row: Row, names: Sequence[str]) -> Html | str:
    """What is missing from the measures of a part, once of those from which the same is."""
    alike: dict[str, list[str]] = {}
    for name in names:
        value = row.values.get(name)
        alike.setdefault(value.missing_text() if value is not None else "", []).append(name)
    of_all = [*alike.pop("", [])]
    texts = []
    for text, those in alike.items():
        but = f"all but {', '.join(of_all)}" if len(alike) == 1 and len(of_all) < len(those) else ", ".join(those)
        texts.append(text if len(those) == len(names) else f"{but}: {text}")
    return element("small", "; ".join(texts)) if texts else ""
