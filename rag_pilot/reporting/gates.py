"""The release gate as people read it: a few lines for a terminal, and one dated page in results/<pilot>/gates/.

The page is for the pilot's readers: numbers, and bad answers as `failures` shows them to these readers. What a limit
means, and when it is passed, is known in `release`.
"""

from __future__ import annotations

from datetime import date
from pathlib import Path

from ..amending import scored_against
from ..audit import audit_pages
from ..errors import AccessError
from ..files import write_text
from ..reading import failures
from ..release import Limit, ReleaseGate
from ..results import Result
from . import tables
from .html import NOT_MEASURED, Html, facts, note, section, table, tag
from .pages import render, stamp
from .words import plural

STATE = {"met": "good", "within": "good", "not met": "bad", "beyond": "bad", "not decided": "open", "not read": "open"}
NOT_LISTED = "Not listed: an answer quotes what the readers of this page may not read. `rag-pilot run` names the leak."
KIND = {"agreed": "agreed before the first run", "alert": "alert", "always": "holds for every run"}


def gate_lines(found: ReleaseGate) -> list[str]:
    """What a terminal shows: the verdict, each limit, what the numbers are over, and real answers."""
    result = found.result
    width = max(len(limit.state) for limit in found.limits)
    return [
        f"run {result.run.id}: {_word(found)}",
        *(f"  {limit.state:{width}}  {limit.name} ({limit.limit}): {limit.words}" for limit in found.limits),
        *([f"  not of what would go live; changed since: {', '.join(found.older)}"] if found.older else []),
        *(f"  {name}: {value}" for name, value in _over(result)),
        f"  real answers: {_real(found)}",
    ]


def write_gate(found: ReleaseGate) -> Path:
    """Write the page of today for this run and return where.

    Where an answer that leaks would put words on it that its readers may not read, the page goes without the bad
    answers; AccessError, and no page, where something else does (a criterion's name, say).
    """
    result = found.result
    path = result.pilot.results / "gates" / f"{date.today().isoformat()}-{result.run.id}.html"
    for page in (gate_page(found), gate_page(found, NOT_LISTED)):
        if not (leaked := audit_pages({path.name: page}, result.pilot.readers, result.rights.words).passages):
            write_text(path, page)
            return path
    raise AccessError(
        f"{path.name} (of {', '.join(next(iter(leaked.values()))[:5])}): words that readers of "
        f"{', '.join(sorted(result.pilot.readers))} may not read; it was not written. Take them out of pilot.toml"
    )


def gate_page(found: ReleaseGate, instead: str = "") -> str:
    """The page: the verdict and why, every limit with n and interval, what the numbers are over, real answers; and bad
    answers, or a sentence instead of them."""
    result = found.result
    return render(
        "gate.html.j2",
        title=f"{result.settings.pilot.title}: release gate, {date.today().isoformat()}",
        stamp=stamp(result),
        verdict="build" if found.passed else "stop",
        word=_word(found).capitalize() + ".",
        meaning=_meaning(found),
        reasons=found.reasons,
        held=_held(found.limits),
        over=section(facts("This run", _over(result)), result.headline.words),
        real=_real(found),
        failures=section(instead) if instead else tables.failures(failures(result)),
    )


def _word(found: ReleaseGate) -> str:
    return "passed" if found.passed else "not passed"


def _meaning(found: ReleaseGate) -> str:
    if found.passed:
        unmeasured = [limit.name for limit in found.limits if limit.state == "not measured"]
        but = f" Not measured: {', '.join(unmeasured)}." if unmeasured else ""
        return f"Everything that could be measured is within its limit.{but}"
    return "What stops it:"


def _held(limits: tuple[Limit, ...]) -> Html:
    rows = [
        (limit.name, tag(limit.state, STATE.get(limit.state, "")), limit.limit, KIND[limit.kind], *_numbers(limit))
        for limit in limits
    ]
    head = ("Limit", "Result", "In numbers", "Which", "Measured", "95 % interval", "n")
    return section(
        table("Each limit against this run", head, rows),
        note(
            "What was agreed passes only where the exact one-sided bound says “met”: “not decided” does not pass. An "
            "alert is held against the value itself, so that it warns early: where the interval holds the limit, it "
            "can be chance. n is the number of questions; where not all answers are read, the number read by hand that "
            "would tell as much."
        ),
    )


def _numbers(limit: Limit) -> tuple[str, str, str]:
    if limit.value is None:
        return NOT_MEASURED, "–", "–"
    span = f"{100 * limit.interval.low:.1f} to {100 * limit.interval.high:.1f} %" if limit.interval else "–"
    return f"{100 * limit.value:.1f} %", span, f"{limit.n:.0f}"


def _over(result: Result) -> list[tuple[str, str]]:
    """What was asked, what has no label, and whether the judge's labels count."""
    info, (read, of) = result.run.info, result.labelled
    errors, ungraded = result.run.errors, result.headline.not_graded
    rows = [
        ("questions", ", ".join(f"{info[name]} {name}" for name in ("asked", "answered", "declined", "error"))),
        ("labels", f"{read} of the {of} answers of the sample are read on this run"),
        ("judge", result.gate.words),
    ]
    if errors:
        rows.append(
            ("errors", f"{plural(errors, 'question')} failed: neither correct nor wrong, in no Hit@5, in all shares")
        )
    if ungraded:
        rows.append(("not graded", f"{plural(ungraded, 'answer')} have neither a person's nor a judge's label"))
    if joined := sum(q.adopted for q in result.questions):
        rows.append(("joined since", f"{plural(joined, 'question')} that failed in use: asked, and in no share"))
    if amended := scored_against(result):
        rows.append(("scored against", amended))
    return rows


def _real(found: ReleaseGate) -> str:
    waiting = f" {plural(found.real.waiting, 'answer')} drawn since wait to be read." if found.real.waiting else ""
    return f"{found.real.words}{waiting}"
