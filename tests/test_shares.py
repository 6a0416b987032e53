"""How shares and means are written, and what they say is missing."""

import pytest

from rag_pilot.analysis.shares import Mean, Share, percent, share_of
from rag_pilot.errors import DataError


def test_text_follows_the_rules_for_small_numbers():
    assert Share(0, 0).text() == "no data" and Share(0, 0).value is None and Share(0, 0).interval is None
    assert Share(7, 9).text() == "7 of 9"
    assert Share(10, 12).text() == "10 of 12 (55-95 %)"
    assert Share(23, 29).text() == "23 of 29 (62-90 %)"
    assert Share(24, 30).text() == "24 of 30 (80 %, 63-90)"
    assert Share(41, 50).text() == "41 of 50 (82 %, 69-90)"


def test_a_share_beyond_its_denominator_is_refused():
    with pytest.raises(DataError):
        Share(21, 20)


def test_what_is_missing_is_named_and_bounds_the_share():
    share = share_of([True] * 8 + [None] * 2, "unreadable")
    assert (share.count, share.n, share.missing_text()) == (8, 8, "2 unreadable")
    assert share.bounds == (0.8, 1.0)
    assert Share(0, 0, {"error": 0}).bounds is None and share_of([True, False]).missing == {}


def test_only_nothing_is_zero_and_only_all_is_a_hundred_percent():
    assert [percent(x) for x in (0, 0.004, 0.5, 0.996, 1)] == ["0", "<1", "50", ">99", "100"]


def test_mean_has_no_interval_under_forty_values_nor_without_spread():
    assert Mean(()).text() == "no data"
    assert Mean((1.0, 0.5) * 19).interval is None
    assert Mean((1.0, 0.5) * 19).text() == "0.75, n = 38"
    assert Mean((1.0,) * 200).interval is None
    assert Mean((1.0, 0.5) * 20).text() == "0.75 (0.67-0.83), n = 40"
    assert Mean((1.0,) * 39 + (0.0,)).interval.high == 1.0
