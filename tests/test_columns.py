import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.corpus.columns import FIELDS, choose_columns, folded_name
from rag_pilot.errors import DataError

SENTENCES = ("Where can I find the form?", "My laptop is hot again", "who signs this one")
LIKE = {
    "id": ("a1", "a2", "a3"),
    "asked": ("3", "1", "12"),
    "lang": ("fr", "en-GB", "PL"),
    "other": ("open", "open", "x"),
}


def table(*names, **cells):
    return {name: cells.get(folded_name(name), SENTENCES) for name in names}


def taken(*names, told=None, **cells):
    return dict(choose_columns(table(*names, **cells), told).taken)


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("ID", "Question", "Expected answer"), {"id": "ID", "question": "Question", "expected": "Expected answer"}),
        (("Ticket #", "Subject", "Description"), {"id": "Ticket #", "question": "Subject", "body": "Description"}),
        (("N°", "Objet", "Contenu", "Catégorie", "Réponse"),
         {"id": "N°", "question": "Objet", "body": "Contenu", "category": "Catégorie", "expected": "Réponse"}),
        (("Numer zgłoszenia", "Temat", "Treść", "Kategoria"),
         {"id": "Numer zgłoszenia", "question": "Temat", "body": "Treść", "category": "Kategoria"}),
        (("Ticketnummer", "Betreff", "Beschreibung", "Lösung"),
         {"id": "Ticketnummer", "question": "Betreff", "body": "Beschreibung", "expected": "Lösung"}),
        (("Referencia", "Asunto", "Descripción"), {"id": "Referencia", "question": "Asunto", "body": "Descripción"}),
        (("Riferimento", "Oggetto", "Messaggio"), {"id": "Riferimento", "question": "Oggetto", "body": "Messaggio"}),
        (("Issue key", "Issue id", "Summary", "Description"),
         {"id": "Issue key", "question": "Summary", "body": "Description"}),
        (("question_id", "Frage", "Text"), {"id": "question_id", "question": "Frage"}),  # a question is whole
        (("Opis",), {"question": "Opis"}),  # a body without subject is the question
        (("Group", "Department", "Subject"), {"question": "Subject"}),  # the team that answers
        (("groups", "Subject"), {"groups": "groups", "question": "Subject"}),
    ],
)  # fmt: skip
def test_columns_are_guessed_from_names_in_several_languages(names, expected):
    named = [
        "id",
        "ticket",
        "numerzgloszenia",
        "issuekey",
        "issueid",
        "questionid",
        "ticketnummer",
        "referencia",
        "riferimento",
        "n",
    ]
    ids = {folded_name(n): LIKE["id"] for n in names if folded_name(n) in named}
    assert taken(*names, **ids) == expected


def test_a_name_counts_only_where_the_cells_agree_with_it():
    assert taken("Ticket", "Status", status=LIKE["other"]) == {"question": "Ticket"}
    assert taken("Ticket", "Subject", ticket=LIKE["id"]) == {"id": "Ticket", "question": "Subject"}
    assert taken("number", "Subject", "count", number=SENTENCES, count=LIKE["asked"]) == {
        "question": "Subject",
        "asked": "count",
    }
    assert taken("Subject", "count", count=("many", "1", "2")) == {"question": "Subject"}
    assert taken("Subject", "Language", "Locale", language=LIKE["lang"])["lang"] == "Language"


def test_a_column_is_taken_by_what_it_holds_where_only_one_reads_like_questions():
    found = choose_columns(table("A", "B", "C", a=LIKE["id"], c=LIKE["other"]))
    assert (found.taken, found.how, found.unused) == ({"question": "B"}, {"question": "by what it holds"}, ("A", "C"))


@pytest.mark.parametrize(
    ("names", "words"),
    [
        (
            ("Title", "Subject"),
            "'Title' and 'Subject' could each be the question: say which with --column question=Title",
        ),
        (("A", "B"), "'A' and 'B' could each be the question"),
        (("Text", "Message"), "'Text' and 'Message' could each be the question"),
        (
            ("Subject", "Text", "Message"),
            "could each be the body: say which with --column body=Text, or --column body= for",
        ),
        (("Nr", "Key", "Subject"), "'Nr' and 'Key' could each be the id"),
    ],
)
def test_two_equally_good_columns_stop_the_import_and_are_named(names, words):
    with pytest.raises(DataError) as fault:
        choose_columns(table(*names, nr=LIKE["id"], key=LIKE["id"]))
    assert words in str(fault.value)
    assert ", ".join(map(repr, names)) in str(fault.value)


def test_of_two_equally_good_columns_for_something_else_none_is_taken_and_both_are_named():
    found = choose_columns(table("Subject", "Type", "Topic", "Answer", "Reply"))
    assert found.taken == {"question": "Subject"}
    assert found.unclear == {"expected": ("Answer", "Reply"), "category": ("Type", "Topic")}


def test_no_question_at_all_names_the_columns_found():
    with pytest.raises(DataError, match="no column is clearly the question; the columns are 'a', 'b'. Say which with"):
        choose_columns(table("a", "b", a=LIKE["id"], b=LIKE["other"]))


def test_what_is_told_is_taken_and_an_empty_name_is_none():
    told = {"question": "message", "id": "", "category": "Subject"}
    assert taken("id", "Subject", "Message", told=told) == {"question": "Message", "category": "Subject"}
    found = choose_columns(table("Subject", "Text", "Message"), {"body": ""})
    assert found.taken == {"question": "Subject"} and found.how == {"question": "by its name"}


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"question": "Betreff"}, "no column 'Betreff' for question; the columns are 'Subject', 'Text'"),
        ({"frage": "Text"}, "there is no field 'frage'; a column can be told for id, question"),
        ({"question": "Text", "expected": "text"}, "'Text' was told for two fields"),
    ],
)
def test_what_cannot_be_told_is_refused(told, words):
    with pytest.raises(DataError, match=words):
        choose_columns(table("Subject", "Text"), told)


@given(st.dictionaries(st.text(max_size=8), st.lists(st.text(max_size=12), min_size=2, max_size=2), max_size=6))
def test_every_column_is_taken_once_or_named_as_not_used(columns):
    try:
        found = choose_columns(columns)
    except DataError:
        return
    assert sorted([*found.taken.values(), *found.unused]) == sorted(columns)
    assert set(found.taken) <= set(FIELDS) and found.how.keys() == found.taken.keys()
