"""Which passages an asker may open: the passages of an index with their groups as they stand now.

Groups are replaced as a whole, effective at the next question. Nothing is kept from one question to the next, so that
nothing can outlive a revocation.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..records import Passage


@dataclass(frozen=True)
class Rows:
    """Passages as they were indexed, with what is needed of all of them at once: ids, and documents as numbers."""

    passages: Sequence[Passage]  # in memory, or read from disk one at a time
    ids: Sequence[str]
    documents: Sequence[str]  # ids of documents
    document: NDArray[Any]  # of each passage: its place in `documents`

    @classmethod
    def of(cls, passages: Sequence[Passage]) -> Rows:
        """The rows of passages in memory; DataError for an id that stands twice."""
        numbers: dict[str, int] = {}
        document = np.array([numbers.setdefault(p.doc, len(numbers)) for p in passages], dtype=np.int32)
        ids = [p.id for p in passages]
        if len(set(ids)) < len(ids):
            raise DataError(f"two passages have the id {Counter(ids).most_common(1)[0][0]!r}; ids must be unique")
        return cls(passages, ids, list(numbers), document)

    @property
    def order(self) -> NDArray[np.intp]:
        """The rank of each passage's id among all ids: what decides ties."""
        ranks = np.empty(len(self.ids), dtype=np.intp)
        ranks[sorted(range(len(self.ids)), key=self.ids.__getitem__)] = np.arange(len(self.ids))
        return ranks


@dataclass(frozen=True)
class _Open:
    """Who may open what at one moment; never changed, only replaced."""

    groups: Mapping[str, frozenset[str]] | None = None  # of each document; None: each passage's own
    members: Mapping[str, NDArray[np.intp]] = field(default_factory=dict)  # group -> passages that it may open


class Permitted(Sequence[Passage]):
    """The passages of an index, each with the groups that may open it now."""

    def __init__(self, rows: Rows, groups: Mapping[str, frozenset[str]] | None = None) -> None:
        self.rows = rows
        self._open = _Open()
        self.replace(groups)

    def replace(self, groups: Mapping[str, frozenset[str]] | None) -> None:
        """Who may open each document from now on (None: each passage's own groups); one without an entry is closed.

        Raises DataError, and changes nothing, where groups are a plain text, which would be read letter by letter.
        """
        if groups is None:
            owners: Sequence[frozenset[str]] = [p.groups for p in self.rows.passages]
            names = [p.doc for p in self.rows.passages]
        elif groups == self._open.groups:
            return
        else:
            owners = [groups.get(doc, frozenset()) for doc in self.rows.documents]
            names = list(self.rows.documents)
        places: dict[str, list[int]] = {}
        for number, (name, found) in enumerate(zip(names, owners, strict=True)):
            if isinstance(found, str):
                raise DataError(f"groups of {name} is {found!r}; expected a set of group names")
            for group in found:
                places.setdefault(group, []).append(number)
        members = {group: np.array(numbers, dtype=np.intp) for group, numbers in places.items()}
        if groups is not None:  # from documents to their passages
            for group, numbers in members.items():
                opened = np.zeros(len(names), dtype=bool)
                opened[numbers] = True
                members[group] = np.flatnonzero(opened[self.rows.document])
        self._open = _Open(None if groups is None else {d: frozenset(g) for d, g in groups.items()}, members)

    def allowed(self, groups: Collection[str]) -> NDArray[np.bool_]:
        """Which passages an asker of those groups may open: one group in common is enough, none is none."""
        if isinstance(groups, str):
            raise DataError(f"user_groups is the text {groups!r}; expected a set of group names such as {{'hr'}}")
        members, mask = self._open.members, np.zeros(len(self), dtype=bool)
        for group in groups:
            if (rows := members.get(group)) is not None:
                mask[rows] = True
        return mask

    def by_id(self) -> dict[str, frozenset[str]]:
        """Passage id -> who may open it, no passage read from disk."""
        groups = self._open.groups
        if groups is None:
            return {p.id: p.groups for p in self.rows.passages}
        owners = [groups.get(doc, frozenset()) for doc in self.rows.documents]
        return {name: owners[d] for name, d in zip(self.rows.ids, self.rows.document.tolist(), strict=True)}

    def __len__(self) -> int:
        return len(self.rows.ids)

    @overload
    def __getitem__(self, row: int) -> Passage: ...
    @overload
    def __getitem__(self, row: slice) -> list[Passage]: ...
    def __getitem__(self, row: int | slice) -> Passage | list[Passage]:
        if isinstance(row, slice):
            return [self[n] for n in range(len(self))[row]]
        passage, groups = self.rows.passages[row], self._open.groups
        now = passage.groups if groups is None else groups.get(passage.doc, frozenset())
        return passage if passage.groups == now else replace(passage, groups=now)

    def __iter__(self) -> Iterator[Passage]:
        return (self[n] for n in range(len(self)))
