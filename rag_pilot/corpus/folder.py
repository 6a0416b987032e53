"""The files below a folder, the ids that their names give, and those that cannot be told from one another.

Links are not followed, names that begin with . or ~$ passed over; everything else is listed. What stands in
a file is not known here.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from .convert import refusal
from .patterns import fold_path

_PASSED_OVER = (".", "~$")  # what systems and Word leave beside documents
_UNFIT = {"Cc", "Cs", "Zl", "Zp"}  # control characters, half a letter of another encoding, line breaks


def files_below(folder: Path) -> list[tuple[str, str, str]]:
    """(path from the folder, why it is not read or empty, cause) of every file, in order of the paths."""
    found: list[tuple[str, str, str]] = []

    def closed(fault: OSError) -> None:
        name = Path(fault.filename).relative_to(folder).as_posix()
        found.append((name, f"cannot be opened ({fault.strerror}); nothing in it was read", "content"))

    for above, folders, files in os.walk(folder, onerror=closed):
        here = Path(above)
        folders[:] = [name for name in folders if not name.startswith(_PASSED_OVER)]
        links = [name for name in folders if (here / name).is_symlink()]
        for file in (*links, *(name for name in files if not name.startswith(_PASSED_OVER))):
            path = here / file
            name = path.relative_to(folder).as_posix()
            if _UNFIT & {unicodedata.category(letter) for letter in name}:
                found.append((ascii(name), "its name is not UTF-8, or holds a line break; rename it", "name"))
            elif fault := _no_file(path):
                found.append((name, fault, "name"))
            else:
                found.append((name, refusal(name), "kind"))
    return sorted(found)


def _no_file(path: Path) -> str:
    try:
        linked, there = path.is_symlink(), path.is_file()
    except OSError as fault:  # its folder may be listed, but not entered
        return f"cannot be opened ({fault.strerror}); check who may read it"
    if linked:  # what it leads to may be closed to those who may open this folder
        return "is a link, which is not followed; copy what it leads to"
    return "" if there else "is no file; remove it"


def id_of(name: str, ids: str) -> str:
    """A document's id: its file's "name" or its "path", without the ending."""
    path = PurePosixPath(name).with_suffix("")
    return unicodedata.normalize("NFC", str(path) if ids == "path" else path.name)


def clashes(names: Iterable[str], ids: str) -> dict[str, str]:
    """Why a file cannot be told from another, by name: one id, or paths that access.csv takes for one."""
    same: dict[tuple[str, str], list[str]] = {}
    for name in names:
        same.setdefault(("id", id_of(name, ids)), []).append(name)
        same.setdefault(("path", fold_path(name)), []).append(name)
    found: dict[str, str] = {}
    for (kind, _), alike in same.items():
        for name in alike if len(alike) > 1 else ():
            others = [other for other in alike if other != name]
            listed = others[0] + (f" and {len(others) - 1} more" if len(others) > 1 else "")
            remedy = "rename one"
            if kind == "id" and ids == "name":
                remedy = 'rename all but one, or set ids = "path" in [documents] of pilot.toml'
            found[name] = (
                f"has the same id as {listed}; {remedy}"
                if kind == "id"
                else f"a line of access.csv cannot tell it from {listed}; {remedy}"
            )
    return found
