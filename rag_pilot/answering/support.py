"""Which numbers, dates and names of a cited sentence do not occur in the passages that it cites.

A flag for a person, never a verdict: a sum that the model worked out rightly is absent too, and a number that occurs
may belong to something else. It errs towards finding. What a sentence claims beside its facts is not known here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence

from ..corpus.facts import Facts, names, numbers_and_codes
from ..corpus.language import guess_language
from ..corpus.sentences import sentences
from ..records import Hit
from .citations import LIST_MARK, MARK, PLAIN

_MONTHS = [
    "january jan janvier stycznia styczeń januar",
    "february feb février lutego luty februar",
    "march mar mars marca marzec märz",
    "april apr avril kwietnia kwiecień",
    "may mai maja maj",
    "june jun juin czerwca czerwiec juni",
    "july jul juillet lipca lipiec juli",
    "august aug août sierpnia sierpień",
    "september sept sep septembre września wrzesień",
    "october oct octobre października październik oktober",
    "november nov novembre listopada listopad",
    "december dec décembre grudnia grudzień dezember",
]
_MONTH = {word: number for number, words in enumerate(_MONTHS, start=1) for word in words.split()}
_NAMED = rf"(?<![^\W_])(?:{'|'.join(sorted(_MONTH, key=len, reverse=True))})(?![^\W_])"
_NUMERIC = r"(?<!\d)(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{4})(?!\d)"
_DATE = re.compile(
    rf"{_NUMERIC}|(?<!\d)\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s+(?:of\s+|de\s+)?{_NAMED}\.?(?:,?\s+\d{{4}}(?!\d))?"
    rf"|{_NAMED}\.?\s+\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,?\s+\d{{4}}(?!\d))?|{_NAMED}\.?\s+\d{{4}}(?!\d)",
    re.I,
)
_WRITTEN = """one un une jeden jedna jedno jednego jednej|two deux dwa dwie dwóch dwu|three trois trzy trzech
|four quatre cztery czterech|five cinq pięć pięciu|six sześć sześciu|seven sept siedem siedmiu|eight huit osiem ośmiu
|nine neuf dziewięć dziewięciu|ten dix dziesięć dziesięciu|eleven onze jedenaście|twelve douze dwanaście"""
_NUMBER_WORD = {word: str(n) for n, words in enumerate(_WRITTEN.split("|"), start=1) for word in words.split()}
_FULL_HOUR = re.compile(r"(?<=\d)\s?[:h]\s?00(?!\d)")


def absent_facts(text: str, hits: Sequence[Hit]) -> tuple[str, ...]:
    """The facts of an answer's cited sentences that their passages do not hold, each once, in the order of the text.

    `text` has plain [n] marks, n being the place in `hits`. Names are looked for only where sentence and passage are
    of one language, for another writes them otherwise. Sentences without a citation are not looked at.
    """
    lang = guess_language(PLAIN.sub("", text))
    found: dict[str, None] = {}
    for sentence in sentences(LIST_MARK.sub("", MARK.sub(" ", text))):
        cited = [hits[n - 1] for n in map(int, PLAIN.findall(sentence)) if 0 < n <= len(hits)]
        if cited:
            named = all(hit.get("lang") in ("", lang) for hit in cited)
            read = "\n".join("\n".join((h.doc, h.get("title", ""), *h.get("headings", ()), h.shown)) for h in cited)
            found |= dict.fromkeys(_absent(PLAIN.sub("", sentence), read, named, lang))
    return tuple(found)


def _absent(sentence: str, read: str, named: bool, lang: str) -> Iterator[str]:
    read = _FULL_HOUR.sub("", unicodedata.normalize("NFC", read))
    written = " ".join(_NUMBER_WORD[w] for w in re.findall(r"[^\W\d_]+", read.lower()) if w in _NUMBER_WORD)
    held = Facts.of(f"{read}\n{written}")
    months = set(_months(read))
    sentence = _FULL_HOUR.sub("", unicodedata.normalize("NFC", sentence))
    for date in _DATE.findall(sentence):
        month = next(_months(date), 0)
        numbers = re.findall(r"\d+", re.sub(_NUMERIC, lambda m: _without_month(m[0]), date))
        if month not in months or not all(held.hold(number) for number in numbers):
            yield date
    rest = _DATE.sub(" ", sentence)
    yield from (fact for fact in numbers_and_codes(rest) if not held.hold(fact))
    if named:
        yield from (name for name in names(rest, lang) if not held.hold_name(name))


def _months(text: str) -> Iterator[int]:
    for found in re.finditer(rf"{_NUMERIC}|{_NAMED}", text, re.I):
        yield _MONTH.get(found[0].lower()) or int(re.split(r"[-./]", found[0])[1])


def _without_month(numeric: str) -> str:
    first, _, last = re.split(r"[-./]", numeric)
    return f"{first} {last}"
