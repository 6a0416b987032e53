"""Two lists as one: weights, ranks and standardised scores, against numbers worked out in the test."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.errors import SettingsError
from rag_pilot.retrieval.fusion import Fusion
from rag_pilot.retrieval.hybrid import HybridIndex

STAFF, HR = frozenset({"all"}), frozenset({"hr"})
WORDS = ("fork", "lift", "fee", "visa", "badge", "key")


def embed(texts):
    """Unit vectors of letters, so that every text has a direction of its own."""
    rows = np.array([[1 + text.count(c) for c in "abdefgiklrstv"] for text in texts], dtype=np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def index(texts, fusion=None, groups=STAFF, **more):
    chunks = [{"id": f"p{n}", "doc": f"d{n}", "text": text, "groups": groups} for n, text in enumerate(texts)]
    return HybridIndex(chunks, embed, **more, **({"fusion": fusion} if fusion else {}))


def ids(hits):
    return [hit.passage.id for hit in hits]


texts = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join), min_size=2, max_size=12)
queries = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)


@given(texts, queries, st.floats(0.05, 0.95))
@settings(max_examples=60, deadline=None)
def test_scores_are_the_weighted_sum_of_standardised_scores_over_what_the_asker_may_open(corpus, query, weight):
    fused = index(corpus, Fusion("scores", weight))
    hits = fused.search(query, STAFF, k=20)
    cosines = np.array([float(embed([text])[0].astype(float) @ embed([query])[0].astype(float)) for text in corpus])
    keyword = np.array(fused.keyword.get_scores(fused.tokenizer(query)))

    def standard(scores):
        return (scores - scores.mean()) / scores.std() if scores.std() > 1e-6 else 0 * scores

    expected = 2 * weight * standard(cosines) + 2 * (1 - weight) * standard(keyword)
    if cosines.std() > 0.01:  # else rounding to 1e-4 is much of what is seen
        assert {h.passage.id: h.score for h in hits} == pytest.approx(
            {f"p{n}": value for n, value in enumerate(expected)}, abs=0.05
        )


@given(texts, queries, st.sampled_from(["ranks", "scores"]))
@settings(max_examples=40, deadline=None)
def test_all_weight_on_one_list_is_that_list_alone(corpus, query, how):
    for weight, method in ((0.0, "keyword"), (1.0, "dense")):
        both = index(corpus, Fusion(how, weight)).search(query, STAFF, k=20)
        alone = index(corpus, method=method).search(query, STAFF, k=20)
        assert set(ids(both)) == set(ids(alone))
        if method == "dense":
            assert ids(both) == ids(alone)


@given(texts, queries)
@settings(max_examples=40, deadline=None)
def test_equal_weights_by_ranks_are_plain_reciprocal_rank_fusion(corpus, query):
    plain, weighed = index(corpus), index(corpus, Fusion("ranks", 0.5))
    one, two = plain.search(query, STAFF, k=20), weighed.search(query, STAFF, k=20)
    assert [(h.passage.id, h.score) for h in one] == [(h.passage.id, h.score) for h in two]
    lists = one.lists
    for hit in one:
        places = [found.index(hit.passage.id) + 1 for found in lists.values() if hit.passage.id in found]
        assert hit.score == pytest.approx(sum(1 / (60 + place) for place in places))


def test_scores_keep_how_far_the_first_is_before_the_second():
    corpus = ["fee fee visa visa", "badge key lift", "badge fork fork", "key key fork", "lift lift fork"]
    by_scores = index(corpus, Fusion("scores", 0.5)).search("fee visa", STAFF)
    assert ids(by_scores)[0] == "p0"
    assert by_scores[0].score - by_scores[1].score > 1


def test_what_others_may_open_moves_no_fused_score():
    corpus = ["fee fee visa", "badge key lift", "badge fork"]
    mine = [{"id": f"p{n}", "doc": f"d{n}", "text": text, "groups": STAFF} for n, text in enumerate(corpus)]
    theirs = [{"id": f"x{n}", "doc": f"x{n}", "text": "fee fork", "groups": HR} for n in range(5)]
    fused = HybridIndex([*mine, *theirs], embed, fusion=Fusion("scores", 1.0))
    alone = HybridIndex(mine, embed, fusion=Fusion("scores", 1.0))
    seen, own = fused.search("fee", STAFF), alone.search("fee", STAFF)
    assert [(h.passage.id, h.score) for h in seen] == [(h.passage.id, h.score) for h in own]


@pytest.mark.parametrize("bad", [{"how": "median"}, {"dense_weight": 1.5}, {"dense_weight": float("nan")}])
def test_a_fusion_that_does_not_exist_is_refused(bad):
    with pytest.raises(SettingsError, match=r"expected"):
        Fusion(**bad)
