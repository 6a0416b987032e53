"""A stop of work in several threads: it is seen at once, whenever it comes, and ends what waits."""

import signal
import threading
from contextlib import closing

import pytest

from rag_pilot.pool import finished

LONG = 20.0


class Waiting:
    """A model whose calls wait until they are halted."""

    def __init__(self) -> None:
        self.halted = threading.Event()

    def halt(self) -> None:
        self.halted.set()


def test_an_interrupt_that_wakes_no_wait_is_seen_all_the_same():
    model = Waiting()

    def call(number):
        if number == 1:  # the signal reaches this thread, so that the main thread's wait does not end by it
            signal.pthread_kill(threading.get_ident(), signal.SIGINT)
        return model.halted.wait(LONG)

    with pytest.raises(KeyboardInterrupt), closing(finished(call, range(4), 2, model)) as calls:
        assert all(calls), "no call was halted: the interrupt came when they had ended by themselves"
    assert model.halted.is_set()


def test_an_interrupt_while_calls_are_still_being_handed_out_ends_those_that_wait():
    model = Waiting()

    class Interrupted(list):
        def __iter__(self):
            yield from (1, 2)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(finished(lambda _: model.halted.wait(LONG), Interrupted(), 2, model))
    assert model.halted.is_set()


def test_each_result_comes_as_it_is_finished_and_a_fault_ends_the_rest():
    first = threading.Event()

    def call(number):
        if number == 0:
            return first.wait(LONG) and 0
        first.set()
        return number

    assert sorted(finished(call, range(3), 2, None)) == [0, 1, 2]
    begun = []

    def faulty(number):
        begun.append(number)
        raise ValueError(number)

    with pytest.raises(ValueError):
        list(finished(faulty, range(100), 2, None))
    assert len(begun) < 100
