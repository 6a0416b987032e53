from dataclasses import replace

import pytest

from rag_pilot.records import Document
from rag_pilot.retrieval.manifest import Manifest, document_hashes

MANIFEST = Manifest({"a": "1", "b": "2"}, {"max_tokens": 400}, "model", ("query: ", ""), "en")


def test_the_fingerprint_is_of_what_went_in_and_not_of_the_time_of_building():
    kept = replace(MANIFEST, dimension=8, count=2, beyond=0.1, built="2026-01-01T10:00:00", files="files-1")
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
        ("revision", "another commit"),
        ("precision", "bfloat16"),
        ("titles", False),
        ("question_headings", True),
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
