"""Parts of a question set: every measure of each, with what it is over and what is missing, and no worst by chance."""

import time
from dataclasses import replace

import pytest
from bs4 import BeautifulSoup
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import fisher_exact
from statsmodels.stats.multitest import multipletests
from tiny import run_and_label, tiny_pilot

from rag_pilot.analysis.grades import Graded
from rag_pilot.analysis.segments import ALL, Records, by_segment, keys, rows
from rag_pilot.analysis.shares import Mean, Share
from rag_pilot.errors import DataError
from rag_pilot.grading.faithfulness import Checked
from rag_pilot.ledger import Ledger
from rag_pilot.records import LABELS, Answer, Question
from rag_pilot.reporting import tables
from rag_pilot.results import Result

KEYS = keys(lambda q: {"a": "md", "b": "pdf"}.get(q.doc or "", "no document"))


def records(answers=(), labels=None, scores=None, may_open=lambda _: True) -> Records:
    given = {a.question_id: a for a in answers}
    rankings = {i: [h["doc"] for h in a.hits] for i, a in given.items() if a.status != "error"}
    everybody = {"p": frozenset({"all"})}
    return Records(given, rankings, may_open, everybody, labels or {}, scores or {})


def answered(i: str, doc: str = "a", **more: object) -> Answer:
    return Answer(i, **{"status": "answered", "hits": ({"id": "p", "doc": doc},), "sentences": 2, **more})


def asked(i: str, doc: str | None = "a", **more: object) -> Question:
    return Question(**{"id": i, "question": i, "doc": doc, "groups": frozenset({"all"}), **more})


# -- one measure


def segmented(sizes):
    """Questions of categories with (good, all) of each, and the share of good ones."""
    questions, good = [], set()
    for name, (right, n) in sizes.items():
        questions += [asked(f"{name}{k}", category=name) for k in range(n)]
        good |= {f"{name}{k}" for k in range(right)}
    return questions, lambda part: Share(sum(q.id in good for q in part), len(part))


def by_category(sizes):
    questions, share = segmented(sizes)
    return {s.name: s for s in by_segment(questions, KEYS["category"], share)}


def test_the_worst_part_is_named_only_when_shown():
    usual = {f"c{i}": (14, 17) for i in range(11)}
    assert [name for name, s in by_category({**usual, "code": (5, 17)}).items() if s.worst] == ["code"]
    by_chance = by_category({**usual, "code": (10, 17)})  # 59 %: the worst of twelve looks like that by chance
    assert not any(s.worst for s in by_chance.values())


def test_the_best_part_is_never_the_worst():
    found = by_category({"a": (40, 40), "b": (60, 100), "c": (65, 100)})
    assert {name: s.worst for name, s in found.items()} == {"a": False, "b": True, "c": False}


def test_p_values_are_fishers_adjusted_by_holm():
    sizes = {"a": (5, 20), "b": (16, 20), "c": (15, 20), "tiny": (0, 9)}
    found = by_category(sizes)
    raw = [fisher_exact([[g, n - g], [36 - g, 33 - n + g]])[1] for g, n in list(sizes.values())[:3]]
    assert [found[name].p for name in "abc"] == pytest.approx(list(multipletests(raw, method="holm")[1]))
    assert found["tiny"].p is None and found["tiny"].share.text() == "0 of 9"


def test_parts_by_group_overlap_and_stand_by_name():
    questions = [asked("q1", groups=frozenset({"it", "hr"})), asked("q2", groups=frozenset()), asked("q3")]
    found = rows(questions, KEYS["group"], records())
    assert [(r.part, r.questions) for r in found] == [(ALL, 3), ("(none)", 1), ("all", 1), ("hr", 1), ("it", 1)]
    assert [r.part for r in rows(questions, KEYS["source"], records())] == [ALL, "(none)"]


# -- all measures


def test_every_measure_of_a_part_is_over_its_own_questions_and_says_what_is_missing():
    questions = [
        asked("q1"),
        asked("q2", "b"),
        asked("q3", "b"),
        asked("q4", "b"),
        asked("q5", None, answerable=False),
        asked("q6", "b"),
    ]
    answers = [
        answered("q1"),
        answered("q2", "b", uncited=1, hits=({"id": "p", "doc": "a"}, {"id": "secret", "doc": "b"})),
        answered("q3", status="declined", reason="not_found", hits=()),
        answered("q4", status="error", hits=()),
        answered("q5", status="declined", reason="low_similarity", hits=()),
        answered("q6", "b"),
    ]
    labels = {"q1": Graded("correct", "expert"), "q2": Graded("partly", "expert"), "q3": Graded("declined", "rule")}
    labels |= {"q4": Graded(None, "error"), "q5": Graded("correct", "rule")}
    scores = {"faithfulness": {"q2": Checked((True, False)), "q3": Checked(why="declined")}}
    of = records(answers, labels, scores, may_open=lambda q: q.id != "q6")
    found = {r.part: r for r in rows(questions, KEYS["document type"], of)}
    assert list(found) == [ALL, "md", "no document", "pdf"]
    pdf, absent = found["pdf"].values, {"no ranking": 1, "not permitted": 1}
    assert found["pdf"].questions == 4
    assert (pdf["Hit@1"], pdf["Hit@5"]) == (Share(0, 2, absent), Share(1, 2, absent))
    assert (pdf["MRR"], pdf["Recall@5"]) == (Mean((0.5, 0.0), absent), Mean((1.0, 0.0), absent))
    assert pdf["Leaks"] == Share(1, 3, {"error": 1})
    unread = {"after the last one read": 1}
    assert {n: pdf[n] for n in (*LABELS, "error")} == {
        n: Share(n in ("partly", "declined", "error"), 3, unread) for n in (*LABELS, "error")
    }
    assert (pdf["Answered"], pdf["Rightly declined"]) == (Share(2, 3, {"error": 1}), Share(0, 0))
    assert pdf["With an uncited sentence"] == Share(1, 2, {"declined": 1, "error": 1})
    assert (pdf["not_found"], pdf["low_similarity"]) == tuple(Share(k, 1, {"answered": 2, "error": 1}) for k in (1, 0))
    assert pdf["faithfulness"] == Mean((0.5,), {"declined": 1, "not measured": 2})
    none = found["no document"].values
    assert none["Hit@5"].text() == none["Answered"].text() == none["faithfulness"].text() == "no data"
    assert (none["Rightly declined"], none["low_similarity"].count) == (Share(1, 1), 1)
    assert found[ALL].values["correct"] == Share(2, 5, unread)
    by_kind = {r.part: r for r in rows(questions, KEYS["answerable"], of)}
    assert (by_kind["can be answered"].questions, by_kind["cannot be answered"].questions) == (5, 1)


def test_a_part_is_called_lower_for_the_measure_in_which_it_is_shown():
    questions = [asked(f"{c}{k}", category=c) for c in "xyz" for k in range(20)]
    answers = [answered(q.id, "a" if q.category != "y" else "other") for q in questions]
    labels = {q.id: Graded("correct" if q.category != "z" else "wrong", "expert") for q in questions}
    worst = {r.part: set(r.worst) for r in rows(questions, KEYS["category"], records(answers, labels))}
    assert worst == {ALL: set(), "x": set(), "y": {"Hit@5"}, "z": {"correct"}}


# -- laws

STATUS = st.sampled_from(["answered", "declined", "error"])
LABEL = st.sampled_from([*LABELS, None])
ONE = st.tuples(st.sampled_from("xyz"), st.sampled_from(["a", "b", None]), STATUS, LABEL, st.booleans(), st.booleans())
SETS = st.lists(ONE, min_size=1, max_size=40)
READ = st.tuples(
    *[st.sampled_from(those) for those in ("xyz", "a", ["answered"], ["correct", "wrong"], [True, False], [True])]
)


def made(rows_, name=str):
    """Questions with answers and counted labels from drawn tuples; `name` names their ids."""
    questions, answers, labels = [], [], {}
    for n, (category, doc, status, label, found, counted) in enumerate(rows_):
        i = name(n)
        questions.append(asked(i, doc, category=category, answerable=doc is not None))
        hit = ({"id": "p", "doc": doc if found else "other"},)
        answers.append(answered(i, status=status, hits=hit, reason="not_found" if status == "declined" else None))
        if counted:
            by = "error" if status == "error" else "expert" if label else "not_graded"
            labels[i] = Graded(None if status == "error" else label, by)
    return questions, records(answers, labels)


def told(found):
    """The values of rows, those of a mean in one order."""
    as_told = {True: lambda v: (sorted(v.values), dict(v.missing)), False: lambda v: (v.count, v.n, dict(v.missing))}
    return [
        (r.part, r.questions, r.worst, {n: as_told[isinstance(v, Mean)](v) for n, v in r.values.items()}) for r in found
    ]


@settings(max_examples=40, deadline=None)
@given(SETS, st.sampled_from(sorted(KEYS)), st.randoms())
def test_order_and_names_of_questions_change_no_value_of_a_part(drawn, key, rng):
    questions, of = made(drawn)
    renamed, of_renamed = made(drawn, lambda n: f"other-{97 - n}")
    rng.shuffle(renamed)
    assert told(rows(questions, KEYS[key], of)) == told(rows(renamed, KEYS[key], of_renamed))


@settings(max_examples=40, deadline=None)
@given(SETS | st.lists(READ, min_size=6, max_size=40), st.sampled_from("xyz"), st.sampled_from(sorted(KEYS)))
def test_one_more_correct_answer_lowers_no_share_of_correct_answers(drawn, category, key):
    (few, of), (more, of_more) = made(drawn), made([*drawn, (category, "a", "answered", "correct", True, True)])
    before = {r.part: r.values for r in rows(few, KEYS[key], of)}
    after = {r.part: r.values for r in rows(more, KEYS[key], of_more)}
    for part, values in before.items():
        for name in ("correct", "Hit@5", "Hit@1"):
            if values[name].n:
                assert after[part][name].value >= values[name].value


# -- a run


@pytest.fixture(scope="module")
def result(tmp_path_factory) -> Result:
    pilot = tiny_pilot(tmp_path_factory.mktemp("segments"))
    run_and_label(pilot)
    return Ledger(pilot).result()


def test_the_document_type_is_that_of_the_file_that_the_question_expects(result):
    found = {r.part: r.questions for r in result.measures_by("document type")}
    assert found == {ALL: 6, "md": 4, "no document": 2}
    gone = replace(result.questions[0], doc="gone")
    assert result.document_type(gone) == "document not there"


def test_hits_of_a_part_carry_what_is_missing_from_it(result):
    (only,) = result.hits_by("language")
    assert only.share == Share(4, 4, {"unanswerable": 2})
    with pytest.raises(DataError, match="by 'lang'; expected one of category, language"):
        result.hits_by("lang")


def test_the_total_is_that_of_the_run(result):
    total = result.measures_by("group", scored=True)[0].values
    assert (total["Hit@5"], total["Leaks"]) == (result.retrieval.hit5, result.leaks.share)
    assert {n: total[n] for n in LABELS} == {n: result.label_shares[n] for n in LABELS}
    assert {s.name: s.mean for s in result.scores} == {s.name: total[s.name] for s in result.scores}


def cells(page, number: int) -> list[list[str]]:
    shown = BeautifulSoup(page, "html.parser").find_all("table")[number]
    return [[c.get_text() for c in row.find_all(["th", "td"])] for row in shown.find_all("tr")]


def test_the_tables_show_every_part_with_its_counts_and_what_is_missing(result):
    declined = replace(result.run.answers["q1"], status="declined", reason="not_found")
    run = replace(result.run, answers={**result.run.answers, "q1": declined})
    shown = tables.segments(Result(result.pilot, run, result.built))
    page = BeautifulSoup(shown, "html.parser")
    assert [s.get_text() for s in page.find_all("summary")] == [
        "By group: 2 parts",
        "By document type: 2 parts",
        "By answerable: 2 parts",
    ]
    assert "Of one part only, so not shown: category ((none)), language ((none)), source ((none))" in page.get_text()
    captions = [t.caption.get_text() for t in page.details.find_all("table")]
    assert captions == ["Labels", "Answered or declined", "Why declined, of the declines", "What the answers rest on"]
    head, total, *_ = cells(shown, 2)
    assert head == ["Part", "Questions", "no answer was found in the passages shown", "Not in it"]
    assert total == ["all questions", "6", "1 of 1", "5 answered"]
    _, total, *_ = cells(shown, 1)
    assert total[-1] == "With an uncited sentence: 1 declined"
    head, _, _, none = cells(tables.retrieval_segments(result), 1)
    assert head == ["Part", "Questions", "Hit@1", "Hit@5", "MRR", "Recall@5", "Leaks", "Not in it"]
    assert none[:4] == ["no document", "2", "no data", "no data"] and none[-1] == "all but Leaks: 2 unanswerable"


def test_a_part_shown_to_be_lower_is_marked_where_it_stands(result):
    questions = [replace(result.questions[0], id=f"{c}{k}", category=c) for c in "xy" for k in range(20)]
    sure = result.run.answers["q1"]
    answers = {q.id: sure if q.category == "x" else replace(sure, hits=()) for q in questions}
    lame = Result(result.pilot, replace(result.run, questions=questions, answers=answers), result.built)
    lame.__dict__["counted"] = lame.__dict__["graded"] = {}
    page = tables.retrieval_segments(lame)
    assert [row[3] for row in cells(page, 0)[1:]] == [
        "20 of 40 (50 %, 35-65)",
        "20 of 20 (84-100 %)",
        "0 of 20 (0-16 %)lower than the rest",
    ]
    assert "No part is shown" not in page


def test_all_parts_of_two_hundred_questions_take_under_half_a_second():
    drawn = [("xyz"[n % 3], "ab"[n % 2], "answered", LABELS[n % 4], n % 5 > 0, True) for n in range(200)]
    questions, of = made(drawn)
    lists = {name: [f"p{k}" for k in range(100)] for name in ("keyword", "dense")}
    of = replace(of, answers={i: replace(a, lists=lists) for i, a in of.answers.items()})
    questions = [replace(q, source=f"s{n % 12}", lang=f"l{n % 4}") for n, q in enumerate(questions)]
    rows(questions, KEYS["category"], of)  # scipy is loaded once
    begun = time.process_time()
    for key in KEYS.values():
        rows(questions, key, of)
    assert time.process_time() - begun < 0.5
