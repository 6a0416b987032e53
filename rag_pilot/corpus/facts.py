"""Numbers, codes and names in a text, so that an expected answer can be held against its document.

1,500, 1 500 and 1.500 are one number, HX-20 and HX 20 one code, Kowalskiego and Kowalski one name. It errs towards
finding: what it misses needs a look. Names are known by their capitals, so in Latin scripts only, and not in German.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Self

from ..identity import fold
from .sentences import sentences

_CODE = re.compile(r"(?<![^\W_])[^\W\d_]+[-./]?\d[\w-]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_WORD = re.compile(r"[^\W\d_]+")
_OPENING = re.compile(r"""[:\n•*|"“”„«»(\[]|\s[-–—]\s""")
"""What a capital may follow as it follows a full stop."""
_UNITS = frozenset({"OK", "EUR", "GBP", "PLN", "USD", "CHF"})  # a document writes their signs
_NAME_ENDING = 3  # letters that a name changes with its case: Warszawa, Warszawie


@dataclass(frozen=True)
class Facts:
    """What a text holds: its numbers, the text in which codes are sought, its words with single blanks between.

    `plain` is the text in which names are sought: folded, without accents.
    """

    numbers: frozenset[str]
    joined: str
    spaced: str
    plain: str

    @classmethod
    def of(cls, text: str) -> Self:
        """The facts of a text; its numbers are kept as they stand, with thousands joined, and outside codes."""
        joined = _joined(text)
        readings = (_dashed(text), joined, _CODE.sub(" ", joined))
        numbers = frozenset(_shortest(number) for reading in readings for number in _NUMBER.findall(reading))
        return cls(numbers, joined, spaced(text), _plain(text))

    def hold(self, fact: str) -> bool:
        """Whether a number or code of `numbers_and_codes` stands in the text."""
        if _NUMBER.fullmatch(fact):
            return _shortest(fact) in self.numbers
        parts = r"[\W_]*".join(re.findall(r"\d+|[^\W\d_]+", fact))
        return re.search(rf"(?<![^\W_]){parts}(?!\d)", self.joined) is not None

    def hold_name(self, name: str) -> bool:
        """Whether a word of `names` stands in the text, whatever its case, its accents and its last letters.

        An acronym also stands where its words do: EU in European Union.
        """
        word = _plain(name)
        stem = word[: max(4, len(word) - _NAME_ENDING)]
        written_out = r"\w*\W+".join(word) if name.isupper() else r"(?!)"
        return re.search(rf"(?<![^\W\d_])(?:{stem}|{written_out})", self.plain) is not None


def names(text: str, lang: str = "") -> list[str]:
    """Words that a capital or capitals throughout show to be a name, each once; none where capitals show nothing.

    A word that opens a sentence, a quotation or a list item is none, unless it is an acronym. Nouns of German have
    capitals, so there only acronyms are names; so where more than two words in five have one (titles).
    """
    found: list[tuple[str, bool]] = []  # word, whether it opens something
    for sentence in sentences(re.sub(_CODE.pattern, "0", text)):
        for piece in _OPENING.split(sentence):
            found += [(word, place == 0) for place, word in enumerate(_WORD.findall(piece)) if len(word) > 1]
    inner = [word for word, opens in found if not opens]
    capitals = [word for word in inner if word[0].isupper() and not word.isupper()]
    told = lang != "de" and len(capitals) <= 0.4 * len(inner)
    acronyms = {word for word, _ in found if word.isupper() and word not in _UNITS}
    if 2 * len(acronyms) > len(found):  # a text in capitals
        acronyms = set()
    kept = [w for w, opens in found if w in acronyms or told and not opens and w[0].isupper() and not w.isupper()]
    return [word for word in dict.fromkeys(kept) if all("LATIN" in unicodedata.name(c, "") for c in word)]


def numbers_and_codes(text: str) -> list[str]:
    """Codes (letters and then a digit: hx-20) and the numbers outside them, each once."""
    joined = _joined(text)
    return list(dict.fromkeys([*_CODE.findall(joined), *_NUMBER.findall(_CODE.sub(" ", joined))]))


def spaced(text: str) -> str:
    """The text in Unicode's composed form with every run of white space as one blank, case kept."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def _dashed(text: str) -> str:
    return re.sub("[\u2010-\u2015\u2212]", "-", fold(text))


def _joined(text: str) -> str:
    """Folded text, thousands joined, a decimal comma as a point."""
    text = re.sub(r"(?<=\d)[ ,.'\u2019](?=\d{3}(?!\d))", "", _dashed(text))
    return re.sub(r"(?<=\d),(?=\d)", ".", text)


def _shortest(number: str) -> str:
    whole, _, decimals = number.partition(".")
    return f"{whole.lstrip('0') or '0'}.{decimals.rstrip('0')}".rstrip(".")


def _plain(text: str) -> str:
    decomposed = unicodedata.normalize("NFKD", fold(text).replace("ł", "l"))
    return "".join(c for c in decomposed if not unicodedata.combining(c))
