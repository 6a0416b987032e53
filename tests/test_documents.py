import re
from pathlib import Path

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag_pilot.corpus.access import Access, Entry
from rag_pilot.corpus.documents import guess_language, read_documents, read_groups
from rag_pilot.corpus.front_matter import split_front_matter
from rag_pilot.errors import DataError, PilotError

STAFF = Access((Entry("**", frozenset({"all-staff"}), owner="Head of IT", sensitivity="internal", line=2),))


STAFF_X = Access((Entry("x.*", frozenset({"all-staff"}), line=2),))


def folder_of(tmp_path: Path, files: dict[str, str | bytes]) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir(parents=True)
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read(tmp_path, files, access=None):
    return read_documents(folder_of(tmp_path, files), access or Access())


def refused(tmp_path, content, name="x.md", access=None) -> str:
    """The reason why one file is refused, beside another that loads."""
    found = read(tmp_path, {name: content, "good.md": "---\ngroups: [hr]\n---\nfine"}, access)
    assert [d.id for d in found.documents] == ["good"] or access and len(found.documents) == 0
    assert [s.path for s in found.skipped if s.path == name] == [name]
    return next(s.reason for s in found.skipped if s.path == name)


# -- front matter ------------------------------------------------------------------------------------------------------


def test_front_matter_fills_the_record_and_leaves_the_text(tmp_path):
    content = (
        '---\ntitle: "Travel: booking"\nlink: https://x.example/t\ngroups: [hr, legal]\nupdated: 2026-03-14\n'
        "owner: Head of HR\nlang: fr-FR\nreview_by: 2027-03-31\nsensitivity: internal\n---\n# Other\n\nText.\n"
    )
    (document,) = read(tmp_path, {"hr/travel.md": content}).documents
    assert document.as_json() == {
        "id": "travel",
        "title": "Travel: booking",
        "text": "# Other\n\nText.\n",
        "groups": ["hr", "legal"],
        "path": "hr/travel.md",
        "link": "https://x.example/t",
        "owner": "Head of HR",
        "sensitivity": "internal",
        "updated": "2026-03-14",
        "review_by": "2027-03-31",
        "lang": "fr",
        "sha": document.sha,
    }
    assert len(document.sha) == 16


@pytest.mark.parametrize(
    ("written", "groups"),
    [
        ("hr-staff", {"hr-staff"}),
        ("hr, finance", {"hr", "finance"}),
        ("[NO, SE, on, 007, null, 1.0]", {"NO", "SE", "on", "007", "null", "1.0"}),
        ("\n- yes\n- 2026-01-01", {"yes", "2026-01-01"}),
        ('"null"', {"null"}),
        ("[hr] # who", {"hr"}),
        ("e\u0301quipe", {"équipe"}),
    ],
)
def test_group_names_stay_as_written(tmp_path, written, groups):
    (document,) = read(tmp_path, {"x.md": f"---\ngroups: {written}\n---\nbody"}).documents
    assert document.groups == groups


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("---\ngroups:\n---\n", "line 2: groups is empty"),
        ("---\ngroups: []\n---\n", "line 2: groups is empty"),
        ("---\ngroups: null\n---\n", "line 2: groups is empty"),
        ("---\ngroups: ~\n---\n", "line 2: groups is empty"),
        ("---\ngroups: hr,\n---\n", "line 2: groups holds ''"),
        ("---\ngroups: hr; it\n---\n", "line 2: groups holds 'hr; it'"),
        ("---\ngroups: {hr: yes}\n---\n", "line 2: groups holds a list or mapping"),
        ("---\ngroups: [[hr]]\n---\n", "line 2: groups holds a list or mapping"),
        ("---\ntitle: A\ngroups: hr #confidential\n---\n", "line 3: groups would be cut at '#confidential'"),
        ("---\ntitle: A\n\nGroups: [hr]\n---\n", "line 4: unknown key 'Groups'"),
        ("---\ngroup: [hr]\n---\n", "line 2: unknown key 'group'"),
        ("---\ngroups: [hr]\ntitle: A\ngroups: [all-staff]\n---\n", "line 4: the key groups stands twice"),
        ("---\ngroups: [hr]\ntitle: Ticket #42 guide\n---\n", "line 3: title would be cut at '#42 guide'"),
        ("---\ngroups: [hr]\ntitle: Travel: booking rules\n---\n", "line 3: .*quotes"),
        ("---\ngroups: [hr]\nowner: @ops\n---\n", "line 3: .*quotes"),
        ("---\ngroups:\n\t- hr\n---\n", "line 3: .*indent with blanks"),
        ("---\ngroups: [hr]\nupdated: 14/03/2026\n---\n", "line 3: updated is '14/03/2026'"),
        ("---\ngroups: [hr]\nlang: français\n---\n", "line 3: lang is 'français'"),
        ("---\ngroups: [hr]\n\nSalary bands\n", "line 1: .*never closed"),
        ("---\ngroups: [hr]\n\nSalary bands\n\n---\n", "line 5: front matter cannot be read"),
        ("---\n- hr\n---\n", "line 2: expected lines of `key: value`"),
        ("---\ngroups: " + "[" * 500 + "\n---\n", "line 2: front matter cannot be read"),
        ("---\ngroups: &a [*a]\n---\n", "line 2: groups holds a list"),
        ("<!-- export -->\n---\ngroups: [hr]\n---\n", "line 2: --- after blanks or a comment"),
        ("\n\n---\ngroups: [hr]\n---\n", "line 3: --- after blanks or a comment"),
        ("<!-- never closed\n---\ngroups: [hr]\n---\n", "line 3: found groups outside"),
        (" ---\n groups: [hr]\n ---\n", "line 1: --- after blanks"),
        ("*\n groups: [hr]\n", "line 2: found groups outside"),
        ("—\nGroups: hr\n—\n", "line 2: found groups outside"),
        ('++\ngroups = ["hr"]\n++\n', "line 2: found groups outside"),
        ("---\ntitle: A\n---\ngroups: [hr]\n", "line 4: found groups outside"),
    ],
)
def test_front_matter_that_cannot_be_trusted_is_refused_even_where_access_csv_is_open_to_all(tmp_path, head, message):
    found = read(tmp_path, {"x.md": head + "Salary bands", "good.md": "# Good"}, STAFF)
    assert [d.id for d in found.documents] == ["good"]
    assert [s.path for s in found.skipped] == ["x.md"]
    assert re.match(f"x.md, {message}", found.skipped[0].reason), found.skipped[0].reason


@pytest.mark.parametrize("mark", ["\ufeff", "\ufeff\ufeff"])
def test_a_byte_order_mark_and_windows_line_ends_hide_nothing(tmp_path, mark):
    (document,) = read(tmp_path, {"x.md": f"{mark}---\r\ngroups: [hr]\r\n---\r\nSalary bands"}).documents
    assert (document.groups, document.text) == ({"hr"}, "Salary bands")


def test_utf_16_is_read_with_its_mark_and_refused_without_never_read_as_text_without_front_matter(tmp_path):
    text = "---\ngroups: [hr]\n---\nPłaca"
    (document,) = read(tmp_path / "a", {"x.md": text.encode("utf-16")}).documents
    assert (document.groups, document.text) == ({"hr"}, "Płaca")
    assert "save the file as UTF-8" in refused(tmp_path, text.encode("utf-16-le"), access=STAFF_X)


def test_html_may_carry_front_matter_and_its_scripts_are_not_taken_for_it(tmp_path):
    files = {
        "a.html": "---\ngroups: hr\n---\n<p>Pay</p>",
        "b.html": "<html><script>\nvar x = {\n  groups: [1]}</script><p>Open</p></html>",
        "c.html": "<!-- x -->\n---\ngroups: hr\n---\n<p>Pay</p>",
    }
    found = read(tmp_path, files, Access((Entry("b.html", frozenset({"all-staff"}), line=2),)))
    assert [(d.id, d.groups, d.text) for d in found.documents] == [("a", {"hr"}, "Pay"), ("b", {"all-staff"}, "Open")]
    assert [s.path for s in found.skipped] == ["c.html"]


SIGNS = [
    "\ufeff",
    " ",
    "\n",
    "\t",
    "-",
    "---",
    "—",
    "+",
    "#",
    "<!-- x -->\n",
    "<!--",
    "'",
    '"',
    "\u200b",
    "\x00",
    "{",
    "[",
]
LINES = ["---\n", "+++\n", "...\n", "<br>\n", "title: a\n", "x\n---\n", "\r\n", "```yaml\n"]
BEFORE = st.lists(st.sampled_from(LINES), max_size=2).flatmap(
    lambda lines: st.lists(st.sampled_from(SIGNS), max_size=3).map(lambda signs: "".join([*lines, *signs]))
)
JUNK = st.sampled_from([*SIGNS, *LINES, "&a ", "!!x ", "? ", "- ", "*a", "é", ": ", "owner: x #y\n"])
CORE = st.sampled_from(["groups: [hr]", "groups: hr", "Groups: [hr]", "groups:\n- hr", '"groups": hr', "groups : hr"])


@settings(max_examples=150, deadline=None)
@given(BEFORE, CORE, st.lists(JUNK, max_size=5).map("".join))
@example("---\n", "groups: [hr]", "\n---\n")
def test_whatever_surrounds_its_groups_a_file_is_never_open_to_others(tmp_path_factory, before, core, after):
    folder = tmp_path_factory.mktemp("d")
    (folder / "x.md").write_bytes(f"{before}{core}{after}\nSalary bands".encode())
    found = read_documents(folder, STAFF)
    assert all(d.groups == {"hr"} for d in found.documents)
    assert len(found.documents) + len(found.skipped) == 1


@settings(max_examples=100, deadline=None)
@given(st.one_of(st.text(max_size=80), st.lists(st.one_of(JUNK, CORE, st.text(max_size=4)), max_size=8).map("".join)))
def test_any_front_matter_gives_the_groups_written_in_it_or_a_refusal(block):
    text = f"---\n{block}\n---\nbody"
    try:
        front = split_front_matter(text, "x.md")
    except PilotError as fault:
        assert str(fault).startswith("x.md, line ")
        return
    if front.groups is not None:
        written = text.split("\n---")[0].removeprefix("---\n")
        reference = yaml.load(written, Loader=yaml.BaseLoader)["groups"]
        names = reference.split(",") if isinstance(reference, str) else reference
        assert {name.strip() for name in names} == set(front.groups)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=60), st.sampled_from(["md", "txt", "html", "docx", "pdf", "xyz"]))
def test_any_bytes_are_a_document_or_listed(tmp_path_factory, data, suffix):
    folder = tmp_path_factory.mktemp("d")
    (folder / f"x.{suffix}").write_bytes(data)
    found = read_documents(folder, STAFF)
    assert [d.path for d in found.documents] + [s.path for s in found.skipped] == [f"x.{suffix}"]


# -- folders and access.csv --------------------------------------------------------------------------------------------


def test_groups_owner_and_sensitivity_come_from_access_csv_where_the_file_names_none(tmp_path):
    found = read(tmp_path, {"b.md": "---\nowner: Legal\n---\n## First\nx", "a.txt": "plain words"}, STAFF)
    assert [(d.id, d.title, d.groups, d.owner, d.sensitivity) for d in found.documents] == [
        ("a", "a", {"all-staff"}, "Head of IT", "internal"),
        ("b", "First", {"all-staff"}, "Legal", "internal"),
    ]


def test_front_matter_and_access_csv_must_agree(tmp_path):
    files = {"x.md": "---\ngroups: [hr]\n---\nx", "y.md": "---\ngroups: all-staff\n---\ny"}
    found = read(tmp_path, files, STAFF)
    assert [d.id for d in found.documents] == ["y"]
    assert "front matter says groups hr, line 2 of access.csv says all-staff" in found.skipped[0].reason


def test_a_file_that_nobody_names_is_open_to_nobody(tmp_path):
    assert "nobody may open it: add groups" in refused(tmp_path, "# Title\ntext").replace(";", ":")


def test_competing_lines_of_access_csv_refuse_the_file_alone(tmp_path):
    both = Access((Entry("x*", frozenset({"all-staff"}), line=2), Entry("*.txt", frozenset({"hr"}), line=3)))
    assert "lines 2 (x*), 3 (*.txt)" in refused(tmp_path, "text", name="x.txt", access=both)


def test_two_files_with_one_id_are_an_error_that_names_both(tmp_path):
    found = read(tmp_path, {"a/leave.md": "x", "b/leave.txt": "y", "c/other.md": "z"}, STAFF)
    assert [d.id for d in found.documents] == ["other"]
    assert [s.reason.partition(";")[0] for s in found.skipped] == [
        "a/leave.md: has the same id as b/leave.txt",
        "b/leave.txt: has the same id as a/leave.md",
    ]


def test_files_come_in_the_order_of_their_paths_with_composed_ids(tmp_path):
    found = read(tmp_path, {"b/conge\u0301s.md": "x", "B.MD": "y", "a.txt": "z"}, STAFF)
    assert [d.id for d in found.documents] == ["B", "a", "congés"]


def test_every_other_file_is_listed_with_a_reason(tmp_path):
    folder = folder_of(tmp_path, {"a.xlsx": "x", ".DS_Store": "x", "~$b.docx": "x", "empty.md": " \n"})
    (folder / "lost").symlink_to(folder / "nowhere")
    (folder / "elsewhere").symlink_to(tmp_path)
    found = read_documents(folder, STAFF)
    assert found.documents == ()
    assert [s.path for s in found.skipped] == ["a.xlsx", "elsewhere", "empty.md", "lost"]
    assert "holds no text" in found.skipped[2].reason


def test_a_pattern_that_matches_nothing_is_noted(tmp_path):
    access = Access((*STAFF.entries, Entry("hr/salry/**", frozenset({"hr"}), line=3)))
    assert read(tmp_path, {"hr/salary/a.md": "x"}, access).notes == (
        "access.csv, line 3: hr/salry/** matches no file; check its spelling",
    )


def test_a_line_for_a_file_that_is_not_read_is_no_mistake(tmp_path):
    access = Access((*STAFF.entries, Entry("old.doc", frozenset({"hr"}), line=3)))
    assert read(tmp_path, {"old.doc": "x", "a.md": "x"}, access).notes == ()


def test_one_round_of_mending_is_enough_because_a_refusal_tells_all(tmp_path):
    head = "---\nlayout: x\n---\ntext"
    files = {"a/index.md": head, "b/index.md": "---\ngroups: [hr]\n---\n", "c.md": head}
    found = read(tmp_path, files)
    assert [(s.path, s.cause, s.unknown, s.unnamed) for s in found.skipped] == [
        ("a/index.md", "name", ("layout",), True),
        ("b/index.md", "name", (), False),
        ("c.md", "keys", ("layout",), True),
    ]


def test_a_missing_folder_is_an_error(tmp_path):
    with pytest.raises(DataError, match="no such folder"):
        read_documents(tmp_path / "documents", STAFF)


def test_groups_are_read_afresh_without_the_text(tmp_path):
    folder = folder_of(tmp_path, {"x.md": "---\ngroups: [hr]\n---\nx"})
    assert read_groups(folder, "x.md", Access()) == {"hr"}
    (folder / "x.md").write_text("---\ngroups: [legal]\n---\nx", encoding="utf-8")
    assert read_groups(folder, "x.md", Access()) == {"legal"}
    (folder / "x.md").write_text("x", encoding="utf-8")
    with pytest.raises(PilotError, match="nobody may open it"):
        read_groups(folder, "x.md", Access())


def test_a_title_comes_from_the_first_heading_even_a_late_or_underlined_one(tmp_path):
    files = {
        "a.md": "    # code\n\nReal *title*\n===\n",
        "b.md": "word\n\n" * 2000 + "# Late",
        "c.md": "```\n# code\n```",
    }
    assert [d.title for d in read(tmp_path, files, STAFF).documents] == ["Real title", "Late", "c"]


def test_cp1252_text_is_read(tmp_path):
    (document,) = read(tmp_path, {"x.txt": "Prix : 10 € – net".encode("cp1252")}, STAFF).documents
    assert document.text == "Prix : 10 € – net"


@pytest.mark.parametrize(
    ("lang", "text"),
    [
        ("en", "You can carry five days over to the next year if your manager agrees with it."),
        ("fr", "Les jours de congé qui ne sont pas pris dans l'année sont perdus, sauf accord du responsable."),
        ("pl", "Urlop, który nie jest wykorzystany w ciągu roku, przechodzi na następny rok za zgodą kierownika."),
        ("", "Los días de vacaciones que no se toman durante el año se pierden, salvo acuerdo con la dirección."),
        ("", "Nicht genommene Urlaubstage verfallen am Ende des Jahres, wenn die Leitung nicht zustimmt."),
        ("", "HX-20 | 45.00 | 3"),
    ],
)
def test_language_is_guessed_only_where_common_words_say_so(lang, text):
    assert guess_language(text) == lang
