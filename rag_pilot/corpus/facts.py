"""Numbers and codes in a text, so that an expected answer can be held against its document.

1,500, 1 500 and 1.500 are one number, HX-20 and HX 20 one code. It errs towards finding: what it misses needs a look.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import Self

from ..identity import fold

_CODE = re.compile(r"(?<![^\W_])[^\W\d_]+[-./]?\d[\w-]*")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Facts:
    """What a text holds: its numbers, the text in which codes are sought, its words with single blanks between."""

    numbers: frozenset[str]
    joined: str
    spaced: str

    @classmethod
    def of(cls, text: str) -> Self:
        """The facts of a text; its numbers are kept as they stand, with thousands joined, and outside codes."""
        joined = _joined(text)
        readings = (_dashed(text), joined, _CODE.sub(" ", joined))
        numbers = frozenset(_shortest(number) for reading in readings for number in _NUMBER.findall(reading))
        return cls(numbers, joined, spaced(text))

    def hold(self, fact: str) -> bool:
        """Whether a number or code of `numbers_and_codes` stands in the text."""
        if _NUMBER.fullmatch(fact):
            return _shortest(fact) in self.numbers
        parts = r"[\W_]*".join(re.findall(r"\d+|[^\W\d_]+", fact))
        return re.search(rf"(?<![^\W_]){parts}(?!\d)", self.joined) is not None


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
