"""Labels that go to a spreadsheet and come back: what is saved, what is refused, and that nothing is lost or copied."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from openpyxl import Workbook
from tiny import SECRET, run_and_label, tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.corpus.escaping import escaped, unescaped
from rag_pilot.errors import DataError
from rag_pilot.grading.items import Item, ShownPassage
from rag_pilot.grading.labels import LabelStore
from rag_pilot.grading.labels_csv import COLUMNS, Exported, Returned, export_labels, import_labels
from rag_pilot.records import Label

EVERYONE = frozenset({"all-staff"})
OPEN, CLOSED = ShownPassage(1, "Zażółć: 38 €.", EVERYONE, "d1", "Fees", cited=True), ShownPassage(1, "x", frozenset())


def item(id_: str, position: int, question: str, answer: str, passage: ShownPassage = OPEN) -> Item:
    sha = f"12e{position}567890123456"  # a number, for a spreadsheet
    return Item(
        id_, "run-1", sha, question, answer, (passage,), "Expected; é", "d1", "Fees", "", "", EVERYONE, position
    )


ITEMS = (
    item("00417", 2, "Où est « le café » ?", "+33 1 23 [1]"),
    item("q2", 1, "=1+1; why?", 'He said "no",\nthen [1].'),
    item("q3", 3, "Third?", "Never [1].", CLOSED),
)


@pytest.fixture
def store(tmp_path: Path) -> LabelStore:
    return LabelStore(tmp_path / "labels.jsonl")


def export(store: LabelStore, path: Path, **more: str) -> Exported:
    return export_labels(ITEMS, store, "Maud", path, seed=1, groups=EVERYONE, **more)


def back(store: LabelStore, path: Path, items: tuple[Item, ...] = ITEMS, encoding: str | None = None) -> Returned:
    return import_labels(path, items, store, "Maud", seed=1, groups=EVERYONE, encoding=encoding)


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def write(path: Path, rows: list[dict[str, str]], columns: tuple[str, ...] = COLUMNS, **how: str) -> Path:
    file = io.StringIO(newline="")
    writer = csv.DictWriter(file, columns, delimiter=how.get("delimiter", ","), extrasaction="ignore")
    writer.writeheader()  # lines end in CRLF, as Excel writes them
    writer.writerows(rows)
    path.write_bytes(file.getvalue().encode(how.get("encoding", "utf-8-sig")))
    return path


@pytest.fixture
def rows(store: LabelStore, tmp_path: Path) -> list[dict[str, str]]:
    export(store, tmp_path / "out.csv")
    return rows_of(tmp_path / "out.csv")


def saved(store: LabelStore) -> list[tuple[str, str | None]]:
    return [(label.question_id, label.label) for label in store.read()]


def test_the_export_is_in_seeded_order_blind_and_leaves_out_what_she_may_not_open(store, tmp_path):
    store.add(Label("q2", ITEMS[1].answer_sha, "Maud", "wrong", cause="not_retrieved", note="n", stale=True))
    store.add(Label("q2", ITEMS[1].answer_sha, "Judith", "correct"))
    done = export(store, tmp_path / "out.csv")
    assert (done.rows, done.labelled, done.hidden, done.needed) == (2, 1, 1, ("",))
    first, second = rows_of(tmp_path / "out.csv")
    assert tuple(first) == COLUMNS
    assert (first["id"], second["id"]) == ("q2", "'00417")
    assert [first[c] for c in ("label", "cause", "note", "also", "stale")] == ["wrong", "not_retrieved", "n", "", "yes"]
    assert [second[c] for c in ("label", "cause", "note", "also", "stale", "saved_at")] == [""] * 6
    assert first["passages"] == "[1] Fees \nZażółć: 38 €."
    assert not {"judge", "verdict", "score", "similarity", "retriever", "rank", "kind"} & {c.lower() for c in first}


def test_no_cell_runs_as_a_formula_or_loses_its_zeros(rows):
    assert (rows[0]["question"], rows[1]["answer"]) == ("'=1+1; why?", "'+33 1 23 [1]")
    assert rows[0]["answer_sha"] == "'" + ITEMS[1].answer_sha
    assert not [cell for row in rows for cell in row.values() if cell[:1] in tuple("=+-@\t\r")]


@given(st.text(alphabet="'=+-@＝\t\n\r 09e.,/%a\"") | st.text())  # noqa: RUF001
@example("'=1")
@example("''=1")
@example(" =1")
@example("00417")
@example("'tis")
def test_escaping_gives_the_text_back_and_never_begins_a_formula(text):
    assert unescaped(escaped(text)) == text
    assert escaped(text).lstrip(" \n")[:1] not in tuple("=+-@＝")  # noqa: RUF001


@pytest.mark.parametrize("text", ["00417", "12e4567890123456", "2024-01", "1.50", "10 %", "1/2"])
def test_what_a_spreadsheet_would_read_as_a_number_or_date_is_escaped(text):
    assert escaped(text) == "'" + text


@pytest.mark.parametrize("text", ["", "q1", "25 days", "a=b", "'tis", "...", "e"])
def test_other_texts_stay_as_they_are(text):
    assert escaped(text) == text


def test_an_apostrophe_that_she_wrote_stays(rows, store, tmp_path):
    rows[0] |= {"label": "wrong", "note": "'tis old", "also": "=d2"}
    back(store, write(tmp_path / "in.csv", rows))
    assert [(label.note, label.also) for label in store.read()] == [("'tis old", "=d2")]


@pytest.mark.parametrize(
    "how",
    [
        {},
        {"encoding": "utf-8"},
        {"encoding": "utf-16"},
        {"encoding": "utf-16", "delimiter": "\t"},
        {"delimiter": ";"},
        {"delimiter": ";", "encoding": "cp1252"},
    ],
)
def test_whatever_a_spreadsheet_saves_the_labels_come_back_as_they_were_written(how, rows, store, tmp_path):
    for row in rows:
        row["passages"] = "Excel cannot save every letter"
    rows[0] |= {"label": "Wrong ", "cause": "not_retrieved", "note": "déjà vu – 38 €\nzweite; Zeile", "stale": "TRUE"}
    rows[1]["label"] = "correct"
    done = back(store, write(tmp_path / "in.csv", rows[::-1], **how))
    assert (done.new, done.refused) == (("00417", "q2"), ())
    second, first = store.read()
    assert (first.label, first.cause, first.stale) == ("wrong", "not_retrieved", True)
    assert first.note == "déjà vu – 38 €\nzweite; Zeile"
    assert (first.run_id, first.position, first.seed, first.kind, first.annotator) == ("run-1", 1, 1, "label", "Maud")
    assert first.saved_at and not first.shown_at
    assert (second.question_id, second.answer_sha) == ("00417", ITEMS[0].answer_sha)


def test_a_workbook_does_as_well_and_an_id_that_it_made_a_number_is_refused(rows, store, tmp_path):
    book = Workbook()
    book.active.append(list(COLUMNS))
    for row in rows:
        row["label"] = "correct"
        book.active.append([417 if c == "id" and row[c] == "'00417" else row[c] for c in COLUMNS])
    book.save(tmp_path / "in.xlsx")
    done = back(store, tmp_path / "in.xlsx")
    assert done.new == ("q2",)
    assert [(left.line, left.reason) for left in done.refused] == [
        (3, "417: none of the answers that Maud reads and may open has this id")
    ]


def test_reordered_and_added_columns_change_nothing(rows, store, tmp_path):
    rows[0]["label"] = "partly"
    columns = (*sorted(COLUMNS, reverse=True), "my own")
    done = back(store, write(tmp_path / "in.csv", [row | {"my own": "x"} for row in rows], columns))
    assert (done.new, done.empty, done.refused) == (("q2",), 1, ())


@pytest.mark.parametrize("gone", [("label",), ("answer_sha",), ("id", "stale")])
def test_a_missing_column_is_named_and_nothing_is_saved(gone, rows, store, tmp_path):
    rows[0]["label"] = "correct"
    kept = tuple(c for c in COLUMNS if c not in gone)
    with pytest.raises(DataError, match=f"no column {', '.join(gone)}; the columns are {kept[0]}"):
        back(store, write(tmp_path / "in.csv", rows, kept))
    assert saved(store) == []


def test_two_columns_of_one_name_are_refused(rows, store, tmp_path):
    path = write(tmp_path / "in.csv", rows)
    path.write_text(path.read_text(encoding="utf-8-sig").replace("note", "Label", 1), encoding="utf-8")
    with pytest.raises(DataError, match="no column note"):
        back(store, path)
    path.write_text(path.read_text(encoding="utf-8").replace("document", "note", 1), encoding="utf-8")
    with pytest.raises(DataError, match="the column label stands twice"):
        back(store, path)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"label": "korrekt"}, "label is 'korrekt', expected one of correct, partly, wrong, declined"),
        ({"cause": "tired"}, "cause is 'tired', expected one of"),
        ({"label": "correct", "cause": "not_retrieved"}, "though the label is correct"),
        ({"stale": "maybe"}, "stale is 'maybe', expected yes or nothing"),
        ({"id": "q9"}, "q9: none of the answers that Maud reads and may open has this id"),
        ({"id": "q3"}, "q3: none of the answers that Maud reads and may open has this id"),
        ({"id": "'00417"}, "00417: this id stands in 2 rows"),
        ({"answer_sha": "0123"}, "the answer has changed since the export, or the cell was edited"),
        ({"answer_sha": ITEMS[0].answer_sha}, "q2: answer_sha is that of 00417: was a part of the table sorted?"),
        ({"question": "Third?"}, "q2: the question is another one"),
        ({"label": "", "note": "look"}, "q2: note without a label"),
    ],
)
def test_a_faulty_row_is_named_by_its_line_and_the_good_ones_are_saved(change, reason, rows, store, tmp_path):
    rows[0] |= {"label": "wrong"} | change
    good = {**rows[1], "label": "correct"}
    done = back(store, write(tmp_path / "in.csv", [rows[0], good]))
    twice = change.get("id") == "'00417"
    assert [left.line for left in done.refused] == ([2, 5] if twice else [2])
    assert all(reason in left.reason for left in done.refused)
    assert saved(store) == ([] if twice else [("00417", "correct")])


def test_a_row_of_too_many_cells_is_refused_and_the_others_are_saved(rows, store, tmp_path):
    rows[0]["label"] = rows[1]["label"] = "correct"
    path = write(tmp_path / "in.csv", rows)
    path.write_text(path.read_text(encoding="utf-8-sig").rstrip() + ",more\n", encoding="utf-8")
    done = back(store, path)
    assert (done.new, [left.line for left in done.refused]) == (("q2",), [5])  # two cells above hold a line end each


def test_an_answer_that_changed_after_the_export_is_stale_and_gets_no_label(rows, store, tmp_path):
    rows[0]["label"] = "correct"
    other = Item(**{**vars(ITEMS[1]), "answer": "Another text", "answer_sha": "fedcba9876543210"})
    done = back(store, write(tmp_path / "in.csv", rows), (ITEMS[0], other))
    assert (saved(store), len(done.refused), done.empty) == ([], 1, 1)


def test_the_same_file_again_writes_nothing_and_a_changed_label_is_a_new_line(rows, store, tmp_path):
    rows[0] |= {"label": "wrong", "note": "n"}
    back(store, write(tmp_path / "in.csv", rows))
    done = back(store, tmp_path / "in.csv")
    assert (done.new, done.changed, done.unchanged, len(store.read())) == ((), (), 1, 1)
    rows[0]["label"] = "partly"
    done = back(store, write(tmp_path / "in.csv", rows))
    assert (done.new, done.changed, saved(store)) == ((), ("q2",), [("q2", "wrong"), ("q2", "partly")])


def test_an_emptied_label_is_not_taken_back_and_is_told(store, tmp_path):
    store.add(Label("q2", ITEMS[1].answer_sha, "Maud", "wrong", note="n"))
    export(store, tmp_path / "out.csv")
    rows = rows_of(tmp_path / "out.csv")
    rows[0]["label"] = ""
    done = back(store, write(tmp_path / "in.csv", rows))
    assert (done.kept, done.refused, saved(store)) == (("q2",), (), [("q2", "wrong")])


def test_a_label_given_in_the_form_since_the_export_is_not_overwritten(store, tmp_path):
    times = {"shown_at": "2026-09-15T14:03:11+02:00", "saved_at": "2026-09-15T14:03:20+02:00"}
    store.add(Label("q2", ITEMS[1].answer_sha, "Maud", "wrong", **times))
    export(store, tmp_path / "out.csv")
    store.add(Label("q2", ITEMS[1].answer_sha, "Maud", "correct", **times | {"saved_at": "2026-09-15T15:00:00+02:00"}))
    done = back(store, tmp_path / "out.csv")
    assert "q2: the form saved 'correct' after this file was exported" in done.refused[0].reason
    assert saved(store)[-1] == ("q2", "correct")


def test_a_label_that_was_taken_back_since_the_export_does_not_come_back(store, tmp_path):
    times = {"shown_at": "2026-09-15T14:03:11+02:00", "saved_at": "2026-09-15T14:03:20+02:00"}
    given = store.add(Label("q2", ITEMS[1].answer_sha, "Maud", "wrong", **times))
    export(store, tmp_path / "out.csv")
    store.retract(given)
    done = back(store, tmp_path / "out.csv")
    assert "q2: its label was taken back after this file was exported" in done.refused[0].reason
    assert store.counting() == []


def test_a_correct_answer_whose_reference_is_wrong_comes_back_as_it_went(store, tmp_path):
    store.add(Label("q2", ITEMS[1].answer_sha, "Maud", "correct", cause="reference_wrong"))
    export(store, tmp_path / "out.csv")
    done = back(store, tmp_path / "out.csv")
    assert (done.refused, done.unchanged) == ((), 1)


def test_a_file_with_labels_in_it_is_not_written_over(rows, store, tmp_path):
    with pytest.raises(DataError, match="exists and may hold labels"):
        export(store, tmp_path / "out.csv")


def test_a_store_that_cannot_be_written_says_how_much_was_saved(rows, tmp_path):
    (tmp_path / "folder").write_text("a file, where a folder is needed")
    rows[0]["label"] = "wrong"
    with pytest.raises(DataError, match="0 of 1 labels were saved before that"):
        back(LabelStore(tmp_path / "folder" / "labels.jsonl"), write(tmp_path / "in.csv", rows))


def test_the_commands_export_blind_for_her_groups_and_import_with_a_report(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pilot, file = tiny_pilot(tmp_path), tmp_path / "out.csv"

    def labels(way: str) -> tuple[int, str]:
        code = main(["labels", way, "tiny", "out.csv"])
        return code, "".join(capsys.readouterr())

    code, told = labels("export")
    assert code == 2 and "no finished run" in told
    run_and_label(pilot)
    code, told = labels("export")
    assert code == 0 and "3 answers for Maud, 3 of them labelled" in told
    assert "1 more left out: they hold text that needs hr" in told
    text = file.read_text(encoding="utf-8-sig")
    assert SECRET not in text and "band 7" not in text
    code, told = labels("import")
    assert code == 0 and "0 labels new, 0 changed, 3 as before" in told
    file.write_text(text.replace("wrong,", "partly,").replace("correct", "korrekt", 1), encoding="utf-8")
    code, told = labels("import")
    assert code == 1
    assert "1 changed, 1 as before; 0 rows without a label, 1 refused" in told
    assert "line 2 refused: q2: label is 'korrekt'" in told
    assert len(LabelStore(pilot.data / "labels.jsonl").read()) == 5
