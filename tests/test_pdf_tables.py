"""Tables of real PDFs, by the public call; the reference for "no word lost" is pypdf's own text of the same file."""

import io
import re
import sys
from collections import Counter

import pypdf
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen.canvas import Canvas
from reportlab.platypus import Paragraph, SimpleDocTemplate, Spacer, Table

from rag_pilot.corpus.read_pdf import pdf_to_markdown

STYLES = getSampleStyleSheet()
MARKS = re.compile(r"<!-- page \d+ -->|\|( --- \|)+")
GRID = ("GRID", (0, 0), (-1, -1), 0.5, "black")
ROWS = [["When", "Call", "Who"], ["Day", "2222", "desk"], ["Night", "4100", "gate"]]
AS_ROWS = "| When | Call | Who |\n| --- | --- | --- |\n| Day | 2222 | desk |\n| Night | 4100 | gate |"


def ruled(rows, *more, style=(GRID,), **options) -> Table:
    return Table(rows, style=[*style, *more], **options)


def prose(text: str, style: str = "Normal") -> Paragraph:
    return Paragraph(text, STYLES[style])


def built(*story) -> bytes:
    file = io.BytesIO()
    SimpleDocTemplate(file, invariant=1, pagesize=A4).build(list(story))
    return file.getvalue()


def drawn(draw) -> bytes:
    """One page that `draw` puts on a canvas in 10 points."""
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    canvas.setFont("Helvetica", 10)
    draw(canvas)
    canvas.save()
    return file.getvalue()


def words(markdown: str) -> Counter[str]:
    """All words but Markdown's own marks."""
    lines = [line for line in markdown.split("\n") if not MARKS.fullmatch(line)]
    return Counter(word for word in " ".join(lines).replace("\\", "").split() if word.strip("|#"))


def body(data: bytes) -> str:
    """The Markdown of a PDF without its page marks; each word of the file is in it just as often as in the file."""
    text = pdf_to_markdown(data).text
    own = Counter(word for page in pypdf.PdfReader(io.BytesIO(data)).pages for word in page.extract_text().split())
    assert words(text) == own
    return "\n\n".join(block for block in text.split("\n\n") if not block.startswith("<!--"))


def test_a_ruled_grid_becomes_rows_and_the_text_around_it_stays():
    text = body(built(prose("Before the table."), ruled(ROWS), prose("Behind it.")))
    assert text == f"Before the table.\n\n{AS_ROWS}\n\nBehind it."


def test_cells_of_several_lines_are_one_cell_each():
    long = prose("the shift leader on duty, or the gatehouse where nobody answers within one minute")
    text = body(built(ruled([["When", "Who answers"], [prose("At night"), long]], colWidths=[80, 150])))
    assert text.split("\n")[2] == (
        "| At night | the shift leader on duty, or the gatehouse where nobody answers within one minute |"
    )


def test_an_empty_cell_keeps_its_column():
    text = body(built(ruled([["Name", "Desk", "Mobile"], ["Ada", "", "0700"], ["Bo", "12", ""]])))
    assert text.split("\n")[2:] == ["| Ada |  | 0700 |", "| Bo | 12 |  |"]


def test_a_head_cell_over_two_columns_stands_once_and_a_title_over_all_of_them_above():
    rows = [["Prices of 2026", "", ""], ["Plan", "Price", ""], ["", "month", "year"], ["Gold", "10", "100"]]
    spans = [("SPAN", (0, 0), (2, 0)), ("SPAN", (1, 1), (2, 1)), ("SPAN", (0, 1), (0, 2))]
    assert body(built(ruled(rows, *spans))) == (
        "Prices of 2026\n\n| Plan | Price |  |\n| --- | --- | --- |\n|  | month | year |\n| Gold | 10 | 100 |"
    )


def test_a_row_that_is_drawn_in_one_go_is_parted_at_its_rules():
    def draw(canvas):
        canvas.grid([72, 172, 272], [700, 720, 740])
        for y, row in ((726, ("Card", "Fee")), (706, ("Gold", "10 a year"))):
            text = canvas.beginText(76, y)
            for cell in row:
                text.textOut(cell)
                text.moveCursor(100, 0)
            canvas.drawText(text)

    assert body(drawn(draw)) == "| Card | Fee |\n| --- | --- |\n| Gold | 10 a year |"


def test_two_tables_on_a_page_keep_their_order_even_with_the_same_words():
    more = ruled([["Door", "Key"], ["A", "|x|"]])
    text = body(built(ruled(ROWS), Spacer(1, 20), prose("Between."), more, Spacer(1, 20), ruled(ROWS)))
    assert text == f"{AS_ROWS}\n\nBetween.\n\n| Door | Key |\n| --- | --- |\n| A | \\|x\\| |\n\n{AS_ROWS}"


def test_a_table_over_two_pages_is_a_table_on_each():
    rows = [["Room", "Key"], *([f"R{n}", f"K{n}"] for n in range(60))]
    text = body(built(prose("All of the keys."), ruled(rows, repeatRows=1), prose("No others.")))
    assert text.count("| Room | Key |\n| --- | --- |") == 2
    assert all(f"| R{n} | K{n} |" in text for n in range(60))


def boxed(canvas):
    canvas.rect(60, 640, 400, 100)
    canvas.rect(60, 560, 400, 60)
    canvas.line(60, 690, 460, 690)
    for n, line in enumerate(["Take care: the gas", "is shut off", "at the main tap", "by the door.", "Then call."]):
        canvas.drawString(72, 720 - 30 * n, line)


def form(canvas):
    canvas.grid([72, 172, 372], [640, 660, 680, 700])
    for n, (label, entry) in enumerate([("Name", "Ada"), ("Cost centre", "410"), ("Signature", "")]):
        canvas.drawString(76, 686 - 20 * n, label)
        canvas.drawString(176, 686 - 20 * n, entry)


def out_of_order(canvas):
    canvas.grid([72, 172, 272, 372], [640, 660, 680, 700])
    for column in range(3):
        for row in range(3):
            canvas.drawString(76 + 100 * column, 686 - 20 * row, ROWS[row][column])


def rules_across(canvas):
    for y in (640, 660, 680, 700):
        canvas.line(72, y, 372, y)
    for row in range(3):
        for column in range(3):
            canvas.drawString(76 + 100 * column, 686 - 20 * row, ROWS[row][column])


def shared_line(canvas):
    """A note goes on from the last cell without a gap: its line is not the table's alone."""
    canvas.grid([72, 172, 272], [660, 680, 700])
    for x, y, text in (
        (76, 686, "Card"),
        (176, 686, "Fee"),
        (76, 666, "Gold"),
        (176, 666, "10 a year and a long note"),
    ):
        canvas.drawString(x, y, text)


@pytest.mark.parametrize("draw", [boxed, form, out_of_order, rules_across, shared_line], ids=lambda draw: draw.__name__)
def test_what_is_no_table_word_for_word_stays_lines(draw):
    data = drawn(draw)
    lines = pypdf.PdfReader(io.BytesIO(data)).pages[0].extract_text().split("\n")
    assert body(data) == "\n".join(line.strip() for line in lines if line.strip())


def test_a_heading_inside_the_frame_means_that_it_is_no_table():
    def draw(canvas):
        canvas.grid([72, 272, 472], [620, 660, 700])
        cells = (14, "Offices"), (10, "point A"), (10, "Warehouse and all of its yards"), (10, "point B")
        for n, (size, text) in enumerate(cells):
            canvas.setFont("Helvetica", size)
            canvas.drawString(76 + 200 * (n % 2), 680 - 40 * (n // 2), text)

    assert body(drawn(draw)) == "# Offices\n\npoint A\nWarehouse and all of its yards\npoint B"


def test_a_page_that_is_turned_stays_text():
    writer = pypdf.PdfWriter(io.BytesIO(built(ruled([["same", "same"], ["same", "same"]]))))  # whichever way it is read
    writer.pages[0].rotate(90)
    file = io.BytesIO()
    writer.write(file)
    text = pdf_to_markdown(file.getvalue()).text
    assert "|" not in text
    assert words(text) == Counter(same=4)


@pytest.mark.parametrize(
    ("old", "new", "odd_pages"),
    [
        (b"/BaseFont /Helvetica", b"/BaseFont 0Helvetica", 1),
        (b"/MediaBox [ 0 0 595", b"/MediaBox [ 0 0 (a)", 2),
    ],
    ids=["a font of one page", "the size of all pages"],
)
def test_a_page_that_the_finder_of_tables_cannot_read_stays_text(old, new, odd_pages):
    writer, file = pypdf.PdfWriter(), io.BytesIO()
    for font in ("Helvetica", "Courier"):
        page = io.BytesIO()
        canvas = Canvas(page, invariant=1, initialFontName=font)
        canvas.grid([72, 172, 272], [660, 680, 700])
        for n, text in enumerate([font, "Fee", "Gold", f"10 {font}"]):
            canvas.drawString(76 + 100 * (n % 2), 686 - 20 * (n // 2), text)
        canvas.save()
        writer.append(page)
    writer.write(file)
    data = file.getvalue()
    pages = ((1, "Helvetica"), (2, "Courier"))
    whole = [f"<!-- page {n} -->\n\n| {f} | Fee |\n| --- | --- |\n| Gold | 10 {f} |" for n, f in pages]
    assert pdf_to_markdown(data).text == "\n\n".join(whole)
    lines = [f"<!-- page {n} -->\n\n{f}\nFee\nGold\n10 {f}" for n, f in pages]
    assert old in data
    odd = data.replace(old, new)
    assert pdf_to_markdown(odd).text == "\n\n".join([*lines[:odd_pages], *whole[odd_pages:]])


def test_pages_without_rules_do_not_load_the_finder_of_tables(monkeypatch):
    monkeypatch.setitem(sys.modules, "pdfplumber", None)  # an import of it would fail
    assert body(built(prose("No rules here."))) == "No rules here."
    with pytest.raises(ImportError):
        pdf_to_markdown(built(ruled(ROWS)))


CELL = st.text(st.sampled_from("ab1 |-#"), max_size=6)


@settings(max_examples=30, deadline=None)
@given(st.integers(2, 4).flatmap(lambda n: st.lists(st.lists(CELL, min_size=n, max_size=n), min_size=1, max_size=5)))
def test_every_word_stays_exactly_once_whatever_the_cells_hold(rows):
    data = built(prose("Before."), ruled(rows), prose("Behind."))
    own = "".join(page.extract_text() for page in pypdf.PdfReader(io.BytesIO(data)).pages)
    lines = [line for line in pdf_to_markdown(data).text.split("\n") if not MARKS.fullmatch(line)]
    assert Counter(re.sub(r"[\s|\\]", "", "".join(lines))) == Counter(re.sub(r"[\s|]", "", own))
