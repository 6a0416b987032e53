"""A progress bar on what can take more than a few seconds; TQDM_DISABLE=1 silences it, as in exported pages."""

import os
from collections.abc import Iterable, Iterator
from typing import TypeVar

from tqdm.auto import tqdm

T = TypeVar("T")
FEW = 20
"""Under so many steps there is nothing to wait for."""


def progress(items: Iterable[T], what: str, total: int) -> Iterator[T]:
    """The items, counted on the screen while they are worked through."""
    silent = bool(os.environ.get("TQDM_DISABLE"))  # given here, because a notebook's bar does not look for it
    yield from items if total < FEW else tqdm(items, what, total, leave=False, disable=silent)
