"""The writing form as HTML: one question with its fields on the left, the search and one document on the right.

Pure functions of a session; everything that comes from documents or people is escaped. Knows no widget and no file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from html import escape

from ..corpus.find import folded_words, word_spans
from ..records import Document
from .form_parts import Texts, button, help_box, source
from .writing import WritingSession

HEAD_KEYS = (("ArrowLeft", "back"), ("s", "skip"), ("ArrowRight", "next"), ("?", "help"))
SENT = (*"123456789", "y", "n", "d", "a", "m", "s", "Enter", "ArrowLeft", "ArrowRight")
VISITS = {
    **{"f": "search", "e": "expected", "q": "quote", "g": "groups"},
    **{"c": "category", "v": "validated_by", "w": "why"},
}
OPEN, GROUP = "open ", "group "
"""What a button sends before the id of a document, or the name of a group; no key is called so."""


def question_page(session: WritingSession, heading: str) -> str:
    """The question on screen with what is written of it so far."""
    row, draft, say = session.row or {}, session.draft, session.say
    faults = session.desk.reasons(row["id"]) if row["answerable"] is not None else []
    what = " · ".join(str(row[name]) for name in ("id", "lang", "source") if row.get(name))
    decided = "" if row["answerable"] is None else say["change_recorded"]
    state = say["not_complete"].format(faults[0]) if faults else decided
    why = _line("w", "why", say["why_changed"], session.why) if decided else ""
    known = (("y", "yes", True), ("n", "no", False))
    return f"""{heading}
<h3 class="rp-question" tabindex="0">{escape(row["question"])}</h3>
<div class="rp-muted rp-what">{escape(what)}{" – " if state else ""}{escape(state)}</div>
<div class="rp-columns rp-writing">
<div class="rp-column rp-fields">
<div class="rp-row" role="group" aria-label="{escape(say["is_answerable"])}"><b>{escape(say["is_answerable"])}</b>
{"".join(button(key, say[name], pressed=draft.answerable is value) for key, name, value in known)}</div>
{_area("e", "expected", say["expected"], draft.expected)}
<div class="rp-row rp-chosen"><span>{escape(say["document"])}</span>{_chosen(session)}</div>
<div class="rp-quote">{_area("", "quote", say["quote"], draft.quote, " data-takes")}{button("q", say["take"])}</div>
<div>{_line("g", "groups", say["asker_groups"].format(session.desk.everyone), draft.groups, say["groups_hint"])}
<div class="rp-row rp-groups">{_groups(session)}</div></div>
<div class="rp-pair">{_line("c", "category", say["category"], draft.category, listed=session.desk.categories)}
<div class="rp-take">{_line("v", "validated_by", say["validated_by"], draft.validated_by)}{
        button("m", say["me"], pressed=draft.validated_by == session.author)
    }</div></div>
</div>
<div class="rp-column">
<div class="rp-take rp-fields">{_line("f", "search", say["find"], session.words, say["find_hint"], enter="find")}{
        button("find", say["look"], cap=False)
    }</div>
{_found(session)}
{_document(session)}
</div>
</div>
<div class="rp-row rp-fields rp-last">{button("Enter", say["save"], strong=True)}{why}</div>
{help_page(say)}"""


def clock(pace: float | None, elapsed: float, say: Texts) -> str:
    """Her median and the seconds on this question; the listener lets the latter run."""
    median = escape(say["median"].format(round(pace))) + " · " if pace is not None else ""
    running = f'<span data-seconds="{elapsed:.0f}">{elapsed:.0f}</span>'
    return f'<span class="rp-muted">{median}{escape(say["this_one"]).format(running)}</span>'


def help_page(say: Texts) -> str:
    """What the keys do."""
    keys = [("y n", "answerable"), ("f", "find"), ("1 – 9", "numbers"), ("d a", "documents"), ("q", "quote")]
    keys += [("e g c v", "fields"), ("⏎", "save")]
    rows = [(key, say[f"help_{name}"]) for key, name in keys]
    rows += [("m", f"{say['validated_by']}: {say['me']}"), ("s", say["skip"]), ("Esc", say["leave_field"])]
    return help_box([*rows, ("← →", f"{say['back']}, {say['next']}"), ("?", say["show_help"])], say)


def marked(text: str, spans: Iterable[tuple[int, int]]) -> str:
    """A text, escaped, those parts of it marked."""
    shown, at = "", 0
    for start, end in spans:
        shown += f"{escape(text[at:start])}<mark>{escape(text[start:end])}</mark>"
        at = end
    return shown + escape(text[at:])


def quote_spans(text: str, quote: str) -> list[tuple[int, int]]:
    """Where a quote first stands in a text, white space apart."""
    found = re.search(r"\s+".join(map(re.escape, quote.split())), text) if quote.strip() else None
    return [found.span()] if found else []


def _area(key: str, name: str, label: str, value: str, more: str = "") -> str:
    cap = f"<kbd>{key}</kbd> " if key else ""
    return f"""<label><span>{cap}{escape(label)}</span><textarea name="{name}"{more}>
{escape(value)}</textarea></label>"""


def _line(
    key: str, name: str, label: str, value: str, hint: str = "", listed: Iterable[str] = (), enter: str = ""
) -> str:
    options = "".join(f'<option value="{escape(option)}"></option>' for option in listed)
    more = f' list="rp-{name}"' if options else ""
    more += f' data-enter="{enter}"' if enter else ""
    field = f'<input name="{name}" type="text" autocomplete="off" placeholder="{escape(hint)}" value="{escape(value)}"'
    names = f'<datalist id="rp-{name}">{options}</datalist>' if options else ""
    return f"<label><span><kbd>{key}</kbd> {escape(label)}</span>{field}{more}>{names}</label>"


def _chosen(session: WritingSession) -> str:
    draft, say = session.draft, session.say

    def named(doc: str) -> str:
        known = session.desk.documents.get(doc)
        return button(OPEN + doc, known.title if known else doc, cap=False)

    shown = named(draft.doc) if draft.doc else f'<span class="rp-muted">{escape(say["no_document"])}</span>'
    also = "".join(map(named, draft.also))
    return shown + (f'<span class="rp-muted">{escape(say["also_answered"])}</span>{also}' if also else "")


def _groups(session: WritingSession) -> str:
    chosen = {part.strip() for part in session.draft.groups.split(";")}
    names = session.desk.group_names
    return "".join(button(GROUP + name, name, cap=False, pressed=name in chosen) for name in names)


def _found(session: WritingSession) -> str:
    found, say, words = session.found, session.say, folded_words(session.words)
    count = len(found.documents)
    if not words:
        told = say["look_first"]
    elif not count:
        told = say["found_none"]
    else:
        told = say["found_all" if count == found.total else "found_first"].format(found.total, count)
    pairs = zip(found.documents, found.snippets, strict=True)
    rows = "".join(_row(n, d, piece, words, d == session.opened) for n, (d, piece) in enumerate(pairs, start=1))
    keep = escape(f"{session.current} found {session.words}")
    listed = (
        f'<div class="rp-list{" rp-short" if session.opened else ""}" data-keep="{keep}">{rows}</div>' if rows else ""
    )
    return f'<div class="rp-muted">{escape(told)}</div>{listed}'


def _row(number: int, document: Document, piece: str, words: tuple[str, ...], opened: bool) -> str:
    title = marked(document.title, word_spans(document.title, words))
    text = marked(piece, word_spans(piece, words))
    return f"""<button type="button" class="rp-found" data-key="{number}" aria-pressed="{str(opened).lower()}">
<kbd>{number}</kbd> <b>{title}</b> <span class="rp-muted">{text}</span></button>"""


def _document(session: WritingSession) -> str:
    document, draft, say = session.opened, session.draft, session.say
    if document is None:
        return ""
    needs = " / ".join(sorted(document.groups))
    barred = "" if session.asker_may_open else f'<b class="rp-barred">{escape(say["asker_may_not"].format(needs))}</b>'
    words = folded_words(session.words)
    shown = _text(document.text, words, "" if words else draft.quote)
    keep = escape(f"{session.current} {document.id} {session.words}")
    return f"""<div class="rp-row rp-opened">{source(document.title, document.link, document.updated, say)}
<span class="rp-gap"></span>{button("d", say["this_document"], pressed=draft.doc == document.id)}{
        button("a", say["this_too"], pressed=document.id in draft.also)
    }</div>{barred}
<section class="rp-box rp-document" tabindex="0" data-source data-keep="{keep}" aria-label="{escape(document.title)}">
<p>{shown}</p></section>"""


@lru_cache(maxsize=8)  # drawn again at every press, and some documents have a thousand pages
def _text(text: str, words: tuple[str, ...], quote: str) -> str:
    return marked(text, word_spans(text, words) if words else quote_spans(text, quote))
