"""What an index was built from, and whether it still fits: saved with it (`stored.py`), without any group.

Who may open what is not part of an index; it is attached when the index is opened.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..identity import fingerprint
from ..records import Document, Record

_OBSERVED = ("dimension", "count", "beyond", "built", "files")


@dataclass(frozen=True)
class Manifest(Record):
    """Splitter settings and document hashes (what the passages depend on), model and tokeniser (what matches them).

    `model` is empty for an index without vectors.
    """

    documents: Mapping[str, str]  # id -> hash of the file
    passages: Mapping[str, Any]  # settings of the splitter
    model: str
    prefixes: tuple[str, ...]
    tokeniser: str
    revision: str = ""  # of the model: commit, version or hash of its files; empty where it is not known
    precision: str = "float32"  # in which the model computes; the vectors are kept in float32
    normalised: bool = True  # vectors of length 1, so that their product is the cosine
    titles: bool = True  # title and headings are indexed with each passage
    question_headings: bool = False  # a heading that asks a question is embedded alone too
    window: int | None = None  # tokens of one text that a model behind an address is given; None: the model's own
    dimension: int = 0  # as observed when it was built
    count: int = 0  # passages
    beyond: float = 0.0  # share of the tokens to be embedded that do not fit the model's window, as counted when built
    built: str = ""  # ISO time
    files: str = ""  # the folder beside the manifest that holds what was saved

    @property
    def fingerprint(self) -> str:
        """Equal for equal inputs; what was observed when it was built is not part of it."""
        return fingerprint({name: value for name, value in self.as_json().items() if name not in _OBSERVED})

    def differences(self, other: Manifest) -> list[str]:
        """Which lines differ, for a message: name, value here, value there; a dimension not observed yet does not."""
        mine, theirs = self.as_json(), other.as_json()
        unsaid = {*_OBSERVED} - ({"dimension"} if self.dimension and other.dimension else set())
        lines = []
        for name in sorted((mine.keys() | theirs.keys()) - unsaid):
            here, there = mine.get(name), theirs.get(name)
            if isinstance(here, dict) and isinstance(there, dict):
                lines += [
                    f"{name}: {key}: {here.get(key)} / {there.get(key)}"
                    for key in sorted(here.keys() | there.keys())
                    if here.get(key) != there.get(key)
                ]
            elif here != there:
                lines.append(f"{name}: {here} / {there}")
        return lines


def document_hashes(documents: Iterable[Document]) -> dict[str, str]:
    """A hash of each document as it is indexed: its text and what describes it, without who may open it."""
    return {d.id: fingerprint({**d.as_json(), "groups": [], "sha": "", "path": ""}) for d in documents}
