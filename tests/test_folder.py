import os
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from rag_pilot.corpus.access import Access, Entry
from rag_pilot.corpus.documents import Sources, read_document, read_documents
from rag_pilot.corpus.folder import files_below
from rag_pilot.errors import DataError

STAFF = Access((Entry("**", frozenset({"all-staff"}), line=2),))
NOBODY = 65534


@contextmanager
def as_nobody():
    """For the root of a container, to whom no file is closed."""
    if os.geteuid() == 0:
        os.seteuid(NOBODY)
        try:
            yield
        finally:
            os.seteuid(0)
    else:
        yield


@pytest.fixture
def public():
    """A folder that everybody may enter, which pytest's own are not."""
    with tempfile.TemporaryDirectory(dir="/tmp" if Path("/tmp").is_dir() else None) as name:
        Path(name).chmod(0o755)
        yield Path(name)
        for path in Path(name).rglob("*"):
            path.chmod(0o755)


@pytest.mark.skipif(os.name == "nt", reason="Windows closes files in another way")
def test_closed_files_and_folders_are_listed_and_the_others_load(public):
    for name in ("shut/a.md", "listed/b.md", "c.md", "d.md"):
        (public / name).parent.mkdir(exist_ok=True)
        (public / name).write_text("text", encoding="utf-8")
    assert len(read_documents(public, STAFF).documents) == 4  # what is imported late is imported now, while we may
    for name, mode in (("shut", 0o000), ("listed", 0o444), ("c.md", 0o000)):
        (public / name).chmod(mode)
    with as_nobody():
        found = read_documents(public, STAFF)
    assert [d.path for d in found.documents] == ["d.md"]
    assert [(s.path, s.reason.partition(";")[0]) for s in found.skipped] == [
        ("c.md", "c.md: cannot be opened (Permission denied)"),
        ("listed/b.md", "listed/b.md: cannot be opened (Permission denied)"),
        ("shut", "shut: cannot be opened (Permission denied)"),
    ]


def test_a_file_that_vanishes_between_listing_and_reading_is_refused(tmp_path):
    with pytest.raises(DataError, match="gone.md: cannot be opened .*No such file.*that it is there"):
        read_document(tmp_path, "gone.md", STAFF)


def test_loops_pipes_and_links_are_listed_never_followed(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "lost.md").symlink_to(tmp_path / "nowhere.md")
    os.mkfifo(tmp_path / "pipe.md")
    (tmp_path / "real.md").write_text("text", encoding="utf-8")
    (tmp_path / "link.md").symlink_to(tmp_path / "real.md")
    assert [(name, cause) for name, reason, cause in files_below(tmp_path) if reason] == [
        ("link.md", "name"),
        ("loop", "name"),
        ("lost.md", "name"),
        ("pipe.md", "name"),
        ("up", "name"),
    ]
    assert [d.path for d in read_documents(tmp_path, STAFF).documents] == ["real.md"]


def test_a_link_in_an_open_folder_does_not_open_what_is_closed(tmp_path):
    (tmp_path / "hr").mkdir()
    (tmp_path / "hr" / "pay.md").write_text("Salary bands", encoding="utf-8")
    (tmp_path / "faq.md").symlink_to(tmp_path / "hr" / "pay.md")
    access = Access((*STAFF.entries, Entry("hr/**", frozenset({"hr"}), line=3)))
    assert [(d.path, d.groups) for d in read_documents(tmp_path, access).documents] == [("hr/pay.md", {"hr"})]


def test_names_that_no_table_can_hold_are_refused_and_those_of_other_languages_are_not(tmp_path):
    for name in (b"line\nbreak.md", b"caf\xe9.md", b"bell\x07.md"):
        (Path(os.fsdecode(os.fsencode(tmp_path) + b"/" + name))).write_bytes(b"x")
    good = ["Congés\u00a02026.md", "łąka.md", "文書.md", "a'b\"c;d,e.md", "[1] (2).md"]
    for name in good:
        (tmp_path / name).write_text("x", encoding="utf-8")
    found = read_documents(tmp_path, STAFF)
    assert sorted(d.path for d in found.documents) == sorted(good)
    assert [(s.path, s.cause) for s in found.skipped] == [
        (r"'bell\x07.md'", "name"),
        (r"'caf\udce9.md'", "name"),
        (r"'line\nbreak.md'", "name"),
    ]


def test_empty_files_are_listed(tmp_path):
    for name in ("a.md", "b.txt", "c.html", "d.docx", "e.pdf"):
        (tmp_path / name).write_bytes(b"")
    found = read_documents(tmp_path, STAFF)
    assert found.documents == ()
    assert [s.path for s in found.skipped] == ["a.md", "b.txt", "c.html", "d.docx", "e.pdf"]


def test_paths_that_differ_in_case_or_composition_alone_are_refused_because_one_line_would_open_both(tmp_path):
    for name in ("Pay.md", "pay.MD", "hr/é.md", "hr/e\u0301.txt", "tea.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    if len(list(tmp_path.glob("*.*"))) == 2:
        pytest.skip("this file system knows them as one file")
    found = read_documents(tmp_path, Access((*STAFF.entries, Entry("pay.md", frozenset({"hr"}), line=3))))
    assert [d.path for d in found.documents] == ["tea.md"]
    reasons = [s.reason for s in found.skipped]
    assert "Pay.md: a line of access.csv cannot tell it from pay.MD; rename one" in reasons
    assert any("has the same id as" in r and r.startswith("hr/e\u0301.txt") for r in reasons)
    assert all(s.groups == frozenset() for s in found.skipped if s.path.casefold() == "pay.md")


def test_ids_may_be_paths_where_names_repeat(tmp_path):
    for name in ("index.md", "hr/index.md", "hr/v1.2.md", "it/index.md", "it/index.html"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x", encoding="utf-8")
    by_name = read_documents(tmp_path, STAFF)
    assert [d.id for d in by_name.documents] == ["v1.2"]
    assert 'or set ids = "path" in [documents] of pilot.toml' in by_name.skipped[0].reason
    by_path = read_documents(tmp_path, STAFF, Sources(ids="path"))
    assert [(d.id, d.title) for d in by_path.documents] == [
        ("hr/index", "index"),
        ("hr/v1.2", "v1.2"),
        ("index", "index"),
    ]
    assert [s.reason for s in by_path.skipped] == [
        "it/index.html: has the same id as it/index.md; rename one",
        "it/index.md: has the same id as it/index.html; rename one",
    ]
