"""The sheet of an .xlsx workbook that holds questions, as rows of text.

A number is written as Excel shows it: 417.0 is "417", 00417 stays so where the cell's format says it. An error such as
#N/A is no text, and a number of more than 15 digits has lost its last ones in Excel: both are reported, not imported.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from ..errors import DataError
from .cells import shown
from .columns import names_a_question

EXACT_BELOW = 10**15
"""Excel keeps 15 digits of a number."""

Cells = list[list[str]]
Faults = dict[tuple[int, int], str]  # (row from 1, column from 0) -> why the cell holds no text


def workbook_rows(path: Path, sheet: str | None = None) -> tuple[str, Cells, Faults]:
    """(name, rows, cells without text) of the named sheet, or of the only one that holds rows, or names a question."""
    from openpyxl import load_workbook
    from openpyxl.utils.exceptions import InvalidFileException

    try:
        book = load_workbook(path, read_only=True, data_only=True)
        try:
            read = {ws.title: _rows(ws) for ws in book.worksheets if sheet in (None, ws.title)}
            names = [ws.title for ws in book.worksheets]
        finally:
            book.close()
    except (BadZipFile, InvalidFileException, KeyError, ValueError, EOFError, SyntaxError) as fault:
        raise DataError(
            f"{path}: not a workbook that can be read ({type(fault).__name__}); open it, remove a password, and save "
            "it again as .xlsx"
        ) from None
    filled = [name for name, (rows, _) in read.items() if any(map(any, rows))]
    likely = [name for name in filled if names_a_question(next(row for row in read[name][0] if any(row)))]
    best = filled if len(filled) == 1 else likely
    if len(best) != 1:
        unknown = sheet is not None and sheet not in names
        found = f"no sheet {sheet!r}" if unknown else "no rows" if not filled else f"{len(filled)} sheets with rows"
        raise DataError(f"{path}: {found}; say where the questions are with --sheet: {', '.join(map(repr, names))}")
    return best[0], *read[best[0]]


def _rows(sheet: Any) -> tuple[Cells, Faults]:
    sheet.reset_dimensions()  # some programs write a wrong size into the file
    rows: Cells = []
    faults: Faults = {}
    for number, cells in enumerate(sheet.iter_rows(), start=1):
        texts = []
        for place, cell in enumerate(cells):
            text, fault = _text(cell)
            texts.append(text)
            if fault:
                faults[number, place] = fault
        rows.append(texts)
    return rows, faults


def _text(cell: Any) -> tuple[str, str]:
    """(text of a cell, why it is none)."""
    value = cell.value
    if value is None:
        return "", ""
    if isinstance(value, str):
        fault = f"holds the error {value} of Excel: mend the formula" if cell.data_type == "e" else ""
        return value.replace("\r\n", "\n").replace("_x000D_", ""), fault
    if isinstance(value, bool):
        return str(value).lower(), ""
    if isinstance(value, float) and abs(value) >= EXACT_BELOW:
        return str(value), "holds a number of more than 15 digits, which Excel cuts: format the column as text first"
    return shown(value, cell.number_format or "General"), ""
