"""Runs that came with a pilot: those of the sample as they were made, and what the table says of any."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
from tiny import run_and_label, tiny_pilot

from rag_pilot import tables
from rag_pilot.__main__ import main
from rag_pilot.errors import DataError
from rag_pilot.examples import example_runs
from rag_pilot.files import read_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot

SAMPLE = Path(__file__).parents[1] / "data" / "sample"
MODEL, SHA256 = "qwen2.5-coder-1.5b-instruct-q4_k_m", "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046"


def test_the_samples_real_run_is_whole_and_names_its_model_and_file():
    folder = next((SAMPLE / "example-runs").glob("*-qwen2.5-coder-1.5b-*"))
    info = json.loads((folder / "run.json").read_text())
    assert (info["models"], info["config"]["answer"]["revision"]) == ([MODEL], f"sha256:{SHA256}")
    asked = [row["id"] for _, row in read_jsonl(SAMPLE / "questions.jsonl")]
    answers = [row for _, row in read_jsonl(folder / "answers.jsonl")]
    assert [row["question_id"] for row in answers] == asked
    assert {row["model"] for row in answers if row["hits"]} == {MODEL}
    assert sum(row["tokens_in"] for row in answers) == info["tokens_in"] > 100_000
    judged = [row for _, row in read_jsonl(folder / "verdicts.jsonl") if row["by"] != "rule"]
    assert judged and all(row["reason"] or row["raw"] for row in judged)


def test_an_example_stands_beside_the_pilots_own_run_and_counts_in_nothing(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    own = Ledger(pilot).result()
    before = repr(tables.headline(own.headline)), sorted(p.name for p in (pilot.results / "runs").iterdir())
    shutil.copytree(own.run.folder, pilot.data / "example-runs" / "2026-01-05-other")
    info = pilot.data / "example-runs" / "2026-01-05-other" / "run.json"
    row = json.loads(info.read_text())
    row |= {"name": "<other>", "models": ["tiny-2026"], "judge": {"kind": "model", "model": "strict"}}
    row["config"]["answer"]["revision"] = f"sha256:{SHA256}"
    info.write_text(json.dumps(row))
    page = str(tables.examples(own, example_runs(Pilot.open("tiny", tmp_path))))
    assert "&lt;other&gt;" in page and "tiny-2026 (sha256:cc324af070c2)" in page and "strict" in page
    assert re.search(r"Answered, declined, in error.*?6, 0, 0.*?6, 0, 0", page, re.S)
    again = Ledger(Pilot.open("tiny", tmp_path)).result()
    assert before == (repr(tables.headline(again.headline)), sorted(p.name for p in (pilot.results / "runs").iterdir()))


def test_without_examples_the_table_says_so(tmp_path):
    own = Ledger(tiny_pilot(tmp_path))
    own.pilot.lock_acceptance()
    assert example_runs(own.pilot) == []
    assert "No example run" in str(tables.examples(own.result(), []))


def test_an_example_of_other_questions_is_refused(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    folder = pilot.data / "example-runs" / "2026-01-05-other"
    shutil.copytree(Ledger(pilot).result().run.folder, folder)
    answers = (folder / "answers.jsonl").read_text()
    (folder / "answers.jsonl").write_text(answers.replace('"q1"', '"q99"'))
    with pytest.raises(DataError, match=r"answers\.jsonl: answers do not fit the questions"):
        example_runs(pilot)


def test_an_examples_judge_stays_its_own_where_the_pilots_is_fitted(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    folder = pilot.data / "example-runs" / "2026-01-05-other"
    shutil.copytree(Ledger(pilot).result().run.folder, folder)
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(info | {"judge": {"kind": "model", "model": "strict"}}))
    toml = pilot.data / "pilot.toml"
    toml.write_text(toml.read_text() + '[judge]\nkind = "fitted"\n')
    (example,) = example_runs(Pilot.open("tiny", tmp_path))
    assert example.fitted is None and example.verdicts == example.run.verdicts
    assert Ledger(Pilot.open("tiny", tmp_path)).result().fitted is not None


def test_a_newer_example_is_not_taken_for_the_latest_run(tmp_path, capsys, monkeypatch):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    own = Ledger(pilot).result().run.folder
    folder = pilot.data / "example-runs" / "2026-01-05-other"
    shutil.copytree(own, folder)
    answers = folder / "answers.jsonl"
    answers.write_text(answers.read_text().replace("25 days", "99 days"))
    os.utime(own / "run.json", (1, 1))
    monkeypatch.chdir(tmp_path)
    assert main(["trace", "tiny", "q1"]) == 0
    assert "99 days" not in capsys.readouterr().out
    assert main(["trace", "tiny", "q1", "--run", "2026-01-05-other"]) == 0
    assert "99 days" in capsys.readouterr().out
