import asyncio
import csv
import os
import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
import pytest
from bs4 import BeautifulSoup
from endpoint import kind_of
from test_key import helpful, pilot_with
from tiny import SECRET, notebook, run_and_label, tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.building import Variant
from rag_pilot.errors import AccessError, DataError, PilotError, StaleError
from rag_pilot.files import append_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reporting import tables
from rag_pilot.reporting.executing import convert, execute, made_for
from rag_pilot.reporting.export import export
from rag_pilot.reporting.pages import Page, front_page, stamp
from rag_pilot.reporting.tasks import owners_tasks, visible, write_tasks
from rag_pilot.results import Result

PLAN = "# 00 · Plan\n\n**Before day 1 · about 45 minutes**\n\nYou agree on a *success*.\n\n*Reads* nothing"
CELLS = (
    "from rag_pilot import Pilot\nprint(sorted(Pilot.open().readers))",
    "import ipywidgets\nipywidgets.ToggleButtons(options=['correct', 'wrong'])",
    'from IPython.display import HTML\nHTML(\'<img alt="far away" src="http://127.0.0.1:9/far.png">\')',
    "print('accuracy', 40 + 2)",
)
BAR = "from rag_pilot.progress import progress\nlist(progress(range(30), 'counting', 30))[-1]"
RESULT = "from rag_pilot import Ledger, failures, tables\ntables.failures(failures(Ledger(Pilot.open()).result()))"


def report_pages(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.html"))


def soup(path: Path) -> BeautifulSoup:
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Pilot:
    made = tiny_pilot(tmp_path_factory.mktemp("pilot"))
    run_and_label(made)
    return made


@pytest.fixture(scope="module")
def report(pilot: Pilot) -> Iterator[Path]:
    """The report of the tiny pilot for everyone, from a notebook that was saved with old outputs."""
    folder = pilot.data.parent.parent / "notebooks"
    first = notebook(folder / "00_plan.ipynb", PLAN, *CELLS)
    book = nbformat.read(first, 4)
    book.cells[4].outputs = [nbformat.v4.new_output("stream", name="stdout", text="accuracy 0.93 (old)")]
    book.cells[4].metadata["tags"] = ["skip-execution"]
    book.metadata["widgets"] = {"application/vnd.jupyter.widget-state+json": {"state": {}, "version_major": 2}}
    nbformat.write(book, first)
    notebook(folder / "06_week1.ipynb", "# 06 · Week 1\n\nYou get the score.", CELLS[0], RESULT, BAR)
    yield export(pilot, folder).parent


# -- the report --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_outputs_are_those_of_a_fresh_run_and_none_of_the_saved_ones(report: Path) -> None:
    page = (report / "00_plan.html").read_text(encoding="utf-8")
    assert "accuracy 42" in page
    assert all("(old)" not in path.read_text(encoding="utf-8") for path in report.iterdir())
    counts = [c.execution_count for c in nbformat.read(report / "00_plan.ipynb", 4).cells if c.cell_type == "code"]
    assert counts == [1, 2, 3, 4]


@pytest.mark.slow
def test_the_report_holds_a_page_and_a_notebook_each_and_nothing_is_left_beside_it(report: Path, pilot: Pilot) -> None:
    names = {"00_plan.html", "00_plan.ipynb", "06_week1.html", "06_week1.ipynb", "index.html", "tasks.csv"}
    names |= {"owners.html", "owner-head-of-travel.html"}
    assert {path.name for path in report.iterdir()} == names
    assert not [path.name for path in pilot.results.iterdir() if path.name.startswith(".")]


@pytest.mark.slow
def test_notebooks_run_for_the_readers_and_no_file_holds_what_they_may_not_see(report: Path) -> None:
    assert "['all-staff']" in soup(report / "00_plan.html").text
    for path in report.iterdir():
        text = path.read_text(encoding="utf-8")
        assert SECRET not in text and "band 9" not in text and "Band 7" not in text, path.name
    index = soup(report / "index.html").text
    assert "3 answers are known to be wrong; 6 of 6 have a label. 1 of them cannot be shown to these readers" in index
    assert "that needs hr." in index


@pytest.mark.slow
def test_the_first_page_says_what_a_sponsor_asks(report: Path) -> None:
    page = soup(report / "index.html")
    text = " ".join(page.get_text(" ").split())
    headings = [h.text.split("The decision ")[-1].strip() for h in page.find_all("h2")]
    assert headings == [
        "Stop.",
        "The score",
        "What was agreed",
        "Three pictures",
        "Wrong answers, word for word",
        "What document owners must mend",
        "Cost and speed",
        "What watches it after launch",
        "What these numbers cannot support",
        "The pages behind this one",
    ]
    assert "the largest cause of bad answers is should have declined (2 of 3)" in text
    assert "On questions like these 6 (33 % unanswerable, this mix)" in text
    assert "What is the hotel limit a night? Expected 120 euros a night Answered The hotel limit is 95 euros" in text
    assert "goes live before it has passed them, and an alert says when wrong rises above 5 % or" in text
    assert "00 · Plan You agree on a success ." in text
    assert page.find("a", href="06_week1.html") and page.find("a", href="tasks.csv")


@pytest.mark.slow
def test_every_page_is_stamped_with_run_date_and_data(report: Path, pilot: Pilot) -> None:
    info = Ledger(pilot).result().run.info
    for path in report_pages(report):
        header = soup(path).header.text
        assert info["fingerprint"] in header and info["date"] in header and "baseline" in header
        assert "What these numbers cannot support" in soup(path).text


KEPT = """
[[change]]
name = "shorter"
cause = "wrong_despite_passage"
hypothesis = "One sentence is enough."
measure = "hit5"
set = { "answer.sentences" = 1 }
"""


@pytest.mark.slow
def test_a_page_is_stamped_with_the_run_that_it_shows(tmp_path: Path) -> None:
    path = tiny_pilot(tmp_path).data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8") + KEPT, encoding="utf-8")
    pilot = Pilot.open("tiny", tmp_path)
    run_and_label(pilot)
    append_jsonl(pilot.results / "changes.jsonl", {"event": "verdict", "name": "shorter", "verdict": "kept"})
    ledger = Ledger(pilot)
    first, final = ledger.result(()).run.id, ledger.result().run.id
    assert first != final
    names = ("02_index", "04_first_run", "07_fix", "09_decision")
    for name in names:
        notebook(tmp_path / "books" / f"{name}.ipynb", "# A page")
    report = export(pilot, tmp_path / "books").parent
    header = {name: soup(report / f"{name}.html").header.text for name in names}
    assert first in header["04_first_run"] and final not in header["04_first_run"]
    assert final in header["09_decision"] and first not in header["09_decision"]
    assert "before any run" in header["02_index"] and f"the changes from run {first} on" in header["07_fix"]


@pytest.mark.slow
def test_every_page_has_title_language_landmarks_and_headings_in_order(report: Path) -> None:
    for path in report_pages(report):
        page = soup(path)
        assert page.html["lang"] == "en" and len(page.title.text) > 10
        assert len(page.find_all("main")) == len(page.find_all("h1")) == len(page.find_all("header")) == 1
        levels = [int(h.name[1]) for h in page.find_all(re.compile("^h[1-6]$"))]
        assert levels[0] == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:], strict=False)), path.name
        names = [n.get("aria-label") or n.get("aria-labelledby") for n in page.find_all("nav")]
        assert names and all(names) and len(set(names)) == len(names)
        assert path.name == "index.html" or page.nav.find("a", href="index.html")
        ids = [tag["id"] for tag in page.find_all(id=True)]
        assert len(set(ids)) == len(ids)
        assert all(tag["aria-labelledby"] in ids for tag in page.find_all(attrs={"aria-labelledby": True}))
        assert all(image["alt"].strip() for image in page.find_all("img"))
        assert not page.find_all("script")


@pytest.mark.slow
def test_what_people_wrote_is_text_and_never_markup(report: Path) -> None:
    page = (report / "index.html").read_text(encoding="utf-8")
    assert "Tiny &lt;pilot&gt;" in page and "&lt;b&gt;dogs&lt;/b&gt;" in page
    assert "<pilot>" not in page and "<b>dogs" not in page


@pytest.mark.slow
def test_a_form_leaves_a_note_and_neither_its_repr_nor_its_state(report: Path) -> None:
    page = (report / "00_plan.html").read_text(encoding="utf-8")
    assert "works in JupyterLab only" in page and "ToggleButtons" not in page
    assert "widgets" not in nbformat.read(report / "00_plan.ipynb", 4).metadata


@pytest.mark.slow
def test_a_progress_bar_leaves_nothing_on_a_page(report: Path) -> None:
    page = (report / "06_week1.html").read_text(encoding="utf-8")
    assert ">29<" in re.sub(r"\s", "", page) and "Here the notebook has a form" not in page and "counting" not in page


@pytest.mark.browser
def test_no_page_makes_a_request_in_a_browser(report: Path, page: Any) -> None:
    for path in report_pages(report):
        requests: list[Any] = []
        page.on("request", lambda request, seen=requests: seen.append(request))
        page.goto(path.as_uri())
        page.wait_for_load_state("networkidle")
        far = [request for request in requests if not request.url.startswith(("file:", "data:"))]
        assert path.as_uri() in [request.url for request in requests]
        if path.name == "00_plan.html":  # its far picture is stopped by the page's own policy, before the network
            assert [request.url for request in far] == ["http://127.0.0.1:9/far.png"]
            assert "csp" in far[0].failure.lower(), far[0].failure
        else:
            assert far == []
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"), path.name


# -- who reads ---------------------------------------------------------------------------------------------------------


def front(pilot: Pilot) -> str:
    ledger = Ledger(pilot)
    result = ledger.result()
    shown, _ = visible(owners_tasks(result), result)
    return front_page(ledger, result, len(shown), [Page("a.html", "A", "", "")], stamp(result))


def test_readers_in_the_group_see_what_others_do_not(pilot: Pilot, monkeypatch: pytest.MonkeyPatch) -> None:
    assert SECRET not in front(pilot) and "Question q5" not in front(pilot)
    monkeypatch.setenv("RAG_PILOT_AUDIENCE", "hr;all-staff")
    seen = front(pilot)
    assert SECRET in seen and "Question q5" in seen and "cannot be shown" not in seen


def test_an_unknown_audience_is_refused_before_anything_runs(pilot: Pilot, tmp_path: Path) -> None:
    notebook(tmp_path / "00.ipynb", "# A")
    with pytest.raises(AccessError, match="no document is open to 'hrr'; the groups are all-staff, hr"):
        export(pilot, tmp_path, ["hrr"])


# -- one notebook ------------------------------------------------------------------------------------------------------

SHOWN = "try:\n    1 / 0\nexcept ZeroDivisionError:\n    get_ipython().showtraceback()"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        (SHOWN, "ZeroDivisionError: division by zero"),
        ("input('name')", "StdinNotImplementedError"),
        ("import os\nos._exit(1)", "its kernel died"),
        ("import time\ntime.sleep(60)", "took longer than 2 seconds"),
    ],
    ids=["raises", "shows an error", "asks", "dies", "takes too long"],
)
def test_a_cell_that_fails_is_named_and_nothing_after_it_runs(tmp_path: Path, cell: str, words: str) -> None:
    path = notebook(tmp_path / "03_fails.ipynb", "# A", "print('before')", cell, "print('after')")
    with pytest.raises(PilotError, match=f"03_fails.ipynb, cell 3 of 4: {words}") as raised:
        execute(path, "tiny", tmp_path, ["all-staff"], cell_seconds=2)
    kept = tmp_path / "results" / "tiny" / "unfinished" / "03_fails.ipynb"
    assert str(kept) in str(raised.value)
    outputs = [c.outputs for c in nbformat.read(kept, 4).cells if c.cell_type == "code"]
    assert outputs[0][0].text == "before\n" and outputs[2] == []


@pytest.mark.slow
def test_a_notebook_can_be_run_where_a_loop_runs_already_and_cells_may_await(tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb", "# A", "import asyncio\nawait asyncio.sleep(0)\nprint('awaited')")

    async def within() -> Any:
        return execute(path, "tiny", tmp_path, [])

    with ThreadPoolExecutor(1) as thread:  # the browser's own loop may be running in this one
        done = thread.submit(lambda: asyncio.run(within())).result()
    assert done.cells[1].outputs[0].text == "awaited\n"


@pytest.mark.slow
def test_a_run_that_asks_a_model_in_threads_works_in_a_cell_where_a_loop_runs(tmp_path: Path, endpoint: Any) -> None:
    endpoint.decide, endpoint.wait = helpful, 0.2
    pilot = pilot_with(endpoint, tmp_path, concurrency=3)
    count = "ran = Ledger(Pilot.open()).result().run\nprint(len(ran.answers), {a.status for a in ran.answers.values()})"
    book = notebook(
        tmp_path / "a.ipynb",
        "# A",
        "import asyncio, sys\nprint(asyncio.get_running_loop().is_running())",
        f"from rag_pilot import Ledger, Pilot\n{count}",
        "await asyncio.sleep(0)\nprint('nest_asyncio' in sys.modules)",
    )
    with made_for(pilot.readers, calls=True):
        done = execute(book, pilot.name, tmp_path, ["all-staff"])
    said = ["".join(o.text for o in cell.outputs if o.get("name") == "stdout") for cell in done.cells[1:]]
    assert said == ["True\n", "6 {'answered'}\n", "False\n"]
    asked = sorted(call["at"] for call in endpoint.calls if kind_of(call) == "answer")
    assert len(asked) == 6 and asked[1] - asked[0] < endpoint.wait  # at once: the second did not wait for the first


@pytest.mark.slow
def test_the_command_ends_with_2_and_names_the_cell_where_a_kernel_dies(
    pilot: Pilot, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    root = shutil.copytree(pilot.data.parents[1], tmp_path / "root")
    shutil.rmtree(root / "results" / "tiny" / "report", ignore_errors=True)  # of the tests before
    notebook(root / "notebooks" / "00_dies.ipynb", "# A", "print('before')", "import os\nos._exit(1)")
    monkeypatch.chdir(root)
    assert main(["export", "tiny"]) == 2
    said = capsys.readouterr().err
    assert "00_dies.ipynb, cell 3 of 3: its kernel died" in said and "Traceback" not in said
    assert not (root / "results" / "tiny" / "report").exists()
    assert "before" in (root / "results" / "tiny" / "unfinished" / "00_dies.ipynb").read_text(encoding="utf-8")


def test_the_readme_says_that_live_widgets_are_not_in_the_export() -> None:
    readme = Path(__file__).resolve().parents[1] / "README.md"
    assert "Live widgets are not in the export." in " ".join(readme.read_text(encoding="utf-8").split())


def test_a_cell_that_is_allowed_to_fail_is_refused(tmp_path: Path) -> None:
    path = notebook(tmp_path / "a.ipynb", "# A", "1 / 0")
    book = nbformat.read(path, 4)
    book.cells[1].metadata["tags"] = ["raises-exception"]
    nbformat.write(book, path)
    with pytest.raises(DataError, match="a.ipynb, cell 2: is tagged raises-exception"):
        execute(path, "tiny", tmp_path, [])


def test_a_file_that_is_no_notebook_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "a.ipynb").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match="a.ipynb: is no notebook"):
        execute(tmp_path / "a.ipynb", "tiny", tmp_path, [])


def test_the_error_stream_stays_out_of_the_page() -> None:
    outputs = [nbformat.v4.new_output("stream", name=name, text=f"from {name}") for name in ("stdout", "stderr")]
    page = convert(nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("x", outputs=outputs)]), "a.html")
    assert "from stdout" in page.body and "from stderr" not in page.body


# -- all or nothing ----------------------------------------------------------------------------------------------------


def earlier_report(pilot: Pilot, name: str) -> Path:
    folder = pilot.results / name
    folder.mkdir(parents=True)
    (folder / "index.html").write_text("earlier", encoding="utf-8")
    return folder


@pytest.mark.slow
def test_a_failing_notebook_leaves_the_earlier_report_as_it_was(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    pilot.lock_acceptance()
    report = earlier_report(pilot, "report")
    notebook(tmp_path / "notebooks" / "00_good.ipynb", "# Good")
    notebook(tmp_path / "notebooks" / "01_bad.ipynb", "# Bad", "1 / 0")
    with pytest.raises(PilotError, match="01_bad.ipynb, cell 2"):
        export(pilot, tmp_path / "notebooks")
    assert [(p.name, p.read_text(encoding="utf-8")) for p in report.iterdir()] == [("index.html", "earlier")]
    assert sorted(path.name for path in pilot.results.iterdir()) == ["report", "unfinished"]


def test_a_swap_that_was_interrupted_is_put_right(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    pilot.lock_acceptance()
    earlier_report(pilot, ".report.old")
    (tmp_path / "a.ipynb").write_text("{", encoding="utf-8")
    with pytest.raises(DataError):
        export(pilot, tmp_path)
    assert (pilot.results / "report" / "index.html").read_text(encoding="utf-8") == "earlier"


def test_a_folder_without_notebooks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds no notebook"):
        export(tiny_pilot(tmp_path), tmp_path)


WRITES = (
    "from rag_pilot import Pilot\nfrom pathlib import Path\npath = Pilot.open().data / {name!r}\n"
    "path.write_text(path.read_text(encoding='utf-8') + '\\n', encoding='utf-8')"
)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["labels.jsonl", "questions.jsonl", "documents/leave.md"])
def test_what_is_written_between_two_notebooks_makes_the_earlier_page_stale_by_name(tmp_path: Path, name: str) -> None:
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    notebook(tmp_path / "books" / "06_week1.ipynb", "# Week 1", CELLS[0])
    notebook(tmp_path / "books" / "09_decision.ipynb", "# Decision", WRITES.format(name=name))
    what = name.partition("/")[0]
    with pytest.raises(StaleError, match=rf"06_week1.ipynb \(before {what}\).*Nothing was exported"):
        export(pilot, tmp_path / "books")
    assert not (pilot.results / "report").exists()


# -- tasks -------------------------------------------------------------------------------------------------------------


def test_tasks_name_document_owner_questions_and_keep_what_is_marked_done(pilot: Pilot, tmp_path: Path) -> None:
    tasks = owners_tasks(Ledger(pilot).result())
    path = tmp_path / "tasks.csv"
    write_tasks(path, tasks)
    text = path.read_text(encoding="utf-8")
    with path.open(encoding="utf-8", newline="") as file:
        (row,) = csv.DictReader(file)
    assert row == {
        "document": "travel",
        "owner": "Head of travel",
        "questions": "q6: What is the hotel limit a night?",
        "what is missing": "does not hold the expected numbers: travel",
        "done": "",
    }
    path.write_text(text.replace("travel,\n", "travel,2026-02-01\n"), encoding="utf-8")
    write_tasks(path, tasks)
    assert path.read_text(encoding="utf-8").endswith(",2026-02-01\n")


def test_a_document_mended_for_a_run_only_is_a_task_until_its_new_version_stands_in_place(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    overlay = pilot.data / "changes" / "mended" / "documents"
    overlay.mkdir(parents=True)
    for name in ("travel", "salaries"):
        text = (pilot.data / "documents" / f"{name}.md").read_text(encoding="utf-8")
        (overlay / f"{name}.md").write_text(text.replace("euros", "EUR"), encoding="utf-8")
    pilot.lock_acceptance()
    variant = Variant(pilot.settings, ("mended",))
    result = Result(pilot, pilot.run("mended", variant), pilot.build(variant))
    mended = {t.document: t for t in owners_tasks(result) if "changes/mended" in t.missing}
    assert set(mended) == {"travel", "salaries"} and mended["travel"].owner == "Head of travel"
    shown, left_out = visible(list(mended.values()), result)
    assert [t.document for t in shown] == ["travel"] and left_out == 1  # hr alone may know of the other
    assert ">salaries<" not in tables.tasks(result)
    for name in ("travel", "salaries"):
        (pilot.data / "documents" / f"{name}.md").write_bytes((overlay / f"{name}.md").read_bytes())
    opened = Pilot.open("tiny", tmp_path)
    result = Result(opened, opened.run("mended", variant), opened.build(variant))
    assert not [t for t in owners_tasks(result) if "changes/mended" in t.missing]


def test_the_environment_is_as_it_was_after_an_export(report: Path) -> None:
    assert "RAG_PILOT_AUDIENCE" not in os.environ


@pytest.mark.slow
def test_every_run_has_its_dated_page_with_what_was_expected_and_what_came_out(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    export(pilot, notebook(tmp_path / "books" / "00_a.ipynb", "# A").parent)
    (page,) = pilot.results.glob("runs/*/report.html")
    text = page.read_text(encoding="utf-8")
    assert page.parent.name in text
    assert "120 euros a night" in text
    assert "The hotel limit is 95 euros a night." in text
    assert SECRET not in text


def test_nothing_is_exported_before_the_criteria_are_agreed(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    with pytest.raises(PilotError, match="notebook 00"):
        export(pilot, notebook(tmp_path / "books" / "00_a.ipynb", "# A").parent)
    assert not (pilot.data / "acceptance.lock.json").exists()
