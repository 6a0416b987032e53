"""A ticket export into questions.jsonl: candidates, appended once each, with how often they were asked.

Every row ends as a new question, as a repeat of one, as one that was there already, or on a list with its reason: the
four counts add up to the rows. What was in the file stays as it is. A candidate has `answerable: null`, so no run asks
it until somebody has decided; nothing is known here of documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from ..errors import DataError
from ..files import dumps, read_jsonl, read_text, saving, write_text
from ..identity import fold
from .access import group_names
from .columns import Columns, choose_columns
from .exports import Export, LeftOut, Row, read_export
from .masking import mask
from .questions import read_questions

_FILLED = ("expected", "doc", "category", "lang", "source")  # the first row that says it, says it for its repeats


@dataclass(frozen=True)
class Imported:
    """What became of each row; `repeats` and `known` are (line, id of the question with the same text)."""

    export: Export
    to: Path
    columns: Columns
    new: tuple[str, ...]  # ids
    repeats: tuple[tuple[int, str], ...]
    known: tuple[tuple[int, str], ...]
    left_out: tuple[LeftOut, ...]
    conflicts: tuple[tuple[str, str], ...]  # ids of two questions with one text and different answers
    differing: tuple[tuple[int, str], ...]  # those of `known` whose answer is another one than in the file
    before: int  # questions that were in the file
    made_ids: bool
    masked: tuple[int, int] | None  # e-mail addresses, phone numbers; None: not asked for

    @property
    def rows(self) -> int:
        """The rows of the export that are not blank."""
        return len(self.new) + len(self.repeats) + len(self.known) + len(self.left_out)


def import_questions(
    path: Path,
    to: Path,
    columns: Mapping[str, str] | None = None,
    mask_contacts: bool = False,
    encoding: str | None = None,
    sheet: str | None = None,
    everyone: str | None = None,
    lang: str = "",
) -> Imported:
    """Append the questions of an export to a questions.jsonl, whole or not at all.

    `columns` tells the column of a field where the guess is not clear (question -> Betreff); `everyone` is the group
    that tells no two askers apart, `lang` the language of new questions that name none. DataError where the export
    cannot be read, a column is not clear, or an id stands in the file already with another text.
    """
    if to.suffix != ".jsonl":
        raise DataError(f"{to}: questions go into a file that ends in .jsonl, such as data/PILOT/questions.jsonl")
    if not to.parent.is_dir():
        raise DataError(f"no folder {to.parent}: `rag-pilot new NAME` makes data/NAME, then import into it")
    export = read_export(path, encoding, sheet)
    try:
        chosen = choose_columns({c: [row.cells[c] for row in export.rows] for c in export.columns}, columns)
    except DataError as fault:
        raise DataError(f"{path}: {fault}") from None
    with saving(to):
        there = _Known(to, everyone)
        made = _Sorting(there, masking=mask_contacts, ids="id" in chosen.taken, unit=export.unit)
        for row in export.rows:
            made.sort(row, chosen.taken)
        if made.clashing:
            raise DataError(_clash(export, to, made.clashing))
        if made.new:
            text = there.text if not there.text or there.text.endswith("\n") else there.text + "\n"
            write_text(to, text + "".join(dumps(_line(row, lang)) + "\n" for row in made.new.values()))
    return Imported(
        export,
        to,
        chosen,
        tuple(made.new),
        tuple(made.repeats),
        tuple(made.known),
        tuple(sorted((*export.left_out, *made.left_out), key=lambda left: left.line)),
        tuple(made.conflicts),
        tuple(made.differing),
        len(there.lines),
        "id" not in chosen.taken,
        (made.emails, made.phones) if mask_contacts else None,
    )


def _line(row: Mapping[str, Any], lang: str) -> dict[str, Any]:
    """A candidate as it stands in the file, with today's date; what nobody has said and a count of one are left out."""
    keys = ("id", "question", "expected", "doc", "groups", "answerable", "category", "lang", "source", "added", "asked")
    always = ("id", "question", "groups", "answerable")
    dated = {**row, "lang": row["lang"] or lang, "added": date.today().isoformat()}
    return {k: dated[k] for k in keys if k in always or k in dated and dated[k] not in ("", 1)}


def _clash(export: Export, to: Path, clashing: list[tuple[int, str, int]]) -> str:
    line, id_, other = clashing[0]
    more = f" ({len(clashing)} such ids)" if len(clashing) > 1 else ""
    return (
        f"{export.path}, {export.unit} {line} and {to}, line {other}: the id {id_!r} has another text or "
        f"other groups there{more}. Nothing was imported: correct the id, leave the ids out (--column id=), or mask as "
        "you did before"
    )


class _Known:
    """The questions that a file holds already, by id: line, row, and every text that the id has stood for."""

    def __init__(self, path: Path, everyone: str | None) -> None:
        exists = path.exists()
        self.text, self.everyone = read_text(path) if exists else "", everyone
        self.lines: dict[str, int] = {}
        self.rows: dict[str, Mapping[str, Any]] = {}
        self.texts: dict[str, set[str]] = {}
        if exists:
            read_questions(path, None)  # a file that is not as agreed is refused, not appended to
            for line, row in read_jsonl(path):
                old = [a.get("old") for a in row.get("amendments") or () if a.get("field") == "question"]
                self.lines[row["id"]], self.rows[row["id"]] = line, row
                self.texts[row["id"]] = {fold(str(text)) for text in (row["question"], *old)}

    def keys(self, row: Mapping[str, Any]) -> list[tuple[str, frozenset[str]]]:
        """Texts and asker's groups: the same words of somebody who may open other documents are another question."""
        groups = (group_names(row["groups"]) if row["groups"] else frozenset()) - {self.everyone or ""}
        texts = self.texts.get(row["id"], set()) if row is self.rows.get(row["id"]) else {fold(row["question"])}
        return [(text, groups) for text in sorted(texts)]


class _Sorting:
    """Rows one after the other into new questions, repeats, known ones and those left out."""

    def __init__(self, there: _Known, *, masking: bool, ids: bool, unit: str) -> None:
        self.there, self.masking, self.ids, self.unit = there, masking, ids, unit
        self.new: dict[str, dict[str, Any]] = {}
        self.repeats: list[tuple[int, str]] = []
        self.known: list[tuple[int, str]] = []
        self.left_out: list[LeftOut] = []
        self.conflicts: list[tuple[str, str]] = []
        self.differing: list[tuple[int, str]] = []
        self.clashing: list[tuple[int, str, int]] = []
        self.emails = self.phones = 0
        self._lines: dict[str, int] = {}
        self._alike: dict[tuple[str, frozenset[str]], list[str]] = {}
        for id_, row in there.rows.items():
            for key in there.keys(row):
                self._alike.setdefault(key, []).append(id_)
        numbers = [int(m[1]) for id_ in there.rows if (m := re.fullmatch(r"t(\d+)", id_))]
        self._next = max(numbers, default=0) + 1

    def sort(self, row: Row, taken: Mapping[str, str]) -> None:
        """Put one row where it belongs."""
        try:
            found = self._read(row, taken)
            self._place(row.line, found)
        except ValueError as fault:
            self.left_out.append(LeftOut(row.line, str(fault)))

    def _read(self, row: Row, taken: Mapping[str, str]) -> dict[str, Any]:
        for name, column in taken.items():
            if column in row.unreadable:
                raise ValueError(f"{name} {row.unreadable[column]}")
        cells = {name: row.cells[column] for name, column in taken.items()}
        try:
            "".join(cells.values()).encode()
        except UnicodeEncodeError:
            raise ValueError("holds half of a surrogate pair, which is no character") from None
        if self.ids and not cells["id"].strip():
            raise ValueError("no id, though the others have one: give it one")
        found: dict[str, Any] = {name: self._masked(cells.get(name, "").strip()) for name in _FILLED}
        found["id"] = cells.get("id", "")
        found["question"] = self._masked(_joined(cells["question"].strip(), cells.get("body", "").strip()))
        if not found["question"]:
            raise ValueError("no question")
        found["lang"] = _language(found["lang"])
        found["asked"] = _count(cells.get("asked", ""))
        found["groups"] = _groups(cells.get("groups", ""))
        found["answerable"] = None
        return found

    def _masked(self, text: str) -> str:
        if not self.masking or not text:
            return text
        text, emails, phones = mask(text)
        self.emails, self.phones = self.emails + emails, self.phones + phones
        return text

    def _place(self, line: int, found: dict[str, Any]) -> None:
        id_, (key,) = found["id"], self.there.keys(found)
        alike = self._alike.get(key, [])
        same = next((i for i in alike if _agree(self._row(i), found)), None)
        if same is None and (there := [i for i in alike if i in self.there.rows]):
            same = id_ if id_ in there else there[0]  # what people decided in the file stands, and they are told
            self.differing.append((line, same))
        if same is not None:
            self._join(line, same, found)
            if same == id_:
                self._lines.setdefault(id_, line)
        elif id_ in self._lines:
            raise ValueError(f"its id {id_!r} stands in {self.unit} {self._lines[id_]} with another text or answer")
        elif id_ in self.there.rows:
            self.clashing.append((line, id_, self.there.lines[id_]))
        else:
            id_ = id_ or f"t{self._next:04d}"
            self._next += not self.ids
            self.conflicts += [(other, id_) for other in alike]
            self.new[id_], self._lines[id_] = {**found, "id": id_}, line
            self._alike.setdefault(key, []).append(id_)

    def _row(self, id_: str) -> Mapping[str, Any]:
        return self.new[id_] if id_ in self.new else self.there.rows[id_]

    def _join(self, line: int, id_: str, found: Mapping[str, Any]) -> None:
        """Count a row for the question with its text; what is in the file already is not touched."""
        if id_ not in self.new:
            self.known.append((line, id_))
            return
        question = self.new[id_]
        question["asked"] += found["asked"]
        question.update({name: found[name] for name in _FILLED if not question[name]})
        self.repeats.append((line, id_))


def _agree(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two rows have one answer, or one of them has none yet."""
    answers = [[fold(row.get(name) or "") for name in ("expected", "doc")] for row in (one, other)]
    return all(a == b or not a or not b for a, b in zip(*answers, strict=True))


def _joined(subject: str, body: str) -> str:
    """Subject and body of a ticket as one question; a body that repeats the subject stands alone."""
    if not subject or not body:
        return subject or body
    return body if fold(body).startswith(fold(subject)) else f"{subject}\n{body}"


def _language(cell: str) -> str:
    """fr-FR and FR are fr; what is no code stays as it is."""
    return cell[:2].lower() if re.fullmatch(r"[A-Za-z]{2}(?:[-_][A-Za-z]{2,4})?", cell) else cell


def _count(cell: str) -> int:
    whole = re.fullmatch(r"(\d{1,9})(?:\.0+)?", cell.strip())
    if cell.strip() and (not whole or int(whole[1]) < 1):
        raise ValueError(f"asked is {cell!r}; expected a whole number from 1")
    return int(whole[1]) if whole else 1


def _groups(cell: str) -> list[str]:
    if not cell.strip():
        return []
    if "," in cell:
        raise ValueError(f"groups is {cell!r}; separate groups with ; not with ,")
    try:
        return sorted(group_names(cell.split(";")))
    except ValueError as fault:
        raise ValueError(f"groups {fault}") from None


def by_reason(left_out: Iterable[LeftOut]) -> dict[str, list[int]]:
    """The lines left out, by reason, in order: nothing is shortened here."""
    lines: dict[str, list[int]] = {}
    for left in left_out:
        lines.setdefault(left.reason, []).append(left.line)
    return lines
