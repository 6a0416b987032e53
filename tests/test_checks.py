from dataclasses import replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_pilot.corpus.checks import check_questions, summary
from rag_pilot.corpus.facts import Facts, names, numbers_and_codes
from rag_pilot.corpus.questions import QuestionSet
from rag_pilot.identity import fold
from rag_pilot.records import Document, Question

LEAVE = Document(
    "leave", "Leave", "# Leave\n\nStaff have 30\u00a0days,\nform HRF-104.", frozenset({"all-staff"}), lang="en"
)
PAY = Document("pay", "Pay", "Band 4 starts at 41,500 pounds.", frozenset({"hr"}), lang="en")
DOCUMENTS = [LEAVE, PAY]


def question(id_="q1", **values):
    base = Question(
        id_, f"{id_}?", "30 days", "leave", frozenset({"all-staff"}), category="policy", lang="en", quote="30 days"
    )  # fmt: skip
    return replace(base, **values)


def whole_set(*extra):
    """A set of 200 with nothing to find, some of its questions replaced."""
    usual = [question(f"u{i}") for i in range(175)]
    none = [question(f"n{i}", answerable=False, doc=None, expected="", quote="") for i in range(25)]
    return [*extra, *(usual + none)[len(extra) :]]


def findings(*extra, documents=DOCUMENTS, everyone="all-staff"):
    return [(f.severity, f.what, f.ids) for f in check_questions(whole_set(*extra), documents, everyone)]


def only(*extra, **options):
    (found,) = findings(*extra, **options)
    return found


def test_a_sound_set_has_no_findings():
    assert findings() == []


def mixed(n, none):
    questions = [question(f"u{i}") for i in range(n - none)]
    return questions + [question(f"n{i}", answerable=False, doc=None, quote="") for i in range(none)]


@pytest.mark.parametrize(("n", "told"), [(149, True), (150, False), (300, False), (301, True)])
def test_size(n, told):
    found = [f.what for f in check_questions(mixed(n, n // 8), DOCUMENTS, None)]
    assert found == ([f"{n} questions; a pilot asks 150 to 300"] if told else [])


@pytest.mark.parametrize(
    ("none", "severity"),
    [(0, "error"), (19, "warning"), (20, None), (30, None), (31, "warning"), (200, "error")],
)
def test_share_of_unanswerable_questions(none, severity):
    found = [(f.severity, f.what) for f in check_questions(mixed(200, none), DOCUMENTS, None)]
    share = f"{none} of 200 questions ({none / 200:.0%}) unanswerable; expected 10% to 15%"
    assert found == ([] if severity is None else [(severity, share)])


def test_an_empty_set_is_an_error_not_a_division_by_zero():
    (found,) = check_questions([], [], None)
    assert (found.severity, found.what) == ("error", "no questions")
    assert "rag-pilot import" in found.what_to_do


def test_a_set_of_candidates_alone_is_an_error_that_names_them():
    found = check_questions(QuestionSet((), (question("t1"), question("t2"))), DOCUMENTS, None)
    assert [(f.severity, f.what, f.ids) for f in found] == [
        ("error", "no question is decided yet", ()),
        ("warning", "2 questions left out: answerable is null", ("t1", "t2")),
    ]


def test_every_finding_says_what_to_do_and_they_are_counted_in_words():
    found = check_questions([question("a", doc="gone"), question("b", category="")], DOCUMENTS, None)
    assert all(f.what_to_do for f in found)
    assert summary(found) == "2 errors, 3 warnings"
    assert summary(found[:1]) == "1 error, 0 warnings"
    assert summary([replace(found[0], severity="note")]) == "0 errors, 0 warnings, 1 note"


def test_expected_documents_must_exist():
    assert only(question("a", doc="gone"))[::2] == ("error", ("a",))
    assert "gone" in only(question("a", also=("gone",)))[1]
    assert only(question("a", doc=None, quote=""))[1] == "1 answerable question without a document"


def test_an_answerable_question_needs_an_expected_answer():
    assert only(question("a", expected=" "))[::2] == ("error", ("a",))


def test_the_asker_must_be_able_to_open_the_expected_document():
    pay = {"doc": "pay", "expected": "41 500", "quote": ""}
    assert only(question("a", **pay))[::2] == ("error", ("a",))
    assert findings(question("a", **pay, groups=frozenset({"hr"}))) == []
    assert findings(question("a", **pay, also=("leave",))) == []
    assert findings(question("a", groups=frozenset())) == []  # everyone is in all-staff


def test_an_unanswerable_question_may_name_only_a_closed_document():
    closed = question("a", doc="pay", quote="", answerable=False)
    assert [f for f in findings(closed) if "may open" in f[1]] == []
    assert [f[::2] for f in findings(replace(closed, doc="leave")) if "may open" in f[1]] == [("warning", ("a",))]


def test_questions_that_nobody_may_answer_are_errors():
    lost = question("a", groups=frozenset({"HR"}))
    found = check_questions([lost], DOCUMENTS, None)
    assert [f.ids for f in found if "nobody may answer" in f.what] == [("a",)]
    assert [f for f in check_questions([lost], DOCUMENTS, "all-staff") if "nobody" in f.what] == []
    assert "no document is open to everyone (all-staf)" in [f[1] for f in findings(everyone="all-staf")]


@pytest.mark.parametrize(
    ("expected", "missing"),
    [
        ("30 days with HRF-104", ""),
        ("30days, form hrf 104", ""),
        ("25 days with HRF-10", "hrf-10, 25"),
        ("thirty", ""),
    ],
)
def test_numbers_and_codes_of_the_answer_must_stand_in_its_document(expected, missing):
    found = findings(question("a", expected=expected))
    assert [f[::2] for f in found] == ([("warning", ("a",))] if missing else [])
    assert all(f[1].endswith(f"does not hold: a: {missing}") for f in found)


def test_an_answer_may_repeat_a_number_of_the_question():
    assert findings(question("a", question="Do I get 41 days?", expected="No, 30 days, not 41.")) == []


def test_another_document_that_answers_may_hold_the_number_and_the_quote():
    assert findings(question("a", expected="41,500", quote="starts at 41,500", also=("pay",))) == []


def test_quotes_must_stand_in_the_document_blanks_apart():
    assert findings(question("a", quote="have 30 days, form\nHRF-104")) == []
    assert only(question("a", quote="have 31 days"))[::2] == ("warning", ("a",))
    assert only(question("a", quote="Have 30 days"))[::2] == ("warning", ("a",))


def test_duplicates_are_found_whatever_their_code_points():
    a = question("a", question="Où est le café ?")
    b = question("b", question="  OÙ est le cafe\u0301\u00a0? ")
    assert only(a, b) == ("warning", "2 questions more than once in the set, with one answer", ("a", "b"))


def test_one_text_with_two_answers_is_a_conflict():
    a, b = question("a", question="Days?"), question("b", question="days? ", expected="HRF-104")
    assert only(a, b)[::2] == ("error", ("a", "b"))
    assert only(a, replace(b, groups=frozenset({"all-staff", "hr"})))[::2] == ("error", ("a", "b"))
    assert [f[0] for f in findings(a, replace(b, answerable=False, doc=None, expected="30 days"))] == ["error"]
    same = question("c", question="Days?")
    assert {f[::2] for f in findings(a, b, same)} == {("error", ("a", "b", "c")), ("warning", ("a", "c"))}


def test_the_same_words_of_an_asker_who_may_and_one_who_may_not_are_no_conflict():
    may = question("a", question="Band 4?", doc="pay", expected="41,500", quote="", groups=frozenset({"hr"}))
    may_not = replace(may, id="b", answerable=False, expected="You may not open it.", groups=frozenset({"all-staff"}))
    assert findings(may, may_not) == []


def test_small_and_missing_categories_are_told():
    extra = [question(f"a{i}", category="code") for i in range(11)] + [question("b", category="")]
    found = findings(*extra)
    assert [(f[1], len(f[2])) for f in found] == [
        ("1 category with under 12 questions: code 11", 11),
        ("1 question without category", 1),
    ]
    assert findings(*extra[:11], question("c", category="code")) == []


def test_languages_of_questions_and_documents_are_compared():
    polish = Document("pl", "Urlop", "30", frozenset({"all-staff"}), lang="pl")
    assert only(documents=[*DOCUMENTS, polish])[1] == "1 document in 'pl', but no question"
    assert only(question("a", lang="fr"))[1:] == ("1 question in 'fr', but no document", ("a",))
    assert findings(question("a", lang="")) == []
    assert ("warning", "1 question without lang, documents in several", ("a",)) in findings(
        question("a", lang=""), documents=[*DOCUMENTS, polish]
    )


def test_errors_come_first():
    severities = [f[0] for f in findings(question("a", quote="no such words"), question("b", doc="gone"))]
    assert severities == ["error", "warning"]


# -- names -------------------------------------------------------------------------------------------------------------

OWNERS = Document(
    "owners",
    "Who owns what",
    "# Finance\n\nŁukasz Kowalski in Warszawa signs. Members of the European Union: see the IT desk, or Jean-Pierre.",
    frozenset({"all-staff"}),
    lang="en",
)


@pytest.mark.parametrize(
    ("expected", "lang", "missing"),
    [
        ("It is signed by Lukasz KOWALSKI.", "en", ""),
        ("Podpisuje to Łukasz Kowalski.", "pl", ""),
        ("Podpis Łukasza Kowalskiego w Warszawie.", "pl", ""),
        ("Ask the EU team of IT.", "en", ""),
        ("Signature de Jean-Pierre.", "fr", ""),
        ("It is signed by Maria Kowalski.", "en", "Maria"),
        ("It is signed in Berlin. Finance knows.", "en", "Berlin"),
        (
            "Berlin signs. Paris too: Rome as well, (Oslo) and\nMadrid.",
            "en",
            "",
        ),  # opening words
        ("The HR desk.", "en", "HR"),
        ("HR", "en", ""),  # a text in capitals
        ("ASK THE DESK IN BERLIN", "en", ""),
        ("Das macht die Abteilung Einkauf.", "de", ""),  # every noun has a capital
        ("Das macht die SAP im Haus.", "de", "SAP"),
        ("Annual Leave Policy And Rules", "en", ""),  # a title
        ("in the \u0411\u0435\u0440\u043b\u0438\u043d office of Finance", "en", ""),  # no Latin script
        ("It is paid in EUR.", "en", ""),
    ],
)
def test_names_of_the_answer_must_stand_in_its_document(expected, lang, missing):
    asked = question("a", expected=expected, doc="owners", quote="", lang=lang)
    found = [f for f in check_questions([asked], [OWNERS], None) if "with names" in f.what]
    assert [f.what.rpartition(": ")[2] for f in found] == ([missing] if missing else [])


def test_an_answer_may_repeat_a_name_of_the_question_and_of_another_document():
    asked = question("a", question="Who signs in Berlin?", expected="In Berlin it is Łukasz.", doc="owners", quote="")
    assert [f for f in check_questions([asked], [OWNERS], None) if "names" in f.what] == []
    other = question("a", expected="It is up to Band holders of Rome.", doc="owners", also=("pay",), quote="")
    (found,) = [f for f in check_questions([other], [OWNERS, PAY], None) if "names" in f.what]
    assert found.what.endswith("a: Rome") and (found.severity, found.ids) == ("warning", ("a",))


@given(st.text(max_size=80), st.sampled_from(["", "en", "de", "pl"]))
@example("ǅ Ǆx ǆ", "en")
def test_every_text_holds_its_own_names(text, lang):
    assert all(Facts.of(text).hold_name(name) for name in names(text, lang))


# -- numbers and codes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("1500", "1,500 pounds"),
        ("1,500", "1\u202f500 €"),
        ("1 500", "1.500"),
        ("2.5", "2,50 zł"),
        ("2,08 jours", "2.08 days"),
        ("7", "07:00"),
        ("9h30", "9:30"),
        ("HX-20", "the HX 20 helmet"),
        ("gv–100", "GV-100"),
        ("PVT-00417", "ticket _PVT-00417_."),
        ("100 places", "salle 3 100 places"),
        ("1st", "within 1 day"),
    ],
)
def test_one_number_in_two_spellings_is_found(answer, text):
    assert all(Facts.of(text).hold(fact) for fact in numbers_and_codes(answer))


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        ("15", "1.5"),
        ("150", "1500"),
        ("HX-2", "HX-20"),
        ("HX-20", "HX-2"),
        ("HX-20", "THX-20"),
        ("3", "13"),
        ("2.5", "25"),
    ],
)
def test_another_number_is_not_found(answer, text):
    facts = numbers_and_codes(answer)
    assert facts
    assert not all(Facts.of(text).hold(fact) for fact in facts)


@given(st.text(max_size=60) | st.text(alphabet="01 ,.'a-/²٣é\u0301\u2013İ", max_size=12))
@example("²0")
@example("A0:0")
@example("a0.1")
def test_every_text_holds_its_own_numbers_and_codes(text):
    assert all(Facts.of(f"x {text} x").hold(fact) for fact in numbers_and_codes(text))


@given(st.lists(st.tuples(st.sampled_from(["a", "A ", "é", "e\u0301", "b"]), st.sampled_from(["1", "2"])), max_size=6))
def test_every_repeated_text_is_a_duplicate_or_a_conflict(pairs):
    questions = [question(f"q{i}", question=text, expected=answer) for i, (text, answer) in enumerate(pairs)]
    found = check_questions(questions, [], None)
    named = {id_ for f in found if "more than once" in f.what or "one text" in f.what for id_ in f.ids}
    folds = [fold(text) for text, _ in pairs]
    assert named == {q.id for q in questions if folds.count(fold(q.question)) > 1}
