"""The fitted judge: what gate and headline see of a labelled answer comes from a fit that never saw it."""

import random
from dataclasses import replace

import numpy as np
import pytest
from tiny import run_and_label, tiny_pilot

from rag_pilot.fitting import LABELS_NEEDED, fitted, folds_of, groups_of, out_of_fold, predicted
from rag_pilot.grading.judge import features, offline_judge
from rag_pilot.ledger import Ledger
from rag_pilot.records import JUDGE_LABELS, Answer, Label, Question, Verdict
from rag_pilot.reporting import tables
from rag_pilot.results import Result

WORDS = sorted(
    {"amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heron", "iris", "jade", "koala", "lemon"}
    | {"maple", "night", "olive", "pearl", "quail", "raven"}
)


def a_run(n, seed=1):
    """n answerable questions whose answers hold more or less of what is expected, judged by the fixed weights."""
    rng = random.Random(seed)
    questions, answers, verdicts = [], {}, {}
    for k in range(n):
        expected = rng.sample(WORDS, 6)
        said = [w if rng.random() < rng.choice((0.1, 0.5, 0.95)) else rng.choice(WORDS) for w in expected]
        q = Question(f"q{k:03}", f"What about {rng.choice(WORDS)} number {k}?", " ".join(expected), "d")
        questions.append(q)
        answers[q.id] = Answer(q.id, "answered", " ".join(said), docs=("d",), sha=f"s{k}")
        label = offline_judge(q.question, q.expected, " ".join(said)).label
        verdicts[q.id] = Verdict(q.id, f"s{k}", label, "judge", judged=label)
    return questions, answers, verdicts


def labels_of(answers, ids, value):
    return {i: Label(i, answers[i].sha, "Ana", value(i)) for i in ids}


def agreement(said, labels):
    return float(np.mean([said[i] == given.label for i, given in labels.items()]))


def test_with_labels_drawn_by_chance_the_fit_looks_good_on_its_own_rows_and_out_of_fold_it_does_not():
    inside, outside = [], []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(45, 12)), rng.choice(JUDGE_LABELS, 45).tolist()
        inside.append(np.mean([a == b for a, b in zip(predicted(x, y, x), y, strict=True)]))
        outside.append(np.mean([a == b for a, b in zip(out_of_fold(x, y, range(45)), y, strict=True)]))
    assert np.mean(inside) > 0.55
    assert np.mean(outside) < 0.42  # chance is a third


def test_the_verdicts_of_labelled_answers_are_those_out_of_fold_and_not_the_flattering_ones():
    questions, answers, verdicts = a_run(45)
    rng = random.Random(3)
    labels = labels_of(answers, answers, lambda _: rng.choice(JUDGE_LABELS))
    found = fitted(questions, answers, verdicts, labels)
    x = np.array([features(q.question, q.expected, answers[q.id].text) for q in questions])
    y = [labels[q.id].label for q in questions]
    ids = [q.id for q in questions]
    said = [found.verdicts[i].judged for i in ids]
    assert said == out_of_fold(x, y, groups_of([q.question for q in questions]))
    assert agreement(dict(zip(ids, said, strict=True)), labels) < agreement(
        dict(zip(ids, predicted(x, y, x), strict=True)), labels
    )


def test_an_answer_is_never_in_the_fit_that_labels_it():
    questions, answers, verdicts = a_run(40)
    labels = labels_of(answers, answers, lambda i: verdicts[i].label)
    before = fitted(questions, answers, verdicts, labels)
    for i in before.out_of_fold[:4]:  # whatever the expert says of it, its own verdict stays
        for label in JUDGE_LABELS:
            changed = labels | {i: replace(labels[i], label=label)}
            assert fitted(questions, answers, verdicts, changed).verdicts[i].label == before.verdicts[i].label


def test_near_duplicate_questions_share_a_fold():
    asked = [
        "How many days of leave do I get?",
        "How many days of leave do I get ?",
        "how many days of leave do we get?",
    ]
    groups = groups_of([*asked, "Who signs a purchase order?"])
    assert groups[0] == groups[1] == groups[2] != groups[3]
    rng = np.random.default_rng(0)  # each row stands twice, its label by chance: only a fit that saw its twin knows it
    x = np.repeat(rng.normal(size=(20, 12)), 2, axis=0)
    y = np.repeat(rng.choice(["correct", "wrong"], 20), 2).tolist()
    apart, together = list(range(40)), [k // 2 for k in range(40)]
    right = [sum(a == b for a, b in zip(out_of_fold(x, y, g), y, strict=True)) for g in (apart, together)]
    assert right[0] > right[1] + 4


def test_under_thirty_labels_or_with_one_label_the_fixed_weights_stay():
    questions, answers, verdicts = a_run(40)
    few = labels_of(answers, list(answers)[: LABELS_NEEDED - 1], lambda i: verdicts[i].label)
    found = fitted(questions, answers, verdicts, few)
    assert found.verdicts == verdicts and "30 labels are needed, there are 29" in found.why
    same = labels_of(answers, answers, lambda _: "correct")
    found = fitted(questions, answers, verdicts, same)
    assert found.verdicts == verdicts and found.why == "all labels are the same"
    stale = {i: replace(given, answer_sha="old") for i, given in labels_of(answers, answers, lambda _: "wrong").items()}
    assert fitted(questions, answers, verdicts, stale).labels == 0


def test_labels_that_may_be_about_the_citation_and_rules_are_left_alone():
    questions, answers, verdicts = a_run(42)
    answers["q000"] = replace(answers["q000"], docs=("elsewhere",))
    verdicts["q041"] = Verdict("q041", "s41", "declined", "rule")
    labels = labels_of(answers, answers, lambda i: {"q000": "partly", "q001": "declined"}.get(i, verdicts[i].label))
    found = fitted(questions, answers, verdicts, labels)
    assert (found.labels, found.unclear) == (39, 2)
    assert found.verdicts["q041"] == verdicts["q041"]
    assert found.verdicts["q000"].label != "correct"  # the citation rule stands behind a fitted judge too
    assert {"q000", "q001"} <= set(found.out_of_fold)


def test_what_nobody_labelled_is_graded_by_the_fit_on_all_labels_and_the_order_changes_nothing():
    questions, answers, verdicts = a_run(60)
    labels = labels_of(answers, list(answers)[:40], lambda i: verdicts[i].label)
    found = fitted(questions, answers, verdicts, labels)
    assert len(found.out_of_fold) == 40 and folds_of(groups_of([q.question for q in questions[:40]])) == found.folds
    assert "this one left out" in found.verdicts["q000"].reason
    assert "left out" not in found.verdicts["q050"].reason
    backwards = fitted(questions[::-1], answers, verdicts, dict(reversed(labels.items())))
    assert backwards.verdicts == found.verdicts
    assert set(v.label for v in found.verdicts.values()) <= set(JUDGE_LABELS)


def test_a_pilot_uses_it_by_its_setting_only(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    plain = Ledger(pilot).result(())
    assert plain.fitted is None and plain.verdicts is plain.run.verdicts
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8") + '[judge]\nkind = "fitted"\n', encoding="utf-8")
    result = Ledger(type(pilot).open("tiny", tmp_path)).result(())
    assert result.run.id == plain.run.id and result.verdicts == plain.verdicts
    assert "the fixed ones: 30 labels are needed" in tables.judge_in_use(result)
    assert "Of these partly by the citation rule" in tables.grading(result)


def test_gate_and_headline_see_the_fitted_verdicts(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    result = Ledger(pilot).result(())
    wrong = {i: replace(v, label="wrong", judged="wrong") if v.by != "rule" else v for i, v in result.verdicts.items()}

    class Given(Result):
        verdicts = wrong

    told = Given(pilot, result.run, result.built)
    assert {judge for (_, judge), n in told.gate.matrix.items() if n} == {"wrong"}
    assert told.headline.judge.count == 0 < result.headline.judge.count


@pytest.mark.parametrize("n", [2, 3])
def test_fewer_groups_than_folds_are_as_many_folds(n):
    x, y = np.eye(6, 4), ["correct", "wrong"] * 3
    assert folds_of([k % n for k in range(6)]) == n
    assert set(out_of_fold(x, y, [k % n for k in range(6)])) <= {"correct", "wrong"}
