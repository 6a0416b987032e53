"""The table of what labels say of the question set, and what became of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...amending import STATES, Amendment
from ..html import Html, element, join, listing, note, paragraph, section, table, tag
from ..words import plural

WHAT = {"also": "another document answers it too", "expected": "the expected answer is wrong or too narrow"}
KIND = {"pending": "open", "unclear": "bad", "made": "good", "refused": ""}


def amendments(found: Sequence[Amendment]) -> Html:
    """What labels say of the reference, pending first; what the reader may not see is counted by the group needed."""
    shown = sorted((a for a in found if not a.hidden), key=lambda a: STATES.index(a.state))
    hidden = Counter(a.hidden for a in found if a.hidden)
    pending = sum(a.state == "pending" for a in found)
    rows = [
        (
            a.question_id,
            join([tag(a.state, KIND[a.state]), *([element("br"), element("small", _decided(a))] if a.on else [])]),
            a.question,
            a.expected or "nothing: the documents cannot answer it",
            join([element("strong", _what(a)), *(part for said in a.notes for part in (element("br"), said))]),
            ", ".join(a.by),
        )
        for a in shown
    ]
    head = ("Id", "State", "Question", "Expected now", "What the label says", "Label by")
    return section(
        paragraph(element("strong", f"{plural(pending, 'amendment')} of the question set to decide on.")),
        table(f"Amendments ({len(shown)} of {len(found)} shown)", head, rows, empty="no label asks for one"),
        listing(
            f"{plural(k, 'amendment')} not shown: the reader needs {groups}." for groups, k in sorted(hidden.items())
        )
        if hidden
        else None,
        note("A label stays as it was given: it is about the answer’s text.") if found else None,
    )


def _what(amendment: Amendment) -> str:
    if amendment.state == "unclear":
        return "another document answers it too, but what was written names none, or several: write its id, in 05"
    return WHAT[amendment.field] + (f": {amendment.document}" if amendment.document else "")


def _decided(amendment: Amendment) -> str:
    who = f" by {amendment.author}" if amendment.author else ""
    return f"{amendment.on}{who}" + (f": {amendment.why}" if amendment.why else "")
