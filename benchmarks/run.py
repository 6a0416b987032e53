"""A run by a model: how near to the ideal time, how cheap where nothing changed, and what faults do to it.

    python benchmarks/run.py [--json FILE] [--questions 200] [--concurrency 16] [--calls 1000]

The model is a server on this machine. Parts and figures:
wall       the sample's documents and questions, found by keywords, a second a call: wall_ratio, the seconds from the
           first question on over questions / concurrency; whole_ratio, the same with the start-up check (one call) and
           all that comes before; the least that whole rounds of calls allow is printed beside
unchanged  the same pilot opened again in a new process and run: unchanged_calls, unchanged_s
faults     1,000 questions of a server that gives 429 (in bursts of five), 500, no reply in time, a cut connection and
           half a JSON text, 5 % each: faults.lost (no answer, or another question's), faults.doubled (two answers on
           file, or two good replies paid for), faults.unfinished (neither answered nor declined nor an error with its
           cause), faults.errors, faults.calls, faults.s
flat       10,000 answers of a server that replies at once: memory_mb, by how much the process grew over the last 8,000
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import random
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from rag_pilot.answering.client import chat_model
from rag_pilot.answering.start import CODE
from rag_pilot.evaluation import run_eval
from rag_pilot.files import read_jsonl
from rag_pilot.pilot import Pilot
from rag_pilot.records import Question
from rag_pilot.runs import Run
from rag_pilot.settings import AnswerTable

ROOT = Path(__file__).resolve().parents[1]
KINDS = ("429", "500", "late", "cut", "half")
SHARE, BURST, TIMEOUT = 0.05, 5, 0.5


class Server:
    """A chat endpoint whose replies `decide` gives: what a prompt is told -> (kind, text)."""

    def __init__(self, decide: Callable[[str], tuple[str, str]], seconds: float = 0) -> None:
        outer, self.seconds, self.at, self.kinds = self, seconds, [], Counter[str]()
        self.good, self.lock = Counter[str](), threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
                prompt = sent["messages"][0]["content"]
                with outer.lock:
                    outer.at.append(time.monotonic())
                    kind, text = decide(prompt)
                    outer.kinds[kind] += 1
                    outer.good[prompt.rpartition("Question: ")[2]] += kind == "good"
                time.sleep(outer.seconds + (2 * TIMEOUT if kind == "late" else 0))
                body = json.dumps(
                    {
                        "model": "local",
                        "choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}],
                        "usage": {"prompt_tokens": len(prompt) // 4, "completion_tokens": 9},
                    }
                ).encode()
                if kind == "cut":
                    self.close_connection = True
                    return
                self.send_response(int(kind) if kind.isdigit() else 200)
                self.send_header("content-type", "application/json")
                body = body[:40] if kind == "half" else b'{"error": {"message": "busy"}}' if kind.isdigit() else body
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        class Many(ThreadingHTTPServer):
            request_queue_size = 128
            daemon_threads = True

            def handle_error(self, *args: object) -> None:
                pass

        self.server = Many(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"


def helpful(prompt: str) -> tuple[str, str]:
    return "good", f"{CODE}: it is so [1]."


def faulty(seed: int) -> Callable[[str], tuple[str, str]]:
    draw, waiting = random.Random(seed), 0

    def decide(prompt: str) -> tuple[str, str]:
        nonlocal waiting
        if waiting:
            waiting -= 1
            return "429", ""
        number = draw.random() / SHARE
        kind = KINDS[int(number)] if number < len(KINDS) else "good"
        if kind == "429":
            if number * BURST < 1:  # a burst of five begins at a fifth of the places
                waiting = BURST - 1
                return "429", ""
            kind = "good"
        return kind, f"{prompt.rpartition('Question: ')[2]} [1]."

    return decide


class Passages:
    """A retriever that finds the same for every question."""

    def search(self, question: str, groups: Any, k: int = 5) -> list[dict[str, str]]:
        """One passage."""
        return [{"id": "d#1", "doc": "d", "text": "a passage"}]


def sample(folder: Path, url: str, count: int, concurrency: int) -> None:
    """The sample in a folder of its own, searched by keywords and answered by that address."""
    shutil.copytree(ROOT / "data" / "sample", folder / "data" / "sample")
    path = folder / "data" / "sample" / "pilot.toml"
    table = f'[answer]\nkind = "model"\nmodel = "local"\nbase_url = "{url}"\nconcurrency = {concurrency}'
    text = re.sub(r"(?s)\[answer\].*?(?=\n\n)", table, path.read_text(encoding="utf-8"))
    text = text.replace('method = "hybrid"', 'method = "keyword"')
    path.write_text(re.sub(r"(?s)\n\[\[change\]\].*", "\n", text), encoding="utf-8")
    questions = folder / "data" / "sample" / "questions.jsonl"
    lines = questions.read_text(encoding="utf-8").splitlines(keepends=True)
    questions.write_text("".join(lines[:count]), encoding="utf-8")
    order = folder / "data" / "sample" / "order.jsonl"
    order.unlink()
    for name in ("labels.jsonl", "gates.jsonl"):
        (folder / "data" / "sample" / name).unlink()


AGAIN = """
import sys, time
started = time.perf_counter()
from pathlib import Path
from rag_pilot import Pilot
run = Pilot.open("sample", Path(sys.argv[1])).run()
print(time.perf_counter() - started, run.info["complete"])
"""


def serve(line: Connection) -> None:
    """A server in a process of its own, a second a call: tells its address, then its calls' times when asked."""
    server = Server(helpful, seconds=1)
    line.send(server.url)
    while line.recv():
        line.send(server.at)


def wall(folder: Path, count: int, concurrency: int) -> dict[str, float]:
    line, end = multiprocessing.Pipe()
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(end,), daemon=True)
    process.start()

    def calls() -> list[float]:
        line.send(True)
        return list(line.recv())

    try:
        return _wall(folder, count, concurrency, line.recv(), calls)
    finally:
        line.send(False)
        process.join()


def _wall(folder: Path, count: int, concurrency: int, url: str, calls: Callable[[], list[float]]) -> dict[str, float]:
    sample(folder, url, count, concurrency)
    pilot = Pilot.open("sample", folder)
    pilot.lock_acceptance()
    pilot.build()
    started = time.monotonic()
    run = pilot.run()
    ended, at, ideal = time.monotonic(), calls(), count / concurrency
    if run.info["answered"] + run.info["declined"] != count or len(at) != count + 1:
        sys.exit(f"{len(at)} calls for {count} questions and a check: {run.info}")
    print(f"{count} questions, {concurrency} at once, a second a call: ideal {ideal:.1f} s", end="")
    print(f" (in whole rounds {math.ceil(ideal)} s), from the first question {ended - at[1]:.1f} s", end="")
    print(f", all in all {ended - started:.1f} s")
    done = subprocess.run([sys.executable, "-c", AGAIN, str(folder)], capture_output=True, text=True, check=True)
    seconds, complete = done.stdout.split()
    again = len(calls()) - len(at)
    print(f"again, nothing changed, in a new process: {again} calls, {float(seconds):.1f} s, complete: {complete}")
    return {
        "wall_ratio": (ended - at[1]) / ideal,
        "whole_ratio": (ended - started) / ideal,
        "unchanged_calls": again,
        "unchanged_s": float(seconds),
    }


def asked(server: Server, count: int, folder: Path, **table: Any) -> Run:
    questions = [Question(f"q{n}", f"question {n}", "", "d") for n in range(count)]
    model = AnswerTable(kind="model", model="local", base_url=server.url, concurrency=16, **table)
    return run_eval(questions, Passages(), chat_model(model), threads=16, folder=folder)


def faults(folder: Path, count: int) -> dict[str, float]:
    server = Server(faulty(7))
    started = time.monotonic()
    run = asked(server, count, folder, timeout=TIMEOUT, retry_seconds=0.02)
    seconds = time.monotonic() - started
    rows = Counter(str(row["question_id"]) for _, row in read_jsonl(folder / "answers.jsonl"))
    answers = run.answers.values()
    ended = [a for a in answers if a.status in ("answered", "declined") or (a.status == "error" and a.reason)]
    wrong = sum(a.status == "answered" and f"question {a.question_id[1:]} [1]." != a.text for a in answers)
    twice = sum(n > 1 for n in rows.values()) + sum(n > 1 for n in server.good.values())
    told = ", ".join(f"{server.kinds[kind]} {kind}" for kind in ("good", *KINDS))
    print(f"{count} questions of a server with faults: {len(server.at)} calls ({told}) in {seconds:.1f} s; ", end="")
    print(f"{run.info['answered']} answered, {run.errors} in error")
    return {
        "faults.lost": count - len(rows) + wrong,
        "faults.doubled": twice,
        "faults.unfinished": count - len(ended),
        "faults.errors": run.errors,
        "faults.calls": len(server.at),
        "faults.s": round(seconds, 2),
    }


def flat(folder: Path, count: int) -> dict[str, float]:
    seen: dict[int, float] = {}

    def decide(prompt: str) -> tuple[str, str]:
        if (number := len(server.at)) in (count // 5, count):
            seen[number] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        return "good", "It is so [1]."

    server = Server(decide)
    asked(server, count, folder)
    first, last = seen.values()
    print(f"{count:,} answers: {first:.0f} MB after a fifth of them, {last:.0f} MB at the end (server and client)")
    return {"memory_mb": last - first}


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--concurrency", type=int, default=16)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--answers", type=int, default=10_000, help="for the memory; 0 leaves that part out")
    arguments = parser.parse_args()
    os.environ |= {"NO_PROXY": "127.0.0.1", "OPENAI_API_KEY": "none"}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = wall(folder / "wall", arguments.questions, arguments.concurrency)
        figures |= faults(folder / "faults", arguments.calls)
        if arguments.answers:
            figures |= flat(folder / "flat", arguments.answers)
    for figure, number in figures.items():
        print(f"{figure:18} {number:8.3f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
