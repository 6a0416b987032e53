"""A text as a cell of a table that a spreadsheet will open, and back: an apostrophe before what it would run or change.

Formulas begin with = + - @, also in their wide forms. What looks like a number or a date loses zeros or becomes one.
"""

from __future__ import annotations

import re

_RUNS = re.compile(r"'*+(?:[ \n]*+[=+\-@＝＋－＠]|[ ]*+[\t\r\n])")  # noqa: RUF001 - wide signs begin formulas too
_NUMBER = re.compile(r"'*+(?=\D*+\d)[\d.,:/Ee+\- ]++%?")


def escaped(text: str) -> str:
    """The text as a cell that no spreadsheet runs as a formula or reads as a number; `unescaped` gives it back."""
    return "'" + text if _RUNS.match(text) or _NUMBER.fullmatch(text) else text


def unescaped(cell: str) -> str:
    """The text of a cell; an apostrophe that a person wrote stays."""
    return cell[1:] if cell.startswith("'") and escaped(cell) != cell else cell
