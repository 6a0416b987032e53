"""Answers of the sample that the annotator may not open: they stay in it, and there is no headline without them."""

import json
import shutil
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
from tiny import SECRET, tiny_pilot

from rag_pilot.analysis.headline import headline
from rag_pilot.errors import SettingsError
from rag_pilot.files import append_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reading import expert_form
from rag_pilot.records import Label
from rag_pilot.reporting import tables
from rag_pilot.results import Result


def result_of(root: Path) -> Result:
    """The tiny pilot with twenty questions more, its one closed answer (q3) late in the order, all others labelled."""
    shutil.copytree(template(), root, dirs_exist_ok=True)
    return Ledger(Pilot.open("tiny", root)).result(())


@cache
def template() -> Path:
    """That pilot, made once."""
    root = Path(tempfile.mkdtemp())
    data = tiny_pilot(root).data
    more = [
        {"id": f"m{n:02}", "question": f"How many days of annual leave, in year {n}?", "expected": "25 days"}
        for n in range(20)
    ]
    path = data / "questions.jsonl"
    lines = [json.dumps({**row, "doc": "leave", "groups": [], "answerable": True}) + "\n" for row in more]
    path.write_text(path.read_text() + "".join(lines))
    settings = (data / "pilot.toml").read_text()
    for seed in range(100):
        (data / "pilot.toml").write_text(settings.replace("[pilot]", f"[pilot]\nseed = {seed}"))
        pilot = Pilot.open("tiny", root)
        (pilot.data / "order.jsonl").unlink(missing_ok=True)
        if pilot.order().index("q3") > 15:
            break
    pilot.lock_acceptance()
    run = Ledger(pilot).result(())
    for i in run.to_read:
        if i != "q3":
            append_jsonl(data / "labels.jsonl", labelled(run, i, "Maud"))
    return root


def labelled(result: Result, question: str, annotator: str) -> Label:
    position = result.order.index(question) + 1
    sha, at = result.run.answers[question].sha, "2026-01-05T10:00:00+01:00"
    return Label(question, sha, annotator, "correct", position=position, saved_at=at)


def test_there_is_no_headline_until_somebody_who_may_has_read_what_is_closed_to_the_annotator(tmp_path: Path) -> None:
    result = result_of(tmp_path)
    assert result.closed == {"q3": "hr"}
    plain = headline(result.questions, result.run.answers, result.order, result.expert.current, result.verdicts, "Maud")
    assert plain.correct is not None  # of the answers before q3 alone
    found = result.headline
    assert (found.correct, found.wrong, found.declined, found.partly) == (None, None, None, None)
    assert "1 of the" in found.words and "(1 for hr)" in found.words
    assert "100" not in str(tables.headline(found)) and SECRET not in str(tables.headline(found))
    assert {j.state for j in result.judgements() if j.criterion.measure == "wrong"} == {"not decided"}
    done, wanted = result.labelled_to_decide
    assert done == wanted - 1 and result.decision().verdict == "not_decided"
    assert f"{done} of {wanted} answers" in result.decision().reasons[0]
    append_jsonl(result.pilot.data / "labels.jsonl", labelled(result, "q3", "Hanna"))
    after = Ledger(result.pilot).result(())
    assert after.closed == {} and after.headline.correct is not None
    assert "read by Hanna and Maud" in after.headline.words


def test_the_form_for_somebody_else_holds_just_what_is_closed_to_the_annotator(tmp_path: Path) -> None:
    result = result_of(tmp_path)
    own = expert_form(result)
    assert "q3" not in {item.question_id for item in own.session.queue} and len(own.session.hidden) == 1
    other = expert_form(result, annotator="Hanna", groups=["hr"])
    assert [item.question_id for item in other.session.queue] == ["q3"]
    assert (other.session.annotator, other.session.hidden) == ("Hanna", [])
    append_jsonl(result.pilot.data / "labels.jsonl", labelled(result, "q3", "Hanna"))
    again = expert_form(Ledger(result.pilot).result(()), annotator="Hanna", groups=["hr"])
    assert again.session.progress() == (1, 1)  # resumed


def test_two_who_read_a_closed_answer_count_once_they_agree(tmp_path: Path) -> None:
    result = result_of(tmp_path)
    path = result.pilot.data / "labels.jsonl"
    for who, said in (("Hanna", "correct"), ("Ivo", "wrong")):
        append_jsonl(path, replace(labelled(result, "q3", who), label=said))
    differing = Ledger(result.pilot).result(())
    assert (differing.closed, differing.headline.correct) == ({"q3": "hr"}, None)
    assert "two who differ to agree" in differing.headline.words
    append_jsonl(path, replace(labelled(result, "q3", "Hanna"), label="wrong"))
    agreed = Ledger(result.pilot).result(())
    assert (agreed.closed, agreed.graded["q3"].label) == ({}, "wrong") and agreed.headline.correct


@pytest.mark.parametrize(("groups", "closed"), [("[]", {}), ('["hr"]', {"q6": "hr"})])
def test_an_expected_document_that_is_not_there_closes_an_answer_only_by_its_askers_groups(
    tmp_path: Path, groups: str, closed: dict[str, str]
) -> None:
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "questions.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    moved = [x.replace('"travel", "groups": []', f'"hotels", "groups": {groups}') if '"q6"' in x else x for x in lines]
    path.write_text("".join(moved))
    pilot = Pilot.open("tiny", tmp_path)
    pilot.lock_acceptance()
    result = Ledger(pilot).result(())
    assert {i: needed for i, needed in result.closed.items() if i == "q6"} == closed
    assert ("q6" in {item.question_id for item in expert_form(result).session.queue}) == (not closed)
    assert bool(result.hidden("q6")) == bool(closed)


def test_answers_further_down_that_are_asked_for_and_closed_are_named_with_the_groups_they_need(tmp_path: Path) -> None:
    """The judge is changed after its test on all before q3, so it asks for the next answers, q3 first."""
    result = result_of(tmp_path)
    at, path = result._need_a_person.index("q3"), result.pilot.data / "pilot.toml"
    path.write_text(path.read_text().replace("[pilot]", f"[pilot]\nlabels = {at}"))
    assert result_again(tmp_path).gate.state != "not read"
    path.write_text(path.read_text() + '[judge]\nkind = "fitted"\n')
    asking = result_again(tmp_path)
    assert "q3" in asking.to_read[at:] and asking.closed == {} and asking.headline.correct is not None
    told = str(tables.progress(asking))
    assert "1 answer of these is closed to Maud; somebody with the groups in brackets reads it: q3 (hr)." in told
    append_jsonl(result.pilot.data / "labels.jsonl", labelled(result, "q3", "Hanna"))
    assert "closed to Maud" not in str(tables.progress(result_again(tmp_path)))


def result_again(root: Path) -> Result:
    return Ledger(Pilot.open("tiny", root)).result(())


def test_where_nothing_is_closed_a_sentence_stands_in_place_of_that_form(tmp_path: Path) -> None:
    result = result_of(tmp_path)
    path = result.pilot.data / "pilot.toml"
    path.write_text(path.read_text().replace('annotator = "Maud"', 'annotator = "Maud"\nannotator_groups = ["hr"]'))
    opened = Ledger(Pilot.open("tiny", tmp_path)).result(())
    assert opened.closed == {}
    assert "open to Maud" in expert_form(opened, annotator="Hanna", groups=["hr"]).data


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"annotator": "Hanna", "groups": ["hrr"]}, "found hrr; expected a list of all-staff, hr"),
        ({"annotator": "Hanna", "groups": "hr"}, "found hr; expected a list"),
        ({"annotator": "Hanna"}, "expected the name of a person other than 'Maud'"),
        ({"groups": ["hr"]}, "expected the name of a person other than 'Maud'"),
        ({"annotator": "Maud", "groups": ["hr"]}, "expected the name of a person other than 'Maud'"),
    ],
)
def test_nobody_gets_groups_by_a_slip(tmp_path: Path, asked: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        expert_form(result_of(tmp_path), **asked)
