"""Keeping a change: the exact test, the spending of the level, and when there is no verdict."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.contingency_tables import mcnemar as sm_mcnemar

from rag_pilot.analysis.comparison import compare, compare_means, confirmed, detectable, level, mcnemar, power
from rag_pilot.errors import DataError


def runs(fixed, broken, n=200):
    before = {f"q{i:03}": not i < fixed for i in range(n)}
    after = {f"q{i:03}": not fixed <= i < fixed + broken for i in range(n)}
    return before, after


@given(st.integers(0, 40), st.integers(0, 40))
def test_p_is_the_exact_binomial_one(fixed, broken):
    changed = fixed + broken
    reference = stats.binomtest(fixed, changed, alternative="greater").pvalue if changed else 1.0
    assert mcnemar(fixed, broken) == pytest.approx(reference)
    if fixed > broken:
        two_sided = sm_mcnemar([[5, broken], [fixed, 5]], exact=True).pvalue
        assert 2 * mcnemar(fixed, broken) == pytest.approx(two_sided)


@pytest.mark.parametrize(
    ("at_level", "splits"),
    [
        (0.025, "6-0 8-1 10-2 12-3 13-4 15-5"),
        (0.01, "7-0 10-1 12-2 14-3 15-4 17-5 19-6 20-7 22-8"),
        (0.005, "8-0 11-1 13-2 15-3 17-4 19-5"),
    ],
)
def test_exactly_these_splits_are_kept(at_level, splits):
    for split in splits.split():
        fixed, broken = map(int, split.split("-"))
        assert compare(*runs(fixed, broken), at_level).verdict == "kept"
        assert compare(*runs(fixed - 1, broken), at_level).verdict == "not shown"


def test_the_article_rule_and_the_interval_are_shown_but_do_not_decide():
    found = compare(*runs(11, 3), level(5, []))
    assert found.interval.low > 0 and found.verdict == "not shown"
    assert found.article_margin == pytest.approx(1.96 * (0.055 * 0.945 / 200) ** 0.5)


def test_a_paired_gain_is_seen_that_an_unpaired_test_misses():
    before, after = {i: i >= 12 for i in range(40)}, {i: i >= 6 for i in range(40)}  # 70 % to 85 %
    found = compare({str(i): x for i, x in before.items()}, {str(i): x for i, x in after.items()}, 0.05)
    assert (found.verdict, len(found.fixed), len(found.broken)) == ("kept", 6, 0)
    assert found.difference == pytest.approx(0.15) and found.p == pytest.approx(1 / 64)
    assert stats.fisher_exact([[28, 12], [34, 6]])[1] > 0.05


def test_a_run_against_itself_shows_no_difference():
    before, _ = runs(5, 0)
    found = compare(before, before, 0.05)
    assert (found.p, found.difference, found.verdict) == (1.0, 0.0, "not shown")
    assert found.words == "Not shown: no difference in any of 200 questions."


def test_different_sets_of_questions_get_no_verdict():
    before, after = runs(20, 0)
    for i in ("q150", "q151"):
        del after[i]
    found = compare(before, {**after, "new": True}, 0.01)
    assert (found.verdict, found.only_before, found.only_after) == ("not decided", ("q150", "q151"), ("new",))
    assert "(2 only before: q150, q151; 1 only after: new)" in found.words
    assert compare({}, {}, 0.01).verdict == "not decided"


def test_the_order_of_rows_does_not_matter():
    before, after = runs(9, 4)
    assert compare(before, dict(reversed(after.items())), 0.01) == compare(before, after, 0.01)


outcome = st.sampled_from([True, False, None])


@given(st.lists(st.tuples(outcome, outcome), min_size=1, max_size=9))
def test_what_is_not_measured_can_never_turn_the_verdict(pairs):
    pairs = [(False, True)] * 5 + pairs
    gaps = sum(x is None for pair in pairs for x in pair)
    if gaps > 6:
        return
    found = compare(*({str(i): p[side] for i, p in enumerate(pairs)} for side in (0, 1)), 0.05)
    verdicts = set()
    for filling in itertools.product([True, False], repeat=gaps):
        values = iter(filling)
        full = [tuple(next(values) if x is None else x for x in pair) for pair in pairs]
        verdicts.add(compare(*({str(i): p[side] for i, p in enumerate(full)} for side in (0, 1)), 0.05).verdict)
    assert verdicts == {found.verdict} if len(verdicts) == 1 else found.verdict == "not decided"


def test_unmeasured_questions_are_named_and_missing_from_the_shares():
    before, after = runs(7, 0)
    found = compare(before, {**after, "q000": None}, 0.01)
    assert (found.verdict, found.not_measured) == ("not decided", ("q000",))
    assert found.before.missing == found.after.missing == {"not measured": 1} and found.after.n == 199


def test_a_failed_call_is_no_other_set_of_questions_and_one_that_failed_for_good_blocks_nothing():
    before, after = runs(20, 0)
    after = {**after, "q150": None}  # right before: it could be broken
    before = {**before, "q151": None, "q152": None}
    again = compare(before, {**after, "q152": None}, 0.01, failed={"q150": False, "q151": True, "q152": True})
    assert (again.verdict, again.failed) == ("kept", ("q150", "q151", "q152"))
    assert (
        "3 failed (q150, q151, q152)" in again.words and "q151, q152 failed for good and count against" in again.words
    )
    assert again.p == mcnemar(20, 2) and again.after.missing == {"failed": 3}
    before, after = runs(6, 0)
    waits = compare({**before, "q100": None}, after, 0.01, failed={"q100": False})
    assert (
        waits.verdict == "not decided" and "What can still decide it: run again for q100, which failed" in waits.words
    )
    assert compare(*runs(7, 0), 0.01).verdict == "kept"
    lost = compare(runs(7, 0)[0], {**runs(7, 0)[1], "q100": None}, 0.01, failed={"q100": True})
    assert lost.verdict == "not shown" and lost.p == mcnemar(7, 1)  # decided, though seven alone would be kept
    lost = compare({**before, "q100": None}, after, 0.01, failed={"q100": True})
    assert lost.verdict == "not shown" and "q100 failed for good and counts against the change" in lost.words
    assert compare({"a": None}, {"a": None}, 0.01, failed={"a": True}).words.startswith("No verdict: no question was")


def test_what_one_run_alone_holds_is_named_and_a_verdict_over_the_rest_is_there_for_the_asking():
    before, after = runs(20, 0)
    new = {f"x{i:02}": True for i in range(12)}
    del after["q150"]
    sides = before, {**after, **new}
    found = compare(*sides, 0.01, added={"x00": "2026-02-01"})
    assert found.verdict == "not decided" and found.only_after == tuple(new)
    assert "1 only before: q150; 12 only after: x00 (new since 2026-02-01), x01" in found.words
    assert "x09, and 2 more)" in found.words and "x10" not in found.words
    asked = compare(*sides, 0.01, common_only=True)
    assert (asked.verdict, asked.n, asked.only_before) == ("kept", 199, ("q150",))
    assert asked.words.startswith("Over the 199 questions that both runs hold (1 only before: q150; 12 only after")
    assert compare(*runs(20, 0), 0.01, common_only=True) == compare(*runs(20, 0), 0.01)


# -- the level


def test_the_level_of_a_kept_change_is_carried_to_the_next():
    assert level(5, []) == pytest.approx(0.01)
    assert level(5, ["kept"]) == pytest.approx(0.02)
    assert level(5, ["kept", "kept"]) == pytest.approx(0.03)
    assert level(5, ["kept", "not shown"]) == pytest.approx(0.01)
    assert level(5, ["not shown", "kept"]) == pytest.approx(0.02)
    assert level(5, ["not decided", "kept"]) == pytest.approx(0.02)


def test_more_changes_than_planned_need_fresh_questions():
    with pytest.raises(DataError, match="fresh questions"):
        level(2, ["not shown", "kept"])
    assert level(2, ["not decided", "not decided", "kept"]) == pytest.approx(0.05)
    with pytest.raises(DataError, match="unknown"):
        level(5, ["rejected"])


@pytest.mark.parametrize("planned", [1, 3, 5, 10])
def test_the_levels_spent_before_any_keep_sum_to_five_percent(planned):
    assert sum(level(planned, ["not shown"] * k) for k in range(planned)) == pytest.approx(0.05)
    assert level(planned, ["kept"] * (planned - 1)) == pytest.approx(0.05)


# -- what can be detected


@pytest.mark.parametrize(
    ("fixed", "broken", "at_level", "percent"),
    [(5, 2, 0.01, 15), (8, 3, 0.01, 36), (12, 4, 0.01, 65), (12, 2, 0.01, 94), (8, 3, 0.005, 26), (8, 3, 0.025, 50)],
)
def test_power_equals_the_simulated_table(fixed, broken, at_level, percent):
    assert 100 * power(200, fixed / 100, broken / 100, at_level) == pytest.approx(percent, abs=0.5)


def test_power_equals_a_sum_over_all_outcomes():
    n, f, b = 14, 0.3, 0.1
    total = sum(
        stats.multinomial.pmf([x, y, n - x - y], n, [f, b, 1 - f - b])
        for x in range(n + 1)
        for y in range(n + 1 - x)
        if x + y and stats.binomtest(x, x + y, alternative="greater").pvalue <= 0.05
    )
    assert power(n, f, b, 0.05) == pytest.approx(total)


@pytest.mark.parametrize(
    ("at_level", "gains"), [(0.025, (4.0, 6.8, 7.8, 9.0, 10.5)), (0.01, (4.8, 7.8, 8.8, 10.5, 12.3))]
)
def test_detectable_gain_agrees_with_the_table_on_its_grid(at_level, gains):
    for broken, gain in zip((0, 0.02, 0.03, 0.05, 0.08), gains, strict=True):
        found = 100 * detectable(200, broken, at_level)
        assert gain - 0.3 < found < gain + 0.05  # the table rises in steps of a quarter point
        assert power(200, broken + found / 100, broken, at_level) >= 0.8


def test_too_few_questions_detect_nothing():
    assert detectable(5, 0, 0.01) is None and detectable(0, 0, 0.01) is None
    assert detectable(7, 0, 0.01) > 0.9


# -- which pairs are read


def test_only_differences_that_a_person_confirmed_count():
    judged_before = {"same": True, "alike": False, "gain": False, "loss": True, "read": False, "rule": None}
    judged_after = {"same": False, "alike": False, "gain": True, "loss": False, "read": True, "rule": True}
    known_before = {"read": False, "rule": False}
    known_after = {"read": False}
    pairs = confirmed((known_before, known_after), (judged_before, judged_after), {"same"}, seed=1)
    unread = dict.fromkeys(("alike", "gain", "loss"))
    assert pairs.before == {"same": True, "read": False, "rule": False} | unread
    assert pairs.after == {"same": True, "read": False, "rule": None} | unread
    assert sorted(pairs.to_read) == ["gain", "loss", "rule"] and pairs.check == ("alike",)
    assert compare(pairs.before, pairs.after, 0.05).not_measured == ("alike", "gain", "loss", "rule")
    pairs = confirmed((known_before, known_after), (judged_before, judged_after), {"same"}, seed=1, check=0)
    assert (pairs.before["alike"], pairs.after["alike"], pairs.check) == (False, False, ())


def test_a_lenient_judge_alone_never_keeps_a_change():
    before, after = runs(30, 0)
    pairs = confirmed(({}, {}), (before, after), set(), seed=1)
    assert len(pairs.to_read) == 30 and compare(pairs.before, pairs.after, 0.05).verdict == "not decided"
    read = {i: False for i in pairs.to_read}
    waits = confirmed((read, read), (before, after), set(), seed=1)
    assert compare(waits.before, waits.after, 0.05).verdict == "not decided"  # what the judge overlooks is not read yet
    read |= {i: before[i] for i in waits.check}
    pairs = confirmed((read, read), (before, after), set(), seed=1)
    assert compare(pairs.before, pairs.after, 0.05).verdict == "not shown"


def test_pairs_are_read_in_a_seeded_random_order_and_twenty_alike_are_checked():
    before, after = runs(30, 0)
    one, two = (confirmed(({}, {}), (before, after), set(), seed) for seed in (1, 2))
    assert set(one.to_read) == set(two.to_read) and one.to_read != two.to_read != tuple(sorted(two.to_read))
    assert len(one.check) == 20 and one == confirmed(({}, {}), (before, after), set(), 1)


def test_an_unchanged_answer_is_no_difference_even_if_nobody_read_it():
    before, after = {"a": False, "b": None, "c": None}, {"a": True, "b": None, "c": None}
    found = compare(before, after, 0.6, "correct", {"b"})
    assert (found.n, found.before.n, found.not_measured, found.difference) == (2, 1, ("c",), 0.5)
    assert compare(before, after, 0.6, "correct", {"b", "c"}).verdict == "kept"


def test_the_pairs_to_check_stay_the_same_while_they_are_read():
    before, after = runs(30, 0)
    first = confirmed(({}, {}), (before, after), set(), seed=1)
    half = {i: before[i] for i in first.check[:7]}
    second = confirmed((half, {i: after[i] for i in list(half)[:5]}), (before, after), set(), seed=1)
    assert set(second.check) == set(first.check[5:])


# -- means


def test_mean_difference_is_paired_and_equals_scipys_interval():
    rng = np.random.default_rng(2)
    before = {str(i): float(x) for i, x in enumerate(rng.random(60))}
    after = {i: x + (0.1 if int(i) % 3 == 0 else 0.0) for i, x in before.items()}
    found = compare_means(before, after)
    test = stats.ttest_rel([after[i] for i in before], list(before.values())).confidence_interval(0.95)
    assert (found.n, found.changed) == (60, 20) and found.difference == pytest.approx(0.1 / 3)
    assert found.interval == pytest.approx((test.low, test.high))


@pytest.mark.parametrize(("n", "changed", "shown"), [(40, 10, True), (39, 39, False), (200, 9, False)])
def test_few_questions_or_few_changes_have_no_interval(n, changed, shown):
    before = {str(i): 0.5 for i in range(n)}
    after = {str(i): 1.0 if i < changed else 0.5 for i in range(n)}
    if n == changed:
        after["0"] = 0.75
    assert (compare_means(before, after).interval is not None) is shown


def test_means_over_different_questions_are_refused():
    with pytest.raises(DataError, match="2 questions"):
        compare_means({"a": 1.0, "b": 0.0}, {"a": 1.0, "c": 0.0})
    assert compare_means({}, {}).difference is None
