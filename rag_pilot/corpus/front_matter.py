"""The front matter of a text file: YAML between two lines of ---, every value kept as the text that was written.

YAML's own retyping (NO, on, 007, null) never happens, and nothing that looks like front matter is ever taken for body
text: what cannot be read with certainty is refused with file and line. It knows nothing of access.csv.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

import yaml

from ..errors import AccessError, DataError
from .access import group_names

KEYS = ("title", "link", "groups", "updated", "owner", "lang", "review_by", "sensitivity")
"""Every key that front matter may hold; `groups` is a list, or one text with commas between the names."""

_BEFORE = re.compile(r"(?:\s|<!--.*?-->)*+", re.DOTALL)
_STRAY_GROUPS = re.compile(r"^[^\w\n]*groups[\"']?[^\S\n]*[:=]", re.IGNORECASE | re.MULTILINE)
_NULL = ("", "~", "null", "Null", "NULL")
_HEAD_LINES = 30  # how far down a `groups:` outside front matter is taken for a front matter that went wrong


@dataclass(frozen=True)
class FrontMatter:
    """What the head of a file says of it, and the text below; `groups` is None where it names none."""

    body: str
    groups: frozenset[str] | None = None
    values: Mapping[str, str] = field(default_factory=dict)


def split_front_matter(text: str, name: str) -> FrontMatter:
    """Front matter and body of the text of the file `name`; a fault is an AccessError or DataError with its line."""
    text = text.lstrip("\ufeff")
    lines = text.split("\n")
    found = FrontMatter(text)
    if lines[0].rstrip() == "---":
        end = next((i for i, line in enumerate(lines[1:], start=1) if line.rstrip() == "---"), None)
        if end is None:
            raise AccessError(f"{name}, line 1: front matter is opened and never closed; add a line --- below its keys")
        found = _parse("\n".join(lines[1:end]), "\n".join(lines[end + 1 :]), name)
    else:
        before = _BEFORE.match(text)
        start = before.end() if before else 0
        if text[start:].partition("\n")[0].rstrip() == "---":
            raise AccessError(
                f"{name}, line {_line(text, start)}: --- after blanks or a comment is not front matter; move it to the "
                "very start of the file, or write a rule as ***"
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


def _parse(block: str, body: str, name: str) -> FrontMatter:
    def at(index: int) -> str:
        return f"{name}, line {_line(block, index) + 1}"

    try:
        root = yaml.compose(block, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        raise AccessError(
            f"{at(mark.index if mark else 0)}: front matter cannot be read ({fault.problem}); put quotes around a "
            "value that holds a colon, # or @, and indent with blanks"
        ) from None
    except (yaml.YAMLError, RecursionError) as fault:
        raise AccessError(f"{name}, line 2: front matter cannot be read ({type(fault).__name__}); retype it") from None
    if root is None:
        return FrontMatter(body)
    if not isinstance(root, yaml.MappingNode):
        raise AccessError(f"{name}, line 2: expected lines of `key: value` below ---; write a rule as ***")

    values: dict[str, str] = {}
    groups: frozenset[str] | None = None
    seen: set[str] = set()
    for key_node, node in root.value:
        where = at(key_node.start_mark.index)
        key = key_node.value if isinstance(key_node, yaml.ScalarNode) else "?"
        if key not in KEYS:
            raise AccessError(f"{where}: unknown key {key!r}; remove it or spell it as one of {', '.join(KEYS)}")
        if key in seen:
            raise AccessError(f"{where}: the key {key} stands twice; keep one of them")
        seen.add(key)
        if key == "groups":
            try:
                groups = group_names(_names(node, block))
            except ValueError as fault:
                raise AccessError(f"{where}: groups {fault}") from None
            continue
        try:
            values[key] = _value(key, _whole(node, block))
        except ValueError as fault:
            raise DataError(f"{where}: {key} {fault}") from None
    return FrontMatter(body, groups, values)


def _names(node: yaml.Node, block: str) -> list[str]:
    if isinstance(node, yaml.SequenceNode):
        return [_text(item, block) for item in node.value]
    text = _whole(node, block)
    return text.split(",") if text else []


def _whole(node: yaml.Node, block: str) -> str:
    """The value of a key; an unquoted null is no value."""
    text = _text(node, block)
    return "" if isinstance(node, yaml.ScalarNode) and node.style is None and text in _NULL else text


def _text(node: yaml.Node, block: str) -> str:
    """A value as written; one that is no text, or unquoted and cut short by a #, is a ValueError."""
    if not isinstance(node, yaml.ScalarNode):
        raise ValueError("holds a list or mapping where one text was expected")
    rest = block[node.end_mark.index :].partition("\n")[0].strip()
    if node.style is None and rest.startswith("#"):
        raise ValueError(f"would be cut at {rest!r}; put quotes around the value, or move the comment")
    return str(node.value).strip()


def _value(key: str, text: str) -> str:
    if key in ("updated", "review_by") and text:
        try:
            return datetime.fromisoformat(text).date().isoformat()
        except ValueError:
            raise ValueError(f"is {text!r}; expected a date such as 2026-03-14") from None
    if key == "lang" and text:
        code = text.split("-")[0].split("_")[0].lower()
        if not re.fullmatch("[a-z]{2,3}", code):
            raise ValueError(f"is {text!r}; expected a language code such as en, fr or pl")
        return code
    return text
