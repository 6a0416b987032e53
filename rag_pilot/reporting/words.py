"""What the codes of records mean in plain words, and what usually mends each cause; used by tables and figures."""

from __future__ import annotations

import re

from ..records import LABELS

LABEL_ORDER = (*LABELS, "error", "not graded")

LABEL_MEANS = {
    "correct": "right, complete, and the right document is cited",
    "partly": "right but incomplete, or the citation is missing or wrong",
    "wrong": "says something false, or answers what the documents cannot answer",
    "declined": "says that it cannot answer although the documents can",
    "error": "the call failed; counted among those asked",
    "not graded": "nobody has given a label yet",
}

CAUSE = {
    "missing_or_stale": "document missing or out of date",
    "not_retrieved": "right passage not found",
    "wrong_despite_passage": "right passage shown, answer still not right",
    "should_have_declined": "should have declined",
    "reference_wrong": "our reference is wrong",
    "not_permitted": "the asker may not open the document",
    "format_or_tone": "facts right, format or tone not",
}

MEND = {
    "missing_or_stale": "The owner writes or updates the document. No model choice helps.",
    "not_retrieved": "Titles and headings in each passage, synonyms for jargon, another split or embedding model.",
    "wrong_despite_passage": "The instructions to the model, then another model.",
    "should_have_declined": "A stricter instruction first; the decline threshold last (notebook 08).",
    "reference_wrong": "Correct the reference, with date and reason. The system stays as it is.",
    "not_permitted": "Correct the access of the document, or set the question to unanswerable.",
    "format_or_tone": "The instructions to the model; fine-tuning is worth testing if most failures are of this kind.",
}

DECLINE = {
    "no_passage": "no passage that the asker may open",
    "low_similarity": "best passage too unlike the question; no model was asked",
    "not_found": "no answer was found in the passages shown",
    "uncited": "the answer cited nothing",
    "citation_not_understood": "the answer cited in a form that could not be read",
    "bad_citation": "the answer cited a passage that was not shown, or that the asker may not open",
}

FLAG = {
    "own_words": "declines in its own words: a person must read it",
    "mixed": "holds the decline mark inside a longer text: a person must read it",
    "citation_not_understood": "a citation that could not be read",
    "not_in_passage": "a number, date or name that the cited passage does not hold: no verdict, look there first",
}

VERDICT = {
    "kept": ("kept", "good"),
    "not shown": ("not shown", ""),
    "not decided": ("not decided", "open"),
}


def cause_name(code: str | None) -> str:
    """A cause in plain words; an unknown code stands as it is, none is 'not told by the evidence'."""
    return CAUSE.get(code, code) if code else "not told by the evidence"


def plural(count: int, one: str, many: str = "") -> str:
    """Such as '1 question', '3 questions'."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def first_read(first: int | None) -> str:
    """What a count is over while not all is read, as the end of a caption; empty where it is over all."""
    return "" if first is None else f", over the first {first} questions of the order, read up to there"


def plain(text: str) -> str:
    """A sentence with the codes of causes and measures in plain words."""
    codes = {**CAUSE, "hit5": "Hit@5"}
    return re.sub(rf"\b({'|'.join(codes)})\b", lambda m: codes[m[0]] if m[0] == "hit5" else f"'{codes[m[0]]}'", text)
