import re
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, is_dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from tiny import SECRET, run_and_label, tiny_pilot

from rag_pilot.amending import Amendment
from rag_pilot.analysis.acceptance import acceptance
from rag_pilot.analysis.causes import CauseCount, Pareto
from rag_pilot.analysis.comparison import compare
from rag_pilot.analysis.cost import Spending, Usage
from rag_pilot.analysis.decision import Decision
from rag_pilot.analysis.grades import Graded
from rag_pilot.analysis.headline import Headline
from rag_pilot.analysis.latency import StageTime
from rag_pilot.analysis.measures import FourWay, Leaks
from rag_pilot.analysis.shares import Mean, Share
from rag_pilot.analysis.threshold import Scored, sweep
from rag_pilot.analysis.weights import ChosenWeight, Paired
from rag_pilot.audit import Audit
from rag_pilot.compared import TIES, Weighing, ablations
from rag_pilot.corpus.checks import Finding
from rag_pilot.corpus.documents import Documents, Skipped, why_stale
from rag_pilot.corpus.inventory import inventory
from rag_pilot.criteria import criteria, what_can_be_shown
from rag_pilot.grading.agreement import gate
from rag_pilot.ledger import Ledger, Tried
from rag_pilot.pilot import Pilot
from rag_pilot.reading import Failure, failures
from rag_pilot.records import Document, Passage, Question
from rag_pilot.reporting import tables
from rag_pilot.reporting.html import STYLE, Html, element, join, link, section, table
from rag_pilot.reporting.tables.answers import stages
from rag_pilot.reporting.tables.failures import short
from rag_pilot.reporting.tasks import owners_tasks
from rag_pilot.results import Result
from rag_pilot.settings import Acceptance, Change, Settings
from rag_pilot.tracing import trace

EVIL = '<script>alert("x")</script>&amp;\' onload=y'
TODAY = date(2026, 9, 15)


def soup(page: Html) -> BeautifulSoup:
    return BeautifulSoup(page, "html.parser")


def grid(page: Html, caption: str) -> list[list[str]]:
    """The rows of the table whose caption begins so, its headings first where it has some."""
    found = next(t for t in soup(page).find_all("table") if t.caption.get_text().startswith(caption))
    return [[c.get_text() for c in row.find_all(["th", "td"])] for row in found.find_all("tr")]


CODES = {"event", "direction", "state", "field"}
"""Fields whose values records refuse, or tables skip, if they are not of a fixed list."""


def evil(value: Any) -> Any:
    """The record with every text in it followed by markup."""
    if isinstance(value, str):
        return value + EVIL
    if is_dataclass(value) and not isinstance(value, type):
        return replace(value, **{f.name: evil(getattr(value, f.name)) for f in fields(value) if f.name not in CODES})
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value
    if isinstance(value, tuple | list | frozenset):
        return type(value)(evil(v) for v in value)
    if isinstance(value, dict):
        return {k: v if k in CODES else evil(v) for k, v in value.items()}
    return value


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Pilot:
    made = tiny_pilot(tmp_path_factory.mktemp("tables"))
    run_and_label(made)
    return made


@pytest.fixture(scope="module")
def result(pilot: Pilot) -> Result:
    return Ledger(pilot).result()


@pytest.fixture(scope="module")
def one(result: Result) -> Tried:
    """A change that broke the question that only hr may see."""
    before = result.retrieval.hits(5)
    comparison = compare(before, {**before, "q3": False}, 0.05, "Hit@5")
    change = Change(name="less", cause="not_retrieved", hypothesis="fewer are enough", measure="hit5")
    return Tried(change, result, result, comparison, {}, {"detectable": 0.5})


def settings() -> Settings:
    return Settings(acceptance=(Acceptance(name="few wrong", measure="wrong", at_most=0.05),))


def share(count: int, n: int, **missing: int) -> Share:
    return Share(count, n, {k.replace("_", " "): v for k, v in missing.items()})


LINES = [
    {
        "event": "planned",
        "name": "titles",
        "cause": "not_retrieved",
        "hypothesis": "titles help",
        "measure": "hit5",
        "level": 0.01,
        "date": "2026-09-20",
    },
    {
        "event": "verdict",
        "name": "titles",
        "measure": "hit5",
        "date": "2026-09-21",
        "fixed": 12,
        "broken": 2,
        "questions": 172,
        "difference": 10 / 172,
        "interval": [0.01, 0.1],
        "p": 0.0065,
        "level": 0.01,
        "verdict": "kept",
    },
    {
        "event": "planned",
        "name": "longer",
        "cause": "x",
        "hypothesis": "?",
        "measure": "correct",
        "level": 0.02,
        "date": "2026-09-22",
    },
]
LOCK = {
    "date": "2026-09-01",
    "author": "Maud",
    "criteria": [{"name": "few wrong"}],
    "changes_planned": 5,
    "hash": "abc",
    "why": "a typing slip",
    "amends": {"date": "2026-08-30", "author": "Maud", "criteria": [], "changes_planned": 5, "hash": "abd"},
}
DOCS = Documents(
    (
        Document(
            "open", "Parking", "x", frozenset({"all-staff"}), "open.md", owner="Ops", review_by="2024-01-01", lang="en"
        ),
        Document("pay", "Pay bands", "x", frozenset({"hr"}), "pay.pdf", owner="HR", review_by="2024-01-01", lang="en"),
        Document("neu", "Neu", "x", frozenset({"all-staff"}), "neu.md", lang="fr"),
    ),
    (
        Skipped("old.xls", "old.xls: files of this kind are not read", "kind", frozenset({"all-staff"})),
        Skipped("layoffs.md", "layoffs.md, line 2: groups is empty", "access"),
    ),
    (
        "open.md: 1 of 5 pages hold no text",
        "pay.pdf: 2 of 5 pages hold no text",
        "access.csv, line 3: mergers/* matches no file",
    ),
)
INVENTORY = inventory(Documents(DOCS.documents[:2]), [Passage("open#1", "open", "x")])
PARETO = Pareto(
    (
        CauseCount("missing_or_stale", share(7, 12, not_graded=3), ("q7", "q1")),
        CauseCount("not_retrieved", share(5, 12, not_graded=3)),
    ),
    bad=14,
    by_expert=4,
    overruled=1,
)
FAILED = Failure("q1", "wrong", "expert", "not_retrieved", "How many?", "25", "30 [1]", "leave", "HR")
HIDDEN = Failure("q2", "wrong", "judge", None, "", "", "", "", "HR", hidden="hr")


def rows_for_sweep(n: int = 120) -> list[Scored]:
    return [
        Scored(str(i), i / n, i % 6 != 0, True, "wrong" if i < n // 5 or i % 6 == 0 else "correct") for i in range(n)
    ]


JUDGED = gate([("correct", "correct")] * 30 + [("wrong", "wrong")] * 9 + [("partly", "correct")] * 2, 1)
NO_HEADLINE = Headline(None, None, None, None, 6, 2, 0, 0, 2, 0, 4, "No number yet.")

PLAIN: list[tuple[str, Callable[[Any], Html], Any]] = [
    (
        "amendments",
        tables.amendments,
        [
            Amendment("q1", "also", "pending", "leave", "why?", "so", ("note",), ("Maud",)),
            Amendment("q2", "expected", "refused", "", "why?", "", (), ("Maud",), "2026-05-03", "Maud", "no"),
            Amendment("q3", "also", "unclear", hidden="hr"),
        ],
    ),
    ("criteria", lambda x: tables.criteria(x[0], x[1]), (["wrong at most 5 %"], LOCK)),
    ("findings", tables.findings, [Finding("error", "2 lost", ("q1", "q2"), "correct doc")]),
    ("composition", tables.composition, (Question("q1", "How?", category="typo", lang="en", source="mail"),)),
    ("documents", lambda x: tables.documents(x, TODAY, {g for d in x.documents for g in d.groups}), DOCS),
    ("inventory", lambda x: tables.inventory(x, {g for f in x.files for g in f.document.groups}), INVENTORY),
    ("pareto", tables.pareto, PARETO),
    ("failures", tables.failures, [FAILED]),
    ("failures hidden", tables.failures, [HIDDEN]),
    ("gate", tables.gate, JUDGED),
    ("headline", tables.headline, NO_HEADLINE),
    ("ledger", tables.ledger, LINES),
    ("threshold", tables.threshold, sweep(rows_for_sweep(), 0.2, 1)),
    ("judgements", tables.judgements, [acceptance(criteria(settings())[0], share(3, 200))]),
    ("decision", tables.decision, Decision("build", ("All met.", "The largest cause is not_retrieved."))),
    (
        "stages",
        stages,
        [StageTime("generate", 30, 0.5, 1.5, 1.2, False), StageTime("rerank", 0, None, None, None, None)],
    ),
]


# -- nothing foreign runs ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "made_by", "record"), PLAIN, ids=[p[0] for p in PLAIN])
def test_markup_in_any_text_of_a_record_is_shown_as_text(name: str, made_by: Callable[[Any], Html], record: Any):
    page = soup(made_by(evil(record)))
    assert not page.find_all("script")
    assert all(not any(a.startswith("on") for a in tag.attrs) for tag in page.find_all(True))
    assert EVIL in page.get_text(), "the text is lost"


def test_markup_in_questions_answers_documents_and_people_of_a_run_is_shown_as_text(result: Result, one: Tried):
    answers = {
        i: replace(a, text=(a.text or "") + EVIL, model="m" + EVIL, flags=("odd" + EVIL,))
        for i, a in result.run.answers.items()
    }
    questions = tuple(
        replace(q, question=q.question + EVIL, expected=q.expected + EVIL, category=EVIL + q.id)
        for q in result.run.questions
    )
    run = replace(result.run, questions=questions, answers=answers, info={"date": EVIL, "models": [EVIL]})
    bad = Result(result.pilot, run, result.built)
    bad.settings = bad.settings.model_copy(
        update={"pilot": bad.settings.pilot.model_copy(update={"annotator": "Maud" + EVIL})}
    )
    change = one.change.model_copy(update={"hypothesis": EVIL, "cause": EVIL})
    comparison = compare({"q1": True}, {"q1": False}, 0.05, "m" + EVIL)
    for page in (
        tables.stamp(bad),
        tables.run(bad),
        tables.trace(trace(bad, "q1")),
        tables.tried(Tried(change, bad, bad, comparison, {}, {})),
        tables.composition([replace(q, category=EVIL, lang=EVIL) for q in questions]),
        tables.segments(bad),
        tables.retrieval_segments(bad),
        tables.retrievers({EVIL: result.retrieval}, {EVIL: result.leaks}),
        tables.label_shares({EVIL: share(1, 2)}),
    ):
        assert not soup(page).find_all("script")
        assert EVIL in soup(page).get_text()


@pytest.mark.parametrize(
    "url",
    [
        "javascript:alert(1)",
        " javascript:alert(1)",
        "\x01javascript:alert(1)",
        "java\tscript:alert(1)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "//other.example/x",
        "/\\other.example",
        "",
    ],
)
def test_only_web_and_relative_addresses_become_links(url: str):
    assert soup(link(url, "the page")).a is None
    assert soup(link(url, "the page")).get_text() == "the page"


@pytest.mark.parametrize(
    "url", ["https://x.example/a?b=1#c", "http://x.example", "docs/My file.md", "../a.html#b:c", "#top"]
)
def test_web_and_relative_addresses_stay_links(url: str):
    found = soup(link(url, "<b>")).a
    assert found is not None
    assert found["href"] == url.replace(" ", "%20")
    assert found.get_text() == "<b>"


@given(st.text())
def test_any_text_comes_back_from_the_page_as_it_was(text: str):
    shown = soup(element("p", f"x{text}x", title=text)).p  # the reader makes one space of a text of spaces alone
    kept = re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff]", "\ufffd", text)
    kept = kept.replace("\r\n", "\n").replace("\r", "\n")
    assert shown is not None
    assert shown.get_text() == f"x{kept}x"
    assert shown["title"] == kept


def test_html_joined_with_plain_text_is_escaped_again():
    mixed = element("b", "x") + "<i>"
    assert soup(join([mixed])).find_all() == []
    assert join([element("b", "x")]) == "<b>x</b>"


def test_a_result_shows_itself_with_the_one_style():
    page = section("words")
    assert page._repr_html_() == f"<style>{STYLE}</style>\n{page}"
    assert repr(table("Caption", ("a", "b"), [("x", 1)])) == "Caption\na  b  \nx  1"
    assert "url(" not in STYLE
    assert "@import" not in STYLE


# -- tables are tables -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def all_pages(result: Result, one: Tried) -> dict[str, Html]:
    pages = {name: made_by(record) for name, made_by, record in PLAIN}
    own = {
        n: getattr(tables, n)(result) for n in ("stamp", "run", "progress", "tasks", "segments", "retrieval_segments")
    }
    more = {
        "decision_table": tables.decision_table(settings()),
        "cost_plan": tables.cost_plan(settings()),
        "cost": tables.cost(Spending(), settings()),
        "cost measured": tables.cost(Spending(Usage(2600, 200, 180, 12, 8, 1), Usage(90, 20, 180)), settings()),
        "index": tables.index(result.built),
        "retrievers": tables.retrievers({"keyword": result.retrieval}, {"keyword": result.leaks}),
        "retrievers audited": tables.retrievers({"k": result.retrieval}, {}, {"k": result.audit}),
        "leak_audit": tables.leak_audit(result.audit),
        "leaking": tables.leak_audit(Audit({"page": Leaks(share(1, 3, error=2), {"q1": ("p",)})}, 1)),
        "result headline": tables.headline(result.headline),
        "four_way": tables.four_way(result.four_way),
        "label_shares": tables.label_shares(result.label_shares),
        "result pareto": tables.pareto(result.pareto),
        "result failures": tables.failures(failures(result)),
        "result threshold": tables.threshold(result.threshold()),
        "result judgements": tables.judgements(result.judgements()),
        "result gate": tables.gate(result.gate),
        "tried": tables.tried(one),
        "trace": tables.trace(trace(result, "q1")),
        "trace hidden": tables.trace(trace(result, "q3")),
    }
    return {**pages, **own, **more}


def test_every_table_has_a_caption_and_scoped_headers(all_pages: dict[str, Html]):
    for name, page in all_pages.items():
        assert isinstance(page, Html), name
        for found in soup(page).find_all("table"):
            assert found.caption.get_text().strip(), name
            heads = found.thead.find_all("th") if found.thead else []
            assert all(h["scope"] == "col" and h.get_text().strip() for h in heads), name
            for row in found.tbody.find_all("tr"):
                cells = row.find_all(["th", "td"])
                assert cells[0].name == "th", name
                assert cells[0]["scope"] == "row", name
                assert not heads or len(cells) == len(heads), name


def test_no_page_says_nan_none_or_a_code_name(all_pages: dict[str, Html]):
    for name, page in all_pages.items():
        words = re.findall(r"\b(?:nan|None|inf|not_retrieved|missing_or_stale|frozenset)\b", soup(page).get_text())
        assert not words, f"{name}: {words}"


def test_every_public_table_is_exported():
    assert sorted(tables.__all__) == tables.__all__
    assert all(callable(getattr(tables, name)) for name in tables.__all__)


def test_a_missing_number_is_not_measured_and_an_infinite_one_too():
    rows = grid(table("T", ("a", "x"), [("a", None), ("b", float("nan")), ("c", Share(0, 0)), ("d", Mean(()))]), "T")
    assert [r[1] for r in rows[1:]] == ["not measured", "not measured", "no data", "no data"]


def test_numbers_stand_on_the_right_and_words_on_the_left():
    page = soup(table("T", ("name", "count", "word"), [("a", 1200, "x"), ("b", 7, "3 or so")]))
    sides = [[c.get("class") for c in row.find_all(["th", "td"])] for row in page.find_all("tr")]
    assert sides == [[None, ["rp-n"], None]] * 3
    assert page.find_all("td")[0].get_text() == "1,200"


def test_a_row_that_does_not_fit_its_headings_is_refused():
    with pytest.raises(ValueError, match="3 cells under 2"):
        table("T", ("a", "b"), [(1, 2, 3)])


# -- numbers are those of the records ----------------------------------------------------------------------------------


def test_composition_counts_add_up_to_the_questions(pilot: Pilot):
    asked = [
        replace(q, category=c, lang=lang)
        for q, (c, lang) in zip(pilot.questions, [("a", "en"), ("a", "fr"), ("b", "en")] * 2, strict=True)
    ]
    rows = grid(tables.composition(asked), "Questions by")
    assert rows == [
        ["Category", "en", "fr", "All", "Of these unanswerable"],
        ["a", "2", "2", "4", "2"],
        ["b", "2", "0", "2", "0"],
        ["All", "4", "2", "6", "2"],
    ]
    assert "2 of 6 (33 %)" in soup(tables.composition(asked)).get_text()


def test_an_amended_criterion_says_what_it_was_and_why():
    old = {"criteria": [{"name": "few wrong", "at_most": 0.05}], "date": "2026-08-30", "author": "Maud"}
    new = {
        "criteria": [{"name": "few wrong", "at_most": 0.1}],
        "date": "2026-09-02",
        "author": "Ike",
        "why": "hard",
    }
    assert "Agreed on 2026-08-30 by Maud, before the first run, and not changed" in soup(tables.agreed(old)).get_text()
    text = soup(tables.agreed({**new, "amends": old})).get_text()
    assert "Amended on 2026-09-02 by Ike (before, as of 2026-08-30: few wrong at most 5 %): hard" in text
    assert "not changed" not in text


def test_composition_of_no_question_says_so():
    assert "No questions yet." in tables.composition(())


def test_documents_are_counted_and_out_of_date_ones_named_only_to_those_who_may_open_them():
    page = tables.documents(DOCS, TODAY, {"all-staff"}, "all-staff")
    assert grid(page, "Documents by")[-1] == ["All", "2", "1", "3", "1"]
    assert [r[0] for r in grid(page, "Out of date")[1:]] == ["Parking", "not shown here (needs hr)"]
    assert "3 of 5 files read" in soup(page).get_text()
    assert "Parking" not in tables.documents(DOCS, TODAY)


def test_no_file_is_named_to_readers_who_may_not_open_it_wherever_it_would_stand():
    page = soup(tables.documents(DOCS, TODAY, {"all-staff"}, "all-staff")).get_text()
    assert "old.xls" in page and "open.md: 1 of 5" in page
    assert "1 who may open it cannot be established" in page and "2 remarks not shown here" in page
    for secret in ("layoffs", "pay.pdf", "Pay bands", "mergers"):
        assert secret not in page
    assert "pay.pdf: 2 of 5" in tables.documents(DOCS, TODAY, {"hr"}, "all-staff")


def test_a_document_updated_too_long_ago_is_out_of_date_with_its_reason():
    old = Document("old", "Old", "x", frozenset({"all-staff"}), "old.md", updated="2026-08-01")
    found = Documents((old, replace(old, id="new", title="New", updated="2026-09-01")))
    page = tables.documents(found, TODAY, {"all-staff"}, None, lambda d: why_stale(d, TODAY, 30))
    rows = grid(page, "Out of date")[1:]
    assert [(r[0], r[3]) for r in rows] == [("Old", "last updated on 2026-08-01, more than 30 days ago")]
    assert "Out of date: none" in soup(tables.documents(found, TODAY, {"all-staff"})).get_text()


def inventoried(*documents: Document) -> Any:
    passages = [Passage(f"{d.id}#1", d.id, d.text, d.groups, tokens=7) for d in documents]
    pages = {"pay": (5, 1)}
    return inventory(Documents(documents, pages=pages), passages, [Question("q1", "?", doc="pay")], "some model")


TEXT = "Band seven pays ninety one thousand five hundred euros a year to everybody who works in it."
PAIR = (
    Document("pay", "Pay", TEXT, frozenset({"hr"}), "hr/pay-2026-final-final-version-of-the-board.pdf"),
    Document("faq", "FAQ", TEXT, frozenset({"all-staff"}), "faq.md", updated="2026-01-02"),
    Document("tea", "Tea", "Tea is free.", frozenset({"all-staff"}), "tea.md"),
)


def test_the_inventory_shows_every_file_whole_to_those_who_may_open_it():
    page = tables.inventory(inventoried(*PAIR), {"hr", "all-staff"})
    rows = grid(page, "What was read of each file (3 of 3 shown)")
    assert rows[2][:8] == [PAIR[0].path, "17", "0", "0", "1", "7", "5, 1 without text", "80 %"]
    assert rows[2][8:] == ["not known", "hr", "not known", "1"]
    assert grid(page, "There twice")[1] == [f"faq.md, {PAIR[0].path}", "the same words", "not the same"]
    text = soup(page).get_text()
    assert "3 documents, 37 words, 3 passages, 21 tokens (counted with some model)" in text
    assert "90 % of the text that was read stands in some passage; 1 page without text" in text
    assert "2 of 3 documents named by no question (1 question)" in text


def test_the_inventory_names_no_file_to_readers_who_may_not_open_it():
    text = soup(tables.inventory(inventoried(*PAIR), {"all-staff"})).get_text()
    assert "(2 of 3 shown)" in text and "1 document not shown here" in text and "1 set not shown here" in text
    assert "pay-2026" not in text and "hr" not in re.findall(r"\w+", text)
    assert "1 set of nearly one text not open to the same readers" in text


def test_failures_that_the_reader_may_not_see_are_counted_by_group_and_never_shown(result: Result):
    page = tables.failures([FAILED, HIDDEN, replace(HIDDEN, question="secret words", got="secret words")])
    assert "secret words" not in page
    assert "2 bad answers not shown: the reader needs hr." in soup(page).get_text()
    assert grid(page, "Bad answers (1 of 3 shown)")[1][0] == "q1"


def test_texts_that_readers_may_not_see_stand_on_no_page(result: Result, one: Tried, all_pages: dict[str, Html]):
    assert one.comparison.broken == ("q3",)
    question = next(q.question for q in result.questions if q.id == "q3")
    for name, page in all_pages.items():
        assert SECRET not in page, name
        assert question not in soup(page).get_text(), name
    assert grid(tables.tried(one), "Broken")[1][:2] == ["q3", "not shown (needs hr)"]


def test_tasks_name_owner_document_and_questions(result: Result):
    stale = Result(result.pilot, result.run, result.built)
    stale.__dict__["facts"] = replace(result.facts, lacking={"q6"})
    rows = grid(tables.tasks(stale), "Documents to mend (1 document, 1 bad answer)")
    assert rows[1][:4] == ["Head of travel", "travel", "1", "q6"]


def test_a_task_names_its_document_by_title_and_link_with_the_id_small(result: Result):
    named = Result(result.pilot, result.run, result.built)
    named.__dict__["facts"] = replace(result.facts, lacking={"q6"})
    travel = replace(result.documents["travel"], title="How to travel", link="https://wiki.example/travel")
    named.documents = {**result.documents, "travel": travel}
    cell = soup(tables.tasks(named)).select_one("tbody td")
    assert cell is not None and cell.a["href"] == travel.link and cell.a.text == "How to travel"
    assert cell.small.text == "travel"


def test_tasks_stand_by_owner_on_the_page_as_in_the_file_those_without_one_last(result: Result):
    bad = Result(result.pilot, result.run, result.built)
    bad.documents = {**result.documents, "leave": replace(result.documents["leave"], owner="")}
    bad.__dict__["facts"] = replace(result.facts, lacking={"q1", "q2", "q3", "q6"}, holding=frozenset())
    bad.__dict__["graded"] = dict.fromkeys(result.graded, Graded("wrong", "expert"))
    assert [(t.owner, t.document, len(t.questions)) for t in owners_tasks(bad)] == [
        ("Head of salaries", "salaries", 1),
        ("Head of travel", "travel", 2),
        ("", "leave", 1),
    ]
    rows = grid(tables.tasks(bad), "Documents to mend")
    assert [row[0] for row in rows[1:]] == ["not shown", "Head of travel", "no owner named"]


def test_run_counts_are_those_of_the_answers(result: Result):
    statuses = [a.status for a in result.run.answers.values()]
    rows = grid(tables.run(result), "What came back")
    assert rows[1:] == [[s, f"{statuses.count(s)} of 6"] for s in ("answered", "declined", "error")]


def test_an_error_is_shown_with_its_cause_and_counted(result: Result):
    answers = {**result.run.answers, "q1": replace(result.run.answers["q1"], status="error", reason="timeout")}
    page = tables.run(Result(result.pilot, replace(result.run, answers=answers), result.built))
    assert grid(page, "Errors")[1] == ["timeout", "1"]
    assert grid(page, "What came back")[3] == ["error", "1 of 6"]


def test_run_says_what_was_kept_what_was_not_applied_and_what_is_final(result: Result):
    counts = {"answers": {"reused": 2, "new": 3}, "judge": {"reused": 0, "new": 1}}
    answers = {**result.run.answers, "q1": replace(result.run.answers["q1"], status="error", final=True)}
    run = replace(result.run, answers=answers, info={"replies": counts, "not_applied": ["temperature"]})
    page = tables.run(Result(result.pilot, run, result.built))
    text = soup(page).get_text()
    assert "2 of the model's 5 replies kept from earlier calls." in text
    assert "0 of the judge's 1 reply kept from earlier calls." in text
    assert "Not applied, because the endpoint refuses it: temperature." in text
    assert "1 error final: filtered or truncated twice" in text
    assert "kept from earlier calls" not in tables.run(result)


def test_run_tells_unread_citations_from_none_and_facts_that_no_passage_holds(result: Result):
    odd = replace(result.run.answers["q1"], status="declined", reason="uncited", flags=("citation_not_understood",))
    bare = replace(odd, flags=())
    flagged = replace(result.run.answers["q6"], flags=("not_in_passage",))
    run = replace(result.run, answers={"q1": odd, "q2": bare, "q3": flagged})
    page = tables.run(Result(result.pilot, run, result.built))
    reasons = dict(grid(page, "Why it declined")[1:])
    assert reasons["the answer cited in a form that could not be read"] == "1 of 2"
    assert reasons["the answer cited nothing"] == "1 of 2"
    assert ["a number, date or name that the cited passage does not hold: no verdict, look there first", "1"] in grid(
        page, "Flags"
    )


def test_progress_says_how_many_are_labelled_and_what_is_next(result: Result):
    assert "4 of 4 labelled" in tables.progress(result)
    fresh = Result(result.pilot, result.run, result.built)
    fresh.__dict__["all_labels"] = result.all_labels[:1]
    assert "1 of 4 labelled" in tables.progress(fresh)
    assert "notebook 05" in tables.progress(fresh)


def test_gate_shows_counts_bounds_and_needs():
    page = tables.gate(JUDGED)
    assert grid(page, "Labels of the same")[1:] == [
        ["correct", "30", "0", "0", "30 of 30"],
        ["partly", "2", "0", "0", "0 of 2"],
        ["wrong", "0", "0", "9", "9 of 9"],
    ]
    assert grid(page, "The judge")[1][1] == "39 of 41"
    assert "undefined" in tables.gate(gate([("correct", "correct")] * 9, 1))
    assert "nan" not in tables.gate(gate([], 1)).lower()


def test_headline_gives_labels_to_as_many_questions_as_were_asked(result: Result):
    page = tables.headline(result.headline)
    *given_by, asked = [int(r[1]) for r in grid(page, "Labels given by")[1:]]
    assert sum(given_by) == asked == 6
    first = soup(page).p
    assert first is not None
    assert first.get_text().startswith(f"{round(100 * result.headline.correct.value)} % correct: between ")
    assert "No score yet" in tables.headline(NO_HEADLINE)


def test_the_rows_of_the_score_add_up_or_say_why_they_do_not(result: Result):
    def shares(page: str) -> dict[str, str]:
        return {row[0]: row[1] for row in grid(page, "Estimated shares")[1:]}

    head = result.headline  # 4 of 6 correct, 1 wrong, 1 more by rule
    apart = replace(head.correct, value=1 / 3), replace(head.wrong, value=1 / 3), replace(head.declined, value=0.0)
    thirds = replace(head, **dict(zip(("correct", "wrong", "declined"), apart, strict=True)), partly=1 / 3)
    assert list(shares(tables.headline(thirds)).values()) == ["33 %", "33 %", "33 %", "0 %"]
    assert "they add up to 99 % here, unrounded to 100 %" in tables.headline(thirds)
    failed = replace(thirds, errors=1, partly=1 / 6)
    assert shares(tables.headline(failed)).popitem() == ("no label: the call failed", "17 %")
    even = replace(failed, errors=3, correct=replace(apart[0], value=0.5), wrong=apart[2], partly=0.0)
    assert "rounded by itself" not in tables.headline(even)
    over = replace(thirds, partly=None, excess=0.02)
    assert shares(tables.headline(over))["partly"] == "less than can be told"
    assert "rounded by itself" not in tables.headline(over)


def test_four_way_rows_add_up():
    page = tables.four_way(FourWay(Counter(answered=90, declined=8, error=2), Counter(answered=3, declined=11), 1))
    assert grid(page, "Answered") == [
        ["Questions", "answered", "declined", "error", "All"],
        ["The documents can answer", "90", "8", "2", "100"],
        ["The documents cannot answer", "3", "11", "0", "14"],
    ]


def test_label_shares_are_counts_and_carry_what_is_missing():
    page = tables.label_shares({"correct": share(8, 8, not_graded=2)})
    assert "Not in it: 2 not graded." in soup(page).get_text()
    assert grid(page, "Labels of the answers")[1][1:3] == ["8 of 8", "80 to 100 %"]
    page = tables.label_shares({"correct": share(80, 100, not_graded=1)})
    assert grid(page, "Labels of the answers")[1][1] == "80 of 100"  # of a mix that is no random sample: no interval
    page = tables.label_shares({"correct": share(80, 100)})
    assert grid(page, "Labels of the answers")[1][1] == "80 of 100"  # the judge's may be among them


def test_pareto_says_what_mends_each_cause_with_intervals_questions_and_how_often_the_rule_was_overruled():
    rows = grid(tables.pareto(PARETO), "Causes")
    assert [r[1] for r in rows[1:]] == ["7 of 12 (32-81 %)", "5 of 12 (19-68 %)"]
    assert (rows[0][2], rows[1][2]) == ("Questions", "q7, q1")
    assert "owner" in rows[1][3]
    assert "The expert named 4 of these causes and overruled the rule in 1." in soup(tables.pareto(PARETO)).get_text()
    assert "14 bad answers, 12 with a known cause" in soup(tables.pareto(PARETO)).get_text()


def test_of_many_questions_the_first_ids_stand_in_the_cell_and_the_rest_behind_a_click():
    ids = tuple(f"q{n:02}" for n in range(71))
    page = soup(tables.pareto(Pareto((CauseCount("not_retrieved", share(71, 80), ids),), 80, 0, 0)))
    cell = page.select("tbody td")[1]
    assert cell.summary.get_text() == "59 more" and cell.details.get_text().endswith(", ".join(ids[12:]))
    assert cell.get_text().startswith(f"{', '.join(ids[:12])}59 more")


def test_a_long_note_of_the_expert_is_shortened_between_words():
    assert short("word " * 60, 160).endswith("word …") and len(short("word " * 60, 160)) <= 162
    assert short("as it is", 160) == "as it is"


def test_ledger_shows_verdicts_and_changes_that_wait_for_one():
    rows = grid(tables.ledger(LINES), "Changes")
    assert [r[1] for r in rows[1:]] == ["kept", "no verdict yet"]
    assert rows[1][4:] == ["12 / 2 of 172", "+5.8 points (+1.0 to +10.0)", "0.0065 / 0.0100"]
    assert "none so far" in tables.ledger([])


def test_tried_shows_the_difference_stated_before_the_run(one: Tried):
    found = dict(grid(tables.tried(one), "The change"))
    assert found["Smallest gain that would mostly be seen"] == "+50.0 points"
    assert found["Fixed / broken"] == "0 / 1 of 4 questions"


def test_a_decided_change_shows_what_the_ledger_decided_and_todays_counts_only_where_they_differ(one: Tried):
    decided = {"verdict": "kept", "words": "Kept then.", "date": "2026-02-03", "fixed": 9, "broken": 0, "questions": 20}
    decided |= {"difference": 0.45, "interval": [0.2, 0.6], "p": 0.0039, "level": 0.01}
    page = tables.tried(replace(one, entry=decided))
    found, text = dict(grid(page, "The change")), soup(page).get_text()
    assert text.startswith("less: kept") and "Kept then." in text and "of 2026-02-03, and stand" in text
    assert found["Fixed / broken"] == "9 / 0 of 20 questions"
    assert found["Difference"] == "+45.0 points (+20.0 to +60.0)"
    assert found["The same, counted today"].startswith("0 / 1 of 4 questions; ")
    assert found["The same, counted today"].endswith("would be not shown")
    same = {"verdict": one.comparison.verdict, "words": "As it is.", "fixed": 0, "broken": 1, "questions": 4}
    assert "counted today" not in tables.tried(replace(one, entry=same))


def test_changes_shows_each_change_and_why_others_were_not_tried(one: Tried):
    page = tables.changes([one], {"new-model": "not installed" + EVIL})
    assert soup(page).get_text().startswith("less: not shown")
    assert grid(page, "Not tried")[1] == ["new-model", "not installed" + EVIL]
    assert "No change was tried now." in tables.changes([])


def test_threshold_without_both_kinds_of_questions_shows_words_only():
    lonely = sweep([Scored("1", 0.5, True, True, "correct")], 0.05, 1)
    assert not soup(tables.threshold(lonely)).find_all("table")
    assert "no useful threshold" in tables.threshold(lonely)


def test_cost_is_the_formula_and_not_measured_without_tokens():
    assert "140 USD a month" in soup(tables.cost(Spending(Usage(2600, 200, 180)), settings())).get_text()
    assert "not measured" in tables.cost(Spending(), settings())
    assert "140 USD" in tables.cost_plan(settings())


def test_cost_tells_who_uses_the_tokens_and_which_price_a_lever_lacks():
    judged = settings().changed({"judge.kind": "model", "judge.model": "j", "judge.base_url": "x"})
    spent = Spending(Usage(2600, 200, 180), Usage(90, 20, 180), Usage(900, 100, 50))
    page = tables.cost(spent, judged)
    assert [row[:4] for row in grid(page, "Who uses the tokens of a question")[1:]] == [
        ["Answering", "180", "2,600", "200"],
        ["Rewriting the question", "180", "90", "20"],
    ]
    assert "146 USD a month" in soup(page).get_text()  # 140 + 10,000 x 110 x 5 / 1e6
    assert "the judge read 50 answers with 900 tokens in and 100 out each, 0.25 USD" in soup(page).get_text()
    rows = {row[0]: row[1:] for row in grid(page, "What each lever would save")[1:]}
    assert rows["a small model for rewriting"][0] == "not measured"
    assert "not known: small_input_per_million" in rows["a small model for rewriting"][1]
    assert rows["3 passages instead of 5"][0].isdigit()
    unknown = tables.cost(Spending(None, None, None), judged)
    assert "What the judge used is not measured" in soup(unknown).get_text()


def test_criteria_say_whether_they_are_locked_and_what_was_amended(pilot: Pilot):
    lines = what_can_be_shown(pilot.settings, pilot.questions)
    assert "not locked" in tables.criteria(lines, None)
    page = tables.criteria(lines, pilot.lock_acceptance())
    assert [r[0] for r in grid(page, "What was agreed")[1:]] == ["few wrong", "found"]
    assert "a typing slip" in tables.criteria(["x"], LOCK)


def test_criteria_that_were_changed_since_the_lock_are_not_shown_as_agreed(pilot: Pilot):
    locked, lines = pilot.lock_acceptance(), what_can_be_shown(pilot.settings, pilot.questions)
    assert "not what was locked" not in tables.criteria(lines, locked, pilot.settings)
    changed = pilot.settings.changed({"pilot.changes_planned": pilot.settings.pilot.changes_planned + 1})
    page = tables.criteria(lines, locked, changed)
    assert "not what was locked" in page and "What was agreed" not in page
    amended = {**locked, "changes_planned": locked["changes_planned"] + 1, "why": "one more", "amends": locked}
    assert f"{locked['changes_planned']} change" in soup(tables.agreed(amended)).get_text()
    assert "planned, now" in soup(tables.agreed(amended)).get_text()


def test_weighings_say_by_language_what_fusing_gains_and_choose_no_weight_for_few(pilot: Pilot):
    found = [
        Weighing(
            lang,
            {"keyword": Paired(1, 9, 40), "dense": Paired(9, 0, 40)},
            {name: share(20, 40) for name in ("keyword", "dense", "hybrid")},
            {"ranks": ChosenWeight(0.2, (0.2, 0.3), Paired(9, 0, 40), 38, 30, 29), "scores": few},
        )
        for lang, few in (
            ("", ChosenWeight(None, (), Paired(0, 0, 12))),
            ("pl", ChosenWeight(None, (), Paired(0, 0, 0))),
        )
    ]
    page = tables.weighings(found)
    gains, weights = grid(page, "What fusing gains"), grid(page, "How much")
    assert [row[0] for row in gains[1:]] == ["all", "pl"]
    assert "keyword alone is better here" in gains[1][-1]
    assert weights[1][2] == "0.2" and weights[1][3] == "0.2 to 0.3" and weights[1][-1] == "0.2"
    assert "none (12 questions)" in weights[2][2] and weights[2][-1] == "0.5"
    assert "nan" not in page.lower()


def test_each_setting_turned_is_a_row_with_what_it_gains_and_its_leaks(pilot: Pilot):
    base, found = ablations(pilot)
    page = tables.ablations((base, found))
    rows = {row[0]: row for row in grid(page, "What each setting does")[1:]}
    assert rows["as configured"][3].startswith(str(base.retrieval.hit1.count))
    assert rows["retrieval.per_text"][1:3] == ["2", "1"]
    assert rows["retrieval.per_document"][1:3] == ["0", "1"]
    assert rows["retrieval.per_document"][6].startswith("+0 −0 (")
    assert {row[-1] for row in rows.values()} == {f"0 of {len(pilot.questions)}"}
    leaking = replace(
        found[0], first=Paired(2, 1, 4), five=Paired(3, 0, 4), setting=TIES, now="", turned="keyword list"
    )
    rows = {row[0]: row for row in grid(tables.ablations((base, [leaking])), "What each setting does")[1:]}
    assert rows["equal scores are decided by"][1:3] == ["none", "keyword list"]
    assert (
        rows["equal scores are decided by"][4].startswith("+2 −1 (")
        and "+3 −0" in rows["equal scores are decided by"][6]
    )


def test_stamp_names_run_date_fingerprint_and_limits(result: Result):
    found = dict(grid(tables.stamp(result), "This run"))
    assert found["Run"] == result.run.id
    assert found["Data fingerprint"] == result.run.info["fingerprint"]
    assert found["Questions"] == "6"
    assert len(soup(tables.stamp(result)).find_all("li")) == 3


def test_index_counts_passages_and_says_reused_or_rebuilt(result: Result, tmp_path: Path):
    found = dict(grid(tables.index(result.built), "The index"))
    assert found["Passages"] == str(len(result.built.passages))
    assert result.built.state in soup(tables.index(result.built)).get_text()
