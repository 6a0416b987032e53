"""Acceptance, and what a number of questions can show."""

import pytest
from scipy import stats

from rag_pilot.analysis.acceptance import (
    Criterion,
    _state,
    acceptance,
    can_show,
    chance_to_meet,
    questions_to_decide,
    questions_to_show,
)
from rag_pilot.analysis.headline import estimate
from rag_pilot.analysis.shares import Share
from rag_pilot.errors import DataError, SettingsError
from rag_pilot.reporting import tables

WRONG = Criterion("wrong answers", "wrong", "at_most", 0.05, "all questions")
HIT = Criterion("documents found", "hit5", "at_least", 0.8, "answerable questions")


@pytest.mark.parametrize(
    ("n", "met", "not_met"), [(100, 1, 10), (150, 2, 13), (200, 4, 16), (300, 8, 22), (400, 12, 28), (800, 29, 51)]
)
def test_counts_that_decide_five_percent(n, met, not_met):
    shown = can_show(WRONG, n)
    assert (shown.met_if, shown.not_met_if) == (met, not_met)
    states = [acceptance(WRONG, Share(k, n)).state for k in (met, met + 1, not_met - 1, not_met)]
    assert states == ["met", "not decided", "not decided", "not met"]


def test_ten_percent_at_two_hundred():
    assert (can_show(Criterion("w", "wrong", "at_most", 0.1, "all"), 200).met_if) == 12
    assert (can_show(Criterion("w", "wrong", "at_most", 0.1, "all"), 200).not_met_if) == 28


def test_at_least_is_the_mirror_of_at_most():
    mirrored = Criterion("m", "not hit", "at_most", 0.2, "answerable questions")
    one, other = can_show(HIT, 172), can_show(mirrored, 172)
    assert (one.met_if, one.not_met_if) == (172 - other.met_if, 172 - other.not_met_if)
    assert acceptance(HIT, Share(one.met_if, 172)).state == "met"
    assert acceptance(HIT, Share(one.not_met_if, 172)).state == "not met"


def test_fifty_answers_cannot_show_five_percent():
    shown = can_show(WRONG, 50)
    assert shown.met_if is None and "cannot be met" in shown.words
    assert acceptance(WRONG, Share(0, 50)).state == "not decided"
    assert can_show(WRONG, 0).met_if is None is can_show(WRONG, 0).not_met_if


@pytest.mark.parametrize(("n", "chances"), [(100, (74, 40, 19)), (200, (95, 63, 28)), (400, (100, 94, 58))])
def test_chances_to_meet_equal_the_table(n, chances):
    found = [100 * chance_to_meet(WRONG, n, rate) for rate in (0.01, 0.02, 0.03)]
    assert found == pytest.approx(chances, abs=0.6)
    k = can_show(HIT, n).met_if
    assert chance_to_meet(HIT, n, 0.9) == pytest.approx(stats.binom.sf(k - 1, n, 0.9))
    assert chance_to_meet(WRONG, 50, 0.0) == 0.0


def test_what_can_be_shown_tells_the_chance_well_within_the_limit_and_how_many_questions_it_takes():
    shown = can_show(WRONG, 200)
    assert (round(shown.rate, 9), round(shown.chance, 2), shown.needed) == (0.02, 0.63, 286)
    for told in ("met with at most 4", "If 2 % are true", "63 % (about half that with 50 read and the judge)", " 286 "):
        assert told in shown.words
    found = can_show(HIT, 172)
    assert found.rate == pytest.approx(0.92) and "the judge" not in found.words
    assert found.chance == chance_to_meet(HIT, 172, found.rate) > 0.9
    hard = can_show(Criterion("w", "wrong", "at_most", 0.005, "all questions"), 200)
    assert hard.needed is None and "takes no practical number of questions" in hard.words


@pytest.mark.parametrize(("rate", "table"), [(0.01, 125), (0.015, 185), (0.02, 290), (0.025, 420), (0.03, 680)])
def test_questions_for_a_chance_of_80_percent_by_exact_sums(rate, table):
    n = questions_to_show(WRONG, rate)
    assert n == pytest.approx(table, rel=0.13)  # the table's steps are coarse
    assert chance_to_meet(WRONG, n, rate) >= 0.8 > chance_to_meet(WRONG, n - 1, rate)
    mirrored = Criterion("right", "correct", "at_least", 0.95, "all questions")
    assert questions_to_show(mirrored, 1 - rate) == n
    assert questions_to_show(WRONG, 0.035) is None and questions_to_show(WRONG, 0.05) is None


def test_an_extension_that_was_planned_makes_both_verdicts_stricter_and_there_is_no_third():
    once, twice = can_show(WRONG, 200), can_show(WRONG, 200, looks=2)
    assert (twice.met_if, twice.not_met_if) == (3, 17) != (once.met_if, once.not_met_if)
    assert twice.needed > once.needed and "both verdicts are at 97.5 %" in twice.words
    strict = acceptance(WRONG, Share(3, 200), looks=2)
    assert "97.5 %" in strict.words and "one-sided 97.5 % bound" in tables.judgements([strict])
    assert "one-sided 95 % bound" in tables.judgements([acceptance(WRONG, Share(3, 200))])
    for refuse in (lambda: acceptance(WRONG, Share(3, 200), 7), lambda: can_show(WRONG, 200, 0)):
        with pytest.raises(DataError, match="1, or 2 if one extension was planned"):
            refuse()


@pytest.mark.parametrize("criterion", [WRONG, HIT])
def test_how_many_would_decide_is_where_the_verdict_of_so_many_is_one(criterion):
    """At every rate, the verdict on so many questions is decided, and on one fewer it is not."""
    for rate in (0.0, 0.01, 0.1, 0.7, 0.9, 1.0):
        n = questions_to_decide(rate, criterion)

        def state(n, rate=rate):
            low = stats.beta.ppf(1 - 0.95, rate * n, n - rate * n + 1) if rate else 0.0
            high = stats.beta.ppf(0.95, rate * n + 1, n - rate * n) if rate < 1 else 1.0
            return _state(criterion.limit, criterion.direction == "at_most", low, high)

        assert state(n) != "not decided" and (n == 1 or state(n - 1) == "not decided")
    exact = Criterion("w", "wrong", "at_most", float(stats.beta.ppf(0.95, 1, 59)), "all questions")
    assert acceptance(exact, Share(0, 59)).state == "met" and questions_to_decide(0.0, exact) == 59


def test_no_data_decides_nothing():
    for nothing in (Share(0, 0), None):
        found = acceptance(WRONG, nothing)
        assert (found.state, found.value, found.high) == ("not decided", None, None) and "no data" in found.words


def test_a_headline_enters_with_its_effective_number_of_questions():
    read = [(False, False)] * 49 + [(True, True)]
    found = estimate("wrong", 0, 200, read, [False] * 98 + [True] * 2)
    judged = acceptance(WRONG, found)
    x, n = found.value * found.n_eff, found.n_eff
    assert n < 199 and judged.high == pytest.approx(stats.beta.ppf(0.95, x + 1, n - x))
    assert judged.low == pytest.approx(stats.beta.ppf(0.05, x, n - x + 1)) and judged.n == n


def test_two_planned_looks_ask_for_more():
    assert acceptance(WRONG, Share(4, 200)).state == "met"
    assert acceptance(WRONG, Share(4, 200), looks=2).state == "not decided"


def test_how_many_would_decide_at_the_observed_rate():
    needed = acceptance(WRONG, Share(5, 200)).needed
    assert stats.beta.ppf(0.95, 0.025 * needed + 1, needed * 0.975) < 0.05
    assert stats.beta.ppf(0.95, 0.025 * (needed - 1) + 1, (needed - 1) * 0.975) >= 0.05
    assert 200 < needed < 300
    close = acceptance(WRONG, Share(9, 200))
    assert close.needed is None and "not by a practical number" in close.words
    assert acceptance(WRONG, Share(4, 200)).needed is None
    assert questions_to_decide(0.0, WRONG) == 59 and questions_to_decide(1.0, WRONG) == 1


def test_the_words_carry_denominator_bound_and_what_is_missing():
    words = acceptance(WRONG, Share(6, 190, {"error": 10})).words
    assert words.startswith("wrong at most 5 % of all questions: not decided; 6 of 190 (3 %")
    assert "at most 6.1 %" in words and "Not in it: 10 error." in words


@pytest.mark.parametrize(
    ("direction", "limit", "of"), [("below", 0.05, "all"), ("at_most", 5, "all"), ("at_most", 0.05, "")]
)
def test_unfit_criteria_are_refused(direction, limit, of):
    with pytest.raises(SettingsError, match="criterion 'c'"):
        Criterion("c", "wrong", direction, limit, of)
