"""Spot checks: drawn by seed, read blind, held against the judge, and counted in no score."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from scipy import stats
from tiny import SECRET, run_and_label, tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.amending import amendments
from rag_pilot.analysis.intervals import wilson
from rag_pilot.errors import DataError
from rag_pilot.files import append_jsonl
from rag_pilot.grading.labels import LabelStore
from rag_pilot.grading.production import read_production
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.records import Label
from rag_pilot.reporting import tables
from rag_pilot.results import Result
from rag_pilot.review import Draw, SpotCheck, check_of, draw_from_file, draw_from_run, draws, review_form, spot_checks
from rag_pilot.stored import stored_result

SHOWN = "2026-02-05T10:00:00+01:00"


@pytest.fixture
def pilot(tmp_path: Path) -> Pilot:
    """The tiny pilot with a sample of one answer, so that three more need a person: one of them is hr's."""
    made = tiny_pilot(tmp_path)
    path = made.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("[pilot]", "[pilot]\nlabels = 1"), encoding="utf-8")
    opened = Pilot.open("tiny", tmp_path)
    opened.lock_acceptance()
    (opened.data / "order.jsonl").write_text(
        "".join(json.dumps({"position": n, "id": f"q{n}"}) + "\n" for n in range(1, 7)), encoding="utf-8"
    )
    return opened


@pytest.fixture
def result(pilot: Pilot) -> Result:
    return Ledger(pilot).result()


def real(pilot: Pilot, count: int = 12, name: str = "real.jsonl") -> Path:
    rows = [
        {"id": f"r{n}", "question": f"Why {n}?", "answer": f"So {n}.", "groups": ["all-staff"]} for n in range(count)
    ]
    closed = [{"id": "h1", "question": SECRET, "answer": SECRET, "groups": ["hr"]}, {"question": "?", "answer": "x"}]
    path = pilot.data / name
    path.write_text("".join(json.dumps(row) + "\n" for row in rows + closed) + "{\n", encoding="utf-8")
    return path


def say(pilot: Pilot, draw: Draw, *labels: str, annotator: str = "Maud", kind: str = "spot") -> None:
    for (id_, sha), label in zip(draw.drawn, labels, strict=False):
        line = Label(id_, sha, annotator, label, kind, shown_at=SHOWN, saved_at=SHOWN)
        append_jsonl(pilot.data / "labels.jsonl", line)


# -- drawing -----------------------------------------------------------------------------------------------------------


def test_a_draw_of_a_run_holds_what_needs_a_person_is_unread_and_open_to_her(result, pilot):
    draw = draw_from_run(result, 15)
    assert result.to_read == ["q1"]
    assert sorted(i for i, _ in draw.drawn) == ["q2", "q6"]
    assert (draw.of, draw.closed, draw.run) == (2, 1, result.run.id)
    assert dict(draw.drawn)["q2"] == result.run.answers["q2"].sha


def test_what_a_person_has_labelled_already_is_not_drawn(result, pilot):
    append_jsonl(pilot.data / "labels.jsonl", Label("q6", result.run.answers["q6"].sha, "Maud", "wrong"))
    assert [i for i, _ in draw_from_run(Ledger(pilot).result(), 15).drawn] == ["q2"]


def test_the_draw_is_by_seed_and_written_before_it_is_read(pilot, tmp_path):
    served = read_production(real(pilot))
    first = draw_from_file(pilot, served, 5)
    assert draws(pilot) == [first]
    again = tiny_pilot(tmp_path / "again")
    assert draw_from_file(again, read_production(real(again)), 5).drawn == first.drawn
    path = again.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("[pilot]", "[pilot]\nseed = 8"), encoding="utf-8")
    (again.data / "reviews" / f"{first.name}.json").unlink()
    again = Pilot.open("tiny", tmp_path / "again")
    assert draw_from_file(again, read_production(real(again)), 5).drawn != first.drawn


def test_a_draw_stands_until_it_is_read_and_the_next_one_holds_other_answers(pilot):
    served = read_production(real(pilot))
    first = draw_from_file(pilot, served, 5)
    say(pilot, first, *["correct"] * 4)
    assert draw_from_file(pilot, served, 9) == first
    say(pilot, first, *["correct"] * 5)
    second = draw_from_file(pilot, served, 9)
    assert (len(second.drawn), second.of, second.seed) == (7, 7, first.seed + 1)
    assert not set(first.drawn) & set(second.drawn)
    say(pilot, second, *["correct"] * 7)
    with pytest.raises(DataError, match="nothing to draw: none of its 14 answers is undrawn and open to Maud"):
        draw_from_file(pilot, served, 9)


def test_answers_of_a_file_that_she_may_not_read_are_counted_and_their_text_is_not_kept(pilot):
    draw = draw_from_file(pilot, read_production(real(pilot)), 15)
    assert (len(draw.drawn), draw.closed, draw.left_out) == (12, 2, 1)
    assert SECRET not in (pilot.data / "reviews" / f"{draw.name}.json").read_text(encoding="utf-8")


def test_a_number_that_draws_nothing_is_refused(pilot):
    with pytest.raises(DataError, match="0 answers cannot be drawn"):
        draw_from_file(pilot, read_production(real(pilot)), 0)


def test_a_draw_that_cannot_be_read_is_named(pilot):
    (pilot.data / "reviews").mkdir()
    (pilot.data / "reviews" / "001-x.json").write_text("{", encoding="utf-8")
    with pytest.raises(DataError, match=r"001-x\.json: no draw can be read here"):
        spot_checks(pilot)


# -- reading -----------------------------------------------------------------------------------------------------------


def test_the_form_saves_spot_labels_and_asks_nothing_twice(result, pilot):
    draw = draw_from_run(result, 15)
    form = review_form(pilot)
    assert sorted(i.question_id for i in form.session.queue) == ["q2", "q6"]
    assert {i.kind for i in form.session.queue} == {"spot"}
    form.press("ready")
    form.session._shown_at = form.session.clock().replace(year=2020)
    form.press("1")
    check = check_of(pilot, draw)
    assert (len(check.rows), check.waiting, check.done) == (1, 1, False)


def test_no_score_gate_or_sample_counts_a_spot_label(result, pilot):
    say(pilot, draw_from_run(result, 15), "wrong", "wrong")
    after = Ledger(pilot).result()
    assert dict(after.expert.current) == {}
    assert (after.labelled, after.gate.n, after.to_read) == (result.labelled, result.gate.n, result.to_read)
    assert after.headline == result.headline
    assert after.graded == result.graded


def test_an_answer_that_was_closed_since_is_not_shown_and_no_longer_waited_for(result, pilot):
    draw_from_run(result, 15)
    path = pilot.data / "documents" / "travel.md"
    path.write_text(path.read_text(encoding="utf-8").replace("all-staff", "hr"), encoding="utf-8")
    later = Pilot.open("tiny", pilot.data.parent.parent)
    assert review_form(later).session.queue == []
    (check,) = spot_checks(later)
    assert (check.waiting, check.closed) == (0, 2)
    assert "No longer open to Maud" in tables.review([check])


# -- result ------------------------------------------------------------------------------------------------------------


def test_the_judge_is_shown_only_when_all_is_read(result, pilot):
    draw = draw_from_run(result, 15)
    say(pilot, draw, "wrong")
    shown = repr(tables.review(spot_checks(pilot)))
    assert "1 of 2 answers wait to be read" in shown and "judge:" not in shown
    say(pilot, draw, "wrong", "declined")
    (check,) = spot_checks(pilot)
    judged = {i: result.verdicts[i].label for i, _ in draw.drawn}
    assert check.rows == tuple(
        (i, said, judged[i]) for (i, _), said in zip(draw.drawn, ("wrong", "declined"), strict=True)
    )
    assert "judge: correct" in repr(tables.review([check]))


def test_labels_of_another_person_or_kind_are_not_hers(result, pilot):
    draw = draw_from_run(result, 15)
    say(pilot, draw, "wrong", "wrong", annotator="Judith")
    say(pilot, draw, "wrong", "wrong", kind="repeat")
    assert spot_checks(pilot)[0].rows == ()


def test_a_changed_answer_is_not_asked_under_the_text_that_was_drawn(result, pilot):
    draw = draw_from_run(result, 15)
    path = result.run.folder / "answers.jsonl"
    sha = dict(draw.drawn)["q2"]
    path.write_text(path.read_text(encoding="utf-8").replace(sha, "0" * 16), encoding="utf-8")
    assert [i.question_id for i in review_form(pilot).session.queue] == ["q6"]


def test_real_answers_have_no_judge_and_the_table_says_so(pilot):
    draw = draw_from_file(pilot, read_production(real(pilot)), 3)
    say(pilot, draw, "correct", "wrong", "wrong")
    (check,) = spot_checks(pilot)
    assert (check.agreement.n, check.words) == (0, "No judge graded these answers: the labels stand alone.")
    shown = repr(tables.review([check]))
    assert "wrong  2" in shown and "judge: correct" not in shown and "agree" not in shown
    assert "Rows of the file that could not be read  1" in shown


DRAW = Draw("001-r", "2026-02-05", "Maud", "r", 1, 40, 0, tuple((f"q{n}", "s") for n in range(14)), run="r")


def checked(*pairs: tuple[str, str | None]) -> SpotCheck:
    rows = tuple((f"q{n}", a, b) for n, (a, b) in enumerate(pairs))
    return SpotCheck(replace(DRAW, drawn=DRAW.drawn[: len(rows)]), rows, 0)


def test_agreement_is_a_count_with_its_interval_and_says_who_is_stricter_and_who_has_no_label():
    pairs = [("correct", "correct")] * 8 + [("wrong", "correct"), ("partly", "correct"), ("correct", "wrong")]
    check = checked(*pairs, ("declined", "wrong"), ("correct", None), ("wrong", None))
    assert (check.agreement.count, check.agreement.n) == (8, 12)
    assert check.stricter == (2, 1)
    interval = wilson(8, 12)
    shown = repr(tables.review([check]))
    assert f"8 of 12 ({100 * interval.low:.0f}-{100 * interval.high:.0f} %); 2 without a judge's label" in shown
    assert "2 / 1 of 12" in shown
    assert "correct  8  0  1  1" in shown and "declined  0  0  1  0" in shown
    assert "q8  wrong  correct" in shown and "q0" not in shown


@pytest.mark.parametrize(
    ("same", "n", "words"),
    [
        (0, 6, "They diverge"),
        (5, 12, "They diverge"),
        (10, 14, "do not tell"),
        (3, 3, "do not tell"),
        (14, 14, "still agrees"),
    ],
)
def test_only_an_interval_that_leaves_no_doubt_says_anything_of_the_judge(same, n, words):
    assert words in checked(*[("correct", "correct")] * same, *[("wrong", "correct")] * (n - same)).words


@pytest.mark.parametrize(
    ("tested", "same", "n", "words"),
    [
        ((48, 50), 10, 15, "agreed on 48 of 50, now on 10 of 15: it agrees less"),
        ((48, 50), 13, 15, "agreed on 48 of 50, now on 13 of 15: no drift is shown by this many"),
        ((30, 50), 15, 15, "now on 15 of 15: no drift is shown by this many"),  # more than before is no drift
        (None, 10, 15, "no test of this judge is on record"),
    ],
)
def test_agreement_is_held_against_the_judges_test(tested, same, n, words):
    check = checked(*[("correct", "correct")] * same, *[("wrong", "correct")] * (n - same))
    found = replace(check, tested=tested)
    assert words in found.words and words in repr(tables.review([found]))
    if tested:
        exact = stats.fisher_exact([[tested[0], tested[1] - tested[0]], [same, n - same]]).pvalue
        assert found.p == pytest.approx(exact) and f"p = {exact:.2g}" in found.words
        assert found.drifted == (exact <= 0.05 and same / n < tested[0] / tested[1]) == ("agrees less" in words)


def test_a_spot_check_finds_the_test_of_its_judge_on_record(result, pilot):
    append_jsonl(pilot.data / "labels.jsonl", Label("q1", result.run.answers["q1"].sha, "Maud", "correct"))
    tested = Ledger(pilot).result().gate
    assert (tested.n, tested.agreed) == (1, 1)
    say(pilot, draw_from_run(Ledger(pilot).result(), 15), "wrong", "wrong")
    (check,) = spot_checks(pilot)
    assert check.tested == (1, 1) and "When tested the judge agreed on 1 of 1, now on" in check.words


def test_earlier_checks_keep_a_line_each(result, pilot):
    say(pilot, draw_from_run(result, 15), "wrong", "wrong")
    draw_from_file(pilot, read_production(real(pilot)), 3)
    shown = repr(tables.review(spot_checks(pilot)))
    assert "3 of 3 answers wait to be read" in shown
    agreed = sum(result.verdicts[i].label == "wrong" for i in ("q2", "q6"))
    assert f"{result.run.id}  2 of 2  {agreed} of 2" in shown


def test_a_run_that_is_gone_is_said_and_stops_nothing(result, pilot):
    say(pilot, draw_from_run(result, 15), "wrong")
    shutil.rmtree(result.run.folder)
    (check,) = spot_checks(pilot)
    assert (check.waiting, check.closed, len(check.rows)) == (0, 1, 1)
    assert "is no longer on disk" in check.words
    assert review_form(pilot).session.queue == []


def test_nothing_drawn_is_a_sentence_and_no_form(pilot):
    assert "rag-pilot review" in review_form(pilot).data
    assert repr(tables.review(spot_checks(pilot))) == "No spot check was drawn."


# -- what is gone since it was drawn -----------------------------------------------------------------------------------


def later(pilot: Pilot) -> Pilot:
    return Pilot.open("tiny", pilot.data.parent.parent)


def edit(pilot: Pilot, document: str, old: str, new: str) -> None:
    path = pilot.data / "documents" / f"{document}.md"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def drop_question(pilot: Pilot, id_: str) -> None:
    path = pilot.data / "questions.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if f'"{id_}"' not in line), encoding="utf-8")


def test_an_answer_whose_document_was_edited_is_gone_and_blocks_neither_form_nor_next_draw(result, pilot):
    draw = draw_from_run(result, 15)
    edit(pilot, "travel", "taxi", "cab")
    now = later(pilot)
    (check,) = spot_checks(now)
    assert (check.waiting, check.closed, check.done) == (0, 2, True)
    assert review_form(now).session.queue == []
    with pytest.raises(DataError, match="nothing to draw"):
        draw_from_run(stored_result(now, draw.run), 15)


def test_what_is_gone_is_not_drawn_and_is_counted(result, pilot):
    edit(pilot, "salaries", "Band 7 pays", "Band 7 earns")
    draw = draw_from_run(stored_result(later(pilot), result.run.id), 15)
    assert sorted(i for i, _ in draw.drawn) == ["q2", "q6"]
    assert (draw.of, draw.closed, draw.gone) == (2, 0, 1)
    assert "1 more rests on a text that is gone" in repr(tables.review([check_of(pilot, draw)]))


def test_a_removed_document_is_gone_and_its_read_answers_keep_their_labels(result, pilot):
    draw = draw_from_run(result, 15)
    say(pilot, draw, "wrong")
    (pilot.data / "documents" / "travel.md").unlink()
    (check,) = spot_checks(later(pilot))
    assert (len(check.rows), check.waiting, check.closed) == (1, 0, 1)
    assert check.judged == [(draw.drawn[0][0], "wrong", result.verdicts[draw.drawn[0][0]].label)]


def test_a_removed_question_closes_its_own_answer_alone(result, pilot):
    draw_from_run(result, 15)
    drop_question(pilot, "q2")
    now = later(pilot)
    (check,) = spot_checks(now)
    assert (check.waiting, check.closed) == (1, 1)
    assert [i.question_id for i in review_form(now).session.queue] == ["q6"]


def test_the_command_draws_from_a_run_although_a_question_of_it_was_removed(result, pilot, monkeypatch, capsys):
    drop_question(pilot, "q2")
    order = pilot.data / "order.jsonl"
    order.write_text("".join(line for line in order.read_text().splitlines(True) if '"q2"' not in line))
    monkeypatch.chdir(pilot.data.parent.parent)
    assert main(["review", pilot.name]) == 0, capsys.readouterr().err
    assert all(i != "q2" for i, _ in draws(Pilot.open(pilot.name))[-1].drawn)


def test_a_question_removed_after_its_answer_was_read_keeps_what_both_said(result, pilot):
    draw = draw_from_run(result, 15)
    say(pilot, draw, "wrong", "correct")
    before = spot_checks(pilot)[0].rows
    drop_question(pilot, "q2")
    assert spot_checks(later(pilot))[0].rows == before


def test_a_new_draw_that_is_read_does_not_hide_an_older_one_that_is_not(result, pilot):
    older = draw_from_run(result, 15)
    newer = draw_from_file(pilot, read_production(real(pilot)), 2)
    ids = {i for i, _ in newer.drawn}
    assert {i.question_id for i in review_form(pilot).session.queue} == ids
    say(pilot, newer, "correct", "correct")
    assert {i.question_id for i in review_form(pilot).session.queue} == {i for i, _ in older.drawn}
    say(pilot, older, "correct", "correct")
    assert {i.question_id for i in review_form(pilot).session.queue} == ids


def test_a_draw_whose_file_was_removed_frees_neither_name_nor_seed_of_a_later_one(pilot):
    served = read_production(real(pilot))
    made = []
    for _ in range(2):
        made.append(draw_from_file(pilot, served, 2))
        say(pilot, made[-1], "correct", "correct")
    folder = pilot.data / "reviews"
    (folder / f"{made[0].name}.json").unlink()
    kept = (folder / f"{made[1].name}.json").read_bytes()
    third = draw_from_file(pilot, served, 2)
    assert third.name == "003-real"
    assert third.seed not in [draw.seed for draw in made]
    assert (folder / f"{made[1].name}.json").read_bytes() == kept


def test_a_seed_of_pilot_toml_that_was_lowered_repeats_no_draws_seed(pilot):
    path = pilot.data / "pilot.toml"
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("[pilot]", "[pilot]\nseed = 8"), encoding="utf-8")
    first = draw_from_file(later(pilot), read_production(real(pilot)), 2)
    say(pilot, first, "correct", "correct")
    path.write_text(text.replace("[pilot]", "[pilot]\nseed = 7"), encoding="utf-8")
    assert (first.seed, draw_from_file(later(pilot), read_production(real(pilot)), 2).seed) == (8, 9)


def test_a_file_that_stands_where_a_draw_would_is_not_overwritten(pilot):
    served = read_production(real(pilot))
    first = draw_from_file(pilot, served, 2)
    say(pilot, first, "correct", "correct")
    folder = pilot.data / "reviews"
    copy = shutil.copy(folder / "001-real.json", folder / "002-real.json")
    before = Path(copy).read_bytes()
    with pytest.raises(DataError, match=r"002-real\.json: stands here already"):
        draw_from_file(pilot, served, 2)
    assert Path(copy).read_bytes() == before


def renamed(pilot: Pilot, old: str, new: str) -> Pilot:
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    return later(pilot)


def test_nobody_reads_a_draw_in_the_name_of_another_and_the_new_annotator_draws_anew(pilot):
    served = read_production(real(pilot))
    first = draw_from_file(pilot, served, 12)
    say(pilot, first, "correct")
    judith = renamed(pilot, "Maud", "Judith")
    told = review_form(judith).data
    assert "001-real was drawn for Maud" in told and "rag-pilot review" in told
    assert "annotator = &quot;Maud&quot;" in told
    hers = draw_from_file(judith, served, 15)
    assert (hers.annotator, hers.name) == ("Judith", "002-real")
    assert set(hers.drawn) == set(first.drawn[1:])
    form = review_form(judith)
    assert (form.session.annotator, len(form.session.queue)) == ("Judith", 11)
    maud = renamed(pilot, "Judith", "Maud")
    assert draw_from_file(maud, served, 15) == first
    form = review_form(maud)
    assert (form.session.annotator, len(form.session.queue)) == ("Maud", 12)


def test_an_answer_of_a_file_is_never_taken_for_the_pilots_question_of_the_same_id(result, pilot):
    path = pilot.data / "real.jsonl"
    row = {"id": "q1", "question": "Where is the canteen?", "answer": "Upstairs.", "groups": ["all-staff"]}
    path.write_text(json.dumps(row) + "\n", encoding="utf-8")
    ((id_, sha),) = draw_from_file(pilot, read_production(path), 1).drawn
    assert id_ == "real.jsonl:q1"
    form = review_form(pilot)
    assert [i.question_id for i in form.session.queue] == ["real.jsonl:q1"]
    label = Label(id_, sha, "Maud", "wrong", "spot", cause="reference_wrong", shown_at=SHOWN, saved_at=SHOWN)
    LabelStore(pilot.data / "labels.jsonl").add(label)
    (check,) = spot_checks(pilot)
    assert (check.done, check.rows) == (True, (("real.jsonl:q1", "wrong", None),))
    assert amendments(Ledger(pilot).result()) == []


# -- the command -------------------------------------------------------------------------------------------------------


def test_the_command_draws_tells_where_to_read_and_draws_the_same_again(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    real(pilot)
    assert main(["review", "tiny"]) == 2
    assert "no answer that needs a person is unread" in capsys.readouterr().err
    arguments = ["review", "tiny", "--file", str(pilot.data / "real.jsonl"), "--n", "4"]
    assert main(arguments) == 1
    told = capsys.readouterr().out
    assert "line 15 left out: not a JSON object" in told
    assert "Drawn  4 of 12 unread answers of real.jsonl; 2 more are closed to Maud" in told
    assert "4 of 4 answers wait to be read" in told and "notebook 09" in told
    main(arguments)
    assert capsys.readouterr().out == told
    assert len(draws(pilot)) == 1
