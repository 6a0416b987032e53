"""The release gate and the monthly alarm: a run held against every limit of pilot.toml, and real answers beside it.

What was agreed (`[[acceptance]]`) passes only where it is met, as everywhere else: "not decided" is a refusal. It must
be, because a bare value under the limit is no evidence: of systems that are just beyond it, every second one has one.
The price is known: with 200 questions, all read, a system with 2 % wrong where 5 % are allowed passes 63 times in
100 (exact); more labels or more questions buy the rest, and the criterion says how many.

An `[[alert]]` is held against the value itself. An alarm asks somebody to look, so that one too many costs an hour and
one too few costs trust: it does not wait until chance is ruled out. Set it with room below what was agreed; whether
the interval holds the limit is told. The few real answers that a person re-reads are the exception (see `reread`). A
leak is beyond every limit, named or not. How any of it looks is not known here.
"""

from __future__ import annotations

from dataclasses import dataclass

from .analysis.acceptance import Criterion, Judgement
from .analysis.headline import Estimate
from .analysis.intervals import Interval
from .analysis.shares import Mean, Share
from .errors import DataError, SettingsError, StaleError
from .identity import fingerprint
from .ledger import Ledger
from .pilot import Pilot
from .reread import RealAnswers, real_answers
from .results import LEAK_MEASURE, Result
from .scores import FAITHFULNESS
from .settings import Alert
from .stored import stored_result

BELOW = frozenset({"not met", "not decided", "beyond", "not read"})
"""States of a limit that does not pass; `not measured` neither passes nor fails."""
HELD = frozenset({"met", "within"})


@dataclass(frozen=True)
class Limit:
    """One limit with what was measured: `state` is met, not met or not decided of what was agreed; within, beyond, not
    read (labels are missing) or not measured of an alert; `n` are the questions that the value is over."""

    name: str
    measure: str
    limit: str
    kind: str  # agreed | alert | always
    state: str
    value: float | None
    interval: Interval | None  # 95 %, two-sided
    n: float
    words: str  # what was found, and what follows

    @property
    def below(self) -> bool:
        """Whether it stops the release."""
        return self.state in BELOW


@dataclass(frozen=True)
class ReleaseGate:
    """What came of holding a run against the limits; `older` names what has changed since it, empty where nothing."""

    result: Result
    limits: tuple[Limit, ...]
    real: RealAnswers
    older: tuple[str, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not passed, each in a sentence; empty where it is."""
        told = [f"{limit.name}: {limit.state}. {limit.words}" for limit in self.limits if limit.below]
        if self.older:
            gone = " What is gone counts as closed: a leak may be none." if "documents" in self.older else ""
            changed = ", ".join(self.older)
            told.insert(0, f"The run is not of what would go live: {changed} changed since. Run again.{gone}")
        if not any(limit.state in HELD for limit in self.limits if limit.kind != "always") and not told:
            told.append("No limit could be measured on this run.")
        return (*told, *((f"Real answers: {self.real.words}",) if self.real.below else ()))

    @property
    def passed(self) -> bool:
        """Whether the run may go live."""
        return not self.reasons


def release_gate(pilot: Pilot, run: str | None = None) -> ReleaseGate:
    """Hold a run (by default that of pilot.toml with the kept changes, as everything stands now) against all limits.

    No question is answered anew. The leak audit searches again, and an alert on faithfulness with `scores = "model"`
    asks for replies that are not kept. SettingsError where pilot.toml has no limit, StaleError where its criteria
    are not those that were locked, DataError where the run is not there, not complete, or an example.
    """
    if not (pilot.settings.acceptance or pilot.settings.alert):
        raise SettingsError(
            f"{pilot.data / 'pilot.toml'} has neither [[acceptance]] nor [[alert]]: nothing to hold a run against. Add "
            'a limit, such as [[alert]] with measure = "wrong" and at_most = 0.08'
        )
    if pilot.settings.acceptance and pilot.locked is None:
        raise StaleError(
            "the acceptance criteria are not locked, so that nobody has agreed on them: notebook 00 does that"
        )
    if pilot.settings.acceptance:
        pilot.lock_acceptance()  # nothing is written: StaleError where those of pilot.toml are not those of the lock
    ledger = Ledger(pilot)
    live = ledger.variant(ledger.kept())
    if run is None:
        finished = pilot.finished(live)
        if finished is None:
            raise DataError(
                f"pilot {pilot.name} has no finished run of its documents, questions and settings (with the changes "
                "that are kept) as they stand now, which is what would go live: `rag-pilot run` makes one"
            )
        result = Result(pilot, finished, pilot.build(live))
    else:
        result = stored_result(pilot, run)
    if result.run.folder is None or not result.run.folder.is_relative_to(pilot.results):
        raise DataError(
            f"{result.run.id} is an example that came with the pilot, and goes nowhere; name a run of yours"
        )
    if not result.run.info.get("complete"):
        raise DataError(f"{result.run.id} is not complete: `rag-pilot run {pilot.name}` goes on with it")
    was, now = result.run.info.get("config", {}), pilot.config(live)
    older = tuple(name for name in {**was, **now} if fingerprint(was.get(name)) != fingerprint(now.get(name)))
    return ReleaseGate(result, held(result), real_answers(pilot), older)


def held(result: Result) -> tuple[Limit, ...]:
    """Every limit against a run: what was agreed, the alerts, leaks whether named or not, and calls that failed."""
    found = result.judgements()
    agreed = [_agreed(result, judgement) for judgement in found]
    alerts = [_alert(result, alert) for alert in result.settings.alert]
    named = any(j.criterion.measure == LEAK_MEASURE and j.criterion.limit == 0 for j in found)
    always = [*([] if named else [_leaks(result.leaking)]), *_not_looked_at(result)]
    return (*agreed, *alerts, *always)


def _not_looked_at(result: Result) -> list[Limit]:
    """What no limit may be said to hold over: questions whose call failed, stages of the audit that could not look."""
    failed, of = result.run.errors, len(result.questions)
    unseen = {stage: n for stage, leaks in result.audit.stages.items() if (n := leaks.share.missing.get("error", 0))}
    common, found = ("always", "not read", None, None, 0), []
    if failed:
        words = f"{failed} of {of} calls failed: `rag-pilot run` asks them again."
        found.append(Limit("every question asked", "error", "no failed call", *common, words))
    if unseen:
        words = f"The leak audit could not look: {', '.join(f'{stage} {n} times' for stage, n in unseen.items())}."
        found.append(Limit("every stage looked at", LEAK_MEASURE, "no failed look", *common, words))
    return found


def _agreed(result: Result, found: Judgement) -> Limit:
    criterion, measured = found.criterion, result.measured(found.criterion.measure)
    said = f"{criterion.text()}: {found.state}"  # stands in the limit and its state already
    words = found.words[len(said) + 2 :] if found.words.startswith(said) else found.words
    if measured is None and words.endswith("no data."):
        words = _unread(result)
    interval = measured.interval if measured is not None and found.value is not None else None
    return Limit(
        criterion.name,
        criterion.measure,
        criterion.text(),
        "agreed",
        found.state,
        found.value,
        interval,
        found.n,
        words,
    )


def _unread(result: Result) -> str:
    read, of = result.labelled
    if read < of:
        return (
            f"{of - read} of the {of} answers of the sample have no label on this run: notebook 05 shows them, "
            "also those that a change altered."
        )
    return result.headline.words


def _alert(result: Result, alert: Alert) -> Limit:
    criterion = _criterion(alert)
    measured = _faithfulness(result) if alert.measure == FAITHFULNESS else result.measured(alert.measure)
    value = None if measured is None else measured.value
    common = (f"alert on {alert.measure}", alert.measure, criterion.text(), "alert")
    if measured is None or value is None:
        missing = f" ({told})" if isinstance(measured, Mean | Share) and (told := measured.missing_text()) else ""
        if alert.measure == FAITHFULNESS:  # a system that declines everything claims nothing, and is not unfaithful
            return Limit(
                *common, "not measured", None, None, 0, f"No answer makes a claim that can be checked{missing}."
            )
        told = _unread(result) if measured is None else f"Nothing was measured{missing}."
        return Limit(*common, "not read", None, None, 0, told)
    n = measured.n_eff if isinstance(measured, Estimate) else float(measured.n)
    at_most = criterion.direction == "at_most"
    beyond = value > criterion.limit if at_most else value < criterion.limit
    return Limit(
        *common, "beyond" if beyond else "within", value, measured.interval, n, _said(measured, beyond, criterion)
    )


def _criterion(alert: Alert) -> Criterion:
    of = {"hit5": "answerable questions", FAITHFULNESS: "an answer's claims"}.get(alert.measure, "all questions")
    if alert.at_most is not None:
        return Criterion(alert.measure, alert.measure, "at_most", alert.at_most, of)
    return Criterion(alert.measure, alert.measure, "at_least", alert.at_least or 0.0, of)


def _faithfulness(result: Result) -> Mean:
    return next(score.mean for score in result.scores if score.name == FAITHFULNESS)


def _said(measured: Share | Mean | Estimate, beyond: bool, criterion: Criterion) -> str:
    missing = "" if isinstance(measured, Estimate) else measured.missing_text()
    words = f"{measured.text()}{f'; not in it: {missing}' if missing else ''}."
    interval = measured.interval
    if not beyond:
        return words
    if interval is None:
        return f"{words} So few have no interval: look before you conclude."
    chance = interval.low <= criterion.limit <= interval.high
    told = "It can be chance: the interval holds the limit. Look." if chance else "The whole interval is beyond it."
    return f"{words} {told}"


def _leaks(leaking: Share) -> Limit:
    state = "not met" if leaking.count else "met"
    words = f"{leaking.count} of {leaking.n} questions show something to who may not open it."
    return Limit("no leak", LEAK_MEASURE, "none, ever", "always", state, leaking.value, None, leaking.n, words)
