"""Causes in the order of the evidence, the expert's word, and the count of causes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.analysis.causes import Facts, cause, causes, examples, pareto
from rag_pilot.analysis.grades import Graded
from rag_pilot.analysis.shares import Share
from rag_pilot.errors import DataError
from rag_pilot.records import Answer, Label, Passage, Question

QUOTE = "a refund takes 14 days"
PASSAGES = {
    "fees#1": Passage("fees#1", "fees", "On cards. A refund takes  14 days, not more."),
    "fees#2": Passage("fees#2", "fees", "Other fees."),
    "menu#1": Passage("menu#1", "menu", "Soup."),
    "rates#1": Passage("rates#1", "rates", "Rates."),
}
WRONG = Graded("wrong", "expert")


def found(
    shown=("fees#1",),
    *,
    graded=WRONG,
    status="answered",
    label=None,
    documents=("fees", "menu", "rates"),
    stale=(),
    lacking=(),
    may_open=True,
    docs=(),
    passages=PASSAGES,
    holding=(),
    **question,
):
    asked = Question(**{"id": "q", "question": "?", "doc": "fees", "quote": QUOTE, **question})
    hits = tuple({"id": p, "doc": p.split("#")[0]} for p in shown)
    answer = Answer("q", status, docs=docs, hits=hits, sha="s")
    facts = Facts(set(documents), set(stale), set(lacking), passages, lambda _: may_open, set(holding))
    return cause(asked, answer, graded, label, facts)


def said(**more):
    return Label("q", more.pop("sha", "s"), "ana", "wrong", **more)


def test_the_model_had_the_passage_and_answered_wrongly_or_declined():
    assert found().name == "wrong_despite_passage" and "answered" in found().detail
    declined = found(status="declined", graded=Graded("declined", "rule"))
    assert declined.name == "wrong_despite_passage" and "declined" in declined.detail


def test_document_or_passage_not_retrieved():
    assert found(["menu#1"]).name == "not_retrieved"
    other_passage = found(["fees#2", "menu#1"])
    assert other_passage.name == "not_retrieved" and "another passage" in other_passage.detail
    assert found([], status="declined", graded=Graded("declined", "rule")).name == "not_retrieved"


def test_missing_or_stale_documents_go_before_retrieval():
    assert found(["menu#1"], documents=["menu"]).name == "missing_or_stale"
    assert found(quote="in the new text", stale=["fees"]).name == "missing_or_stale"
    assert found(quote="", lacking=["q"]).name == "missing_or_stale"
    assert found(label=said(stale=True)).name == "missing_or_stale"


def test_a_document_past_its_date_that_holds_the_answer_is_not_to_blame():
    assert found(stale=["fees"]).name == "wrong_despite_passage"
    assert found(lacking=["q"]).name == "wrong_despite_passage"
    assert found(["menu#1"], stale=["fees"]).name == "not_retrieved"


def test_one_current_document_is_enough():
    assert found(["menu#1"], quote="", also=("rates",), stale=["fees"]).name == "not_retrieved"
    assert found(["menu#1"], quote="", also=("rates",), stale=["fees", "rates"]).name == "missing_or_stale"


def test_a_document_past_its_date_that_holds_the_expected_numbers_is_not_the_cause():
    assert found(quote="", stale=["fees"]).name == "missing_or_stale"
    assert found(quote="", stale=["fees"], holding=["q"]).name == "wrong_despite_passage"
    assert found(["menu#1"], quote="", stale=["fees"], holding=["q"]).name == "not_retrieved"


def test_permission_goes_before_retrieval_and_after_staleness():
    assert found(["menu#1"], may_open=False).name == "not_permitted"
    assert found(["menu#1"], may_open=False, quote="new", stale=["fees"]).name == "missing_or_stale"


def test_unanswerable_questions_should_have_been_declined():
    assert found(answerable=False, doc=None, graded=Graded("wrong", "rule")).name == "should_have_declined"
    assert found(answerable=False, may_open=False, graded=Graded("wrong", "rule")).name == "should_have_declined"


def test_the_reference_goes_first_where_the_expert_accepts_what_was_cited():
    assert found(label=said(also="menu"), docs=("menu",), documents=["menu"]).name == "reference_wrong"
    assert found(label=said(also="menu"), docs=("fees",)).name == "wrong_despite_passage"


def test_without_a_quote_the_document_alone_is_looked_at():
    assert found(["fees#2"], quote="").name == "wrong_despite_passage"
    assert found(["rates#1"], also=("rates",)).name == "wrong_despite_passage"


def test_what_the_evidence_does_not_tell_is_not_guessed():
    assert found(doc=None).name is None
    assert found([], status="answered").name is None
    gone = found(["fees#9"])
    assert gone.name is None and "index has changed" in gone.detail
    misquoted = found(["fees#2"], quote="words that stand nowhere")
    assert misquoted.name is None and "check the reference" in misquoted.detail


def test_the_expert_overrides_the_rule_and_both_are_kept():
    own = found(label=said(cause="format_or_tone", note="too stiff"))
    assert (own.name, own.by, own.rule, own.detail) == (
        "format_or_tone",
        "expert",
        "wrong_despite_passage",
        "too stiff",
    )
    other_text = found(label=said(cause="format_or_tone", sha="old"))
    assert (other_text.name, other_text.by) == ("wrong_despite_passage", "rule")
    with pytest.raises(DataError, match="tone"):
        found(label=said(cause="tone"))


@pytest.mark.parametrize("graded", [Graded("correct", "rule"), Graded(None, "error"), Graded(None, "not_graded")])
def test_only_bad_answers_have_a_cause(graded):
    with pytest.raises(DataError, match="only bad answers"):
        found(graded=graded)


def test_causes_are_counted_largest_first_with_what_is_missing():
    questions = [Question(f"q{i}", "?", doc="fees", quote=QUOTE) for i in range(9)]
    questions[8] = Question("q8", "?", doc=None)
    shown = ["menu#1", "menu#1", "menu#1", "fees#1", "fees#1", "fees#1", "menu#1", "menu#1", "menu#1"]
    answers = {
        q.id: Answer(q.id, "answered", hits=({"id": p, "doc": p[:4]},), sha="s")
        for q, p in zip(questions, shown, strict=True)
    }
    graded = dict.fromkeys(answers, WRONG) | {
        "q5": Graded("correct", "rule"),
        "q6": Graded(None, "error"),
        "q7": Graded(None, "not_graded"),
    }
    labels = {
        "q3": Label("q3", "s", "ana", "wrong", cause="not_retrieved"),
        "q4": Label("q4", "s", "ana", "wrong", cause="wrong_despite_passage"),
    }
    facts = Facts({"fees"}, set(), set(), PASSAGES, lambda _: True)
    table = causes(questions, answers, graded, labels, facts)
    counted = pareto(table, graded, [f"q{i}" for i in range(8, -1, -1)])
    missing = {"cause not told by the evidence": 1, "not graded": 1, "error": 1}
    assert [(r.cause, r.share, r.questions) for r in counted.rows] == [
        ("not_retrieved", Share(4, 5, missing), ("q3", "q2", "q1", "q0")),
        ("wrong_despite_passage", Share(1, 5, missing), ("q4",)),
    ]
    assert (counted.bad, counted.known, counted.by_expert, counted.overruled) == (6, 5, 2, 1)
    assert counted.count("not_retrieved") == 4 and counted.count("format_or_tone") == 0
    assert examples(table, "not_retrieved", ["q3", "q1", "q7", "q0"]) == ["q3", "q1", "q0"]


ONE = st.tuples(
    st.sampled_from(["fees", None]), st.sampled_from(["fees#1", "menu#1"]), st.sampled_from(["wrong", "correct"])
)


@given(st.lists(ONE, max_size=30), st.randoms())
def test_order_and_names_of_questions_change_no_count_of_a_cause(drawn, rng):
    def counted(name, shuffled):
        questions = [Question(name(n), "?", doc=doc, quote=QUOTE) for n, (doc, _, _) in enumerate(drawn)]
        answers = {
            name(n): Answer(name(n), "answered", hits=({"id": p, "doc": p.split("#")[0]},))
            for n, (_, p, _) in enumerate(drawn)
        }
        graded = {name(n): Graded(label, "expert") for n, (_, _, label) in enumerate(drawn)}
        if shuffled:
            rng.shuffle(questions)
        table = causes(questions, answers, graded, {}, Facts({"fees"}, set(), set(), PASSAGES, lambda _: True))
        found = pareto(table, graded, [q.id for q in questions])
        assert all(len(row.questions) == row.share.count for row in found.rows)
        return [(row.cause, row.share) for row in found.rows], found.bad, found.known

    assert counted(str, False) == counted(lambda n: f"other-{99 - n}", True)


def test_a_bad_answer_without_a_cause_is_refused():
    with pytest.raises(DataError, match="every bad answer"):
        pareto({}, {"q": WRONG}, ["q"])
