"""The table of runs that came with a pilot, beside its own: counts of each, and what stands behind them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ...amending import scored_against
from ...analysis.shares import Share
from ...records import JUDGE_LABELS
from ...results import Result
from ..html import NOT_MEASURED, Html, note, section, table
from ..words import plural
from .week2 import nothing

NAMED = 12
"""Characters of a revision that a table shows."""


def examples(own: Result, others: Sequence[Result]) -> Html:
    """Runs of other answerers and judges on the same questions, beside the pilot's own run."""
    if not others:
        return nothing("No example run came with this pilot.")
    runs = [own, *others]
    rows = [
        (name, *(find(run) for run in runs))
        for name, find in (
            ("Answered by", _answerer),
            ("Answered, declined, in error", _statuses),
            ("Declined, of those without an answer", lambda run: run.four_way.rightly_declined),
            ("Accepted document among the first five", lambda run: run.retrieval.hit5),
            ("Questions with a forbidden passage", lambda run: run.leaks.share),
            ("Sentences that cite nothing", _uncited),
            ("Answers with a number or name that the passage lacks", _unsupported),
            ("Scored against", lambda run: scored_against(run) or "the question set as it was"),
            ("Judge", _judge),
            ("The judge says: correct, partly, wrong", _labels),
            ("The expert says: correct, partly, wrong", _read),
            ("The judge against the expert", _gate),
            ("Milliseconds an answer: half under, 95 % under", _seconds),
        )
    ]
    head = ("", own.run.info.get("name") or "this run", *(run.run.info.get("name") or run.run.id for run in others))
    return section(
        table("Other answerers and judges on the same questions", head, rows),
        note(
            "Examples that came with the pilot, in no score and no verdict. What a judge says counts for nothing until "
            "it agreed with an expert; the expert read the first answers of the order that need a person."
        ),
    )


def _answerer(result: Result) -> str:
    table = result.run.info.get("config", {}).get("answer", {})
    models, revision = ", ".join(result.run.info.get("models") or ()), str(table.get("revision") or "")
    if not models:
        return str(table.get("kind") or NOT_MEASURED)
    kind, colon, name = revision.rpartition(":")
    return models + (f" ({kind}{colon}{name[:NAMED]})" if revision else "")


def _statuses(result: Result) -> str:
    count = Counter(a.status for a in result.run.answers.values())
    return ", ".join(str(count[status]) for status in ("answered", "declined", "error"))


def _uncited(result: Result) -> Share | None:
    answers = result.run.answers.values()
    return _share(sum(a.uncited for a in answers), sum(a.sentences for a in answers))


def _unsupported(result: Result) -> Share | None:
    answered = [a for a in result.run.answers.values() if a.status == "answered"]
    return _share(sum("not_in_passage" in a.flags for a in answered), len(answered))


def _share(count: int, n: int) -> Share | None:
    return Share(count, n) if n else None


def _judge(result: Result) -> str:
    judge = result.run.info.get("judge", {})
    return str(judge.get("model") or judge.get("kind") or "not recorded")


def _labels(result: Result) -> str:
    judged = [v for v in result.run.verdicts.values() if v.by != "rule"]
    if not judged:
        return NOT_MEASURED
    count = Counter(v.judged for v in judged)
    unreadable = f", {count[None]} unreadable" if count[None] else ""
    answers = result.run.answers
    given = [q for q in result.questions if q.answerable and answers[q.id].status == "answered"]
    gone = [bool(q.amendments) for q in given if q.id not in result.run.verdicts]
    left = ((sum(gone), "left out, of expected answers amended since"), (gone.count(False), "not graded"))
    told = "".join(f"; {n} {why}" for n, why in left if n)
    return f"{', '.join(str(count[label]) for label in JUDGE_LABELS)} of {len(judged)}{unreadable}{told}"


def _read(result: Result) -> str:
    count = Counter(result.expert.current[i].label for i in result.first_to_read if i in result.expert.current)
    own = f", {count['declined']} declined in its words" if count["declined"] else ""
    return f"{', '.join(str(count[label]) for label in JUDGE_LABELS)} of {count.total()}{own}" if count else "not read"


def _gate(result: Result) -> str:
    gate, (done, wanted) = result.gate, result.labelled
    if not gate.n:
        return f"not tested: {done} of {plural(wanted, 'answer')} labelled"
    kappa = "undefined" if gate.kappa is None else f"{gate.kappa:.2f}"
    state = {"passed": "admitted", "failed": "not admitted"}.get(gate.state, "not tested")
    return f"{state}: {gate.agreed} of {gate.n} labels agree, kappa {kappa}"


def _seconds(result: Result) -> str:
    total = next((t for t in result.stage_times() if t.stage == "total"), None)
    if total is None or total.p50 is None:
        return NOT_MEASURED
    return f"{_milliseconds(total.p50)}, {NOT_MEASURED if total.p95 is None else _milliseconds(total.p95)}"


def _milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.0f}" if seconds >= 0.01 else f"{1000 * seconds:.1f}"
