"""Judges: from a question, the expected answer and a text to correct, partly or wrong.

A judge compares texts and sees neither documents nor declines; whether it may grade is decided by the gate, elsewhere.
The offline judge is a fixed rule over numbers, codes, names and shared words: no model, the same label on every
machine.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from typing import Any

from ..answering.citations import flags_of
from ..identity import fold_word
from ..records import JUDGE_LABELS
from ..retrieval.keyword import tokenizer

Judge = Callable[[str, str, str], "str | Judgement | None"]
"""`judge(question, expected, text)`; a plain label serves as well, None is 'unreadable'."""

UNREADABLE = "unreadable"
"""The reason of a verdict whose replies could not be read, the second no more than the first."""
FULL, SOME = 0.6, 0.3
"""Shares of a short expected answer's words that make a text correct, or partly."""
LONG, OWN_FULL, OWN_SOME = 20, 0.4, 0.35
"""From so many words on an expected answer is a text of its own; then shares of the *graded* text's words count too.

Set on answers that people had labelled (benchmarks/judge.py, the even half, that of the sample among them).
"""
RULES = 2
"""Raised where the rules are changed: a judge by other rules is another judge, and has to be tested anew."""


@dataclass(frozen=True)
class Judgement:
    """A judge's label with its reason; an unreadable reply has no label and keeps its raw text."""

    label: str | None
    reason: str = ""
    raw: str = ""
    reused: bool | None = None  # whether the reply was kept from an earlier call; None: no model was asked
    spent: Mapping[str, Any] = field(default_factory=dict)  # tokens_in, tokens_out and seconds of all its calls


def offline_judge(question: str, expected: str, text: str) -> Judgement:
    """Grade by what of the expected answer stands in the text: its numbers and codes first, then its words.

    Words of the question and citation marks do not count, what the expected answer says in brackets may be missing, and
    a word may be spelt or inflected otherwise, a number up to twelve be written as a word. All numbers and 30 % of the
    words, or all numbers and hardly a word that is neither asked nor expected, or 60 % of the words where there are no
    numbers: correct; most of them, or 30 % of the words: partly; else wrong. Of an expected answer of 20 words or more
    nobody repeats all: correct is a text that holds 30 % of it and has 40 % of its own words from it, partly one that
    has 35 %. Yes against no, as first words, is wrong; where one of the two seems to say that it cannot answer and the
    other does not, partly is the most.
    """
    text = _plain(text)
    if {_POLARITY.get(_first(expected)), _POLARITY.get(_first(text))} == {True, False}:
        return Judgement("wrong", "says yes where the expected answer says no, or the reverse")
    wanted = _plain(expected)
    ways = [_compared(question, way, text) for way in (wanted, re.sub(r"\([^()]*\)", " ", wanted))]
    best = max(ways, key=lambda way: _ORDER.index(way.label))  # of two that are alike the first
    if best.label == "correct" and ("own_words" in flags_of(text)) != ("own_words" in flags_of(expected)):
        return Judgement("partly", f"{best.reason}; only one of the two says that it cannot answer")
    return best


def features(question: str, expected: str, text: str) -> tuple[float, ...]:
    """What the offline judge looks at, as numbers from 0 to 1, for a model that is fitted to labels.

    Its label (wrong 0, none .25, partly .5, correct 1); the share of the expected answer's words, those of the question
    left out where others remain, that the text holds; the share of the text's words that the expected answer holds;
    the share of its numbers (1 where it has none); whether one says yes and the other no; whether one alone says that
    it cannot answer.
    """
    label, said, wanted = offline_judge(question, expected, text).label, _plain(text), _plain(expected)
    asked = {word[:5] for word in _words(question)}
    words, held, numbers = _words(wanted), _words(said), _numbers(wanted) - _numbers(question)
    return (
        {"wrong": 0.0, "partly": 0.5, "correct": 1.0}.get(label or "", 0.25),
        _held([word for word in words if word[:5] not in asked] or words, held),
        _held(held, words),
        len(numbers & _said(said)) / len(numbers) if numbers else 1.0,
        float({_POLARITY.get(_first(wanted)), _POLARITY.get(_first(said))} == {True, False}),
        float(("own_words" in flags_of(said)) != ("own_words" in flags_of(wanted))),
    )


_ORDER = (None, "wrong", "partly", "correct")
_POLARITY = dict.fromkeys(("yes", "oui", "tak", "ja", "si"), True) | dict.fromkeys(("no", "non", "nie", "nein"), False)
_SPELT = {
    fold_word(word): str(number)
    for spelt in (
        "two three four five six seven eight nine ten eleven twelve",
        "deux trois quatre cinq six sept huit neuf dix onze douze",
        "dwa trzy cztery pięć sześć siedem osiem dziewięć dziesięć jedenaście dwanaście",
    )
    for number, word in enumerate(spelt.split(), start=2)
}
_TOKENS = tokenizer(("en", "fr", "pl"))
_GLUED = re.compile(r"(?<=[^\W\d_A-Z])(?=[A-Z][^\W\d_A-Z])")


def _compared(question: str, expected: str, text: str) -> Judgement:
    numbers = _numbers(expected) - _numbers(question)
    words, held, asked = _words(expected), _words(text), {word[:5] for word in _words(question)}
    if len(words) >= LONG:
        found, own = _held(words, held), _held(held, words)
        label = "correct" if own >= OWN_FULL and found >= SOME else "partly" if own >= OWN_SOME else "wrong"
        return Judgement(label, f"holds {found:.0%} of the expected answer's words, and {own:.0%} of its own are there")
    wanted = [word for word in words if word[:5] not in asked]
    if not wanted and not numbers:
        return Judgement(None, "the expected answer holds no word and no number that the question does not hold")
    if not numbers:
        share = _held(wanted, held)
        label = "correct" if share >= FULL else "partly" if share >= SOME else "wrong"
        return Judgement(label, f"holds {share:.0%} of the expected answer's words")
    number_share = len(numbers & _said(text)) / len(numbers)
    share = _held(wanted, held) if wanted else number_share
    others = _numbers(text) - numbers - _numbers(question)
    bare = not others and (not held or _held(held, [*words, *_words(question)]) >= FULL)
    most = 0.7 * number_share + 0.3 * share >= 0.5
    label = "correct" if number_share == 1 and (share >= SOME or bare) else "partly" if most else "wrong"
    return Judgement(label, f"holds {number_share:.0%} of its numbers, {share:.0%} of the expected answer's words")


def _plain(text: str) -> str:
    """Without citation marks; a capital inside a word ("byRufus") begins a new one; 16 h 30 is 16:30."""
    return re.sub(r"(?<=\d)\s?h\s?(?=\d\d\b)", ":", _GLUED.sub(" ", re.sub(r"\[\d+\]", " ", text)))


def _first(text: str) -> str:
    return fold_word(match[0]) if (match := re.match(r"\W*(\w+)(?=[\s,.;:!–-]|$)", text)) else ""


def _words(text: str) -> list[str]:
    """The words that say something, once each; numbers are compared apart."""
    return list(dict.fromkeys(word for word in _TOKENS(text) if not word.isdigit()))


def _held(wanted: Sequence[str], held: Sequence[str]) -> float:
    """The share of the wanted words that are held: by their first five letters, or spelt nearly alike."""
    beginnings = {word[:5] for word in held}
    return sum(w[:5] in beginnings or any(_alike(w, h) for h in held) for w in wanted) / len(wanted) if wanted else 0.0


def _alike(a: str, b: str) -> bool:
    """Truman and Trueman; the first letter must be the same, for regular is not irregular."""
    if a[0] != b[0] or min(len(a), len(b)) < 5 or abs(len(a) - len(b)) > 2:
        return False
    return SequenceMatcher(None, a, b, autojunk=False).ratio() >= 0.85


def _numbers(text: str) -> frozenset[str]:
    """Numbers and codes as compared: 1,500 = 1 500 = 1500; 20.0 = 20; 05 = 5; 1951-52 = 1951-1952; HRF-112 as one."""
    text = re.sub(r"(?<=\d)[\s\u00a0\u202f,.](?=\d{3}\b)", "", text)
    text = re.sub(r"\b(\d\d)(\d\d)\s?[-–]\s?(\d\d)\b", r"\1\2 \1\3", text)
    found = set()
    for code in re.findall(r"\b[A-Za-z]{1,4}-?\d+[a-z]?\b|\d+(?:[.,:]\d+)*", text):
        plain = fold_word(code).replace("-", "").replace(",", ".")
        found.add(plain.removesuffix(".00").removesuffix(".0").lstrip("0") or "0")
    return frozenset(found)


def _said(text: str) -> frozenset[str]:
    """The numbers of a text, those from two to twelve also where they are written as words."""
    return _numbers(text) | {_SPELT[word] for word in map(fold_word, re.findall(r"[^\W\d_]+", text)) if word in _SPELT}


RUBRIC = """Compare an answer with the expected answer to a question.
correct: it says everything that the expected answer says, and nothing that contradicts it.
partly: what it says is right, but something of the expected answer is missing.
wrong: it says something else, something false, or does not answer.
Extra detail is no fault. Marks such as [2] are citations: pass over them.
Reply with one JSON object and nothing else: {"reason": "...", "label": "correct" or "partly" or "wrong"}"""
SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "label": {"type": "string", "enum": list(JUDGE_LABELS)}},
    "required": ["reason", "label"],
    "additionalProperties": False,
}
"""The JSON schema of a judge's reply, for endpoints that hold a model to one; its reason comes before its label."""


@dataclass(frozen=True)
class ModelJudge:
    """A judge that asks a model by the rubric; one retry, then unreadable with the raw reply kept."""

    llm: Callable[[str], str]

    def __call__(self, question: str, expected: str, text: str) -> Judgement:
        """The model's label of an answer's text."""
        prompt = f"{RUBRIC}\n\nQuestion: {question}\nExpected answer: {expected}\nAnswer: {text}"
        replies: list[str] = []
        while len(replies) < 2:
            replies.append(self.llm(prompt))
            if (found := read_label(str(replies[-1]))) is not None:
                return replace(found, reused=getattr(replies[-1], "reused", None), spent=_spent(replies))
        last = replies[-1]
        return Judgement(None, UNREADABLE, str(last), getattr(last, "reused", None), _spent(replies))

    def halt(self) -> None:
        """Give up the calls that wait."""
        getattr(self.llm, "halt", bool)()


def _spent(replies: Sequence[str]) -> dict[str, Any]:
    """What the calls took, and which settings the endpoint refused; empty where they tell nothing."""
    if not all(hasattr(reply, "tokens_in") for reply in replies):
        return {}
    spent = {name: sum(getattr(reply, name) for reply in replies) for name in ("tokens_in", "tokens_out", "seconds")}
    refused = sorted({name for reply in replies for name in getattr(reply, "not_applied", ())})
    return spent | ({"not_applied": refused} if refused else {})


def model_judge(llm: Callable[[str], str]) -> ModelJudge:
    """A judge that asks that model."""
    return ModelJudge(llm)


_DRESS = r"[\s*_`'\"“”‘’«»#>.:,;()\[\]–—-]*"
_LABEL_LINE = re.compile(rf"{_DRESS}(?:label{_DRESS})?(correct|partly|wrong){_DRESS}", re.I)


def read_label(reply: str) -> Judgement | None:
    """The label of a judge's reply: one JSON object (fenced or not), or a label alone on a line; None if unreadable.

    Two different labels, an unknown one, a repeated key or a cut object are unreadable: never a guess from a substring.
    """
    before, brace, _ = reply.partition("{")
    fields, rest = _object(reply) if brace else ([], "")
    if fields is None or brace and sum(key == "label" for key, _ in fields) != 1:
        return None
    labels = {str(value).strip().lower() for key, value in fields if key == "label"}
    labels |= {match[1].lower() for line in f"{before}\n{rest}".splitlines() if (match := _LABEL_LINE.fullmatch(line))}
    reason = next((str(value) for key, value in fields if key == "reason"), "")
    return Judgement(labels.pop(), reason, reply) if len(labels) == 1 and labels <= set(JUDGE_LABELS) else None


def read_object(reply: str) -> list[tuple[str, Any]] | None:
    """The fields of a reply's one JSON object, in order and repeated ones too; None where there is not just one."""
    return _object(reply)[0]


def _object(reply: str) -> tuple[list[tuple[str, Any]] | None, str]:
    """The fields of the one object and what stands behind it; None for no object, a cut one, or two."""
    _, brace, rest = reply.partition("{")
    try:
        fields, end = json.JSONDecoder(object_pairs_hook=list).raw_decode(brace + rest)
    except (ValueError, RecursionError):
        return None, ""
    rest = rest[end - 1 :]
    return (None if "{" in rest else fields), rest
