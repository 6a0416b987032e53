"""The measures of a run for each part of its questions: a category, a language, a group; and for all of them first.

A total hides its parts, so they stand beside it, at this set's mix and in the order of their names: under 30 questions
a part has no rank. This module does not know where records come from, nor which labels may be counted.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace

from ..grading.faithfulness import Checked
from ..records import DECLINE_REASONS, Answer, Question
from .grades import Graded
from .measures import four_way, label_shares, leaks, retrieval
from .shares import COUNTS_ONLY_UNDER, Mean, Share

Key = Callable[[Question], Collection[str]]
"""The parts that a question belongs to, several where it has several groups."""
Measured = Mapping[str, Share | Mean]

ALL, NONE = "all questions", "(none)"
FOUND = ("Hit@1", "Hit@5", "MRR", "Recall@5", "Leaks")
GIVEN = ("Answered", "Rightly declined", "With an uncited sentence")
OTHER_REASON, UNREAD = "other reason", "after the last one read"
COMPARED = ("Hit@5", "correct")
"""Measures of which a part may be shown to be lower than the rest."""


def keys(document_type: Callable[[Question], str]) -> dict[str, Key]:
    """How a question set is parted; `document_type` says of what kind the document is that a question expects."""
    return {
        "category": lambda q: (q.category,),
        "language": lambda q: (q.lang,),
        "source": lambda q: (q.source,),
        "group": lambda q: q.groups,
        "document type": lambda q: (document_type(q),),
        "answerable": lambda q: ("can be answered" if q.answerable else "cannot be answered",),
    }


def for_readers(key: Key, questions: Iterable[Question], closed: Callable[[Question], str]) -> Key:
    """The same parts as they may be called before readers: a name that stands on closed questions only is a text of
    theirs, and is not shown. `closed` says which groups a question needs, empty where readers may see it."""
    questions = list(questions)
    open_ = {name for q in questions if not closed(q) for name in key(q)} | {""}
    return lambda q: {name if name in open_ else f"not shown (needs {closed(q)})" for name in key(q)}


def parts(questions: Iterable[Question], key: Key) -> dict[str, list[Question]]:
    """The questions of each part, by name."""
    found: dict[str, list[Question]] = defaultdict(list)
    for question in questions:
        for name in {name or NONE for name in key(question)} or {NONE}:
            found[name].append(question)
    return {name: found[name] for name in sorted(found)}


# -- one measure -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Segment:
    """One measure of one part; `worst` only where it is shown to be lower than the rest."""

    name: str
    share: Share
    p: float | None  # Fisher, against the rest, Holm-adjusted; None under 10 questions
    worst: bool


def by_segment(questions: Sequence[Question], key: Key, share: Callable[[Sequence[Question]], Share]) -> list[Segment]:
    """A share of each part, by name; it carries what of the part is missing.

    A part of 10 or more is named worst if Fisher's test against all other questions, adjusted by Holm, is under 0.05
    and its share is the lowest so shown (false alarms 2 % in twelve categories of 17).
    """
    return _compared({name: share(part) for name, part in parts(questions, key).items()}, share(questions))


def _compared(shares: Mapping[str, Share], total: Share) -> list[Segment]:
    adjusted = _holm({name: _fisher(s, total) for name, s in shares.items() if COUNTS_ONLY_UNDER <= s.n < total.n})
    shown = {name: shares[name].count / shares[name].n for name, p in adjusted.items() if p <= 0.05}
    low = {name: value for name, value in shown.items() if value < total.count / total.n}
    worst = min(low, key=lambda name: (low[name], name), default=None)
    return [Segment(name, share, adjusted.get(name), name == worst) for name, share in shares.items()]


def _fisher(part: Share, total: Share) -> float:
    from scipy.stats import fisher_exact  # a second to import, needed here only

    rest = (total.count - part.count, total.n - total.count - part.n + part.count)
    return float(fisher_exact([[part.count, part.n - part.count], rest])[1])


def _holm(p: Mapping[str, float]) -> dict[str, float]:
    adjusted, highest = {}, 0.0
    for place, name in enumerate(sorted(p, key=lambda name: (p[name], name))):
        highest = max(highest, min(1.0, p[name] * (len(p) - place)))
        adjusted[name] = highest
    return adjusted


# -- all measures ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Records:
    """What a run's measures are of, by question; `labels` are those that may be counted (see `Result.counted`).

    `rankings` holds document ids, best first, `groups_of` maps passage ids to who may open them, `scores` is by name.
    """

    answers: Mapping[str, Answer]
    rankings: Mapping[str, Sequence[str]]
    may_open: Callable[[Question], bool]
    groups_of: Mapping[str, AbstractSet[str]]
    labels: Mapping[str, Graded]
    scores: Mapping[str, Mapping[str, Checked]] = field(default_factory=dict)


def measured(questions: Sequence[Question], of: Records) -> Measured:
    """Every measure by its name, each with what it is over and what is missing from that."""
    found = retrieval(questions, of.rankings, of.may_open)
    table = four_way(questions, of.answers)
    leaking = leaks(questions, of.answers, of.groups_of).share
    return {
        **dict(zip(FOUND, (found.hit1, found.hit5, found.mrr, found.recall5, leaking), strict=True)),
        **_labels(questions, of.labels),
        **dict(zip(GIVEN, (table.answered, table.rightly_declined, _uncited(questions, of.answers)), strict=True)),
        **_reasons(questions, of.answers),
        **{name: _score(questions, checked) for name, checked in of.scores.items()},
    }


def _labels(questions: Sequence[Question], labels: Mapping[str, Graded]) -> dict[str, Share]:
    known = {q.id: labels[q.id] for q in questions if q.id in labels}
    behind = {UNREAD: len(questions) - len(known)} if len(known) < len(questions) else {}
    return {n: replace(share, missing={**share.missing, **behind}) for n, share in label_shares(known).items()}


def _statuses(questions: Iterable[Question], answers: Mapping[str, Answer]) -> Counter[str]:
    return Counter(answers[q.id].status if q.id in answers else "not answered" for q in questions)


def _reasons(questions: Sequence[Question], answers: Mapping[str, Answer]) -> dict[str, Share]:
    """The share of each reason among the declines."""
    declined = [answers[q.id] for q in questions if q.id in answers and answers[q.id].status == "declined"]
    counts = Counter(a.reason if a.reason in DECLINE_REASONS else OTHER_REASON for a in declined)
    statuses = _statuses(questions, answers)
    missing = {status: statuses[status] for status in ("answered", "error", "not answered") if statuses[status]}
    return {reason: Share(counts[reason], len(declined), missing) for reason in (*DECLINE_REASONS, OTHER_REASON)}


def _uncited(questions: Sequence[Question], answers: Mapping[str, Answer]) -> Share:
    """The share of answers, not of sentences: those of one answer are not independent."""
    given = [answers[q.id] for q in questions if q.id in answers and answers[q.id].status == "answered"]
    statuses = _statuses(questions, answers)
    missing = {status: statuses[status] for status in ("declined", "error", "not answered") if statuses[status]}
    return Share(sum(a.uncited > 0 for a in given), len(given), missing)


def _score(questions: Sequence[Question], checked: Mapping[str, Checked]) -> Mean:
    here = [checked.get(q.id, Checked(why="not measured")) for q in questions]
    missing = Counter(c.why for c in here if c.value is None)
    return Mean(tuple(c.value for c in here if c.value is not None), missing)


@dataclass(frozen=True)
class Row:
    """All measures of one part; `worst` are those in which it is shown to be lower than the rest."""

    part: str
    questions: int
    values: Measured
    worst: frozenset[str] = frozenset()


def rows(questions: Sequence[Question], key: Key, of: Records) -> list[Row]:
    """The measures of all questions, then those of each part by name."""
    total, parted = measured(questions, of), parts(questions, key)
    values = {name: measured(part, of) for name, part in parted.items()}
    worst: dict[str, set[str]] = defaultdict(set)
    for measure in COMPARED:
        shares = {name: share for name in values if isinstance(share := values[name][measure], Share)}
        whole = total[measure]
        for segment in _compared(shares, whole) if isinstance(whole, Share) else ():
            if segment.worst:
                worst[segment.name].add(measure)
    return [
        Row(ALL, len(questions), total),
        *(Row(name, len(part), values[name], frozenset(worst[name])) for name, part in parted.items()),
    ]
