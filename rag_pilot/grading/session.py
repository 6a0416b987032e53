"""One person's pass through a queue of answers: where she is, what she chose, what is saved.

Every action either saves its one line and says so, or raises and leaves her where she was. What is labelled is read
back from the labels file after each save. Knows no widget, no HTML, no judge.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import datetime

from ..errors import DataError
from ..records import LABELS, OF_REFERENCE, Document, Label
from .items import REPEATS, Groups, Item, in_order, missing, repeated
from .labels import LabelStore, counting, key, seconds, stamp
from .naming import meant, open_titles

FAST_SECONDS = 2.0
"""A label given sooner after showing is flagged: nobody reads question, answer and passage in less."""

UNREAD_SECONDS = 0.25
"""A label given sooner is not taken: it was meant for the screen before (a double click, a bouncing key)."""


class LabelSession:
    """A queue of items for one person, resumed from the labels file alone; actions return what to tell her."""

    def __init__(
        self,
        items: Iterable[Item],
        store: LabelStore,
        annotator: str,
        *,
        seed: int,
        groups: Groups,
        say: Mapping[str, str],
        documents: Iterable[Document] = (),
        repeats: int = REPEATS,
        clock: Callable[[], datetime] = datetime.now,
    ) -> None:
        if not annotator.strip():
            raise DataError("the form needs the name of the person who labels; annotator is empty")
        if isinstance(groups, str):
            raise DataError(f"groups is {groups!r}; expected a set of names such as {{'hr'}}")
        ordered = in_order(items, seed)
        if len({item.key for item in ordered}) < len(ordered):
            raise DataError("the same answer stands twice among the items of the form; expected each once")
        self.store, self.annotator, self.seed, self.say, self.clock = store, annotator, seed, say, clock
        self.titles = open_titles(documents, groups)
        self.hidden = [item for item in ordered if missing(item, groups)]
        self.needed = sorted({" / ".join(sorted(need)) for item in self.hidden for need in missing(item, groups)})
        visible = [item for item in ordered if not missing(item, groups)]
        self.queue = visible + repeated(visible, seed, repeats)
        self._drafts: dict[tuple[str, str, str], Label] = {}
        self._shown_at: datetime | None = None
        self._read()
        self._go(self._unlabelled_from(0))

    @property
    def item(self) -> Item | None:
        """The item on screen; None behind the last one."""
        return self.queue[self.at] if self.at < len(self.queue) else None

    def saved(self, item: Item) -> Label | None:
        """This person's label of an item as it stands in the file, or None."""
        return self._mine.get(item.key)

    def changed(self, item: Item) -> bool:
        """Whether she labelled an earlier text of this answer and not yet this one, in the order of reading.

        Only there: of two versions that are read blind none may say that it is the newer one.
        """
        mine = [label for label in self._mine.values() if label.question_id == item.question_id]
        read = {label.answer_sha for label in mine if label.position is not None}
        return item.kind == "label" and item.position is not None and bool(read) and item.answer_sha not in read

    def draft(self, item: Item) -> Label:
        """What she has chosen and written about an item so far, saved or not."""
        empty = Label(item.question_id, item.answer_sha, self.annotator, None, item.kind)
        return self._drafts.get(item.key) or self.saved(item) or empty

    def progress(self, kind: str = "") -> tuple[int, int]:
        """(labelled, all) of one kind of item, or of all but those shown again."""
        chosen = [i for i in self.queue if (i.kind == kind if kind else i.kind != "repeat")]
        return sum(self.saved(i) is not None for i in chosen), len(chosen)

    def agreement(self) -> tuple[int, int]:
        """(same label both times, labelled twice): her agreement with herself."""
        again = [label for label in self._mine.values() if label.kind == "repeat"]
        pairs = [(a.label, self._mine.get((a.question_id, a.answer_sha, "label"))) for a in again]
        twice = [(second, first.label) for second, first in pairs if first]
        return sum(a == b for a, b in twice), len(twice)

    def shown(self) -> None:
        """Start the clock of the item on screen, once; called when a browser has it."""
        self._shown_at = self._shown_at or self.clock()

    def write(self, note: str, also: str, stale: bool) -> None:
        """Keep what the fields hold, in memory; `keep` or the next label saves it.

        A document is kept by its id; a text that means none or several stays as it is, see `unclear`.
        """
        if self.item:
            if (also := also.strip()) != self.draft(self.item).also and len(found := meant(also, self.titles)) == 1:
                also = found[0]
            fields = {"note": note.strip(), "also": also, "stale": stale}
            self._drafts[self.item.key] = replace(self.draft(self.item), **fields)  # type: ignore[arg-type]

    @property
    def unclear(self) -> bool:
        """Whether the other document that she names for the item on screen is none that she may open, or several."""
        also = self.draft(self.item).also if self.item else ""
        return bool(also) and len(meant(also, self.titles)) != 1

    def named(self) -> str:
        """What to tell of the other document that she names for the item on screen, if she names one."""
        also = self.draft(self.item).also if self.item else ""
        if not also:
            return ""
        found = meant(also, self.titles)
        if len(found) == 1:
            return self.say["also_is"].format(self.titles[found[0]], found[0])
        return self.say["also_several" if found else "also_unknown"].format(also, ", ".join(found))

    def keep(self) -> str:
        """Save what was written about the item on screen, if it is labelled and anything changed."""
        return self._save(self.draft(self.item)) if self.item and self.saved(self.item) else ""

    def label(self, label: str) -> str:
        """Save a label of the item on screen; after `correct` the next one comes, else this one stays for the why.

        It stays too where the other document that she named is not clear.
        """
        if label not in LABELS:
            raise DataError(f"{label!r} is no label; expected one of {', '.join(LABELS)}")
        if self.item is None:
            return ""
        if self._on_screen() < UNREAD_SECONDS and not self.saved(self.item):
            return self.say["too_quick"]
        draft = self.draft(self.item)
        cause = "" if label == "correct" and draft.cause != OF_REFERENCE else draft.cause
        told = self._save(replace(draft, label=label, cause=cause))
        if label == "correct" and not self.unclear:
            self._go(self._unlabelled_from(self.at + 1))
        return told

    def cause(self, cause: str) -> str:
        """Save why the item on screen is not correct; the same again takes it back. Nothing before such a label.

        That the reference is wrong can be said of every item: before its label it is kept, and saved with it.
        """
        saved = self.item and self.saved(self.item)
        if self.item is None or (cause != OF_REFERENCE and (not saved or saved.label == "correct")):
            return ""
        draft = self.draft(self.item)
        chosen = replace(draft, cause="" if draft.cause == cause else cause)
        if saved:
            return self._save(chosen)
        self._drafts[self.item.key] = chosen
        return ""

    def undo(self) -> str:
        """Take her last label back (one more line in the file) and show its item again."""
        places = {item.key: place for place, item in enumerate(self.queue)}
        mine = [k for k in self._mine if k in places]
        if not mine:
            return self.say["nothing_to_undo"]
        last = self._mine[mine[-1]]
        self.store.retract(last, saved_at=stamp(self.clock()))
        self._drafts[mine[-1]] = replace(last, label=None)
        self._read()
        self._go(places[mine[-1]])
        return self.say["taken_back"].format(self.at + 1)

    def skip(self) -> str:
        """Move the item on screen behind the others of its kind; nothing is written to the file."""
        item = self.item
        if item is None or self.saved(item):
            return self.say["skip_labelled"]
        rest = [i for i in self.queue if i.kind == item.kind and i is not item]
        if all(self.saved(i) for i in rest):
            return self.say["skip_last"]
        self.queue.remove(item)
        self.queue.insert(max(self.queue.index(i) for i in rest) + 1, item)
        self._go(self._unlabelled_from(self.at))
        return self.say["skipped"]

    def move(self, step: int) -> str:
        """Show the item before (-1) or after (1), labelled or not; behind the last one comes the closing page."""
        told = self.keep()
        self._go(min(max(self.at + step, 0), len(self.queue)))
        return told

    def summary(self) -> list[str]:
        """What the closing page says: what is left, her pace, labels given too fast, agreement with herself."""
        if not self.queue:
            return [self.say["nothing"]]
        here = {item.key for item in self.queue}
        left = len(here) - len(here & set(self._mine))
        lines = [self.say["not_done"].format(left) if left else self.say["done"]]
        keys = {key(label) for k, label in self._mine.items() if k in here}
        took = {k: s for k, s in seconds(self._lines).items() if k in keys}
        if took:
            lines.append(self.say["summary_pace"].format(round(statistics.median(took.values()), 1)))
        if fast := [k[0] for k, s in took.items() if s < FAST_SECONDS]:
            lines.append(self.say["summary_fast"].format(len(fast), len(took), ", ".join(fast)))
        same, twice = self.agreement()
        return [*lines, self.say["summary_repeats"].format(same, twice)] if twice else lines

    def _read(self) -> None:
        self._lines = [line for line in self.store.read() if line.annotator == self.annotator]
        self._mine = {(line.question_id, line.answer_sha, line.kind): line for line in counting(self._lines)}

    def _go(self, place: int) -> None:
        self.at = place
        self._shown_at = None

    def _unlabelled_from(self, start: int) -> int:
        places = [place for place, item in enumerate(self.queue) if not self.saved(item)]
        return next((place for place in places if place >= start), places[0] if places else len(self.queue))

    def _on_screen(self) -> float:
        return (self.clock() - self._shown_at).total_seconds() if self._shown_at else 0.0

    def _save(self, draft: Label) -> str:
        item, now = self.queue[self.at], self.clock()
        before = self.saved(item)
        if before and _choices(before) == _choices(draft):
            return ""
        times = {"shown_at": stamp(self._shown_at or now), "saved_at": stamp(now)}
        where = {"run_id": item.run_id, "position": item.position, "seed": self.seed}
        self.store.add(replace(draft, **where, **times))  # type: ignore[arg-type]
        self._drafts.pop(item.key, None)
        self._read()
        told = self.say["saved"].format(now.strftime("%H:%M:%S"), *self.progress())
        return f"{told} – {self.say['fast']}" if not before and self._on_screen() < FAST_SECONDS else told


def _choices(label: Label) -> tuple[object, ...]:
    return label.label, label.cause, label.note, label.also, label.stale
