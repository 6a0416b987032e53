"""DOCX -> Markdown: every visible word in its place, tables among the paragraphs, headings by outline level.

It reads the file's elements itself, because python-docx passes over content controls, text boxes and insertions.
Insertions are read, deletions are not: the text is what it would be once all changes are accepted.
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

from ..errors import DataError
from .markdown import Converted, heading, item, join, paragraph, table

_HEADING_NAME = re.compile(
    r"(?:heading|titre|überschrift|nagłówek|nadpis|título|titolo|kop|rubrik|overskrift|otsikko|заголовок)\s*([1-9])",
    re.IGNORECASE,
)
_OLE = b"\xd0\xcf\x11\xe0"
_P, _TBL, _TR, _TC, _BOX = (qn(f"w:{name}") for name in ("p", "tbl", "tr", "tc", "txbxContent"))
_LEFT_OUT = {qn(f"w:{name}") for name in ("del", "moveFrom", "pPr", "tblPr", "trPr", "tcPr", "sdtPr", "sdtEndPr")} | {
    "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
}
_TEXT = {qn("w:t"), qn("m:t")}
_MARKS = {qn("w:tab"): " ", qn("w:br"): " ", qn("w:cr"): " ", qn("w:noBreakHyphen"): "-"}


def docx_to_markdown(data: bytes) -> Converted:
    """The body of a Word file with its text boxes and footnotes; headers, footers and comments are left out."""
    if data.startswith(_OLE):
        raise DataError("is protected by a password, or an old .doc; save it as .docx without a password")
    document = docx.Document(io.BytesIO(data))
    reader = _Reader(document)
    text = join(reader.blocks(document.element.body))
    if not _related(document.part.package, RELATIONSHIP_TYPE.CORE_PROPERTIES):
        return Converted(text)  # python-docx would invent a title and a date
    core = document.core_properties
    return Converted(text, title=core.title, updated=core.modified.date().isoformat() if core.modified else "")


class _Reader:
    def __init__(self, document: Any) -> None:
        root = document.part.styles.element if _related(document.part, RELATIONSHIP_TYPE.STYLES) else ()
        self.styles = {style.get(qn("w:styleId")): style for style in root if style.tag == qn("w:style")}
        self.footnotes: dict[str, Any] = {}
        for part in _related(document.part, RELATIONSHIP_TYPE.FOOTNOTES):
            self.footnotes = {note.get(qn("w:id")): note for note in parse_xml(part.blob)}

    def blocks(self, node: Any) -> Iterator[str]:
        """The Markdown blocks below an element, in order."""
        for child in node.iterchildren():
            if child.tag in _LEFT_OUT:
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
            yield heading(level, text) if level else item(text) if self._is_item(p) else paragraph(text)
        for element in aside:
            yield from self.blocks(element)

    def _words(self, node: Any, aside: list[Any]) -> Iterator[str]:
        for child in node.iterchildren():
            if child.tag in _LEFT_OUT or child.tag == qn("w:r") and _is_on(child, "w:rPr/w:vanish"):
                continue
            if child.tag in _TEXT:
                yield child.text or ""
            elif child.tag in _MARKS:
                yield _MARKS[child.tag]
            elif child.tag == _BOX:
                aside.append(child)
            elif child.tag == qn("w:footnoteReference"):
                if (note := self.footnotes.get(child.get(qn("w:id")))) is not None:
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
            yield table([" ".join(self.blocks(cell)) for cell in row] for row in rows)

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

    def _is_item(self, p: Any) -> bool:
        return any(e.find(f"{qn('w:pPr')}/{qn('w:numPr')}") is not None for e in [p, *self._style_chain(p)])

    def _style_chain(self, p: Any) -> Iterator[Any]:
        """The paragraph's style and those that it is based on, nearest first."""
        link = p.find(f"{qn('w:pPr')}/{qn('w:pStyle')}")
        seen: set[str] = set()
        while link is not None and (key := link.get(qn("w:val"))) in self.styles and key not in seen:
            seen.add(key)
            yield self.styles[key]
            link = self.styles[key].find(qn("w:basedOn"))


def _related(part: Any, kind: str) -> list[Any]:
    return [rel.target_part for rel in part.rels.values() if rel.reltype == kind]


def _is_on(element: Any, path: str) -> bool:
    found = element.find("/".join(qn(step) for step in path.split("/")))
    return found is not None and found.get(qn("w:val")) not in ("0", "false", "off")


def _within(node: Any, tag: str) -> Iterator[Any]:
    """The nearest elements of a kind below a node, through content controls but not through other tables."""
    for child in node.iterchildren():
        if child.tag == tag:
            yield child
        elif child.tag not in _LEFT_OUT and child.tag != _TBL:
            yield from _within(child, tag)
