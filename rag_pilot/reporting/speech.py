"""The words of what a sponsor reads, in her language: the first page, the pictures, the decision.

Each file of `texts/` holds one part, with the same keys in every language; {} are filled in, and what stands after the
colon in them says how a value is written (see `Voice`). The other pages are English. Which language is asked for is
known in pilot.toml (`report_language`).
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from ..analysis.headline import Headline
from ..analysis.shares import percent
from ..analysis.threshold import Sweep
from ..errors import SettingsError
from ..said import Said

Texts = Mapping[str, str]

FOLDER = Path(__file__).parent / "texts"
NARROW = "\u202f"  # the narrow no-break space of French and Polish numbers


@cache
def speech(part: str, language: str) -> Texts:
    """The words of a part (a file of `texts/`) in a language: en, fr or pl; SettingsError for another one."""
    known = tomllib.loads((FOLDER / f"{part}.toml").read_text(encoding="utf-8"))
    if language not in known:
        raise SettingsError(f"reports have no language {language!r}; they speak {', '.join(known)}")
    words: Texts = known[language]
    return words


def form_of(noun: str, n: int, language: str) -> str:
    """Of the forms of a noun, such as 'answer|answers', the one for so many: two, or Polish three (1, 2 to 4, 5)."""
    forms = noun.split("|")
    few = language == "pl" and n % 10 in (2, 3, 4) and n % 100 not in (12, 13, 14)
    one = n < 2 if language == "fr" else n == 1
    return forms[0 if one else 1 if few or len(forms) == 2 else 2]


class Voice(string.Formatter):
    """Fills in the words of `pages.toml` in one language, and writes numbers and counted nouns as it does.

    In a place {value:how}: `%` is a whole percentage with its sign and `p` one without, `.1f%` and `g%` say how exact,
    `day` is a date written out, `#answer` a count with its noun, `@cause` the words of a code, and `and`, `or` or `;`
    joins several; any other is Python's own, with the language's decimal mark and thousands.
    """

    def __init__(self, language: str) -> None:
        self.language, self.texts = language, speech("pages", language)

    def __call__(self, key: str, /, **values: object) -> str:
        """The words of a key, filled in."""
        return self.vformat(self.texts[key], (), values)

    def say(self, sentence: str) -> str:
        """A sentence of the analysis in this language; one that does not know what it was made of stays as it is."""
        return self(f"said_{sentence.key}", **sentence.values) if isinstance(sentence, Said) else sentence

    def sentences(self, found: Headline | Sweep) -> str:
        """All that a result says of itself."""
        return " ".join(map(self.say, found.said)) or found.words

    def code(self, kind: str, value: object) -> str:
        """The words of a code, such as those of a cause; a code that has none stands as it is."""
        return self.texts.get(f"{kind}_{value}".replace(" ", "_"), str(value))

    def count(self, n: int, noun: str) -> str:
        """Such as '3 answers', by the plural of the language."""
        return f"{self.number(n)} {form_of(self.texts[noun], n, self.language)}"

    def number(self, value: float, how: str = ",") -> str:
        """A number as Python formats it, with the marks of the language."""
        marks: dict[str, str | int | None] = {} if self.language == "en" else {",": NARROW, ".": ","}
        return format(value, how).translate(str.maketrans(marks))

    def format_field(self, value: Any, format_spec: str) -> str:
        """One value in the way that its place asks for."""
        how = format_spec
        if isinstance(value, tuple):
            between = {"": ", ", ";": "; "}.get(how) or f" {self(how)} "
            return between.join(map(self.say, value))
        if how == "day":
            return self._day(str(value))
        if how[:1] == "#":
            return self.count(value, how[1:])
        if how[:1] == "@":
            return self.code(how[1:], value)
        if how == "p":
            return percent(value)
        if how.endswith("%"):
            said = percent(value) if how == "%" else self.number(100 * value, how[:-1])
            return f"{said}{' ' if self.language == 'en' else NARROW}%"
        if isinstance(value, str):
            return self.say(value)
        return self.number(value, how) if how else str(value)

    def percent(self, share: float) -> str:
        """A share as a whole percentage with its sign."""
        return self.format_field(share, "%")

    def _day(self, iso: str) -> str:
        """Such as '1 December 2026', '1er décembre 2026', '1 grudnia 2026'; what is no date stands as it is."""
        try:
            year, month, day = map(int, iso.split("-"))
            name = self.texts["months"].split("|")[month - 1]
        except (ValueError, IndexError):
            return iso
        return f"{day}{'er' if self.language == 'fr' and day == 1 else ''} {name} {year}"
