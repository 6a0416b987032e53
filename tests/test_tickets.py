"""Importing a ticket export, by the public call and by the command: each case as its whole kind."""

import csv
import io
import json
import unicodedata
import zipfile
from collections import Counter
from datetime import date, datetime
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from openpyxl import Workbook
from test_main import rag_pilot
from tiny import tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.analysis.sensitivity import can_detect
from rag_pilot.corpus.questions import read_questions
from rag_pilot.corpus.tickets import by_reason, import_questions
from rag_pilot.errors import DataError
from rag_pilot.files import read_jsonl, read_text
from rag_pilot.identity import fold
from rag_pilot.reporting import tables
from rag_pilot.starter import write_starter


def imported(tmp_path: Path, data: str | bytes, name: str = "tickets.csv", **options):
    """What an export became, and the rows of questions.jsonl afterwards."""
    path, to = tmp_path / name, tmp_path / "questions.jsonl"
    path.write_bytes(data if isinstance(data, bytes) else data.encode())
    found = import_questions(path, to, **options)
    rows = [row for _, row in read_jsonl(to)] if to.exists() else []
    read_questions(to, None) if to.exists() else None  # what was written is as agreed
    assert found.rows == len(found.export.rows) + len(found.export.left_out)
    return found, rows


def pairs(rows):
    return [(row["id"], row["question"]) for row in rows]


def workbook(*rows, title="Sheet", more=(), formats=None) -> bytes:
    book = Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    for name, format_ in (formats or {}).items():
        book.active[name].number_format = format_
    for name, others in more:
        sheet = book.create_sheet(name)
        for row in others:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


IDS = ["00417", "24_07", "123456789012345678", "1e5", "0x1F", "12.0", " 7", "-0", "TRUE", "2026-01-31", "e\u0301"]


# -- ids and words stay text (1.1 to 1.3) ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["t.csv", "t.tsv", "t.jsonl", "t.json", "t.xlsx"])
def test_ids_are_kept_byte_for_byte_in_every_kind_of_file(tmp_path, name):
    rows = [(id_, f"what about {n}?") for n, id_ in enumerate(IDS)]
    data = {
        "t.csv": "\n".join(["id,question", *(f"{i},{q}" for i, q in rows)]),
        "t.tsv": "\n".join(["id\tquestion", *(f"{i}\t{q}" for i, q in rows)]),
        "t.jsonl": "\n".join(json.dumps({"id": i, "question": q}) for i, q in rows),
        "t.json": json.dumps([{"id": i, "question": q} for i, q in rows]),
        "t.xlsx": workbook(("id", "question"), *rows),
    }[name]
    assert pairs(imported(tmp_path, data, name)[1]) == rows


def test_numbers_of_json_are_the_text_that_stands_there(tmp_path):
    data = (
        '{"id": 417, "question": "a?"}\n{"id": 123456789012345678, "question": "b?"}\n{"id": 4.170, "question": "c?"}'
    )
    assert [id_ for id_, _ in pairs(imported(tmp_path, data, "t.jsonl")[1])] == ["417", "123456789012345678", "4.170"]


def test_numbers_of_a_workbook_are_written_as_it_shows_them(tmp_path):
    numbers = (417, 417.0, 2.5, 7, 123456789012345, date(2026, 1, 31), datetime(2026, 1, 31, 9, 30), True)
    sheet = workbook(
        ("id", "question"), *((n, f"{i}?") for i, n in enumerate(numbers) if i != 1), formats={"A4": "00000"}
    )
    ids = [id_ for id_, _ in pairs(imported(tmp_path, sheet, "t.xlsx")[1])]
    assert ids == ["417", "2.5", "00007", "123456789012345", "2026-01-31", "2026-01-31 09:30", "true"]


def test_a_whole_number_that_a_workbook_keeps_with_decimals_is_written_without(tmp_path):
    kept = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(workbook(("id", "question"), (418, "z?")))) as old,
        zipfile.ZipFile(kept, "w") as new,
    ):
        for name in old.namelist():
            new.writestr(name, old.read(name).replace(b"<v>418</v>", b"<v>418.0</v>"))
    assert b"418.0" in zipfile.ZipFile(kept).read("xl/worksheets/sheet1.xml")
    assert pairs(imported(tmp_path, kept.getvalue(), "u.xlsx")[1]) == [("418", "z?")]


def test_what_a_workbook_has_lost_or_miscounted_is_left_out_with_its_reason(tmp_path):
    sheet = workbook(("id", "question"), (1.2345678901234568e17, "cut?"), ("b", "#N/A"), ("c", "fine?"))
    found, rows = imported(tmp_path, sheet, "t.xlsx")
    assert pairs(rows) == [("c", "fine?")]
    assert [(x.line, x.reason[:40]) for x in found.left_out] == [
        (2, "id holds a number of more than 15 digits"),
        (3, "question holds the error #N/A of Excel: "),
    ]


@pytest.mark.parametrize("empty", ["", " ", '""'])
def test_a_row_without_id_is_rejected_by_its_line_and_the_others_keep_theirs(tmp_path, empty):
    found, rows = imported(tmp_path, f"id,q,question\n417,x,how?\n{empty},y,why?\n418,z,when?\n")
    assert pairs(rows) == [("417", "how?"), ("418", "when?")]
    assert [(x.line, x.reason[:5]) for x in found.left_out] == [(3, "no id")]


def test_an_export_without_ids_gets_stable_ones_that_go_on_after_those_there(tmp_path):
    found, rows = imported(tmp_path, "question\nhow?\nwhy?\n")
    assert found.made_ids and pairs(rows) == [("t0001", "how?"), ("t0002", "why?")]
    found, rows = imported(tmp_path, "question\nhow?\nwhen?\nwhy?\n", "again.csv")
    assert pairs(rows) == [("t0001", "how?"), ("t0002", "why?"), ("t0003", "when?")]
    assert (found.new, found.known, found.before) == (("t0003",), ((2, "t0001"), (4, "t0002")), 2)


WORDS = ["NA", "N/A", "None", "null", "n/a", "NaN", "nan", "TRUE", "#N/A N/A", "-", "NULL", "inf"]


@pytest.mark.parametrize("name", ["t.csv", "t.xlsx", "t.jsonl"])
def test_words_that_programs_take_for_nothing_stay_words(tmp_path, name):
    head = ("id", "question", "groups", "expected", "category")
    cells = [(f"q{n}", word, word, word, word) for n, word in enumerate(WORDS)]
    text = io.StringIO()
    csv.writer(text).writerows([head, *cells])
    lines = "\n".join(json.dumps(dict(zip(head, row, strict=True))) for row in cells)
    data = {"t.csv": text.getvalue(), "t.xlsx": workbook(head, *cells), "t.jsonl": lines}[name]
    told = {"question": "question"}
    found, rows = imported(tmp_path, data, name, columns=told)
    assert [(r["question"], r["groups"], r["expected"], r["category"]) for r in rows] == [(w, [w], w, w) for w in WORDS]
    assert not found.left_out and all(row["answerable"] is None for row in rows)


def test_only_an_empty_cell_is_missing(tmp_path):
    found, rows = imported(tmp_path, "id,question,expected\n1,how?,\n2,,x\n3,why?, \n")
    assert rows == [
        {"id": "1", "question": "how?", "groups": [], "answerable": None, "added": date.today().isoformat()},
        {"id": "3", "question": "why?", "groups": [], "answerable": None, "added": date.today().isoformat()},
    ]
    assert [(x.line, x.reason) for x in found.left_out] == [(3, "no question")]
    data = '{"id": "1", "question": null}\n{"id": null, "question": "x"}\n{"question": "y"}'
    found, _ = imported(tmp_path, data, "t.jsonl")
    assert [(x.line, x.reason[:11]) for x in found.left_out] == [
        (1, "no question"),
        (2, "no id, thou"),
        (3, "no id, thou"),
    ]


# -- rows and cells (1.4, 1.10, 1.11) ----------------------------------------------------------------------------------


@pytest.mark.parametrize("d", [",", ";", "\t", "|"])
def test_delimiters_at_the_end_of_rows_move_no_column(tmp_path, d):
    data = f"id{d}question\nT1{d}how?{d}\nT2{d}why?{d}{d}\nT3{d}when?\n"
    assert pairs(imported(tmp_path, data)[1]) == [("T1", "how?"), ("T2", "why?"), ("T3", "when?")]
    assert pairs(imported(tmp_path, f"id{d}question{d}\nT4{d}who?{d}\n", "u.csv")[1])[-1] == ("T4", "who?")


@pytest.mark.parametrize("row", ["T2,why,oh why?", "T2", "T2,why,", "fragment of a cell"])
def test_a_row_of_another_length_is_left_out_with_its_line_and_both_numbers(tmp_path, row):
    found, rows = imported(tmp_path, f"id,question\nT1,how?\n{row}\nT3,when?\n")
    fields = row.rstrip(",").count(",") + 1
    if fields == 2:
        assert pairs(rows) == [("T1", "how?"), ("T2", "why"), ("T3", "when?")]
        return
    assert pairs(rows) == [("T1", "how?"), ("T3", "when?")]
    (left,) = found.left_out
    assert left.line == 3 and left.reason.startswith(f"{fields} field{'s' * (fields > 1)}, the header has 2")


@pytest.mark.parametrize("name", ["t.csv", "t.jsonl", "t.txt", "t.xlsx"])
def test_blank_lines_are_counted_and_later_lines_keep_their_number(tmp_path, name):
    data = {
        "t.csv": "id,question\n1,a?\n\n  \n,\n,b?\n",
        "t.jsonl": '{"id": "1", "question": "a?"}\n\n   \n{"id": "", "question": "b?"}\n \n',
        "t.txt": "a?\n\n  \na?\n\n",
        "t.xlsx": workbook(("id", "question"), ("1", "a?"), (), ("", " "), ("", "b?")),
    }[name]
    found, rows = imported(tmp_path, data, name)
    assert [row["question"] for row in rows] == ["a?"]
    lines = [x.line for x in found.left_out] + [line for line, _ in found.repeats]
    assert (lines, found.export.blank) == {
        "t.csv": ([6], 3),
        "t.jsonl": ([4], 3),
        "t.txt": ([4], 3),
        "t.xlsx": ([5], 2),
    }[name]


def test_a_cell_of_several_lines_is_one_ticket_and_lines_are_where_records_begin(tmp_path):
    data = 'id,question\r\n1,"line one\r\nline two, ""quoted"""\r\n2,b?\r\n,c?\r\n'
    found, rows = imported(tmp_path, data)
    assert pairs(rows) == [("1", 'line one\nline two, "quoted"'), ("2", "b?")]
    assert [x.line for x in found.left_out] == [5]


@pytest.mark.parametrize(
    ("data", "line"),
    [
        ('id,question\n1,a?\n2,"never closed\n3,c?\n', 3),
        ('id,question\n1,"abc" def\n', 2),
        ('id,question\n1,"a\n2,"b"\n', 2),
    ],
)
def test_quotation_marks_that_do_not_fit_stop_the_import_whole(tmp_path, data, line):
    with pytest.raises(DataError, match=rf"tickets\.csv, line {line}: the quotation marks do not fit"):
        imported(tmp_path, data)
    assert not (tmp_path / "questions.jsonl").exists()


def test_a_mail_may_be_longer_than_csv_allows_by_itself(tmp_path):
    long = "word " * 40_000
    before = csv.field_size_limit()
    assert imported(tmp_path, f"id,question\n1,{long}\n")[1][0]["question"] == long.strip()
    assert csv.field_size_limit() == before


def test_lines_that_are_no_object_are_left_out_one_by_one(tmp_path):
    data = (
        '{"id": "1", "question": "a?"}\n[1]\n{"id": "2", "question"\n{"id": 1, "id": 2}\n{"id": NaN, "question": "x"}\n'
    )
    data += (
        '{"id": "3", "question": {"text": "b"}, "tags": [{"x": 1}]}\n{"id": "4", "question": "\\ud800"}\nnull\n"text"\n'
    )
    found, rows = imported(
        tmp_path, data + '{"id": "5", "question": "e?", "groups": ["hr", "it"], "tags": [{}]}', "t.jsonl"
    )
    assert pairs(rows) == [("1", "a?"), ("5", "e?")] and rows[1]["groups"] == ["hr", "it"]
    assert [x.line for x in found.left_out] == [2, 3, 4, 5, 6, 7, 8, 9]
    with pytest.raises(DataError, match="holds an object, expected a list"):
        imported(tmp_path, '{"tickets": []}', "t.json")


# -- encodings and delimiters (1.8, 1.9) -------------------------------------------------------------------------------

FRENCH = "id;question\n1;Où est le café – à l’étage ? 5 €\n"


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "UTF-8 with BOM"),
        ("cp1252", "cp1252"),
        ("utf-16", "UTF-16"),
        ("utf-16-be", "UTF-16"),
    ],
)
@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_one_export_in_every_encoding_gives_one_question_and_says_which(tmp_path, encoding, told, ends):
    data = ("\ufeff" * (encoding == "utf-16-be") + FRENCH.replace("\n", ends)).encode(encoding)
    found, rows = imported(tmp_path, data)
    assert pairs(rows) == [("1", "Où est le café – à l’étage ? 5 €")]
    assert found.export.how == f"a table separated by ';', read as {told}"


@pytest.mark.parametrize("name", ["t.jsonl", "t.json", "t.txt"])
def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path, name):
    data = {"t.jsonl": '{"question": "a?"}', "t.json": '[{"question": "a?"}]', "t.txt": "a?"}[name]
    assert pairs(imported(tmp_path, "\ufeff" + data, name)[1]) == [("t0001", "a?")]


def test_lines_from_several_systems_are_read_each_in_its_encoding(tmp_path):
    data = "question\ncafé ?\n".encode() + "thé ?\n".encode("cp1252") + b"eau ?\n"
    found, rows = imported(tmp_path, data)
    assert [row["question"] for row in rows] == ["café ?", "thé ?", "eau ?"]
    assert "UTF-8, but 1 lines as cp1252 (first: line 3)" in found.export.how


def test_polish_from_excel_is_not_read_as_western_european(tmp_path):
    data = "question\nCzy można złożyć wniosek?\n".encode("cp1250")
    with pytest.raises(DataError, match="line 2: not UTF-8, and .* looks like Central European.*--encoding cp1250"):
        imported(tmp_path, data)
    assert imported(tmp_path, data, encoding="cp1250")[1][0]["question"] == "Czy można złożyć wniosek?"
    assert (
        imported(tmp_path, "question\n¿Cuántos m³ por 30 m² al año?\n".encode("cp1252"), "u.csv")[1][1]["question"][0]
        == "¿"
    )


@pytest.mark.parametrize(
    ("data", "encoding", "message"),
    [
        (b"question\n\x81?\n", None, "line 2: neither UTF-8 nor cp1252"),
        ("question\na?\n".encode("utf-16-le"), None, "holds NUL"),
        (b"\xff\xfeq", None, "begins as UTF-16 and is not"),
        (b"question\n\xff?\n", "utf-8", "is not utf-8"),
        (b"question\na?\n", "cp-none", "there is no encoding 'cp-none'"),
    ],
)
def test_bytes_that_are_no_text_are_refused(tmp_path, data, encoding, message):
    with pytest.raises(DataError, match=message):
        imported(tmp_path, data, encoding=encoding)


@pytest.mark.parametrize(
    ("data", "question"),
    [
        ("id;question\n1;Wie, bitte?\n", "Wie, bitte?"),
        ("id,question\n1,a; b; c; d\n", "a; b; c; d"),
        ("id\tquestion\n1\ta, b; c\n", "a, b; c"),
        ("id|question\n1|a, b\n", "a, b"),
        ("sep=;\nid;question\n1;a, b\n", "a, b"),
        ("question\na, b; c | d\n", "a, b; c | d"),
        ('"id, or number";question\n1;a?\n', "a?"),
        ("\n\nid;question\n1;a, b\n", "a, b"),
    ],
)
def test_the_header_decides_the_delimiter(tmp_path, data, question):
    assert [row["question"] for row in imported(tmp_path, data)[1]] == [question]


def test_two_equally_good_delimiters_are_not_guessed_between(tmp_path):
    with pytest.raises(DataError, match="';' and ',' both part the header into 2 fields"):
        imported(tmp_path, "id;question,x\n1;a\n")


def test_unicode_text_of_excel_is_a_table_and_other_text_is_questions(tmp_path):
    found, rows = imported(tmp_path, "Nr\tBetreff\n1\tWo?\n".encode("utf-16"), "t.txt")
    assert pairs(rows) == [("1", "Wo?")] and "tabs" in found.export.how
    assert pairs(imported(tmp_path, "How, where; why?\tNow?\n", "u.txt")[1])[-1] == ("t0001", "How, where; why?\tNow?")


def test_the_sheet_with_questions_is_found_and_else_asked_for(tmp_path):
    data = workbook(("Chart",), more=[("Tickets", [("Nr", "Betreff"), ("1", "Wo?")]), ("Empty", [])])
    assert imported(tmp_path, data, "t.xlsx")[0].export.how == "sheet 'Tickets' of a workbook"
    both = workbook(("question",), ("a?",), title="A", more=[("B", [("question",), ("b?",)])])
    with pytest.raises(DataError, match="2 sheets with rows; say where the questions are with --sheet: 'A', 'B'"):
        imported(tmp_path, both, "u.xlsx")
    assert imported(tmp_path, both, "u.xlsx", sheet="B")[1][-1]["question"] == "b?"
    with pytest.raises(DataError, match="no sheet 'C'"):
        imported(tmp_path, both, "u.xlsx", sheet="C")


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("t.xlsx", b"not a zip", "not a workbook that can be read"),
        ("t.xlsx", workbook(), "no rows"),
        ("t.xls", b"", "save it as .xlsx"),
        ("t.pdf", b"", "expected one of .csv"),
        ("t.csv", b"", "the file is empty"),
        ("t.json", b"{", "not JSON"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_what_to_do(tmp_path, name, data, message):
    with pytest.raises(DataError, match=message):
        imported(tmp_path, data, name)
    with pytest.raises(DataError, match="no such file"):
        import_questions(tmp_path / "none.csv", tmp_path / "questions.jsonl")


# -- duplicates and conflicts (1.13) -----------------------------------------------------------------------------------

ALIKE = [
    ("Où est le café ?", "Ou\u0300 est le cafe\u0301 ?"),
    ("Reset password?", "Reset\u00a0password?"),
    ("Reset password?", "  reset   PASSWORD? "),
    ("Straße?", "STRASSE?"),
    ("two\nlines?", "two lines?"),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
@pytest.mark.parametrize("expected", ["", "yes"])
def test_the_same_text_in_other_code_points_is_a_repeat_and_is_counted(tmp_path, one, other, expected):
    data = "\n".join(
        json.dumps({"id": i, "question": q, "expected": e}) for i, q, e in [("a", one, ""), ("b", other, expected)]
    )
    found, rows = imported(tmp_path, data, "t.jsonl")
    assert found.repeats == ((2, "a"),)
    assert [(r["id"], r["asked"], r.get("expected", "")) for r in rows] == [("a", 2, expected)]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_the_same_text_with_another_answer_is_a_conflict_and_both_are_kept(tmp_path, one, other):
    answers = [("a", one, "yes"), ("b", other, "no"), ("c", one, "YES ")]
    data = "\n".join(json.dumps({"id": i, "question": q, "expected": e}) for i, q, e in answers)
    found, rows = imported(tmp_path, data, "t.jsonl")
    assert found.conflicts == (("a", "b"),) and found.repeats == ((3, "a"),)
    assert [(r["id"], r["expected"]) for r in rows] == [("a", "yes"), ("b", "no")]
    again, rows_again = imported(tmp_path, data, "t.jsonl")
    assert (again.new, again.conflicts, len(again.known), rows_again) == ((), (), 3, rows)


def test_the_same_words_of_askers_with_other_groups_are_two_questions(tmp_path):
    found, rows = imported(tmp_path, "id,question,groups\n1,Pay?,hr\n2,Pay?,\n3,pay?,hr\n")
    assert [(r["id"], r["groups"]) for r in rows] == [("1", ["hr"]), ("2", [])] and found.repeats == ((4, "1"),)
    found, _ = imported(tmp_path, "id,question,groups\n1,Pay?,hr;all\n2,Pay?,all\n", "u.csv", everyone="all")
    assert [id_ for _, id_ in found.known] == ["1", "2"]


def test_one_id_with_one_text_is_a_repeat_and_with_two_texts_is_left_out_naming_the_line(tmp_path):
    found, rows = imported(tmp_path, "id,question\n1,a?\n1,A?\n1,b?\n2,b?\n")
    assert pairs(rows) == [("1", "a?"), ("2", "b?")] and rows[0]["asked"] == 2
    assert [(x.line, x.reason) for x in found.left_out] == [
        (4, "its id '1' stands in line 2 with another text or answer")
    ]


def test_how_often_search_logs_say_it_was_asked_is_added_up(tmp_path):
    found, rows = imported(
        tmp_path, "query;count\nvpn;120\nVPN;3.0\nfax;\nmail;0\nlong;many\n", columns={"asked": "count"}
    )
    assert [(r["question"], r.get("asked", 1)) for r in rows] == [("vpn", 123), ("fax", 1)]
    assert [x.reason for x in found.left_out] == [
        f"asked is {w!r}; expected a whole number from 1" for w in ("0", "many")
    ]
    assert [q.asked for q in read_questions(tmp_path / "questions.jsonl", None).undecided] == [123, 1]


@pytest.mark.parametrize("groups", ["hr, it", ";", "h\u0007r"])
def test_groups_that_cannot_be_read_are_left_out_never_widened(tmp_path, groups):
    data = json.dumps({"id": "1", "question": "a?", "groups": groups})
    found, rows = imported(tmp_path, data, "t.jsonl")
    assert not rows and found.left_out[0].reason.startswith("groups ")


# -- what is in the file already stays ---------------------------------------------------------------------------------

MINE = '{"id": "q1", "question": "How?", "groups": [], "answerable": true, "expected": "So.", "doc":  "x"}'


def test_questions_that_stand_there_are_not_touched(tmp_path):
    to = tmp_path / "questions.jsonl"
    to.write_text(MINE, encoding="utf-8")  # without a line end
    found, rows = imported(tmp_path, "id,question\nq1,how?\nq9,HOW?\nq2,why?\n")
    assert read_text(to).splitlines()[0] == MINE and [row["id"] for row in rows] == ["q1", "q2"]
    assert (found.before, found.known, found.new) == (1, ((2, "q1"), (3, "q1")), ("q2",))


def test_an_answer_that_people_wrote_is_kept_when_the_export_comes_again_and_they_are_told(tmp_path):
    (tmp_path / "questions.jsonl").write_text(f"{MINE}\n", encoding="utf-8")
    for data in ("id,question,expected\nq1,how?,else\n", "question,expected\nhow?,else\n"):
        found, rows = imported(tmp_path, data)
        assert (found.known, found.differing, found.conflicts) == (((2, "q1"),), ((2, "q1"),), ())
        assert rows == [json.loads(MINE)]
        assert "Another answer than in questions.jsonl, which was kept: line 2 (q1)." in repr(tables.imported(found))


def test_an_id_that_stands_there_with_another_text_is_an_error_naming_both_lines(tmp_path):
    to = tmp_path / "questions.jsonl"
    to.write_text(f"\n{MINE}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"tickets\.csv, line 3 and .*questions\.jsonl, line 2: the id 'q1'"):
        imported(tmp_path, "id,question\nq2,new?\nq1,why?\n")
    assert read_text(to) == f"\n{MINE}\n"


def test_a_text_that_was_amended_since_is_known_by_its_old_words(tmp_path):
    amended = json.loads(MINE) | {"amendments": [{"field": "question", "old": "How so?"}]}
    (tmp_path / "questions.jsonl").write_text(json.dumps(amended), encoding="utf-8")
    assert imported(tmp_path, "id,question\nq1,how so?\n")[0].known == ((2, "q1"),)


def test_a_file_of_questions_that_is_not_as_agreed_is_not_appended_to(tmp_path):
    to = tmp_path / "questions.jsonl"
    to.write_text('{"id": 7}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"questions\.jsonl, line 1"):
        imported(tmp_path, "question\na?\n")
    assert read_text(to) == '{"id": 7}\n'


@pytest.mark.parametrize(
    ("to", "message"), [("none/questions.jsonl", "rag-pilot new NAME"), ("questions.csv", "ends in .jsonl")]
)
def test_only_a_pilots_questions_file_is_written(tmp_path, to, message):
    (tmp_path / "t.txt").write_text("a?", encoding="utf-8")
    with pytest.raises(DataError, match=message):
        import_questions(tmp_path / "t.txt", tmp_path / to)
    assert [p.name for p in tmp_path.iterdir()] == ["t.txt"]


# -- the counts add up -------------------------------------------------------------------------------------------------

CELL = st.one_of(
    st.sampled_from(
        ["", " ", "a", "A ", "b", "é", "e\u0301", "None", "hr", "1", "2", "x;y", "x,y", 'say "a"', "two\nlines"]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=6),
)


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(CELL, min_size=0, max_size=4), max_size=12),
    st.sampled_from([("id", "question", "expected"), ("question", "groups"), ("id", "subject", "body")]),
    st.sampled_from(",;\t"),
    st.booleans(),
)
@example([["a", "a", "a"], ["a", "a", "b"]], ("id", "question", "expected"), ",", True)
@example([["a", "b", ""], ["a", "c", ""], ["b", "c", ""]], ("id", "question", "expected"), ",", True)
def test_every_row_ends_as_a_question_a_repeat_or_on_a_list_and_none_is_lost(tmp_path, rows, head, delimiter, twice):
    (tmp_path / "questions.jsonl").unlink(missing_ok=True)
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows([head, *rows])
    try:
        found, written = imported(
            tmp_path, text.getvalue(), columns={"question": head[1] if head[0] == "id" else head[0]}
        )
    except DataError as fault:
        assert "quotation marks" in str(fault)  # a lone \x85 or the like that csv does not quote
        return
    full = [row for row in rows if any(cell.strip() for cell in row)]
    outcomes = Counter({"new": len(found.new), "repeat": len(found.repeats), "out": len(found.left_out)})
    assert outcomes.total() == found.rows == len(full) and not found.known
    assert found.export.blank == len(rows) - len(full)
    assert sum(row.get("asked", 1) for row in written) == len(found.new) + len(found.repeats)
    lines = [x.line for x in found.left_out] + [line for line, _ in found.repeats]
    assert len(set(lines)) == len(lines)
    assert len({(fold(r["question"]), tuple(r["groups"]), r.get("expected")) for r in written}) == len(written)
    if twice:
        again, rows_again = imported(tmp_path, text.getvalue(), columns=found.columns.taken)
        assert rows_again == written and not again.new
        assert len(again.known) + len(again.left_out) == again.rows == found.rows
        assert len(again.known) >= len(found.new) + len(found.repeats)


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(["t.csv", "t.tsv", "t.txt", "t.jsonl", "t.json", "t.xlsx"]),
    st.binary(max_size=60)
    | st.lists(
        st.sampled_from(
            [
                b"question",
                b"id",
                b";",
                b",",
                b"\t",
                b"\n",
                b"\r",
                b'"',
                b"a?",
                b"\xef\xbb\xbf",
                b"\xff\xfe",
                b"\xe9",
                b"\xc3\xa9",
            ]
            + [
                b"{",
                b"}",
                b"[",
                b"]",
                b":",
                b'"id"',
                b'"question"',
                b"1e999",
                b"NaN",
                b"\x00",
                b"\x85",
                b"sep=;",
                b'sep="',
                b"null",
            ]
        ),
        max_size=20,
    ).map(b"".join),
)
def test_whatever_bytes_a_file_holds_it_is_imported_or_refused_in_words(tmp_path, name, data):
    (tmp_path / "questions.jsonl").unlink(missing_ok=True)
    try:
        found, rows = imported(tmp_path, data, name, mask_contacts=True)
        assert len(rows) == len(found.new)
        repr(tables.imported(found))
    except DataError as fault:
        assert name in str(fault) and not (tmp_path / "questions.jsonl").exists()


# -- seen by people ----------------------------------------------------------------------------------------------------


def test_the_table_shows_columns_counts_and_every_line_left_out(tmp_path):
    data = (
        "Nr;Betreff;Beschreibung;Status;Antwort;Lösung\n"
        + "".join(f"{i};T{i};;x;;\n" for i in range(30))
        + ";a;;;;\n" * 3
    )
    found, _ = imported(tmp_path, data + "31;T1;;;;\n32;b;mail x@y.org;;;\n33;b\n", mask_contacts=True)
    shown = repr(tables.imported(found))
    for words in (
        "31 new questions from 36 rows",
        "a table separated by ';', read as UTF-8",
        "question  Betreff  by its name",
        "body  Beschreibung  by its name",
        "expected  none  Antwort and Lösung are equally good: say which with --column expected=",
        "Columns not used: Status, Antwort, Lösung.",
        "Repeats of one of these, counted with it  1",
        "no id, though the others have one: give it one  32-34",
        "2 fields, the header has 6",
        "1 e-mail address, 0 phone numbers; names of people",
        "Left out  4",
    ):
        assert words in shown, words
    assert by_reason(found.left_out) == {
        x.reason: [y.line for y in found.left_out if y.reason == x.reason] for x in found.left_out
    }


def test_the_command_imports_and_says_what_became_of_it(tmp_path, monkeypatch, capsys):
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    to = write_starter(tmp_path / "data", "acme") / "questions.jsonl"

    def command(*options: str) -> tuple[int, str]:
        code = main(["import", "t.csv", "--to", str(to), *options])
        said = capsys.readouterr()
        assert bool(said.err) == (code == 2)
        return code, said.out + said.err

    assert command() == (2, "rag-pilot: t.csv: no such file\n")
    Path("t.csv").write_text("Ticket;Title;Subject\n1;Call 06 12 34 56 78;a\n2;;b\n", encoding="utf-8")
    code, said = command()
    assert code == 2 and "t.csv: the columns 'Title' and 'Subject' could each be the question: say which with" in said
    assert "'Ticket', 'Title', 'Subject'" in said and read_text(to) == ""
    code, said = command("--column", "question=title", "--mask")
    assert code == 1 and "1 new question from 2 rows" in said and "no question  3" in said
    assert [row["question"] for _, row in read_jsonl(to)] == ["Call [phone]"]
    code, said = command("--column", "question=Subject", "--column", "id=")
    assert code == 0 and "made for the new questions: t0001 to t0002" in said
    code, said = command("--column", "x")
    assert code == 2 and "expected FIELD=NAME" in said


def test_the_program_itself_imports(tmp_path):
    (tmp_path / "t.txt").write_text("a?\n", encoding="utf-8")
    done = rag_pilot(tmp_path, "import", "t.txt", "--to", "questions.jsonl")
    assert done.returncode == 0 and "1 new question from 1 row." in done.stdout and not done.stderr


def test_a_pilot_imports_beside_its_questions_groups_them_and_asks_none_of_them(tmp_path):
    pilot = tiny_pilot(tmp_path)
    before = read_text(pilot.data / "questions.jsonl")
    export = tmp_path / "export.txt"
    export.write_text("Is leave paid?\nis leave PAID\nHow many days of annual leave a year?\nFax?\n", encoding="utf-8")
    found = pilot.import_questions(export)
    assert (len(found.new), len(found.known)) == (3, 1) and read_text(pilot.data / "questions.jsonl").startswith(before)
    assert {q.lang for q in pilot.questions.undecided} == {"en"}  # the one language of this pilot
    assert len(pilot.questions) == 6 and [q.id for q in pilot.questions.undecided] == ["t0001", "t0002", "t0003"]
    shown = repr(tables.question_groups(pilot.question_groups(), pilot.readers))
    assert "9 questions in 8 groups. 2 groups without" in shown and "by their letters alone" in shown
    assert shown.index("is leave PAID  2  Is leave paid?  t0002, t0001  –") < shown.index("Fax?")
    assert "6 groups of chosen ones alone, not shown" in shown and "taxi" not in shown
    secret, open_ = tmp_path / "secret.csv", "What does band 9 pay a year ?"
    secret.write_text(f"question,groups\n{open_},hr\n", encoding="utf-8")
    pilot.import_questions(secret)
    shown = repr(tables.question_groups(pilot.question_groups(), pilot.readers))
    assert "not shown here (asked in hr)  2  –  q5, t0004  q5" in shown and "band 9" not in shown
    assert open_ in repr(tables.question_groups(pilot.question_groups(), {"hr", "all-staff"}))


def test_a_pilot_without_undecided_questions_has_nothing_to_group(tmp_path):
    pilot = tiny_pilot(tmp_path)
    assert "No candidates" in repr(tables.question_groups(pilot.question_groups()))


def test_check_of_a_pilot_says_what_gain_it_can_show_and_that_an_empty_set_is_an_error(tmp_path):
    pilot = tiny_pilot(tmp_path)
    assert [f.what for f in pilot.check() if "gain" in f.what] == [
        "no gain of a change can be shown by 4 answerable questions"
    ]
    lines = [json.dumps({"id": f"u{i}", "question": f"{i}?", "expected": "25 days", "doc": "leave", "groups": [],
                         "answerable": True}) for i in range(172)]  # fmt: skip
    (pilot.data / "questions.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (note,) = [f for f in pilot.check() if f.severity == "note"]
    assert "by these 172 answerable questions: 6.3 points (if" in note.what and "1 planned change)" in note.what
    assert "answerable questions: 7.7 points" in can_detect(200, 5).what  # 7.8 by simulation
    for empty in ("", "\n\n"):
        (pilot.data / "questions.jsonl").write_text(empty, encoding="utf-8")
        assert [(f.severity, f.what) for f in pilot.check()] == [("error", "no questions")]
    (pilot.data / "questions.jsonl").unlink()
    assert [(f.severity, f.what) for f in pilot.check()] == [("error", "no questions")]


def test_nothing_composed_differs_from_what_was_typed(tmp_path):
    typed = "Gdzie jest cafe\u0301?"
    assert imported(tmp_path, f"question\n{typed}\n")[1][0]["question"] == typed != unicodedata.normalize("NFC", typed)
