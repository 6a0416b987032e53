"""Notebooks -> a report that anybody can open: each run in a fresh kernel, made into a page, swapped in as a whole.

Nothing that a notebook held before survives: outputs are cleared, every cell is run in order, and one error anywhere
fails the export and leaves the earlier report as it was. What the pages say is known in `pages`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import nbformat
from ipykernel.kernelspec import get_kernel_dict
from jupyter_client.kernelspec import KernelSpec
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError
from nbconvert import HTMLExporter
from tqdm.auto import tqdm

from ..audit import audit_pages, texts_in
from ..errors import AccessError, DataError, PilotError, StaleError
from ..files import read_text, write_text
from ..ledger import Ledger
from ..lock import read_lock
from ..pilot import Pilot
from ..results import Result
from .owners import owner_pages
from .pages import Page, front_page, notebook_page, run_page, stamp
from .tasks import Task, owners_tasks, visible, write_tasks

CELL_SECONDS = 3600
WIDGET = "application/vnd.jupyter.widget-view+json"
INTERACTIVE = '<p class="interactive">Here the notebook has a form, which works in JupyterLab only.</p>'


class _ThisPython(AsyncKernelManager):
    """A kernel of the interpreter that exports, whatever kernels are installed under the name python3."""

    @property
    def kernel_spec(self) -> Any:
        return KernelSpec(**get_kernel_dict())


# -- one notebook ------------------------------------------------------------------------------------------------------


def execute(notebook: Path, pilot: str, root: Path, audience: Collection[str], cell_seconds: int = CELL_SECONDS) -> Any:
    """Run a notebook for that pilot and those readers in a fresh kernel, from the folder `root`; returns it executed.

    A cell that fails, dies, waits for input or takes longer than `cell_seconds` is a PilotError that names it; the
    notebook as far as it ran is then kept in results/<pilot>/unfinished/. No cell may be tagged as allowed to fail.
    """
    book = _cleared(notebook)
    client = NotebookClient(
        book,
        kernel_manager_class=_ThisPython,
        kernel_name="python3",
        extra_arguments=["--log-level=CRITICAL"],
        shutdown_kernel="immediate",  # all that counts is on disk
        timeout=cell_seconds,
        startup_timeout=120,
        iopub_timeout=60,
        raise_on_iopub_timeout=True,
        force_raise_errors=True,
        skip_cells_with_tag="",  # every cell is run
        resources={"metadata": {"path": str(root)}},
    )
    environment = os.environ | {
        "RAG_PILOT": pilot,
        "RAG_PILOT_AUDIENCE": ";".join(sorted(audience)),
        "TQDM_DISABLE": "1",
        "PYDEVD_DISABLE_FILE_VALIDATION": "1",
    }
    kept = root / "results" / pilot / "unfinished" / notebook.name
    number = 0
    try:
        with client.setup_kernel(env=environment):
            for number, cell in enumerate(book.cells, start=1):
                client.execute_cell(cell, number - 1)
                _refuse_errors(cell)
    except (CellExecutionError, CellTimeoutError, RuntimeError) as fault:
        write_text(kept, nbformat.writes(book) + "\n")
        where = f"{notebook.name}, cell {number} of {len(book.cells)}"
        raise PilotError(
            f"{where}: {_cause(fault, number, cell_seconds)}; no page was written, what ran is in {kept}"
        ) from None
    kept.unlink(missing_ok=True)
    return book


def _cleared(notebook: Path) -> Any:
    """The notebook without any output; DataError for one that is none, or that allows a cell to fail."""
    try:
        book = nbformat.read(notebook, as_version=4)
    except (nbformat.reader.NotJSONError, nbformat.ValidationError, AttributeError, KeyError) as fault:
        raise DataError(f"{notebook}: is no notebook ({type(fault).__name__}); restore the file") from None
    book.metadata.pop("widgets", None)
    for number, cell in enumerate(book.cells, start=1):
        if "raises-exception" in cell.metadata.get("tags", []):
            raise DataError(
                f"{notebook.name}, cell {number}: is tagged raises-exception, so that what follows would stand on a "
                "failed cell; remove the tag"
            )
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return book


def _refuse_errors(cell: Any) -> None:
    for output in cell.get("outputs", []):
        if output.output_type == "error":
            raise CellExecutionError("", output.ename, output.evalue)


def _cause(fault: Exception, number: int, cell_seconds: int) -> str:
    if isinstance(fault, CellExecutionError):
        return f"{fault.ename}: {' '.join(str(fault.evalue).split())}"
    if isinstance(fault, CellTimeoutError):
        return f"took longer than {cell_seconds} seconds; `rag-pilot run` does the long work first, without a limit"
    if isinstance(fault, DeadKernelError) and number:
        return "its kernel died, most often for lack of memory"
    return f"the kernel did not start ({fault})"


# -- pages -------------------------------------------------------------------------------------------------------------


def convert(book: Any, file: str) -> Page:
    """An executed notebook as a page: markdown and results, no code, no prompts, no widget, nothing to be loaded.

    What a library wrote to the error stream stays in the executed notebook only.
    """
    shown = nbformat.from_dict(book)
    for cell in shown.cells:
        if cell.cell_type == "code":
            cell.outputs = [_without_widget(o) for o in cell.outputs if o.get("name") != "stderr"]
    exporter = HTMLExporter(
        template_name="lab",
        template_file="base.html.j2",  # the body alone: the head of `lab` loads scripts
        exclude_input=True,
        exclude_input_prompt=True,
        exclude_output_prompt=True,
        exclude_anchor_links=True,
    )
    text = "\n\n".join(cell.source for cell in shown.cells if cell.cell_type == "markdown")
    heading = re.search(r"^# +(.+)$", text, re.M)
    title = _plain(heading[1]) if heading else Path(file).stem
    return Page(file, title, _goal(text[heading.end() :] if heading else text), exporter.from_notebook_node(shown)[0])


def _without_widget(output: Any) -> Any:
    if WIDGET not in output.get("data", {}):
        return output
    return nbformat.v4.new_output("display_data", {"text/html": output.data.get("text/html", INTERACTIVE)})


def _goal(text: str) -> str:
    """The first paragraph that is plain text: who drives and what is read stand in bold and italics."""
    return next((_plain(p) for p in text.split("\n\n") if re.match(r"\s*\w", p)), "")


def _plain(markdown: str) -> str:
    return " ".join(re.sub(r"[*_`#|]+", " ", markdown).split())


# -- the report --------------------------------------------------------------------------------------------------------


def export(pilot: Pilot, notebooks: Path, audience: Collection[str] = ()) -> Path:
    """Run all notebooks of a folder in the order of their names and write the report for these readers.

    Returns results/<pilot>/report/index.html. The readers are those of pilot.toml where `audience` is empty; whoever
    they are, they have everyone's group too. All or nothing: on any PilotError the report stands as it was before.
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
        pages = []
        for path in tqdm(paths, "notebooks", leave=False):
            book = execute(path, pilot.name, root, readers)
            nbformat.write(book, fresh / path.name)
            pages.append(convert(book, f"{path.stem}.html"))
        with _read_by(readers):
            tasks = _write(fresh, Pilot(pilot.data, pilot.results), pages)
        _swap(fresh, report)
        write_tasks(pilot.results / "tasks.csv", tasks)
    finally:
        shutil.rmtree(fresh, ignore_errors=True)
    return report / "index.html"


def _write(folder: Path, pilot: Pilot, pages: list[Page]) -> list[Task]:
    ledger = Ledger(pilot)
    result = ledger.result()
    tasks = owners_tasks(result)
    shown, _ = visible(tasks, result)
    stamped = stamp(result)
    if shown:
        write_tasks(folder / "tasks.csv", shown, marks=pilot.results / "tasks.csv")
    made = {folder / page.file: notebook_page(page, pages, stamped) for page in pages}
    runs = {r.run.id: r for tried in ledger.attempt_all() for r in (tried.before, tried.after)} | {
        result.run.id: result
    }
    made |= {run.run.folder / "report.html": run_page(run) for run in runs.values() if run.run.folder}
    made |= {folder / name: page for name, page in owner_pages(result, stamped).items()}
    made[folder / "index.html"] = front_page(ledger, result, len(shown), pages, stamped)
    _refuse_leaks(folder, made, result)
    for path, page in made.items():
        write_text(path, page)
    return tasks


def _refuse_leaks(folder: Path, made: Mapping[Path, str], result: Result) -> None:
    """AccessError where a page, or an executed notebook beside it, holds words that its readers may not read."""
    readers = result.pilot.readers
    pages = {path.name: page for path, page in made.items()}
    pages |= {p.name: "\n".join(texts_in(json.loads(read_text(p)))) for p in folder.glob("*.ipynb")}
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


@contextmanager
def _read_by(readers: Collection[str]) -> Iterator[None]:
    """RAG_PILOT_AUDIENCE, by which a Pilot knows its readers, for a while."""
    name = "RAG_PILOT_AUDIENCE"
    before = os.environ.get(name)
    os.environ[name] = ";".join(sorted(readers))
    try:
        yield
    finally:
        os.environ.pop(name)
        if before is not None:
            os.environ[name] = before


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
