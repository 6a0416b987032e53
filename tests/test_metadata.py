from pathlib import Path

import pytest

from rag_pilot.corpus.access import Access, Entry
from rag_pilot.corpus.documents import Documents, Sources, read_documents
from rag_pilot.corpus.metadata import Metadata
from rag_pilot.errors import DataError

STAFF = Access((Entry("**", frozenset({"all-staff"}), owner="Head of IT", line=2),))
HEADER = "path,title,link,updated,review_by,lang,owner\n"


def metadata_of(tmp_path: Path, content: str | bytes) -> Metadata:
    path = tmp_path / "documents.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Metadata.read(path)


def read(tmp_path: Path, files: dict[str, str], table: str) -> Documents:
    folder = tmp_path / "documents"
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content, encoding="utf-8")
    return read_documents(folder, STAFF, Sources(metadata_of(tmp_path, table)))


def test_it_says_what_a_file_cannot_say_of_itself_and_owners_of_access_csv_come_last(tmp_path):
    line = "hr/pay.txt,Pay bands,https://x.example/p,2026-03-14,2027-01-01,en-GB,Head of HR\n"
    (pay, tea) = read(tmp_path, {"hr/pay.txt": "# Other", "tea.txt": "x"}, HEADER + line).documents
    assert (pay.title, pay.link, pay.updated, pay.review_by, pay.lang, pay.owner) == (
        "Pay bands",
        "https://x.example/p",
        "2026-03-14",
        "2027-01-01",
        "en",
        "Head of HR",
    )
    assert (tea.title, tea.owner) == ("tea", "Head of IT")


def test_an_empty_cell_says_nothing_so_that_a_wider_line_speaks_for_its_column(tmp_path):
    table = HEADER + "**,,,,2027-01-01,fr,\nhr/**,,,,2026-06-01,,Head of HR\nhr/pay.txt,Pay,,,,,\n"
    (pay,) = read(tmp_path, {"hr/pay.txt": "x"}, table).documents
    assert (pay.title, pay.review_by, pay.lang, pay.owner) == ("Pay", "2026-06-01", "fr", "Head of HR")


def test_front_matter_that_says_otherwise_refuses_the_file_naming_both(tmp_path):
    files = {
        "a.md": "---\ntitle: Pay\nlang: en\n---\nx",
        "b.md": "---\nlang: fr\n---\nx",
        "c.md": "---\nlink: y\n---\nx",
    }
    found = read(tmp_path, files, HEADER + "*.md,,,,,en,\na.md,Wages,,,,,\n")
    assert [d.id for d in found.documents] == ["c"]
    assert [s.reason for s in found.skipped] == [
        "a.md: its front matter says title 'Pay', line 3 of documents.csv says 'Wages'; make them agree or remove one",
        "b.md: its front matter says lang 'fr', line 2 of documents.csv says 'en'; make them agree or remove one",
    ]


def test_lines_that_only_overlap_refuse_the_file_where_both_fill_the_column(tmp_path):
    found = read(tmp_path, {"hr/pay.txt": "x"}, "path,title,lang\nhr/*,A,\n**/pay*,B,en\n")
    assert "lines 2 (hr/*), 3 (**/pay*) of documents.csv give it a title" in found.skipped[0].reason
    (pay,) = read(tmp_path, {"hr/pay.txt": "x"}, "path,title,lang\nhr/*,A,\n**/pay*,,en\n").documents
    assert (pay.title, pay.lang) == ("A", "en")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER + "a.pdf,,,14/03/2026,,,\n", "line 2: updated is '14/03/2026'; expected a date such as 2026-03-14"),
        (HEADER + "a.pdf,,,,2026-02-30,,\n", "line 2: review_by is '2026-02-30'"),
        (HEADER + "a.pdf,,,,March 2026,,\n", "line 2: review_by is 'March 2026'"),
        (HEADER + "a.pdf,,,,,français,\n", "line 2: lang is 'français'"),
        (HEADER + ",A,,,,,\n", "line 2: path is empty"),
        (HEADER + "a.pdf,A,,,,,\nA.PDF,B,,,,,\n", "lines 2 and 3: 'A.PDF' stands twice"),
        ("path,groups\na.pdf,hr\n", "column 'groups' is unknown"),
        ("title\nA\n", "path is missing"),
        (HEADER + "a.pdf,A\n", "line 2: 2 fields, the header has 7"),
        ("", "the file is empty"),
    ],
)
def test_faults_name_file_and_line(tmp_path, content, message):
    with pytest.raises(DataError, match=f"documents.csv.*{message}"):
        metadata_of(tmp_path, content)


def test_excel_s_semicolons_and_cp1252_read_alike_and_no_file_says_nothing(tmp_path):
    found = metadata_of(
        tmp_path, "path;title\nCONGE\u0301S\\a.pdf;Congés – été\n".replace("E\u0301", "É").encode("cp1252")
    )
    assert found.of("conge\u0301s/a.pdf")["title"].value == "Congés – été"
    assert Metadata.read(None).of("a.pdf") == {}


def test_a_line_that_matches_no_file_is_noted(tmp_path):
    found = read(tmp_path, {"a.txt": "x"}, HEADER + "b.txt,B,,,,,\n")
    assert found.notes == ("documents.csv, line 2: b.txt matches no file; check its spelling",)
