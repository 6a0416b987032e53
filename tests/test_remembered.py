import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest
from endpoint import Endpoint, Passages, completion

from rag_pilot.answering.answerer import Prompt
from rag_pilot.answering.remembered import remembered
from rag_pilot.errors import ModelError, RunStoppedError
from rag_pilot.evaluation import run_eval
from rag_pilot.grading.judge import RUBRIC, model_judge, read_label
from rag_pilot.records import Hit, Passage, Question
from rag_pilot.settings import AnswerTable

QUESTIONS = [Question(f"q{n}", f"how long {n}?", "25 days", "leave") for n in range(5)]
CORRECT = '{"reason": "same", "label": "correct"}'


def test_what_was_asked_once_is_not_asked_again_by_another_object(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.says("25 days [1] – ż\U0001f600", tokens=(40, 9))
    first = remembered(endpoint.table(), tmp_path)("how long?")
    again = remembered(endpoint.table(), tmp_path)("how long?")
    assert first == again == "25 days [1] – ż\U0001f600"
    kept = ("model", "tokens_in", "tokens_out", "seconds", "finish", "not_applied")
    assert [getattr(first, name) for name in kept] == [getattr(again, name) for name in kept]
    assert (first.reused, again.reused, len(endpoint.calls)) == (False, True, 1)


CHANGES: list[dict[str, Any]] = [
    {"model": "other"},
    {"revision": "sha256:1"},
    {"temperature": 0.5},
    {"max_tokens": 601},
    {"repeat": 2},
]


@pytest.mark.parametrize("change", CHANGES, ids=str)
def test_whatever_can_change_the_reply_is_asked_anew(endpoint: Endpoint, tmp_path: Path, change: Any) -> None:
    endpoint.says("25 days [1]")
    remembered(endpoint.table(), tmp_path)("how long?")
    assert not remembered(endpoint.table(**change), tmp_path)("how long?").reused
    assert len(endpoint.calls) == 2


def test_another_address_is_asked_anew(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.says("25 days [1]")
    for url in (endpoint.url, endpoint.url.replace("127.0.0.1", "localhost")):
        assert not remembered(endpoint.table(base_url=url), tmp_path)("how long?").reused


def test_another_prompt_passage_order_or_rubric_is_asked_anew(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.says("25 days [1]")
    model = remembered(endpoint.table(), tmp_path)
    hits = [Hit(Passage(f"p{n}", "leave", f"text {n}")) for n in range(2)]
    prompts = [
        Prompt("how long?", hits),
        Prompt("how long? ", hits),
        Prompt("how long?", hits[::-1]),
        Prompt("how long?", hits, "Answer."),
        RUBRIC,
        f"{RUBRIC} ",
    ]
    assert [model(prompt).reused for prompt in prompts] == [False] * 6
    assert [model(prompt).reused for prompt in prompts] == [True] * 6


@pytest.mark.parametrize(
    "change", [{"concurrency": 9}, {"timeout": 9.0}, {"retries": 1}, {"requests_per_minute": 6000}], ids=str
)
def test_how_it_is_called_changes_no_reply(endpoint: Endpoint, tmp_path: Path, change: Any) -> None:
    endpoint.says("25 days [1]")
    remembered(endpoint.table(), tmp_path)("how long?")
    assert remembered(endpoint.table(**change), tmp_path)("how long?").reused


BAD = [("", "stop"), ("You have 14 da", "length"), ("I was going", "content_filter"), ("<think>25", "stop")]


@pytest.mark.parametrize(("said", "finish"), BAD)
def test_a_reply_that_is_no_whole_text_is_never_kept(
    endpoint: Endpoint, tmp_path: Path, said: str, finish: str
) -> None:
    endpoint.says(said, finish)
    with pytest.raises(ModelError):
        remembered(endpoint.table(), tmp_path)("how long?")
    endpoint.says("25 days [1]")
    good = remembered(endpoint.table(), tmp_path)("how long?")
    assert (good, good.reused) == ("25 days [1]", False)


def test_a_judges_reply_that_cannot_be_read_is_not_kept_and_its_retry_reaches_the_model(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.steps = [(200, completion("The answer is good."), {}), (200, completion(CORRECT), {})]
    first = model_judge(remembered(endpoint.table(), tmp_path, "judge", read_label))("how long?", "25", "25 days")
    assert (first.label, first.reused, len(endpoint.calls)) == ("correct", False, 2)
    again = model_judge(remembered(endpoint.table(), tmp_path, "judge", read_label))("how long?", "25", "25 days")
    assert (again.label, again.reused, len(endpoint.calls)) == ("correct", True, 2)
    endpoint.says("The answer is good.")
    judge = model_judge(remembered(endpoint.table(), tmp_path, "judge", read_label))
    for _ in range(2):
        assert judge("who?", "25", "25 days").raw == "The answer is good."
    assert len(endpoint.calls) == 6


def test_a_run_states_what_was_reused_and_what_is_new(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = lambda sent: (
        200,
        completion(CORRECT if "Expected answer" in sent["messages"][0]["content"] else "25 days [1]"),
        {},
    )

    def run(name: str, questions: list[Question]) -> dict[str, Any]:
        model = remembered(endpoint.table(), tmp_path)
        judge = model_judge(remembered(endpoint.table(), tmp_path, "judge", read_label))
        run_eval(questions, Passages(), model, judge, folder=tmp_path / name, threads=3, judges=3)
        info: dict[str, Any] = json.loads((tmp_path / name / "run.json").read_text())["replies"]
        return info

    nobody = {"reused": 0, "new": 0, "tokens_in": 0, "tokens_out": 0}
    for name, questions, reused, new in (("one", QUESTIONS[:3], 0, 3), ("two", QUESTIONS, 3, 2)):
        n = len(questions)
        each = {"reused": reused, "new": new, "tokens_in": 40 * n, "tokens_out": 9 * n}
        assert run(name, questions) == {"rewrite": nobody, "answers": each, "judge": each}
    assert len(endpoint.calls) == 10


def test_that_temperature_was_not_applied_is_known_of_a_kept_reply_too(endpoint: Endpoint, tmp_path: Path) -> None:
    refused = (400, {"error": {"message": "no", "param": "temperature"}}, {})
    endpoint.steps = [refused, *[(200, completion("25 days [1]"), {})] * 9]
    for name in ("one", "two"):
        model = remembered(endpoint.table(), tmp_path)
        run = run_eval(QUESTIONS[:2], Passages(), model, folder=tmp_path / name)
        assert run.info["not_applied"] == ["temperature"]
    assert len(endpoint.calls) == 3


def _run(table: AnswerTable, root: Path, name: str) -> tuple[list[str], int]:
    run = run_eval(QUESTIONS * 1, Passages(), remembered(table, root), folder=root / name, threads=4)
    return [str(a.text) for a in run.answers.values()], run.info["error"]


def test_two_processes_at_once_come_to_the_same_replies(endpoint: Endpoint, tmp_path: Path) -> None:
    said = iter(range(10**6))
    endpoint.decide = lambda _: (200, completion(f"{next(said)} days [1]"), {})
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        one, two = pool.starmap(_run, [(endpoint.table(), tmp_path, name) for name in ("one", "two")])
    assert one == two
    assert one[1] == 0
    assert len(endpoint.calls) <= 10


def test_no_key_and_no_server_is_needed_where_every_reply_is_known(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOBODYS_KEY", "x")
    dead = AnswerTable(kind="model", model="m", base_url="http://127.0.0.1:9/v1", key_variable="NOBODYS_KEY")
    model = remembered(dead, tmp_path)
    model._replies.keep("how long?", json.dumps({"text": "25 [1]", "model": "m", "not_applied": []}))
    monkeypatch.delenv("NOBODYS_KEY")
    assert remembered(dead, tmp_path)("how long?") == "25 [1]"


def test_a_store_that_cannot_be_used_ends_the_run_before_anything_is_paid_for(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    (tmp_path / "answer.sqlite").write_text("not a database, but long enough to be looked at as one" * 40)
    with pytest.raises(RunStoppedError, match="not a store of replies.*run again"):
        run_eval(QUESTIONS, Passages(), remembered(endpoint.table(), tmp_path), folder=tmp_path / "run")
    assert endpoint.calls == []
