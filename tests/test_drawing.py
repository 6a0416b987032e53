"""The visual language, computed and measured: colours for every eye, nothing clipped, nothing over anything."""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from test_figures import found, segment, shares, tried
from test_score_figure import head, judged

from rag_pilot.analysis.causes import ALL_CAUSES, CauseCount, Pareto
from rag_pilot.analysis.shares import Share
from rag_pilot.analysis.threshold import Scored, sweep
from rag_pilot.grading.agreement import gate
from rag_pilot.records import LABELS
from rag_pilot.reporting import figures
from rag_pilot.reporting.figures.drawing import LABEL_LOOK, RETRIEVER_LOOK, TEXT, WIDTH, Sheet
from rag_pilot.reporting.figures.score import Step, score_of
from rag_pilot.reporting.words import LABEL_ORDER

A4_WIDTH = 6.69  # inches between margins of 20 mm
LEAST_ON_PAPER = 8.0  # points
LEAST_AXIS = 0.085  # of the picture; with the longest names in three columns
APART, APART_IN_GREY = 20.0, 10.0
"""Least distances in CIE L*a*b* of two colours of a kind, and of their lightness alone; 2.3 is just noticeable."""

EYES = {  # Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB
    "all colours": np.eye(3),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
    ),
}
LONG = "a category of questions that somebody has named at great length, without any thought of a picture"


def lab(colour: str, eye: str) -> np.ndarray:
    """CIE L*a*b* (D65) of a colour as an eye sees it."""
    rgb = np.array([int(colour[k : k + 2], 16) for k in (1, 3, 5)]) / 255
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    seen = np.clip(EYES[eye] @ linear, 0, 1)
    xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]) @ seen
    t = xyz / np.array([0.9505, 1.0, 1.089])
    f = np.where(t > (6 / 29) ** 3, np.cbrt(t), t / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("look", [LABEL_LOOK, RETRIEVER_LOOK], ids=["labels", "retrievers"])
@pytest.mark.parametrize("eye", EYES)
def test_colours_of_a_kind_are_told_apart_by_every_eye_and_in_grey(look: dict[str, tuple[str, str]], eye: str):
    for (one, (first, _)), (other, (second, _)) in itertools.combinations(look.items(), 2):
        distance = np.linalg.norm(lab(first, eye) - lab(second, eye))
        assert distance >= APART or {one, other} == {"declined", "not graded"}, (one, other, distance)
        assert abs(lab(first, eye)[0] - lab(second, eye)[0]) >= APART_IN_GREY or eye != "all colours", (one, other)


def test_no_colour_means_both_a_label_and_a_retriever():
    ours, theirs = ([colour for colour, _ in look.values()] for look in (LABEL_LOOK, RETRIEVER_LOOK))
    assert all(np.linalg.norm(lab(a, "all colours") - lab(b, "all colours")) >= APART for a in ours for b in theirs)


def test_labels_keep_their_order_and_have_a_hatch_and_retrievers_a_mark_of_their_own():
    assert (*LABELS, "error", "not graded") == LABEL_ORDER == tuple(LABEL_LOOK)
    hatched = [hatch for name, (_, hatch) in LABEL_LOOK.items() if name not in ("correct", "not graded")]
    assert len(set(hatched)) == 4
    assert all(hatched)
    assert len({marker for _, marker in RETRIEVER_LOOK.values()}) == 3


def test_the_smallest_letters_can_be_read_on_a4():
    assert TEXT * A4_WIDTH / WIDTH >= LEAST_ON_PAPER


@pytest.fixture
def drawn(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Any]]:
    """The figures behind the pages that a test makes, as they were saved."""
    kept: list[Any] = []
    saved = Sheet.html

    def keep(self: Sheet, *words: str) -> Any:
        page = saved(self, *words)
        kept.append(self.figure)
        return page

    monkeypatch.setattr(Sheet, "html", keep)
    yield kept


def curve(n: int) -> list[Scored]:
    return [
        Scored(str(i), i / n, i % 6 != 0, True, "wrong" if i % 6 == 0 or i < n / 4 else "correct") for i in range(n)
    ]


MAKE: dict[str, Callable[[str], Any]] = {
    "retrieval": lambda lang: figures.retrieval(
        {"keyword": found(90, 136, 172), "dense": found(90, 143, 172), "hybrid": found(100, 153, 172)}, language=lang
    ),
    "retrieval of one question": lambda lang: figures.retrieval({LONG: found(0, 1, 1)}, language=lang),
    "retrieval of 10,000": lambda lang: figures.retrieval({LONG: found(0, 10_000, 10_000)}, language=lang),
    "parts": lambda lang: figures.retrieval_by(
        {
            name: [segment("acronym", 0, 16), segment(LONG, 9999, 10_000, True), segment("typo", 1, 1)]
            for name in RETRIEVER_LOOK
        },
        "category",
        language=lang,
    ),
    "parts by a long name": lambda lang: figures.retrieval_by({"dense": [segment("a", 9, 20)]}, LONG, language=lang),
    "labels": lambda lang: figures.labels(
        {"baseline": shares(52, 8, 62, 78, 0), LONG: shares(36, 3, 23, 71, 0, missing=67)}, language=lang
    ),
    "labels of one": lambda lang: figures.labels({"baseline": shares(0, 1, 0, 0, 0)}, language=lang),
    "labels of 10,000": lambda lang: figures.labels(
        {"all but one": shares(9996, 1, 1, 1, 1), "thin and wide": shares(20, 20, 1600, 20, 20, missing=8320)},
        language=lang,
    ),
    "causes": lambda lang: figures.causes(
        Pareto(
            tuple(CauseCount(c, Share(100 * k, 2800, {"error": 9})) for k, c in enumerate(ALL_CAUSES, 1)), 2809, 0, 0
        ),
        language=lang,
    ),
    "one cause": lambda lang: figures.causes(Pareto((CauseCount(LONG, Share(1, 1)),), 1, 0, 0), language=lang),
    "judge": lambda lang: figures.confusion(
        gate([(a, b) for a in LABELS for b in LABELS[:3] for _ in range(900)], 1), language=lang
    ),
    "threshold": lambda lang: figures.risk_coverage(sweep(curve(120), 0.2, 1), language=lang),
    "threshold of 2,000": lambda lang: figures.risk_coverage(sweep(curve(2000), 0.2, 1), language=lang),
    "changes": lambda lang: figures.changes([tried(None), tried(None, LONG)], language=lang),  # type: ignore[arg-type]
    "score": lambda lang: score_of(
        [Step("", head(0.6, 0.3)), Step("titles-and-glossary", head(0.8, 0.1)), Step(LONG, head(0.96, 0.02))],
        judged(head(0.96, 0.02)),
        language=lang,
    ),
    "score of one step": lambda lang: score_of([Step("", head(1.0, 0.0))], judged(head(1.0, 0.0)), language=lang),
    "score of 10,000": lambda lang: score_of(
        [Step("", head(0.0, 1.0, 10_000)), *(Step(LONG + str(k), head(0.5, 0.5, 10_000)) for k in range(8))],
        judged(head(0.5, 0.5, 10_000)),
        language=lang,
    ),
}


@pytest.mark.parametrize("language", ["en", "fr", "pl"])
@pytest.mark.parametrize("name", MAKE)
def test_no_words_leave_the_picture_or_stand_over_others(drawn: list[Any], name: str, language: str):
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # such as a layout that has no room, or a letter that the font lacks
        MAKE[name](language)
    (figure,) = drawn
    assert figure.get_figwidth() == WIDTH
    width, height = figure.get_size_inches() * figure.dpi
    boxes = [(t.get_text(), t.get_window_extent()) for t in texts(figure)]
    assert all(t.get_fontsize() >= TEXT for t in texts(figure))
    assert len(boxes) >= 3
    for text, box in boxes:
        assert box.x0 >= -1, (text, box)
        assert box.y0 >= -1, (text, box)
        assert box.x1 <= width + 1, (text, box)
        assert box.y1 <= height + 1, (text, box)
    for (one, first), (other, second) in itertools.combinations(boxes, 2):
        across = min(first.x1, second.x1) - max(first.x0, second.x0)
        down = min(first.y1, second.y1) - max(first.y0, second.y0)
        assert across <= 1 or down <= 1.5, (one, other, across, down)  # the line above and below may touch
    for axis in figure.axes:
        for text in axis.texts:  # words in the drawing stay over it; those beside it are annotations
            if type(text).__name__ == "Text":
                assert text.get_window_extent().x0 >= axis.get_window_extent().x0 - 1, text
                assert text.get_window_extent().x1 <= axis.get_window_extent().x1 + 1, text
        assert axis.get_window_extent().width >= LEAST_AXIS * width, name


def texts(figure: Any) -> list[Any]:
    """Every text that is drawn; not the labels of ticks out of view, which are made and not drawn."""
    from matplotlib.text import Text

    ways = [way for axis in figure.axes for way in (axis.xaxis, axis.yaxis)]
    made = {text for way in ways for text in way.findobj(Text)}
    drawn = [label for way in ways if way.get_visible() for t in way._update_ticks() for label in (t.label1, t.label2)]
    drawn += [way.label for way in ways if way.get_visible()]
    others = [text for text in figure.findobj(Text) if text not in made]
    return [text for text in (*drawn, *others) if text.get_visible() and text.get_text().strip()]


@pytest.mark.parametrize("name", MAKE)
def test_no_code_of_the_records_is_drawn(drawn: list[Any], name: str):
    MAKE[name]("en")
    said = " ".join(t.get_text() for t in texts(drawn[0]))
    assert not re.search(r"not_|hit5|_or_|should_have|at_most|at_least|nan|None", said.replace(LONG, "")), said


def test_no_interval_is_drawn_of_labels_of_which_some_are_the_judges_nor_of_few_answers(drawn: list[Any]):
    sure, judged_too = sweep(curve(120), 0.25, 1), sweep(curve(120), 0.25, 1, judged=7)
    assert "Vertical lines: 95 % intervals." in figures.risk_coverage(sure)
    assert "No intervals: 7 of the labels are the judge" in figures.risk_coverage(judged_too)
    for n in (9, 10):
        figures.causes(Pareto((CauseCount("not_retrieved", Share(4, n)),), n, 0, 0))
        figures.retrieval_by({"keyword": [segment("typo", 4, n)]}, "category")
        figures.retrieval({"keyword": found(4, 6, n)})
    counts = [sum(len(axis.lines) for axis in figure.axes) for figure in drawn]
    assert counts[0] - counts[1] == 2  # of two points
    assert [b - a for a, b in zip(counts[2:5], counts[5:8], strict=True)] == [2, 3, 4]  # a line and its ends, a point
