"""Faithfulness: how many claims of an answer the passages that it cites support, of all that it makes.

A claim is a sentence, or a part of one that joins statements; what asserts nothing (a question, an apology, "yes") is
none, and an answer without a claim has no value. Offline a claim is held against the sentences of its passages by
numbers, dates, names, words and negation: the same on every machine, measured against people in benchmarks/judge.py.
It does not know what words mean, so a paraphrase in other words counts as not supported.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..answering.answerer import Prompt
from ..answering.citations import LIST_MARK, MARK, PLAIN, flags_of
from ..answering.extractive import Line, lines_of, stems
from ..answering.support import absent_facts
from ..corpus.language import guess_language
from ..corpus.sentences import sentences
from ..identity import fold_word
from ..records import Hit
from .sorting import MATERIAL, sort_items

SUPPORTED = 0.6
"""Share of a claim's words that must stand in up to three neighbouring sentences of a passage."""
FAITHFUL = 0.5
"""From that share of supported claims on people call a whole answer faithful.

Both are round values near the best of real answers that people had labelled (benchmarks/judge.py, the even half), and
never of a pilot's own.
"""
WINDOW = 3

NO_CLAIMS, OTHER_LANGUAGE, UNREADABLE = "no claims", "in another language than its passages", "unreadable reply"


@dataclass(frozen=True)
class Claim:
    """One statement without its citation marks, and the places (from 1) of the passages that it cites."""

    text: str
    cited: tuple[int, ...]


@dataclass(frozen=True)
class Checked:
    """Which parts of one answer hold, in order; where nothing could be measured there is none, and `why` says so."""

    held: tuple[bool, ...] = ()
    why: str = ""

    @property
    def value(self) -> float | None:
        """The share that holds; None where nothing was measured, neither 0 nor 1."""
        return sum(self.held) / len(self.held) if self.held else None


def faithfulness(
    question: str, claims: Sequence[Claim], hits: Sequence[Hit], llm: Callable[[str], str] | None = None
) -> Checked:
    """Which claims are supported by the passages that they cite, offline or by a model.

    `hits` are the passages shown, in order. A claim that cites nothing is not supported. Offline an answer is not
    measured where a claim cannot be compared because its passages are of another language.
    """
    if not claims:
        return Checked(why=NO_CLAIMS)
    if llm is not None:
        return _by_model(question, claims, hits, llm)
    lang = guess_language(" ".join(claim.text for claim in claims))
    lines = [lines_of(hit) for hit in hits]
    held = [_supported(claim, hits, lines, lang) for claim in claims]
    known = tuple(h for h in held if h is not None)
    return Checked(known) if len(known) == len(held) else Checked(why=OTHER_LANGUAGE)


# -- claims ----------------------------------------------------------------------------------------------------------

_JOINS = re.compile(
    r";\s+|,\s+(?:and|but|or|while|whereas|et|mais|ou|tandis que|alors que|ale|a|oraz|lub|natomiast|zaś)\s+", re.I
)
_WORDS_OF_A_STATEMENT = 3
_FILLERS = stems(
    "yes no sure certainly course absolutely okay ok thanks thank hello hi sorry apologies unfortunately welcome please"
    " oui non bonjour merci désolé désolée malheureusement tak nie dziękuję proszę przepraszam niestety ja nein leider"
)
_OF_ITSELF = re.compile(
    r"\bi(?:['’]m| am) (?:unable|not able|not sure|sorry)"
    r"|\bi (?:can ?not|can['’]t|do(?: not|n['’]t)|could(?: not|n['’]t))\b"
    r"|\bje (?:ne (?:peux|sais|dispose)|suis désolée?)|\bnie (?:mogę|wiem|jestem w stanie)\b|przykro mi|ich kann nicht",
    re.I,
)


def claims_of(text: str) -> tuple[Claim, ...]:
    """The claims of an answered text with plain [n] marks; a part without a mark has those of its sentence."""
    found = []
    for sentence in sentences(LIST_MARK.sub("", text)):
        marks = _marks(sentence)
        for part in _parts(sentence):
            plain = " ".join(re.sub(rf"\s*{PLAIN.pattern}", "", part).split())
            if _asserts(plain):
                found.append(Claim(plain, _marks(part) or marks))
    return tuple(found)


def _marks(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(n) for n in PLAIN.findall(text)}))


def _parts(sentence: str) -> list[str]:
    """The sentence, cut where it joins two statements: each side has three words or more that say something."""
    parts, start = [], 0
    for join in _JOINS.finditer(sentence):
        sides = sentence[start : join.start()], sentence[join.end() :]
        if all(len(stems(PLAIN.sub(" ", side))) >= _WORDS_OF_A_STATEMENT for side in sides):
            parts.append(sides[0])
            start = join.end()
    return [*parts, sentence[start:]]


def _asserts(text: str) -> bool:
    """Whether a text without marks says something of the matter."""
    if text.endswith("?") or MARK.search(text) or _OF_ITSELF.search(text) or flags_of(text):
        return False
    return bool(stems(text) - _FILLERS)


# -- offline ---------------------------------------------------------------------------------------------------------

_NOT = re.compile(
    r"\b(?:not|never|nor|neither|without|cannot|no(?!\.? ?\d)|ne|jamais|aucune?|sans|nie|nigdy|bez|zadn\w+|zaden)\b"
    r"|n['’]t\b|\bn['’](?=[a-z])"
)


def _supported(claim: Claim, hits: Sequence[Hit], lines: Sequence[Sequence[Line]], lang: str) -> bool | None:
    """None where words cannot tell, because the passages are of another language."""
    cited = [n - 1 for n in claim.cited if 0 < n <= len(hits)]
    if not cited or absent_facts(_marked(claim), hits):
        return False
    if any(_say(lines[place], claim.text) for place in cited):
        return True
    foreign = bool(lang) and all(hits[place].get("lang") not in ("", None, lang) for place in cited)
    return None if foreign else False


def _marked(claim: Claim) -> str:
    return claim.text + "".join(f" [{n}]" for n in claim.cited)


def _say(lines: Sequence[Line], claim: str) -> bool:
    """Whether neighbouring lines hold most of a claim's words, and the nearest of them denies as the claim does."""
    wanted, denied = stems(claim), _denies(claim)
    shared = [len(wanted & (line.words | line.context)) for line in lines]
    for size in range(1, WINDOW + 1):
        for start in range(max(1, len(lines) - size + 1)):
            window = lines[start : start + size]
            held = frozenset[str]().union(*(line.words | line.context for line in window))
            if window and len(wanted & held) >= SUPPORTED * len(wanted):
                nearest = max(range(start, start + len(window)), key=lambda i: shared[i])
                if _denies(lines[nearest].text) == denied:
                    return True
    return False


def _denies(text: str) -> bool:
    return bool(_NOT.search(fold_word(text)))


# -- by a model ------------------------------------------------------------------------------------------------------

RUBRIC = f"""Below are numbered passages, each between <<< and >>>, then a question and numbered claims of an answer.
A claim is supported if the passages named in its brackets say so; what you know besides does not count.
{MATERIAL}
Reply with one JSON object and nothing else: {{"yes": [numbers of supported claims], "no": [numbers of all others]}}"""


def _by_model(question: str, claims: Sequence[Claim], hits: Sequence[Hit], llm: Callable[[str], str]) -> Checked:
    """One call for all claims that cite something; the others are not supported."""
    cited = [claim for claim in claims if any(0 < n <= len(hits) for n in claim.cited)]
    said = sort_items(llm, Prompt(question, hits, RUBRIC), "Claims", list(map(_marked, cited))) if cited else ()
    if said is None:
        return Checked(why=UNREADABLE)
    by_claim = dict(zip(map(id, cited), said, strict=True))
    return Checked(tuple(by_claim.get(id(claim), False) for claim in claims))
