"""A ticket export as rows of text, whatever it was saved as: CSV, TSV, XLSX, JSON Lines, JSON or one question a line.

Cells stay text, byte for byte: 00417 is no number, "None" and "NA" are words. A row that cannot be read as it stands is
left out with its reason, the others are read; a file whose rows cannot be told apart is refused whole. What the columns
mean is not known here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..files import strict_json
from ..records import Record
from .columns import names_a_question
from .decoding import decoded
from .workbook import workbook_rows

KINDS = (".csv", ".tsv", ".txt", ".xlsx", ".jsonl", ".ndjson", ".json")
DELIMITERS = ";,\t|"
_NO_DELIMITER = "\x1f"  # a table of one column: no character parts its cells
_NAMES = {"\t": "tabs", _NO_DELIMITER: "nothing (one column)"}


@dataclass(frozen=True)
class LeftOut(Record):
    """A line of the export that became no question, and why."""

    line: int
    reason: str


@dataclass(frozen=True)
class Row:
    """One record of an export; `line` is where it begins, `unreadable` are cells that hold no text, with the reason."""

    line: int
    cells: Mapping[str, str]
    unreadable: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Export:
    """The records of a file, in order; `how` says how it was read, `unit` what its lines are called."""

    path: Path
    how: str
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    left_out: tuple[LeftOut, ...] = ()
    blank: int = 0
    unit: str = "line"


def read_export(path: Path, encoding: str | None = None, sheet: str | None = None) -> Export:
    """Read a ticket export by its ending (KINDS); DataError with file and line where it cannot be read at all.

    `encoding` is needed only where neither UTF-8, UTF-16 nor cp1252 is right, `sheet` where several sheets of a
    workbook could hold the questions.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    kind = path.suffix.lower()
    if kind not in KINDS:
        hint = "save it as .xlsx" if kind in (".xls", ".xlsb", ".xlsm", ".ods", ".numbers") else "export it again"
        raise DataError(f"{path}: {kind or 'no'} ending; {hint}: expected one of {', '.join(KINDS)}")
    if not path.stat().st_size:
        raise DataError(f"{path}: the file is empty (0 bytes); export it again")
    if kind == ".xlsx":
        name, rows, unreadable = workbook_rows(path, sheet)
        return _sheet(path, name, rows, unreadable)
    text, how = decoded(path, encoding)
    if kind in (".jsonl", ".ndjson"):
        return _json_lines(path, text, how)
    if kind == ".json":
        return _json_list(path, text, how)
    if kind == ".txt" and not names_a_question(text.lstrip("\n").partition("\n")[0].split("\t")):
        return _lines(path, text, how)
    return _delimited(path, text, how, "\t" if kind in (".tsv", ".txt") else None)


def _lines(path: Path, text: str, how: str) -> Export:
    lines = text.removesuffix("\n").split("\n")
    rows = tuple(Row(n, {"question": line}) for n, line in enumerate(lines, start=1) if line.strip())
    return Export(path, f"text, one question a line, {how}", ("question",), rows, blank=len(lines) - len(rows))


# -- delimited ---------------------------------------------------------------------------------------------------------


def _delimited(path: Path, text: str, how: str, delimiter: str | None) -> Export:
    first = 1
    if told := re.match(r"\s*sep=([^\w\s\"]|\t)\n", text):  # a line that Excel understands
        delimiter, text, first = told[1], text[told.end() :], 1 + told[0].count("\n")
    delimiter = delimiter or _delimiter(path, text)
    columns: tuple[str, ...] = ()
    rows: list[Row] = []
    left_out: list[LeftOut] = []
    blank = 0
    for line, cells in _records(path, text, delimiter, first):
        if not any(cell.strip() for cell in cells):
            blank += 1
        elif not columns:
            columns = _column_names(cells)
        else:
            while len(cells) > len(columns) and not cells[-1].strip():
                cells.pop()
            if len(cells) == len(columns):
                rows.append(Row(line, dict(zip(columns, cells, strict=True))))
            else:
                left_out.append(LeftOut(line, _ragged(len(cells), len(columns), delimiter)))
    if not columns:
        raise DataError(f"{path}: the file is empty; expected a line that names the columns, then one row a question")
    name = _NAMES.get(delimiter, repr(delimiter))
    return Export(path, f"a table separated by {name}, {how}", columns, tuple(rows), tuple(left_out), blank)


def _ragged(found: int, named: int, delimiter: str) -> str:
    cells = "1 field" if found == 1 else f"{found} fields"
    return f'{cells}, the header has {named}: write every field, "quotes" around one that holds {delimiter!r}'


def _delimiter(path: Path, text: str) -> str:
    """The character that parts the header into most fields; two equally good ones are an error."""
    fields = {d: len(next((r for r in csv.reader(io.StringIO(text), delimiter=d) if any(r)), [])) for d in DELIMITERS}
    most = max(fields.values())
    if most <= 1:
        return _NO_DELIMITER
    best = [d for d, n in fields.items() if n == most]
    if len(best) > 1:
        raise DataError(
            f"{path}: {' and '.join(map(repr, best))} both part the header into {most} fields; save it with one "
            "delimiter, or as .xlsx"
        )
    return best[0]


def _records(path: Path, text: str, delimiter: str, first: int) -> Iterator[tuple[int, list[str]]]:
    """(line on which it begins, cells) of each record; quotation marks that do not fit are an error with their line."""
    line = first
    with _long_cells(len(text)):
        reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
        try:
            for cells in reader:
                start, line = line, reader.line_num + first
                yield start, cells
        except csv.Error as fault:
            raise DataError(
                f"{path}, line {line}: the quotation marks do not fit ({fault}); double a mark inside a quoted cell, "
                "close every cell, or save as .xlsx"
            ) from None


@contextmanager
def _long_cells(size: int) -> Iterator[None]:
    """Let a cell be as long as the file: a mail can be longer than csv's limit of 131,072 characters."""
    before = csv.field_size_limit()
    csv.field_size_limit(max(before, size + 1))
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _column_names(cells: Sequence[str]) -> tuple[str, ...]:
    """Names as they stand, without empty ones at the end; a name that stands again is numbered, an empty one named."""
    kept = [" ".join(cell.split()) for cell in cells]
    while not kept[-1]:
        kept.pop()
    names: list[str] = []
    for number, cell in enumerate(kept, start=1):
        name, again = cell or f"column {number}", 2
        while name in names:
            name, again = f"{cell or f'column {number}'} ({again})", again + 1
        names.append(name)
    return tuple(names)


def _sheet(path: Path, name: str, sheet: Sequence[Sequence[str]], unreadable: Mapping[tuple[int, int], str]) -> Export:
    """A sheet as an export; cells beyond the header's are no part of the table."""
    filled = [(n, cells) for n, cells in enumerate(sheet, start=1) if any(c.strip() for c in cells)]
    if not filled:
        raise DataError(f"{path}, sheet {name!r}: nothing in it; expected a row that names the columns")
    columns = _column_names(filled[0][1])
    rows = tuple(
        Row(
            n,
            {c: cells[i] if i < len(cells) else "" for i, c in enumerate(columns)},
            {c: unreadable[n, i] for i, c in enumerate(columns) if (n, i) in unreadable},
        )
        for n, cells in filled[1:]
    )
    blank = max(n for n, _ in filled) - len(filled)
    return Export(path, f"sheet {name!r} of a workbook", columns, rows, blank=blank, unit="row")


# -- JSON --------------------------------------------------------------------------------------------------------------


def _json_lines(path: Path, text: str, how: str) -> Export:
    lines = text.removesuffix("\n").split("\n")
    found: list[tuple[int, Any]] = []
    left_out: list[LeftOut] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            try:
                found.append((number, _parsed(line)))
            except (ValueError, RecursionError) as fault:
                left_out.append(LeftOut(number, f"not a JSON object ({fault})"))
    blank = len(lines) - len(found) - len(left_out)
    return _objects(path, f"JSON Lines, {how}", found, left_out, blank, "line")


def _json_list(path: Path, text: str, how: str) -> Export:
    try:
        found = _parsed(text)
    except (ValueError, RecursionError) as fault:
        raise DataError(f"{path}: not JSON ({fault}); mend it, or save one object a line as .jsonl") from None
    if not isinstance(found, list):
        raise DataError(f"{path}: holds {_kind(found)}, expected a list of objects, such as [{{...}}, {{...}}]")
    return _objects(path, f"a JSON list, {how}", list(enumerate(found, start=1)), [], 0, "item")


def _objects(
    path: Path, how: str, found: Iterable[tuple[int, Any]], left_out: list[LeftOut], blank: int, unit: str
) -> Export:
    objects = [(number, value) for number, value in found if isinstance(value, dict)]
    left_out += [LeftOut(n, f"{_kind(v)}, expected an object") for n, v in found if not isinstance(v, dict)]
    columns = tuple(dict.fromkeys(name for _, value in objects for name in value))
    rows = []
    for number, value in objects:
        texts = {name: _text(value.get(name)) for name in columns}
        cells = {name: text or "" for name, text in texts.items()}
        unreadable = {name: f"holds {_kind(value[name])}, expected text" for name, t in texts.items() if t is None}
        rows.append(Row(number, cells, unreadable))
    return Export(path, how, columns, tuple(rows), tuple(sorted(left_out, key=lambda x: x.line)), blank, unit)


def _parsed(text: str) -> Any:
    """JSON with every number as the text that stands there: a key is no quantity."""
    return strict_json(text, str)


def _text(value: Any) -> str | None:
    """A JSON value as text: true as 'true', a list of texts with ; between; None for what is no text."""
    if isinstance(value, list) and all(isinstance(item, str) and ";" not in item for item in value):
        return ";".join(value)
    return "" if value is None else str(value).lower() if isinstance(value, bool) else _only_text(value)


def _only_text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _kind(value: Any) -> str:
    return {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}[type(value)]
