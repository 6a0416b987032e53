"""A pilot's documents with those of its changes laid over them, and whether any of their files is another by now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..identity import fingerprint
from ..settings import DocumentsTable
from .access import Access
from .documents import Documents, Sources, read_documents
from .metadata import Metadata


def read_layers(data: Path, changes: Sequence[str], table: DocumentsTable) -> Documents:
    """The documents below `data`, those of a later change in place of an earlier one's or the pilot's own, by id.

    Remarks are those on the pilot's own files.
    """
    access, described = (path if path.exists() else None for path in _tables(data))
    grants, sources = Access.read(access), Sources(Metadata.read(described), table.other_keys, table.ids)
    own, *later = _folders(data, changes)
    layers = [read_documents(folder, grants, sources) for folder in (own, *(f for f in later if f.is_dir()))]
    by_id = {d.id: d for layer in layers for d in layer.documents}
    pages = {id_: n for layer in layers for id_, n in layer.pages.items()}
    skipped = tuple(skip for layer in layers for skip in layer.skipped)
    return Documents(tuple(by_id[i] for i in sorted(by_id)), skipped, layers[0].notes, pages)


def state_of(data: Path, changes: Sequence[str]) -> str:
    """A fingerprint of every file that `read_layers` reads, by time and size."""
    below = [path for folder in _folders(data, changes) for path in sorted(folder.rglob("*"))]
    return fingerprint([_state(path) for path in (*_tables(data), *below)])


def _tables(data: Path) -> tuple[Path, Path]:
    return data / "access.csv", data / "documents.csv"


def _folders(data: Path, changes: Sequence[str]) -> list[Path]:
    return [data / "documents", *(data / "changes" / change / "documents" for change in changes)]


def _state(path: Path) -> list[str | int]:
    """What changes with a file; its name alone where it is not there, or closed to us."""
    try:
        found = path.stat()
    except OSError:
        return [str(path)]
    return [str(path), found.st_mtime_ns, found.st_size]
