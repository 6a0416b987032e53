"""Reranking: the head of the fused list in another order, by any function or a real cross-encoder built here."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import tiny_pilot

from rag_pilot.building import Variant
from rag_pilot.compared import retrievers
from rag_pilot.errors import DataError, ModelError
from rag_pilot.ledger import Ledger
from rag_pilot.retrieval.hybrid import HybridIndex
from rag_pilot.retrieval.rerank import LIST, Reranker, cross_encoder
from rag_pilot.tracing import trace

STAFF, HR = frozenset({"all"}), frozenset({"hr"})


def index(texts, reranker=None, groups=None, **more):
    chunks = [
        {"id": f"p{n}", "doc": f"d{n}", "text": text, "groups": (groups or {}).get(n, STAFF)}
        for n, text in enumerate(texts)
    ]
    return HybridIndex(chunks, reranker=reranker, **more)


def shortest_first(question, texts):
    return [-len(text) for text in texts]


def ids(hits):
    return [hit.passage.id for hit in hits]


TEXTS = ["fee fee fee fee", "fee fee and more words", "fee", "nothing of that"]


def test_the_head_is_put_in_the_rerankers_order_and_the_rest_stays_behind_it():
    plain = index(TEXTS).search("fee", STAFF)
    again = index(TEXTS, Reranker(shortest_first)).search("fee", STAFF)
    assert set(ids(again)) == set(ids(plain)) and ids(again)[0] == "p2"
    two = index(TEXTS, Reranker(shortest_first, depth=2)).search("fee", STAFF)
    assert set(ids(two)[:2]) == set(ids(plain)[:2]) and ids(two)[2:] == ids(plain)[2:]
    assert two.lists[LIST] == tuple(ids(two)[:2])
    assert [h.ranks.get(LIST) for h in two] == [1, 2, None]


def test_equal_scores_leave_the_fused_order():
    plain = index(TEXTS).search("fee", STAFF)
    assert ids(index(TEXTS, Reranker(lambda q, t: [0.0] * len(t))).search("fee", STAFF)) == ids(plain)


@given(st.lists(st.sampled_from(["fee", "fee visa", "visa", "lift fee"]), min_size=1, max_size=8), st.data())
@settings(max_examples=40, deadline=None)
def test_it_never_reads_what_the_asker_may_not_open(texts, data):
    closed = data.draw(st.sets(st.integers(0, len(texts) - 1)))
    read = []

    def spy(question, passages):
        read.extend(passages)
        return [0.0] * len(passages)

    texts = [f"{text} {n}" for n, text in enumerate(texts)]
    index(texts, Reranker(spy), dict.fromkeys(closed, HR)).search("fee visa", STAFF)
    assert not {texts[n] for n in closed} & set(read)


def test_many_questions_are_reranked_as_one():
    found = index(TEXTS, Reranker(shortest_first))
    asked = ["fee", "words", "zzz"]
    assert [ids(h) for h in found.search_many(asked, STAFF)] == [ids(found.search(q, STAFF)) for q in asked]


@pytest.mark.parametrize(
    "bad",
    [
        lambda q, t: [1.0],
        lambda q, t: [math.nan] * len(t),
        lambda q, t: [[0.1, 0.9]] * len(t),
        lambda q, t: ["high"] * len(t),
        lambda q, t: None,
    ],
)
def test_scores_that_are_not_one_number_a_passage_are_refused(bad):
    with pytest.raises(DataError, match="a number for each"):
        index(TEXTS, Reranker(bad)).search("fee", STAFF)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny cross-encoder with weights by seed, saved as a real one is."""
    import torch
    from sentence_transformers import CrossEncoder
    from transformers import BertConfig, BertForSequenceClassification, BertTokenizerFast

    path = tmp_path_factory.mktemp("model")
    letters = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *"abcdefghijklmnopqrstuvwxyz0123456789"]
    (path / "vocab.txt").write_text("\n".join([*letters, *(f"##{c}" for c in letters[5:])]), encoding="utf-8")
    torch.manual_seed(1)
    config = BertConfig(
        vocab_size=2 * len(letters) - 5,
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        num_labels=1,
        initializer_range=1.0,  # scores far enough apart to have an order
    )
    BertForSequenceClassification(config).save_pretrained(path)
    BertTokenizerFast(vocab_file=str(path / "vocab.txt")).save_pretrained(path)
    assert CrossEncoder(str(path))
    return path


def test_a_cross_encoder_of_a_folder_gives_the_order_that_it_gives_itself(folder):
    from sentence_transformers import CrossEncoder

    own = CrossEncoder(str(folder)).predict([("fee", text) for text in TEXTS[:3]])
    hits = index(TEXTS, Reranker(cross_encoder(str(folder)))).search("fee", STAFF)
    expected = sorted(range(3), key=lambda n: -own[n])
    assert ids(hits) == [f"p{n}" for n in expected]
    assert [h.score for h in hits] == pytest.approx([float(own[n]) for n in expected], abs=1e-4)


def test_a_setting_reranks_a_pilot_and_the_run_audit_and_trace_know_it(tmp_path, folder):
    pilot = tiny_pilot(tmp_path)
    pilot.lock_acceptance()
    variant = Variant(pilot.settings.changed({"retrieval.rerank": str(folder), "retrieval.rerank_depth": 3}))
    run = pilot.run("reranked", variant)
    answered = [a for a in run.answers.values() if a.hits]
    assert answered and all(LIST in a.lists for a in answered)
    result = retrievers(pilot, variant)["keyword"]
    assert not result.audit.questions
    result = Ledger(pilot).result(())
    assert LIST not in result.run.answers["q2"].lists  # the baseline has none
    from rag_pilot.results import Result

    traced = trace(Result(pilot, run, pilot.build(variant)), "q2")
    assert LIST in [place.name for place in traced.places]


def test_a_cross_encoder_that_cannot_be_loaded_says_what_to_do(tmp_path):
    with pytest.raises(ModelError, match=r"leave retrieval.rerank out"):
        cross_encoder(str(tmp_path / "none"))("fee", ["fee"])
