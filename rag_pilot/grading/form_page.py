"""The labelling form as HTML: one item. Pure functions from records to text.

Everything that comes from documents, models or people is escaped. Knows no widget, no file and no label of anybody but
the person in front of the screen.
"""

from __future__ import annotations

import re
from html import escape

from ..corpus.sentences import sentences
from ..records import CAUSES, LABELS, OF_REFERENCE, Label
from .form_parts import Texts, button, help_box, source
from .items import Item, ShownPassage
from .naming import Titles

ASKED_CAUSES = (*CAUSES, "format_or_tone", OF_REFERENCE)
LABEL_KEYS = {str(n): label for n, label in enumerate(LABELS, start=1)}
CAUSE_KEYS = dict(zip("567890", ASKED_CAUSES, strict=True))

TITLES = "rp-titles"
"""The id of the list of documents, which stands once in a form."""
HEAD_KEYS = (("ArrowLeft", "back"), ("u", "undo"), ("s", "skip"), ("?", "help"))
_CITATION = re.compile(r"\[(\d+(?:\s*[,;–-]\s*\d+)*)\]")
_HEADING = re.compile(r"^#{1,6} +", re.MULTILINE)
_SUPPORT_WORDS = 2  # shared words that make a sentence of the passage worth pointing at
_SUPPORT_SHARE = 0.3  # of the claim's words
_SUPPORT_NEAR = 0.7  # of the best sentence's score: claims are often drawn from two sentences


def item_page(item: Item, draft: Label, labelled: bool, changed: bool, heading: str, say: Texts) -> str:
    """One item: question, expected answer, answer, passages, label buttons, and the fields for what was wrong.

    `draft` holds what the person has chosen and written so far; `labelled` says that its label is on the disk,
    `changed` that the person labelled an earlier text of the answer.
    """
    news = f'<p class="rp-changed">{escape(say["changed"])}</p>' if changed else ""
    prompted = labelled and draft.label not in (None, "correct")
    return f"""{heading}
<h3 class="rp-question" tabindex="0">{escape(item.question)}</h3>
<div class="rp-columns">
<div class="rp-column">
<section class="rp-box rp-expected" tabindex="0" aria-label="{escape(say["expected"])}"><h4>{say["expected"]}</h4>
<p>{escape(item.expected or say["no_expected" if item.reference else "no_reference"])}</p>
{source(item.doc_title or item.doc, item.doc_link, item.doc_updated, say)}</section>
<section class="rp-box rp-answer" tabindex="0" aria-label="{escape(say["answer"])}"><h4>{say["answer"]}</h4>{news}
<p>{marked_answer(item.answer)}</p></section>
</div>
<section class="rp-box rp-passages" tabindex="0" aria-label="{escape(say["passages"])}">{_passages(item, say)}</section>
</div>
<div class="rp-row" role="group" aria-label="{escape(say["label"])}">
{"".join(button(key, say[label], pressed=draft.label == label) for key, label in LABEL_KEYS.items())}
<span class="rp-gap"></span>
{button("ArrowRight", say["next"], strong=prompted)}
</div>
<div class="rp-details{" rp-prompt" if prompted else ""}">
<div class="rp-row">
<div class="rp-why">{escape(say["why_now"].format(say[draft.label]) if prompted and draft.label else say["why"])}</div>
<span class="rp-gap"></span>
{"".join(_cause(key, cause, draft, True, say) for key, cause in CAUSE_KEYS.items() if cause == OF_REFERENCE)}
</div>
<div class="rp-row" role="group" aria-label="{escape(say["why"])}">
{"".join(_cause(key, cause, draft, prompted, say) for key, cause in CAUSE_KEYS.items() if cause != OF_REFERENCE)}
</div>
<div class="rp-fields">
<div><label>{escape(say["also"])}<input name="also" type="text" list="{TITLES}" autocomplete="off"
 placeholder="{escape(say["also_hint"])}" value="{escape(draft.also)}"></label>
<label class="rp-check"><input name="stale" type="checkbox"{" checked" if draft.stale else ""}>{
        escape(say["stale"])
    }</label></div>
<label><span><kbd>n</kbd> {escape(say["note"])} <small>(Esc: {escape(say["leave_note"])})</small></span>
<textarea name="note" placeholder="{escape(say["note_hint"])}">
{escape(draft.note)}</textarea></label>
</div></div>
{help_page(say)}"""


def instruction(say: Texts) -> str:
    """What to do, in two sentences, for who has not labelled anything yet."""
    return f'<p class="rp-intro">{escape(say["intro"])}</p>'


def cited_numbers(text: str) -> set[int]:
    """The passage numbers that a text cites: [2], [1, 3], [2-4]."""
    numbers: set[int] = set()
    for match in _CITATION.finditer(text):
        for part in re.split(r"[,;]", match[1]):
            first, *last = (int(n) for n in re.split(r"[–-]", part))
            numbers |= set(range(first, min(last[-1] if last else first, first + 50) + 1))
    return numbers


def marked_answer(text: str) -> str:
    """The answer, escaped, its [n] marked."""
    return _CITATION.sub(lambda match: f'<span class="rp-cite">{match[0]}</span>', escape(text))


def supported(passage: str, claims: list[str]) -> str:
    """The passage, escaped, with the sentences highlighted that share most words with the claims that cite it.

    Plain word overlap, numbers counting double: it shows where to look and proves nothing. Of each claim the best
    sentence is marked, and every one that comes near it, if they share at least two words and a good part of it.
    """
    pieces = sentences(passage)
    best: set[int] = set()
    for claim in map(_words, claims):
        scores = [_weight(claim & _words(piece)) for piece in pieces]
        least = max(_SUPPORT_WORDS, _SUPPORT_SHARE * _weight(claim), _SUPPORT_NEAR * max(scores, default=0))
        best |= {i for i, score in enumerate(scores) if score >= least}
    shown, start = "", 0
    for i, piece in enumerate(pieces):
        at = passage.index(piece, start)
        end = at + len(piece)
        inner = escape(piece)
        shown += escape(passage[start:at]) + (f"<mark>{inner}</mark>" if i in best else inner)
        start = end
    return shown + escape(passage[start:])


def _words(text: str) -> set[str]:
    return {w for w in re.findall(r"\w+", _CITATION.sub(" ", text).casefold()) if len(w) > 2 or w.isdigit()}


def _weight(words: set[str]) -> int:
    return sum(2 if word.isdigit() else 1 for word in words)


def _read(text: str) -> str:
    """A passage as a person reads it: its headings without the signs of Markdown."""
    return _HEADING.sub("", text)


def _passages(item: Item, say: Texts) -> str:
    claims = sentences(item.answer)
    cited, others = [], []
    for p in item.passages:
        if p.cited:
            text = supported(_read(p.text), [claim for claim in claims if p.number in cited_numbers(claim)])
            cited.append(f"<article>{_title(p, say)}<p>{text}</p></article>")
        else:
            summary = f"<summary>[{p.number}] {escape(p.title or p.doc)}</summary>"
            others.append(f"<details>{summary}{_title(p, say)}<p>{escape(_read(p.text))}</p></details>")
    shown = "".join(cited) or f"<p>{escape(say['no_cited'])}</p>"
    folded = f"<h4>{escape(say['others'])}</h4>{''.join(others)}" if others else ""
    return f"<h4>{escape(say['passages'])}</h4>{shown}{folded}"


def _title(passage: ShownPassage, say: Texts) -> str:
    path = f'<div class="rp-muted">{escape(" › ".join(passage.headings))}</div>' if passage.headings else ""
    number = f'<span class="rp-cite">[{passage.number}]</span> '
    return source(passage.title or passage.doc, passage.link, passage.updated, say, number) + path


def _cause(key: str, cause: str, draft: Label, enabled: bool, say: Texts) -> str:
    return button(key, say[cause], pressed=draft.cause == cause, enabled=enabled)


def titles_list(titles: Titles) -> str:
    """What the field for another document offers: ids, with the titles beside them."""
    options = (f'<option value="{escape(id_)}">{escape(title)}</option>' for id_, title in titles.items())
    return f'<datalist id="{TITLES}">{"".join(options)}</datalist>'


def help_page(say: Texts) -> str:
    """What the keys do, and what the labels mean."""
    labels = [(f"{key} {say[label]}", say[f"{label}_means"]) for key, label in LABEL_KEYS.items()]
    causes = " ".join(CAUSE_KEYS)
    keys = [(causes, say["why"]), ("u", say["undo"]), ("s", say["skip"]), ("n", say["note"])]
    keys += [("Esc", say["leave_note"]), ("← →", f"{say['back']}, {say['next']}"), ("?", say["show_help"])]
    return help_box(labels + keys, say)
