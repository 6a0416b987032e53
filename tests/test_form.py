import dataclasses
import json
import re
import subprocess
import sys
import tomllib
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tiny import run_and_label, tiny_pilot

from rag_pilot.errors import DataError, SettingsError
from rag_pilot.grading import form_page
from rag_pilot.grading.form import LabelForm, label_form
from rag_pilot.grading.form_page import cited_numbers, marked_answer, supported
from rag_pilot.grading.form_parts import safe_link
from rag_pilot.grading.items import Item, ShownPassage, in_order, missing, repeated
from rag_pilot.grading.labels import LabelStore
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reading import expert_form, writing_form
from rag_pilot.records import LABELS, Document, Label

STAFF = frozenset({"all-staff"})
HR = frozenset({"hr"})


class Clock:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = datetime(2026, 9, 15, 14, 3, 11, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def wait(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


def passage(
    number: int = 1, text: str = "Thirty days.", groups: frozenset[str] = STAFF, **more: object
) -> ShownPassage:
    return ShownPassage(number, text, groups, **more)  # type: ignore[arg-type]


def item(n: int, **more: object) -> Item:
    fields = {"passages": (passage(cited=True),), "expected": "30 days", "position": n, **more}
    return Item(f"q{n}", "run-7", f"sha{n}", f"question {n}", f"answer {n} [1]", **fields)  # type: ignore[arg-type]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path) -> LabelStore:
    return LabelStore(tmp_path / "labels.jsonl")


def form(store: LabelStore, clock: Clock, items: object = 3, annotator: str = "Maud", **more: object) -> LabelForm:
    queue = [item(n) for n in range(1, items + 1)] if isinstance(items, int) else items
    made = label_form(queue, store, annotator, **{"seed": 1, "groups": STAFF, "clock": clock, **more})  # type: ignore[arg-type]
    made.press("ready")
    clock.wait(5)
    return made


def press(made: LabelForm, *keys: str, **fields: object) -> None:
    for name in keys:
        made.press(name, made.screen, {"note": "", "also": "", "stale": False, **fields} if fields else None)
        made.session.clock.wait(5)  # type: ignore[attr-defined]


def lines(store: LabelStore) -> list[tuple[str, str | None]]:
    return [(line.question_id, line.label) for line in store.read()]


def on_screen(made: LabelForm) -> str | None:
    return made.session.item.question_id if made.session.item else None


# -- labelling -------------------------------------------------------------------------------------------------------


def test_nothing_is_chosen_before_a_person_chooses_and_moving_on_stores_nothing(
    store: LabelStore, clock: Clock
) -> None:
    made = form(store, clock)
    assert 'aria-pressed="true"' not in made.page.value
    press(made, "ArrowRight", "ArrowRight", "ArrowRight")
    assert lines(store) == []
    assert "3 still without a label" in made.page.value


def test_each_key_saves_its_label_and_only_correct_goes_on_by_itself(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock, 4)
    press(made, "1", "2", "ArrowRight", "3", "ArrowRight", "4")
    assert lines(store) == [("q1", "correct"), ("q2", "partly"), ("q3", "wrong"), ("q4", "declined")]
    assert on_screen(made) == "q4"


def test_a_line_says_who_what_where_and_when(store: LabelStore, clock: Clock) -> None:
    press(form(store, clock), "1")
    (line,) = store.read()
    assert (line.annotator, line.run_id, line.answer_sha, line.position, line.seed, line.kind) == (
        *("Maud", "run-7", "sha1", 1, 1),
        "label",
    )
    shown, saved = datetime.fromisoformat(line.shown_at), datetime.fromisoformat(line.saved_at)
    assert (saved - shown).total_seconds() == 5
    assert saved == datetime(2026, 9, 15, 14, 3, 16, tzinfo=UTC)


def test_saving_is_told_with_time_and_progress(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "1")
    assert "Saved 14:03:16 – 1 of 3" in made.status.value


def test_why_is_asked_but_never_required(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "6")
    assert lines(store) == []  # no cause before a label
    press(made, "3")
    assert "rp-prompt" in made.page.value
    press(made, "7")
    press(made, "ArrowRight", note="says 20", also="leave-policy", stale=True)
    last = store.counting()[-1]
    assert (last.cause, last.note, last.also, last.stale) == (
        *("wrong_despite_passage", "says 20", "leave-policy"),
        True,
    )
    assert on_screen(made) == "q2"
    press(made, "3", "ArrowRight")
    assert on_screen(made) == "q3"


def test_the_same_cause_again_takes_it_back_and_a_correct_answer_has_none(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "3", "5", "5")
    assert [line.cause for line in store.read()] == ["", "missing_or_stale", ""]
    press(made, "5", "1")
    assert [(line.label, line.cause) for line in store.counting()] == [("correct", "")]


def test_the_same_choice_again_writes_no_second_line(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "3", "3", "ArrowRight", "ArrowLeft", "3")
    assert lines(store) == [("q1", "wrong")]


def test_a_note_written_before_the_label_is_saved_in_one_line_with_it(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "fields", note="look")
    assert lines(store) == []
    press(made, "1", note="look here")
    assert [line.note for line in store.read()] == ["look here"]
    assert "look" not in made.page.value


def test_a_note_stays_with_its_item_over_next_back_next(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "ArrowRight", note="first")
    assert "first" not in made.page.value
    press(made, "ArrowLeft", note="second")
    assert "first" in made.page.value
    assert "second" not in made.page.value
    press(made, "1", note="first")
    press(made, "1", note="second")
    assert [(line.question_id, line.note) for line in store.read()] == [("q1", "first"), ("q2", "second")]


def test_leaving_a_field_of_a_labelled_item_saves_it_without_redrawing(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "2")
    screen, drawn = made.screen, made.page.value
    press(made, "fields", note="half")
    assert (made.screen, made.page.value) == (screen, drawn)
    assert [line.note for line in store.read()] == ["", "half"]


def test_undo_takes_back_the_last_label_and_shows_its_item(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "1", "1", "u")
    assert lines(store) == [("q1", "correct"), ("q2", "correct"), ("q2", None)]
    assert on_screen(made) == "q2"
    press(made, "u", "u")
    assert len(store.counting()) == 0
    assert "no label to take back" in made.status.value


def test_undo_takes_back_what_was_done_last_not_what_comes_last(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "1", "1", "ArrowLeft", "ArrowLeft", "3", "u")
    assert lines(store)[-1] == ("q1", None)
    assert [line.question_id for line in store.counting()] == ["q2"]


def test_undo_keeps_the_note_for_the_next_try(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "1", note="long note")
    press(made, "u")
    assert "long note" in made.page.value
    assert store.read()[-1].note == ""


def test_skip_moves_to_the_end_and_is_no_label(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "s")
    assert on_screen(made) == "q2"
    press(made, "1", "1", "1")
    assert lines(store) == [("q2", "correct"), ("q3", "correct"), ("q1", "correct")]
    assert on_screen(made) is None


def test_the_last_one_without_a_label_cannot_be_skipped(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "1", "1", "s")
    assert on_screen(made) == "q3"
    assert "last one without a label" in made.status.value


# -- presses that must not count -------------------------------------------------------------------------------------


def test_a_press_made_on_an_earlier_screen_is_dropped(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    old = made.screen
    for name in ("1", "2", "3"):  # queued while the kernel was busy
        made.press(name, old)
        clock.wait(5)
    assert lines(store) == [("q1", "correct")]


def test_two_clicks_fifty_milliseconds_apart_label_one_item(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    made.press("1")
    clock.wait(0.05)
    made.press("1")
    assert lines(store) == [("q1", "correct")]
    assert "before the answer could be read" in made.status.value


def test_a_label_in_under_two_seconds_is_saved_and_flagged(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock, 1)
    made.session.move(0)
    made.press("ready")
    clock.wait(1.9)
    made.press("1")
    assert lines(store) == [("q1", "correct")]
    assert "under 2 seconds" in made.status.value
    assert "Labelled in under 2 seconds: 1 of 1 (q1)" in made.page.value


def test_unknown_keys_do_nothing(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, *"0mxdr")
    assert (lines(store), on_screen(made)) == ([], "q1")


# -- errors ----------------------------------------------------------------------------------------------------------


def test_a_failed_save_is_shown_and_nothing_moves(tmp_path: Path, clock: Clock) -> None:
    folder = tmp_path / "labels.jsonl"
    store = LabelStore(folder)
    made = form(store, clock)
    folder.mkdir()  # nothing can be appended to a folder
    press(made, "1", note="keep me")
    assert "NOT SAVED" in made.status.value
    assert 'role="alert"' in made.status.value
    assert on_screen(made) == "q1"
    assert "keep me" in made.page.value
    folder.rmdir()
    press(made, "1", note="keep me")
    assert [(line.question_id, line.note) for line in store.read()] == [("q1", "keep me")]


def test_an_unforeseen_fault_in_a_browser_message_is_shown(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    made._receive(None, {"no": "key"}, [])
    assert "NOT SAVED – KeyError" in made.status.value


def test_a_damaged_line_that_appears_meanwhile_is_named_and_nothing_moves(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    store.path.write_text("{}\n", encoding="utf-8")
    press(made, "1")
    assert "labels.jsonl, line 1" in made.status.value
    assert on_screen(made) == "q1"


@pytest.mark.parametrize(
    ("change", "fault", "said"),
    [
        ({"annotator": " "}, DataError, "annotator is empty"),
        ({"language": "de"}, SettingsError, "it speaks en, fr, pl"),
        ({"groups": "all-staff"}, DataError, "expected a set of names"),
        ({"items": [item(1), item(1)]}, DataError, "twice among the items"),
    ],
)
def test_a_form_that_cannot_be_right_is_not_made(
    store: LabelStore, clock: Clock, change: dict[str, object], fault: type[Exception], said: str
) -> None:
    with pytest.raises(fault, match=said):
        form(store, clock, **change)  # type: ignore[arg-type]


# -- resuming --------------------------------------------------------------------------------------------------------


def test_a_new_form_resumes_from_the_file_alone(store: LabelStore, clock: Clock) -> None:
    press(form(store, clock, 4), "1", "3")
    again = form(store, clock, 4)
    assert on_screen(again) == "q3"
    assert "Welcome back: 2 of 4" in again.status.value
    press(again, "u")
    assert on_screen(again) == "q2"
    assert store.read()[-1].label is None


def test_a_label_of_another_person_or_another_answer_does_not_count_here(store: LabelStore, clock: Clock) -> None:
    press(form(store, clock, annotator="Fenella"), "1", "1", "1")
    store.add(Label("q1", "an older answer", "Maud", "correct"))
    made = form(store, clock)
    assert on_screen(made) == "q1"
    assert made.session.progress() == (0, 3)
    press(made, "u")
    assert len(store.read()) == 4


def test_an_answer_that_changed_since_she_labelled_it_says_so_and_never_what_she_said(
    store: LabelStore, clock: Clock
) -> None:
    store.add(Label("q1", "an older answer", "Maud", "wrong", position=1, cause="format_or_tone", note="old note"))
    store.add(Label("q2", "an older answer", "Fenella", "wrong", position=2))
    store.add(Label("q3", "the answer of a change", "Maud", "wrong"))  # read in week 2, not in the order of reading
    made = form(store, clock)
    shown = {}
    for id_ in ("q1", "q2", "q3"):
        assert on_screen(made) == id_
        shown[id_] = made.page.value
        press(made, "ArrowRight")
    assert ["changed since you labelled it" in shown[id_] for id_ in shown] == [True, False, False]
    assert 'aria-pressed="true"' not in shown["q1"]
    assert "old note" not in shown["q1"]
    assert "0 of 3" in shown["q1"]
    press(made, "ArrowLeft", "ArrowLeft", "ArrowLeft", "3")
    assert "changed since" not in made.page.value
    assert [(line.answer_sha, line.label) for line in store.counting() if line.question_id == "q1"] == [
        ("an older answer", "wrong"),  # stands in the file, of the text that it was given for
        ("sha1", "wrong"),
    ]


def test_of_two_versions_read_blind_none_says_that_it_is_the_newer_one(store: LabelStore, clock: Clock) -> None:
    store.add(Label("q1", "the answer of week 1", "Maud", "wrong", position=1))
    for more in ({"position": None}, {"kind": "spot"}):
        assert "changed since" not in form(store, clock, [item(1, **more)]).page.value


def test_half_a_last_line_is_told_when_the_form_opens(store: LabelStore, clock: Clock) -> None:
    press(form(store, clock), "1")
    with store.path.open("a", encoding="utf-8") as file:
        file.write('{"question_id": "q2", "ans')
    made = form(store, clock)
    assert "half a line" in made.status.value
    assert on_screen(made) == "q2"


def test_two_forms_over_the_same_items_share_no_state(store: LabelStore, clock: Clock) -> None:
    first, second = form(store, clock), form(store, clock)
    assert first is not second
    press(first, "1", note="mine")
    assert "mine" not in second.page.value
    assert on_screen(second) == "q1"


# -- order, repeats, hidden ------------------------------------------------------------------------------------------


def test_items_come_by_position_and_the_rest_in_a_seeded_order_whatever_order_they_were_given_in() -> None:
    items = [item(n, position=n if n < 4 else None) for n in range(1, 9)]
    found = [i.question_id for i in in_order(items, 5)]
    assert found[:3] == ["q1", "q2", "q3"]
    assert found == [i.question_id for i in in_order(reversed(items), 5)]
    assert len({tuple(i.question_id for i in in_order(items, seed)) for seed in range(20)}) > 10


def test_five_early_items_come_again_at_the_end(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock, 50)
    assert [i.kind for i in made.session.queue] == ["label"] * 50 + ["repeat"] * 5
    again = made.session.queue[50:]
    assert {i.question_id for i in again} <= {f"q{n}" for n in range(1, 26)}
    assert again == form(store, clock, 50).session.queue[50:]
    assert repeated([item(n) for n in range(1, 5)], 1, 5) == []


def test_a_repeat_does_not_show_the_first_label_and_gives_agreement_with_herself(
    store: LabelStore, clock: Clock
) -> None:
    made = form(store, clock, 10)
    press(made, *["1"] * 10)
    assert made.session.item is not None
    assert made.session.item.kind == "repeat"
    assert 'aria-pressed="true"' not in made.page.value
    assert "shown again: 0 of 2" in made.page.value
    press(made, "1", "3", "ArrowRight")
    assert [line.kind for line in store.read()[10:]] == ["repeat", "repeat"]
    assert made.session.progress() == (10, 10)
    assert made.session.agreement() == (1, 2)
    assert "1 of 2 got the same label both times" in made.page.value


def test_a_skipped_item_is_labelled_before_its_repeat(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock, 10)
    press(made, "s")
    assert [i.kind for i in made.session.queue] == ["label"] * 10 + ["repeat"] * 2
    assert made.session.queue[9].question_id == "q1"


@pytest.mark.parametrize(
    "closed",
    [
        {"passages": (passage(), passage(2, "secret pay", HR))},
        {"passages": (passage(), passage(2, "secret pay", frozenset()))},
        {"doc": "salary-bands", "expected": "secret pay", "doc_groups": HR},
        {"doc": "salary-bands", "expected": "secret pay"},
    ],
)
def test_items_with_text_that_the_expert_may_not_open_are_left_out_and_counted(
    store: LabelStore, clock: Clock, closed: dict[str, object]
) -> None:
    made = form(store, clock, [item(1, **closed), item(2)])
    shown = made.page.value
    press(made, "ArrowRight", "ArrowRight")
    assert "1 of 2 not shown" in shown
    assert "secret pay" not in shown + made.page.value
    assert [i.question_id for i in made.session.queue] == ["q2"]
    assert missing(item(2), STAFF) == []


def test_the_groups_that_would_open_a_hidden_item_are_named(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock, [item(1, doc="d", doc_groups=frozenset({"hr", "legal"}))])
    assert "1 of 1 not shown: they hold text that needs hr / legal" in made.page.value
    assert "nothing to label" in made.page.value


# -- blind, escaped, private -----------------------------------------------------------------------------------------


def test_an_item_has_no_field_for_a_judge_or_a_retriever_and_the_form_imports_none() -> None:
    fields = {f.name for c in (Item, ShownPassage) for f in dataclasses.fields(c)}
    assert not {f for f in fields if re.search("judge|verdict|score|similarity|rank|arm|retriever|label", f)}
    code = "import sys, rag_pilot.grading.form; print([m for m in sys.modules if m.startswith('rag_pilot.')])"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert not re.search("judge|agreement|faithfulness|retrieval|analysis", loaded)


EVIL = """<img src=x onerror=alert(1)></script><script>alert(2)</script><table></textarea>"' $x^2$ List<int> & co"""


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.text = ""
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]

    def handle_data(self, data: str) -> None:
        self.text += data


def test_text_of_documents_models_and_people_is_shown_as_text(store: LabelStore, clock: Clock) -> None:
    evil = {"title": EVIL, "headings": (EVIL,), "link": "javascript:alert(1)", "updated": EVIL, "doc": EVIL}
    passages = (passage(1, EVIL, cited=True, **evil), passage(2, EVIL, **evil))
    bad = Item(EVIL, EVIL, "s", EVIL, EVIL + " [1]", passages, EVIL, "d", EVIL, "javascript:x", EVIL, STAFF, 1)
    plain = Item("q", "r", "s", "t", "t [1]", (passage(1, "t", cited=True, title="t"), passage(2, "t")), "t")
    made = form(store, clock, [bad])
    press(made, "3", note=EVIL, also=EVIL)
    parsed = Tags(made.page.value)
    reference = Tags(form(store, clock, [plain]).page.value)
    assert set(parsed.tags) <= set(reference.tags) | {"option", "mark"}
    assert not [a for a in parsed.attributes if a.startswith("on")]
    assert "javascript:" not in made.page.value
    assert parsed.text.count(EVIL) >= 8


@pytest.mark.parametrize(
    ("link", "kept"),
    [
        ("https://intranet.example/a?b=1", True),
        ("http://x/y", True),
        ("docs/a.md", True),
        ("/docs/a", True),
        ("javascript:alert(1)", False),
        (" JaVaScript:alert(1)", False),
        ("java\nscript:alert(1)", False),
        ("data:text/html,x", False),
        ("file:///etc/passwd", False),
        ("//elsewhere.example/x", False),
        ("https:", False),
        ("http://[bad", False),
    ],
)
def test_only_web_and_relative_links_become_links(link: str, kept: bool) -> None:
    assert bool(safe_link(link)) is kept


def test_nothing_of_the_company_is_drawn_before_a_browser_asks(store: LabelStore, clock: Clock) -> None:
    made = label_form([item(1)], store, "Maud", seed=1, groups=STAFF, clock=clock)
    state = json.dumps([made.page.get_state(), made.status.get_state(), made.listener.get_state()], default=str)
    assert "question 1" not in state
    assert "question 1" not in str(made._repr_mimebundle_()["text/plain"])
    made.press("ready")
    assert "question 1" in made.page.value


# -- what is on the page ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "fr", "pl"])
def test_it_opens_with_two_sentences_until_the_first_label_and_help_holds_the_definitions(
    store: LabelStore, clock: Clock, language: str
) -> None:
    made = form(store, clock, language=language)
    (told,) = re.findall('<p class="rp-intro">(.*?)</p>', made.page.value)
    assert len(re.findall(r"\w\.(?: |$)", told)) == 2
    help_ = made.page.value.partition('class="rp-help"')[2]
    for key, label in zip("1234", LABELS, strict=True):
        assert f"<dt>{key} {made.say[label]}</dt><dd>{made.say[f'{label}_means']}</dd>" in help_
    press(made, "s")
    assert "rp-intro" in made.page.value
    press(made, "3")
    assert "rp-intro" not in made.page.value
    assert "rp-intro" not in form(store, clock, language=language).page.value


def test_cited_passages_are_open_and_the_others_folded(store: LabelStore, clock: Clock) -> None:
    passages = (passage(1, "open text", cited=True, title="A"), passage(2, "folded text", title="B"))
    page = form(store, clock, [item(1, passages=passages)]).page.value
    folded = re.search("<details>.*</details>", page)
    assert folded
    assert "folded text" in folded[0]
    assert "open text" not in folded[0]


def test_every_control_has_a_name(store: LabelStore, clock: Clock) -> None:
    page = form(store, clock).page.value
    for control in re.findall(r"<(?:input|textarea)[^>]*>", page):
        before = page[: page.index(control)]
        assert before.rfind("<label") > before.rfind("</label")
    for button in re.findall(r"<button.*?</button>", page):
        assert re.sub("<kbd>.*?</kbd>|<[^>]+>", "", button).strip()


def test_citations_are_read_in_lists_and_ranges() -> None:
    assert cited_numbers("a [2]. b [1, 3] c [5-7] d [x] [0]") == {0, 1, 2, 3, 5, 6, 7}
    assert cited_numbers("[1-999999999]") == set(range(1, 52))
    assert marked_answer("<b> [1, 3]") == '&lt;b&gt; <span class="rp-cite">[1, 3]</span>'


def test_the_supporting_sentence_is_highlighted_and_every_character_kept() -> None:
    text = "Lunch is <15> EUR.\nDinner may cost 32 EUR per person. Badges are given out at the door on Monday."
    shown = supported(text, ["A dinner may cost 32 EUR [1]."])
    assert re.findall("<mark>(.*?)</mark>", shown) == ["Dinner may cost 32 EUR per person."]
    assert Tags(shown).text == text
    assert "<mark>" not in supported(text, ["Something else entirely [1]."])
    assert "<mark>" not in supported(text, [])


def test_a_highlight_points_only_at_the_passage_that_the_sentence_cites(store: LabelStore, clock: Clock) -> None:
    passages = tuple(passage(n, "Dinner may cost 32 EUR.", cited=True) for n in (1, 2))
    page = form(store, clock, [dataclasses.replace(item(1, passages=passages), answer="Dinner may cost 32 EUR [2].")])
    first, second = re.findall("<article>.*?</article>", page.page.value)
    assert "<mark>" not in first
    assert "<mark>" in second


def test_all_languages_have_the_same_texts_with_the_same_blanks() -> None:
    known = tomllib.loads(Path(form_page.__file__).with_name("form_texts.toml").read_text(encoding="utf-8"))
    assert set(known) == {"en", "fr", "pl"}
    blanks = {lang: {name: text.count("{}") for name, text in texts.items()} for lang, texts in known.items()}
    assert blanks["en"] == blanks["fr"] == blanks["pl"]
    assert set(LABELS) | {f"{label}_means" for label in LABELS} <= set(known["en"])


@pytest.mark.parametrize(("language", "word"), [("en", "wrong"), ("fr", "fausse"), ("pl", "błędna")])
def test_the_form_speaks_the_experts_language_and_stores_the_same_labels(
    store: LabelStore, clock: Clock, language: str, word: str
) -> None:
    made = form(store, clock, language=language)
    assert f"<kbd>3</kbd> {word}" in made.page.value
    press(made, "3")
    assert lines(store) == [("q1", "wrong")]


# -- another document ------------------------------------------------------------------------------------------------


def doc(id_: str, title: str, groups: frozenset[str] = STAFF) -> Document:
    return Document(id_, title, "text", groups)


DOCS = (
    doc("travel", "Travel policy"),
    doc("taxi", "Taxis"),
    doc("taxi-old", "Taxis"),
    doc("pay", "Pay bands", HR),
)


@pytest.mark.parametrize(
    ("written", "kept"),
    [("travel", "travel"), (" TRAVEL ", "travel"), ("travel   Policy", "travel"), ("cab", "cab")],
)
def test_another_document_is_kept_by_its_id_whether_id_or_title_is_written(
    store: LabelStore, clock: Clock, written: str, kept: str
) -> None:
    made = form(store, clock, documents=(*DOCS, doc("cab", "Lifts"), doc("limousine", "cab")))
    press(made, "1", also=written)
    assert [(line.label, line.also) for line in store.read()] == [("correct", kept)]
    assert on_screen(made) == "q2"


@pytest.mark.parametrize(("key", "label"), [("1", "correct"), ("2", "partly")])
@pytest.mark.parametrize("written", ["Taxis", "Canteen", "Pay bands", "pay"])
def test_a_document_that_is_not_clear_is_told_at_once_and_stays_as_written(
    store: LabelStore, clock: Clock, key: str, label: str, written: str
) -> None:
    made = form(store, clock, documents=DOCS)
    made.press("fields", made.screen, {"note": "", "also": written, "stale": False})
    assert written in made.status.value
    assert ("taxi, taxi-old" in made.status.value) == (written == "Taxis")
    press(made, key, also=written)
    assert (on_screen(made), written in made.status.value) == ("q1", True)
    assert f'value="{written}"' in made.page.value
    assert [(line.label, line.also) for line in store.read()] == [(label, written)]
    press(made, "ArrowRight", also=written)
    assert on_screen(made) == "q2"


def test_a_closed_documents_title_tells_no_more_than_one_that_does_not_exist(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock, documents=DOCS)
    told = []
    for written in ("Pay bands", "No bands!"):
        made.press("fields", made.screen, {"note": "", "also": written, "stale": False})
        told.append(made.status.value.replace(written, "…"))
    assert told[0] == told[1]
    assert "may open" in told[0]
    assert "Pay bands" not in made.titles.value + made.page.value


def test_every_document_that_she_may_open_is_offered_and_nothing_before_a_browser_asks(
    store: LabelStore, clock: Clock
) -> None:
    queue = [item(1)]
    bare = label_form(queue, store, "Maud", seed=1, groups=STAFF, documents=DOCS)
    assert bare.titles.value == ""
    evil = doc("evil", '<img src=x onerror="alert(1)">')
    made = form(store, clock, queue, groups=STAFF | HR, documents=(*DOCS, evil))
    assert re.findall(r'value="([\w-]+)"', made.titles.value) == ["travel", "taxi", "taxi-old", "pay", "evil"]
    assert "Travel policy" in made.titles.value
    assert "<img" not in made.titles.value


def test_a_title_in_an_older_labels_file_is_read_and_left_alone_until_it_is_changed(
    store: LabelStore, clock: Clock
) -> None:
    store.add(Label("q1", "sha1", "Maud", "wrong", also="Travel policy"))
    made = form(store, clock, documents=DOCS)
    press(made, "ArrowLeft")
    press(made, "ArrowRight", also="Travel policy")
    assert len(store.read()) == 1


# -- the reference is wrong ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("keys", "label"), [("01", "correct"), ("20", "partly"), ("02", "partly")])
def test_that_the_expected_answer_is_wrong_can_be_said_of_any_answer_before_or_after_its_label(
    store: LabelStore, clock: Clock, keys: str, label: str
) -> None:
    made = form(store, clock)
    press(made, *keys)
    (last,) = store.counting()
    assert (last.label, last.cause) == (label, "reference_wrong")


def test_it_can_be_taken_back_and_said_of_a_correct_answer_later(store: LabelStore, clock: Clock) -> None:
    made = form(store, clock)
    press(made, "0", "0", "1", "ArrowLeft", "0")
    assert [line.cause for line in store.read()] == ["", "reference_wrong"]
    press(made, "0")
    assert store.counting()[0].cause == ""


def test_every_cause_has_a_key_of_its_own_that_is_sent_and_a_button_with_words(store: LabelStore, clock: Clock) -> None:
    assert [*form_page.LABEL_KEYS, *form_page.CAUSE_KEYS] == [*"1234567890"]
    for language in ("en", "fr", "pl"):
        made = form(store, clock, language=language)
        assert set("1234567890") <= set(made.listener.sent)
        assert f"{made.say['reference_wrong']}</button>" in made.page.value


def test_a_pilots_forms_speak_the_language_of_its_settings_unless_another_is_asked_for(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    path = pilot.data / "pilot.toml"
    for language in ("en", "fr", "pl"):
        settings = path.read_text(encoding="utf-8").replace("[pilot]\n", f'[pilot]\nform_language = "{language}"\n')
        path.write_text(re.sub(r"(form_language.*\n)form_language.*\n", r"\1", settings), encoding="utf-8")
        ledger = Ledger(Pilot.open("tiny", tmp_path))
        result = ledger.result(())
        assert expert_form(result).language == language
        assert expert_form(result, "pl").language == "pl"
        assert writing_form(result.pilot, question="q2").language == language  # type: ignore[union-attr]
        assert writing_form(result.pilot, "fr", question="q2").language == "fr"  # type: ignore[union-attr]


def test_a_passage_is_read_without_the_signs_of_markdown_headings() -> None:
    from rag_pilot.grading.form_page import item_page
    from rag_pilot.grading.form_parts import texts
    from rag_pilot.grading.items import Item, ShownPassage

    shown = [
        ShownPassage(n, f"## Deposits\n\nNo. {n} is # 100 euros.", frozenset({"a"}), "d", cited=n == 1) for n in (1, 2)
    ]
    item = Item(
        "q1", "r", "sha", "How much?", "It is 100 euros. [1]", tuple(shown), "100", "d", "", "", "", frozenset({"a"})
    )
    page = item_page(item, Label("q1", "sha", "Maud", None), False, False, "", texts("en"))
    assert "## Deposits" not in page and page.count("Deposits") == 2 and "# 100 euros" in page
