import io
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path

import docx
import openpyxl
import pptx
import pypdf
import pytest
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from openpyxl.utils import get_column_letter
from pptx.chart.data import CategoryChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.util import Cm
from reportlab.pdfgen.canvas import Canvas

from rag_pilot.corpus import read_xlsx, zipped
from rag_pilot.corpus.access import Access, Entry
from rag_pilot.corpus.cells import shown
from rag_pilot.corpus.convert import FORMATS, convert, refusal
from rag_pilot.corpus.documents import read_documents
from rag_pilot.corpus.markdown import paragraph, spread
from rag_pilot.corpus.read_docx import docx_to_markdown
from rag_pilot.corpus.read_html import decode_html, html_to_markdown
from rag_pilot.corpus.read_pdf import pdf_to_markdown
from rag_pilot.errors import DataError

STAFF = Access((Entry("**", frozenset({"all-staff"}), owner="Head of IT", sensitivity="internal", line=2),))


def read(tmp_path: Path, files):
    """The documents of a folder that everybody may open."""
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
    return read_documents(tmp_path, STAFF)


def text_of(name: str, data: bytes) -> str:
    return convert(name, "", data).text


def refused(data: bytes, name: str) -> str:
    """Why one file is refused."""
    with pytest.raises(DataError, match=f"^{name}: ") as fault:
        convert(name, "", data)
    return str(fault.value)


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
    (skipped,) = read(tmp_path, {"x.html": page}).skipped
    assert f"is neither UTF-8 nor {codec}" in skipped.reason


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
    (read_,) = read(tmp_path, {"x.docx": docx_bytes(document)}).documents
    assert (read_.title, read_.updated, read_.owner, read_.groups) == (
        "Contract rules",
        "2026-03-14",
        "Head of IT",
        {"all-staff"},
    )


def test_docx_that_cannot_be_read_is_refused():
    assert "is damaged" in refused(b"PK\x03\x04 cut", "x.docx")


def test_docx_under_a_password_is_refused():
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100
    assert "password" in refused(ole, "x.docx")


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


def test_scanned_pdf_is_refused_with_its_empty_pages():
    reason = refused(pdf_bytes([BODY, BODY] + [[]] * 8), "x.pdf")
    assert "is a scan or empty (8 of 10 pages hold no text: 3, 4, 5, 6, 7, 8, 9, 10)" in reason


def test_a_few_pages_without_text_are_noted(tmp_path):
    found = read(tmp_path, {"x.pdf": pdf_bytes([[], BODY, BODY, BODY, BODY])})
    assert [d.id for d in found.documents] == ["x"]
    assert found.notes == ("x.pdf: 1 of 5 pages hold no text: 1",)
    assert found.documents[0].text.startswith("<!-- page 2 -->")


def test_protected_and_damaged_pdfs_are_refused(tmp_path):
    writer = pypdf.PdfWriter(io.BytesIO(pdf_bytes([BODY])))
    writer.encrypt("secret", algorithm="RC4-128")
    file = io.BytesIO()
    writer.write(file)
    files = {"a.pdf": file.getvalue(), "b.pdf": pdf_bytes([BODY])[:300], "c.pdf": b"", "d.pdf": pdf_bytes([BODY])}
    found = read(tmp_path, files)
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
    found = read(tmp_path, {"a.pdf": file.getvalue(), "b.pdf": pdf_bytes([[(20, "Plan B"), *BODY]])})
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
