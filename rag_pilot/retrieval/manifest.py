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

from ..errors import DataError
from ..files import read_records, read_text, write_jsonl, write_text
from ..identity import fingerprint
from ..records import Document, Passage, Record

_OBSERVED = ("dimension", "count", "beyond", "built")


@dataclass(frozen=True)
class Manifest(Record):
    """Splitter settings and document hashes (what the passages depend on), model and tokeniser (what matches them)."""

    documents: Mapping[str, str]  # id -> hash of the file
    passages: Mapping[str, Any]  # settings of the splitter
    model: str
    prefixes: tuple[str, ...]
    tokeniser: str
    dimension: int = 0  # as observed when it was built
    count: int = 0  # passages
    beyond: float = 0.0  # share of the tokens to be embedded that do not fit the model's window, as counted when built
    built: str = ""  # ISO time

    @property
    def fingerprint(self) -> str:
        """Equal for equal inputs; what was observed when it was built is not part of it."""
        return fingerprint({name: value for name, value in self.as_json().items() if name not in _OBSERVED})

    def differences(self, other: Manifest) -> list[str]:
        """Which lines differ, for a message: name, value here, value there; a dimension not observed yet does not."""
        mine, theirs = self.as_json(), other.as_json()
        unsaid = {*_OBSERVED} - ({"dimension"} if self.dimension and other.dimension else set())
        names = sorted((mine.keys() | theirs.keys()) - unsaid)
        return [
            f"{name}: {mine.get(name)} / {theirs.get(name)}" for name in names if mine.get(name) != theirs.get(name)
        ]


def document_hashes(documents: Iterable[Document]) -> dict[str, str]:
    """A hash of each document as it is indexed: its text and what describes it, without who may open it."""
    return {d.id: fingerprint({**d.as_json(), "groups": [], "sha": "", "path": ""}) for d in documents}


def save_index(folder: Path, manifest: Manifest, passages: Iterable[Passage]) -> Manifest:
    """Write passages (no groups) and then the manifest, so that a half-written index has no manifest."""
    rows = [replace(p, groups=frozenset()) for p in passages]
    manifest = replace(manifest, count=len(rows), built=datetime.now().isoformat(timespec="seconds"))
    (folder / "manifest.json").unlink(missing_ok=True)
    write_jsonl(folder / "passages.jsonl", rows)
    write_text(folder / "manifest.json", json.dumps(manifest.as_json(), ensure_ascii=False, indent=1) + "\n")
    return manifest


def saved_manifest(folder: Path) -> Manifest | None:
    """The manifest of a saved index, or None where there is none that this version can read: build it again."""
    path = folder / "manifest.json"
    if not path.exists():
        return None
    try:
        return Manifest.from_json(json.loads(read_text(path)))
    except (ValueError, TypeError, AttributeError):
        return None


def saved_passages(folder: Path) -> list[Passage]:
    """The passages of a saved index, open to nobody until groups are attached; DataError where some are missing."""
    passages = read_records(folder / "passages.jsonl", Passage.from_json)
    manifest = saved_manifest(folder)
    if manifest is None or manifest.count != len(passages):
        raise DataError(
            f"{folder / 'passages.jsonl'} holds {len(passages)} passages, its manifest "
            f"{manifest.count if manifest else 'cannot be read'}: remove the folder, the index is built again"
        )
    return passages
