"""A run by a model that is interrupted or killed, as a process of its own, and what its bar tells."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from endpoint import Endpoint, Passages, Step, completion

from rag_pilot.analysis.cost import paid_so_far
from rag_pilot.answering.answerer import Reply
from rag_pilot.answering.client import chat_model
from rag_pilot.errors import HaltedError, ModelError, RunStoppedError
from rag_pilot.evaluation import run_eval
from rag_pilot.grading.judge import model_judge
from rag_pilot.records import Question
from rag_pilot.retrieval.rewrite import Rewriter
from rag_pilot.settings import CostTable

THREADS, COUNT = 4, 60
SCRIPT = f"""
import json, sys
from pathlib import Path
from rag_pilot.answering.client import chat_model
from rag_pilot.errors import PilotError
from rag_pilot.answering.answerer import Reply
from rag_pilot.evaluation import run_eval
from rag_pilot.records import Question
from rag_pilot.settings import AnswerTable

class Passages:
    def search(self, question, groups, k=5):
        return [{{"id": "leave#1", "doc": "leave", "text": "25 days"}}]

questions = [Question(f"q{{n}}", f"how long {{n}}?", "25 days", "leave") for n in range({COUNT})]
model = chat_model(AnswerTable(kind="model", model="tiny", base_url=sys.argv[1], key_variable="PILOT_TEST_KEY"))
try:
    run = run_eval(questions, Passages(), model, threads={THREADS}, folder=Path(sys.argv[2]))
except KeyboardInterrupt:
    sys.exit("interrupted")
print(json.dumps(dict(run.info)))
"""


def start(endpoint: Endpoint, folder: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", SCRIPT, endpoint.url, str(folder)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, "TQDM_DISABLE": "1"}
    )


def wait_for_calls(endpoint: Endpoint, count: int) -> None:
    for _ in range(3000):
        if len(endpoint.calls) >= count:
            return
        time.sleep(0.01)
    raise AssertionError(f"{len(endpoint.calls)} calls after 30 seconds; expected {count}")


def asked(endpoint: Endpoint) -> list[str]:
    return [call["messages"][0]["content"].rpartition("Question: ")[2] for call in endpoint.calls]


@pytest.mark.parametrize("sent", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_a_run_that_is_killed_or_interrupted_loses_at_most_the_calls_in_flight(
    endpoint: Endpoint, tmp_path: Path, sent: signal.Signals
) -> None:
    endpoint.says("25 days [1]", tokens=(0, 0))
    endpoint.wait = 0.1
    running = start(endpoint, tmp_path / "run")
    wait_for_calls(endpoint, 22)
    running.send_signal(sent)
    _, told = running.communicate(timeout=40)
    assert running.returncode == (-9 if sent == signal.SIGKILL else 1)
    if sent == signal.SIGINT:
        assert told.strip() == "interrupted"
    time.sleep(0.2)
    before = len(endpoint.calls)
    assert before < COUNT
    going_on = start(endpoint, tmp_path / "run")
    told, fault = going_on.communicate(timeout=60)
    assert going_on.returncode == 0, fault
    info = json.loads(told)
    assert (info["complete"], info["answered"]) == (True, COUNT)
    assert set(asked(endpoint)) == {f"how long {n}?" for n in range(COUNT)}
    again = len(endpoint.calls) - COUNT
    assert again <= (THREADS if sent == signal.SIGKILL else 0)  # what an interrupt finds in flight comes in and is kept
    lines = (tmp_path / "run" / "answers.jsonl").read_text().splitlines()
    assert len({json.loads(line)["question_id"] for line in lines}) == len(lines) == COUNT


def test_an_interrupt_does_not_wait_for_a_pause_that_the_endpoint_asked_for(endpoint: Endpoint, tmp_path: Path) -> None:
    busy = (429, {"error": {"message": "slow down"}}, {"retry-after": "50"})
    endpoint.steps = [(200, completion("25 days [1]"), {})] * 6 + [busy] * 60
    running = start(endpoint, tmp_path / "run")
    wait_for_calls(endpoint, 7)
    time.sleep(0.3)
    started = time.monotonic()
    running.send_signal(signal.SIGINT)
    running.communicate(timeout=40)
    assert time.monotonic() - started < 20
    assert (tmp_path / "run" / "answers.jsonl").read_text().count('"answered"') == 6


def test_the_cause_of_a_stop_is_told_and_not_that_others_were_halted_by_it() -> None:
    def model(prompt: Any) -> Reply:
        if prompt.question == "0?":
            raise HaltedError("not asked: the run was stopped")
        time.sleep(0.2)
        raise RunStoppedError("bad key")

    questions = [Question(f"q{n}", f"{n}?", "25 days", "leave") for n in range(3)]
    with pytest.raises(RunStoppedError, match="bad key"):
        run_eval(questions, Passages(), model, threads=2)


# -- a server that is gone ---------------------------------------------------------------------------------------------

FINE: Step = (200, completion("25 days [1]", tokens=(0, 0)), {})
CUT: Step = (0, b"", {})


def forty() -> list[Question]:
    return [Question(f"q{n}", f"how long {n}?", "25 days", "leave") for n in range(40)]


def dying(endpoint: Endpoint, after: int, how: str) -> Callable[[dict[str, Any]], Step]:
    """Replies to so many calls; then every connection is cut, or nobody listens any more."""

    def decide(sent: dict[str, Any]) -> Step:
        if how == "refused" and len(endpoint.calls) == after:
            Thread(target=endpoint.close).start()
        return FINE if len(endpoint.calls) <= after else CUT

    return decide


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("how", ["cut", "refused"])
def test_a_server_that_dies_ends_the_run_soon_and_what_was_finished_is_kept(
    endpoint: Endpoint, tmp_path: Path, how: str, threads: int
) -> None:
    dead = Endpoint()
    dead.decide = dying(dead, 6, how)
    model = chat_model(dead.table(retry_seconds=0.1))
    started = time.monotonic()
    with pytest.raises(RunStoppedError, match=r"3 calls in a row did not reach the server: .*is a server running") as f:
        run_eval(forty(), Passages(), model, threads=threads, folder=tmp_path / "run")
    assert time.monotonic() - started < 2 * 3.1  # the waits of one call: .1 + .2 + .4 + .8 + 1.6
    told = str(f.value)
    kept = int(re.search(r"The run stops with (\d+) of 40 answers: they are kept", told)[1])
    assert "\n" not in told and 5 <= kept <= 10  # a few calls may be on their way when the server goes
    if how == "cut":
        dead.close()
        assert kept == 6
    if (how, threads) == ("cut", 1):
        assert len(dead.calls) == 6 + 6 + 2 + 2
    endpoint.decide = lambda _: FINE
    run = run_eval(forty(), Passages(), endpoint.model, threads=threads, folder=tmp_path / "run")
    assert (run.info["complete"], run.info["answered"], len(endpoint.calls)) == (True, 40, 40 - kept)


def test_calls_that_are_cut_among_others_that_come_through_stop_nothing(endpoint: Endpoint) -> None:
    endpoint.decide = lambda _: FINE if len(endpoint.calls) % 3 == 0 else CUT  # two of three, and none asked again
    run = run_eval(forty(), Passages(), chat_model(endpoint.table(retries=0)))
    assert (run.info["answered"], run.errors, len(endpoint.calls)) == (13, 27, 40)


def test_after_one_call_that_reached_nobody_the_next_is_made_again_once_and_then_as_ever(endpoint: Endpoint) -> None:
    endpoint.steps = [CUT, CUT, CUT, CUT, FINE, CUT, CUT, FINE]
    model = chat_model(endpoint.table(retries=2))
    with pytest.raises(ModelError, match="asked 3 times") as fault:
        model("first")
    assert not isinstance(fault.value, RunStoppedError)
    assert (model("second"), model("third"), len(endpoint.calls)) == ("25 days [1]", "25 days [1]", 8)


def test_a_server_that_replies_however_badly_is_there(endpoint: Endpoint) -> None:
    endpoint.decide = lambda _: (500, {}, {}) if len(endpoint.calls) % 3 == 0 else CUT
    run = run_eval(forty(), Passages(), chat_model(endpoint.table(retries=0)))
    assert run.errors == 40


def test_a_host_that_never_takes_the_connection_is_one_that_was_not_reached(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rag_pilot.answering.calls.CONNECT_SECONDS", 0.1)
    with ExitStack() as open_, socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        for _ in range(3):  # more than it takes; what follows waits at the door
            waiting = open_.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(full.getsockname())
        model = chat_model(endpoint.table(base_url=f"http://127.0.0.1:{full.getsockname()[1]}/v1", retries=0))
        started = time.monotonic()
        with pytest.raises(RunStoppedError, match="3 calls in a row did not reach the server"):
            run_eval(forty(), Passages(), model)
        assert time.monotonic() - started < 3  # not three times the timeout, which is for the reply


@pytest.mark.parametrize(("finish", "reason"), [("length", "truncated"), ("content_filter", "filtered")])
def test_filtered_or_truncated_twice_is_final_and_the_run_complete(
    endpoint: Endpoint, tmp_path: Path, finish: str, reason: str
) -> None:
    endpoint.says("You have 14 da", finish)
    questions = [Question("q1", "how long?", "25 days", "leave")]
    runs = [run_eval(questions, Passages(), endpoint.model, folder=tmp_path / "run") for _ in range(3)]
    assert [run.info["complete"] for run in runs] == [False, True, True]
    assert [run.info["final_errors"] for run in runs] == [0, 1, 1]
    assert reason in str(runs[2].answers["q1"].reason)
    assert (runs[2].info["error"], runs[2].verdicts) == (1, {})
    assert len(endpoint.calls) == 2


def test_other_errors_are_asked_again_however_often_they_come(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.says("", "stop")
    questions = [Question("q1", "how long?", "25 days", "leave")]
    for _ in range(3):
        assert not run_eval(questions, Passages(), endpoint.model, folder=tmp_path / "run").info["complete"]
    assert len(endpoint.calls) == 3


def test_the_bar_tells_done_errors_tokens_cost_and_time_left(
    endpoint: Endpoint, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    endpoint.says("25 days [1]", tokens=(990, 10))
    endpoint.steps = [(400, {"error": {"message": "odd"}}, {})] * 2
    endpoint.wait = 0.06
    questions = [Question(f"q{n}", f"{n}?", "25 days", "leave") for n in range(30)]
    cost = partial(paid_so_far, CostTable(currency="EUR", input_per_million=1000.0, output_per_million=1000.0))
    run_eval(questions, Passages(), endpoint.model, threads=2, cost=cost)
    shown = capfd.readouterr().err
    assert "2 in error, " in shown
    assert " tokens, " in shown
    assert " EUR" in shown
    assert any(f"{n}/30 [" in shown and "<" in shown for n in range(5, 30))
    last = [part for part in shown.split("\r") if "tokens" in part][-1]
    count = int(last.partition("/30")[0].split()[-1])
    paid = re.search(r"([\d,]+) tokens", last)[1]
    assert int(paid.replace(",", "")) in range(1000 * (count - 6), 1000 * (count + 1), 1000)  # the bar lags a little


def test_the_bar_tells_what_who_rewrites_and_who_grades_cost_too(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    questions = [Question(f"q{n}", f"how long is {n}?", "25 days", "leave") for n in range(30)]

    def told(text: str) -> Callable[[str], Reply]:
        def model(prompt: str) -> Reply:
            time.sleep(0.02)
            return Reply(text, model="tiny", tokens_in=9_000, tokens_out=1_000, reused=False)

        return model

    class Rewritten(Passages):
        rewrite = Rewriter(told("length of leave"))

    prices = {"input_per_million": 1.0, "output_per_million": 2.0, "rewrite_input_per_million": 10.0}
    prices |= {"rewrite_output_per_million": 20.0, "judge_input_per_million": 100.0, "judge_output_per_million": 200.0}
    cost = partial(paid_so_far, CostTable(currency="EUR", **prices))
    judge = model_judge(told('{"reason": "same", "label": "correct"}'))
    run_eval(questions, Rewritten(), told("25 days [1]"), judge, cost=cost)
    shown = capfd.readouterr().err
    said = re.findall(r"(answers|grades).*?([\d,]+) tokens, ([\d.]+) EUR", shown)
    for bar, each in (("answers", (0, 0.011 + 0.11)), ("grades", (30, 1.1))):
        tokens, money = next((int(t.replace(",", "")), float(m)) for b, t, m in reversed(said) if b == bar)
        count = tokens / 10_000 - 2 * each[0] if bar == "grades" else tokens / 20_000
        assert count > 20
        assert money == pytest.approx(each[0] * (0.011 + 0.11) + count * each[1], abs=0.006)


def test_what_was_kept_costs_nothing_in_the_bar(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    questions = [Question(f"q{n}", f"{n}?", "25 days", "leave") for n in range(30)]

    def model(prompt: Any) -> Reply:
        time.sleep(0.06)
        return Reply("25 days [1]", model="tiny", tokens_in=990, tokens_out=10, reused=prompt.question != "3?")

    run_eval(questions, Passages(), model, cost=partial(paid_so_far, CostTable(currency="EUR")))
    shown = capfd.readouterr().err
    assert "1,000 tokens, 0.00 EUR" in shown or "1,000 tokens, 0.01 EUR" in shown
    assert ",000 tokens" not in shown.replace("1,000 tokens", "")
