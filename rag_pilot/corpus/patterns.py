"""Patterns of paths, and which line of a table holds for a file: the most specific one, or none where lines compete.

What the lines say is not known here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Generic, Protocol, TypeVar


class Line(Protocol):
    """A line of a table: its pattern, relative to documents/ and folded, and where it stands."""

    @property
    def pattern(self) -> str:
        """As `fold_pattern` gives it."""
        ...

    @property
    def line(self) -> int:
        """In the table's file, from 1."""
        ...


L = TypeVar("L", bound=Line)


class Patterns(Generic[L]):
    """Lines of one table, found by path.

    `*` and `?` stay within one folder or file name, `**` stands for any number of folders; brackets are themselves.
    Upper and lower case, composed and decomposed letters are the same. The most specific line wins: the path itself,
    else the pattern that lies inside every other pattern that matches the file.
    """

    def __init__(self, lines: Iterable[L]) -> None:
        self._exact = {line.pattern: line for line in lines}
        wild = (line for line in self._exact.values() if set("*?") & set(line.pattern))
        self._wild = [(re.split("[*?]", line.pattern)[0].rstrip("/"), line) for line in wild]  # how its paths begin

    def of(self, path: str) -> L | None:
        """The line that holds for a file, or None; a ValueError names the lines that merely overlap on it."""
        name = fold_path(path)
        if name in self._exact:
            return self._exact[name]
        found = [line for start, line in self._wild if name.startswith(start) and matches(line.pattern, name)]
        if not found:
            return None
        for line in found:
            if all(_covers(other.pattern, line.pattern) for other in found):
                return line
        raise ValueError(", ".join(f"{line.line} ({line.pattern})" for line in found))

    def unused(self, paths: Iterable[str]) -> tuple[L, ...]:
        """The lines that match none of the files: mistyped, perhaps, so that a wider line decides instead."""
        names = {fold_path(path) for path in paths}
        wild = {line.pattern for _, line in self._wild}
        return tuple(
            line
            for line in self._exact.values()
            if line.pattern not in names
            and not (line.pattern in wild and any(matches(line.pattern, name) for name in names))
        )


def fold_path(path: str) -> str:
    """A path as it is compared."""
    return unicodedata.normalize("NFC", path.strip()).casefold()


def fold_pattern(written: str) -> str:
    """A pattern as it is compared; `hr/` means `hr/**`, backslashes are slashes."""
    pattern = fold_path(written.replace("\\", "/").removeprefix("./").lstrip("/"))
    return pattern + "**" if pattern.endswith("/") else pattern


def matches(pattern: str, path: str) -> bool:
    """Whether a folded pattern matches a folded path."""
    return _parts_match(tuple(pattern.split("/")), tuple(path.split("/")))


def _covers(pattern: str, other: str) -> bool:
    """Whether whatever `other` matches, `pattern` matches too; no where that is doubtful.

    It matches `other` written out with its `*` as nothing and as a run longer than the `?` of `pattern` could fill.
    """
    if pattern == other:
        return True
    return all(
        matches(pattern, "/".join(p if p == "**" else p.replace("*", run).replace("?", "\0") for p in other.split("/")))
        for run in ("", "\0" * (len(pattern) + 1))
    )


@lru_cache(maxsize=10_000)  # several `**` would be tried in every combination
def _parts_match(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    if not pattern:
        return not path
    if pattern[0] == "**":
        return any(_parts_match(pattern[1:], path[i:]) for i in range(len(path) + 1))
    if not path or path[0] == "**":  # a `**` of another pattern is covered by `**` alone
        return False
    return fnmatchcase(path[0], pattern[0].replace("[", "[[]")) and _parts_match(pattern[1:], path[1:])
