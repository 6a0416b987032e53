"""Stage times against budgets."""

from dataclasses import replace

import numpy as np
import pytest

from rag_pilot.analysis.latency import stage_times
from rag_pilot.records import Answer, Verdict


def answer(status="answered", **seconds):
    return Answer("q", status, seconds=seconds)


def test_stage_times_against_budgets_in_seconds():
    measured = [answer(retrieve=0.1 + k / 1000, generate=1.0) for k in range(99)] + [answer(retrieve=0.1)]
    rows = {row.stage: row for row in stage_times(measured, {"retrieve": 0.15, "total": 1.9})}
    assert list(rows) == ["retrieve", "generate", "total"]
    times = [a.seconds["retrieve"] for a in measured]
    assert rows["retrieve"].p95 == pytest.approx(np.percentile(times, 95)) and rows["retrieve"].within is False
    assert rows["generate"].n == 99 and rows["generate"].within is None
    assert rows["total"].n == 100 and rows["total"].within is True and rows["total"].p50 == pytest.approx(1.1485)


def test_few_measurements_have_no_p95_and_a_budget_without_measurement_is_named():
    rows = {row.stage: row for row in stage_times([answer(generate=1.0)] * 19, {"generate": 2, "rerank": 0.2})}
    assert (rows["generate"].p50, rows["generate"].p95, rows["generate"].within) == (1.0, None, None)
    assert (rows["rerank"].n, rows["rerank"].p50, rows["rerank"].within) == (0, None, None)
    assert stage_times([answer(generate=1.0)] * 20, {"generate": 1.0})[0].within is True


def test_of_a_stage_that_is_measured_in_part_only_too_much_is_told():
    measured = [answer(retrieve=0.1, generate=1.0)] * 20
    rows = stage_times(measured, {"retrieve": 0.2, "generate": 2, "total": 1.0}, (), ("retrieve", "total"))
    assert [(r.stage, r.within) for r in rows] == [("retrieve", None), ("generate", True), ("total", False)]


def test_failed_calls_have_no_time():
    assert stage_times([answer(status="error", generate=60.0)], {}) == []


def test_what_was_kept_from_an_earlier_call_is_no_time_of_now_and_counted():
    new = answer(retrieve=0.1, generate=1.0)
    kept = replace(answer(retrieve=0.1, generate=9.0), reused=True)
    rewritten = replace(answer(retrieve=0.1, generate=1.0), rewriting={"reused": True})
    asked = replace(answer(rewrite=0.5, retrieve=0.1, generate=1.0), rewriting={"reused": False}, reused=False)
    rows = {row.stage: row for row in stage_times([new, kept, rewritten, asked], {"generate": 1.2})}
    assert list(rows) == ["rewrite", "retrieve", "generate", "total"]
    assert {stage: (row.n, row.kept, row.p50) for stage, row in rows.items()} == {
        "rewrite": (1, 1, 0.5),
        "retrieve": (4, 0, 0.1),
        "generate": (3, 1, 1.0),
        "total": (2, 2, pytest.approx((1.1 + 1.6) / 2)),
    }
    only = stage_times([kept] * 30, {"generate": 1.2})
    assert {row.stage: (row.n, row.kept, row.p50, row.p95, row.within) for row in only} == {
        "retrieve": (30, 0, 0.1, pytest.approx(0.1), None),
        "generate": (0, 30, None, None, None),
        "total": (0, 30, None, None, None),
    }


def test_the_judges_seconds_are_a_stage_of_their_own_and_no_part_of_an_answer():
    spent = {"tokens_in": 1, "tokens_out": 1, "seconds": 3.0}
    verdicts = [Verdict("q", "", "wrong", "judge", reused=False, spent=spent)] * 20
    verdicts += [Verdict("q", "", "wrong", "judge", reused=True, spent={**spent, "seconds": 99.0})]
    verdicts += [Verdict("q", "", "wrong", "rule"), Verdict("q", "", "wrong", "judge")]
    *_, total, judge = stage_times([answer(generate=1.0)], {"judge": 4.0}, verdicts)
    assert (total.stage, total.p50) == ("total", 1.0)
    assert (judge.stage, judge.n, judge.p50, judge.within, judge.kept) == ("judge", 20, 3.0, True, 1)
