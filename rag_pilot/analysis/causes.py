"""Why a bad answer is bad, from the evidence of its run; and which cause is the largest.

The evidence is looked at in a fixed order, the reference first, so that a model is never blamed for a passage it did
not see. The expert's word goes before the rule. This module reads no document: what exists, what is out of date and
what the passages say is given to it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property

from ..errors import DataError
from ..identity import fold
from ..records import CAUSES, OTHER_CAUSES, Answer, Label, Passage, Question
from ..said import Said
from .grades import Graded
from .shares import Share

ALL_CAUSES = (*CAUSES, *OTHER_CAUSES)


@dataclass(frozen=True)
class Facts:
    """What is known of the documents of a run.

    `documents` are the ids that exist, `stale` those past their date, `lacking` the questions some of whose expected
    numbers stand in none of their documents, `holding` those all of whose do, `passages` those of the run's index.
    """

    documents: AbstractSet[str]
    stale: AbstractSet[str]
    lacking: AbstractSet[str]
    passages: Mapping[str, Passage]
    may_open: Callable[[Question], bool]
    holding: AbstractSet[str] = frozenset()

    @cached_property
    def folded(self) -> Mapping[str, Sequence[str]]:
        """The texts of each document's passages, as they are compared."""
        texts: dict[str, list[str]] = defaultdict(list)
        for passage in self.passages.values():
            texts[passage.doc].append(fold(passage.text))
        return texts


@dataclass(frozen=True)
class Cause:
    """The cause of one bad answer, None where the evidence does not tell; `rule` is what the rule alone says."""

    name: str | None
    detail: str
    by: str  # expert | rule
    rule: str | None


def is_bad(graded: Graded) -> bool:
    """Whether the answer has a label other than correct; one in error or not graded is neither good nor bad."""
    return graded.label is not None and graded.label != "correct"


def cause(question: Question, answer: Answer, graded: Graded, label: Label | None, facts: Facts) -> Cause:
    """The cause of a bad answer: the expert's if she gave one for this text, else the first that the evidence shows."""
    if not is_bad(graded):
        raise DataError(f"question {question.id!r} is {graded.label or graded.by}: only bad answers have a cause")
    own = label if label is not None and label.answer_sha == answer.sha else None
    name, detail = _rule(question, answer, own, facts)
    if own is not None and own.cause:
        if own.cause not in ALL_CAUSES:
            raise DataError(f"question {question.id!r}: cause {own.cause!r}; expected one of {', '.join(ALL_CAUSES)}")
        return Cause(own.cause, own.note or Said("expert_says_so", "the expert says so"), "expert", name)
    return Cause(name, detail, "rule", name)


def _rule(question: Question, answer: Answer, label: Label | None, facts: Facts) -> tuple[str | None, str]:
    if label is not None and label.also in set(answer.docs) - question.docs:
        return "reference_wrong", f"the answer rests on {label.also}, which the expert accepts and the reference lacks"
    if not question.answerable:
        return "should_have_declined", "the documents cannot answer it"
    if not question.docs:
        return None, "the reference names no document"
    named = ", ".join(sorted(question.docs))
    quote = fold(question.quote)
    in_documents = bool(quote) and any(quote in text for doc in question.docs for text in facts.folded.get(doc, ()))
    existing = question.docs & facts.documents
    if not existing:
        return "missing_or_stale", Said("no_such_document", f"no such document: {named}", named=named)
    if label is not None and label.stale:
        return "missing_or_stale", Said("said_stale", f"the expert says that it is out of date: {named}", named=named)
    if not in_documents:
        if existing <= facts.stale and question.id not in facts.holding:
            return "missing_or_stale", Said("past_its_date", f"past its date: {named}", named=named)
        if question.id in facts.lacking:
            return "missing_or_stale", Said(
                "lacks_numbers", f"does not hold the expected numbers: {named}", named=named
            )
    if not facts.may_open(question):
        return "not_permitted", f"the asker may not open {named}"
    return _seen_by_the_model(question, answer, facts, quote if in_documents else "")


def _seen_by_the_model(question: Question, answer: Answer, facts: Facts, quote: str) -> tuple[str | None, str]:
    named = ", ".join(sorted(question.docs))
    if not answer.hits and answer.status == "answered":
        return None, "the run kept no passages of this answer"
    shown = [hit for hit in answer.hits if hit["doc"] in question.docs]
    texts = [fold(facts.passages[hit["id"]].shown) for hit in answer.hits if hit["id"] in facts.passages]
    said = "declined" if answer.status == "declined" else "answered"
    if quote and any(quote in text for text in texts):
        return "wrong_despite_passage", f"the model was shown the passage and {said}"
    if not shown:
        return "not_retrieved", f"not among the passages shown: {named}"
    if question.quote and not quote:
        return None, f"the quote stands in no passage of {named}: check the reference"
    if not quote or any(hit["doc"] != question.doc for hit in shown):
        return "wrong_despite_passage", f"the model was shown the document and {said}; no quote to check the passage by"
    if any(hit["id"] not in facts.passages for hit in shown):
        return None, "the passages shown are not at hand: the index has changed since the run"
    return "not_retrieved", f"another passage of {named} was shown, not the one with the answer"


@dataclass(frozen=True)
class CauseCount:
    """How many bad answers have one cause, and their questions in the order of reading."""

    cause: str
    share: Share
    questions: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pareto:
    """The causes, largest first; `overruled` counts how often the expert gave another cause than the rule.

    `first`: counted over so many questions of the order, read up to there; None where it is over all.
    """

    rows: tuple[CauseCount, ...]
    bad: int
    by_expert: int
    overruled: int
    first: int | None = None

    def count(self, name: str) -> int:
        """How many bad answers have this cause."""
        return next((row.share.count for row in self.rows if row.cause == name), 0)

    @property
    def known(self) -> int:
        """How many bad answers have a cause."""
        return sum(row.share.count for row in self.rows)


def pareto(
    causes: Mapping[str, Cause], graded: Mapping[str, Graded], order: Sequence[str], first: int | None = None
) -> Pareto:
    """Count the causes of all bad answers, largest first; equal counts stand in the method's order.

    Answers without a label, and causes that the evidence does not tell, are missing. Every bad answer must have been
    given to `cause`. Only of a random sample, or of all answers, is the share of a cause that of the system: `graded`
    is one of them, and `first` how many questions of the order it holds if it is not all.
    """
    bad = {q for q, g in graded.items() if is_bad(g)}
    if bad != causes.keys():
        raise DataError(f"{len(bad)} bad answers and {len(causes)} causes; ask for the cause of every bad answer, once")
    counts = Counter(c.name for c in causes.values() if c.name is not None)
    known = sum(counts.values())
    missing = {
        "cause not told by the evidence": len(bad) - known,
        "not graded": sum(g.by == "not_graded" for g in graded.values()),
        "error": sum(g.by == "error" for g in graded.values()),
    }
    missing = {reason: count for reason, count in missing.items() if count}
    ordered = sorted((name for name in ALL_CAUSES if counts[name]), key=lambda name: -counts[name])
    by_expert = [c for c in causes.values() if c.by == "expert"]
    return Pareto(
        tuple(
            CauseCount(name, Share(counts[name], known, missing), tuple(examples(causes, name, order)))
            for name in ordered
        ),
        len(bad),
        len(by_expert),
        sum(c.name != c.rule for c in by_expert),
        first,
    )


def causes(
    questions: Iterable[Question],
    answers: Mapping[str, Answer],
    graded: Mapping[str, Graded],
    labels: Mapping[str, Label],
    facts: Facts,
) -> dict[str, Cause]:
    """The cause of every bad answer, by question."""
    return {
        q.id: cause(q, answers[q.id], graded[q.id], labels.get(q.id), facts)
        for q in questions
        if q.id in graded and is_bad(graded[q.id])
    }


def examples(found: Mapping[str, Cause], name: str, order: Sequence[str]) -> list[str]:
    """The questions with this cause, in the given order."""
    return [q for q in order if q in found and found[q].name == name]
