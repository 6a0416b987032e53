"""What a run means: labels, numbers, and what its readers may see."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tiny import LABELS, SECRET, SETTINGS, run_and_label, tiny_pilot

from rag_pilot.analysis import comparison
from rag_pilot.building import Variant
from rag_pilot.compared import TIES, ablations, retrievers, weighings
from rag_pilot.criteria import what_can_be_shown
from rag_pilot.errors import ModelError
from rag_pilot.files import append_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reading import failures, items
from rag_pilot.records import Answer
from rag_pilot.reporting import tables
from rag_pilot.results import Result
from rag_pilot.stored import stored_result


@pytest.fixture
def result(tmp_path: Path) -> Result:
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    return Ledger(pilot).result()


def test_every_question_has_a_label_or_stands_as_not_graded(result):
    assert {i: g.label for i, g in result.graded.items() if g.by == "expert"} == LABELS
    assert result.labelled == (4, 4)
    assert sum(share.count for share in result.label_shares.values()) == 6
    assert result.headline.asked == 6


def test_a_run_from_before_the_set_grew_reads_its_own_questions_in_its_own_order(result):
    pilot, before = result.pilot, (result.order, result.to_read, result.sample, result.headline)
    added = {"id": "q7", "question": "Who claims a taxi?", "groups": [], "answerable": True, "added": "2026-02-01"}
    added |= {"expected": "Everybody, on form T-7.", "doc": "travel"}
    append_jsonl(pilot.data / "questions.jsonl", added)
    append_jsonl(pilot.data / "order.jsonl", {"position": 7, "id": "q7"})
    grown = Pilot.open("tiny", pilot.data.parents[1])
    old = stored_result(grown, result.run.id)
    assert (old.order, old.to_read, old.sample, old.headline) == before
    new = Ledger(grown).result()
    assert new.order == [*before[0], "q7"] and new.headline.asked == 7
    assert comparison.compare(old.retrieval.hits(5), new.retrieval.hits(5), 0.05).only_after == ("q7",)


def test_without_labels_there_are_words_and_no_number(tmp_path):
    pilot = tiny_pilot(tmp_path)
    pilot.lock_acceptance()
    bare = Ledger(pilot).result()
    assert bare.labelled[0] == 0
    assert bare.headline.correct is None
    assert bare.headline.words
    assert not bare.gate.passed
    wrong = next(j for j in bare.judgements() if j.criterion.measure == "wrong")
    assert wrong.state == "not decided"
    assert bare.decision().verdict == "not_decided"


def test_one_unread_answer_of_the_sample_leaves_the_criteria_undecided(result):
    path = result.pilot.data / "labels.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:-1]), encoding="utf-8")
    fresh = Ledger(result.pilot).result()
    assert fresh.labelled == (3, 4)
    assert fresh.measured("wrong") is None


HIT_ALONE = SETTINGS.replace(
    SETTINGS[SETTINGS.index("[[acceptance]]") : SETTINGS.index('name = "found"')], "[[acceptance]]\n"
)


@pytest.mark.parametrize(("limit", "verdict"), [("at_least = 0.2", "build"), ("at_most = 0.05", "stop")])
@pytest.mark.parametrize("labels", [50, 2])
def test_a_decision_that_needs_no_label_by_its_criteria_still_waits_for_those_of_this_run(
    tmp_path, limit, verdict, labels
):
    pilot = tiny_pilot(tmp_path)
    told = HIT_ALONE.replace("at_least = 0.5", limit).replace("[pilot]", f"[pilot]\nlabels = {labels}")
    (pilot.data / "pilot.toml").write_text(told, encoding="utf-8")
    pilot = Pilot.open("tiny", tmp_path)
    pilot.lock_acceptance()
    bare = Ledger(pilot).result()
    assert bare.decision().verdict == "not_decided" and "0 of 4 answers" in bare.decision().reasons[0]
    run_and_label(pilot)
    path = pilot.data / "labels.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    first = [line for line in lines if json.loads(line)["question_id"] in bare.to_read[:2]]
    path.write_text("".join(first), encoding="utf-8")
    short = Ledger(pilot).result()
    assert short.labelled_to_decide == (2, 4) and short.decision().verdict == "not_decided"
    path.write_text("".join(lines), encoding="utf-8")
    assert Ledger(pilot).result().decision().verdict == verdict


def test_hits_are_counted_over_answerable_questions_that_the_asker_may_see(result):
    share = result.retrieval.hit5
    assert (share.count, share.n, dict(share.missing)) == (4, 4, {"unanswerable": 2})


def test_nothing_leaks_and_a_planted_leak_is_seen(result):
    assert result.leaks.share.count == 0
    secret = next(p.id for p in result.built.index.passages if p.doc == "salaries")
    answer = result.run.answers["q1"]
    planted = {**result.run.answers, "q1": type(answer)(**{**vars(answer), "lists": {"keyword": [secret]}})}
    leaky = Result(result.pilot, type(result.run)(result.questions, planted, {}, {}, None), result.built)
    assert leaky.leaks.share.count == 1
    assert leaky.decision().verdict == "stop"


def test_failures_show_text_only_to_those_who_may_read_it(result, monkeypatch):
    shown = {f.question_id: f for f in failures(result)}
    assert shown["q6"].question
    assert not shown["q6"].hidden
    for question_id in ("q3", "q5"):
        assert result.hidden(question_id) == "hr"
    assert SECRET not in repr(failures(result))
    monkeypatch.setenv("RAG_PILOT_AUDIENCE", "hr;all-staff")
    assert result.hidden("q3") == ""


def test_the_form_gets_the_sample_in_order_and_nothing_of_the_judge(result):
    read = items(result)
    assert [i.question_id for i in read] == result.to_read
    assert [i.position for i in read] == sorted(i.position for i in read)
    assert not {"label", "verdict", "judge", "similarity", "ranks"} & set(vars(read[0]))


def test_expected_numbers_that_no_document_holds_point_at_the_document(result):
    assert result.facts.lacking == {"q6"}
    assert result.causes["q6"].name == "missing_or_stale"


@pytest.mark.slow
def test_the_three_retrievers_answer_nothing_and_see_the_same_questions(tmp_path):
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"keyword"', '"hybrid"'), encoding="utf-8")
    compared = retrievers(type(pilot).open("tiny", tmp_path))
    assert list(compared) == ["keyword", "dense", "hybrid"]
    assert {r.retrieval.hit5.n for r in compared.values()} == {4}
    assert not (pilot.results / "runs").exists()


def test_weighings_have_a_row_for_all_and_one_for_each_language_that_is_named(tmp_path):
    pilot = tiny_pilot(tmp_path)
    questions = pilot.data / "questions.jsonl"
    lines = questions.read_text(encoding="utf-8").splitlines()
    assert [w.lang for w in weighings(pilot, retrievers(pilot))] == [""]
    lines[0] = lines[0].replace('"groups"', '"lang": "en", "groups"')
    lines[1] = lines[1].replace('"groups"', '"lang": "fr", "groups"')
    questions.write_text("\n".join(lines) + "\n", encoding="utf-8")
    pilot = type(pilot).open("tiny", tmp_path)
    found = weighings(pilot, retrievers(pilot))
    assert [(w.lang, w.hits["hybrid"].n) for w in found] == [("", 4), ("en", 1), ("fr", 1)]


def test_each_setting_that_needs_no_other_index_is_turned_once_and_held_against_what_is_configured(tmp_path):
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"keyword"', '"hybrid"'), encoding="utf-8")
    (pilot.data / "glossary.toml").write_text('"clocking off" = ["leave"]\n', encoding="utf-8")
    pilot = type(pilot).open("tiny", tmp_path)
    base, found = ablations(pilot)
    assert {(a.setting, a.now, a.turned) for a in found} == {
        ("retrieval.fusion", "scores", "ranks"),
        ("retrieval.dense_weight", 0.7, 0.5),
        ("retrieval.glossary", True, False),
        ("retrieval.per_text", 2, 1),
        ("retrieval.per_document", 0, 1),
        ("retrieval.method", "hybrid", "keyword"),
        ("retrieval.method", "hybrid", "dense"),
        (TIES, "similarity", "keyword list"),
    }
    alone = {a.turned: a.result.retrieval for a in found if a.setting == "retrieval.method"}
    compared = retrievers(pilot)
    assert alone == {name: compared[name].retrieval for name in ("keyword", "dense")}
    assert base.retrieval.hit5.n == 4 and not (pilot.results / "runs").exists()
    for one in found:
        after, before = one.result.retrieval, base.retrieval
        assert one.first.gained - one.first.lost == after.hit1.count - before.hit1.count
        assert one.five.gained - one.five.lost == after.hit5.count - before.hit5.count
        assert one.five.n == 4


def test_what_is_compared_is_asked_as_a_run_is_asked(tmp_path):
    """One passage a list and one hit: by the defaults of the search there would be more."""
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "pilot.toml"
    told = path.read_text(encoding="utf-8").replace('"keyword"', '"hybrid"\nk = 1\ndepth = 1\nrrf_k = 5')
    path.write_text(told, encoding="utf-8")
    pilot = type(pilot).open("tiny", tmp_path)
    pilot.lock_acceptance()
    run = pilot.run()
    base, _ = ablations(pilot)
    for result in (base, retrievers(pilot)["hybrid"]):
        for i, answer in run.answers.items():
            assert (result.run.answers[i].hits, result.run.answers[i].lists) == (answer.hits, answer.lists)
        assert result.asked_with == (1, {"depth": 1, "rrf_k": 5})
    assert all(len(answer.hits) <= 1 for answer in run.answers.values())


def test_weighings_count_the_questions_that_a_search_could_not_end(tmp_path):
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"keyword"', '"hybrid"'), encoding="utf-8")
    pilot = type(pilot).open("tiny", tmp_path)
    compared = retrievers(pilot)
    lame = compared["dense"]
    answers = {**lame.run.answers, "q1": Answer("q1", "error", reason="out of memory")}
    broken = {**compared, "dense": Result(pilot, replace(lame.run, answers=answers), lame.built, lame.retriever)}
    (whole,), (short,) = weighings(pilot, compared), weighings(pilot, broken)
    assert (whole.not_compared, whole.against["dense"].n) == (0, 4)
    assert (short.not_compared, short.against["dense"].n, short.hits["hybrid"].n) == (1, 3, 4)
    told = "Not compared, because a search ended in an error: 1 question"
    assert told in tables.weighings([short]) and told not in tables.weighings([whole])


def test_a_setting_that_does_something_shows_it_in_its_row(tmp_path):
    """The question's words stand nowhere: without the glossary keywords alone find nothing."""
    pilot = tiny_pilot(tmp_path)
    first = next(q for q in pilot.questions if q.answerable)
    document = next(d for d in pilot.documents().documents if d.id == first.doc)
    words = " ".join(document.text.split()[:40])
    (pilot.data / "glossary.toml").write_text(f'"zzz" = [{json.dumps(words)}]\n', encoding="utf-8")
    lines = (pilot.data / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    rows = [{**row, "question": "zzz"} if row["id"] == first.id else row for row in rows]
    (pilot.data / "questions.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows), encoding="utf-8")
    _, found = ablations(type(pilot).open("tiny", tmp_path))
    glossary = next(a for a in found if a.setting == "retrieval.glossary")
    assert (glossary.five.gained, glossary.five.lost) == (0, 1)
    assert {a.setting for a in found} == {
        "retrieval.glossary",
        "retrieval.per_text",
        "retrieval.per_document",
    }  # by keywords alone there is nothing to fuse


def test_the_glossary_of_a_kept_change_is_turned_too(tmp_path):
    pilot = tiny_pilot(tmp_path)
    overlay = pilot.data / "changes" / "jargon"
    overlay.mkdir(parents=True)
    (overlay / "glossary.toml").write_text('"clocking off" = ["leave"]\n', encoding="utf-8")
    _, found = ablations(pilot, Variant(pilot.settings, ("jargon",)))
    assert "retrieval.glossary" in {one.setting for one in found}
    assert "retrieval.glossary" not in {one.setting for one in ablations(pilot)[1]}


def test_a_reranker_that_cannot_be_loaded_is_told_and_is_no_table_without_numbers(tmp_path):
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"keyword"', '"keyword"\nrerank = "/no/such"'))
    pilot = type(pilot).open("tiny", tmp_path)
    for compare in (retrievers, ablations):
        with pytest.raises(ModelError, match="no question was answered; the first: .*reranker '/no/such'"):
            compare(pilot)


def test_what_can_be_shown_speaks_of_200_questions_while_there_are_none(result):
    assert all("200" in line for line in what_can_be_shown(result.settings, []))
    assert all(" 6 " in line or " 4 " in line for line in what_can_be_shown(result.settings, result.questions))


def test_a_planned_extension_makes_every_criterion_of_a_run_stricter(result):
    loose = next(j for j in result.judgements() if j.criterion.measure == "hit5")
    planned = result.settings.changed({"pilot.extension_planned": True})
    result.settings = planned
    strict = next(j for j in result.judgements() if j.criterion.measure == "hit5")
    assert strict.low < loose.low and "97.5 %" in strict.words
    assert "97.5 %" in what_can_be_shown(planned, result.questions)[0]


def test_that_nothing_leaks_is_not_decided_where_the_audit_could_not_look(tmp_path):
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "pilot.toml"
    leaks = '[[acceptance]]\nname = "no leak"\nmeasure = "leaks"\nat_most = 0.0\n[retrieval]'
    path.write_text(path.read_text(encoding="utf-8").replace("[retrieval]", leaks), encoding="utf-8")
    pilot = Pilot.open("tiny", tmp_path)
    run_and_label(pilot)
    result = Ledger(pilot).result()

    class Down:
        def search(self, question, groups, k=5):
            raise ValueError("no answer")

    def state(found):
        return next(j.state for j in found.judgements() if j.criterion.measure == "leaks")

    assert state(result) == "met"
    assert state(Result(pilot, result.run, result.built, Down())) == "not decided"
