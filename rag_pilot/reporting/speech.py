"""The words of what a sponsor reads, in her language: the first page, the pictures, the decision.

Each file of `texts/` holds one part, with the same keys in every language; {} are filled in. The other pages are
English. Which language is asked for is known in pilot.toml (`report_language`).
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from ..errors import SettingsError

Texts = Mapping[str, str]

FOLDER = Path(__file__).parent / "texts"


@cache
def speech(part: str, language: str) -> Texts:
    """The words of a part (a file of `texts/`) in a language: en, fr or pl; SettingsError for another one."""
    known = tomllib.loads((FOLDER / f"{part}.toml").read_text(encoding="utf-8"))
    if language not in known:
        raise SettingsError(f"reports have no language {language!r}; they speak {', '.join(known)}")
    words: Texts = known[language]
    return words
