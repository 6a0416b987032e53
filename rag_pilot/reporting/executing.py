"""One notebook, run in a fresh kernel for its readers, and made into the body of a page.

Nothing that the notebook held before survives: outputs are cleared, and every cell is run in order. An error anywhere
is named with its cell. Which notebooks make a report, and what stands around their pages, is not known here.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator
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

from ..answering.calls import STORED
from ..errors import DataError, PilotError
from ..files import write_text
from .pages import Page
from .prose import put_into

CELL_SECONDS = 3600
AUDIENCE = "RAG_PILOT_AUDIENCE"
WIDGET = "application/vnd.jupyter.widget-view+json"
INTERACTIVE = '<p class="interactive">Here the notebook has a form, which works in JupyterLab only.</p>'


@contextmanager
def made_for(readers: Collection[str], calls: bool) -> Iterator[None]:
    """For a while pages are made for those readers; unless `calls`, no model's address is called for them.

    Both stand in the environment, from which this process and the kernels that it starts read them.
    """
    names = {AUDIENCE: ";".join(sorted(readers)), STORED: "" if calls else "1"}
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(names)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name)
            if value is not None:
                os.environ[name] = value


class _ThisPython(AsyncKernelManager):
    """A kernel of the interpreter that exports, whatever kernels are installed under the name python3."""

    @property
    def kernel_spec(self) -> Any:
        return KernelSpec(**get_kernel_dict())


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
        AUDIENCE: ";".join(sorted(audience)),
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


def convert(book: Any, file: str, language: str = "en") -> Page:
    """An executed notebook as a page: markdown and results, no code, no prompts, no widget, nothing to be loaded.

    What a library wrote to the error stream stays in the executed notebook only. `language` is that of the pages which
    have words in it (see `prose`).
    """
    shown = nbformat.from_dict(book)
    for cell in shown.cells:
        if cell.cell_type == "code":
            cell.outputs = [_without_widget(o) for o in cell.outputs if o.get("name") != "stderr"]
    spoken = put_into(language, shown, Path(file).stem)
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
    goal = _goal(text[heading.end() :] if heading else text)
    return Page(file, title, goal, exporter.from_notebook_node(shown)[0], spoken)


def _without_widget(output: Any) -> Any:
    if WIDGET not in output.get("data", {}):
        return output
    return nbformat.v4.new_output("display_data", {"text/html": output.data.get("text/html", INTERACTIVE)})


def _goal(text: str) -> str:
    """The first paragraph that is plain text: who drives and what is read stand in bold and italics."""
    return next((_plain(p) for p in text.split("\n\n") if re.match(r"\s*\w", p)), "")


def _plain(markdown: str) -> str:
    return " ".join(re.sub(r"[*_`#|]+", " ", markdown).split())
