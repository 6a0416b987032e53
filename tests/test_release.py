import json
import re
import shutil
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from browsing import axe_faults, faults
from bs4 import BeautifulSoup
from pydantic import ValidationError
from tiny import SECRET, run_and_label, tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.errors import DataError, SettingsError, StaleError
from rag_pilot.files import append_jsonl
from rag_pilot.grading.production import read_production
from rag_pilot.pilot import Pilot
from rag_pilot.records import Label
from rag_pilot.release import Limit, ReleaseGate, release_gate
from rag_pilot.reporting.gates import gate_lines, write_gate
from rag_pilot.review import draw_from_file
from rag_pilot.settings import Alert, Settings

Row = dict[str, Any]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("made")
    run_and_label(tiny_pilot(root))
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "root")


def limited(root: Path, *limits: str) -> Pilot:
    """The labelled pilot with other limits: "wrong <= 0.1" is an alert, with "agreed" before it a criterion."""
    path = root / "data" / "tiny" / "pilot.toml"
    kept = re.sub(r"\[\[(acceptance|alert)\]\][^\[]*", "", path.read_text(encoding="utf-8"))
    for number, limit in enumerate(limits):
        *agreed, measure, side, value = limit.split()
        of = 'of = "answerable questions"' if agreed and measure == "hit5" else ""
        named = f'[[acceptance]]\nname = "c{number}"\n{of}' if agreed else "[[alert]]"
        kept += f'\n{named}\nmeasure = "{measure}"\n{"at_most" if side == "<=" else "at_least"} = {value}\n'
    path.write_text(kept, encoding="utf-8")
    pilot = Pilot.open("tiny", root)
    if pilot.settings.acceptance:
        pilot.lock_acceptance(why="other limits")
    return pilot


def rewritten(root: Path, change: Callable[[Row], Row]) -> None:
    """The run with its answers changed, as a run that went otherwise would hold them."""
    (path,) = (root / "results" / "tiny" / "runs").glob("*/answers.jsonl")
    rows = [change(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def only(found: ReleaseGate, measure: str) -> Limit:
    (limit,) = (limit for limit in found.limits if limit.measure == measure)
    return limit


def decline(row: Row) -> Row:
    return {**row, "status": "declined", "text": None, "reason": "not_found", "cited": [], "docs": [], "sentences": 0}


# -- alerts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("within", "beyond"),
    [
        ("wrong <= 0.5", "wrong <= 0.49"),  # 3 of 6
        ("correct >= 0.5", "correct >= 0.51"),
        ("hit5 >= 1", ""),  # 4 of 4
        ("declined <= 0", ""),
        ("faithfulness >= 1", ""),
    ],
)
def test_an_alert_is_held_against_the_value_itself(root: Path, within: str, beyond: str) -> None:
    measure = within.split()[0]
    found = release_gate(limited(root, within))
    assert (only(found, measure).state, found.passed) == ("within", True)
    if beyond:
        found = release_gate(limited(root, beyond))
        assert (only(found, measure).state, found.passed) == ("beyond", False)
        assert only(found, measure).words in found.reasons[0]


@pytest.mark.parametrize(
    ("limit", "change"),
    [
        ("hit5 >= 0.8", lambda row: {**row, "hits": [] if row["question_id"] == "q2" else row["hits"]}),  # 3 of 4
        ("declined <= 0.1", lambda row: decline(row) if row["question_id"] == "q2" else row),  # 1 of 6
        (
            "faithfulness >= 0.9",  # 5 of 6
            lambda row: {**row, "text": "A bus needs form X-9. [1]"} if row["question_id"] == "q2" else row,
        ),
    ],
)
def test_a_run_that_went_worse_is_beyond_its_alert(root: Path, limit: str, change: Callable[[Row], Row]) -> None:
    assert release_gate(limited(root, limit)).passed
    rewritten(root, change)
    found = release_gate(limited(root, limit))
    assert (only(found, limit.split()[0]).state, found.passed) == ("beyond", False)


def test_a_value_and_its_interval_stand_together_and_chance_is_told(root: Path) -> None:
    found = only(release_gate(limited(root, "wrong <= 0.4")), "wrong")
    assert found.value == 0.5 and found.interval and found.interval.low < 0.4 < found.interval.high and found.n == 6
    assert "It can be chance: the interval holds the limit" in found.words
    assert "The whole interval is beyond it" in only(release_gate(limited(root, "wrong <= 0.1")), "wrong").words


def test_where_faithfulness_is_undefined_it_breaches_nothing_is_told_and_passes_nothing(root: Path) -> None:
    rewritten(root, decline)
    alone = release_gate(limited(root, "faithfulness >= 0.9"))
    assert only(alone, "faithfulness").state == "not measured" and "6 declined" in only(alone, "faithfulness").words
    assert alone.reasons == ("No limit could be measured on this run.",)
    found = release_gate(limited(root, "faithfulness >= 0.9", "wrong <= 0.1"))
    assert found.passed and "not measured" in "\n".join(gate_lines(found))
    assert "Not measured: alert on faithfulness." in write_gate(found).read_text(encoding="utf-8")


def test_an_alert_names_the_side_that_alarms_and_each_measure_once() -> None:
    for measure, side in (("wrong", "at_least"), ("hit5", "at_most"), ("faithfulness", "at_most")):
        with pytest.raises(ValidationError, match=f"an alert on {measure} has"):
            Alert.model_validate({"measure": measure, side: 0.5})
    twice = (Alert(measure="wrong", at_most=0.1), Alert(measure="wrong", at_most=0.2))
    with pytest.raises(ValidationError, match="two .*alert.* are on 'wrong'"):
        Settings(alert=twice)


# -- what was agreed ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "state"),
    [
        ("agreed hit5 >= 0.4", "met"),  # 4 of 4: at least 47 %
        ("agreed hit5 >= 0.5", "not decided"),
        ("agreed wrong <= 0.05", "not met"),  # 3 of 6
        ("agreed wrong <= 0.6", "not decided"),
    ],
)
def test_what_was_agreed_passes_only_where_it_is_met(root: Path, limit: str, state: str) -> None:
    found = release_gate(limited(root, limit, "correct >= 0"))  # another limit that holds does not make up for it
    assert (found.limits[0].state, found.passed) == (state, state == "met")


def test_labels_that_are_missing_are_a_refusal_and_say_where_to_read(root: Path) -> None:
    labels = root / "data" / "tiny" / "labels.jsonl"
    labels.write_text("".join(labels.read_text(encoding="utf-8").splitlines(True)[:3]), encoding="utf-8")
    found = release_gate(limited(root, "agreed wrong <= 0.9", "correct >= 0"))
    assert [limit.state for limit in found.limits[:2]] == ["not decided", "not read"] and len(found.reasons) == 2
    assert all("1 of the 4 answers of the sample have no label on this run" in told for told in found.reasons)


def test_failed_calls_are_told_and_what_they_are_not_in(root: Path) -> None:
    rewritten(root, lambda row: {**row, "status": "error", "final": True} if row["question_id"] == "q1" else row)
    lines = "\n".join(gate_lines(release_gate(limited(root, "hit5 >= 0.9"))))
    assert "errors: 1 question failed: neither correct nor wrong" in lines and re.search(
        r"3 of 3; not in it: .*\b1 ", lines
    )


# -- leaks, older runs, no limits --------------------------------------------------------------------------------------


def leaking(row: Row) -> Row:
    return {**row, "text": f"Band 7 pays {SECRET} euros a year."} if row["question_id"] == "q1" else row


@pytest.mark.parametrize("limits", [("hit5 >= 0.5",), ("hit5 >= 0.5", "agreed leaks <= 0.5"), ("agreed leaks <= 0",)])
def test_a_leak_stops_every_release_whether_a_limit_names_it_or_not(root: Path, limits: tuple[str, ...]) -> None:
    assert release_gate(limited(root, "hit5 >= 0.5")).passed
    rewritten(root, leaking)
    found = release_gate(limited(root, *limits))
    assert not found.passed and "not met" in {limit.state for limit in found.limits if limit.measure == "leaks"}


def test_an_answer_that_leaks_costs_the_page_its_bad_answers_and_not_the_report(root: Path) -> None:
    assert "What is the hotel limit a night?" in write_gate(release_gate(limited(root, "hit5 >= 0"))).read_text("utf-8")
    rewritten(root, lambda row: {**leaking(row), "sha": "another"})  # which has no label: the judge calls it wrong
    labels = root / "data" / "tiny" / "labels.jsonl"
    sha = "another"
    append_jsonl(labels, Label("q1", sha, "Maud", "wrong", position=1, saved_at="2026-01-06T10:00:00+01:00"))
    page = write_gate(release_gate(limited(root, "hit5 >= 0"))).read_text(encoding="utf-8")
    assert SECRET not in page and "Not listed: an answer quotes" in page and "not passed" in page.casefold()


def test_a_run_of_other_documents_than_those_in_place_is_refused_by_name_and_never_the_default(root: Path) -> None:
    pilot = limited(root, "hit5 >= 0.5")
    (run,) = (path.name for path in (root / "results" / "tiny" / "runs").iterdir())
    leave = root / "data" / "tiny" / "documents" / "leave.md"
    leave.write_text(leave.read_text(encoding="utf-8") + "\nNew.\n", encoding="utf-8")
    with pytest.raises(DataError, match="no finished run of its documents.*`rag-pilot run` makes one"):
        release_gate(pilot)
    found = release_gate(pilot, run)
    assert found.older == ("documents",) and not found.passed
    assert found.reasons[0].startswith("The run is not of what would go live: documents changed since. Run again.")


def test_a_run_under_settings_that_were_changed_since_is_older_too(root: Path) -> None:
    (run,) = (path.name for path in (root / "results" / "tiny" / "runs").iterdir())
    path = limited(root, "hit5 >= 0.5").data / "pilot.toml"
    path.write_text(path.read_text("utf-8").replace("coverage = 0.2", "coverage = 0.3"), encoding="utf-8")
    assert release_gate(Pilot.open("tiny", root), run).older == ("answer",)


def test_a_run_that_is_not_complete_or_an_example_goes_nowhere(root: Path) -> None:
    pilot = limited(root, "hit5 >= 0.5")
    (run,) = (root / "results" / "tiny" / "runs").iterdir()
    shutil.copytree(run, pilot.data / "example-runs" / "shown")
    with pytest.raises(DataError, match="shown is an example"):
        release_gate(pilot, "shown")
    info = json.loads((run / "run.json").read_text(encoding="utf-8"))
    (run / "run.json").write_text(json.dumps({**info, "complete": False}), encoding="utf-8")
    with pytest.raises(DataError, match="is not complete"):
        release_gate(pilot, run.name)


def test_without_any_limit_nothing_passes(root: Path) -> None:
    with pytest.raises(SettingsError, match=r"neither \[\[acceptance\]\] nor \[\[alert\]\]"):
        release_gate(limited(root))


# -- real answers ------------------------------------------------------------------------------------------------------


def reread(pilot: Pilot, wrong: int, of: int = 15) -> None:
    rows = ({"id": f"r{n}", "question": f"Why {n}?", "answer": f"So {n}.", "groups": ["all-staff"]} for n in range(of))
    path = pilot.data / "real.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    draw = draw_from_file(pilot, read_production(path), of)
    for number, (id_, sha) in enumerate(draw.drawn):
        label = Label(
            id_, sha, "Maud", "wrong" if number < wrong else "correct", "spot", saved_at="2026-02-01T10:00:00Z"
        )
        append_jsonl(pilot.data / "labels.jsonl", label)


@pytest.mark.parametrize(("wrong", "state"), [(15, "beyond"), (12, "not decided"), (8, "not decided"), (3, "within")])
def test_real_answers_alarm_only_where_chance_is_ruled_out(root: Path, wrong: int, state: str) -> None:
    pilot = limited(root, "wrong <= 0.6")
    reread(pilot, wrong)
    found = release_gate(pilot)
    assert (found.real.state, found.passed) == (state, state != "beyond")
    assert f"{wrong} wrong of 15 re-read (95 % interval" in gate_lines(found)[-1]


def test_real_answers_without_an_alert_or_not_read_through_are_told_and_alarm_nothing(root: Path) -> None:
    pilot = limited(root, "hit5 >= 0.5")
    assert "No real answers were re-read so far." in gate_lines(release_gate(pilot))[-1]
    reread(pilot, 15)
    found = release_gate(pilot)
    assert found.passed and "There is no alert on wrong answers." in gate_lines(found)[-1]
    labels = pilot.data / "labels.jsonl"
    labels.write_text("".join(labels.read_text("utf-8").splitlines(True)[:-1]), encoding="utf-8")
    found = release_gate(limited(root, "wrong <= 0.6"))
    assert found.passed and gate_lines(found)[-1].endswith("1 answer drawn since wait to be read.")


# -- the command and its page ------------------------------------------------------------------------------------------


def test_the_command_ends_with_0_1_or_2_and_writes_a_dated_page(
    root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(root)
    (run,) = (path.name for path in (root / "results" / "tiny" / "runs").iterdir())
    page = root / "results" / "tiny" / "gates" / f"{date.today().isoformat()}-{run}.html"
    limited(root, "hit5 >= 0.5")
    assert main(["gate", "--pilot", "tiny"]) == 0
    said = capsys.readouterr().out
    assert said.startswith(f"run {run}: passed\n") and f"written to {page}" in said
    assert "Passed." in page.read_text(encoding="utf-8")
    limited(root, "hit5 >= 0.5", "wrong <= 0.1")
    assert main(["gate", run, "--pilot", "tiny"]) == 1
    assert capsys.readouterr().out.startswith(f"run {run}: not passed\n")
    assert "Not passed." in page.read_text(encoding="utf-8")
    limited(root)
    assert main(["gate", "--pilot", "tiny"]) == 2 and "neither [[acceptance]]" in capsys.readouterr().err
    assert main(["gate", "no-such-run", "--pilot", "tiny"]) == 2


def test_the_page_stands_alone_is_named_and_has_its_landmarks(root: Path) -> None:
    text = write_gate(release_gate(limited(root, "wrong <= 0.1", "agreed hit5 >= 0.5"))).read_text(encoding="utf-8")
    page = BeautifulSoup(text, "html.parser")
    assert page.html and page.html["lang"] == "en"
    assert page.title and page.title.text == f"Tiny <pilot>: release gate, {date.today().isoformat()}"
    assert [len(page.find_all(name)) for name in ("header", "main", "footer", "h1")] == [1, 1, 1, 1]
    loads = [tag.get("src") or tag.get("href") for tag in page.find_all(["img", "script", "link", "iframe"])]
    assert loads == ["data:,"] and "http" not in re.sub("http-equiv", "", text) and not page.find_all("script")
    rows = {row.th.text: [cell.text for cell in row.find_all("td")] for row in page.find("tbody").find_all("tr")}
    assert rows["alert on wrong"][0] == "beyond" and rows["alert on wrong"][3:] == ["50.0 %", "18.8 to 81.2 %", "6"]
    assert rows["c1"][0] == "not decided" and rows["no leak"][0] == "met"


def test_the_page_shows_bad_answers_to_those_who_may_see_them(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = write_gate(release_gate(limited(root, "wrong <= 0.1"))).read_text(encoding="utf-8")
    assert "What is the hotel limit a night?" in page and "What does band 9 pay" not in page and SECRET not in page
    assert "1 bad answer not shown: the reader needs hr." in page
    monkeypatch.setenv("RAG_PILOT_AUDIENCE", "hr;all-staff")
    assert "What does band 9 pay" in write_gate(release_gate(limited(root, "wrong <= 0.1"))).read_text(encoding="utf-8")


def test_limits_that_nobody_agreed_on_hold_for_nothing(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text().replace("at_most = 0.05", "at_most = 0.95"), encoding="utf-8")
    with pytest.raises(StaleError, match="acceptance criteria in pilot.toml are not those locked"):
        release_gate(Pilot.open("tiny", tmp_path))
    (pilot.data / "acceptance.lock.json").unlink()
    with pytest.raises(StaleError, match="not locked"):
        release_gate(Pilot.open("tiny", tmp_path))
    assert not (pilot.data / "acceptance.lock.json").exists()


def test_half_a_run_is_none_and_a_lost_file_is_named(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    (path,) = (pilot.results / "runs").glob("*/answers.jsonl")
    whole = path.read_text(encoding="utf-8")
    path.write_text("".join(whole.splitlines(keepends=True)[:3]), encoding="utf-8")
    with pytest.raises(DataError, match="holds 3 answers of a complete run of 6 questions"):
        release_gate(Pilot.open("tiny", tmp_path))
    path.unlink()
    with pytest.raises(DataError, match=r"holds no answers\.jsonl"):
        release_gate(Pilot.open("tiny", tmp_path))


def test_a_run_with_failed_calls_does_not_pass_whatever_the_others_say(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    assert release_gate(limited(tmp_path, "hit5 >= 0.1")).passed
    failed = {"status": "error", "text": None, "hits": [], "cited": [], "docs": [], "reason": "", "final": True}
    rewritten(tmp_path, lambda row: row | failed if row["question_id"] == "q1" else row)
    found = release_gate(Pilot.open("tiny", tmp_path))
    assert not found.passed and "1 of 6 calls failed" in " ".join(limit.words for limit in found.limits)


@pytest.mark.browser(seconds=40)
def test_in_a_browser_the_page_asks_for_nothing_fits_its_window_and_axe_finds_nothing(root: Path, page: Any) -> None:
    for limits in (("wrong <= 0.1", "agreed hit5 >= 0.5"), ("hit5 >= 0.5",)):
        made = write_gate(release_gate(limited(root, *limits)))
        assert faults(page, made) + axe_faults(page, made) == []
