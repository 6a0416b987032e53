"""The honest floor: an answerer that copies the best sentences of the passages, with [n], or says NOT_FOUND.

It needs no model and invents nothing; it does not understand either: it counts shared words, rare ones more. A language
model has to beat it.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ..corpus.sentences import sentences
from ..records import Hit
from ..retrieval.keyword import tokenizer
from .answerer import NOT_FOUND, Prompt, Reply
from .citations import without_citations

_BEGINS = re.compile(r"\s*(?:[-*+>#|]|\d+[.)]\s|<!--)")  # a line that goes on with nothing before it
_WRAPPED = 50  # characters of a line that was broken because it was full
_STEM = 5  # letters compared: enough to join 'approves' and 'approval', 'urlop' and 'urlopu'
_RANK_WORTH = 0.03  # what a passage loses per rank, as a share of the question's words
_TOKENS = tokenizer(("en", "fr", "pl"))


@dataclass(frozen=True)
class Line:
    """A sentence of a passage, or a row of its tables, with its words as `stems`."""

    passage: int
    text: str
    words: frozenset[str]
    context: frozenset[str]  # headings, title and table head: what the line is about without saying so


def stems(text: str) -> frozenset[str]:
    """The beginnings of a text's words, stop words left out, by which inflected words meet; codes are whole."""
    return frozenset(w if any(c.isdigit() for c in w) else w[:_STEM] for w in _TOKENS(text))


def extractive(sentences_at_most: int = 2, coverage: float = 0.2) -> Callable[[str], Reply]:
    """An `llm` that copies at most that many sentences, the best of which holds that share of the question's words.

    Words are weighted by how rare they are among the lines shown; headings above a line count half. At `coverage` 0.2
    it answers about as often as it declines on the sample; chosen before any label existed.
    """

    def answer(prompt: str) -> Reply:
        if not isinstance(prompt, Prompt):
            raise TypeError("the extractive answerer needs a Prompt, which carries the question and the passages")
        lines = [line for n, hit in enumerate(prompt.passages, start=1) for line in lines_of(hit, n)]
        asked = stems(prompt.question)
        if not lines or not asked:
            return Reply(NOT_FOUND, model="extractive")
        weight = {w: math.log(1 + len(lines) / (1 + sum(w in line.words for line in lines))) for w in asked}
        total = sum(weight.values())

        def share(line: Line) -> float:
            inside = sum(weight[w] for w in asked & line.words)
            around = sum(weight[w] for w in asked & (line.context - line.words))
            return (inside + around / 2) / total - _RANK_WORTH * (line.passage - 1)

        best = max(range(len(lines)), key=lambda i: (share(lines[i]), -i))
        if share(lines[best]) < coverage:
            return Reply(NOT_FOUND, model="extractive")
        near = [i for i, line in enumerate(lines) if line.passage == lines[best].passage and i != best]
        near = sorted(near, key=lambda i: (-share(lines[i]), abs(i - best)))[: sentences_at_most - 1]
        kept = sorted([best, *(i for i in near if share(lines[i]) >= share(lines[best]) / 2)])
        return Reply(" ".join(f"{lines[i].text} [{lines[i].passage}]" for i in kept), model="extractive")

    return answer


def _unwrapped(lines: list[str]) -> Iterator[str]:
    """The lines, those that a file only breaks as one; short lines that begin anew, as of a list, stay apart."""
    whole: list[str] = []
    for line in [*lines, ""]:
        goes_on = whole and (line.lstrip()[:1].islower() or len(whole[-1]) >= _WRAPPED)
        if not line.strip() or _BEGINS.match(line) or not goes_on:
            if whole:
                yield " ".join(whole)
            whole = []
        if line.lstrip().startswith(("#", "|")) or not line.strip():
            yield line
        else:
            whole.append(line.strip() if whole else line)


def lines_of(hit: Hit, number: int = 1) -> list[Line]:
    """The sentences of a passage and the rows of its tables, a row told with its column heads."""
    about = stems(" ".join([hit.get("title", ""), *hit.get("headings", ())]))
    found: list[Line] = []
    head: list[str] = []
    for line in _unwrapped(without_citations(hit.shown).split("\n")):
        if line.lstrip().startswith("#") or not line.strip():
            head = []
            continue
        if line.startswith("|"):
            cells = [c.strip() for c in line.strip().strip("|").split("|")]
            if all(re.fullmatch(r":?-{2,}:?", c) for c in cells if c):
                continue
            if not head:
                head = cells
                continue
            told = "; ".join(f"{h}: {c}" if h else c for h, c in zip(head, cells, strict=False) if c)
            found.append(Line(number, told, stems(" ".join(cells)), about | stems(" ".join(head))))
            continue
        head = []
        for sentence in sentences(re.sub(r"^\s*(?:[-*+]|\d+[.)])\s+|^>\s*|\*\*|__|`", "", line)):
            found.append(Line(number, sentence, stems(sentence), about))
    return found
