"""The ten notebooks, as they are committed, run in order on a pilot that loads no model."""

import html
import json
import re
from pathlib import Path

import pytest
from tiny import run_and_label, tiny_pilot

from rag_pilot.reporting.export import export

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"

PLANNED = """
[[change]]
name = "three-sentences"
cause = "wrong_despite_passage"
hypothesis = "Two sentences are too few."
measure = "correct"
set = { "answer.sentences" = 3 }
"""


def words(page: Path) -> str:
    text = re.sub(r"<(style|script)\b.*?</\1>|<[^>]+>", " ", page.read_text(encoding="utf-8"), flags=re.S)
    return html.unescape(text)


@pytest.fixture(scope="module", params=["labelled", "unlabelled"])
def report(request, tmp_path_factory) -> Path:
    pilot = tiny_pilot(tmp_path_factory.mktemp(request.param))
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8") + PLANNED, encoding="utf-8")
    pilot = type(pilot).open("tiny", pilot.data.parents[1])
    pilot.lock_acceptance()
    if request.param == "labelled":
        run_and_label(pilot)
    return export(pilot, NOTEBOOKS).parent


@pytest.mark.slow
def test_all_ten_run_in_order_and_say_no_nan(report):
    pages = sorted(p.name for p in report.glob("0*.html"))
    assert pages == [f"{p.stem}.html" for p in sorted(NOTEBOOKS.glob("*.ipynb"))]
    for page in report.glob("*.html"):
        assert not re.search(r"\bnan\b", words(page), re.I), page.name
        assert "Traceback" not in words(page)


@pytest.mark.slow
def test_missing_labels_are_said_and_decide_nothing(report):
    labelled = "4 of 4" in words(report / "05_expert_labels.html")
    decision = words(report / "09_decision.html")
    assert labelled or "0 of 4" in words(report / "05_expert_labels.html")
    assert labelled or "Not decided" in decision


@pytest.mark.slow
def test_the_index_agrees_with_the_run_on_disk(report):
    run = next(iter(sorted((report.parent / "runs").glob("*-baseline-*/run.json"))))
    info = json.loads(run.read_text(encoding="utf-8"))
    index = words(report / "index.html")
    assert run.parent.name in index
    assert f"Questions {info['asked']}" in " ".join(index.split())
    counts = " ".join(words(report / "04_first_run.html").split())
    assert re.search(rf"answered\D+{info['answered']}\b", counts)
    assert re.search(rf"declined\D+{info['declined']}\b", counts)
