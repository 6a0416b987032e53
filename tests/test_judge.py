import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.answering.answerer import Reply
from rag_pilot.evaluation import grade
from rag_pilot.files import dumps
from rag_pilot.grading.agreement import gate
from rag_pilot.grading.judge import RUBRIC, Judge, Judgement, model_judge, offline_judge, read_label
from rag_pilot.records import JUDGE_LABELS, Answer, Question, Verdict


class Scripted:
    """A model that replies with these texts in turn."""

    def __init__(self, *replies: str) -> None:
        self.replies, self.prompts = list(replies), []

    def __call__(self, prompt: str) -> str:
        self.prompts.append(prompt)
        return self.replies.pop(0)


# -- reading a judge's reply -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ('{"label": "correct"}', "correct"),
        ('{"reason": "all there", "label": " Partly "}', "partly"),
        ('```json\n{"label": "Correct"}\n```', "correct"),
        ('Here is my verdict: {"label": "wrong"} Hope it helps.', "wrong"),
        ('{"reason": "it names {x} and {y}", "label": "wrong"}', "wrong"),
        ('{"reason": "a correct answer would be 30", "label": "wrong"}', "wrong"),
        ("correct", "correct"),
        ("**Partly**.", "partly"),
        ("Label: wrong", "wrong"),
        ("- label: **Correct**", "correct"),
        ("“wrong”", "wrong"),
        ("The answer misses the date.\n\nLabel: partly\n", "partly"),
        ("Label: wrong\nwrong", "wrong"),
        ('Label: wrong\n{"label": "wrong"}', "wrong"),
    ],
)
def test_a_label_is_read_from_its_field_or_its_own_line(reply: str, label: str) -> None:
    found = read_label(reply)
    assert found is not None
    assert (found.label, found.raw) == (label, reply)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "incorrect",
        "not correct",
        "Not correct.",
        "partly correct",
        "partially",
        "correct?",
        "!correct",
        "¬ correct",
        "korrekt",
        "declined",
        "The answer is not wrong.",
        "The answer is correct.",
        "Label: wrong. A correct answer would be 30 days.",
        "Label: correct or partly",
        "Label: correct / partly / wrong",
        "Correct\nWrong",
        "Label: correct\n\nOn reflection:\nLabel: wrong",
        'Label: wrong\n{"label": "correct"}',
        '{"label": "correct"}\nwrong',
        "{'label': 'correct'}",
        '{"label": "correct",}',
        '{"label": "correct"',
        '{"label": "corr',
        '{"label": "correct", "label": "wrong"}',
        '{"label": "correct", "label": "correct"}',
        '{"label": ["correct"]}',
        '{"label": {"is": "correct"}}',
        '{"label": null}',
        '{"label": true}',
        '{"label": "korrekt"}',
        '{"label": "incorrect"}',
        '{"label": "correct, mostly"}',
        "{“label”: “correct”}",
        '{"verdict": "correct"}',
        '{"before": {"label": "correct"}}',
        '{"label": "correct"} {"label": "wrong"}',
        '{"label": "correct"} {"label": "correct"}',
        '["correct"]x',
        "{" * 100_000,
    ],
)
def test_whatever_could_mean_two_things_is_unreadable(reply: str) -> None:
    assert read_label(reply) is None


def test_only_the_field_of_the_object_itself_counts_and_not_one_inside_it() -> None:
    found = read_label('{"earlier": {"label": "correct"}, "label": "wrong"}')
    assert found is not None
    assert found.label == "wrong"


@given(st.sampled_from(JUDGE_LABELS), st.text(max_size=30), st.dictionaries(st.text(max_size=5), st.text(), max_size=3))
def test_a_well_formed_object_is_read_whatever_its_reason_says(label: str, reason: str, more: dict[str, str]) -> None:
    row = {k: v for k, v in more.items() if k not in ("label", "reason")} | {"reason": reason, "label": label}
    found = read_label(json.dumps(row))
    assert found is not None
    assert (found.label, found.reason) == (label, reason)


@given(st.sampled_from(JUDGE_LABELS), st.text("aknorw not,.-", min_size=1, max_size=12))
def test_a_label_inside_other_words_is_never_read(label: str, words: str) -> None:
    for reply in (f"{words}{label}", f"{label}{words}", f"{words} {label} {words}"):
        found = read_label(reply)
        if any(c.isalpha() for c in words):
            assert found is None
        else:
            assert found is None or found.label == label


# -- a model as judge ------------------------------------------------------------------------------------------------


def test_the_judge_is_shown_question_expected_answer_and_text_and_nothing_else() -> None:
    llm = Scripted('{"label": "partly", "reason": "no date"}')
    found = model_judge(llm)("How long?", "25 days from May", "25 days [1]")
    assert found == Judgement("partly", "no date", '{"label": "partly", "reason": "no date"}')
    assert llm.prompts == [f"{RUBRIC}\n\nQuestion: How long?\nExpected answer: 25 days from May\nAnswer: 25 days [1]"]


def test_what_the_judge_used_is_that_of_all_its_calls() -> None:
    replies = [Reply("hm", tokens_in=9, tokens_out=1, seconds=0.25, reused=False)]
    replies += [Reply('{"label": "wrong"}', tokens_in=9, tokens_out=5, seconds=0.5, reused=False)]
    found = model_judge(lambda _: replies.pop(0))("q", "e", "t")
    assert isinstance(found, Judgement)
    assert (found.label, found.reused) == ("wrong", False)
    assert found.spent == {"tokens_in": 18, "tokens_out": 6, "seconds": 0.75}
    never = model_judge(lambda _: Reply("hm", tokens_in=9, tokens_out=1, reused=False))("q", "e", "t")
    assert isinstance(never, Judgement)
    assert (never.label, never.reused, never.spent["tokens_in"]) == (None, False, 18)


def test_an_unreadable_reply_is_asked_for_once_more() -> None:
    llm = Scripted("incorrect", "wrong")
    found = model_judge(llm)("q", "e", "t")
    assert isinstance(found, Judgement)
    assert (found.label, len(llm.prompts)) == ("wrong", 2)


def test_a_reply_that_stays_unreadable_has_no_label_and_is_kept_as_it_came() -> None:
    llm = Scripted("incorrect", "I'd say it's {correct}")
    assert model_judge(llm)("q", "e", "t") == Judgement(None, "unreadable", "I'd say it's {correct}")
    assert llm.replies == []


# -- in a run --------------------------------------------------------------------------------------------------------


def graded(text: str | None, judge: Judge, expected: str = "25 days", answerable: bool = True) -> Verdict:
    """The verdict of one answer that cites the right document."""
    asked = Question("q", "How much leave?", expected=expected, doc="d" if answerable else None, answerable=answerable)
    status = "answered" if text else "declined"
    return grade([asked], {"q": Answer("q", status, text, docs=("d",), sha="s")}, judge)["q"]


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("incorrect", None),
        ("not correct", None),
        ("partly correct", None),
        ("Label: wrong. A correct answer would be 30 days.", None),
        ("The answer is not wrong.", None),
        ('```json\n{"label":"Correct"}\n```', "correct"),
        ('Here is my verdict: {"label": "partly"}', "partly"),
        ("{'label': 'correct'}", None),
        ('{"label":"correct","label":"wrong"}', None),
        ('{"label":["correct"]}', None),
        ('{"label":"korrekt"}', None),
        ('{"label":"correct"', None),
    ],
)
def test_a_verdict_holds_the_label_of_the_reply_or_none_and_the_reply(reply: str, label: str | None) -> None:
    llm = Scripted(reply, reply)
    verdict = graded("25 days [1].", model_judge(llm))
    assert (verdict.label, verdict.raw) == (label, "" if label else reply)
    assert len(llm.prompts) == (1 if label else 2)


@pytest.mark.parametrize(
    ("text", "answerable", "label", "by"),
    [
        (None, False, "correct", "rule"),
        (None, True, "declined", "rule"),
        ("Sorry, I cannot help.", True, "wrong", "judge"),
        ("Yes.", True, "wrong", "judge"),
    ],
)
def test_declines_go_by_rule_and_a_text_without_a_claim_is_not_correct(
    text: str | None, answerable: bool, label: str, by: str
) -> None:
    verdict = graded(text, offline_judge, answerable=answerable)
    assert (verdict.label, verdict.by) == (label, by)


def test_unreadable_verdicts_are_neither_right_nor_wrong_and_the_bounds_say_what_they_could_be() -> None:
    replies = ['{"label": "correct"}'] * 8 + ["incorrect"] * 4
    judge = model_judge(Scripted(*replies))
    verdicts = [graded("25 days [1].", judge) for _ in range(10)]
    assert [v.label for v in verdicts] == ["correct"] * 8 + [None] * 2
    found = gate([("correct", v.label) for v in verdicts], seed=1)
    assert (found.agreed, found.n, found.dropped) == (8, 8, 2)
    assert "2 pairs lack a label and are not counted: with the 2 that the judge could not grade, 8 to 10 of 10." in (
        found.words
    )
    assert found.kappa is None
    dumps([found.kappa, found.kappa_low, found.agreement_low])  # refuses what is not a number


# -- the offline judge -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "expected", "text", "label"),
    [
        ("How many days?", "25 days", "You get 25 days of leave [1].", "correct"),
        ("How many days?", "25 days", "You get 14 days of leave [1].", "wrong"),
        ("How many days?", "25 days", "14 days [25].", "wrong"),
        ("What does it cost?", "1,500 euros", "It costs 1 500 euros [2].", "correct"),
        ("What does it cost?", "20.0 percent", "20 percent", "correct"),
        ("Which form?", "HRF-112", "Use form HRF112 [1].", "correct"),
        ("Which form?", "HRF-112", "Use form HRF-113 [1].", "wrong"),
        ("How long and how much?", "5 days and 95 euros", "5 days, euros apply", "partly"),
        ("Who approves?", "Procurement lead and finance", "Finance and the procurement lead approve [1].", "correct"),
        ("Who approves?", "Procurement lead and finance director", "The procurement lead approves [1].", "partly"),
        ("Who approves?", "Procurement lead and finance", "Ask the reception [1].", "wrong"),
        ("Qui valide ?", "Le responsable des achats", "Le RESPONSABLE des Achats [1].", "correct"),
        ("Kto zatwierdza?", "Kierownik działu zakupów", "kierownik dzialu zakupow [1]", "correct"),
        ("What is the price?", "£718.00 each (band 10 to 24)", "10–24: 718.00 each [3]", "correct"),
        ("How long?", "45 days (30 for freight)", "After 45 days [1].", "correct"),
        ("Heure limite ?", "16 h 30", "Avant 16:30 [1].", "correct"),
        ("Heure limite ?", "16 h 30", "Avant 16:45 [1].", "wrong"),
        ("When was it?", "1951–52", "From 1951 to 1952.", "correct"),
        ("When was it?", "1951–52", "In 1961.", "wrong"),
        ("Which day?", "05/04", "5/4", "correct"),
        ("Who holds the key?", "Oswin Trueman", "Ask Oswin Truman [1].", "correct"),
        ("Which payments?", "regular", "The irregular ones [1].", "wrong"),
        ("Who holds the key?", "Rufus Trueman", "It is held byRufus Trueman [1].", "correct"),
        ("May I smoke?", "No, only outside, behind dock two.", "Yes, outside, behind dock two [1].", "wrong"),
        ("Puis-je fumer ?", "Oui, derrière le quai", "Non, pas derrière le quai [1].", "wrong"),
        ("Who signs?", "finance director", "I cannot find who signs; the finance director may know.", "partly"),
    ],
)
def test_offline_the_numbers_and_words_of_the_expected_answer_decide(
    question: str, expected: str, text: str, label: str
) -> None:
    assert offline_judge(question, expected, text).label == label


LONG = (
    "Report the loss to the warehouse manager before the shift ends, fill in the yellow card form, keep the police "
    "reference, order a replacement badge from reception, return broken parts, and wait two working days meanwhile."
)


@pytest.mark.parametrize(
    ("text", "label"),
    [
        (LONG, "correct"),
        ("Tell the warehouse manager before the shift ends, fill in the yellow form and order a new badge.", "correct"),
        ("Report the loss.", "partly"),
        (
            "Report the loss to the warehouse manager; buses leave hourly, lockers cost coins, lunch ends soon.",
            "partly",
        ),
        ("Canteen menus change weekly; soup costs little; dessert is free on Fridays; tables seat eight.", "wrong"),
        (LONG + " ".join(a + b + a + b + a for a in "bcdfghjklm" for b in "aeiouy"), "wrong"),
    ],
)
def test_offline_a_text_must_come_from_a_long_expected_answer_but_need_not_hold_all_of_it(
    text: str, label: str
) -> None:
    assert offline_judge("My card is gone?", LONG, text).label == label


def test_offline_an_expected_answer_that_only_repeats_the_question_is_not_measured() -> None:
    found = offline_judge("Is a receipt needed?", "A receipt is needed.", "No receipt at all.")
    assert found.label is None
    assert "holds no word and no number" in found.reason


@given(st.text(max_size=60), st.text(max_size=60), st.text(max_size=60))
def test_offline_every_text_has_a_label_or_none_and_always_the_same(question: str, expected: str, text: str) -> None:
    found = offline_judge(question, expected, text)
    assert found.label in (*JUDGE_LABELS, None)
    assert found == offline_judge(question, expected, text)
    assert found.label == offline_judge(question, expected, f"{text} [3][44]").label


@given(st.text(max_size=60), st.text(max_size=60))
def test_offline_the_expected_answer_itself_is_never_graded_wrong(question: str, expected: str) -> None:
    assert offline_judge(question, expected, expected).label in ("correct", None)


@pytest.mark.parametrize(
    ("question", "expected", "text", "label"),
    [
        ("How much notice?", "Send it within 5 working days.", "within five working days", "correct"),
        ("Quel délai ?", "10 jours ouvrés, par écrit.", "dix jours ouvrés", "correct"),
        ("Ile dni?", "5 dni roboczych na piśmie.", "pięć dni roboczych", "correct"),
        ("How much notice?", "Send it within 5 working days.", "within six working days", "wrong"),
        ("Max for a room in London?", "£165 a night, breakfast and tax included.", "165", "correct"),
        (
            "Max for a room in London?",
            "£165 a night, breakfast and tax included.",
            "A room in London: £165.",
            "correct",
        ),
        (
            "Max for a room in London?",
            "£165 a night, breakfast and tax included.",
            "Code C4 sells 165 gloves.",
            "partly",
        ),
        ("Max for a room in London?", "£165 a night, breakfast and tax included.", "145", "wrong"),
        ("How many weeks of leave?", "12 weeks paid", "weeks of leave: 8, 10, 12", "partly"),
    ],
)
def test_offline_a_number_counts_as_a_word_and_bare_numbers_answer_what_asks_for_them(question, expected, text, label):
    assert offline_judge(question, expected, text).label == label
