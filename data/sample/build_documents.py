"""Turns sources/*.md into the Word, HTML and PDF files of documents/, the same bytes on every run.

Run it after a change in sources/: `python data/sample/build_documents.py` (needs the extra `dev`). It writes nothing
unless every file can be built. Who may open a file is not written into it: that stands in access.csv.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from datetime import datetime, time
from html import escape
from pathlib import Path
from typing import Any

import docx
import yaml
from bs4 import BeautifulSoup, Tag
from docx.oxml.ns import qn
from markdown_it import MarkdownIt
from reportlab.lib.styles import ParagraphStyle
from reportlab.platypus import Flowable, Paragraph, SimpleDocTemplate, Table

FORMATS = {
    "docx": ("accueil-nouveaux-lyon", "contract-signature-rules", "minutes-management-2026-03"),
    "html": ("onboarding-first-week", "product-gloves-guide", "wdrozenie-nowych-pracownikow"),
    "pdf": ("emergency-plan-leeds",),
}
STYLES = {"h1": "Heading 1", "h2": "Heading 2", "h3": "Heading 3", "p": "Normal", "ul": "List Bullet"}
STYLES |= {"ol": "List Number", "table": "Table Grid"}  # all of them names of Word
MARKDOWN = MarkdownIt("commonmark").enable("table")
PAGE = """<!DOCTYPE html>
<html lang="{lang}"><head>
<meta charset="utf-8"><title>{title}</title>
<meta name="author" content="{owner}"><meta name="last-modified" content="{updated}">
<link rel="canonical" href="{link}">
<style>body {{ font: 16px/1.5 sans-serif; max-width: 46em; margin: auto }} nav li {{ display: inline; margin: 1em }}
td, th {{ border: 1px solid; padding: .3em; text-align: left }} footer {{ border-top: 1px solid }}</style>
</head>
<body>
<nav><ul><li><a href="/">Home</a></li><li><a href="/news">News</a></li><li><a href="/docs">Documents</a></li>
<li><a href="/people">Telephone list</a></li><li><a href="/canteen">Canteen menu</a></li></ul></nav>
<main>
{main}</main>
<footer>Kestrelmoor intranet | Page owner: {owner} | Last modified: {updated} | <a href="#">Print this page</a></footer>
</body></html>
"""
Source = dict[str, Any]  # the front matter, and the Markdown below it as `body`


def blocks(source: Source) -> Iterator[tuple[str, list[list[Tag]]]]:
    """Each block as the name of its Word style and its rows of cells; all but a table have one cell."""
    for tag in BeautifulSoup(MARKDOWN.render(source["body"]), "lxml").select("body > *"):
        if tag.name not in STYLES or tag.select("li li"):
            raise ValueError(f"expected {', '.join(STYLES)}, found <{tag.name}> at {tag.get_text()[:40]!r}")
        if tag.name == "table":
            yield STYLES[tag.name], [list(row.find_all(["th", "td"])) for row in tag.find_all("tr")]
        else:
            yield from ((STYLES[tag.name], [[line]]) for line in tag.find_all("li") or [tag])


def to_docx(source: Source) -> bytes:
    """A Word file with real headings, lists and tables; the dates inside its zip are fixed."""
    document, day = docx.Document(), datetime.combine(source["updated"], time())
    core = document.core_properties
    core.title, core.author, core.language, core.comments = source["title"], source["owner"], source["lang"], ""
    core.created = core.modified = day
    document.styles.element.find(".//" + qn("w:lang")).set(qn("w:val"), source["lang"])
    for style, rows in blocks(source):
        table = document.add_table(len(rows), len(rows[0]), style) if style == "Table Grid" else None
        for i, row in enumerate(rows):
            for j, line in enumerate(row):
                paragraph = table.cell(i, j).paragraphs[0] if table else document.add_paragraph(style=style)
                for text in line.find_all(string=True):
                    run = paragraph.add_run(text.replace("\n", " "))
                    run.bold, run.italic = (bool(text.find_parent(t)) or None for t in (["strong", "th"], "em"))
    written, fixed = io.BytesIO(), io.BytesIO()
    document.save(written)
    with zipfile.ZipFile(written) as before, zipfile.ZipFile(fixed, "w") as after:
        for name in before.namelist():  # a new entry is dated 1 January 1980
            after.writestr(zipfile.ZipInfo(name), before.read(name), zipfile.ZIP_DEFLATED)
    return fixed.getvalue()


def to_html(source: Source) -> bytes:
    """A whole page as an intranet exports it: menu, content, footer."""
    head = {key: escape(str(value)) for key, value in source.items()}
    return PAGE.format(**head, main=MARKDOWN.render(source["body"])).encode()


class Heading(Paragraph):  # type: ignore[misc]
    """A PDF heading that also stands in the outline."""

    def draw(self) -> None:
        """Sets the heading where the page has come to."""
        key = f"{self.canv.getPageNumber()} {self.getPlainText()}"
        self.canv.bookmarkHorizontal(key, 0, self.height)
        self.canv.addOutlineEntry(self.getPlainText(), key, int(self.style.name[-1]) - 1)
        super().draw()


def to_pdf(source: Source) -> bytes:
    """A PDF in a standard font, which holds the letters of cp1252 and no others."""
    source["body"].encode("cp1252")
    normal = ParagraphStyle("Normal", leading=14, spaceAfter=6)
    styles = {"Normal": normal, "List Bullet": ParagraphStyle("List Bullet", normal, leftIndent=14, bulletIndent=4)}
    for name, size in {"Heading 1": 20, "Heading 2": 14, "Heading 3": 11}.items():
        font = {"fontName": "Helvetica-Bold", "fontSize": size, "leading": size * 1.3, "spaceBefore": size * 0.6}
        styles[name] = ParagraphStyle(name, normal, keepWithNext=1, **font)
    grid = [("GRID", (0, 0), (-1, -1), 0.5, "grey"), ("BACKGROUND", (0, 0), (-1, 0), "whitesmoke")]
    file, story = io.BytesIO(), list[Flowable]()
    report = SimpleDocTemplate(file, title=source["title"], author=source["owner"], lang=source["lang"], invariant=1)
    for style, rows in blocks(source):
        if style == "Table Grid":
            cells = [[Paragraph(cell.decode_contents(), normal) for cell in row] for row in rows]
            story.append(Table(cells, [report.width / len(rows[0])] * len(rows[0]), style=grid, spaceAfter=8))
        else:
            kind, bullet = Heading if "Heading" in style else Paragraph, "-" if "Bullet" in style else None
            story.append(kind(rows[0][0].decode_contents(), styles[style], bullet))

    def footer(canvas: Any, _: SimpleDocTemplate) -> None:
        canvas.setDateFormatter(lambda *_: f"D:{source['updated']:%Y%m%d}000000Z")
        canvas.drawCentredString(report.pagesize[0] / 2, 36, f"Page {canvas.getPageNumber()}")

    report.build(story, onFirstPage=footer, onLaterPages=footer)
    return file.getvalue()


def main() -> None:
    """Builds every file in memory, then writes them."""
    folder, writers = Path(__file__).parent, {"docx": to_docx, "html": to_html, "pdf": to_pdf}
    wanted = {folder / "sources" / f"{name}.md": ending for ending, names in FORMATS.items() for name in names}
    if odd := wanted.keys() ^ set((folder / "sources").glob("*.md")):
        raise SystemExit(f"in sources/ or in FORMATS, but not in both: {', '.join(sorted(p.stem for p in odd))}")
    built: dict[str, bytes] = {}
    for path, ending in wanted.items():
        try:
            _, head, body = path.read_text(encoding="utf-8").split("---\n", 2)
            built[f"{path.stem}.{ending}"] = writers[ending]({**yaml.safe_load(head), "body": body})
        except (KeyError, ValueError, yaml.YAMLError) as fault:
            raise SystemExit(f"sources/{path.name} cannot be written as {ending}: {fault}") from None
    for name, data in built.items():
        (folder / "documents" / name).write_bytes(data)
        print(f"documents/{name}: {len(data):,} bytes")


if __name__ == "__main__":
    main()
