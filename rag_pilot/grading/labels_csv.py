"""Labels by spreadsheet: the sampled answers as a CSV file, blind, and the labels written into it read back, checked.

A row is taken whole or refused with its line; what is fit is saved, so the same file can be mended and read again. An
empty label is no label: nothing is ever taken back from here. Knows no judge and no score.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..corpus.columns import folded_name
from ..corpus.escaping import escaped, unescaped
from ..corpus.exports import LeftOut, Row, read_export
from ..errors import DataError
from ..files import write_text
from ..identity import fold
from ..records import LABELS, OF_REFERENCE, Label
from .items import Groups, Item, in_order, missing
from .labels import LabelStore, counting, fault_of

SHOWN = ("id", "question", "expected", "document", "answer", "passages")
WRITTEN = ("label", "cause", "note", "also", "stale")
COLUMNS = (*SHOWN, *WRITTEN, "answer_sha", "saved_at")
"""Hash and time stand behind the label: whoever sorts only some of the columns moves a label from its hash."""

NEEDED = ("id", "question", *WRITTEN, "answer_sha", "saved_at")
LONGEST_CELL = 32_000  # a spreadsheet tears a cell of more than 32,767 characters

Mine = Mapping[str, tuple[Item, Label | None]]
"""The answers that a person may open, by question id, each with her label of it."""


@dataclass(frozen=True)
class Exported:
    """What was written: answers, how many of them are labelled, and those left out with the groups that they need."""

    path: Path
    rows: int
    labelled: int
    hidden: int
    needed: tuple[str, ...]


@dataclass(frozen=True)
class Returned:
    """What became of each row; `changed` are written over an earlier label, `kept` emptied ones whose label stands."""

    path: Path
    how: str
    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: int
    empty: int
    kept: tuple[str, ...]
    refused: tuple[LeftOut, ...]
    absent: int  # answers that she may open and that the file does not hold
    unit: str = "line"


def export_labels(
    items: Iterable[Item],
    store: LabelStore,
    annotator: str,
    path: Path,
    *,
    seed: int,
    groups: Groups,
    delimiter: str = ",",
) -> Exported:
    """Write the answers in their seeded order, with this person's labels; DataError where the file exists already.

    UTF-8 with a byte order mark, by which spreadsheets know it. What begins like a formula or looks like a number gets
    an apostrophe before it.
    """
    if path.suffix.lower() not in (".csv", ".tsv"):
        raise DataError(f"{path}: expected a name that ends in .csv")
    if path.exists():
        raise DataError(f"{path} exists and may hold labels: import it, remove it, or choose another name")
    ordered = in_order(items, seed)
    mine = _mine(ordered, store, annotator, groups)
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t" if path.suffix.lower() == ".tsv" else delimiter, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([escaped(cell) for cell in _cells(item, label)] for item, label in mine.values())
    write_text(path, "\ufeff" + file.getvalue())
    hidden = [need for item in ordered if item.question_id not in mine for need in missing(item, groups)]
    return Exported(
        path,
        len(mine),
        sum(label is not None for _, label in mine.values()),
        len(ordered) - len(mine),
        tuple(sorted({" / ".join(sorted(need)) for need in hidden})),
    )


def import_labels(
    path: Path,
    items: Iterable[Item],
    store: LabelStore,
    annotator: str,
    *,
    seed: int,
    groups: Groups,
    encoding: str | None = None,
) -> Returned:
    """Save the labels of a file that `export_labels` wrote and a person filled in (.csv, or saved as .xlsx).

    A changed label is one more line, an unchanged one none. DataError, and nothing saved, where the file cannot be read
    or lacks a column; every other fault refuses its row alone.
    """
    export = read_export(path, encoding)
    columns = _columns(path, export.columns)
    mine = _mine(in_order(items, seed), store, annotator, groups)
    times = Counter(_cell(row, columns["id"]) for row in export.rows)
    refused, fit = list(export.left_out), list[tuple[Label, Label | None]]()
    empty, kept, unchanged = 0, list[str](), 0
    for row in export.rows:
        try:
            item, before = _found(row, columns, mine, times, annotator)
            label = _label(row, columns, item, annotator, seed)
            if label.label is None:
                _check_nothing_lost(label, before)
                empty, kept = empty + 1, [*kept, item.question_id] if before else kept
            elif before and _choices(before) == _choices(label):
                unchanged += 1
            else:
                _check_not_newer(_cell(row, columns["saved_at"]), before)
                fit.append((label, before))
        except ValueError as fault:
            refused.append(LeftOut(row.line, f"{_cell(row, columns['id']) or 'no id'}: {fault}"))
    _save(store, [label for label, _ in fit])
    return Returned(
        path,
        export.how,
        tuple(label.question_id for label, before in fit if not before),
        tuple(label.question_id for label, before in fit if before),
        unchanged,
        empty,
        tuple(kept),
        tuple(sorted(refused, key=lambda left: left.line)),
        len(mine.keys() - times.keys()),
        export.unit,
    )


def _mine(items: Iterable[Item], store: LabelStore, annotator: str, groups: Groups) -> Mine:
    hers = [label for label in counting(store.read()) if label.annotator == annotator]
    saved = {(label.question_id, label.answer_sha, label.kind): label for label in hers}
    return {item.question_id: (item, saved.get(item.key)) for item in items if not missing(item, groups)}


def _cells(item: Item, label: Label | None) -> list[str]:
    cited = [p for p in item.passages if p.cited]
    passages = [
        f"[{p.number}] {' › '.join(dict.fromkeys((p.title or p.doc, *p.headings)))} {p.updated}\n{p.text}"
        for p in cited
    ]
    shown = [item.question, item.expected, item.doc_title or item.doc, item.answer, "\n\n".join(passages)]
    written = [label.label or "", label.cause, label.note, label.also, "yes" * label.stale] if label else [""] * 5
    return [item.question_id, *map(_fitting, shown), *written, item.answer_sha, label.saved_at if label else ""]


def _fitting(text: str) -> str:
    text = text.replace("\0", "\ufffd")
    return text if len(text) <= LONGEST_CELL else text[:LONGEST_CELL] + " … (cut; the form shows all)"


# -- the way back ------------------------------------------------------------------------------------------------------


def _columns(path: Path, names: Iterable[str]) -> dict[str, str]:
    """The file's name of each column; order, case and further columns do not matter."""
    names = list(names)
    found = {name: [c for c in names if folded_name(c.removesuffix(" (2)")) == folded_name(name)] for name in NEEDED}
    if lacking := [name for name, columns in found.items() if not columns]:
        raise DataError(
            f"{path}: no column {', '.join(lacking)}; the columns are {', '.join(names)}. Nothing was saved: put the "
            "column back as `rag-pilot labels export` wrote it"
        )
    if twice := [name for name, columns in found.items() if len(columns) > 1]:
        raise DataError(f"{path}: the column {', '.join(twice)} stands twice; keep one. Nothing was saved")
    return {name: columns[0] for name, columns in found.items()}


def _cell(row: Row, column: str) -> str:
    return unescaped(row.cells[column])


def _found(
    row: Row, columns: Mapping[str, str], mine: Mine, times: Mapping[str, int], annotator: str
) -> tuple[Item, Label | None]:
    """The answer that a row is about, and her label; ValueError where id, hash and question do not agree."""
    if unreadable := [f"{name} {row.unreadable[c]}" for name, c in columns.items() if c in row.unreadable]:
        raise ValueError(unreadable[0])
    id_, sha = _cell(row, columns["id"]), _cell(row, columns["answer_sha"])
    if id_ not in mine:
        raise ValueError(f"none of the answers that {annotator} reads and may open has this id")
    if times[id_] > 1:
        raise ValueError(f"this id stands in {times[id_]} rows; keep one of them")
    item, before = mine[id_]
    if sha != item.answer_sha:
        if other := [i for i, (known, _) in mine.items() if known.answer_sha == sha]:
            raise ValueError(f"answer_sha is that of {other[0]}: was a part of the table sorted? Export again")
        raise ValueError(
            f"answer_sha is {sha!r}, and that of the answer {item.answer_sha!r}: the answer has changed since the "
            "export, or the cell was edited; export again"
        )
    if _bones(_cell(row, columns["question"])) != _bones(_fitting(item.question)):
        raise ValueError("the question is another one: was a part of the table sorted? Export again")
    return item, before


def _bones(text: str) -> str:
    """What no spreadsheet's encoding can change."""
    return re.sub("[^a-z0-9]", "", text.casefold())


def _label(row: Row, columns: Mapping[str, str], item: Item, annotator: str, seed: int) -> Label:
    cell = {name: _cell(row, columns[name]) for name in WRITTEN}
    stale = {"": False, "no": False, "false": False, "yes": True, "true": True, "x": True}.get(fold(cell["stale"]))
    if stale is None:
        raise ValueError(f"stale is {cell['stale']!r}, expected yes or nothing")
    label = Label(
        item.question_id,
        item.answer_sha,
        annotator,
        fold(cell["label"]) or None,
        item.kind,
        item.run_id,
        cause=fold(cell["cause"]),
        note=cell["note"].strip(),
        also=cell["also"].strip(),
        stale=stale,
        position=item.position,
        seed=seed,
    )
    if fault := fault_of(label):
        raise ValueError(fault)
    if label.label == "correct" and label.cause not in ("", OF_REFERENCE):
        raise ValueError(f"cause is {label.cause!r}, though the label is correct; empty it, or change the label")
    return label


def _choices(label: Label) -> tuple[object, ...]:
    texts = [" ".join(text.split()) for text in (label.note, label.also)]
    return label.label, label.cause, *texts, label.stale


def _check_nothing_lost(label: Label, before: Label | None) -> None:
    """A row without a label may say nothing that is not saved already."""
    said = [name for name in WRITTEN[1:] if label[name] and not (before and label[name] == before[name])]
    if said:
        raise ValueError(f"{' and '.join(said)} without a label; give one of {', '.join(LABELS)}, or empty the row")


def _check_not_newer(saved_at: str, before: Label | None) -> None:
    """A label that the form saved, or took back, after the export is not overwritten by what the file held before."""
    if saved_at and not before:
        raise ValueError("its label was taken back after this file was exported; export again, or give it in the form")
    if before and before.shown_at and before.saved_at != saved_at:
        raise ValueError(
            f"the form saved {before.label!r} after this file was exported; export again, or change it in the form"
        )


def _save(store: LabelStore, labels: list[Label]) -> None:
    for number, label in enumerate(labels):
        try:
            store.add(label)
        except DataError as fault:
            told = f"{number} of {len(labels)} labels were saved before that; import the file again for the others"
            raise DataError(f"{fault}; {told}") from None
