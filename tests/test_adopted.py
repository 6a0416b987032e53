"""Questions that joined because they had failed in use: in no estimate, read after the sample, compared as all are."""

import json
import re
import shutil
import tempfile
from functools import cache
from pathlib import Path

import pytest
from tiny import tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.analysis.grades import Graded
from rag_pilot.analysis.headline import beside
from rag_pilot.criteria import what_can_be_shown
from rag_pilot.files import append_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reading import items
from rag_pilot.records import FAILED_IN_USE, Label
from rag_pilot.reporting import tables
from rag_pilot.results import Result
from rag_pilot.two_runs import adopted_in_both, hits

READ = 20
CHANGE = """
[[change]]
name = "three-sentences"
cause = "wrong_despite_passage"
hypothesis = "Two sentences are too few."
measure = "correct"
set = { "answer.sentences" = 3 }
"""


def asked(id_: str, question: str, **more: object) -> dict[str, object]:
    answerable = {"expected": "25 days", "doc": "leave", "answerable": True}
    return {"id": id_, "question": question, "groups": [], **answerable, **more}


@cache
def template() -> Path:
    """The tiny pilot with forty questions that are answered and ten that are declined; the first twenty are read."""
    root = Path(tempfile.mkdtemp())
    data = tiny_pilot(root).data
    rows = [asked(f"m{n:02}", f"How many days of annual leave, in year {n}?") for n in range(40)]
    rows += [asked(f"u{n}", f"Zz{'z' * n}?", expected="", doc=None, answerable=False) for n in range(10)]
    (data / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    settings = (data / "pilot.toml").read_text().replace("[pilot]", f"[pilot]\nlabels = {READ}") + CHANGE
    (data / "pilot.toml").write_text(settings)
    pilot = Pilot.open("tiny", root)
    pilot.lock_acceptance()
    result = Ledger(pilot).result(())
    for n, i in enumerate(result.first_to_read):
        label(result, i, "correct" if n % 4 else "wrong")
    return root


def label(result: Result, i: str, said: str) -> None:
    position, sha = result.listed.index(i) + 1, result.run.answers[i].sha
    line = Label(i, sha, "Maud", said, position=position, saved_at="2026-01-05T10:00:00Z")
    append_jsonl(result.pilot.data / "labels.jsonl", line)


def result_of(root: Path) -> Result:
    return Ledger(Pilot.open("tiny", root)).result(())


@pytest.fixture
def before(tmp_path: Path) -> Result:
    """The run before anything joined."""
    shutil.copytree(template(), tmp_path, dirs_exist_ok=True)
    return result_of(tmp_path)


@pytest.fixture
def after(before: Result) -> Result:
    """The run once four answered and two declined questions joined; three of the four read, two of them wrong."""
    data = before.pilot.data
    rows = [asked(f"p{n:04}", f"How many days of annual leave, real number {n}?") for n in range(1, 5)]
    rows += [asked(f"p{n:04}", f"Yy{'y' * n}?", expected="", doc=None, answerable=False) for n in (5, 6)]
    for place, row in enumerate(rows, start=51):
        append_jsonl(data / "questions.jsonl", {**row, "source": FAILED_IN_USE, "added": "2026-05-01"})
        append_jsonl(data / "order.jsonl", {"position": place, "id": row["id"]})
    joined = result_of(data.parents[1])
    for i, said in (("p0001", "wrong"), ("p0002", "wrong"), ("p0003", "correct")):
        label(joined, i, said)
    return result_of(data.parents[1])


def estimates(result: Result) -> dict[str, object]:
    """Every number that speaks of questions like these."""
    head = result.headline
    return {
        "headline": [head.correct, head.wrong, head.declined, head.partly, head.asked, head.by_person, head.not_graded],
        "retrieval": result.retrieval,
        "label shares": result.label_shares,
        "counted": result.counted,
        "pareto": result.pareto,
        "four-way": result.four_way,
        "threshold": result.threshold(),
        "segments": [result.measures_by(key, scored=True) for key in ("category", "source", "answerable")],
        "hit5 by part": result.hits_by("group"),
        "gate": result.gate,
        "sample": (result.first_to_read, result.sample, result.labelled, result.labelled_to_decide),
        "criteria": [j for j in result.judgements() if j.criterion.measure != "leaks"],
        "can show": what_can_be_shown(result.settings, result.questions),
    }


def test_every_estimate_and_criterion_is_as_it_was_before_they_joined(before, after):
    assert (len(before.questions), len(after.questions)) == (50, 56)
    was, now = estimates(before), estimates(after)
    assert {name for name in was if was[name] != now[name]} == set()
    assert was["headline"][0] is not None and "have 20 answerable" in was["threshold"].words


def test_with_all_answers_read_they_are_in_no_share_either(after):
    for n, i in enumerate(after._need_a_person[READ:]):
        label(after, i, "correct" if n % 4 else "wrong")
    read = result_of(after.pilot.data.parents[1])
    assert (read.headline.asked, read.headline.by_person, read.pareto.first) == (50, 40, None)
    assert {i[0] for i in read.counted} == {"m", "u"} and len(read.counted) == 50
    assert sum(share.count for share in read.label_shares.values()) == 50


def test_only_a_person_or_a_rule_says_what_became_of_them(after):
    assert after.headline.words.endswith("3 correct now, 1 not graded by a person or a rule; in no share.")
    said = [Graded("correct", "rule"), Graded("correct", "judge"), Graded("wrong", "expert"), Graded(None, "error")]
    assert beside(after.headline, said).words.endswith(
        "1 correct now, 2 not graded by a person or a rule; in no share."
    )


def test_the_form_asks_for_them_after_the_sample_and_the_progress_says_what_for(before, after):
    assert after.to_read == [*before.to_read, "p0001", "p0002", "p0003", "p0004"]
    assert [item.question_id for item in items(after)] == after.to_read
    told = str(tables.progress(after))
    assert "1 answer to questions that failed in use is asked for at the end of the form" in told
    assert "To test the judge" not in told


def test_a_change_is_compared_on_them_too_and_says_how_many_they_are(after, monkeypatch, capsys):
    assert "p0001" in hits(after, after, 5)[0]
    assert (adopted_in_both(after, after, "correct"), adopted_in_both(after, after, "hit5")) == (6, 4)
    tried = Ledger(after.pilot).attempt("three-sentences")
    assert "of 56 questions, 6 of them asked because they failed in use" in str(tables.tried(tried))
    monkeypatch.chdir(after.pilot.data.parents[1])
    assert main(["compare", after.run.id, after.run.id, "--pilot", "tiny"]) == 0
    assert re.findall(r"(\d) of the questions compared joined the set", capsys.readouterr().out) == ["4", "6"]


def test_a_first_answer_that_changed_is_named_as_what_the_threshold_waits_for(before):
    first, labels = before.first_to_read[0], before.pilot.data / "labels.jsonl"
    rows = [json.loads(line) for line in labels.read_text().splitlines()]
    changed = [{**row, "answer_sha": "another"} if row["question_id"] == first else row for row in rows]
    labels.write_text("".join(json.dumps(row) + "\n" for row in changed))
    words = result_of(before.pilot.data.parents[1]).threshold().words
    assert f"to question {first}, waits to be read: it has changed since it was read" in words
    assert f"{READ - 1} labels further down" in words and "have 0 answerable" not in words
    labels.unlink()
    assert "waits to be read: nobody has read it." in result_of(before.pilot.data.parents[1]).threshold().words
