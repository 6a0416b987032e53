"""Tables of an index: what it was built from, and whether it still finds what the accepted one found."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from ...analysis.shares import Share
from ...building import Built
from ...reindex import ACCEPTED, FIRST, REFUSED, UNCHANGED, Reindexed
from ..html import Html, element, facts, note, paragraph, section, tag
from ..words import plural


def index(built: Built) -> Html:
    """What the index was built from, and whether it was reused."""
    m, passages = built.manifest, list(built.passages.values())
    what = "nothing had changed" if built.state == "reused" else f"{plural(built.embedded, 'vector')} computed anew"
    open_to_nobody = sum(not built.groups.get(p.id) for p in passages)
    rows = [
        ("Documents", len(m.documents)),
        ("Passages", len(passages)),
        ("Tokens in a passage", _lengths([p.tokens for p in passages if p.tokens])),
        ("Words in a passage", _lengths([len(p.text.split()) for p in passages])),
        ("Passages that nobody may open", open_to_nobody),
        ("Passages without a word to search by", int((built.index.parts.postings.lengths == 0).sum())),
        ("Cut to", ", ".join(f"{name} {value}" for name, value in m.passages.items() if name != "version")),
        ("Embedding model", m.model or "none: keywords alone"),
        ("Revision, dimension, precision", f"{m.revision[:12] or 'not known'}, {m.dimension}, {m.precision}")
        if m.model
        else None,
        ("Prefixes of question and passage", " / ".join(p.strip() or "none" for p in m.prefixes)) if m.model else None,
        ("Beyond the model's window, so not embedded", f"{m.beyond:.1%} of the tokens" if m.dimension else "no model"),
        ("Words are cut for", m.tokeniser),
        ("Built", m.built or "not recorded"),
        ("Fingerprint", element("code", m.fingerprint)),
    ]
    return section(
        paragraph(tag(built.state, "good"), f" {what}."),
        facts("The index", [row for row in rows if row]),
        note("Who may open a passage is not stored in the index: it is read from the access files at every search."),
    )


def _lengths(sizes: Sequence[int]) -> str:
    return f"{min(sizes)} to {max(sizes)}, half under {median(sizes):.0f}" if sizes else "not counted"


def reindexed(found: Reindexed) -> Html:
    """Whether the index is accepted: Hit@5 before and after, questions lost and gained, what to do if refused."""
    state = tag(found.state, "bad" if found.state == REFUSED else "good")
    if found.state == FIRST:
        return section(paragraph(state, f" The next index is compared with it{_on(found.not_compared)}."))
    words = {
        UNCHANGED: "It is this very index"
        + ("; who may open what has changed." if found.lost or found.gained else "."),
        ACCEPTED: "The next index is compared with this one.",
        REFUSED: f"{found.remedy}.",
    }
    rows = [
        ("Hit@5 before", Share(found.before, found.compared)),
        ("Hit@5 now", Share(found.after, found.compared)),
        ("Lost", ", ".join(found.lost) or "none"),
        ("Gained", ", ".join(found.gained) or "none"),
        ("New or changed, not compared", found.not_compared),
    ]
    return section(paragraph(state, f" {words[found.state]}"), facts("Right document among the first five", rows))


def _on(questions: int) -> str:
    return (
        f" on {plural(questions, 'question')}, and on those added until then"
        if questions
        else " once there are questions"
    )
