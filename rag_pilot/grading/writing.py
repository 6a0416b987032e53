"""One person's pass through the questions that need an answer: where she is, what she wrote, what is saved.

Every action either does what it says, or raises and leaves her where she was with what she wrote. What is complete is
read back from the file before each question. Documents are found by their words alone; no index, model or widget is
known here.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime
from typing import Any

from ..corpus.access import may_open
from ..corpus.find import Found, find_documents
from ..errors import DataError, StaleError
from ..records import Document
from .desk import Desk
from .draft import Draft
from .labels import stamp

WRITTEN = ("expected", "quote", "groups", "category", "validated_by")
"""The fields of a question that are text fields of the page."""


class WritingSession:
    """One author at a desk, from question to question; actions return what to tell her, in the desk's language.

    `order` is complete questions, then undecided, then incomplete ones; it begins at the first that is not complete, or
    at the one with the id `start`.
    """

    def __init__(
        self, desk: Desk, author: str, *, clock: Callable[[], datetime] = datetime.now, start: str = ""
    ) -> None:
        if not author.strip():
            raise DataError("the form needs the name of the person who writes; author is empty")
        self.desk, self.author, self.clock, self.say = desk, author, clock, desk.say
        self.current: str | None = None
        self.opened: Document | None = None
        self.words, self.why, self.found = "", "", Found()
        self._shown_at: datetime | None = None
        self._drafts: dict[str, Draft] = {}
        self._shown: dict[str, Mapping[str, Any]] = {}  # the questions as the drafts were begun on them
        self.order = sorted(desk.rows, key=lambda i: (bool(desk.reasons(i)), desk.rows[i]["answerable"] is not None))
        if start and start not in self.queue:
            raise DataError(f"{desk.file.path}: holds no question {start!r} that {author} may see")
        find_documents(desk.open_documents, desk.everyone, desk.groups)  # folds the texts now, not while she waits
        self._go(start or self._todo())

    # -- what is there -------------------------------------------------------------------------------------------------

    @property
    def row(self) -> Mapping[str, Any] | None:
        """The question on screen as it was shown; None behind the last one."""
        return self._shown[self.current] if self.current else None

    @property
    def draft(self) -> Draft:
        """What stands in the form for the question on screen."""
        return (self._drafts.get(self.current) or Draft.of(self._shown[self.current])) if self.current else Draft()

    @property
    def queue(self) -> list[str]:
        """The questions that she may see, in order."""
        return [id_ for id_ in self.order if id_ not in self.desk.hidden]

    @property
    def asker_may_open(self) -> bool:
        """Whether the asker of the question on screen may open the document on screen."""
        try:
            asker = self.draft.asker() | {self.desk.everyone}
        except ValueError:
            return False
        return self.opened is not None and may_open(self.opened.groups, asker)

    def progress(self) -> tuple[int, int]:
        """(complete, all) of the questions that she may see."""
        return sum(not self.desk.reasons(id_) for id_ in self.queue), len(self.queue)

    def pace(self) -> float | None:
        """Her median seconds for a question, or None before the first."""
        took = self.desk.file.seconds(self.author)
        return statistics.median(took) if took else None

    def elapsed(self) -> float:
        """Seconds since the question on screen was shown."""
        return (self.clock() - self._shown_at).total_seconds() if self._shown_at else 0.0

    # -- what she does -------------------------------------------------------------------------------------------------

    def shown(self) -> None:
        """Start the clock of the question on screen, once; called when a browser has it."""
        self._shown_at = self._shown_at or self.clock()

    def write(self, fields: Mapping[str, Any]) -> None:
        """Keep what the text fields hold, in memory; `save` saves it."""
        if self.current:
            texts = {name: str(fields[name]).strip() for name in WRITTEN if name in fields}
            self._drafts[self.current] = replace(self.draft, **texts)  # type: ignore[arg-type]
            self.words, self.why = (
                str(fields.get(name, old)) for name, old in (("search", self.words), ("why", self.why))
            )

    def decide(self, answerable: bool) -> str:
        """Note whether the documents answer the question."""
        return self._note(answerable=answerable)

    def find(self) -> str:
        """Find the documents, among those that she may open, that hold the words."""
        words = self.words
        self._refresh()
        self.words, self.found = words, find_documents(self.desk.open_documents, words, self.desk.groups)
        self.opened = self.found.documents[0] if self.found.total == 1 else None
        return ""

    def open(self, id_: str) -> str:
        """Show a document, if she may open it."""
        self.opened = next((d for d in self.desk.open_documents if d.id == id_), None)
        return ""

    def choose(self) -> str:
        """Take the document on screen for the one that answers; the same again takes it back."""
        if self.opened is None:
            return self.say["open_first"]
        id_, draft = self.opened.id, self.draft
        return self._note(doc="" if draft.doc == id_ else id_, also=tuple(d for d in draft.also if d != id_))

    def choose_also(self) -> str:
        """Note that the document on screen answers too; the same again takes it back."""
        if self.opened is None:
            return self.say["open_first"]
        id_, draft = self.opened.id, self.draft
        also = tuple(d for d in draft.also if d != id_) if id_ in draft.also else (*draft.also, id_)
        return self._note(doc="" if draft.doc == id_ else draft.doc, also=also)

    def group(self, name: str) -> str:
        """Put a group among the asker's, or take it away."""
        names = [g for g in (part.strip() for part in self.draft.groups.split(";")) if g]
        return self._note(groups="; ".join([g for g in names if g != name] if name in names else [*names, name]))

    def validate(self) -> str:
        """Note that the author validated the answer; the same again takes it back."""
        return self._note(validated_by="" if self.draft.validated_by == self.author else self.author)

    def save(self) -> str:
        """Save the question on screen and go to the next one; a DataError says why it cannot be saved."""
        if not self.current or not self.row:
            return ""
        id_, draft, now = self.current, self.draft, self.clock()
        self._refresh()
        before, told = Draft.of(self.row), []
        if faults := self.desk.faults(draft, before):
            raise DataError(faults[0])
        if changes := draft.changes(before):
            try:
                self.desk.file.save(self.row, changes, self.author, now.date().isoformat(), self.why.strip())
            except StaleError:
                raise StaleError(self._merged(id_, draft)) from None
            told = self._saved(id_, draft, now)
        self._drafts.pop(id_, None)
        self.current = None
        self._refresh()
        self._go(self._todo(id_))
        done = self.say["saved"].format(now.strftime("%H:%M:%S"), *self.progress())
        return " – ".join([done, *told]) if changes else self.say["nothing_changed"]

    def skip(self) -> str:
        """Move the question on screen behind all others that are not complete; nothing is written to the file."""
        self._refresh()
        if not self.current or not self.desk.reasons(self.current):
            return self.say["skip_written"]
        if not [id_ for id_ in self.queue if id_ != self.current and self.desk.reasons(id_)]:
            return self.say["skip_last_question"]
        after = self._todo(self.current)
        self.order.remove(self.current)
        self.order.append(self.current)
        self._go(after)
        return self.say["skipped"]

    def move(self, step: int) -> str:
        """Show the question before (-1) or after (1), complete or not; what she wrote stays, unsaved."""
        left = self.current if self.current and self.row and self.draft != Draft.of(self.row) else ""
        self._refresh()
        queue = self.queue
        place = queue.index(self.current) if self.current in queue else len(queue)
        place = min(max(place + step, 0), len(queue))
        self._go(queue[place] if place < len(queue) else None)
        return self.say["not_yet_saved"].format(left) if left and left != self.current else ""

    def summary(self) -> list[str]:
        """What the closing page says: what is left, and her pace."""
        if not self.queue:
            return [self.say["nothing_to_write"]]
        done, total = self.progress()
        lines = [self.say["not_all_written"].format(total - done) if done < total else self.say["all_written"]]
        pace = self.pace()
        return lines if pace is None else [*lines, self.say["summary_writing"].format(round(pace))]

    # -- inside --------------------------------------------------------------------------------------------------------

    def _refresh(self) -> None:
        """Read the desk again; StaleError if the question on screen is gone from it, or closed to her by now."""
        self.desk.read()
        known = [id_ for id_ in self.order if id_ in self.desk.rows]
        self.order = [*known, *(id_ for id_ in self.desk.rows if id_ not in set(known))]
        if self.current and self.current not in self.queue:
            gone = self.say["gone_meanwhile"].format(self.current, self.draft.expected)
            self._go(self._todo())
            raise StaleError(gone)

    def _note(self, **values: Any) -> str:
        if self.current:
            self._drafts[self.current] = replace(self.draft, **values)
        return ""

    def _todo(self, after: str | None = None) -> str | None:
        queue = self.queue
        start = queue.index(after) + 1 if after in queue else 0
        return next((id_ for id_ in queue[start:] + queue[:start] if self.desk.reasons(id_)), None)

    def _go(self, id_: str | None) -> None:
        self.current, self._shown_at = id_, None
        self.words, self.why, self.found = "", "", Found()
        if id_ and id_ not in self._drafts:
            self._shown[id_] = self.desk.rows[id_]
        self.open(self.draft.doc)

    def _merged(self, id_: str, draft: Draft) -> str:
        """Show a question that somebody else changed: hers where she changed it, else theirs; say where both did."""
        before = Draft.of(self._shown[id_])
        self._refresh()
        self._shown[id_] = self.desk.rows[id_]
        theirs, changed = Draft.of(self.desk.rows[id_]), []
        mine = {f.name for f in fields(draft) if draft[f.name] != before[f.name]}
        for name in sorted(mine):
            if theirs[name] not in (before[name], draft[name]):
                value = theirs[name]
                changed.append(f"{self.say[f'field_{name}']}: {'; '.join(value) if name == 'also' else value}")
        self._drafts[id_] = replace(theirs, **{name: draft[name] for name in mine})
        return self.say["changed_meanwhile"].format(" · ".join(changed) or "–")

    def _saved(self, id_: str, draft: Draft, now: datetime) -> list[str]:
        """What to tell of a question that was just saved: seconds, groups that no document names; the time is kept."""
        told = [f"{self.elapsed():.0f} s"]
        if strange := sorted(draft.asker() - {*self.desk.group_names, self.desk.everyone}):
            told.append(self.say["unknown_group"].format(", ".join(strange)))
        try:
            self.desk.file.keep_time(id_, self.author, stamp(self._shown_at or now), stamp(now))
        except DataError:
            told.append(self.say["no_time"])
        return told
