"""The first page and the decision in the sponsor's language: no English left, no number moved, no run repeated."""

import re
import shutil
import tomllib
from collections import Counter
from datetime import date
from pathlib import Path

import nbformat
import pytest
from bs4 import BeautifulSoup
from tiny import QUESTIONS, SETTINGS, notebook, run_and_label, tiny_pilot

from rag_pilot import __version__
from rag_pilot.amending import scored_against
from rag_pilot.analysis.acceptance import Criterion, acceptance, undecided
from rag_pilot.analysis.causes import CauseCount, Pareto
from rag_pilot.analysis.cost import Prices, Spending, Tariff, Usage, what_if
from rag_pilot.analysis.decision import decide
from rag_pilot.analysis.grades import Graded
from rag_pilot.analysis.headline import beside, headline, withheld
from rag_pilot.analysis.shares import Share
from rag_pilot.analysis.threshold import Scored, not_begun, sweep
from rag_pilot.corpus.access import groups_said
from rag_pilot.corpus.documents import why_stale
from rag_pilot.extension import DecidedSet, closed_to
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.records import Answer, Document, Label, Question, Verdict
from rag_pilot.reporting import tables
from rag_pilot.reporting.export import convert, export
from rag_pilot.reporting.pages import Page, front_page, stamp
from rag_pilot.reporting.speech import FOLDER, Voice, speech
from rag_pilot.reporting.tasks import owners_tasks, visible
from rag_pilot.reporting.words import CAUSE
from rag_pilot.said import Said
from rag_pilot.settings import Alert

NOTEBOOK = Path(__file__).resolve().parents[1] / "notebooks" / "09_decision.ipynb"
LANGUAGES = ("en", "fr", "pl")
OTHER = LANGUAGES[1:]
THEIRS = [  # what the pilot's own people wrote or named, in whatever language they speak
    "Tiny <pilot>",
    "few wrong",
    "found",
    "all-staff",
    *(f"Head of {doc}" for doc in ("leave", "travel", "salaries")),
    *(text for row in QUESTIONS for text in (row[1], row[2]) if text),
    "The hotel limit is 95 euros a night.",
    "extractive",
]


@pytest.fixture(scope="module")
def pilot(tmp_path_factory):
    made = tiny_pilot(tmp_path_factory.mktemp("pilot"))
    run_and_label(made)
    return made


@pytest.fixture(scope="module")
def fronts(pilot):
    """The first page in each language, with a page of English beside that of the decision."""
    ledger = Ledger(pilot)
    result = ledger.result()
    shown, _ = visible(owners_tasks(result), result)
    pages = {}
    for lang in LANGUAGES:
        behind = [Page("a.html", "Tune the threshold", "You look for it.", ""), Page("b.html", "09", "", "", lang)]
        pages[lang] = front_page(ledger, result, len(shown), behind, stamp(result, lang))
    return pages


def own_words(page, lang):
    """The words of a page that are said to be in its language, without what the pilot's people wrote."""
    soup = BeautifulSoup(page, "html.parser")
    assert soup.html["lang"] == lang
    for tag in soup.find_all(["style", "code", "script"]) + soup.find_all(lang="en"):
        tag.decompose()
    texts = [soup.get_text(" ")]
    texts += [t[name] for t in soup.find_all(True) for name in ("aria-label", "alt", "title") if t.has_attr(name)]
    text = " ".join(" ".join(texts).split())
    for theirs in THEIRS:
        text = text.replace(theirs, " ")
    return text


def words(text):
    return set(re.findall(r"[^\W\d_]{2,}", text.lower()))


def english_words(lang):
    """Words of the pages' own texts that are English, and none of that language."""
    parts = ("pages", "figures", NOTEBOOK.stem)
    bare = {
        x: re.sub(r"\{[^}]*\}", " ", " ".join(w for part in parts for w in speech(part, x).values()))
        for x in ("en", lang)
    }
    return words(bare["en"]) - words(bare[lang])


def numbers(text, lang):
    marks = (",", ".") if lang == "en" else ("\u202f", ",")
    found = re.findall(rf"\d(?:[\d{marks[0]}]*\d)?(?:[{marks[1]}]\d+)?", text)
    return Counter(n.replace(marks[0], "").replace(marks[1], ".") for n in found)


# -- the first page ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", OTHER)
def test_no_english_is_left_on_the_first_page_but_what_says_so(fronts, lang):
    known = english_words(lang)
    assert len(known) > 400 and {"the", "decided", "answers"} <= known
    assert words(own_words(fronts[lang], lang)) & known == set()
    assert words(own_words(fronts["en"].replace('lang="en"', f'lang="{lang}"', 1), lang)) & known  # the check can fail


@pytest.mark.parametrize("lang", OTHER)
def test_every_number_of_the_english_page_stands_on_the_other(fronts, lang):
    shown = {
        x: BeautifulSoup(fronts[x], "html.parser").body.get_text(" ").replace(__version__, "") for x in ("en", lang)
    }
    assert numbers(shown[lang], lang) == numbers(shown["en"], "en")
    assert sum(numbers(shown["en"], "en").values()) > 80


@pytest.mark.parametrize("lang", OTHER)
def test_english_pages_keep_their_titles_and_are_marked_and_pictures_speak(fronts, lang):
    page = BeautifulSoup(fronts[lang], "html.parser")
    items = {li.a["href"]: li.get("lang") for li in page.find("nav", class_="contents").find_all("li")}
    assert items == {"a.html": "en", "b.html": None}
    pictures = page.find_all("figure")
    assert pictures and {figure.get("lang") for figure in pictures} == {lang}
    assert not [figure for figure in pictures if figure.find_parent(lang="en")]


@pytest.mark.parametrize(
    ("lang", "told"),
    [
        ("fr", ["Arrêter.", "évaluation", "33\u202f% sans réponse possible", "Réponses lues par Maud"]),
        ("pl", ["Zatrzymać.", "ocen", "33\u202f% bez możliwej odpowiedzi", "Maud"]),
    ],
)
def test_a_sponsor_reads_the_decision_in_her_language(fronts, lang, told):
    text = BeautifulSoup(fronts[lang], "html.parser").get_text()
    assert [t for t in told if t not in text] == []


def test_the_labels_are_those_of_the_form():
    form = tomllib.loads((FOLDER.parents[1] / "grading" / "form_texts.toml").read_text(encoding="utf-8"))
    for lang in LANGUAGES:
        for label in ("correct", "partly", "wrong", "declined"):
            assert speech("pages", lang)[f"label_{label}"] == form[lang][label]


def test_alerts_are_those_of_the_pilot_and_none_is_made_of_what_was_agreed(pilot):
    def launch(settings):
        result = Ledger(pilot).result()
        result.settings = result.settings.model_copy(update={"alert": settings})
        page = BeautifulSoup(front_page(Ledger(pilot), result, 0, [], stamp(result)), "html.parser")
        return page.find(attrs={"aria-labelledby": "launch"}).get_text(), repr(
            tables.watch(result, result.judgements())
        )

    told, watched = launch((Alert(measure="faithfulness", at_least=0.83), Alert(measure="declined", at_most=0.4)))
    assert "an alert says when faithfulness falls below 83 % or declined rises above 40 %;" in told
    assert "at least 83 %" in watched and "at most 40 %" in watched and "rises above 5 %" not in told
    told, watched = launch(())
    assert "no alert is set" in told and "an alert says" not in told and watched.count("none set") == 3


# -- numbers, dates, counted nouns -------------------------------------------------------------------------------------


def test_each_language_writes_numbers_dates_and_counts_as_it_does():
    en, fr, pl = (Voice(lang) for lang in LANGUAGES)
    assert [v.format_field(0.2731, ".1f%") for v in (en, fr, pl)] == ["27.3 %", "27,3\u202f%", "27,3\u202f%"]
    assert [v.number(1234567.5, ",.1f") for v in (en, fr)] == ["1,234,567.5", "1\u202f234\u202f567,5"]
    days = [v.format_field("2026-12-01", "day") for v in (en, fr, pl)]
    assert days == ["1 December 2026", "1er décembre 2026", "1 grudnia 2026"]
    assert [en.format_field("2026-12-02", "day"), fr.format_field("2026-05-02", "day")] == [
        "2 December 2026",
        "2 mai 2026",
    ]
    assert fr.format_field("not recorded", "day") == "not recorded"
    assert [fr.count(n, "question_noun") for n in (0, 1, 2)] == ["0 question", "1 question", "2 questions"]
    counted = {
        n: pl.count(n, "question_noun").split(" ")[-1] for n in (0, 1, 2, 4, 5, 11, 12, 14, 21, 22, 25, 102, 112)
    }
    few = {n for n, noun in counted.items() if noun == "pytania"}
    assert few == {2, 4, 22, 102} and counted[1] == "pytanie" and counted[21] == counted[112] == "pytań"


@pytest.mark.parametrize("lang", OTHER)
def test_signs_are_not_parted_from_what_they_belong_to(lang):
    texts = " ".join(speech("pages", lang).values())
    assert not re.search(r" %" if lang == "pl" else r" [%;:?!»]|« ", texts)


# -- what the analysis says, in every language -------------------------------------------------------------------------


def run_of(n, read=0, unanswerable=0, errors=0, unreadable=0, judge=True):
    asked = [
        Question(f"q{i:03}", "?", "x", answerable=i >= unanswerable, doc="d" if i >= unanswerable else None)
        for i in range(n)
    ]
    answers = {q.id: Answer(q.id, "answered", text="t", sha=f"s{q.id}") for q in asked}
    for q in asked[n - errors :] if errors else ():
        answers[q.id] = Answer(q.id, "error", sha=f"s{q.id}")
    judged = {
        q.id: Verdict(q.id, f"s{q.id}", None if k < unreadable else ("correct", "wrong")[k % 3 == 0], "judge")
        for k, q in enumerate(asked[unanswerable:])
        if judge
    }
    labels = {
        q.id: Label(q.id, f"s{q.id}", "Ana", ("correct", "wrong")[k % 4 == 0])
        for k, q in enumerate(asked[unanswerable:])
        if k < read
    }
    return asked, answers, [q.id for q in asked], labels, judged


def headlines():
    for more in (
        {"n": 0},
        {"n": 60, "unanswerable": 8},
        {"n": 60, "read": 5, "judge": False},
        {"n": 60, "read": 30, "unanswerable": 8, "errors": 2},
        {"n": 60, "read": 30, "unreadable": 20},
    ):
        yield headline(*run_of(**more), "Ana")
    asked, answers, order, labels, judged = run_of(60, 30)
    labels.pop("q001")
    yield headline(asked, answers, order, labels, judged, Said("readers", "Ana and Ben", names=("Ana", "Ben")))
    found = headline(*run_of(60, 30), "Ana")
    yield withheld(found, 30, ["hr", "hr", "ops"])
    yield beside(found, [Graded("correct", "expert")])
    yield beside(found, [Graded("correct", "expert"), Graded(None, "not_graded")])


def sweeps():
    rows = [Scored(f"{i}", i / 100, i % 4 > 0, True, "correct" if i > 40 and i % 4 else "wrong") for i in range(80)]
    fine = [Scored(f"{i}", i / 100, i % 4 > 0, i % 4 > 0, "correct") for i in range(80)]
    bare = [Scored(f"{i}", None, i % 4 > 0, True, "correct") for i in range(80)]
    some = [Scored("x", None, True, True, "correct"), *rows]
    yield from (sweep(rows, limit, 1) for limit in (0.01, 0.3, 0.9))
    yield from (
        sweep(fine, 0.3, 1),
        sweep(bare, 0.3, 1),
        sweep([], 0.3, 1),
        sweep(some, 0.3, 1, unlabelled=2, judged=3),
    )
    noise = [
        Scored(f"{i}", (37 * i % 80) / 100, i % 4 > 0, True, "wrong" if i % 5 == 0 else "correct") for i in range(80)
    ]
    yield sweep(noise, 0.5, 1)
    yield from (not_begun(sweep([], 0.3, 1), "q7", changed, later) for changed in (True, False) for later in (0, 1, 3))


def decisions():
    wrong = Criterion("K", "wrong", "at_most", 0.05, "all questions")
    met, unsure, missed = (acceptance(wrong, Share(k, 200)) for k in (4, 8, 20))
    closed = undecided(unsure, closed_to([DecidedSet("2026-01-01", "x", 30, False)], ["a"]))

    def causes(**counts):
        total = sum(counts.values())
        return Pareto(tuple(CauseCount(name, Share(k, total)) for name, k in counts.items()), total, 0, 0)

    mixed, none = causes(not_retrieved=8, missing_or_stale=8), causes()
    cases = [([met], mixed, {"leaking": 2}), ([], mixed, {}), ([met], mixed, {"labelled": (3, 50)}), ([met], none, {})]
    cases += [
        ([met, unsure], mixed, {}),
        ([met, closed], mixed, {}),
        ([missed], mixed, {"changes_left": 2}),
        ([missed], none, {}),
    ]
    cases += [
        ([missed], causes(**{c: k, "not_retrieved": 1}), {})
        for c in ("missing_or_stale", "format_or_tone")
        for k in (5, 20)
    ]
    for judged, found, more in cases:
        yield decide(judged, found, **{"labelled": (50, 50), **more})


def others():
    spent = Spending(Usage(2600, 200, 180), Usage(90, 20, 180))
    for tariff in (
        Tariff(Prices(5, 5), Prices(5, 5), Prices(5, 5)),
        Tariff(Prices(5, 5, 1), Prices(5, 5), Prices(5, 5), Prices(1, 1), 0.6),
    ):
        for used in (spent, Spending(spent.answering)):
            for row in what_if(1000, used, tariff, 8, 1, 100):
                yield from (row.lever, row.missing)
    yield groups_said([frozenset({"hr"}), frozenset({"ops", "legal"}), frozenset()])
    sets = [
        DecidedSet("2026-01-01", "x", 30, planned, ("K: not met",) * told)
        for planned in (False, True)
        for told in (0, 1)
    ]
    yield from (closed_to([one, DecidedSet("2026-02-01", "y", 60, True)], ["a"]) for one in sets)
    page = Document("d", "d.md", "T", "x", frozenset({"g"}), review_by="2026-01-01", updated="2026-01-01")
    yield why_stale(page, date(2026, 5, 1))
    yield why_stale(Document("d", "d.md", "T", "x", frozenset({"g"}), updated="2026-01-01"), date(2026, 5, 1), 30)


SENTENCES = [
    *(s for found in headlines() for s in found.said),
    *(s for found in sweeps() for s in found.said),
    *(s for found in decisions() for s in found.reasons if s.key != "open"),
    *(s for s in others() if s),
]


def test_english_says_of_every_sentence_what_the_record_says():
    say = Voice("en")
    for sentence in SENTENCES:
        plain = str(sentence)
        for code, name in CAUSE.items():
            plain = plain.replace(code, name)
        assert say.say(sentence) == plain, sentence.key
    assert all(" ".join(found.said) == found.words for kind in (headlines(), sweeps()) for found in kind)


@pytest.mark.parametrize("lang", OTHER)
def test_every_sentence_is_said_in_the_language_with_the_same_numbers(lang):
    say, known = Voice(lang), english_words(lang)
    for sentence in SENTENCES:
        told = say.say(sentence)
        assert numbers(told, lang) == numbers(Voice("en").say(sentence), "en"), told
        quoted = re.sub(
            r"labels = \d+|\[judge\] kind = \"none\"|expert_form\(.*?\)\]?|verdicts.jsonl|max_tokens|\w+_\w+", "", told
        )
        assert words(quoted) & known == set(), told


def test_every_sentence_that_the_texts_know_is_one_of_these():
    unused = {key.removeprefix("said_") for key in speech("pages", "en") if key.startswith("said_")} - _keys(SENTENCES)
    elsewhere = {
        "over",
        "amended_on",
        "amended_from",
        "no_such_document",
        "said_stale",
        "past_its_date",
        "lacks_numbers",
    }
    assert unused == elsewhere | {"expert_says_so"}


def _keys(sentences):
    found = set()
    for sentence in sentences:
        if isinstance(sentence, Said):
            inner = [v for value in sentence.values.values() for v in (value if isinstance(value, tuple) else (value,))]
            found |= {sentence.key} | _keys(inner)
    return found


@pytest.mark.parametrize("lang", OTHER)
def test_open_criteria_are_named_with_the_reason_why_they_may_not_be_decided(lang):
    shown = [repr(tables.decision(d, lang)) for d in decisions() if getattr(d.reasons[1], "key", "") == "open"]
    assert len(shown) == 2 and all(": K." in text for text in shown)
    assert "2026-01-01" in shown[1] and words(" ".join(shown)) & english_words(lang) == set()


@pytest.mark.parametrize("lang", OTHER)
def test_tables_of_the_decision_hold_no_english_and_the_same_numbers(lang, pilot):
    result = Ledger(pilot).result()
    wrong = Criterion("K", "wrong", "at_most", 0.05, "answerable questions")
    judged = [acceptance(wrong, Share(k, 200)) for k in (4, 8, 20)] + [
        acceptance(Criterion("L", "leaks", "at_most", 0, "all questions"), Share(0, 9))
    ]
    spent = Spending(Usage(2600, 200, 1800, 12, 8, 1), Usage(90, 20, 180), Usage(500, 5, 40))
    of = {
        "judgements": lambda x: tables.judgements(judged, x),
        "progress": lambda x: tables.progress(result, x),
        "tasks": lambda x: tables.tasks(result, x),
        "stamp": lambda x: tables.stamp(result, x),
        "watch": lambda x: tables.watch(result, result.judgements(), x),
        "cost": lambda x: tables.cost(spent, pilot.settings, x),
        "no cost": lambda x: tables.cost(Spending(), pilot.settings, x),
        **{f"headline {k}": lambda x, found=found: tables.headline(found, x) for k, found in enumerate(headlines())},
        **{f"threshold {k}": lambda x, found=found: tables.threshold(found, x) for k, found in enumerate(sweeps())},
    }
    for name, table in of.items():
        shown = {x: repr(table(x)) for x in ("en", lang)}
        assert f'lang="{lang}"' in table(lang).partition(">")[0] and "lang=" not in table("en"), name
        text = re.sub(r"expert_form\(.*?\)\]?|\w+\.jsonl|max_tokens|\w+_\w+|kind = \"none\"|\[judge\]", "", shown[lang])
        if name.startswith("threshold"):
            shown = {x: re.sub(r"min_similarity=[\d.]+|0[.]35", "", text) for x, text in shown.items()}
        for theirs in THEIRS:
            text = text.replace(theirs, " ")
        assert words(text) & english_words(lang) == set(), name
        assert numbers(shown[lang], lang) == numbers(shown["en"], "en"), name


# -- the page of notebook 09 -------------------------------------------------------------------------------------------


def test_the_english_prose_of_the_texts_is_that_of_the_notebook():
    cells = {c.id: c.source for c in nbformat.read(NOTEBOOK, 4).cells if c.cell_type == "markdown"}
    assert cells == speech(NOTEBOOK.stem, "en")


def test_prose_that_the_team_changed_stays_and_other_notebooks_stay_english(tmp_path):
    book = nbformat.read(NOTEBOOK, 4)
    book.cells[-1].source = "**Signé** par Zoé."
    page = convert(book, "09_decision.html", "fr")
    assert page.lang == "fr" and page.title == "09 · La décision" and page.goal.startswith("Vous confrontez")
    assert "Signé" in page.body and "Il doit maintenant" not in page.body
    other = convert(nbformat.read(notebook(tmp_path / "08.ipynb", "# Eight\n\nYou look."), 4), "08.html", "fr")
    assert (other.lang, other.goal) == ("en", "You look.")


@pytest.mark.slow
@pytest.mark.parametrize("lang", OTHER)
def test_the_report_of_a_pilot_is_in_its_language_and_moves_no_run_lock_or_number(tmp_path, lang):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    before = Ledger(pilot).result()
    locked = (pilot.data / "acceptance.lock.json").read_bytes()
    asked = SETTINGS.replace('annotator = "Maud"', f'annotator = "Maud"\nreport_language = "{lang}"')
    (pilot.data / "pilot.toml").write_text(asked, encoding="utf-8")
    pilot = Pilot.open("tiny", tmp_path)
    books = notebook(tmp_path / "notebooks" / "08_tune.ipynb", "# 08 · Tune\n\nYou look for it.").parent
    shutil.copy(NOTEBOOK, books)
    report = export(pilot, books).parent

    after = Ledger(Pilot.open("tiny", tmp_path)).result()
    assert [p.name for p in (pilot.results / "runs").iterdir()] == [before.run.id] == [after.run.id]
    assert after.run.info == before.run.info and after.headline == before.headline
    assert (pilot.data / "acceptance.lock.json").read_bytes() == locked
    known, pages = english_words(lang), {p.stem: p.read_text(encoding="utf-8") for p in report.glob("*.html")}
    for name in ("index", "09_decision"):
        assert words(own_words(pages[name], lang)) & known == set(), name
    assert '<html lang="en">' in pages["08_tune"]
    link = BeautifulSoup(pages["08_tune"], "html.parser").nav.find("a", class_="next")
    assert link["lang"] == lang and "09" in link.text
    prose = [c.source for c in nbformat.read(report / "09_decision.ipynb", 4).cells if c.cell_type == "markdown"]
    assert prose[0].startswith("# 09 · The decision")  # the notebook beside the page stays English


def test_an_amended_set_is_dated_in_words(pilot):
    assert scored_against(Ledger(pilot).result()) == ""
    said = Said("amended_on", "the question set as amended on 3 May 2026 (2 questions)", day="2026-05-03", n=2)
    assert [Voice(x).say(said) for x in LANGUAGES] == [
        str(said),
        "le jeu de questions modifié le 3 mai 2026 (2 questions)",
        "zestaw pytań zmieniony 3 maja 2026 (2 pytania)",
    ]
