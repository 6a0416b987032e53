"""Who may open what: access.csv, and the one rule that opens a document.

It knows paths and group names, neither documents nor questions. Whatever it cannot decide is closed.
"""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Self

from ..errors import AccessError, DataError
from ..files import read_text
from ..said import Said
from .patterns import Patterns, fold_pattern

COLUMNS = ("path", "groups", "owner", "sensitivity")
FILES = "files"
"""A column of the draft (see draft.py), for people: how many files a line was written for. It is not read."""


@dataclass(frozen=True)
class Entry:
    """One line of access.csv: a pattern relative to documents/, and what it says of the files that match it."""

    pattern: str
    groups: frozenset[str]
    owner: str = ""
    sensitivity: str = ""
    line: int = 0


@dataclass(frozen=True)
class Access:
    """The lines of access.csv; `of(path)` finds the one that holds for a file.

    The most specific line wins (see `patterns.Patterns`). Patterns that merely overlap (`*.pdf` and `salary.*`) decide
    nothing: the file is refused until a line names it.
    """

    entries: tuple[Entry, ...] = ()

    @classmethod
    def read(cls, path: Path | None) -> Self:
        """Read access.csv (comma, semicolon or tab; UTF-8 or cp1252); None means that there is no such file."""
        if path is None:
            return cls()
        entries: dict[str, Entry] = {}
        faults: dict[str, list[int]] = {}  # what is wrong -> its lines: all are told at once
        for line, row in read_table(path, required=("path", "groups"), known=(*COLUMNS, FILES)):
            pattern = fold_pattern(row["path"])
            try:
                if not pattern:
                    raise ValueError("path is empty; name a file, or a pattern such as hr/**")
                if pattern in entries:
                    also = entries[pattern].line
                    raise ValueError(f"{row['path']!r} stands in line {also} too, so it stands twice; keep one of them")
                entries[pattern] = Entry(pattern, frozenset(), row.get("owner", ""), row.get("sensitivity", ""), line)
                entries[pattern] = replace(entries[pattern], groups=_groups(row["groups"]))
            except ValueError as fault:
                faults.setdefault(str(fault), []).append(line)
        if faults:
            told = (f"line{'s' * (len(lines) > 1)} {_listed(lines)}: {what}" for what, lines in faults.items())
            raise AccessError(f"{path}, {'; '.join(told)}")
        return cls(tuple(entries.values()))

    @cached_property
    def _lines(self) -> Patterns[Entry]:
        return Patterns(self.entries)

    def of(self, path: str) -> Entry | None:
        """The line that holds for a file (its path from documents/), or None; AccessError where two lines compete."""
        try:
            return self._lines.of(path)
        except ValueError as fault:
            raise AccessError(
                f"{path}: lines {fault} of access.csv match it and none lies inside the others; add a line for this "
                "file"
            ) from None

    def unused(self, paths: Iterable[str]) -> tuple[Entry, ...]:
        """The lines that match none of the files."""
        return self._lines.unused(paths)


def _groups(cell: str) -> frozenset[str]:
    if "," in cell:
        raise ValueError(f"groups is {cell!r}; separate groups with ; not with ,")
    try:
        return group_names(cell.split(";"))
    except ValueError as fault:
        raise ValueError(f"groups {fault}") from None


def _listed(lines: Sequence[int]) -> str:
    return " and ".join([", ".join(map(str, lines[:-1])), str(lines[-1])] if len(lines) > 1 else map(str, lines))


def may_open(groups: frozenset[str], asker: frozenset[str]) -> bool:
    """Whether somebody in the groups `asker` may open what is open to `groups`: one in common; none opens nothing."""
    return not groups.isdisjoint(asker)


def group_names(names: Iterable[str]) -> frozenset[str]:
    """Group names as a set, trimmed and in Unicode's composed form; none at all, or an empty one, is a ValueError."""
    if isinstance(names, str):
        raise ValueError(f"is the text {names!r}; expected a list of names")
    found = frozenset(unicodedata.normalize("NFC", name).strip() for name in names)
    if not found - {""}:
        raise ValueError("is empty; name at least one group")
    for name in found:
        if not name or not name.isprintable() or ";" in name:
            raise ValueError(f"holds {name!r}; expected names without line breaks and semicolons")
    return found


def read_table(path: Path, required: Sequence[str], known: Sequence[str]) -> list[tuple[int, dict[str, str]]]:
    """(line, cells by column) of a CSV file with a header; the delimiter is read from the header.

    Cells stay text, trimmed. Empty lines are passed over, trailing empty cells too; any other mismatch, and a column
    that is not `known`, is a DataError with its line.
    """
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    text = read_text(path)
    first = text.lstrip("\n").partition("\n")[0]
    delimiter = max(",;\t", key=first.count)
    rows: list[tuple[int, dict[str, str]]] = []
    header: list[str] | None = None
    reader = csv.reader(io.StringIO(text), delimiter=delimiter, strict=True)
    line = 1
    try:
        for cells in reader:
            line, start = reader.line_num + 1, line
            cells = [cell.strip() for cell in cells]
            if not any(cells):
                continue
            if header is None:
                header = [cell.casefold() for cell in cells]
                _check_header(path, header, required, known)
                continue
            while len(cells) > len(header) and not cells[-1]:
                cells.pop()
            if len(cells) != len(header):
                raise DataError(
                    f"{path}, line {start}: {len(cells)} fields, the header has {len(header)}; "
                    f'write every field, and put "quotes" around one that holds {delimiter!r}'
                )
            rows.append((start, dict(zip(header, cells, strict=True))))
    except csv.Error as fault:
        raise DataError(f"{path}, line {line}: {fault}; check the quotation marks") from None
    if header is None:
        raise DataError(f"{path}: the file is empty; expected a header with {', '.join(required)}")
    return rows


def _check_header(path: Path, header: list[str], required: Sequence[str], known: Sequence[str]) -> None:
    for name in header:
        if name not in known or header.count(name) > 1:
            raise DataError(
                f"{path}: column {name!r} is unknown or stands twice; expected the columns {', '.join(known)}"
            )
    if missing := [name for name in required if name not in header]:
        raise DataError(f"{path}: found the columns {', '.join(header)}; {', '.join(missing)} is missing")


def all_of(groups: Iterable[str]) -> tuple[frozenset[str], ...]:
    """Each of an asker's groups: all are needed for words of hers where no document says who may read them."""
    return tuple(frozenset({group}) for group in sorted(groups))


def groups_said(needed: Iterable[frozenset[str]]) -> str:
    """Such as 'finance and hr or legal': of each text's groups one would do; empty where nothing is closed."""
    gone = Said("passage_gone", "access to a passage that is gone")
    named = {tuple(sorted(groups)) for groups in needed}
    each = sorted(Said("one_of", " or ".join(names), names=names) if names else gone for names in named)
    return Said("groups", " and ".join(each), each=tuple(each))
