"""Something done of each item by several threads, as a run does of its questions; stopped, it begins nothing more.

What is done, and what a result means, is not known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

from .errors import HaltedError

S = TypeVar("S")
T = TypeVar("T")

LOOK = 0.2
"""Seconds between looks for an interrupt: one that comes just before a wait begins would not end that wait."""


def finished(do: Callable[[S], T], todo: Sequence[S], threads: int, model: Any) -> Generator[T]:
    """What is done of each as it finishes, in any order; the first error is raised, and of a halt its cause.

    When it is stopped, calls that have not begun are never made, and those of the `model` that wait are given up (its
    `halt`, where it has one). Close the generator, so that an interrupt stops it too.
    """
    if threads == 1:
        yield from map(do, todo)
        return
    pool = ThreadPoolExecutor(threads)
    futures: list[Future[T]] = []
    ended: SimpleQueue[Future[T]] = SimpleQueue()
    try:
        for item in todo:
            futures.append(pool.submit(do, item))
            futures[-1].add_done_callback(ended.put)
        for _ in todo:
            yield _next(ended).result()
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


def _next(ended: SimpleQueue[T]) -> T:
    while True:
        try:
            return ended.get(timeout=LOOK)
        except Empty:
            continue
