"""A spreadsheet cell's value as a reader sees it: 12.5%, 2026-03-14, 3 and not 3.0.

Decimals, percent, currency and the words of a number format are kept. Thousands are not parted, because half of Europe
reads that comma as a decimal one; dates are ISO dates. It knows no file format.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

_PARTS = re.compile(r""""([^"]*)"|\\(.)|\[\$([^\]-]*)[^\]]*\]|(_.|\*.|\[[^\]]*\])|([#0?][#0?,.]*|General|@)|(.)""")
"""Of a number format: quoted words, one escaped sign, a currency; what shows nothing; digits; any other sign."""


def shown(value: Any, number_format: str = "General") -> str:
    """The text of a value under an Excel number format; empty for None."""
    match value:
        case None:
            return ""
        case bool():
            return str(value).upper()
        case datetime():
            timed = value.time() != time() and re.search("[hH]", re.sub(r'"[^"]*"|\[[^\]]*\]', "", number_format))
            return value.isoformat(" ", "minutes") if timed else value.date().isoformat()
        case date():
            return value.isoformat()
        case time():
            return value.isoformat("seconds" if value.second else "minutes")
        case timedelta():
            minutes = round(value.total_seconds() / 60)
            return f"{'-' * (minutes < 0)}{abs(minutes) // 60}:{abs(minutes) % 60:02}"
        case int() | float():
            return _number(value, number_format)
    return str(value)


def _number(value: float, number_format: str) -> str:
    sections = re.split(r';(?=(?:[^"]*"[^"]*")*[^"]*$)', number_format)
    own = 1 if value < 0 and len(sections) > 1 else 2 if value == 0 and len(sections) > 2 else 0
    parts = list(_PARTS.finditer(sections[own]))
    runs = [part[5] for part in parts if part[5]]
    if any(part[6] in ("E", "e", "/") for part in parts if part[6]):  # powers of ten and fractions
        return _plain(value)
    scaled = Decimal(repr(value)) * 100 ** sum(part[6] == "%" for part in parts)
    digits = iter(_digits(abs(scaled), runs))
    text = "".join(next(digits) if p[5] else p[1] or p[2] or p[3] or p[6] or "" for p in parts)
    minus = "-" if value < 0 and own == 0 and re.search("[1-9]", text) else ""
    return " ".join(f"{minus}{text.strip()}".split())


def _digits(value: Decimal, runs: list[str]) -> list[str]:
    """The digits that stand in each run of digit signs of a format; a format such as 00-00-00 has several."""
    if len(runs) > 1:
        sizes = [len(run) for run in runs]
        text = str(int(value)).zfill(sum(run.count("0") for run in runs))
        ends = [len(text) - sum(sizes[i + 1 :]) for i in range(len(sizes))]
        return [text[max(start, 0) : max(end, 0)] for start, end in zip([0, *ends], ends, strict=False)]
    if runs in ([], ["General"], ["@"]):
        return [_plain(float(value))]
    whole, _, decimals = runs[0].partition(".")
    value = value / 1000 ** (len(runs[0]) - len(runs[0].rstrip(",")))
    rounded = value.quantize(Decimal(1).scaleb(-sum(c in "#0?" for c in decimals)), ROUND_HALF_UP)
    text, _, tail = f"{rounded:f}".partition(".")
    while tail and len(tail) > sum(c == "0" for c in decimals) and tail.endswith("0"):
        tail = tail[:-1]
    return [text.zfill(whole.count("0")) + (f".{tail}" if tail else "")]


def _plain(value: float) -> str:
    if value == int(value):
        return str(int(value))
    text = f"{value:.10g}"
    return text if "e" not in text else repr(value)
