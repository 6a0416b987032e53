import io
import re
from datetime import datetime
from pathlib import Path

import docx
import pypdf
import pytest
import yaml
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from reportlab.pdfgen.canvas import Canvas

from rag_pilot.corpus.access import Access, Entry
from rag_pilot.corpus.documents import guess_language, read_documents, read_groups
from rag_pilot.corpus.front_matter import split_front_matter
from rag_pilot.corpus.markdown import paragraph
from rag_pilot.corpus.read_docx import docx_to_markdown
from rag_pilot.corpus.read_html import decode_html, html_to_markdown
from rag_pilot.corpus.read_pdf import pdf_to_markdown
from rag_pilot.errors import DataError, PilotError

STAFF = Access((Entry("**", frozenset({"all-staff"}), owner="Head of IT", sensitivity="internal", line=2),))


STAFF_X = Access((Entry("x.*", frozenset({"all-staff"}), line=2),))


def folder_of(tmp_path: Path, files: dict[str, str | bytes]) -> Path:
    folder = tmp_path / "documents"
    folder.mkdir()
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


def test_utf_16_is_refused_not_read_as_text_without_front_matter(tmp_path):
    assert "save the file as UTF-8" in refused(tmp_path, "---\ngroups: [hr]\n---\nx".encode("utf-16"), access=STAFF_X)


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


# -- HTML --------------------------------------------------------------------------------------------------------------


def test_html_keeps_words_whole_and_blocks_apart():
    html = "<p>Card<br>lost</p><ul><li>one</li><li>two</li></ul>Ger<b>man</b>y <i>10\u00a0days</i> hy\u00adphen"
    assert html_to_markdown(html).text == "Card lost\n\n- one\n- two\n\nGermany 10 days hyphen"


def test_html_leaves_out_what_a_browser_does_not_show():
    html = """<html><head><title>T &amp; C</title><style>a{}</style></head><body><nav>Menu</nav><script>x()</script>
    <noscript>Enable</noscript><template>t</template><p hidden>h</p><div style="display: none">d</div><!-- c -->
    <table><tr style="display:none"><td>r</td><td>r</td></tr><tr><td>a</td><td hidden>b</td></tr></table>
    <p>Shown</p></body></html>"""
    converted = html_to_markdown(html)
    assert "Shown" in converted.text
    assert converted.title == "T & C"
    for word in ("Menu", "x()", "Enable", "T & C", " t", "h\n", "d\n", "c", "r", "b"):
        assert word not in converted.text.replace("Shown", "")


def test_html_headings_tables_code_and_nested_lists_become_markdown():
    html = """<h1>Fees <small>2026</small></h1><table><caption>Cards</caption><tr><th>Card</th><th>Fee</th></tr>
    <tr><td>Gold<br>plus</td><td>10&nbsp;€ | year</td></tr></table><h2>Steps</h2>
    <ol><li>Call<ul><li>by phone</li></ul></li><li>Wait</li></ol><pre># not a heading
  ``` x</pre>"""
    assert html_to_markdown(html).text == (
        "# Fees 2026\n\nCards\n\n| Card | Fee |\n| --- | --- |\n| Gold plus | 10 € \\| year |\n\n## Steps\n\n"
        "1. Call\n  - by phone\n1. Wait\n\n````\n# not a heading\n  ``` x\n````"
    )


def test_a_table_that_lays_out_the_page_is_read_as_blocks():
    html = "<table><tr><td><h1>Left</h1><p>a</p></td><td><table><tr><td>x</td><td>y</td></tr></table></td></tr></table>"
    assert html_to_markdown(html).text == "# Left\n\na\n\n| x | y |\n| --- | --- |"


def test_unclosed_tags_lose_nothing():
    assert html_to_markdown("<title>T</title><p>a<p>b<ul><li>c<li>d</ul><table><tr><td>e<td>f<tr><td>g").text == (
        "a\n\nb\n\n- c\n- d\n\n| e | f |\n| --- | --- |\n| g |  |"
    )


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ('<meta charset="utf-8"><p>prix 10 €</p>'.encode("utf-8-sig"), "prix 10 €"),
        ("<p>prix 10 €</p>".encode("cp1252"), "prix 10 €"),
        ('<meta charset="iso-8859-2"><p>zażółć</p>'.encode("iso-8859-2"), "zażółć"),
        ('<meta charset="iso-8859-1"><p>zażółć</p>'.encode(), "zażółć"),
    ],
    ids=["utf-8 with mark", "cp1252 undeclared", "declared", "declared wrongly"],
)
def test_html_encodings(data, text):
    assert html_to_markdown(decode_html(data, "x.html")).text == text


@pytest.mark.parametrize("codec", ["idna", "undefined", "hex", "klingon"])
def test_html_that_declares_no_usable_encoding_is_refused(tmp_path, codec):
    page = f'<meta charset="{codec}"><p>prix 10 €</p>'.encode("cp1252")
    assert f"is neither UTF-8 nor {codec}" in refused(tmp_path, page, name="x.html", access=STAFF_X)


@given(st.text(alphabet="#`~<!-=>? \u00a0ascript\u2028\n", max_size=20))
def test_no_prose_becomes_a_heading_or_swallows_what_follows(words):
    tokens = MarkdownIt("commonmark").parse(f"before\n{paragraph(words)}\nafter\n\n# End")
    assert [t.tag for t in tokens if t.type == "heading_open" and t.level == 0] == ["h1"]


# -- DOCX --------------------------------------------------------------------------------------------------------------


def docx_bytes(document) -> bytes:
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def add_xml(document, xml: str):
    body = document.element.body
    body.insert(len(body) - 1, parse_xml(xml.replace(">", f" {nsdecls('w')}>", 1)))


def test_docx_tables_stand_at_their_place():
    document = docx.Document()
    document.add_heading("Fees", 1)
    document.add_paragraph("before")
    table = document.add_table(2, 2)
    for cell, text in zip((c for row in table.rows for c in row.cells), ["Card", "Fee", "Gold", "10"], strict=True):
        cell.text = text
    document.add_paragraph("after")
    document.add_paragraph("one", style="List Bullet")
    document.add_paragraph("two", style="List Number")
    assert docx_to_markdown(docx_bytes(document)).text == (
        "# Fees\n\nbefore\n\n| Card | Fee |\n| --- | --- |\n| Gold | 10 |\n\nafter\n\n- one\n- two"
    )


def test_docx_layout_tables_and_tables_in_cells_are_read_in_order():
    document = docx.Document()
    outer = document.add_table(1, 2)
    outer.cell(0, 0).paragraphs[0].text = "Form HRF-101"
    inner = outer.cell(0, 1).add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "Name", "Date"
    outer.cell(0, 1).add_paragraph("Sign here")
    single = document.add_table(1, 1)
    single.cell(0, 0).add_paragraph("Rules", style="Heading 2")
    single.cell(0, 0).add_paragraph("Be on time")
    boxed = document.add_table(2, 1)
    boxed.cell(0, 0).text, boxed.cell(1, 0).text = "Keep dry", "Keep warm"
    assert docx_to_markdown(docx_bytes(document)).text == (
        "Form HRF-101\n\n| Name | Date |\n| --- | --- |\n\nSign here\n\n## Rules\n\nBe on time\n\nKeep dry\n\nKeep warm"
    )


@pytest.mark.parametrize(
    ("style", "based_on", "outline", "marks"),
    [
        ("Rubrique maison", None, 1, "## "),
        ("Rubrique maison", "Heading 3", None, "### "),
        ("Rubrique maison", "Heading 3", 9, ""),
        ("Titre 1", None, None, "# "),
        ("Überschrift 2", None, None, "## "),
        ("Nadpis1", None, None, "# "),
        ("Nagłówek 3", None, None, "### "),
        ("Corps", None, None, ""),
    ],
)
def test_docx_headings_are_known_by_outline_level_then_by_name(style, based_on, outline, marks):
    document = docx.Document()
    added = document.styles.add_style(style, 1)
    added.base_style = document.styles[based_on] if based_on else None
    if outline is not None:
        added.element.get_or_add_pPr().append(
            parse_xml(f'<w:outlineLvl {nsdecls("w")} w:val="{outline}"/>')
        )  # fmt: skip
    document.add_paragraph("Fees", style=added)
    assert docx_to_markdown(docx_bytes(document)).text == f"{marks}Fees"


def test_docx_headings_are_known_under_a_localised_id_and_an_outline_level_of_their_own():
    document = docx.Document()
    style = document.styles["Heading 1"].element
    style.set("{http://schemas.openxmlformats.org/wordprocessingml/2006/main}styleId", "Titre1")
    add_xml(document, '<w:p><w:pPr><w:pStyle w:val="Titre1"/></w:pPr><w:r><w:t>Frais</w:t></w:r></w:p>')
    add_xml(document, '<w:p><w:pPr><w:outlineLvl w:val="1"/></w:pPr><w:r><w:t>Cartes</w:t></w:r></w:p>')
    assert docx_to_markdown(docx_bytes(document)).text == "# Frais\n\n## Cartes"


def test_docx_insertions_count_and_deletions_do_not():
    document = docx.Document()
    add_xml(
        document,
        "<w:p><w:r><w:t>Pay within </w:t></w:r><w:ins><w:r><w:t>30</w:t></w:r></w:ins><w:del><w:r><w:delText>14"
        "</w:delText></w:r></w:del><w:moveFrom><w:r><w:t>7</w:t></w:r></w:moveFrom><w:r><w:t> days</w:t></w:r>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r></w:p>",
    )
    add_xml(
        document,
        "<w:tbl><w:tr><w:trPr><w:del/></w:trPr><w:tc><w:p><w:r><w:t>old</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc>"
        "</w:tr><w:tr><w:tc><w:p><w:r><w:t>new</w:t></w:r></w:p></w:tc><w:tc><w:p/></w:tc></w:tr></w:tbl>",
    )
    assert docx_to_markdown(docx_bytes(document)).text == "Pay within 30 days\n\n| new |  |\n| --- | --- |"


def test_docx_content_controls_text_boxes_and_line_breaks_are_read():
    document = docx.Document()
    add_xml(document, "<w:sdt><w:sdtContent><w:p><w:r><w:t>Whole paragraph</w:t></w:r></w:p></w:sdtContent></w:sdt>")
    add_xml(
        document,
        "<w:p><w:r><w:t>a</w:t><w:br/><w:t>b</w:t><w:tab/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t></w:r><w:sdt>"
        "<w:sdtContent><w:r><w:t> inline</w:t></w:r></w:sdtContent></w:sdt><w:hyperlink><w:r><w:t> link</w:t></w:r>"
        "</w:hyperlink><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>Boxed warning</w:t></w:r></w:p></w:txbxContent>"
        "</w:pict></w:r></w:p>",
    )
    add_xml(
        document,
        '<w:p><w:r><mc:AlternateContent xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006">'
        '<mc:Choice Requires="wps"><w:txbxContent><w:p><w:r><w:t>Once</w:t></w:r></w:p></w:txbxContent></mc:Choice>'
        "<mc:Fallback><w:txbxContent><w:p><w:r><w:t>Once</w:t></w:r></w:p></w:txbxContent></mc:Fallback>"
        "</mc:AlternateContent></w:r></w:p>",
    )
    assert docx_to_markdown(docx_bytes(document)).text == (
        "Whole paragraph\n\na b c-d inline link\n\nBoxed warning\n\nOnce"
    )


def test_docx_footnotes_follow_the_paragraph_that_holds_them():
    document = docx.Document()
    note = '<w:footnote w:id="2"><w:p><w:r><w:t>Only in Leeds.</w:t></w:r></w:p></w:footnote>'
    blob = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>".encode()
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    part = Part(PackURI("/word/footnotes.xml"), kind, blob, document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.FOOTNOTES)
    add_xml(document, '<w:p><w:r><w:t>Free parking</w:t></w:r><w:r><w:footnoteReference w:id="2"/></w:r></w:p>')
    add_xml(document, "<w:p><w:r><w:t>Next</w:t></w:r></w:p>")
    assert docx_to_markdown(docx_bytes(document)).text == "Free parking\n\nOnly in Leeds.\n\nNext"


def test_docx_title_and_date_come_from_the_files_properties(tmp_path):
    document = docx.Document()
    document.add_paragraph("Text")
    document.core_properties.title = "Contract rules"
    document.core_properties.modified = datetime(2026, 3, 14, 9)
    (read_,) = read(tmp_path, {"x.docx": docx_bytes(document)}, STAFF).documents
    assert (read_.title, read_.updated, read_.owner, read_.groups) == (
        "Contract rules",
        "2026-03-14",
        "Head of IT",
        {"all-staff"},
    )


def test_docx_that_cannot_be_read_is_refused(tmp_path):
    assert "is damaged" in refused(tmp_path, b"PK\x03\x04 cut", name="x.docx", access=STAFF_X)


def test_docx_under_a_password_is_refused(tmp_path):
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100
    assert "password" in refused(tmp_path, ole, name="x.docx", access=STAFF_X)


# -- PDF ---------------------------------------------------------------------------------------------------------------


def pdf_bytes(pages, outline=(), **options) -> bytes:
    """Pages are lists of (size, text); a page without lines is a blank one. Outline: (title, page, level)."""
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1, **options)
    for number, lines in enumerate(pages):
        for title, page, level in outline:
            if page == number:
                canvas.bookmarkPage(title)
                canvas.addOutlineEntry(title, title, level)
        for i, (size, text) in enumerate(lines):
            canvas.setFont("Helvetica", size)
            canvas.drawString(72, 780 - 24 * i, text)
        canvas.rect(50, 50, 500, 700)
        canvas.showPage()
    canvas.save()
    return file.getvalue()


BODY = [(10, "Call 0800 12 first, then wait outside."), (10, "# not a heading"), (10, "---")]


def test_pdf_pages_are_marked_and_larger_type_is_a_heading():
    data = pdf_bytes(
        [[(20, "Emergency"), (20, "plan"), (10, "Read this."), (14, "Points"), *BODY], [*BODY, (14, "Exits")]]
    )
    text = "Call 0800 12 first, then wait outside.\n\\# not a heading\n\\---"
    assert pdf_to_markdown(data).text == (
        f"<!-- page 1 -->\n\n# Emergency plan\n\nRead this.\n\n## Points\n\n{text}\n\n"
        f"<!-- page 2 -->\n\n{text}\n\n## Exits"
    )


def test_pdf_headings_follow_the_outline_where_there_is_one():
    pages = [[(10, "Emergency plan"), (10, "x"), (18, "Not in the outline"), *BODY], [(10, "Points"), *BODY]]
    text = pdf_to_markdown(pdf_bytes(pages, outline=[("Emergency plan", 0, 0), ("Points", 1, 1)])).text
    assert [line for line in text.split("\n") if line.startswith("#")] == ["# Emergency plan", "## Points"]


def test_pdf_in_large_type_throughout_is_not_all_headings():
    pages = [[(14, "A long line of larger type that goes on and on") for _ in range(4)], BODY * 6]
    assert "#" not in pdf_to_markdown(pdf_bytes(pages)).text.replace("\\#", "")


def test_scanned_pdf_is_refused_with_its_empty_pages(tmp_path):
    reason = refused(tmp_path, pdf_bytes([BODY, BODY] + [[]] * 8), name="x.pdf", access=STAFF_X)
    assert "is a scan or empty (8 of 10 pages hold no text: 3, 4, 5, 6, 7, 8, 9, 10)" in reason


def test_a_few_pages_without_text_are_noted(tmp_path):
    found = read(tmp_path, {"x.pdf": pdf_bytes([[], BODY, BODY, BODY, BODY])}, STAFF)
    assert [d.id for d in found.documents] == ["x"]
    assert found.notes == ("x.pdf: 1 of 5 pages hold no text: 1",)
    assert found.documents[0].text.startswith("<!-- page 2 -->")


def test_protected_and_damaged_pdfs_are_refused(tmp_path):
    writer = pypdf.PdfWriter(io.BytesIO(pdf_bytes([BODY])))
    writer.encrypt("secret", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    files = {"a.pdf": file.getvalue(), "b.pdf": pdf_bytes([BODY])[:300], "c.pdf": b"", "d.pdf": pdf_bytes([BODY])}
    found = read(tmp_path, files, STAFF)
    assert [d.id for d in found.documents] == ["d"]
    reasons = {s.path: s.reason for s in found.skipped}
    assert "is protected" in reasons["a.pdf"]
    assert "damaged" in reasons["b.pdf"] and "damaged" in reasons["c.pdf"]


def test_pdf_title_comes_from_its_first_heading_then_its_metadata(tmp_path):
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    canvas.setTitle("Safety plan")
    canvas.drawString(72, 700, "Text")
    canvas.save()
    found = read(tmp_path, {"a.pdf": file.getvalue(), "b.pdf": pdf_bytes([[(20, "Plan B"), *BODY]])}, STAFF)
    assert [d.title for d in found.documents] == ["Safety plan", "Plan B"]


def test_html_leaves_out_the_footer_of_the_site_and_reads_its_date():
    page = (
        '<head><meta name="Last-Modified" content="2026-04-09T10:00"></head><body><main><h1>Fees</h1><p>One.</p>'
        "<footer>Approved.</footer></main><footer>Print this page</footer></body>"
    )
    read = html_to_markdown(page)
    assert "Print" not in read.text
    assert "Approved." in read.text
    assert read.updated == "2026-04-09"


def test_pdf_lines_that_run_through_all_pages_are_left_out():
    data = pdf_bytes(
        [
            [(10, "Handbook"), (10, "Fees are due."), (10, "Page 1 of 2")],
            [(10, "Handbook"), (10, "Two."), (10, "Page 2 of 2")],
        ]
    )
    text = pdf_to_markdown(data).text
    assert "Fees are due." in text
    assert "Two." in text
    assert "Page 1" not in text
    assert "Handbook" not in text
