"""The decline threshold against brute force, and when there is none."""

import random
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from rag_pilot.analysis.grades import Graded
from rag_pilot.analysis.threshold import Scored, scored_answers, sweep
from rag_pilot.errors import DataError
from rag_pilot.records import Answer, Question


def a_set(n=172, m=28, gap=3.0, seed=1, right=0.9):
    """Answerable questions score higher by `gap` deviations; nothing is declined by the system itself."""
    rng = random.Random(seed)
    rows = []
    for i in range(n + m):
        kind = i < n
        label = ("correct" if rng.random() < right else "partly") if kind else "wrong"
        rows.append(Scored(f"q{i}", round(rng.gauss(0.5 + gap * 0.1 * kind, 0.1), 4), kind, True, label))
    return rows


def outcome(row, threshold):
    """(answered, label) of one question at a threshold, written out."""
    if threshold is not None and row.score is not None and row.score < threshold:
        return False, "declined" if row.answerable else "correct"
    return row.answered, row.label


scored = st.builds(
    Scored,
    st.just("q"),
    st.one_of(st.none(), st.sampled_from([0.22, 0.31, 0.47, 0.58, 0.66])),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["correct", "partly", "wrong", "declined"]),
)


@settings(max_examples=60)
@given(st.lists(scored, min_size=6, max_size=40))
def test_every_point_and_the_choice_equal_brute_force(rows):
    found = sweep(rows, 0.4, seed=1)
    if not found.points:
        return
    best = None
    for point in found.points:
        states = [outcome(row, point.threshold) for row in rows]
        correct, wrong = (sum(label == name for _, label in states) for name in ("correct", "wrong"))
        assert (point.answered, point.correct, point.wrong) == (sum(a for a, _ in states), correct, wrong)
        bound = stats.beta.ppf(0.95, wrong + 1, len(rows) - wrong) if wrong < len(rows) else 1
        key = (correct, -wrong, -(point.threshold or 0))
        if bound <= 0.4 and (best is None or key > best[0]):
            best = (key, point)
    assert found.candidate == (best[1] if best else None)


def test_points_are_always_answer_each_score_and_always_decline():
    rows = [Scored(str(i), s, i > 1, True, "correct") for i, s in enumerate([0.31, 0.22, 0.47, 0.58, 0.66, 0.66])]
    points = sweep(rows, 0.9, seed=1).points
    assert [p.threshold for p in points] == [None, 0.22, 0.31, 0.47, 0.58, 0.66, pytest.approx(0.6601)]
    assert [p.answered for p in points] == [6, 6, 5, 4, 3, 2, 0]
    assert points[-1].risk is None and points[0].coverage == 1


def test_a_score_that_separates_gives_a_threshold():
    found = sweep(a_set(), 0.10, seed=1)
    assert found.chosen == found.candidate.threshold and 0.55 < found.chosen < 0.75
    assert found.candidate.wrong < found.always.wrong == 28 and found.gain_bound > 0
    assert found.wrong_out_of_fold.n == 200 and found.wrong_bound < 0.14
    low, high = found.answered_range
    assert 0 < low <= high < 1 and f"{found.candidate.threshold:.4f}" in found.words


@pytest.mark.parametrize("seed", range(10))
def test_a_score_that_does_not_separate_gives_none(seed):
    found = sweep(a_set(gap=0, seed=seed), 0.10, seed=seed)
    assert found.chosen is None and found.words.startswith("No useful threshold")


def test_the_bound_and_not_the_point_must_keep_the_limit():
    found = sweep(a_set(gap=1.5), 0.10, seed=1)
    assert stats.beta.ppf(0.95, found.candidate.wrong + 1, 200 - found.candidate.wrong) <= 0.10
    assert found.candidate.wrong <= 12  # a bare cap would allow 20


@pytest.mark.parametrize(("n", "m"), [(40, 0), (0, 40), (40, 1), (0, 0)])
def test_both_kinds_of_questions_are_needed(n, m):
    found = sweep(a_set(n, m), 0.10, seed=1)
    assert found.chosen is None and found.points == ()
    assert f"have {n} answerable, {m} unanswerable" in found.words


def test_twelve_questions_show_nothing():
    found = sweep(a_set(8, 4), 0.10, seed=1)
    assert found.chosen is None and "No useful threshold" in found.words


def test_no_threshold_is_needed_where_always_answering_keeps_the_limit():
    rows = [Scored(str(i), 0.5 + i / 1000, i > 5, i > 5, "correct") for i in range(200)]
    found = sweep(rows, 0.05, seed=1)
    assert found.chosen is None and found.candidate.threshold is None and "No threshold is needed" in found.words


def test_answers_without_a_similarity_are_never_declined_and_are_counted():
    rows = a_set() + [Scored(f"n{i}", None, False, True, "wrong") for i in range(3)]
    found = sweep(rows, 0.15, seed=1)
    assert found.without_score == 3 and found.points[-1].answered == found.points[-1].wrong == 3
    assert "3 answers have no similarity" in found.words
    assert sweep([Scored(r.question_id, None, r.answerable, True, r.label) for r in rows], 0.1, 1).points == ()


def test_same_seed_same_result_and_impossible_inputs_are_refused():
    assert sweep(a_set(), 0.1, seed=3) == sweep(a_set(), 0.1, seed=3)
    with pytest.raises(DataError, match="between 0 and 1"):
        sweep(a_set(), 5, seed=1)
    with pytest.raises(DataError, match="nan"):
        sweep([Scored("q", float("nan"), True, True, "correct")], 0.1, seed=1)


def test_three_hundred_answers_take_under_a_second():
    rows = a_set(258, 42)
    start = time.perf_counter()
    sweep(rows, 0.1, seed=1)
    assert time.perf_counter() - start < 1


def test_stored_answers_enter_with_their_best_similarity_and_unlabelled_ones_are_counted():
    questions = [Question("q1", "?"), Question("q2", "?", answerable=False), Question("q3", "?")]
    hits = (
        {"id": "p", "doc": "d", "similarity": 0.2},
        {"id": "p2", "doc": "d", "similarity": 0.4},
        {"id": "k", "doc": "d"},
    )
    answers = {
        "q1": Answer("q1", "answered", hits=hits),
        "q2": Answer("q2", "declined", hits=hits[2:]),
        "q3": Answer("q3", "error"),
    }
    graded = {"q1": Graded("wrong", "judge"), "q2": Graded("correct", "rule"), "q3": Graded(None, "error")}
    assert scored_answers(questions, answers, graded) == (
        [Scored("q1", 0.4, True, True, "wrong"), Scored("q2", None, False, False, "correct")],
        1,
    )
