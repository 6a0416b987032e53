"""Files -> Documents: what stands in them, as Markdown, and who may open it.

A file whose groups cannot be established, or whose text cannot be read, is refused and listed; the others load. What a
passage, an index or a question is, is not known here.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path, PurePosixPath

from ..errors import AccessError, DataError, PilotError
from ..files import read_text
from ..progress import progress
from ..records import Document, Record
from ..said import Said
from .access import Access
from .convert import HTML, TEXT_KINDS, convert, kind_of
from .folder import clashes, files_below, id_of
from .front_matter import FrontMatter, UnknownKeys, split_front_matter
from .language import guess_language
from .markdown import Converted, first_heading
from .metadata import Metadata
from .read_html import decode_html


class NobodyError(AccessError):
    """Nobody was named who may open a file."""


@dataclass(frozen=True)
class Skipped(Record):
    """A file that was not read, and why (file, line where there is one, and what to do); `cause` is one of REFUSED."""

    path: str
    reason: str
    cause: str = "content"
    groups: frozenset[str] = frozenset()  # who may know of it; nobody where that cannot be established
    unknown: tuple[str, ...] = ()  # keys of its front matter that nobody knows
    unnamed: bool = False  # nobody was named who may open it, whatever else is wrong with it


REFUSED = {
    "kind": "of a kind that is not read",
    "name": "a name or link that cannot be used",
    "keys": "unknown keys in the front matter",
    "access": "who may open it cannot be established",
    "nobody": "nobody was named who may open it",
    "content": "what stands in it cannot be read or used",
}
"""Why files are refused, in plain words, in the order in which they are found out."""


@dataclass(frozen=True)
class Documents(Record):
    """What a folder holds: documents in the order of their paths, files refused, and what else a person should know."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    pages: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # id -> pages, and those of them without text


@dataclass(frozen=True)
class Sources:
    """What else is said of files: documents.csv, and what pilot.toml says of front matter and ids."""

    metadata: Metadata = Metadata()
    other_keys: tuple[str, ...] = ()  # keys of front matter that are passed over
    ids: str = "name"  # a document's id is its file's "name" or its "path", without the ending


def read_documents(folder: Path, access: Access, sources: Sources = Sources()) -> Documents:
    """Every file below `folder`, as a Document or among the skipped; names that begin with . or ~$ are no documents.

    Two files with one id are both refused, each reason naming the other; a missing folder is a DataError.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; put the documents there")
    documents: list[Document] = []
    skipped: list[Skipped] = []
    notes: list[str] = []
    pages: dict[str, tuple[int, int]] = {}
    names: list[str] = []
    files = files_below(folder)
    for name, reason, cause in files:
        if reason:
            groups = _groups_of(name, access) if cause == "kind" else frozenset()
            skipped.append(Skipped(name, f"{name}: {reason}", cause, groups))
        else:
            names.append(name)
    same = clashes(names, sources.ids)
    for name in progress(names, "reading", len(names)):
        try:
            if name in same:
                raise DataError(f"{name}: {same[name]}")
            document, converted = read_document(folder, name, access, sources)
        except PilotError as fault:
            skipped.append(_skipped(folder, name, access, sources, fault, "name" if name in same else _cause(fault)))
            continue
        documents.append(document)
        notes += [f"{name}: {note}" for note in converted.notes]
        if converted.pages:
            pages[document.id] = (converted.pages, converted.empty_pages)
    everything = [name for name, _, _ in files]
    for table, unused in (
        ("access.csv", access.unused(everything)),
        ("documents.csv", sources.metadata.unused(everything)),
    ):
        notes += [f"{table}, line {e.line}: {e.pattern} matches no file; check its spelling" for e in unused]
    return Documents(tuple(documents), tuple(sorted(skipped, key=lambda s: s.path)), tuple(notes), pages)


def read_document(folder: Path, name: str, access: Access, sources: Sources = Sources()) -> tuple[Document, Converted]:
    """One file (its path from `folder`) as a Document, and its text; a PilotError says why it cannot be one."""
    front, data = _read(folder, name, sources)
    groups = _settle(name, front, access)  # before the text: nothing is read for nobody
    values = _values(name, front, sources.metadata)
    converted = convert(name, front.body, data)
    if not converted.text.strip():
        raise DataError(f"{name}: holds no text; remove it, or save it again with its text")
    entry, id_ = access.of(name), id_of(name, sources.ids)
    document = Document(
        id=id_,
        title=values.get("title") or _title(name, converted) or PurePosixPath(id_).name,
        text=converted.text,
        groups=groups,
        path=name,
        link=values.get("link", ""),
        owner=values.get("owner") or (entry.owner if entry else ""),
        sensitivity=values.get("sensitivity") or (entry.sensitivity if entry else ""),
        updated=values.get("updated") or converted.updated,
        review_by=values.get("review_by", ""),
        lang=values.get("lang") or guess_language(converted.text),
        sha=hashlib.sha256(data).hexdigest()[:16],
    )
    return document, converted


def read_groups(folder: Path, name: str, access: Access, sources: Sources = Sources()) -> frozenset[str]:
    """Who may open a file now, its text not converted; a PilotError where nobody may, or it cannot be established."""
    return _settle(name, _read(folder, name, sources)[0], access)


def _title(name: str, converted: Converted) -> str:
    """What a file calls itself; the first heading of a workbook is the name of a sheet."""
    return ("" if kind_of(name) == ".xlsx" else first_heading(converted.text)) or converted.title


def why_stale(document: Document, today: date, fresh_days: int = 0) -> str:
    """Why a document counts as out of date on a day, or empty: its review is due, or its update is too long ago.

    `fresh_days` 0 sets no bound; a date that is not known makes nothing stale.
    """
    if document.review_by and document.review_by < today.isoformat():
        return Said("review_due", f"its review was due on {document.review_by}", date=document.review_by)
    if fresh_days and document.updated and (today - date.fromisoformat(document.updated)).days > fresh_days:
        words = f"last updated on {document.updated}, more than {fresh_days} days ago"
        return Said("last_updated", words, date=document.updated, days=fresh_days)
    return ""


def _read(folder: Path, name: str, sources: Sources) -> tuple[FrontMatter, bytes]:
    """Front matter with the body where the format carries it, and the file's bytes."""
    path = folder / name
    try:
        data = path.read_bytes()
        if kind_of(name) not in TEXT_KINDS:
            return FrontMatter(""), data
        text = decode_html(data, name) if kind_of(name) in HTML else read_text(path)
    except OSError as fault:
        raise DataError(
            f"{name}: cannot be opened ({fault.strerror}); check who may read it, and that it is there"
        ) from None
    except DataError as fault:
        raise DataError(str(fault).replace(str(path), name)) from None
    if "\0" in text:
        raise DataError(f"{name}: holds NUL characters, as UTF-16 read as UTF-8 does; save the file as UTF-8")
    return split_front_matter(text, name, sources.other_keys), data


def _settle(name: str, front: FrontMatter, access: Access) -> frozenset[str]:
    """The groups of a file: from its front matter or from access.csv; never from both where they differ."""
    entry = access.of(name)
    if entry and front.groups and entry.groups != front.groups:
        raise AccessError(
            f"{name}: its front matter says groups {_listed(front.groups)}, line {entry.line} of access.csv "
            f"says {_listed(entry.groups)}; make them agree or remove one"
        )
    groups = front.groups or (entry.groups if entry else None)
    if not groups:
        raise NobodyError(f"{name}: nobody may open it; add groups to its front matter or a line to access.csv")
    return groups


def _values(name: str, front: FrontMatter, metadata: Metadata) -> dict[str, str]:
    """What front matter or documents.csv say of a file; where both speak and differ, a DataError."""
    values = {key: value for key, value in front.values.items() if value}
    for key, cell in metadata.of(name).items():
        if values.setdefault(key, cell.value) != cell.value:
            raise DataError(
                f"{name}: its front matter says {key} {values[key]!r}, line {cell.line} of documents.csv says "
                f"{cell.value!r}; make them agree or remove one"
            )
    return values


def _cause(fault: PilotError) -> str:
    known = {UnknownKeys: "keys", NobodyError: "nobody", AccessError: "access"}
    return next((cause for kind, cause in known.items() if isinstance(fault, kind)), "content")


def _groups_of(name: str, access: Access) -> frozenset[str]:
    """Who may know of a file that is not read: what access.csv says where the file cannot say it."""
    try:
        entry = access.of(name)
    except AccessError:
        return frozenset()
    return entry.groups if entry else frozenset()


def _skipped(folder: Path, name: str, access: Access, sources: Sources, fault: PilotError, cause: str) -> Skipped:
    """A refused file with what else would refuse it, so that one round of mending is enough."""
    unknown: tuple[str, ...] = ()
    groups: frozenset[str] = frozenset()
    unnamed = False
    for _ in range(2):
        try:
            groups = read_groups(folder, name, access, replace(sources, other_keys=(*sources.other_keys, *unknown)))
        except UnknownKeys as more:
            unknown = more.keys
            continue
        except PilotError as other:
            unnamed = isinstance(other, NobodyError)
        break
    return Skipped(name, str(fault), cause, groups if cause == "content" else frozenset(), unknown, unnamed)


def _listed(groups: frozenset[str]) -> str:
    return ", ".join(sorted(groups))
