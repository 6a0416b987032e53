"""What an index was built from, and whether it still fits: saved beside the passages, without any group.

Who may open what is not part of an index; it is attached when the index is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from ..records import Document, Passage, Record, fingerprint, read_records, read_text, write_jsonl, write_text


@dataclass(frozen=True)
class Manifest(Record):
    """Splitter settings and document hashes (what the passages depend on), model and tokeniser (what matches them)."""

    documents: Mapping[str, str]  # id -> hash of the file
    passages: Mapping[str, Any]  # settings of the splitter
    model: str
    prefixes: tuple[str, ...]
    dimension: int
    tokeniser: str
    count: int = 0  # passages
    built: str = ""  # ISO time

    @property
    def fingerprint(self) -> str:
        """Equal for equal inputs; the time of building is not part of it."""
        return fingerprint({**self.as_json(), "built": "", "count": 0})

    def differences(self, other: Manifest) -> list[str]:
        """Which lines differ, for a message: name, value here, value there."""
        mine, theirs = self.as_json(), other.as_json()
        names = sorted((mine.keys() | theirs.keys()) - {"built", "count"})
        return [
            f"{name}: {mine.get(name)} / {theirs.get(name)}" for name in names if mine.get(name) != theirs.get(name)
        ]


def document_hashes(documents: Iterable[Document]) -> dict[str, str]:
    """The hash of each document's file and of its title, which is indexed too."""
    return {d.id: fingerprint([d.sha, d.title]) for d in documents}


def save_index(folder: Path, manifest: Manifest, passages: Iterable[Passage]) -> Manifest:
    """Write passages (no groups) and then the manifest, so that a half-written index has no manifest."""
    rows = [replace(p, groups=frozenset()) for p in passages]
    manifest = replace(manifest, count=len(rows), built=datetime.now().isoformat(timespec="seconds"))
    (folder / "manifest.json").unlink(missing_ok=True)
    write_jsonl(folder / "passages.jsonl", rows)
    write_text(folder / "manifest.json", json.dumps(manifest.as_json(), ensure_ascii=False, indent=1) + "\n")
    return manifest


def saved_manifest(folder: Path) -> Manifest | None:
    """The manifest of a saved index, or None."""
    path = folder / "manifest.json"
    return Manifest.from_json(json.loads(read_text(path))) if path.exists() else None


def saved_passages(folder: Path) -> list[Passage]:
    """The passages of a saved index, open to nobody until groups are attached."""
    return read_records(folder / "passages.jsonl", Passage.from_json)
