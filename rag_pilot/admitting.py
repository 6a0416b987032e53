"""Whether a judge is admitted to grade single answers: when it is looked at, on which answers, and what then is left.

It is looked at once, when all answers that test it are read: whoever looks after every label and stops at the first
pass admits a judge of kappa .5 in 10 % of pilots, not in 3 %. For the same reason the first look decides: whatever was
read or corrected since, a judge that failed is not admitted. The one exception is a second look that is in the lock.
This module knows pairs of labels and the record of looks (`looks.py`), no answer and no headline.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from .grading.agreement import NOT_READ, Gate, Pair, gate
from .looks import Look, judge_id, new_to, note_looks, read_looks

UNTIL_THEN = "Until then its labels are not counted one by one."
EXPERT_ONLY = 'Or do without a judge: [judge] kind = "none" leaves the expert\'s labels and the rules.'


def second_look_said(locked: Mapping[str, Any] | None) -> str:
    """Where the second look was agreed, and when and why where an amendment of the lock brought it."""
    entry = locked or {}
    if not entry.get("second_look"):
        return "The second look is in pilot.toml"
    while "amends" in entry and entry["amends"].get("second_look"):
        entry = entry["amends"]
    return "The second look is in the lock" + (
        f" (amended {entry['date']}: {entry['why']})" if "amends" in entry else ""
    )


@dataclass(frozen=True)
class JudgeTest:
    """What tests one judge: its settings, the record of looks (None: on no record), the order of all questions.

    `shas` are the answers that need a person, in that order: question -> fingerprint of the text. `labels` is the
    number of answers of a look while none is on record; `second` says where a second one was agreed, or is empty.
    """

    judge: Mapping[str, Any]
    record: Path | None
    order: Sequence[str]
    shas: Mapping[str, str]
    labels: int
    second: str = ""

    @cached_property
    def past(self) -> list[Look]:
        """The looks on record before this one, at any judge."""
        return read_looks(self.record) if self.record else []

    @cached_property
    def answers(self) -> list[str]:
        """The answers, in order, on which this judge can be tested: those on which no other was before."""
        return new_to(judge_id(self.judge), self.past, self.order, list(self.shas))

    @property
    def size(self) -> int:
        """The number of answers of one look: that of the first on record, so that nobody slides it until one passes."""
        return len(self.past[0].questions) if self.past else self.labels

    @cached_property
    def failed(self) -> dict[int, Look]:
        """First or second look -> when this judge failed it for the first time."""
        found: dict[int, Look] = {}
        for look in self.past:
            if (look.judge, look.state) == (judge_id(self.judge), "failed"):
                found.setdefault(look.look, look)
        return found

    def gate(self, read: Mapping[str, Pair], run: str, closed: Callable[[str], str]) -> Gate:
        """The judge's gate by the answers read so far; each look taken goes on record.

        `closed` says which groups an answer needs that the annotator may not open, or nothing.
        """
        if self.judge.get("kind") == "none":
            return gate([])
        taken = self._taken(read)
        found = self._decided(taken, read, closed)
        if self.record and taken:
            note_looks(self.record, self.judge, run, {i: self.shas[i] for i in self.answers}, taken)
        return found

    def on_the_same(self, read: Mapping[str, Pair], found: Gate) -> Gate:
        """What other labels of a judge show on the answers that `found` was looked at on."""
        asked = self.answers[: self.size if found.state == NOT_READ else found.asks]
        return gate([read[i] for i in asked if i in read], looks=2 if self.second else 1)

    def _taken(self, read: Mapping[str, Pair]) -> list[Gate]:
        """The looks for which all is read: none, the first, or both where the first does not admit the judge."""
        looks = 2 if self.second else 1
        taken: list[Gate] = []
        for asked in (self.answers[: self.size * number] for number in range(1, looks + 1)):
            if not asked or any(i not in read for i in asked) or (taken and len(asked) == taken[0].asks):
                break
            found = replace(gate([read[i] for i in asked], looks=looks), asks=len(asked))
            if found.state == "no data":
                break
            taken.append(found)
            if found.passed and len(taken) not in self.failed:
                break
        return taken

    def _decided(self, taken: Sequence[Gate], read: Mapping[str, Pair], closed: Callable[[str], str]) -> Gate:
        asked, both = self.answers[: self.size], self.answers[: 2 * self.size]
        waits = bool(self.second) and len(both) > len(asked)  # a second look, if the first does not admit the judge
        now = taken[-1] if taken else None
        stands = self.failed.get(2) or (None if waits else self.failed.get(1))
        if stands and not (now and now.state == "failed" and len(taken) == stands.look):
            return self._failed_before(stands, now)
        if now and waits and len(taken) == 1 and (1 in self.failed or not now.passed):
            first = self.failed.get(1) if now.passed else None
            told = f"failed on {first.date}, {first.agreed} of {first.n}." if first else now.words
            words = (
                f"First look: {told} {self.second}. It is taken when {len(both)} answers are read; "
                f"{sum(i in read for i in both)} are. {UNTIL_THEN}{_waiting(both, read, closed)}"
            )
            return replace(now, state=NOT_READ, words=words, asks=len(both))
        if now:
            return now if now.passed else replace(now, words=f"{now.words} {self._next(len(taken), now)} {EXPERT_ONLY}")
        if all(i in read for i in asked) and asked:
            return replace(gate([read[i] for i in asked]), asks=len(asked))  # no answer has both labels
        changed = self.answers[:1] != list(self.shas)[:1]
        return replace(gate([]), state=NOT_READ, words=self._untested(asked, read, changed, closed), asks=len(asked))

    def _failed_before(self, look: Look, now: Gate | None) -> Gate:
        words = (
            f"Tested before: failed, {look.agreed} of {look.n} labels agreed ({look.date}). What was read or corrected "
            f"since does not change that. Mend it, or take another judge{self._confirmed(self._left(look.questions))}. "
            f"{EXPERT_ONLY}"
        )
        return replace(now or gate([]), state="failed", words=words)

    def _untested(
        self, asked: Sequence[str], read: Mapping[str, Pair], changed: bool, closed: Callable[[str], str]
    ) -> str:
        earlier = "An earlier judge was tested on the answers before these" if changed else ""
        if not asked:
            return f"{earlier or 'The judge was not tested'}: no further answer of the order is left. {EXPERT_ONLY}"
        told = (
            f"{earlier}, so this one is tested on the next {len(asked)} of the order, when all of them are read"
            if changed
            else f"The judge is tested once, when all {len(asked)} answers that test it are read"
        )
        return f"{told}; {sum(i in read for i in asked)} are read. {UNTIL_THEN}{_waiting(asked, read, closed)}"

    def _next(self, taken: int, now: Gate) -> str:
        """What can be done after the looks that were taken."""
        further = min(self.size, len(self.answers) - now.asks)
        if taken == 2:
            again = "Both looks are taken; there is no third."
        elif not further:
            again = "No further answer is left for a second look."
        else:
            again = (
                f"A second look, at the next {further} of the order too, was not planned: it needs second_look = true "
                "in pilot.toml and an amendment of the lock, with the reason."
            )
        if now.state != "failed":
            return again
        left = self._left(self.answers[: now.asks])
        return f"Next: mend its prompt on these answers, or take another judge{self._confirmed(left)}. {again}"

    def _left(self, asked: Sequence[str]) -> int:
        """How many answers of the order are left for another judge, once `asked` are on record too."""
        seen = {*asked, *(i for look in self.past for i in look.questions)}
        last = max((place for place, i in enumerate(self.order) if i in seen), default=-1)
        return sum(i in self.shas for i in self.order[last + 1 :])

    def _confirmed(self, left: int) -> str:
        if not left:
            return "; but no further answer of the order is left to confirm that one on"
        few = f"{left} answers of the order that are left" if left < self.size else f"next {self.size} of the order"
        return f", and confirm that one on the {few}"


def _waiting(asked: Sequence[str], read: Mapping[str, Pair], closed: Callable[[str], str]) -> str:
    """Which of the answers asked for only another reader can open."""
    needed = Counter(groups for i in asked if i not in read and (groups := closed(i)))
    if not needed:
        return ""
    each = ", ".join(f"{count} for {groups}" for groups, count in sorted(needed.items()))
    return (
        f" {needed.total()} of them show text that the annotator may not open, and wait for a reader with access to it "
        f"({each})."
    )
