"""Document -> passages: split at headings, sized in the embedding model's own tokens, ids stable under edits elsewhere.

A section that fits stays whole; one that does not is cut between blocks, then table rows or lines, then sentences, then
words, with an overlap of whole sentences. Every word of a document stands in some passage. What the text means, and who
asks for it, is not known here.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..progress import progress
from ..records import Document, Passage
from .sections import Block, Section, blocks_of, sections_of
from .sentences import sentences

TokenCounter = Callable[[Sequence[str]], list[int]]
"""Texts to their numbers of tokens in some embedding model, special tokens not counted."""


def count_words(texts: Sequence[str]) -> list[int]:
    """A counter for those who know no model: 4 tokens for 3 words, all-MiniLM's ratio on English prose."""
    return [-(-len(text.split()) * 4 // 3) for text in texts]


@dataclass(frozen=True)
class Splitter:
    """How documents are cut: `max_tokens` bounds title, headings and text together; `overlap` is a share of it.

    254 is all-MiniLM-L6-v2's window less its two special tokens; text beyond a model's window is not searchable. Room
    for title and headings is kept whether or not they are indexed, so that switching them on moves no passage. With
    `parent_tokens` each passage also carries as `parent` its section, or the run of pieces around it within that bound.
    """

    max_tokens: int = 254
    overlap: float = 0.15
    count: TokenCounter = count_words
    parent_tokens: int = 0

    def split(self, document: Document) -> list[Passage]:
        """The passages of one document, in its order; at least one where it has a word."""
        passages: list[Passage] = []
        seen: Counter[str] = Counter()
        for section in sections_of(document.text):
            head, budget = self._room(document.title, section.headings)
            pieces = list(self._pieces(section, budget))
            for piece, parent in zip(pieces, self._parents(pieces, self.parent_tokens - head), strict=True):
                text = _join(piece.units)
                sha = hashlib.sha256(text.encode()).hexdigest()[:8]
                seen[sha] += 1
                passages.append(
                    Passage(
                        id=f"{document.id}#{sha}" + (f"-{seen[sha]}" if seen[sha] > 1 else ""),
                        doc=document.id,
                        text=text,
                        groups=document.groups,
                        title=document.title,
                        headings=section.headings,
                        link=document.link,
                        lang=document.lang,
                        updated=document.updated,
                        owner=document.owner,
                        sensitivity=document.sensitivity,
                        page=piece.units[0].page,
                        tokens=_size(piece.units) + head,
                        parent=parent,
                    )
                )
        return passages

    def texts(self, passage: Passage) -> list[str]:
        """A passage's text in pieces that hold, title and headings included, at most `max_tokens`."""
        if 0 < passage.tokens <= self.max_tokens:  # 0: not counted
            return [passage.text]
        _, budget = self._room(passage.title, passage.headings)
        blocks = tuple(block for block, _, _ in blocks_of(passage.text))
        pieces = [_join(p.units) for p in self._pieces(Section(passage.headings, blocks), budget)] if blocks else []
        return pieces if len(pieces) > 1 else [passage.text]

    def _room(self, title: str, headings: Sequence[str]) -> tuple[int, int]:
        """Tokens of title and headings, and tokens left for text: an eighth of the bound where they leave less."""
        head = self.count([prefix_of(title, headings)])[0]
        return head, max(self.max_tokens - head, self.max_tokens // 8)

    def _pieces(self, section: Section, budget: int) -> Iterable[_Piece]:
        """The pieces of a section, none longer than the budget."""
        blocks = section.blocks
        sizes = self.count([b.text for b in blocks])
        if sum(sizes) <= budget:
            yield _Piece([_Unit(b.text, n, b.page, "\n\n") for b, n in zip(blocks, sizes, strict=True)])
            return
        units = [u for block, size in zip(blocks, sizes, strict=True) for u in self._units(block, size, budget)]
        piece = _Piece([])
        for unit in units:
            if piece.fresh and _size(piece.units) + unit.size > budget:
                yield piece
                repeated = self._overlap(piece.units, unit, budget)
                piece = _Piece(repeated, len(repeated))
            piece.units.append(unit)
        if piece.units:
            yield piece

    def _parents(self, pieces: Sequence[_Piece], budget: int) -> Iterable[str]:
        """For each piece the text of the run of pieces around it that fits the budget; empty where that is itself."""
        if self.parent_tokens:
            runs: list[list[_Piece]] = []
            size = 0
            for piece in pieces:
                size += _size(piece.fresh)
                if not runs or size > budget:
                    runs.append([])
                    size = _size(piece.units)
                runs[-1].append(piece)
            for run in runs:
                text = _join([*run[0].units, *(unit for piece in run[1:] for unit in piece.fresh)])
                yield from [text if len(run) > 1 else ""] * len(run)
        else:
            yield from [""] * len(pieces)

    def _units(self, block: Block, size: int, budget: int) -> list[_Unit]:
        """A block as it may be cut: whole where it fits, else rows, lines, sentences or words."""
        if size <= budget:
            return [_Unit(block.text, size, block.page, "\n\n", prose=block.kind == "paragraph_open")]
        if block.kind == "table_open":
            rows = block.text.split("\n")
            head, body = "\n".join(rows[:2]), rows[2:]
            head_size = self.count([head])[0]
            if head_size > budget // 2:  # rules as wide as their column cost a token a dash
                head = f"{rows[0]}\n{re.sub('-{4,}', '---', rows[1])}"
                head_size = self.count([head])[0]
            if head_size <= budget // 2:
                room = budget - head_size
                cut = [piece for row in body for piece in self._fit(row, room)]
                sizes = self.count(cut)
                first = _Unit(head, head_size, block.page, "\n\n", head=head, head_size=head_size)
                return [first] + [
                    _Unit(row, n, block.page, "\n", head=head, head_size=head_size)
                    for row, n in zip(cut, sizes, strict=True)
                ]
        prose = block.kind == "paragraph_open"
        parts = sentences(block.text) if prose else block.text.split("\n")
        cut = [piece for part in parts for piece in self._fit(part, budget)]
        glue = " " if prose else "\n"
        return [
            _Unit(text, n, block.page, "\n\n" if i == 0 else glue, prose=prose)
            for i, (text, n) in enumerate(zip(cut, self.count(cut), strict=True))
        ]

    def _fit(self, text: str, budget: int) -> list[str]:
        """The text, or its sentences, or its words in runs, or its characters in runs, each within the budget."""
        if self.count([text])[0] <= budget:
            return [text]
        for parts in (sentences(text), text.split(), [text[: len(text) // 2], text[len(text) // 2 :]]):
            if len(parts) > 1:
                break
        else:
            return [text]
        if len(text.split()) == 1:
            return [piece for part in parts for piece in self._fit(part, budget)]
        runs: list[list[str]] = [[]]
        total = 0
        for part, n in zip(parts, self.count(parts), strict=True):
            if runs[-1] and total + n > budget:
                runs.append([])
                total = 0
            runs[-1].append(part)
            total += n
        return [piece for run in runs for piece in ([" ".join(run)] if len(run) > 1 else self._fit(run[0], budget))]

    def _overlap(self, piece: Sequence[_Unit], following: _Unit, budget: int) -> list[_Unit]:
        """What the next piece repeats: the head of a table being cut, or the last sentences of prose."""
        if following.head and following.text != following.head:
            return [_Unit(following.head, following.head_size, following.page, "\n\n")]
        kept: list[_Unit] = []
        if not following.prose or following.glue != " ":
            return kept
        for unit in reversed(piece):
            if not unit.prose or _size(kept) + unit.size > min(self.overlap * budget, budget - following.size):
                break
            kept.insert(0, unit)
        return kept


def split_documents(documents: Sequence[Document], splitter: Splitter) -> list[Passage]:
    """The passages of all documents, in order."""
    every = progress(documents, "splitting", len(documents))
    return [passage for document in every for passage in splitter.split(document)]


def prefix_of(title: str, headings: Sequence[str]) -> str:
    """Title and heading path as they are indexed with a passage, a heading that repeats the title left out."""
    parts = [title, *(h for h in headings if h.casefold() != title.casefold())]
    return " > ".join(p for p in parts if p)


def question_above(title: str, headings: Sequence[str]) -> str:
    """The heading right above a passage (the title where there is none), if it asks a question; else empty."""
    above = [title, *headings][-1].strip()
    return above if above.endswith(("?", "？", "؟")) else ""


def with_groups(passages: Iterable[Passage], groups: dict[str, frozenset[str]]) -> list[Passage]:
    """The passages with the present groups of their documents; a document without an entry is open to nobody."""
    return [replace(p, groups=groups.get(p.doc, frozenset())) for p in passages]


# -- pieces ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Piece:
    """What becomes one passage: its units, the first `repeated` of which stand in the piece before it too."""

    units: list[_Unit]
    repeated: int = 0

    @property
    def fresh(self) -> list[_Unit]:
        return self.units[self.repeated :]


@dataclass(frozen=True)
class _Unit:
    text: str
    size: int  # tokens
    page: int | None
    glue: str  # what stands between it and the unit before it
    prose: bool = False
    head: str = ""  # of the table that it belongs to
    head_size: int = 0


def _size(units: Sequence[_Unit]) -> int:
    return sum(u.size for u in units)


def _join(units: Sequence[_Unit]) -> str:
    return units[0].text + "".join(u.glue + u.text for u in units[1:])
