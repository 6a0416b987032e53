"""Table of the second person who read some of the expert's answers."""

from __future__ import annotations

from ...analysis.intervals import wilson
from ...analysis.shares import percent
from ...records import Label
from ...results import Result
from ...second import READS, second_reading
from ..html import Html, element, join, note, paragraph, section, table
from ..words import cause_name, plural


def second_reader(result: Result) -> Html:
    """How far two people agree on the answers that both read, and what they label differently; or how to have one."""
    found, main = second_reading(result), result.settings.pilot.annotator
    if not found.pairs:
        return section(
            paragraph(
                "No second person has read any of these answers. To have one read "
                f"{plural(len(found.drawn) or READS, 'answer')}, blind, call ",
                element("code", 'second_form(result, annotator="her name")'),
                f" in notebook 05, once the first {result.settings.pilot.labels} are labelled.",
            )
        )
    n = len(found.pairs)
    interval, kappa = wilson(found.agreed, n), found.kappa
    bounds = f" ({percent(interval.low)}-{percent(interval.high)} %)" if interval else ""
    beyond = "undefined: one of them used one label only" if kappa is None else f"{kappa:.2f}"
    who = ", ".join(sorted({other.annotator for _, other in found.pairs.values()}))
    rows = []
    for question in found.differing:
        first, other = found.pairs[question]
        last = found.settled.get(question)
        hidden = result.hidden(question)
        rows.append(
            (
                question,
                f"not shown: the reader needs {hidden}" if hidden else result.by_id[question].question,
                _said(first, hidden),
                _said(other, hidden),
                _said(last, hidden) if last else "not yet",
            )
        )
    left = sum(question not in found.settled for question in found.differing)
    return section(
        paragraph(
            element("strong", f"{main} and {who} agree on {found.agreed} of {plural(n, 'answer')}{bounds}"),
            f"; beyond chance (kappa): {beyond}.",
        ),
        table(
            "Labelled differently",
            ("Id", "Question", main, who, "Settled as"),
            rows,
            empty="none",
        ),
        note(
            f"{plural(left, 'answer')} to settle together: settling_form(result) in notebook 05. Until then {main}'s "
            "label counts."
        )
        if left
        else None,
    )


def _said(label: Label, hidden: str) -> Html:
    """A label with its cause, and her note where the page's readers may see the answer."""
    parts: list[object] = [label.label or ""]
    for extra in (cause_name(label.cause) if label.cause else "", "" if hidden else label.note):
        parts += [element("br"), element("small", extra)] if extra else []
    return join(parts)
