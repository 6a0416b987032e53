"""The headline: the estimator, its limits, and the sentence."""

import random
import re
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ppi_py import ppi_mean_pointestimate

from rag_pilot.analysis.headline import estimate, headline, withheld
from rag_pilot.analysis.intervals import wilson
from rag_pilot.errors import DataError
from rag_pilot.grading.agreement import gate
from rag_pilot.records import JUDGE_LABELS, LABELS, Answer, Label, Question, Verdict
from rag_pilot.reporting.tables import gate as gate_table
from rag_pilot.reporting.tables import headline as headline_table

rows = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=60)
unread = st.lists(st.booleans(), max_size=150)


@given(rows, unread, st.integers(0, 40), st.integers(0, 40))
def test_estimator_equals_the_published_formula_written_out(read, rest, known, others):
    m, n = len(read) + len(rest), len(read)
    asked = m + known + others
    found = estimate("correct", known, asked, read, rest)
    weights = np.array([1.0] * n + [0.25] * 4)
    y = np.array([a for a, _ in read] + [0, 0, 1, 1], dtype=float)
    f = np.array([b for _, b in read] + [0, 1, 0, 1], dtype=float)
    matrix = np.cov(np.stack([y, f]), aweights=weights, ddof=0)  # the n rows and a quarter in each cell
    cov = max(0.0, matrix[0, 1])
    r2 = max(0.0, 1 - (1 - cov**2 / matrix[0, 0] / matrix[1, 1]) * (n - 1) / (n - 2))
    lam = min(1.0, cov / matrix[1, 1] * (m - n) / m)
    if len({b for _, b in read} | set(rest)) == 1:
        r2 = lam = 0.0
    assert (found.r2, found.weight) == (pytest.approx(r2), pytest.approx(lam))
    theta = y[:n].mean() - lam * (f[:n].mean() - np.mean(rest)) if rest else y[:n].mean()
    theta = min(1, max(0, theta))
    smooth = (n * theta + 1) / (n + 2)
    t, ts = (known + m * theta) / asked, (known + m * smooth) / asked
    v = ts * (1 - ts) / asked + (m / asked) ** 2 * smooth * (1 - smooth) * (1 - r2) * (1 / n - 1 / m)
    assert (found.value, found.n_eff) == (pytest.approx(t), pytest.approx(ts * (1 - ts) / v))
    assert found.interval == pytest.approx(wilson(found.value * found.n_eff, found.n_eff))


def test_mean_equals_ppi_python_at_the_same_weight():
    rng = np.random.default_rng(4)
    y, f = rng.random(150) < 0.8, rng.random(150) < 0.5
    f = np.where(rng.random(150) < 0.7, y, f)
    found = estimate("correct", 0, 150, list(zip(y[:50], f[:50], strict=True)), list(f[50:]))
    theirs = ppi_mean_pointestimate(y[:50] * 1.0, f[:50] * 1.0, f[50:] * 1.0, lam=found.weight)
    assert 0.2 < found.weight < 1 and found.value == pytest.approx(float(np.squeeze(theirs)))


def test_half_widths_of_the_simulation_are_met():
    def half(read, rest):
        interval = estimate("correct", 18, 200, read, rest).interval
        return 100 * (interval.high - interval.low) / 2

    no_judge = half([(k < 40, False) for k in range(50)], [False] * 100)
    good_judge = half([(k < 40, 2 <= k < 42) for k in range(50)], [k < 80 for k in range(100)])
    all_read = half([(k < 120, False) for k in range(150)], [])
    assert (no_judge, good_judge, all_read) == pytest.approx((9.1, 8.0, 6.2), abs=0.4)


@given(rows.filter(lambda r: len({b for _, b in r}) == 1), st.integers(1, 100))
def test_a_judge_that_always_says_the_same_changes_nothing(read, k):
    alone = estimate("correct", 5, 300, [(y, False) for y, _ in read], [False] * k)
    with_it = estimate("correct", 5, 300, read, [read[0][1]] * k)
    assert with_it.value == pytest.approx(alone.value) and with_it.r2 == alone.r2 == 0


def test_no_fault_among_fifty_and_no_judge_is_labels_alone():
    found = estimate("wrong", 0, 150, [(False, False)] * 50, [False] * 100)
    s = 1 / 52
    assert found.n_eff == pytest.approx(s * (1 - s) / (s * (1 - s) / 150 + s * (1 - s) * (1 / 50 - 1 / 150)))


@given(rows, st.integers(0, 30), st.integers(0, 30))
def test_all_read_is_wilson_on_all_questions(read, known, others):
    asked = len(read) + known + others
    found = estimate("wrong", known, asked, read, [])
    assert found.n_eff == pytest.approx(asked)
    assert found.interval == pytest.approx(wilson(known + sum(y for y, _ in read), asked))


def test_a_lenient_judge_does_not_lift_the_number():
    read = [(k < 25, True) for k in range(25)] + [(False, k < 15) for k in range(25)]  # right half the time, says 80 %
    found = estimate("correct", 0, 150, read, [k < 80 for k in range(100)])
    assert found.value == pytest.approx(0.5, abs=0.01)


@pytest.mark.parametrize(
    ("known", "asked", "read", "rest"), [(0, 5, [], [True]), (0, 0, [], []), (3, 4, [(True, True)] * 2, [])]
)
def test_impossible_counts_are_refused(known, asked, read, rest):
    with pytest.raises(DataError):
        estimate("correct", known, asked, read, rest)


# -- over records


def a_run(n=200):
    """172 answerable (22 declined), 28 unanswerable (18 declined): 150 answers need a person."""
    questions = [Question(id=f"q{i:03}", question="?", doc="d", answerable=i < 172) for i in range(n)]
    declined = {f"q{i:03}" for i in (*range(150, 172), *range(172, 190))}
    answers = {
        q.id: Answer(q.id, "declined" if q.id in declined else "answered", docs=("d",), sha=f"s{q.id}")
        for q in questions
    }
    return questions, answers, [q.id for q in questions]


def labels_of(answers, ids, value=lambda i: "wrong" if int(i[1:]) % 5 == 0 else "correct"):
    return {i: Label(i, answers[i].sha, "Ana", value(i)) for i in ids}


def verdicts_of(answers, ids, value=lambda i: "wrong" if int(i[1:]) % 5 == 0 else "correct"):
    return {i: Verdict(i, answers[i].sha, value(i), "judge") for i in ids}


def test_the_sentence_says_who_read_what():
    questions, answers, order = a_run()
    found = headline(
        questions, answers, order, labels_of(answers, order[:50]), verdicts_of(answers, order[:150]), "Ana"
    )
    assert (found.by_person, found.by_judge, found.by_rule, found.errors, found.not_graded) == (50, 100, 50, 0, 0)
    assert found.correct.value == pytest.approx((18 + 120) / 200)
    assert found.words == (
        f"On questions like these 200 (14 % unanswerable, this mix): {found.correct.text()} correct. "
        "50 answers read by Ana, 100 by the judge, 50 by rule. "
        "Another mix, or questions not used to mend the system, can differ."
    )


def test_the_four_shares_add_up_to_all():
    questions, answers, order = a_run()
    kinds = ("correct", "wrong", "partly", "declined", "correct")
    labels = labels_of(answers, order[:50], lambda i: kinds[int(i[1:]) % 5])
    found = headline(questions, answers, order, labels, verdicts_of(answers, order[:150]), "Ana")
    assert found.declined.known == 22 and found.wrong.known == 10 and found.correct.known == 18
    assert found.correct.value + found.wrong.value + found.declined.value + found.partly == pytest.approx(1)
    assert found.partly == pytest.approx(0.15, abs=0.03)


def test_shares_that_pass_all_together_say_so_and_leave_no_silent_zero():
    questions, answers, order = a_run()
    rng = random.Random(8)
    kinds = ("correct", "partly", "wrong", "declined")
    said = {i: rng.choices(kinds, (0.85, 0.02, 0.1, 0.03))[0] for i in order[:150]}
    judge = {
        i: ("wrong" if label == "declined" else label) if rng.random() < 0.85 else rng.choice(kinds[:3])
        for i, label in said.items()
    }
    labels, verdicts = labels_of(answers, order[:50], said.get), verdicts_of(answers, order[:150], judge.get)
    found = headline(questions, answers, order, labels, verdicts, "Ana")
    total = found.correct.value + found.wrong.value + found.declined.value
    assert total > 1.03 and found.partly is None and found.excess == pytest.approx(total - 1)
    assert "together pass 100 % by 3.1 points, so how many are partly right is less than can be told" in found.words
    assert withheld(found, 50, ["hr"]).excess == 0
    all_read = headline(questions, answers, order, labels_of(answers, order[:150], said.get), {}, "Ana")
    assert all_read.excess == 0 and all_read.partly == pytest.approx(sum(v == "partly" for v in said.values()) / 200)


def test_without_labels_there_are_words_and_no_number():
    questions, answers, order = a_run()
    found = headline(questions, answers, order, {}, verdicts_of(answers, order[:150]), "Ana")
    assert found.correct is found.wrong is found.declined is found.partly is None
    assert found.words.startswith("No number yet: 0 answers read by Ana, 150 by the judge, 50 by rule.")
    nine = headline(questions, answers, order, labels_of(answers, order[:9]), {}, "Ana")
    assert nine.correct is None and "141 by nobody" in nine.words
    assert headline(questions, answers, order, labels_of(answers, order[:10]), {}, "Ana").correct is not None
    assert headline([], {}, [], {}, {}, "Ana").words == "No data: no question was asked."


def test_labels_of_unchanged_answers_alone_give_no_number():
    questions, answers, order = a_run()
    kept = [i for i in order[:50] if int(i[1:]) % 3]  # every third answer changed since
    found = headline(questions, answers, order, labels_of(answers, kept), {}, "Ana")
    assert found.correct is None and "until question q000 is labelled" in found.words
    stale = {i: Label(i, "old", "Ana", "correct") for i in order[:50]}
    assert headline(questions, answers, order, stale, {}, "Ana").by_person == 0


def test_all_read_is_plain_wilson_and_needs_no_judge():
    questions, answers, order = a_run()
    found = headline(questions, answers, order, labels_of(answers, order[:150]), {}, "Ana")
    assert found.correct.interval == pytest.approx(wilson(138, 200)) and found.wrong.value == pytest.approx(40 / 200)
    assert "150 answers read by Ana, 0 by the judge, 50 by rule." in found.words


def test_failed_calls_stay_in_the_denominator():
    questions, answers, order = a_run()
    answers["q160"] = Answer("q160", "error", reason="filtered")
    found = headline(questions, answers, order, labels_of(answers, order[:150]), {}, "Ana")
    assert found.errors == 1 and found.correct.value == pytest.approx(138 / 200)
    total = found.correct.value + found.wrong.value + found.declined.value + found.partly
    assert total == pytest.approx(199 / 200) and "1 calls failed" in found.words


def test_flagged_declines_of_unanswerable_questions_need_the_expert():
    questions, answers, order = a_run()
    answers["q195"] = Answer("q195", "answered", flags=("own_words",), sha="sq195")
    found = headline(questions, answers, order, labels_of(answers, order[:150]), {}, "Ana")
    assert found.not_graded == 1 and found.by_rule == 49
    labels = labels_of(answers, [*order[:150], "q195"], lambda i: "declined" if i == "q195" else "correct")
    done = headline(questions, answers, order, labels, {}, "Ana")
    assert done.correct.value == pytest.approx(169 / 200) and done.wrong.known == 9


def test_a_question_outside_the_order_is_refused():
    questions, answers, order = a_run()
    with pytest.raises(DataError, match="q199"):
        headline(questions, answers, order[:-1], {}, {}, "Ana")


# -- unreadable replies


def unreadable(answers, ids):
    return {i: Verdict(i, answers[i].sha, None, "judge", raw="hm") for i in ids}


def test_above_the_limit_of_unreadable_replies_there_is_no_number_and_it_says_why_and_what_to_do():
    questions, answers, order = a_run()
    labels, verdicts = labels_of(answers, order[:50]), verdicts_of(answers, order[:150])
    just = headline(questions, answers, order, labels, verdicts | unreadable(answers, order[90:97]), "Ana")
    assert just.correct is not None  # 7 of 150 are 4.7 %
    found = headline(questions, answers, order, labels, verdicts | unreadable(answers, order[90:98]), "Ana")
    assert found.correct is found.wrong is found.declined is found.partly is None
    assert found.words.startswith("No headline: of 150 answers that the judge was given, it left 8 without a readable")
    assert 'kind = "none"' in found.words and "% correct" not in found.words


def test_the_bounds_say_what_unreadable_replies_could_still_be():
    questions, answers, order = a_run(10)
    verdicts = verdicts_of(answers, order, lambda i: "correct")
    found = headline(questions, answers, order, {}, verdicts | unreadable(answers, order[:2]), "Ana")
    assert (found.judge.count, found.judge.n, found.judge.missing) == (8, 8, {"unreadable": 2})
    assert found.judge.bounds == (0.8, 1.0)
    page = headline_table(found)
    assert "8 of 8 readable labels say correct, 2 of 10 are unreadable" in page and "8 to 10 of 10" in page


def test_where_all_answers_are_read_or_no_judge_was_asked_unreadable_replies_do_not_matter():
    questions, answers, order = a_run()
    every = labels_of(answers, order[:150])
    read = headline(questions, answers, order, every, unreadable(answers, order[:150]), "Ana")
    assert read.correct is not None and read.correct.interval == pytest.approx(wilson(138, 200))
    nobody = headline(questions, answers, order, labels_of(answers, order[:50]), {}, "Ana")
    assert nobody.correct is not None and nobody.judge.n == 0


# -- laws


@st.composite
def runs(draw):
    """A small run: what the expert would say of each answer that needs her, the judge too, and how far she has read."""
    pairs = draw(st.lists(st.tuples(st.sampled_from(LABELS), st.sampled_from(JUDGE_LABELS)), min_size=12, max_size=40))
    ruled = draw(st.lists(st.booleans(), max_size=8))  # unanswerable: declined or answered
    errors = draw(st.integers(0, 2))
    read = draw(st.integers(10, len(pairs)))
    ids = [f"q{n}" for n in range(len(pairs) + len(ruled) + errors)]
    questions, answers, experts, verdicts = [], {}, {}, {}
    for n, i in enumerate(ids):
        ruling = ruled[n - len(pairs)] if len(pairs) <= n < len(pairs) + len(ruled) else None
        status = "declined" if ruling else "error" if n >= len(pairs) + len(ruled) else "answered"
        questions.append(Question(id=i, question="?", doc="d", answerable=ruling is None))
        answers[i] = Answer(i, status, docs=("d",), sha=f"s{i}")
        if n < len(pairs):
            experts[i] = Label(i, f"s{i}", "Ana", pairs[n][0])
            verdicts[i] = Verdict(i, f"s{i}", pairs[n][1], "judge")
    order = draw(st.permutations(ids))
    wanted = [i for i in order if i in experts]
    return questions, answers, order, {i: experts[i] for i in wanted[:read]}, verdicts, experts


def numbers(found):
    shown = [found.correct, found.wrong, found.declined]
    return [(e.value, e.interval, e.n_eff) for e in shown if e], found.partly, found.excess, found.words


@settings(max_examples=40, deadline=None)
@given(runs(), st.randoms())
def test_the_order_of_questions_and_the_names_of_ids_change_nothing(run, rng):
    questions, answers, order, labels, verdicts, _ = run
    found = numbers(headline(questions, answers, order, labels, verdicts, "Ana"))
    shuffled = rng.sample(questions, len(questions))
    assert numbers(headline(shuffled, answers, order, labels, verdicts, "Ana")) == found
    new = dict(zip(order, rng.sample(range(1000), len(order)), strict=True))
    renamed = [
        {f"r{new[i]}": replace(row, question_id=f"r{new[i]}") for i, row in rows.items()}
        for rows in (answers, labels, verdicts)
    ]
    asked = [replace(q, id=f"r{new[q.id]}") for q in questions]
    again = headline(asked, renamed[0], [f"r{new[i]}" for i in order], renamed[1], renamed[2], "Ana")
    waits = re.compile(r"until question \w+ is")
    assert [waits.sub("", str(x)) for x in numbers(again)] == [waits.sub("", str(x)) for x in found]


@settings(max_examples=40, deadline=None)
@given(runs(), st.data())
def test_a_correct_answer_more_never_lowers_the_score(run, data):
    questions, answers, order, labels, verdicts, _ = run
    before = headline(questions, answers, order, labels, verdicts, "Ana").correct.value
    rightly = {"new": Answer("new", "declined", sha="new")}
    place = data.draw(st.integers(0, len(order)))
    asked = [*questions, Question(id="new", question="?", answerable=False)]
    more = headline(asked, answers | rightly, [*order[:place], "new", *order[place:]], labels, verdicts, "Ana")
    assert more.correct.value >= before - 1e-12
    one = data.draw(st.sampled_from(sorted(labels)))
    turned = labels | {one: replace(labels[one], label="correct")}
    assert headline(questions, answers, order, turned, verdicts, "Ana").correct.value >= before - 1e-12


@settings(max_examples=40, deadline=None)
@given(runs())
def test_all_answers_labelled_is_plain_wilson_of_every_label(run):
    questions, answers, order, _, verdicts, experts = run
    found = headline(questions, answers, order, experts, verdicts, "Ana")
    counts = Counter(label.label for label in experts.values())
    counts["correct"] += sum(a.status == "declined" for a in answers.values())
    counts["wrong"] += sum(a.status == "answered" for i, a in answers.items() if i not in experts)
    for label in ("correct", "wrong", "declined"):
        share = getattr(found, label)
        assert share.interval == pytest.approx(wilson(counts[label], len(questions)))
    assert found.partly == pytest.approx(counts["partly"] / len(questions)) and found.excess == 0


@pytest.mark.parametrize("read", [0, 50, 150])
@pytest.mark.parametrize("said", ["correct", "wrong", None])
@pytest.mark.parametrize("unanswerable", [True, False])
def test_every_extreme_has_words_and_no_nan(read, said, unanswerable):
    """Nobody labelled or all, no fault or one label only, with unanswerable questions and without."""
    questions, answers, order = a_run()
    if not unanswerable:
        questions = questions[:172]
        answers, order = {q.id: answers[q.id] for q in questions}, order[:172]
    value = (lambda i: said) if said else (lambda i: "wrong" if int(i[1:]) % 5 == 0 else "correct")
    labels, verdicts = labels_of(answers, order[:read], value), verdicts_of(answers, order[:150], value)
    found = headline(questions, answers, order, labels, verdicts, "Ana")
    judge = gate([(label.label, verdicts[i].label) for i, label in labels.items()], seed=1)
    for text in (found.words, str(headline_table(found)), judge.words, str(gate_table(judge))):
        assert text and not re.search(r"\b(nan|NaN|inf|None)\b", text)
    assert (found.correct is None) == (read == 0)
    assert ("0 % unanswerable" in found.words) == (not unanswerable and read > 0)
