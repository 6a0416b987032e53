import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.errors import DataError
from rag_pilot.files import append_jsonl, dumps, read_jsonl, read_records, read_text, write_jsonl, write_text
from rag_pilot.identity import answer_sha, fingerprint, fold
from rag_pilot.records import Answer, Hit, Label, Passage, Question, Verdict

WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


def written(folder: Path, data: bytes | str) -> Path:
    path = folder / "rows.jsonl"
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return path


# -- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("id_", ["00417", "24_07", "123456789012345678", "1.0", "NA", "None", "null", "e5", "１"])
def test_an_id_is_text_byte_for_byte(tmp_path: Path, id_: str) -> None:
    path = tmp_path / "questions.jsonl"
    write_jsonl(path, [Question(id_, "how?", expected=id_)])
    (question,) = read_records(path, Question.from_json)
    assert (question.id, question.expected) == (id_, id_)


def test_blank_lines_are_no_records_and_still_count_in_the_numbers_of_lines(tmp_path: Path) -> None:
    path = written(tmp_path, '\n{"id": "a"}\n\n   \n{"id": "b"}\n\t\n')
    assert list(read_jsonl(path)) == [(2, {"id": "a"}), (5, {"id": "b"})]
    with pytest.raises(DataError, match=r"rows\.jsonl, line 4: not a JSON object"):
        list(read_jsonl(written(tmp_path, '{"id": "a"}\n\n\n{"id": \n')))


@pytest.mark.parametrize(
    "data",
    [
        '{"q": "où – 5 €"}\n{"q": "b"}\n'.encode("utf-8-sig"),
        '{"q": "où – 5 €"}\r\n{"q": "b"}\r\n'.encode(),
        '{"q": "où – 5 €"}\r{"q": "b"}'.encode(),
        '{"q": "où – 5 €"}\n{"q": "b"}\n'.encode("cp1252"),
        '{"q": "où – 5 €"}\r\n{"q": "b"}\n'.encode("utf-16"),
    ],
)
def test_a_mark_of_byte_order_other_line_ends_and_cp1252_change_nothing(tmp_path: Path, data: bytes) -> None:
    assert [row["q"] for _, row in read_jsonl(written(tmp_path, data))] == ["où – 5 €", "b"]


def test_separators_of_lines_inside_a_text_do_not_end_its_line(tmp_path: Path) -> None:
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\ng\rh"
    write_jsonl(tmp_path / "rows.jsonl", [{"q": text}])
    assert list(read_jsonl(tmp_path / "rows.jsonl")) == [(1, {"q": text})]


def test_bytes_of_no_known_encoding_are_refused_with_the_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl: neither UTF-8 nor cp1252"):
        read_text(written(tmp_path, b"\x81\x8d"))
    with pytest.raises(DataError, match=r"rows\.jsonl: marked as UTF-16 but is not"):
        read_text(written(tmp_path, b"\xff\xfea"))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("[1]", "found list, expected one JSON object per line"),
        ('"a"', "found str"),
        ('{"a": NaN}', "NaN is not a JSON value"),
        ('{"a": -Infinity}', "-Infinity is not a JSON value"),
        ('{"a": 1, "a": 2}', "a key stands twice"),
        ('{"a": 1', "not a JSON object"),
        ("{'a': 1}", "not a JSON object"),
        ("[" * 200_000, "not a JSON object"),
    ],
)
def test_a_line_that_is_no_plain_object_is_named_by_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl, line 2: ") as fault:
        list(read_jsonl(written(tmp_path, f"{{}}\n{line}\n")))
    assert said in str(fault.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"status": "answered"}', "question_id"),
        ('{"question_id": "q", "status": "answered", "docs": "hr"}', "docs is the text 'hr'; expected a list"),
        ('{"question_id": "q", "status": "answered", "docs": 7}', "not iterable"),
    ],
)
def test_an_unfit_field_is_named_by_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    with pytest.raises(DataError, match=r"rows\.jsonl, line 1: ") as fault:
        read_records(written(tmp_path, line), Answer.from_json)
    assert said in str(fault.value)


def test_groups_given_as_a_text_are_never_read_letter_by_letter() -> None:
    with pytest.raises(TypeError, match="groups is the text 'hr'"):
        Question.from_json({"id": "q", "question": "?", "groups": "hr"})


# -- writing ---------------------------------------------------------------------------------------------------------


@given(
    st.builds(
        Answer,
        WORDS,
        st.sampled_from(["answered", "declined", "error"]),
        text=st.none() | WORDS,
        docs=st.lists(WORDS).map(tuple),
        hits=st.lists(st.fixed_dictionaries({"id": WORDS, "similarity": st.floats(-1, 1)})).map(tuple),
        lists=st.dictionaries(WORDS, st.lists(WORDS)),
        uncited=st.integers(0, 9),
        seconds=st.dictionaries(WORDS, st.floats(0, 9)),
    )
)
def test_an_answer_reads_back_as_it_was(answer: Answer) -> None:
    line = dumps(answer)
    assert "\n" not in line
    assert Answer.from_json(json.loads(line)) == answer


@given(st.builds(Question, WORDS, WORDS, groups=st.frozensets(WORDS), answerable=st.booleans(), doc=st.none() | WORDS))
def test_a_question_reads_back_as_it_was(question: Question) -> None:
    assert Question.from_json(json.loads(dumps(question))) == question


def test_required_fields_are_written_even_when_they_are_empty() -> None:
    assert json.loads(dumps(Verdict("q", "", None, "judge"))) == {
        "question_id": "q",
        "answer_sha": "",
        "label": None,
        "by": "judge",
    }
    assert Label.from_json(json.loads(dumps(Label("q", "sha", "x", None)))).label is None


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan")])
def test_what_is_not_finite_is_refused_and_the_file_stays_as_it_was(tmp_path: Path, value: float) -> None:
    path = written(tmp_path, '{"a": 1}\n')
    for write in (append_jsonl, lambda path, row: write_jsonl(path, [row])):
        with pytest.raises(DataError, match="not measured"):
            write(path, {"deep": [{"score": value}]})
    assert path.read_bytes() == b'{"a": 1}\n'
    assert list(tmp_path.iterdir()) == [path]


def test_half_a_surrogate_pair_in_a_reply_does_not_stop_the_writing(tmp_path: Path) -> None:
    append_jsonl(tmp_path / "rows.jsonl", Answer("q", "error", reason="cut \ud83d"))
    assert read_records(tmp_path / "rows.jsonl", Answer.from_json)[0].reason == "cut ?"


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = written(tmp_path, "old\n")

    def rows() -> Iterator[dict[str, object]]:
        yield {"a": 1}
        raise RuntimeError("the disk is full")

    with pytest.raises(RuntimeError):
        write_jsonl(path, rows())
    with pytest.raises(UnicodeEncodeError):
        write_text(path, "new \ud83d")
    assert path.read_bytes() == b"old\n"
    assert list(tmp_path.iterdir()) == [path]


def test_written_files_are_utf8_with_plain_line_ends(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "deep" / "rows.jsonl", [{"q": "zażółć 5 €"}, {}])
    assert (tmp_path / "deep" / "rows.jsonl").read_bytes() == '{"q": "zażółć 5 €"}\n{}\n'.encode()


@settings(max_examples=40, deadline=None)
@given(st.lists(st.dictionaries(WORDS, WORDS, min_size=1), min_size=1, max_size=4), st.data())
def test_a_file_cut_at_any_byte_is_mended_by_the_next_line(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, str]], data: st.DataObject
) -> None:
    path = tmp_path_factory.mktemp("cut") / "rows.jsonl"
    whole = "".join(dumps(row) + "\n" for row in rows).encode()
    cut = data.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:cut])
    append_jsonl(path, {"id": "next"})
    lacks_its_end_only = whole[cut : cut + 1] == b"\n"
    kept = whole[:cut].count(b"\n") + lacks_its_end_only
    assert [row for _, row in read_jsonl(path)] == [*rows[:kept], {"id": "next"}]
    half = b"" if lacks_its_end_only else whole[:cut].rpartition(b"\n")[2]
    copy = path.with_name("rows.jsonl.cut")
    assert copy.read_bytes() == half + b"\n" if half else not copy.exists()


# -- passages and hits -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("groups", ["hr", 7, ["hr", 7], [None], True])
def test_groups_that_are_no_names_are_refused(groups: object) -> None:
    with pytest.raises(DataError, match=r"passage 3: groups is .* expected a set of names"):
        Passage.of({"doc": "a", "text": "t", "groups": groups}, 3)


@pytest.mark.parametrize("chunk", [{"doc": "a", "text": "t"}, {"doc": "a", "text": "t", "groups": None}])
def test_a_passage_without_groups_is_closed(chunk: dict[str, object]) -> None:
    assert Passage.of(chunk).groups == frozenset()


@pytest.mark.parametrize(("chunk", "lacks"), [({"text": "t"}, "doc"), ({"doc": "a"}, "text"), ({}, "doc and no text")])
def test_a_passage_without_document_or_text_is_refused_by_name(chunk: dict[str, object], lacks: str) -> None:
    with pytest.raises(DataError, match=f"passage 2 has no {lacks}"):
        Passage.of(chunk, 2)


def test_fields_that_another_system_leaves_empty_get_their_default() -> None:
    passage = Passage.of({"doc": 12, "text": "t", "title": None, "headings": None, "groups": {"hr"}})
    assert (passage.doc, passage.title, passage.headings, passage.groups) == ("12", "", (), {"hr"})


def test_unknown_fields_can_be_read_by_name_from_passage_and_hit() -> None:
    passage = Passage.of({"doc": "a", "text": "t", "groups": {"hr"}, "url": "u"})
    hit = Hit(passage, 0.5)
    assert passage["url"] == passage.get("url") == hit["url"] == hit.get("url") == "u"
    assert (hit["doc"], hit["similarity"], hit.get("absent", "-"), passage.get("absent")) == ("a", 0.5, "-", None)
    with pytest.raises(KeyError):
        hit["absent"]


def test_a_hit_of_another_system_is_read_with_its_numbers_as_plain_ones() -> None:
    row = {"doc": "a", "text": "t", "similarity": np.float32(0.5), "ranks": {"dense": np.int64(2)}}
    hit = Hit.of(row, 1)
    assert json.loads(dumps({"s": hit.similarity, "r": hit.ranks})) == {"s": 0.5, "r": {"dense": 2}}
    assert Hit.of({"doc": "a", "text": "t"}, 1).similarity is None
    assert Hit.of(hit, 9) is hit


def test_a_hit_without_an_id_is_named_by_what_it_says_and_not_by_its_rank() -> None:
    one, other = {"doc": "a", "text": "30 days"}, {"doc": "a", "text": "14 days"}
    assert Hit.of(one, 1).passage.id == Hit.of(one, 4).passage.id != Hit.of(other, 1).passage.id
    assert Hit.of(one | {"id": "a#7"}, 1).passage.id == "a#7"


# -- hashes ----------------------------------------------------------------------------------------------------------


@given(st.permutations(range(5)), st.lists(st.integers(0, 4), min_size=1))
def test_the_hash_of_an_answer_stays_when_passages_change_places(order: list[int], cited: list[int]) -> None:
    ids = [f"doc#{i}" for i in range(5)]
    moved = [ids[i] for i in order]
    text = " ".join(f"It is so [{i + 1}]." for i in cited)
    text_moved = " ".join(f"It is so [{moved.index(ids[i]) + 1}]." for i in cited)
    assert answer_sha(text, ids) == answer_sha(text_moved, moved)
    assert answer_sha(text, ids) != answer_sha(text, [f"other#{i}" for i in range(5)])


def test_the_hash_of_an_answer_passes_over_blanks_and_composition_but_not_over_words() -> None:
    ids = ["a#1", "a#2"]
    assert answer_sha("le café  est\nouvert [1]", ids) == answer_sha("le cafe\u0301 est ouvert [1]", ids)
    assert answer_sha("30 days [1]", ids) != answer_sha("14 days [1]", ids)
    assert answer_sha("30 days [1]", ids) != answer_sha("30 days [2]", ids)
    named = hashlib.sha256(b"30 days [a#1] and [9]").hexdigest()  # labels on disk hang on it
    assert answer_sha(" 30 days [1]\u00a0and [9]", ids) == named[:16]


def test_texts_are_compared_composed_with_blanks_and_case_folded() -> None:
    assert fold("Où  est\u00a0le CAFÉ ? ") == fold("ou\u0300 est le café ?")
    assert fold("Straße") == fold("STRASSE")


def test_a_fingerprint_depends_on_content_and_not_on_the_order_of_keys() -> None:
    assert fingerprint({"a": {"x", "y"}, "b": (1, 2)}) == fingerprint({"b": [1, 2], "a": ["x", "y"]})
    assert fingerprint({"k": None}) != fingerprint({"k": 0})
    assert len(fingerprint([])) == 12
