"""A second person beside the expert: drawn by seed, blind, counted nowhere until both have settled."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from sklearn.metrics import cohen_kappa_score
from test_closed import labelled, result_of
from tiny import SECRET

from rag_pilot.errors import DataError
from rag_pilot.files import append_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.reading import expert_form
from rag_pilot.records import Label
from rag_pilot.reporting import tables
from rag_pilot.results import Result
from rag_pilot.second import READS, second_form, second_reading, settling_form


def both(result: Result, *lines: Label) -> Result:
    for line in lines:
        append_jsonl(result.pilot.data / "labels.jsonl", line)
    return Ledger(result.pilot).result(())


def say(label: Label, said: str) -> Label:
    return replace(label, label=said)


def second(result: Result, question: str, said: str) -> Label:
    return replace(labelled(result, question, "Ann"), label=said, kind="second")


def whole(root: Path) -> Result:
    """The sample read by Maud, q3 by Hanna, who alone may."""
    result = result_of(root)
    return both(result, labelled(result, "q3", "Hanna"))


def test_nothing_is_drawn_before_the_annotator_is_through_and_then_the_same_each_time(tmp_path: Path) -> None:
    result = result_of(tmp_path)
    assert second_reading(result).drawn == ()
    assert "23 of 24" in second_form(result, "Ann").data
    result = both(result, labelled(result, "q3", "Hanna"))
    drawn = second_reading(result).drawn
    assert len(drawn) == READS == len(set(drawn)) and set(drawn) <= set(result.to_read) - {"q3"}
    assert second_reading(Ledger(result.pilot).result(())).drawn == drawn
    assert list(drawn) == sorted(drawn, key=result.order.index) != list(result.to_read[:READS])


def test_the_second_person_is_shown_no_label_and_hers_count_nowhere(tmp_path: Path) -> None:
    result = whole(tmp_path)
    form = second_form(result, "Ann")
    assert {item.question_id for item in form.session.queue} == set(second_reading(result).drawn)
    assert all(form.session.saved(item) is None for item in form.session.queue)  # Maud's are not hers
    assert form.session.progress() == (0, READS)
    form.session.shown()
    form.session.clock = lambda at=form.session.clock: at().replace(year=2030)  # read for long enough
    form.session.label("wrong")
    line = Ledger(result.pilot).result(()).all_labels[-1]
    assert (line.annotator, line.kind, line.label) == ("Ann", "second", "wrong")
    before = result.headline
    other = [second(result, i, "wrong") for i in second_reading(result).drawn]
    after = both(result, *other)
    assert after.headline == before and after.graded == result.graded
    assert expert_form(after).session.progress() == expert_form(result).session.progress()
    i = second_reading(result).drawn[0]
    taken_back = both(result, replace(labelled(result, i, "Maud"), label=None))
    assert taken_back.graded[i].by != "expert" and i not in taken_back.expert.current


def test_how_far_two_people_agree_is_counted_over_what_both_read(tmp_path: Path) -> None:
    result = whole(tmp_path)
    drawn = second_reading(result).drawn
    rng = random.Random(3)
    said = [rng.choice(["correct", "wrong"]) for _ in drawn]
    mine = [rng.choice(["correct", "wrong"]) for _ in drawn]
    after = both(
        result,
        *(say(labelled(result, i, "Maud"), label) for i, label in zip(drawn, mine, strict=True)),
        *(second(result, i, label) for i, label in zip(drawn, said, strict=True)),
    )
    found = second_reading(after)
    assert (len(found.pairs), found.agreed) == (READS, sum(a == b for a, b in zip(mine, said, strict=True)))
    assert found.kappa == pytest.approx(cohen_kappa_score(mine, said))
    shown = str(tables.second_reader(after))
    assert f"agree on {found.agreed} of 12 answers" in shown and f"{found.kappa:.2f}" in shown
    assert shown.count("not yet") == len(found.differing) == READS - found.agreed


def test_what_both_settle_counts_and_only_what_they_label_differently_is_asked(tmp_path: Path) -> None:
    result = whole(tmp_path)
    first, other = second_reading(result).drawn[:2]
    assert "nobody" not in settling_form(result).data and "differently" in settling_form(result).data
    after = both(result, second(result, first, "wrong"), second(result, other, "correct"))
    form = settling_form(after)
    assert [(item.question_id, item.kind) for item in form.session.queue] == [(first, "adjudicated")]
    assert after.graded[first].label == "correct"
    form.session.shown()
    form.session.clock = lambda at=form.session.clock: at().replace(year=2030)  # read for long enough
    form.session.label("wrong")
    settled = Ledger(result.pilot).result(())
    assert settled.graded[first].label == "wrong"
    shown = str(tables.second_reader(settled))
    assert "not yet" not in shown and "to settle together" not in shown
    assert settling_form(settled).session.progress() == (1, 1)  # she can go back to it


@pytest.mark.parametrize("name", ["", " ", "Maud", "maud", "Maud "])
def test_the_second_person_is_another_one(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="the name of a second person, who is not 'Maud'"):
        second_form(result_of(tmp_path), name)


def test_without_a_second_person_it_is_said_how_to_have_one(tmp_path: Path) -> None:
    shown = str(tables.second_reader(result_of(tmp_path)))
    assert "second_form(result, annotator=" in shown and SECRET not in shown
