"""Vectors kept by content: computed once, whoever asks, and never a wrong one."""

import hashlib
import re
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.errors import ModelError
from rag_pilot.retrieval import cache
from rag_pilot.retrieval.cache import CachedEmbedding
from rag_pilot.retrieval.embedding import Embedding, Model


class Encoder:
    """A small encoder that keeps what it was given."""

    def __init__(self, dimension: int = 8) -> None:
        self.dimension = dimension
        self.seen: list[str] = []

    def __call__(self, texts: Sequence[str]) -> np.ndarray:
        self.seen.extend(texts)
        rows = [
            np.random.default_rng(list(hashlib.sha256(t.encode()).digest())).normal(size=self.dimension) for t in texts
        ]
        return np.array([row / np.linalg.norm(row) for row in rows])


E5 = Model("e5", "query: ", "passage: ")


def cached(folder: Path, model: Model = E5, encoder: Encoder | None = None) -> tuple[CachedEmbedding, Encoder]:
    encoder = encoder or Encoder()
    return CachedEmbedding(Embedding(model, encoder), folder), encoder


def test_the_cache_computes_only_what_is_missing(tmp_path):
    embedding, encoder = cached(tmp_path)
    first = embedding.passages(["a", "b", "a"])
    assert encoder.seen == ["passage: a", "passage: b"] and (first[0] == first[2]).all()
    embedding.passages(["b", "c"])
    embedding.queries(["b"])  # another prefix is another text
    assert encoder.seen[2:] == ["passage: c", "query: b"] and embedding.computed == 4
    later, encoder = cached(tmp_path)
    assert later.passages(["c", "a", "b"]).tobytes() == embedding.passages(["c", "a", "b"]).tobytes()
    assert encoder.seen == [] and later.computed == 0


@settings(max_examples=25, deadline=None)
@given(st.lists(st.lists(st.sampled_from("abcdé "), max_size=6), max_size=4))
def test_vectors_of_the_cache_are_those_of_the_model_in_the_order_asked(tmp_path_factory, batches):
    folder = tmp_path_factory.mktemp("cache")
    for batch in batches:
        embedding, _ = cached(folder)
        expected = np.asarray(Encoder()([f"passage: {t}" for t in batch]), dtype=np.float32)
        found = embedding.passages(batch)
        assert found.dtype == np.float32 and found.tolist() == expected.tolist()


def test_models_have_caches_of_their_own_inside_the_folder(tmp_path):
    names = ["org/model", "../outside", r"C:\models\mine", "/abs/model"]
    for name in names:
        embedding, encoder = cached(tmp_path / "cache", Model(name))
        embedding.passages(["a"])
        assert encoder.seen == ["a"] and embedding.path.parent == tmp_path / "cache"
        assert re.fullmatch(r"[\w.-]+", embedding.path.name)  # a name on every system
    assert len(list((tmp_path / "cache").iterdir())) == len(names) and len(list(tmp_path.iterdir())) == 1


def test_another_dimension_behind_the_same_name_is_refused_and_nothing_is_kept(tmp_path):
    cached(tmp_path)[0].passages(["a"])
    other, _ = cached(tmp_path, encoder=Encoder(4))
    with pytest.raises(ModelError, match=r"shape \(1, 4\); expected \(1, 8\).*remove"):
        other.passages(["a", "b"])
    assert cached(tmp_path)[0].passages(["a", "b"]).shape == (2, 8)


@pytest.mark.parametrize("wrong", [np.full((2, 8), np.nan), np.ones((1, 8)), np.ones(8)], ids=["nan", "one", "flat"])
def test_what_is_no_vector_for_each_text_never_enters_the_cache(tmp_path, wrong):
    embedding = CachedEmbedding(Embedding(E5, lambda texts: wrong), tmp_path)
    with pytest.raises(ModelError, match="expected"):
        embedding.passages(["a", "b"])
    assert cached(tmp_path)[0].passages(["a"]).tolist() == np.float32(Encoder()(["passage: a"])).tolist()


@pytest.mark.parametrize("content", [b"junk of some length", b"PK\x03\x04 half a file"])
def test_a_file_that_is_no_cache_is_named_with_what_to_do(tmp_path, content):
    embedding, _ = cached(tmp_path)
    embedding.path.write_bytes(content)
    for _ in range(2):
        with pytest.raises(ModelError, match=r"e5\.sqlite is not a cache of vectors.*: remove it"):
            embedding.passages(["a"])


def test_threads_may_ask_one_cache(tmp_path):
    embedding, encoder = cached(tmp_path)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda n: embedding.queries([f"q{n % 50}"])[0], range(200)))
    assert len(encoder.seen) == 50 and [f.tolist() for f in found[:50]] == [f.tolist() for f in found[50:100]]
    assert [p.name for p in tmp_path.iterdir()] == ["e5.sqlite"]


def test_a_model_of_another_revision_or_precision_has_vectors_of_its_own(tmp_path):
    kinds = [(revision, precision) for revision in ("", "r1", "r2") for precision in ("float32", "bfloat16")]
    for revision, precision in kinds:
        encoder = Encoder()
        embedding = CachedEmbedding(Embedding(E5, encoder, precision), tmp_path)
        embedding.revision = revision
        embedding.passages(["a"])
        assert len(encoder.seen) == 1, (revision, precision)
    assert len(list(tmp_path.iterdir())) == len(kinds)


def test_an_empty_cache_of_another_dimension_than_asked_before_gives_whole_rows(tmp_path):
    embedding, _ = cached(tmp_path)
    assert embedding.passages([]).shape == (0, 0)
    assert embedding.passages(["a", "b", "a"]).shape == (3, 8)
    assert embedding.passages([]).shape == (0, 8)


def test_what_was_embedded_before_a_stop_is_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(cache, "AT_ONCE", 3)

    class Stopped(Encoder):
        def __call__(self, texts: Sequence[str]) -> np.ndarray:
            if len(self.seen) >= 6:
                raise KeyboardInterrupt
            return super().__call__(texts)

    texts = [f"t{n}" for n in range(10)]
    with pytest.raises(KeyboardInterrupt):
        cached(tmp_path, encoder=Stopped())[0].passages(texts)
    later, encoder = cached(tmp_path)
    expected = np.float32(Encoder()([f"passage: {t}" for t in texts]))
    assert later.passages(texts).tolist() == expected.tolist()
    assert encoder.seen == [f"passage: t{n}" for n in range(6, 10)]


PROGRAM = """
import os, sys, signal
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from test_cache import *
folder, first, stop = Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
for n in range(first, first + 120):
    if n == stop:
        os.kill(os.getpid(), signal.SIGKILL)
    cached(folder)[0].passages([f"t{n}", f"t{n + 1}"])
"""


def test_two_processes_that_write_one_cache_and_a_killed_one_lose_nothing(tmp_path):
    told = [sys.executable, "-c", PROGRAM, str(Path(__file__).parent), str(tmp_path)]
    starts = ((0, -1), (60, -1), (300, 350))
    running = [subprocess.Popen([*told, str(a), str(b)], stderr=subprocess.PIPE, text=True) for a, b in starts]
    assert [p.wait() for p in running] == [0, 0, -signal.SIGKILL], [p.communicate()[1] for p in running]
    later, encoder = cached(tmp_path)
    texts = [f"t{n}" for n in (*range(181), *range(300, 351))]
    assert later.passages(texts).tolist() == np.float32(Encoder()([f"passage: {t}" for t in texts])).tolist()
    assert encoder.seen == []


def test_one_text_more_among_a_thousand_adds_one_row_and_rewrites_nothing(tmp_path):
    texts = [f"t{n}" for n in range(1000)]
    cached(tmp_path)[0].passages(texts)
    path = cached(tmp_path)[0].path
    with sqlite3.connect(path) as file:
        before = dict(file.execute("SELECT key, vector FROM vectors"))
    embedding, encoder = cached(tmp_path)
    embedding.passages([*texts[:-1], "changed"])
    with sqlite3.connect(path) as file:
        after = dict(file.execute("SELECT key, vector FROM vectors"))
    assert encoder.seen == ["passage: changed"] and len(after) == 1001 and before.items() <= after.items()
