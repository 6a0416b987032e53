"""Files -> Documents: what stands in them, as Markdown, and who may open it.

A file whose groups cannot be established, or whose text cannot be read, is refused and listed; the others load. What a
passage, an index or a question is, is not known here.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..errors import AccessError, DataError, PilotError
from ..files import read_text
from ..records import Document, Record
from .access import Access
from .convert import HTML, TEXT_KINDS, convert, kind_of, refusal
from .front_matter import FrontMatter, split_front_matter
from .markdown import first_heading
from .read_html import decode_html

_COMMON = {
    "en": "the of and to is for with that are this by be or from not you must it on at an will can if your when",
    "fr": "le les des et du une est dans pour qui sur au aux avec ce pas vous par ou il sont votre être cette",
    "pl": "i w z na się nie jest oraz dla po od przez lub jak które są przy ze za ciągu może albo tylko",
}
_STOP_WORDS = {lang: frozenset(words.split()) for lang, words in _COMMON.items()}
_LEAST_SHARE = 0.08  # of all words; see guess_language


@dataclass(frozen=True)
class Skipped(Record):
    """A file that was not read, and why (file, line where there is one, and what to do)."""

    path: str
    reason: str


@dataclass(frozen=True)
class Documents(Record):
    """What a folder holds: documents in the order of their paths, files refused, and what else a person should know."""

    documents: tuple[Document, ...]
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


def read_documents(folder: Path, access: Access) -> Documents:
    """Every file below `folder`, as a Document or among the skipped; names that begin with . or ~$ are no documents.

    A document's id is its file's name without the ending. Two files with one id are a DataError that names both.
    """
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder; put the documents there")
    names: list[str] = []
    documents: list[Document] = []
    skipped: list[Skipped] = []
    notes: list[str] = []
    for name, fault in _files(folder):
        if fault:
            skipped.append(Skipped(name, f"{name}: {fault}"))
        else:
            names.append(name)
    _refuse_clashes(names)
    for name in names:
        try:
            document, remarks = read_document(folder, name, access)
        except PilotError as refused:
            skipped.append(Skipped(name, str(refused)))
        else:
            documents.append(document)
            notes += [f"{name}: {remark}" for remark in remarks]
    for entry in access.unused(names):
        notes.append(f"access.csv, line {entry.line}: {entry.pattern} matches no file; check its spelling")
    return Documents(tuple(documents), tuple(sorted(skipped, key=lambda s: s.path)), tuple(notes))


def read_document(folder: Path, name: str, access: Access) -> tuple[Document, tuple[str, ...]]:
    """One file (its path from `folder`) as a Document, with remarks; a PilotError says why it cannot be one."""
    front, data = _read(folder, name)
    groups = _settle(name, front, access)  # before the text: nothing is read for nobody
    converted = convert(name, front.body, data)
    if not converted.text.strip():
        raise DataError(f"{name}: holds no text; remove it, or save it again with its text")
    entry = access.of(name)
    stem = _id(name)
    values = front.values
    document = Document(
        id=stem,
        title=values.get("title") or first_heading(converted.text) or converted.title or stem,
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
    return document, converted.notes


def read_groups(folder: Path, name: str, access: Access) -> frozenset[str]:
    """Who may open a file now, its text not converted; a PilotError where nobody may, or it cannot be established."""
    return _settle(name, _read(folder, name)[0], access)


def guess_language(text: str) -> str:
    """`en`, `fr` or `pl` by the share of its commonest words, empty where none stands out.

    Help pages and handbooks in these languages have 10 to 40 % of them, Spanish, German or Turkish texts below 4 %.
    """
    words = re.findall(r"[^\W\d_]+", text.casefold())
    counts = Counter(words)
    shares = {lang: sum(counts[w] for w in common) / max(len(words), 1) for lang, common in _STOP_WORDS.items()}
    best, second = sorted(shares, key=lambda lang: -shares[lang])[:2]
    return best if shares[best] >= _LEAST_SHARE and shares[best] >= 2 * shares[second] else ""


def _files(folder: Path) -> Iterator[tuple[str, str]]:
    """(path from the folder, why it is not read or empty) of every file, in order of the paths."""
    found = sorted((path.relative_to(folder).as_posix(), path) for path in folder.rglob("*"))
    for name, path in found:
        parts = PurePosixPath(name).parts
        if any(part.startswith((".", "~$")) for part in parts) or path.is_dir() and not path.is_symlink():
            continue
        if name.encode(errors="replace").decode() != name:
            yield ascii(name), "its name is not UTF-8; rename it"
        elif not path.is_file():
            yield name, "is a link to a folder or to nothing, which is not followed; copy its files"
        else:
            yield name, refusal(name)


def _id(name: str) -> str:
    return unicodedata.normalize("NFC", PurePosixPath(name).stem)


def _refuse_clashes(names: list[str]) -> None:
    by_id: dict[str, list[str]] = {}
    for name in names:
        by_id.setdefault(_id(name), []).append(name)
    clashes = [" and ".join(same) for same in by_id.values() if len(same) > 1]
    if clashes:
        raise DataError(f"files with one name are one document id; rename all but one of: {'; '.join(clashes)}")


def _read(folder: Path, name: str) -> tuple[FrontMatter, bytes]:
    """Front matter with the body where the format carries it, and the file's bytes."""
    path = folder / name
    try:
        data = path.read_bytes()
        if kind_of(name) not in TEXT_KINDS:
            return FrontMatter(""), data
        text = decode_html(data, name) if kind_of(name) in HTML else read_text(path)
    except OSError as fault:
        raise DataError(f"{name}: cannot be opened ({fault.strerror})") from None
    except DataError as fault:
        raise DataError(str(fault).replace(str(path), name)) from None
    if "\0" in text:
        raise DataError(f"{name}: holds NUL characters, as UTF-16 read as UTF-8 does; save the file as UTF-8")
    return split_front_matter(text, name), data


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
        raise AccessError(f"{name}: nobody may open it; add groups to its front matter or a line to access.csv")
    return groups


def _listed(groups: frozenset[str]) -> str:
    return ", ".join(sorted(groups))
