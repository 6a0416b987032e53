"""Retrieval, leaks and label shares, with their denominators."""

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from ir_measures import RR, Qrel, R, ScoredDoc, Success, iter_calc, nDCG
from sklearn.metrics import label_ranking_average_precision_score, top_k_accuracy_score

from rag_pilot.analysis.grades import Graded
from rag_pilot.analysis.measures import four_way, label_shares, leaks, rank_of, retrieval
from rag_pilot.analysis.shares import Share
from rag_pilot.records import Answer, Question


def question(i, doc="d", **more):
    return Question(id=i, question=i, doc=doc, **more)


def everywhere(_):
    return True


# -- retrieval


@given(st.lists(st.permutations(range(7)), min_size=2, max_size=12))
def test_hits_and_mrr_equal_sklearns_measures_of_one_relevant_document(rankings):
    questions = [question(f"q{i}", "0") for i in range(len(rankings))]
    found = retrieval(questions, {f"q{i}": [str(d) for d in r] for i, r in enumerate(rankings)}, everywhere)
    scores = np.array([[-ranking.index(doc) for doc in range(7)] for ranking in rankings], dtype=float)
    relevant = np.zeros(len(rankings), dtype=int)
    for k, hit in ((1, found.hit1), (5, found.hit5)):
        assert hit.value == pytest.approx(top_k_accuracy_score(relevant, scores, k=k, labels=range(7)))
    one_hot = np.eye(7, dtype=int)[relevant]
    assert found.mrr.value == pytest.approx(label_ranking_average_precision_score(one_hot, scores))
    assert found.recall5.value == found.hit5.value


DOCS = st.sampled_from("abcdefghijklmnop")


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.sets(DOCS, min_size=1, max_size=4), st.lists(DOCS, max_size=16)), min_size=1, max_size=8))
@example([({"z"}, ["a", "b", "z"]), ({"a"}, ["z", "y", "a"])])
def test_measures_equal_ir_measures_to_the_last_digit_on_the_list_as_shown(rows):
    """It orders by score, ties by its own rule: here the scores fall strictly, so that the list shown is judged."""
    questions = [question(f"q{i}", min(docs), also=tuple(docs - {min(docs)})) for i, (docs, _) in enumerate(rows)]
    shown = {f"q{i}": ranking for i, (_, ranking) in enumerate(rows)}
    ours = retrieval(questions, shown, everywhere)
    once = {i: list(dict.fromkeys(ranking)) for i, ranking in shown.items()}
    alone = retrieval(questions, once, everywhere)  # an evaluator knows no passages: documents shown once
    wanted = [Qrel(q.id, doc, 1) for q in questions for doc in q.docs]
    run = [ScoredDoc(i, doc, -float(rank)) for i, r in once.items() for rank, doc in enumerate(r)]
    measures = [Success @ 1, Success @ 5, RR, R @ 5, nDCG @ 10]
    found = {(m.query_id, m.measure): m.value for m in iter_calc(measures, wanted, run)}

    def theirs(measure):
        return [found[q.id, measure] for q in questions]

    assert list(alone.hits(1).values()) == [value == 1 for value in theirs(Success @ 1)]
    assert list(alone.hits(5).values()) == [value == 1 for value in theirs(Success @ 5)]
    assert list(alone.mrr.values) == theirs(RR)
    assert list(alone.recall5.values) == theirs(R @ 5)
    assert list(ours.ndcg10.values) == pytest.approx(theirs(nDCG @ 10), abs=1e-15)
    assert alone.ndcg10 == ours.ndcg10


@given(st.lists(DOCS, max_size=16), st.sets(DOCS, min_size=1, max_size=3), st.permutations("abcdefghijklmnop"))
def test_measures_are_of_the_order_shown_and_do_not_change_when_documents_are_renamed(ranking, docs, names):
    """Case 3.15: where scores tie, no rule of ours or of an evaluator's may put them in another order."""
    new = dict(zip("abcdefghijklmnop", names, strict=True))

    def measured(ranking, docs):
        first, *others = docs
        found = retrieval([question("q", first, also=tuple(others))], {"q": ranking}, everywhere)
        return found.ranks, found.mrr, found.recall5, found.ndcg10

    assert measured(ranking, docs) == measured([new[d] for d in ranking], {new[d] for d in docs})


def test_recall_counts_every_accepted_document():
    asked = [question("q", "a", also=("b", "c", "z"))]
    found = retrieval(asked, {"q": ["x", "b", "b", "a", "y", "c"]}, everywhere)
    assert (found.recall5.value, found.ranks["q"]) == (0.5, 2)


def test_unanswerable_and_forbidden_questions_are_missing_and_an_empty_ranking_counts_zero():
    questions = [question(f"q{i}") for i in range(10)] + [question(f"u{i}", answerable=False) for i in range(5)]
    questions += [question("secret"), question("nowhere", doc=None), question("late")]
    rankings = {f"q{i}": ["d"] if i < 8 else [] for i in range(10)} | {"u0": ["d"], "secret": ["d"], "nowhere": ["d"]}
    found = retrieval(questions, rankings, lambda q: q.id != "secret")
    assert (found.hit5.count, found.hit5.n) == (8, 10) and found.recall5.value == found.mrr.value == 0.8
    missing = {"unanswerable": 5, "not permitted": 1, "no reference document": 1, "no ranking": 1}
    assert found.hit5.missing == found.mrr.missing == missing
    assert found.hit5.n + sum(missing.values()) == len(questions)
    assert found.hits(5)["q9"] is False and found.reciprocal_ranks()["q9"] == 0.0 and "u0" not in found.hits(5)


def test_no_question_at_all_is_no_data():
    found = retrieval([question("u", answerable=False)], {}, everywhere)
    assert [found.hit1.text(), found.mrr.text(), found.recall5.text()] == ["no data"] * 3


def test_rank_is_the_place_in_the_list_as_shown():
    assert rank_of({"z"}, ["a", "a", "z"]) == 3
    assert rank_of({"a", "z"}, ["b", "a", "z"]) == 2
    assert rank_of({"y"}, ["a"]) is None and rank_of({"y"}, []) is None
    ranks = retrieval([question("q", "z")], {"q": ["a", "b", "c", "d", "e", "z"]}, everywhere)
    assert (ranks.hit5.count, ranks.mrr.value, ranks.ranks["q"]) == (0, pytest.approx(1 / 6), 6)


# -- leaks


def leaking(hits=(), lists=None, groups=("all",), groups_of=None):
    asker = question("q", groups=frozenset(groups))
    answer = Answer(
        question_id="q", status="answered", hits=tuple({"id": h, "doc": "d"} for h in hits), lists=lists or {}
    )
    return leaks([asker], {"q": answer}, groups_of or {"p1": {"all"}, "p2": {"hr"}, "p3": {"hr", "all"}})


def test_a_forbidden_passage_in_any_list_is_a_leak():
    assert leaking(["p1", "p3"], {"keyword": ["p1"]}).share.count == 0
    assert leaking(["p2"]).passages == {"q": ("p2",)}
    assert leaking(["p1"], {"keyword": ["p1"], "dense": ["p3", "p2"]}).passages == {"q": ("p2",)}


def test_unknown_passages_and_askers_without_groups_are_closed():
    assert leaking(["p9"]).passages == {"q": ("p9",)}
    assert leaking(["p1"], groups=()).share.count == 1
    assert leaking(["p1"], groups_of={"p1": frozenset()}).share.count == 1


def test_leak_rate_is_over_questions_with_an_answer_and_an_error_is_not_free_of_leaks():
    answers = {"a": Answer(question_id="a", status="error"), "c": Answer(question_id="c", status="declined")}
    found = leaks([question("a"), question("b"), question("c")], answers, {})
    assert found.share == Share(0, 1, {"error": 1, "not answered": 1})
    seen = Answer(question_id="a", status="error", lists={"keyword": ["p9"]})
    assert leaks([question("a")], {"a": seen}, {}).share == Share(1, 1)


# -- answers


def test_four_way_table_counts_errors_and_flags_apart():
    statuses = ["answered", "answered", "declined", "error"]
    asked = [question(f"{side}{i}", answerable=side == "a") for side in "au" for i in range(5)]
    answers = {f"{side}{i}": Answer(question_id="", status=s) for side in "au" for i, s in enumerate(statuses)}
    answers["u1"] = Answer(question_id="u1", status="answered", flags=("own_words",))
    table = four_way(asked, answers)
    row = {"answered": 2, "declined": 1, "error": 1, "not answered": 1}
    assert table.answerable == table.unanswerable == row and table.flagged == 1
    assert table.answered == Share(2, 3, {"error": 1, "not answered": 1})
    assert table.rightly_declined == Share(1, 3, {"error": 1, "not answered": 1})


def graded(**counts):
    rows = [(name, k) for name, count in counts.items() for k in range(count)]
    nobody = {"error": Graded(None, "error"), "not_graded": Graded(None, "not_graded")}
    return {f"{name}{k}": nobody.get(name, Graded(name, "rule")) for name, k in rows}


def test_a_failed_call_never_raises_a_share_and_ungraded_answers_are_missing():
    shares = label_shares(graded(correct=8, wrong=1, declined=1, error=2, not_graded=3))
    assert {name: (s.count, s.n) for name, s in shares.items()} == {
        "correct": (8, 12),
        "partly": (0, 12),
        "wrong": (1, 12),
        "declined": (1, 12),
        "error": (2, 12),
    }
    assert shares["correct"].missing == {"not graded": 3}
