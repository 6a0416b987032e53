"""A sentence that carries what it was made of, so that a page can say it in another language.

It is the English sentence, for records, terminals and tests; who speaks which language is not known here.
"""

from __future__ import annotations

from collections.abc import Mapping


class Said(str):
    """An English sentence with the name of its template and the values in it (numbers, names, other sentences)."""

    key: str
    values: Mapping[str, object]

    def __new__(cls, key: str, english: str, /, **values: object) -> Said:
        """`english` is the whole sentence; `key` and `values` give the same in a language of the reports."""
        made = super().__new__(cls, english)
        made.key, made.values = key, values
        return made

    def __getnewargs_ex__(self) -> tuple[tuple[str, str], dict[str, object]]:
        """What a copy is made of."""
        return (self.key, str(self)), dict(self.values)
