"""Vectors kept by content: what was embedded once is never computed again, in this process or another.

One SQLite file for each model, revision and precision; each text's vector is one row, added and never changed. What the
texts are, or who may read them, is not known here.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Lock

import numpy as np

from ..errors import ModelError
from .embedding import Embedding, Vectors

WAIT_SECONDS = 60.0  # for another process that is writing
AT_ONCE = 4096
"""Texts that are embedded before their vectors are kept: what is lost at most when the machine stops."""
ASKED = 500  # keys in one query


class CachedEmbedding(Embedding):
    """An embedding whose vectors are kept in `folder`, keyed by the exact text embedded; safe in threads and processes.

    Raises ModelError for a file that is no cache and for vectors that do not fit those in it; neither is kept.
    """

    def __init__(self, embedding: Embedding, folder: Path) -> None:
        super().__init__(embedding.model, embedding._encode, embedding.precision, embedding._told_revision)
        self._own = embedding._own
        self.folder = folder
        self._lock = Lock()
        self.computed = 0

    @property
    def path(self) -> Path:
        """The file of this model, revision and precision."""
        parts = (self.model.name, self.revision[:12], "" if self.precision == "float32" else self.precision)
        return self.folder / (re.sub(r"[^\w.-]", "_", "@".join(part for part in parts if part)) + ".sqlite")

    def _vectors(self, texts: list[str]) -> Vectors:
        keys = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:12] for text in texts]
        places: dict[bytes, list[int]] = {}
        for number, key in enumerate(keys):
            places.setdefault(key, []).append(number)
        with self._lock, self._open() as file:
            width = self._width(file)
            found = np.empty((len(texts), width), dtype=np.float32)
            missing = dict.fromkeys(places)
            for key, vector in _rows(file, list(places)):
                found[places[key]] = np.frombuffer(vector, dtype="<f4")
                del missing[key]
            waiting = list(missing)
            for where, fresh in self._computed([texts[places[key][0]] for key in waiting]):
                part = waiting[where]
                width = width or fresh.shape[-1]
                if fresh.shape != (len(part), width) or not np.isfinite(fresh).all():
                    raise ModelError(
                        f"{self.model.name} returned numbers of shape {fresh.shape}; expected {(len(part), width)} "
                        f"and all finite. If the model behind this name has changed, remove {self.path}"
                    )
                rows = [(key, vector.astype("<f4").tobytes()) for key, vector in zip(part, fresh, strict=True)]
                with file:
                    file.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)
                self.computed += len(part)
                if found.shape[1] != width:
                    found = np.empty((len(texts), width), dtype=np.float32)
                for key, vector in zip(part, fresh, strict=True):
                    found[places[key]] = vector
        return found

    def _computed(self, texts: list[str]) -> Iterator[tuple[slice, Vectors]]:
        """(place in the texts, vectors) of each part, as it is known; a model at an address says what is one."""
        if parts := getattr(self._encode, "parts", None):
            yield from parts(texts)
        else:
            for at in range(0, len(texts), AT_ONCE):
                part = slice(at, at + AT_ONCE)
                yield part, super()._vectors(texts[part])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        path = self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with closing(sqlite3.connect(path, timeout=WAIT_SECONDS)) as file:
                file.execute("CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID")
                yield file
        except sqlite3.DatabaseError as fault:
            raise ModelError(
                f"{path} is not a cache of vectors, or cannot be used ({fault}): remove it, the vectors are computed "
                "again"
            ) from None

    def _width(self, file: sqlite3.Connection) -> int:
        """The dimension of the vectors that are kept; 0 where there are none."""
        row = file.execute("SELECT length(vector) FROM vectors LIMIT 1").fetchone()
        return int(row[0]) // 4 if row else 0


def _rows(file: sqlite3.Connection, keys: Sequence[bytes]) -> Iterator[tuple[bytes, bytes]]:
    for at in range(0, len(keys), ASKED):
        part = keys[at : at + ASKED]
        marks = ",".join("?" * len(part))
        yield from file.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", part)
