"""The front matter of a text file: YAML between lines of ---, or TOML between lines of +++, values kept as written.

Retyping (NO, on, 007, null) never happens, and nothing that looks like front matter is ever taken for body text: what
cannot be read with certainty is refused with file and line. It knows nothing of access.csv and documents.csv.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field

from ..errors import AccessError, DataError
from ..identity import nearest
from ..settings import DOCUMENT_KEYS
from .access import group_names
from .head import Item, Unreadable, toml_items, yaml_items
from .metadata import clean

_FENCES: Mapping[str, Callable[[str], list[Item]]] = {"---": yaml_items, "+++": toml_items}
_BEFORE = re.compile(r"(?:\s|<!--.*?-->)*", re.DOTALL)
_STRAY_GROUPS = re.compile(r"^[^\w\n]*groups[\"']?[^\S\n]*[:=]", re.IGNORECASE | re.MULTILINE)
_HEAD_LINES = 30  # how far down a `groups:` outside front matter is taken for a front matter that went wrong


@dataclass(frozen=True)
class FrontMatter:
    """What the head of a file says of it, and the text below; `groups` is None where it names none."""

    body: str
    groups: frozenset[str] | None = None
    values: Mapping[str, str] = field(default_factory=dict)


class UnknownKeys(AccessError):
    """Front matter holds keys that are neither ours nor in other_keys; a mistyped `groups` may be among them."""

    def __init__(self, message: str, keys: tuple[str, ...]) -> None:
        super().__init__(message)
        self.keys = keys


def split_front_matter(text: str, name: str, other_keys: Collection[str] = ()) -> FrontMatter:
    """Front matter and body of the text of the file `name`; a fault is an AccessError or DataError with its line.

    `other_keys` are keys of other programs: they are passed over, and whatever is unknown beside them is a fault.
    """
    text = text.lstrip("\ufeff")
    lines = text.split("\n")
    fence = lines[0].rstrip()
    found = FrontMatter(text)
    if fence in _FENCES:
        end = next((i for i, line in enumerate(lines[1:], start=1) if line.rstrip() == fence), None)
        if end is None:
            raise AccessError(
                f"{name}, line 1: front matter is opened and never closed; add a line {fence} below its keys"
            )
        try:
            items = _FENCES[fence]("\n".join(lines[1:end]))
        except Unreadable as fault:
            raise AccessError(f"{name}, line {fault.line + 1}: {fault}") from None
        found = _front_matter(items, "\n".join(lines[end + 1 :]), name, other_keys)
    else:
        before = _BEFORE.match(text)
        start = before.end() if before else 0
        if (late := text[start:].partition("\n")[0].rstrip()) in _FENCES:
            raise AccessError(
                f"{name}, line {_line(text, start)}: {late} after blanks or a comment is not front matter; move it to "
                "the very start of the file, or write a rule as ***"
            )
    if found.groups is None:
        head = "\n".join(lines[:_HEAD_LINES])
        if name.casefold().endswith((".html", ".htm")):
            head = re.split("<(?!!--)", head)[0]  # below the first tag such a line is a script's
        if stray := _STRAY_GROUPS.search(head):
            raise AccessError(
                f"{name}, line {_line(head, stray.start())}: found groups outside front matter; put front matter "
                "on line 1 between two lines of ---, and groups inside it"
            )
    return found


def _line(text: str, index: int) -> int:
    return text.count("\n", 0, index) + 1


def _front_matter(items: list[Item], body: str, name: str, other_keys: Collection[str]) -> FrontMatter:
    _refuse_unknown(items, name, other_keys)
    values: dict[str, str] = {}
    groups: frozenset[str] | None = None
    seen: set[str] = set()
    for item in items:
        where, key, value = f"{name}, line {item.line + 1}", item.key, item.value
        if key not in DOCUMENT_KEYS:
            continue
        if key in seen:
            raise AccessError(f"{where}: the key {key} stands twice; keep one of them")
        seen.add(key)
        if key == "groups":
            try:
                if item.fault:
                    raise ValueError(item.fault)
                groups = group_names((value.split(",") if value else []) if isinstance(value, str) else value)
            except ValueError as fault:
                raise AccessError(f"{where}: groups {fault}") from None
            continue
        try:
            if item.fault or not isinstance(value, str):
                raise ValueError(item.fault or "holds a list or mapping where one text was expected")
            values[key] = clean(key, value)
        except ValueError as fault:
            raise DataError(f"{where}: {key} {fault}") from None
    return FrontMatter(body, groups, values)


def _refuse_unknown(items: list[Item], name: str, other_keys: Collection[str]) -> None:
    for item in items:
        hidden = next((key for key in item.inner if nearest(key, ("groups",))), None)
        if item.key not in DOCUMENT_KEYS and hidden:
            raise AccessError(
                f"{name}, line {item.line + 1}: {hidden} stands inside {item.key}, where it is not read; move it to "
                "the left margin, or give it another name"
            )
    unknown = [item for item in items if item.key not in DOCUMENT_KEYS and item.key not in other_keys]
    if not unknown:
        return
    first = next((item for item in unknown if nearest(item.key, DOCUMENT_KEYS)), unknown[0])
    meant, keys = nearest(first.key, DOCUMENT_KEYS), tuple(dict.fromkeys(item.key for item in unknown))
    more = f" (and {', '.join(key for key in keys if key != first.key)})" if len(keys) > 1 else ""
    remedy = (
        f"write {meant}"
        if meant
        else f"remove it, spell it as one of {', '.join(DOCUMENT_KEYS)}, or, if another program needs it, add it to "
        "other_keys in [documents] of pilot.toml"
    )
    raise UnknownKeys(f"{name}, line {first.line + 1}: unknown key {first.key!r}{more}; {remedy}", keys)
