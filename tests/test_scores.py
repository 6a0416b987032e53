"""The scores of a run: every question is counted once, with a value or with the reason why there is none."""

import os
import signal
import time

import pytest
from endpoint import completion
from pydantic import ValidationError
from tiny import run_and_label, tiny_pilot

from rag_pilot.errors import ModelError, RunStoppedError
from rag_pilot.ledger import Ledger
from rag_pilot.records import Answer, Passage, Question
from rag_pilot.reporting import tables
from rag_pilot.runs import Run
from rag_pilot.scores import DECLINED, ERROR, FAILED, GONE, UNANSWERABLE, scores
from rag_pilot.settings import Acceptance, JudgeTable

PASSAGES = {
    "p1": Passage("p1", "d1", "Staff get 25 days of annual leave a year.", groups=frozenset({"all"})),
    "p2": Passage("p2", "d2", "Band 7 pays 91,500 euros.", groups=frozenset({"hr"})),
}
GROUPS = {i: p.groups for i, p in PASSAGES.items()}


def a_run(*rows):
    """Rows of (id, status, text, passages shown, answerable)."""
    everybody = frozenset({"all"})
    questions = [Question(i, "How many days?", "25 days", "d1", everybody, able) for i, _, _, _, able in rows]
    answers = {
        i: Answer(i, status, text, hits=tuple({"id": p, "doc": "d"} for p in shown))
        for i, status, text, shown, _ in rows
    }
    return Run(tuple(questions), answers, {})


ROWS = (
    ("right", "answered", "Staff get 25 days of annual leave [1].", ["p1"], True),
    ("false", "answered", "Staff get 26 days of annual leave [1].", ["p1"], True),
    ("empty", "answered", "Sorry, I cannot help.", ["p1"], True),
    ("declined rightly", "declined", "NOT_FOUND", ["p1"], False),
    ("declined wrongly", "declined", "NOT_FOUND", ["p1"], True),
    ("failed", "error", None, [], True),
    ("closed", "answered", "Band 7 pays 91,500 euros [1].", ["p2"], True),
    ("gone", "answered", "Staff get 25 days of annual leave [1].", ["p9"], True),
)


def test_declines_errors_and_answers_without_claims_have_no_value_and_are_counted_by_reason():
    faithful, relevant, precise = scores(a_run(*ROWS), PASSAGES, GROUPS)
    assert {i: c.value for i, c in faithful.checked.items() if c.value is not None} == {"right": 1, "false": 0}
    assert faithful.mean.missing == {"no claims": 1, DECLINED: 2, ERROR: 1, GONE: 2}
    assert (faithful.held, faithful.of, faithful.mean.value) == (1, 2, 0.5)
    assert relevant.mean.missing == faithful.mean.missing
    assert precise.mean.missing == {UNANSWERABLE: 1, ERROR: 1, GONE: 2}
    assert all(s.mean.n + sum(s.mean.missing.values()) == len(ROWS) for s in (faithful, relevant, precise))


def test_a_run_of_declines_has_no_value_and_not_zero():
    faithful, _, _ = scores(a_run(ROWS[3], ROWS[4]), PASSAGES, GROUPS)
    assert (faithful.mean.value, faithful.mean.text(), faithful.of) == (None, "no data", 0)


def test_a_passage_that_the_asker_may_no_longer_open_reaches_no_model():
    asked = []

    def llm(prompt):
        asked.append(prompt)
        return '{"yes": [1], "no": []}'

    found = scores(a_run(*ROWS), PASSAGES, GROUPS, llm, threads=3)
    assert asked and not any("91,500" in prompt for prompt in asked)
    assert [s.by for s in found] == ["model"] * 3
    assert found[0].checked["false"].held == (True,)


def test_a_failed_call_is_one_value_missing_and_a_stop_ends_it_all():
    def fails(prompt):
        raise ModelError("time-out")

    def stops(prompt):
        raise RunStoppedError("no key")

    faithful, _, _ = scores(a_run(*ROWS), PASSAGES, GROUPS, fails)
    assert faithful.checked["right"].why == FAILED
    with pytest.raises(RunStoppedError, match="no key"):
        scores(a_run(*ROWS), PASSAGES, GROUPS, stops, threads=2)


def test_an_interrupt_asks_nothing_more_and_waits_for_no_pause(endpoint):
    rows = [(f"q{n}", "answered", "Staff get 25 days of annual leave [1].", ["p1"], True) for n in range(12)]

    def third_interrupts(sent):
        if len(endpoint.calls) == 3:
            os.kill(os.getpid(), signal.SIGINT)  # as the notebook's stop button
        if len(endpoint.calls) > 2:
            return 429, {"error": {"message": "slow down"}}, {"retry-after": "50"}
        return 200, completion('{"yes": [1], "no": []}'), {}

    endpoint.decide = third_interrupts
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        scores(a_run(*rows), PASSAGES, GROUPS, endpoint.model, threads=2)
    assert time.monotonic() - started < 20
    time.sleep(0.2)
    assert len(endpoint.calls) <= 3 + 2


def test_only_faithfulness_counts_as_validated_and_the_table_marks_the_others():
    page = tables.scores(scores(a_run(*ROWS), PASSAGES, GROUPS))
    for told in ("answer relevance (unvalidated)", "context precision (unvalidated)", "1 of 2 claims supported"):
        assert told in page
    assert "faithfulness (unvalidated)" not in page
    assert "2 declined" in page and "1 no claims" in page
    assert "NaN" not in page and "nan" not in page.split()


@pytest.mark.parametrize("measure", ["faithfulness", "answer relevance", "relevance", "context_precision"])
def test_no_score_can_be_an_acceptance_criterion(measure):
    with pytest.raises(ValidationError):
        Acceptance(name="a", measure=measure, at_least=0.9)


def test_a_model_that_checks_must_be_named():
    with pytest.raises(ValidationError, match="no model is named"):
        JudgeTable(scores="model")
    assert JudgeTable(scores="model", model="m").kind == "offline"


def test_a_pilot_has_its_scores_without_a_model_and_its_headline_does_not_change_by_them(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    result = Ledger(pilot).result(())
    before = result.headline
    faithful, _, precise = result.scores
    assert faithful.mean.n + sum(faithful.mean.missing.values()) == 6
    assert faithful.held == faithful.of > 0  # the extractive answerer copies
    assert precise.mean.missing == {UNANSWERABLE: 2}
    assert Ledger(pilot).result(()).headline == before
