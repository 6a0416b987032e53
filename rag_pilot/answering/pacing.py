"""When the next call may go: one pause for all threads, and at most so many requests and tokens a minute.

Calls are spread evenly, so that no minute, wherever it begins, holds more than is allowed. What is called is not known
here. (Libraries for this bound one rate and know no pause that others ask for; this is a page.)
"""

from __future__ import annotations

import time
from threading import Condition

from ..errors import HaltedError

LONGEST = 60.0
"""Seconds that are waited at most at once, whatever an endpoint asks for."""


class Pace:
    """Shared by the threads of one client.

    A call takes the present `round` along; `halt` begins another one, and calls of an earlier round do not go.
    """

    def __init__(self, requests_per_minute: int = 0, tokens_per_minute: int = 0) -> None:
        self._requests, self._tokens = requests_per_minute, tokens_per_minute
        self._changed = Condition()
        self._free = self._until = 0.0  # when the next call may go, and when the pause ends
        self.round = 0
        self.pauses = 0  # in a row, no call having come through

    def wait(self, tokens: int, round: int) -> float:
        """Wait for this call's turn; the moment at which it goes. HaltedError where its round was halted."""
        each = 60 / self._requests if self._requests else 0.0
        each = max(each, 60 * tokens / self._tokens if self._tokens else 0.0)
        with self._changed:
            self._go_on(round)
            turn = max(time.monotonic(), self._free)
            self._free = turn + each
            while (left := max(turn, self._until) - time.monotonic()) > 0 and self.round == round:
                self._changed.wait(left)
            self._go_on(round)
        return time.monotonic()

    def rest(self, seconds: float, round: int) -> None:
        """Wait before this one call is made again."""
        with self._changed:
            self._changed.wait_for(lambda: self.round != round, min(seconds, LONGEST))
            self._go_on(round)

    def pause(self, went: float, asked: float | None, first: float, round: int) -> float:
        """All calls wait: as long as was asked, and each time in a row twice as long as the time before, from `first`.

        Seconds of the pause; 0 where the call `went` before the end of a pause that others had begun.
        HaltedError where its round was halted: what was refused of it does not hold up the next one.
        """
        with self._changed:
            self._go_on(round)
            now = time.monotonic()
            if went < self._until:
                self._until = max(self._until, now + min(asked or 0, LONGEST))
                return 0
            self.pauses += 1
            seconds = min(LONGEST, max(asked or 0, first * 2.0 ** (self.pauses - 1)))
            self._until = now + seconds
            return seconds

    def came_through(self) -> None:
        """A call was answered: whatever the endpoint refused before is over."""
        self.pauses = 0

    def halt(self) -> None:
        """End all waiting, and the calls that wait."""
        with self._changed:
            self.round += 1
            self._free, self._until, self.pauses = 0.0, 0.0, 0
            self._changed.notify_all()

    def _go_on(self, round: int) -> None:
        if self.round != round:
            raise HaltedError("not asked: the run was stopped")
