"""Ruled tables of a PDF -> Markdown rows, put in place of those lines of a page that hold the same words.

A table is taken only where its cells, read row by row, are a run of whole lines of the page's text, word for word: so
no word is lost, doubled or moved, and what is only a box or a form stays text. It knows neither tables without rules
between their columns nor that a table goes on from the page before.
"""

from __future__ import annotations

import io
import logging
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import dropwhile
from typing import NamedTuple

from .markdown import one_line, table

FEWEST_RULES, MOST_RULES = 3, 2000
"""Lines and rectangles that a page with a table draws: fewer part nothing, more are a drawing and take long."""

_LEAST = 2  # rows, columns, and cells with text in each row

_Row = Sequence[str | None]

logging.getLogger("pdfminer").setLevel(logging.ERROR)  # it warns on every repaired file


class Table(NamedTuple):
    """Markdown rows that stand for the lines of a page from `first` up to, not including, `end`."""

    first: int
    end: int
    rows: str


def find_tables(data: bytes, pages: Mapping[int, Sequence[str]]) -> dict[int, list[Table]]:
    """The tables of pages (number from 1 -> lines as drawn), by line; a page that makes trouble has none."""
    if not pages:
        return {}
    import pdfplumber

    found: dict[int, list[Table]] = {}
    try:
        with pdfplumber.open(io.BytesIO(data), pages=list(pages)) as pdf:
            for page in pdf.pages:
                try:
                    grids = [grid.extract() for grid in page.find_tables()]
                except Exception:  # a damaged page makes the reader raise almost anything; its text is read already
                    continue
                finally:
                    page.close()
                found[page.page_number] = _placed(grids, pages[page.page_number])
    except Exception:  # the same for a damaged file
        return found
    return found


def _placed(grids: Iterable[Sequence[_Row]], lines: Sequence[str]) -> list[Table]:
    """The grids that hold the same words as a run of lines, each behind the one before."""
    placed: list[Table] = []
    for grid in grids:
        rows = list(dropwhile(lambda row: len(_filled(row)) < _LEAST, grid))  # a caption inside the frame stays text
        if len(rows) < _LEAST or any(len(_filled(row)) < _LEAST for row in rows):
            continue
        after = placed[-1].end if placed else 0
        runs = (_run(rows, lines, first) for first in range(after, len(lines)))
        placed += [run for run in runs if run][:1]
    return placed


def _filled(row: _Row) -> list[str]:
    return [cell for cell in row if cell and cell.strip()]


def _run(rows: Sequence[_Row], lines: Sequence[str], first: int) -> Table | None:
    """The table in the words of the lines from the first on; None where a cell or the last line does not end there."""
    words = [(word, n) for n in range(first, len(lines)) for word in one_line(lines[n]).split()]
    at, own = 0, list[list[str]]()
    for row in rows:
        own.append([])
        for cell in row:
            wanted, text, begin = _letters(cell or ""), "", at
            while len(text) < len(wanted) and at < len(words):
                text, at = text + _letters(words[at][0]), at + 1
            if text != wanted:
                return None
            own[-1].append(" ".join(word for word, _ in words[begin:at]))
    last = words[at - 1][1]
    return None if at < len(words) and words[at][1] == last else Table(first, last + 1, table(own))


def _letters(text: str) -> str:
    """What two readers of one file must agree on: all characters but white space, ligatures as their letters."""
    return "".join(unicodedata.normalize("NFKC", one_line(text)).split())
