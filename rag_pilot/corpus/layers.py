"""A pilot's documents with those of its changes laid over them, and whether any of their files is another by now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ..identity import fingerprint
from ..records import Document
from ..settings import DocumentsTable
from .access import Access
from .documents import Documents, Sources, read_documents
from .metadata import Metadata


def read_layers(data: Path, changes: Sequence[str], table: DocumentsTable) -> Documents:
    """The documents below `data`, those of a later change in place of an earlier one's or the pilot's own by id."""
    access, metadata = (data / name for name in ("access.csv", "documents.csv"))
    sources = Sources(Metadata.read(metadata if metadata.exists() else None), table.other_keys, table.ids)
    known = Access.read(access if access.exists() else None)
    own, *later = _folders(data, changes)
    read = [read_documents(folder, known, sources) for folder in (own, *(f for f in later if f.is_dir()))]
    by_id: dict[str, Document] = {}
    for one in read:
        by_id.update({d.id: d for d in one.documents})
    return Documents(
        tuple(by_id[i] for i in sorted(by_id)),
        tuple(skip for one in read for skip in one.skipped),
        read[0].notes,
        {id_: pages for one in read for id_, pages in one.pages.items()},
    )


def state_of(data: Path, changes: Sequence[str]) -> str:
    """A fingerprint of every file that `read_layers` reads, by time and size."""
    files = [data / "access.csv", data / "documents.csv"]
    files += [path for folder in _folders(data, changes) if folder.is_dir() for path in sorted(folder.rglob("*"))]
    return fingerprint([[str(p), s.st_mtime_ns, s.st_size] for p in files if p.exists() and (s := p.stat())])


def _folders(data: Path, changes: Sequence[str]) -> list[Path]:
    return [data / "documents", *(data / "changes" / change / "documents" for change in changes)]
