"""A question with the glossary's synonyms added, for both lists.

The glossary is a TOML table: jargon = ["synonym", ...]. A term is recognised as whole folded words; what it means in
another sense is not known.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..errors import SettingsError
from ..files import read_text
from .keyword import words


def read_glossary(path: Path) -> dict[str, tuple[str, ...]]:
    """Jargon to synonyms; an absent file is an empty glossary; SettingsError names the entry that does not fit."""
    if not path.exists():
        return {}
    try:
        table = tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as fault:
        raise SettingsError(
            f'{path}: {fault}; expected lines such as "blue list" = ["approved supplier list"]'
        ) from None
    for term, synonyms in table.items():
        if not isinstance(synonyms, list) or not all(isinstance(s, str) for s in synonyms):
            raise SettingsError(f'{path}: {term!r} is {synonyms!r}; expected a list of texts such as ["approved list"]')
    return {term: tuple(synonyms) for term, synonyms in table.items()}


def expander(glossary: Mapping[str, Sequence[str]]) -> Callable[[str], str]:
    """A function that appends, in brackets, the synonyms of every glossary term that stands in a question."""
    known = [(tuple(words(term)), tuple(synonyms)) for term, synonyms in glossary.items()]

    def expand(question: str) -> str:
        asked = words(question)
        added = dict.fromkeys(s for term, synonyms in known if _contains(asked, term) for s in synonyms)
        return f"{question} ({'; '.join(added)})" if added else question

    return expand


def _contains(asked: Sequence[str], term: Sequence[str]) -> bool:
    size = len(term)
    return size > 0 and any(tuple(asked[i : i + size]) == tuple(term) for i in range(len(asked) - size + 1))
