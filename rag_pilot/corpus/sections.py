"""Markdown text -> sections of blocks, by the token stream of a CommonMark parser: what is code is no heading.

A section is what stands under one heading, with the path of headings above it. What fits a model is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

PAGE = re.compile(r"^<!-- page (\d+) -->$")
_PARSER = MarkdownIt("commonmark").enable("table")


@dataclass(frozen=True)
class Block:
    """A top-level Markdown block as it stands in the source, with its token type and the page where it begins."""

    text: str
    kind: str
    page: int | None


@dataclass(frozen=True)
class Section:
    """The blocks under one heading (the heading's line is the first), with the path of headings."""

    headings: tuple[str, ...]
    blocks: tuple[Block, ...]


def sections_of(text: str) -> list[Section]:
    """Sections in order; headings that only lead to deeper headings travel with the first section that has text."""
    path: list[tuple[int, str]] = []
    waiting: list[Block] = []  # heading lines without text of their own
    found: list[Section] = []
    body: list[Block] = []

    def close() -> None:
        nonlocal waiting, body
        if body:
            found.append(Section(tuple(h for _, h in path), tuple(waiting + body)))
            waiting, body = [], []

    for block, level, heading in blocks_of(text):
        if not level:
            body.append(block)
            continue
        close()
        if waiting and path and level <= path[-1][0]:  # the heading before leads nowhere: it is a section of its own
            found.append(Section(tuple(h for _, h in path), tuple(waiting)))
            waiting = []
        while path and path[-1][0] >= level:
            path.pop()
        path.append((level, heading))
        waiting.append(block)
    close()
    if waiting:
        found.append(Section(tuple(h for _, h in path), tuple(waiting)))
    return found


def blocks_of(text: str) -> Iterable[tuple[Block, int, str]]:
    """(block, heading level or 0, heading text) of all top-level blocks; a line of no token goes to the one before."""
    lines = text.split("\n")
    tokens = _PARSER.parse(text)
    opening = [(i, t) for i, t in enumerate(tokens) if t.level == 0 and t.map and t.nesting >= 0]
    starts = [t.map[0] for _, t in opening if t.map] + [len(lines)]
    page: int | None = None
    if starts[0] > 0 and "".join(lines[: starts[0]]).strip():
        yield Block("\n".join(lines[: starts[0]]).strip("\n"), "paragraph_open", page), 0, ""
    for (index, token), (start, end) in zip(opening, pairwise(starts), strict=True):
        kept: list[str] = []
        begins = page
        for line in lines[start:end]:
            if mark := PAGE.match(line.strip()):
                page = int(mark[1])
                begins = begins if "".join(kept).strip() else page
            else:
                kept.append(line)
        source = "\n".join(kept).strip("\n")
        if not source.strip():
            continue
        heading = token.type == "heading_open"
        yield (
            Block(source, token.type, begins),
            int(token.tag[1:]) if heading else 0,
            _plain(tokens[index + 1]) if heading else "",
        )


def _plain(inline: Token) -> str:
    """The words of an inline token, its line breaks as blanks."""
    parts = (
        c.content if c.type in ("text", "code_inline") else " " * c.type.endswith("break")
        for c in inline.children or []
    )
    return " ".join("".join(parts).split())
