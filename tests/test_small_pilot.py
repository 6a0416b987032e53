"""A pilot of their own, as `rag-pilot new` makes it: all ten notebooks in order, with labels given in between."""

import html
import re
from pathlib import Path

import nbformat
import pytest
from small import DOCUMENTS, QUESTIONS, label_all, small_pilot
from tiny import notebook

from rag_pilot.pilot import Pilot
from rag_pilot.reporting.export import execute, export

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
FIRST_WEEK = ("01_collect_questions", "02_index_documents", "04_first_run")


def words(page: Path) -> str:
    text = re.sub(r"<(style|script)\b.*?</\1>|<[^>]+>", " ", page.read_text(encoding="utf-8"), flags=re.S)
    return " ".join(html.unescape(text).split())


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report after the labels; the notebooks before them are the cells of one, because a kernel starts slowly."""
    pilot = small_pilot(tmp_path_factory.mktemp("own"))
    root, books = pilot.data.parents[1], [nbformat.read(NOTEBOOKS / f"{name}.ipynb", 4) for name in FIRST_WEEK]
    cells = [cell.source for book in books for cell in book.cells if cell.cell_type == "code"]
    execute(notebook(root / "first_week.ipynb", *cells), pilot.name, root, [])
    label_all(pilot)
    return export(Pilot(pilot.data, pilot.results), NOTEBOOKS).parent


def test_the_pilot_is_what_a_small_team_would_bring(tmp_path):
    pilot = small_pilot(tmp_path)
    found, asked = pilot.documents(), pilot.questions
    assert (len(found.documents), found.skipped, len(asked)) == (12, (), 30)
    assert sum(not q.answerable for q in asked) == 4
    assert sum(q.lang == "fr" for q in asked) == 2
    assert [d.id for d in found.documents if pilot.why_stale(d)] == ["late-returns"]
    assert {pilot.everyone not in d.groups for d in found.documents} == {True, False}
    assert [f.what for f in pilot.check() if f.severity == "error"] == []


@pytest.mark.slow
def test_all_ten_run_in_order_and_every_page_is_made(report):
    assert sorted(p.stem for p in report.glob("0*.html")) == sorted(p.stem for p in NOTEBOOKS.glob("*.ipynb"))
    for page in report.glob("*.html"):
        assert not re.search(r"\bnan\b|Traceback", words(page), re.I), page.name


@pytest.mark.slow
def test_the_plan_counts_rows_tokens_and_what_is_out_of_date(report):
    plan = words(report / "00_plan.html")
    assert "3 of your 4 rows for retrieval, 1 for fine-tuning." in plan
    assert re.search(r"12 documents, \d+ tokens: they fit", plan)
    assert "1 of 12 documents out of date." in plan
    assert re.search(r"hire 730 days 8 2026-05-02 1 ", plan)
    assert "8,000 to 18,000 USD, 4 to 8 weeks" in plan


@pytest.mark.slow
def test_week_1_shows_scores_and_uncited_sentences_beside_the_labels(report):
    page = words(report / "06_week1_result.html")
    for score in ("faithfulness", "answer relevance", "context precision", "sentences that cite nothing"):
        assert score in page, score
    assert re.search(r"\b(\d+) of \1 labelled", words(report / "05_expert_labels.html"))


@pytest.mark.slow
def test_the_decision_says_who_mends_what_and_what_watches_it(report):
    page = words(report / "09_decision.html")
    assert "What watches it after launch" in page
    assert "Hire desk" in page
    assert "20 real answers" in page


@pytest.mark.slow
def test_what_is_restricted_stands_on_no_page_for_everyone(report):
    for page in report.glob("*.html"):
        for secret in ("2,640", "HX-5521", "sand box", *(q for q, _, _, groups in QUESTIONS if groups)):
            assert secret not in words(page), (page.name, secret)
    assert {"office", "workshop"} <= {group for group, *_ in DOCUMENTS.values()}
