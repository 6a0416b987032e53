"""ODT (LibreOffice) -> Markdown: headings by outline level, lists, tables in their places, footnotes and text boxes.

Insertions are read, deletions are not. Hidden text, comments, headers, footers and generated tables of contents are
left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from ..errors import DataError
from .markdown import Converted, heading, item, join, paragraph, spread, table
from .zipped import open_package, part_of, xml_of

_NAMESPACES = {
    "office": "urn:oasis:names:tc:opendocument:xmlns:office:1.0",
    "text": "urn:oasis:names:tc:opendocument:xmlns:text:1.0",
    "table": "urn:oasis:names:tc:opendocument:xmlns:table:1.0",
    "draw": "urn:oasis:names:tc:opendocument:xmlns:drawing:1.0",
    "style": "urn:oasis:names:tc:opendocument:xmlns:style:1.0",
    "svg": "urn:oasis:names:tc:opendocument:xmlns:svg-compatible:1.0",
    "dc": "http://purl.org/dc/elements/1.1/",
}
_MOST_REPEATED = 100  # times that one cell or row is repeated; LibreOffice fills the edge of a sheet with thousands


def _tag(name: str) -> str:
    prefix, _, local = name.partition(":")
    return f"{{{_NAMESPACES[prefix]}}}{local}"


_H, _P, _LIST, _TABLE, _ROW, _CELL = (
    _tag(name) for name in ("text:h", "text:p", "text:list", "table:table", "table:table-row", "table:table-cell")
)
_NOT_READ = """text:tracked-changes office:annotation text:note-citation text:hidden-text text:hidden-paragraph
text:ruby-text text:table-of-content text:illustration-index text:table-index text:alphabetical-index svg:title svg:desc
office:forms text:sequence-decls text:variable-decls text:user-field-decls"""
_LEFT_OUT = {_tag(name) for name in _NOT_READ.split()}
_ASIDE = {_tag("text:note-body"), _tag("draw:text-box")}
_BLANKS = {_tag("text:s"), _tag("text:tab"), _tag("text:line-break")}


def odt_to_markdown(data: bytes) -> Converted:
    """The body of a text document with its text boxes and notes."""
    package = open_package(data, ".odt")
    content = part_of(package, "content.xml")
    if not content:
        raise DataError("holds no content.xml; open it and save it again as .odt")
    root = xml_of(content)
    if (body := root.find(f"{_tag('office:body')}/{_tag('office:text')}")) is None:
        raise DataError("is another kind of OpenDocument, not a text; save a sheet as .xlsx, slides as .pptx")
    styles = part_of(package, "styles.xml")
    text = join(_Reader([root, *([xml_of(styles)] if styles else [])]).blocks(body))
    meta = part_of(package, "meta.xml")
    about = {child.tag: child.text or "" for child in xml_of(meta).iter()} if meta else {}
    day = re.match(r"\d{4}-\d\d-\d\d", about.get(_tag("dc:date"), ""))
    return Converted(text, title=about.get(_tag("dc:title"), ""), updated=day[0] if day else "")


class _Reader:
    def __init__(self, roots: list[Any]) -> None:
        self.styles = {s.get(_tag("style:name")): s for root in roots for s in root.iter(_tag("style:style"))}
        self.hidden = {
            name
            for name, style in self.styles.items()
            if any(p.get(_tag("text:display")) == "none" for p in style.iter(_tag("style:text-properties")))
        }

    def blocks(self, node: Any, depth: int = -1) -> Iterator[str]:
        """The Markdown blocks below an element, in order; `depth` counts the lists around."""
        for child in node.iterchildren("*"):
            if self._is_left_out(child):
                continue
            if child.tag in (_H, _P):
                yield from self._paragraph(child, depth)
            elif child.tag == _TABLE:
                yield from self._table(child)
            else:
                yield from self.blocks(child, depth + (child.tag == _LIST))

    def _is_left_out(self, element: Any) -> bool:
        return (
            element.tag in _LEFT_OUT
            or element.get(_tag("text:style-name")) in self.hidden
            or element.get(_tag("text:display")) == "none"
            or element.get(_tag("table:visibility")) in ("collapse", "filter")
        )

    def _paragraph(self, p: Any, depth: int) -> Iterator[str]:
        aside: list[Any] = []  # text boxes and notes, read after the paragraph that holds them
        text = "".join(self._words(p, aside))
        if text.strip():
            level = self._level(p)
            yield heading(level, text) if level else item(text, depth) if depth >= 0 else paragraph(text)
        for element in aside:
            yield from self.blocks(element)

    def _words(self, node: Any, aside: list[Any]) -> Iterator[str]:
        yield node.text or ""
        for child in node.iterchildren("*"):
            if child.tag in _ASIDE:
                aside.append(child)
            elif child.tag in _BLANKS:
                yield " "
            elif not self._is_left_out(child):
                yield from self._words(child, aside)
            yield child.tail or ""

    def _level(self, p: Any) -> int:
        if p.tag == _H:
            return int(p.get(_tag("text:outline-level")) or 1)
        name, seen = p.get(_tag("text:style-name")), set[str]()
        while (style := self.styles.get(name)) is not None and name not in seen:
            seen.add(name)
            if level := style.get(_tag("style:default-outline-level")):
                return int(level)
            if name == "Title":
                return 1
            name = style.get(_tag("style:parent-style-name"))
        return 0

    def _table(self, node: Any) -> Iterator[str]:
        rows = [list(self._cells(row)) for row in self._within(node, _ROW) for _ in range(_times(row, "rows"))]
        cells = [cell for row in rows for cell in row]
        if max(map(len, rows), default=0) < 2 or any(self._lays_out(cell) for cell in cells):
            for cell in cells:
                yield from self.blocks(cell)
        else:
            yield table(spread([self._read(cell) for cell in row] for row in rows))

    def _cells(self, row: Any) -> Iterator[Any]:
        return (cell for cell in self._within(row, _CELL) for _ in range(_times(cell, "columns")))

    def _read(self, cell: Any) -> tuple[str, int, int]:
        down, across = (int(cell.get(_tag(f"table:number-{what}-spanned")) or 1) for what in ("rows", "columns"))
        return " ".join(self.blocks(cell)), down, across

    def _lays_out(self, cell: Any) -> bool:
        return next(cell.iter(_TABLE), None) is not None or any(self._level(p) for p in cell.iter(_H, _P))

    def _within(self, node: Any, tag: str) -> Iterator[Any]:
        """The nearest elements of a kind below a node, not through other tables."""
        for child in node.iterchildren("*"):
            if self._is_left_out(child):
                continue
            if child.tag == tag:
                yield child
            elif child.tag != _TABLE:
                yield from self._within(child, tag)


def _times(element: Any, what: str) -> int:
    """How often a cell or row stands there; an empty one counts once."""
    times = int(element.get(_tag(f"table:number-{what}-repeated")) or 1)
    return min(times, _MOST_REPEATED) if "".join(element.itertext()).strip() else 1
