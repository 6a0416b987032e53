"""Text and JSON Lines on disk: read with their line numbers, written whole or not at all.

Files are UTF-8 with `\n`; readers also take a byte order mark, UTF-16 with one, Windows line ends and cp1252. What the
rows mean is not known here.
"""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from filelock import FileLock, Timeout

from .errors import DataError
from .identity import plain
from .records import Record

R = TypeVar("R", bound=Record)

LOCK_SECONDS = 1.0  # less than a form waits before it says that the kernel does not answer


def read_text(path: Path) -> str:
    """A text file's text, decoded as `decode` does, line ends folded to `\\n`; a DataError names the file."""
    try:
        return fold_lines(decode(path.read_bytes())[0])
    except DataError as fault:
        raise DataError(f"{path}: {fault}") from None


def decode(data: bytes) -> tuple[str, str]:
    """(text, encoding): UTF-8 with or without a BOM, UTF-16 with one, else cp1252; line ends as they are."""
    marked = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    reason = ""
    for encoding, codec in (
        {"UTF-16": "utf-16"}.items() if marked else {"UTF-8": "utf-8-sig", "cp1252": "cp1252"}.items()
    ):
        try:
            return data.decode(codec), encoding
        except UnicodeDecodeError as fault:
            reason = str(fault)
    said = "marked as UTF-16 but is not" if marked else "neither UTF-8 nor cp1252"
    raise DataError(f"{said} ({reason}); save the file as UTF-8")


def fold_lines(text: str) -> str:
    """The text with `\\n` at the end of every line."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_jsonl(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, object) for each line that is not blank; anything but a JSON object is a DataError with its
    line."""
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            yield number, json_object(path, number, line)


def json_object(path: Path, number: int, line: str) -> dict[str, Any]:
    """The object that one line of a file holds."""
    try:
        row = strict_json(line)
    except (ValueError, RecursionError) as fault:
        raise DataError(f"{path}, line {number}: not a JSON object ({fault}); mend or remove the line") from None
    if not isinstance(row, dict):
        raise DataError(f"{path}, line {number}: found {type(row).__name__}, expected one JSON object per line")
    return row


def strict_json(text: str, number: Callable[[str], Any] | None = None) -> Any:
    """A JSON value; NaN, infinity and a key that stands twice are a ValueError. `number` reads numbers, if not JSON."""
    return json.loads(
        text, parse_int=number, parse_float=number, parse_constant=_refuse_constant, object_pairs_hook=_unique_keys
    )


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
    """Append one whole line, flushed to the disk before returning, or nothing.

    A file that ends in half a line (an interrupted write) is first cut back to its last whole line; the cut piece is
    kept beside it as `NAME.cut`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    before = None
    try:
        with path.open("a+b") as file:
            cut_half_line(path, file)
            before = file.seek(0, os.SEEK_END)
            file.write((dumps(row) + "\n").encode())
            file.flush()
            os.fsync(file.fileno())
    except OSError:
        if before is not None:
            with contextlib.suppress(OSError):
                os.truncate(path, before)
        raise


@contextlib.contextmanager
def saving(path: Path) -> Iterator[None]:
    """Hold the lock of a file while it is read and written; what prevents that is a DataError: nothing was saved."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(path.with_name(f".{path.name}.lock"), timeout=LOCK_SECONDS):
            yield
    except Timeout:
        raise DataError(f"{path}: nothing was saved: another program holds the file; try again") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DataError(f"{path}: nothing was saved: {reason}; mend that and try again") from None


def whole_lines(path: Path) -> tuple[str, str]:
    """(the whole lines of a file, line ends folded; the half line at its end or nothing); no file is no line."""
    data = path.read_bytes() if path.exists() else b""
    cut = data.rfind(b"\n") + 1
    try:
        json.loads(data[cut:] or b"{}")
    except ValueError:
        return fold_lines(decode(data[:cut])[0]), data[cut:].decode("utf-8", "replace")
    return fold_lines(decode(data)[0]), ""


def read_whole(path: Path, of: Callable[[Mapping[str, Any]], R]) -> list[R]:
    """The records of a file that only grows, oldest first; half a last line (an interrupted write) is left out."""
    found = []
    for number, line in enumerate(whole_lines(path)[0].split("\n"), start=1):
        if line.strip():
            try:
                found.append(of(json_object(path, number, line)))
            except TypeError as fault:
                raise DataError(f"{path}, line {number}: {fault}; restore the file from git") from None
    return found


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
