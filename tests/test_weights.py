"""A weight for the dense list: what cross-validation may say, and what it must not."""

import random

import pytest

from rag_pilot.analysis.weights import EQUAL, FEWEST, GRID, choose_weight, paired
from rag_pilot.errors import DataError


def by_weight(rank_of, n=100):
    """Weight -> question -> rank."""
    return {w: {f"q{i:03}": rank_of(w, i) for i in range(n)} for w in GRID}


def test_a_weight_that_is_truly_better_is_chosen_and_its_gain_shown_on_questions_that_did_not_choose_it():
    ranks = by_weight(lambda w, i: 1 if i % 2 or w >= 0.8 else None)
    chosen = choose_weight(ranks, seed=1)
    assert chosen.weight == 0.8 and set(chosen.folds) == {0.8}
    assert (chosen.against_equal.gained, chosen.against_equal.lost, chosen.against_equal.n) == (50, 0, 100)
    assert (chosen.hits, chosen.first, chosen.equal_hits) == (100, 100, 50)
    assert chosen.against_equal.better is True and chosen.recommended == 0.8


def test_where_all_weights_are_luck_no_gain_is_shown_though_the_best_one_looks_better():
    shown, looks_better = 0, 0
    for seed in range(40):
        luck = random.Random(seed)
        ranks = by_weight(lambda w, i, luck=luck: luck.choice([1, 3, None]), n=60)
        chosen = choose_weight(ranks, seed=seed)
        every = [sum(r is not None for r in found.values()) for found in ranks.values()]
        looks_better += max(every) > every[GRID.index(EQUAL)]  # on the very questions that choose
        shown += chosen.recommended != EQUAL
    assert looks_better >= 35 and shown <= 4


def test_each_question_is_scored_by_a_weight_that_it_did_not_help_to_choose():
    """Question 7 alone prefers 0.9; with it the choice moves, so its own score must come without it."""
    ranks = by_weight(lambda w, i: (1 if w == 0.9 else None) if i == 7 else (1 if w in (EQUAL, 0.9) else 2), n=40)
    chosen = choose_weight(ranks, seed=3, folds=40)
    assert chosen.weight == 0.9
    assert chosen.folds.count(EQUAL) == 1 and chosen.against_equal.gained == 0
    assert chosen.unseen == ranks[0.9] | {"q007": None}


def test_under_thirty_questions_no_weight_is_chosen():
    chosen = choose_weight(by_weight(lambda w, i: 1, n=FEWEST - 1), seed=1)
    assert chosen.weight is None and chosen.recommended == EQUAL and chosen.against_equal.interval is not None


def test_equal_results_stay_with_equal_weights():
    assert choose_weight(by_weight(lambda w, i: 1), seed=1).weight == EQUAL


def test_other_questions_or_missing_equal_weights_are_refused():
    ranks = by_weight(lambda w, i: 1)
    with pytest.raises(DataError, match="same questions"):
        choose_weight({**ranks, 0.9: {"other": 1}}, seed=1)
    with pytest.raises(DataError, match="equal weights"):
        choose_weight({0.9: ranks[0.9]}, seed=1)
    with pytest.raises(DataError, match="different questions"):
        paired({"a": 1}, {"b": 1})


def test_a_hit_is_among_the_first_five():
    found = paired({"a": 6, "b": 5, "c": None, "d": 1}, {"a": 5, "b": 6, "c": None, "d": 2})
    assert (found.gained, found.lost, found.n, found.better) == (1, 1, 4, None)
