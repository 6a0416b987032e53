"""DOCX -> Markdown: every visible word in its place, tables among the paragraphs, headings by outline level.

It reads the file's elements itself, because python-docx passes over content controls, text boxes and insertions.
Insertions are read, deletions are not: the text is what it would be once all changes are accepted. Headers, footers,
comments, hidden text and tables of contents are left out.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from typing import Any

import docx
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import parse_xml
from docx.oxml.ns import qn

from .markdown import Converted, heading, item, join, paragraph, spread, table
from .zipped import open_package

_HEADING_NAME = re.compile(
    r"(?:heading|titre|überschrift|nagłówek|nadpis|título|titolo|kop|rubrik|overskrift|otsikko|заголовок)\s*([1-9])",
    re.IGNORECASE,
)
_CONTENTS_NAME = re.compile(r"(?:toc|table of figures)\b.*", re.IGNORECASE)  # Word keeps these names in all languages
_P, _TBL, _TR, _TC, _BOX = (qn(f"w:{name}") for name in ("p", "tbl", "tr", "tc", "txbxContent"))
_LEFT_OUT = {qn(f"w:{name}") for name in ("del", "moveFrom", "pPr", "tblPr", "trPr", "tcPr", "sdtPr", "sdtEndPr")} | {
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
}
_TEXT = {qn("w:t"), qn("m:t")}
_MARKS = {qn("w:tab"): " ", qn("w:br"): " ", qn("w:cr"): " ", qn("w:noBreakHyphen"): "-"}


_NOTES = {
    RELATIONSHIP_TYPE.FOOTNOTES: qn("w:footnoteReference"),
    RELATIONSHIP_TYPE.ENDNOTES: qn("w:endnoteReference"),
}


_TEMPLATE_DATE = "2013-12-23"  # of the empty file that python-docx writes into: files made by programs keep it


def docx_to_markdown(data: bytes) -> Converted:
    """The body of a Word file with its text boxes, footnotes and endnotes."""
    open_package(data, ".docx")
    document = docx.Document(io.BytesIO(data))
    reader = _Reader(document)
    text = join(reader.blocks(document.element.body))
    embedded = len(list(document.element.body.iter(qn("w:altChunk"))))
    notes = (f"left out: {embedded} embedded files; open it and save it again",) if embedded else ()
    if not _related(document.part.package, RELATIONSHIP_TYPE.CORE_PROPERTIES):
        return Converted(text, notes=notes)  # python-docx would invent a title and a date
    core = document.core_properties
    updated = core.modified.date().isoformat() if core.modified else ""
    updated = "" if updated == _TEMPLATE_DATE else updated
    return Converted(text, title=core.title, updated=updated, notes=notes)


class _Reader:
    def __init__(self, document: Any) -> None:
        root = document.part.styles.element if _related(document.part, RELATIONSHIP_TYPE.STYLES) else ()
        self.styles = {style.get(qn("w:styleId")): style for style in root if style.tag == qn("w:style")}
        self.notes = {
            (mark, note.get(qn("w:id"))): note
            for kind, mark in _NOTES.items()
            for part in _related(document.part, kind)
            for note in parse_xml(part.blob)
        }

    def blocks(self, node: Any) -> Iterator[str]:
        """The Markdown blocks below an element, in order."""
        for child in node.iterchildren():
            if child.tag in _LEFT_OUT or self._is_contents(child):
                continue
            if child.tag == _P:
                yield from self._paragraph(child)
            elif child.tag == _TBL:
                yield from self._table(child)
            else:
                yield from self.blocks(child)

    def _paragraph(self, p: Any) -> Iterator[str]:
        aside: list[Any] = []  # text boxes and footnotes, read after the paragraph that holds them
        text = "".join(self._words(p, aside))
        if text.strip():
            level = self._level(p)
            depth = self._depth(p)
            yield heading(level, text) if level else item(text, depth) if depth >= 0 else paragraph(text)
        for element in aside:
            yield from self.blocks(element)

    def _words(self, node: Any, aside: list[Any]) -> Iterator[str]:
        for child in node.iterchildren():
            if child.tag in _LEFT_OUT or child.tag == qn("w:r") and self._is_hidden(child):
                continue
            if child.tag in _TEXT:
                yield child.text or ""
            elif child.tag in _MARKS:
                yield _MARKS[child.tag]
            elif child.tag == _BOX:
                aside.append(child)
            elif child.tag in _NOTES.values():
                if (note := self.notes.get((child.tag, child.get(qn("w:id"))))) is not None:
                    aside.append(note)
            else:
                yield from self._words(child, aside)

    def _table(self, tbl: Any) -> Iterator[str]:
        rows = [
            list(_within(row, _TC)) for row in _within(tbl, _TR) if row.find(f"{qn('w:trPr')}/{qn('w:del')}") is None
        ]
        cells = [cell for row in rows for cell in row]
        if max(map(len, rows), default=0) < 2 or any(self._lays_out(cell) for cell in cells):
            for cell in cells:
                yield from self.blocks(cell)
        else:
            yield table(spread(self._merged(rows)))

    def _merged(self, rows: list[list[Any]]) -> Iterator[list[tuple[str, int, int]]]:
        """(text, 1, columns across) of each cell; one that goes on from the row above has that one's text."""
        above: dict[int, str] = {}
        for row in rows:
            line: list[tuple[str, int, int]] = []
            column = 0
            for cell in row:
                span, merge = (cell.find(f"{qn('w:tcPr')}/{qn(name)}") for name in ("w:gridSpan", "w:vMerge"))
                goes_on = merge is not None and merge.get(qn("w:val")) != "restart"
                text = above.get(column, "") if goes_on else " ".join(self.blocks(cell))
                above[column] = text
                across = int(span.get(qn("w:val"))) if span is not None else 1
                line.append((text, 1, across))
                column += across
            yield line

    def _is_contents(self, element: Any) -> bool:
        """Whether an element is, or is a line of, a generated table of contents."""
        if element.tag == _P:
            names = (style.find(qn("w:name")) for style in self._style_chain(element))
            return any(name is not None and _CONTENTS_NAME.fullmatch(name.get(qn("w:val"))) for name in names)
        gallery = element.find("/".join(qn(f"w:{step}") for step in ("sdtPr", "docPartObj", "docPartGallery")))
        return gallery is not None and gallery.get(qn("w:val")) == "Table of Contents"

    def _lays_out(self, cell: Any) -> bool:
        return next(cell.iter(_TBL), None) is not None or any(self._level(p) for p in cell.iter(_P))

    def _level(self, p: Any) -> int:
        """The heading level of a paragraph, 0 for body text: its own outline level, its style's, the style's name."""
        chain = [p, *self._style_chain(p)]
        for element in chain:
            if (outline := element.find(f"{qn('w:pPr')}/{qn('w:outlineLvl')}")) is not None:
                level = int(outline.get(qn("w:val")))
                return level + 1 if level < 9 else 0
        for style in chain[1:]:
            name = style.find(qn("w:name"))
            for label in (name.get(qn("w:val")) if name is not None else "", style.get(qn("w:styleId"))):
                if match := _HEADING_NAME.fullmatch(label or ""):
                    return int(match[1])
                if label == "Title":
                    return 1
        return 0

    def _depth(self, p: Any) -> int:
        """The depth of a list item, -1 for a paragraph that is none; numbering 0 takes a style's list away."""
        for element in [p, *self._style_chain(p)]:
            if (number := element.find(f"{qn('w:pPr')}/{qn('w:numPr')}")) is not None:
                values = {
                    child.tag: int(child.get(qn("w:val"))) for child in number.iterchildren(qn("w:ilvl"), qn("w:numId"))
                }
                return -1 if values.get(qn("w:numId")) == 0 else values.get(qn("w:ilvl"), 0)
        return -1

    def _is_hidden(self, run: Any) -> bool:
        own = [run, *self._style_chain(run, "w:rPr/w:rStyle")]
        said = (element.find("/".join(qn(step) for step in ("w:rPr", "w:vanish"))) for element in own)
        nearest = next((mark for mark in said if mark is not None), None)
        return nearest is not None and nearest.get(qn("w:val")) not in ("0", "false", "off")

    def _style_chain(self, element: Any, path: str = "w:pPr/w:pStyle") -> Iterator[Any]:
        """The style of a paragraph (or run) and those that it is based on, nearest first."""
        link = element.find("/".join(qn(step) for step in path.split("/")))
        seen: set[str] = set()
        while link is not None and (key := link.get(qn("w:val"))) in self.styles and key not in seen:
            seen.add(key)
            yield self.styles[key]
            link = self.styles[key].find(qn("w:basedOn"))


def _related(part: Any, kind: str) -> list[Any]:
    return [rel.target_part for rel in part.rels.values() if rel.reltype == kind]


def _within(node: Any, tag: str) -> Iterator[Any]:
    """The nearest elements of a kind below a node, through content controls but not through other tables."""
    for child in node.iterchildren():
        if child.tag == tag:
            yield child
        elif child.tag not in _LEFT_OUT and child.tag != _TBL:
            yield from _within(child, tag)
