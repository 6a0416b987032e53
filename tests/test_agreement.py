"""The judge's gate and Cohen's kappa."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from sklearn.metrics import cohen_kappa_score

from rag_pilot.errors import DataError
from rag_pilot.grading.agreement import cohen_kappa, gate
from rag_pilot.records import JUDGE_LABELS, LABELS


def agreeing(wrong, partly, correct):
    counts = {"wrong": wrong, "partly": partly, "correct": correct}
    return [(label, label) for label, k in counts.items() for _ in range(k)]


@given(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=80))
def test_kappa_equals_sklearns_where_it_is_defined(pairs):
    kappa = cohen_kappa(pairs)
    experts, judges = zip(*pairs, strict=True)
    if len(set(experts)) < 2 or len(set(judges)) < 2:
        assert kappa is None
    else:
        assert kappa == pytest.approx(cohen_kappa_score(experts, judges))


@given(
    st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(LABELS)), min_size=1, max_size=80),
    st.permutations(LABELS),
)
def test_a_consistent_renaming_of_labels_changes_nothing_in_kappa(pairs, names):
    new = dict(zip(LABELS, names, strict=True))
    assert cohen_kappa([(new[a], new[b]) for a, b in pairs]) == pytest.approx(cohen_kappa(pairs))


@given(st.data(), st.randoms())
@settings(max_examples=30)
def test_the_order_of_pairs_changes_nothing_in_the_gate(data, rng):
    pairs = data.draw(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(JUDGE_LABELS)), max_size=60))
    assert gate(rng.sample(pairs, len(pairs)), 5) == gate(pairs, 5)


def test_kappa_is_undefined_when_one_of_the_two_used_a_single_label():
    assert cohen_kappa([("correct", "correct")] * 5) is None
    assert cohen_kappa([("correct", "correct")] * 4 + [("correct", "wrong")]) is None
    assert cohen_kappa([]) is None and cohen_kappa([(None, "correct")]) is None


@pytest.mark.parametrize(("counts", "low"), [((7, 8, 35), 0.90), ((1, 2, 47), 0.66), ((0, 0, 50), 0.0)])
def test_perfect_agreement_gives_the_simulated_bounds_of_kappa(counts, low):
    assert gate(agreeing(*counts), seed=1).kappa_low == pytest.approx(low, abs=0.012)


def test_a_good_judge_passes_and_the_words_say_so():
    result = gate(agreeing(7, 8, 35), seed=1)
    assert result.passed and "may grade" in result.words
    assert (result.n, result.agreed, result.faults, result.kappa) == (50, 50, 15, 1.0)
    assert result.recall == {"correct": (35, 35), "partly": (8, 8), "wrong": (7, 7)}


def test_agreement_alone_is_not_enough():
    lenient = agreeing(0, 0, 42) + [("wrong", "correct")] * 6 + [("partly", "wrong")] * 2
    assert gate(lenient, seed=1).state == "failed"
    pairs = agreeing(6, 3, 32) + [("wrong", "correct")] * 9  # agreement 41 of 50, kappa .53
    assert gate(pairs, seed=1).state == "failed"


def test_the_agreement_bound_is_clopper_pearsons_and_must_exceed_three_quarters():
    pairs = agreeing(20, 5, 18) + [("partly", "correct")] * 7  # 43 of 50
    exact = stats.binomtest(43, 50, alternative="greater").proportion_ci(0.95, method="exact").low
    result = gate(pairs, seed=1)
    assert result.agreement_low == pytest.approx(exact) and result.kappa_low > 0.5
    assert result.state == ("passed" if exact > 0.75 else "failed") == "passed"
    worse = gate(agreeing(20, 5, 17) + [("partly", "correct")] * 8, seed=1)  # 42 of 50: bound .729
    assert worse.kappa_low > 0.5 and worse.agreement_low < 0.75 and worse.state == "failed"


def test_under_eight_faults_nothing_can_be_said():
    assert gate(agreeing(4, 3, 43), seed=1).state == "too few faults"
    assert gate(agreeing(4, 4, 42), seed=1).passed
    assert "Too few faults to test the judge" in gate(agreeing(0, 0, 50), seed=1).words


def test_two_planned_looks_ask_for_more():
    one, two = gate(agreeing(20, 5, 18) + [("partly", "correct")] * 7, 1), None
    two = gate(agreeing(20, 5, 18) + [("partly", "correct")] * 7, 1, looks=2)
    assert two.kappa_low < one.kappa_low and two.agreement_low < one.agreement_low
    assert one.passed and not two.passed
    with pytest.raises(DataError):
        gate([], 1, looks=3)


def test_same_seed_same_bound_in_any_order_of_pairs():
    pairs = agreeing(7, 8, 30) + [("wrong", "partly")] * 5
    shuffled = random.Random(1).sample(pairs, len(pairs))
    assert gate(pairs, 5).kappa_low == gate(shuffled, 5).kappa_low


def test_pairs_without_a_label_are_dropped_and_counted():
    result = gate([*agreeing(7, 8, 35), ("wrong", None), (None, "wrong"), (None, None)], seed=1)
    assert (result.n, result.dropped) == (50, 3) and "3 pairs lack a label" in result.words


@pytest.mark.parametrize(
    "pair", [("Correct", "correct"), ("correct", "correct "), ("correct", "declined"), ("ok", "wrong")]
)
def test_unknown_labels_are_refused(pair):
    with pytest.raises(DataError, match="unknown"):
        gate([pair], seed=1)


def test_the_experts_fourth_label_is_a_disagreement_of_its_own():
    result = gate([*agreeing(7, 8, 35), ("declined", "wrong")], seed=1)
    assert (result.agreed, result.faults, result.recall["declined"]) == (50, 16, (0, 1))
    assert result.matrix["declined", "wrong"] == 1 and sum(result.matrix.values()) == 51


def test_a_failed_gate_says_which_labels_were_missed():
    words = gate(agreeing(5, 8, 27) + [("wrong", "correct")] * 10, seed=1).words
    assert "it recognised 5 of 15 wrong." in words and "8 of 8" not in words
    few = gate(agreeing(4, 4, 2), seed=1)
    assert few.state == "failed" and "It always said what the expert said, but on too few answers" in few.words


def test_no_pairs_is_not_a_failure_of_the_judge():
    result = gate([], seed=1)
    assert (result.state, result.kappa, result.kappa_low, result.agreement_low) == ("no data", None, None, None)
