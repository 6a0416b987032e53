"""Which passages an answer cites, in the forms that models really use; and whether it declines.

[1], [1, 3], [1-3], 【1】, [^1], [Source 1], [ 1 ], [[4]], [１] are understood and written as plain [n]. (1), raised
digits and other brackets with a number are reported as not understood: they may mean something else. Whether a citation
is *right* is not known here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..corpus.sentences import sentences

NOT_FOUND = "NOT_FOUND"

_NUMBERS = r"\d+(?:\s*[,;&+–—-]\s*(?:\^|(?:passages?|sources?|docs?|refs?)\s*)?\d+)*"
_FORMS = re.compile(
    rf"[\[【［]+\s*(?:\^|(?:passages?|sources?|docs?|documents?|refs?)\.?\s*:?\s*)?({_NUMBERS})\s*[\]】］]+", re.I
)
_PLAIN = re.compile(r"\[(\d+)\]")
_ODD = re.compile(
    r"(?<=[\w.!?])\s?(?:\(\d{1,2}\)|[¹²³⁴-⁹]+)(?=[\s.,;]|$)"  # (1), raised digits
    r"|[\[【［][^\[\]】］\n]{0,40}\d[^\[\]】］\n]{0,40}[\]】］]"  # [1 and 2], 【4:0†source】
    r"|\((?:passages?|sources?|docs?|documents?|refs?)\b[^()\n]{0,20}\d[^()\n]{0,20}\)",  # (source 1)
    re.I,
)
_DIGITS = 9  # of a number that are read: no passage has a longer one
_LARGEST_RANGE = 50

# "the documents do not say" in the words that models use; a flag for a person, never a verdict
_OWN_WORDS = re.compile(
    "|".join(
        (
            r"could(?: no|n')t find|can(?:no|')t (?:find|answer)|unable to (?:find|answer|determine)",
            r"do(?:es)?(?: not|n't) say",
            r"(?:do|does|did|is|are)(?: not|n't) (?:contain|mention|provide|specif|include|cover|state)\w*",
            r"no (?:information|mention|answer)\b",
            r"ne (?:contien|mentionn|précis|fourni|perm|indiqu|couvr)\w* pas|(?:impossible|pas en mesure) de répondre",
            r"n'(?:indiqu|ai|a|est)\w* pas (?:trouv|précis|mentionn|indiqu)\w*",
            r"aucune? (?:information|mention|réponse|précision)",
            r"nie (?:zawier|znalaz|znalez|wspomin|określ|podaj|ma informacji)\w*|brak informacji",
            r"nie (?:mogę|można) odpowiedzieć",
            r"steht (?:das )?nicht|nicht (?:gefunden|enthalten|erwähnt)|keine (?:angabe|information)",
            r"no (?:se )?(?:menciona|encontr)\w*",
        )
    ),
    re.I,
)


@dataclass(frozen=True)
class Citations:
    """`text` with plain [n] marks, the cited `numbers` in order, and whether something else looked like a citation."""

    text: str
    numbers: tuple[int, ...]
    not_understood: bool


def read_citations(text: str) -> Citations:
    """The citations of a model's answer; ranges are expanded; digits of any script count."""

    def plain(match: re.Match[str]) -> str:
        return "".join(f"[{n}]" for n in _expanded(match[1]))

    normalised = _FORMS.sub(plain, text)
    numbers = tuple(sorted({int(n) for n in _PLAIN.findall(normalised)}))
    return Citations(normalised, numbers, not numbers and bool(_ODD.search(normalised)))


def plain_citations(text: str) -> Citations:
    """The article's rule: [n] and nothing else."""
    return Citations(text, tuple(sorted({int(n[:_DIGITS]) for n in _PLAIN.findall(text)})), False)


def without_citations(text: str) -> str:
    """The text with round brackets where it holds the form of a citation, so that a source's own [2] cites nothing."""
    return re.sub(_FORMS, lambda match: f"({match[0].strip('[]【】［］')})", text)


def is_not_found(text: str) -> bool:
    """Whether the reply is the mark alone, decoration, case and quotation marks stripped."""
    return re.sub(r"[^\w]", "", text.replace("_", "")).upper() == "NOTFOUND"


def flags_of(text: str) -> tuple[str, ...]:
    """`mixed`: the mark stands inside a longer text; `own_words`: the text seems to decline in its own words."""
    found = []
    if not is_not_found(text) and re.search(r"(?i:not\\?_found)|\bNOT FOUND\b", text):
        found.append("mixed")
    if _OWN_WORDS.search(text.replace("’", "'")):
        found.append("own_words")
    return tuple(found)


def uncited_sentences(text: str) -> tuple[int, int]:
    """(sentences without a citation, sentences): one mark at the end is no citation of what stands before it."""
    parts = [s for s in sentences(text) if re.search(r"\w", _PLAIN.sub("", s))]
    return sum(not _PLAIN.search(s) for s in parts), len(parts)


def _expanded(numbers: str) -> list[int]:
    found: list[int] = []
    for part in re.split(r"\s*[,;&+]\s*", numbers):
        ends = [int(n[:_DIGITS]) for n in re.findall(r"\d+", part)]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= _LARGEST_RANGE:
            found.extend(range(ends[0], ends[1] + 1))
        else:
            found.extend(ends)
    return found
