"""Which passages of the fused list are hits of their own, entered by the index's search."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.retrieval.fusion import HOW, Fusion
from rag_pilot.retrieval.hybrid import METHODS, HybridIndex
from rag_pilot.retrieval.merging import SEPARATE, Merging
from rag_pilot.retrieval.rerank import LIST, Reranker

RULE = (
    "Everybody who works away from the office for more than one night books through the travel desk, keeps every "
    "receipt and hands in the claim within thirty days of coming home, with the cost centre on the first page, the "
    "manager's name below it and the purpose of the journey in one sentence; claims without a receipt are paid only "
    "where the sum is small and the manager has signed for it by hand"
)
LAST = Merging(per_text=1)


class Falling:
    """An embedding in which the passages, in their order, are less and less alike to any query."""

    def passages(self, texts):
        cosines = np.linspace(0.9, 0.5, len(texts))
        return np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)

    def queries(self, texts):
        return np.array([[1.0, 0.0]] * len(texts))


def found(texts, merging=LAST, k=5):
    """The documents of the first k hits; `texts` is document -> text, or text and the groups that may open it."""
    pairs = {doc: (told, {"a"}) if isinstance(told, str) else told for doc, told in texts.items()}
    chunks = [{"id": doc, "doc": doc, "text": text, "groups": groups} for doc, (text, groups) in pairs.items()]
    index = HybridIndex(chunks, Falling(), method="dense", merging=merging)
    return [hit.doc for hit in index.search("travel", {"a"}, k)]


COPIES = {f"copy{n}": RULE for n in range(5)}
OTHERS = {"visa": "who needs a visa", "car": "hire cars", "rail": "by rail first class", "cash": "advances in cash"}


def test_copies_of_one_text_do_not_fill_the_first_five_whatever_their_documents():
    assert found({**COPIES, **OTHERS}) == ["copy0", "visa", "car", "rail", "cash"]
    assert found({**COPIES, **OTHERS}, Merging(per_text=2)) == ["copy0", "copy1", "visa", "car", "rail"]
    assert found({**COPIES, **OTHERS}, Merging()) == list(COPIES)


def test_a_copy_follows_after_the_others_where_there_is_room_and_is_never_lost():
    assert found({**COPIES, "visa": OTHERS["visa"]}) == ["copy0", "visa", "copy1", "copy2", "copy3"]
    assert sorted(found({**COPIES, **OTHERS}, k=20)) == sorted({**COPIES, **OTHERS})


def test_another_layout_case_or_a_word_does_not_make_another_text():
    long = RULE + ". " + " ".join(reversed(RULE.split()))
    texts = {"one": long, "two": long.upper().replace(" ", "\n "), "three": long.replace("home", "abroad", 1)}
    assert found({**texts, **OTHERS})[:2] == ["one", "visa"]


@pytest.mark.parametrize(
    "other",
    [RULE + " up to 25 pounds", RULE.replace("thirty", "30"), RULE[:170], "travel"],
    ids=["a number more", "another number", "a part", "short"],
)
def test_what_differs_in_a_number_or_much_is_a_hit_of_its_own(other):
    assert found({"one": RULE, "two": other, **OTHERS})[:2] == ["one", "two"]


def test_versions_with_different_numbers_are_both_hits():
    old, new = RULE + " and 45 pence a mile", RULE + " and 46 pence a mile"
    assert found({"old": old, "new": new, **OTHERS})[:2] == ["old", "new"]


def test_a_copy_that_the_asker_may_not_open_pushes_nothing_back():
    assert found({"secret": (RULE, {"hr"}), "public": RULE, **OTHERS})[0] == "public"


def test_a_document_and_its_sections_are_bounded_together_with_copies():
    texts = {"one": RULE, "two": RULE, "three": "short"}
    assert found(texts, Merging(1, 1)) == ["one", "three", "two"]


@given(st.lists(st.sampled_from([RULE, RULE + " 7", "hire cars", "visa", ""]), max_size=9), st.integers(1, 9))
def test_merging_reorders_and_cuts_but_neither_invents_nor_doubles(texts, k):
    passages = {f"d{n}": text for n, text in enumerate(texts)}
    shown, separate = found(passages, k=k), found(passages, SEPARATE, k)
    assert len(shown) == len(separate) == len(set(shown)) == min(k, len(texts))
    assert shown[:1] == separate[:1]
    assert sorted(found(passages, k=99)) == sorted(passages)


def placed(rows, merging, k=5):
    """The ids of the first k hits; `rows` are (document, text, parent), ids their numbers."""
    chunks = [
        {"id": str(n), "doc": doc, "text": text, "parent": parent, "groups": {"a"}}
        for n, (doc, text, parent) in enumerate(rows)
    ]
    index = HybridIndex(chunks, Falling(), method="dense", merging=merging)
    return [hit["id"] for hit in index.search("travel", {"a"}, k)]


def test_a_copy_that_fills_up_stays_within_the_bound_of_its_document():
    later = [("one", RULE, ""), ("two", RULE, ""), ("two", "hire cars", ""), ("three", "visa", "")]
    assert placed(later, Merging(per_document=1, per_text=1)) == ["0", "2", "3"]
    twice = [("one", RULE, ""), ("two", RULE, ""), ("two", RULE, ""), ("three", "visa", "")]
    assert placed(twice, Merging(per_document=1, per_text=1)) == ["0", "3", "1"]


def test_a_section_that_stands_among_the_hits_is_not_shown_again_by_a_copy_that_fills_up():
    other = RULE + " 7"
    rows = [("one", RULE, ""), ("two", RULE, other), ("two", "hire cars", "cars"), ("two", "more", other)]
    assert placed([("one", other, ""), *rows[1:]], Merging(per_text=1)) == ["0", "2", "1"]


def test_sections_that_are_shown_as_one_text_are_near_duplicates_whichever_part_of_them_matched():
    rows = [("one", "hire cars", RULE), ("two", "visa", RULE), ("three", "rail", RULE), ("four", "cash", "")]
    assert placed(rows, LAST) == ["0", "3", "1", "2"]
    assert placed(rows, Merging()) == ["0", "1", "2", "3"]


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.sampled_from([RULE, "visa", "cars"]), st.sampled_from(["", RULE, "x"])),
        max_size=8,
    ),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(0, 9),
)
def test_no_bound_is_broken_whatever_stands_in_the_list(rows, per_document, per_text, k):
    shown = [rows[int(i)] for i in placed(rows, Merging(per_document, per_text), k)]
    sections = [(doc, parent) for doc, _, parent in shown if parent]
    assert len(shown) <= k and len(sections) == len(set(sections))
    if per_document:
        assert all(sum(d == doc for d, _, _ in shown) <= per_document for doc in "ab")


# -- more of what belongs together than the lists are deep -----------------------------------------------------------


@pytest.mark.parametrize("copies", [120, 400])
@pytest.mark.parametrize("method", sorted(METHODS))
def test_more_copies_of_one_text_than_the_lists_hold_do_not_fill_the_first_five(copies, method):
    texts = {f"{n:03}": RULE for n in range(copies)} | {doc: f"the {text}" for doc, text in OTHERS.items()}
    chunks = [{"id": doc, "doc": doc, "text": text, "groups": {"a"}} for doc, text in texts.items()]
    index = HybridIndex(chunks, Falling(), method=method, merging=Merging(per_text=2))
    asked = [" ".join(RULE.split()[:9]), *(["unheard"] if method != "keyword" else [])]
    for hits in (
        *(index.search(question, {"a"}) for question in asked),
        *index.search_many(["the", *asked], {"a"})[1:],
    ):
        assert [hit.doc for hit in hits[:2]] == ["000", "001"] and {hit.doc for hit in hits[2:]} < OTHERS.keys()
        assert len(hits) == 5


def test_a_long_document_of_more_passages_than_the_lists_hold_leaves_room_for_others():
    rows = [("long", f"part {n}", "") for n in range(120)] + [("two", "visa", ""), ("three", "cars", "")]
    assert placed(rows, Merging(per_document=1), k=3) == ["0", "120", "121"]
    assert placed([("long", f"part {n}", "chapter") for n in range(120)] + rows[120:], Merging(), 3) == [
        "0",
        "120",
        "121",
    ]


def test_copies_that_the_asker_may_not_open_are_not_searched_around():
    secret = {f"s{n:03}": (RULE, {"hr"}) for n in range(120)}
    texts = {**secret, "public": RULE, **OTHERS}
    assert found(texts) == ["public", "visa", "car", "rail", "cash"]


def test_lists_stay_as_deep_as_asked_where_merging_leaves_enough_or_leaves_out_nothing():
    chunks = [{"id": f"{n:03}", "doc": "d", "text": f"travel {n}", "groups": {"a"}} for n in range(300)]
    index = HybridIndex(chunks, Falling(), merging=Merging(per_text=1))
    for k in (1, 5, 200):
        (hits,) = index.search_many(["travel"], {"a"}, k, depth=7)
        assert [len(ids) for ids in hits.lists.values()] == [7, 7] and len(hits) == min(k, 7)
    assert index.search("travel", {"a"}, depth=0) == []


def test_the_reranker_reads_once_what_the_deeper_lists_hold():
    read = []

    def score(question, texts):
        read.append(len(texts))
        return [float(len(texts) - n) for n in range(len(texts))]

    texts = {**{f"{n:03}": RULE for n in range(120)}, **OTHERS}
    chunks = [{"id": doc, "doc": doc, "text": text, "groups": {"a"}} for doc, text in texts.items()]
    index = HybridIndex(chunks, Falling(), method="dense", merging=LAST, reranker=Reranker(score, 122))
    hits = index.search("travel", {"a"}, 3)
    assert [hit.doc for hit in hits] == ["000", "visa", "car"] and read == [122]
    assert hits[2].ranks == {"dense": 122, LIST: 122}


def merged(hits, per_document, per_text, k):
    """(the first k, how many of them need no filling up), counted anew; texts are alike where they are the same."""
    shown, copies = [], []

    def fits(hit):
        own = [h for h in shown if h.doc == hit.doc]
        beside = hit["parent"] and any(h["parent"] == hit["parent"] for h in own)
        return len(shown) < k and not beside and not 0 < per_document <= len(own)

    for hit in hits:
        if fits(hit):
            copy = 0 < per_text <= sum(h.shown == hit.shown for h in shown)
            (copies if copy else shown).append(hit)
    distinct = len(shown)
    for hit in copies:
        if fits(hit):
            shown.append(hit)
    return shown, distinct


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.sampled_from("abcd"),
            st.sampled_from([RULE, "visa", "hire cars", "travel desk"]),
            st.sampled_from(["", "", "x travel"]),
            st.sampled_from("pq"),
        ),
        max_size=30,
    ),
    st.integers(0, 2),
    st.integers(0, 2),
    st.integers(0, 6),
    st.integers(1, 4),
    st.sampled_from(sorted(METHODS)),
    st.sampled_from([Fusion(how, weight) for how in HOW for weight in (0.0, 0.5, 1.0)]),
)
def test_a_deeper_search_is_the_first_doubled_depth_at_which_merging_takes_no_place(
    rows, per_document, per_text, k, depth, method, fusion
):
    chunks = [
        {"id": f"{n:02}", "doc": doc, "text": text, "parent": parent, "groups": {group}}
        for n, (doc, text, parent, group) in enumerate(rows)
    ]
    index = HybridIndex(chunks, Falling(), method=method, merging=Merging(per_document, per_text), fusion=fusion)
    asked = "the travel desk or a visa"
    plain, deep, wanted = index.unmerged(), depth, None
    while True:
        every = plain.search(asked, {"p"}, 2 * deep, deep)
        wanted = min(k, len(every)) if wanted is None else wanted
        expected, distinct = merged(every, per_document, per_text, wanted)
        if distinct == wanted or deep > len(rows):
            break
        deep *= 2
    hits = index.search(asked, {"p"}, k, depth)
    assert list(hits) == expected == list(index.search_many(["visa", asked], {"p"}, k, depth)[1])
    if k <= depth and method != "hybrid":  # then it is what an unlimited list would give
        endless = plain.search(asked, {"p"}, len(rows) + 1, len(rows) + 1)
        assert list(hits) == merged(endless, per_document, per_text, min(k, len(endless)))[0]
