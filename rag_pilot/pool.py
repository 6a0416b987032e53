"""Something done of each item by several threads, as a run does of its questions; stopped, it begins nothing more.

What is done, and what a result means, is not known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any, TypeVar

from .errors import HaltedError

S = TypeVar("S")
T = TypeVar("T")


def finished(do: Callable[[S], T], todo: Sequence[S], threads: int, model: Any) -> Generator[T]:
    """What is done of each as it finishes, in any order; the first error is raised, and of a halt its cause.

    When it is stopped, calls that have not begun are never made, and those of the `model` that wait are given up (its
    `halt`, where it has one). Close the generator, so that an interrupt stops it too.
    """
    if threads == 1:
        yield from map(do, todo)
        return
    pool = ThreadPoolExecutor(threads)
    try:
        futures = [pool.submit(do, item) for item in todo]
        for future in as_completed(futures):
            yield future.result()
    except BaseException as stop:
        pool.shutdown(wait=False, cancel_futures=True)
        while not all(future.done() for future in futures):  # again, because one may only now begin to wait
            getattr(model, "halt", bool)()
            time.sleep(0.05)
        if isinstance(stop, HaltedError):
            for future in futures:
                if not future.cancelled() and (cause := future.exception()) and not isinstance(cause, HaltedError):
                    raise cause from None
        raise
    finally:
        pool.shutdown()
