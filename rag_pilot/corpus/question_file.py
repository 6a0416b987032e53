"""questions.jsonl as people write it: one question changed or added, every other line left byte for byte.

What was undecided (`answerable: null`) is filled in; what was decided is amended, its old value kept with date and
author. Several people may write at once: whoever shows a question that changed since is refused. Beside it an
append-only `writing.jsonl` keeps how long each took. Whether an answer is a good one is not known here.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from ..errors import DataError, StaleError
from ..files import append_jsonl, decode, dumps, json_object, saving, whole_lines, write_text
from .questions import parse_question

Row = dict[str, Any]


class QuestionFile:
    """The questions of one pilot, as JSON objects in the order of the file; nothing is kept in memory."""

    def __init__(self, path: Path) -> None:
        self.path, self.times = path, path.with_name("writing.jsonl")

    def read(self) -> dict[str, Row]:
        """Every question by its id, as it stands on disk and checked; a line that is not as agreed is a DataError."""
        return {row["id"]: row for _, row in self._rows(self._pieces())}

    def save(self, shown: Mapping[str, Any], changes: Mapping[str, Any], author: str, day: str, why: str = "") -> Row:
        """Change one question, on the disk before this returns; nothing is written if nothing differs.

        `shown` is the question as the author saw it. StaleError where the file holds it otherwise by now; DataError
        where it cannot be saved. Either way the file is as it was.
        """
        with saving(self.path):
            pieces = self._pieces()
            places = {row["id"]: (place, row) for place, row in self._rows(pieces)}
            place, row = places.get(shown["id"], (0, {}))
            if row != shown:
                raise StaleError(f"{self.path}: {shown['id']} was changed or removed since it was shown")
            changed = amended(row, changes, author, day, why)
            if changed != row:
                try:
                    parse_question(changed, None)
                except ValueError as fault:
                    raise DataError(f"{self.path}: nothing was saved: {shown['id']}: {fault}") from None
                pieces[place] = dumps(changed)
                write_text(self.path, "".join(pieces))
            return changed

    def add(self, row: Row) -> None:
        """Append one question, on the disk before this returns; DataError where it cannot stand, or its id is taken."""
        with saving(self.path):
            pieces = self._pieces()
            taken = {known["id"] for _, known in self._rows(pieces)}
            try:
                parse_question(row, None)
            except ValueError as fault:
                raise DataError(f"{self.path}: nothing was saved: {row.get('id')}: {fault}") from None
            if row["id"] in taken:
                raise DataError(f"{self.path}: nothing was saved: the id {row['id']!r} stands there already")
            end = "\n" * bool(pieces[-1].strip())
            write_text(self.path, "".join(pieces) + end + dumps(row) + "\n")

    def keep_time(self, question_id: str, author: str, shown_at: str, saved_at: str) -> None:
        """Append when a question was shown and saved."""
        with saving(self.times):
            row = {"question_id": question_id, "author": author, "shown_at": shown_at, "saved_at": saved_at}
            append_jsonl(self.times, row)

    def seconds(self, author: str | None = None) -> list[float]:
        """Seconds from showing to saving, of one author or of all, in the order of saving; half a last line is no
        line."""
        took = []
        for number, line in enumerate(whole_lines(self.times)[0].split("\n"), start=1):
            if line.strip():
                row = json_object(self.times, number, line)
                try:
                    spent = datetime.fromisoformat(row["saved_at"]) - datetime.fromisoformat(row["shown_at"])
                except (KeyError, TypeError, ValueError) as fault:
                    raise DataError(f"{self.times}, line {number}: {fault!r}; mend or remove the line") from None
                if author in (None, row.get("author")):
                    took.append(spent.total_seconds())
        return took

    def _pieces(self) -> list[str]:
        """The file as lines and line ends by turns: joined again they are the file."""
        if not self.path.is_file():
            raise DataError(f"{self.path}: no such file; write one question as a JSON object per line")
        data = self.path.read_bytes()
        try:
            pieces = re.split(r"(\r\n|\n|\r)", decode(data)[0])
        except DataError as fault:
            raise DataError(f"{self.path}: {fault}") from None
        return ["\ufeff" * data.startswith(codecs.BOM_UTF8), "", *pieces]

    def _rows(self, pieces: list[str]) -> Iterator[tuple[int, Row]]:
        """(place among the pieces, question), checked as `read_questions` does."""
        lines: dict[str, int] = {}
        for place in range(2, len(pieces), 2):
            number = place // 2
            if not pieces[place].strip():
                continue
            row = json_object(self.path, number, pieces[place])
            try:
                parse_question(row, None)
            except ValueError as fault:
                raise DataError(f"{self.path}, line {number}: {fault}") from None
            if row["id"] in lines:
                raise DataError(
                    f"{self.path}, lines {lines[row['id']]} and {number}: the id {row['id']!r} stands twice"
                )
            lines[row["id"]] = number
            yield place, row


def amended(row: Mapping[str, Any], changes: Mapping[str, Any], author: str, day: str, why: str = "") -> Row:
    """The question with the changes that differ; the old values of a decided one are added to its amendments."""
    differing = {name: value for name, value in changes.items() if row.get(name) != value}
    changed = {**row, **differing}
    if row["answerable"] is None or not differing:
        return changed
    act = {"date": day, "author": author, **({"why": why} if why else {})}
    old = [{"field": name, "old": row.get(name), **act} for name in differing]
    return {**changed, "amendments": [*(row.get("amendments") or []), *old]}
