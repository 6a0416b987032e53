import json
import re
import tempfile
from datetime import UTC, datetime, timedelta
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import SECRET, tiny_pilot

from rag_pilot.corpus.find import folded_words, word_spans
from rag_pilot.corpus.question_file import QuestionFile
from rag_pilot.errors import DataError
from rag_pilot.files import read_jsonl
from rag_pilot.grading.desk import Desk
from rag_pilot.grading.draft import Draft
from rag_pilot.grading.form_parts import texts
from rag_pilot.grading.writing import WritingSession
from rag_pilot.grading.writing_form import WritingForm
from rag_pilot.grading.writing_page import marked
from rag_pilot.reading import writing_form
from rag_pilot.records import Document
from rag_pilot.reporting import tables

STAFF, HR = frozenset({"all-staff"}), frozenset({"hr"})
DOCUMENTS = (
    Document("leave", "Annual leave", "Everybody gets 25 days\nof annual leave a year.", STAFF),
    Document("travel", "Travel", "A taxi is claimed on form T-7.", STAFF),
    Document("pay", "Pay bands", "Band 7 pays 91,500.", HR),
    Document("board", "Board minutes", "Secret leave plans.", frozenset({"board"})),
)
ANSWERED = {"answerable": True, "expected": "25 days", "doc": "leave"}


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 9, 15, 14, 3, 11, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now


class Company:
    """A folder with questions, and documents that may change."""

    def __init__(self, folder: Path, *rows: dict[str, Any]) -> None:
        self.path, self.documents = folder / "questions.jsonl", DOCUMENTS
        plain = {"groups": [], "answerable": None}
        lines = [json.dumps({"id": f"q{n}", "question": f"ask {n}", **plain, **row}) for n, row in enumerate(rows, 1)]
        self.path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")

    def session(self, author: str = "Maud", groups: frozenset[str] = STAFF | HR, **more: Any) -> WritingSession:
        desk = Desk(QuestionFile(self.path), lambda: self.documents, groups, "all-staff", texts("en"))
        made = WritingSession(desk, author, clock=Clock(), **more)
        made.shown()
        return made

    def form(self, **more: Any) -> WritingForm:
        made = WritingForm(self.session(**more))
        made.press("ready")
        return made

    def rows(self) -> dict[str, dict[str, Any]]:
        return {row["id"]: row for _, row in read_jsonl(self.path)}


@pytest.fixture
def three(tmp_path: Path) -> Company:
    return Company(tmp_path, {}, {}, {})


def press(made: WritingForm, *keys: str, **fields: str) -> None:
    """Press keys, the first with what the text fields hold."""
    for key in keys:
        held = Held(made.page.value).fields
        made.press(key, made.screen, {**held, **fields})
        made.session.clock.now += timedelta(seconds=5)  # type: ignore[attr-defined]
        fields = {}


def answer(made: WritingForm, words: str = "annual", expected: str = "25 days", **fields: str) -> None:
    """Write an answerable question as a person does by keys: search, read, choose, answer, yes, save."""
    press(made, "find", search=words)
    press(made, "1", "d")
    press(made, "y", "Enter", expected=expected, **fields)


def told(made: WritingForm) -> str:
    return unescape(re.sub("<[^>]+>", "", made.status.value))


class Held(HTMLParser):
    """What the text fields of a page hold, its tags and attributes, and its text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.fields: dict[str, str] = {}
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text, self._area = "", ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = dict(attrs)
        self.tags.append(tag)
        self.attributes += named
        self._area = (named.get("name") or "") if tag == "textarea" else ""
        if tag in ("input", "textarea"):
            self.fields[str(named["name"])] = named.get("value") or ""

    def handle_endtag(self, tag: str) -> None:
        self._area = ""

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._area:
            self.fields[self._area] += data.removeprefix("\n")


# -- writing ---------------------------------------------------------------------------------------------------------


def test_a_question_is_found_a_document_for_answered_and_saved_and_the_next_one_comes(three: Company) -> None:
    made = three.form()
    answer(made, quote="25 days of", groups="hr; it", category="policy", validated_by="Maud")
    assert three.rows()["q1"] == {
        **{"id": "q1", "question": "ask 1", "groups": ["hr", "it"], "answerable": True, "expected": "25 days"},
        **{"doc": "leave", "quote": "25 days of", "category": "policy", "validated_by": "Maud"},
    }
    assert made.session.current == "q2"
    assert "Saved 14:03:31 – 1 of 3 – 20 s" in told(made)
    assert three.rows()["q2"] == {"id": "q2", "question": "ask 2", "groups": [], "answerable": None}


def test_undecided_come_first_then_incomplete_and_complete_ones_lie_behind_back(tmp_path: Path) -> None:
    bad = {"answerable": True, "expected": "x", "doc": None}
    company = Company(tmp_path, {}, bad, ANSWERED, {"answerable": False}, {})
    made = company.session()
    assert made.queue == ["q3", "q4", "q1", "q5", "q2"]
    assert (made.current, made.progress()) == ("q1", (2, 5))
    made.move(-1)
    assert made.current == "q4"


@pytest.mark.parametrize(
    ("draft", "said"),
    [
        ({}, "Say first whether the documents answer it"),
        ({"answerable": True, "expected": "x"}, "needs the document that answers it"),
        ({"answerable": True, "doc": "leave", "expected": " "}, "needs an expected answer"),
        ({"answerable": True, "doc": "pay", "expected": "x"}, "The asker may not open “Pay bands”: it needs hr"),
        ({"answerable": True, "doc": "gone", "expected": "x"}, "The document gone was not read"),
        ({"answerable": True, "doc": "leave", "expected": "x", "also": ("gone",)}, "The document gone was not read"),
        ({"answerable": True, "doc": "leave", "expected": "x", "quote": "26 days"}, "do not stand in the document"),
        ({"answerable": False, "quote": "25 days"}, "no document"),
        ({"answerable": False, "doc": "leave"}, "The asker may open “Annual leave”"),
        ({"answerable": False, "groups": "a;;b"}, "The groups of the asker: holds ''"),
    ],
)
def test_what_cannot_be_right_is_refused_with_its_reason_and_nothing_moves(
    three: Company, draft: dict[str, Any], said: str
) -> None:
    made = three.form()
    before = three.path.read_bytes()
    made.session._drafts["q1"] = Draft(**draft)
    made._draw()
    press(made, "Enter")
    assert "NOT SAVED" in told(made)
    assert said in told(made)
    assert 'role="alert"' in made.status.value
    assert (made.session.current, three.path.read_bytes()) == ("q1", before)
    assert made.session.pace() is None


def test_a_document_that_the_asker_may_not_open_may_be_named_where_the_answer_is_no(three: Company) -> None:
    made = three.form()
    press(made, "find", search="band")
    assert "The asker may not open it: it needs hr" in made.page.value
    press(made, "d", "n", "Enter")
    assert (three.rows()["q1"]["answerable"], three.rows()["q1"]["doc"]) == (False, "pay")
    press(made, "n", "Enter")
    assert "doc" not in three.rows()["q2"]


def test_a_quote_may_break_its_lines_elsewhere_but_not_change_a_word(three: Company) -> None:
    made = three.form()
    answer(made, quote="days of  annual\nleave")
    assert three.rows()["q1"]["quote"] == "days of  annual\nleave"
    answer(made, quote="Days of annual leave")
    assert "do not stand in the document" in told(made)


def test_d_and_a_take_the_document_on_screen_and_take_it_back(three: Company) -> None:
    made = three.form()
    press(made, "d")
    assert "Find a document first" in told(made)
    press(made, "find", search="a")
    press(made, "1", "a", "2", "d")
    assert (made.session.draft.doc, made.session.draft.also) == ("travel", ("leave",))
    press(made, "a")
    assert (made.session.draft.doc, made.session.draft.also) == ("", ("leave", "travel"))
    press(made, "a", "1", "d", "d")
    assert (made.session.draft.doc, made.session.draft.also) == ("", ())


def test_groups_and_validation_can_be_chosen_without_typing(three: Company) -> None:
    made = three.form()
    press(made, "group hr", "group board", "group hr", "m")
    assert (made.session.draft.groups, made.session.draft.validated_by) == ("board", "Maud")
    press(made, "m")
    assert made.session.draft.validated_by == ""


def test_a_group_that_no_document_names_is_saved_and_told(three: Company) -> None:
    made = three.form()
    answer(made, groups="hr; salse")
    assert three.rows()["q1"]["groups"] == ["hr", "salse"]
    assert "no document names the group salse" in told(made)


def test_a_decided_question_is_amended_with_the_reason_and_others_are_not(tmp_path: Path) -> None:
    company = Company(tmp_path, ANSWERED, {})
    made = company.form(start="q1")
    assert "a change is recorded" in made.page.value
    press(made, "Enter", expected="27 days", why="new law")
    amendment = {"field": "expected", "old": "25 days", "date": "2026-09-15", "author": "Maud", "why": "new law"}
    assert company.rows()["q1"]["amendments"] == [amendment]
    answer(made)
    assert "amendments" not in company.rows()["q2"]


def test_a_quote_of_a_document_that_is_out_of_date_stays_unless_it_is_touched(tmp_path: Path) -> None:
    company = Company(tmp_path, {**ANSWERED, "quote": "27 days, by the law of 2026"}, {})
    made = company.form(start="q1")
    assert made.session.progress() == (1, 2)
    press(made, "Enter", category="policy")
    assert company.rows()["q1"]["category"] == "policy"
    press(made, "ArrowLeft")
    press(made, "Enter", quote="28 days")
    assert "do not stand in the document" in told(made)


def test_an_unchanged_question_is_not_written_again(tmp_path: Path) -> None:
    company = Company(tmp_path, ANSWERED, {})
    made, before = company.form(start="q1"), company.path.stat().st_mtime_ns
    press(made, "Enter")
    assert "Nothing was changed" in told(made)
    assert company.path.stat().st_mtime_ns == before
    assert not company.path.with_name("writing.jsonl").exists()


# -- moving ----------------------------------------------------------------------------------------------------------


def test_skip_moves_to_the_end_and_writes_nothing(three: Company) -> None:
    made, before = three.form(), three.path.read_bytes()
    press(made, "s")
    assert (made.session.queue, made.session.current) == (["q2", "q3", "q1"], "q2")
    answer(made)
    answer(made)
    press(made, "s")
    assert "last one that is not complete" in told(made)
    press(made, "ArrowLeft", "s")
    assert "This question is complete" in told(made)
    assert before.splitlines()[0] in three.path.read_bytes()


def test_what_was_written_stays_with_its_question_over_next_and_back(three: Company) -> None:
    made = three.form()
    press(made, "ArrowRight", expected="mine")
    assert "q1 is not saved" in told(made)
    assert "mine" not in made.page.value
    press(made, "ArrowLeft")
    assert Held(made.page.value).fields["expected"] == "mine"
    assert three.rows()["q1"].get("expected") is None


def test_a_new_form_resumes_from_the_file_alone(three: Company) -> None:
    answer(three.form())
    again = three.form()
    assert (again.session.current, again.session.progress()) == ("q2", (1, 3))


def test_the_end_tells_what_is_left_and_her_pace(three: Company) -> None:
    made = three.form()
    press(made, "ArrowRight", "ArrowRight", "ArrowRight")
    assert "3 still to write" in made.page.value
    press(made, "ArrowLeft")
    for _ in range(3):
        answer(made)
    assert "All questions are written" in made.page.value
    assert "Median time per question: 25 s" in made.page.value
    press(made, "Enter", "d", "y", "s", "m", "find")
    assert made.session.current is None


def test_a_press_made_on_an_earlier_screen_is_dropped_and_unknown_keys_do_nothing(three: Company) -> None:
    made = three.form()
    old = made.screen
    made.press("y", old)
    made.press("n", old)
    assert made.session.draft.answerable is True
    press(made, *"xr0z9", "open nothing", "Escape")
    assert (made.session.draft, made.session.current) == (Draft(True), "q1")


# -- two people, and a disk that refuses -------------------------------------------------------------------------------


def test_a_question_that_somebody_else_saved_is_refused_and_shown_with_both_texts(three: Company) -> None:
    mine, theirs = three.form(), three.form(author="Fenella")
    answer(theirs, expected="26 days", category="leave")
    press(mine, "find", search="annual")
    press(mine, "1", "d", "y")
    press(mine, "Enter", expected="25 days")
    assert "NOT SAVED – Somebody else changed this question" in told(mine)
    assert "expected answer: 26 days" in told(mine)
    held = Held(mine.page.value).fields
    assert (mine.session.current, held["expected"], held["category"]) == ("q1", "25 days", "leave")
    assert three.rows()["q1"]["expected"] == "26 days"
    press(mine, "Enter")
    row = three.rows()["q1"]
    assert (row["expected"], row["category"]) == ("25 days", "leave")
    assert [(a["field"], a["old"], a["author"]) for a in row["amendments"]] == [("expected", "26 days", "Maud")]


def test_what_another_saves_is_passed_over_and_what_is_added_joins_the_end(three: Company) -> None:
    mine, theirs = three.form(), three.form(author="Fenella")
    press(theirs, "s")
    answer(theirs)
    with three.path.open("a", encoding="utf-8") as file:
        file.write('{"id": "q9", "question": "new", "groups": [], "answerable": null}\n')
    answer(mine)
    assert mine.session.current == "q3"
    assert mine.session.queue == ["q1", "q2", "q3", "q9"]
    assert mine.session.progress() == (2, 4)


def test_a_question_removed_meanwhile_is_told_with_what_was_written(three: Company) -> None:
    made = three.form()
    lines = three.path.read_text(encoding="utf-8").splitlines(keepends=True)
    three.path.write_text("".join(lines[1:]), encoding="utf-8")
    press(made, "Enter", expected="long work")
    assert "q1 is no longer in the file" in told(made)
    assert "long work" in told(made)
    assert made.session.current == "q2"
    assert three.path.read_text(encoding="utf-8") == "".join(lines[1:])


def test_a_held_file_and_a_damaged_one_are_errors_on_screen_and_nothing_moves(three: Company) -> None:
    made = three.form()
    with FileLock(three.path.with_name(".questions.jsonl.lock")):
        answer(made)
    assert "NOT SAVED" in told(made)
    assert "another program holds the file" in told(made)
    before = three.path.read_text(encoding="utf-8")
    three.path.write_text(before + "{\n", encoding="utf-8")
    for key in ("Enter", "find", "s", "ArrowRight"):
        press(made, key)
        assert "questions.jsonl, line 4" in told(made)
        assert made.session.current == "q1"
    three.path.write_text(before, encoding="utf-8")
    press(made, "Enter")
    assert three.rows()["q1"]["expected"] == "25 days"


def test_a_time_that_cannot_be_kept_is_told_and_loses_no_answer(three: Company) -> None:
    made = three.form()
    press(made, "n")
    with FileLock(three.path.with_name(".writing.jsonl.lock")):
        press(made, "Enter")
    assert "its time could not be kept" in told(made)
    assert three.rows()["q1"]["answerable"] is False


ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["Enter", "Enter", "y", "n", "d", "a", "s", "ArrowLeft", "ArrowRight", "find", "1", "2", "other"]
        ),
        st.fixed_dictionaries(
            {},
            optional={
                "expected": st.sampled_from(["", "25", "27 é"]),
                "search": st.sampled_from(["a", "leave", "zz"]),
                "quote": st.sampled_from(["", "25 days", "no such"]),
                "groups": st.sampled_from(["", "hr", "hr; it", ";"]),
            },
        ),
    ),
    max_size=15,
)


@settings(max_examples=60, deadline=None)
@given(ACTS)
def test_no_sequence_of_presses_loses_or_alters_another_line_or_a_decided_value(
    acts: list[tuple[str, dict[str, str]]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        company = Company(Path(folder), {}, ANSWERED, {"answerable": True, "expected": "x"}, {"category": "c"})
        made = company.form()
        for key, fields in acts:
            current, before = made.session.current, company.path.read_bytes().split(b"\n")
            if key == "other":  # somebody else, in the middle of it
                other = company.session("Fenella")
                other.decide(False)
                other.write({"groups": "", "quote": ""})
                other._note(doc="", also=())
                current = other.current
                other.save()
            else:
                press(made, key, **fields)
            after = company.path.read_bytes().split(b"\n")
            changed = [n for n, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
            assert [f"q{n + 1}" for n in changed] in ([], [current])
            if changed and key not in ("Enter", "other"):
                raise AssertionError(f"{key} saved")
            for n in changed:
                old, new = json.loads(before[n]), json.loads(after[n])
                added = new.get("amendments", [])[len(old.get("amendments", [])) :]
                if old["answerable"] is not None:
                    differing = {k for k in {*old, *new} - {"amendments"} if old.get(k) != new.get(k)}
                    assert {(a["field"], json.dumps(a["old"])) for a in added} == {
                        (name, json.dumps(old.get(name))) for name in differing
                    }
                assert new.get("amendments", [])[: len(old.get("amendments", []))] == old.get("amendments", [])


# -- what may be seen ------------------------------------------------------------------------------------------------


def test_a_document_closed_to_the_author_is_neither_found_nor_opened(three: Company) -> None:
    made = three.form(groups=STAFF)
    press(made, "find", search="band")
    assert "No document that you may open" in made.page.value
    press(made, "open pay")
    assert "91,500" not in made.page.value


@pytest.mark.parametrize("named", [{"doc": "board"}, {"also": ["board"]}, {"doc": "not-read"}])
def test_questions_whose_document_is_closed_to_the_author_are_hidden_and_counted(
    tmp_path: Path, named: dict[str, Any]
) -> None:
    company = Company(tmp_path, {"expected": "secret plan", **named}, {})
    made = company.form()
    assert made.session.queue == ["q2"]
    assert "1 of 2 not shown: they hold text that needs" in made.page.value
    assert "secret plan" not in made.page.value
    with pytest.raises(DataError, match="no question 'q1' that Maud may see"):
        company.session(start="q1")


def test_access_taken_away_counts_at_the_next_question_and_the_next_search(three: Company) -> None:
    made = three.form()
    press(made, "find", search="taxi")
    assert made.session.opened
    three.documents = tuple(d for d in DOCUMENTS if d.id != "travel")
    press(made, "find", search="taxi")
    assert made.session.opened is None
    assert made.session.found.total == 0


def test_nothing_of_the_company_is_drawn_before_a_browser_asks(three: Company) -> None:
    made = WritingForm(three.session())
    state = json.dumps([made.page.get_state(), made.status.get_state(), made.listener.get_state()], default=str)
    assert "ask 1" not in state
    assert made._repr_mimebundle_()["text/plain"] == "Writing form: 0 of 3 written"
    made.press("ready")
    assert "ask 1" in made.page.value


EVIL = """<img src=x onerror=alert(1)></script><table></textarea>"' $x^2$ List<int> & co"""


def test_text_of_documents_and_people_is_shown_as_text(tmp_path: Path) -> None:
    row = {"question": EVIL, "lang": EVIL, "source": EVIL, "category": EVIL, "validated_by": EVIL, "expected": EVIL}
    company = Company(tmp_path, {**row, "groups": ["x<b>"]}, {"category": EVIL})
    company.documents = (Document(EVIL, EVIL, f"img {EVIL}", STAFF | {EVIL}, link="javascript:alert(1)", updated=EVIL),)
    made = company.form()
    press(made, "find", search="img")
    press(made, "a", "d")
    press(made, "y", quote=EVIL, search="img " + EVIL)
    press(made, "find", search="img " + EVIL)
    parsed = Held(made.page.value)
    assert not {"img", "script", "table", "a"} & set(parsed.tags)
    assert not [name for name in parsed.attributes if name.startswith("on")]
    assert parsed.text.count(EVIL) >= 5
    assert parsed.fields["expected"] == EVIL.strip()
    press(made, "Enter", groups="")
    assert (company.rows()["q1"]["doc"], company.rows()["q1"]["quote"]) == (EVIL, EVIL)


@given(st.text("<b>&\"' é1\n", max_size=40), st.text("b é1", max_size=4))
def test_a_marked_text_is_the_text_and_nothing_else(text: str, words: str) -> None:
    parsed = Held(marked(f"<i> {text} <i>", word_spans(f"<i> {text} <i>", folded_words(words))))
    assert (parsed.text, set(parsed.tags) - {"mark"}) == (f"<i> {text} <i>", set())


def test_every_control_has_a_name(three: Company) -> None:
    page = three.form().page.value
    for control in re.findall(r"<(?:input|textarea)[^>]*>", page):
        before = page[: page.index(control)]
        assert before.rfind("<label") > before.rfind("</label")
    for button in re.findall(r"<button.*?</button>", page, re.S):
        assert re.sub("<kbd>.*?</kbd>|<[^>]+>", "", button).strip()


def test_the_words_searched_are_marked_and_else_the_quote(three: Company) -> None:
    made = three.form()
    press(made, "find", search="taxi")
    assert "<mark>taxi</mark>" in made.page.value
    press(made, "d", quote="claimed on  form")
    press(made, "fields")
    press(made, "ArrowRight")
    press(made, "ArrowLeft")
    assert "<mark>claimed on form</mark>" in made.page.value


# -- a pilot -----------------------------------------------------------------------------------------------------------


def test_a_pilot_with_nothing_to_write_gives_a_sentence_and_one_with_something_the_form(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    path = pilot.data / "questions.jsonl"
    shown = writing_form(pilot)
    assert "All questions are written" in shown.data  # type: ignore[union-attr]
    assert isinstance(writing_form(pilot, question="q2"), WritingForm)
    path.write_text(
        path.read_text(encoding="utf-8").replace(
            '"groups": [], "answerable": true', '"groups": [], "answerable": null', 1
        ),
        encoding="utf-8",
    )
    made = writing_form(pilot, "fr")
    assert isinstance(made, WritingForm)
    made.press("ready")
    assert made.session.current == "q1"
    assert SECRET not in made.page.value
    page = tables.writing(pilot)
    assert "Complete  5" in repr(page)  # q3 is hidden from the annotator, and complete
    assert "Not decided: can the documents answer it?  1" in repr(page)
    assert "1 question not shown" in repr(page)


def test_an_author_without_a_name_is_refused(three: Company) -> None:
    with pytest.raises(DataError, match="author is empty"):
        three.session(author=" ")
