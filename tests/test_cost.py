"""Cost from measured tokens, and stage times against budgets."""

import numpy as np
import pytest

from rag_pilot.analysis.cost import Prices, Usage, monthly_cost, stage_times, usage, what_if
from rag_pilot.errors import SettingsError
from rag_pilot.records import Answer


def answer(tokens_in=0, tokens_out=0, status="answered", reason=None, **seconds):
    return Answer("q", status, reason=reason, tokens_in=tokens_in, tokens_out=tokens_out, seconds=seconds)


def test_the_articles_illustration():
    assert monthly_cost(10_000, Usage(2_800, 0), Prices(5, 5)) == pytest.approx(140)
    assert monthly_cost(10_000, Usage(2_500, 300), Prices(5, 15)) == pytest.approx(125 + 45)


def test_usage_counts_declines_without_a_call_as_free_and_leaves_untold_tokens_out():
    answers = [answer(1000, 100), answer(2000, 200), answer(status="declined", reason="no_passage")]
    answers += [answer(), answer(500, 5, status="error"), answer(900, 30, status="declined", reason="not_found")]
    assert usage(answers) == Usage(3900 / 4, 330 / 4, n=4, without_call=1, not_reported=1, errors=1)
    assert usage([answer(), answer(5, 5, status="error")]) is None


def test_levers_each_alone():
    used, prices = Usage(2800, 200), Prices(5, 15, cached=0.5)
    rows = {
        w.lever: w
        for w in what_if(10_000, used, prices, 8, 5, prefix_tokens=400, small=Prices(0.5, 1.5), easy_share=0.6)
    }
    assert rows["as measured"].cost == pytest.approx(170) and rows["as measured"].saved == 0
    assert rows["5 passages instead of 8"].saved == pytest.approx(10_000 * 2400 * 3 / 8 * 5 / 1e6)
    assert rows["stable prefix cached"].saved == pytest.approx(10_000 * 400 * 4.5 / 1e6)
    assert rows["small model for 60 % of the questions"].cost == pytest.approx(0.4 * 170 + 0.6 * 17)


def test_levers_without_a_price_are_not_shown_and_never_cost_more_than_nothing():
    rows = what_if(10_000, Usage(300, 10), Prices(5, 5), 8, 5, prefix_tokens=400)
    assert [w.lever for w in rows] == ["as measured", "5 passages instead of 8"]
    assert rows[1].saved == 0  # the whole prompt is prefix


@pytest.mark.parametrize("make", [lambda: Prices(-1, 0), lambda: what_if(1, Usage(1, 1), Prices(1, 1), 5, 8, 0)])
def test_unfit_prices_and_levers_are_refused(make):
    with pytest.raises(SettingsError, match="expected"):
        make()


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


def test_failed_calls_have_no_time():
    assert stage_times([answer(status="error", generate=60.0)], {}) == []
