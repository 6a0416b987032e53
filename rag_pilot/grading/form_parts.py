"""What the forms share as HTML: their words, buttons, the line above, the closing page, help, a document's title.

Everything that comes from documents, models or people is escaped, and only http, https and relative links become
links. Knows no widget and no record.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from functools import cache
from html import escape
from pathlib import Path
from urllib.parse import urlsplit

from ..errors import SettingsError

Texts = Mapping[str, str]

CAPS = {"ArrowLeft": "←", "ArrowRight": "→", "Enter": "⏎"}


@cache
def texts(language: str) -> Texts:
    """The form's words in a language: en, fr or pl."""
    known = tomllib.loads((Path(__file__).parent / "form_texts.toml").read_text(encoding="utf-8"))
    if language not in known:
        raise SettingsError(f"the form has no language {language!r}; it speaks {', '.join(known)}")
    words: Texts = known[language]
    return words


def closing_page(lines: list[str], heading: str, help_: str) -> str:
    """The page after the last item: what was done, and the way back."""
    body = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f'{heading}<div class="rp-closing">{body}</div>{help_}'


def heading(
    count: str, done: int, total: int, notes: list[str], say: Texts, keys: Iterable[tuple[str, str]], more: str = ""
) -> str:
    """The line above an item: how far she is, what she should know about the queue, `more` markup, keys with names."""
    bar = f'<progress max="{max(total, 1)}" value="{done}" aria-label="{escape(count)}"></progress>'
    told = f'<span class="rp-muted rp-notes">{escape(" · ".join(notes))}</span>'
    buttons = "".join(button(key, say[what]) for key, what in keys)
    return f'<div class="rp-head"><b>{escape(count)}</b>{bar}{told}{more}{buttons}</div>'


def source(title: str, link: str, updated: str, say: Texts, number: str = "") -> str:
    """A document's title, as a link where it has a safe one, and its date."""
    if not (title or number):
        return ""
    name = escape(title)
    if link and safe_link(link):
        name = f'<a href="{escape(safe_link(link))}" target="_blank" rel="noopener noreferrer">{name}</a>'
    date = f' <span class="rp-muted">{escape(say["updated"].format(updated))}</span>' if updated else ""
    return f'<div class="rp-source">{number}{name}{date}</div>'


def safe_link(link: str) -> str:
    """The link if it is http, https or relative, else nothing."""
    try:
        parts = urlsplit(link.strip())
    except ValueError:
        return ""
    web = parts.scheme in ("http", "https") and bool(parts.netloc)
    return link.strip() if web or (not parts.scheme and not parts.netloc) else ""


def button(
    key: str, text: str, *, cap: bool = True, pressed: bool | None = None, enabled: bool = True, strong: bool = False
) -> str:
    """A button that sends `key`, shown on its cap if there is one; `pressed` is whether it is chosen, if it can be."""
    state = "" if pressed is None else f' aria-pressed="{str(pressed).lower()}"'
    state += "" if enabled else " disabled"
    state += ' class="rp-strong"' if strong else ""
    shown = f"<kbd>{escape(CAPS.get(key, key))}</kbd> " if cap else ""
    return f'<button type="button" data-key="{escape(key)}"{state}>{shown}{escape(text)}</button>'


def help_box(rows: Iterable[tuple[str, str]], say: Texts) -> str:
    """The help, hidden until it is asked for: keys and what they do."""
    listed = "".join(f"<dt>{escape(term)}</dt><dd>{escape(meaning)}</dd>" for term, meaning in rows)
    return f'<div class="rp-help" role="dialog" aria-label="{escape(say["help"])}" hidden><dl>{listed}</dl></div>'
