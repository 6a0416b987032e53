"""The expert's labels on disk: one JSON line per action, only ever appended, never changed.

Knows how lines are written, checked and read back, and which of them count. Knows no form, no judge and no measure.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from pathlib import Path

from ..errors import DataError
from ..files import append_jsonl, saving, whole_lines
from ..records import CAUSES, KINDS, LABELS, OTHER_CAUSES, Label

Key = tuple[str, str, str, str]


class LabelStore:
    """The labels file of one pilot; several forms and people may append to it at the same time."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    def add(self, label: Label) -> Label:
        """Append one line, on the disk before this returns; a DataError means that nothing was saved."""
        label = label if label.saved_at else replace(label, saved_at=stamp(datetime.now()))
        if fault := fault_of(label):
            raise DataError(f"{self.path}: nothing was saved: {fault}")
        with saving(self.path):
            append_jsonl(self.path, label)
        return label

    def retract(self, label: Label, saved_at: str = "") -> Label:
        """Append a line that takes `label` back; the line it answers to stays in the file."""
        return self.add(replace(label, label=None, cause="", note="", also="", stale=False, saved_at=saved_at))

    def read(self) -> list[Label]:
        """Every line in file order, checked; half a last line (an interrupted write) is left out, see `half_line`."""
        whole, _ = whole_lines(self.path)
        labels = []
        for number, line in enumerate(whole.split("\n"), start=1):
            if line.strip():
                labels.append(self._label(number, line))
        return labels

    def half_line(self) -> str:
        """The half line at the end of the file, or nothing; the next save moves it to `NAME.cut`."""
        return whole_lines(self.path)[1]

    def counting(self) -> list[Label]:
        """The labels that count, as `counting` finds them among all lines."""
        return counting(self.read())

    def _label(self, number: int, line: str) -> Label:
        try:
            row = json.loads(line)
            fault = fault_of(label := Label.from_json(row)) if isinstance(row, dict) else "not a JSON object"
        except (TypeError, ValueError) as error:
            fault = str(error)
        if fault:
            raise DataError(f"{self.path}, line {number}: {fault}; mend or remove the line")
        return label


def key(label: Label) -> Key:
    """What one label stands for: this person's word, of this kind, on this answer to this question."""
    return label.question_id, label.answer_sha, label.annotator, label.kind


def counting(labels: Iterable[Label]) -> list[Label]:
    """The last line of each key, in file order, without those taken back; lines before it are history."""
    last: dict[Key, Label] = {}
    for label in labels:
        last.pop(key(label), None)
        last[key(label)] = label
    return [label for label in last.values() if label.label is not None]


def seconds(labels: Iterable[Label]) -> dict[Key, float]:
    """Seconds from showing an answer to its first label since it was last taken back; lines without times left out."""
    took: dict[Key, float] = {}
    for label in labels:
        if label.label is None:
            took.pop(key(label), None)
        elif label.shown_at and label.saved_at and key(label) not in took:
            shown, saved = datetime.fromisoformat(label.shown_at), datetime.fromisoformat(label.saved_at)
            took[key(label)] = (saved - shown).total_seconds()
    return took


def stamp(moment: datetime) -> str:
    """The moment as ISO 8601 with milliseconds and the offset of its own zone (the machine's, if it names none)."""
    return moment.astimezone().isoformat(timespec="milliseconds")


def fault_of(label: Label) -> str:
    """What is wrong with a line, in words, or nothing."""
    for name in ("question_id", "answer_sha", "annotator"):
        if not isinstance(label[name], str) or not label[name].strip():
            return f"{name} is {label[name]!r}, expected a text that is not empty"
    for name in ("cause", "note", "also", "run_id", "shown_at", "saved_at"):
        if not isinstance(label[name], str):
            return f"{name} is {label[name]!r}, expected a text"
    for name in ("shown_at", "saved_at"):
        try:
            moment = datetime.fromisoformat(label[name]) if label[name] else None
        except ValueError:
            return f"{name} is {label[name]!r}, expected a time such as 2026-09-15T14:03:11.250+02:00"
        if moment and moment.tzinfo is None:
            return f"{name} is {label[name]!r}, which lacks the offset of its zone, such as +02:00"
    for name, known in (("label", (*LABELS, None)), ("kind", KINDS), ("cause", ("", *CAUSES, *OTHER_CAUSES))):
        if label[name] not in known:
            return f"{name} is {label[name]!r}, expected one of {', '.join(str(k) for k in known if k)}"
    for name in ("position", "seed"):
        if label[name] is not None and type(label[name]) is not int:
            return f"{name} is {label[name]!r}, expected a whole number"
    return "" if isinstance(label.stale, bool) else f"stale is {label.stale!r}, expected true or false"
