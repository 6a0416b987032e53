import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rag_pilot.corpus.grouping import group_alike
from rag_pilot.errors import DataError
from rag_pilot.reporting.tables.candidates import ranges


def at(*degrees):
    return np.array([[np.cos(np.radians(d)), np.sin(np.radians(d))] for d in degrees], dtype=np.float32)


def members(texts, asked=None, vectors=None, threshold=0.9):
    return [(g.members, g.asked) for g in group_alike(texts, asked or [1] * len(texts), vectors, threshold)]


def test_what_is_similar_enough_to_the_leading_question_joins_it_and_a_chain_does_not():
    texts = ["aa", "bb", "cc", "dd"]
    assert members(texts, [5, 1, 1, 9], at(0, 20, 40, 180)) == [((3,), 9), ((0, 1), 6), ((2,), 1)]  # cos 40 = .77


def test_a_question_joins_the_nearest_leading_one():
    assert members(["aa", "bb", "cc"], [9, 8, 1], at(0, 30, 20)) == [((0,), 9), ((1, 2), 9)]


def test_the_most_asked_wording_leads_and_the_most_asked_group_comes_first():
    texts = ["how?", "reset my password", "password reset"]
    assert members(texts, [6, 3, 4], at(90, 0, 5)) == [((2, 1), 7), ((0,), 6)]


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("Where is form FRM-204?", "Where is form FRM-205?", False),
        ("within 5 days", "within 6 days", False),
        ("Who heads HR in Leeds?", "Who heads IT in Leeds?", False),
        ("Who heads HR?", "who heads hr", True),
        ("VPN is down", "the vpn is down", True),
        ("HELP WITH FORMS", "help me with a form", True),
        ("over 1,500 euros", "over 1500 euros", True),
    ],
)
def test_other_numbers_codes_or_acronyms_part_what_looks_alike(one, other, together):
    assert len(members([one, other], vectors=at(0, 1))) == (1 if together else 2)


def test_without_vectors_only_the_same_letters_are_brought_together():
    texts = ["Reset password?", "reset  PASSWORD", "Réset password", "???", "!!", "???"]
    assert members(texts, threshold=1.0) == [((3, 5), 2), ((0, 1), 2), ((4,), 1), ((2,), 1)]


@pytest.mark.parametrize("vectors", [at(0), np.array([[np.nan, 0], [1, 0]])])
def test_vectors_that_do_not_fit_the_texts_are_refused(vectors):
    with pytest.raises(DataError, match="2 texts need 2 counts, and 2 vectors"):
        members(["a", "b"], vectors=vectors)


@given(st.data(), st.integers(0, 12))
def test_every_question_is_in_one_group_close_to_its_leader_whatever_the_order(data, n):
    texts = data.draw(st.lists(st.sampled_from(["a?", "A", "b", "b 1", "HR c", "d"]), min_size=n, max_size=n))
    asked = data.draw(st.lists(st.integers(1, 9), min_size=n, max_size=n))
    raw = data.draw(arrays(np.float64, (n, 3), elements=st.floats(-1, 1))) + np.array([0, 0, 1.5])
    vectors = raw / np.linalg.norm(raw, axis=1, keepdims=True)
    groups = group_alike(texts, asked, vectors, 0.9)
    assert sorted(i for g in groups for i in g.members) == list(range(n))
    assert [g.asked for g in groups] == sorted((sum(asked[i] for i in g.members) for g in groups), reverse=True)
    for g in groups:
        leader = g.members[0]
        assert asked[leader] == max(asked[i] for i in g.members)
        letters = {texts[i].rstrip("?").casefold() for i in g.members}
        assert len(letters) == 1 or any(vectors[leader] @ vectors[i] >= 0.9 - 1e-4 for i in g.members[1:])
    turned = data.draw(st.permutations(range(n)))
    again = group_alike([texts[i] for i in turned], [asked[i] for i in turned], vectors[turned], 0.9)
    if len(set(zip(texts, asked, strict=True))) == n:
        assert {frozenset(turned[i] for i in g.members) for g in again} == {frozenset(g.members) for g in groups}


@pytest.mark.parametrize(
    ("numbers", "words"), [([], ""), ([7], "7"), ([2, 3, 4, 9], "2-4, 9"), ([9, 2, 3], "2-3, 9"), ([1, 1, 2], "1-2")]
)
def test_every_line_is_named_however_many(numbers, words):
    assert ranges(numbers) == words
