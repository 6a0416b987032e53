"""Did a change help? Two runs over the same questions, compared question by question.

The exact one-sided McNemar test decides, at a level that five planned changes share; the intervals are for the eye. A
verdict is never revised, judge labels alone never keep a change, and two runs over different sets of questions get no
verdict. This module knows outcomes by question and neither labels nor documents.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from scipy import special

from ..errors import DataError
from .intervals import Interval, bonett_price, normal_margin, t_interval
from .shares import MEANS_FROM, Share

TOTAL_LEVEL = 0.05
VERDICTS = ("kept", "not shown", "not decided")
BROKEN_EXPECTED = 0.02
"""Share of questions that a change is taken to break when the detectable difference is stated: 2 points."""
CHANGED_FROM = 10
"""Under ten changed questions the interval of a mean difference cannot be relied on (simulated for this project)."""

NAMED = 10
"""So many ids are named in a sentence; a table holds them all."""


class SpentLevelError(DataError):
    """A change beyond those that were planned: no level is left for it."""


def mcnemar(fixed: int, broken: int) -> float:
    """The exact one-sided p of at least so many fixed among the changed questions (McNemar 1947); 1 if none changed."""
    return float(special.bdtrc(fixed - 1, fixed + broken, 0.5)) if fixed else 1.0


def level(changes_planned: int, verdicts: Sequence[str]) -> float:
    """The level of the next change after these verdicts: 0.05/planned, plus the level before if that change was kept.

    The fallback procedure (Wiens 2003); a verdict "not decided" has spent nothing. After the last planned change: an
    error.
    """
    if unknown := [v for v in verdicts if v not in VERDICTS]:
        raise DataError(f"verdict {unknown[0]!r} is unknown; expected one of {', '.join(VERDICTS)}")
    spent = [v for v in verdicts if v != "not decided"]
    if len(spent) >= changes_planned:
        raise SpentLevelError(
            f"{len(spent)} changes are decided and {changes_planned} were planned, which uses up what these questions "
            "can decide: take the change out of pilot.toml or plan it with fresh questions; raising changes_planned "
            "now is an amendment of what was locked, with a reason that stays on record"
        )
    share = TOTAL_LEVEL / changes_planned
    current = share
    for verdict in spent:
        current = share + (current if verdict == "kept" else 0.0)
    return current


def power(n: int, fixed_share: float, broken_share: float, at_level: float) -> float:
    """The exact chance that a change which truly fixes and breaks these shares of n questions is kept."""
    changed_share = fixed_share + broken_share
    if changed_share <= 0:
        return 0.0
    changed = np.arange(n + 1)
    below = special.bdtr(changed, n, changed_share)
    chance = np.diff(below, prepend=0.0)
    needed = np.array([_fewest_fixed(int(k), at_level) for k in changed])
    kept = np.where(needed <= changed, special.bdtrc(needed - 1, changed, fixed_share / changed_share), 0.0)
    return float(chance @ np.where(needed == 0, 1.0, kept))


@cache
def _fewest_fixed(changed: int, at_level: float) -> int:
    """The fewest fixed of so many changed questions that keep a change; one more than all where none would."""
    p = special.bdtrc(np.arange(changed + 1) - 1, changed, 0.5)
    p[0] = 1.0
    return int(np.argmax(p <= at_level)) if (p <= at_level).any() else changed + 1


def detectable(n: int, broken_share: float, at_level: float, chance: float = 0.8) -> float | None:
    """The smallest net gain, as a fraction, that n questions would show with this chance; None if none would."""
    low, high = 0.0, 1 - broken_share
    if n < 1 or power(n, high, broken_share, at_level) < chance:
        return None
    while high - low > 1e-4:
        gain = (low + high) / 2
        fixed = min(broken_share + gain, 1 - broken_share)  # no more can be fixed than is not broken
        low, high = (low, gain) if power(n, fixed, broken_share, at_level) >= chance else (gain, high)
    return high


@dataclass(frozen=True)
class Comparison:
    """What a change did, question by question; differences and margins are fractions (0.05 is 5 points)."""

    measure: str
    verdict: str  # kept | not shown | not decided
    n: int  # questions with an outcome in both runs, or without any difference
    before: Share
    after: Share
    fixed: tuple[str, ...]
    broken: tuple[str, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]
    not_measured: tuple[str, ...]
    failed: tuple[str, ...]  # of those not measured, the ones that a run could not answer
    difference: float | None
    interval: Interval | None
    article_margin: float | None  # of the score before; shown, never decided on
    p: float
    level: float
    words: str


def compare(
    before: Mapping[str, bool | None],
    after: Mapping[str, bool | None],
    at_level: float,
    measure: str = "correct",
    unchanged: Collection[str] = (),
    failed: Mapping[str, bool] | None = None,
    common_only: bool = False,
    added: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare good outcomes by question id at the level given by `level`.

    Where an outcome is not measured (None), the change is kept if it would be with all of them against it, not shown
    if it would not be with all of them for it, and else not decided; p is the one with all against it. A question whose
    answer is `unchanged` is no difference, whether anybody read it or not. `failed` are questions that a run could not
    answer; one that failed for good (True) will never be measured: it counts against the change and waits for nobody.
    There is no verdict if the sets differ, unless `common_only` asks for one over what both hold; of a question in
    one run only, `added` tells since when it is in the set.
    """
    lost = failed or {}
    shared = sorted(before.keys() & after.keys())
    only_before, only_after = sorted(before.keys() - after.keys()), sorted(after.keys() - before.keys())
    measured = [q for q in shared if before[q] is not None and after[q] is not None]
    unmeasured = [q for q in shared if before[q] is None or after[q] is None]
    absent = [q for q in unmeasured if q not in unchanged]
    failing = [q for q in absent if q in lost]
    fixed = [q for q in measured if after[q] and not before[q]]
    broken = [q for q in measured if before[q] and not after[q]]
    may_fix = sum(before[q] is not True and after[q] is not False for q in absent if not lost.get(q))
    may_break = [q for q in absent if before[q] is not False and after[q] is not True]
    surely_lost = sum(bool(lost.get(q)) for q in may_break)
    p = mcnemar(len(fixed), len(broken) + len(may_break))
    n = len(measured) + len(unmeasured) - len(absent)
    if ((only_before or only_after) and not common_only) or not n:
        verdict = "not decided"
    elif p <= at_level:
        verdict = "kept"
    else:
        at_best = mcnemar(len(fixed) + may_fix, len(broken) + surely_lost)
        verdict = "not decided" if at_best <= at_level else "not shown"
    missing = {
        "not measured": len(absent) - len(failing),
        "failed": len(failing),
        "unchanged, not graded": len(unmeasured) - len(absent),
    }
    missing = {why: count for why, count in missing.items() if count}
    good = Share(sum(bool(before[q]) for q in measured), len(measured), missing)
    found = Comparison(
        measure=measure,
        verdict=verdict,
        n=n,
        before=good,
        after=Share(sum(bool(after[q]) for q in measured), len(measured), missing),
        fixed=tuple(fixed),
        broken=tuple(broken),
        only_before=tuple(only_before),
        only_after=tuple(only_after),
        not_measured=tuple(absent),
        failed=tuple(failing),
        difference=(len(fixed) - len(broken)) / n if n else None,
        interval=bonett_price(len(fixed), len(broken), n),
        article_margin=normal_margin(good.value, good.n) if good.value is not None else None,
        p=p,
        level=at_level,
        words="",
    )
    apart = _apart(only_before, only_after, added or {})
    if apart and not common_only:
        words = f"No verdict: the runs do not hold the same questions ({apart}). Run both over the same set."
    else:
        words = _words(found, [q for q in failing if lost[q]])
        words = f"Over the {len(shared)} questions that both runs hold ({apart}), as asked: {words}" if apart else words
    return replace(found, words=words)


def _apart(only_before: Sequence[str], only_after: Sequence[str], added: Mapping[str, str]) -> str:
    """Such as '1 only before: q7; 2 only after: q8 (new since 2026-02-01), q9'; empty where the sets are the same."""

    def named(ids: Sequence[str]) -> str:
        told = [f"{i} (new since {added[i]})" if added.get(i) else i for i in ids[:NAMED]]
        return ", ".join([*told, *([f"and {len(ids) - NAMED} more"] if len(ids) > NAMED else [])])

    sides = (("only before", only_before), ("only after", only_after))
    return "; ".join(f"{len(ids)} {where}: {named(ids)}" for where, ids in sides if ids)


def _words(c: Comparison, for_good: Sequence[str]) -> str:
    unread = [q for q in c.not_measured if q not in c.failed]
    again = [q for q in c.failed if q not in for_good]
    todo = [f"read {_questions(unread)} not measured"] if unread else []
    todo += [f"run again for {_ids(again)}, which failed"] if again else []
    lost = f" {_ids(for_good)} failed for good and {_count(for_good)} against the change." if for_good else ""
    if c.interval is None:
        return f"No verdict: no question was measured in both runs{'; ' * bool(todo)}{' and '.join(todo)}.{lost}"
    if not c.fixed and not c.broken and not c.not_measured:
        return f"Not shown: no difference in any of {c.n} questions."
    points = 100 * (len(c.fixed) - len(c.broken)) / c.n
    waiting = f", {len(unread)} not measured" if unread else ""
    waiting += f", {len(c.failed)} failed ({_ids(c.failed)})" if c.failed else ""
    seen = (
        f"{len(c.fixed)} fixed, {len(c.broken)} broken of {c.n}{waiting}: {points:+.1f} points "
        f"({100 * c.interval.low:+.1f} to {100 * c.interval.high:+.1f}), p = {c.p:.4f} against {c.level:.4f}.{lost}"
    )
    if c.verdict == "kept":
        return f"Kept. {seen} Measured on the questions that prompted it; expect less."
    if c.verdict == "not shown":
        surely = f" Reading {_questions(unread)} not measured could not change that." if unread else ""
        return f"Not shown. {seen}{surely} It may stay for other reasons, marked unproven."
    return f"Not decided. {seen} What can still decide it: {' and '.join(todo)}."


def _ids(ids: Sequence[str]) -> str:
    return ", ".join([*ids[:NAMED], *([f"{len(ids) - NAMED} more"] if len(ids) > NAMED else [])])


def _count(ids: Sequence[str]) -> str:
    return "counts" if len(ids) == 1 else "count"


def _questions(ids: Sequence[str]) -> str:
    return f"the {len(ids)} questions" if len(ids) != 1 else "the one question"


# -- which pairs the expert reads ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Pairs:
    """Outcomes of both runs as `compare` takes them, and the pairs that the expert reads, in random order."""

    before: Mapping[str, bool | None]
    after: Mapping[str, bool | None]
    to_read: tuple[str, ...]  # the judge scores them differently: only a person can say so
    check: tuple[str, ...]  # changed, but scored alike: read to see what the judge overlooks


def confirmed(
    known: tuple[Mapping[str, bool | None], Mapping[str, bool | None]],
    judged: tuple[Mapping[str, bool | None], Mapping[str, bool | None]],
    unchanged: Collection[str],
    seed: int,
    check: int = 20,
) -> Pairs:
    """Outcomes of an answer change of which only differences that a person or a rule confirmed count.

    `known` are outcomes before and after by rule or expert, `judged` by the judge; an unchanged answer is no
    difference. A pair that the judge scores differently is not measured (None) until both its versions are known; one
    that it scores alike is a tie, but for `check` of them, drawn by seed: those are not measured either until a person
    has read them, and which ones does not move as she reads.
    """
    before: dict[str, bool | None] = {}
    after: dict[str, bool | None] = {}
    to_read, alike = [], []
    for q in sorted(known[0].keys() | judged[0].keys() | known[1].keys() | judged[1].keys()):
        sure = [side.get(q) for side in known]
        first, second = (mine if mine is not None else side.get(q) for mine, side in zip(sure, judged, strict=True))
        by_judge = {side[q] if side.get(q) is not None else mine for mine, side in zip(sure, judged, strict=True)}
        if q not in unchanged and len(by_judge) == 1 and None not in by_judge:
            alike.append(q)
        if q in unchanged:
            same = first if first is not None else second
            before[q] = after[q] = same
        elif None not in sure:
            before[q], after[q] = first, second
        elif first == second and first is not None:
            before[q] = after[q] = first
        else:
            before[q], after[q] = sure
            to_read.append(q)
    drawn = random.Random(seed).sample(alike, min(check, len(alike)))
    unread = [q for q in drawn if q not in to_read and None in (known[0].get(q), known[1].get(q))]
    for q in unread:
        before[q], after[q] = known[0].get(q), known[1].get(q)
    return Pairs(before, after, tuple(random.Random(seed).sample(to_read, len(to_read))), tuple(unread))


# -- means -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MeanDifference:
    """The change of a mean (such as MRR) over the same questions; no interval where it cannot be relied on."""

    n: int
    changed: int
    difference: float | None
    interval: Interval | None


def compare_means(before: Mapping[str, float], after: Mapping[str, float]) -> MeanDifference:
    """The mean of the differences by question with Student's interval; none under 40 questions or 10 changed ones.

    Two different sets of questions are an error.
    """
    if apart := before.keys() ^ after.keys():
        raise DataError(f"{len(apart)} questions stand in one of the two runs only; compare means over the same set")
    gains = [after[q] - before[q] for q in sorted(before)]
    changed = sum(gain != 0 for gain in gains)
    enough = len(gains) >= MEANS_FROM and changed >= CHANGED_FROM
    return MeanDifference(
        len(gains), changed, sum(gains) / len(gains) if gains else None, t_interval(gains) if enough else None
    )
