"""The question set against the method and the documents, before anybody relies on it: what is wrong, and what to do.

It knows documents and who may open them, neither passages nor any system under test but what it takes for a word.
Checks are pure and name ids.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..identity import fold
from ..records import Document, Question, Record
from .access import may_open
from .facts import Facts, names, numbers_and_codes, spaced
from .questions import QuestionSet

SIZE = (150, 300)
"""How many questions a pilot asks: at 200 and 80 % right the 95 % margin is 5.5 points (the method's days 1-2)."""

UNANSWERABLE = (0.10, 0.15)
"""The share that the documents do not answer: declining well is part of the job (the method's days 1-2)."""

LEAST_PER_CATEGORY = 12
"""A smaller category is shown as counts, hardly as a share."""

SEVERITIES = ("error", "warning", "note")


@dataclass(frozen=True)
class Finding(Record):
    """One thing to know of a set: an `error` makes numbers wrong, a `warning` weaker, a `note` says what they show."""

    severity: str
    what: str
    ids: tuple[str, ...]
    what_to_do: str


def check_questions(
    questions: Sequence[Question],
    documents: Iterable[Document],
    everyone: str | None,
    tokens: Callable[[str], Sequence[str]] = str.split,
) -> list[Finding]:
    """What is wrong or weak in a set, errors first; an empty list means that nothing was found.

    `tokens` gives the words that a search by words matches.
    """
    known = {document.id: document for document in documents}
    answerable = [q for q in questions if q.answerable]
    findings = [
        *_sizes(questions),
        *_references(questions, known),
        *_permissions(questions, known, everyone),
        *_answers(answerable, known),
        *_repeats(questions),
        *_wordless([q for q in questions if not tokens(q.question)]),
        *_segments(questions, known),
    ]
    return sorted(findings, key=lambda finding: SEVERITIES.index(finding.severity))


def summary(findings: Sequence[Finding]) -> str:
    """Such as '1 error, 3 warnings'; notes are counted where there are any."""
    counts = Counter(finding.severity for finding in findings)
    return ", ".join(_n(counts[s], s) for s in SEVERITIES if s != "note" or counts[s])


def _n(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or one + 's'}"


def _q(questions: Sequence[Question], of: str = "") -> str:
    return _n(len(questions), f"{of} question".strip())


def _error(what: str, questions: Iterable[Question], what_to_do: str) -> Finding:
    return Finding("error", what, tuple(q.id for q in questions), what_to_do)


def _warning(what: str, questions: Iterable[Question], what_to_do: str) -> Finding:
    return Finding("warning", what, tuple(q.id for q in questions), what_to_do)


def _sizes(questions: Sequence[Question]) -> Iterator[Finding]:
    n, (fewest, most) = len(questions), SIZE
    undecided = questions.undecided if isinstance(questions, QuestionSet) else ()
    if undecided:
        what = f"{_q(undecided)} left out: answerable is null"
        yield _warning(what, undecided, "choose among them, write expected, and set answerable to true or false")
    if not n:
        what = "no question is decided yet" if undecided else "no questions"
        advice = "collect what people really asked: rag-pilot import FILE --to data/PILOT/questions.jsonl"
        yield _error(what, (), "see the line on those left out" if undecided else advice)
        return
    if not fewest <= n <= most:
        advice = "collect more: fewer are a start, never a verdict" if n < fewest else "keep those that people ask most"
        yield _warning(f"{_q(questions)}; a pilot asks {fewest} to {most}", (), advice)
    none = [q for q in questions if not q.answerable]
    low, high = UNANSWERABLE
    what = f"{len(none)} of {_q(questions)} ({len(none) / n:.0%}) unanswerable; expected {low:.0%} to {high:.0%}"
    if len(none) in (0, n):
        yield _error(what, (), "both kinds are needed: declining is measured on one, answers on the other")
    elif not low <= len(none) / n <= high:
        yield _warning(what, none, "add questions of the kind that is too rare")


def _references(questions: Sequence[Question], known: Mapping[str, Document]) -> Iterator[Finding]:
    if nameless := [q for q in questions if q.answerable and not q.doc]:
        yield _error(f"{_q(nameless, 'answerable')} without a document", nameless, "fill in doc")
    if lost := [q for q in questions if q.docs - known.keys()]:
        absent = ", ".join(sorted({doc for q in lost for doc in q.docs - known.keys()}))
        what = f"{_q(lost)} with a document that was not read: {absent}"
        yield _error(what, lost, "correct doc or also, or see why the file was skipped")
    if silent := [q for q in questions if q.answerable and not q.expected.strip()]:
        yield _error(f"{_q(silent, 'answerable')} without an expected answer", silent, "write expected")


def _permissions(
    questions: Sequence[Question], known: Mapping[str, Document], everyone: str | None
) -> Iterator[Finding]:
    named = frozenset(group for document in known.values() for group in document.groups)
    always = frozenset({everyone} if everyone else ())

    def opens(question: Question) -> bool:
        return any(may_open(known[doc].groups, question.groups | always) for doc in question.docs & known.keys())

    if everyone and known and everyone not in named:
        yield _warning(f"no document is open to everyone ({everyone})", (), "check the name in pilot.toml")
    if closed := [q for q in questions if not may_open(named, q.groups | always)]:
        what = f"{_q(closed)} nobody may answer: their asker may open no document at all"
        yield _error(what, closed, "name the asker's groups as the documents spell them")
    with_document = [q for q in questions if q.docs & known.keys()]
    if barred := [q for q in with_document if q.answerable and not opens(q)]:
        what = f"{_q(barred, 'answerable')} whose asker may not open the expected document"
        yield _error(what, barred, "set answerable to false, or correct the groups of the asker or the document")
    if open_after_all := [q for q in with_document if not q.answerable and opens(q)]:
        what = f"{_q(open_after_all, 'unanswerable')} with a document that the asker may open"
        yield _warning(what, open_after_all, "set answerable to true, or doc to null if it does not answer")


def _answers(answerable: Sequence[Question], known: Mapping[str, Document]) -> Iterator[Finding]:
    facts = {
        doc: Facts.of(f"{known[doc].title}\n{known[doc].text}") for q in answerable for doc in q.docs & known.keys()
    }
    strange: dict[str, list[str]] = {}
    unnamed: dict[str, list[str]] = {}
    unquoted: list[Question] = []
    for question in answerable:
        texts = [facts[doc] for doc in question.docs & known.keys()]
        if not texts:
            continue
        told = [*texts, Facts.of(question.question)]  # an answer may repeat a number of the question
        if missing := [fact for fact in numbers_and_codes(question.expected) if not any(t.hold(fact) for t in told)]:
            strange[question.id] = missing
        lang = question.lang or next((known[d].lang for d in sorted(question.docs & known.keys())), "")
        if absent := [name for name in names(question.expected, lang) if not any(t.hold_name(name) for t in told)]:
            unnamed[question.id] = absent
        if question.quote and not any(spaced(question.quote) in text.spaced for text in texts):
            unquoted.append(question)
    for found, kind in ((strange, "numbers or codes"), (unnamed, "names")):
        if found:
            listed = "; ".join(f"{id_}: {', '.join(missing)}" for id_, missing in found.items())
            what = f"{_n(len(found), 'expected answer')} with {kind} that the document does not hold: {listed}"
            advice = "correct expected or doc; if the document is out of date, tell its owner"
            yield Finding("warning", what, tuple(found), advice)
    if unquoted:
        what = f"{_n(len(unquoted), 'quote')} not found in the document"
        yield _warning(what, unquoted, "copy the words again")


def _repeats(questions: Sequence[Question]) -> Iterator[Finding]:
    """Same text (composed, blanks and case folded): a duplicate where the answers agree, else a conflict.

    The same words from askers with other groups are no conflict where one may open the answer and the other may not.
    """
    same: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        same[fold(question.question)].append(question)
    duplicates: list[Question] = []
    for alike in same.values():
        answers = [(q.answerable, fold(q.expected)) for q in alike]
        clashing = [
            q
            for q, answer in zip(alike, answers, strict=True)
            if any(
                answer != other_answer and (q.groups == other.groups or q.answerable and other.answerable)
                for other, other_answer in zip(alike, answers, strict=True)
            )
        ]
        if clashing:
            what = f"{_q(clashing)} with one text and different answers: {alike[0].question!r}"
            yield _error(what, clashing, "agree on one answer, or say in the question what differs")
        duplicates += [q for q, answer in zip(alike, answers, strict=True) if answers.count(answer) > 1]
    if duplicates:
        what = f"{_q(duplicates)} more than once in the set, with one answer"
        yield _warning(what, duplicates, "keep one of each: a repeated question counts twice")


def _wordless(silent: Sequence[Question]) -> Iterator[Finding]:
    if silent:
        what = f"{_q(silent)} without a word to search by (function words or signs alone)"
        yield _warning(what, silent, "its keyword list stays empty: say in the question what it is about")


def _segments(questions: Sequence[Question], known: Mapping[str, Document]) -> Iterator[Finding]:
    sizes = Counter(q.category for q in questions if q.category)
    if small := {name: n for name, n in sorted(sizes.items()) if n < LEAST_PER_CATEGORY}:
        listed = ", ".join(f"{name} {n}" for name, n in small.items())
        what = f"{_n(len(small), 'category', 'categories')} with under {LEAST_PER_CATEGORY} questions: {listed}"
        yield _warning(what, [q for q in questions if q.category in small], "collect more of them, or merge categories")
    if unsorted := [q for q in questions if not q.category]:
        yield _warning(f"{_q(unsorted)} without category", unsorted, "fill in category")
    spoken = Counter(document.lang for document in known.values() if document.lang)
    asked = Counter(q.lang for q in questions if q.lang)
    if len(spoken) > 1 and (unmarked := [q for q in questions if not q.lang]):
        yield _warning(f"{_q(unmarked)} without lang, documents in several", unmarked, "fill in lang")
    for lang in sorted(spoken.keys() - asked.keys()) if asked else ():
        yield _warning(f"{_n(spoken[lang], 'document')} in {lang!r}, but no question", (), "ask in that language too")
    for lang in sorted(asked.keys() - spoken.keys()) if spoken else ():
        asking = [q for q in questions if q.lang == lang]
        yield _warning(f"{_q(asking)} in {lang!r}, but no document", asking, "check lang")
