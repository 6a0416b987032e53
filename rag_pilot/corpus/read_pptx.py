"""PPTX -> Markdown: each slide under its page mark and title, with its text, tables, charts, diagrams and notes.

Shapes are read in the order in which a screen reader reads them. Speaker notes follow a line `Notes:`. Hidden slides,
hidden shapes, dates, footers, slide numbers and comments are left out; hidden slides are counted.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import Any

from .cells import shown
from .markdown import Converted, heading, item, join, paragraph, spread, table
from .zipped import core_properties, open_package, xml_of

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_DGM = "{http://schemas.openxmlformats.org/drawingml/2006/diagram}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_FURNITURE = {"dt", "ftr", "sldNum", "hdr"}
_PLAIN = {"ctrTitle", "subTitle", "title"}


def pptx_to_markdown(data: bytes) -> Converted:
    """The slides in their order; page N is slide N, counted with the hidden ones."""
    package = open_package(data, ".pptx")
    import pptx

    slides = list(pptx.Presentation(io.BytesIO(data)).slides)
    shown_slides = [
        (n, slide) for n, slide in enumerate(slides, start=1) if slide.element.get("show") not in ("0", "false")
    ]
    title, updated = core_properties(package)
    hidden = len(slides) - len(shown_slides)
    return Converted(
        join(block for number, slide in shown_slides for block in _slide(number, slide)),
        title="" if title == "PowerPoint Presentation" else title,
        updated=updated,
        notes=(f"left out: {hidden} hidden slides",) if hidden else (),
    )


def _slide(number: int, slide: Any) -> Iterator[str]:
    title = slide.shapes.title
    text = title.text_frame.text if title is not None else ""
    body = [
        block for shape in slide.shapes if title is None or shape.shape_id != title.shape_id for block in _shape(shape)
    ]
    notes = slide.notes_slide.notes_text_frame if slide.has_notes_slide else None
    said = [paragraph(p.text) for p in notes.paragraphs] if notes is not None else []
    if not text.strip() and not any(body) and not any(said):
        return
    yield f"<!-- page {number} -->"
    yield heading(1, text) or heading(1, f"Slide {number}")
    yield from body
    if any(said):
        yield "Notes:"
        yield from said


def _shape(shape: Any) -> Iterator[str]:
    if shape._element._nvXxPr.cNvPr.get("hidden") in ("1", "true") or _kind(shape) in _FURNITURE:
        return
    if hasattr(shape, "shapes"):  # a group
        for part in shape.shapes:
            yield from _shape(part)
    elif getattr(shape, "has_table", False):
        yield table(_rows(shape.table))
    elif getattr(shape, "has_chart", False):
        yield from _chart(shape.chart)
    elif shape.has_text_frame:
        yield from _paragraphs(shape)
    else:
        yield from _diagram(shape)


def _kind(shape: Any) -> str | None:
    """The type of a placeholder (`body` where it names none); None for any other shape."""
    mark = next(shape._element.iter("{http://schemas.openxmlformats.org/presentationml/2006/main}ph"), None)
    return None if mark is None or hasattr(shape, "shapes") else mark.get("type", "body")


def _paragraphs(shape: Any) -> Iterator[str]:
    kind = _kind(shape)
    listed = (
        kind is not None and kind not in _PLAIN and sum(bool(p.text.strip()) for p in shape.text_frame.paragraphs) > 1
    )
    for p in shape.text_frame.paragraphs:
        own = {child.tag.removeprefix(_A) for child in p._p.pPr} if p._p.pPr is not None else set()
        is_item = (listed or p.level or own & {"buChar", "buAutoNum", "buBlip"}) and "buNone" not in own
        yield item(p.text, p.level) if is_item else paragraph(p.text)


def _rows(grid: Any) -> list[list[str]]:
    return spread(
        [
            (" ".join(p.text for p in cell.text_frame.paragraphs), cell.span_height, cell.span_width)
            for cell in row.cells
            if not cell.is_spanned
        ]
        for row in grid.rows
    )


def _chart(chart: Any) -> Iterator[str]:
    if chart.has_title and chart.chart_title.has_text_frame:
        yield paragraph(chart.chart_title.text_frame.text)
    for plot in chart.plots:
        series = [(one.name, list(one.values)) for one in plot.series]
        names = [shown(name) for name in plot.categories] or [
            str(n + 1) for n in range(max((len(v) for _, v in series), default=0))
        ]
        rows = [
            [name, *(shown(values[i]) if i < len(values) else "" for _, values in series)]
            for i, name in enumerate(names)
        ]
        yield table([["", *(name for name, _ in series)], *rows])


def _diagram(shape: Any) -> Iterator[str]:
    """The texts of a SmartArt, which stand in a part of its own."""
    for mark in shape._element.iter(f"{_DGM}relIds"):
        for point in xml_of(shape.part.related_part(mark.get(f"{_R}dm")).blob).iter(f"{_DGM}t"):
            yield item(" ".join("".join(p.itertext()) for p in point.iter(f"{_A}p")))
