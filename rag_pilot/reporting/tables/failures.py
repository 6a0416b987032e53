"""Tables of what went wrong: causes, bad answers, what owners must mend, and the trace of one question."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...analysis.causes import Pareto
from ...analysis.shares import COUNTS_ONLY_UNDER
from ...reading import Failure
from ...records import Document
from ...results import Result
from ...tracing import Place, Seen, Trace
from ..html import Html, element, join, link, listing, note, paragraph, section, table, tag
from ..speech import Voice
from ..tasks import Task, owners_tasks
from ..words import MEND, cause_name, first_read, plural

LABEL_TAG = {"wrong": "bad", "partly": "open", "declined": ""}


def pareto(found: Pareto) -> Html:
    """The causes of bad answers, largest first, with their questions and what usually mends each.

    "Format or tone" is never found by rule: only the expert gives it.
    """
    rows = [(cause_name(row.cause), row.share, _ids(row.questions), MEND.get(row.cause, "")) for row in found.rows]
    absent = found.rows[0].share.missing_text() if found.rows else ""
    said = f"The expert named {found.by_expert} of these causes and overruled the rule in {found.overruled}."
    return section(
        paragraph(element("strong", f"{plural(found.bad, 'bad answer')}, {found.known} with a known cause. "), said),
        table(
            f"Causes, largest first{first_read(found.first)}",
            ("Cause", "Bad answers", "Questions", "What usually mends it"),
            rows,
            empty="no bad answer with a known cause",
        ),
        note(UNREAD) if found.first is not None else None,
        note(f"Not in it: {absent}.") if absent else None,
        note(
            f"In brackets, from {COUNTS_ONLY_UNDER} bad answers on: 95 % intervals. “Facts right, format or tone not” "
            "is only ever given by the expert."
        ),
    )


FIRST_IDS = 12
"""So many question ids stand in a cell; the others open on a click."""


def _ids(questions: Sequence[str]) -> Html:
    """The first ids, the rest behind a click."""
    first, rest = ", ".join(questions[:FIRST_IDS]), questions[FIRST_IDS:]
    if not rest:
        return join([first])
    more = element("summary", f"{len(rest)} more")
    return join([first, element("details", more, ", ".join(rest))])


UNREAD = (
    "Not all answers are read, and the judge is not admitted. Rules have labelled every decline, a person only the "
    "first answers of the order: all bad answers that are known would be too many declines. They are listed, and not "
    "counted here."
)


def failures(found: Sequence[Failure]) -> Html:
    """Bad answers: what was expected and what came; those the reader may not see are counted by the group needed."""
    shown = [f for f in found if not f.hidden]
    hidden = Counter(f.hidden for f in found if f.hidden)
    rows = [
        (
            f.question_id,
            join([tag(f.label, LABEL_TAG.get(f.label, "")), element("br"), f"by {f.by}"]),
            join([f.question, *([element("br"), element("small", cause_name(f.cause))])]),
            f.expected or "nothing: the documents cannot answer it",
            f.got,
            join([f.doc or "none", *([element("br"), element("small", f.owner)] if f.owner else [])]),
        )
        for f in shown
    ]
    head = ("Id", "Label", "Question and cause", "Expected", "Got", "Document and owner")
    return section(
        table(f"Bad answers ({len(shown)} of {len(found)} shown)", head, rows, empty="none to show"),
        listing(
            f"{plural(k, 'bad answer')} not shown: the reader needs {groups}." for groups, k in sorted(hidden.items())
        )
        if hidden
        else None,
    )


def tasks(result: Result, language: str = "en") -> Html:
    """Documents to mend, by owner: a document and its owner are named, and what is missing told, only to those who may
    open it."""
    say, readers, rows = Voice(language), result.pilot.readers, []
    every = owners_tasks(result)
    for task in every:
        document = result.documents.get(task.document)
        needed = sorted({say.say(lacking) for i, _ in task.questions if (lacking := result.hidden(i))})
        closed = not document.groups & readers if document else bool(needed)
        groups = sorted(document.groups) if document else needed
        any_of = f" {say('or')} ".join(groups)
        name = say("not_shown", groups=any_of) if closed else _named(task.document, document)
        missing = say("not_shown", groups="; ".join(needed)) if needed else _missing(task, result, say)
        if needed and document and not closed and document.id in result.facts.stale:
            missing = say("out_of_date", why=say.say(result.pilot.why_stale(document)))
        ids = ", ".join(i for i, _ in task.questions)
        owner = say("not_named") if closed else task.owner or say("no_owner")
        rows.append((owner, name, len(task.questions), ids, missing))
    n = sum(len(task.questions) for task in every)
    head = [say(key) for key in ("owner", "document", "bad_answers", "questions", "what_is_wrong")]
    return section(
        table(say("documents_to_mend", n=len(rows), bad=n), head, rows, empty=say("none_found")),
        note(say("tasks_note")),
        lang=language,
    )


def _named(name: str, document: Document | None) -> Html:
    """A document by its title, linked where it has an address, its id small; by the id where both say the same."""
    if document is None or document.title.casefold() == name.casefold():
        return join([name])
    return join([link(document.link, document.title), element("br"), element("small", name)])


def _missing(task: Task, result: Result, say: Voice) -> str:
    """What a document lacks, by the causes of the bad answers to which it belongs."""
    details = [say.say(result.causes[i].detail) for i, _ in task.questions]
    if change := result.laid_over.get(task.document):
        details.append(say("mended_for_run", change=change))
    return "; ".join(short(detail.rstrip("."), NOTE_LETTERS) for detail in dict.fromkeys(details))


NOTE_LETTERS = 160
"""So much of an expert's note stands in the table; the owner's page holds the whole."""


def short(text: str, letters: int) -> str:
    """A text, ended by '…' between words where it is longer than so many letters."""
    return text if len(text) <= letters else f"{text[:letters].rsplit(' ', 1)[0].rstrip()} …"


def trace(found: Trace | None) -> Html:
    """Where the expected document of one question stood in every list, and what the model saw."""
    if found is None:
        return section("No bad answer with a known cause can be shown to these readers: there is nothing to trace.")
    if found.hidden:
        return section(
            paragraph(tag("not shown", "open"), f" Question {found.question_id}: the reader needs {found.hidden}."),
            table("Place of the expected document", PLACES, [_place(p, found.quoted) for p in found.places]),
            _lost(found),
        )
    searched = [f"Searched as: {found.searched}"] if found.searched != found.question else []
    if found.not_rewritten:
        searched.append(f"Not rewritten by the model: {found.not_rewritten}")
    return section(
        paragraph(element("strong", f"{found.question_id}: "), found.question),
        listing(
            [
                *searched,
                f"Expected: {found.expected or 'nothing, the documents cannot answer it'}",
                f"Expected document: {', '.join(found.docs) or 'none'}",
                f"Came back ({found.status}): {found.text or 'no text'}",
            ]
        ),
        table("Place of the expected document in each list", PLACES, [_place(p, found.quoted) for p in found.places]),
        note(SCORES) if any(p.document_score is not None for p in found.places) else None,
        "The asker may not open the expected document: it can stand in no list." if found.closed else None,
        _lost(found),
        table("What the model saw", SEEN, [_seen(s) for s in found.seen], empty="nothing"),
        table("The expected passage, which was not shown", SEEN[:-1], [_seen(found.sought)[:-1]])
        if found.sought
        else None,
        element("details", element("summary", "The prompt"), element("pre", found.prompt)) if found.prompt else None,
    )


PLACES = ("List", "Document", "Passage with the quoted words", "Passages in the list")
SEEN = (
    "No.",
    "Passage",
    "Expected",
    "Ranks",
    "Similarity",
    "Words shared with the question",
    "Before the expected one, because",
)
SCORES = (
    "In brackets the score: BM25 in the keyword list, the cosine in the dense one, then the fused score. A place "
    "“beyond it” is where the passage would have stood had more been searched."
)


def _lost(found: Trace) -> Html | None:
    """Why some of what the model saw cannot be shown: the documents are others by now."""
    if not found.lost:
        return None
    return note(
        "The documents have changed since this run, or another search was asked: "
        f"{plural(found.lost, 'passage')} of its lists is in them no more. Places are those of the run, scores are not "
        "known; the words of these passages, and a prompt that held one, cannot be shown."
    )


def _place(place: Place, quoted: bool = True) -> tuple[object, ...]:
    return (
        place.name,
        _rank(place.document, place.document_score, place.length),
        _rank(place.quote, place.quote_score, place.length) if quoted or place.quote else "no words named",
        place.length,
    )


def _rank(rank: int | None, score: float | None, length: int) -> str:
    if rank is None:
        return "not in it"
    said = f"{rank}, beyond it" if rank > length else str(rank)
    return said if score is None else f"{said} ({score:.4f})" if score < 0.1 else f"{said} ({score:.2f})"


def _seen(seen: Seen) -> tuple[object, ...]:
    passage = seen.passage
    title = passage.title or passage.doc
    where = " › ".join(h for h in passage.headings if h != title)
    name = [link(passage.link, title) if passage.link else title, *([element("br"), where] if where else [])]
    return (
        str(seen.number) if seen.number else "not shown",
        join(name),
        "yes" if seen.expected else "no",
        ", ".join(f"{name} {rank}" for name, rank in seen.ranks.items()) or "none",
        f"{seen.similarity:.2f}" if seen.similarity is not None else "not measured",
        ", ".join(seen.shared) or "none",
        seen.why or "–",
    )
