"""A draft of access.csv: a line for every folder that holds files nobody was named for. It grants nothing.

Filled in and renamed to access.csv it works as it is; unfilled, reading it is refused with the line. What stands in
access.csv already is carried over, because a draft without the narrow lines would widen what they close.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from ..files import read_text, write_text
from .access import COLUMNS, FILES, Access, read_table
from .documents import Skipped
from .patterns import fold_pattern

NAME = "access.draft.csv"


def draft_access(access: Path, skipped: Iterable[Skipped], read: Iterable[str] = ()) -> str:
    """The text of the draft: the lines of access.csv, where it exists, then one line a folder; empty where none is due.

    A line means the files that stand in the folder itself; where a file of it says in its front matter who may open it
    (`read` are the paths of the files read), each other file has a line of its own. A folder with a wildcard in its
    name gets none: the line would mean other folders too.
    """
    grants = Access.read(access if access.exists() else None)
    speaking = {str(PurePosixPath(path).parent) for path in read if grants.of(path) is None}
    folders: dict[str, list[str]] = {}  # as access.csv compares them -> as they are written, once a file
    for skip in skipped:
        folder = str(PurePosixPath(skip.path).parent)
        if skip.unnamed and not set("*?\\") & set(skip.path if folder in speaking else folder):
            line = skip.path if folder in speaking else "*" if folder == "." else f"{folder}/*"
            folders.setdefault(fold_pattern(line), []).append(line)
    lines = [(written[0], "", "", "", str(len(written))) for _, written in sorted(folders.items())]
    if not lines:
        return ""
    known = read_table(access, ("path", "groups"), (*COLUMNS, FILES)) if access.exists() else []
    text = io.StringIO()
    table = csv.writer(text, lineterminator="\n")
    table.writerow((*COLUMNS, FILES))
    table.writerows([row.get(column, "") for column in (*COLUMNS, FILES)] for _, row in known)
    table.writerows(lines)
    return text.getvalue()


def write_draft(access: Path, skipped: Iterable[Skipped], read: Iterable[str] = ()) -> str:
    """Write the draft beside access.csv and say so; one that is there already is never written over."""
    text = draft_access(access, skipped, read)
    if not text:
        return ""
    path = access.with_name(NAME)
    if not path.exists():
        write_text(path, text)
        return (
            f"{NAME} was written: fill in groups (with ; between them) on every line, remove the lines of folders that "
            f"nobody is to read, and rename it to {access.name}"
        )
    if read_text(path) == text:
        return f"{NAME} waits for you: fill in groups on every line, and rename it to {access.name}"
    return f"{NAME} is left as it is, although the folders have changed; remove it for a new one"
