"""XLSX -> Markdown: a heading per sheet, a table for each block of cells, with the values that formulas last had.

Hidden sheets, rows and columns are left out and counted; rows that only a filter hides are read. What stands alone is a
paragraph. Comments and charts are not read.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time, timedelta
from typing import Any
from zipfile import ZipFile

from ..errors import DataError
from .cells import shown
from .markdown import Converted, heading, join, paragraph, table
from .zipped import core_properties, open_package

MOST_CELLS = 500_000
"""Of a workbook: beyond it, it is data and not a text in which people look things up."""

_UNNAMED = re.compile(r"(sheet|feuil|tabelle|arkusz|hoja|foglio|blad|planilha|list|munka|лист) ?\d*", re.IGNORECASE)
_MOST_PIECES = 300  # of a band; more are not put together by their places but read as one

Place = tuple[int, int]


@dataclass(frozen=True)
class _Cell:
    text: str
    number: bool
    origin: Place  # of the merged cell that it belongs to, else its own place


Grid = dict[Place, _Cell]


def xlsx_to_markdown(data: bytes) -> Converted:
    """The sheets in their order, each under its name; one sheet alone that nobody named has no heading."""
    package = open_package(data, ".xlsx")
    uncalculated = _check(package)
    import openpyxl

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what openpyxl would not write back
        book = openpyxl.load_workbook(io.BytesIO(data), data_only=True)
    seen = [sheet for sheet in book.worksheets if sheet.sheet_state == "visible"]
    grids = [_grid(sheet) for sheet in seen]
    sheets = [(sheet.title, grid) for sheet, (grid, _) in zip(seen, grids, strict=True) if grid]
    blocks: list[str] = []
    for name, grid in sheets:
        if len(sheets) > 1 or not _UNNAMED.fullmatch(name):
            blocks.append(heading(1, name))
        blocks += [text for block in _blocks(grid) for text in _block(grid, block)]
    counts = {
        "hidden sheets": len(book.worksheets) - len(seen),
        "hidden rows or columns": sum(hidden for _, hidden in grids),
        "formulas that were never calculated (open the file and save it)": uncalculated,
    }
    title, updated = core_properties(package)
    notes = tuple(f"left out: {n} {what}" for what, n in counts.items() if n)
    return Converted(join(blocks), title=title, updated=updated, notes=notes)


def _check(package: ZipFile) -> int:
    """The number of formulas without a value; a DataError where there are too many cells to read."""
    cells = uncalculated = 0
    for name in package.namelist():
        if name.startswith("xl/worksheets/") and name.endswith(".xml"):
            part = package.read(name)
            cells += len(re.findall(rb"<(?:\w+:)?c[ >]", part))
            cells += sum(_size(area.decode()) for area in re.findall(rb'mergeCell ref="([A-Z0-9:]+)"', part))
            uncalculated += len(
                re.findall(rb"<(?:\w+:)?f(?:/>| [^>]*/>|[^>]*>[^<]*</[^>]*>)(?:<v/>|<v></v>)?</c>", part)
            )
    if cells > MOST_CELLS:
        raise DataError(
            f"holds or merges {cells:,} cells, more than the {MOST_CELLS:,} that are read; keep what people ask about"
        )
    return uncalculated


def _size(area: str) -> int:
    """The number of cells of an area such as A1:C9; openpyxl would make each cell of a merged one."""
    from openpyxl.utils import range_boundaries

    left, top, right, bottom = range_boundaries(area)
    return int((right - left + 1) * (bottom - top + 1))


def _grid(sheet: Any) -> tuple[Grid, int]:
    """The visible cells that hold something, merged ones in each of their places, and how many lines are hidden."""
    rows = {n for n, row in sheet.row_dimensions.items() if row.hidden}
    if sheet.auto_filter.ref and sheet.auto_filter.filterColumn:
        first, last = (int(n) for n in re.findall(r"\d+", sheet.auto_filter.ref))
        rows -= set(range(first, last + 1))
    columns = {n for c in sheet.column_dimensions.values() if c.hidden for n in range(c.min, min(c.max, 16384) + 1)}
    grid: Grid = {}
    gone: set[tuple[str, int]] = set()
    for (r, c), cell in sheet._cells.items():  # iter_rows would make a cell of each empty place up to the last
        if (text := shown(cell.value, cell.number_format)).strip():
            if r in rows or c in columns:
                gone.add(("row", r) if r in rows else ("column", c))
            else:
                grid[r, c] = _Cell(text, isinstance(cell.value, int | float | date | time | timedelta), (r, c))
    bottom, right = (max((place[i] for place in grid), default=0) for i in (0, 1))
    for area in sheet.merged_cells.ranges:
        if cell := grid.get((area.min_row, area.min_col)):
            for r in range(area.min_row, min(area.max_row, bottom) + 1):
                for c in range(area.min_col, min(area.max_col, right) + 1):
                    if r not in rows and c not in columns:
                        grid[r, c] = cell
    return grid, len(gone)


# -- where one table ends and the next begins --------------------------------------------------------------------------


@dataclass(frozen=True)
class _Box:
    top: int
    left: int
    bottom: int
    right: int

    def __or__(self, other: _Box) -> _Box:
        return _Box(
            min(self.top, other.top),
            min(self.left, other.left),
            max(self.bottom, other.bottom),
            max(self.right, other.right),
        )

    def belongs_to(self, other: _Box) -> bool:
        """Whether both are one table with an empty column between: side by side, unless they begin on other rows."""
        if self.bottom < other.top or other.bottom < self.top:
            return False
        apart = self.right < other.left or other.right < self.left
        return not (apart and self.top != other.top and self.is_table and other.is_table)

    @property
    def is_table(self) -> bool:
        return self.bottom > self.top and self.right > self.left


def _blocks(grid: Grid) -> list[_Box]:
    """The blocks of a sheet from top to bottom: an empty row ends a block, unless it parts a head from its numbers."""
    found: list[_Box] = []
    for box in _pieces(grid):
        above = found[-1] if found else None
        if (
            above
            and box.top == above.bottom + 2
            and box.left <= above.right
            and above.left <= box.right
            and above.right > above.left
            and not _has_number(grid, above, above.top, above.bottom)
            and _has_number(grid, box, box.top, box.top)
        ):
            found[-1] = above | box
        else:
            found.append(box)
    return found


def _has_number(grid: Grid, box: _Box, first: int, last: int) -> bool:
    places = ((r, c) for r in range(first, last + 1) for c in range(box.left, box.right + 1))
    return any(place in grid and grid[place].number for place in places)


def _pieces(grid: Grid) -> Iterator[_Box]:
    """Boxes around cells that touch, put together where they are one table, in order of their first cells."""
    band: list[_Box] = []
    bottom = 0
    for box in sorted(_touching(grid), key=lambda b: (b.top, b.left)):
        if band and box.top > bottom + 1:
            yield from _together(band)
            band = []
        band.append(box)
        bottom = max(bottom, box.bottom)
    yield from _together(band)


def _together(boxes: list[_Box]) -> list[_Box]:
    if len(boxes) > _MOST_PIECES:
        whole = boxes[0]
        for box in boxes:
            whole |= box
        return [whole]
    joined: list[_Box] = []
    for box in boxes:
        while friend := next((other for other in joined if box.belongs_to(other)), None):
            joined.remove(friend)
            box |= friend
        joined.append(box)
    return sorted(joined, key=lambda b: (b.top, b.left))


def _touching(grid: Grid) -> Iterator[_Box]:
    left = set(grid)
    while left:
        start = left.pop()
        box, edge = _Box(*start, *start), [start]
        while edge:
            r, c = edge.pop()
            box |= _Box(r, c, r, c)
            near = {(r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)} & left
            left -= near
            edge += near
        yield box


def _block(grid: Grid, box: _Box) -> Iterator[str]:
    """A block's title lines and its table; a block of one column is paragraphs."""
    rows = [
        {c: cell for c in range(box.left, box.right + 1) if (cell := grid.get((r, c)))}
        for r in range(box.top, box.bottom + 1)
    ]
    rows = [_once(row) for row in rows if row]
    columns = sorted({c for row in rows for c in row})
    while rows and (len(rows[0]) == 1 or len(columns) == 1):
        yield paragraph(next(iter(rows.pop(0).values())).text)
    columns = sorted({c for row in rows for c in row})
    yield table([row[c].text if c in row else "" for c in columns] for row in rows)


def _once(row: dict[int, _Cell]) -> dict[int, _Cell]:
    """A row that is one merged cell, as that cell alone."""
    return row if len({cell.origin for cell in row.values()}) > 1 else dict([next(iter(row.items()))])
