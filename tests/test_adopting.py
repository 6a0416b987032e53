"""The living set: failed answers of production join it with date, groups and the expert's word, and nothing moves."""

import json
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest
from test_main import rag_pilot, refused
from tiny import run_and_label, tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.adopting import adopt
from rag_pilot.analysis.comparison import compare
from rag_pilot.errors import DataError
from rag_pilot.files import append_jsonl, read_jsonl
from rag_pilot.grading.production import read_production
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.records import Label
from rag_pilot.review import draw_from_file
from rag_pilot.stored import stored_result

REAL = (
    # id, question, groups of the asker, what Maud said of the answer
    ("r1", "May I take a\ntaxi?", ["all-staff"], "wrong"),
    ("r2", "What is band 7?", ["all-staff", "hr"], "declined"),
    ("r3", "How long is leave?", ["all-staff"], "correct"),
    ("r4", "how many  days of ANNUAL leave a year?", ["all-staff"], "partly"),  # q1 of the set, folded
    ("r5", "Who mends the lift?", ["all-staff"], "wrong"),
    ("r6", "what does band 7 pay?", ["all-staff"], "declined"),  # q3 is hr's: of another asker another question
)


@dataclass
class Living:
    pilot: Pilot
    run: str

    @property
    def questions(self) -> list[dict]:
        return [row for _, row in read_jsonl(self.pilot.data / "questions.jsonl")]

    @property
    def files(self) -> list[bytes]:
        return [(self.pilot.data / name).read_bytes() for name in ("questions.jsonl", "order.jsonl")]


@pytest.fixture
def living(tmp_path: Path) -> Living:
    """A pilot with a run and its labels, and six real answers that hr's Maud has re-read."""
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "pilot.toml"
    told = path.read_text(encoding="utf-8").replace("[pilot]", '[pilot]\nannotator_groups = ["hr"]')
    path.write_text(told, encoding="utf-8")
    pilot = Pilot.open("tiny", tmp_path)
    run_and_label(pilot)
    rows = [{"id": i, "question": q, "answer": f"Ask {i}.", "groups": groups} for i, q, groups, _ in REAL]
    real = pilot.data / "real.jsonl"
    real.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    draw = draw_from_file(pilot, read_production(real), 15)
    said = {f"real.jsonl:{i}": label for i, _, _, label in REAL}
    for id_, sha in draw.drawn:
        note = "On form T-7 alone." if id_.endswith("r1") else ""
        append_jsonl(pilot.data / "labels.jsonl", Label(id_, sha, "Maud", said[id_], "spot", note=note))
    return Living(pilot, Ledger(pilot).result().run.id)


def test_a_failed_answer_joins_with_date_groups_and_the_experts_word_last_in_the_order(living):
    before, (questions, order) = living.pilot.order(), living.files
    assert adopt(living.pilot, "real.jsonl:r1", " Yes, on form T-7. ", "travel") == "p0001"
    assert adopt(living.pilot, "real.jsonl:r2", "91,500 euros", "salaries") == "p0002"
    assert adopt(living.pilot, "real.jsonl:r5", answerable=False) == "p0003"
    assert [b.startswith(a) for a, b in zip((questions, order), living.files, strict=True)] == [True, True]
    assert living.questions[6] == {
        "id": "p0001",
        "question": "May I take a\ntaxi?",
        "expected": "Yes, on form T-7.",
        "doc": "travel",
        "groups": [],
        "answerable": True,
        "source": "production",
        "validated_by": "Maud",
        "added": date.today().isoformat(),
    }
    assert living.questions[7]["groups"] == ["hr"]
    assert (living.questions[8]["answerable"], living.questions[8]["doc"]) == (False, None)
    assert living.pilot.order() == [*before, "p0001", "p0002", "p0003"]


def test_runs_from_before_and_after_are_both_opened_and_say_which_question_is_new(living):
    adopt(living.pilot, "real.jsonl:r1", "Yes, on form T-7.", "travel")
    after = Ledger(Pilot.open("tiny", living.pilot.data.parents[1])).result()
    old, new = stored_result(living.pilot, living.run), stored_result(living.pilot, after.run.id)
    assert (old.headline.asked, new.headline.asked) == (6, 7)
    assert compare(old.retrieval.hits(5), new.retrieval.hits(5), 0.05).only_after == ("p0001",)
    assert (old.by_id.get("p0001"), new.by_id["p0001"].added) == (None, date.today().isoformat())


@pytest.mark.parametrize(
    ("answer", "given", "said"),
    [
        ("real.jsonl:r1", {}, "needs what the expert says is right and the document that holds it"),
        ("real.jsonl:r1", {"doc": "travel", "expected": " "}, "needs what the expert says is right"),
        ("real.jsonl:r1", {"expected": "On form T-7."}, "needs what the expert says is right"),
        ("real.jsonl:r1", {"expected": "Yes.", "doc": "travels"}, "no document 'travels' was read; did you mean 'tra"),
        ("real.jsonl:r1", {"expected": "Yes.", "doc": "salaries"}, r"asker \(all-staff\) may not open 'salaries'"),
        ("real.jsonl:r1", {"doc": "travel", "answerable": False}, "its asker may open 'travel'"),
        ("real.jsonl:r3", {"expected": "25 days", "doc": "leave"}, "was labelled correct by Maud"),
        ("real.jsonl:r4", {"expected": "25 days", "doc": "leave"}, "repeats question 'q1' of the set"),
        ("real.jsonl:r9", {}, "those that failed: (real.jsonl:r[1256](, )?){4}$"),
    ],
)
def test_what_may_not_join_is_refused_and_nothing_is_written(living, answer, given, said):
    before = living.files
    with pytest.raises(DataError, match=said):
        adopt(living.pilot, answer, **given)
    assert living.files == before


def test_the_same_question_joins_once_and_that_of_another_asker_beside_it(living):
    adopt(living.pilot, "real.jsonl:r5", answerable=False)
    with pytest.raises(DataError, match="repeats question 'p0001'"):
        adopt(living.pilot, "real.jsonl:r5", answerable=False)
    assert adopt(living.pilot, "real.jsonl:r6", doc="salaries", answerable=False) == "p0002"


def test_an_answer_without_its_askers_groups_joins_never(living):
    """Such a one is shown to nobody, so it has no label: unless somebody writes one by hand."""
    path = next((living.pilot.data / "reviews").glob("*.json"))
    draw = json.loads(path.read_text(encoding="utf-8"))
    draw["served"] = [{name: value for name, value in row.items() if name != "groups"} for row in draw["served"]]
    path.write_text(json.dumps(draw), encoding="utf-8")
    with pytest.raises(DataError, match="does not name its asker's groups"):
        adopt(living.pilot, "real.jsonl:r1", "Yes, on form T-7.", "travel")


def test_the_command_lists_what_failed_and_takes_one_in(living, monkeypatch, capsys):
    monkeypatch.chdir(living.pilot.data.parents[1])
    assert main(["adopt", "tiny", "real.jsonl:r1", "--expected", "On form T-7.", "--doc", "travel"]) == 0
    assert "real.jsonl:r1 joined the set as p0001, last in the order" in capsys.readouterr().out
    assert main(["adopt", "tiny"]) == 0
    listed = capsys.readouterr().out
    assert listed.startswith("5 of 6 real answers that were read failed")
    assert "real.jsonl:r1: wrong, in the set as p0001: May I take a taxi?\n    Maud: On form T-7 alone.\n" in listed
    assert "real.jsonl:r4: partly, in the set as q1" in listed and "r5: wrong, not in the set: Who mends" in listed
    assert refused(rag_pilot(Path.cwd(), "adopt", "tiny", "real.jsonl:r5"), "needs what the expert says is right")
