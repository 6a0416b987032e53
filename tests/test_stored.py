"""An index on disk: it comes back as it was, whole or not at all, and only where it fits."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from article import embed
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.corpus.passages import Splitter
from rag_pilot.errors import DataError, StaleError
from rag_pilot.records import Document, Passage
from rag_pilot.retrieval import stored
from rag_pilot.retrieval.hybrid import METHODS, HybridIndex
from rag_pilot.retrieval.manifest import Manifest
from rag_pilot.retrieval.stored import open_index, save_index, saved_manifest

MANIFEST = Manifest({"a": "1", "b": "2"}, {"max_tokens": 400}, "x", ("query: ", ""), "en", revision="r1")
PASSAGES = [
    Passage("a#1", "a", "leave\n“days”", frozenset({"hr", "board"}), "Leave", ("Leave", "Days"), page=3, tokens=9),
    Passage("b#1", "b", "łódź days", frozenset({"x"}), parent="the section of łódź days"),
]


def index_of(words: str) -> HybridIndex:
    return HybridIndex([{"text": word, "doc": word, "groups": {"g"}} for word in words.split()], embed)


def texts(folder: Path) -> list[str]:
    return [passage.text for passage in open_index(folder)[1].rows.passages]


def run(program: str, *arguments: object) -> subprocess.Popen:
    head = "import os, sys, signal\nfrom pathlib import Path\nsys.path.insert(0, sys.argv[1])\n"
    head += "from test_stored import *\nfolder = Path(sys.argv[2])\n"
    told = [sys.executable, "-c", head + program, str(Path(__file__).parent), *map(str, arguments)]
    return subprocess.Popen(told, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.lists(st.sampled_from("abcde"), max_size=6), st.sets(st.sampled_from("xyz"))), max_size=12),
    st.lists(st.sampled_from("abcdez"), min_size=1, max_size=4),
    st.sampled_from(sorted(METHODS)),
    st.booleans(),
)
def test_an_opened_index_gives_the_hits_of_the_one_that_was_saved(tmp_path_factory, rows, asked, method, windows):
    folder = tmp_path_factory.mktemp("index")
    chunks = [{"text": " ".join(w), "doc": f"d{n // 2}", "groups": g} for n, (w, g) in enumerate(rows)]
    built = HybridIndex(chunks, embed, method=method, windows=(lambda p: p.text.split()) if windows else None)
    save_index(folder, MANIFEST, built.parts)
    opened = HybridIndex.of_parts(open_index(folder)[1], embed, method=method)
    query = " ".join(asked)
    assert opened.search(query, {"x", "y", "z"}) == []  # open to nobody
    groups = {f"d{n // 2}": frozenset(g) for n, (_, g) in enumerate(rows)}
    for index in (built, opened):
        index.set_groups(groups)
    for asker in ({"x"}, {"x", "y", "z"}):
        ours, theirs = opened.search(query, asker), built.search(query, asker)
        assert ours == theirs and ours.lists == theirs.lists
    assert list(opened.passages) == list(built.passages) and opened.passages.by_id() == built.passages.by_id()


def test_arrays_are_mapped_and_passages_come_back_open_to_nobody(tmp_path):
    kept = save_index(tmp_path, MANIFEST, HybridIndex(PASSAGES, embed).parts)
    manifest, parts = open_index(tmp_path, MANIFEST)
    assert manifest == kept == saved_manifest(tmp_path)
    assert (kept.count, kept.dimension, bool(kept.built)) == (2, 12, True)
    assert list(parts.rows.passages) == [replace(p, groups=frozenset()) for p in PASSAGES]
    assert parts.rows.passages[-1].doc == "b" and len(parts.rows.passages[:1]) == 1
    for array in (parts.dense.vectors, parts.postings.passages, parts.postings.counts):
        assert not array.flags.owndata and not array.flags.writeable


def test_an_index_without_vectors_and_an_empty_one_are_saved_too(tmp_path):
    save_index(tmp_path / "words", MANIFEST, HybridIndex(PASSAGES).parts)
    opened = HybridIndex.of_parts(open_index(tmp_path / "words")[1])
    opened.set_groups({"b": frozenset({"x"})})
    assert [hit.doc for hit in opened.search("days", {"x"})] == ["b"]
    save_index(tmp_path / "none", MANIFEST, HybridIndex([], embed).parts)
    assert HybridIndex.of_parts(open_index(tmp_path / "none")[1], embed).search("days", {"x"}) == []


def test_no_file_of_a_saved_index_names_a_group(tmp_path):
    passages = Splitter().split(Document("a", "Leave", "x", frozenset({"hr-secret"}), sha="1"))
    assert passages[0].groups == {"hr-secret"}
    save_index(tmp_path, MANIFEST, HybridIndex(passages, embed).parts)
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(files) > 9 and all(b"hr-secret" not in path.read_bytes() for path in files)
    assert all(b'"groups"' not in path.read_bytes() for path in files)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"model": "y"}, r"model: y / x"),
        ({"revision": "r2"}, r"revision: r2 / r1"),
        ({"precision": "bfloat16"}, r"precision: bfloat16 / float32"),
        ({"normalised": False}, r"normalised: None / True|normalised: False / True"),
        ({"prefixes": ("", "")}, r"prefixes: \['', ''\] / \['query: ', ''\]"),
        ({"titles": False}, r"titles: False / True"),
        ({"tokeniser": "fr"}, r"tokeniser: fr / en"),
        ({"passages": {"max_tokens": 254}}, r"passages: max_tokens: 254 / 400"),
        ({"documents": {"a": "1", "b": "3"}}, r"documents: b: 3 / 2"),
        ({"dimension": 8}, r"dimension: 8 / 12"),
    ],
)
def test_an_index_that_was_built_from_other_inputs_is_refused_and_the_line_is_named(tmp_path, change, said):
    """Case 3.12: another model of the same dimension must not pass."""
    save_index(tmp_path, MANIFEST, HybridIndex(PASSAGES, embed).parts)
    with pytest.raises(StaleError, match=said) as fault:
        open_index(tmp_path, replace(MANIFEST, **change))
    assert str(fault.value).count(" / ") == 2  # "expected / found" and one line
    assert open_index(tmp_path, MANIFEST)[0].model == "x"


KILLED = {
    "among the passages": """
class Rows(list):
    def __iter__(self):
        yield self[0]
        os.kill(os.getpid(), signal.SIGKILL)
parts = index_of("new newer newest").parts
rows = replace(parts.rows, passages=Rows(parts.rows.passages))
save_index(folder, MANIFEST, replace(parts, rows=rows))
""",
    "before the manifest is renamed": """
def hook(event, told):
    if event == "os.rename" and str(told[1]).endswith("manifest.json"):
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
save_index(folder, MANIFEST, index_of("new newer newest").parts)
""",
    "before the old files are removed": """
def hook(event, told):
    if event == "shutil.rmtree":
        os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(hook)
save_index(folder, MANIFEST, index_of("new newer newest").parts)
""",
}


@pytest.mark.parametrize("moment", KILLED)
def test_a_builder_killed_in_the_middle_leaves_the_old_index_or_the_new_one_whole(tmp_path, moment):
    folder = tmp_path / "index"
    save_index(folder, MANIFEST, index_of("old older").parts)
    killed = run(KILLED[moment], folder)
    assert killed.wait() == -signal.SIGKILL, killed.communicate()[1]
    renamed = moment == "before the old files are removed"
    assert texts(folder) == (["new", "newer", "newest"] if renamed else ["old", "older"])
    assert len(list(folder.glob("files-*"))) == 2  # what was begun stands there, and counts for nothing
    save_index(folder, MANIFEST, index_of("next").parts)  # nobody holds the lock
    assert texts(folder) == ["next"] and len(list(folder.glob("files-*"))) == 1


def test_two_builders_at_once_leave_one_whole_index_and_a_reader_always_sees_one(tmp_path):
    folder = tmp_path / "index"
    save_index(folder, MANIFEST, index_of("first").parts)
    program = """
for n in range(12):
    save_index(folder, MANIFEST, index_of(" ".join(f"{sys.argv[3]}{i}" for i in range(n + 1))).parts)
"""
    builders = [run(program, folder, name) for name in ("left", "right")]
    seen = set()
    while any(builder.poll() is None for builder in builders):
        found = texts(folder)
        assert found == ["first"] or found == [f"{found[0].rstrip('0')}{n}" for n in range(len(found))]
        seen.add(len(found))
    assert [builder.communicate()[1] for builder in builders] == ["", ""]
    assert texts(folder) in [[f"{name}{n}" for n in range(12)] for name in ("left", "right")]
    assert len(list(folder.glob("files-*"))) == 1 and len(seen) > 1


def test_one_that_cannot_have_the_lock_says_so_and_saves_nothing(tmp_path, monkeypatch):
    save_index(tmp_path, MANIFEST, index_of("old").parts)
    monkeypatch.setattr(stored, "LOCK_SECONDS", 0.1)
    with FileLock(tmp_path / ".lock"), pytest.raises(DataError, match="nothing was saved: another program"):
        save_index(tmp_path, MANIFEST, index_of("new").parts)
    assert texts(tmp_path) == ["old"]


@pytest.mark.parametrize("name", ["passages.jsonl", "names.json", "vectors.npy", "ends.npy", "document.npy"])
@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_damaged_index_is_noticed_when_it_is_opened(tmp_path, name, how):
    save_index(tmp_path, MANIFEST, HybridIndex(PASSAGES, embed).parts)
    (path,) = tmp_path.glob(f"files-*/{name}")
    if how == "cut":
        os.truncate(path, path.stat().st_size - 5)
    else:
        path.unlink()
    with pytest.raises(DataError, match="is damaged; remove its folder"):
        open_index(tmp_path)


def test_a_line_that_is_no_passage_is_named_when_it_is_read(tmp_path):
    save_index(tmp_path, MANIFEST, HybridIndex(PASSAGES, embed).parts)
    (path,) = tmp_path.glob("files-*/passages.jsonl")
    path.write_bytes(path.read_bytes().replace(b'{"id": "b#1"', b'["id": "b#1"'))
    _, parts = open_index(tmp_path)
    assert parts.rows.passages[0].id == "a#1"
    with pytest.raises(DataError, match="line 2"):
        parts.rows.passages[1]


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"model": "m"}', '{"documents": {}}'])
def test_a_manifest_that_cannot_be_read_counts_as_none(tmp_path, content):
    assert saved_manifest(tmp_path) is None
    save_index(tmp_path, MANIFEST, HybridIndex(PASSAGES, embed).parts)
    (tmp_path / "manifest.json").write_text(content, encoding="utf-8")
    assert saved_manifest(tmp_path) is None
    with pytest.raises(DataError, match="build it again"):
        open_index(tmp_path)


def test_the_disk_that_refuses_leaves_the_old_index(tmp_path, monkeypatch):
    save_index(tmp_path, MANIFEST, HybridIndex(PASSAGES, embed).parts)

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="No space"):
        save_index(tmp_path, MANIFEST, index_of("new").parts)
    assert texts(tmp_path) == [p.text for p in PASSAGES]


def test_the_manifest_is_plain_json_that_a_person_can_read(tmp_path):
    save_index(tmp_path, MANIFEST, HybridIndex(PASSAGES, embed).parts)
    row = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert row["prefixes"] == ["query: ", ""] and row["count"] == 2 and row["normalised"] is True
    shutil.rmtree(tmp_path / row["files"])
    with pytest.raises(DataError, match="missing"):
        open_index(tmp_path)
