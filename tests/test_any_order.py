"""Each notebook, whatever is missing, done twice or changed meanwhile: it works, or one sentence says what to do."""

import ast
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from small import add_documents, add_questions, label_all, new_pilot

from rag_pilot.errors import PilotError
from rag_pilot.pilot import Pilot
from rag_pilot.reporting.export import execute

NOTEBOOKS = {p.name[:2]: p for p in sorted((Path(__file__).resolve().parents[1] / "notebooks").glob("*.ipynb"))}
READING = ("05", "06", "07", "08", "09")
"""They read the first run; 03 loads a model where there is something to search, so it has a test of its own."""
WITHOUT_03 = [n for n in NOTEBOOKS if n != "03"]


def outcome(number: str, pilot: Pilot, monkeypatch: pytest.MonkeyPatch) -> str:
    """Run all cells as a kernel does, each last value shown; the sentence of the PilotError that stopped it, or ''."""
    monkeypatch.setenv("RAG_PILOT", pilot.name)
    monkeypatch.chdir(pilot.data.parents[1])
    names: dict[str, object] = {}
    for cell in json.loads(NOTEBOOKS[number].read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        try:
            exec(compile(tree, cell["id"], "exec"), names)
            shown = eval(compile(ast.Expression(last.value), cell["id"], "eval"), names) if last else None
            if hasattr(shown, "_repr_html_"):
                assert "nan" not in re.findall(r"\w+", shown._repr_html_())
        except PilotError as fault:
            return str(fault)
    return ""


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Pilot:
    """A pilot on which 01, 02 and 04 were run and everything labelled."""
    pilot = new_pilot(tmp_path_factory.mktemp("once"))
    add_documents(pilot)
    add_questions(pilot)
    pilot.lock_acceptance()
    with pytest.MonkeyPatch.context() as patch:
        assert [outcome(n, pilot, patch) for n in ("01", "02", "04")] == ["", "", ""]
    label_all(pilot)
    return pilot


@pytest.fixture
def asked(once: Pilot, tmp_path: Path) -> Pilot:
    """A copy of it."""
    return Pilot.open(once.name, shutil.copytree(once.data.parents[1], tmp_path / "root"))


def stops(pilot: Pilot, monkeypatch: pytest.MonkeyPatch, numbers: list[str]) -> dict[str, str]:
    """Number -> sentence of those that stop, each on a copy of its own."""
    said = {}
    for number in numbers:
        root = pilot.data.parents[1].with_name(f"copy-{number}")
        shutil.copytree(pilot.data.parents[1], root)
        said[number] = outcome(number, Pilot.open(pilot.name, root), monkeypatch)
    for sentence in filter(None, said.values()):
        assert "\n" not in sentence and re.search(r"notebook|run 0\d_|put yours there", sentence), sentence
    return {number: sentence for number, sentence in said.items() if sentence}


def test_on_a_new_pilot_each_notebook_alone_works_or_says_what_to_do(tmp_path, monkeypatch):
    found = stops(new_pilot(tmp_path / "own"), monkeypatch, list(NOTEBOOKS))
    assert list(found) == ["02", "03", "04", *READING]
    assert "put yours there" in found["02"]
    assert "collect them in notebook 01" in found["03"]
    assert "notebook 00" in found["04"]
    assert all("run 04_first_run" in found[n] for n in READING)


def test_with_documents_only_the_criteria_are_asked_for_before_anything_is_run(tmp_path, monkeypatch):
    pilot = new_pilot(tmp_path / "own")
    add_documents(pilot)
    assert list(stops(pilot, monkeypatch, list(NOTEBOOKS))) == ["03", "04", *READING]


def test_with_the_criteria_locked_but_no_question_nothing_is_run(tmp_path, monkeypatch):
    pilot = new_pilot(tmp_path / "own")
    add_documents(pilot)
    pilot.lock_acceptance()
    assert "collect them in notebook 01" in stops(pilot, monkeypatch, ["04"])["04"]


def test_with_questions_and_no_lock_04_asks_for_it_and_no_other_notebook_runs_anything(tmp_path, monkeypatch):
    pilot = new_pilot(tmp_path / "own")
    add_documents(pilot)
    add_questions(pilot)
    assert list(stops(pilot, monkeypatch, WITHOUT_03)) == ["04", *READING]
    assert not list(tmp_path.rglob("run.json"))
    assert not list(tmp_path.rglob("acceptance.lock.json"))  # 00 waits for the three to agree


def test_05_to_09_before_04_ask_nothing(tmp_path, monkeypatch):
    pilot = new_pilot(tmp_path / "own")
    add_documents(pilot)
    add_questions(pilot)
    pilot.lock_acceptance()
    found = stops(pilot, monkeypatch, list(READING))
    assert all("nothing has been asked yet" in found[n] for n in READING)
    assert not list(tmp_path.rglob("answers.jsonl"))


def test_04_before_01_says_that_the_order_will_be_drawn(tmp_path, monkeypatch):
    from rag_pilot.reporting import tables

    pilot = new_pilot(tmp_path)
    add_documents(pilot)
    add_questions(pilot)
    pilot.lock_acceptance()
    assert "the run draws it, by the same seed, before any answer is seen" in tables.ready(pilot)
    assert outcome("04", pilot, monkeypatch) == ""
    assert "the run draws it" not in tables.ready(pilot)


@pytest.mark.slow
def test_everything_twice_in_a_row(asked, monkeypatch):
    assert [outcome(n, asked, monkeypatch) for n in NOTEBOOKS for _ in range(2)] == [""] * 20


def mend(pilot: Pilot, old: str, new: str) -> None:
    path = pilot.data / "pilot.toml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def change_document(pilot: Pilot) -> None:
    path = pilot.data / "documents" / "hire" / "deposits.md"
    path.write_text(path.read_text(encoding="utf-8").replace("100 euros", "120 euros"), encoding="utf-8")


def remove_document(pilot: Pilot) -> None:
    (pilot.data / "documents" / "hire" / "deposits.md").unlink()


def drop_question(pilot: Pilot) -> None:
    path = pilot.data / "questions.jsonl"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:-1]), encoding="utf-8")


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (change_document, "documents"),
        (remove_document, "documents"),
        (drop_question, "questions"),
        (lambda pilot: mend(pilot, "k = 5 ", "k = 3 "), "settings"),
        (lambda pilot: mend(pilot, "max_tokens = 254", "max_tokens = 120"), "settings"),
    ],
)
def test_after_a_change_who_reads_is_told_what_changed_and_where_to_go(
    asked: Pilot, monkeypatch: pytest.MonkeyPatch, change: Callable[[Pilot], None], what: str
) -> None:
    change(asked)
    for number in READING:
        sentence = outcome(number, asked, monkeypatch)
        assert re.search(
            rf"changed since the run of [\d-]+:.* ?{what}.*run 02_index_documents, and 04_first_run", sentence
        )
    assert re.search("notebook 02|order.jsonl", outcome("04", asked, monkeypatch))


def test_a_changed_document_goes_on_through_02_and_04(asked, monkeypatch):
    change_document(asked)
    assert [outcome(n, asked, monkeypatch) for n in ("02", "04", "05", "06", "07", "08", "09")] == [""] * 7


def test_a_changed_criterion_is_refused_wherever_a_run_is_read_and_other_work_goes_on(asked, monkeypatch):
    mend(asked, "at_most = 0.05", "at_most = 0.07")
    for number in ("00", "04", *READING):
        assert "restore them, or amend the lock with a reason" in outcome(number, asked, monkeypatch)
    assert outcome("01", asked, monkeypatch) == ""


def test_a_mistyped_setting_is_named_in_every_notebook(asked, monkeypatch):
    mend(asked, "k = 5 ", 'k = "five" ')
    for number in WITHOUT_03:
        assert "retrieval.k is 'five'" in outcome(number, asked, monkeypatch)


def test_09_tries_no_planned_change(asked, monkeypatch):
    path = asked.data / "pilot.toml"
    change = '\n[[change]]\nname = "three"\ncause = "not_retrieved"\nhypothesis = "x"\nmeasure = "hit5"\n'
    path.write_text(path.read_text(encoding="utf-8") + change + 'set = { "answer.sentences" = 3 }\n', encoding="utf-8")
    assert outcome("09", asked, monkeypatch) == ""
    assert len(list((asked.results / "runs").glob("*"))) == 1
    assert outcome("07", asked, monkeypatch) == ""
    assert len(list((asked.results / "runs").glob("*"))) == 2


@pytest.mark.slow
def test_a_kernel_shows_the_sentence_and_nothing_of_the_program(tmp_path):
    pilot = new_pilot(tmp_path)
    with pytest.raises(PilotError, match="05_expert_labels.ipynb, cell 2 of 7: StaleError: nothing has been asked"):
        execute(NOTEBOOKS["05"], pilot.name, tmp_path, ["all-staff"])
    cells = json.loads((pilot.results / "unfinished" / NOTEBOOKS["05"].name).read_text(encoding="utf-8"))["cells"]
    [shown] = [output for cell in cells for output in cell.get("outputs", [])]
    assert shown["traceback"] == [
        "nothing has been asked yet, so there is no answer to read: run 04_first_run, then this notebook again"
    ]
