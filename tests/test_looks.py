"""Which answers test a judge: looked at once, on record, and another judge on others."""

import json
import re
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_pilot

from rag_pilot.admitting import JudgeTest, second_look_said
from rag_pilot.errors import DataError, StaleError
from rag_pilot.examples import example_runs
from rag_pilot.files import append_jsonl, read_jsonl
from rag_pilot.grading.agreement import NOT_READ, Gate
from rag_pilot.ledger import Ledger
from rag_pilot.looks import Look, before, judge_id, new_to, read_looks
from rag_pilot.pilot import Pilot
from rag_pilot.reading import items
from rag_pilot.records import Label
from rag_pilot.reporting import tables
from rag_pilot.results import Result

LOOK = 20
"""Answers of one look in these tests; every other expected answer is not what the documents say."""


@cache
def template() -> Path:
    """The tiny pilot with sixty questions more, asked once."""
    root = Path(tempfile.mkdtemp())
    data = tiny_pilot(root).data
    rows = [
        {"id": f"m{n:02}", "question": f"How many days of annual leave, in year {n}?", "expected": f"{25 + n % 2} days"}
        for n in range(60)
    ]
    path = data / "questions.jsonl"
    more = [json.dumps({**row, "doc": "leave", "groups": [], "answerable": True}) + "\n" for row in rows]
    path.write_text(path.read_text().splitlines(keepends=True)[0] + "".join(more))
    set_up(data, labels=LOOK)
    pilot = Pilot.open("tiny", root)
    pilot.lock_acceptance()
    pilot.run()
    return root


def set_up(data: Path, **settings: object) -> None:
    path = data / "pilot.toml"
    lines = "".join(f"{name} = {json.dumps(value)}\n" for name, value in settings.items())
    path.write_text(path.read_text().replace("[pilot]\n", f"[pilot]\n{lines}"))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    shutil.copytree(template(), tmp_path, dirs_exist_ok=True)
    return tmp_path


def result_of(root: Path) -> Result:
    return Ledger(Pilot.open("tiny", root)).result(())


def judged_by(root: Path, kind: str) -> Result:
    path = root / "data" / "tiny" / "pilot.toml"
    path.write_text(path.read_text().split("[judge]")[0] + f'[judge]\nkind = "{kind}"\n')
    return result_of(root)


def read(result: Result, start: int, stop: int, agreeing: bool = True) -> None:
    """The expert reads so many of the answers that need her; agreeing or not with what the judge says of them."""
    other = {"correct": "wrong", "wrong": "correct", "partly": "wrong"}
    for i in result._need_a_person[start:stop]:
        said = result.run.verdicts[i].label
        label, position = said if agreeing else other[said], result.order.index(i) + 1
        line = Label(i, result.run.answers[i].sha, "Maud", label, position=position, saved_at="2026-01-05T10:00:00Z")
        append_jsonl(result.pilot.data / "labels.jsonl", line)


def relabel(result: Result, asked: Sequence[str], agreeing: bool = True, annotator: str = "Maud") -> None:
    """Those answers are read again, an hour later."""
    other = {"correct": "wrong", "wrong": "correct", "partly": "wrong"}
    for i in asked:
        said, sha = result.run.verdicts[i].label, result.run.answers[i].sha
        label, at = said if agreeing else other[said], result.order.index(i) + 1
        line = Label(i, sha, annotator, label, position=at, saved_at="2026-01-05T11:00:00Z")
        append_jsonl(result.pilot.data / "labels.jsonl", line)


def seeded(root: Path, seed: int) -> Result:
    path = root / "data" / "tiny" / "pilot.toml"
    text = re.sub(r"\nseed = .*", "", path.read_text())
    path.write_text(text.replace("[pilot]\n", f"[pilot]\nseed = {seed}\n"))
    return result_of(root)


def say(result: Result, asked: Sequence[str], label: str) -> None:
    for i in asked:
        line = Label(i, result.run.answers[i].sha, "Maud", label, position=1, saved_at="2026-01-05T10:00:00Z")
        append_jsonl(result.pilot.data / "labels.jsonl", line)


def change_setting(root: Path, old: str, new: str) -> Result:
    path = root / "data" / "tiny" / "pilot.toml"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    return result_of(root)


def gate_on(pairs: list[tuple[str, str] | None], second: str = "") -> Gate:
    """The gate of a judge on no record, looked at when fifty of those answers, None: not read, are read."""
    ids = [str(n) for n in range(len(pairs))]
    test = JudgeTest({}, None, ids, dict.fromkeys(ids, "sha"), 50, second)
    return test.gate({i: pair for i, pair in zip(ids, pairs, strict=True) if pair}, "run", lambda _: "")


def record(root: Path) -> list[dict[str, object]]:
    path = root / "data" / "tiny" / "gates.jsonl"
    return [row for _, row in read_jsonl(path)] if path.exists() else []


# -- one look --------------------------------------------------------------------------------------------------------


def test_a_judge_is_not_looked_at_before_all_its_answers_are_read(root):
    bare = result_of(root)
    read(bare, 0, LOOK - 1)
    almost = result_of(root)
    assert almost.gate.state == NOT_READ and not almost.gate.passed and almost.gate.n == 0
    assert f"when all {LOOK} answers that test it are read; {LOOK - 1} are read" in almost.gate.words
    assert record(root) == [] and "judge not admitted yet" in tables.gate(almost.gate)
    read(bare, LOOK - 1, LOOK)
    done = result_of(root)
    assert done.gate.passed and done.gate.n == LOOK
    assert [(row["n"], row["agreed"], row["state"], row["questions"]) for row in record(root)] == [
        (LOOK, LOOK, "passed", done._need_a_person[:LOOK])
    ]


def test_labels_further_down_the_order_are_no_further_look(root):
    read(result_of(root), 0, LOOK, agreeing=False)
    assert result_of(root).gate.state == "failed"
    read(result_of(root), LOOK, 60)
    again = result_of(root)
    assert (again.gate.state, again.gate.n, len(again.to_read)) == ("failed", LOOK, LOOK)
    assert again.headline.by_person == 60  # the score uses all that are read in order
    assert len(record(root)) == 1


def test_looking_at_every_label_admits_a_poor_judge_more_often_than_one_look():
    rng, labels, p = np.random.default_rng(3), ["wrong", "partly", "correct"], np.array([0.15, 0.15, 0.70])
    cells = 0.5 * np.outer(p, p) + 0.5 * np.diag(p)  # kappa .5
    any_look = once = 0
    for _ in range(150):
        drawn = rng.choice(9, size=100, p=cells.ravel())
        pairs = [(labels[i // 3], labels[i % 3]) for i in drawn]
        states = [gate_on([*pairs[:n], *[None] * (100 - n)]).passed for n in range(20, 101, 10)]
        any_look += any(states)
        once += gate_on(pairs[:50]).passed
    assert any_look == once <= 0.06 * 150


def test_a_failed_gate_names_the_labels_and_three_ways(root):
    read(result_of(root), 0, LOOK, agreeing=False)
    words = result_of(root).gate.words
    assert "0 of" in words and "wrong" in words
    for way in (
        "second_look = true in pilot.toml",
        f"confirm that one on the next {LOOK} of the order",
        'kind = "none"',
    ):
        assert way in words


# -- the first look decides --------------------------------------------------------------------------------------------


def failed_before(root: Path) -> Result:
    """A judge that failed its first look, opened once."""
    result = result_of(root)
    read(result, 0, LOOK, agreeing=False)
    assert result_of(root).gate.state == "failed"
    return result


def test_a_judge_that_failed_stays_out_when_its_labels_are_corrected_until_it_would_pass(root):
    result = failed_before(root)
    relabel(result, result._need_a_person[:LOOK])
    found = result_of(root).gate
    assert (found.state, found.agreed, found.passed) == ("failed", LOOK, False)
    today = record(root)[0]["date"]
    assert (
        f"Tested before: failed, 0 of {LOOK} labels agreed ({today}). What was read or corrected since does not"
        in found.words
    )
    assert f"confirm that one on the next {LOOK} of the order" in found.words
    assert [row["state"] for row in record(root)] == ["failed", "passed"]  # each look is on record
    assert result_of(root).gate.state == "failed"


def test_another_name_for_the_annotator_is_no_new_test(root):
    failed_before(root)
    renamed = change_setting(root, '"Maud"', '"Nora"')
    assert renamed.gate.state == "failed"
    relabel(renamed, renamed._need_a_person[:LOOK], annotator="Nora")
    again = result_of(root).gate
    assert (again.agreed, again.n, again.state) == (LOOK, LOOK, "failed")


def test_another_run_of_the_system_is_no_new_test(root):
    first = failed_before(root)
    other = change_setting(root, 'method = "keyword"', 'method = "keyword"\nk = 2')
    assert other.run.id != first.run.id and other.gate.state == "failed" and len(record(root)) == 1
    relabel(other, other._need_a_person[:LOOK])
    assert result_of(root).gate.state == "failed"


def test_the_number_of_answers_of_a_look_is_that_of_the_first_on_record(root):
    failed_before(root)
    read(result_of(root), LOOK, 61)
    for labels in (14, 26, 40, 61):
        moved = change_setting(root, f"labels = {LOOK}", f"labels = {labels}")
        assert (moved.gate.n, moved.gate.state) == (LOOK, "failed")
        change_setting(root, f"labels = {labels}", f"labels = {LOOK}")
    assert len(record(root)) == 1
    mended = judged_by(root, "fitted")  # the size holds for every judge
    assert change_setting(root, f"labels = {LOOK}", "labels = 14").gate.n == LOOK == mended.gate.n


def test_a_fitted_judge_is_not_refitted_until_it_passes(root):
    judged_by(root, "fitted")
    judged = change_setting(root, f"labels = {LOOK}", "labels = 36")
    for n, i in enumerate(judged._need_a_person[:36]):
        relabel(judged, [i], agreeing=n % 5 < 2)
    failed = result_of(root).gate
    relabel(judged, judged._need_a_person, agreeing=False)  # a fit can learn this
    again = result_of(root)
    assert failed.state == "failed" == again.gate.state and again.gate.agreed == 36
    assert "Tested before: failed" in again.gate.words


def test_too_few_faults_are_no_failure_and_a_later_look_may_pass(root):
    result = result_of(root)
    say(result, result._need_a_person[:LOOK], "correct")
    few = result_of(root).gate
    assert few.state == "too few faults" and "second_look = true" in few.words
    relabel(result, result._need_a_person[:LOOK])
    assert result_of(root).gate.passed
    assert [row["state"] for row in record(root)] == ["too few faults", "passed"]


def test_a_judge_that_passed_and_fails_now_is_not_admitted_nor_later(root):
    result = result_of(root)
    read(result, 0, LOOK)
    assert result_of(root).gate.passed
    relabel(result, result._need_a_person[:LOOK], agreeing=False)
    assert result_of(root).gate.state == "failed"


def test_the_seed_of_the_pilot_does_not_move_the_gate(root):
    result = result_of(root)
    read(result, 0, LOOK - 2)
    relabel(result, result._need_a_person[LOOK - 2 : LOOK], agreeing=False)
    lows = set()
    for seed in (1, 2, 3):
        lows.add(seeded(root, seed).gate.kappa_low)
    assert len(lows) == 1 and len(record(root)) == 1


def test_without_a_judge_nothing_is_tested_or_recorded(root):
    bare = judged_by(root, "none")
    read(judged_by(root, "offline"), 0, LOOK)
    found = judged_by(root, "none")
    assert (bare.gate.state, found.gate.state) == ("no data", "no data") and found.to_read == found.first_to_read
    assert record(root) == []


# -- a second look ---------------------------------------------------------------------------------------------------


def test_a_second_look_is_taken_only_where_it_was_planned_and_is_read_in_the_form(root):
    read(result_of(root), 0, LOOK, agreeing=False)
    set_up(root / "data" / "tiny", second_look=True)
    with pytest.raises(StaleError, match="second look"):
        result_of(root)
    Pilot.open("tiny", root).lock_acceptance(why="agreed with the sponsor")
    waiting = result_of(root)
    assert waiting.gate.state == NOT_READ and f"when {2 * LOOK} answers are read; {LOOK} are" in waiting.gate.words
    assert len(waiting.to_read) == len(items(waiting)) == 2 * LOOK and waiting.labelled == (LOOK, LOOK)
    assert "further down the order are asked for" in tables.progress(waiting)
    assert waiting.headline.by_person == LOOK
    read(waiting, LOOK, 2 * LOOK)
    second = result_of(root)
    assert (second.gate.n, second.gate.state, second.gate.confidence) == (2 * LOOK, "failed", 0.975)
    assert "there is no third" in second.gate.words and second.headline.by_person == 2 * LOOK


def test_passing_at_either_look_admits_at_the_stricter_level():
    good = [("wrong", "wrong")] * 20 + [("correct", "correct")] * 30
    poor = [("wrong", "correct")] * 20 + [("correct", "correct")] * 30
    unread = [None] * 50
    assert gate_on([*good, *unread], "agreed").passed
    assert gate_on([*good, *unread], "agreed").confidence == 0.975
    assert gate_on([*good, *poor], "agreed").n == 50
    fair = [("wrong", "correct")] * 6 + [("wrong", "wrong")] * 9 + [("correct", "correct")] * 35
    assert gate_on([*fair, *unread], "agreed").asks == 100
    assert gate_on([*fair, *good], "agreed").passed
    assert not gate_on([*fair, *good]).passed


def test_the_first_look_of_two_is_on_record_so_that_a_judge_changed_after_it_is_tested_on_others(root):
    set_up(root / "data" / "tiny", second_look=True)
    Pilot.open("tiny", root).lock_acceptance(why="the panel asked")
    failed_before_second(root)
    assert [(row["look"], row["state"], len(row["questions"])) for row in record(root)] == [(1, "failed", LOOK)]
    mended = judged_by(root, "fitted")
    assert not {*mended._test.answers} & {*mended._need_a_person[:LOOK]}
    read(mended, LOOK, 2 * LOOK)
    assert judged_by(root, "offline").gate.state == "failed"
    assert [(row["look"], len(row["questions"])) for row in record(root)] == [(1, LOOK), (2, 2 * LOOK)]


def failed_before_second(root: Path) -> None:
    read(result_of(root), 0, LOOK, agreeing=False)
    assert result_of(root).gate.state == NOT_READ


def test_a_first_look_that_failed_is_not_corrected_into_a_pass_the_second_decides(root):
    set_up(root / "data" / "tiny", second_look=True)
    Pilot.open("tiny", root).lock_acceptance(why="the panel asked")
    failed_before_second(root)
    bare = result_of(root)
    relabel(bare, bare._need_a_person[:LOOK])
    waiting = result_of(root).gate
    assert (
        waiting.state == NOT_READ and f"First look: failed on {record(root)[0]['date']}, 0 of {LOOK}." in waiting.words
    )
    read(bare, LOOK, 2 * LOOK)
    second = result_of(root).gate
    assert second.passed and second.n == 2 * LOOK


def test_taking_the_second_look_out_of_the_lock_does_not_undo_the_first(root):
    set_up(root / "data" / "tiny", second_look=True)
    Pilot.open("tiny", root).lock_acceptance(why="the panel asked")
    failed_before_second(root)
    path = root / "data" / "tiny" / "pilot.toml"
    path.write_text(path.read_text().replace("second_look = true\n", ""))
    Pilot.open("tiny", root).lock_acceptance(why="one look will do")
    relabel(result_of(root), result_of(root)._need_a_person[:LOOK])
    assert result_of(root).gate.state == "failed"


def test_a_second_look_that_was_agreed_late_says_when_and_why(root):
    failed_before(root)
    set_up(root / "data" / "tiny", second_look=True)
    Pilot.open("tiny", root).lock_acceptance(why="it failed narrowly")
    words = result_of(root).gate.words
    today = record(root)[0]["date"]
    assert f"The second look is in the lock (amended {today}: it failed narrowly)." in words
    assert "beforehand" not in words and "Until then its labels are not counted one by one." in words


def test_where_a_lock_has_its_second_look_from():
    old = {"date": "2026-01-02", "why": "x"}
    agreed = {"date": "2026-01-03", "second_look": True, "why": "later", "amends": old}
    assert second_look_said(agreed) == "The second look is in the lock (amended 2026-01-03: later)"
    assert second_look_said({"date": "2026-01-04", "second_look": True, "why": "other", "amends": agreed}) == (
        "The second look is in the lock (amended 2026-01-03: later)"
    )
    assert second_look_said({"date": "2026-01-03", "second_look": True}) == "The second look is in the lock"
    assert second_look_said(None) == "The second look is in pilot.toml"


def test_two_looks_are_told_only_where_two_were_taken(root):
    path = root / "data" / "tiny" / "pilot.toml"
    path.write_text(path.read_text().replace(f"labels = {LOOK}", "labels = 61\nsecond_look = true"))
    Pilot.open("tiny", root).lock_acceptance(why="the panel asked")
    everything = len(result_of(root)._need_a_person)
    read(result_of(root), 0, everything, agreeing=False)
    found = result_of(root).gate
    assert found.state == "failed" and "No further answer is left for a second look." in found.words
    assert "third" not in found.words and "no further answer of the order is left to confirm" in found.words


def test_the_words_give_the_number_of_answers_that_are_left(root):
    path = root / "data" / "tiny" / "pilot.toml"
    path.write_text(path.read_text().replace(f"labels = {LOOK}", "labels = 40"))
    read(result_of(root), 0, 40, agreeing=False)
    rest = len(result_of(root)._need_a_person) - 40
    words = result_of(root).gate.words
    assert 0 < rest < 40 and f"confirm that one on the {rest} answers of the order that are left" in words
    assert f"at the next {rest} of the order too" in words


# -- the record ------------------------------------------------------------------------------------------------------


def test_the_same_look_in_another_run_folder_or_on_another_day_is_no_new_line(root):
    read(result_of(root), 0, LOOK)
    assert result_of(root).gate.passed
    (row,) = record(root)
    path = root / "data" / "tiny" / "gates.jsonl"
    path.write_text(json.dumps({**row, "date": "2026-01-01", "run": "2026-01-01-baseline-000000"}) + "\n")
    assert result_of(root).gate.passed and len(record(root)) == 1
    assert not (root / "results" / "tiny" / "gates.jsonl").exists()


def test_half_a_last_line_of_the_record_is_cut_as_everywhere(root):
    failed_before(root)
    path = root / "data" / "tiny" / "gates.jsonl"
    whole = path.read_text()
    path.write_text(whole + '{"date": "2026')
    assert result_of(root).gate.state == "failed" and len(read_looks(path)) == 1
    relabel(result_of(root), result_of(root)._need_a_person[:1])
    assert result_of(root).gate.state == "failed"
    assert path.read_text().startswith(whole) and len(record(root)) == 2
    assert path.with_name("gates.jsonl.cut").read_text() == '{"date": "2026\n'


def test_a_line_that_is_no_look_is_named(root):
    failed_before(root)
    path = root / "data" / "tiny" / "gates.jsonl"
    path.write_text(path.read_text() + '{"date": "2026-01-01"}\n')
    with pytest.raises(DataError, match="gates.jsonl, line 2"):
        _ = result_of(root).gate


# -- another judge ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agreeing", [True, False])
def test_another_judge_is_tested_on_answers_on_which_none_was_before(root, agreeing):
    read(result_of(root), 0, LOOK, agreeing)
    first = result_of(root).gate.state
    mended = judged_by(root, "fitted")
    assert mended.gate.state == NOT_READ
    assert (
        f"An earlier judge was tested on the answers before these, so this one is tested on the next {LOOK}"
        in mended.gate.words
    )
    assert mended.to_read == mended._need_a_person[: 2 * LOOK] and len(mended.graded) == len(mended.questions)
    assert not any(g.by == "judge" for g in mended.graded.values())
    read(mended, LOOK, 2 * LOOK)
    confirmed = judged_by(root, "fitted")
    assert confirmed.gate.n == LOOK and confirmed.gate.state == ("passed" if agreeing else "failed")
    assert record(root)[1]["questions"] == confirmed._need_a_person[LOOK : 2 * LOOK]
    assert judged_by(root, "offline").gate.state == first  # the first one's own test stands
    assert len(record(root)) == 2


def test_a_fitted_judge_that_waits_for_its_test_shows_no_agreement_of_nothing(root):
    change_setting(root, f"labels = {LOOK}", "labels = 30")
    read(result_of(root), 0, 30)
    assert result_of(root).gate.passed
    waiting = judged_by(root, "fitted")
    assert waiting.fitted and not waiting.fitted.why and waiting.gate.n == 0
    assert "fitted to 30 labels" in tables.judge_in_use(waiting) and "Agrees" not in tables.judge_in_use(waiting)
    read(waiting, 30, 60)
    found = judged_by(root, "fitted")
    page = tables.judge_in_use(found)
    assert f"{found.gate.agreed} of 30" in page and "30 of 30" in page  # the fixed weights, on the same answers


def test_answers_that_the_annotator_may_not_open_are_said_where_the_test_asks_for_them(tmp_path):
    data = tiny_pilot(tmp_path).data
    leave, pay = {"doc": "leave", "groups": [], "expected": "25 days"}, {"doc": "salaries", "groups": ["hr"]}
    rows = [{**leave, "id": f"m{n:02}", "question": f"How many days of annual leave, in year {n}?"} for n in range(9)]
    paid = [{**pay, "id": f"p{n}", "question": f"What does band 7 pay in {n}?", "expected": "91,500"} for n in range(3)]
    (data / "questions.jsonl").write_text("".join(json.dumps({**r, "answerable": True}) + "\n" for r in [*rows, *paid]))
    set_up(data, labels=12)
    pilot = Pilot.open("tiny", tmp_path)
    pilot.lock_acceptance()
    pilot.run()
    result = Ledger(Pilot.open("tiny", tmp_path)).result(())
    assert {*result.closed.values()} == {"hr"}
    assert (
        "3 of them show text that the annotator may not open" in result.gate.words and "(3 for hr)" in result.gate.words
    )
    relabel(result, [i for i in result.to_read if i in result.closed], annotator="Reid")
    assert "may not open" not in Ledger(Pilot.open("tiny", tmp_path)).result(()).gate.words


def test_when_no_answer_is_left_it_says_so(root):
    read(result_of(root), 0, 61)
    assert result_of(root).gate.passed
    path = root / "data" / "tiny" / "gates.jsonl"
    row = json.loads(path.read_text())
    path.write_text(json.dumps({**row, "questions": result_of(root).order}) + "\n")
    found = judged_by(root, "fitted").gate
    assert found.state == NOT_READ and "An earlier judge" in found.words and "no further answer" in found.words


def test_an_example_run_is_tested_as_it_came_and_put_on_no_record(root):
    own = result_of(root)
    read(own, 0, LOOK)
    folder = own.pilot.data / "example-runs" / "2026-01-05-other"
    shutil.copytree(own.run.folder, folder)
    info = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(info | {"judge": {"kind": "model", "model": "strict"}}))
    (example,) = example_runs(Pilot.open("tiny", root))
    assert example.gate.n == LOOK and record(root) == []
    assert result_of(root).gate.passed and example_runs(Pilot.open("tiny", root))[0].gate.n == LOOK
    assert [row["name"] for row in record(root)] == ["offline"]


def test_what_decides_a_judge_is_its_kind_model_and_prompt_not_how_it_is_called():
    table = {"kind": "model", "model": "m", "temperature": 0.0, "max_tokens": 600, "concurrency": 4}
    assert judge_id(table) == judge_id({**table, "concurrency": 9, "timeout": 1.0})
    others = ({"model": "n"}, {"temperature": 0.5}, {"kind": "offline"}, {"kind": "fitted"}, {"repeat": 2})
    assert len({judge_id({**table, **other}) for other in ({}, *others)}) == 6
    assert judge_id({"kind": "offline"}) == judge_id({"kind": "offline", "max_tokens": 9})


def test_only_tests_of_others_before_its_own_first_take_answers_from_a_judge():
    looks = [
        Look("d", judge, judge, "r", asked, "a", 2, 1, "failed") for judge, asked in (("a", ("1", "2")), ("b", ("3",)))
    ]
    order = ["1", "2", "3", "4", "5"]
    assert before(looks, "a") == set() and before(looks, "b") == {"1", "2"} and before(looks, "c") == {"1", "2", "3"}
    assert new_to("b", looks, order, ["1", "3", "5"]) == ["3", "5"]
    assert new_to("c", looks, order, ["1", "3", "5"]) == ["5"] and new_to("a", [], order, ["1"]) == ["1"]
