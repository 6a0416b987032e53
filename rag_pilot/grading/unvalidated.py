"""Answer relevance and context precision: two shares that nobody has held against people's judgement yet.

They say where to look and nothing more: every place that shows one must call it unvalidated, and no decision reads one.
Relevance: claims to the point of the question / claims of the answer. Context precision: passages useful for the
expected answer / passages shown (as in RAGChecker, Ru et al. 2024).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ..answering.answerer import Prompt
from ..answering.extractive import stems
from ..corpus.facts import Facts, numbers_and_codes
from ..records import Hit
from .faithfulness import NO_CLAIMS, UNREADABLE, Checked, Claim
from .sorting import MATERIAL, sort_items

SHORT = 4
"""Words of a claim that say something; one with no more is an answer in itself, such as "25 days"."""
USEFUL = 0.5
"""Share of the expected answer's words that a useful passage holds, beside all its numbers and codes."""
NO_REFERENCE, NO_PASSAGES = "no expected answer", "no passage shown"

Model = Callable[[str], str]


def answer_relevance(question: str, claims: Sequence[Claim], llm: Model | None = None) -> Checked:
    """Which claims are to the point; offline those that share a word with the question, and short ones."""
    if not claims:
        return Checked(why=NO_CLAIMS)
    if llm is not None:
        prompt = f"{_TO_THE_POINT}\n\nQuestion: {question}"
        return _sorted(sort_items(llm, prompt, "Statements", [claim.text for claim in claims]))
    asked = stems(question)
    return Checked(tuple(bool(asked & (said := stems(c.text))) or len(said) <= SHORT for c in claims))


def context_precision(question: str, expected: str, hits: Sequence[Hit], llm: Model | None = None) -> Checked:
    """Which of the passages shown are useful for the expected answer; offline by its numbers, codes and words."""
    wanted, facts = stems(expected), numbers_and_codes(expected)
    if not wanted and not facts:
        return Checked(why=NO_REFERENCE)
    if not hits:
        return Checked(why=NO_PASSAGES)
    if llm is not None:
        prompt = f"{Prompt(question, hits, _USEFUL)}\nExpected answer: {expected}"
        return _sorted(sort_items(llm, prompt, "Passages", [f"passage [{n}]" for n in range(1, len(hits) + 1)]))
    held = [(Facts.of(hit.shown), stems(hit.shown)) for hit in hits]
    return Checked(
        tuple(all(map(has.hold, facts)) and len(wanted & words) >= USEFUL * len(wanted) for has, words in held)
    )


def _sorted(said: tuple[bool, ...] | None) -> Checked:
    return Checked(why=UNREADABLE) if said is None else Checked(said)


_REPLY = 'Reply with one JSON object and nothing else: {"yes": [numbers], "no": [all other numbers]}'
_TO_THE_POINT = f"""Below are a question and numbered statements of an answer to it. Which are to the point?
A statement is to the point if it helps to answer the question, whether it is true or not.
{_REPLY}"""
_USEFUL = f"""Below are numbered passages, each between <<< and >>>, then a question and its expected answer.
A passage is useful if something of the expected answer can be read from it.
{MATERIAL}
{_REPLY}"""
