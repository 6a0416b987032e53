"""What benchmarks/conversion.py holds converters against: facts on collected files, and hard cases built here.

The facts were written down by reading the files; the files themselves are other people's and not part of the project.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import nsdecls

try:
    from reportlab.lib import colors
    from reportlab.pdfgen.canvas import Canvas
    from reportlab.platypus import SimpleDocTemplate, Table
except ImportError:
    raise SystemExit("reportlab is not installed, the hard cases cannot be built: pip install -e .[dev]") from None


@dataclass(frozen=True)
class Facts:
    """What a reader finds in a file; `headings` is None where people would disagree."""

    words: str
    headings: int | None = None
    tables: str = ""  # rows x columns of each that must come out
    absent: str = ""  # phrases, parted by ;


FACTS = {
    "confluence-to-markdown__9273380.html": Facts(
        "Předpoklady tomcata SOME_SERVER_URL Postup ROOT.war permitAll CSWC symlinky jboss restartovat",
        3, "", "Atlassian;modified",
    ),
    "confluence-to-markdown__index.html": Facts(
        "Key sysadmin Pages Webclient JavaScript Zprovoznění", 2, "4x2", "Atlassian",
    ),
    "docling__csv-comma-in-cell.csv": Facts("1 4 a , d", 0, "5x4"),
    "docling__csv-semicolon.csv": Facts(
        "Index Website Sheryl Dominguez;Mcmillan benson.org Joanna", 0, "6x12", "NaN",
    ),
    "docling__docx_comments.docx": Facts("Comments first second third anonymous", 1),
    "docling__textbox.docx": Facts(
        "falls Fever Rash Yes 24 48 Bureau Collaborate eased positive closed",
    ),
    "docling__wiki_duck.html": Facts(
        "Duck Eukaryota Anatidae Etymology ened Feeding Predators Heraldry Citations Thorpe",
        20, "", "Žemaitėška;Winaray;Jump to content;Hidden categories;Edit links",
    ),
    "docling__word_sample.docx": Facts(
        "Swimming Duck drown Food Leaves 50 Blueberry 150 Corn 200 list Berries", 3, "4x3",
    ),
    "docling__xlsx_06_edge_cases_.xlsx": Facts(
        "missing_header_head Sub-category Attached_left Integration Attached Diagonal G1 I3 Extra",
        3, "4x6 4x7 4x6 3x3", "NaN;Unnamed",
    ),
    "edb-tickets__tickets.csv": Facts(
        "user_email category overheating monitor wi-fi locker", 0, "21x9", "NaN",
    ),
    "handbook__TEMPLATE_Risk_tracker.xlsx": Facts(
        "tracker Risks Impact Likelihood Mitigation Notes", 2, "1x9", "NaN;Unnamed",
    ),
    "handbook__TEMPLATE_Team_charter.docx": Facts(
        "charter 36 Pronouns % Standups Retros norms Speedbacks Opportunities Strengths Change",
        13, "2x5 7x3 7x5 1x2",
    ),
    "markitdown__REPAIR-2022-INV-001_multipage.pdf": Facts(
        "ZAVA Redmond Preliminary Insured Diaz Cherokee Totals Rate 2,100 5,738 Note ZAVA Wayne 99,999 211,522 vehicle",
    ),
    "markitdown__masterformat_partial_numbering.pdf": Facts("Wellness 43 1 INTENT solicit KEN ALBERTA 2 45"),
    "markitdown__test.pptx": Facts(
        "AutoGen Wang conversable ColA 1b92870d 18 2000 2003 Nested 2 Sub Image", 6, "4x6 5x2",
    ),
    "markitdown__test_wikipedia.html": Facts(
        "Microsoft Albuquerque Nadella 1985–1994 directors 106.7 50.4% 39,788 211,915 Vanguard 8.9% Philanthropy",
        31, "3x3 20x5 12x2", "Žemaitėška;Winaray;CANTICN;Jump to content;part of a series",
    ),
    "markitdown__test_with_comment.docx": Facts(
        "AutoGen Wang Abstract Introduction d666f1f7 random 13 49e168b7 29", 4, "5x6",
    ),
    "pdfplumber__issue-71-duplicate-chars.pdf": Facts(
        "爆破方案优化设计 2020.05 教育经历 青岛理工大学 培训经历 证书 语言能力",
        None, "", "教育经历 教育经历;语语;证书 证书;本科 本科",
    ),
    "pdfplumber__scotus-transcript-p1.pdf": Facts(
        "Review SUPREME KNOWLES 07-1315 MIRZAYANCE 2009 argument MERCER SEVILLA Respondent Alderson",
        0, "", "1 2 3 4 5 6;13 14 15",
    ),
    "piaf-ml__CRPA-Chatbot-v0.xlsx": Facts(
        "Question Réponse cible L. 300-1 300-2 LEGIARTI000033218936 311-2", None, "40x7", "NaN",
    ),
    "piaf-ml__manual_question_autocomplete.csv": Facts(
        "Question Lien naissance R1406 Perceval R46526 P10013", 0, "47x2",
    ),
    "python-mammoth__footnotes.docx": Facts("Ouch tachyon bar Fin", 0),
    "sample-files__habibi.pdf": Facts("حَبيبي habibi حَبيبي"),
    "sample-files__multicolumn.pdf": Facts(
        "Two-Column Abstract filled rutrum massa Fusce lobortis Suspendisse", 3,
    ),
    "tika__testHTMLNoisyMetaEncoding_1.html": Facts("الاتحاد الجزائري أسفه المنظمات الكبير", 0, "", "font-face"),
    "tika__testMHTMLFirefox.mhtml": Facts(
        "Aperture Java ap·er·ture objective News IMAP RDF .eml Crawlers Developed Aduna",
        11, "", "text-decoration;NextPart",
    ),
    "tika__testODTStyles2.odt": Facts(
        "Publicatie Griffier RefNr Opheffing beschikking 1926 bewindvoerder Bever 162", 0, "7x2", "<td>",
    ),
    "tika__testPDF_rotated.pdf": Facts(
        "2007 11:02 Toolkit detecting Lucene Status News 22nd accepted", 2,
    ),
    "tika__testRTFWindowsCodepage1250.rtf": Facts("zażółć gęślą jaźń ZAŻÓŁĆ GĘŚLĄ JAŹŃ", 0),
    "unstructured__2023-half-year-analyses-by-segment.xlsx": Facts(
        "3.1 Sales 12553 2713 9467 46293 12138 45580 Inter-segment Other 12339 5418 Reconciliation 7904 7683 6185",
        5, "12x8 12x8 12x5 11x7 11x7 11x5 10x3", "NaN;12553.0;Unnamed",
    ),
    "unstructured__docx-hdrftr.docx": Facts("Main document", 0),
    "unstructured__fake-html-cp1252.html": Facts(
        "Heading köstlich 15,50 € été niño señora köttbullar João koekjes", 1,
    ),
}  # fmt: skip
REFUSED = {"tika__testWORD_protected_passtika.docx", "tika__testWORD_truncated.docx", "tika__testOCR.pdf"}


# -- hard cases, built here --------------------------------------------------------------------------------------------


def word(*blocks: str, styles: Mapping[str, str] | None = None) -> bytes:
    """A DOCX of paragraphs and raw XML, with added styles (name -> properties)."""
    document = docx.Document()
    for number, (name, properties) in enumerate((styles or {}).items()):
        mark = f'<w:style {nsdecls("w")} w:type="paragraph" w:styleId="S{number}"><w:name w:val="{name}"/>'
        xml = f"{mark}{properties}</w:style>"
        document.styles.element.append(parse_xml(xml))
    body = document.element.body
    for block in blocks:
        xml = block if block.startswith("<") else p(run(block))
        body.insert(len(body) - 1, parse_xml(xml.replace(">", f" {nsdecls('w')}>", 1)))
    file = io.BytesIO()
    document.save(file)
    return file.getvalue()


def p(*runs: str, style: str = "") -> str:
    return f"<w:p>{f'<w:pPr><w:pStyle w:val={style!r}/></w:pPr>' if style else ''}{''.join(runs)}</w:p>"


def run(text: str, properties: str = "", tag: str = "w:t") -> str:
    return f'<w:r><w:rPr>{properties}</w:rPr><{tag} xml:space="preserve">{text}</{tag}></w:r>'


def styled(number: int, text: str) -> str:
    return p(run(text), style=f"S{number}")


def grid(*rows: str) -> str:
    """A table; a cell is `text` or `text@properties`."""
    lines = []
    for row in rows:
        cells = (cell.partition("@") for cell in row.split("|"))
        lines.append("".join(f"<w:tc><w:tcPr>{own}</w:tcPr>{p(run(text))}</w:tc>" for text, _, own in cells))
    columns = '<w:gridCol w:w="2000"/>' * max(row.count("|") + 1 for row in rows)
    return f"<w:tbl><w:tblGrid>{columns}</w:tblGrid>" + "".join(f"<w:tr>{line}</w:tr>" for line in lines) + "</w:tbl>"


def with_footnote() -> bytes:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.footnotes+xml"
    text = p(run("Parking"), '<w:r><w:footnoteReference w:id="2"/></w:r>')
    with zipfile.ZipFile(io.BytesIO(word(text, "Next"))) as old:
        parts = {name: old.read(name) for name in old.namelist()}
    link = f'<Relationship Id="rId99" Type="{RELATIONSHIP_TYPE.FOOTNOTES}" Target="footnotes.xml"/>'
    for name, mark, added in (
        ("word/_rels/document.xml.rels", "</Relationships>", link),
        ("[Content_Types].xml", "</Types>", f'<Override PartName="/word/footnotes.xml" ContentType="{kind}"/>'),
    ):
        parts[name] = parts[name].replace(mark.encode(), (added + mark).encode())
    note = f'<w:footnote w:id="2">{p(run("Leeds"))}</w:footnote>'
    parts["word/footnotes.xml"] = f"<w:footnotes {nsdecls('w')}>{note}</w:footnotes>".encode()
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as new:
        for name, data in parts.items():
            new.writestr(name, data)
    return file.getvalue()


def pdf(*lines: tuple[float, float, float, str], outline: bool = False) -> bytes:
    """One page of (x, y, type size, text) in the order of drawing; with an outline, all but size 10 are entries."""
    file = io.BytesIO()
    canvas = Canvas(file, invariant=1)
    for number, (x, y, size, text) in enumerate(lines):
        canvas.setFont("Helvetica", 10 if outline else size)
        canvas.drawString(x, y, text)
        if outline and size > 10:
            canvas.bookmarkPage(f"k{number}")
            canvas.addOutlineEntry(text, f"k{number}", 0)
    canvas.save()
    return file.getvalue()


def ruled_pdf() -> bytes:
    file = io.BytesIO()
    table = Table([["When", "Call", "Who"], ["Day", "2222", "desk"], ["Night", "4100", "gate"]])
    table.setStyle([("GRID", (0, 0), (-1, -1), 0.5, colors.black)])
    SimpleDocTemplate(file, invariant=1).build([table])
    return file.getvalue()


BODY = [(72.0, 600.0 - 14 * n, 10.0, f"Body line number {n} says what to do.") for n in range(4)]


def built() -> dict[str, tuple[bytes, Facts]]:
    """Each case by its file's name."""
    titled = (72.0, 720.0, 20.0, "Emergency")
    part = (72.0, 640.0, 14.0, "Exits")
    columns = [
        (x, 700.0 - 14 * n, 10.0, f"{side}{n}") for x, side in ((72.0, "left"), (320.0, "right")) for n in range(4)
    ]
    who = 'w:id="1" w:author="A" w:date="2026-03-14T09:00:00Z"'
    inserted, deleted = f"<w:ins {who}>{run('30')}</w:ins>", f"<w:del {who}>{run('14', tag='w:delText')}</w:del>"
    tracked = p(run("Pay within "), inserted, deleted, run(" days "), run("ghost", "<w:vanish/>"))
    shape = f"<v:shape><v:textbox><w:txbxContent>{p(run('Boxed'))}</w:txbxContent></v:textbox></v:shape>"
    box = p(run("Before"), f'<w:r><w:pict xmlns:v="urn:schemas-microsoft-com:vml">{shape}</w:pict></w:r>')
    columns_of_two = '<w:tblGrid><w:gridCol w:w="2000"/><w:gridCol w:w="2000"/></w:tblGrid>'
    outer = f"<w:tbl>{columns_of_two}<w:tr><w:tc>{p(run('Form'))}</w:tc>"
    nested = f"{outer}<w:tc>{grid('Name|Date', 'Ada|May')}<w:p/></w:tc></w:tr></w:tbl>"
    merged = grid('Plan|Price@<w:gridSpan w:val="2"/>', "|month|year", "Gold|10|100")
    return {
        "localised.docx": (
            word(styled(0, "Frais"), styled(1, "Karten"), "Texte", styles={"Titre 1": "", "Überschrift 2": ""}),
            Facts("Frais Karten Texte", 2),
        ),
        "outline-level.docx": (
            word(styled(0, "Fees"), "Text", styles={"House": '<w:pPr><w:outlineLvl w:val="0"/></w:pPr>'}),
            Facts("Fees Text", 1),
        ),
        "table-between.docx": (
            word("before", grid("Card|Fee", "Gold|10"), "after"),
            Facts("before Card Gold 10 after", 0, "2x2"),
        ),
        "nested-table.docx": (word(nested, "after"), Facts("Form Name Ada after", 0, "2x2", "<table>;<td>")),
        "merged-cells.docx": (word(merged), Facts("Plan Price month year Gold 10 100", 0, "3x3", "<td>")),
        "tracked.docx": (word(tracked), Facts("Pay within 30 days", 0, "", "14;ghost")),
        "content-control.docx": (
            word(f"<w:sdt><w:sdtContent>{p(run('Controlled'))}</w:sdtContent></w:sdt>", "after"),
            Facts("Controlled after", 0),
        ),
        "text-box.docx": (word(box, "after"), Facts("Before Boxed after", 0)),
        "footnote.docx": (with_footnote(), Facts("Parking Leeds", 0)),
        "outline.pdf": (pdf(titled, part, *BODY, outline=True), Facts("Emergency Exits Body", 2)),
        "sizes.pdf": (pdf(titled, part, *BODY), Facts("Emergency Exits Body", 2)),
        "columns.pdf": (
            pdf(*columns, (72, 740, 20, "Title")),
            Facts("Title left0 left1 left2 left3 right0 right1 right2 right3"),
        ),
        "ruled-table.pdf": (ruled_pdf(), Facts("When Call Who Day 2222 desk Night 4100 gate", 0, "3x3")),
        "deleted.rtf": (
            rb"{\rtf1\ansi{\stylesheet{\s1 heading 1;}}\pard\s1 Fees\par\pard Pay {\revised 30}{\deleted 14} days"
            rb" {\v ghost}\par\trowd\cellx1\cellx2\intbl Card\cell Fee\cell\row"
            rb"\trowd\cellx1\cellx2\intbl Gold\cell 10\cell\row\pard end\par}",
            Facts("Fees Pay 30 days Card Gold 10 end", 1, "2x2", "14;ghost"),
        ),
    }
