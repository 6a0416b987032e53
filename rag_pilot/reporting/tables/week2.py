"""Tables of week 2: one change at a time, the ledger of all, and the decline threshold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...amending import scored_against
from ...analysis.intervals import Interval
from ...analysis.threshold import Point, Sweep
from ...ledger import Tried
from ...records import Answer
from ...results import Result
from ...two_runs import RetrievalChange, adopted_in_both
from ..html import NOT_MEASURED, Html, element, facts, join, note, paragraph, section, table, tag, whole
from ..speech import Voice
from ..words import DECLINE, VERDICT, cause_name, plain, plural
from .answers import closed_to_annotator


def tried(one: Tried) -> Html:
    """One change: what was believed, what came of it, the verdict, and the questions that it fixed or broke.

    Where the ledger has decided, verdict and numbers are the ledger's; today's counts stand beside them if they differ.
    """
    c, change, noted = one.comparison, one.change, one.entry
    verdict = noted.get("verdict", c.verdict)
    word, kind = VERDICT.get(verdict, (verdict, ""))
    now: dict[str, Any] = {
        "verdict": c.verdict,
        "fixed": len(c.fixed),
        "broken": len(c.broken),
        "questions": c.n,
        "difference": c.difference,
        "interval": list(c.interval) if c.interval else None,
        "p": c.p,
        "level": c.level,
    }
    then = {**now, **{key: noted[key] for key in now if key in noted}}
    moved = any(then[key] != now[key] for key in ("verdict", "fixed", "broken", "questions"))
    rows = [
        ("Believed before the run", change.hypothesis),
        ("Cause that it is to mend", cause_name(change.cause)),
        ("Before, counted today" if moved else "Before", c.before.text()),
        ("After, counted today" if moved else "After", c.after.text()),
        ("Fixed / broken", f"{_counts(then)}{'' if moved else _adopted(one)}"),
        ("Difference", _difference(then["difference"], then["interval"])),
        ("Margin of a single score, for comparison", _points(c.article_margin, sign=False)),
        ("Chance of so good a result without any effect (p)", f"{then['p']:.4f}"),
        ("Needed to keep it (level)", f"at most {then['level']:.4f}"),
        ("Smallest gain that would mostly be seen", _points(one.planned.get("detectable"))),
    ]
    if one.planned.get("asked_twice"):
        rows.append(("Without any change", _varies(one.planned)))
    if moved:
        counted = f"{_counts(now)}{_adopted(one)}; {_difference(now['difference'], now['interval'])}"
        rows.append(("The same, counted today", f"{counted}; p {c.p:.4f}: would be {VERDICT[c.verdict][0]}"))
    unread, amended = one.to_read, scored_against(one.before)
    return section(
        paragraph(f"{change.name}: {word}", kind="big"),
        paragraph(tag(word, kind), " ", noted.get("words", c.words)),
        note(AS_DECIDED.format(date=noted.get("date", "an earlier day"))) if moved else None,
        facts(f"The change, measured by {c.measure}", rows),
        note(f"Both runs are scored against {amended}; a verdict taken before that stands.") if amended else None,
        _moved("Fixed", c.fixed, one),
        _moved("Broken", c.broken, one),
        _moved("Not measured", c.not_measured, one) if c.not_measured else None,
        _only_in_one(one),
        note(_who_reads(one)) if unread and one.entry["verdict"] == "not decided" else None,
        retrieval_rows(one.retrieval),
    )


AS_DECIDED = (
    "Verdict and numbers are those of the ledger, of {date}, and stand: a verdict is never revised. Labels or expected "
    "answers have changed since; what is counted today is said to be, as are the questions listed below."
)


def _counts(of: Mapping[str, Any]) -> str:
    return f"{of['fixed']} / {of['broken']} of {plural(of['questions'], 'question')}"


def changes(every: Sequence[Tried], skipped: Mapping[str, str] | None = None) -> Html:
    """Each change that was tried, in order, and those that could not be tried on this machine, with the reason."""
    untried = list((skipped or {}).items())
    return section(
        None if every or untried else "No change was tried now.",
        *(tried(one) for one in every),
        table("Not tried now", ("Change", "Why"), untried) if untried else None,
    )


def nothing(words: str) -> Html:
    """A sentence in place of a result."""
    return section(words)


def retrieval_rows(found: RetrievalChange) -> Html:
    """What became of retrieval between two runs; it stands beside a verdict and never decides one."""
    rows: list[tuple[object, ...]] = [
        (
            c.measure,
            c.before.text(),
            c.after.text(),
            whole(f"{len(c.fixed)} / {len(c.broken)}"),
            _difference(c.difference, c.interval),
            f"{c.p:.4f}",
        )
        for c in (found.hit1, found.hit5)
    ]
    mean, few = found.mrr, "no interval: too few questions, or too few changed"
    span = f" ({mean.interval[0]:+.3f} to {mean.interval[1]:+.3f})" if mean.interval else f" ({few})"
    gain = NOT_MEASURED if mean.difference is None else f"{mean.difference:+.3f}{span}"
    rows.append(("MRR", "", "", whole(f"{mean.changed} of {mean.n} changed"), gain, "–"))
    head = ("Measure", "Before", "After", "Fixed / broken", "Difference", "p")
    return join(
        [
            table("Retrieval beside it", head, rows),
            note("These rows are never decided on: a change is decided by the measure that it named alone."),
        ]
    )


def _adopted(one: Tried) -> str:
    """How many of the questions compared joined because they had failed in use; empty where none did."""
    joined = adopted_in_both(one.before, one.after, one.change.measure)
    return f", {joined} of them asked because {'it' if joined == 1 else 'they'} failed in use" if joined else ""


def _who_reads(one: Tried) -> str:
    unread = one.to_read
    told = f"The expert reads both versions of {plural(len(unread), 'question')} above: {', '.join(unread)}."
    told += closed_to_annotator(one.after, {**one.before.closed_of(unread), **one.after.closed_of(unread)})
    if one.judge_admitted:
        return told
    return f"The judge is not admitted, so all {plural(len(unread), 'changed answer')} are read. {told}"


def _only_in_one(one: Tried) -> Html | None:
    c, added = one.comparison, {q.id: q.added for side in (one.before, one.after) for q in side.questions}
    sides = (("before", c.only_before), ("after", c.only_after))
    rows = [(i, f"only {where}", added.get(i) or "not recorded") for where, ids in sides for i in ids]
    return table(f"Not in both runs ({len(rows)})", ("Id", "Where", "New since"), rows) if rows else None


SHOWN_LETTERS = 400
"""So much of an answer stands in a table."""


def _moved(title: str, ids: Sequence[str], one: Tried) -> Html:
    by_id = {q.id: q for q in one.before.questions}
    rows: list[tuple[object, ...]] = []
    for i in ids:
        needed = one.before.hidden(i) or one.after.hidden(i)
        question = by_id[i]
        told: object = f"not shown (needs {needed})"
        if not needed:
            told = _over(question.question, f"Expected: {question.expected or 'that it declines'}")
        sides = []
        for result in (one.before, one.after):
            stood = _stood(result, i, one.change.measure)
            sides.append(stood if needed else _over(stood, _said(result.run.answers[i])))
        rows.append((i, told, *sides))
    what = "Place of the right document" if one.change.measure == "hit5" else "Label"
    head = ("Id", "Question, and what was expected", f"{what} and answer before", "After")
    return table(f"{title} ({len(rows)})", head, rows, empty="none")


def _over(first: str, below: str) -> Html:
    return join([first, element("br"), element("small", below)])


def _said(answer: Answer) -> str:
    """What came back for a question, shortened."""
    if answer.status == "error":
        return f"failed: {answer.reason or 'no reason given'}"
    reason = answer.reason or "no reason given"
    said = answer.text or f"declined: {DECLINE.get(reason, reason)}"
    return said if len(said) <= SHOWN_LETTERS else f"{said[:SHOWN_LETTERS].rstrip()} …"


def _stood(result: Result, question_id: str, measure: str) -> str:
    if measure == "hit5":
        rank = result.ranks.get(question_id)
        return f"place {rank}" if rank else "not among those shown"
    graded = result.graded.get(question_id)
    return f"{graded.label} (by {graded.by})" if graded and graded.label else "not graded"


def _varies(planned: Mapping[str, Any]) -> str:
    """What a model's answers vary by themselves, measured before the change was planned."""
    n, ungraded, failed = planned["asked_twice"], planned["flips_ungraded"], planned["failed_twice"]
    told = f"{planned['flips']} of {plural(n, 'question')} came out differently when the same system was asked twice"
    told += f"; at most, for of {ungraded} of them only the text is known to differ" if ungraded else ""
    return told + (f"; {failed} more not measured, a call failed" if failed else "")


def _points(value: float | None, sign: bool = True) -> str:
    if value is None:
        return NOT_MEASURED
    return f"{100 * value:+.1f} points" if sign else f"±{100 * value:.1f} points"


def _difference(value: float | None, interval: Interval | Sequence[float] | None) -> str:
    if value is None:
        return NOT_MEASURED
    low_high = f" ({100 * interval[0]:+.1f} to {100 * interval[1]:+.1f})" if interval else ""
    return f"{100 * value:+.1f} points{low_high}"


def ledger(lines: Sequence[Mapping[str, Any]]) -> Html:
    """Every change in the order of its lines: what was believed before, and each verdict after."""
    planned = {line["name"]: line for line in lines if line.get("event") == "planned"}
    verdicts = [line for line in lines if line.get("event") == "verdict"]
    waiting = [line for name, line in planned.items() if name not in {v["name"] for v in verdicts}]
    rows = [_entry(v, planned.get(v["name"], {})) for v in verdicts] + [_entry(w, w) for w in waiting]
    last = {v["name"]: v["verdict"] for v in verdicts}
    kept = sum(verdict == "kept" for verdict in last.values())
    head = ("Change", "Verdict", "Date", "Believed before", "Fixed / broken", "Difference", "p / level")
    return section(
        table("Changes tried", head, rows, empty="none so far"),
        note(
            f"{kept} of {plural(len(last), 'change')} kept. A verdict is never revised; one that waits follows "
            "later. Kept gains were measured on the questions that prompted them: expect less."
        )
        if verdicts
        else None,
    )


def _entry(line: Mapping[str, Any], plan: Mapping[str, Any]) -> tuple[object, ...]:
    word, kind = VERDICT.get(line.get("verdict", ""), (line.get("verdict") or "no verdict yet", "open"))
    measured = "verdict" in line
    counts = f"{line['fixed']} / {line['broken']} of {line['questions']}" if measured else NOT_MEASURED
    believed = [plan.get("hypothesis", "not recorded"), element("br"), element("small", cause_name(plan.get("cause")))]
    return (
        join([line["name"], element("br"), element("small", f"by {plain(line.get('measure', ''))}")]),
        tag(word, kind),
        whole(line.get("date", "")),
        join(believed),
        whole(counts),
        _difference(line.get("difference"), line.get("interval")),
        f"{line['p']:.4f} / {line['level']:.4f}" if measured else f"– / {line.get('level', 0):.4f}",
    )


def threshold(sweep: Sweep, language: str = "en") -> Html:
    """The run as it stands beside what the rule's threshold would make of it, whether that holds, and how to set it."""
    say, taken = Voice(language), sweep.candidate
    if sweep.chosen is not None:
        word, kind = say("decline_under", threshold=sweep.chosen), "good"
    elif taken is not None and taken.threshold is None:
        word, kind = say("none_needed"), "good"
    else:
        word, kind = say("none_useful"), "open"
    top = (paragraph(tag(word, kind)), say.sentences(sweep))
    if sweep.always is None:
        return section(*top, lang=language)
    rows = [_point(say("as_it_stands"), sweep.always, say)]
    if taken is not None and taken.threshold is not None:
        rows.append(_point(say("rule_choice", threshold=taken.threshold), taken, say))
        if sweep.held_out is not None:
            rows.append(_point(say("held_out"), sweep.held_out, say))
    unknown, bound, gain, span = say("not_measured"), sweep.wrong_bound, sweep.gain_bound, sweep.answered_range
    checks = [
        (say("check_wrong"), unknown if bound is None else say.format_field(bound, ".1f%")),
        (say("check_gain"), unknown if gain is None else say("gain", gain=gain)),
        (say("check_share"), unknown if span is None else say("whole_from_to", low=100 * span[0], high=span[1])),
        (say("check_without"), str(sweep.without_score)),
        (say("check_unlabelled"), str(sweep.unlabelled)),
        (say("check_judged"), str(sweep.judged)),
    ]
    set_so = "threshold_none_set" if sweep.chosen is None else "threshold_set"
    head = [say(key) for key in ("rule", "col_answered", "col_declined", "col_correct", "col_wrong")]
    return section(
        *top,
        table(say("what_it_does"), head, rows),
        facts(say("does_it_hold"), checks),
        note(say("threshold_counts")),
        note(say(set_so, **({} if sweep.chosen is None else {"code": f"{sweep.chosen:.4f}"}))),
        lang=language,
    )


def _point(name: str, point: Point, say: Voice) -> tuple[object, ...]:
    counts = (point.answered, point.declined, point.correct, point.wrong)
    return name, *(say("n_of", n=k, all=point.n) for k in counts)
