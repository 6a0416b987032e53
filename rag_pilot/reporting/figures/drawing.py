"""The visual language of all pictures: sizes, colours, hatches, rows, intervals; and the sheet that is drawn on.

Figures are objects of their own: settings of the reader's session do not reach them, nor they it. It knows no result.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...analysis.intervals import Interval
from ..html import Html, paragraph, picture, section

WIDTH = 8.0  # inches; 768 pixels on a page

LABEL_LOOK = {  # colour-blind safe (Okabe and Ito 2008), and told apart by hatch where there is no colour
    "correct": ("#0072b2", ""),
    "partly": ("#8ecae6", "///"),
    "wrong": ("#d55e00", "xxx"),
    "declined": ("#c3c8ce", "..."),
    "error": ("#4d4d4d", "\\\\\\"),
    "not graded": ("#ffffff", ""),
}
RETRIEVER_LOOK = {"keyword": ("#b8860b", "s"), "dense": ("#a0468c", "^"), "hybrid": ("#00695c", "o")}
OTHER_LOOK = ("#4d4d4d", "D")

INK, FAINT = "#1b1f24", "#e3e6ea"
STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "axes.edgecolor": "#9aa2ab",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.6,
    "text.parse_math": False,  # a category may be called "$5 and $10"
    "svg.hashsalt": "rag-pilot",
    "svg.fonttype": "path",
}


@dataclass(frozen=True)
class Sheet:
    """One figure while it is drawn, with its axes from left to right."""

    figure: Any
    axes: Sequence[Any]

    def html(self, title: str, alt: str, caption: str) -> Html:
        """The figure as a picture with its title."""
        self.figure.suptitle(title, x=0.0, ha="left", fontsize=12, fontweight="bold", color=INK)
        data = io.BytesIO()
        self.figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
        return picture(re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"", data.getvalue()), alt, caption)


@contextmanager
def drawing(height: float, columns: int = 1) -> Iterator[Sheet]:
    """A sheet of the common width and so many inches in height, under the pictures' own settings."""
    import matplotlib  # half a second to import, needed here only
    from matplotlib.figure import Figure

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="white")
        axes = figure.subplots(1, columns, sharey=True, squeeze=False)[0]
        for axis in axes:
            axis.set_axisbelow(True)
        yield Sheet(figure, list(axes))


def rows(axis: Any, names: Sequence[str]) -> None:
    """Named rows, the first at the top, no ticks."""
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)


def percent_axis(axis: Any, room: float = 0.0) -> None:
    """From 0 to 100 %, with `room` for words on the right of it."""
    axis.set_xlim(0, 1 + room)
    axis.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axis.grid(axis="x", color=FAINT)
    axis.spines["bottom"].set_bounds(0, 1)


def interval(axis: Any, y: float, span: Interval | None, colour: str = INK) -> None:
    """A thin line with two ends; nothing where there is no interval."""
    if span is not None:
        axis.plot(list(span), [y, y], color=colour, linewidth=1.6, solid_capstyle="butt", zorder=3)
        axis.plot(list(span), [y, y], "|", color=colour, markersize=7, zorder=3)


def not_in_it(text: str) -> str:
    """What a caption says of that which is missing; empty where nothing is."""
    return f" Not in it: {text}." if text else ""


def no_picture(words: str) -> Html:
    """A sentence in place of a picture."""
    return section(paragraph(words, " There is nothing to draw yet."))
