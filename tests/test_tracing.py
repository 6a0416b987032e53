"""Why one question went as it did."""

from dataclasses import replace

import numpy as np
import pytest
from rank_bm25 import BM25Okapi
from tiny import SECRET, run_and_label, tiny_pilot

from rag_pilot.errors import DataError
from rag_pilot.evaluation import run_eval
from rag_pilot.ledger import Ledger
from rag_pilot.records import Passage, Question
from rag_pilot.reporting import tables
from rag_pilot.results import Result
from rag_pilot.retrieval.hybrid import HybridIndex
from rag_pilot.retrieval.keyword import article_tokenizer
from rag_pilot.retrieval.merging import Merging
from rag_pilot.retrieval.rerank import LIST, Reranker
from rag_pilot.tracing import Trace, trace, trace_largest_cause


@pytest.fixture
def result(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    return Ledger(pilot).result()


def test_it_shows_the_place_in_every_list_the_shared_words_and_the_prompt(result):
    found = trace(result, "q2")
    assert {p.name: p.document for p in found.places} == {"keyword": 1, "shown": 1}
    assert "taxi" in found.seen[0].shared
    assert found.seen[0].expected
    assert "claimed on form T-7" in found.prompt
    assert found.text.startswith("A taxi is claimed")


def test_it_shows_only_ranks_to_those_who_may_not_read(result):
    found = trace(result, "q3")
    assert found.hidden == "hr"
    assert SECRET not in repr(found)
    assert found.places


def test_the_largest_cause_is_traced_by_its_first_question_that_readers_may_see(result):
    result.__dict__["order"] = ["q5", "q3", "q1", "q2", "q4", "q6"]  # only hr may see q5
    assert [(row.cause, row.questions) for row in result.pareto.rows] == [
        ("should_have_declined", ("q5", "q4")),
        ("missing_or_stale", ("q6",)),
    ]
    assert trace_largest_cause(result) == trace(result, "q4")
    failed = {i: replace(a, status="error") for i, a in result.run.answers.items()}
    nothing = trace_largest_cause(Result(result.pilot, replace(result.run, answers=failed), result.built))
    assert nothing is None and "nothing to trace" in tables.trace(nothing)


def test_an_unknown_question_is_refused(result):
    with pytest.raises(DataError, match="q99"):
        trace(result, "q99")


def test_places_stay_those_of_the_run_where_the_documents_have_changed_since(result):
    before = trace(result, "q2")
    page = result.pilot.data / "documents" / "travel.md"
    page.write_text(page.read_text(encoding="utf-8").replace("95 euros", "120 euros"), encoding="utf-8")
    after = trace(Result(result.pilot, result.run, result.pilot.build()), "q2")
    assert [(p.name, p.document, p.length) for p in after.places] == [
        (p.name, p.document, p.length) for p in before.places
    ]
    assert (before.lost, after.lost) == (0, 1)
    assert after.hidden == "access to a passage that is gone" and after.prompt == ""
    assert "1 passage of its lists is in them no more" in repr(tables.trace(after))


# -- before and after fusion -----------------------------------------------------------------------------------------

STAFF = frozenset({"all-staff"})
ANGLES = {"taxi form one": 40, "taxi taxi two": 10, "form three": 20, "rail four": 5, "hotel five": 60, "bus six": 70}
QUESTION = Question("q", "taxi form", "Form three.", doc="three", groups=STAFF, quote="form three")


def embed(texts: list[str]) -> np.ndarray:
    """Each text where the test wants it; the question lies at 0 degrees."""
    angles = np.radians([ANGLES.get(text, 0) for text in texts])
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def traced(result: Result, question: Question = QUESTION, k: int = 2, depth: int = 50, per_document: int = 0) -> Trace:
    """A trace of one question over six small passages, each of the document that its last word names."""
    passages = [Passage(text, text.split()[-1], text, STAFF) for text in ANGLES]
    if per_document:
        passages[2] = replace(passages[2], doc="one")
    index = HybridIndex(passages, embed, tokenizer=article_tokenizer, bm25="okapi", merging=Merging(per_document))
    built = replace(result.built, index=index, groups={p.id: STAFF for p in passages})
    find = {"depth": depth, "rrf_k": 60}
    info = {"config": {"retrieval": {"k": k, **find}}}
    run = run_eval([question], index, lambda _: "NOT_FOUND", min_similarity=None, k=k, search=find, info=info)
    return trace(Result(result.pilot, run, built), "q")


def test_each_list_has_rank_and_score_before_and_after_fusion(result):
    found = traced(result)
    places = {p.name: p for p in found.places}
    bm25 = BM25Okapi([t.split() for t in ANGLES]).get_scores(["taxi", "form"])
    ranked = sorted(ANGLES, key=lambda t: -bm25[list(ANGLES).index(t)])
    assert list(places) == ["keyword", "dense", "fused", "shown"]
    assert places["keyword"].document == ranked.index("form three") + 1
    assert places["keyword"].document_score == pytest.approx(bm25[2])
    assert (places["dense"].quote, places["dense"].quote_score) == (3, pytest.approx(np.cos(np.radians(20)), abs=1e-4))
    ranks = places["keyword"].document, places["dense"].document
    assert places["fused"].document_score == pytest.approx(sum(1 / (60 + rank) for rank in ranks))
    assert places["shown"].document is None and places["fused"].document == 3


def test_what_beat_the_expected_passage_says_with_what(result):
    found = traced(result)
    assert [s.passage.doc for s in found.seen] == ["two", "one"]
    assert found.sought.passage.doc == "three" and found.sought.shared == ("form",)
    assert found.seen[0].why.endswith("similarity 0.98 against 0.94")
    assert found.seen[1].why.startswith("words shared 2 against 1; BM25 ")
    page = repr(tables.trace(found))
    assert "similarity 0.98 against 0.94" in page and "The expected passage, which was not shown" in page
    shown = traced(result, k=3)
    assert shown.sought is None and [bool(s.why) for s in shown.seen] == [True, True, False]


def test_a_place_beyond_what_was_searched_is_told_as_such(result):
    far = replace(QUESTION, doc="six", quote="bus six")
    dense = next(p for p in traced(result, far, depth=2).places if p.name == "dense")
    assert (dense.document, dense.length) == (6, 2)
    assert "6, beyond it (0.34)" in repr(tables.trace(traced(result, far, depth=2)))


def test_merging_is_a_list_of_its_own_where_it_left_something_out(result):
    one = replace(QUESTION, doc="one")
    places = {p.name: p for p in traced(result, one, k=6, per_document=1).places}
    assert list(places) == ["keyword", "dense", "fused", "merged", "shown"]
    assert (places["fused"].quote, places["merged"].quote, places["shown"].quote) == (3, None, None)
    assert (places["fused"].length, places["merged"].length, places["merged"].document) == (6, 5, 2)


def test_a_copy_that_merging_puts_back_says_so_and_has_its_place_before_and_after(result):
    texts = {"one": "taxi form", "two": "taxi form", "three": "taxi", "four": "rail form", "five": "hotel"}
    passages = [Passage(doc, doc, text, STAFF) for doc, text in texts.items()]
    index = HybridIndex(passages, method="keyword", merging=Merging(per_text=1))
    built = replace(result.built, index=index, groups={p.id: STAFF for p in passages})
    asked = replace(QUESTION, id="q", doc="two", quote="taxi form")
    k, reverse = 5, Reranker(lambda _, texts: [-float(len(text)) for text in texts])
    for retriever, ordered in ((index, 2), (index.using(reranker=reverse), 3)):
        run = run_eval([asked], retriever, lambda _: "NOT_FOUND", min_similarity=None, k=k)
        found = trace(Result(result.pilot, run, built, retriever), "q")
        places = {p.name: p for p in found.places}
        assert (places["merged"].document, places["merged"].length, places["shown"].document) == (4, 4, 4)
        assert places[LIST if LIST in places else "keyword"].document == ordered
        why = {s.passage.id: s.why for s in found.seen}
        assert "merging" in why["four"] and "merging" not in why["one"]


@pytest.mark.parametrize("copies", [120, 1200])
def test_a_search_that_copies_made_deeper_is_traced_at_the_depth_of_the_run(result, copies):
    rows = [(f"{n:04}", "taxi form") for n in range(copies)] + [("rail", "rail form"), ("bus", "bus form")]
    passages = [Passage(doc, doc, text, STAFF) for doc, text in rows]
    index = HybridIndex(passages, method="keyword", merging=Merging(per_text=1))
    built = replace(result.built, index=index, groups={p.id: STAFF for p in passages})
    asked = replace(QUESTION, id="q", doc="rail", quote="rail form")
    reverse = Reranker(lambda _, texts: [float(n) for n in range(len(texts))])
    for retriever in (index, index.using(reranker=reverse)):
        run = run_eval([asked], retriever, lambda _: "NOT_FOUND", min_similarity=None, k=3)
        found = trace(Result(result.pilot, run, built, retriever), "q")
        places = {p.name: (p.document, p.length) for p in found.places}
        assert places["keyword"] == (copies + 2, copies + 2) and places["shown"] == (3, 3)
        assert places["merged"] == (3, copies + 2)
        assert next(p.document_score for p in found.places if p.name == "keyword") is not None


def test_ids_of_another_search_need_no_form_of_ours(result):
    class Theirs:
        def search(self, question, groups, k=5):
            return [{"id": f"row {n}", "doc": doc, "text": f"{doc} text"} for n, doc in enumerate(("leave", "travel"))]

    run = run_eval(result.questions, Theirs(), lambda _: "NOT_FOUND", min_similarity=None)
    groups = {**result.built.groups, "row 0": STAFF, "row 1": STAFF}
    found = trace(Result(result.pilot, run, replace(result.built, groups=groups), Theirs()), "q2")
    assert [(p.name, p.document, p.length, p.document_score) for p in found.places] == [("shown", 2, 2, None)]
    assert found.lost == 2 and found.prompt == "" and "another search" in repr(tables.trace(found))


def test_scores_are_left_out_where_the_index_gives_other_lists_and_for_readers_who_may_not_read(result):
    assert [p.document_score for p in trace(result, "q2").places if p.name == "keyword"] != [None]
    assert {p.document_score for p in trace(result, "q3").places} == {None}
    page = result.pilot.data / "documents" / "leave.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n# Taxi\n\nTaxi form, taxi form.\n", encoding="utf-8")
    after = trace(Result(result.pilot, result.run, result.pilot.build()), "q2")
    assert {p.document_score for p in after.places} == {None} and after.places[0].document == 1
