"""What a file says of itself besides its text, and documents.csv, which says it for files that cannot.

Who may open a file is no part of documents.csv: that stands in access.csv alone.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Self

from ..errors import DataError
from .access import read_table
from .patterns import Patterns, fold_pattern

COLUMNS = ("title", "link", "updated", "review_by", "lang", "owner")
"""What documents.csv may say of a file, beside the column `path`."""


def clean(key: str, text: str) -> str:
    """The value of a key as it is kept: dates as ISO dates, languages as codes; an unfit one is a ValueError.

    Only dates that everybody reads alike are taken: 03/04/2026 is a day in March or in April.
    """
    if key in ("updated", "review_by") and text:
        try:
            return datetime.fromisoformat(text).date().isoformat()
        except ValueError:
            raise ValueError(f"is {text!r}; expected a date such as 2026-03-14 (year, month, day)") from None
    if key == "lang" and text:
        code = text.split("-")[0].split("_")[0].lower()
        if not re.fullmatch("[a-z]{2,3}", code):
            raise ValueError(f"is {text!r}; expected a language code such as en, fr or pl")
        return code
    return text


@dataclass(frozen=True)
class Cell:
    """One cell of documents.csv that says something: the pattern and number of its line, its column, its value."""

    pattern: str
    column: str
    value: str
    line: int = 0


@dataclass(frozen=True)
class Metadata:
    """The cells of documents.csv; an empty one says nothing, so that a wider line may speak for that column."""

    cells: tuple[Cell, ...] = ()

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Read documents.csv (as access.csv is read); None means that there is no such file."""
        if path is None:
            return cls()
        cells: list[Cell] = []
        lines: dict[str, int] = {}
        for line, row in read_table(path, required=("path",), known=("path", *COLUMNS)):
            pattern = fold_pattern(row["path"])
            if not pattern:
                raise DataError(f"{path}, line {line}: path is empty; name a file, or a pattern such as hr/**")
            if pattern in lines:
                raise DataError(
                    f"{path}, lines {lines[pattern]} and {line}: {row['path']!r} stands twice; keep one of them"
                )
            lines[pattern] = line
            for column in COLUMNS:
                try:
                    value = clean(column, row.get(column, ""))
                except ValueError as fault:
                    raise DataError(f"{path}, line {line}: {column} {fault}") from None
                cells += [Cell(pattern, column, value, line)] if value else []
        return cls(tuple(cells))

    @cached_property
    def _columns(self) -> Mapping[str, Patterns[Cell]]:
        return {column: Patterns(cell for cell in self.cells if cell.column == column) for column in COLUMNS}

    def of(self, path: str) -> dict[str, Cell]:
        """What holds for a file (its path from documents/), by column; a DataError where two lines compete."""
        found: dict[str, Cell] = {}
        for column, cells in self._columns.items():
            try:
                cell = cells.of(path)
            except ValueError as fault:
                raise DataError(
                    f"{path}: lines {fault} of documents.csv give it a {column} and none lies inside the others; add a "
                    "line for this file"
                ) from None
            found |= {column: cell} if cell else {}
        return found

    def unused(self, paths: Iterable[str]) -> tuple[Cell, ...]:
        """One cell of each line that matches none of the files."""
        return Patterns(self.cells).unused(paths)
