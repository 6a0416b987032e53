"""PDF -> Markdown: the text layer page by page, each page under its mark, headings from the outline or the type size.

Pages without text are counted and named. There is no character recognition: a scan is refused, not half read.
"""

from __future__ import annotations

import io
import logging
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError

from ..errors import DataError
from ..identity import fold
from .markdown import Converted, heading, join, paragraph

MOST_WITHOUT_TEXT = 0.2
"""Share of pages without text up to which a file is read (a cover, a blank, a plate); beyond it, it is a scan."""

_LARGER = 1.15  # times the body's type size: a heading (12 pt over 10 pt is, 10.5 pt over 10 pt is not)
_LONGEST_HEADING = 120  # characters
_LEVELS = 3  # type sizes that are told apart
_STANDARD_TITLES = {"untitled", "(anonymous)", "anonymous"}

Line = tuple[str, float]  # text, type size in points

logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns on every repaired file; what cannot be read raises


def pdf_to_markdown(data: bytes) -> Converted:
    """The text of all pages with a line `<!-- page N -->` before each; a scan or protected file is a DataError."""
    try:
        reader = PdfReader(io.BytesIO(data))
        pages = _without_running_lines([_lines(page) for page in reader.pages])
    except (FileNotDecryptedError, DependencyError):
        raise DataError("is protected; save it without password and restrictions") from None
    empty = [str(n) for n, lines in enumerate(pages, start=1) if not lines]
    note = f"{len(empty)} of {len(pages)} pages hold no text: {', '.join(empty)}" if empty else ""
    if len(empty) > MOST_WITHOUT_TEXT * len(pages) or not pages:
        raise DataError(f"is a scan or empty ({note or 'no pages'}); run character recognition (OCR) over it")
    levels = _outline_levels(reader, pages) or _size_levels(pages)
    blocks = [block for n, lines in enumerate(pages, start=1) if lines for block in _page(n, lines, levels)]
    about = reader.metadata
    title = str(about.title or "") if about else ""
    date = about.modification_date or about.creation_date if about else None
    return Converted(
        join(blocks),
        title=title if title.casefold() not in _STANDARD_TITLES else "",
        updated=date.date().isoformat() if date else "",
        notes=(note,) if note else (),
        pages=len(pages),
        empty_pages=len(empty),
    )


def _lines(page: Any) -> list[Line]:
    """The lines of a page that hold text, each with the size of most of its characters."""
    pieces: list[tuple[str, float]] = []

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], _font: Any, size: float) -> None:
        pieces.append((text, abs(size) * math.hypot(tm[2], tm[3]) * math.hypot(cm[2], cm[3])))

    page.extract_text(visitor_text=visit)
    lines: list[Line] = []
    text, sizes = "", Counter[float]()
    for piece, size in [*pieces, ("\n", 0.0)]:
        for i, part in enumerate(piece.split("\n")):
            if i:
                if paragraph(text):
                    lines.append((text, sizes.most_common(1)[0][0]))
                text, sizes = "", Counter[float]()
            text += part
            sizes[round(size, 1)] += len(part.strip())
    return lines


def _without_running_lines(pages: list[list[Line]]) -> list[list[Line]]:
    """Pages without a first or last line that all of them share but for its digits: 'Page 3', a running head."""
    for place in (0, -1):
        ends = {re.sub(r"\d+", "0", fold(lines[place][0])) for lines in pages if len(lines) > 1}
        if len(ends) == 1 and len(pages) > 1 and all(len(lines) > 1 for lines in pages):
            pages = [lines[1:] if place == 0 else lines[:-1] for lines in pages]
    return pages


def _page(number: int, lines: list[Line], levels: dict[tuple[int, int], int]) -> Iterator[str]:
    """The blocks of a page; lines of one heading are joined, lines of text stay lines."""
    yield f"<!-- page {number} -->"
    text: list[str] = []
    title: list[str] = []
    level = 0
    for i, (line, _) in enumerate([*lines, ("", 0.0)]):
        here = levels.get((number, i), 0)
        if title and here != level:
            yield heading(level, " ".join(title))
            title = []
        if here or i == len(lines):
            if text:
                yield "\n".join(text)
            text = []
        if here:
            title.append(line)
        elif line:
            text.append(paragraph(line))
        level = here


def _outline_levels(reader: PdfReader, pages: list[list[Line]]) -> dict[tuple[int, int], int]:
    """Heading levels by (page, line) of the outline's entries that stand as a line on their page."""
    levels: dict[tuple[int, int], int] = {}

    def walk(entries: Any, level: int) -> None:
        for entry in entries:
            if isinstance(entry, list):
                walk(entry, level + 1)
                continue
            number = (reader.get_destination_page_number(entry) or 0) + 1
            for i, (line, _) in enumerate(pages[number - 1]):
                if fold(line) == fold(str(entry.title)) and (number, i) not in levels:
                    levels[number, i] = level
                    break

    walk(reader.outline, 1)
    return levels


def _size_levels(pages: list[list[Line]]) -> dict[tuple[int, int], int]:
    """Heading levels by (page, line): short lines in a type larger than that of most of the text, largest first."""
    letters = Counter[float]()
    for line, size in (line for lines in pages for line in lines):
        letters[size] += len(line)
    body = letters.most_common(1)[0][0]
    larger: dict[tuple[int, int], float] = {}
    for number, lines in enumerate(pages, start=1):
        for size, run in groupby(enumerate(lines), key=lambda numbered: numbered[1][1]):
            places, texts = zip(*((i, text) for i, (text, _) in run), strict=True)
            heading_text = " ".join(texts)
            if (
                size >= _LARGER * body
                and len(heading_text) <= _LONGEST_HEADING
                and re.search(r"[^\W\d_]", heading_text)
            ):
                larger |= {(number, i): size for i in places}
    order = sorted(set(larger.values()), reverse=True)
    return {place: min(order.index(size) + 1, _LEVELS) for place, size in larger.items()}
