"""Pages are made from what is stored: an export calls no model's address unless it is told that it may."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, kind_of
from test_key import helpful, pilot_with
from tiny import notebook

from rag_pilot.__main__ import main
from rag_pilot.errors import PilotError
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reporting.export import export

OPEN = "from rag_pilot import Ledger, Pilot, tables\nledger = Ledger(Pilot.open())"
FIRST = f"{OPEN}\ntables.run(ledger.result(()))"
TRIED = f"{OPEN}\ntried = ledger.attempt_all()\ntables.changes(tried, ledger.skipped)"
GROUPED = "from rag_pilot import Pilot, tables\ntables.question_groups(Pilot.open().question_groups())"
CHANGE = """
[[change]]
name = "shorter"
cause = "wrong_despite_passage"
hypothesis = "Fewer words are clearer."
measure = "hit5"
set = { "answer.max_tokens" = 50 }
"""


def book(pilot: Pilot, name: str, *cells: str) -> Path:
    return notebook(pilot.data.parent.parent / "notebooks" / name, "# A page", *cells).parent


@pytest.fixture
def pilot(endpoint: Endpoint, tmp_path: Path) -> Pilot:
    """A pilot whose questions are rewritten, answered and graded by models; nothing was asked so far."""
    endpoint.decide = helpful
    return pilot_with(endpoint, tmp_path)


def asked(pilot: Pilot, endpoint: Endpoint) -> None:
    """Make the first run, and forget what it called."""
    Ledger(pilot).result()
    assert {kind_of(call) for call in endpoint.calls} == {"check", "rewrite", "answer", "judge"}
    endpoint.calls.clear()


@pytest.mark.slow
def test_without_a_run_the_notebook_that_needs_it_is_named_and_nobody_is_called(
    pilot: Pilot, endpoint: Endpoint
) -> None:
    with pytest.raises(PilotError, match=r"04_first_run.ipynb, cell 2 of 2.*there is none.*`rag-pilot run tiny`"):
        export(pilot, book(pilot, "04_first_run.ipynb", FIRST))
    assert endpoint.calls == [] and not list(pilot.results.glob("runs/*"))


@pytest.mark.slow
def test_a_report_of_a_stored_run_calls_nobody_though_its_models_are_gone(
    pilot: Pilot, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(pilot, endpoint)
    monkeypatch.delenv("PILOT_TEST_KEY")
    page = export(pilot, book(pilot, "04_first_run.ipynb", FIRST)).parent / "04_first_run.html"
    assert endpoint.calls == []
    assert "6 questions answered" in page.read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("gone", "words"),
    [("judge", r"\[judge\] a grade is not stored"), ("documents", "these have changed: documents")],
)
def test_what_is_not_stored_is_named(pilot: Pilot, endpoint: Endpoint, gone: str, words: str) -> None:
    asked(pilot, endpoint)
    if gone == "judge":
        for path in pilot.results.glob("cache/judge.sqlite*"):
            path.unlink()
    else:
        page = pilot.data / "documents" / "leave.md"
        page.write_text(page.read_text(encoding="utf-8") + "\nIt is paid.\n", encoding="utf-8")
    with pytest.raises(PilotError, match=f"04_first_run.ipynb, cell 2 of 2.*{words}"):
        export(pilot, book(pilot, "04_first_run.ipynb", FIRST))
    assert endpoint.calls == []


@pytest.mark.slow
def test_a_change_that_was_not_run_stands_as_not_tried_and_in_no_ledger(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = helpful
    path = pilot_with(endpoint, tmp_path).data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8") + CHANGE, encoding="utf-8")
    pilot = Pilot.open("tiny", tmp_path)
    asked(pilot, endpoint)
    page = export(pilot, book(pilot, "07_fix.ipynb", TRIED)).parent / "07_fix.html"
    text = page.read_text(encoding="utf-8")
    assert "Not tried now" in text and "notebook 07 that of a planned change" in text
    assert endpoint.calls == [] and Ledger(pilot).lines() == []


@pytest.mark.slow
def test_questions_are_not_grouped_by_something_else_where_their_vectors_are_not_stored(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    pilot = pilot_with(endpoint, tmp_path)
    path = pilot.data / "pilot.toml"
    text = path.read_text(encoding="utf-8").replace('method = "keyword"', 'method = "hybrid"')
    table = f'kind = "model"\nmodel = "tiny"\nbase_url = "{endpoint.url}"\nkey_variable = "PILOT_TEST_KEY"\n'
    path.write_text(f"{text}\n[embedding]\n{table}", encoding="utf-8")
    with (pilot.data / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "n1", "question": "How much leave?", "groups": [], "answerable": null}\n')
    with pytest.raises(PilotError, match=r"01_a.ipynb, cell 2 of 2.*\[embedding\] a vector is not stored"):
        export(Pilot.open("tiny", tmp_path), book(pilot, "01_a.ipynb", GROUPED))
    assert endpoint.calls == []


@pytest.mark.slow
def test_the_command_asks_when_it_is_told_to(
    pilot: Pilot, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    book(pilot, "04_first_run.ipynb", FIRST)
    monkeypatch.chdir(pilot.data.parent.parent)
    assert main(["export", "tiny"]) == 2
    assert "`rag-pilot export tiny --run`" in capsys.readouterr().err and endpoint.calls == []
    assert main(["export", "tiny", "--run"]) == 0
    assert {kind_of(call) for call in endpoint.calls} == {"check", "rewrite", "answer", "judge"}
    endpoint.calls.clear()
    shutil.rmtree(pilot.results / "report")
    assert main(["export", "tiny"]) == 0 and endpoint.calls == []
