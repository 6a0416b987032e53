"""CSV and TSV -> Markdown: one table, its first row the head; the delimiter is found in the file."""

from __future__ import annotations

import csv
import io
import re

from ..files import decode, fold_lines
from .markdown import Converted, table

_DELIMITERS = ",;\t|"


def csv_to_markdown(data: bytes) -> Converted:
    """Every row of the file in its order; rows shorter or longer than the head keep all their cells."""
    text = fold_lines(decode(data)[0])
    named = re.match(r"sep=(.)\n", text, re.IGNORECASE)  # Excel's own mark
    if named:
        text = text[named.end() :]
    delimiter = named[1] if named else delimiter_of(text)
    csv.field_size_limit(max(csv.field_size_limit(), len(text) + 1))
    return Converted(table(csv.reader(io.StringIO(text), delimiter=delimiter)))


def delimiter_of(text: str) -> str:
    """The sign that parts the first line with words into the most cells; a comma if none does."""
    for line in re.sub(r'"[^"]*"', "x", text).split("\n"):
        if line.strip(_DELIMITERS + " "):
            return max(_DELIMITERS, key=line.count)
    return ","
