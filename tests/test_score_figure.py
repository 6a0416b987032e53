"""The sponsor's picture: the score from the first run to the final one, and what was agreed."""

from __future__ import annotations

import base64
import re
from typing import Any

import pytest
from bs4 import BeautifulSoup
from tiny import run_and_label, tiny_pilot

from rag_pilot.analysis.acceptance import Criterion, Judgement, acceptance
from rag_pilot.analysis.headline import Headline, estimate
from rag_pilot.ledger import Ledger
from rag_pilot.reporting import figures
from rag_pilot.reporting.figures.score import Step, score_of, steps


def head(correct: float, wrong: float, asked: int = 200) -> Headline:
    """A score of which a quarter is read, and the judge, who is right, labels the others."""

    def of(label: str, share: float) -> Any:
        read, others = asked // 4, asked - asked // 4
        rows = [(k < share * read, k < share * read) for k in range(read)]
        return estimate(label, 0, asked, rows, [k < share * others for k in range(others)])

    counts = (asked // 4, asked - asked // 4, 0, 0, 0)
    return Headline(of("correct", correct), of("wrong", wrong), of("declined", 0.0), 0.0, asked, 0, *counts, "words")


WITHHELD = Headline(None, None, None, None, 200, 28, 8, 84, 108, 0, 0, "No number yet: 8 answers read by Maud.")


def judged(final: Headline, least: float = 0.7, most: float = 0.05) -> list[Judgement]:
    return [
        acceptance(Criterion("few wrong", "wrong", "at_most", most, "all questions"), final.wrong),
        acceptance(Criterion("useful", "correct", "at_least", least, "all questions"), final.correct),
    ]


def told(page: str) -> tuple[str, list[str]]:
    """The alt text of the one picture, and the texts that are drawn in it."""
    (image,) = BeautifulSoup(page, "html.parser").find_all("img")
    svg = base64.b64decode(str(image["src"]).partition(",")[2]).decode()
    return str(image["alt"]), re.findall(r"<!-- (.*?) -->", svg)


def test_every_kept_change_stands_between_the_first_and_the_final_run_with_the_headlines_numbers():
    first, second, final = head(0.5, 0.3), head(0.7, 0.12), head(0.9, 0.01)
    alt, texts = told(score_of([Step("", first), Step("titles", second), Step("mended", final)], judged(final)))
    way = [step.correct.text() for step in (first, second, final) if step.correct]
    assert alt.startswith(
        f"Correct: first run {way[0]}, + titles {way[1]}, + mended {way[2]}; "
        "agreed: at least 70 %, final run: above it, met."
    )
    assert [t for t in texts if "first" in t or "titles" in t or "mended" in t] == ["first run", "+ titles", "+ mended"]
    assert "= final run" in texts


@pytest.mark.parametrize(
    ("correct", "least", "said"),
    [(0.9, 0.7, "final run: above it, met"), (0.5, 0.7, "final run: below it, not met"), (0.7, 0.7, "not decided")],
)
def test_the_picture_says_whether_what_was_agreed_is_reached(correct: float, least: float, said: str):
    final = head(correct, 0.02)
    alt, texts = told(score_of([Step("", head(0.4, 0.3)), Step("titles", final)], judged(final, least)))
    assert any(said in text for text in texts), texts
    assert said in alt.split("Wrong:")[0]
    assert "agreed: at least 70 %" in texts
    assert "agreed: at most 5 %" in texts


def test_where_no_change_is_kept_there_is_one_point_and_it_says_so():
    only = head(0.8, 0.02)
    alt, texts = told(score_of([Step("", only)], judged(only)))
    assert alt.endswith("No change was kept.")
    assert "no change was kept" in texts
    assert "first run" not in texts


def test_without_criteria_no_line_is_drawn_and_it_says_so():
    final = head(0.8, 0.02)
    alt, texts = told(score_of([Step("", head(0.5, 0.2)), Step("titles", final)], []))
    assert texts.count("no limit was agreed") == 2
    assert "agreed:" not in alt


def test_a_run_without_a_score_keeps_its_row_and_all_without_are_a_sentence():
    alt, texts = told(score_of([Step("", head(0.5, 0.2)), Step("titles", WITHHELD)], judged(WITHHELD)))
    assert "+ titles no score yet; agreed: at least 70 %, final run: not decided" in alt
    assert texts.count("no score yet") == 2
    page = score_of([Step("", WITHHELD), Step("titles", None)], [])
    assert "<img" not in page
    assert "No score yet" in page
    assert "8 answers read by Maud" in score_of([Step("", WITHHELD)], [])
    assert "une personne a lu 8 réponses" in score_of([Step("", WITHHELD)], [], language="fr")


def test_another_language_has_its_words_and_its_numbers():
    final = head(0.8, 0.025)
    alt, texts = told(
        score_of([Step("", head(0.5, 0.2)), Step("titles", final)], judged(final, 0.7, 0.025), language="fr")
    )
    assert "convenu : au plus 2,5\u202f%" in [t.replace("\u00a0", " ") for t in texts]
    assert alt.startswith("Juste\u00a0: premier essai ")


def test_the_steps_of_a_pilot_are_its_first_run_and_its_kept_changes(tmp_path: Any):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    ledger = Ledger(pilot)
    (only,) = steps(ledger)
    assert only == Step("", ledger.result(()).headline)
    assert figures.score(ledger) == score_of([only], ledger.result().judgements())
