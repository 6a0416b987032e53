import base64
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import matplotlib
import pytest
from bs4 import BeautifulSoup
from tiny import run_and_label, tiny_pilot

from rag_pilot.analysis.causes import CauseCount, Pareto
from rag_pilot.analysis.comparison import compare
from rag_pilot.analysis.measures import Retrieval
from rag_pilot.analysis.segments import Segment
from rag_pilot.analysis.shares import Mean, Share
from rag_pilot.analysis.threshold import Scored, sweep
from rag_pilot.grading.agreement import gate
from rag_pilot.ledger import Ledger, Tried
from rag_pilot.records import LABELS
from rag_pilot.reporting import figures
from rag_pilot.reporting.figures.wording import Wording
from rag_pilot.reporting.html import Html
from rag_pilot.results import Result
from rag_pilot.settings import Change

EVIL = '<script>alert(1)</script>" onerror=x $\\frac{$ -- \x01'


def found(hit1: int, hit5: int, n: int = 50) -> Retrieval:
    values = (1.0,) * hit1 + (0.5,) * (hit5 - hit1) + (0.0,) * (n - hit5)
    return Retrieval(
        Share(hit1, n, {"unanswerable": 7}),
        Share(hit5, n, {"unanswerable": 7}),
        Mean(values),
        Mean(values),
        Mean(values),
        {},
    )


def segment(name: str, count: int, n: int, worst: bool = False) -> Segment:
    return Segment(name, Share(count, n), None, worst)


def shares(*counts: int, missing: int = 0) -> dict[str, Share]:
    n = sum(counts)
    return {
        name: Share(count, n, {"not graded": missing} if missing else {})
        for name, count in zip((*LABELS, "error"), counts, strict=True)
    }


def pareto() -> Pareto:
    rows = (CauseCount("not_retrieved", Share(9, 14, {"error": 2})), CauseCount("missing_or_stale", Share(5, 14)))
    return Pareto(rows, 15, 3, 1)


def curve(useful: bool = True) -> list[Scored]:
    return [
        Scored(str(i), i / 120, i % 6 != 0, True, "wrong" if i % 6 == 0 or i < 30 * useful else "correct")
        for i in range(120)
    ]


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    made = tiny_pilot(tmp_path_factory.mktemp("figures"))
    run_and_label(made)
    return Ledger(made).result()


@pytest.fixture(scope="module")
def scored(result: Result) -> Result:
    """The same run as if a retriever with similarities had found its passages; one question's document is missed."""
    answers = {}
    for n, (i, a) in enumerate(result.run.answers.items(), start=1):
        hits = tuple({**h, "similarity": n / 10} for h in a.hits) or (
            {"id": "travel#1", "doc": "x", "similarity": n / 10},
        )
        hits = tuple({**h, "doc": "x"} for h in hits) if i == "q2" else hits
        answers[i] = replace(a, hits=hits)
    return Result(result.pilot, replace(result.run, answers=answers), result.built)


def tried(result: Result, name: str = "titles") -> Tried:
    before = {str(i): i < 30 for i in range(60)}
    after = {str(i): i < 42 and i > 1 for i in range(60)}
    change = Change.model_construct(name=name, cause="not_retrieved", hypothesis="?", measure="hit5", set={})
    return Tried(change, result, result, compare(before, after, 0.01, "Hit@5"), {}, {})


@pytest.fixture(scope="module")
def every(scored: Result) -> dict[str, Html]:
    both = {"keyword": found(20, 40), "hybrid": found(30, 45)}
    return {
        "retrieval": figures.retrieval(both),
        "retrieval_by": figures.retrieval_by(
            {
                "keyword": [
                    segment("typo", 3, 20, True),
                    Segment("code", Share(5, 6, {"unanswerable": 2}), None, False),
                ],
                "dense": [segment("typo", 9, 20)],
            },
            "category",
        ),
        "labels": figures.labels({"baseline": shares(20, 5, 4, 10, 1), "second": shares(20, 5, 4, 1, 0, missing=10)}),
        "causes": figures.causes(pareto()),
        "similarities": figures.similarities(scored),
        "risk_coverage": figures.risk_coverage(sweep(curve(), 0.2, 1)),
        "confusion": figures.confusion(gate([("correct", "correct")] * 12 + [("wrong", "partly")] * 3, 1)),
        "changes": figures.changes([tried(scored)]),
        "score": figures.score(Ledger(scored.pilot)),
    }


def image(page: Html) -> tuple[str, bytes]:
    """The alt text and the picture of a page that holds exactly one figure."""
    page_soup = BeautifulSoup(page, "html.parser")
    (picture,) = page_soup.find_all("img")
    assert page_soup.figure is not None
    assert page_soup.figcaption is not None
    assert page_soup.figcaption.get_text().strip()
    head, _, data = str(picture["src"]).partition(",")
    assert head == "data:image/svg+xml;base64"
    return str(picture["alt"]), base64.b64decode(data)


def test_every_figure_is_exported_and_drawn_here(every: dict[str, Html]):
    assert sorted(figures.__all__) == sorted(every)


def test_each_figure_carries_its_picture_of_one_width_and_an_alt_text_with_numbers(every: dict[str, Html]):
    for name, page in every.items():
        alt, data = image(page)
        root = ElementTree.fromstring(data)
        assert root.get("width") == "576pt", name
        assert len(re.findall(r"\d+", alt)) >= 3, name
        assert not re.search(r"\b(?:nan|None|inf)\b", alt + data.decode()), name
        assert not re.search(rb"(?:href|src)=.https?:", data), name


def test_titles_name_how_many_were_counted(every: dict[str, Html]):
    for name, page in every.items():
        assert re.search(r"<!-- [^>]*\(n = \d+", image(page)[1].decode()), name


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        (
            "retrieval",
            [
                "most often by hybrid, 45 of 50 (90 %, 79-96); keyword 40 of 50",
                "first: hybrid 30 of 50 (60 %, 46-72), keyword 20 of 50 (40 %, 28-54)",
                "MRR: hybrid 0.75 (0.65-0.85), keyword 0.60 (0.49-0.71)",
            ],
        ),
        ("retrieval_by", ["Shown to be lower than the rest: typo (keyword, 3 of 20)", "code 5 of 6", "typo 9 of 20"]),
        (
            "labels",
            [
                "baseline: of 40 answers 20 correct, 5 partly, 4 wrong, 10 declined, 1 error",
                "1 declined, 10 not graded",
            ],
        ),
        ("causes", ["largest cause: right passage not found, 9 of 14 (39-84 %)", "missing or out of date, 5 of 14"]),
        ("similarities", ["document found median 0.30 (n = 3)", "document missed median 0.20 (n = 1)", "unanswerable"]),
        (
            "confusion",
            ["12 of 15", "expert: wrong – judge: correct 0, judge: partly 3, judge: wrong 0", "test: too few faults"],
        ),
        ("risk_coverage", ["Always answering: 45 of 120 answered are wrong", "on questions that did not choose"]),
        (
            "changes",
            [
                "Kept: 1 of 1 change.",
                "titles: kept, Hit@5 30 → 40 of 60, 12 fixed, 2 broken, +16.7 points (+4.1 to +28.1)",
            ],
        ),
        (
            "score",
            ["Correct: final run 50 % (19-81); no limit was agreed.", "at most 5 %, final run: above it, not met"],
        ),
    ],
)
def test_alt_text_holds_the_numbers_of_the_records(every: dict[str, Html], name: str, wanted: list[str]):
    alt, _ = image(every[name])
    assert [w for w in wanted if w not in alt] == []


def test_the_parts_of_retrieval_say_what_is_missing_from_them(every: dict[str, Html]):
    assert "Not in it: 2 unanswerable." in every["retrieval_by"]


def test_a_useful_threshold_is_named_and_a_useless_one_is_called_so():
    useful, useless = sweep(curve(), 0.25, 1), sweep(curve(useful=False), 0.25, 1)
    assert useful.chosen is not None
    assert image(figures.risk_coverage(useful))[0].startswith(f"Decline under {useful.chosen:.4f}. Always answering: ")
    assert useless.chosen is None
    assert re.match("No useful threshold|None is needed", image(figures.risk_coverage(useless))[0])


def test_a_verdict_is_shown_as_the_ledger_holds_it_though_labels_have_changed_since(result: Result):
    entry = {
        "verdict": "kept",
        "fixed": 17,
        "broken": 1,
        "questions": 200,
        "difference": 0.08,
        "interval": [0.03, 0.12],
    }
    now = replace(tried(result), comparison=compare({"a": True}, {"a": True}, 0.01, "correct"), entry=entry)
    assert now.comparison.verdict == "not shown"
    alt, _ = image(figures.changes([now]))
    assert "titles: kept, correct 17 fixed, 1 broken, +8.0 points (+3.0 to +12.0)" in alt
    assert "→" not in alt  # the scores of then are not known any more


@pytest.mark.parametrize(
    ("language", "wanted"),
    [
        ("fr", ["le plus souvent avec « hybride », 45 sur 50 (90\u202f%, 79–96)", "MRR : hybride 0,75 (0,65–0,85)"]),
        (
            "pl",
            ["najczęściej hybrydowo, 45 z 50 (90\u202f%, 79–96)", "hybrydowo 0,75 (0,65–0,85), słowa kluczowe 0,60"],
        ),
    ],
)
def test_a_picture_speaks_the_language_that_it_is_asked_for(language: str, wanted: list[str]):
    both = {"keyword": found(20, 40), "hybrid": found(30, 45)}
    alt = image(figures.retrieval(both, language=language))[0].replace("\u00a0", " ")
    assert [w for w in wanted if w not in alt] == []


def test_polish_has_three_forms_of_a_plural_and_french_counts_none_as_one():
    polish = [Wording("pl").counted("questions", n).split()[-1] for n in (1, 2, 5, 12, 22, 112, 172)]
    assert polish == ["pytanie", "pytania", "pytań", "pytań", "pytania", "pytań", "pytania"]
    assert [Wording("fr").counted("questions", n) for n in (0, 1, 2)] == ["0 question", "1 question", "2 questions"]
    assert Wording("fr").number(10_000.5, 1) == "10\u202f000,5"
    assert Wording("en").number(-0.04, 1, sign=True) == "0.0"


@pytest.mark.parametrize(
    "draw",
    [
        lambda r: figures.retrieval({EVIL: found(20, 40)}),
        lambda r: figures.retrieval_by({EVIL: [segment(EVIL, 3, 20)]}, EVIL),
        lambda r: figures.labels({EVIL: shares(3, 2, 1, 0, 0)}),
        lambda r: figures.causes(Pareto((CauseCount(EVIL, Share(9, 14, {EVIL: 1})),), 15, 0, 0)),
        lambda r: figures.confusion(replace(gate([("correct", "correct")] * 3, 1), state=EVIL)),
        lambda r: figures.changes([tried(r, EVIL)]),
    ],
    ids=["retrieval", "retrieval_by", "labels", "causes", "confusion", "changes"],
)
@pytest.mark.filterwarnings("ignore:Glyph")
def test_markup_and_formulas_in_names_are_drawn_and_told_as_text(result: Result, draw: Callable[[Result], Html]):
    page = draw(result)
    alt, data = image(page)
    ElementTree.fromstring(data)
    (picture,) = BeautifulSoup(page, "html.parser").find_all("img")
    assert set(picture.attrs) == {"alt", "src"}
    assert not BeautifulSoup(page, "html.parser").find_all("script")
    assert "<script>" in alt


@pytest.mark.parametrize(
    "page",
    [
        lambda r: figures.retrieval({}),
        lambda r: figures.retrieval({"keyword": Retrieval(Share(0, 0), Share(0, 0), Mean(()), Mean(()), Mean(()), {})}),
        lambda r: figures.retrieval_by({}, "category"),
        lambda r: figures.labels({}),
        lambda r: figures.causes(Pareto((), 0, 0, 0)),
        lambda r: figures.similarities(r),
        lambda r: figures.risk_coverage(sweep([Scored("1", 0.5, True, True, "correct")], 0.05, 1)),
        lambda r: figures.confusion(gate([], 1)),
        lambda r: figures.changes([]),
    ],
)
def test_nothing_to_draw_is_a_sentence(result: Result, page: Callable[[Result], Html]):
    shown = BeautifulSoup(page(result), "html.parser")
    assert shown.img is None
    assert "nothing to draw yet" in shown.get_text()


def test_the_same_records_give_the_same_bytes_whatever_the_session_has_set():
    before = figures.causes(pareto()), figures.labels({"baseline": shares(20, 5, 4, 10, 1)})
    with matplotlib.rc_context({"font.size": 30, "axes.facecolor": "black", "savefig.dpi": 20}):
        assert (figures.causes(pareto()), figures.labels({"baseline": shares(20, 5, 4, 10, 1)})) == before
        assert matplotlib.rcParams["font.size"] == 30


def test_the_session_keeps_its_settings_when_a_drawing_fails():
    with matplotlib.rc_context({"font.size": 30}):
        with pytest.raises(AttributeError):
            figures.causes(Pareto((CauseCount("x", None),), 1, 0, 0))  # type: ignore[arg-type]
        assert matplotlib.rcParams["font.size"] == 30


def test_pyplot_is_never_loaded_and_matplotlib_only_for_a_picture():
    code = (
        "import sys; from rag_pilot.reporting import figures, tables; assert 'matplotlib' not in sys.modules\n"
        "from rag_pilot.analysis.causes import CauseCount, Pareto; from rag_pilot.analysis.shares import Share\n"
        "figures.causes(Pareto((CauseCount('not_retrieved', Share(9, 14)),), 15, 0, 0))\n"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    root = Path(__file__).resolve().parents[1]
    subprocess.run([sys.executable, "-c", code], check=True, cwd=root, timeout=60)
