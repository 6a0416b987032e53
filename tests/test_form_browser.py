"""The labelling form as an expert meets it: real JupyterLab, real chromium, real keys."""

import itertools
import os
import signal
from dataclasses import dataclass
from typing import Any

import pytest
from filelock import FileLock

from rag_pilot.grading.form_parts import texts
from rag_pilot.grading.labels import LabelStore
from rag_pilot.records import LABELS

pytestmark = pytest.mark.browser

MODULE = """
import os
from pathlib import Path
from rag_pilot.grading.form import label_form
from rag_pilot.grading.items import Item, ShownPassage
from rag_pilot.grading.labels import LabelStore
from rag_pilot.records import Document

STAFF = frozenset({"all-staff"})
LONG = "Rents are paid on the first working day of a month; costs of $5 and $10 are refunded. " * 12
EVIL = "<img src=x onerror='window.hacked=1'> <script>window.hacked=1</script> costs $x^2$ and $y$"


def item(n, long=False):
    passages = tuple(
        ShownPassage(i, LONG if long else f"Passage {i} says {n}.", STAFF, f"doc-{i}", f"Title {i}", ("A", "B"),
            "https://intranet.example/d", "2026-01-01", cited=i < 3) for i in range(1, 5))
    return Item(f"q{n}", "run", f"sha{n}", f"question {n} " + EVIL, (LONG if long else "answer") + " [1] [2]", passages,
        (LONG if long else "expected"), "doc-1", "Title 1", "https://intranet.example/d", "2026-01-01", STAFF, n)


def make(name, count=5, language="en", repeats=5, **more):
    Path(name + ".pid").write_text(str(os.getpid()))
    items = [item(n, **more) for n in range(1, count + 1)]
    documents = [Document("doc-9", "Rents & <costs>", "", STAFF), Document("pay", "Pay", "", frozenset({"hr"}))]
    store = LabelStore(Path(name))
    return label_form(
        items, store, "Maud", seed=1, groups=STAFF, language=language, documents=documents, repeats=repeats
    )
"""
SESSION = "window.jupyterapp.shell.currentWidget.sessionContext.session"
counter = itertools.count(1)


@dataclass
class Form:
    page: Any
    lab: Any
    store: LabelStore

    def press(self, *keys: str) -> None:
        """Press keys as a person does: each after the screen that the one before it brought."""
        for key in keys:
            self.page.wait_for_timeout(300)
            self.press_at_once(key)

    def press_at_once(self, key: str) -> None:
        before = self.screen()
        self.page.keyboard.press(key)
        self.page.wait_for_selector(f".rp-page:not([inert]):not([data-screen='{before}'])")

    def hurry(self, n: int, key: str) -> None:
        """Label item `n` with no pause: the key again until the form takes it (it refuses one that nobody can mean)."""
        assert self.question() == f"question {n}"
        self.press_at_once(key)
        while "before the answer could be read" in self.page.inner_text(".rp-status"):
            self.press_at_once(key)
        if key != "1":  # the others wait for the why
            self.press_at_once("ArrowRight")

    def pid(self) -> int:
        """Of the kernel."""
        return int(self.store.path.with_suffix(".jsonl.pid").read_text())

    def screen(self) -> str:
        return self.page.locator(".rp-page").get_attribute("data-screen")

    def question(self) -> str:
        return self.page.locator(".rp-question").inner_text().split(" <")[0]

    def labels(self) -> list[tuple[str, str | None]]:
        return [(line.question_id, line.label) for line in self.store.read()]

    def cells(self) -> Any:
        return self.page.evaluate(
            """[...window.jupyterapp.shell.currentWidget.content.widgets]
                .map(cell => [cell.model.type, cell.model.sharedModel.source])"""
        )

    def run(self) -> None:
        self.page.evaluate("document.querySelector('.rp-form')?.classList.add('before')")
        self.lab.run_all(self.page)
        self.page.wait_for_selector(".rp-form:not(.before) .rp-page:not([inert]) .rp-question")
        self.page.wait_for_function("document.activeElement?.classList.contains('rp-form')")

    def kernel(self, call: str) -> None:
        self.page.evaluate(f"{SESSION}.kernel.{call}")


@pytest.fixture
def form(lab: Any, page: Any, request: pytest.FixtureRequest) -> Form:
    number = next(counter)
    (lab.root / "form_items.py").write_text(MODULE, encoding="utf-8")
    arguments = getattr(request, "param", "")
    call = f"from form_items import make\nmake('labels-{number}.jsonl'{arguments})"
    lab.open(page, f"form-{number}.ipynb", ["# the cell before", call, "# the cell after"])
    made = Form(page, lab, LabelStore(lab.root / f"labels-{number}.jsonl"))
    made.run()
    return made


def test_three_items_by_keys_give_three_lines_in_order(form: Form) -> None:
    form.press("1", "2", "ArrowRight", "3")
    assert form.labels() == [("q1", "correct"), ("q2", "partly"), ("q3", "wrong")]


def test_digits_of_a_keyboard_that_needs_shift_for_them_label_too(form: Form) -> None:
    form.page.wait_for_timeout(300)
    form.page.locator(".rp-form").dispatch_event("keydown", {"key": '"', "code": "Digit3", "bubbles": True})
    form.page.wait_for_selector(".rp-prompt")
    assert form.labels() == [("q1", "wrong")]


def test_keys_typed_into_the_note_label_nothing_and_leave_the_notebook_alone(form: Form) -> None:
    before = form.cells()
    form.page.keyboard.press("n")
    form.page.keyboard.type("m x d d 0 0 1?")
    form.page.keyboard.press("Enter")
    form.page.keyboard.press("Shift+M")
    assert form.page.locator("[name=note]").input_value() == "m x d d 0 0 1?\nM"
    form.page.keyboard.press("Control+s")
    form.page.wait_for_function("!window.jupyterapp.shell.currentWidget.model.dirty")
    form.page.keyboard.press("Escape")
    assert form.labels() == []
    assert form.cells() == before
    assert form.page.locator(".jp-Dialog").count() == 0
    form.press("1")
    assert [(line.label, line.note) for line in form.store.read()] == [("correct", "m x d d 0 0 1?\nM")]


def test_stray_keys_after_a_click_on_a_button_change_no_cell(form: Form) -> None:
    before = form.cells()
    form.page.wait_for_timeout(300)
    form.page.click("[data-key='2']")
    form.page.wait_for_selector(".rp-prompt")
    for key in ("m", "x", "d", "d", "0", "0", "r", "y", "Shift+M", "Enter", "z", "a", "b", "ArrowDown"):
        form.page.keyboard.press(key)
    form.page.wait_for_timeout(300)
    assert form.cells() == before
    assert form.page.locator(".jp-Dialog").count() == 0
    assert set(form.labels()) == {("q1", "partly")}  # 0 names a cause
    assert form.page.evaluate("document.activeElement.classList.contains('rp-form')")


def test_a_restarted_kernel_is_noticed_and_the_cell_run_again_resumes(form: Form) -> None:
    form.press("1", "1", "1")
    form.kernel("restart()")
    form.page.wait_for_timeout(500)
    form.page.keyboard.press("1")
    form.page.wait_for_selector(".rp-notice:has-text('run this cell again')", timeout=3500)
    assert len(form.labels()) == 3
    form.page.wait_for_function(f"{SESSION}.kernel.status === 'idle'")
    form.run()
    assert form.question() == "question 4"
    form.press("1")
    assert form.labels() == [(f"q{n}", "correct") for n in range(1, 5)]  # once: the old listener is gone


@pytest.mark.browser(seconds=60)  # fifty times a quarter of a second alone, in which the form takes no label
@pytest.mark.parametrize("form", [", 50, repeats=0"], indirect=True)
def test_fifty_answers_by_keys_without_a_pause_and_a_kernel_killed_in_between(form: Form) -> None:
    keys = ["1", "1", "3", "1", "2", "1", "1", "4", "1", "1"] * 5
    for n in range(1, 24):
        form.hurry(n, keys[n - 1])
    os.kill(form.pid(), signal.SIGKILL)
    wanted = [(f"q{n}", LABELS[int(keys[n - 1]) - 1]) for n in range(1, 51)]
    assert form.labels() == wanted[:23]
    form.page.click(".jp-Dialog:has-text('appears to have died') .jp-mod-accept")
    form.page.wait_for_function(f"{SESSION}.kernel.status === 'idle'")
    form.run()
    assert form.question() == "question 24"
    for n in range(24, 51):
        form.hurry(n, keys[n - 1])
    form.page.wait_for_selector(".rp-closing:has-text('All answers are labelled')")
    assert form.labels() == wanted


def test_the_cell_run_again_in_the_same_kernel_doubles_no_line(form: Form) -> None:
    form.press("1")
    form.run()
    form.run()
    assert form.question() == "question 2"
    form.press("3", "ArrowRight", "1")
    assert form.labels() == [("q1", "correct"), ("q2", "wrong"), ("q3", "correct")]


def test_keys_pressed_while_the_kernel_is_busy_label_one_item_at_most(form: Form) -> None:
    form.page.wait_for_timeout(300)
    os.kill(form.pid(), signal.SIGSTOP)
    try:
        for key in ("1", "2", "3", "1"):
            form.page.keyboard.press(key)
            form.page.wait_for_timeout(50)
        form.page.wait_for_selector(".rp-notice:has-text('does not answer')", timeout=4000)
    finally:
        os.kill(form.pid(), signal.SIGCONT)
    form.page.wait_for_selector(".rp-notice:empty", state="attached")
    assert form.labels() == [("q1", "correct")]
    form.press("3")
    assert form.labels() == [("q1", "correct"), ("q2", "wrong")]


def test_a_locked_file_gives_an_error_on_screen_and_no_move(form: Form) -> None:
    with FileLock(form.store.path.with_name(f".{form.store.path.name}.lock")):
        form.press("1")
        assert "another program holds the file" in form.page.locator("[role=alert].rp-status").inner_text()
        assert form.question() == "question 1"
    form.press("1")
    assert form.labels() == [("q1", "correct")]
    assert form.question() == "question 2"


def test_the_mouse_alone_finishes(form: Form) -> None:
    for n in range(1, 7):  # five and one shown again
        form.page.wait_for_timeout(300)
        if n == 2:
            form.page.dblclick("[data-key='3']")
            form.page.click("[data-key='7']:enabled")
            form.page.check("[name=stale]")
            form.page.wait_for_selector(".rp-page:not([inert])")
            form.page.click("[data-key='ArrowRight']")
        else:
            form.page.dblclick("[data-key='1']", delay=350)  # slow enough for the next answer to be there
        form.page.wait_for_selector(f".rp-question:has-text('question {n + 1} ')" if n < 5 else ".rp-page:not([inert])")
    form.page.wait_for_selector(".rp-closing:has-text('All answers are labelled')")
    counting = form.store.counting()
    assert [line.label for line in counting] == ["correct", "wrong", "correct", "correct", "correct", "correct"]
    assert (counting[1].cause, counting[1].stale) == ("wrong_despite_passage", True)


def test_keys_alone_finish_with_undo_skip_note_and_help(form: Form) -> None:
    form.page.keyboard.press("?")
    told = form.page.locator(".rp-help").inner_text()  # of what is visible
    assert all(texts("en")[f"{label}_means"] in told for label in LABELS)
    form.page.keyboard.press("Escape")
    assert not form.page.locator(".rp-help").is_visible()
    form.page.focus("[data-key='4']")
    form.press("s", "1", "u")
    assert form.question() == "question 2"
    form.press("3", "9")
    form.page.keyboard.press("n")
    form.page.keyboard.type("tone")
    form.page.keyboard.press("Escape")
    form.press("ArrowRight", "1", "1", "1", "1", "1")
    form.page.wait_for_selector(".rp-closing:has-text('All answers are labelled')")
    second = form.store.counting()[0]
    assert (second.question_id, second.cause, second.note) == ("q2", "format_or_tone", "tone")
    assert [line.question_id for line in form.store.counting()][:5] == ["q2", "q3", "q4", "q5", "q1"]


@pytest.mark.parametrize(
    "form", [", long=True", ", long=True, language='fr'", ", long=True, language='pl'"], indirect=True
)
def test_everything_is_on_one_screen_of_1280_by_800(form: Form) -> None:
    everything_is_seen(form, "instruction", ".rp-intro")
    form.press("3")
    everything_is_seen(form, "why", ".rp-prompt")


def everything_is_seen(form: Form, what: str, selector: str) -> None:
    area = form.page.locator(".jp-WindowedPanel-outer").bounding_box()
    shown = {
        "question": ".rp-question",
        "expected": ".rp-expected",
        "answer": ".rp-answer",
        "passages": ".rp-passages",
        "first label": "[data-key='1']",
        "last label": "[data-key='4']",
        "causes": "[data-key='9']",
        "the last cause": "[data-key='0']",
        "another document": "[name=also]",
        "out of date": "[name=stale]",
        "note": "[name=note]",
        "saved": ".rp-status",
        what: selector,
    }
    seen = {name: form.page.locator(where).first.bounding_box() for name, where in shown.items()}
    for name, box in seen.items():
        assert box["y"] >= area["y"] and box["y"] + box["height"] <= area["y"] + area["height"] + 1, name
        assert box["x"] >= area["x"] and box["x"] + box["width"] <= area["x"] + area["width"] + 1, name
    for name in ("answer", "passages"):
        assert seen[name]["height"] >= 100, name
    scrolls = form.page.evaluate(
        "[...document.querySelectorAll('.rp-answer, .rp-passages')].map(e => e.scrollHeight > e.clientHeight)"
    )
    assert scrolls == [True, True]


def test_text_stays_text_no_script_runs_and_dollars_are_no_mathematics(form: Form) -> None:
    assert "costs $x^2$ and $y$" in form.page.locator(".rp-question").inner_text()
    assert form.page.locator(".rp-form mjx-container, .rp-form .MathJax, .rp-form img, .rp-form script").count() == 0
    assert form.page.evaluate("window.hacked === undefined")


def test_another_document_is_offered_by_title_and_what_she_wrote_is_told_as_she_leaves_the_field(form: Form) -> None:
    offered = form.page.evaluate("[...document.querySelector('[name=also]').list.options].map(o => [o.value, o.text])")
    assert offered == [["doc-9", "Rents & <costs>"]]
    for written, told in (("Pay", "no document that you may open"), ("rents & <COSTS>", "“Rents & <costs>” (doc-9)")):
        form.page.fill("[name=also]", written)
        form.page.keyboard.press("Escape")
        form.page.wait_for_selector(f".rp-status:has-text('{told}')")
        assert form.page.locator("[name=also]").input_value() == written
    form.press("0", "1")
    (line,) = form.store.read()
    assert (line.label, line.also, line.cause) == ("correct", "doc-9", "reference_wrong")


def test_outside_the_form_keys_still_drive_jupyterlab_and_a_click_brings_them_back(form: Form) -> None:
    form.page.locator(".jp-Cell .jp-InputPrompt").first.click()
    form.page.keyboard.press("m")
    form.page.wait_for_function("window.jupyterapp.shell.currentWidget.content.widgets[0].model.type === 'markdown'")
    form.page.keyboard.press("1")  # a heading of the Markdown cell, no label
    form.page.wait_for_timeout(300)
    assert form.labels() == []
    form.page.click(".rp-answer p")
    before = form.cells()
    form.page.keyboard.press("m")
    form.press("1")
    assert form.cells() == before
    assert form.labels() == [("q1", "correct")]


def test_a_reloaded_page_goes_on_where_it_was(form: Form) -> None:
    form.press("1")
    form.page.keyboard.press("Control+s")
    form.page.wait_for_function("!window.jupyterapp.shell.currentWidget.model.dirty")
    form.page.reload()
    form.page.wait_for_selector(".rp-question:has-text('question 2 ')")
    form.page.click(".rp-answer p")
    form.press("1")
    assert form.labels() == [("q1", "correct"), ("q2", "correct")]
