"""Claims against the passages that they cite: what is one, what supports it, and when there is no value."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.grading.faithfulness import (
    NO_CLAIMS,
    OTHER_LANGUAGE,
    UNREADABLE,
    Checked,
    Claim,
    claims_of,
    faithfulness,
)
from rag_pilot.grading.sorting import read_sorted
from rag_pilot.grading.unvalidated import NO_REFERENCE, answer_relevance, context_precision
from rag_pilot.records import Hit

LEAVE = "Staff get 25 days of annual leave a year. Unused leave may not be carried over to the next year."
FORM = "Managers get 30 days. A taxi is claimed on form HX-20 by 12 March 2026. Ask Kowalski in Leeds."
HITS = [Hit.of({"id": f"p{n}", "doc": f"d{n}", "text": t, "lang": "en"}, n) for n, t in enumerate((LEAVE, FORM))]


def held(text, llm=None, hits=HITS):
    return faithfulness("How many days of annual leave?", claims_of(text), hits, llm)


class Scripted:
    def __init__(self, *replies):
        self.replies, self.prompts = list(replies), []

    def __call__(self, prompt):
        self.prompts.append(prompt)
        return self.replies.pop(0)


# -- claims ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes.",
        "NOT_FOUND",
        "**NOT_FOUND**",
        "Sorry, I cannot help.",
        "I'm not able to answer that.",
        "Do you mean annual leave?",
        "The documents do not mention parking.",
        "Je ne peux pas répondre.",
        "Niestety nie mogę odpowiedzieć.",
        "Of course!",
    ],
)
def test_what_asserts_nothing_is_no_claim_and_the_answer_has_no_value(text):
    found = held(text)
    assert claims_of(text) == ()
    assert (found.held, found.value, found.why) == ((), None, NO_CLAIMS)


def test_a_sentence_that_joins_statements_is_two_claims_each_with_its_own_citations():
    text = "Staff get 25 days of leave a year [1], and managers get 30 days [2]. Paris. It is red, green, and blue [1]."
    assert claims_of(text) == (
        Claim("Staff get 25 days of leave a year", (1,)),
        Claim("managers get 30 days.", (2,)),
        Claim("Paris.", ()),
        Claim("It is red, green, and blue.", (1,)),
    )


def test_a_part_without_a_mark_has_those_of_its_sentence():
    found = claims_of("Staff get 25 days of leave; managers get 30 days [1][2].")
    assert [claim.cited for claim in found] == [(1, 2), (1, 2)]


def test_the_number_of_a_list_item_is_no_part_of_the_claim():
    assert claims_of("1. Managers get 30 days [2].\n2) Ask Kowalski [2].") == (
        Claim("Managers get 30 days.", (2,)),
        Claim("Ask Kowalski.", (2,)),
    )


# -- offline ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "supported"),
    [
        ("Staff get 25 days of annual leave [1].", True),
        ("Staff get 26 days of annual leave [1].", False),  # number
        ("Staff get 25 days of annual leave [2].", False),  # another passage holds it
        ("Staff get 25 days of annual leave [1][2].", True),
        ("Staff get 25 days of annual leave.", False),  # cites nothing
        ("Staff get 25 days of annual leave [7].", False),  # cites what was not shown
        ("Unused leave may not be carried over [1].", True),
        ("Unused leave may be carried over [1].", False),  # negation
        ("A taxi is claimed on form HX-20 by 12 March 2026 [2].", True),
        ("A taxi is claimed on form HX-21 by 12 March 2026 [2].", False),  # code
        ("A taxi is claimed on form HX-20 by 12 April 2026 [2].", False),  # date
        ("A taxi is claimed, ask Nowak in Leeds [2].", False),  # name
        ("Dogs are welcome at headquarters [1].", False),  # words
    ],
)
def test_a_claim_is_held_against_numbers_dates_names_words_and_negation_of_what_it_cites(text, supported):
    assert held(text).held == (supported,)


def test_the_value_is_supported_claims_over_all_claims():
    found = held("Staff get 25 days of annual leave [1]. Managers get 40 days [2]. Managers get 30 days [2]. Thanks!")
    assert found.held == (True, False, True)
    assert found.value == pytest.approx(2 / 3)


def test_an_answer_in_another_language_than_its_passages_is_not_measured_and_not_called_unfaithful():
    assert held("Les salariés ont 25 jours de congés par an dans le pays [1].") == Checked(why=OTHER_LANGUAGE)


@settings(deadline=None)
@given(st.lists(st.sampled_from(["Staff get 25 days [1].", "Dogs bark loudly [2].", "Yes.", "Why?", "NOT_FOUND"])))
def test_a_value_is_a_share_of_the_claims_or_none_and_never_anything_else(parts):
    found = held(" ".join(parts))
    assert (found.value is None) == (found.held == ()) == bool(found.why)
    assert found.value is None or 0 <= found.value <= 1


# -- by a model ------------------------------------------------------------------------------------------------------


def test_the_model_is_shown_the_passages_and_every_cited_claim_with_its_marks():
    llm = Scripted('{"yes": [1], "no": [2]}')
    assert held("Staff get 25 days [1]. Managers get 40 days [2]. Dogs bark.", llm).held == (True, False, False)
    assert "<<<\n" + LEAVE in llm.prompts[0]
    assert llm.prompts[0].endswith("Claims:\n1. Staff get 25 days. [1]\n2. Managers get 40 days. [2]")


def test_an_unreadable_reply_is_asked_for_once_more_and_then_there_is_no_value():
    again = Scripted("supported", '```json\n{"yes": [], "no": [1]}\n```')
    assert held("Staff get 25 days [1].", again).held == (False,)
    never = Scripted('{"yes": [1, 2], "no": []}', '{"yes": []}')
    assert held("Staff get 25 days [1].", never) == Checked(why=UNREADABLE)
    assert never.prompts[0] != never.prompts[1]  # the reply to the first may be kept


def test_nothing_is_asked_where_nothing_is_claimed_or_cited():
    assert held("Sorry, I cannot help.", Scripted()).why == NO_CLAIMS
    assert held("Staff get 25 days.", Scripted()).held == (False,)


@pytest.mark.parametrize(
    "reply",
    [
        "",
        "yes: 1",
        '{"yes": [1]}',
        '{"yes": [1], "no": [1]}',
        '{"yes": [1, 1], "no": [2]}',
        '{"yes": [2], "no": []}',
        '{"yes": [1], "no": [3]}',
        '{"yes": [], "no": []}',
        '{"yes": [true], "no": []}',
        '{"yes": ["1"], "no": []}',
        '{"yes": 1, "no": []}',
        '{"yes": [1], "no": [], "yes": []}',
        '{"yes": [1], "no": []} {"yes": [], "no": [1]}',
        '{"yes": [1], "no": [',
        '{"yes": {"a": 1}, "no": [1]}',
        '{"yes": [1], "no": [], "maybe": []}',
    ],
)
def test_a_reply_that_does_not_name_every_item_once_is_unreadable(reply):
    assert read_sorted(reply) is None


@given(st.lists(st.booleans(), min_size=1, max_size=12), st.randoms())
def test_a_well_formed_reply_is_read_in_any_order(said, random):
    lists = {word: [n for n, yes in enumerate(said, 1) if yes == (word == "yes")] for word in ("yes", "no")}
    random.shuffle(lists["yes"])
    assert read_sorted(f'I think: {{"no": {lists["no"]}, "reason": "so", "yes": {lists["yes"]}}}') == tuple(said)


# -- unvalidated -----------------------------------------------------------------------------------------------------


def test_relevance_counts_claims_that_share_a_word_with_the_question_or_are_an_answer_in_themselves():
    claims = claims_of("Annual leave is 25 days [1]. HX-20 [2]. A taxi ride is claimed on paper at headquarters [2].")
    assert answer_relevance("How many days of annual leave?", claims).held == (True, True, False)
    assert answer_relevance("How?", ()).why == NO_CLAIMS
    llm = Scripted('{"yes": [3], "no": [1, 2]}')
    assert answer_relevance("How?", claims, llm).held == (False, False, True)


def test_context_precision_counts_passages_that_hold_the_numbers_and_words_of_the_expected_answer():
    assert context_precision("How many?", "25 days of annual leave", HITS).held == (True, False)
    assert context_precision("How many?", "26 days of annual leave", HITS).held == (False, False)
    assert context_precision("How many?", "", HITS).why == NO_REFERENCE
    assert context_precision("How many?", "25 days", [], Scripted()).value is None
    llm = Scripted('{"yes": [2], "no": [1]}')
    assert context_precision("How many?", "25 days", HITS, llm).held == (False, True)
    assert "Expected answer: 25 days" in llm.prompts[0]
