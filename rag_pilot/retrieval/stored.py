"""An index on disk: its passages as lines, its arrays mapped into memory, and the manifest that makes them count.

Saving writes a folder of its own beside what is there; the manifest, renamed over the old one at the end, names it.
Whoever is stopped before that leaves the old index whole. No file holds a group.
"""

from __future__ import annotations

import json
import mmap
import os
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, overload

import numpy as np
from filelock import FileLock, Timeout
from numpy.typing import NDArray

from ..errors import DataError, StaleError
from ..files import dumps, read_text, write_text
from ..records import Passage
from .dense import Dense
from .hybrid import Parts
from .manifest import Manifest
from .permissions import Rows
from .postings import Postings

MANIFEST = "manifest.json"
LOCK_SECONDS = 600
KEPT = 4096
"""Passages of an opened index that stay in memory, those asked for last: some megabytes."""


class Lines(Sequence[Passage]):
    """Passages in a JSON Lines file, each read when it is asked for; `ends` is where each line ends, in bytes."""

    def __init__(self, path: Path, ends: NDArray[Any]) -> None:
        self.path, self.ends = path, ends
        with path.open("rb") as file:
            self._bytes = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) if len(ends) else b""
        self._kept = lru_cache(maxsize=KEPT)(self._read)

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, row: int) -> Passage: ...
    @overload
    def __getitem__(self, row: slice) -> list[Passage]: ...
    def __getitem__(self, row: int | slice) -> Passage | list[Passage]:
        if isinstance(row, slice):
            return [self[n] for n in range(len(self))[row]]
        return self._kept(range(len(self))[row])

    def _read(self, row: int) -> Passage:
        begin = int(self.ends[row - 1]) if row else 0
        try:
            return Passage.from_json(json.loads(self._bytes[begin : int(self.ends[row])]))
        except (ValueError, TypeError) as fault:
            raise _damaged(self.path, f"line {row + 1}: {fault}") from None


def save_index(folder: Path, manifest: Manifest, parts: Parts) -> Manifest:
    """Write an index whole or not at all, instead of the one that `folder` holds; the manifest as it was written.

    Two that save at once wait for each other; the later one stays. DataError where the other one does not end.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        files = Path(tempfile.mkdtemp(dir=folder, prefix="files-"))
        files.chmod(0o755)
        _write(files, parts)
        manifest = replace(
            manifest,
            count=len(parts.rows.ids),
            dimension=parts.dense.vectors.shape[1],
            built=datetime.now().isoformat(timespec="seconds"),
            files=files.name,
        )
        write_text(folder / MANIFEST, json.dumps(manifest.as_json(), ensure_ascii=False, indent=1) + "\n")
        for old in folder.glob("files-*"):
            if old != files:  # of the index before, or of one who was stopped; still open elsewhere: removed next time
                shutil.rmtree(old, ignore_errors=True)
    return manifest


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / ".lock", timeout=LOCK_SECONDS)
    try:
        lock.acquire()
    except Timeout:
        raise DataError(
            f"{folder}: nothing was saved: another program has been saving here for {LOCK_SECONDS} s; end it, try again"
        ) from None
    try:
        yield
    finally:
        lock.release()


def saved_manifest(folder: Path) -> Manifest | None:
    """The manifest of a saved index, or None where there is none that this version can read: build it again."""
    with suppress(ValueError, TypeError, AttributeError, FileNotFoundError):
        manifest = Manifest.from_json(json.loads(read_text(folder / MANIFEST)))
        return manifest if manifest.files else None
    return None


def open_index(folder: Path, expected: Manifest | None = None) -> tuple[Manifest, Parts]:
    """A saved index, its arrays mapped and not read: (manifest, parts), open to nobody until groups are attached.

    Raises StaleError, naming each line that differs, where it was not built from what `expected` says; DataError where
    there is none or its files do not fit each other.
    """
    tried = ""
    while True:
        manifest = saved_manifest(folder)
        if manifest is None:
            raise DataError(f"{folder} holds no index that can be read: build it again")
        if expected and (lines := expected.differences(manifest)):
            raise StaleError(
                f"{folder} was built from other inputs (expected / found): {'; '.join(lines)}. Build the index again, "
                "or restore the settings that it was built with"
            )
        try:
            return manifest, _read(folder / manifest.files, manifest)
        except FileNotFoundError as fault:
            if manifest.files == tried:
                raise _damaged(Path(fault.filename), "missing") from None
            tried = manifest.files  # it may have been replaced since its manifest was read


def _write(files: Path, parts: Parts) -> None:
    rows, postings, dense = parts.rows, parts.postings, parts.dense
    ends = _write_lines(files / "passages.jsonl", rows.passages)
    names = {"ids": list(rows.ids), "documents": list(rows.documents), "words": list(postings.words)}
    write_text(files / "names.json", json.dumps(names))
    for name, array in {
        "ends": ends,
        "document": rows.document,
        "word_starts": postings.starts,
        "word_passages": postings.passages,
        "word_counts": postings.counts,
        "lengths": postings.lengths,
        "vectors": dense.vectors,
        "vector_starts": dense.starts,
    }.items():
        with (files / f"{name}.npy").open("wb") as file:
            np.save(file, array, allow_pickle=False)
            _flush(file)


def _write_lines(path: Path, passages: Iterable[Passage]) -> NDArray[np.int64]:
    ends = [0]
    with path.open("wb") as file:
        for passage in passages:
            line = dumps(replace(passage, groups=frozenset())) + "\n"
            ends.append(ends[-1] + file.write(line.encode()))
        _flush(file)
    return np.array(ends[1:], dtype=np.int64)


def _flush(file: Any) -> None:
    file.flush()
    os.fsync(file.fileno())


def _read(files: Path, manifest: Manifest) -> Parts:
    def array(name: str, mapped: bool = True) -> NDArray[Any]:
        path = files / f"{name}.npy"
        try:
            read: NDArray[Any] = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
        except (ValueError, EOFError) as fault:
            raise _damaged(path, str(fault)) from None
        return read.view(np.ndarray)

    try:
        names = json.loads(read_text(files / "names.json"))
        ids, documents, words = names["ids"], names["documents"], names["words"]
    except (ValueError, KeyError, TypeError) as fault:
        raise _damaged(files / "names.json", str(fault)) from None
    ends, document, lengths = array("ends", False), array("document", False), array("lengths", False)
    size = (files / "passages.jsonl").stat().st_size
    counts = {len(ids), len(ends), len(document), len(lengths), manifest.count}
    if len(counts) > 1 or size != (int(ends[-1]) if len(ends) else 0):
        raise _damaged(files, f"{size} bytes of passages and {sorted(counts)} of them, its manifest {manifest.count}")
    number = {word: n for n, word in enumerate(words)}
    postings = Postings(number, array("word_starts", False), array("word_passages"), array("word_counts"), lengths)
    dense = Dense(array("vectors"), array("vector_starts", False))
    if dense.vectors.shape[1] != manifest.dimension or len(postings.starts) != len(words) + 1:
        raise _damaged(files, f"vectors of {dense.vectors.shape[1]} dimensions, its manifest {manifest.dimension}")
    return Parts(Rows(Lines(files / "passages.jsonl", ends), ids, documents, document), postings, dense)


def _damaged(path: Path, what: str) -> DataError:
    return DataError(f"{path}: {what}: the saved index is damaged; remove its folder, and it is built again")
