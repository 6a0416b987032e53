"""The living set: failed answers of production join it with date, groups and the expert's word, and nothing moves."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import pytest
from test_main import rag_pilot, refused
from tiny import run_and_label, tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.adopting import adopt
from rag_pilot.analysis.comparison import compare
from rag_pilot.corpus.question_file import QuestionFile
from rag_pilot.errors import DataError
from rag_pilot.files import append_jsonl, read_jsonl
from rag_pilot.grading.desk import Desk
from rag_pilot.grading.form_parts import texts
from rag_pilot.grading.production import read_production
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reading import items
from rag_pilot.records import Label
from rag_pilot.reporting import tables
from rag_pilot.review import draw_from_file
from rag_pilot.stored import stored_result
from rag_pilot.two_runs import hits

REAL = (
    # id, question, groups of the asker, what Maud said of the answer
    ("r1", "May I take a\ntaxi?", ["all-staff"], "wrong"),
    ("r2", "What is band 7?", ["all-staff", "hr"], "declined"),
    ("r3", "How long is leave?", ["all-staff"], "correct"),
    ("r4", "how many  days of ANNUAL leave a year?", ["all-staff"], "partly"),  # q1 of the set, folded
    ("r5", "Who mends the lift?", ["all-staff"], "wrong"),
    ("r6", "what does band 7 pay?", ["all-staff"], "declined"),  # q3 is hr's: of another asker another question
    ("r7", "On which form may Jane Roe claim a taxi?", ["all-staff", "hr"], "wrong"),
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
    """A pilot with a run and its labels, and seven real answers that hr's Maud has re-read."""
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
    assert adopt(living.pilot, "real.jsonl:r1", " Yes, on form T-7. ", "travel") == ("p0001", False)
    assert adopt(living.pilot, "real.jsonl:r2", "91,500 euros", "salaries").id == "p0002"
    assert adopt(living.pilot, "real.jsonl:r5", answerable=False).id == "p0003"
    assert [b.startswith(a) for a, b in zip((questions, order), living.files, strict=True)] == [True, True]
    assert living.questions[6] == {
        "id": "p0001",
        "question": "May I take a\ntaxi?",
        "expected": "Yes, on form T-7.",
        "doc": "travel",
        "groups": [],
        "answerable": True,
        "source": "failed in use",
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
    assert compare(*hits(old, new, 5), 0.05).only_after == ("p0001",)
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
        ("real.jsonl:r9", {}, "those that failed: (real.jsonl:r[12567](, )?){5}$"),
    ],
)
def test_what_may_not_join_is_refused_and_nothing_is_written(living, answer, given, said):
    before = living.files
    with pytest.raises(DataError, match=said):
        adopt(living.pilot, answer, **given)
    assert living.files == before


def test_what_joined_for_having_failed_is_in_no_share_and_is_counted_beside_them(living):
    before = Ledger(living.pilot).result()
    adopt(living.pilot, "real.jsonl:r1", "Yes, on form T-7.", "travel")
    adopt(living.pilot, "real.jsonl:r5", answerable=False)
    pilot = Pilot.open("tiny", living.pilot.data.parents[1])
    after = Ledger(pilot).result()
    same = (
        lambda r: (r.headline.asked, r.headline.correct, r.retrieval.hit5, r.label_shares, r.four_way, r.labelled),
        lambda r: ([r.judgements(), r.pareto, r.threshold(), r.gate], r.measures_by("source"), r.first_to_read),
    )
    assert [of(after) for of in same] == [of(before) for of in same]
    assert after.headline.words.endswith(
        "2 more questions joined the set for having failed in use: 1 correct now, 1 not graded by a person or a "
        "rule; in no share."
    )
    assert [score.checked.keys() for score in after.scores] == [score.checked.keys() for score in before.scores]
    assert after.to_read == [*before.to_read, "p0001"]  # after the sample; the other one declines, which a rule labels
    assert after.leaking.n == 8 and {"p0001", "p0002"} <= after.ranks.keys() | after.graded.keys()


def test_the_words_of_a_real_asker_are_shown_to_nobody_without_all_her_groups(living):
    adopt(living.pilot, "real.jsonl:r7", "On form T-7.", "travel")  # hr's words; all may open the document
    pilot = Pilot.open("tiny", living.pilot.data.parents[1])
    result = Ledger(pilot).result()
    assert {hit["doc"] for hit in result.run.answers["p0001"].hits} == {"travel"} and pilot.readers == {"all-staff"}
    assert result.hidden("p0001") == "hr"
    told = (pilot.data / "pilot.toml").read_text(encoding="utf-8").replace('annotator_groups = ["hr"]', "")
    (pilot.data / "pilot.toml").write_text(told, encoding="utf-8")
    plain = stored_result(Pilot.open("tiny", pilot.data.parents[1]), result.run.id)
    assert plain.closed_of(["p0001"]) == {"p0001": "hr"} and "p0001 (hr)" in str(tables.progress(plain))
    item = next(item for item in items(result) if item.question_id == "p0001")
    assert frozenset({"hr"}) in item.needs
    file = QuestionFile(pilot.data / "questions.jsonl")
    desk = Desk(file, lambda: pilot.documents().documents, pilot.readers, "all-staff", texts("en"))
    assert desk.hidden["p0001"] == "hr"


def test_two_who_adopt_one_answer_at_once_adopt_it_once(living):
    def go(_):
        try:
            return adopt(Pilot.open("tiny", living.pilot.data.parents[1]), "real.jsonl:r5", answerable=False).id
        except DataError as fault:
            return str(fault)

    with ThreadPoolExecutor(4) as pool:
        said = sorted(pool.map(go, range(4)))
    assert said[0] == "p0001" and all("repeats question 'p0001'" in other for other in said[1:])


def test_one_who_died_before_the_order_was_written_finishes_when_asked_again(living):
    before, order = living.pilot.order(), living.pilot.data / "order.jsonl"
    held = order.read_bytes()
    adopt(living.pilot, "real.jsonl:r5", answerable=False)
    order.write_bytes(held)  # as it lies there if the second write never came
    again = Pilot.open("tiny", living.pilot.data.parents[1])
    assert adopt(again, "real.jsonl:r5", answerable=False) == ("p0001", True)
    assert living.pilot.order() == [*before, "p0001"] and len(living.questions) == 7


def test_the_command_says_that_it_finished_what_was_cut_short(living, monkeypatch, capsys):
    order = living.pilot.data / "order.jsonl"
    held = order.read_bytes()
    adopt(living.pilot, "real.jsonl:r5", answerable=False)
    order.write_bytes(held)
    monkeypatch.chdir(living.pilot.data.parents[1])
    assert main(["adopt", "tiny", "real.jsonl:r5", "--unanswerable"]) == 0
    assert "stood in the questions as p0001 since a try that was cut short" in capsys.readouterr().out


def test_the_same_question_joins_once_and_that_of_another_asker_beside_it(living):
    adopt(living.pilot, "real.jsonl:r5", answerable=False)
    with pytest.raises(DataError, match="repeats question 'p0001'"):
        adopt(living.pilot, "real.jsonl:r5", answerable=False)
    assert adopt(living.pilot, "real.jsonl:r6", doc="salaries", answerable=False).id == "p0002"


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
    assert listed.startswith("6 of 7 real answers that were read failed")
    assert "real.jsonl:r1: wrong, in the set as p0001: May I take a taxi?\n    Maud: On form T-7 alone.\n" in listed
    assert "real.jsonl:r4: partly, in the set as q1" in listed and "r5: wrong, not in the set: Who mends" in listed
    assert refused(rag_pilot(Path.cwd(), "adopt", "tiny", "real.jsonl:r5"), "needs what the expert says is right")
