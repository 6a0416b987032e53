"""E-mail addresses and phone numbers out of texts, counted; codes, prices, dates and standards stay.

Phone numbers are those that libphonenumber holds for valid, in the spellings of France, Poland, the United Kingdom and
the United States, and with +.. of any country. A bare run of digits without + or a leading 0 may be an order number: it
is masked only after a word such as "tel". Names of people and postal addresses it cannot know: look for them yourself.
"""

from __future__ import annotations

import re

EMAIL, PHONE = "[e-mail]", "[phone]"
REGIONS = ("FR", "PL", "GB", "US")

_EMAIL = re.compile(r"(?<![\w.+-])[\w.+'-]{1,64}@(?:[\w-]+\.)+[^\W\d_]{2,}(?![\w-])")
_PERHAPS = re.compile(r"\d(?:[\s().\-/\u00a0\u2010-\u2015]*\d){7,}")  # the cheap test before the exact one
_PHONE_WORD = re.compile(
    r"(?:\bt[eé]l|phone|mobile|\bcell|\bcall|\bfax|portable|num[eé]ro|appel|telefon|\bkom(?:órk)?|zadzwo|dzwoni|"
    r"handy|anruf)\w*\b\D{0,15}$",
    re.IGNORECASE,
)
_AMOUNT = re.compile(r"[.,]\d\d(?!\d)|\s?(?:€|zł|£|\$|%|eur\b|pln\b|usd\b|gbp\b|chf\b)", re.IGNORECASE)


def mask(text: str) -> tuple[str, int, int]:
    """(the text with addresses and numbers replaced, how many addresses, how many phone numbers)."""
    text, emails = _EMAIL.subn(EMAIL, text)
    phones = 0
    for start, end in reversed(_phones(text)):
        text, phones = text[:start] + PHONE + text[end:], phones + 1
    return text, emails, phones


def _phones(text: str) -> list[tuple[int, int]]:
    """Where phone numbers stand, in order, without overlaps; the longer of two that overlap."""
    if not _PERHAPS.search(text):
        return []
    from phonenumbers import Leniency, PhoneNumberMatcher

    found = {
        (match.start + (match.raw_string.count("(") > match.raw_string.count(")")), match.end)  # not the text's own (
        for region in REGIONS
        for match in PhoneNumberMatcher(text, region, leniency=Leniency.STRICT_GROUPING)
        if _is_meant(text, match.start, match.end)
    }
    kept: list[tuple[int, int]] = []
    for start, end in sorted(found, key=lambda span: (span[0] - span[1], span)):
        if all(end <= other[0] or start >= other[1] for other in kept):
            kept.append((start, end))
    return sorted(kept)


def _is_meant(text: str, start: int, end: int) -> bool:
    number = text[start:end]
    if _AMOUNT.match(text, end) or re.search(r"[€£$]\s?$", text[:start]):
        return False
    return not number.isdigit() or number.startswith("0") or bool(_PHONE_WORD.search(text[max(0, start - 40) : start]))
