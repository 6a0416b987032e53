"""The key stands in nothing that a pilot writes, prints or raises, wherever it fails."""

import json
import os
import subprocess
import sys
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from endpoint import KEY, Endpoint, Step, completion, kind_of
from tiny import notebook, tiny_pilot

from rag_pilot.answering.start import CODE
from rag_pilot.errors import PilotError, SettingsError
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reporting.export import export

WHO = ("rewrite", "answer", "judge")
PARTS = [KEY[n : n + 12] for n in range(0, len(KEY) - 11)]
"""A piece of the key is a leak too: a line may be cut in its midst."""
CELL = "from rag_pilot import Ledger, Pilot, tables\ntables.run(Ledger(Pilot.open()).result())"


def leaks(*told: str | bytes) -> list[str]:
    found = " ".join(t if isinstance(t, str) else t.decode("latin-1") for t in told)
    return [part for part in PARTS if part in found]


def files(root: Path) -> bytes:
    """All bytes below a folder: runs, stores of replies with their journals, cache, pages, locks."""
    return b"".join(p.name.encode() + p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file())


def helpful(sent: dict[str, Any]) -> Step:
    said = {
        "check": CODE,
        "rewrite": sent["messages"][0]["content"].splitlines()[-1],
        "answer": "It is so [1].",
        "judge": '{"reason": "same", "label": "correct"}',
    }
    return 200, completion(said[kind_of(sent)], tokens=(0, 0)), {}


def refusing(kind: str, status: int, before: int = 0) -> Callable[[dict[str, Any]], Step]:
    """Helpful, but refuses the calls of one kind after the first ones, with a text that repeats what it was sent."""
    seen: list[str] = []

    def decide(sent: dict[str, Any]) -> Step:
        seen.append(kind_of(sent))
        if kind_of(sent) != kind or seen.count(kind) <= before:
            return helpful(sent)
        said = f"{'x' * 150} Authorization: Bearer {KEY} is no key: {KEY}"
        return status, {"error": {"message": said, "code": KEY, "param": KEY}}, {}

    return decide


def pilot_with(endpoint: Endpoint, root: Path, **more: Any) -> Pilot:
    path = tiny_pilot(root).data / "pilot.toml"
    plain = path.read_text(encoding="utf-8")
    given = {"kind": "model", "model": "tiny", "base_url": endpoint.url, "key_variable": "PILOT_TEST_KEY"}
    given |= {"retries": 1, "retry_seconds": 0.01, **more}
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in given.items())
    plain = plain.replace("[answer]\n", f"[answer]\n{lines}") + f"[rewrite]\n{lines}[judge]\n{lines}"
    path.write_text(plain, encoding="utf-8")
    pilot = Pilot.open("tiny", root)
    pilot.lock_acceptance()
    return pilot


def test_the_key_reaches_the_endpoint_and_no_file_page_or_line_of_a_run(
    endpoint: Endpoint,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(0)
    endpoint.decide = helpful
    pilot = pilot_with(endpoint, tmp_path)
    page = export(pilot, notebook(tmp_path / "notebooks" / "00_run.ipynb", "# Run", CELL).parent, calls=True)
    assert {kind_of(call) for call in endpoint.calls} == {"check", *WHO}
    assert all(call["key"] == f"Bearer {KEY}" for call in endpoint.calls)
    assert Ledger(pilot).result().run.info["complete"]
    written = files(tmp_path)
    for name in (b"answers.jsonl", b"verdicts.jsonl", b"run.json", *(f"{who}.sqlite".encode() for who in WHO)):
        assert name in written
    assert page.exists() and b"It is so" in files(page.parent)
    assert not leaks(written, caplog.text, *capfd.readouterr())


@pytest.mark.parametrize("status", [400, 401, 429, 500])
@pytest.mark.parametrize("kind", ["check", *WHO])
def test_a_refusal_that_repeats_the_key_leaves_it_nowhere(
    endpoint: Endpoint,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
    kind: str,
    status: int,
) -> None:
    caplog.set_level(0)
    endpoint.decide = refusing(kind, status, before=0 if kind == "check" else 2)
    pilot = pilot_with(endpoint, tmp_path)
    told = ""
    try:
        result = Ledger(pilot).result()
        told = repr(result.run) + str(result.run.info)
    except PilotError as fault:
        told = "".join(traceback.format_exception(fault)) + repr(fault.__context__) + repr(fault.__cause__)
    assert "***" in told or "***" in files(pilot.results).decode("latin-1"), "the refusal is not even told"
    assert not leaks(files(tmp_path), told, caplog.text, *capfd.readouterr())


@pytest.mark.parametrize("status", [0, 401])
def test_the_command_line_prints_no_key_even_where_the_library_logs_all_it_knows(
    endpoint: Endpoint, tmp_path: Path, status: int
) -> None:
    endpoint.decide = refusing("answer", status, before=1) if status else helpful
    pilot_with(endpoint, tmp_path)
    env = {**os.environ, "OPENAI_LOG": "debug", "TQDM_DISABLE": ""}
    command = [sys.executable, "-m", "rag_pilot", "run", "tiny"]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, "Traceback" in done.stderr) == (2 if status else 0, False)
    assert "HTTP" in done.stderr  # it does log
    assert not leaks(done.stdout, done.stderr, files(tmp_path))


@pytest.mark.parametrize(
    "entry",
    [
        {"base_url": f"http://127.0.0.1:9/{KEY}/v1"},
        {"base_url": f"http://127.0.0.1:9/v1?api-key={KEY}"},
        {"base_url": f"http://{KEY}@127.0.0.1:9/v1"},
        {"base_url": "http://somebody:another-secret@127.0.0.1:9/v1"},
        {"model": KEY},
        {"key_variable": KEY},
        {"api_key": KEY},
        {"timeout": KEY},
    ],
    ids=lambda entry: next(iter(entry)),
)
def test_a_key_in_the_settings_is_refused_and_not_shown(
    endpoint: Endpoint, tmp_path: Path, capsys: pytest.CaptureFixture[str], entry: dict[str, Any]
) -> None:
    with pytest.raises(SettingsError, match="environment|no variable's name|mend") as fault:
        pilot_with(endpoint, tmp_path, **entry)
    told = "".join(traceback.format_exception(fault.value))
    assert not leaks(told, *capsys.readouterr()) and "another-secret" not in str(fault.value)
    assert endpoint.calls == []


def test_a_server_that_is_not_there_is_told_by_its_address_without_the_key(endpoint: Endpoint, tmp_path: Path) -> None:
    pilot = pilot_with(endpoint, tmp_path, base_url="http://127.0.0.1:9/v1")
    with pytest.raises(PilotError, match=r"is a server running at http://127\.0\.0\.1:9/v1") as fault:
        pilot.run()
    assert not leaks("".join(traceback.format_exception(fault.value)), files(tmp_path / "results"))


def test_a_short_word_in_place_of_a_key_may_stand_anywhere(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PILOT_TEST_KEY", "tiny")
    assert pilot_with(endpoint, tmp_path).settings.answer.model == "tiny"
