"""The fast product only chooses candidates: lists are those of exact cosines, however they were multiplied."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.errors import DataError
from rag_pilot.retrieval import dense
from rag_pilot.retrieval.dense import Dense, check_unit

SMALL = 3
"""Rows multiplied at once in these tests, so that few passages make several blocks."""


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(dense, "BLOCK", SMALL)


def unit(rng: np.random.Generator, count: int, dimension: int = 6) -> np.ndarray:
    """Vectors of few directions, nearly: many cosines are one when they are rounded, and none is before."""
    vectors = (
        np.eye(dimension)[rng.integers(3, size=count)]
        + rng.integers(0, 2, (count, 1)) / 2
        + rng.normal(scale=1e-5, size=(count, dimension))
    )
    return np.float32(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def by_hand(vectors: np.ndarray, sizes: Sequence[int], query: np.ndarray) -> list[float]:
    """The rounded cosine of each passage's best window, in double precision, one at a time."""
    found, at = [], 0
    for size in sizes:
        cosines = [sum(float(a) * float(b) for a, b in zip(v, query, strict=True)) for v in vectors[at : at + size]]
        found.append(float(np.round(max(cosines), 4)))
        at += size
    return found


CASE = st.tuples(st.integers(0, 2**32), st.lists(st.integers(1, 3), min_size=1, max_size=25), st.integers(1, 9))


@settings(max_examples=150, deadline=None)
@given(CASE, st.data())
def test_candidates_hold_every_passage_that_may_be_among_the_best(case, data):
    seed, sizes, depth = case
    rng = np.random.default_rng(seed)
    vectors, query = unit(rng, sum(sizes)), unit(rng, 1)
    index = Dense(vectors, np.cumsum([0, *sizes])[:-1])
    rows = np.array(sorted(data.draw(st.sets(st.integers(0, len(sizes) - 1), min_size=1))))
    exact = index.exact(query[0], rows)
    assert exact.tolist() == [by_hand(vectors, sizes, query[0])[row] for row in rows]
    for _ in range(3):  # gathered in blocks, then copied, then from the copy
        near = index.near(query, rows)
        assert near.shape == (1, len(rows)) and near[0] == pytest.approx(exact, abs=6e-5)
        candidates = set(index.candidates(near[0], depth).tolist())
        least = sorted(exact, reverse=True)[min(depth, len(rows)) - 1]
        assert candidates >= {n for n, cosine in enumerate(exact) if cosine >= least}


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32), st.lists(st.sets(st.integers(0, 19), min_size=1), min_size=2, max_size=8))
def test_a_copy_made_for_one_set_of_passages_never_serves_another(seed, asked):
    rng = np.random.default_rng(seed)
    vectors, query = unit(rng, 20), unit(rng, 1)
    index = Dense(vectors, np.arange(20))
    for wanted in [*asked, *asked, asked[0], asked[0]]:
        rows = np.array(sorted(wanted))
        assert index.near(query, rows)[0] == pytest.approx(vectors[rows] @ query[0], abs=1e-6)


def test_exact_cosines_are_those_of_double_precision():
    rng = np.random.default_rng(3)
    vectors = rng.normal(size=(20_001, 384))
    vectors = np.float32(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    exact = Dense(vectors[1:], np.arange(20_000)).exact(vectors[0], np.arange(20_000))
    assert exact.tolist() == np.round(vectors[1:].astype(float) @ vectors[0].astype(float), 4).tolist()


def test_no_copy_is_made_beyond_the_bound_on_memory(monkeypatch):
    rng = np.random.default_rng(1)
    index, rows = Dense(unit(rng, 20), np.arange(20)), np.arange(0, 20, 2)
    monkeypatch.setattr(dense, "KEPT_BYTES", 4 * 10 * 6 - 1)
    for _ in range(3):
        index.near(unit(rng, 1), rows)
    assert [copy for _, copy in index._kept] == [None]
    monkeypatch.setattr(dense, "KEPT_BYTES", 4 * 10 * 6)
    index.near(unit(rng, 1), rows)
    assert index._kept[0][1].shape == (10, 6)


def test_products_of_a_batch_stay_within_the_bound_on_memory(monkeypatch):
    index = Dense(np.zeros((300, 4), np.float32), np.arange(0, 300, 3))
    monkeypatch.setattr(dense, "BATCH_BYTES", 4 * 3 * 100 * 7)
    assert index.batch(100) == 7 and index.batch(10_000) == 1 and Dense(np.zeros((0, 4)), np.zeros(0)).batch(0) >= 1


def test_vectors_of_any_other_length_are_refused():
    check_unit(np.float32([[0.6, 0.8], [1, 0]]))
    wrong: Any
    for wrong in ([[0.6, 0.9]], [[0, 0]], [[np.nan, 1]]):
        with pytest.raises(DataError, match="not of length 1"):
            check_unit(np.float32(wrong))
