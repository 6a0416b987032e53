"""The visual language of all pictures: sizes, colours, hatches, rows, intervals; and the sheet that is drawn on.

A colour means one thing: those of labels are used for labels, those of retrievers for retrievers, all else is ink and
greys. Figures are objects of their own: settings of the reader's session do not reach them, nor they it. It knows no
result.
"""

from __future__ import annotations

import io
import re
import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ...analysis.intervals import Interval
from ..html import Html, paragraph, picture, section
from .wording import Wording

WIDTH = 8.0  # inches; 768 pixels on a page, and 17 cm on A4
TEXT, TITLE = 10.0, 12.0  # points, on A4 still 8.4 and 10
TITLE_LETTERS = 90  # of a line

INK, MIDDLE, PALE, FAINT = "#1b1f24", "#6b7280", "#c9ced4", "#e3e6ea"

LABEL_LOOK = {  # fill, hatch: apart in lightness, for print in grey; blue and orange for colour-blind readers
    "correct": ("#005b96", ""),
    "partly": ("#84b9de", "///"),
    "wrong": ("#d55e00", "xxx"),
    "declined": ("#dcdfe3", "..."),
    "error": ("#2b2b2b", "\\\\\\"),
    "not graded": ("#ffffff", ""),
}
DARK = ("correct", "wrong", "error")  # fills that take a white hatch
RETRIEVER_LOOK = {"keyword": ("#d9a400", "s"), "dense": ("#a5458f", "^"), "hybrid": ("#00463c", "o")}
OTHER_MARKER = "D"

STYLE = {
    "font.family": "DejaVu Sans",
    "font.size": TEXT,
    "axes.edgecolor": "#9aa2ab",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": TEXT,
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
    lang: str = "en"

    def html(self, title: str, alt: str, caption: str) -> Html:
        """The figure as a picture with its title."""
        self.figure.suptitle(
            textwrap.fill(title, TITLE_LETTERS), x=0.0, ha="left", fontsize=TITLE, fontweight="bold", color=INK
        )
        data = io.BytesIO()
        self.figure.savefig(data, format="svg", dpi=200, metadata={"Date": None, "Creator": None})
        return picture(re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]", b"", data.getvalue()), alt, caption, lang=self.lang)

    def share_of_axis(self, texts: Sequence[str]) -> list[float]:
        """How wide texts are, as shares of the first axis as it is laid out now."""
        self.figure.draw_without_rendering()
        across, widths = self.axes[0].get_window_extent().width, []
        for text in texts:
            drawn = self.figure.text(0, 0, text)
            widths.append(float(drawn.get_window_extent().width / across))
            drawn.remove()
        return widths


@contextmanager
def drawing(height: float, columns: int = 1, lang: str = "en") -> Iterator[Sheet]:
    """A sheet of the common width and so many inches in height, in a language, under the pictures' own settings."""
    import matplotlib  # half a second to import, needed here only
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(STYLE)
        layout = ConstrainedLayoutEngine(wspace=0.04 if columns > 1 else 0.02)
        figure = Figure(figsize=(WIDTH, height), layout=layout, facecolor="white")
        axes = figure.subplots(1, columns, sharey=True, squeeze=False)[0]
        for axis in axes:
            axis.set_axisbelow(True)
        yield Sheet(figure, list(axes), lang)


def short(name: str, letters: int = 24) -> str:
    """A name in two lines at most, what is too long for them cut off with a mark."""
    plain = " ".join(name.split())
    lines = textwrap.wrap(plain, letters) or [""]
    return "\n".join(lines[:2]) if len(lines) < 3 else f"{lines[0]}\n{lines[1][: letters - 1]}…"


def rows(axis: Any, names: Sequence[str]) -> None:
    """Named rows, the first at the top, no ticks."""
    axis.set_yticks(range(len(names)), names)
    axis.set_ylim(len(names) - 0.5, -0.5)
    axis.tick_params(axis="y", length=0)
    axis.spines["left"].set_visible(False)


def percent_axis(axis: Any, wording: Wording, top: float = 1.0, parts: int = 4) -> None:
    """From 0 to `top`, in percent."""
    ticks = [top * part / parts for part in range(parts + 1)]
    axis.set_xlim(0, top)
    axis.set_xticks(ticks, [*(wording.limit(t)[:-2] for t in ticks[:-1]), wording.limit(top)])
    axis.grid(axis="x", color=FAINT)


def beside(axis: Any, y: float, text: str, lines: float = 0.0, weight: str = "normal") -> None:
    """Words on the right of the axis at y, moved down by so many lines; the layout makes room for them."""
    axis.annotate(
        text,
        (1, y),
        xytext=(9, -1.35 * TEXT * lines),
        xycoords=axis.get_yaxis_transform(),
        textcoords="offset points",
        va="center",
        fontweight=weight,
        annotation_clip=False,
    )


def above(axis: Any, lines: Sequence[str]) -> None:
    """Lines of words over the axis, the first one bold; the layout makes room for them."""
    for k, line in enumerate(reversed(lines)):
        axis.annotate(
            line,
            (0, 1),
            xytext=(0, 7 + 1.4 * TEXT * k),
            xycoords="axes fraction",
            textcoords="offset points",
            va="baseline",
            fontweight="bold" if k == len(lines) - 1 else "normal",
            annotation_clip=False,
        )


def interval(axis: Any, y: float, span: Interval | None) -> None:
    """A thin line with two ends; nothing where there is no interval."""
    if span is not None:
        axis.plot(list(span), [y, y], color=INK, linewidth=1.5, solid_capstyle="butt", zorder=3, clip_on=False)
        axis.plot(list(span), [y, y], "|", color=INK, markersize=7, zorder=3, clip_on=False)


def point(axis: Any, x: float, y: float, colour: str = INK, marker: str = "o", hollow: bool = False) -> None:
    """A value, outlined in ink, so that it is seen in any colour."""
    face = "white" if hollow else colour
    axis.plot(x, y, marker, color=INK, markerfacecolor=face, markersize=7.5, zorder=4, clip_on=False)


def no_picture(wording: Wording, words: str) -> Html:
    """A sentence in place of a picture."""
    return section(paragraph(words, " ", wording("nothing_to_draw")), lang=wording.language)
