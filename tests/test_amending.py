"""What labels say of the question set, decided on by a person, and what earlier runs are scored against then."""

import json
import shutil
from dataclasses import replace
from datetime import date, datetime, timedelta
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient
from tiny import SECRET, run_and_label, tiny_pilot

from rag_pilot import accept_amendment, amendments, failures, refuse_amendment, tables
from rag_pilot.amending import scored_against
from rag_pilot.errors import DataError, StaleError
from rag_pilot.examples import example_runs
from rag_pilot.files import read_jsonl
from rag_pilot.grading.labels import LabelStore
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reading import expert_form
from rag_pilot.reporting.pages import run_page
from rag_pilot.results import Result

NOTEBOOK = Path(__file__).resolve().parents[1] / "notebooks" / "06_week1_result.ipynb"
PLANNED = """
[[change]]
name = "three-sentences"
cause = "wrong_despite_passage"
hypothesis = "Two sentences are too few."
measure = "correct"
set = { "answer.sentences" = 3 }
"""
TODAY = date.today()
SAID = f"{TODAY.day} {TODAY:%B %Y}"


@pytest.fixture
def pilot(tmp_path: Path) -> Pilot:
    made = tiny_pilot(tmp_path)
    run_and_label(made)
    return made


def say(pilot: Pilot, question: str, **more: object) -> None:
    """The expert's label of the answer to a question once more, with what she says of the reference."""
    store = LabelStore(pilot.data / "labels.jsonl")
    last = next(label for label in reversed(store.read()) if label.question_id == question)
    store.add(replace(last, saved_at="", **more))  # type: ignore[arg-type]


def again(pilot: Pilot) -> Result:
    """The run as a notebook that is run again finds it."""
    return Ledger(Pilot.open(pilot.name, pilot.data.parents[1])).result(())


def states(result: Result) -> list[tuple[str, str, str, str]]:
    return [(a.question_id, a.field, a.document, a.state) for a in amendments(result)]


def row(pilot: Pilot, question: str) -> dict[str, object]:
    return next(r for _, r in read_jsonl(pilot.data / "questions.jsonl") if r["id"] == question)


# -- what is proposed --------------------------------------------------------------------------------------------------


def test_labels_that_say_nothing_of_the_reference_propose_nothing(pilot):
    assert amendments(again(pilot)) == []
    assert "no label asks for one" in tables.amendments([])


@pytest.mark.parametrize("written", ["leave", "Annual leave", " annual  LEAVE "])
def test_another_document_is_proposed_once_however_it_was_written(pilot, written):
    say(pilot, "q2", also=written, note="see there")
    say(pilot, "q2", also=written, note="see there", annotator="Fenella")
    (found,) = amendments(again(pilot))
    assert (found.question_id, found.field, found.document, found.state) == ("q2", "also", "leave", "pending")
    assert (found.notes, found.by) == (("see there",), ("Maud", "Fenella"))


def test_a_wrong_expected_answer_is_proposed_with_her_note_also_where_the_answer_is_correct(pilot):
    say(pilot, "q6", cause="reference_wrong", note="the limit is 95")
    say(pilot, "q1", cause="reference_wrong")
    found = {a.question_id: a for a in amendments(again(pilot))}
    assert {i: (a.field, a.state) for i, a in found.items()} == {i: ("expected", "pending") for i in ("q1", "q6")}
    assert (found["q6"].expected, found["q6"].notes) == ("120 euros a night", ("the limit is 95",))
    assert "the limit is 95" in tables.amendments(amendments(again(pilot)))


def test_what_she_took_back_or_the_reference_names_already_is_no_proposal(pilot):
    say(pilot, "q2", also="travel")
    say(pilot, "q6", cause="reference_wrong")
    say(pilot, "q6", cause="not_retrieved")
    assert amendments(again(pilot)) == []


def test_a_document_that_the_reference_always_named_is_no_proposal_where_another_field_was_amended(pilot):
    path = pilot.data / "questions.jsonl"
    rows = [r for _, r in read_jsonl(path)]
    rows[1] |= {"also": ["leave"], "amendments": [{"field": "doc", "old": "leave", "date": "2026-01-01"}]}
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    say(pilot, "q2", also="leave")
    assert amendments(again(pilot)) == []


def test_a_document_that_is_closed_to_her_is_as_unclear_as_one_that_does_not_exist(pilot):
    say(pilot, "q2", also="Salaries")
    say(pilot, "q1", also="no such thing")
    assert {(q, d, s) for q, _, d, s in states(again(pilot))} == {("q1", "", "unclear"), ("q2", "", "unclear")}
    with pytest.raises(DataError, match="may open"):
        accept_amendment(again(pilot), "q2", also="Salaries", why="?")
    assert refuse_amendment(again(pilot), "q2", also="Salaries", why="not meant").state == "refused"


# -- accepted and refused ----------------------------------------------------------------------------------------------


def test_an_accepted_document_joins_the_question_with_its_old_value_date_author_and_reason(pilot):
    say(pilot, "q2", also="Annual leave")
    other = row(pilot, "q1")
    accept_amendment(again(pilot), "q2", also="annual leave", why="it says so too", author="Fenella")
    entry = {"field": "also", "old": None, "date": TODAY.isoformat(), "author": "Fenella", "why": "it says so too"}
    assert (row(pilot, "q2")["also"], row(pilot, "q2")["amendments"]) == (["leave"], [entry])
    assert row(pilot, "q1") == other
    assert states(again(pilot)) == [("q2", "also", "leave", "made")]
    assert "it says so too" in tables.amendments(amendments(again(pilot)))


def test_an_accepted_expected_answer_is_the_persons_words_and_the_old_one_is_kept(pilot):
    say(pilot, "q6", cause="reference_wrong")
    accept_amendment(again(pilot), "q6", expected=" 95 euros a night ", why="the page of May")
    assert row(pilot, "q6")["expected"] == "95 euros a night"
    assert [(a["old"], a["author"]) for a in row(pilot, "q6")["amendments"]] == [("120 euros a night", "Maud")]
    assert states(again(pilot)) == [("q6", "expected", "", "made")]


def test_a_refusal_is_remembered_with_its_reason_until_a_later_label_says_it_again(pilot):
    say(pilot, "q2", also="leave")
    before = (pilot.data / "questions.jsonl").read_bytes()
    refuse_amendment(again(pilot), "q2", also="leave", why="it speaks of holidays")
    (found,) = amendments(again(pilot))
    assert (found.state, found.why, found.author, found.on) == (
        *("refused", "it speaks of holidays", "Maud"),
        TODAY.isoformat(),
    )
    assert (pilot.data / "questions.jsonl").read_bytes() == before
    say(pilot, "q2", also="leave", note="section 2")
    assert states(again(pilot)) == [("q2", "also", "leave", "pending")]
    refuse_amendment(again(pilot), "q2", also="leave", why="no section 2")
    assert [line["why"] for _, line in read_jsonl(pilot.data / "refused.jsonl")] == [
        *("it speaks of holidays", "no section 2")
    ]
    accept_amendment(again(pilot), "q2", also="leave", why="it does")
    assert states(again(pilot)) == [("q2", "also", "leave", "made")]


def test_a_label_of_a_later_day_than_the_amendment_proposes_anew(pilot):
    say(pilot, "q6", cause="reference_wrong")
    accept_amendment(again(pilot), "q6", expected="95 euros", why="the page")
    store, later = LabelStore(pilot.data / "labels.jsonl"), datetime.now().astimezone() + timedelta(days=1)
    store.add(replace(store.read()[-1], saved_at=later.isoformat(timespec="milliseconds")))
    assert states(again(pilot)) == [("q6", "expected", "", "pending")]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"also": "leave", "why": " "}, "why="),
        ({"why": "w"}, "say what is amended"),
        ({"also": "leave", "expected": "x", "why": "w"}, "say what is amended"),
        ({"also": "travel", "why": "w"}, "no label says"),
        ({"expected": "x", "why": "w"}, "no label says"),
    ],
)
def test_what_nobody_proposed_or_has_no_reason_is_refused_and_nothing_is_written(pilot, arguments, told):
    say(pilot, "q2", also="leave")
    before = (pilot.data / "questions.jsonl").read_bytes()
    with pytest.raises(DataError, match=told):
        accept_amendment(again(pilot), "q2", **arguments)
    assert (pilot.data / "questions.jsonl").read_bytes() == before


def test_a_question_that_changed_since_the_result_or_is_amended_already_is_not_written_over(pilot):
    say(pilot, "q2", also="leave")
    result = again(pilot)
    accept_amendment(result, "q2", also="leave", why="it says so")
    after = (pilot.data / "questions.jsonl").read_bytes()
    with pytest.raises(StaleError, match="run the notebook again"):
        accept_amendment(result, "q2", also="leave", why="twice")
    for decide in (accept_amendment, refuse_amendment):
        with pytest.raises(DataError, match="was amended"):
            decide(again(pilot), "q2", also="leave", why="twice")
    assert (pilot.data / "questions.jsonl").read_bytes() == after


def test_a_document_that_the_asker_may_not_open_cannot_become_her_answer(pilot):
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text().replace("[pilot]", '[pilot]\nannotator_groups = ["hr"]'), encoding="utf-8")
    say(pilot, "q2", also="Salaries")
    (found,) = amendments(again(pilot))
    assert (found.state, found.hidden, found.document, found.question) == ("pending", "hr", "", "")
    page = tables.amendments([found])
    assert "1 amendment not shown: the reader needs hr" in page
    assert "salaries" not in page.lower()
    with pytest.raises(DataError, match="its asker may not open salaries"):
        accept_amendment(again(pilot), "q2", also="Salaries", why="?")


def test_text_stands_in_the_table_only_for_those_who_may_read_it(pilot, monkeypatch):
    say(pilot, "q3", cause="reference_wrong", note=f"it is {SECRET} now")
    assert SECRET not in repr(amendments(again(pilot)))
    assert SECRET not in tables.amendments(amendments(again(pilot)))
    monkeypatch.setenv("RAG_PILOT_AUDIENCE", "hr")
    assert SECRET in tables.amendments(amendments(again(pilot)))


def test_that_a_document_answers_the_unanswerable_is_for_the_writing_form(pilot):
    store = LabelStore(pilot.data / "labels.jsonl")
    store.add(replace(store.read()[0], question_id="q4", label="wrong", also="leave"))
    assert states(again(pilot)) == [("q4", "expected", "", "pending")]
    with pytest.raises(DataError, match="writing_form"):
        accept_amendment(again(pilot), "q4", expected="No.", why="page 2")


def test_a_damaged_line_of_refusals_is_named(pilot):
    say(pilot, "q2", also="leave")
    (pilot.data / "refused.jsonl").write_text('{"question_id": "q2"}\n', encoding="utf-8")
    with pytest.raises(DataError, match=r"refused\.jsonl, line 1"):
        amendments(again(pilot))


# -- earlier runs ------------------------------------------------------------------------------------------------------


def test_an_earlier_run_is_scored_against_the_amended_set_its_labels_stand_and_it_says_so(pilot):
    before = again(pilot)
    assert (before.run.verdicts["q6"].label, scored_against(before)) == ("wrong", "")
    assert "Scored against" not in tables.stamp(before) + run_page(before)
    say(pilot, "q6", cause="reference_wrong")
    say(pilot, "q1", also="travel")
    accept_amendment(again(pilot), "q6", expected="95 euros a night", why="the page")
    accept_amendment(again(pilot), "q1", also="travel", why="it does")
    after = again(pilot)
    assert after.run.folder == before.run.folder
    assert after.run.verdicts["q6"].label == "correct"
    assert {i: label.label for i, label in after.expert.current.items()} == {
        i: label.label for i, label in before.expert.current.items()
    }
    assert after.labelled == before.labelled
    words = f"the question set as amended on {SAID} (2 questions)"
    assert scored_against(after) == words
    assert words in tables.stamp(after)
    assert words in run_page(after)


def test_the_citation_rule_and_hits_accept_the_document_that_was_added(pilot):
    path = pilot.data / "questions.jsonl"
    path.write_text(path.read_text().replace('"doc": "travel"', '"doc": "salaries"'), encoding="utf-8")
    before = again(pilot)
    assert (before.run.verdicts["q2"].label, before.run.verdicts["q2"].by) == ("partly", "citation_rule")
    say(pilot, "q2", also="Travel")
    assert again(pilot).causes.keys() == before.causes.keys()
    accept_amendment(again(pilot), "q2", also="travel", why="it is the right one")
    after = again(pilot)
    assert after.run.verdicts["q2"].label == "correct"
    assert after.retrieval.hit5.count == before.retrieval.hit5.count + 1


def test_a_bad_answer_is_laid_to_the_reference_only_until_it_is_amended(pilot):
    path = pilot.data / "questions.jsonl"
    path.write_text(path.read_text().replace('"doc": "travel"', '"doc": "leave"'), encoding="utf-8")
    say(pilot, "q6", also="Travel")
    assert next(f.cause for f in failures(again(pilot)) if f.question_id == "q6") == "reference_wrong"
    accept_amendment(again(pilot), "q6", also="travel", why="it holds the limit")
    assert next(f.cause for f in failures(again(pilot)) if f.question_id == "q6") != "reference_wrong"


@pytest.mark.parametrize("keeps", [True, False], ids=["says against what", "of old"])
def test_an_example_whose_judge_cannot_be_asked_again_loses_its_word_on_an_amended_answer(pilot, keeps):
    folder = pilot.data / "example-runs" / "2026-01-05-other"
    shutil.copytree(again(pilot).run.folder, folder)
    lines = [json.loads(line) for line in (folder / "verdicts.jsonl").read_text().splitlines()]
    if not keeps:
        lines = [{k: v for k, v in line.items() if k != "against"} for line in lines]
    (folder / "verdicts.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (before,) = example_runs(again(pilot).pilot)
    assert before.run.verdicts["q6"].label == "wrong"
    say(pilot, "q6", cause="reference_wrong")
    accept_amendment(again(pilot), "q6", expected="95 euros a night", why="the page")
    (after,) = example_runs(again(pilot).pilot)
    assert before.run.verdicts.keys() - after.run.verdicts.keys() == {"q6"}
    page = tables.examples(again(pilot), [after])
    assert "1 left out, of expected answers amended since" in page
    assert page.count(f"the question set as amended on {SAID} (1 question)") == 2


def test_the_citation_rule_applies_anew_to_an_example_too(pilot):
    path = pilot.data / "questions.jsonl"
    path.write_text(path.read_text().replace('"doc": "travel"', '"doc": "leave"'), encoding="utf-8")
    shutil.copytree(again(pilot).run.folder, pilot.data / "example-runs" / "2026-01-05-other")
    verdicts = pilot.data / "example-runs" / "2026-01-05-other" / "verdicts.jsonl"
    verdicts.write_text("".join(json.dumps(v.as_json()) + "\n" for v in again(pilot).run.verdicts.values()))
    (before,) = example_runs(again(pilot).pilot)
    say(pilot, "q2", also="travel")
    accept_amendment(again(pilot), "q2", also="travel", why="it is the right one")
    (after,) = example_runs(again(pilot).pilot)
    told = [(v.label, v.by, v.judged) for v in (before.run.verdicts["q2"], after.run.verdicts["q2"])]
    assert told == [("partly", "citation_rule", "correct"), ("correct", "judge", "correct")]
    assert after.run.verdicts["q6"] == before.run.verdicts["q6"]


def test_a_change_says_what_both_its_runs_are_scored_against_and_its_verdict_stands(pilot):
    with (pilot.data / "pilot.toml").open("a", encoding="utf-8") as toml:
        toml.write(PLANNED)
    before = Ledger(again(pilot).pilot).attempt("three-sentences")
    assert "scored against" not in tables.tried(before)
    say(pilot, "q6", cause="reference_wrong")
    accept_amendment(again(pilot), "q6", expected="95 euros a night", why="the page")
    after = Ledger(again(pilot).pilot).attempt("three-sentences")
    assert after.entry == before.entry
    assert f"Both runs are scored against the question set as amended on {SAID} (1 question)" in tables.tried(after)


def test_amendments_of_several_days_and_of_other_fields_are_told_as_they_are(pilot):
    path = pilot.data / "questions.jsonl"
    rows = [r for _, r in read_jsonl(path)]
    rows[0]["amendments"] = [{"field": "expected", "old": "x", "date": "2999-05-03", "author": "Maud"}]
    rows[1]["amendments"] = [{"field": "category", "old": "x", "date": "2999-05-05", "author": "Maud"}]
    rows[2]["amendments"] = [{"field": "doc", "old": "x", "date": "2000-01-01", "author": "Maud"}]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert scored_against(again(pilot)) == "the question set as amended on 3 May 2999 (1 question)"
    rows[5]["amendments"] = [{"field": "also", "old": None, "date": "2999-05-04", "author": "Maud"}]
    path.write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    assert scored_against(again(pilot)) == ("the question set as amended from 3 May 2999 to 4 May 2999 (2 questions)")


# -- the notebook and the form -----------------------------------------------------------------------------------------


@pytest.mark.slow
def test_running_notebook_06_shows_the_amendments_and_changes_no_file_of_the_pilot(pilot, monkeypatch):
    say(pilot, "q2", also="leave")
    again(pilot)
    before = {p: p.read_bytes() for p in pilot.data.rglob("*") if p.is_file()}
    monkeypatch.setenv("RAG_PILOT", "tiny")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    shown = {"06-01", "06-22"}
    notebook.cells = [c for c in notebook.cells if c.id in shown]
    assert len(notebook.cells) == 2
    NotebookClient(notebook, resources={"metadata": {"path": str(pilot.data.parents[1])}}).execute()
    assert "another document answers it too: leave" in notebook.cells[1].outputs[0]["data"]["text/html"]
    assert {p: p.read_bytes() for p in pilot.data.rglob("*") if p.is_file()} == before


def test_the_form_of_the_run_offers_the_documents_that_the_expert_may_open(pilot):
    made = expert_form(again(pilot))
    made.press("ready")
    assert "Annual leave" in made.titles.value
    assert "alaries" not in made.titles.value
