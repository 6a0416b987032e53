"""A model's address on this machine: a real HTTP server whose replies a test decides."""

import json
import threading
import time
from collections.abc import Callable
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from rag_pilot.answering.answerer import Reply
from rag_pilot.answering.client import chat_model
from rag_pilot.answering.start import CODE
from rag_pilot.retrieval.rewrite import INSTRUCTIONS
from rag_pilot.settings import AnswerTable

KEY = "sk-proj-Zq81-very-secret-0042"
Step = tuple[int, Any, dict[str, str]]
"""Status, body and headers of one reply; a status of 0 cuts the connection, of -1 in the middle of the body."""


def completion(content: Any, finish: str | None = "stop", tokens: tuple[int, int] = (40, 9), **more: Any) -> Any:
    """The body of a chat completion."""
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 1,
        "model": "tiny-2026-01",
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": content, **more}, "finish_reason": finish}
        ],
        "usage": {"prompt_tokens": tokens[0], "completion_tokens": tokens[1], "total_tokens": sum(tokens)},
    }


def kind_of(sent: dict[str, Any]) -> str:
    """Whose call it is: check, rewrite, answer or judge."""
    text = sent["messages"][0]["content"]
    if CODE in text:
        return "check"
    return "rewrite" if text.startswith(INSTRUCTIONS) else "judge" if "Expected answer" in text else "answer"


class Endpoint:
    """It answers every call with `status` and `body`, or first with `steps`, or as `decide` says of what was sent.

    `calls` are what it was sent, each with the moment `at` which it came.
    """

    def __init__(self) -> None:
        endpoint = self
        self.lock = threading.Lock()
        self.reset()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
                with endpoint.lock:
                    now = time.monotonic()
                    endpoint.calls.append({"path": self.path, "key": self.headers["authorization"], "at": now, **sent})
                    status, body, headers = endpoint.decide(sent)
                time.sleep(endpoint.wait)
                body = body if isinstance(body, bytes) else json.dumps(body).encode()
                if status == 0:
                    self.connection.close()
                    return
                self.send_response(200 if status == -1 else status)
                self.send_header("content-type", "text/html" if body.startswith(b"<") else "application/json")
                self.send_header("content-length", str(len(body)))
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body[: len(body) // 2] if status == -1 else body)

            def log_message(self, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 64

            def handle_error(self, *args: object) -> None:
                pass

        self.server = Server(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def reset(self) -> None:
        self.status, self.body, self.wait = 200, b"", 0.0
        self.calls: list[dict[str, Any]] = []
        self.steps: list[Step] = []
        self.decide: Callable[[dict[str, Any]], Step] = self.next_step
        self.__dict__.pop("model", None)

    def next_step(self, sent: dict[str, Any]) -> Step:
        return self.steps.pop(0) if self.steps else (self.status, self.body, {})

    def gives(self, row: Any, status: int = 200) -> None:
        self.body, self.status = json.dumps(row).encode(), status

    def says(self, content: Any, finish: str | None = "stop", **more: Any) -> None:
        self.gives(completion(content, finish, **more))

    def table(self, **more: Any) -> AnswerTable:
        given = {"base_url": self.url, "model": "tiny", "key_variable": "PILOT_TEST_KEY", "timeout": 5.0, **more}
        return AnswerTable(kind="model", **{"retry_seconds": 0.01, **given})

    @cached_property
    def model(self) -> Callable[[str], Reply]:
        return chat_model(self.table())

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


class Passages:
    """A retriever that always finds the same."""

    def search(self, question: str, groups: Any, k: int = 5) -> list[dict[str, str]]:
        return [{"id": "leave#1", "doc": "leave", "text": "25 days"}]
