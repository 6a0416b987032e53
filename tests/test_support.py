import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.answering.answerer import answer
from rag_pilot.records import Hit, Passage

TRAVEL = Passage(
    "a#1",
    "a",
    "From 1 March 2026 the hotel limit in Leeds is EUR 95, for seven nights at most. The desk is open from 9:00 to "
    "17:30 and closed from 17 to 19 November. Ask Anna Kowalska or the European Union desk about form HX-20.",
    frozenset({"all"}),
    title="Travel 2026",
    lang="en",
)
FRAME = Passage("b#1", "b", "The frame order of 2026-04-02 covers 1,500 pairs.", frozenset({"all"}), lang="en")
TARIFF = Passage("c#1", "c", "Le tarif de la Pologne est de 40 euros depuis le 3 août.", frozenset({"all"}), lang="fr")


class Shown:
    def search(self, question: str, groups: object, k: int = 5) -> list[Hit]:
        return [Hit(TRAVEL), Hit(FRAME), Hit(TARIFF)]


def absent(text: str) -> tuple[str, ...]:
    """What is flagged in an answer of this text."""
    found = answer("How much?", Shown(), {"all"}, lambda prompt: text, None)
    assert found.status == "answered"
    assert ("not_in_passage" in found.flags) == bool(found.absent)
    return found.absent


@pytest.mark.parametrize(
    "text",
    [
        "The limit is 95 euros [1].",
        "The limit is € 95.00 [1].",
        "It is paid for 7 nights from the 1st of March 2026 [1].",
        "It is paid from March 1, 2026 and from 2026-03-01 [1].",
        "The desk opens at 9 [1].",
        "It is closed on 17 November and 19 Nov. [1].",
        "The order of 2 April 2026 covers 1 500 pairs [2].",
        "The order of 02/04/2026 covers 1.500 pairs [2].",
        "You can ask Kowalskiej of the EU about hx 20 [1].",
        "1. The limit is 95 euros [1].\n2. You ask for 7 nights [1].",
        "The limit is 95 euros and the order has 1500 pairs [1, 2].",
        "The rate for Poland is 40 euros since 3 August [3].",
        "You ask the desk for it [1].",
    ],
)
def test_facts_that_the_cited_passages_hold_in_another_form_are_not_flagged(text: str) -> None:
    assert absent(text) == ()


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("The limit is 59 euros [1].", ("59",)),
        ("The limit is 9.5 euros [1].", ("9.5",)),
        ("The limit is 95 euros [2].", ("95",)),
        ("It is paid from 1 May 2026 [1].", ("1 May 2026",)),
        ("It is paid from 1 March 2025 [1].", ("1 March 2025",)),
        ("The order of 2026-02-04 covers 1500 pairs [2].", ("2026-02-04",)),
        ("Le tarif est de 40 euros depuis le 3 juillet dans les documents de la liste [3].", ("3 juillet",)),
        ("You can ask Peter in Leeds [1].", ("Peter",)),
        ("You fill in form HX-21 [1].", ("hx-21",)),
        ("The limit is 95 euros [1]. The order has 95 pairs [2].", ("95",)),
        ("It takes 3 of 12 days [1] or 3 of 95 [1].", ("3", "12")),
    ],
)
def test_a_number_date_or_name_that_its_own_cited_passage_lacks_is_flagged_and_named(
    text: str, facts: tuple[str, ...]
) -> None:
    assert absent(text) == facts


def test_a_sentence_without_a_citation_is_not_looked_at_and_is_counted_as_such() -> None:
    found = answer("q", Shown(), {"all"}, lambda prompt: "It costs 77 euros. The limit is 95 euros [1].", None)
    assert (found.absent, found.uncited, found.sentences) == ((), 1, 2)


def test_the_flag_is_no_verdict() -> None:
    found = answer("q", Shown(), {"all"}, lambda prompt: "The limit is 59 euros [1].", None)
    assert (found.status, found.reason, found.flags, found.docs) == ("answered", None, ("not_in_passage",), ("a",))


def test_title_headings_and_a_parent_section_are_part_of_what_was_read() -> None:
    passage = replace(TRAVEL, headings=("Limits for 2031",), parent=TRAVEL.text + " A taxi is 12 euros.")
    shown = type("", (), {"search": lambda *a, **k: [Hit(passage)]})()
    assert answer("q", shown, {"all"}, lambda p: "In 2026 and 2031 a taxi is 12 euros [1].", None).absent == ()


@given(st.lists(st.sampled_from([s for s in re.split(r"(?<=[.]) ", TRAVEL.text) if s]), min_size=1, max_size=3))
def test_whatever_is_copied_from_the_cited_passage_is_never_flagged(copied: list[str]) -> None:
    assert absent(" ".join(f"{sentence[:-1]} [1]." for sentence in copied)) == ()


@given(st.text("0123456789 .:/-[]marchMay1st\n", max_size=60))
def test_no_text_makes_the_check_fail(text: str) -> None:
    absent(text.replace("[", "").replace("]", "") + " [1]")
