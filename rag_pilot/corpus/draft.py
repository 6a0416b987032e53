"""A draft of access.csv from the folder tree, that grants nothing: a person fills in the groups."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path, PurePosixPath

from ..files import write_text
from .access import COLUMNS, FILES, Access, read_table


def write_draft(path: Path, access: Access, nobody: Iterable[str], others: Iterable[str]) -> bool:
    """Write access.draft.csv: the lines of access.csv, then lines without groups for the files that nobody may open.

    A folder is one line, or one a file where it also holds `others`, which say for themselves who may open them. Filled
    in and renamed to access.csv the draft works at once; unfilled it is refused, line by line. A draft in which
    somebody has begun to write is left as it is: False.
    """
    if path.exists() and _begun(path, access):
        return False
    mixed = {PurePosixPath(name).parent for name in others}
    counts = Counter(_pattern(PurePosixPath(name), mixed) for name in nobody)
    known = [[e.pattern, ";".join(sorted(e.groups)), e.owner, e.sensitivity, ""] for e in access.entries]
    fresh = [[pattern, "", "", "", str(n)] for pattern, n in sorted(counts.items())]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([(*COLUMNS, FILES), *known, *fresh])
    write_text(path, out.getvalue())
    return True


def _pattern(path: PurePosixPath, mixed: Collection[PurePosixPath]) -> str:
    return str(path) if path.parent in mixed else str(path.parent / "*")


def _begun(path: Path, access: Access) -> bool:
    """Whether a draft says more than access.csv does."""
    said = {(row["path"].casefold(), row["groups"]) for _, row in read_table(path, COLUMNS[:2], (*COLUMNS, FILES))}
    known = {(e.pattern, ";".join(sorted(e.groups))) for e in access.entries}
    return any(groups and (pattern, groups) not in known for pattern, groups in said)
