"""Judges: from a question, the expected answer and a text to correct, partly or wrong.

A judge compares texts and sees neither documents nor declines; whether it may grade is decided by the gate, elsewhere.
The offline judge is a fixed rule over numbers, codes, names and shared words: no model, the same label on every
machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..identity import fold_word
from ..records import JUDGE_LABELS
from ..retrieval.keyword import tokenizer

Judge = Callable[[str, str, str], "str | Judgement | None"]
"""`judge(question, expected, text)`; a plain label serves as well, None is 'unreadable'."""

FULL, SOME = 0.6, 0.3
"""Shares of the expected answer that make a text correct, or partly: set by reading, never on a pilot's labels."""


@dataclass(frozen=True)
class Judgement:
    """A judge's label with its reason; an unreadable reply has no label and keeps its raw text."""

    label: str | None
    reason: str = ""
    raw: str = ""
    reused: bool | None = None  # whether the reply was kept from an earlier call; None: no model was asked


def offline_judge(question: str, expected: str, text: str) -> Judgement:
    """Grade by what of the expected answer stands in the text: its numbers and codes first, then its words.

    Citation marks do not count. All numbers and 60 % of the words: correct; half of the numbers, or 30 % of the words
    where there are none: partly; else wrong.
    """
    text = re.sub(r"\[\d+\]", " ", text)
    numbers = _numbers(expected) - _numbers(question)
    wanted = _stems(expected) - _stems(question)
    held = _stems(text)
    number_share = len(numbers & _numbers(text)) / len(numbers) if numbers else None
    if not wanted and not numbers:
        return Judgement(None, "the expected answer holds no word and no number that the question does not hold")
    word_share = len(wanted & held) / len(wanted) if wanted else number_share or 0.0
    if number_share is None:
        label = "correct" if word_share >= FULL else "partly" if word_share >= SOME else "wrong"
    else:
        both = 0.7 * number_share + 0.3 * word_share
        label = "correct" if number_share == 1 and word_share >= SOME else "partly" if both >= 0.5 else "wrong"
    shares = "" if number_share is None else f"{number_share:.0%} of its numbers, "
    return Judgement(label, f"holds {shares}{word_share:.0%} of the expected answer's words")


_TOKENS = tokenizer(("en", "fr", "pl"))


def _stems(text: str) -> frozenset[str]:
    return frozenset(w[:5] for w in _TOKENS(text) if not w.isdigit())


def _numbers(text: str) -> frozenset[str]:
    """Numbers and codes as compared: 1,500 = 1 500 = 1500; 20.0 = 20; HRF-112 as one."""
    text = re.sub(r"(?<=\d)[\s\u00a0\u202f,.](?=\d{3}\b)", "", text)
    found = set()
    for code in re.findall(r"\b[A-Za-z]{1,4}-?\d+[a-z]?\b|\d+(?:[.,:]\d+)*", text):
        plain = fold_word(code).replace("-", "").replace(",", ".")
        found.add(plain.removesuffix(".00").removesuffix(".0"))
    return frozenset(found)


RUBRIC = """Compare an answer with the expected answer to a question.
correct: it says everything that the expected answer says, and nothing that contradicts it.
partly: what it says is right, but something of the expected answer is missing.
wrong: it says something else, something false, or does not answer.
Extra detail is no fault. Marks such as [2] are citations: pass over them.
Reply with one JSON object and nothing else: {"reason": "...", "label": "correct" or "partly" or "wrong"}"""


@dataclass(frozen=True)
class ModelJudge:
    """A judge that asks a model by the rubric; one retry, then unreadable with the raw reply kept."""

    llm: Callable[[str], str]

    def __call__(self, question: str, expected: str, text: str) -> Judgement:
        """The model's label of an answer's text."""
        prompt = f"{RUBRIC}\n\nQuestion: {question}\nExpected answer: {expected}\nAnswer: {text}"
        reply = ""
        for _ in range(2):
            reply = self.llm(prompt)
            if (found := read_label(str(reply))) is not None:
                return replace(found, reused=getattr(reply, "reused", None))
        return Judgement(None, "unreadable", str(reply))

    def halt(self) -> None:
        """Give up the calls that wait."""
        getattr(self.llm, "halt", bool)()


def model_judge(llm: Callable[[str], str]) -> ModelJudge:
    """A judge that asks that model."""
    return ModelJudge(llm)


_DRESS = r"[\s*_`'\"“”‘’«»#>.:,;()\[\]–—-]*"
_LABEL_LINE = re.compile(rf"{_DRESS}(?:label{_DRESS})?(correct|partly|wrong){_DRESS}", re.I)


def read_label(reply: str) -> Judgement | None:
    """The label of a judge's reply: one JSON object (fenced or not), or a label alone on a line; None if unreadable.

    Two different labels, an unknown one, a repeated key or a cut object are unreadable: never a guess from a substring.
    """
    before, brace, rest = reply.partition("{")
    fields: list[tuple[str, Any]] = []
    if brace:
        try:
            fields, end = json.JSONDecoder(object_pairs_hook=list).raw_decode(brace + rest)
        except (ValueError, RecursionError):
            return None
        rest = rest[end - 1 :]
        if "{" in rest or sum(key == "label" for key, _ in fields) != 1:
            return None
    labels = {str(value).strip().lower() for key, value in fields if key == "label"}
    labels |= {match[1].lower() for line in f"{before}\n{rest}".splitlines() if (match := _LABEL_LINE.fullmatch(line))}
    reason = next((str(value) for key, value in fields if key == "reason"), "")
    return Judgement(labels.pop(), reason, reply) if len(labels) == 1 and labels <= set(JUDGE_LABELS) else None
