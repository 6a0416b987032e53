"""The order of reading, and which answers need a person."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.analysis.sample import first_that_need_a_person, needs_person, read_so_far, seeded_order, up_to_read
from rag_pilot.errors import DataError
from rag_pilot.records import Answer, Question


def question(i, category="policy", lang="en", answerable=True):
    return Question(id=i, question=i, category=category, lang=lang, answerable=answerable)


def answer(i, status="answered", flags=()):
    return Answer(question_id=i, status=status, flags=flags)


sets = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(["en", "fr", "pl"])), min_size=1, max_size=120)


@settings(max_examples=60)
@given(sets, st.integers(0, 10**6))
def test_every_prefix_is_close_to_proportional_in_category(kinds, seed):
    questions = {f"q{i}": question(f"q{i}", *kind) for i, kind in enumerate(kinds)}
    order = seeded_order(questions.values(), seed)
    assert sorted(order) == sorted(questions)
    total, seen = Counter(q.category for q in questions.values()), Counter()
    for length, i in enumerate(order, start=1):
        seen[questions[i].category] += 1
        for category, count in total.items():
            fair = length * count / len(order)
            assert abs(seen[category] - fair) <= 1 + count * len(total) / len(order)


def test_languages_are_spread_within_each_category():
    questions = [question(f"{lang}{i}", "policy", lang) for lang, n in (("en", 60), ("fr", 40)) for i in range(n)]
    for seed in range(30):
        french = sum(i.startswith("fr") for i in seeded_order(questions, seed)[:50])
        assert 19 <= french <= 21


def test_order_depends_on_the_seed_and_not_on_how_the_questions_were_listed():
    questions = [question(f"q{i}", "ab"[i % 2], ["en", "fr", "pl"][i % 3]) for i in range(60)]
    assert seeded_order(questions, 7) == seeded_order(questions[::-1], 7)
    assert seeded_order(questions, 7) != seeded_order(questions, 8)


def test_every_question_is_as_likely_to_be_read_first():
    questions = [question(f"q{i}", category) for i, category in enumerate("a" * 12 + "b" * 6 + "c" * 2)]
    read = Counter(i for seed in range(2000) for i in seeded_order(questions, seed)[:5])
    assert max(abs(read[q.id] / 2000 - 0.25) for q in questions) < 0.07


def test_an_id_that_stands_twice_is_refused():
    with pytest.raises(DataError, match="q1"):
        seeded_order([question("q1"), question("q1", "other")], 1)


@pytest.mark.parametrize(
    ("answerable", "status", "flags", "needs"),
    [
        (True, "answered", (), True),
        (True, "answered", ("own_words",), True),
        (True, "declined", (), False),
        (True, "error", (), False),
        (False, "answered", (), False),
        (False, "answered", ("own_words",), True),
        (False, "answered", ("mixed",), True),
        (False, "answered", ("citation_not_understood",), False),
        (False, "declined", (), False),
        (False, "error", ("mixed",), False),
    ],
)
def test_which_answers_need_a_person(answerable, status, flags, needs):
    assert needs_person(question("q", answerable=answerable), answer("q", status, flags)) is needs


def run_of_six():
    questions = [question(f"q{i}", answerable=i != 2) for i in range(6)]
    answers = {f"q{i}": answer(f"q{i}", "declined" if i == 4 else "answered") for i in range(6)}
    return [f"q{i}" for i in range(6)], questions, answers


def test_first_fifty_are_the_first_that_need_a_person():
    order, questions, answers = run_of_six()
    assert first_that_need_a_person(order, questions, answers) == ["q0", "q1", "q3", "q5"]
    assert first_that_need_a_person(order[::-1], questions, answers, 2) == ["q5", "q3"]


def test_labels_after_an_unread_answer_are_no_random_sample():
    order, questions, answers = run_of_six()
    sample = read_so_far(order, questions, answers, {"q0", "q1", "q5"})
    assert (sample.read, sample.waiting, sample.beyond) == (("q0", "q1"), "q3", ("q5",))
    whole = read_so_far(order, questions, answers, set(order))
    assert (whole.read, whole.waiting) == (("q0", "q1", "q3", "q5"), None)


@pytest.mark.parametrize(
    ("labelled", "n", "last"),
    [
        ("", 50, None),
        ("q1 q3 q5", 50, None),  # the first one waits
        ("q0 q1", 50, "q1"),  # not up to q2, which a rule labels
        ("q0 q1 q5", 50, "q1"),
        ("q0 q1 q3 q5", 2, "q1"),
        ("q0 q1 q3 q5", 3, "q3"),
        ("q0 q1 q3 q5", 4, "q5"),
        ("q0 q1 q3 q5", 50, "q5"),
    ],
)
def test_the_order_is_taken_up_to_the_last_answer_that_was_read(labelled, n, last):
    order, questions, answers = run_of_six()
    taken = up_to_read(order, read_so_far(order, questions, answers, labelled.split()), n)
    assert list(taken) == (order[: order.index(last) + 1] if last else [])


def test_where_every_answer_is_read_the_whole_order_is_taken():
    order, questions, answers = run_of_six()
    order, answers = [*order, "q6"], {**answers, "q6": answer("q6", "declined")}
    sample = read_so_far(order, [*questions, question("q6")], answers, order)
    assert (up_to_read(order, sample, 50), up_to_read(order, sample, 4)[-1]) == (order, "q5")


def test_an_incomplete_run_and_a_removed_question_are_refused():
    order, questions, answers = run_of_six()
    with pytest.raises(DataError, match="no answer yet"):
        first_that_need_a_person(order, questions, {k: v for k, v in answers.items() if k != "q3"})
    with pytest.raises(DataError, match="does not hold"):
        first_that_need_a_person(order, questions[1:], answers)
