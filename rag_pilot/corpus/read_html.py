"""HTML -> Markdown: words stay whole, blocks stay apart, and what a browser would not show is left out.

So is what surrounds the text: navigation, a site's footer, and the frame of MediaWiki and Confluence pages.
"""

from __future__ import annotations

import re
import warnings

from bs4 import BeautifulSoup, Tag, XMLParsedAsHTMLWarning
from bs4.dammit import EncodingDetector
from bs4.element import NavigableString

from ..errors import DataError
from .markdown import Converted, heading, item, join, one_line, paragraph, spread, table

_UNSEEN = {"script", "style", "template", "noscript", "nav", "title", "svg"}
_BLOCKS = """address article aside blockquote body caption center dd details dialog div dl dt fieldset figcaption figure
footer form h1 h2 h3 h4 h5 h6 header hr html legend li main ol option p pre section select summary table tbody td tfoot
th thead tr ul"""
_APART = frozenset(_BLOCKS.split())
_BROWSERS_READ = {"iso-8859-1": "cp1252", "latin-1": "cp1252", "latin1": "cp1252", "us-ascii": "cp1252"}
_ROLES = {"navigation", "search", "contentinfo"}
_IDS = {"breadcrumb-section", "footer"}  # of Confluence
_AROUND = """page-metadata toc-macro mw-editsection mw-jump-link mw-indicators navbox navbox-styles sistersitebox
side-box printfooter catlinks toc noprint"""
_CLASSES = frozenset(_AROUND.split())
_HIDDEN = re.compile(r"display\s*:\s*none|visibility\s*:\s*hidden", re.IGNORECASE)


def decode_html(data: bytes, name: str) -> str:
    """The text of an HTML file: UTF-8 where it is, else as its mark or declaration says, else cp1252."""
    return decoded(data, name)[0]


def decoded(data: bytes, name: str) -> tuple[str, str]:
    """(text, encoding) of an HTML file, as `decode_html` finds them."""
    declared = EncodingDetector.find_declared_encoding(data, is_html=True) or "cp1252"
    marked = "utf-16" if data.startswith((b"\xff\xfe", b"\xfe\xff")) else declared
    for encoding in ("utf-8-sig", _BROWSERS_READ.get(marked, marked)):
        try:
            return data.decode(encoding).replace("\r\n", "\n").replace("\r", "\n"), encoding.removesuffix("-sig")
        except (ValueError, LookupError):
            continue
    raise DataError(f"{name}: is neither UTF-8 nor {marked}; save the page as UTF-8")


def html_to_markdown(text: str) -> Converted:
    """Headings, paragraphs, lists and tables in their order; tables that only lay out a page are read as blocks."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        soup = BeautifulSoup(text, "lxml")
    writer = _Writer()
    for part in _content(soup):
        writer.tag(part)
        writer.flush()
    title = one_line(soup.title.get_text()) if soup.title else ""
    return Converted(join(writer.blocks), title=title, updated=_updated(soup))


def _content(soup: BeautifulSoup) -> list[Tag]:
    """The whole page, or title and text of a MediaWiki page, whose languages, tools and search stand around them."""
    text = soup.find(id="mw-content-text")
    title = soup.find(id="firstHeading")
    return [part for part in (title, text) if isinstance(part, Tag)] if isinstance(text, Tag) else [soup]


def _updated(soup: BeautifulSoup) -> str:
    """The day that the page's head gives as that of its last change; empty where it gives none."""
    for mark in soup.find_all("meta"):
        name = str(mark.get("name") or mark.get("property") or mark.get("http-equiv") or "").lower()
        day = re.match(r"\d{4}-\d\d-\d\d", str(mark.get("content") or ""))
        if day and name in ("last-modified", "dcterms.modified", "article:modified_time"):
            return day[0]
    return ""


def _unseen(tag: Tag) -> bool:
    style = str(tag.get("style") or "")
    if tag.name == "footer" and not tag.find_parent(["main", "article", "section"]):  # of the site, not of a text
        return True
    classes = tag.get_attribute_list("class")
    return (
        tag.name in _UNSEEN
        or tag.has_attr("hidden")
        or tag.get("role") in _ROLES
        or tag.get("id") in _IDS
        or not _CLASSES.isdisjoint(str(name) for name in classes)
        or (tag.name == "sup" and "reference" in classes)  # [12] would be taken for a citation
        or (tag.name == "table" and "sidebar" in classes)  # links to the pages of a series
        or bool(_HIDDEN.search(style))
    )


class _Writer:
    """Collects the words of a line until a block boundary ends it."""

    def __init__(self) -> None:
        self.blocks: list[str] = []
        self.words: list[str] = []
        self.level = 0  # of the heading being read
        self.marks: list[str] = []  # of the lists around, outermost first

    def flush(self) -> None:
        line, self.words = "".join(self.words), []
        if not line.strip():
            return
        if self.level:
            self.blocks.append(heading(self.level, line))
        elif self.marks:
            depth = len(self.marks) - 1
            self.blocks.append(item(line, depth, self.marks[-1]))
        else:
            self.blocks.append(paragraph(line))

    def walk(self, node: Tag) -> None:
        for child in node.children:
            if isinstance(child, Tag):
                if not _unseen(child):
                    self.tag(child)
            elif type(child) is NavigableString:  # not a comment, doctype or declaration
                self.words.append(str(child))

    def tag(self, tag: Tag) -> None:
        if tag.name == "br":
            self.words.append(" ")
            return
        if tag.name not in _APART:
            self.walk(tag)
            return
        self.flush()
        if tag.name == "table" and not _lays_out(tag):
            if caption := tag.find("caption", recursive=False):
                self.walk(caption)
                self.flush()
            self.blocks.append(table(spread(_cells(row) for row in _rows(tag))))
        elif tag.name == "pre":
            self.blocks.append(_fenced(tag.get_text()))
        elif re.fullmatch("h[1-6]", tag.name):
            before, self.level = self.level, int(tag.name[1])
            self.walk(tag)
            self.flush()
            self.level = before
        elif tag.name in ("ul", "ol"):
            self.marks.append("-" if tag.name == "ul" else "1.")
            self.walk(tag)
            self.flush()
            self.marks.pop()
        else:
            self.walk(tag)
            self.flush()


def _lays_out(tag: Tag) -> bool:
    return tag.find(["table", "h1", "h2", "h3", "h4", "h5", "h6"]) is not None


def _rows(tag: Tag) -> list[Tag]:
    return [row for row in tag.find_all("tr") if not any(_unseen(t) for t in [row, *row.parents])]


def _cells(row: Tag) -> list[tuple[str, int, int]]:
    cells = [cell for cell in row.find_all(["th", "td"]) if not _unseen(cell)]
    return [(_inline(cell), _span(cell, "rowspan"), _span(cell, "colspan")) for cell in cells]


def _span(cell: Tag, name: str) -> int:
    written = str(cell.get(name) or "").strip()
    return int(written) if written.isdecimal() else 1


def _inline(cell: Tag) -> str:
    """The words of a table cell, its blocks apart."""
    writer = _Writer()
    writer.walk(cell)
    writer.flush()
    return " ".join(writer.blocks)


def _fenced(text: str) -> str:
    runs = [len(run) for run in re.findall("`+", text)]
    fence = "`" * max(3, 1 + max(runs, default=0))
    return f"{fence}\n{text.strip(chr(10))}\n{fence}" if text.strip() else ""
