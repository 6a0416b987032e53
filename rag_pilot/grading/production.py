"""Answers that a system gave in production, from a file: JSON Lines, or a table with one answer a row.

Who may read one: who is in every group that its row names, and may open, by the access files as they stand now, every
document that it names. A row without groups, or with a document that the pilot does not have, is open to nobody: its
answer may hold what that asker alone may know. Nothing is known here of judges and of what was right.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..answering.citations import read_citations
from ..corpus.access import group_names
from ..corpus.columns import folded_name
from ..corpus.decoding import decoded
from ..corpus.exports import LeftOut, read_export
from ..errors import DataError
from ..files import strict_json
from ..identity import answer_sha, fingerprint
from ..records import Document, Record
from .items import Groups, Item, ShownPassage

EXPECTED = (
    'one object a line: {"question": ..., "answer": ..., "groups": [of the asker], and as far as known "id": ..., '
    '"documents": [ids], "passages": [{"doc": id, "text": ...}]}'
)

READ = ("id", "question", "answer", "groups", "documents", "passages")


@dataclass(frozen=True)
class Served(Record):
    """One answer as somebody got it; `groups` are the asker's, `documents` what it rests on beside its passages."""

    id: str
    question: str
    answer: str
    groups: frozenset[str] = frozenset()
    documents: tuple[str, ...] = ()
    passages: tuple[Mapping[str, str], ...] = ()  # doc, text

    @property
    def sha(self) -> str:
        """What a label of it hangs on."""
        return answer_sha(self.answer, [f"{p['doc']}#{fingerprint(p['text'])}" for p in self.passages])


@dataclass(frozen=True)
class Production:
    """The answers of a file, in order, and the rows that could not be read."""

    path: Path
    how: str
    answers: tuple[Served, ...]
    left_out: tuple[LeftOut, ...]
    unit: str = "line"


def read_production(path: Path, encoding: str | None = None) -> Production:
    """Read a file of answers (.jsonl; .csv and .xlsx without passages); every row that is unfit is named.

    DataError where the file cannot be read at all, or holds no answer.
    """
    lines = path.suffix.lower() in (".jsonl", ".ndjson")
    how, unit, rows, left_out = _lines(path, encoding) if lines else _table(path, encoding)
    found: dict[str, tuple[int, Served]] = {}
    for line, row in rows:
        try:
            answer = _served(row)
            if answer.id in found:
                raise ValueError(f"the id {answer.id!r} stands in {unit} {found[answer.id][0]} already")
            found[answer.id] = line, answer
        except ValueError as fault:
            left_out.append(LeftOut(line, str(fault)))
    left_out.sort(key=lambda left: left.line)
    if not found:
        first = f"; the first: {unit} {left_out[0].line}, {left_out[0].reason}" if left_out else ""
        raise DataError(f"{path}: holds no answer that can be read{first}. Expected {EXPECTED}")
    return Production(path, how, tuple(answer for _, answer in found.values()), tuple(left_out), unit)


def item_of(answer: Served, documents: Mapping[str, Document], source: str) -> Item:
    """The answer as the form shows it, under the rights of the documents as they are now.

    `source`, the file's name, stands before its id: a label of it is no label of the pilot's question of that id.
    """
    cited = read_citations(answer.answer).numbers
    rests = [(p["doc"], p["text"], n in cited) for n, p in enumerate(answer.passages, start=1)]
    given = {p["doc"] for p in answer.passages}
    rests += [(d, documents[d].text if d in documents else "", False) for d in answer.documents if d not in given]
    return Item(
        question_id=f"{source}:{answer.id}",
        run_id=source,
        answer_sha=answer.sha,
        question=answer.question,
        answer=answer.answer,
        passages=tuple(_shown(n, *rest, documents) for n, rest in enumerate(rests, start=1)),
        kind="spot",
        reference=False,
        needs=tuple(frozenset({group}) for group in sorted(answer.groups)) or (frozenset(),),
    )


def _shown(number: int, doc: str, text: str, cited: bool, documents: Mapping[str, Document]) -> ShownPassage:
    document = documents.get(doc)
    groups: Groups = document.groups if document else frozenset()
    title, link, updated = (document.title, document.link, document.updated) if document else ("", "", "")
    return ShownPassage(number, text, groups, doc, title, link=link, updated=updated, cited=cited)


# -- reading -----------------------------------------------------------------------------------------------------------

Rows = list[tuple[int, Mapping[str, Any]]]


def _lines(path: Path, encoding: str | None) -> tuple[str, str, Rows, list[LeftOut]]:
    if not path.is_file():
        raise DataError(f"{path}: no such file")
    text, how = decoded(path, encoding)
    rows: Rows = []
    left_out: list[LeftOut] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip():
            try:
                row = strict_json(line, str)  # a number is text: an id is no quantity
                if not isinstance(row, dict):
                    raise ValueError(f"found {_short(row)}")
                rows.append((number, row))
            except (ValueError, RecursionError) as fault:
                left_out.append(LeftOut(number, f"not a JSON object ({fault})"))
    return f"JSON Lines, {how}", "line", rows, left_out


def _table(path: Path, encoding: str | None) -> tuple[str, str, Rows, list[LeftOut]]:
    export = read_export(path, encoding)
    names = {column: folded_name(column) for column in export.columns}
    for name in READ:  # a name that stands again was numbered
        if len(twins := [c for c in export.columns if folded_name(re.sub(r" \(\d+\)$", "", c)) == name]) > 1:
            raise DataError(f"{path}: the columns {', '.join(twins)} all mean {name}; keep one")
    if lacking := [name for name in ("question", "answer") if name not in names.values()]:
        raise DataError(
            f"{path}: no column {' and no column '.join(lacking)}; the columns are {', '.join(export.columns)}. "
            "Expected question, answer and groups (of the asker, with ; between), as far as known id and documents"
        )
    rows: Rows = []
    left_out = list(export.left_out)
    for row in export.rows:
        if row.unreadable:
            column, reason = next(iter(row.unreadable.items()))
            left_out.append(LeftOut(row.line, f"{column} {reason}"))
        else:
            rows.append((row.line, {names[column]: cell for column, cell in row.cells.items()}))
    return export.how, export.unit, rows, left_out


def _served(row: Mapping[str, Any]) -> Served:
    texts = {name: "" if row.get(name) is None else row[name] for name in ("id", "question", "answer")}
    for name, text in texts.items():
        if not isinstance(text, str) or name != "id" and not text.strip():
            raise ValueError(f"{name} is {_short(row.get(name))}, expected a text" + " or nothing" * (name == "id"))
    groups, documents = _names("groups", row.get("groups")), _names("documents", row.get("documents"))
    passages = row.get("passages") or []
    fit = isinstance(passages, list) and all(isinstance(p, dict) for p in passages)
    if not fit or not all(isinstance(p.get(name), str) and p[name] for p in passages for name in ("doc", "text")):
        raise ValueError(f'passages is {_short(passages)}, expected a list such as [{{"doc": "leave", "text": "..."}}]')
    made = f"answer-{fingerprint([texts['question'], texts['answer']])}"
    return Served(
        texts["id"] if texts["id"].strip() else made,
        texts["question"],
        texts["answer"],
        group_names(groups) if groups else frozenset(),
        tuple(dict.fromkeys(documents)),
        tuple({"doc": p["doc"], "text": p["text"]} for p in passages),
    )


def _names(field: str, value: Any) -> list[str]:
    """Names of a list, or of a text with ; between: never its letters."""
    names = value.split(";") if isinstance(value, str) else [] if value is None else value
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ValueError(f'{field} is {_short(value)}, expected a list of names such as ["hr"]')
    return [name.strip() for name in names if name.strip()]


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."
