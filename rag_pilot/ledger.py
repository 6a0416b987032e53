"""Week 2: one change at a time against a moving baseline, each decided by the rule that was fixed before its run.

The ledger is append-only: hypothesis, cause, measure, level and detectable difference stand in it before the run, the
comparison and verdict after it. An identical pair of runs is read back, not decided twice; a verdict is never revised.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Any

from .analysis.comparison import BROKEN_EXPECTED, Comparison, SpentLevelError, compare, confirmed, detectable, level
from .building import Variant
from .errors import AccessError, DataError, ModelError, StaleError
from .files import append_jsonl, read_jsonl
from .forecast import Forecast, forecast
from .identity import fingerprint
from .pilot import Pilot
from .results import Result
from .runs import AGAIN, read_info
from .settings import Change
from .two_runs import RetrievalChange, correct, failed, flips, hits, judged, retrieval_change, unchanged

NOISE = ("flips", "asked_twice", "flips_ungraded", "failed_twice")
"""Of a planned line: questions that differed when the same system was asked twice, of how many, how many of them only
in their text, and how many a call failed for."""
CONFIGURED = {
    "documents": "documents",
    "access": "who may open them",
    "questions": "questions",
    "glossary": "the glossary",
    "version": "the version of this program",
}
"""Parts of a run's configuration in words; the others are settings."""


@dataclass(frozen=True)
class Tried:
    """A change with the runs before and after it, its comparison and its line in the ledger."""

    change: Change
    before: Result
    after: Result
    comparison: Comparison
    entry: Mapping[str, Any]
    planned: Mapping[str, Any]
    to_read: tuple[str, ...] = ()  # questions whose two versions the expert must read before it can be decided
    judge_admitted: bool = True  # if not, every changed answer is among them

    @cached_property
    def retrieval(self) -> RetrievalChange:
        """What became of retrieval: shown beside the verdict, never decided on."""
        return retrieval_change(self.before, self.after, self.comparison.level)

    @property
    def example(self) -> str | None:
        """A question that the change fixed, else one that it broke, else None: the one to trace."""
        return next(iter((*self.comparison.fixed, *self.comparison.broken)), None)


class EmptyChangeError(DataError):
    """A planned change that would run what was run already."""


class LeakingChangeError(AccessError):
    """A change whose run shows somebody what they may not open: it gets no verdict, least of all 'kept'."""


class Ledger:
    """The changes of a pilot: what is planned, what was tried, what is kept."""

    def __init__(self, pilot: Pilot) -> None:
        self.pilot = pilot
        self.path: Path = pilot.results / "changes.jsonl"
        self.skipped: dict[str, str] = {}  # change -> why it could not be tried on this machine

    def lines(self) -> list[dict[str, Any]]:
        """Every line, oldest first."""
        return [row for _, row in read_jsonl(self.path)] if self.path.exists() else []

    def verdicts(self) -> dict[str, Mapping[str, Any]]:
        """The last verdict of each change, in the order in which the changes were first decided."""
        return _verdicts(self.lines())

    def kept(self) -> tuple[str, ...]:
        """The names of the changes that are kept, in order."""
        return _kept(self.lines())

    def variant(self, names: tuple[str, ...]) -> Variant:
        """The configuration of pilot.toml with those changes made."""
        settings = self.pilot.settings
        for name in names:
            settings = settings.changed(self.change(name).set)
        return Variant(settings, tuple(n for n in names if (self.pilot.data / "changes" / n).is_dir()))

    def change(self, name: str) -> Change:
        """A planned change by name."""
        planned = {c.name: c for c in self.pilot.settings.change}
        if name not in planned:
            raise DataError(f"no change {name!r} is planned in pilot.toml; planned are {', '.join(planned) or 'none'}")
        return planned[name]

    def result(self, names: tuple[str, ...] | None = None) -> Result:
        """The run with those changes made (None: those that are kept), reused where it exists."""
        names = self.kept() if names is None else names
        variant = self.variant(names)
        run = self.pilot.run("-".join(("baseline", *names)) if len(names) < 2 else f"with-{names[-1]}", variant)
        return Result(self.pilot, run, self.pilot.build(variant))

    def stored(self, names: tuple[str, ...] | None = None) -> Result:
        """As `result`, for those who only read: no question is asked. StaleError where that run is not on disk."""
        names = self.kept() if names is None else names
        if not self._finished(names):
            raise StaleError(self._not_there(names))
        return self.result(names)

    def _finished(self, names: tuple[str, ...]) -> bool:
        return self.pilot.finished(self.variant(names)) is not None

    def _not_there(self, names: tuple[str, ...]) -> str:
        """Why a run is not on disk, and which notebook makes it."""
        again = f"run {'07_fix_and_rerun' if names else '04_first_run'}, then this notebook again"
        if self.pilot.begun(self.variant(names)):
            return f"the run was stopped before every question was asked: {again}; it goes on where it stopped"
        made = [read_info(path.parent) for path in sorted((self.pilot.results / "runs").glob("*/run.json"))]
        old = [info for info in made if info.get("name") == "baseline"]
        if names:
            return f"there is no run with the changes that are kept, on what there is now: {again}"
        if not old:
            return f"nothing has been asked yet, so there is no answer to read: {again}"
        now, last = self.pilot.config(self.variant(names)), old[-1]
        changed = [key for key in now if now[key] != last.get("config", {}).get(key)]
        what = ", ".join(dict.fromkeys(CONFIGURED.get(key, "settings") for key in changed))
        return (
            f"changed since the run of {last.get('date', 'an earlier day')}: {what}. Its answers are out of date: run "
            f"02_index_documents, and {again.removeprefix('run ')}"
        )

    def dry_run(self, names: tuple[str, ...] | None = None) -> Forecast:
        """What `result` would call and cost now, and asking the same twice while a change waits for it; nobody is
        called."""
        found = forecast(self.pilot, self.variant(self.kept() if names is None else names))
        waits = any(c.measure == "correct" and not self._planned(c.name) for c in self.pilot.settings.change)
        if not waits or self.again is None:
            return found
        second = forecast(self.pilot, self.again)
        calls = (*found.calls, *(replace(c, again=True) for c in second.calls if c.asked))
        return replace(found, calls=calls, ungraded=found.ungraded + second.ungraded)

    def left(self) -> int:
        """How many planned changes have no verdict yet."""
        decided = {n for n, line in self.verdicts().items() if line["verdict"] != "not decided"}
        return len([c for c in self.pilot.settings.change if c.name not in decided])

    def attempt(self, name: str) -> Tried:
        """Make one change on top of the kept ones, run, compare, and write or read back the verdict.

        Raises DataError for a change that was planned under this name with another content, StaleError for one that
        is decided while documents, questions or settings have changed since: its verdict stands. Raises
        LeakingChangeError where the run leaks: no verdict is written and no level spent.
        """
        change = self.change(name)
        self._check_content(change)
        before_names = planned_on(self.lines(), name)
        before = self.result(before_names)
        answerable = len(before.ranks) if change.measure == "hit5" else len(before.questions)
        at_level = level_for(name, self.lines(), self.pilot.settings.pilot.changes_planned)
        decided, config = self._decided(name), self.pilot.config(self.variant((*before_names, name)))
        if config == self.pilot.config(self.variant(before_names)):
            raise EmptyChangeError(
                f"{name} changes nothing: give it settings under `set` in pilot.toml, or files in changes/{name}/ "
                "(documents/ or glossary.toml); nothing was run and no verdict written"
            )
        if decided and (decided["before"], decided["after"]) != (before.run.info["fingerprint"], fingerprint(config)):
            raise StaleError(_stands(decided))
        self.pilot.refuse_unstored(self.variant((*before_names, name)))  # before anything is noted of it
        noise = self._noise(change)
        flipping = noise["flips"] / (2 * noise["asked_twice"]) if noise.get("asked_twice") else 0.0
        planned = {
            "name": name,
            "cause": change.cause,
            "hypothesis": change.hypothesis,
            "measure": change.measure,
            "set": change.set,
            "level": at_level,
            "detectable": detectable(answerable, BROKEN_EXPECTED + flipping, at_level),
            "questions": answerable,
            **noise,
            "before": before.run.info["fingerprint"],
        }
        plan = self._note("planned", planned, fingerprint(planned))
        after = self.result((*before_names, name))
        if not decided:
            _refuse_leaks(name, after)
        comparison, to_read = self._compare(change, before, after, at_level)
        known = fingerprint([planned, after.run.info["fingerprint"], comparison.n, _evidence(comparison)])
        entry = {
            "name": name,
            "measure": change.measure,
            "before": before.run.info["fingerprint"],
            "after": after.run.info["fingerprint"],
            "before_run": before.run.id,
            "after_run": after.run.id,
            "fixed": len(comparison.fixed),
            "broken": len(comparison.broken),
            "not_measured": len(comparison.not_measured),
            "failed": len(comparison.failed),
            "questions": comparison.n,
            "difference": comparison.difference,
            "interval": list(comparison.interval) if comparison.interval else None,
            "p": comparison.p,
            "level": at_level,
            "verdict": comparison.verdict,
            "words": comparison.words,
        }
        noted = decided or self._note("verdict", entry, known)
        admitted = change.measure != "correct" or self._admitted
        return Tried(change, before, after, comparison, noted, plan, to_read, admitted)

    @property
    def again(self) -> Variant | None:
        """The configuration of pilot.toml asked a second time, no reply reused; None where no model answers.

        An unchanged text is graded once: the judge's reply to it is the same. Its retrieval differs only where a model
        rewrites questions.
        """
        settings = self.pilot.settings
        if "model" not in (settings.answer.kind, settings.rewrite.kind):
            return None
        anew = {f"{name}.repeat": getattr(settings, name).repeat + 1 for name in ("answer", "rewrite")}
        return Variant(settings.changed(anew))

    def _noise(self, change: Change) -> dict[str, int]:
        """What answers vary by themselves, as it was when the change was first planned; empty where none is measured.

        "Run the baseline twice first: its flips set the smallest detectable difference" (the project's rule for
        comparing answers): half of the flips would be broken questions of a change that does nothing.
        """
        if planned := self._planned(change.name):
            return {name: planned[name] for name in NOISE if name in planned}
        if change.measure != "correct" or self.again is None:
            return {}
        second = Result(self.pilot, self.pilot.run(AGAIN, self.again), self.pilot.build(self.again))
        found = flips(self.result(()), second)
        return dict(zip(NOISE, (found.flips, found.n, found.ungraded, found.failed), strict=True))

    @cached_property
    def _admitted(self) -> bool:
        """Whether the judge agreed with the expert on the baseline: only then may it say which pairs are alike.

        The rule lets any judge pick the pairs that are read, because the twenty of the check would show what it
        overlooks; this is stricter: of a judge that failed the gate nothing is taken, and all changed answers are read.
        """
        return self.result(()).gate.passed

    def attempt_all(self, *, stored: bool = False) -> list[Tried]:
        """All planned changes in order, decided ones read back; `skipped` says why one could not be tried.

        `stored`: for those who only read. A change whose runs are not on disk is then not tried, and nothing is asked.
        """
        tried = []
        for change in self.pilot.settings.change:
            try:
                if stored and not self._tried(change.name):
                    raise StaleError("not tried yet: notebook 07 does that")
                tried.append(self.attempt(change.name))
            except (EmptyChangeError, LeakingChangeError, ModelError, SpentLevelError, StaleError) as fault:
                self.skipped[change.name] = str(fault)
        return tried

    def _tried(self, name: str) -> bool:
        before = planned_on(self.lines(), name)
        return self._planned(name) is not None and self._finished(before) and self._finished((*before, name))

    def _compare(self, change: Change, before: Result, after: Result, at: float) -> tuple[Comparison, tuple[str, ...]]:
        lost = failed(before, after)
        if change.measure == "hit5":
            return compare(*hits(before, after, 5), at, "Hit@5", failed=lost), ()
        known = correct(before), correct(after)
        sides = (judged(before), judged(after)) if self._admitted else ({}, {})
        same = unchanged(before, after)
        pairs = confirmed(known, sides, same, self.pilot.settings.pilot.seed)
        to_read = tuple(i for i in (*pairs.to_read, *pairs.check) if i not in lost)
        return compare(pairs.before, pairs.after, at, "correct", same, lost), to_read

    def _check_content(self, change: Change) -> None:
        """Refuse a name that stands in the ledger for another change: hypotheses are written before runs, not after."""
        now = {"cause": change.cause, "hypothesis": change.hypothesis, "measure": change.measure, "set": change.set}
        line = self._planned(change.name)
        if line and (differing := [key for key, value in now.items() if line.get(key) != value]):
            raise DataError(
                f"change {change.name!r} was planned on {line['date']} with another {', '.join(differing)}; "
                "restore it in pilot.toml, or give the new change a name of its own"
            )

    def _planned(self, name: str) -> dict[str, Any] | None:
        """The line that planned a change first; what stands in it does not move."""
        return next((x for x in self.lines() if x["event"] == "planned" and x["name"] == name), None)

    def _decided(self, name: str) -> Mapping[str, Any] | None:
        """The verdict of a change that is kept or not shown: it is never revised."""
        line = self.verdicts().get(name)
        return line if line and line["verdict"] != "not decided" else None

    def _note(self, event: str, entry: Mapping[str, Any], key: str) -> Mapping[str, Any]:
        """Append a line, unless the same one stands there: then that one is returned."""
        for line in self.lines():
            if line["event"] == event and line["key"] == key:
                return line
        line = {"event": event, "key": key, "date": date.today().isoformat(), **entry}
        append_jsonl(self.path, line)
        return line


def planned_on(lines: Sequence[Mapping[str, Any]], name: str) -> tuple[str, ...]:
    """What a change is measured on: the changes that were kept when it was first planned; those kept now, if it is not.

    As its level and its hypothesis, its baseline does not move: what is decided meanwhile belongs to later changes.
    """
    first = (n for n, line in enumerate(lines) if line["event"] == "planned" and line["name"] == name)
    return _kept(lines[: next(first, len(lines))])


def level_for(name: str, lines: Sequence[Mapping[str, Any]], changes_planned: int) -> float:
    """The level fixed when a change was first planned; every other change planned before keeps its share.

    One without a verdict yet (a person has to read, its model was missing, its run leaked) may still be tested.
    """
    planned = [line for line in lines if line["event"] == "planned"]
    if own := next((line for line in planned if line["name"] == name), None):
        return float(own["level"])
    kept = _kept(lines)
    prior = ["kept" if other in kept else "not shown" for other in dict.fromkeys(line["name"] for line in planned)]
    return level(changes_planned, prior)


def _verdicts(lines: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {line["name"]: line for line in lines if line["event"] == "verdict"}


def _kept(lines: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(name for name, line in _verdicts(lines).items() if line["verdict"] == "kept")


def _refuse_leaks(name: str, after: Result) -> None:
    if not after.leaking.count:
        return
    where = {stage: set(leaks.passages) for stage, leaks in after.audit.stages.items() if leaks.passages}
    where["candidate lists of the run"] = set(after.leaks.passages)
    told = "; ".join(f"{stage}: {', '.join(sorted(ids)[:10])}" for stage, ids in where.items() if ids)
    raise LeakingChangeError(
        f"{name} is not decided: its run leaks on {after.leaking.count} of {after.leaking.n} questions ({told}). No "
        f"verdict was written and no level spent. Mend the access or the stage, remove {after.run.folder}, and try the "
        "change again"
    )


def _stands(line: Mapping[str, Any]) -> str:
    return (
        f"{line['name']} was decided on {line['date']} ({line['verdict']}: {line['fixed']} fixed, "
        f"{line['broken']} broken) and documents, questions or settings have changed since; the verdict stands and is "
        "not taken again. To measure the change on what there is now, plan it under a new name, its folder in changes/ "
        "too"
    )


def _evidence(comparison: Comparison) -> Any:
    plain = asdict(comparison)
    return [plain["fixed"], plain["broken"], plain["not_measured"], plain["verdict"]]
