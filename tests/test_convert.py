import io
import re
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path

import docx
import matplotlib
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
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
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


def test_docx_date_of_the_template_of_programs_is_no_date():
    file = io.BytesIO()
    docx.Document().save(file)
    assert docx_to_markdown(file.getvalue()).updated == ""


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
        "</w:delText><w:noBreakHyphen/></w:r></w:del><w:moveFrom><w:r><w:t>7</w:t></w:r></w:moveFrom>"
        "<w:r><w:t> days</w:t></w:r><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r></w:p>",
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
    assert "damaged" in reasons["b.pdf"] and "is empty (0 bytes)" in reasons["c.pdf"]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_of_no_bytes_is_told_as_empty_whatever_its_kind(kind):
    with pytest.raises(DataError, match=f"a{kind}: is empty \\(0 bytes\\)"):
        convert(f"a{kind}", "", b"")


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
    read = pdf_to_markdown(data)
    assert "Fees are due." in read.text
    assert "Two." in read.text
    assert "Page 1" not in read.text
    assert "Handbook" not in read.text
    assert read.notes == ("left out as head or foot of all pages: Handbook; Page 1 of 2",)


def test_pdf_first_and_last_lines_that_differ_in_more_than_the_page_number_stay():
    data = pdf_bytes([[(10, "R1"), (10, "One."), (10, "K36")], [(10, "R37"), (10, "Two."), (10, "K72")]])
    read = pdf_to_markdown(data)
    assert all(cell in read.text for cell in ("R1", "K36", "R37", "K72"))
    assert read.notes == ()


def test_pdf_words_drawn_twice_for_bold_come_once_and_the_same_words_elsewhere_stay():
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    for x, y in ((72, 700), (72.3, 700), (72, 660)):
        canvas.drawString(x, y, "Important")
    canvas.save()
    assert pdf_to_markdown(file.getvalue()).text == "<!-- page 1 -->\n\nImportant\nImportant"


def test_pdf_outline_entries_in_a_row_are_headings_of_their_own():
    pages = [[(10, "Emergency plan"), (10, "Points"), (10, "x")]]
    text = pdf_to_markdown(pdf_bytes(pages, outline=[("Emergency plan", 0, 0), ("Points", 0, 0)])).text
    assert text == "<!-- page 1 -->\n\n# Emergency plan\n\n# Points\n\nx"


def test_pdf_letters_that_are_drawn_as_one_come_apart():
    fonts = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    pdfmetrics.registerFont(TTFont("DejaVu", str(fonts / "DejaVuSans.ttf")))
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    canvas.setFont("DejaVu", 10)
    canvas.drawString(72, 700, "the \ufb01rst o\ufb03ce of ½ day")
    canvas.save()
    assert pdf_to_markdown(file.getvalue()).text == "<!-- page 1 -->\n\nthe first office of ½ day"


def pdf_of_places(*lines) -> bytes:
    """One page with (x, y, text) in the order of drawing."""
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    canvas.setFont("Helvetica", 10)
    for x, y, text in lines:
        canvas.drawString(x, y, text)
    canvas.save()
    return file.getvalue()


def test_pdf_lines_drawn_late_stand_at_their_place_and_columns_stay_apart():
    columns = [(72, 700, "Left one"), (72, 688, "left two"), (320, 700, "Right one"), (320, 688, "right two")]
    data = pdf_of_places(*columns, (72, 760, "The title"), (72, 640, "The end"))
    assert pdf_to_markdown(data).text.split("\n")[2:] == [
        "The title", "Left one", "left two", "Right one", "right two", "The end",
    ]  # fmt: skip


def test_pdf_line_numbers_in_a_margin_are_left_out_and_a_few_numbers_are_not():
    numbers = [(60, 700 - 12 * n, str(n)) for n in range(1, 26)]
    lines = [(90, 700 - 12 * n, f"Line of evidence {chr(64 + n)}") for n in range(1, 26)]
    text = pdf_to_markdown(pdf_of_places(*numbers, *lines, (60, 100, "7"), (60, 88, "8"))).text
    assert text.split("\n")[2:] == [line for _, _, line in lines] + ["7", "8"]


def test_pdf_pages_are_counted_for_the_report():
    converted = pdf_to_markdown(pdf_bytes([[], BODY, BODY, BODY, BODY]))
    assert (converted.pages, converted.empty_pages) == (5, 1)


# -- all kinds ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("a.doc", "save it as .docx"),
        ("A.XLS", "save it as .xlsx"),
        ("a.ppt", "save it as .pptx"),
        ("a.ods", "save it as .xlsx"),
        ("a.jpg", "OCR"),
        ("a.zip", "unpack"),
        ("a.xyz", "files ending in .xyz are not read"),
        ("README", "files without an ending are not read"),
    ],
)
def test_kinds_that_are_not_read_say_what_to_do_with_them(tmp_path, name, said):
    assert said in refusal(name)
    (skipped,) = read(tmp_path, {name: b"x"}).skipped
    assert skipped.path == name
    assert said in skipped.reason


def test_every_kind_that_is_read_is_not_refused_by_its_name():
    assert [refusal(f"x{kind}") for kind in FORMATS] == [""] * len(FORMATS)


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=80), st.sampled_from(["", "PK\x03\x04", "{\\rtf1 ", "%PDF-1.4\n"]), st.sampled_from(FORMATS))
def test_any_bytes_under_any_name_are_a_text_or_a_refusal(data, begin, kind):
    try:
        convert(f"x{kind}", "", begin.encode() + data)
    except DataError as fault:
        assert str(fault).startswith(f"x{kind}: ")


@pytest.mark.parametrize("encoding", ["utf-16", "cp1252"])
@pytest.mark.parametrize("name", ["x.txt", "x.md", "x.csv"])
def test_another_encoding_than_utf_8_is_noted(tmp_path, name, encoding):
    found = read(tmp_path, {name: "Prix;10 €\nÉté;20 €".encode(encoding)})
    assert "Été" in found.documents[0].text
    said = {"utf-16": "UTF-16", "cp1252": "cp1252"}[encoding]
    assert found.notes == (f"{name}: read as {said}; save it as UTF-8 if letters look wrong",)


def test_html_in_a_declared_encoding_is_noted():
    page = '<meta charset="iso-8859-2"><p>zażółć</p>'.encode("iso-8859-2")
    assert convert("x.html", "zażółć", page).notes == ("read as iso-8859-2; save it as UTF-8 if letters look wrong",)
    assert convert("x.html", "zażółć", "<p>zażółć</p>".encode()).notes == ()


def zip_of(parts, compression=zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", compression) as package:
        for name, content in parts.items():
            package.writestr(name, content)
    return file.getvalue()


def xlsx_bytes(book) -> bytes:
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def office_files():
    """A small whole file of each zipped kind, saying 'Fees are due in May'."""
    document = docx.Document()
    document.add_paragraph("Fees are due in May")
    book = openpyxl.Workbook()
    book.active["A1"] = "Fees are due in May"
    deck = pptx.Presentation()
    deck.slides.add_slide(deck.slide_layouts[0]).shapes.title.text = "Fees are due in May"
    file = io.BytesIO()
    deck.save(file)
    return {
        ".docx": docx_bytes(document),
        ".xlsx": xlsx_bytes(book),
        ".pptx": file.getvalue(),
        ".odt": odt_bytes("<text:p>Fees are due in May</text:p>"),
    }


KINDS = [".docx", ".xlsx", ".pptx", ".odt"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_zip_that_unpacks_to_gigabytes_is_refused_before_it_does(kind, monkeypatch):
    whole = office_files()[kind]
    assert "Fees are due in May" in text_of(f"x{kind}", whole)
    with zipfile.ZipFile(io.BytesIO(whole)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    monkeypatch.setattr(zipped, "MOST_UNPACKED", 4 * 2**20)
    media = zip_of(parts | {"media/film.bin": bytes(5 * 2**20)})
    assert len(media) < 2**17
    assert "unpacks to 5 MB, more than the 4 that are read" in refused(media, f"x{kind}")
    monkeypatch.setattr(zipped, "MOST_XML", 2**20)
    assert "holds text of 2 MB" in refused(zip_of(parts | {"more.xml": bytes(2 * 2**20)}), f"x{kind}")


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_part_inside_refuses_the_whole_file(kind):
    whole = office_files()[kind]
    with zipfile.ZipFile(io.BytesIO(whole)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    stored = zip_of(parts | {"spare.xml": "<spare/>"}, zipfile.ZIP_STORED)
    assert text_of(f"x{kind}", stored)
    for part, changed in ((b"due in May", b"due in Mai"), (b"<spare/>", b"<share/>")):
        assert "is damaged" in refused(stored.replace(part, changed, 1), f"x{kind}")
    assert "is damaged" in refused(whole[:-200], f"x{kind}")


@pytest.mark.parametrize("kind", KINDS)
def test_files_under_a_password_are_refused(kind):
    assert "password" in refused(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), f"x{kind}")
    locked = zip_of({"META-INF/manifest.xml": "<m><manifest:encryption-data/></m>", "content.xml": "?"})
    assert "password" in refused(locked, f"x{kind}")


# -- tables ------------------------------------------------------------------------------------------------------------


def test_merged_cells_stand_in_each_of_their_places_and_a_full_width_one_once():
    rows = [
        [("Prices 2026", 1, 3)],
        [("Plan", 2, 1), ("Price", 1, 2)],
        [("month", 1, 1), ("year", 1, 1)],
        [("Gold", 1, 1), ("10", 1, 1), ("100", 1, 1)],
    ]
    assert spread(rows) == [
        ["Prices 2026", "", ""],
        ["Plan", "Price", "Price"],
        ["Plan", "month", "year"],
        ["Gold", "10", "100"],
    ]


CELLS = st.lists(st.lists(st.tuples(st.text(min_size=1, max_size=3), st.integers(0, 3), st.integers(0, 3)), max_size=4))


@given(CELLS)
def test_spread_loses_no_cell_and_makes_rows_of_one_width(rows):
    grid = spread(rows)
    assert len(grid) == len(rows)
    assert len({len(row) for row in grid}) <= 1
    assert {text for row in rows for text, _, _ in row} <= {text for row in grid for text in row} | {""}


def test_html_merged_cells_keep_their_columns():
    html = """<table><tr><th rowspan=2>Plan<th colspan="2">Price</tr><tr><th>month<th>year</tr>
    <tr><td>Gold<td>10<td>100</tr><tr><td colspan=3>All in euros</table>"""
    assert html_to_markdown(html).text == (
        "| Plan | Price | Price |\n| --- | --- | --- |\n| Plan | month | year |\n| Gold | 10 | 100 |\n"
        "| All in euros |  |  |"
    )


def test_docx_merged_cells_keep_their_columns():
    document = docx.Document()
    grid = document.add_table(3, 3)
    words = [["Plan", "Price", "Price"], ["Plan", "month", "year"], ["Gold", "10", "100"]]
    for r, row in enumerate(words):
        for c, word in enumerate(row):
            grid.cell(r, c).text = word if (r, c) not in ((0, 2), (1, 0)) else ""
    grid.cell(0, 1).merge(grid.cell(0, 2))
    grid.cell(0, 0).merge(grid.cell(1, 0))
    assert docx_to_markdown(docx_bytes(document)).text == (
        "| Plan | Price | Price |\n| --- | --- | --- |\n| Plan | month | year |\n| Gold | 10 | 100 |"
    )


# -- DOCX: what else a file holds --------------------------------------------------------------------------------------


def test_docx_contents_pages_are_left_out_and_nested_lists_keep_their_depth():
    document = docx.Document()
    document.styles.add_style("toc 1", 1)
    document.add_paragraph("Fees ..... 3", style="toc 1")
    add_xml(
        document,
        '<w:sdt><w:sdtPr><w:docPartObj><w:docPartGallery w:val="Table of Contents"/></w:docPartObj></w:sdtPr>'
        "<w:sdtContent><w:p><w:r><w:t>Inhalt</w:t></w:r></w:p></w:sdtContent></w:sdt>",
    )
    for level, word in ((0, "Call"), (1, "by phone")):
        add_xml(
            document,
            f'<w:p><w:pPr><w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr></w:pPr>'
            f"<w:r><w:t>{word}</w:t></w:r></w:p>",
        )
    plain = document.add_paragraph("No item", style="List Bullet")
    plain._p.get_or_add_pPr().append(parse_xml(f'<w:numPr {nsdecls("w")}><w:numId w:val="0"/></w:numPr>'))
    assert docx_to_markdown(docx_bytes(document)).text == "- Call\n  - by phone\n\nNo item"


def test_docx_text_hidden_by_its_style_is_left_out():
    document = docx.Document()
    hidden = document.styles.add_style("Answers", 2)
    hidden.font.hidden = True
    line = document.add_paragraph("Question")
    line.add_run(" answer", style=hidden)
    assert docx_to_markdown(docx_bytes(document)).text == "Question"


def test_docx_endnotes_and_embedded_files():
    document = docx.Document()
    note = "<w:endnote w:id='2'><w:p><w:r><w:t>In Leeds.</w:t></w:r></w:p></w:endnote>"
    blob = f"<w:endnotes {nsdecls('w')}>{note}</w:endnotes>"
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.endnotes+xml"
    part = Part(PackURI("/word/endnotes.xml"), kind, blob.encode(), document.part.package)
    document.part.relate_to(part, RELATIONSHIP_TYPE.ENDNOTES)
    add_xml(document, '<w:p><w:r><w:t>Parking</w:t></w:r><w:r><w:endnoteReference w:id="2"/></w:r></w:p>')
    add_xml(document, "<w:altChunk></w:altChunk>")
    converted = docx_to_markdown(docx_bytes(document))
    assert converted.text == "Parking\n\nIn Leeds."
    assert converted.notes == ("left out: 1 embedded files; open it and save it again",)


# -- HTML: what stands around the text ---------------------------------------------------------------------------------


def test_the_frame_of_a_mediawiki_page_is_left_out():
    page = """<body><div id="mw-navigation">Tools</div><div role="search">Find</div><main id="content">
    <h1 id="firstHeading">Leave</h1><ul><li>Français</li></ul><div id="mw-content-text"><div class="mw-parser-output">
    <div id="toc" class="toc"><ul><li>1 Days</li></ul></div><h2>Days<span class="mw-editsection">[edit]</span></h2>
    <p>Ten days.<sup class="reference">[3]</sup> x<sup>2</sup></p>
    <table class="sidebar"><tr><td>This series</td><td>x</td></tr></table>
    <table class="navbox"><tr><td>All</td><td>pages</td></tr></table>
    </div><div class="printfooter">Retrieved</div></div><div id="catlinks">Categories</div></main></body>"""
    assert html_to_markdown(page).text == "# Leave\n\n## Days\n\nTen days. x2"


def test_the_frame_of_a_confluence_page_is_left_out():
    page = """<body><div id="main-header"><div id="breadcrumb-section"><ol><li>HR</li></ol></div>
    <h1 id="title-heading"><span id="title-text">HR : Leave</span></h1></div><div id="content">
    <div class="page-metadata">Created by A. Person</div><div id="main-content"><div class="toc-macro">Days</div>
    <h2>Days</h2><p>Ten days.</p><div class="confluence-information-macro"><p>Ask first.</p></div></div></div>
    <div id="footer" role="contentinfo"><section><p>Document generated by Confluence</p></section></div></body>"""
    assert html_to_markdown(page).text == "# HR : Leave\n\n## Days\n\nTen days.\n\nAsk first."


def mhtml(*parts) -> bytes:
    lines = ["Subject: Fallback", "MIME-Version: 1.0", 'Content-Type: multipart/related; boundary="B"', ""]
    for kind, body in parts:
        lines += ["--B", f"Content-Type: {kind}", "Content-Transfer-Encoding: quoted-printable", "", body]
    return "\r\n".join([*lines, "--B--", ""]).encode("latin-1")


def test_a_saved_page_is_read_in_its_own_encoding_without_its_parts():
    page = "<title>Leave</title><h1>Cong=E9s</h1><p>dix=\r\n jours, 10 =80</p><nav>Menu</nav>"
    named = mhtml(('text/html; charset="iso-8859-2"', "<p>za=BF=F3=B3=E6</p>"))
    assert text_of("x.mhtml", named) == "zażółć"
    data = mhtml(('text/html; charset="windows-1252"', page), ("text/css", "h1 {}"), ("image/png", "iVBOR"))
    for name in ("x.mhtml", "x.mht"):
        converted = convert(name, "", data)
        assert (converted.text, converted.title, converted.notes) == ("# Congés\n\ndix jours, 10 €", "Leave", ())


def test_a_saved_page_declares_its_encoding_itself_or_is_utf_8():
    declared = '<meta charset=3D"iso-8859-2"><p>za=BF=F3=B3=E6</p>'
    assert text_of("x.mhtml", mhtml(("text/html", declared))) == "zażółć"
    converted = convert("x.mhtml", "", mhtml(("text/html", "<p>=C5=BC</p>"), ("text/html", "<p>ad</p>")))
    assert (converted.text, converted.title) == ("ż", "Fallback")
    assert converted.notes == ("1 frames beside the page are not read",)


def test_a_saved_page_that_is_cut_off_or_none_is_refused():
    whole = mhtml(("text/html", "<p>Ten days</p>"))
    assert "is cut off" in refused(whole[:-8], "x.mhtml")
    assert "holds no page" in refused(b"Subject: x\n\nhello", "x.mhtml")


# -- CSV ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('Card,Fee\r\nGold,"10,50 | year"\r\n\r\nBasic,"a\nb"\r\n', "x.csv"),
        ('Card;Fee\nGold;10,50 | year\nBasic;"a\nb"\n', "x.csv"),
        ('sep=;\nCard;Fee\nGold;10,50 | year\nBasic;"a\nb"', "x.csv"),
        ('Card\tFee\nGold\t10,50 | year\nBasic\t"a\nb"', "x.tsv"),
        ('\n"Card"|"Fee"\nGold|"10,50 | year"\nBasic|"a\nb"', "x.csv"),
        ('"Card";"Fee"\n"Gold";"10,50 | year"\n"Basic";"a\nb"', "x.csv"),
    ],
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_csv_is_one_table_whatever_parts_its_cells(text, name, encoding):
    assert text_of(name, text.encode(encoding)) == (
        "| Card | Fee |\n| --- | --- |\n| Gold | 10,50 \\| year |\n| Basic | a b |"
    )


def test_csv_rows_longer_or_shorter_than_the_head_lose_no_cell():
    assert text_of("x.csv", b"a,b\n1\n1,2,3\n") == "| a | b |  |\n| --- | --- | --- |\n| 1 |  |  |\n| 1 | 2 | 3 |"
    assert len(text_of("x.csv", b"a,b\n1," + b"x" * 200_000)) > 200_000


# -- XLSX --------------------------------------------------------------------------------------------------------------


def book_of(rows, title="Sheet1"):
    book = openpyxl.Workbook()
    book.active.title = title
    for row in rows:
        book.active.append(row)
    return book


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (3.0, "General", "3"),
        (0.1 + 0.2, "General", "0.3"),
        (1234567.5, "#,##0.00", "1234567.50"),
        (2.5, "0", "3"),
        (1.005, "0.00", "1.01"),
        (0.125, "0.0%", "12.5%"),
        (0.19, "0%", "19%"),
        (12.5, '#,##0.00 "€"', "12.50 €"),
        (12, "[$€-407] 0.0#", "€ 12.0"),
        (12.34, "[$€-407] 0.0#", "€ 12.34"),
        (-81, "#,##0\\ ;\\(#,##0\\)", "(81)"),
        (-81, "#,##0", "-81"),
        (-0.2, "0", "0"),
        (0, '_(* #,##0_);_(* \\(#,##0\\);_(* "—"_);_(@_)', "—"),
        (7, '0" days; net"', "7 days; net"),
        (7, "000", "007"),
        (12000000, '0.0,," M"', "12.0 M"),
        (123456789, "00 00 00 00 00", "01 23 45 67 89"),
        (1500, "0.00E+00", "1500"),
        (5, "[Red]0", "5"),
        (5, '"yes"', "yes"),
        (True, "General", "TRUE"),
        (datetime(2026, 3, 14), "dd/mm/yyyy", "2026-03-14"),
        (datetime(2026, 3, 14, 9, 30), "dd/mm/yyyy hh:mm", "2026-03-14 09:30"),
        (datetime(2026, 3, 14, 9, 30), "dd/mm/yyyy", "2026-03-14"),
        (date(2026, 3, 14), "d mmm", "2026-03-14"),
        (time(9, 30), "h:mm", "09:30"),
        (timedelta(hours=26, minutes=5), "[h]:mm", "26:05"),
        ("text", "@", "text"),
        ("=not a formula", "General", "=not a formula"),
        (None, "0", ""),
    ],
)
def test_cell_values_are_what_a_reader_sees(value, number_format, text):
    assert shown(value, number_format) == text


@given(st.integers(-(10**12), 10**12), st.sampled_from(["General", "0", "#,##0", "@", "0;-0", "[Blue]#,##0_)"]))
def test_a_whole_number_keeps_all_its_digits(number, number_format):
    assert shown(number, number_format) == str(number)


def test_xlsx_values_as_shown_under_the_names_of_the_sheets():
    book = book_of([["Card", "Fee", "Since"], ["Gold", 10.0, datetime(2026, 1, 2)]], title="Fees")
    second = book.create_sheet("Rates | 2026")
    second.append(["Rate", 0.195])
    second["B1"].number_format = "0.0%"
    assert text_of("x.xlsx", xlsx_bytes(book)) == (
        "# Fees\n\n| Card | Fee | Since |\n| --- | --- | --- |\n| Gold | 10 | 2026-01-02 |\n\n"
        "# Rates | 2026\n\n| Rate | 19.5% |\n| --- | --- |"
    )


@pytest.mark.parametrize(
    ("title", "marks"), [("Feuil1", ""), ("Arkusz 1", ""), ("Tabelle1", ""), ("Prices", "# Prices\n\n")]
)
def test_one_sheet_that_nobody_named_has_no_heading(title, marks):
    assert text_of("x.xlsx", xlsx_bytes(book_of([["Ask at the desk"]], title))) == f"{marks}Ask at the desk"


def test_xlsx_formulas_give_the_values_they_last_had_and_uncalculated_ones_are_counted():
    data = xlsx_bytes(book_of([["Sum", "=1+1"], ["Sum", "=2+2"]]))
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: package.read(name) for name in package.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    parts[sheet], replaced = re.subn(rb"(<f>1\+1</f>)<v ?(/>|></v>)", rb"\1<v>2</v>", parts[sheet])
    assert replaced == 1
    converted = convert("x.xlsx", "", zip_of(parts))
    assert converted.text == "| Sum | 2 |\n| --- | --- |\n| Sum |  |"
    assert converted.notes == ("left out: 1 formulas that were never calculated (open the file and save it)",)


def test_xlsx_hidden_sheets_rows_and_columns_are_left_out_and_counted_but_a_filter_hides_nothing():
    book = book_of([["Card", "Fee", "Cost"], ["Gold", 10, 3], ["Basic", 5, 2]], "Fees")
    book.active.column_dimensions["C"].hidden = True
    book.active.row_dimensions[3].hidden = True
    book.create_sheet("Salaries").append(["secret"])
    book["Salaries"].sheet_state = "hidden"
    converted = convert("x.xlsx", "", xlsx_bytes(book))
    assert converted.text == "# Fees\n\n| Card | Fee |\n| --- | --- |\n| Gold | 10 |"
    assert converted.notes == ("left out: 1 hidden sheets", "left out: 2 hidden rows or columns")
    book.active.auto_filter.ref = "A1:C3"
    book.active.auto_filter.add_filter_column(0, ["Gold"])
    assert "| Basic | 5 |" in text_of("x.xlsx", xlsx_bytes(book))


def test_xlsx_several_tables_on_a_sheet_stay_apart_and_their_titles_stand_above():
    book = book_of(
        [
            ["Prices 2026"],
            ["Card", "Fee"],
            ["Gold", 10],
            [],
            ["City", "Open"],
            ["Leeds", "yes"],
            [None, None, None, "Key", "Word"],
            [None, None, None, "L1", "near"],
            [],
            ["All in euros"],
        ]
    )
    assert text_of("x.xlsx", xlsx_bytes(book)) == (
        "Prices 2026\n\n| Card | Fee |\n| --- | --- |\n| Gold | 10 |\n\n"
        "| City | Open |\n| --- | --- |\n| Leeds | yes |\n\n"
        "| Key | Word |\n| --- | --- |\n| L1 | near |\n\nAll in euros"
    )


def test_xlsx_empty_lines_for_looks_do_not_cut_a_table():
    book = book_of(
        [
            ["In millions", None, None, "2026"],
            [None, "Sales", None, "Profit"],
            [],
            ["North", 12, None, 3],
            ["South", 8, None, 1],
        ]
    )
    assert text_of("x.xlsx", xlsx_bytes(book)) == (
        "| In millions |  | 2026 |\n| --- | --- | --- |\n|  | Sales | Profit |\n| North | 12 | 3 |\n| South | 8 | 1 |"
    )


def test_xlsx_tables_side_by_side_are_one_only_where_they_begin_on_one_row():
    rows = [
        ["City", "Open", None, None, None],
        ["Leeds", "yes", None, "Key", "Word"],
        ["Lyon", "no", None, "L1", "near"],
    ]
    assert text_of("x.xlsx", xlsx_bytes(book_of(rows))) == (
        "| City | Open |\n| --- | --- |\n| Leeds | yes |\n| Lyon | no |\n\n| Key | Word |\n| --- | --- |\n| L1 | near |"
    )
    rows[0][3:] = ["Desk", "Floor"]
    assert text_of("x.xlsx", xlsx_bytes(book_of(rows))).startswith("| City | Open | Desk | Floor |\n| --- |")
    aside = [["City", "Open", None, None], ["Leeds", "yes", None, "closed in May"]]
    assert "| Leeds | yes | closed in May |" in text_of("x.xlsx", xlsx_bytes(book_of(aside)))


def test_xlsx_merged_cells_stand_in_each_of_their_places_and_a_merged_title_once():
    book = book_of([["Prices 2026", None, None], ["Plan", "Price", None], [None, "month", "year"], ["Gold", 10, 100]])
    for area in ("A1:C1", "A2:A3", "B2:C2"):
        book.active.merge_cells(area)
    assert text_of("x.xlsx", xlsx_bytes(book)) == (
        "Prices 2026\n\n| Plan | Price | Price |\n| --- | --- | --- |\n| Plan | month | year |\n| Gold | 10 | 100 |"
    )


def test_xlsx_cells_at_the_far_corner_cost_nothing_and_too_many_are_refused(monkeypatch):
    book = book_of([["near"]])
    book.active["XFD1048576"] = "far"
    assert text_of("x.xlsx", xlsx_bytes(book)) == "near\n\nfar"
    merged = zip_of({"xl/worksheets/sheet1.xml": '<mergeCells><mergeCell ref="A1:XFD1048576"/></mergeCells>'})
    assert "holds or merges 17,179,869,184 cells" in refused(merged, "x.xlsx")
    monkeypatch.setattr(read_xlsx, "MOST_CELLS", 5)
    assert "holds or merges 6 cells, more than the 5 that are read" in refused(
        xlsx_bytes(book_of([[1, 2, 3], [4, 5, 6]])), "x.xlsx"
    )


@settings(max_examples=60, deadline=None)
@given(st.dictionaries(st.tuples(st.integers(1, 7), st.integers(1, 6)), st.sampled_from("abcdefg"), min_size=1))
def test_xlsx_loses_no_cell_wherever_the_cells_stand(cells):
    book = openpyxl.Workbook()
    for (r, c), letter in cells.items():
        book.active[f"{get_column_letter(c)}{r}"] = f"{letter}{r}x{c}"
    words = text_of("x.xlsx", xlsx_bytes(book)).replace("|", " ").split()
    assert sorted(word for word in words if word != "---") == sorted(f"{v}{r}x{c}" for (r, c), v in cells.items())


def test_xlsx_title_and_date_are_the_files_own_or_none():
    book = book_of([["x"]])
    book.properties.title, book.properties.modified = "Rates & fees", datetime(2026, 3, 14)
    data = xlsx_bytes(book)
    converted = convert("x.xlsx", "", data)
    assert converted.title == "Rates & fees"
    assert converted.updated == f"{book.properties.modified:%Y-%m-%d}"
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = {name: package.read(name) for name in package.namelist() if name != "docProps/core.xml"}
    converted = convert("x.xlsx", "", zip_of(parts))
    assert (converted.title, converted.updated) == ("", "")


# -- PPTX --------------------------------------------------------------------------------------------------------------


def pptx_bytes(deck) -> bytes:
    file = io.BytesIO()
    deck.save(file)
    return file.getvalue()


def test_pptx_slides_have_their_titles_lists_tables_charts_and_notes():
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Leave"
    body = slide.placeholders[1].text_frame
    body.text = "Ten days"
    body.add_paragraph().text = "more after five years"
    body.paragraphs[1].level = 1
    slide.notes_slide.notes_text_frame.text = "Ask HR first."
    second = deck.slides.add_slide(deck.slide_layouts[6])
    grid = second.shapes.add_table(3, 3, Cm(1), Cm(1), Cm(9), Cm(3)).table
    for r, row in enumerate([["Plan", "Price", ""], ["", "month", "year"], ["Gold", "10", "100"]]):
        for c, word in enumerate(row):
            grid.cell(r, c).text = word
    grid.cell(0, 1).merge(grid.cell(0, 2))
    grid.cell(0, 0).merge(grid.cell(1, 0))
    data = CategoryChartData()
    data.categories = ["2025", "2026"]
    data.add_series("Cases", (3.0, 4.5))
    second.shapes.add_chart(XL_CHART_TYPE.PIE, Cm(1), Cm(5), Cm(9), Cm(5), data)
    assert text_of("x.pptx", pptx_bytes(deck)) == (
        "<!-- page 1 -->\n\n# Leave\n\n- Ten days\n  - more after five years\n\nNotes:\n\nAsk HR first.\n\n"
        "<!-- page 2 -->\n\n# Slide 2\n\n| Plan | Price | Price |\n| --- | --- | --- |\n| Plan | month | year |\n"
        "| Gold | 10 | 100 |\n\n|  | Cases |\n| --- | --- |\n| 2025 | 3 |\n| 2026 | 4.5 |"
    )


def test_pptx_groups_are_read_and_hidden_shapes_slides_and_footers_are_not():
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Contacts"
    group = slide.shapes.add_group_shape()
    group.shapes.add_group_shape().shapes.add_textbox(0, 0, 1, 1).text_frame.text = "Call\v0800"
    ghost = slide.shapes.add_textbox(0, 0, 1, 1)
    ghost.text_frame.text = "ghost"
    ghost._element._nvXxPr.cNvPr.set("hidden", "1")
    footer = slide.shapes.add_textbox(0, 0, 1, 1)
    footer.text_frame.text = "Company confidential"
    footer._element.nvSpPr.nvPr.append(
        parse_xml('<p:ph xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" type="ftr"/>')
    )
    deck.slides.add_slide(deck.slide_layouts[6])  # empty
    hidden = deck.slides.add_slide(deck.slide_layouts[5])
    hidden.shapes.title.text = "Backup"
    hidden._element.set("show", "0")
    converted = convert("x.pptx", "", pptx_bytes(deck))
    assert converted.text == "<!-- page 1 -->\n\n# Contacts\n\nCall 0800"
    assert converted.notes == ("left out: 1 hidden slides",)


def test_pptx_diagrams_are_read():
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Steps"
    a, dgm = (f"http://schemas.openxmlformats.org/drawingml/2006/{name}" for name in ("main", "diagram"))
    points = "".join(f"<d:pt><d:t><a:p><a:r><a:t>{w}</a:t></a:r></a:p></d:t></d:pt>" for w in ("Call", "Wait"))
    blob = f'<d:dataModel xmlns:d="{dgm}" xmlns:a="{a}"><d:ptLst>{points}</d:ptLst></d:dataModel>'.encode()
    part = pptx.opc.package.Part(
        pptx.opc.packuri.PackURI("/ppt/diagrams/data1.xml"), "application/xml", deck.part.package, blob
    )
    rid = slide.part.relate_to(part, "http://schemas.openxmlformats.org/officeDocument/2006/relationships/diagramData")
    frame = slide.shapes.add_table(1, 1, 0, 0, 1, 1)._element
    data = frame.find(f".//{{{a}}}graphicData")
    data.set("uri", dgm)
    data.remove(data[0])
    r = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    data.append(parse_xml(f'<d:relIds xmlns:d="{dgm}" xmlns:r="{r}" r:dm="{rid}"/>'))
    assert text_of("x.pptx", pptx_bytes(deck)) == "<!-- page 1 -->\n\n# Steps\n\n- Call\n- Wait"


# -- ODT ---------------------------------------------------------------------------------------------------------------

ODF = " ".join(
    f'xmlns:{prefix}="urn:oasis:names:tc:opendocument:xmlns:{name}:1.0"'
    for prefix, name in [
        ("office", "office"),
        ("text", "text"),
        ("table", "table"),
        ("draw", "drawing"),
        ("style", "style"),
    ]
)


def odt_bytes(body, styles="", meta="") -> bytes:
    content = (
        f"<office:document-content {ODF}><office:automatic-styles>{styles}</office:automatic-styles>"
        f"<office:body><office:text>{body}</office:text></office:body></office:document-content>"
    )
    dc = 'xmlns:dc="http://purl.org/dc/elements/1.1/"'
    about = f"<office:document-meta {ODF} {dc}><office:meta>{meta}</office:meta></office:document-meta>"
    return zip_of({"mimetype": "application/vnd.oasis.opendocument.text", "content.xml": content, "meta.xml": about})


def test_odt_headings_lists_notes_and_text_boxes():
    body = """<text:h text:outline-level="2">Fees<text:s/><text:span>2026</text:span></text:h>
    <text:p text:style-name="P1">Handbook</text:p>
    <text:list><text:list-item><text:p>Call</text:p>
    <text:list><text:list-item><text:p>by phone</text:p></text:list-item></text:list></text:list-item></text:list>
    <text:p>Free<text:tab/>parking<text:note><text:note-citation>1</text:note-citation><text:note-body>
    <text:p>Only in Leeds.</text:p></text:note-body></text:note> here<text:line-break/>now<draw:frame><draw:text-box>
    <text:p>Boxed</text:p></draw:text-box></draw:frame></text:p>"""
    styles = '<style:style style:name="P1" style:parent-style-name="Title"/><style:style style:name="Title"/>'
    meta = "<dc:title>Fees</dc:title><dc:date>2026-03-14T09:00:00</dc:date>"
    converted = convert("x.odt", "", odt_bytes(body, styles, meta))
    assert converted.text == (
        "## Fees 2026\n\n# Handbook\n\n- Call\n  - by phone\n\nFree parking here now\n\nOnly in Leeds.\n\nBoxed"
    )
    assert (converted.title, converted.updated) == ("Fees", "2026-03-14")


def test_odt_insertions_count_and_deletions_hidden_text_comments_and_contents_do_not():
    body = """<text:tracked-changes><text:changed-region><text:deletion><text:p>14</text:p></text:deletion>
    </text:changed-region></text:tracked-changes><text:table-of-content><text:index-body><text:p>Fees 3</text:p>
    </text:index-body></text:table-of-content><text:p>Pay within <text:change-start/>30<text:change-end/><text:change/>
    days<office:annotation><text:p>why?</text:p></office:annotation>
    <text:span text:style-name="T1">ghost</text:span></text:p>
    <text:section text:display="none"><text:p>secret</text:p></text:section>"""
    styles = '<style:style style:name="T1"><style:text-properties text:display="none"/></style:style>'
    assert text_of("x.odt", odt_bytes(body, styles)) == "Pay within 30 days"


def test_odt_tables_stand_at_their_place_with_merged_and_repeated_cells():
    body = """<text:p>before</text:p><table:table><table:table-header-rows><table:table-row>
    <table:table-cell table:number-rows-spanned="2"><text:p>Plan</text:p></table:table-cell>
    <table:table-cell table:number-columns-spanned="2"><text:p>Price</text:p></table:table-cell>
    <table:covered-table-cell/></table:table-row></table:table-header-rows><table:table-row><table:covered-table-cell/>
    <table:table-cell><text:p>month</text:p></table:table-cell><table:table-cell><text:p>year</text:p></table:table-cell>
    </table:table-row><table:table-row table:visibility="collapse"><table:table-cell><text:p>no</text:p>
    </table:table-cell></table:table-row>
    <table:table-row table:number-rows-repeated="1"><table:table-cell><text:p>Gold</text:p></table:table-cell>
    <table:table-cell table:number-columns-repeated="2"><text:p>10</text:p></table:table-cell>
    </table:table-row></table:table><text:p>after</text:p>"""
    assert text_of("x.odt", odt_bytes(body)) == (
        "before\n\n| Plan | Price | Price |\n| --- | --- | --- |\n| Plan | month | year |\n| Gold | 10 | 10 |\n\nafter"
    )


def test_odt_layout_tables_are_read_as_blocks_and_other_documents_are_refused():
    body = """<table:table><table:table-row>
    <table:table-cell><text:h text:outline-level="1">Form</text:h></table:table-cell>
    <table:table-cell><text:p>x</text:p></table:table-cell></table:table-row></table:table>"""
    assert text_of("x.odt", odt_bytes(body)) == "# Form\n\nx"
    sheet = f"<office:document-content {ODF}><office:body><office:spreadsheet/></office:body></office:document-content>"
    assert "another kind of OpenDocument" in refused(zip_of({"content.xml": sheet}), "x.odt")
    assert "holds no content.xml" in refused(zip_of({"mimetype": "x"}), "x.odt")


# -- RTF ---------------------------------------------------------------------------------------------------------------


def rtf(body: str, head: str = r"\ansi\ansicpg1252\deff0") -> bytes:
    fonts = r"{\fonttbl{\f0 Arial;}{\f1\fcharset238 Arial CE;}{\f2\fcharset128 MS Gothic;}}"
    return f"{{\\rtf1{head}{fonts}{body}}}".encode("cp1252")


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (r"prix 10 \'80 \'e9t\'e9", "prix 10 € été"),
        (r"\f1 za\'bf\'f3\'b3\'e6 \f0 \'e9", "zażółć é"),
        (r"{\f1 za\'bf}\'bf", "zaż¿"),
        (r"\f2\'93\'fa\'96\'7b", "日本"),
        (r"\u8364?5 \u-10179?\u-8704?", "€5 😀"),
        (r"{\uc2\u8364\'80\'805} \u233?e", "€5 ée"),
        (r"{\uc0\u8364 5}", "€5"),
        ("caf\xe9 na\\'efve\\~x\\_y\\{\\}\\\\", "café naïve x-y{}\\"),
        (r"\ldblquote a\rdblquote \emdash b\tab c\line d", "“a”—b c d"),
        (r"a{\*\unknown secret {\f0 more}}{\pict 0100}b{\bin3 }}}c", "ab"),
    ],
)
def test_rtf_text_in_any_code_page(body, text):
    if "bin" in body:
        body = "a{\\*\\unknown secret {\\f0 more}}{\\pict\\bin3 }}}}b"
    assert text_of("x.rtf", rtf(body)) == text


def test_rtf_the_files_code_page_holds_where_no_font_says_another():
    data = rtf(r"za\'bf\'f3\'b3\'e6", r"\ansi\ansicpg1250")
    assert text_of("x.rtf", data) == "zażółć"


def test_rtf_headings_lists_tables_notes_and_text_boxes():
    body = r"""{\stylesheet{\ql Normal;}{\s1\outlinelevel0 Titre 1;}{\s2 heading 2;}}{\info{\title Fees}
{\author A. Person}{\revtim\yr2026\mo3\dy14}}{\header Company}
\pard\s1 Fees\par\pard\s2 Cards\par\pard\plain Free{\footnote\pard Only in Leeds.\par} parking\par
{\listtext 1.\tab}\ls1 Call\par\pard{\pntext 2.}Wait\par\pard
\trowd\clvmgf\cellx1\cellx2\cellx3\intbl Plan\cell Price\cell\cell\row
\trowd\clvmrg\cellx1\cellx2\cellx3\intbl\cell month\par ly\cell year\cell\row
\trowd\cellx1\cellx2\clmrg\cellx3\intbl Gold\cell 10\cell\cell\row
\pard after{\shp{\*\shpinst{\sp{\sn x}{\sv 1}}{\shptxt\pard Boxed\par}}{\shprslt}}\par"""
    converted = convert("x.rtf", "", rtf(body))
    assert converted.text == (
        "# Fees\n\n## Cards\n\nFree parking\n\nOnly in Leeds.\n\n- Call\n- Wait\n\n"
        "| Plan | Price |  |\n| --- | --- | --- |\n| Plan | month ly | year |\n| Gold | 10 | 10 |\n\nafter\n\nBoxed"
    )
    assert (converted.title, converted.updated) == ("Fees", "2026-03-14")


def test_rtf_insertions_and_links_count_and_deletions_hidden_text_and_comments_do_not():
    body = (
        r"Pay within {\revised 30}{\deleted 14} days{\v ghost}\v ghost\v0 {\*\annotation why?}"
        r'{\field{\*\fldinst HYPERLINK "https://x.example"}{\fldrslt  see here}}\deleted x\plain  now'
    )
    assert text_of("x.rtf", rtf(body)) == "Pay within 30 days see here now"


def test_rtf_that_is_cut_off_or_none_is_refused():
    whole = rtf(r"Ten days\par")
    assert "is cut off" in refused(whole[:-1], "x.rtf")
    assert "is not RTF" in refused(b"Ten days", "x.rtf")
