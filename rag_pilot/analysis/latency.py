"""Where the time of an answer goes: seconds per stage, half and 95 % of them, against the user's budgets.

Only what was waited for in this run is measured: a reply that was kept from an earlier call tells nothing of now.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..records import Answer, Verdict

P95_FROM = 20
"""Under 20 measurements the 95th percentile is the slowest one."""


@dataclass(frozen=True)
class StageTime:
    """Seconds of one stage over the n answers that went through it; p95 only from 20 of them."""

    stage: str
    n: int
    p50: float | None  # None: a budget was given, and nothing was measured
    p95: float | None
    budget: float | None
    within: bool | None  # None: no budget, no p95, or only a part is measured
    kept: int = 0  # replies that were kept from earlier calls and are not among the n


STAGES = ("rewrite", "retrieve", "rerank", "generate", "check", "total", "judge")
"""In the order in which they happen; grading is no part of the total."""


def stage_times(
    answers: Iterable[Answer],
    budgets: Mapping[str, float],
    verdicts: Iterable[Verdict] = (),
    in_part: Collection[str] = (),
) -> list[StageTime]:
    """p50 and p95 of every stage in its order, of `total` and of the judge, then budgets without a measurement.

    Seconds throughout. Failed calls are left out; a reply that was kept from an earlier call has no seconds of now, so
    it is left out of its stage and of `total`, and counted. Of a stage that is measured `in_part` it can be told that
    it is over its budget, and not that it is within it.
    """
    spent: dict[str, list[float]] = {}
    kept: dict[str, int] = {}
    for answer in answers:
        if answer.status == "error" or not answer.seconds:
            continue
        old = {"rewrite"} if answer.rewriting.get("reused") else set()
        old |= {"rerank"} if answer.rerank_reused else set()
        old |= {"generate"} if answer.reused else set()
        now = {stage: seconds for stage, seconds in answer.seconds.items() if stage not in old}
        for stage, seconds in now.items() if old else (*now.items(), ("total", sum(now.values()))):
            spent.setdefault(stage, []).append(seconds)
        for stage in (*old, "total") if old else ():
            kept[stage] = kept.get(stage, 0) + 1
    for verdict in verdicts:
        if verdict.reused:
            kept["judge"] = kept.get("judge", 0) + 1
        elif verdict.spent.get("seconds"):
            spent.setdefault("judge", []).append(verdict.spent["seconds"])
    met = spent.keys() | kept.keys()
    named = [*(s for s in STAGES if s in met), *sorted(met - set(STAGES)), *(s for s in budgets if s not in met)]
    return [_stage(s, spent.get(s, ()), budgets.get(s), kept.get(s, 0), s not in in_part) for s in named]


def _stage(stage: str, seconds: Sequence[float], budget: float | None, kept: int, whole: bool) -> StageTime:
    p50 = float(np.percentile(seconds, 50)) if seconds else None
    p95 = float(np.percentile(seconds, 95)) if len(seconds) >= P95_FROM else None
    within = p95 <= budget if p95 is not None and budget is not None else None
    return StageTime(stage, len(seconds), p50, p95, budget, within if whole or not within else None, kept)
