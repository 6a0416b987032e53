"""The decline threshold against brute force, and when there is none."""

import inspect
import json
import math
import random
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from test_hybrid import Placed
from tiny import run_and_label, tiny_pilot

from rag_pilot.analysis.grades import Graded
from rag_pilot.analysis.threshold import Scored, scored_answers, sweep
from rag_pilot.answering.answerer import answer
from rag_pilot.errors import DataError
from rag_pilot.files import write_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.records import Answer, Label, Question, Verdict
from rag_pilot.reporting import tables
from rag_pilot.results import Result
from rag_pilot.retrieval.fusion import HOW, Fusion
from rag_pilot.retrieval.hybrid import HybridIndex
from rag_pilot.runs import Run


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
    assert found.held_out.n == 200 and found.wrong_bound < 0.14
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
    assert "Without a similarity, and never declined by it: 3." in found.words
    assert sweep([Scored(r.question_id, None, r.answerable, True, r.label) for r in rows], 0.1, 1).points == ()


def test_same_seed_same_result_and_impossible_inputs_are_refused():
    assert sweep(a_set(), 0.1, seed=3) == sweep(a_set(), 0.1, seed=3)
    with pytest.raises(DataError, match="between 0 and 1"):
        sweep(a_set(), 5, seed=1)
    with pytest.raises(DataError, match="nan"):
        sweep([Scored("q", float("nan"), True, True, "correct")], 0.1, seed=1)


@settings(max_examples=60)
@given(st.lists(scored, min_size=6, max_size=40), st.randoms())
def test_neither_the_order_of_the_questions_nor_their_ids_change_anything(rows, rng):
    moved = [replace(row, question_id=f"{rng.random()}") for row in rng.sample(rows, len(rows))]
    assert sweep(moved, 0.4, seed=1) == sweep(rows, 0.4, seed=1)


def test_the_folds_of_a_large_set_do_not_depend_on_its_order():
    rows = a_set(gap=1.5)
    assert len({sweep(random.Random(n).sample(rows, len(rows)), 0.10, seed=1) for n in range(5)}) == 1


def test_what_is_held_out_is_counted_under_the_choices_of_others_and_fares_worse_than_what_was_chosen_on():
    found = [sweep(a_set(60, 20, gap=1.5, seed=n), 0.2, seed=1) for n in range(20)]
    kept = [one for one in found if one.held_out]
    assert len(kept) > 10 and any(low < high for low, high in (one.answered_range for one in kept))
    worth = [[2 * p.wrong - p.correct for p in (one.candidate, one.held_out)] for one in kept]
    assert sum(unseen for _, unseen in worth) > sum(chosen for chosen, _ in worth)


DEGENERATE = {
    "identical scores": [Scored(f"{i}", 0.5, i % 4 > 0, True, "wrong" if i % 4 == 0 else "correct") for i in range(80)],
    "all wrong": [Scored(f"{i}", i / 100, i % 4 > 0, True, "wrong") for i in range(80)],
    "none wrong": [Scored(f"{i}", i / 100, i % 4 > 0, i % 4 > 0, "correct") for i in range(80)],
    "all partly": [Scored(f"{i}", i / 100, i % 4 > 0, True, "partly") for i in range(80)],
    "all declined": [Scored(f"{i}", i / 100, i % 4 > 0, False, "declined" if i % 4 else "correct") for i in range(80)],
    "answerable only": [Scored(f"{i}", i / 100, True, True, "correct") for i in range(80)],
    "no question": [],
}


@pytest.mark.parametrize("kind", DEGENERATE)
@pytest.mark.parametrize("limit", [0.01, 0.05, 0.3])
def test_what_cannot_be_tuned_gives_words_and_never_nan(kind, limit):
    found = sweep(DEGENERATE[kind], limit, seed=1)
    assert found.chosen is None
    assert found.words.startswith(("No threshold can be tuned", "No useful threshold", "No threshold is needed"))
    plain = asdict(found)
    json.dumps(plain, allow_nan=False)
    assert not any(isinstance(v, float) and math.isnan(v) for v in plain.values())
    assert " nan" not in repr(tables.threshold(found)).lower()


def test_the_table_sets_the_run_as_it_stands_beside_the_rules_choice_and_says_how_to_set_it():
    found = sweep(a_set(), 0.10, seed=1, unlabelled=4, judged=7)
    shown, taken, unseen = repr(tables.threshold(found)), found.candidate, found.held_out
    for point in (found.always, taken, unseen):
        assert f"{point.answered} of 200  {200 - point.answered} of 200  {point.correct} of 200  {point.wrong}" in shown
    assert f"min_similarity={taken.threshold:.4f})" in shown and "the best cosine" in shown
    for told in ("Without a label, and not counted: 4.", "Labels by the admitted judge: 7."):
        assert told in found.words and told in shown
    none = repr(tables.threshold(sweep(a_set(gap=0), 0.10, seed=1)))
    assert "no useful threshold" in none and "min_similarity=None" in none
    default = inspect.signature(answer).parameters["min_similarity"].default
    assert f"its default is {default}." in none


# -- what is compared with it ------------------------------------------------------------------------------------------

NEAR, FAR, SECRET = "leave leave days", "parking in leeds", "leave for the board"
GROUPS = {NEAR: {"g"}, FAR: {"g"}, SECRET: {"board"}}


def searched(cosines: dict[str, float], **how: Any) -> HybridIndex:
    """Three passages, as near to every question as said; the last one is the board's."""
    chunks = [{"id": text, "doc": text, "text": text, "groups": GROUPS[text]} for text in cosines]
    return HybridIndex(chunks, Placed(cosines) if how.pop("embedded", True) else None, **how)


def asked(index: HybridIndex, question: str = "leave", least: float = 0.3, **search: int) -> tuple[str | None, Any]:
    """Why it was declined (None: the model was asked and answered), and the similarity that was compared."""
    given = answer(question, index, {"g"}, lambda prompt: "25 days [1].", least, **search)
    return given.reason, given.similarity


@pytest.mark.parametrize("how", HOW)
def test_the_best_cosine_is_compared_and_never_the_fused_score(how):
    """By ranks no fused score is above .0328, which would decline all; by scores it can be 1, which would ask all."""
    fusion = Fusion(how)
    strong, weak = (searched({NEAR: best, FAR: 0.1}, fusion=fusion) for best in (0.6, 0.2))
    top = [index.search("leave", {"g"})[0].score for index in (strong, weak)]
    assert max(top) <= 2 / 61 if how == "ranks" else min(top) > 0.3
    assert (asked(strong), asked(weak)) == ((None, 0.6), ("low_similarity", 0.2))
    assert (asked(strong, least=0.6)[0], asked(strong, least=0.6001)[0]) == (None, "low_similarity")


def test_a_passage_that_the_asker_may_not_open_lifts_no_similarity():
    assert asked(searched({NEAR: 0.2, FAR: 0.1, SECRET: 0.9})) == ("low_similarity", 0.2)


@pytest.mark.parametrize(
    ("what", "index", "question", "reason", "similarity"),
    [
        ("words match well, the meaning does not", {"cosines": {NEAR: 0.2, FAR: 0.1}}, "leave", "low_similarity", 0.2),
        ("no word matches, the meaning does", {"cosines": {NEAR: 0.6, FAR: 0.1}}, "holidays", None, 0.6),
        ("words match one, the meaning another", {"cosines": {NEAR: 0.1, FAR: 0.6}}, "leave", None, 0.6),
        ("neither matches", {"cosines": {NEAR: 0.2, FAR: 0.1}}, "holidays", "low_similarity", 0.2),
        ("dense alone, near", {"cosines": {NEAR: 0.6, FAR: 0.1}, "method": "dense"}, "holidays", None, 0.6),
        ("dense alone, far", {"cosines": {NEAR: 0.2, FAR: 0.1}, "method": "dense"}, "leave", "low_similarity", 0.2),
        ("keywords alone", {"cosines": {NEAR: 0.2, FAR: 0.1}, "method": "keyword"}, "leave", None, None),
        ("keywords alone, no word", {"cosines": {NEAR: 0.6}, "method": "keyword"}, "holidays", "no_passage", None),
        ("no embedding", {"cosines": {NEAR: 0.2}, "embedded": False}, "leave", None, None),
    ],
    ids=lambda value: value.replace(" ", "-") if isinstance(value, str) and " " in value else "",
)
def test_one_rule_for_every_leg_the_best_cosine_decides_and_without_one_nothing_does(
    what, index, question, reason, similarity
):
    assert asked(searched(**index), question) == (reason, similarity), what


def test_a_passage_that_stands_on_the_keyword_list_alone_is_compared_by_its_cosine_too():
    index = searched({NEAR: 0.2, FAR: 0.6}, fusion=Fusion("ranks", dense_weight=0))
    (hit,) = index.search("leave", {"g"}, depth=1)
    assert (hit.text, hit.ranks, asked(index, depth=1)) == (NEAR, {"keyword": 1}, ("low_similarity", 0.2))


def test_where_nothing_is_listed_there_is_no_passage_and_no_similarity():
    assert asked(searched({NEAR: 0.9}), depth=0) == ("no_passage", None)
    assert asked(searched({SECRET: 0.9})) == ("no_passage", None)


def test_a_pilot_that_searches_by_keywords_alone_is_told_that_no_answer_has_a_similarity(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    result = Ledger(pilot).result()
    assert {a.similarity for a in result.run.answers.values()} == {None}
    assert result.threshold().words.startswith("No threshold can be tuned: no answer has a similarity; have 4")


# -- of a run ----------------------------------------------------------------------------------------------------------


def a_run(root: Path, *, read: int, labels: int = 50, judged: bool = False, failed: str = "") -> Result:
    """120 answered questions, every sixth unanswerable, so that the fiftieth that needs a person is q59; by the
    expert's labels every fifth is wrong, and a judge says the same."""
    pilot = tiny_pilot(root)
    path = pilot.data / "pilot.toml"
    path.write_text(
        path.read_text(encoding="utf-8").replace("[pilot]", f"[pilot]\nlabels = {labels}"), encoding="utf-8"
    )
    ids = [f"q{i}" for i in range(120)]
    written = [
        {"id": i, "question": f"{i}?", "groups": [], "doc": "leave", "expected": "25", "answerable": n % 6 > 0}
        for n, i in enumerate(ids)
    ]
    write_jsonl(pilot.data / "questions.jsonl", written)
    write_jsonl(pilot.data / "order.jsonl", [{"position": n, "id": i} for n, i in enumerate(ids, start=1)])
    hits = [({"id": "p", "doc": "leave", "similarity": 0.3 + n / 1000},) for n in range(120)]
    answers = {i: Answer(i, "answered", i, docs=("leave",), hits=hits[n], sha=i) for n, i in enumerate(ids)}
    answers |= {failed: replace(answers[failed], status="error", reason="no reply")} if failed else {}
    word = {i: "wrong" if n % 5 == 0 else "correct" for n, i in enumerate(ids)}
    needing = [i for n, i in enumerate(ids) if n % 6 and i != failed]
    write_jsonl(pilot.data / "labels.jsonl", [Label(i, i, "Maud", word[i]) for i in needing[:read]])
    pilot = type(pilot).open("tiny", root)
    verdicts = {i: Verdict(i, i, word[i], "judge") for i in ids} if judged else {}
    return Result(pilot, Run(tuple(pilot.questions), answers, verdicts), pilot.build())


@pytest.mark.parametrize(
    ("read", "labels", "n"),
    [(50, 50, 60), (60, 50, 60), (20, 50, 24), (20, 10, 12), (100, 200, 120), (100, 50, 60), (0, 50, 0)],
)
def test_the_order_up_to_the_fiftieth_label_is_swept_and_not_what_rules_label_behind_it(tmp_path, read, labels, n):
    result = a_run(tmp_path, read=read, labels=labels)
    found = result.threshold()
    assert (found.always.n if found.always else 0) == n
    assert (found.judged, found.unlabelled) == (0, 0) and "judge" not in found.words


def test_a_judge_that_is_not_admitted_labels_nothing_and_an_admitted_one_is_named(tmp_path):
    (tmp_path / "few").mkdir()
    few = a_run(tmp_path / "few", read=20, judged=True)  # too few faults to test the judge
    assert not few.gate.passed and (few.threshold().always.n, few.threshold().judged) == (24, 0)
    result = a_run(tmp_path, read=50, judged=True)
    found = result.threshold()
    assert result.gate.passed and (found.always.n, found.judged) == (120, 50)
    assert "Labels by the admitted judge: 50." in found.words


def test_an_answer_that_failed_is_counted_as_unlabelled_and_never_dropped_silently(tmp_path):
    found = a_run(tmp_path, read=50, failed="q7").threshold()
    assert (found.always.n, found.unlabelled) == (61, 1)  # up to q61, without q7
    assert "Without a label, and not counted: 1." in found.words


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
