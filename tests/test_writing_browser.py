"""The writing form as an expert meets it: real JupyterLab, real chromium, real keys."""

import itertools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock

pytestmark = pytest.mark.browser

MODULE = """
import json
from pathlib import Path
from rag_pilot.corpus.question_file import QuestionFile
from rag_pilot.grading.desk import Desk
from rag_pilot.grading.form_parts import texts
from rag_pilot.grading.writing import WritingSession
from rag_pilot.grading.writing_form import WritingForm
from rag_pilot.records import Document

STAFF = frozenset({"all-staff"})
FILLER = "Rents are paid on the first working day of a month; costs of $5 and $10 are refunded. " * 60
DOCUMENTS = [Document(f"d{n}", f"Rules of office {n}", FILLER + f"Everybody gets 2{n} days of leave a year. " + FILLER,
                      STAFF | {f"group-{n}"}, updated="2026-01-01") for n in range(1, 10)]


def make(name):
    path = Path(name)
    if not path.exists():
        asked = {n: f"question {n} <b>" + " and more" * (40 if n == 3 else 0) for n in range(1, 4)}
        rows = [{"id": f"q{n}", "question": asked[n], "groups": [], "answerable": None, "lang": "en"} for n in asked]
        path.write_text("".join(json.dumps(row) + "\\n" for row in rows))
    desk = Desk(QuestionFile(path), lambda: DOCUMENTS, STAFF, "all-staff", texts("en"))
    return WritingForm(WritingSession(desk, "Maud"))
"""
counter = itertools.count(1)


@dataclass
class Form:
    page: Any
    lab: Any
    path: Path

    def after(self, act: Any) -> None:
        """Do something, and wait for the screen that it brings."""
        before = self.screen()
        act()
        self.page.wait_for_selector(f".rp-page:not([inert]):not([data-screen='{before}'])")

    def press(self, *keys: str) -> None:
        for key in keys:
            self.after(lambda key=key: self.page.keyboard.press(key))

    def click(self, *selectors: str) -> None:
        for selector in selectors:
            self.after(lambda selector=selector: self.page.click(selector))

    def screen(self) -> str:
        return self.page.locator(".rp-page").get_attribute("data-screen")

    def type(self, key: str, text: str) -> None:
        """Into the field that a key leads to, and out of it."""
        self.page.keyboard.press(key)
        self.page.keyboard.type(text)
        self.page.keyboard.press("Escape")

    def field(self, name: str) -> str:
        return self.page.locator(f"[name={name}]").input_value()

    def question(self) -> str:
        return self.page.locator(".rp-question").inner_text().split(" <")[0]

    def rows(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.path.read_text(encoding="utf-8").splitlines()]

    def cells(self) -> Any:
        return self.page.evaluate(
            """[...window.jupyterapp.shell.currentWidget.content.widgets]
                .map(cell => [cell.model.type, cell.model.sharedModel.source, cell.model.executionCount])"""
        )

    def run(self) -> None:
        self.lab.run_all(self.page)
        self.page.wait_for_selector(".rp-question")
        self.page.wait_for_selector(".rp-page:not([inert])")
        self.page.wait_for_function("document.activeElement?.classList.contains('rp-form')")


@pytest.fixture
def form(lab: Any, page: Any) -> Form:
    number = next(counter)
    (lab.root / "writing_items.py").write_text(MODULE, encoding="utf-8")
    call = f"from writing_items import make\nmake('questions-{number}.jsonl')"
    lab.open(page, f"writing-{number}.ipynb", ["# the cell before", call, "# the cell after"])
    made = Form(page, lab, lab.root / f"questions-{number}.jsonl")
    made.run()
    return made


def test_two_questions_by_keys_alone(form: Form) -> None:
    form.page.keyboard.press("f")
    form.page.keyboard.type("rules leave 23")
    form.press("Enter", "d", "y")
    form.type("e", "23 days.")
    form.type("q", "23 days of leave")
    form.type("c", "policy")
    form.press("m", "Enter")
    assert form.question() == "question 2"
    form.press("n")
    form.type("g", "group-1; group-2")
    form.press("Enter", "ArrowLeft")
    assert "a change is recorded" in form.page.locator(".rp-what").inner_text()
    form.type("w", "asked again")
    form.type("e", "Nothing says so.")
    form.press("Enter")
    first, second, third = form.rows()
    assert first == {
        **{"id": "q1", "question": first["question"], "groups": [], "answerable": True, "lang": "en"},
        **{"expected": "23 days.", "doc": "d3", "quote": "23 days of leave", "category": "policy"},
        "validated_by": "Maud",
    }
    assert (second["answerable"], second["groups"], second["expected"]) == (
        *(False, ["group-1", "group-2"]),
        "Nothing says so.",
    )
    assert [(a["field"], a["old"], a["why"]) for a in second["amendments"]] == [("expected", None, "asked again")]
    assert third["answerable"] is None
    times = [json.loads(line) for line in form.path.with_name("writing.jsonl").read_text().splitlines()]
    assert [t["question_id"] for t in times][-3:] == ["q1", "q2", "q2"]


def test_two_questions_by_mouse_but_for_the_words_themselves(form: Form) -> None:
    form.page.click("[name=search]")
    form.page.keyboard.type("leave year")
    form.click("[data-key=find]", "[data-key='4']", "[data-key=y]", "[data-key=d]", "[data-key='5']", "[data-key=a]")
    form.page.click("[name=expected]")
    form.page.keyboard.type("24 days")
    form.click("[data-key='open d4']")
    assert form.page.locator(".rp-document").evaluate("e => e.scrollTop") > 100  # at the first word searched
    form.page.dblclick(".rp-document mark >> nth=0")  # selects the word
    form.page.click("[data-key=q]")
    assert form.field("quote") == "leave"
    at = form.page.locator(".rp-document").evaluate("e => e.scrollTop -= 70")
    form.click("[data-key=m]", "[data-key='group group-2']")
    assert form.page.locator(".rp-document").evaluate("e => e.scrollTop") == at
    form.click("[data-key=Enter]")
    assert form.question() == "question 2"
    form.click("[data-key=n]", "[data-key=Enter]")
    first, second, _ = form.rows()
    assert (first["doc"], first["also"], first["quote"], first["expected"], first["groups"]) == (
        *("d4", ["d5"], "leave", "24 days"),
        ["group-2"],
    )
    assert (second["answerable"], second.get("doc")) == (False, None)


def test_what_is_typed_into_a_field_acts_on_nothing_and_no_chord_runs_the_cell(form: Form) -> None:
    cells, before = form.cells(), form.path.read_bytes()
    form.page.keyboard.press("e")
    form.page.keyboard.type("m x d d 1 0 0 y n s")
    form.page.keyboard.press("Enter")
    form.page.keyboard.press("Shift+M")
    form.page.keyboard.press("Control+s")
    form.page.wait_for_function("!window.jupyterapp.shell.currentWidget.model.dirty")
    form.press("Control+Enter")
    assert "NOT SAVED – Say first" in form.page.locator(".rp-status").inner_text()
    assert form.field("expected") == "m x d d 1 0 0 y n s\nM"
    for key in ("x", "d", "d", "0", "0", "r", "b", "Shift+L"):
        form.page.keyboard.press(key)
    form.press("Shift+Enter", "y", "Alt+Enter")
    assert "needs the document" in form.page.locator(".rp-status").inner_text()
    assert form.page.locator(".jp-Dialog").count() == 0
    assert (form.cells(), form.path.read_bytes(), form.question()) == (cells, before, "question 1")
    assert form.field("expected") == "m x d d 1 0 0 y n s\nM"


def test_a_held_file_gives_an_error_on_screen_and_no_move(form: Form) -> None:
    form.press("n")
    with FileLock(form.path.with_name(f".{form.path.name}.lock")):
        form.press("Enter")
        assert "another program holds the file" in form.page.locator("[role=alert].rp-status").inner_text()
        assert form.question() == "question 1"
    form.press("Enter")
    assert form.question() == "question 2"
    assert form.rows()[0]["answerable"] is False


def test_a_restarted_kernel_is_noticed_and_the_cell_run_again_resumes(form: Form) -> None:
    form.press("n", "Enter")
    form.page.evaluate("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()")
    form.page.wait_for_timeout(500)
    form.page.keyboard.press("n")
    form.page.wait_for_selector(".rp-notice:has-text('run this cell again')", timeout=3500)
    form.page.wait_for_function("window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'idle'")
    form.run()
    assert form.question() == "question 2"
    assert "1 of 3 written" in form.page.locator(".rp-head").inner_text()


def test_everything_is_on_one_screen_of_1280_by_800_and_the_clock_runs(form: Form) -> None:
    form.press("n", "Enter", "n", "Enter", "ArrowLeft", "ArrowRight")  # the question with a long text
    form.page.keyboard.press("f")
    form.page.keyboard.type("leave")
    form.press("Enter", "1", "a", "2", "d", "y")
    area = form.page.locator(".jp-WindowedPanel-outer").bounding_box()
    shown = ("expected", "quote", "groups", "category", "validated_by", "search")
    keys = ("y", "n", "d", "a", "q", "m", "Enter", "find", "ArrowLeft", "s", "ArrowRight", "1")
    for selector in (
        *(f"[name={name}]" for name in shown),
        *(f"[data-key='{key}']" for key in keys),
        *(".rp-question", ".rp-document", ".rp-chosen", ".rp-status"),
    ):
        box = form.page.locator(selector).first.bounding_box()
        assert box["y"] >= area["y"] and box["y"] + box["height"] <= area["y"] + area["height"] + 1, selector
        assert box["x"] >= area["x"] and box["x"] + box["width"] <= area["x"] + area["width"] + 1, selector
    assert form.page.locator(".rp-document").bounding_box()["height"] >= 100
    assert form.page.locator(".rp-column.rp-fields").evaluate("e => e.scrollHeight <= e.clientHeight + 1")
    seconds = int(form.page.locator("[data-seconds]").inner_text())
    form.page.wait_for_timeout(2300)
    assert int(form.page.locator("[data-seconds]").inner_text()) >= seconds + 1
