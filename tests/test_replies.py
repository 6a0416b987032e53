import multiprocessing
from pathlib import Path

import pytest

from rag_pilot.errors import ModelError
from rag_pilot.retrieval.replies import Replies

BY = {"model": "tiny", "base_url": "http://127.0.0.1/v1", "temperature": 0.0, "max_tokens": 200}


@pytest.mark.parametrize("change", [{"model": "big"}, {"base_url": ""}, {"temperature": 0.5}, {"max_tokens": 201}])
def test_a_reply_is_known_to_the_same_model_and_settings_only(tmp_path, change):
    Replies(tmp_path / "r.sqlite", BY).keep("leave?", "annual leave")
    assert Replies(tmp_path / "r.sqlite", dict(reversed(BY.items()))).known("leave?") == "annual leave"
    assert Replies(tmp_path / "r.sqlite", BY).known("leave? ") is None
    assert Replies(tmp_path / "r.sqlite", BY | change).known("leave?") is None


def test_the_first_reply_stands(tmp_path):
    replies = Replies(tmp_path / "sub" / "r.sqlite", BY)
    assert replies.keep("q\0 'ł'; DROP TABLE replies", "one \0 ł") == "one \0 ł"
    assert replies.keep("q\0 'ł'; DROP TABLE replies", "two") == "one \0 ł"


def _keep(path: Path, name: str) -> list[str]:
    return [Replies(path, BY).keep(f"q{n}", f"{name}{n}") for n in range(50)]


def test_processes_that_write_at_once_agree_on_every_reply(tmp_path):
    path = tmp_path / "r.sqlite"
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        found = pool.starmap(_keep, [(path, "a"), (path, "b")])
    assert found[0] == found[1] == [Replies(path, BY).known(f"q{n}") for n in range(50)]


def _begin(paths: list[Path]) -> list[str]:
    return [Replies(path, BY).keep("q", "one") for path in paths]


def test_processes_that_begin_a_store_at_once_wait_for_each_other(tmp_path):
    paths = [tmp_path / f"{n}.sqlite" for n in range(150)]
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert pool.map(_begin, [paths] * 4, chunksize=1) == [["one"] * len(paths)] * 4


def test_a_file_that_is_no_store_is_named_and_left_as_it_is(tmp_path):
    path = tmp_path / "r.sqlite"
    path.write_text("not a database, but long enough to be looked at as one" * 40)
    with pytest.raises(ModelError, match=r"r\.sqlite is not a store of replies"):
        Replies(path, BY).known("q")
    assert path.read_text().startswith("not a database")
