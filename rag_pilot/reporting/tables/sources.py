"""Tables of what a pilot rests on: questions, documents, index, and how well each retriever finds the documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from datetime import date
from pathlib import PurePosixPath
from statistics import median
from typing import TYPE_CHECKING

from ...analysis.intervals import normal_margin
from ...analysis.measures import Leaks, Retrieval, Segment
from ...analysis.shares import COUNTS_ONLY_UNDER, PERCENT_FROM, percent
from ...corpus.documents import Documents
from ...corpus.questions import SIZE, UNANSWERABLE, Finding, QuestionSet
from ...records import Document, Question
from ..html import Html, element, listing, note, paragraph, section, table, tag
from ..words import plural

if TYPE_CHECKING:
    from ...pilot import Built

MOST_IDS = 12


def findings(found: Sequence[Finding]) -> Html:
    """What is wrong or weak in the question set, and what to do."""
    errors = sum(f.severity == "error" for f in found)
    rows = [(tag(f.severity, "bad" if f.severity == "error" else "open"), f.what, _ids(f.ids), f.what_to_do) for f in found]
    return section(
        paragraph(
            element(
                "strong",
                f"{plural(errors, 'error')}, {plural(len(found) - errors, 'warning')}. ",
            ),
            "Errors make numbers wrong: mend them first. Warnings make them weaker." if found else "Nothing was found.",
        ),
        table("Check of the question set", ("Weight", "What", "Questions", "What to do"), rows) if rows else None,
    )


def _ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MOST_IDS} more" if len(ids) > MOST_IDS else ""
    return ", ".join(ids[:MOST_IDS]) + more if ids else "–"


def composition(questions: Sequence[Question]) -> Html:
    """How many questions of which category and language, and how many cannot be answered."""
    n, none = len(questions), sum(not q.answerable for q in questions)
    languages = sorted({q.lang for q in questions})
    counts = Counter((q.category, q.lang) for q in questions)
    closed = Counter(q.category for q in questions if not q.answerable)
    categories = sorted({q.category for q in questions})
    rows = [
        (c or "(none)", *(counts[c, lang] for lang in languages), sum(counts[c, lang] for lang in languages), closed[c])
        for c in categories
    ]
    sums = [sum(counts[c, lang] for c in categories) for lang in languages]
    head = ("Category", *(lang or "(no language)" for lang in languages), "All", "Of these unanswerable")
    left_out = len(questions.left_out) if isinstance(questions, QuestionSet) else 0
    sources = ", ".join(f"{s or 'not named'} {k}" for s, k in sorted(Counter(q.source for q in questions).items()))
    return section(
        listing(_size(n, none, left_out)),
        table("Questions by category and language", head, [*rows, ("All", *sums, n, none)] if n else [], total=True),
        note(f"Sources: {sources}.") if n else None,
    )


def _size(n: int, none: int, left_out: int) -> list[str]:
    if not n:
        return ["No questions yet."]
    (fewest, most), (low, high) = SIZE, UNANSWERABLE
    margin = normal_margin(0.8, n) or 0.0
    size = "as planned" if fewest <= n <= most else "too few for a verdict" if n < fewest else "more than are needed"
    share = "as planned" if low <= none / n <= high else "outside the plan"
    return [
        f"{plural(n, 'question')}; a pilot asks {fewest} to {most}: {size}.",
        f"At 80 % right, {n} questions leave a margin of about {100 * margin:.1f} points either way, all answers read.",
        f"{none} of {n} ({percent(none / n)} %) cannot be answered from the documents; "
        f"planned are {percent(low)} to {percent(high)} %: {share}.",
        *([f"{plural(left_out, 'question')} left out: nobody has said whether they can be answered."] if left_out else []),
    ]


def documents(
    found: Documents, today: date, readers: Collection[str] = frozenset(), everyone: str | None = None
) -> Html:
    """What was read, what was refused and why, and what is out of date.

    Out-of-date documents are named only where `readers` may open them; the others are counted by owner.
    """
    docs = found.documents
    if not docs and not found.skipped:
        return section("No document was found.")
    stale = [d for d in docs if d.review_by and d.review_by < today.isoformat()]
    undated = sum(not d.review_by for d in docs)
    parts: list[object] = [
        paragraph(
            element("strong", f"{len(docs)} of {plural(len(docs) + len(found.skipped), 'file')} read. "),
            f"{len(found.skipped)} refused, {len(stale)} out of date on {today.isoformat()}, {undated} with no review date.",
        ),
        table("Languages and formats", ("", "Documents"), _kinds(docs)),
        table("Who may open them", ("Group", "Documents"), _groups(docs, everyone)),
        table("Refused files", ("File", "Why"), [(s.path, s.reason) for s in found.skipped], empty="none"),
        table(
            "Out of date",
            ("Document", "Owner", "Updated", "Review was due"),
            [_stale(d, frozenset(readers)) for d in stale],
            empty="none",
        ),
        listing(found.notes) if found.notes else None,
    ]
    return section(*parts)


def _kinds(docs: Sequence[Document]) -> list[tuple[object, ...]]:
    langs = Counter(d.lang or "language not known" for d in docs)
    kinds = Counter(PurePosixPath(d.path).suffix.lower() or "no ending" for d in docs)
    return [*sorted(langs.items()), *sorted(kinds.items())]


def _groups(docs: Sequence[Document], everyone: str | None) -> list[tuple[object, ...]]:
    counts = Counter(group for d in docs for group in d.groups)
    rows: list[tuple[object, ...]] = list(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
    if everyone:
        rows.append((f"restricted (not for {everyone})", sum(everyone not in d.groups for d in docs)))
    return rows


def _stale(document: Document, readers: frozenset[str]) -> tuple[object, ...]:
    name = document.title or document.id
    if not document.groups & readers:
        name = f"not shown here (needs {' or '.join(sorted(document.groups))})"
    return name, document.owner or "no owner named", document.updated or "not known", document.review_by


def index(built: Built) -> Html:
    """What the index was built from, and whether it was reused."""
    m, passages = built.manifest, list(built.passages.values())
    tokens = sorted(p.tokens for p in passages if p.tokens)
    lengths = f"{tokens[0]} to {tokens[-1]}, half under {median(tokens):.0f}" if tokens else "not counted"
    what = "nothing had changed" if built.state == "reused" else f"{plural(built.embedded, 'vector')} computed anew"
    open_to_nobody = sum(not built.groups.get(p.id) for p in passages)
    rows = [
        ("Documents", len(m.documents)),
        ("Passages", len(passages)),
        ("Tokens in a passage", lengths),
        ("Passages that nobody may open", open_to_nobody),
        ("Embedding model", m.model),
        ("Prefixes of question and passage", " / ".join(p.strip() or "none" for p in m.prefixes)),
        ("Words are cut for", m.tokeniser),
        ("Built", m.built or "not recorded"),
        ("Fingerprint", element("code", m.fingerprint)),
    ]
    return section(
        paragraph(tag(built.state, "good"), f" {what}."),
        table("The index", ("", "Value"), rows),
        note("Who may open a passage is not stored in the index: it is read from the access files at every search."),
    )


def retrievers(results: Mapping[str, Retrieval], leaks: Mapping[str, Leaks]) -> Html:
    """Hit@1, Hit@5, MRR, recall@5 and leaks of each retriever."""
    rows = [
        (name, r.hit1, r.hit5, r.mrr, r.recall5, _leaking(leaks[name]) if name in leaks else None)
        for name, r in results.items()
    ]
    absent = sorted({r.hit5.missing_text() for r in results.values()} - {""})
    head = ("Retriever", "Hit@1", "Hit@5", "MRR", "Recall@5", "Leaks")
    return section(
        table("How well each retriever finds the right document", head, rows),
        note(
            "Hit@5: the right document is among the first five. MRR: 1 if it is first, 1/2 if second, and so on. "
            "Recall@5: share of all accepted documents. In brackets: 95 % intervals. A leak is a question for which a "
            "passage that the asker may not open reached a list: one is too many."
        ),
        note(f"Not in it: {'; '.join(absent)}.") if absent else None,
    )


def _leaking(found: Leaks) -> Html:
    return tag(f"{found.share.count} of {found.share.n}", "bad" if found.share.count else "good")


def segments(found: Sequence[Segment], title: str) -> Html:
    """A share by category, language, source or group, by name; 'lower than the rest' only where that is shown."""
    rows = [
        (s.name, s.share, s.share.missing_text() or "none", "lower than the rest" if s.worst else "")
        for s in sorted(found, key=lambda s: s.name)
    ]
    worst = any(s.worst for s in found)
    head = ("Part", "Share", "Missing", "Remark")
    return section(
        table(title, head if worst else head[:3], rows if worst else [r[:3] for r in rows]),
        note(
            f"Under {COUNTS_ONLY_UNDER} questions only counts, under {PERCENT_FROM} no percentage: few questions swing "
            "by chance. " + ("" if worst else "No part is shown to be lower than the rest.")
        ),
    )
