"""What the expert is shown, and in which order: items, the queue, and which items she may not open.

An item has no field for a judge's label, a score or the name of a retriever: who labels it is blind by construction.
Knows no file and no screen.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

Groups = frozenset[str]

REPEATS = 5
"""Early answers that are shown again at the end: the expert's agreement with herself."""


@dataclass(frozen=True)
class ShownPassage:
    """A passage that the model was shown; `number` is its [n], `groups` are those who may open it."""

    number: int
    text: str
    groups: Groups
    doc: str = ""
    title: str = ""
    headings: tuple[str, ...] = ()
    link: str = ""
    updated: str = ""
    cited: bool = False


@dataclass(frozen=True)
class Item:
    """One answer to be labelled, with all that is needed to judge it; `doc_groups` may open the expected document."""

    question_id: str
    run_id: str
    answer_sha: str
    question: str
    answer: str
    passages: tuple[ShownPassage, ...]
    expected: str = ""
    doc: str = ""
    doc_title: str = ""
    doc_link: str = ""
    doc_updated: str = ""
    doc_groups: Groups = frozenset()
    position: int | None = None
    kind: str = "label"
    reference: bool = True  # somebody has written what is expected, or that nothing is; of no real answer
    needs: tuple[Groups, ...] = ()  # beside those of its texts: of each of these one group must be the reader's

    @property
    def key(self) -> tuple[str, str, str]:
        """What tells items apart in one person's queue."""
        return self.question_id, self.answer_sha, self.kind


def missing(item: Item, groups: Groups) -> list[Groups]:
    """Per text of the item that `groups` may not open: the groups of which one would do (empty: nobody may)."""
    needed = [*item.needs, *(passage.groups for passage in item.passages)]
    if item.doc:
        needed.append(item.doc_groups)
    return [need for need in needed if not need & groups]


def in_order(items: Iterable[Item], seed: int) -> list[Item]:
    """By position in the pilot's seeded order; items without a position follow in a seeded order of their own."""
    shuffled = sorted(items, key=lambda item: item.key)
    random.Random(seed).shuffle(shuffled)
    return sorted(shuffled, key=lambda item: (item.position is None, item.position or 0))


def repeated(items: Sequence[Item], seed: int, count: int) -> list[Item]:
    """Early items (of the first half) to be shown again at the end: at most `count`, and at most one in five.

    One in five keeps a short queue short; with 25 and more answers it is `count`.
    """
    early = [item for item in items[: len(items) // 2] if item.kind == "label"]
    chosen = random.Random(seed + 1).sample(range(len(early)), min(count, len(items) // 5, len(early)))
    return [replace(early[i], kind="repeat") for i in chosen]
