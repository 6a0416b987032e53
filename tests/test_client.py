import json
import socket
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rag_pilot.answering.answerer import Reply
from rag_pilot.answering.client import chat_model
from rag_pilot.errors import ModelError
from rag_pilot.evaluation import run_eval
from rag_pilot.records import Question
from rag_pilot.settings import AnswerTable

KEY = "sk-proj-Zq81-very-secret-0042"


class Endpoint:
    """A model's address on this machine: it answers every call with `status` and `body` and notes what it was sent."""

    def __init__(self) -> None:
        endpoint = self
        self.status, self.body, self.wait = 200, b"", 0.0
        self.calls: list[dict[str, Any]] = []

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
                endpoint.calls.append({"path": self.path, "key": self.headers["authorization"], **sent})
                time.sleep(endpoint.wait)
                kind = "text/html" if endpoint.body.startswith(b"<") else "application/json"
                self.send_response(endpoint.status)
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(endpoint.body)))
                self.end_headers()
                self.wfile.write(endpoint.body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def gives(self, row: Any, status: int = 200) -> None:
        self.body, self.status = json.dumps(row).encode(), status

    def says(self, content: Any, finish: str | None = "stop", **more: Any) -> None:
        message = {"role": "assistant", "content": content, **more}
        self.gives(
            {
                "id": "1",
                "object": "chat.completion",
                "created": 1,
                "model": "tiny-2026-01",
                "choices": [{"index": 0, "message": message, "finish_reason": finish}],
                "usage": {"prompt_tokens": 40, "completion_tokens": 9, "total_tokens": 49},
            }
        )

    def table(self, **more: Any) -> AnswerTable:
        given = {"base_url": self.url, "model": "tiny", "key_variable": "PILOT_TEST_KEY", "timeout": 5.0, **more}
        return AnswerTable(kind="model", **given)

    @cached_property
    def model(self) -> Callable[[str], Reply]:
        return chat_model(self.table())

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture(scope="module")
def server() -> Iterator[Endpoint]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PILOT_TEST_KEY", KEY)
        patch.setenv("NO_PROXY", "127.0.0.1")
        running = Endpoint()
        yield running
        running.close()


@pytest.fixture
def endpoint(server: Endpoint) -> Endpoint:
    server.calls.clear()
    server.wait = 0.0
    return server


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
def test_whatever_else_comes_back_is_one_call_and_one_line_of_cause(
    endpoint: Endpoint, status: int, body: Any, cause: str
) -> None:
    endpoint.status, endpoint.body = status, body if isinstance(body, bytes) else json.dumps(body).encode()
    with pytest.raises(ModelError) as fault:
        endpoint.model("how long?")
    assert cause in str(fault.value)
    assert "\n" not in str(fault.value)
    assert len(endpoint.calls) == 1


def test_a_model_that_takes_too_long_or_is_not_there_is_an_error(endpoint: Endpoint) -> None:
    endpoint.says("25 days [1]")
    endpoint.wait = 0.6
    with pytest.raises(ModelError, match="APITimeoutError"):
        chat_model(endpoint.table(timeout=0.1))("how long?")
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(ModelError, match="APIConnectionError"):
        chat_model(endpoint.table(base_url=url))("how long?")


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


class Passages:
    def search(self, question: str, groups: Any, k: int = 5) -> list[dict[str, str]]:
        return [{"id": "leave#1", "doc": "leave", "text": "25 days"}]


def test_the_key_stands_in_no_file_of_a_run(
    endpoint: Endpoint, tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(0)
    endpoint.gives({"error": {"message": f"{KEY} is no key: Bearer {KEY}"}}, 401)
    table = endpoint.table()
    questions = [Question(f"q{n}", "how long?", "25 days", "leave") for n in range(3)]
    run = run_eval(
        questions,
        Passages(),
        chat_model(table),
        folder=tmp_path / "run",
        info={"config": table.model_dump(mode="json")},
    )
    assert (run.errors, run.labels["error"], run.info["error"]) == (3, 3, 3)
    told = "".join(p.read_text() for p in (tmp_path / "run").iterdir()) + caplog.text + "".join(capfd.readouterr())
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
