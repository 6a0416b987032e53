"""The picture that a sponsor remembers: the score before and after each kept change, and the line that was agreed.

Which changes are kept is read from the ledger; whether a criterion is met was judged before. Nothing is decided here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...analysis.acceptance import Judgement
from ...analysis.headline import Estimate, Headline
from ...errors import ModelError, StaleError
from ...ledger import EmptyChangeError, LeakingChangeError, Ledger
from ..html import Html
from .drawing import (
    INK,
    LABEL_LOOK,
    MIDDLE,
    PALE,
    above,
    beside,
    drawing,
    interval,
    no_picture,
    percent_axis,
    point,
    rows,
    short,
)
from .wording import Wording

SHOWN = ("correct", "wrong")
SCALES = (0.1, 0.2, 0.4, 1.0)  # of an axis, so that a limit of 5 % can be told from 4 %


@dataclass(frozen=True)
class Step:
    """A run on the way from the first to the final one: its score, or None where it cannot be read back now.

    `change` is the name of the kept change that was made; empty for the first run, and for a final one that is no
    change's.
    """

    change: str
    score: Headline | None


def score(ledger: Ledger, *, language: str = "en") -> Html:
    """The score of the first run, after each kept change and of the final run, against what was agreed."""
    final = ledger.result()
    return score_of(steps(ledger), final.judgements(), language=language)


def steps(ledger: Ledger) -> tuple[Step, ...]:
    """The first run, the run of each kept change in order, and the final run where that is another one."""
    final, last = ledger.result(), ledger.result(())
    found = [Step("", last.headline)]
    for name in ledger.kept():
        try:
            last = ledger.attempt(name).after
        except (
            EmptyChangeError,
            LeakingChangeError,
            ModelError,
            StaleError,
        ):  # of other documents by now: what it scored then is in no run of today
            found.append(Step(name, None))
        else:
            found.append(Step(name, last.headline))
    return (*found, *([Step("", final.headline)] if last.run.id != final.run.id else []))


def score_of(steps: Sequence[Step], judged: Sequence[Judgement], *, language: str = "en") -> Html:
    """The same from the scores of the steps and the judgements of the final run."""
    say, final = Wording(language), steps[-1].score
    if not any(step.score and step.score.correct for step in steps):
        return no_picture(say, _withheld(final, say))
    with drawing(1.75 + 0.55 * len(steps), columns=len(SHOWN), lang=language) as sheet:
        for axis, label in zip(sheet.axes, SHOWN, strict=True):
            agreed = [j for j in judged if j.criterion.measure == label]
            values = [getattr(step.score, label) if step.score else None for step in steps]
            _lines(axis, values, agreed, label, say)
            rows(axis, _names(steps, say))
            axis.set_ylim(len(steps) - 0.5, -0.6)
            told = [line for j in agreed for line in _against(j, say)] or [say("no_limit")]
            above(axis, [say.name("label", label), *told])
        asked = next(step.score.asked for step in reversed(steps) if step.score)
        return sheet.html(
            say("score_title", n=say.counted("questions", asked)),
            " ".join(_way(steps, label, judged, say) for label in SHOWN) + _none_kept(steps, say),
            say("score_caption"),
        )


def _lines(axis: Any, values: Sequence[Estimate | None], agreed: Sequence[Judgement], label: str, say: Wording) -> None:
    """The estimates from top to bottom with their intervals, and each agreed limit with its good side shaded."""
    known = [(y, e) for y, e in enumerate(values) if e is not None]
    highest = max([j.criterion.limit for j in agreed] + [e.interval.high for _, e in known], default=1.0)
    top = 1.0 if label == "correct" else next(s for s in SCALES if s >= min(1.0, 1.1 * highest))
    percent_axis(axis, say, top)
    for j in agreed:
        limit = j.criterion.limit
        good = (0.0, limit) if j.criterion.direction == "at_most" else (limit, top)
        axis.axvspan(*good, color=PALE, alpha=0.3, linewidth=0, zorder=0)
        axis.axvline(limit, color=INK, linewidth=1.6, linestyle=(0, (5, 3)), zorder=2)
    axis.plot([e.value for _, e in known], [y for y, _ in known], color=MIDDLE, linewidth=1.0, zorder=1)
    for y, estimate in known:
        interval(axis, y, estimate.interval)
        point(axis, estimate.value, y, LABEL_LOOK[label][0], "o" if label == "correct" else "s")
    for y, value in enumerate(values):
        beside(axis, y, say.estimate(value) if value else say("no_score"), weight="bold" if value else "normal")


def _names(steps: Sequence[Step], say: Wording) -> list[str]:
    names = [f"+ {short(step.change, 22)}" if step.change else say("first_run") for step in steps]
    last = say("final_run")
    if len(steps) == 1:
        return [f"{last}\n{say('none_kept')}"]
    return [*names[:-1], f"{names[-1]}\n= {last}" if steps[-1].change else last]


def _against(judged: Judgement, say: Wording) -> tuple[str, str]:
    """Such as 'agreed: at least 70 %' and 'final run: below it, not met'."""
    criterion, state = judged.criterion, say.name("state", judged.state)
    agreed = say(criterion.direction, limit=say.limit(criterion.limit))
    if judged.state == "not decided" or judged.value is None:
        return agreed, say("undecided", state=state)
    within = judged.value == criterion.limit and judged.state == "met"
    where = "on" if within else "above" if judged.value > criterion.limit else "below"
    return agreed, say("decided", where=say(where), state=state)


def _way(steps: Sequence[Step], label: str, judged: Sequence[Judgement], say: Wording) -> str:
    """The way of a label's share from run to run and where it ends, in words."""
    told = []
    for step, name in zip(steps, _names(steps, say), strict=True):
        value: Estimate | None = getattr(step.score, label) if step.score else None
        told.append(f"{_said(step, name)} {say.estimate(value) if value else say('no_score')}")
    agreed = [", ".join(_against(j, say)) for j in judged if j.criterion.measure == label] or [say("no_limit")]
    called = say.name("label", label)
    return say("way", label=called[:1].upper() + called[1:], told=", ".join(told), agreed="; ".join(agreed))


def _said(step: Step, name: str) -> str:
    """A row's name on one line, the whole name of its change."""
    return f"+ {step.change}" if step.change else name.split("\n")[0]


def _none_kept(steps: Sequence[Step], say: Wording) -> str:
    return "" if any(step.change for step in steps) else " " + say("none_kept_alt")


def _withheld(final: Headline | None, say: Wording) -> str:
    if final is None:
        return say("no_score_alt")
    if say.language == "en":
        return f"{say('no_score_alt')} {final.words}"
    read, asked = say.counted("answers", final.by_person), say.counted("questions", final.asked)
    return say("no_score_read", read=read, asked=asked)
