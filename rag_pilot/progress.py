"""A progress bar on what can take more than a few seconds; TQDM_DISABLE=1 silences it, as in exported pages."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from tqdm.auto import tqdm

T = TypeVar("T")
FEW = 20
"""Under so many steps there is nothing to wait for."""


def progress(items: Iterable[T], what: str, total: int, so_far: Callable[[], str] = str) -> Iterator[T]:
    """The items, counted on the screen while they are worked through, and what `so_far` says of them."""
    if total < FEW:
        yield from items
        return
    with tqdm(items, what, total, leave=False, disable=_silent()) as bar:
        for item in bar:
            yield item
            bar.set_postfix_str(so_far(), refresh=False)


def tell(line: str) -> None:
    """Say a line above the bar, for who waits and wonders why."""
    if not _silent():
        tqdm.write(line, file=sys.stderr)


def _silent() -> bool:
    return bool(os.environ.get("TQDM_DISABLE"))  # asked here, because a notebook's bar does not look for it
