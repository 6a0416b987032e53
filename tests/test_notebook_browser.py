"""The labelling form in Notebook 7: the same listener under another program's shell."""

from collections.abc import Iterator
from typing import Any

import pytest
from test_form_browser import MODULE, Form

from rag_pilot.grading.labels import LabelStore

pytestmark = pytest.mark.browser
pytest.importorskip("notebook", reason="notebook is not installed: nothing was tried in it")


@pytest.fixture(scope="module")
def lab(browser: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from lab import jupyterlab

    with jupyterlab(tmp_path_factory.mktemp("notebook"), "notebook") as server:
        yield server


def test_two_answers_are_labelled_in_notebook_7_and_stray_keys_change_no_cell(lab: Any, page: Any) -> None:
    (lab.root / "form_items.py").write_text(MODULE, encoding="utf-8")
    lab.open(page, "form.ipynb", ["# the cell before", "from form_items import make\nmake('labels.jsonl')"])
    assert page.evaluate("window.jupyterapp.name") == "Jupyter Notebook"
    form = Form(page, lab, LabelStore(lab.root / "labels.jsonl"))
    form.run()
    before = form.cells()
    form.press("1", "3")
    for key in ("m", "x", "d", "d", "Shift+M"):
        page.keyboard.press(key)
    form.press("ArrowRight")
    assert form.labels() == [("q1", "correct"), ("q2", "wrong")]
    assert (form.question(), form.cells()) == ("question 3", before)
