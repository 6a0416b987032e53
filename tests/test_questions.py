import json

import pytest

from rag_pilot.corpus.checks import check_questions
from rag_pilot.corpus.questions import read_questions
from rag_pilot.errors import DataError

ROW = {"id": "q1", "question": "How many days?", "expected": "30", "doc": "leave", "groups": [], "answerable": True}


def written(tmp_path, *rows, before="", after="\n"):
    path = tmp_path / "questions.jsonl"
    lines = [row if isinstance(row, str) else json.dumps(row, ensure_ascii=False) for row in rows]
    path.write_bytes((before + "\n".join(lines) + after).encode())
    return path


def test_ids_and_answers_are_kept_byte_for_byte(tmp_path):
    ids = ["00417", "24_07", "123456789012345678", " x", "e\u0301"]
    rows = [{**ROW, "id": id_, "question": f"{id_}?", "expected": "None"} for id_ in ids]
    read = read_questions(written(tmp_path, *rows), None)
    assert [q.id for q in read] == ids
    assert {q.expected for q in read} == {"None"}


def test_everyone_joins_the_askers_groups(tmp_path):
    path = written(tmp_path, {**ROW, "groups": ["hr", "e\u0301quipe"]})
    assert read_questions(path, "all-staff")[0].groups == {"hr", "équipe", "all-staff"}
    assert read_questions(path, None)[0].groups == {"hr", "équipe"}


def test_optional_fields_are_read_and_null_is_absent(tmp_path):
    full = {
        "category": "code",
        "lang": "en",
        "also": ["faq"],
        "quote": "30 days",
        "source": "mail",
        "validated_by": "MA",
        "added": "2026-09-01",
        "amendments": [{"field": "doc", "old": "x"}],
        "asked": 17,
    }
    (question,) = read_questions(written(tmp_path, ROW | full), "all-staff")
    assert question.as_json() == {**ROW, **full, "groups": ["all-staff"]}
    (question,) = read_questions(written(tmp_path, ROW | dict.fromkeys([*full, "doc", "expected"])), None)
    assert (question.doc, question.expected, question.also) == (None, "", ())


def test_answerable_null_is_left_out_and_counted(tmp_path):
    read = read_questions(written(tmp_path, ROW, {**ROW, "id": "q2", "answerable": None}), None)
    assert ([q.id for q in read], read.left_out) == (["q1"], ("q2",))
    assert [f.ids for f in check_questions(read, [], None) if "left out" in f.what] == [("q2",)]


def test_byte_order_mark_windows_line_ends_and_blank_lines_change_nothing(tmp_path):
    path = written(tmp_path, ROW, "", "  ", {**ROW, "id": "q2"}, before="\ufeff", after="\r\n\r\n")
    assert [q.id for q in read_questions(path, None)] == ["q1", "q2"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"id": 417}, "id is 417; expected text"),
        ({"id": " "}, "id is ' '"),
        ({"question": ""}, "question is ''"),
        ({"answerable": "yes"}, "answerable is 'yes'; expected true or false"),
        ({"answerable": 1}, "answerable is 1"),
        ({"groups": "hr"}, "groups is 'hr'; expected a list"),
        ({"groups": [7]}, r"groups is \[7\]"),
        ({"groups": None}, "groups is None"),
        ({"groups": [" "]}, "groups is empty"),
        ({"also": "faq"}, "also is 'faq'; expected a list"),
        ({"doc": 7}, "doc is 7"),
        ({"expected": ["30"]}, "expected is"),
        ({"amendments": ["x"]}, "amendments is"),
        ({"asked": 0}, "asked is 0"),
        ({"asked": "3"}, "asked is '3'"),
        ({"asked": True}, "asked is True"),
        ({"Category": "x", "catgory": "y"}, "unknown key 'Category', 'catgory'"),
        ({"id": "q1"}, "lines 1 and 3: the id 'q1' stands twice"),
    ],
)
def test_a_line_that_is_not_as_agreed_is_refused_with_file_and_line(tmp_path, change, message):
    path = written(tmp_path, ROW, "", {**ROW, "id": "q2"} | change)
    with pytest.raises(
        DataError, match=rf"questions\.jsonl, {message if message.startswith('lines') else 'line 3: ' + message}"
    ):
        read_questions(path, None)


@pytest.mark.parametrize("name", ["id", "question", "groups", "answerable"])
def test_required_keys_are_required(tmp_path, name):
    row = {key: value for key, value in ROW.items() if key != name}
    with pytest.raises(DataError, match=f"line 1: {name} is missing"):
        read_questions(written(tmp_path, row), None)


def test_half_a_character_is_refused(tmp_path):
    with pytest.raises(DataError, match="line 1: holds half of a surrogate pair"):
        read_questions(written(tmp_path, json.dumps(ROW).replace("How", "\\ud800")), None)


def test_a_missing_file_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_questions(tmp_path / "questions.jsonl", None)
