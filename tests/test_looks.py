"""Which answers test a judge: looked at once, on record, and another judge on others."""

import json
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_pilot

from rag_pilot.errors import StaleError
from rag_pilot.examples import example_runs
from rag_pilot.files import append_jsonl, read_jsonl
from rag_pilot.grading.agreement import NOT_READ, gate_in_looks
from rag_pilot.ledger import Ledger
from rag_pilot.looks import Look, before, judge_id, new_to
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


def record(root: Path) -> list[dict[str, object]]:
    path = root / "results" / "tiny" / "gates.jsonl"
    return [row for _, row in read_jsonl(path)] if path.exists() else []


# -- one look --------------------------------------------------------------------------------------------------------


def test_a_judge_is_not_looked_at_before_all_its_answers_are_read(root):
    bare = result_of(root)
    read(bare, 0, LOOK - 1)
    almost = result_of(root)
    assert almost.gate.state == NOT_READ and not almost.gate.passed and almost.gate.n == 0
    assert f"{LOOK - 1} of {LOOK} are read" in almost.gate.words
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
        states = [gate_in_looks([*pairs[:n], *[None] * (100 - n)], 50, 1).passed for n in range(20, 101, 10)]
        any_look += any(states)
        once += gate_in_looks(pairs[:50], 50, 1).passed
    assert any_look == once <= 0.06 * 150


def test_a_failed_gate_names_the_labels_and_three_ways(root):
    read(result_of(root), 0, LOOK, agreeing=False)
    words = result_of(root).gate.words
    assert "0 of" in words and "wrong" in words
    for way in ("second_look in pilot.toml", "confirm it on the next 50 of the order", 'kind = "none"'):
        assert way in words


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
    assert waiting.gate.state == NOT_READ and f"{LOOK} of {2 * LOOK} are read" in waiting.gate.words
    assert len(waiting.to_read) == len(items(waiting)) == 2 * LOOK and waiting.labelled == (LOOK, LOOK)
    assert "further down the order are asked for" in tables.progress(waiting)
    assert waiting.headline.by_person == LOOK
    read(waiting, LOOK, 2 * LOOK)
    second = result_of(root)
    assert (second.gate.n, second.gate.state, second.gate.confidence) == (2 * LOOK, "failed", 0.975)
    assert "a third is none" in second.gate.words and second.headline.by_person == 2 * LOOK


def test_passing_at_either_look_admits_at_the_stricter_level():
    good = [("wrong", "wrong")] * 20 + [("correct", "correct")] * 30
    poor = [("wrong", "correct")] * 20 + [("correct", "correct")] * 30
    unread = [None] * 50
    assert gate_in_looks([*good, *unread], 50, 1, second=True).passed
    assert gate_in_looks([*good, *unread], 50, 1, second=True).confidence == 0.975
    assert gate_in_looks([*good, *poor], 50, 1, second=True).n == 50
    fair = [("wrong", "correct")] * 6 + [("wrong", "wrong")] * 9 + [("correct", "correct")] * 35
    assert gate_in_looks([*fair, *unread], 50, 1, second=True).asks == 100
    assert gate_in_looks([*fair, *good], 50, 1, second=True).passed
    assert not gate_in_looks([*fair, *good], 50, 1).passed


# -- another judge ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("agreeing", [True, False])
def test_another_judge_is_tested_on_answers_on_which_none_was_before(root, agreeing):
    read(result_of(root), 0, LOOK, agreeing)
    first = result_of(root).gate.state
    mended = judged_by(root, "fitted")
    assert mended.gate.state == NOT_READ
    assert f"changed after it was tested on these answers: read the next {LOOK}" in mended.gate.words
    assert mended.to_read == mended._need_a_person[: 2 * LOOK] and len(mended.graded) == len(mended.questions)
    assert not any(g.by == "judge" for g in mended.graded.values())
    read(mended, LOOK, 2 * LOOK)
    confirmed = judged_by(root, "fitted")
    assert confirmed.gate.n == LOOK and confirmed.gate.state == ("passed" if agreeing else "failed")
    assert record(root)[1]["questions"] == confirmed._need_a_person[LOOK : 2 * LOOK]
    assert judged_by(root, "offline").gate.state == first  # the first one's own test stands
    assert len(record(root)) == 2


def test_when_no_answer_is_left_it_says_so(root):
    read(result_of(root), 0, 61)
    assert result_of(root).gate.passed
    path = root / "results" / "tiny" / "gates.jsonl"
    row = json.loads(path.read_text())
    path.write_text(json.dumps({**row, "questions": result_of(root).order}) + "\n")
    found = judged_by(root, "fitted").gate
    assert found.state == NOT_READ and "no answer of the order is left" in found.words


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
    looks = [Look("d", judge, judge, "r", asked, 2, 1, "failed") for judge, asked in (("a", ("1", "2")), ("b", ("3",)))]
    order = ["1", "2", "3", "4", "5"]
    assert before(looks, "a") == set() and before(looks, "b") == {"1", "2"} and before(looks, "c") == {"1", "2", "3"}
    assert new_to("b", looks, order, ["1", "3", "5"]) == ["3", "5"]
    assert new_to("c", looks, order, ["1", "3", "5"]) == ["5"] and new_to("a", [], order, ["1"]) == ["1"]
