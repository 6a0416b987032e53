"""Tables of what a pilot rests on: its questions, and how well each retriever finds the documents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from statistics import median

from ...analysis.intervals import normal_margin
from ...analysis.measures import Leaks, Retrieval
from ...analysis.segments import for_readers
from ...analysis.shares import Share, percent
from ...audit import Audit
from ...corpus.checks import SIZE, UNANSWERABLE, Finding, summary
from ...corpus.questions import QuestionSet
from ...pilot import Pilot
from ...reading import writing_desk
from ...records import Question
from ..html import NO_DATA, Html, element, listing, note, paragraph, section, table, tag
from ..words import plural

MOST_IDS = 12


def findings(found: Sequence[Finding]) -> Html:
    """What is wrong or weak in the question set, and what to do."""
    rows = [
        (tag(f.severity, {"error": "bad", "warning": "open"}.get(f.severity, "")), f.what, _ids(f.ids), f.what_to_do)
        for f in found
    ]
    return section(
        paragraph(
            element("strong", f"{summary(found)}. "),
            "Errors make numbers wrong: mend them first. Warnings make them weaker." if found else "Nothing was found.",
        ),
        table("Check of the question set", ("Weight", "What", "Questions", "What to do"), rows) if rows else None,
    )


def _ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - MOST_IDS} more" if len(ids) > MOST_IDS else ""
    return ", ".join(ids[:MOST_IDS]) + more if ids else "–"


def composition(questions: Sequence[Question], closed: Callable[[Question], str] = lambda _: "") -> Html:
    """How many questions of which category and language, and how many cannot be answered.

    `closed` (`Pilot.closed_to_readers`) says which groups a question needs: a category or source that stands on such
    questions only is not named.
    """
    named = [for_readers(key, questions, closed) for key in (lambda q: (q.category,), lambda q: (q.source,))]
    left_out = len(questions.left_out) if isinstance(questions, QuestionSet) else 0
    questions = [replace(q, category=min(named[0](q)), source=min(named[1](q))) for q in questions]
    n, none = len(questions), sum(not q.answerable for q in questions)
    languages = sorted({q.lang for q in questions})
    counts = Counter((q.category, q.lang) for q in questions)
    unanswerable = Counter(q.category for q in questions if not q.answerable)
    categories = sorted({q.category for q in questions})
    rows = [
        (
            c or "(none)",
            *(counts[c, lang] for lang in languages),
            sum(counts[c, lang] for lang in languages),
            unanswerable[c],
        )
        for c in categories
    ]
    sums = [sum(counts[c, lang] for c in categories) for lang in languages]
    head = ("Category", *(lang or "(no language)" for lang in languages), "All", "Of these unanswerable")
    sources = ", ".join(f"{s or 'not named'} {k}" for s, k in sorted(Counter(q.source for q in questions).items()))
    return section(
        listing(_size(n, none, left_out)),
        table("Questions by category and language", head, [*rows, ("All", *sums, n, none)] if n else [], total=True),
        note(f"Sources: {sources}.") if n else None,
    )


def writing(pilot: Pilot) -> Html:
    """How many questions are written, what is left to do before the set can be used, and how long one takes."""
    desk = writing_desk(pilot)
    counts, took = desk.counts(), desk.file.seconds()
    left = counts["undecided"] + counts["incomplete"]
    rows = [
        ("Complete", counts["complete"]),
        ("Not decided: can the documents answer it?", counts["undecided"]),
        ("Decided, but not complete", counts["incomplete"]),
        ("All", len(desk.rows)),
    ]
    closed = counts["hidden"]
    return section(
        table("Questions written", ("State", "Questions"), rows, total=True),
        note(f"Median time per question: {median(took):.0f} s ({plural(len(took), 'save')}).") if took else None,
        note(
            f"{plural(closed, 'question')} not shown in the form: its author may not open their document, or it was "
            "not read."
        )
        if closed
        else None,
        "Questions that are not decided are left out of the set until they are." if left else None,
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
        *(
            [f"{plural(left_out, 'question')} left out: nobody has said whether they can be answered."]
            if left_out
            else []
        ),
    ]


def retrievers(
    results: Mapping[str, Retrieval], leaks: Mapping[str, Leaks], audits: Mapping[str, Audit] | None = None
) -> Html:
    """Hit@1, Hit@5, MRR, recall@5, nDCG@10, leaks and leak audit of each retriever."""
    audits = audits or {}
    rows = [
        (
            name,
            r.hit1,
            r.hit5,
            r.mrr,
            r.recall5,
            r.ndcg10,
            _leaking(leaks[name].share) if name in leaks else None,
            *([_audited(audits[name]) if name in audits else None] if audits else []),
        )
        for name, r in results.items()
    ]
    absent = sorted({r.hit5.missing_text() for r in results.values()} - {""})
    head = ("Retriever", "Hit@1", "Hit@5", "MRR", "Recall@5", "nDCG@10", "Leaks", *(["Leak audit"] if audits else []))
    return section(
        table("How well each retriever finds the right document", head, rows),
        note(
            "Hit@5: the right document is among the first five. MRR: 1 if it is first, 1/2 if second, and so on. "
            "Recall@5: share of all accepted documents. nDCG@10: how high they stand among the first ten documents "
            "shown, 1 at best. In brackets: 95 % intervals. A leak is a question for which a "
            "passage that the asker may not open reached a list: one is too many."
        ),
        note(
            "Leak audit: the same questions asked by those who must not see a restricted document; leaks of all looks "
            "at all stages."
        )
        if audits
        else None,
        note(f"Not in it: {'; '.join(absent)}.") if absent else None,
    )


def _leaking(found: Share) -> Html:
    if not found.n:
        return tag(NO_DATA, "open")
    return tag(f"{found.count} of {found.n}", "bad" if found.count else "good")


def _audited(found: Audit) -> Html:
    return _leaking(Share(sum(leaks.share.count for leaks in found.stages.values()), found.looked_at))


def _state(found: Audit) -> Html:
    if found.questions:
        return tag("leaks", "bad")
    return tag("no leak found", "good") if found.looked_at else tag("not audited", "open")


def leak_audit(found: Audit) -> Html:
    """Stage by stage: of so many looks, how many met something that the asker may not open, and for which questions."""
    leaking, rows = sorted(found.questions), []
    for stage, leaks in found.stages.items():
        missing = leaks.share.missing_text()
        rows.append((stage, _leaking(leaks.share), _ids(sorted(leaks.passages)), *([missing] if missing else [])))
    gaps = any(len(row) > 3 for row in rows)
    if not found.restricted:
        words = "Every document is open to everyone: there is nothing to leak."
    elif leaking:
        words = f"{plural(len(leaking), 'question')} leaked: the run has failed. Mend the stage, then run again."
    elif not found.looked_at:
        words = "No asking came to an end."
    else:
        words = "Nothing reached anybody who may not open it."
    return section(
        paragraph(_state(found), f" {words}"),
        table(
            f"Leak audit over {plural(found.restricted, 'restricted document')}",
            ("Stage", "Leaks", "Questions", *(["Missing"] if gaps else [])),
            [(*row, "none") if gaps and len(row) == 3 else row for row in rows],
        ),
        note(
            "Every question was asked with its asker's groups, and with all groups less those of a restricted document "
            "that its reference names or that a reader of all groups would be shown. No model was asked. Texts leak by "
            "words in a row that stand in nothing which the asker may open. “Filter before ranking” counts askings "
            "that lost a permitted passage to forbidden ones."
        ),
    )
