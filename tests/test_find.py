import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.corpus.find import SNIPPET, find_documents, folded_words, snippet, word_spans
from rag_pilot.records import Document

STAFF, HR = frozenset({"all-staff"}), frozenset({"hr"})


def doc(id_: str, title: str, text: str, groups: frozenset[str] = STAFF) -> Document:
    return Document(id_, title, text, groups)


DOCUMENTS = [
    doc("a", "Holiday calendar", "Public days and closing times."),
    doc("b", "Annual leave", "Days of holiday: the calendar year counts."),
    doc("c", "Congés payés", "Le café est ouvert. Formulaire HRF-112."),
    doc("d", "Salaries", "The holiday calendar of directors.", HR),
    doc("e", "Urlopy", "Wniosek o urlop składa się w łodzi. HRF 112, HRF-1120."),
]


def found(words: str, groups: frozenset[str] = STAFF, **more: int) -> list[str]:
    return [d.id for d in find_documents(DOCUMENTS, words, groups, **more).documents]


def test_a_document_that_the_reader_may_not_open_is_never_found_nor_counted() -> None:
    assert "d" not in found("calendar")
    assert find_documents(DOCUMENTS, "calendar", STAFF).total == 2
    assert find_documents(DOCUMENTS, "calendar directors", frozenset()).total == 0
    assert "d" in found("calendar", STAFF | HR)


def test_all_words_must_occur_in_title_or_text_together() -> None:
    assert found("leave calendar") == ["b"]  # one word in the title, one in the text
    assert found("leave times") == []


def test_words_in_the_title_come_first_then_words_in_a_row() -> None:
    assert found("holiday calendar") == ["a", "b"]
    apart, row = doc("x", "One", "the days of pay"), doc("y", "Two", "the pay days")
    assert [d.id for d in find_documents([apart, row], "pay days", STAFF).documents] == ["y", "x"]


@pytest.mark.parametrize(
    ("words", "ids"),
    [
        ("CAFÉ", ["c"]),
        ("cafe\u0301", ["c"]),
        ("conges", ["c"]),
        ("Łodzi", ["e"]),
        ("urlop", ["e"]),
        ("hrf-112", ["c", "e"]),
        ("hrf 1120", ["e"]),
        ("rlop", []),
        ("  ?! ", []),
        ("", []),
    ],
)
def test_case_accents_and_what_stands_between_words_are_folded_and_a_beginning_is_enough(
    words: str, ids: list[str]
) -> None:
    assert found(words) == ids


def test_the_file_s_name_is_searched_too() -> None:
    assert [d.id for d in find_documents([doc("FRM-204_travel", "Untitled", "x")], "frm 204", STAFF).documents]


def test_no_more_than_the_limit_are_shown_and_all_are_counted() -> None:
    many = [doc(f"d{n:02}", "Same", "leave") for n in range(20)]
    shown = find_documents(many, "leave", STAFF)
    assert (len(shown.documents), len(shown.snippets), shown.total) == (9, 9, 20)
    assert shown == find_documents(reversed(many), "leave", STAFF)


def test_a_snippet_shows_where_most_of_the_words_stand_together() -> None:
    text = "Leave is good. " + "Filling words here. " * 30 + "The leave year has 25 days." + " More words." * 30
    shown = snippet(text, folded_words("leave days"))
    assert "leave year has 25 days" in shown
    assert shown.startswith("… ")
    assert len(shown) <= SNIPPET + 4


@given(st.text(max_size=300), st.text(max_size=20))
def test_marks_lie_in_the_text_in_order_and_a_snippet_holds_words_of_it_only(text: str, words: str) -> None:
    wanted = folded_words(words)
    spans = word_spans(text, wanted)
    assert spans == sorted(spans)
    assert all(0 <= a < b <= len(text) for a, b in spans)
    assert "".join(snippet(text, wanted).removeprefix("… ").removesuffix(" …").split()) in "".join(text.split())


@given(st.lists(st.text("abé -_Ł1", min_size=1, max_size=12), min_size=1, max_size=5), st.text("abé -_ł1", max_size=6))
def test_it_finds_what_a_plain_loop_over_words_finds(texts: list[str], words: str) -> None:
    documents = [doc(f"z{n}", "q", text) for n, text in enumerate(texts)]
    wanted = folded_words(words)
    expected = {
        d.id
        for d in documents
        if wanted and all(any(w.startswith(q) for w in folded_words(f"{d.title} {d.id} {d.text}")) for q in wanted)
    }
    assert {d.id for d in find_documents(documents, words, STAFF).documents} == expected
