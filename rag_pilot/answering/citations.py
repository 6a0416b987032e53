"""Which passages an answer cites, in the forms that models really use; and whether it declines.

[1], [1, 3], [1-3], 【1】, [^1], [Source 1], [ 1 ], [[4]], [１] are understood and written as plain [n]. (1), raised
digits, "passage 1" and other brackets with a number are reported as not understood: they may mean something else.
Whether a citation is *right* is not known here.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..corpus.sentences import sentences

NOT_FOUND = "NOT_FOUND"

_NUMBERS = r"\d+(?:\s*[,;&+–—-]\s*(?:\^|(?:passages?|sources?|docs?|refs?)\s*)?\d+)*"
_FORMS = re.compile(
    rf"(?:\\?[\[【［])+\s*(?:\^|(?:passages?|sources?|docs?|documents?|refs?)\.?\s*:?\s*)?({_NUMBERS})\^?\s*(?:\\?[\]】］])+",
    re.I,
)
PLAIN = re.compile(r"\[(\d+)\]")
"""The mark that every other form is written as."""
_ODD = re.compile(
    r"(?<=[\w.!?])\s?(?:\(\d{1,2}(?:\s?[,;–-]\s?\d{1,2})*\)|[¹²³⁴-⁹]+|\^\d{1,2})(?=[\s.,;]|$)"  # (1), (1, 2), ¹
    r"|<sup>\s*\d|\b(?:passage|source)s? \d{1,2}\b"  # "as passage 1 says"
    r"|[\[【［][^\[\]】］\n]{0,40}\d[^\[\]】］\n]{0,40}[\]】］]"  # [1 and 2], 【4:0†source】
    r"|\((?:passages?|sources?|docs?|documents?|refs?)\b[^()\n]{0,20}\d[^()\n]{0,20}\)",  # (source 1)
    re.I,
)
MARK = re.compile(r"(?i:not\\?_found)|\bNOT FOUND\b")
"""The mark of a decline inside a longer text."""
LIST_MARK = re.compile(r"^[ \t]*(?:[-*•]|\d{1,2}[.)])[ \t]+", re.M)
"""What an item of a list begins with; its number is no part of what it says."""
BRACKETS = "[]【】［］\\"
_DIGITS = 9  # of a number that are read: no passage has a longer one
_LARGEST_RANGE = 50

# "the documents do not say" in the words that models use; a flag for a person, never a verdict
_OWN_WORDS = re.compile(
    "|".join(
        (
            r"could(?: no|n')t find|can(?:no|')t (?:find|answer)|unable to (?:find|answer|determine|locate)",
            r"do(?:es)?(?: not|n't) (?:say|know)\b|not enough information|insufficient information",
            r"(?:do|does|did|is|are)(?: not|n't) (?:contain|mention|specif|stated?\b|described|addressed)\w*",
            r"(?:passage|document|text|source|context|excerpt)s? (?:do|does|did)(?: not|n't) "
            r"(?:provid|includ|cover|address|answer|discuss|describ|giv)\w*",
            r"no (?:information|mention|answer)\b",
            r"ne (?:contien|mentionn|précis|fourni|perm|indiqu|couvr)\w* pas|(?:impossible|pas en mesure) de répondre",
            r"n'(?:indiqu|ai|a|est)\w* pas (?:trouv|précis|mentionn|indiqu)\w*",
            r"je ne (?:sais|trouve) pas|pas (?:assez )?d'informations?",
            r"aucune? (?:information|mention|réponse|précision)",
            r"nie (?:zawier|znalaz|znalez|wspomin|określ|podaj|ma informacji)\w*|brak informacji",
            r"nie (?:mogę|można) odpowiedzieć",
            r"nie (?:wiem\b|ma (?:odpowiedzi|wzmianki))|nie mówią o",
            r"steht (?:das |dazu )?nicht|nicht (?:gefunden|finden|enthalten|erwähnt|beantwort)\w*",
            r"keine? (?:angabe|information|hinweis|auskunft)",
            r"no (?:se )?(?:menciona|encontr|contien|especifica|indica)\w*|no hay información",
            r"não (?:encontr|menciona|cont[ée]m|especifica|indica|consta|há informa)\w*",
            r"non (?:contengono|contiene|menziona|trov|specifica|indica|ci sono informazioni|riporta)\w*",
            r"niet (?:vermeld|gevonden|vinden|genoemd|beantwoord)\w*|geen (?:informatie|vermelding)",
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
    numbers = tuple(sorted({int(n) for n in PLAIN.findall(normalised)}))
    return Citations(normalised, numbers, not numbers and bool(_ODD.search(normalised)))


def plain_citations(text: str) -> Citations:
    """The article's rule: [n] and nothing else."""
    return Citations(text, tuple(sorted({int(n[:_DIGITS]) for n in PLAIN.findall(text)})), False)


def without_citations(text: str) -> str:
    """The text with round brackets where it holds the form of a citation, so that a source's own [2] cites nothing."""
    return re.sub(_FORMS, lambda match: f"({match[0].strip(BRACKETS)})", text)


def is_not_found(text: str) -> bool:
    """Whether the reply is the mark alone, decoration, case and quotation marks stripped."""
    return re.sub(r"[^\w]", "", text.replace("_", "")).upper() == "NOTFOUND"


def flags_of(text: str) -> tuple[str, ...]:
    """`mixed`: the mark stands inside a longer text; `own_words`: the text seems to decline in its own words."""
    found = []
    if not is_not_found(text) and MARK.search(text):
        found.append("mixed")
    if _OWN_WORDS.search(text.replace("’", "'")):
        found.append("own_words")
    return tuple(found)


def uncited_sentences(text: str) -> tuple[int, int]:
    """(sentences without a citation, sentences): one mark at the end is no citation of what stands before it."""
    parts = [s for s in sentences(LIST_MARK.sub("", text)) if re.search(r"\w", PLAIN.sub("", s))]
    return sum(not PLAIN.search(s) for s in parts), len(parts)


def _expanded(numbers: str) -> list[int]:
    found: list[int] = []
    for part in re.split(r"\s*[,;&+]\s*", numbers):
        ends = [int(n[:_DIGITS]) for n in re.findall(r"\d+", part)]
        if len(ends) == 2 and 0 <= ends[1] - ends[0] <= _LARGEST_RANGE:
            found.extend(range(ends[0], ends[1] + 1))
        else:
            found.extend(ends)
    return found
