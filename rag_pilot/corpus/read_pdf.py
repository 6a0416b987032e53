"""PDF -> Markdown: the text layer page by page, each page under its mark, headings from the outline or the type size.

Pages without text are counted and named. There is no character recognition: a scan is refused, not half read. Text
comes in the order in which the file draws it, which keeps columns apart; what is drawn late is put where it stands.
Ruled tables become rows where their cells are the page's own lines, word for word.
"""

from __future__ import annotations

import io
import logging
import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from pypdf import PdfReader
from pypdf.errors import DependencyError, FileNotDecryptedError

from ..errors import DataError
from ..identity import fold
from .markdown import Converted, heading, join, paragraph
from .pdf_tables import FEWEST_RULES, MOST_RULES, Table, find_tables

MOST_WITHOUT_TEXT = 0.2
"""Share of pages without text up to which a file is read (a cover, a blank, a plate); beyond it, it is a scan."""

_LARGER = 1.15  # times the body's type size: a heading (12 pt over 10 pt is, 10.5 pt over 10 pt is not)
_LONGEST_HEADING = 120  # characters
_LEVELS = 3  # type sizes that are told apart
_STANDARD_TITLES = {"untitled", "(anonymous)", "anonymous"}

_LIGATURES = {c: unicodedata.normalize("NFKC", chr(c)) for c in range(0xFB00, 0xFB07)}  # the one letter fi -> f, i
_SAME_PLACE = 1.0  # points: bold is sometimes faked by drawing a word twice, a hair apart
_LEAST_NUMBERED = 10  # lines from which on a margin of line numbers is taken for one


class Line(NamedTuple):
    """A line of a page, with the place where it begins, in points from the lower left corner."""

    text: str
    size: float
    x: float = 0.0
    y: float = 0.0


logging.getLogger("pypdf").setLevel(logging.ERROR)  # it warns on every repaired file; what cannot be read raises


def pdf_to_markdown(data: bytes) -> Converted:
    """The text of all pages with a line `<!-- page N -->` before each; a scan or protected file is a DataError."""
    try:
        reader = PdfReader(io.BytesIO(data))
        read = [_lines(page) for page in reader.pages]
        drawn, running = _without_running_lines([lines for lines, _ in read])
        upright = [not page.rotation for page in reader.pages]
    except (FileNotDecryptedError, DependencyError):
        raise DataError("is protected; save it without password and restrictions") from None
    placed = [_in_place(lines) if up else lines for lines, up in zip(drawn, upright, strict=True)]
    pages, more = _without_running_lines(placed)  # once more: what stands first and last need not be drawn so
    said = f"left out as head or foot of all pages: {'; '.join(running + more)}" if running + more else ""
    empty = [str(n) for n, lines in enumerate(pages, start=1) if not lines]
    note = f"{len(empty)} of {len(pages)} pages hold no text: {', '.join(empty)}" if empty else ""
    if len(empty) > MOST_WITHOUT_TEXT * len(pages) or not pages:
        raise DataError(f"is a scan or empty ({note or 'no pages'}); run character recognition (OCR) over it")
    outline = _outline_levels(reader, pages)
    levels = outline or _size_levels(pages)
    ruled = {
        n: [line.text for line in lines]
        for n, (lines, (_, rules), up) in enumerate(zip(drawn, read, upright, strict=True), start=1)
        if up and FEWEST_RULES <= rules <= MOST_RULES
    }
    tables = {n: _in_final(found, drawn[n - 1], pages[n - 1]) for n, found in find_tables(data, ruled).items()}
    blocks = [
        block
        for n, lines in enumerate(pages, start=1)
        if lines
        for block in _page(n, lines, levels, tables.get(n, []), not outline)
    ]
    about = reader.metadata
    title = str(about.title or "") if about else ""
    date = about.modification_date or about.creation_date if about else None
    return Converted(
        join(blocks),
        title=title if title.casefold() not in _STANDARD_TITLES else "",
        updated=date.date().isoformat() if date else "",
        notes=tuple(filter(None, (note, said))),
        pages=len(pages),
        empty_pages=len(empty),
    )


def _lines(page: Any) -> tuple[list[Line], int]:
    """The lines of a page that hold text, each with the size of most of its characters; the rules that it draws."""
    pieces: list[Line] = []
    rules = 0

    def count(operator: bytes, *_: Any) -> None:
        nonlocal rules
        rules += operator in (b"l", b"re")

    drawn: dict[str, list[tuple[float, float]]] = {}

    def visit(text: str, cm: Sequence[float], tm: Sequence[float], _font: Any, size: float) -> None:
        x, y = (tm[4] * cm[i] + tm[5] * cm[i + 2] + cm[i + 4] for i in (0, 1))
        if word := text.strip():
            places = drawn.setdefault(word, [])
            if any(abs(x - left) < _SAME_PLACE and abs(y - low) < _SAME_PLACE for left, low in places):
                return
            places.append((x, y))
        pieces.append(Line(text, abs(size) * math.hypot(tm[2], tm[3]) * math.hypot(cm[2], cm[3]), x, y))

    page.extract_text(visitor_text=visit, visitor_operand_before=count)
    lines: list[Line] = []
    text, sizes, begin = "", Counter[float](), (0.0, 0.0)
    for piece in [*pieces, Line("\n", 0.0)]:
        for i, part in enumerate(piece.text.split("\n")):
            if i:
                if paragraph(text):
                    lines.append(Line(text, sizes.most_common(1)[0][0], *begin))
                text, sizes = "", Counter[float]()
            if part.strip() and not text.strip():
                begin = (piece.x, piece.y)
            text += part.translate(_LIGATURES)
            sizes[round(piece.size, 1)] += len(part.strip())
    return _without_line_numbers(lines), rules


def _without_line_numbers(lines: list[Line]) -> list[Line]:
    """The lines without a margin that numbers them, which is drawn as a run of lines 1, 2, 3 ..."""
    numbers = [int(text) if (text := line.text.strip()).isdecimal() else None for line in lines]
    runs = groupby(range(len(lines)), key=lambda i: None if (n := numbers[i]) is None else n - i)
    kept: list[int] = []
    for step, run in runs:
        places = list(run)
        kept += [] if step is not None and len(places) >= _LEAST_NUMBERED else places
    return [lines[i] for i in kept]


def _in_place(lines: list[Line]) -> list[Line]:
    """The lines with those that are drawn late put back: lines above the one drawn before and alone at their height.

    The first line of a second column is above the last of the first, too, but not alone at its height.
    """
    placed: list[Line] = []
    above, moving = None, False
    for line in lines:
        alone = not any(abs(other.y - line.y) < line.size / 2 for other in lines if other is not line)
        moving = alone and above is not None and (moving or line.y > above.y)
        at = next((i for i, other in enumerate(placed) if moving and other.y < line.y), len(placed))
        placed.insert(at, line)
        above = line
    return placed


def _in_final(tables: list[Table], drawn: list[Line], final: list[Line]) -> list[Table]:
    """The tables of the lines as drawn, cell by cell, among those put in place; only where its lines stay together."""
    places = {id(line): i for i, line in enumerate(final)}
    moved = ((table, sorted(places.get(id(line), -1) for line in drawn[table.first : table.end])) for table in tables)
    return [
        Table(at[0], at[-1] + 1, table.rows)
        for table, at in moved
        if at[0] >= 0 and at == list(range(at[0], at[-1] + 1))
    ]


def _without_running_lines(pages: list[list[Line]]) -> tuple[list[list[Line]], list[str]]:
    """Pages without a first or last line that all of them share but for the page's number, and those lines."""
    left_out = []
    for place in (0, -1):
        long = len(pages) > 1 and all(len(lines) > 1 for lines in pages)
        if long and _same_but_for_page([lines[place].text for lines in pages]):
            left_out.append(paragraph(pages[0][place].text))
            pages = [lines[1:] if place == 0 else lines[:-1] for lines in pages]
    return pages, left_out


def _same_but_for_page(texts: Sequence[str]) -> bool:
    """Whether the lines are one line, its numbers the same or counting the pages; the last cell of a table is not."""
    parts = [re.split(r"(\d+)", fold(text)) for text in texts]
    if len({tuple(part[::2]) for part in parts}) > 1:
        return False
    runs = [[int(n) for n in numbers] for numbers in zip(*(part[1::2] for part in parts), strict=True)]
    return all(len(set(run)) == 1 or len({n - page for page, n in enumerate(run)}) == 1 for run in runs)


def _page(
    number: int, lines: list[Line], levels: dict[tuple[int, int], int], tables: list[Table], joined: bool
) -> Iterator[str]:
    """The blocks of a page; heading lines that follow one another are `joined` or not, lines of text stay lines.

    A table in which a heading stands is none.
    """
    yield f"<!-- page {number} -->"
    begins = {
        table.first: table for table in tables if not any((number, i) in levels for i in range(table.first, table.end))
    }
    text: list[str] = []
    title: list[str] = []
    level = after = 0
    for i, line in enumerate([*[line.text for line in lines], ""]):
        if i < after:
            continue
        here = levels.get((number, i), 0)
        if title and (here != level or not joined):
            yield heading(level, " ".join(title))
            title = []
        if here or i in begins or i == len(lines):
            if text:
                yield "\n".join(text)
            text = []
        if i in begins:
            yield begins[i].rows
            after = begins[i].end
        elif here:
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
            for i, line in enumerate(pages[number - 1]):
                if fold(line.text) == fold(str(entry.title)) and (number, i) not in levels:
                    levels[number, i] = level
                    break

    walk(reader.outline, 1)
    return levels


def _size_levels(pages: list[list[Line]]) -> dict[tuple[int, int], int]:
    """Heading levels by (page, line): short lines in a type larger than that of most of the text, largest first."""
    letters = Counter[float]()
    for line in (line for lines in pages for line in lines):
        letters[line.size] += len(line.text)
    body = letters.most_common(1)[0][0]
    larger: dict[tuple[int, int], float] = {}
    for number, lines in enumerate(pages, start=1):
        for size, run in groupby(enumerate(lines), key=lambda numbered: numbered[1].size):
            places, texts = zip(*((i, line.text) for i, line in run), strict=True)
            heading_text = " ".join(texts)
            if (
                size >= _LARGER * body
                and len(heading_text) <= _LONGEST_HEADING
                and re.search(r"[^\W\d_]", heading_text)
            ):
                larger |= {(number, i): size for i in places}
    order = sorted(set(larger.values()), reverse=True)
    return {place: min(order.index(size) + 1, _LEVELS) for place, size in larger.items()}
