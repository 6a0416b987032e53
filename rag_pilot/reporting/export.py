"""Notebooks -> a report that anybody can open: each run in a fresh kernel, made into a page, swapped in as a whole.

One error anywhere fails the export and leaves the earlier report as it was. How a notebook is run is known in
`executing`, what the pages say in `pages`.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import nbformat
from tqdm.auto import tqdm

from ..audit import audit_pages, texts_in
from ..corpus.layers import state_of
from ..errors import AccessError, DataError, PilotError, StaleError
from ..files import read_text, write_text
from ..identity import fingerprint
from ..ledger import Ledger
from ..lock import read_lock
from ..pilot import Pilot
from ..results import Result
from .executing import convert, execute, made_for
from .owners import owner_pages
from .pages import Page, Stamp, front_page, notebook_page, run_page, stamp
from .tasks import Task, owners_tasks, visible, write_tasks
from .withheld import withhold

WRITTEN = ("pilot.toml", "questions.jsonl", "labels.jsonl", "refused.jsonl", "glossary.toml")
BEFORE, FIRST, CHANGES = ("00", "01", "02", "03"), ("04", "05", "06"), ("07",)
"""Numbers of the notebooks that show no run, the first run, and what changes made of it; the others show the final."""


def export(pilot: Pilot, notebooks: Path, audience: Collection[str] = (), *, calls: bool = False) -> Path:
    """Run all notebooks of a folder in the order of their names and write the report for these readers.

    Returns results/<pilot>/report/index.html. The readers are those of pilot.toml where `audience` is empty; whoever
    they are, they have everyone's group too. Pages show what is stored, and what can be had without a model's address:
    where more is needed, the notebook that needs it is named, unless `calls` lets it be asked and paid for. All or
    nothing: on any PilotError the report stands as it was before.
    """
    paths = sorted(notebooks.glob("*.ipynb"))
    if not paths:
        raise DataError(f"{notebooks}: holds no notebook; expected 00_plan.ipynb and those after it")
    if pilot.settings.acceptance and read_lock(pilot.data / "acceptance.lock.json") is None:
        raise StaleError(
            "the acceptance criteria are not locked: agree on them in notebook 00 before anything is exported"
        )
    readers = _readers(pilot, audience)
    root, report = pilot.data.parent.parent, pilot.results / "report"
    fresh = pilot.results / ".report.new"
    _swap_back(report)
    shutil.rmtree(fresh, ignore_errors=True)
    fresh.mkdir(parents=True)
    try:
        with made_for(readers, calls):
            books, read = dict[Path, Any](), dict[Path, dict[str, str]]()
            for path in tqdm(paths, "notebooks", leave=False):
                read[path] = inputs_of(pilot.data)
                books[path] = execute(path, pilot.name, root, readers)
            tasks = _write(fresh, Pilot(pilot.data, pilot.results), books)
            _refuse_changed(read, inputs_of(pilot.data))
        _swap(fresh, report)
        write_tasks(pilot.results / "tasks.csv", tasks)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return report / "index.html"


def _write(folder: Path, pilot: Pilot, books: Mapping[Path, Any]) -> list[Task]:
    ledger = Ledger(pilot)
    result = ledger.result()
    language = pilot.settings.pilot.report_language
    pages = [convert(book, f"{path.stem}.html", language) for path, book in books.items()]
    tasks = owners_tasks(result)
    shown, _ = visible(tasks, result)
    stamps = {page.file: _stamp(page, ledger.result(()), result) for page in pages}
    if shown:
        write_tasks(folder / "tasks.csv", shown, marks=pilot.results / "tasks.csv")
    made = {folder / page.file: notebook_page(page, pages, stamps[page.file]) for page in pages}
    runs = {r.run.id: r for tried in ledger.attempt_all() for r in (tried.before, tried.after)} | {
        result.run.id: result
    }
    made |= {run.run.folder / "report.html": run_page(run) for run in runs.values() if run.run.folder}
    made |= {folder / name: page for name, page in owner_pages(result, stamp(result)).items()}
    made[folder / "index.html"] = front_page(ledger, result, len(shown), pages, stamp(result, language))
    made = {path: withhold(page, result.rights, pilot.readers) for path, page in made.items()}
    for path, book in books.items():
        for data in (
            o.data for cell in book.cells for o in cell.get("outputs", ()) if "text/html" in o.get("data", ())
        ):
            data["text/html"] = withhold(data["text/html"], result.rights, pilot.readers, told=False)
            data.pop("text/plain", None)  # the same once more, in which nothing can be told apart
        nbformat.write(book, folder / path.name)
    _refuse_leaks(folder, made, result)
    for path, page in made.items():
        write_text(path, page)
    return tasks


def _stamp(page: Page, first: Result, final: Result) -> Stamp:
    """The stamp of the run that a notebook shows, by the number before its name; the final run's, where it has none."""
    number = page.file[:2]
    if number in BEFORE:
        shows = "questions and documents as they stand, before any run; beside it the run of this report"
        return stamp(final, page.lang, shows)
    if number in FIRST:
        return stamp(first, page.lang, "the first run, before any change")
    return stamp(final, page.lang, f"the changes from run {first.run.id} on" if number in CHANGES else "")


def inputs_of(data: Path) -> dict[str, str]:
    """What people write of a pilot -> a fingerprint of it as it stands; the documents, by time and size, in one."""
    changes = sorted(path.name for path in (data / "changes").glob("*"))
    texts = {name: read_text(data / name) if (data / name).exists() else "" for name in WRITTEN}
    return {name: fingerprint(text) for name, text in texts.items()} | {"documents": state_of(data, changes)}


def _refuse_changed(before: Mapping[Path, Mapping[str, str]], now: Mapping[str, str]) -> None:
    """StaleError where something was written while the notebooks ran: earlier pages would contradict later ones."""
    old = {path.name: [name for name in now if was[name] != now[name]] for path, was in before.items()}
    if stale := {notebook: changed for notebook, changed in old.items() if changed}:
        named = "; ".join(f"{notebook} (before {', '.join(changed)})" for notebook, changed in stale.items())
        raise StaleError(
            f"changed while the notebooks ran, so that these are out of date: {named}. Nothing was exported: let "
            "nobody write for a while, and export again"
        )


def _refuse_leaks(folder: Path, made: Mapping[Path, str], result: Result) -> None:
    """AccessError where a page, or an executed notebook beside it, holds words that its readers may not read."""
    readers = result.pilot.readers
    pages = {path.name: page for path, page in made.items()}
    pages |= {p.name: "\n".join(texts_in(json.loads(read_text(p)))) for p in folder.glob("*.ipynb")}
    pages |= {p.name: read_text(p) for p in folder.glob("*.csv")}
    found = audit_pages(pages, readers, result.rights.words).passages
    if found:
        named = "; ".join(f"{name} (of {', '.join(ids[:5])})" for name, ids in sorted(found.items()))
        raise AccessError(
            f"{named}: words that readers of {', '.join(sorted(readers))} may not read; nothing was exported. Export "
            "for an --audience that may, or take the words out of the notebook, question or note that quotes them"
        )


def _readers(pilot: Pilot, audience: Collection[str]) -> frozenset[str]:
    """The groups of the readers; AccessError for one that neither a document nor an asker has."""
    if not audience:
        return pilot.readers | {pilot.everyone}
    known = {pilot.everyone}.union(*(d.groups for d in pilot.documents().documents))
    if unknown := sorted(set(audience) - known):
        raise AccessError(
            f"no document is open to {', '.join(map(repr, unknown))}; the groups are {', '.join(sorted(known))}"
        )
    return frozenset(audience) | {pilot.everyone}


def _swap(fresh: Path, report: Path) -> None:
    old = _old(report)
    try:
        shutil.rmtree(old, ignore_errors=True)
        if report.exists():
            report.rename(old)
        fresh.rename(report)
    except OSError as fault:  # Windows, while one of its pages is open
        _swap_back(report)
        raise PilotError(f"{report}: cannot be replaced ({fault}); close its pages and export again") from None
    shutil.rmtree(old, ignore_errors=True)


def _swap_back(report: Path) -> None:
    """Put the earlier report back where a swap was interrupted half-way."""
    if _old(report).exists() and not report.exists():
        _old(report).rename(report)


def _old(report: Path) -> Path:
    return report.with_name(".report.old")
