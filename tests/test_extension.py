"""A second set of questions is a second chance: only as planned before the first verdict, and once."""

import json
from pathlib import Path

from tiny import LABELS, run_and_label, tiny_pilot

from rag_pilot.files import append_jsonl, read_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.records import Label


def opened(root: Path, planned: bool) -> Pilot:
    pilot = tiny_pilot(root)
    path = pilot.data / "pilot.toml"
    told = f'[pilot]\nextension_planned = {str(planned).lower()}\nannotator_groups = ["hr"]'
    path.write_text(path.read_text(encoding="utf-8").replace("[pilot]", told, 1), encoding="utf-8")
    pilot = Pilot.open("tiny", root)
    pilot.lock_acceptance()
    run_and_label(pilot)
    return pilot


def grown(pilot: Pilot, name: str, **more: object) -> Pilot:
    """The pilot with one question more, asked, its answer labelled."""
    row = {"id": name, "question": f"How many days of annual leave are there in {name}?", "expected": "25 days"}
    row |= {"doc": "leave", "groups": [], "answerable": True, **more}
    append_jsonl(pilot.data / "questions.jsonl", row)
    append_jsonl(pilot.data / "order.jsonl", {"position": 99, "id": name})
    pilot = Pilot.open("tiny", pilot.data.parents[1])
    result = Ledger(pilot).result()
    for i in result.to_read:
        if i not in result.expert.current:
            label = Label(i, result.run.answers[i].sha, "Maud", LABELS.get(i, "correct"), position=9)
            append_jsonl(pilot.data / "labels.jsonl", label)
    return Pilot.open("tiny", pilot.data.parents[1])


def states(pilot: Pilot) -> tuple[list[str], str]:
    result = Ledger(pilot).result()
    decision = result.decision()
    return [j.state for j in result.judgements()], " ".join(decision.reasons)


def sets(pilot: Pilot) -> list[dict]:
    path = pilot.data / "decisions.jsonl"
    return [row for _, row in read_jsonl(path)] if path.exists() else []


def test_without_a_plan_a_second_set_of_questions_decides_nothing(tmp_path):
    pilot = opened(tmp_path, planned=False)
    assert all("second chance" not in j.words for j in Ledger(pilot).result().judgements())
    states(pilot), states(pilot)
    assert [row["n"] for row in sets(pilot)] == [6]
    stood = "; ".join(f"{j.criterion.name}: {j.state}" for j in Ledger(pilot).result().judgements())
    pilot = grown(pilot, "q7")
    found, said = states(pilot)
    assert set(found) == {"not decided"} and "these 7 are another set, which would be a second chance" in said
    assert f"What was found then stands ({stood}); go back" in said
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("planned = false", "planned = true"), encoding="utf-8")
    late = Pilot.open("tiny", tmp_path)
    late.lock_acceptance(why="late")
    assert "no extension was planned then" in states(late)[1]  # amending the lock afterwards does not plan it


def test_a_planned_extension_is_one_and_a_third_set_decides_nothing(tmp_path):
    pilot = opened(tmp_path, planned=True)
    states(pilot)
    second = grown(pilot, "q7")
    assert "second chance" not in states(second)[1] and "third" not in states(second)[1]
    assert [(row["n"], row["planned"]) for row in sets(second)] == [(6, True), (7, True)]
    third = grown(second, "q8")
    assert "there is no third time" in states(third)[1] and len(sets(third)) == 2


def test_a_plan_that_is_withdrawn_after_the_first_verdict_leaves_both_at_its_level(tmp_path):
    pilot = opened(tmp_path, planned=True)
    states(pilot)
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("planned = true", "planned = false"), encoding="utf-8")
    Pilot.open("tiny", tmp_path).lock_acceptance(why="withdrawn")
    for later in (Pilot.open("tiny", tmp_path), grown(pilot, "q7")):
        judged = [j for j in Ledger(later).result().judgements() if j.value is not None and j.criterion.limit]
        assert judged and {j.confidence for j in judged} == {0.975}


def test_a_question_that_joined_for_having_failed_makes_no_other_set(tmp_path):
    pilot = opened(tmp_path, planned=False)
    states(pilot)
    assert "second chance" not in states(grown(pilot, "p0001", source="failed in use"))[1]


def test_no_set_is_on_record_while_answers_wait_and_half_a_line_is_no_set(tmp_path):
    pilot = opened(tmp_path, planned=False)
    labels = pilot.data / "labels.jsonl"
    held = labels.read_text(encoding="utf-8")
    labels.write_text(held.split("\n")[0] + "\n", encoding="utf-8")
    states(pilot)
    assert sets(pilot) == []
    labels.write_text(held, encoding="utf-8")
    (pilot.data / "decisions.jsonl").write_text(json.dumps({"date": "2026-01-01"})[:9], encoding="utf-8")
    states(pilot)
    assert [row["n"] for row in sets(pilot)] == [6]
