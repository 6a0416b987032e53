import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from threading import Thread

import pytest
from endpoint import Endpoint
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.answering.client import chat_model
from rag_pilot.answering.pacing import LONGEST, Pace
from rag_pilot.errors import ModelError


def times(endpoint: Endpoint, count: int, threads: int, prompt: str = "how long?", **table: int) -> list[float]:
    """When each of some calls came to the endpoint, from the first on."""
    endpoint.says("25 days [1]", tokens=(0, 0))
    model = chat_model(endpoint.table(**table))
    model(prompt)  # the first call of a client takes its time
    endpoint.calls.clear()
    with ThreadPoolExecutor(threads) as pool:
        assert len(set(pool.map(model, [prompt] * count))) == 1
    at = sorted(call["at"] for call in endpoint.calls)
    return [moment - at[0] for moment in at]


def test_requests_a_minute_are_spread_over_all_threads(endpoint: Endpoint) -> None:
    at = times(endpoint, 12, threads=6, requests_per_minute=600)
    assert all(later - earlier > 0.03 for earlier, later in itertools.pairwise(at))
    assert 1.05 < at[-1] < 1.6  # eleven times a tenth of a second


def test_tokens_a_minute_count_the_prompt_and_max_tokens(endpoint: Endpoint) -> None:
    at = times(endpoint, 6, threads=6, prompt="word " * 240, max_tokens=700, tokens_per_minute=300_000)
    assert 0.95 < at[-1] < 1.5  # five times 1,000 tokens of 5,000 a second


def test_the_narrower_of_the_two_bounds_holds(endpoint: Endpoint) -> None:
    at = times(endpoint, 6, threads=3, max_tokens=1, requests_per_minute=600, tokens_per_minute=10**9)
    assert 0.45 < at[-1] < 0.9


def test_without_a_bound_nobody_waits(endpoint: Endpoint) -> None:
    assert times(endpoint, 50, threads=5)[-1] < 3


@given(st.lists(st.none() | st.floats(0, 10**6), min_size=1, max_size=12), st.floats(0.001, 10))
def test_pauses_in_a_row_never_shrink_and_are_capped_unless_the_endpoint_asks_for_less(
    asked: list[float | None], first: float
) -> None:
    pace, found = Pace(), []
    for number, wanted in enumerate(asked):
        seconds = pace.pause(float("inf"), wanted, first, 0)  # as if each call went after the pause before
        assert seconds == min(LONGEST, max(wanted or 0, first * 2**number))
        found.append(seconds)
    assert pace.pauses == len(asked)
    pace.came_through()
    assert pace.pauses == 0


def test_a_call_that_went_before_a_pause_begins_no_other_but_may_lengthen_it() -> None:
    pace = Pace()
    went = pace.wait(1, pace.round)
    assert pace.pause(went, None, 0.1, 0) == 0.1
    assert pace.pause(went, None, 0.1, 0) == 0
    assert pace.pause(went, 0.5, 0.1, 0) == 0
    assert pace.pauses == 1
    started = time.monotonic()
    pace.wait(1, pace.round)
    assert 0.45 < time.monotonic() - started < 5


def test_a_pause_ends_with_its_round_and_a_call_of_that_round_begins_none_for_the_next() -> None:
    pace = Pace()
    went, ended = pace.wait(1, pace.round), pace.round
    assert pace.pause(went, 30, 0.1, ended) == 30
    pace.halt()
    with pytest.raises(ModelError, match="the run was stopped"):
        pace.pause(went, 30, 0.1, ended)
    started = time.monotonic()
    pace.wait(1, pace.round)
    assert time.monotonic() - started < 5 and pace.pauses == 0


def test_whoever_waits_gives_up_when_halted_and_later_calls_go() -> None:
    pace, faults = Pace(requests_per_minute=1), []

    def waiting(rest: bool) -> None:
        try:
            pace.rest(30, 0) if rest else pace.wait(1, 0)
        except ModelError as fault:
            faults.append(str(fault))

    pace.wait(1, pace.round)
    threads = [Thread(target=waiting, args=(rest,)) for rest in (True, False)]
    for thread in threads:
        thread.start()
    time.sleep(0.05)
    pace.halt()
    for thread in threads:
        thread.join(2)
    assert faults == ["not asked: the run was stopped"] * 2
    with pytest.raises(ModelError):
        pace.wait(1, 0)
    assert pace.wait(1, pace.round) > 0
