"""What makes two texts or values the same: folding, canonical JSON values, and the hashes made of them.

It knows no record by name: what has `as_json` writes itself. No value that leaves here is NaN.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from itertools import filterfalse
from typing import Any

from .errors import DataError


def fold(text: str) -> str:
    """The text as it is compared: NFC, white space and no-break spaces folded to one blank, case folded."""
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that a name was probably meant to be (case, _ and a letter or two apart), or empty."""
    plain_names = {re.sub(r"[\W_]", "", k.casefold()): k for k in known}
    found = get_close_matches(re.sub(r"[\W_]", "", name.casefold()), plain_names, n=1, cutoff=0.8)
    return plain_names[found[0]] if found else ""


def fold_word(text: str) -> str:
    """Case and accents folded: Straße and STRASSE, łódź and lodz, café and CAFE are one word."""
    plain = unicodedata.normalize("NFKD", text.casefold().replace("ł", "l"))
    return plain if plain.isascii() else "".join(filterfalse(unicodedata.combining, plain))


def answer_sha(text: str | None, passage_ids: Iterable[str]) -> str:
    """The hash that a label belongs to: the folded text with every [n] replaced by the id of the n-th passage shown.

    An unchanged answer keeps it when passages change places; an answer that cites another passage never inherits it.
    """
    ids = list(passage_ids)

    def named(match: re.Match[str]) -> str:
        number = int(match[1])
        return f"[{ids[number - 1]}]" if 1 <= number <= len(ids) else match[0]

    named_text = re.sub(r"\[(\d+)\]", named, " ".join(unicodedata.normalize("NFC", text or "").split()))
    return hashlib.sha256(named_text.encode()).hexdigest()[:16]


def fingerprint(value: Any) -> str:
    """Twelve hex digits of SHA-256 over canonical JSON: equal inputs, equal fingerprint, on every machine."""
    text = json.dumps(plain(value), sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def plain(value: Any) -> Any:
    """A value as JSON holds it: sets sorted, tuples as lists, records as objects; DataError for NaN and infinity."""
    if isinstance(value, frozenset | set):
        return sorted(value)
    if isinstance(value, tuple | list):
        return [plain(v) for v in value]
    if hasattr(value, "as_json"):
        return value.as_json()
    if isinstance(value, Mapping):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, float) and not math.isfinite(value):
        raise DataError(f"a record holds {value}, which no file may hold; leave it out: 'not measured'")
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value  # half a surrogate pair: ?
