import itertools
import json
import socket
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.utils import formatdate
from pathlib import Path
from typing import Any

import httpx
import openai
import pytest
from endpoint import KEY, Endpoint, Passages, Step, completion

from rag_pilot.answering.answerer import Reply
from rag_pilot.answering.client import PADDING, ChatModel, chat_model
from rag_pilot.answering.faults import read_fault
from rag_pilot.answering.pacing import Pace
from rag_pilot.answering.remembered import Remembered, remembered
from rag_pilot.errors import ModelError, RunStoppedError
from rag_pilot.evaluation import run_eval
from rag_pilot.grading.judge import SHAPE, model_judge, read_label
from rag_pilot.records import Question
from rag_pilot.retrieval.replies import Replies
from rag_pilot.settings import AnswerTable

# -- a reply -----------------------------------------------------------------------------------------------------------


def test_a_reply_is_a_text_that_carries_what_the_endpoint_said_of_itself(endpoint: Endpoint) -> None:
    endpoint.says("25 days [1].")
    reply = chat_model(endpoint.table(temperature=0.5, max_tokens=77))("how long?")
    assert (reply, reply.model, reply.tokens_in, reply.tokens_out, reply.finish) == (
        "25 days [1].",
        "tiny-2026-01",
        40,
        9,
        "stop",
    )
    assert 0 < reply.seconds < 5
    (call,) = endpoint.calls
    assert (call["path"], call["key"], call["model"]) == ("/v1/chat/completions", f"Bearer {KEY}", "tiny")
    assert (call["temperature"], call["max_tokens"]) == (0.5, 77)
    assert call["messages"] == [{"role": "user", "content": "how long?"}]


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ("<think>Is it 14?</think>\n25 days [1]", "25 days [1]"),
        ("It may be 14. [3]\n</think>\n25 days [1]", "25 days [1]"),
        ("<think>a</think><think>b</think> NOT_FOUND ", "NOT_FOUND"),
        ("  25 days [1]\n", "25 days [1]"),
    ],
)
def test_of_a_reasoning_model_only_what_follows_its_thoughts_is_the_answer(
    endpoint: Endpoint, said: str, kept: str
) -> None:
    endpoint.says(said)
    assert endpoint.model("how long?") == kept


@pytest.mark.parametrize(
    "usage",
    [None, {}, {"prompt_tokens": None, "completion_tokens": None}, {"prompt_tokens": 0, "completion_tokens": 0}],
)
def test_what_an_endpoint_does_not_say_is_nothing_and_no_crash(endpoint: Endpoint, usage: Any) -> None:
    endpoint.gives({"model": None, "choices": [{"message": {"content": "Yes [1]"}}], "usage": usage})
    reply = endpoint.model("how long?")
    assert (reply, reply.model, reply.tokens_in, reply.tokens_out, reply.finish) == ("Yes [1]", "", 0, 0, "")


# -- what is no reply --------------------------------------------------------------------------------------------------

SAYS: list[tuple[Any, str | None, dict[str, Any], str]] = [
    (None, "stop", {}, "no reply"),
    ("", "stop", {}, "no reply"),
    ("  \n", "stop", {}, "no reply"),
    (None, "tool_calls", {"tool_calls": []}, "no reply"),
    (["25 days [1]"], "stop", {}, "no reply"),
    (None, "content_filter", {}, "filtered"),
    ("I was going to", "content_filter", {}, "filtered"),
    ("You have 14 da", "length", {}, "truncated: raise max_tokens"),
    ("25 days [1]. And", "length", {}, "truncated: raise max_tokens"),
    ("<think>still think", "length", {}, "truncated: raise max_tokens"),
    ("<think>correct? NOT_FOUND [1]", "stop", {}, "no answer"),
    ("<think>a</think> no, <think>wait [1]", "stop", {}, "no answer"),
    ("<think>25 days [1]</think>", "stop", {}, "no answer"),
    ("", "stop", {"reasoning_content": "It is 25 days [1]"}, "no answer"),
]


@pytest.mark.parametrize(("content", "finish", "more", "cause"), SAYS)
def test_a_reply_without_a_whole_text_is_an_error_with_its_cause(
    endpoint: Endpoint, content: Any, finish: str | None, more: dict[str, Any], cause: str
) -> None:
    endpoint.says(content, finish, **more)
    with pytest.raises(ModelError) as fault:
        endpoint.model("how long?")
    assert str(fault.value).startswith(cause)
    assert len(endpoint.calls) == 1


@pytest.mark.parametrize(
    ("status", "body", "cause"),
    [
        (200, {"choices": []}, "no reply"),
        (200, {"choices": None}, "no reply"),
        (200, {"choices": [{"message": None}]}, "no reply"),
        (200, {"choices": [{"message": {}}]}, "no reply"),
        (200, {"choices": [None]}, "AttributeError"),
        (200, {}, "no reply"),
        (200, {"error": {"message": "model is loading"}}, "model is loading"),
        (200, [], "expected a chat completion"),
        (200, b"<html>Sign in</html>", "Sign in</html>', expected a chat completion; check base_url"),
        (200, b"{half", "JSONDecodeError"),
        (200, b"", "JSONDecodeError"),
        (400, {"error": {"message": "against our policy", "code": "content_filter"}}, "filtered"),
        (400, {"error": {"message": "context length is 4096"}}, "context length is 4096"),
        (401, {"error": {"message": "bad key"}}, "AuthenticationError"),
        (403, {"error": {"message": "no access"}}, "PermissionDeniedError"),
        (404, {"error": {"message": "no model tiny"}}, "no model tiny"),
        (429, {"error": {"message": "pay first", "code": "insufficient_quota"}}, "pay first"),
        (500, {}, "InternalServerError"),
    ],
)
def test_whatever_else_comes_back_is_one_call_and_one_line_of_cause_where_nothing_is_retried(
    endpoint: Endpoint, status: int, body: Any, cause: str
) -> None:
    endpoint.status, endpoint.body = status, body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(ModelError) as fault:
        chat_model(endpoint.table(retries=0))("how long?")
    assert cause in str(fault.value)
    assert "\n" not in str(fault.value)
    assert len(endpoint.calls) == 1


def test_a_model_that_takes_too_long_or_is_not_there_is_an_error(endpoint: Endpoint) -> None:
    endpoint.says("25 days [1]")
    endpoint.wait = 0.6
    with pytest.raises(ModelError, match="APITimeoutError"):
        chat_model(endpoint.table(timeout=0.1, retries=0))("how long?")
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ModelError, match="APIConnectionError"):
        chat_model(endpoint.table(base_url=url, retries=0))("how long?")


# -- the key -----------------------------------------------------------------------------------------------------------


def test_a_missing_key_is_said_at_once_unless_the_server_is_ones_own(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PILOT_TEST_KEY")
    with pytest.raises(ModelError, match="environment variable PILOT_TEST_KEY"):
        chat_model(endpoint.table(base_url=""))
    endpoint.says("25 days [1]")
    assert chat_model(endpoint.table())("how long?") == "25 days [1]"


def test_a_line_end_after_the_key_does_not_matter(endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PILOT_TEST_KEY", KEY + "\n")
    endpoint.says("25 days [1]")
    chat_model(endpoint.table())("how long?")
    assert endpoint.calls[0]["key"] == f"Bearer {KEY}"


@pytest.mark.parametrize("before", [0, *range(225, 300, 15)])
def test_the_key_stands_in_no_text_of_an_exception_wherever_the_line_is_cut(endpoint: Endpoint, before: int) -> None:
    endpoint.gives({"error": {"message": f"{'x' * before} you sent {KEY} as key"}}, 401)
    with pytest.raises(ModelError) as fault:
        endpoint.model("how long?")
    told = "".join(traceback.format_exception(fault.value)) + repr(fault.value) + repr(fault.value.__context__)
    assert not any(KEY[:n] in told for n in range(6, len(KEY) + 1))


@pytest.mark.parametrize("status", [400, 401, 429, 500])
def test_the_key_stands_in_no_file_log_or_message_of_a_run(
    endpoint: Endpoint,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    status: int,
) -> None:
    caplog.set_level(0)
    endpoint.gives({"error": {"message": f"{KEY} is no key: Bearer {KEY}"}}, status)
    table = endpoint.table(retries=2)
    questions = [Question(f"q{n}", "how long?", "25 days", "leave") for n in range(3)]
    store = Replies(tmp_path / "cache" / "answer.sqlite", table.asked_by)
    model, info = Remembered(ChatModel(table), store), {"config": table.model_dump(mode="json")}
    said = ""
    if status in (401, 429):
        with pytest.raises(RunStoppedError) as fault:
            run_eval(questions, Passages(), model, folder=tmp_path / "run", info=info, threads=2)
        said = "".join(traceback.format_exception(fault.value))
    else:
        run = run_eval(questions, Passages(), model, folder=tmp_path / "run", info=info)
        assert (run.errors, run.labels["error"], run.info["error"]) == (3, 3, 3)
        said = str(run.answers)
    files = "".join(p.read_bytes().decode("latin-1") for p in tmp_path.rglob("*") if p.is_file())
    told = said + files + caplog.text + "".join(capfd.readouterr())
    assert "is no key: Bearer ***" in told
    assert KEY not in told


@pytest.mark.parametrize(("content", "finish", "more", "cause"), SAYS)
def test_in_a_run_a_reply_without_a_text_is_neither_declined_nor_wrong(
    endpoint: Endpoint, content: Any, finish: str | None, more: dict[str, Any], cause: str
) -> None:
    endpoint.says(content, finish, **more)
    questions = [Question("q1", "how long?", "25 days", "leave"), Question("q2", "who?", answerable=False)]
    run = run_eval(questions, Passages(), endpoint.model, lambda *_: "wrong")
    assert dict(run.labels) == {"error": 2}
    assert run.verdicts == {}
    assert all(cause in (a.reason or "") for a in run.answers.values())
    assert (run.info["complete"], run.found) == (False, (0, 0))


# -- what is asked again -----------------------------------------------------------------------------------------------

FINE = (200, completion("25 days [1]"), {})
AGAIN: list[Step] = [
    (500, {}, {}),
    (503, {"error": {"message": "overloaded"}}, {}),
    (408, {}, {}),
    (0, b"", {}),
    (-1, completion("25 days [1]"), {}),
    (200, b'{"half', {}),
    (200, b"", {}),
    (200, {"error": {"message": "model is loading"}}, {}),
]


@pytest.mark.parametrize("step", AGAIN, ids=lambda step: f"{step[0]}-{str(step[1])[:12]}")
def test_what_the_next_call_may_mend_is_asked_again(endpoint: Endpoint, step: Step) -> None:
    endpoint.steps = [step, step, FINE]
    assert endpoint.model("how long?") == "25 days [1]"
    assert len(endpoint.calls) == 3


@pytest.mark.parametrize("step", AGAIN[:1] + AGAIN[3:6], ids=lambda step: f"{step[0]}-{str(step[1])[:12]}")
def test_it_is_asked_again_a_bounded_number_of_times_with_growing_waits(endpoint: Endpoint, step: Step) -> None:
    endpoint.decide = lambda _: step
    with pytest.raises(ModelError, match="asked 4 times$") as fault:
        chat_model(endpoint.table(retries=3, retry_seconds=0.1))("how long?")
    assert not isinstance(fault.value, RunStoppedError)
    at = [call["at"] for call in endpoint.calls]
    waits = [later - earlier for earlier, later in itertools.pairwise(at)]
    assert [0.1 <= waits[0] < 0.2, 0.2 <= waits[1] < 0.4, 0.4 <= waits[2] < 0.8] == [True] * 3


def test_a_call_that_takes_too_long_is_asked_again(endpoint: Endpoint) -> None:
    endpoint.says("25 days [1]")
    endpoint.wait = 0.4
    with pytest.raises(ModelError, match="timeout is 0.1 s.*asked 3 times"):
        chat_model(endpoint.table(timeout=0.1, retries=2))("how long?")
    assert len(endpoint.calls) == 3


def test_what_no_second_call_mends_is_asked_once(endpoint: Endpoint) -> None:
    endpoint.gives({"error": {"message": "context length is 4096"}}, 400)
    with pytest.raises(ModelError, match="context length"):
        endpoint.model("how long?")
    assert len(endpoint.calls) == 1


# -- too many requests -------------------------------------------------------------------------------------------------


def many(model: Callable[[str], Reply], count: int, threads: int) -> list[Reply | Exception]:
    def ask(number: int) -> Reply | Exception:
        try:
            return model(f"question {number}")
        except ModelError as fault:
            return fault

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(ask, range(count)))


def test_one_pause_is_shared_by_all_threads_and_shown_once(
    endpoint: Endpoint, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TQDM_DISABLE", raising=False)
    endpoint.wait = 0.6  # so that whoever is refused was on the way before anybody knew of it
    busy: Step = (429, {"error": {"message": "slow down"}}, {"retry-after": "3"})
    refused: list[float] = []

    def decide(sent: dict[str, Any]) -> Step:
        now = time.monotonic()
        if len(endpoint.calls) > 8 and (not refused or now < refused[0] + 0.4):
            refused.append(now)
            return busy
        return FINE

    endpoint.decide = decide
    got = many(endpoint.model, 24, threads=6)
    assert got == ["25 days [1]"] * 24
    assert len(refused) > 1 and len(endpoint.calls) == 24 + len(refused)
    at = sorted(call["at"] for call in endpoint.calls)
    (long,) = [later - earlier for earlier, later in itertools.pairwise(at) if later - earlier > 1.5]
    assert 2 < long < 8  # nobody asked meanwhile, and all went on after one pause
    assert capfd.readouterr().err.count("too many requests: all calls wait 3 s") == 1


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        ("1", 1.0),
        ("0.5", 0.5),
        ("0", 0.02),
        ("soon", 0.02),
        ("", 0.02),
        ("-3", 0.02),
        ("9000", 60.0),
        (lambda: formatdate(time.time() + 20, usegmt=True), 20.0),
        (lambda: formatdate(time.time() + 9000, usegmt=True), 60.0),
        (lambda: formatdate(time.time() - 50, usegmt=True), 0.02),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date_and_capped(header: Any, seconds: float) -> None:
    value = header() if callable(header) else header
    response = httpx.Response(429, headers={"retry-after": value}, request=httpx.Request("POST", "http://x"))
    error = openai.RateLimitError("slow down", response=response, body=None)
    fault = read_fault(error, KEY, AnswerTable(kind="model", model="m"))
    pace = Pace()
    assert fault.then == "pause"
    assert pace.pause(pace.wait(1, 0), fault.after, 0.02, 0) == pytest.approx(
        seconds, abs=1.1 if seconds == 20 else 0.001
    )


def test_pauses_grow_until_the_run_stops_where_no_call_comes_through(endpoint: Endpoint) -> None:
    endpoint.gives({"error": {"message": "per day: 200"}}, 429)
    with pytest.raises(RunStoppedError, match="after 3 pauses .* refuses every call: .*per day: 200"):
        chat_model(endpoint.table(retries=3, retry_seconds=0.05))("how long?")
    at = [call["at"] for call in endpoint.calls]
    waits = [later - earlier for earlier, later in itertools.pairwise(at)]
    assert len(waits) == 3
    assert all(later > 1.5 * earlier for earlier, later in itertools.pairwise(waits))


def test_however_often_others_are_refused_a_call_is_not_lost_while_some_come_through(endpoint: Endpoint) -> None:
    busy = (429, {"error": {"message": "slow down"}}, {"retry-after": "0"})
    endpoint.says("25 days [1]")
    endpoint.steps = [FINE, busy, busy] * 20
    assert many(chat_model(endpoint.table(retries=2)), 40, threads=4) == ["25 days [1]"] * 40


# -- what ends a run ---------------------------------------------------------------------------------------------------

STOPS = [
    (401, {"error": {"message": "bad key"}}, "bad key.*PILOT_TEST_KEY"),
    (402, {"error": {"message": "Insufficient Balance"}}, "Insufficient Balance"),
    (403, {"error": {"message": "no access to it"}}, "no access to it"),
    (404, {"error": {"message": "no model tiny"}}, "no model tiny.*deployment"),
    (429, {"error": {"message": "You exceeded your quota", "code": "insufficient_quota"}}, "You exceeded your quota"),
    (429, {"error": {"message": "You exceeded your quota", "type": "insufficient_quota"}}, "You exceeded your quota"),
]


@pytest.mark.parametrize(("status", "body", "cause"), STOPS)
def test_what_every_call_would_meet_ends_the_run_at_once_and_what_was_finished_is_kept(
    endpoint: Endpoint, tmp_path: Path, status: int, body: Any, cause: str
) -> None:
    endpoint.says("25 days [1]", tokens=(0, 0))
    endpoint.steps = [FINE] * 5 + [(status, body, {})] * 100
    endpoint.wait = 0.02
    questions = [Question(f"q{n}", f"how long {n}?", "25 days", "leave") for n in range(40)]
    with pytest.raises(RunStoppedError, match=cause) as fault:
        run_eval(questions, Passages(), endpoint.model, threads=4, folder=tmp_path / "run")
    assert "The run stops with 5 of 40 answers: they are kept" in str(fault.value)
    assert "\n" not in str(fault.value)
    assert len(endpoint.calls) <= 5 + 2 * 4
    assert (tmp_path / "run" / "answers.jsonl").read_text().count('"answered"') == 5
    endpoint.steps, before = [], len(endpoint.calls)
    run = run_eval(questions, Passages(), endpoint.model, threads=4, folder=tmp_path / "run")
    assert (run.info["complete"], run.info["answered"], len(endpoint.calls) - before) == (True, 40, 35)


def test_the_judges_refusal_ends_the_run_too_and_the_answers_are_kept(endpoint: Endpoint, tmp_path: Path) -> None:
    questions = [Question(f"q{n}", "how long?", "25 days", "leave") for n in range(3)]
    endpoint.gives({"error": {"message": "bad key"}}, 401)
    with pytest.raises(RunStoppedError, match="bad key.*3 of 3 answers: they are kept"):
        run_eval(questions, Passages(), lambda _: "25 [1]", model_judge(endpoint.model), folder=tmp_path / "run")
    endpoint.says('{"reason": "same", "label": "correct"}')
    asked: list[str] = []
    judge = model_judge(endpoint.model)
    run = run_eval(questions, Passages(), asked.append, judge, folder=tmp_path / "run", judges=3)
    assert (asked, run.labels["correct"]) == ([], 3)


def test_calls_that_wait_are_given_up_when_the_run_ends(endpoint: Endpoint) -> None:
    busy = (429, {"error": {"message": "slow down"}}, {"retry-after": "50"})
    endpoint.steps = [FINE, busy, (401, {"error": {"message": "bad key"}}, {})]
    endpoint.model("how long?")  # the first call of a client takes its time
    endpoint.wait = 1.0
    questions = [Question(f"q{n}", f"{n}?", "25 days", "leave") for n in range(10)]
    started = time.monotonic()
    with pytest.raises(RunStoppedError, match="bad key"):
        run_eval(questions, Passages(), endpoint.model, threads=2)
    endpoint.says("25 days [1]")
    assert endpoint.model("how long?") == "25 days [1]"  # the same client serves the next run, which waits for nothing
    assert time.monotonic() - started < 25


# -- what an endpoint refuses of a call --------------------------------------------------------------------------------


def refusing(temperature_only_1: bool = True) -> Callable[[dict[str, Any]], Step]:
    """An endpoint that wants max_completion_tokens, and takes no temperature but 1."""

    def decide(sent: dict[str, Any]) -> Step:
        for parameter, refused in {
            "max_tokens": "max_tokens" in sent,
            "temperature": temperature_only_1 and sent.get("temperature", 1) != 1,
        }.items():
            if refused:
                said = {"message": f"Unsupported: {parameter!r}", "param": parameter, "code": "unsupported_parameter"}
                return 400, {"error": said}, {}
        return FINE

    return decide


def test_a_refused_parameter_is_done_without_once_remembered_and_recorded(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = refusing()
    questions = [Question(f"q{n}", f"{n}?", "25 days", "leave") for n in range(12)]
    run = run_eval(questions, Passages(), endpoint.model, folder=tmp_path / "run", threads=3)
    assert (run.info["answered"], run.info["not_applied"]) == (12, ["temperature"])
    assert len(endpoint.calls) <= 12 + 2 * 3
    sent = endpoint.calls[-1]
    assert (sent["max_completion_tokens"], "max_tokens" in sent, "temperature" in sent) == (600, False, False)
    assert json.loads((tmp_path / "run" / "run.json").read_text())["not_applied"] == ["temperature"]


def test_what_is_refused_of_the_judges_calls_stands_in_the_run_too(endpoint: Endpoint, tmp_path: Path) -> None:
    questions = [Question("q1", "how long?", "25 days", "leave")]
    refuse = refusing()

    def decide(sent: dict[str, Any]) -> Step:
        step = refuse(sent)
        return step if step[0] == 400 else (200, completion('{"reason": "same", "label": "correct"}'), {})

    endpoint.decide = decide
    run_eval(questions, Passages(), lambda _: "25 days [1]", model_judge(endpoint.model), folder=tmp_path / "run")
    told = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (told["not_applied"], told["judge_not_applied"]) == ([], ["temperature"])


@pytest.mark.parametrize(
    "said", [{"param": "response_format"}, {"message": "'response_format' of type 'json_schema' is not supported"}]
)
def test_a_reply_is_asked_for_in_its_shape_and_without_it_where_that_is_refused(
    endpoint: Endpoint, tmp_path: Path, said: dict[str, str]
) -> None:
    reply = completion('{"reason": "25 days in both", "label": "correct"}')
    judge = model_judge(remembered(endpoint.table(), tmp_path, "judge", read_label, SHAPE))
    endpoint.steps = [(200, reply, {})]
    assert judge("how long?", "25 days", "25 days [1]").label == "correct"
    assert endpoint.calls[0]["response_format"]["json_schema"]["schema"] == SHAPE
    endpoint.steps = [(400, {"error": {"message": "no", **said}}, {}), (200, reply, {}), (200, reply, {})]
    judge = model_judge(remembered(endpoint.table(repeat=2), tmp_path, "judge", read_label, SHAPE))
    assert [judge(q, "25 days", "25 days [1]").label for q in ("how long?", "long?")] == ["correct"] * 2
    assert ["response_format" in sent for sent in endpoint.calls[1:]] == [True, False, False]
    assert ChatModel(endpoint.table()).not_applied == ()


def test_max_completion_tokens_in_place_of_max_tokens_changes_no_claim(endpoint: Endpoint) -> None:
    endpoint.decide = refusing(temperature_only_1=False)
    reply = endpoint.model("how long?")
    assert reply.not_applied == ()
    assert endpoint.calls[-1]["temperature"] == 0


@pytest.mark.parametrize("parameter", ["max_tokens", "temperature"])
def test_a_parameter_that_is_refused_though_it_was_not_sent_is_an_error(endpoint: Endpoint, parameter: str) -> None:
    endpoint.gives({"error": {"message": f"{parameter} is odd", "param": parameter}}, 400)
    with pytest.raises(ModelError, match="is odd"):
        endpoint.model("how long?")
    assert len(endpoint.calls) == 2


# -- a prompt that is cut ----------------------------------------------------------------------------------------------

LONG = "word " * 6900  # about 9,000 tokens of ordinary text
MIDDLE = "word " * 1600


def reading(most: int, per_word: float = 1.3, out: int = 9) -> Callable[[dict[str, Any]], Step]:
    """A server that reads at most so many tokens of a prompt."""

    def decide(sent: dict[str, Any]) -> Step:
        count = round(per_word * len(sent["messages"][0]["content"].split()))
        return 200, completion("25 days [1]", tokens=(min(count, most), out)), {}

    return decide


@pytest.mark.parametrize(
    ("prompt", "most", "out"),
    [(LONG, 4096, 9), (LONG, 2048, 9), (LONG, 8192, 9), (LONG, 4000, 96), (LONG, 3000, 9), (MIDDLE, 2048, 9)],
)
def test_a_server_that_cuts_prompts_ends_the_run_with_the_context_size(
    endpoint: Endpoint, prompt: str, most: int, out: int
) -> None:
    endpoint.decide = reading(most, out=out)
    size = most + out if out == 96 else most
    with pytest.raises(RunStoppedError, match=f"reads {size:,} tokens of a prompt of about .* context is too small"):
        endpoint.model(prompt)
    assert len(endpoint.calls) == 2


def test_a_count_that_is_a_contexts_size_by_chance_is_asked_once_more_and_stops_nothing(endpoint: Endpoint) -> None:
    endpoint.decide = reading(10**6, per_word=1.28)
    assert endpoint.model(MIDDLE) == "25 days [1]"  # 1600 words of 1.28 tokens: 2048
    assert [len(call["messages"][0]["content"].split()) for call in endpoint.calls] == [1600, 1700]


@pytest.mark.parametrize("count", [0, 40])
def test_a_short_prompt_or_a_server_that_counts_nothing_is_not_suspected(endpoint: Endpoint, count: int) -> None:
    endpoint.says("25 days [1]", tokens=(count, 9))
    assert endpoint.model("word " * (400 if count else 9000)) == "25 days [1]"
    assert len(endpoint.calls) == 1


def test_a_server_that_leaves_out_what_it_had_kept_is_not_suspected_for_ever(endpoint: Endpoint) -> None:
    seen: set[str] = set()

    def decide(sent: dict[str, Any]) -> Step:
        text = sent["messages"][0]["content"]
        count, known = len(text.split()), text[:50] in seen
        seen.add(text[:50])
        return 200, completion("25 days [1]", tokens=(5 if known else count, 9)), {}

    endpoint.decide = decide
    for _ in range(6):
        seen.discard(PADDING[:50])
        assert endpoint.model(LONG) == "25 days [1]"
    assert len(endpoint.calls) == 6 + 3
