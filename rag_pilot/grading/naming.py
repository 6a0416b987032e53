"""Which document a person means by what she writes: an id or a title, among those that she may open and no others.

A title that she may not open is as unknown as one that does not exist. Knows no form and no file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ..corpus.access import may_open
from ..identity import fold
from ..records import Document, Label

Titles = Mapping[str, str]
"""Document id -> title."""


def open_titles(documents: Iterable[Document], groups: frozenset[str]) -> Titles:
    """The documents that somebody in these groups may open."""
    return {d.id: d.title or d.id for d in documents if may_open(d.groups, groups)}


def meant(text: str, titles: Titles) -> tuple[str, ...]:
    """The ids of the documents that a text can mean: none, one, or several; case and spaces aside.

    An exact id means itself, whatever else is called so.
    """
    if text.strip() in titles:
        return (text.strip(),)
    wanted = fold(text)
    return tuple(id_ for id_, title in titles.items() if wanted and wanted in (fold(id_), fold(title)))


def resolved(label: Label, titles: Titles) -> Label:
    """The label with the id of the document that its `also` means; as it is where that is none or several."""
    found = meant(label.also, titles) if label.also else ()
    return replace(label, also=found[0]) if len(found) == 1 else label
