"""The small Markdown that every converter writes: headings, paragraphs, list items, table rows.

Headings must be headings and nothing else may become one, whatever characters a source holds. It knows no file format.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark")
_ACTIVE = re.compile(r"^(#{1,6}(?=\s|$)|`{3}|~{3}|<(?=[!?]|(?:script|pre|style|textarea)\b)|=+$|-+$)", re.IGNORECASE)
_UNSEEN = re.compile("[\u00ad\u200b\u2060\ufeff\ud800-\udfff\x00-\x08\x0e-\x1b\x7f]")
_MOST_COLUMNS = 1000  # that one cell takes, whatever it says
_ITEM = re.compile(r"\s*(?:-|\d+\.) ")


@dataclass(frozen=True)
class Converted:
    """A file's text as Markdown, and what the file says of itself; `notes` are for whoever reads the list of files."""

    text: str
    title: str = ""
    updated: str = ""  # ISO date
    notes: tuple[str, ...] = ()
    pages: int = 0  # of a PDF
    empty_pages: int = 0  # of those, without text


def one_line(text: str) -> str:
    """The text with white space and no-break spaces folded to single blanks, soft hyphens and control marks dropped."""
    return " ".join(_UNSEEN.sub("", text).split())


def paragraph(text: str) -> str:
    """One line of prose; a mark at its start that Markdown would act on (a heading, fence or comment) is escaped."""
    return _ACTIVE.sub(r"\\\1", one_line(text))


def heading(level: int, text: str) -> str:
    """A heading line of level 1 to 6; empty where there is no text."""
    line = one_line(text)
    return f"{'#' * min(max(level, 1), 6)} {line}" if line else ""


def item(text: str, depth: int = 0, mark: str = "-") -> str:
    """One list item."""
    line = paragraph(text)
    return f"{'  ' * depth}{mark} {line}" if line else ""


def table(rows: Iterable[Sequence[str]]) -> str:
    """Markdown rows, the first as the head; empty rows are left out and short ones filled up."""
    cells = [[one_line(cell).replace("|", "\\|") for cell in row] for row in rows]
    cells = [row for row in cells if any(row)]
    if not cells:
        return ""
    width = max(map(len, cells))
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in cells]
    lines.insert(1, "|" + " --- |" * width)
    return "\n".join(lines)


def spread(rows: Iterable[Iterable[tuple[str, int, int]]]) -> list[list[str]]:
    """Cells (text, rows down, columns across) as full rows: a merged cell's text stands in each of its places.

    A cell that is alone in its row stands once, however wide it is.
    """
    lines = [list(row) for row in rows]
    places: dict[tuple[int, int], str] = {}
    for r, line in enumerate(lines):
        column = 0
        for text, down, across in line:
            while (r, column) in places:
                column += 1
            wide = min(max(across, 1), _MOST_COLUMNS)
            for y in range(r, min(r + max(down, 1), len(lines))):
                for x in range(column, column + (wide if len(line) > 1 else 1)):
                    places.setdefault((y, x), text)
            column += wide
    width = max((x for _, x in places), default=-1) + 1
    return [[places.get((r, x), "") for x in range(width)] for r in range(len(lines))]


def join(blocks: Iterable[str]) -> str:
    """The blocks with an empty line between them, list items directly below one another."""
    text, before = "", ""
    for block in filter(None, blocks):
        tight = _ITEM.match(before) and _ITEM.match(block)
        text += block if not text else ("\n" if tight else "\n\n") + block
        before = block
    return text


def first_heading(text: str) -> str:
    """The text of the first heading of a Markdown text, or empty; most are found in its first lines."""
    start = text[:4000].rpartition("\n")[0]
    return _first_heading(start) or _first_heading(text)


def _first_heading(text: str) -> str:
    for token, inline in pairwise(_PARSER.parse(text)):
        if token.type == "heading_open" and token.level == 0:
            words = one_line("".join(c.content or " " for c in inline.children or []))
            if words:
                return words
    return ""
