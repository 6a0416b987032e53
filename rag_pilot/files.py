"""Text and JSON Lines on disk: read with their line numbers, written whole or not at all.

Files are UTF-8 with `\n`; readers also take a byte order mark, UTF-16 with one, Windows line ends and cp1252. What the
rows mean is not known here.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from .errors import DataError
from .identity import plain
from .records import Record

R = TypeVar("R", bound=Record)


def read_text(path: Path) -> str:
    """A text file's text, decoded as `decode` does; a DataError names the file."""
    try:
        return decode(path.read_bytes())[0]
    except DataError as fault:
        raise DataError(f"{path}: {fault}") from None


def decode(data: bytes) -> tuple[str, str]:
    """(text, encoding): UTF-8 with or without a BOM, UTF-16 with one, else cp1252; line ends folded to `\\n`."""
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    reason = ""
    for encoding, codec in (
        {"UTF-16": "utf-16"}.items() if marked else {"UTF-8": "utf-8-sig", "cp1252": "cp1252"}.items()
    ):
        try:
            return data.decode(codec).replace("\r\n", "\n").replace("\r", "\n"), encoding
        except UnicodeDecodeError as fault:
            reason = str(fault)
    said = "marked as UTF-16 but is not" if marked else "neither UTF-8 nor cp1252"
    raise DataError(f"{said} ({reason}); save the file as UTF-8")


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) for each line that is not blank; anything but a JSON object is a DataError with its
    line."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys)
        except (ValueError, RecursionError) as fault:
            raise DataError(f"{path}, line {number}: not a JSON object ({fault}); mend or remove the line") from None
        if not isinstance(row, dict):
            raise DataError(f"{path}, line {number}: found {type(row).__name__}, expected one JSON object per line")
        yield number, row


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value")


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    row = dict(pairs)
    if len(row) < len(pairs):
        raise ValueError("a key stands twice in the object")
    return row


def read_records(path: Path, of: Callable[[Mapping[str, Any]], R]) -> list[R]:
    """Every record of a JSON Lines file; a missing or unfit field is a DataError with file and line."""
    records = []
    for number, row in read_jsonl(path):
        try:
            records.append(of(row))
        except (TypeError, ValueError, KeyError) as fault:
            raise DataError(f"{path}, line {number}: {fault}") from None
    return records


def dumps(row: Record | Mapping[str, Any]) -> str:
    """One line of JSON, keys in field order, non-ASCII as itself, NaN refused."""
    values = row.as_json() if isinstance(row, Record) else plain(row)
    return json.dumps(values, ensure_ascii=False, allow_nan=False)


def write_text(path: Path, text: str) -> None:
    """Write a whole file or nothing: a temporary file beside it, flushed, then renamed over it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_jsonl(path: Path, rows: Iterable[Record | Mapping[str, Any]]) -> None:
    """Write all rows at once, whole or not at all."""
    write_text(path, "".join(dumps(row) + "\n" for row in rows))


def append_jsonl(path: Path, row: Record | Mapping[str, Any]) -> None:
    """Append one whole line, flushed to the disk before returning.

    A file that ends in half a line (an interrupted write) is first cut back to its last whole line; the cut piece is
    kept beside it as `NAME.cut`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        cut_half_line(path, file)
        file.write((dumps(row) + "\n").encode())
        file.flush()
        os.fsync(file.fileno())


def cut_half_line(path: Path, file: BinaryIO) -> None:
    """Cut an open file (`a+b`) back to its last whole line, in bytes: half a letter must not change how it is read."""
    size = file.seek(0, os.SEEK_END)
    if not size:
        return
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return
    file.seek(0)
    whole, _, rest = file.read().rpartition(b"\n")
    try:
        json.loads(rest)
    except ValueError:
        with path.with_name(path.name + ".cut").open("ab") as copy:
            copy.write(rest + b"\n")
        file.truncate(len(whole) + 1 if whole else 0)
    else:
        file.write(b"\n")
