"""Intervals against independent libraries, at their edges, and as laws."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.proportion import proportion_confint

from rag_pilot.analysis.intervals import (
    bonett_price,
    clopper_pearson,
    lower_bound,
    normal_margin,
    t_interval,
    upper_bound,
    wilson,
)
from rag_pilot.errors import DataError

counts = st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts)
def test_wilson_and_clopper_pearson_equal_statsmodels(case):
    count, n = case
    assert wilson(count, n) == pytest.approx(proportion_confint(count, n, method="wilson"), abs=1e-9)
    assert clopper_pearson(count, n) == pytest.approx(proportion_confint(count, n, method="beta"), abs=1e-9)


def test_nothing_of_twenty_and_all_of_twenty_are_not_certain():
    assert wilson(0, 20) == pytest.approx((0, 0.161), abs=5e-4)
    assert wilson(20, 20) == pytest.approx((0.839, 1), abs=5e-4)
    assert wilson(0, 20).low == 0 and wilson(20, 20).high == 1


@pytest.mark.parametrize("interval", [wilson, clopper_pearson, lower_bound, upper_bound, normal_margin])
def test_no_questions_have_no_interval(interval):
    assert interval(0, 0) is None


@pytest.mark.parametrize("interval", [wilson, clopper_pearson, lower_bound, upper_bound])
@pytest.mark.parametrize(("count", "n"), [(21, 20), (-1, 20), (math.nan, 20), (1, math.inf)])
def test_impossible_counts_are_refused(interval, count, n):
    with pytest.raises(DataError, match="0 <= count <= n"):
        interval(count, n)


@given(st.floats(0, 1), st.floats(1, 1000))
def test_real_valued_counts_keep_the_share_inside_the_interval(share, n):
    for interval in (wilson(share * n, n), clopper_pearson(share * n, n)):
        assert 0 <= interval.low <= share + 1e-9 and share - 1e-9 <= interval.high <= 1


def test_one_sided_bounds_equal_scipys_exact_ones():
    for count, n in [(0, 50), (4, 200), (16, 200), (200, 200)]:
        test = stats.binomtest(count, n)
        assert upper_bound(count, n) == pytest.approx(binom_bound(test, "less").high, abs=1e-9)
        assert lower_bound(count, n) == pytest.approx(binom_bound(test, "greater").low, abs=1e-9)


def binom_bound(test, alternative):
    return stats.binomtest(test.k, test.n, alternative=alternative).proportion_ci(0.95, method="exact")


def test_no_wrong_answer_of_fifty_still_allows_nearly_six_percent():
    assert upper_bound(0, 50) == pytest.approx(0.058, abs=5e-4)


def test_bonett_price_is_the_adjusted_wald_interval_of_the_paper():
    low, high = bonett_price(11, 3, 200)  # (12 - 4)/202 -+ 1.96 sqrt((16/202 - (8/202)^2)/202)
    half = 1.959964 * math.sqrt((16 / 202 - (8 / 202) ** 2) / 202)
    assert (low, high) == pytest.approx((8 / 202 - half, 8 / 202 + half), abs=1e-6)
    assert low > 0  # and the exact test does not keep 11-3 at .01: the interval is for the eye


def test_bonett_price_refuses_more_changes_than_questions():
    with pytest.raises(DataError):
        bonett_price(3, 2, 4)
    assert bonett_price(0, 0, 0) is None


def test_margin_of_the_method_at_200_questions_and_80_percent():
    assert normal_margin(0.8, 200) == pytest.approx(0.055, abs=5e-4)


def test_t_interval_equals_scipys_and_is_none_without_spread():
    values = [0.0, 0.5, 1.0, 1.0, 0.25]
    mean, error = sum(values) / 5, stats.sem(values)
    assert t_interval(values) == pytest.approx(stats.t.interval(0.95, 4, loc=mean, scale=error))
    assert t_interval([1.0] * 50) is None and t_interval([1.0]) is None and t_interval([]) is None
    with pytest.raises(DataError, match="not a number"):
        t_interval([0.1, math.nan])
