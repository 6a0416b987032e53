import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.answering.answerer import NOT_FOUND, Prompt, answer
from rag_pilot.answering.citations import read_citations
from rag_pilot.answering.extractive import extractive
from rag_pilot.records import Hit, Passage


def hit(text: str, number: int = 1, **more: object) -> Hit:
    return Hit(Passage(f"d{number}#1", f"d{number}", text, frozenset({"all"}), **more))  # type: ignore[arg-type]


def said(question: str, *texts: str, sentences: int = 1, coverage: float = 0.2) -> str:
    hits = [hit(text, number) for number, text in enumerate(texts, start=1)]
    return str(extractive(sentences, coverage)(Prompt(question, hits)))


def test_the_sentence_that_holds_the_questions_words_is_copied_with_its_number() -> None:
    texts = ("Parking is free.", "The hotel limit is 95 euros. Taxis need form T-7.")
    assert said("What is the hotel limit?", *texts) == "The hotel limit is 95 euros. [2]"
    assert said("Which form do taxis need?", *texts) == "Taxis need form T-7. [2]"


def test_a_question_whose_words_are_nowhere_is_not_found() -> None:
    assert said("Who repairs the lift?", "Parking is free.") == NOT_FOUND
    assert said("??", "Parking is free.") == NOT_FOUND
    assert said("parking", "") == NOT_FOUND
    assert said("parking", "# Parking\n\n") == NOT_FOUND
    assert str(extractive()(Prompt("parking", []))) == NOT_FOUND


def test_the_share_of_words_that_must_be_held_decides() -> None:
    half = ("parking lift", "Parking is free. Something else. Nothing more.")
    assert said(*half, coverage=0.3) == "Parking is free. [1]"
    assert said(*half, coverage=0.9) == NOT_FOUND


def test_a_sentence_goes_on_where_the_file_only_breaks_its_line() -> None:
    wrapped = "The small ferry stays in harbour from 14 metres\nper second. Others sail.\n- Ask the\n  bosun.\n- Wait."
    assert said("When does the small ferry stay in harbour?", wrapped) == (
        "The small ferry stays in harbour from 14 metres per second. [1]"
    )
    assert said("Should I ask the bosun?", wrapped) == "Ask the bosun. [1]"
    full = "Whoever sails on the small ferry in winter needs a warm coat and\nMrs Terna says boots too."
    assert said("Who needs a warm coat?", full).startswith("Whoever") and "boots" in said("Who needs a coat?", full)


def test_short_lines_of_a_list_without_marks_stay_apart() -> None:
    assert said("What is the number of the gate?", "Reception 4100\nGate 4200\nHarbour office 4300") == "Gate 4200 [1]"


def test_a_row_of_a_table_is_told_with_its_column_heads() -> None:
    table = "| Form | Deadline |\n|---|:--:|\n| T-7 | Friday |\n| T-8 | Monday |"
    assert said("What is the deadline of form T-8?", table) == "Form: T-8; Deadline: Monday [1]"


def test_headings_count_though_they_are_never_copied() -> None:
    plain, under = hit("It takes five days.", 1), hit("It takes six days.", 2, title="Refunds", headings=("Refunds",))
    assert str(extractive(1, 0.1)(Prompt("How long do refunds take?", [plain, under]))) == "It takes six days. [2]"


def test_rare_words_weigh_more_than_common_ones() -> None:
    texts = ("The leave form is green. The leave form is long. The leave form is sent to payroll.",)
    assert said("leave form payroll", *texts) == "The leave form is sent to payroll. [1]"


def test_no_more_sentences_than_asked_for_are_copied_in_their_order() -> None:
    text = "Leave is 25 days. Leave is asked for in the portal. Leave is paid. Leave ends in May."
    many = said("leave in the portal days", text, sentences=3)
    assert 1 < many.count("[1]") <= 3
    copied = re.split(r" \[1\] ?", many)[:-1]
    assert [text.index(s) for s in copied] == sorted(text.index(s) for s in copied)


@pytest.mark.parametrize("mark", ["[2]", "[9]", "[1-9]", "【2】", "[Source 2]", "[^7]"])
def test_a_mark_of_the_documents_own_is_no_citation(mark: str) -> None:
    given = answer(
        "hotel limit",
        _Index([hit(f"The hotel limit is 95 euros {mark}."), hit("Parking is free.", 2)]),
        {"all"},
        extractive(1),
    )
    assert (given.status, given.docs) == ("answered", ("d1",))


class _Index:
    def __init__(self, hits: list[Hit]) -> None:
        self.hits = hits

    def search(self, question: str, groups: object, k: int = 5) -> list[Hit]:
        return self.hits


def test_a_plain_text_is_refused_because_it_carries_no_passages() -> None:
    with pytest.raises(TypeError, match="needs a Prompt"):
        extractive()("Question: leave?")


WORDS = st.lists(
    st.sampled_from(["leave", "hotel", "limit", "25", "T-7", "[3]", "|", "#", "-", "free.", "Days:", "\n"])
).map(" ".join)


@given(WORDS, st.lists(WORDS, max_size=4), st.integers(1, 3))
def test_it_says_nothing_that_no_passage_says_and_cites_what_it_copied(
    question: str, texts: list[str], sentences: int
) -> None:
    given = said(question, *texts, sentences=sentences, coverage=0.0)
    if given == NOT_FOUND:
        return
    (number,) = read_citations(given).numbers
    words = set(re.findall(r"\w+", texts[number - 1]))
    assert set(re.findall(r"\w+", re.sub(r"\[\d+\]", "", given))) <= words
    assert given == said(question, *texts, sentences=sentences, coverage=0.0)
