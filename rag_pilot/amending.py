"""What the labels of a run say of the question set, and how a person accepts or refuses that it is amended.

A label can say that another document answers a question too, or that the expected answer is wrong or too narrow.
Either is a proposal until a person decides: accepted, questions.jsonl keeps the old value with date, author and reason;
refused, a line of `refused.jsonl` beside it keeps the reason. Nothing is amended unasked, and no label is touched:
labels are about an answer's text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from .corpus.access import may_open
from .corpus.question_file import QuestionFile
from .corpus.questions import parse_question
from .errors import DataError, StaleError
from .files import append_jsonl, read_records, saving
from .grading.labels import counting, stamp
from .grading.naming import Titles, meant, open_titles
from .records import OF_REFERENCE, Label, Question, Record
from .results import Result
from .said import Said

REFERENCE = ("expected", "doc", "also", "answerable")
"""What an answer is held against."""

STATES = ("pending", "unclear", "made", "refused")


@dataclass(frozen=True)
class Amendment(Record):
    """What labels say of one question: `also` should gain `document`, or `expected` be rewritten; texts where readers
    may see them, else `hidden` names the groups needed.

    `unclear`: the document that was named is none that the expert may open, or several. Once it is made or refused,
    `on`, `author` and `why` say when, by whom and why.
    """

    question_id: str
    field: str  # also | expected
    state: str  # of STATES
    document: str = ""
    question: str = ""
    expected: str = ""
    notes: tuple[str, ...] = ()
    by: tuple[str, ...] = ()
    on: str = ""
    author: str = ""
    why: str = ""
    hidden: str = ""


@dataclass(frozen=True)
class Refusal(Record):
    """One line of refused.jsonl."""

    question_id: str
    field: str
    document: str
    author: str
    on: str
    why: str
    refused_at: str

    def __post_init__(self) -> None:
        if datetime.fromisoformat(self.refused_at).tzinfo is None:
            raise ValueError(f"refused_at is {self.refused_at!r}, which lacks the offset of its zone, such as +02:00")


def amendments(result: Result) -> list[Amendment]:
    """Every amendment that the labels of a run's questions propose, in the order of reading, as its readers may see it.

    Labels for earlier texts of an answer count too: what they say is about the reference.
    """
    return [_for_readers(found, result) for found in _proposed(result)]


def accept_amendment(
    result: Result, question_id: str, *, why: str, also: str = "", expected: str = "", author: str = ""
) -> Amendment:
    """Amend one question as a label proposes: `also` is the document that it gains, or `expected` its new answer.

    questions.jsonl keeps the old value with today's date, the author (the annotator, if none is named) and the reason.
    DataError where no label proposes it, it was made before, or a reason is lacking; StaleError where the question has
    changed since this result was made. Either way nothing is written.
    """
    if bool(also.strip()) == bool(expected.strip()):
        raise DataError(f"{question_id}: say what is amended: also='a document', or expected='the new answer'")
    found = _found(result, question_id, also, why)
    if found.state == "unclear":
        raise DataError(f"{question_id}: the document named is none that the expert may open; she writes its id in 05")
    if found.state == "made":
        raise DataError(f"{question_id}: {found.field} was amended on {found.on} ({found.why or 'no reason given'})")
    question = next(q for q in result.questions if q.id == question_id)
    file, everyone = QuestionFile(result.pilot.data / "questions.jsonl"), result.pilot.everyone
    row = file.read().get(question_id)
    if row is None or parse_question(row, everyone) != question:
        raise StaleError(f"{file.path}: {question_id} has changed since this result was made; run the notebook again")
    if found.field == "also":
        document = result.documents[found.document]
        if not may_open(document.groups, question.groups):
            needed = " or ".join(sorted(document.groups))
            raise DataError(f"{question_id}: its asker may not open {document.id} (it needs {needed})")
        change: Mapping[str, Any] = {"also": [*question.also, document.id]}
    elif not question.answerable:
        raise DataError(f"{question_id} counts as unanswerable: {IN_FORM.format(question_id)}")
    else:
        change = {"expected": expected.strip()}
    day, who = date.today().isoformat(), author or result.settings.pilot.annotator
    file.save(row, change, who, day, why.strip())
    return replace(found, state="made", on=day, author=who, why=why.strip())


def refuse_amendment(result: Result, question_id: str, *, why: str, also: str = "", author: str = "") -> Amendment:
    """Refuse what labels propose for a question, with the reason: of `also`, or else of its expected answer.

    It stays refused until a later label proposes it again. One line is appended to refused.jsonl.
    """
    found = _found(result, question_id, also, why)
    if found.state == "made":
        raise DataError(f"{question_id}: {found.field} was amended on {found.on}; {IN_FORM.format(question_id)}")
    now, who = datetime.now(), author or result.settings.pilot.annotator
    refusal = Refusal(question_id, found.field, found.document, who, now.date().isoformat(), why.strip(), stamp(now))
    with saving(path := _refusals(result)):
        append_jsonl(path, refusal)
    return replace(found, state="refused", on=refusal.on, author=who, why=refusal.why)


IN_FORM = "to write it anew: writing_form(result.pilot, question='{}')"


# -- what is proposed --------------------------------------------------------------------------------------------------


def _titles(result: Result) -> Titles:
    return open_titles(result.documents.values(), result.pilot.annotator_groups)


def _refusals(result: Result) -> Path:
    return result.pilot.data / "refused.jsonl"


def _proposed(result: Result) -> list[Amendment]:
    by_id, titles = {q.id: q for q in result.questions}, _titles(result)
    said: dict[tuple[str, str, str], list[Label]] = {}
    for label in counting(result.all_labels):
        if question := by_id.get(label.question_id):
            for field, document in _said(label, question, titles):
                said.setdefault((question.id, field, document), []).append(label)
    path = _refusals(result)
    lines = read_records(path, Refusal.from_json) if path.exists() else []
    refused = {(line.question_id, line.field, line.document): line for line in lines}
    found = [_amendment(by_id[key[0]], *key[1:], labels, refused.get(key)) for key, labels in said.items()]
    place = {id_: n for n, id_ in enumerate(result.listed)}
    return sorted(found, key=lambda a: (place.get(a.question_id, len(place)), a.field, a.document))


def _said(label: Label, question: Question, titles: Titles) -> Iterable[tuple[str, str]]:
    """(field, document) of what one label says of the reference; a document that it always named is no news."""
    expected = label.cause == OF_REFERENCE
    if label.also and label.also not in titles:
        yield "also", ""
    elif label.also and not question.answerable:
        expected = True  # that something answers it changes more than a list of documents
    elif label.also and (label.also not in question.docs or _entry_of(question, label.also)):
        yield "also", label.also
    if expected:
        yield "expected", ""


def _amendment(
    question: Question, field: str, document: str, labels: list[Label], refusal: Refusal | None
) -> Amendment:
    newest = max(map(_moment, labels))
    made = _entry_of(question, document) if document else None
    if field == "expected":
        made = next(iter(_entries(question, ("expected", "answerable"), max(n.saved_at[:10] for n in labels))), None)
    found = Amendment(
        question.id,
        field,
        "unclear" if (field, document) == ("also", "") else "pending",
        document,
        question.question,
        question.expected,
        tuple(dict.fromkeys(label.note for label in labels if label.note)),
        tuple(dict.fromkeys(label.annotator for label in labels)),
    )
    if made:
        on, author, why = (str(made.get(name) or "") for name in ("date", "author", "why"))
        return replace(found, state="made", on=on, author=author, why=why)
    if refusal and datetime.fromisoformat(refusal.refused_at) >= newest:
        return replace(found, state="refused", on=refusal.on, author=refusal.author, why=refusal.why)
    return found


def _moment(label: Label) -> datetime:
    return datetime.fromisoformat(label.saved_at) if label.saved_at else datetime.min.replace(tzinfo=UTC)


def _entries(question: Question, fields: tuple[str, ...], since: str = "") -> list[Mapping[str, Any]]:
    """The amendments of one of the fields from a day on."""
    return [a for a in question.amendments if a.get("field") in fields and str(a.get("date") or "") >= since]


def _entry_of(question: Question, document: str) -> Mapping[str, Any] | None:
    """The amendment by which the reference came to name a document, if one did and it still does."""
    entries = [a for a in _entries(question, ("doc", "also")) if document not in _listed(a.get("old"))]
    return entries[-1] if entries and document in question.docs else None


def _listed(old: Any) -> list[Any]:
    return [old] if isinstance(old, str) else list(old or ())


def _found(result: Result, question_id: str, also: str, why: str) -> Amendment:
    """The proposal that a person speaks of; DataError where there is none, or no reason."""
    if not why.strip():
        raise DataError(f"{question_id}: a decision needs its reason: why='...', which stays on record")
    documents = meant(also, _titles(result)) or ("",)
    for proposed in _proposed(result):
        field = "also" if also.strip() else "expected"
        if (proposed.question_id, proposed.field) == (question_id, field) and proposed.document in documents:
            return proposed
    what = f"that {also} answers {question_id} too" if also.strip() else f"another expected answer for {question_id}"
    where = "what labels say stands in tables.amendments(amendments(result))"
    raise DataError(f"no label says {what}; {where}; {IN_FORM.format(question_id)}")


def _for_readers(found: Amendment, result: Result) -> Amendment:
    needed = [result.hidden(found.question_id)]
    if found.document and not result.documents[found.document].groups & result.pilot.readers:
        needed.append(" or ".join(sorted(result.documents[found.document].groups)))
    if hidden := " and ".join(dict.fromkeys(filter(None, needed))):
        return replace(found, document="", question="", expected="", notes=(), why="", hidden=hidden)
    return found


# -- what earlier runs are held against --------------------------------------------------------------------------------


def scored_against(result: Result) -> str:
    """Such as 'the question set as amended on 3 May 2026 (2 questions)': what has changed since the run was begun.

    Empty where nothing has. An amendment of the run's own day counts: which came first is not on record.
    """
    begun = str(result.run.info.get("date") or "")
    found = {q.id: _entries(q, REFERENCE, begun) for q in result.questions}
    since = {id_: [str(a.get("date") or "") for a in entries] for id_, entries in found.items() if entries}
    if not since:
        return ""
    days = sorted({day for found in since.values() for day in found})
    first, last, n = days[0], days[-1], len(since)
    when = f"on {_words(first)}" if len(days) == 1 else f"from {_words(first)} to {_words(last)}"
    words = f"the question set as amended {when} ({n} question{'s' if n > 1 else ''})"
    if len(days) == 1:
        return Said("amended_on", words, day=first, n=n)
    return Said("amended_from", words, day=first, last=last, n=n)


def _words(day: str) -> str:
    try:
        read = date.fromisoformat(day)
    except ValueError:
        return day
    return f"{read.day} {read:%B %Y}"
