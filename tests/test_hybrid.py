import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from rag_pilot.errors import DataError, SettingsError
from rag_pilot.records import Passage
from rag_pilot.retrieval.dense import Dense
from rag_pilot.retrieval.fusion import HOW, Fusion
from rag_pilot.retrieval.hybrid import METHODS, Hits, HybridIndex
from rag_pilot.retrieval.keyword import article_tokenizer
from rag_pilot.retrieval.merging import SEPARATE, Merging

VOCABULARY = [f"w{n}" for n in range(40)]
WEIGHTS = [1 / (n + 1) for n in range(40)]


def unit(text: str, dimension: int = 16) -> np.ndarray:
    vector = np.random.default_rng(list(hashlib.sha256(text.encode()).digest())).normal(size=dimension)
    return vector / np.linalg.norm(vector)


def embed(texts: Sequence[str]) -> np.ndarray:
    return np.stack([unit(text) for text in texts])


class Placed:
    """An embedding that puts the texts where a test wants them: the cosine to every query is the number given."""

    def __init__(self, cosines: dict[str, float]) -> None:
        self.cosines = cosines

    def passages(self, texts: Sequence[str]) -> np.ndarray:
        found = np.array([self.cosines[text] for text in texts])
        return np.stack([found, np.sqrt(1 - found**2)], axis=1)

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        return np.array([[1.0, 0.0]] * len(texts))


Key = Callable[[float, int], Any]
"""A score and the number of its passage to what a list is sorted by."""


def corpus(seed: int) -> tuple[list[dict[str, Any]], str, set[str]]:
    """Passages of different lengths, so that few scores of words tie; a query; an asker's groups."""
    rng = random.Random(seed)
    lengths = rng.sample(range(1, 90), rng.randint(2, 40))
    chunks: list[dict[str, Any]] = [
        {
            "id": f"p{rng.random()}",
            "text": " ".join(rng.choices(VOCABULARY, WEIGHTS, k=length)),
            "doc": f"d{rng.randrange(8)}",
            "groups": set(rng.sample(["a", "b", "c"], rng.randint(0, 2))),
        }
        for length in lengths
    ]
    query = " ".join(rng.choices([*VOCABULARY, "unseen"], k=rng.randint(1, 6)))
    return chunks, query, set(rng.sample(["a", "b", "c", "d"], rng.randint(0, 3)))


def article(
    chunks: Sequence[dict[str, Any]],
    query: str,
    user_groups: set[str],
    depth: int,
    rrf_k: int,
    keys: tuple[Key, Key] = (lambda score, i: score, lambda score, i: score),
) -> tuple[dict[int, float], np.ndarray, list[list[float]]]:
    """The article's search by brute force: all fused scores, all cosines, and the scores that each list was ranked by.

    The one difference: a passage that shares no token with the query is not in the keyword list.
    """
    tokens = [chunk["text"].lower().split() for chunk in chunks]
    asked = query.lower().split()
    allowed = [i for i, chunk in enumerate(chunks) if chunk["groups"] & user_groups]
    lexical = BM25Okapi(tokens).get_scores(asked)
    semantic = embed([chunk["text"] for chunk in chunks]) @ embed([query])[0]
    fused: dict[int, float] = {}
    ranked_by = []
    sharing = [i for i in allowed if set(tokens[i]) & set(asked)]
    for scores, rows, key in ((lexical, sharing, keys[0]), (semantic, allowed, keys[1])):
        ranked = sorted(rows, key=lambda i, s=scores, key=key: key(s[i], i), reverse=True)
        ranked_by.append([float(scores[i]) for i in ranked])
        for rank, i in enumerate(ranked[:depth], start=1):
            fused[i] = fused.get(i, 0.0) + 1.0 / (rrf_k + rank)
    return fused, semantic, ranked_by


def as_in_the_article(chunks: Sequence[dict[str, Any]]) -> HybridIndex:
    return HybridIndex(chunks, embed, tokenizer=article_tokenizer, bm25="okapi")


def test_under_the_articles_settings_search_gives_the_articles_hits_in_its_order():
    compared = 0
    for seed in range(240):
        chunks, query, groups = corpus(seed)
        k, depth, rrf_k = [(5, 50, 60), (3, 4, 60), (40, 7, 1)][seed % 3]
        fused, semantic, ranked_by = article(chunks, query, groups, depth, rrf_k)
        if any(a - b <= 1.0001e-4 for scores in ranked_by for a, b in pairwise(scores)):
            continue  # the article orders ties by position
        compared += bool(fused)
        hits = as_in_the_article(chunks).search(query, groups, k, depth, rrf_k)
        place = {chunk["id"]: i for i, chunk in enumerate(chunks)}
        rows = [place[hit["id"]] for hit in hits]
        assert len(set(rows)) == len(rows)
        # equal fused scores may stand in any order: what stands at each place must have the score of that place
        assert [fused[i] for i in rows] == sorted(fused.values(), reverse=True)[:k]
        assert [hit.similarity for hit in hits] == pytest.approx([semantic[i] for i in rows], abs=5.1e-5)
        assert [hit["text"] for hit in hits] == [chunks[i]["text"] for i in rows]
    assert compared > 90


def test_with_ties_by_rounded_score_and_id_built_in_the_article_gives_exactly_our_lists():
    """No corpus is left out here: words and passages repeat, so that scores tie in both lists."""
    for seed in range(150):
        rng = random.Random(seed)
        texts = [" ".join(rng.choices(VOCABULARY[:6], k=rng.randint(0, 4))) for _ in range(rng.randint(1, 25))]
        texts[0] = "w0 w1"
        chunks = [{"id": f"p{rng.random()}", "text": t, "doc": "d", "groups": {rng.choice("ab")}} for t in texts]
        query, groups, depth = " ".join(rng.choices(VOCABULARY[:7], k=2)), {"a"}, rng.choice([2, 50])
        names = sorted(chunk["id"] for chunk in chunks)
        place_of = [-names.index(chunk["id"]) for chunk in chunks]
        keys: tuple[Key, Key] = (
            lambda score, i, p=place_of: (score, p[i]),
            lambda score, i, p=place_of: (round(float(score), 4), p[i]),
        )
        fused, semantic, _ = article(chunks, query, groups, depth, 60, keys)
        found = as_in_the_article(chunks).search(query, groups, 100, depth)
        place = {chunk["id"]: i for i, chunk in enumerate(chunks)}
        expected = sorted(fused, key=lambda i: (-fused[i], -round(float(semantic[i]), 4), chunks[i]["id"]))
        assert [place[hit["id"]] for hit in found] == expected


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(VOCABULARY[:6]), st.sets(st.sampled_from("abcd"))), max_size=25),
    st.sets(st.sampled_from("abcdx")),
    st.sampled_from(sorted(METHODS)),
    st.integers(1, 8),
)
def test_no_forbidden_passage_is_in_hits_or_lists_for_any_groups_and_method(rows, groups, method, depth):
    chunks = [{"text": f"{w} w0 n{n}", "doc": f"d{n}", "groups": g} for n, (w, g) in enumerate(rows)]
    index = HybridIndex(chunks, embed, method=method)
    allowed = {p.id for p in index.passages if p.groups & groups}
    found = index.search("w0", groups, k=4, depth=depth)
    for name, ids in found.lists.items():
        assert set(ids) <= allowed, name
        assert len(ids) == min(depth, len(allowed))  # all of them say w0: the filter leaves nothing out either
    assert {hit["id"] for hit in found} <= allowed and len(found) == min(4, len(set().union(*found.lists.values())))
    assert list(found.lists) == list(METHODS[method])


def test_two_permitted_passages_that_many_forbidden_ones_outrank_are_found_on_both_lists():
    texts = {f"payroll {'payroll ' * (100 - n)}p{n}": 0.99 - n / 200 for n in range(100)}
    chunks = [
        {"id": f"{n:03}", "text": t, "doc": f"d{n}", "groups": {"staff"} if n in (30, 31) else {"board"}}
        for n, t in enumerate(texts)
    ]
    index = HybridIndex(chunks, Placed(texts))
    found = index.search("payroll", {"staff"}, k=5, depth=10)
    assert found.lists == {"keyword": ("030", "031"), "dense": ("030", "031")}
    assert [hit.ranks for hit in found] == [{"keyword": 1, "dense": 1}, {"keyword": 2, "dense": 2}]


@pytest.mark.parametrize("method", sorted(METHODS))
def test_no_groups_and_passages_without_groups_give_nothing(method):
    index = HybridIndex([{"text": "open hours", "doc": "a"}, {"text": "hours", "doc": "b", "groups": {"x"}}], embed)
    index = index.using(method)
    for groups in (set(), frozenset(), [], {"other"}, {""}):
        found = index.search("hours", groups)
        assert list(found) == [] and all(ids == () for ids in found.lists.values())
    assert [hit["doc"] for hit in index.search("hours", ["x"])] == ["b"]


def test_groups_given_as_a_text_are_refused_and_never_read_by_letter():
    chunks = [{"text": "pay", "doc": "a", "groups": {"h"}}]
    index = HybridIndex(chunks, embed)
    with pytest.raises(DataError, match="expected a set of group names"):
        index.search("pay", "hr")
    with pytest.raises(DataError, match="expected a set"):
        HybridIndex([{"text": "pay", "doc": "a", "groups": "hr"}], embed)
    as_text: Any = "hr"
    with pytest.raises(DataError, match="expected a set"):
        HybridIndex([Passage("a#1", "a", "pay", as_text)], embed)
    with pytest.raises(DataError, match="groups of a is 'hr'"):
        index.set_groups({"a": as_text})
    assert len(index.search("pay", {"h"})) == 1  # what was refused changed nothing


def test_set_groups_counts_at_the_next_search_also_for_the_same_index_with_another_method():
    chunks = [{"text": f"leave days {d}", "doc": d, "groups": {"staff"}} for d in "abc"]
    index = HybridIndex(chunks, embed)
    views = [index, *(index.using(method) for method in METHODS)]

    def seen(groups: set[str]) -> list[set[str]]:
        return [{hit["doc"] for hit in view.search("leave", groups)} for view in views]

    assert seen({"staff"}) == [{"a", "b", "c"}] * 4
    index.set_groups({"a": frozenset({"staff"}), "b": frozenset({"hr"})})  # c has no entry
    assert seen({"staff"}) == [{"a"}] * 4 and seen({"hr"}) == [{"b"}] * 4
    assert {p.doc: p.groups for p in views[1].passages} == {"a": {"staff"}, "b": {"hr"}, "c": frozenset()}
    views[1].set_groups({"c": frozenset({"staff"})})
    assert seen({"staff"}) == [{"c"}] * 4 and seen({"hr"}) == [set()] * 4


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.lists(st.sampled_from(VOCABULARY[:8]), max_size=5), st.sets(st.sampled_from("ab")))),
    st.lists(st.lists(st.sampled_from([*VOCABULARY[:8], "unseen"]), max_size=4), max_size=6),
    st.sets(st.sampled_from("abc")),
    st.sampled_from(sorted(METHODS)),
    st.integers(0, 6),
    st.sampled_from([1, 2, 3, 100]),
    st.sampled_from(HOW),
    st.sampled_from([Merging(2), Merging(2, 1), Merging(0, 2), SEPARATE]),
)
def test_many_queries_at_once_give_the_hits_and_lists_of_one_at_a_time(
    rows, queries, groups, method, depth, batch, how, merging
):
    chunks = [{"text": " ".join(w), "doc": f"d{n % 3}", "groups": g} for n, (w, g) in enumerate(rows)]
    asked = [" ".join(query) for query in queries]
    index = HybridIndex(
        chunks,
        embed,
        method=method,
        windows=lambda p: p.text.split(),
        rewrite=lambda q: f"{q} w1",
        fusion=Fusion(how),
        merging=merging,
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Dense, "batch", lambda *_: batch)
        together = index.search_many(asked, groups, k=4, depth=depth, rrf_k=7)
    alone = [index.search(query, groups, k=4, depth=depth, rrf_k=7) for query in asked]
    assert together == alone
    assert [found.lists for found in together] == [found.lists for found in alone]


def test_many_queries_at_once_have_lists_of_their_own_where_the_depth_cuts_them():
    for seed in range(60):
        chunks, query, groups = corpus(seed)
        index = HybridIndex(chunks, embed, method=sorted(METHODS)[seed % 3])
        asked = [query, *VOCABULARY[: seed % 5], query]
        together = index.search_many(asked, groups, depth=1 + seed % 4)
        alone = [index.search(q, groups, depth=1 + seed % 4) for q in asked]
        assert together == alone and [t.lists for t in together] == [a.lists for a in alone]


def test_many_queries_at_once_have_the_fused_scores_of_one_at_a_time():
    """Scores are held against how similarities are spread, which a product of many queries rounds otherwise."""
    made = np.random.default_rng(1)
    vectors = made.normal(size=(2100, 96)).astype(np.float32) + np.float32(0.3)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = {str(n): vector for n, vector in enumerate(vectors)}
    chunks = [{"text": str(n), "doc": str(n), "groups": {"a"} if n % 3 else {"b"}} for n in range(2000)]
    index = HybridIndex(chunks, lambda texts: np.stack([rows[text] for text in texts]), fusion=Fusion("scores", 0.7))
    asked = [str(n) for n in range(2000, 2100)]
    assert index.search_many(asked, {"a"}) == [index.search(query, {"a"}) for query in asked]


def test_passages_of_one_text_have_no_spread_of_similarities_and_so_no_share_in_the_fused_score():
    index = HybridIndex(
        [{"text": "travel desk", "doc": str(n), "groups": {"a"}} for n in range(7)], embed, fusion=Fusion("scores", 0.7)
    )
    for query in (*VOCABULARY[:20], "travel"):
        assert {hit.score for hit in index.search(query, {"a"})} == {0.0}


def test_many_queries_at_once_are_embedded_in_one_call_and_none_for_those_who_may_open_nothing():
    calls: list[list[str]] = []

    class Recording(Placed):
        def queries(self, texts: Sequence[str]) -> np.ndarray:
            calls.append(list(texts))
            return super().queries(texts)

    index = HybridIndex([{"text": "leave", "doc": "a", "groups": {"g"}}], Recording({"leave": 0.5}))
    found = index.search_many((q for q in ("leave", "pay")), {"g"})
    assert [[hit.doc for hit in hits] for hits in found] == [["a"], ["a"]] and calls == [["leave", "pay"]]
    assert index.search_many(["leave"], set()) == [[]] and index.search_many([], {"g"}) == [] and len(calls) == 1
    with pytest.raises(DataError, match="expected a set of group names"):
        index.search_many(["leave"], "g")


def test_similarities_do_not_depend_on_the_other_passages_or_on_the_batch():
    """In single precision they would, in the last digit: the product is another one."""
    rng = np.random.default_rng(7)
    vectors = rng.normal(size=(4000, 384))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    exact = np.round(np.float32(vectors[1:]).astype(float) @ np.float32(vectors[0]).astype(float), 4)

    class Known(Placed):
        def passages(self, texts: Sequence[str]) -> np.ndarray:
            return vectors[1 : len(texts) + 1]

        def queries(self, texts: Sequence[str]) -> np.ndarray:
            return np.stack([vectors[0]] * len(texts))

    chunks = [{"id": f"{n:04}", "text": "x", "doc": "d", "groups": {f"g{n % 3}", "all"}} for n in range(3999)]
    index = HybridIndex(chunks, Known({}), method="dense")
    for groups in ({"all"}, {"g1"}, {"g0", "g2"}):
        for found in [index.search("q", groups, k=300, depth=300), *index.search_many(["q"] * 9, groups, 300, 300)]:
            assert [hit.similarity for hit in found] == [exact[int(hit["id"])] for hit in found]
            allowed = [n for n in range(3999) if chunks[n]["groups"] & groups]
            assert [int(hit["id"]) for hit in found] == sorted(allowed, key=lambda n: (-exact[n], n))[:300]


def test_a_passage_that_shares_no_token_gets_no_keyword_rank():
    chunks = [{"text": t, "doc": t, "groups": {"g"}} for t in ("vpn setup", "lunch menu", "parking map")]
    found = HybridIndex(chunks, embed).search("vpn", {"g"})
    assert len(found.lists["keyword"]) == 1 and len(found.lists["dense"]) == 3
    assert [hit.ranks.get("keyword") for hit in found if hit["doc"] != "vpn setup"] == [None, None]
    assert HybridIndex(chunks, embed, method="keyword").search("zzz", {"g"}) == []


def test_a_term_of_half_the_passages_still_finds_them():
    chunks = [{"text": t, "doc": t, "groups": {"g"}} for t in ("menu", "map", "vpn one", "vpn two")]
    for variant in ("lucene", "okapi"):
        found = HybridIndex(chunks, method="keyword", bm25=variant).search("vpn", {"g"})
        assert {hit["doc"] for hit in found} == {"vpn one", "vpn two"}


@pytest.mark.parametrize(
    "query", ['"What happens to the pressure?"', "AND", "pressure AND (", "*", ":", "(", '"', "", " ", "NOT pressure*"]
)
def test_a_question_is_text_and_never_query_syntax(query):
    chunks = [{"text": t, "doc": t, "groups": {"g"}} for t in ("pressure drops", "parking")]
    for method in METHODS:
        found = HybridIndex(chunks, embed, method=method).search(query, {"g"})
        if "pressure" in query and method != "dense":
            assert found.lists["keyword"] == ("pressure drops#000000",)
        assert len(found) == (2 if method != "keyword" else "pressure" in query)


@pytest.mark.parametrize("chunks", [[], [{"text": "", "doc": "a", "groups": {"g"}}] * 2], ids=["none", "no words"])
@pytest.mark.parametrize("variant", ["lucene", "okapi"])
def test_an_empty_corpus_and_passages_without_words_are_searched_without_a_fault(chunks, variant):
    index = HybridIndex(chunks, embed, bm25=variant)
    found = index.search("leave", {"g"})
    assert found.lists["keyword"] == () and len(found) == len(chunks)
    assert HybridIndex(chunks, method="keyword", bm25=variant).search("leave", {"g"}) == []


def test_passages_of_one_text_stay_apart_with_their_own_document_and_permission():
    text = "Call the service desk."
    chunks = [{"text": text, "doc": "public", "groups": {"all"}}, {"text": text, "doc": "hr", "groups": {"hr"}}]
    index = HybridIndex(chunks, embed)
    assert [hit["doc"] for hit in index.search("service desk", {"all"})] == ["public"]
    assert {hit["doc"] for hit in index.search("service desk", {"all", "hr"})} == {"public", "hr"}


def test_two_passages_of_one_id_are_refused():
    with pytest.raises(DataError, match="'same'"):
        HybridIndex([{"id": "same", "text": "a", "doc": "d"}, {"id": "same", "text": "b", "doc": "d"}])


def test_first_of_one_list_against_first_of_the_other_goes_to_the_better_similarity():
    """Both have 1/61: the list that is named first must not win."""
    texts = {"vpn vpn vpn": 0.2, "remote access": 0.9}
    for order in (list(texts), list(texts)[::-1]):
        chunks = [{"id": t[0], "text": t, "doc": t, "groups": {"g"}} for t in order]
        found = HybridIndex(chunks, Placed(texts)).search("vpn", {"g"}, depth=1)
        assert [(hit["doc"], hit.ranks) for hit in found] == [
            ("remote access", {"dense": 1}),
            ("vpn vpn vpn", {"keyword": 1}),
        ]
        assert found[0].score == found[1].score


@pytest.mark.parametrize("method", sorted(METHODS))
@pytest.mark.parametrize("shuffle", range(3))
def test_equal_scores_go_by_passage_id_whatever_the_order_of_building(method, shuffle):
    names = ["z", "a", "m", "b"]
    random.Random(shuffle).shuffle(names)
    chunks = [{"id": name, "text": "same words", "doc": name, "groups": {"g"}} for name in names]
    index = HybridIndex(chunks, Placed({"same words": 0.5}), method=method)
    assert [hit["id"] for hit in index.search("words", {"g"}, k=3)] == ["a", "b", "m"]
    assert all(ids == ("a", "b") for ids in index.search("words", {"g"}, depth=2).lists.values())


def test_equal_fused_score_and_similarity_go_by_passage_id():
    texts = {"vpn": 0.5, "vpn and much else": 0.5}  # first and second by words, second and first by id
    chunks = [{"id": i, "text": t, "doc": i, "groups": {"g"}} for i, t in zip("ba", texts, strict=True)]
    found = HybridIndex(chunks, Placed(texts)).search("vpn", {"g"})
    assert found.lists == {"keyword": ("b", "a"), "dense": ("a", "b")} and found[0].score == found[1].score
    assert [hit["id"] for hit in found] == ["a", "b"]


def test_similarities_that_differ_by_less_than_the_rounding_are_ties():
    texts = {"b one": 0.500049, "a two": 0.500011}
    chunks = [{"id": t, "text": t, "doc": t, "groups": {"g"}} for t in texts]
    found = HybridIndex(chunks, Placed(texts), method="dense").search("x", {"g"})
    assert [(hit["id"], hit.similarity) for hit in found] == [("a two", 0.5), ("b one", 0.5)]


def test_per_document_bounds_the_hits_of_a_document_and_lets_others_follow():
    chunks = [{"id": f"{n}", "text": "leave " * (9 - n), "doc": "ab"[n > 4], "groups": {"g"}} for n in range(8)]
    for bound, docs in ((0, "aaaa"), (1, "ab"), (2, "aabb"), (3, "aaab")):
        index = HybridIndex(chunks, method="keyword", merging=Merging(bound))
        found = index.search("leave", {"g"}, k=4)
        assert "".join(hit["doc"] for hit in found) == docs
        assert len(found.lists["keyword"]) == 8  # the lists are shown whole


def test_of_passages_with_one_parent_the_best_is_the_hit_and_others_follow():
    rows = (("1", "a", "A"), ("2", "a", "A"), ("3", "a", "B"), ("4", "b", "A"), ("5", "b", ""), ("6", "b", ""))
    chunks = [
        {"id": i, "text": "leave " * (9 - int(i)), "doc": doc, "parent": parent, "groups": {"g"}}
        for i, doc, parent in rows
    ]
    found = HybridIndex(chunks, method="keyword").search("leave", {"g"}, k=6)
    assert [(hit["id"], hit.shown) for hit in found][:3] == [("1", "A"), ("3", "B"), ("4", "A")]
    assert [hit["id"] for hit in found][3:] == ["5", "6"]  # passages without a parent are themselves
    assert len(found.lists["keyword"]) == 6


def test_k_and_depth_bound_hits_and_lists():
    chunks = [{"text": f"leave {n}", "doc": f"{n}", "groups": {"g"}} for n in range(20)]
    index = HybridIndex(chunks, embed)
    assert len(index.search("leave", {"g"})) == 5 and len(index.search("leave", {"g"}, k=100)) == 20
    assert [len(ids) for ids in index.search("leave", {"g"}, depth=3).lists.values()] == [3, 3]
    assert index.search("leave", {"g"}, k=0) == [] and index.search("leave", {"g"}, depth=0) == []


def test_without_an_embed_there_is_no_dense_list_and_no_similarity():
    index = HybridIndex([{"text": "leave", "doc": "a", "groups": {"g"}}])
    found = index.search("leave", {"g"})
    assert list(found.lists) == ["keyword"] == list(index.search("leave", set()).lists)
    assert found[0].similarity is None and found[0].score == 1 / 61
    with pytest.raises(SettingsError, match="needs an embed"):
        index.using("dense")


def test_a_method_or_variant_that_does_not_exist_is_refused_by_name():
    for wrong in ({"method": "hybird"}, {"bm25": "bm25+"}):
        with pytest.raises(SettingsError, match=next(iter(wrong.values())).replace("+", r"\+")):
            HybridIndex([], embed, **wrong)
    with pytest.raises(SettingsError, match="expected one of hybrid, keyword, dense"):
        HybridIndex([], embed).using("words")


def test_vectors_that_do_not_fit_are_refused():
    chunks = [{"text": "leave", "doc": "a", "groups": {"g"}}, {"text": "pay", "doc": "b", "groups": {"g"}}]
    for wrong, message in (
        (lambda texts: embed(texts)[:1], r"shape \(1, 16\) for 2 texts"),
        (lambda texts: embed(texts) * 2, "not of length 1"),
        (lambda texts: embed(texts) * np.nan, "not of length 1"),
        (lambda texts: embed(texts)[0], "expected \\(2, d\\)"),
    ):
        with pytest.raises(DataError, match=message):
            HybridIndex(chunks, wrong)

    class Other(Placed):
        def __init__(self, answer: np.ndarray) -> None:
            self.answer = answer

        def passages(self, texts: Sequence[str]) -> np.ndarray:
            return embed(texts)

        def queries(self, texts: Sequence[str]) -> np.ndarray:
            return self.answer

    with pytest.raises(DataError, match="8 dimensions, the index 16: .*same embedding model"):
        HybridIndex(chunks, Other(unit("q", 8)[None])).search("leave", {"g"})
    for factor in (3.0, 0.0, np.nan):
        with pytest.raises(DataError, match="not of length 1"):
            HybridIndex(chunks, Other(unit("q")[None] * factor)).search("leave", {"g"})


def test_a_passage_is_as_similar_as_its_best_window():
    windows = {"a": ["a1", "a2", "a3"], "b": ["b1"], "c": [], "d": ["d1", "d2"]}
    cosines = {"a1": 0.1, "a2": 0.8, "a3": 0.3, "b1": 0.5, "c": 0.6, "d1": -0.2, "d2": -0.4}
    chunks = [{"id": name, "text": name, "doc": name, "groups": {"g"}} for name in windows]
    index = HybridIndex(chunks, Placed(cosines), method="dense", windows=lambda p: windows[p.text])
    found = [(hit["id"], hit.similarity) for hit in index.search("x", {"g"})]
    assert found == [("a", 0.8), ("c", 0.6), ("b", 0.5), ("d", -0.2)]  # c gave no window: its text is one


def test_what_is_indexed_is_matched_and_the_passage_itself_is_returned():
    chunks = [{"text": "30 days", "doc": "a", "title": "Refunds", "groups": {"g"}}]
    index = HybridIndex(chunks, indexed=lambda p: f"{p.title}\n{p.text}")
    assert [hit["text"] for hit in index.search("refunds", {"g"})] == ["30 days"]


def test_the_rewritten_question_reaches_both_lists():
    asked: list[str] = []

    class Recording(Placed):
        def queries(self, texts: Sequence[str]) -> np.ndarray:
            asked.extend(texts)
            return super().queries(texts)

    chunks = [{"text": "return to supplier", "doc": "a", "groups": {"g"}}]
    rewrite = {"rts?": "rts? (supplier)"}.__getitem__
    index = HybridIndex(chunks, Recording({"return to supplier": 0.1}), rewrite=rewrite)
    assert index.search("rts?", {"g"}).lists["keyword"] and asked == ["rts? (supplier)"]
    index.search("rts?", set())
    assert len(asked) == 1  # nothing is asked for those who may open nothing


def test_hits_carry_their_passages_fields_similarity_and_ranks():
    passage = Passage("a#1", "a", "leave days", frozenset({"g"}), title="Leave", headings=("Leave", "Days"), page=3)
    found = HybridIndex([passage, replace(passage, id="a#2", text="pay")], embed).search("leave", {"g"}, k=1)
    assert isinstance(found, Hits)
    (hit,) = found
    assert (hit["doc"], hit["title"], hit["headings"], hit["page"]) == ("a", "Leave", ("Leave", "Days"), 3)
    assert hit.ranks["keyword"] == 1 and hit["similarity"] == round(float(unit("leave days") @ unit("leave")), 4)
    assert found.lists["dense"][hit.ranks["dense"] - 1] == "a#1"
