"""Hosted file search of an OpenAI-compatible address as a retriever: POST /vector_stores/{id}/search.

An attribute of a file holds one value and no list, so each group is an attribute of its own: a file that hr and legal
may open has `group_hr = true` and `group_legal = true`. The address filters by them; what it returns is checked once
more, by the same attributes, before anybody sees it. A file is our document of its name without the ending, or the one
that its attribute `doc` names. How files come into the store is not known here.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import PurePosixPath
from typing import Any

from .answering.calls import connect
from .answering.faults import cause_of
from .errors import AccessError, DataError, ModelError
from .records import Hit
from .settings import HostedTable

GROUP, DOCUMENT = "group_", "doc"
MOST_RESULTS, LONGEST_KEY = 50, 64
"""What the published interface allows: results of one search, characters of an attribute's name (16 on a file)."""


class HostedSearch:
    """A vector store as a retriever; ModelError at once where the key is missing."""

    def __init__(self, settings: HostedTable) -> None:
        self.settings = settings
        self._client, self._key = connect(settings.base_url, settings.key_variable, settings.timeout, "hosted")

    def search(self, question: str, groups: Collection[str], k: int = 5) -> list[Hit]:
        """At most k hits, best first, with the address's score; an asker without groups is answered without asking.

        Raises AccessError where a result is not open to the asker, ModelError where the address gives no results.
        """
        if isinstance(groups, str):
            raise DataError(f"groups is the text {groups!r}; expected a set of group names such as {{'hr'}}")
        if not 1 <= k <= MOST_RESULTS:
            raise DataError(f"k is {k}; hosted search gives 1 to {MOST_RESULTS} results")
        if not groups:
            return []
        fault, rows = "", []
        try:
            found = self._client.vector_stores.search(
                self.settings.store, query=question, filters=group_filter(groups), max_num_results=k
            )
            rows = [row.model_dump(warnings=False) for row in found.data]
            hits = [_hit(row, number) for number, row in enumerate(rows[:k], start=1)]
        except Exception as error:  # the library's own, and whatever an answer of another form makes of it
            fault = cause_of(error, self._key)
        if fault:  # raised here, so that it carries no exception that may hold the key
            raise ModelError(
                f"hosted search gave no results ({fault}); check hosted.store and hosted.base_url in pilot.toml, and "
                f"the key in {self.settings.key_variable}"
            )
        if any(_groups(row).isdisjoint(groups) for row in rows):
            raise AccessError(  # no name of a file: this message stands in the run
                f"vector store {self.settings.store} returned a file without a {GROUP}NAME = true for any group of the "
                "asker; nothing was shown. The address does not apply attribute filters: use one that does"
            )
        return hits


def group_filter(groups: Collection[str]) -> dict[str, Any]:
    """The filter for files that are open to one of those groups; AccessError for a name too long to be an attribute."""
    if long := [group for group in groups if len(GROUP + group) > LONGEST_KEY]:
        raise AccessError(
            f"group {long[0]!r} has {len(long[0])} characters; an attribute of a vector store can name one of at most "
            f"{LONGEST_KEY - len(GROUP)}: give it a shorter name"
        )
    each = [{"type": "eq", "key": GROUP + group, "value": True} for group in sorted(groups)]
    return each[0] if len(each) == 1 else {"type": "or", "filters": each}


def _groups(row: dict[str, Any]) -> set[str]:
    """The groups that a result's attributes open it to; only a true `true` counts."""
    attributes = row.get("attributes") or {}
    return {key.removeprefix(GROUP) for key, value in attributes.items() if key.startswith(GROUP) and value is True}


def _hit(row: dict[str, Any], number: int) -> Hit:
    doc = (row.get("attributes") or {}).get(DOCUMENT) or PurePosixPath(row["filename"]).stem
    text = "\n".join(part["text"] for part in row["content"])
    return Hit.of({"doc": str(doc), "text": text, "groups": _groups(row), "score": row.get("score")}, number)
