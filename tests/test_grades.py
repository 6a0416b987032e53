"""Which label counts: rules, persons, judge, and labels of other texts."""

import pytest

from rag_pilot.analysis.grades import (
    Graded,
    by_question,
    citation_rule,
    expert_labels,
    judge_label,
    rule_label,
    settle,
)
from rag_pilot.errors import DataError
from rag_pilot.records import Answer, Label, Question, Verdict

Q = Question(id="q", question="?", doc="fees", also=("rates",))
NOBODY_KNOWS = Question(id="q", question="?", answerable=False)
A = Answer(question_id="q", status="answered", docs=("fees",), sha="s1")


def label(value, sha="s1", by="ana", kind="label", q="q"):
    return Label(question_id=q, answer_sha=sha, annotator=by, label=value, kind=kind)


def answered(status="answered", flags=()):
    return Answer(question_id="q", status=status, flags=flags, sha="s1")


@pytest.mark.parametrize(
    ("question", "answer", "expected"),
    [
        (Q, answered("declined"), "declined"),
        (NOBODY_KNOWS, answered("declined"), "correct"),
        (NOBODY_KNOWS, answered(), "wrong"),
        (NOBODY_KNOWS, answered(flags=("own_words",)), None),
        (NOBODY_KNOWS, answered(flags=("mixed",)), None),
        (Q, answered(), None),
        (Q, answered("error"), None),
        (NOBODY_KNOWS, answered("error"), None),
    ],
)
def test_labels_by_rule(question, answer, expected):
    assert rule_label(question, answer) == expected


def test_an_unknown_status_is_refused():
    with pytest.raises(DataError, match="skipped"):
        rule_label(Q, answered("skipped"))


def test_correct_without_an_accepted_document_becomes_partly():
    other = Answer(question_id="q", status="answered", docs=("menu",))
    also = Answer(question_id="q", status="answered", docs=("menu", "rates"))
    assert citation_rule(Q, other, "correct") == "partly"
    assert citation_rule(Q, also, "correct") == citation_rule(Q, A, "correct") == "correct"
    assert citation_rule(Q, other, "wrong") == "wrong" and citation_rule(Q, other, None) is None


def test_the_last_line_counts_once_and_a_retraction_removes():
    assert expert_labels([label("correct"), label("wrong")], {"q": A}).current["q"].label == "wrong"
    assert expert_labels([label("correct"), label(None)], {"q": A}).current == {}
    assert expert_labels([label("correct"), label(None), label("partly")], {"q": A}).current["q"].label == "partly"


def test_adjudicated_replaces_and_repeat_and_spot_never_count():
    lines = [label("wrong", kind="adjudicated", by="eva"), label("correct"), label("partly", by="ben")]
    assert expert_labels(lines, {"q": A}).current["q"].label == "wrong"
    withdrawn = [*lines[:2], label(None, kind="adjudicated", by="eva")]
    assert expert_labels(withdrawn, {"q": A}).current["q"].label == "correct"
    again = [
        label(v, kind="adjudicated", by=who) for v, who in (("wrong", "eva"), ("correct", "ben"), ("partly", "eva"))
    ]
    assert expert_labels(again, {"q": A}).current["q"].label == "partly"
    assert expert_labels([label("wrong", kind="repeat"), label("wrong", kind="spot")], {"q": A}).current == {}


def test_a_label_of_another_text_is_stale_and_never_inherited():
    found = expert_labels([label("correct", sha="old"), label("wrong", q="gone")], {"q": A})
    assert (found.current, found.stale, found.unknown) == ({}, ("q",), ("gone",))
    both = expert_labels([label("correct", sha="old"), label("partly")], {"q": A})
    assert both.current["q"].label == "partly" and both.stale == ()


def test_of_two_annotators_the_named_one_counts_and_none_is_guessed():
    lines = [label("correct", by="ben"), label("wrong", by="ana")]
    assert expert_labels(lines, {"q": A}, main="ben").current["q"].label == "correct"
    assert expert_labels(lines[::-1], {"q": A}, main="ana").current["q"].label == "wrong"
    assert expert_labels(lines[:1], {"q": A}, main="ana").current["q"].annotator == "ben"
    with pytest.raises(DataError, match="ana, ben"):
        expert_labels(lines, {"q": A})


@pytest.mark.parametrize("line", [label("Correct"), label("correct "), label("correct", kind="Label")])
def test_unknown_labels_and_kinds_are_refused(line):
    with pytest.raises(DataError, match="expected"):
        expert_labels([line], {"q": A})


def verdict(value, sha="s1", by="judge"):
    return {"q": Verdict(question_id="q", answer_sha=sha, label=value, by=by)}


def settled(question=Q, answer=A, verdicts=None, labels=None, admitted=True):
    return settle([question], {"q": answer}, verdicts or {}, labels or {}, admitted)["q"]


def test_the_judge_counts_only_where_admitted_and_only_for_this_text():
    assert settled(verdicts=verdict("wrong")) == Graded("wrong", "judge")
    assert settled(verdicts=verdict("wrong"), admitted=False) == Graded(None, "not_graded")
    assert settled(verdicts=verdict("wrong", sha="old")) == Graded(None, "not_graded")
    assert settled(verdicts=verdict(None)) == Graded(None, "not_graded")
    assert judge_label(A, verdict("wrong", by="rule")["q"]) is None


def test_the_expert_goes_before_judge_and_rule():
    assert settled(verdicts=verdict("wrong"), labels={"q": label("correct")}) == Graded("correct", "expert")
    assert settled(NOBODY_KNOWS, labels={"q": label("correct")}) == Graded("correct", "expert")
    assert settled(verdicts=verdict("wrong"), labels={"q": label("correct", sha="old")}).by == "judge"


def test_key_four_is_right_where_nobody_could_answer():
    assert settled(labels={"q": label("declined")}) == Graded("declined", "expert")
    own_words = answered(flags=("own_words",))
    assert settled(NOBODY_KNOWS, own_words, labels={"q": label("declined")}) == Graded("correct", "expert")


def test_a_failed_call_has_no_label_whoever_speaks():
    assert settled(answer=answered("error"), verdicts=verdict("wrong"), labels={"q": label("wrong")}).by == "error"
    assert settle([Q], {}, verdict("wrong"), {}, True)["q"] == Graded(None, "not_graded")


def test_a_question_twice_in_one_run_is_refused():
    assert by_question([A]) == {"q": A}
    with pytest.raises(DataError, match="'q' stands twice"):
        by_question([A, A])
