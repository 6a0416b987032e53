"""What a model replied, kept by all that can change the reply: what was asked once is never asked again.

One SQLite file; each reply is one row, added and never changed, so that notebooks and processes that share the file
share the replies. Whether a reply is good enough to be kept is decided by who asked; who may read it is not known here.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import Any

from filelock import FileLock, Timeout

from ..errors import ModelError
from .cache import WAIT_SECONDS

TABLE = "CREATE TABLE IF NOT EXISTS replies (key BLOB PRIMARY KEY, reply TEXT) WITHOUT ROWID"


class Replies:
    """The replies in the file `path` of one model: `by` is everything but the prompt that can change what it says.

    Safe in threads and processes. Raises ModelError for a file that is no store of replies.
    """

    def __init__(self, path: Path, by: Mapping[str, Any]) -> None:
        self.path = path
        self._turn = Lock()
        self._file: sqlite3.Connection | None = None
        self._by = json.dumps(dict(by), sort_keys=True)

    def known(self, prompt: str) -> str | None:
        """The reply that is kept for a prompt, or None; to look is no reason to begin a store."""
        if not self.path.exists():
            return None
        with self._open() as file:
            row = file.execute("SELECT reply FROM replies WHERE key = ?", (self._key(prompt),)).fetchone()
        return str(row[0]) if row else None

    def keep(self, prompt: str, reply: str) -> str:
        """Keep a reply, unless another thread or process kept one meanwhile; the one that stands."""
        with self._open() as file:
            with file:
                file.execute("INSERT OR IGNORE INTO replies VALUES (?, ?)", (self._key(prompt), reply))
            row = file.execute("SELECT reply FROM replies WHERE key = ?", (self._key(prompt),)).fetchone()
        return str(row[0])

    def _key(self, prompt: str) -> bytes:
        return hashlib.sha256(f"{self._by}\n{prompt}".encode("utf-8", "surrogatepass")).digest()

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """The file, one thread at a time: who waited for SQLite's own lock would sleep longer than the others write."""
        with self._turn:
            try:
                if self._file is None or not self.path.exists():  # removed: what is known now stands in a new one
                    self._file = self._connected()
                yield self._file
            except (sqlite3.DatabaseError, Timeout, OSError) as fault:
                self._file = None
                raise ModelError(
                    f"{self.path} is not a store of replies, or cannot be used ({fault}): remove it, the model is "
                    "asked again"
                ) from None

    def _connected(self) -> sqlite3.Connection:
        """The file, opened by one process at a time: SQLite waits for no other that is just beginning a WAL."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(self.path.with_name(f".{self.path.name}.lock"), timeout=WAIT_SECONDS):
            file = sqlite3.connect(self.path, timeout=WAIT_SECONDS, check_same_thread=False)
            file.execute("PRAGMA journal_mode = WAL")  # a commit that waits for no disk; a kill loses none
            file.execute("PRAGMA synchronous = NORMAL")
            file.execute(TABLE)
        return file
