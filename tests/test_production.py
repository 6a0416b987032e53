"""Real answers from a file: what is read, what is named as unfit, and who may read them."""

import json
from pathlib import Path

import pytest

from rag_pilot.errors import DataError
from rag_pilot.grading.form_page import item_page
from rag_pilot.grading.form_parts import texts
from rag_pilot.grading.items import missing
from rag_pilot.grading.production import Production, Served, item_of, read_production
from rag_pilot.records import Document, Label

DOCUMENTS = {
    "leave": Document("leave", "Annual leave", "25 days.", frozenset({"all-staff"}), link="https://x/leave"),
    "pay": Document("pay", "Salaries", "Band 7.", frozenset({"hr", "board"})),
}
GOOD = {"question": "How long?", "answer": "25 days [1].", "groups": ["all-staff"]}


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows), "utf-8")
    return path


def read(path: Path, *rows: object) -> Production:
    return read_production(lines(path / "real.jsonl", *rows))


def open_to(row: dict[str, object], *groups: str) -> bool:
    served = Served.from_json({"id": "a", **row})
    return not missing(item_of(served, DOCUMENTS, "real.jsonl"), frozenset(groups))


def test_json_lines_are_read_with_ids_as_text_and_an_id_made_where_there_is_none(tmp_path):
    found = read(tmp_path, "", GOOD | {"id": 417}, GOOD | {"answer": "26 days."}).answers
    assert (found[0].id, found[0].groups) == ("417", {"all-staff"})
    assert found[1].id.startswith("answer-")
    assert found[1].id == read(tmp_path, GOOD | {"answer": "26 days."}).answers[0].id


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("{", "not a JSON object"),
        ('["a"]', "not a JSON object (found"),
        (GOOD | {"answer": " "}, 'answer is " ", expected a text'),
        ({"answer": "x", "groups": ["all-staff"]}, "question is null, expected a text"),
        (GOOD | {"id": ["x"]}, 'id is ["x"], expected a text or nothing'),
        (GOOD | {"groups": {"hr": 1}}, "groups is"),
        (GOOD | {"passages": "25 days"}, 'passages is "25 days", expected a list such as'),
        (GOOD | {"passages": [{"text": "no document"}]}, "passages is"),
        (GOOD | {"id": "first"}, "the id 'first' stands in line 1 already"),
    ],
)
def test_every_unfit_line_is_named_and_the_others_are_read(row, reason, tmp_path):
    found = read(tmp_path, GOOD | {"id": "first"}, "", row, GOOD | {"id": "last"}, "[")
    assert [answer.id for answer in found.answers] == ["first", "last"]
    assert [left.line for left in found.left_out] == [3, 5]
    assert reason in found.left_out[0].reason


def test_a_table_saved_by_excel_is_read_and_its_unfit_rows_are_named(tmp_path):
    path = tmp_path / "real.csv"
    text = (
        "ID;Question;Answer;Groups;Documents\r\n007;Où ?;Là – ici;all-staff; leave ;\r\n8;;x;hr;\r\n9;a;b;hr;c;d;e\r\n"
    )
    path.write_bytes(text.encode("cp1252"))
    found = read_production(path)
    assert [(a.id, a.question, a.answer, a.documents) for a in found.answers] == [
        ("007", "Où ?", "Là – ici", ("leave",))
    ]
    assert [left.line for left in found.left_out] == [3, 4]
    assert "cp1252" in found.how


def test_a_file_without_answers_or_their_columns_says_what_it_expects(tmp_path):
    with pytest.raises(DataError, match=r"holds no answer that can be read; the first: line 1, .*Expected one object"):
        read(tmp_path, "{}")
    table = tmp_path / "real.csv"
    table.write_text("question,text\na,b\n", encoding="utf-8")
    with pytest.raises(DataError, match="no column answer; the columns are question, text"):
        read_production(table)
    with pytest.raises(DataError, match="no such file"):
        read_production(tmp_path / "none.jsonl")


@pytest.mark.parametrize("head", ["groups;Groups", "groups;groups", "Groups ;GROUPS", "groups;Gr-oups"])
def test_two_columns_of_one_meaning_are_refused_and_named(head, tmp_path):
    path = tmp_path / "real.csv"
    path.write_text(f"id;question;answer;{head}\n1;What is pay?;91500;hr;all-staff\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"real\.csv: the columns .* all mean groups; keep one") as refused:
        read_production(path)
    for name in head.split(";"):
        assert name.strip() in str(refused.value)


def test_two_columns_that_no_answer_is_read_from_are_nobodys_trouble(tmp_path):
    path = tmp_path / "real.csv"
    path.write_text("id;question;answer;groups;note;Note\n1;Why?;So.;hr;a;b\n", encoding="utf-8")
    assert [answer.groups for answer in read_production(path).answers] == [{"hr"}]


def test_groups_in_one_text_are_names_and_never_letters(tmp_path):
    assert read(tmp_path, GOOD | {"groups": "hr; finance"}).answers[0].groups == {"hr", "finance"}


def test_who_may_read_it_has_every_group_of_its_asker_and_may_open_every_document():
    assert open_to(GOOD, "all-staff")
    assert not open_to(GOOD | {"groups": ["all-staff", "hr"]}, "all-staff")
    assert open_to(GOOD | {"groups": ["all-staff", "hr"]}, "all-staff", "hr")
    assert not open_to(GOOD | {"documents": ["pay"]}, "all-staff")
    assert open_to(GOOD | {"documents": ["pay", "leave"]}, "all-staff", "board")
    assert not open_to(GOOD | {"passages": [{"doc": "pay", "text": "Band 7."}]}, "all-staff")


@pytest.mark.parametrize("row", [{"groups": []}, {"documents": ["gone"]}, {"passages": [{"doc": "gone", "text": "x"}]}])
def test_without_groups_or_with_a_document_that_is_not_the_pilots_nobody_may_read_it(row):
    assert not open_to(GOOD | row, "all-staff", "hr", "board", "")


def test_the_form_gets_passages_by_their_number_and_whole_documents_folded_behind():
    served = Served(
        "a", "How long?", "25 days [1].", frozenset({"all-staff"}), ("leave",), ({"doc": "pay", "text": "Band 7."},)
    )
    item = item_of(served, DOCUMENTS, "real.jsonl")
    assert [(p.number, p.title, p.text, p.cited) for p in item.passages] == [
        (1, "Salaries", "Band 7.", True),
        (2, "Annual leave", "25 days.", False),
    ]
    assert (item.kind, item.expected, item.position, item.run_id) == ("spot", "", None, "real.jsonl")


def test_the_form_does_not_say_that_no_document_answers_a_question_that_nobody_checked():
    say = texts("en")
    item = item_of(Served.from_json({"id": "a", **GOOD}), DOCUMENTS, "real.jsonl")
    page = item_page(item, Label("a", item.answer_sha, "Maud", None, "spot"), False, False, "", say)
    assert say["no_reference"] in page and say["no_expected"] not in page
