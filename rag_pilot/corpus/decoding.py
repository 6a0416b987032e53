"""Bytes of an export to text, saying how: UTF-8, UTF-16 with its mark, else cp1252, line by line where lines differ.

Never latin-1, in which the euro sign and dashes become invisible control characters. What would be read as cp1252 but
looks like Polish or Czech from Excel is refused: that file needs its encoding named.
"""

from __future__ import annotations

import codecs
import re
from pathlib import Path

from ..errors import DataError

_MARKS = {codecs.BOM_UTF8: "utf-8-sig", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}

_CENTRAL_EUROPEAN = re.compile(r"[^\W\d_]{2}[³¹¿][^\W\d_]|[^\W\d_]¿[^\W\d_]")
"""How the l, a and z of Polish in cp1250 look when they are read as cp1252: w³asny, mo¿na."""


def decoded(path: Path, encoding: str | None = None) -> tuple[str, str]:
    """(text with `\\n` line ends, how it was read); DataError with its line where no encoding fits."""
    data = path.read_bytes()
    if encoding:
        text, how = _as_told(path, data, encoding), f"read as {encoding}, as told"
    else:
        text, how = _guessed(path, data)
    if "\0" in text:
        raise DataError(f"{path}: holds NUL characters, so it is no text, or UTF-16 without a mark; save it as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n"), how


def _as_told(path: Path, data: bytes, encoding: str) -> str:
    try:
        return data.decode(encoding).removeprefix("\ufeff")
    except LookupError:
        raise DataError(f"there is no encoding {encoding!r}; expected such as utf-8, cp1252, cp1250") from None
    except UnicodeError as fault:
        raise DataError(f"{path}: is not {encoding} ({fault}); leave the encoding out to have it guessed") from None


def _guessed(path: Path, data: bytes) -> tuple[str, str]:
    for mark, codec in _MARKS.items():
        if data.startswith(mark):
            try:
                return data.decode(codec), "read as UTF-16" if codec == "utf-16" else "read as UTF-8 with BOM"
            except UnicodeDecodeError as fault:
                if codec == "utf-16":
                    raise DataError(f"{path}: begins as UTF-16 and is not ({fault}); save it as UTF-8") from None
                data = data.removeprefix(mark)
    try:
        return data.decode("utf-8"), "read as UTF-8"
    except UnicodeDecodeError:
        return _by_line(path, data)


def _by_line(path: Path, data: bytes) -> tuple[str, str]:
    """Each line as UTF-8 where it is, else as cp1252: exports are pasted together from several systems."""
    lines: list[str] = []
    other: list[int] = []
    utf8 = 0
    for number, line in enumerate(data.split(b"\n"), start=1):
        try:
            lines.append(line.decode("utf-8"))
            utf8 += not line.isascii()
            continue
        except UnicodeDecodeError:
            other.append(number)
        try:
            lines.append(line.decode("cp1252"))
        except UnicodeDecodeError as fault:
            raise DataError(
                f"{path}, line {number}: neither UTF-8 nor cp1252 ({fault}); save the file as UTF-8, or name its "
                "encoding: --encoding cp1250"
            ) from None
        if found := _CENTRAL_EUROPEAN.search(lines[-1]):
            raise DataError(
                f"{path}, line {number}: not UTF-8, and {found[0]!r} looks like Central European text; save the file "
                "as UTF-8, or name its encoding: --encoding cp1250 (Polish, Czech) or cp1252 (Western European)"
            )
    how = f"read as UTF-8, but {len(other)} lines as cp1252 (first: line {other[0]})" if utf8 else "read as cp1252"
    return "\n".join(lines), how
