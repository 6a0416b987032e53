import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.answering.citations import (
    flags_of,
    is_not_found,
    plain_citations,
    read_citations,
    uncited_sentences,
    without_citations,
)

MARKS = st.text("[]【】［］(){}^\\0123456789１２¹², ;-–&†:Source passage\n NOT_FOUND.", max_size=60)


@pytest.mark.parametrize(
    ("text", "numbers", "plain"),
    [
        ("Yes [1].", (1,), "Yes [1]."),
        ("Yes [1, 3].", (1, 3), "Yes [1][3]."),
        ("Yes [1,2].", (1, 2), "Yes [1][2]."),
        ("Yes [3; 1].", (1, 3), "Yes [3][1]."),
        ("Yes [1-3].", (1, 2, 3), "Yes [1][2][3]."),
        ("Yes [1–3, 5].", (1, 2, 3, 5), "Yes [1][2][3][5]."),
        ("Yes [3-1].", (1, 3), "Yes [3][1]."),
        ("Yes [^1].", (1,), "Yes [1]."),
        ("Yes 【1】.", (1,), "Yes [1]."),
        ("Yes [Source 1].", (1,), "Yes [1]."),
        ("Yes [Source 1, Source 2].", (1, 2), "Yes [1][2]."),
        ("Yes [Doc: 2].", (2,), "Yes [2]."),
        ("Yes [ 1 ].", (1,), "Yes [1]."),
        ("Yes [[4]].", (4,), "Yes [4]."),
        ("Yes [１].", (1,), "Yes [1]."),
        ("Yes ［１２］.", (12,), "Yes [12]."),
        ("Yes [1][2] and [2].", (1, 2), "Yes [1][2] and [2]."),
        ("Yes [0].", (0,), "Yes [0]."),
        ("Yes [1-900].", (1, 900), "Yes [1][900]."),
        ("Yes [^1^].", (1,), "Yes [1]."),
        ("Yes \\[1\\].", (1,), "Yes [1]."),
        ("Yes, says passage [1].", (1,), "Yes, says passage [1]."),
        ("Yes [Passage 1].", (1,), "Yes [1]."),
        ("Yes. [1]", (1,), "Yes. [1]"),
        ("Yes.[1, 2] No.【3】", (1, 2, 3), "Yes.[1][2] No.[3]"),
    ],
)
def test_the_forms_that_models_use_are_read_and_written_as_plain_marks(
    text: str, numbers: tuple[int, ...], plain: str
) -> None:
    found = read_citations(text)
    assert (found.numbers, found.text) == (numbers, plain)


@pytest.mark.parametrize(
    "text",
    [
        "Yes (1).",
        "Yes¹.",
        "Yes ²",
        "Yes [1 and 2].",
        "Yes 【4:0†source】.",
        "Yes [doc-12].",
        "Yes (source 1).",
        "Yes (1, 2).",
        "Yes <sup>1</sup>.",
        "Yes^1.",
        "As passage 1 says, yes.",
        "Yes [-1]",
    ],
)
def test_what_may_be_a_citation_is_reported_as_not_understood_and_never_read(text: str) -> None:
    found = read_citations(text)
    assert (found.numbers, found.not_understood) == ((), True)


@pytest.mark.parametrize("text", ["Yes.", "", "[note]", "(see below)", "in 2026 (Q3)", "f(x) = 1"])
def test_a_text_without_any_mark_is_uncited_and_nothing_else(text: str) -> None:
    found = read_citations(text)
    assert (found.numbers, found.not_understood, found.text) == ((), False, text)


def test_an_odd_form_beside_a_plain_one_is_no_fault() -> None:
    assert not read_citations("Within 14 days (2) of receipt [1].").not_understood


@pytest.mark.parametrize("read", [read_citations, plain_citations])
def test_a_number_of_thousands_of_digits_is_a_number_that_no_passage_has(read: object) -> None:
    (number,) = read(f"Yes [{'9' * 6000}].").numbers  # type: ignore[operator]
    assert number > 10**8


@given(MARKS)
def test_reading_marks_again_changes_nothing_more(text: str) -> None:
    once = read_citations(text)
    again = read_citations(once.text)
    assert again.numbers == once.numbers
    assert again.text == once.text


@given(MARKS)
def test_every_number_read_stands_as_a_plain_mark_in_the_text_kept(text: str) -> None:
    found = read_citations(text)
    assert set(found.numbers) == {int(n) for n in re.findall(r"\[(\d+)\]", found.text)}
    assert list(found.numbers) == sorted(set(found.numbers))


@given(MARKS)
def test_every_plain_citation_of_the_article_is_read_in_the_wider_reading_too(text: str) -> None:
    assert set(plain_citations(text).numbers) <= set(read_citations(text).numbers)
    assert plain_citations(text).text == text


@given(MARKS)
def test_a_source_text_without_its_marks_cites_nothing_and_keeps_its_words(text: str) -> None:
    bare = without_citations(text)
    assert read_citations(bare).numbers == ()
    assert re.findall(r"\w+", bare) == re.findall(r"\w+", text)


# -- declines ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "NOT_FOUND",
        "NOT_FOUND.",
        "**NOT_FOUND**",
        '"not_found"',
        "`NOT_FOUND`",
        "« NOT_FOUND »",
        "NOT\\_FOUND",
        "Not found",
        "_NOT_FOUND_\n",
    ],
)
def test_the_mark_alone_is_a_decline_whatever_decorates_it(text: str) -> None:
    assert is_not_found(text)
    assert flags_of(text) == ()


@pytest.mark.parametrize(
    "text",
    [
        "NOT_FOUND — the documents cover leave only [2]",
        "Error NOT_FOUND means the file is missing [1].",
        "25 days [1].\n\nNOT_FOUND",
        "not_found, but see [1]",
        "NOT\\_FOUND: see [1]",
        "NOT FOUND, see [1]",
        "_NOT_FOUND_, see [1]",
    ],
)
def test_the_mark_inside_a_longer_text_is_mixed_and_no_decline(text: str) -> None:
    assert not is_not_found(text)
    assert "mixed" in flags_of(text)


@pytest.mark.parametrize(
    "text",
    [
        "I could not find this in the documents.",
        "I couldn't find this [1].",
        "I couldn’t find this [1].",
        "The passages don’t mention parking [1].",
        "The passages do not contain it [1].",
        "It doesn't say [2].",
        "Leider steht das nicht in den Unterlagen.",
        "Les documents ne mentionnent pas ce point [1].",
        "Le texte n’indique pas trouvé [1].",
        "Aucune information sur ce point [1].",
        "The text does not cover parking [1].",
        "There is not enough information [1].",
        "I do not know [1].",
        "Die Dokumente enthalten keine Angaben dazu [1].",
        "Ich kann das nicht finden [1].",
        "Je ne sais pas [1].",
        "Nie wiem [1].",
        "Los documentos no contienen esta información [1].",
        "Os documentos não mencionam isso [1].",
        "I documenti non menzionano questo punto [1].",
        "De documenten vermelden dit niet; het wordt niet genoemd [1].",
        "Dokumenty nie zawierają tej informacji [1].",
        "Brak informacji [1].",
    ],
)
def test_a_refusal_in_own_words_is_flagged_in_every_language_of_the_pilot(text: str) -> None:
    assert flags_of(text) == ("own_words",)


@pytest.mark.parametrize(
    "text",
    [
        "Annual leave is 25 days [1].",
        "Employees are not paid for it [1].",
        "La demande n'est pas obligatoire [1].",
        "Nie trzeba [1].",
        "The page was not found in the archive before 2020 [1].",
        "Dental care is not covered [1].",
        "The price does not include VAT [1].",
        "Breakfast is not provided [1].",
        "Das gilt nicht für Leihwagen [1].",
        "Ce formulaire ne sert pas en août [1].",
    ],
)
def test_a_plain_answer_carries_no_flag_even_when_it_denies(text: str) -> None:
    assert flags_of(text) == ()


# -- sentences ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "without", "total"),
    [
        ("One [1]. Two [2].", 0, 2),
        ("One. Two [2].", 1, 2),
        ("One. [1] Two.", 1, 2),
        ("One", 1, 1),
        ("[1]", 0, 0),
        ("", 0, 0),
        ("First line\nSecond line [1]", 1, 2),
        ("1. Do this [1].\n2. Do that [2].", 0, 2),
        ("- Do this.[1] Do that.\n- Rest [2].", 1, 3),
    ],
)
def test_one_mark_at_the_end_is_no_citation_of_what_stands_before_it(text: str, without: int, total: int) -> None:
    assert uncited_sentences(text) == (without, total)


@given(st.text(max_size=80))
def test_there_are_never_more_sentences_without_a_citation_than_sentences(text: str) -> None:
    without, total = uncited_sentences(text)
    assert 0 <= without <= total
