"""What follows from judged criteria and the causes of bad answers."""

import pytest

from rag_pilot.analysis.acceptance import Criterion, acceptance
from rag_pilot.analysis.causes import CauseCount, Pareto
from rag_pilot.analysis.decision import decide
from rag_pilot.analysis.shares import Share

WRONG = Criterion("wrong answers", "wrong", "at_most", 0.05, "all questions")
READ = (50, 50)

MET, OPEN, MISSED = (acceptance(WRONG, Share(k, 200)) for k in (4, 8, 20))


def failures(**counts):
    total = sum(counts.values())
    rows = sorted(counts.items(), key=lambda item: -item[1])
    return Pareto(tuple(CauseCount(name, Share(k, total)) for name, k in rows), total, 0, 0)


MIXED = failures(not_retrieved=8, missing_or_stale=8, format_or_tone=4)


@pytest.mark.parametrize(
    ("judgements", "causes", "more", "verdict"),
    [
        ([MET, MET], MIXED, {}, "build"),
        ([MET, MET], MIXED, {"leaking": 1}, "stop"),
        ([MET, OPEN], MIXED, {}, "not_decided"),
        ([], MIXED, {}, "not_decided"),
        ([MET, MISSED], MIXED, {}, "stop"),
        ([MET, MISSED], MIXED, {"changes_left": 2}, "not_decided"),
        ([OPEN, MISSED], failures(missing_or_stale=11, not_retrieved=9), {}, "fix_documents"),
        ([OPEN, MISSED], failures(missing_or_stale=10, not_retrieved=10), {}, "stop"),
        ([MISSED], failures(format_or_tone=11, not_retrieved=9), {}, "test_fine_tuning"),
        ([MISSED], failures(), {}, "stop"),
    ],
)
def test_decisions(judgements, causes, more, verdict):
    found = decide(judgements, causes, labelled=READ, **more)
    assert found.verdict == verdict and len(found.reasons) == 2 and all(found.reasons)


def test_reasons_name_the_missed_criterion_the_counts_and_how_few_they_are():
    first, second = decide([MET, MISSED], failures(missing_or_stale=5, not_retrieved=2), labelled=READ).reasons
    assert (
        first == "1 of 2 criteria are met; missed: wrong answers." and "5 of 7" in second and "few to go by" in second
    )
    assert MISSED.state == "not met" and OPEN.words in decide([MET, OPEN], MIXED, labelled=READ).reasons[1]


def test_nothing_but_a_leak_is_decided_before_the_answers_of_the_order_are_labelled():
    for judgements in ([MET, MET], [MET, MISSED], [MET, OPEN]):
        found = decide(judgements, MIXED, labelled=(49, 50))
        assert found.verdict == "not_decided"
        assert found.reasons[0] == "49 of 50 answers of the order are labelled on this run."
    assert decide([MET], MIXED, leaking=1, labelled=(0, 50)).verdict == "stop"
    assert decide([MET, MET], MIXED, labelled=(0, 0)).verdict == "build"  # every answer follows by rule
