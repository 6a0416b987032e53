"""Quotations of what its readers may not open, taken out of a page place by place, and counted there.

Tables leave out what belongs to a closed document or question. What is left are words that somebody wrote elsewhere: a
note, an expected answer, a hypothesis, a category that repeats a restricted passage. Whether a page is then free of
such words is known in `audit`, which has the last word.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Set as AbstractSet
from typing import Any

from bs4 import BeautifulSoup, Tag

from ..audit import Rights, words_on
from ..corpus.access import groups_said
from .html import element
from .words import plural

PLACES = (
    ("figure",),
    ("td", "th", "dd", "dt", "li", "p", "pre", "caption", "summary", "h1", "h2", "h3", "h4"),
    ("tr", "dl", "ul", "ol"),
    ("table", "details"),
)
"""What is taken out, the smallest that holds the words first: they may stand in several cells of one row."""


def withhold(page: str, rights: Rights, readers: AbstractSet[str], *, told: bool = True) -> str:
    """HTML without the places that quote what none of those groups may open; the same text where there is none.

    With `told` a sentence under the page's heading says how many there were, and which groups would see them.
    """
    if not rights.words.closed(words_on(page), readers):
        return page
    soup, needed = BeautifulSoup(page, "html.parser"), Counter[str]()
    for names in PLACES:
        for place in reversed(soup.find_all(names)):  # what stands in another place comes after it
            if ids := rights.words.closed(words_on(str(place)), readers):
                groups = groups_said(frozenset(rights.passages.get(i, ())) for i in ids)
                needed[groups] += 1
                _emptied(soup, place, f"not shown (needs {groups})")
    if told and needed and (heading := soup.find("h1")):
        counts = "; ".join(f"{n} {'needs' if n == 1 else 'need'} {groups}" for groups, n in sorted(needed.items()))
        words = f"{plural(needed.total(), 'place')} of this page not shown, which quote what its readers may not open: "
        heading.insert_after(BeautifulSoup(element("p", f"{words}{counts}.", class_="withheld"), "html.parser"))
    return str(soup)


def _emptied(soup: BeautifulSoup, place: Tag, words: str) -> None:
    """Words instead of what a place holds; a row keeps its cells, what holds blocks becomes a paragraph."""
    if place.name == "tr":
        for cell in place.find_all(("td", "th")):
            cell.clear()
            cell.append(words)
    elif place.name in ("figure", "dl", "ul", "ol", "table", "details"):
        instead: Any = soup.new_tag("p")
        instead.append(words)
        place.replace_with(instead)
    else:
        place.attrs = {name: value for name, value in place.attrs.items() if name in ("class", "scope")}
        place.clear()
        place.append(words)
