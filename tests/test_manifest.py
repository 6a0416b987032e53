import json
from dataclasses import replace

import pytest

from rag_pilot.corpus.passages import Splitter
from rag_pilot.errors import DataError
from rag_pilot.files import read_text
from rag_pilot.records import Document, Passage
from rag_pilot.retrieval.manifest import Manifest, document_hashes, save_index, saved_manifest, saved_passages

MANIFEST = Manifest({"a": "1", "b": "2"}, {"max_tokens": 400}, "model", ("query: ", ""), 8, "en")
PASSAGES = [
    Passage("a#1", "a", "leave\n“days”", frozenset({"hr", "board"}), "Leave", ("Leave", "Days"), page=3, tokens=9),
    Passage("b#1", "b", "łódź", frozenset({"x"})),
]


def test_a_saved_index_comes_back_open_to_nobody(tmp_path):
    kept = save_index(tmp_path, MANIFEST, PASSAGES)
    assert saved_passages(tmp_path) == [replace(p, groups=frozenset()) for p in PASSAGES]
    assert saved_manifest(tmp_path) == kept and (kept.count, bool(kept.built)) == (2, True)


def test_no_file_of_a_saved_index_names_a_group(tmp_path):
    documents = [Document("a", "Leave", "x", frozenset({"hr-secret"}), sha="1")]
    passages = Splitter().split(documents[0])
    save_index(tmp_path, replace(MANIFEST, documents=document_hashes(documents)), passages)
    assert passages[0].groups == {"hr-secret"}
    for path in tmp_path.iterdir():
        assert "hr-secret" not in read_text(path) and "groups" not in read_text(path)


def test_the_fingerprint_is_of_what_went_in_and_not_of_the_time_of_building(tmp_path):
    kept = save_index(tmp_path, MANIFEST, PASSAGES)
    assert kept.fingerprint == MANIFEST.fingerprint == Manifest.from_json(kept.as_json()).fingerprint
    reordered = replace(MANIFEST, documents={"b": "2", "a": "1"})
    assert reordered.fingerprint == MANIFEST.fingerprint


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("documents", {"a": "1"}),
        ("documents", {"a": "1", "b": "3"}),
        ("passages", {"max_tokens": 254}),
        ("model", "another of the same width"),
        ("prefixes", ("", "")),
        ("tokeniser", "en+fr"),
    ],
)
def test_each_input_changes_the_fingerprint_and_is_named(name, value):
    other = replace(MANIFEST, **{name: value})
    assert other.fingerprint != MANIFEST.fingerprint
    (line,) = MANIFEST.differences(other)
    assert line.startswith(f"{name}: ")
    assert MANIFEST.differences(replace(MANIFEST, count=5, built="2026")) == []


def test_another_dimension_is_named_once_both_were_observed():
    assert MANIFEST.differences(replace(MANIFEST, dimension=0)) == []
    (line,) = replace(MANIFEST, dimension=8).differences(replace(MANIFEST, dimension=16))
    assert line == "dimension: 8 / 16"


def test_a_documents_hash_is_of_what_is_indexed_and_not_of_who_may_open_it():
    first = Document("a", "Leave", "x", frozenset({"hr"}), "a.md", "https://example.org/a", sha="1")
    for same in ({"groups": frozenset({"all"})}, {"sha": "2"}, {"path": "b.md"}):
        assert document_hashes([replace(first, **same)]) == document_hashes([first]), same
    for name in ("text", "title", "link", "lang", "updated", "owner", "sensitivity"):
        assert document_hashes([replace(first, **{name: "2026-01-01"})]) != document_hashes([first]), name


def test_a_half_written_index_has_no_manifest(tmp_path):
    save_index(tmp_path, MANIFEST, PASSAGES)

    def stopped():
        yield PASSAGES[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_index(tmp_path, MANIFEST, stopped())
    assert saved_passages(tmp_path) == [replace(p, groups=frozenset()) for p in PASSAGES]  # the old one is whole
    (tmp_path / "passages.jsonl").unlink()
    (tmp_path / "passages.jsonl").mkdir()  # the disk refuses
    with pytest.raises(OSError):
        save_index(tmp_path, MANIFEST, PASSAGES)
    assert saved_manifest(tmp_path) is None


@pytest.mark.parametrize("content", ["", "{", "[]", "null", '{"model": "m"}', '{"documents": {}}'])
def test_a_manifest_that_cannot_be_read_counts_as_none(tmp_path, content):
    assert saved_manifest(tmp_path) is None
    save_index(tmp_path, MANIFEST, PASSAGES)
    (tmp_path / "manifest.json").write_text(content, encoding="utf-8")
    assert saved_manifest(tmp_path) is None


def test_passages_that_are_missing_are_noticed(tmp_path):
    save_index(tmp_path, MANIFEST, PASSAGES)
    path = tmp_path / "passages.jsonl"
    path.write_text(path.read_text(encoding="utf-8").split("\n")[0] + "\n", encoding="utf-8")
    with pytest.raises(DataError, match="holds 1 passages, its manifest 2"):
        saved_passages(tmp_path)


def test_the_manifest_is_plain_json_that_a_person_can_read(tmp_path):
    save_index(tmp_path, MANIFEST, PASSAGES)
    row = json.loads(read_text(tmp_path / "manifest.json"))
    assert row["prefixes"] == ["query: ", ""] and row["count"] == 2
