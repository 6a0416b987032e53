"""The keys and values of a block of YAML or TOML, each value as the text that was written, with its line.

A value that is no text, or not surely the whole of it, carries its fault instead. What a key means is not known here.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, time
from typing import Any

import yaml

_NULL = ("", "~", "null", "Null", "NULL")
_NESTED = "holds a list or mapping where one text was expected"


class Unreadable(Exception):
    """A block that cannot be read, with the line in it (from 1) and what to do."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


@dataclass(frozen=True)
class Item:
    """One key of a block: its value as text or texts, or what is wrong with it; `inner` are keys of mappings in it."""

    key: str
    line: int  # in the block, from 1
    value: str | tuple[str, ...] = ""
    fault: str = ""
    inner: tuple[str, ...] = ()


# -- YAML --------------------------------------------------------------------------------------------------------------


def yaml_items(block: str) -> list[Item]:
    """The keys of a YAML mapping, a repeated one as often as it stands there."""
    try:
        root = yaml.compose(block, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as fault:
        mark = fault.problem_mark or fault.context_mark
        raise Unreadable(
            f"front matter cannot be read ({fault.problem}); put quotes around a value that holds a colon, # or @, and "
            "indent with blanks",
            _line(block, mark.index if mark else 0),
        ) from None
    except (yaml.YAMLError, RecursionError, ValueError) as fault:
        raise Unreadable(f"front matter cannot be read ({type(fault).__name__}); retype it", 1) from None
    if root is None:
        return []
    if not isinstance(root, yaml.MappingNode):
        raise Unreadable("expected lines of `key: value` below the opening line; write a rule as ***", 1)
    items = []
    for key_node, node in root.value:
        key = _joined(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
        line, inner = _line(block, key_node.start_mark.index), tuple(_inner(node, set()))
        try:
            items.append(Item(key, line, _yaml_value(node, block), inner=inner))
        except ValueError as fault:
            items.append(Item(key, line, fault=str(fault), inner=inner))
    return items


def _line(text: str, index: int) -> int:
    return text.count("\n", 0, index) + 1


def _inner(node: yaml.Node, seen: set[int]) -> Iterator[str]:
    """Keys of mappings below a node; an anchor is entered once."""
    if isinstance(node, yaml.ScalarNode) or id(node) in seen:
        return
    seen.add(id(node))
    for child in node.value:
        if isinstance(node, yaml.MappingNode):
            key, child = child
            yield _joined(key.value) if isinstance(key, yaml.ScalarNode) else "?"
        yield from _inner(child, seen)


def _yaml_value(node: yaml.Node, block: str) -> str | tuple[str, ...]:
    if isinstance(node, yaml.SequenceNode):
        return tuple(_text(item, block) for item in node.value)
    text = _text(node, block)
    unquoted = isinstance(node, yaml.ScalarNode) and node.style is None
    return "" if unquoted and text in _NULL else text  # an unquoted null is no value


def _text(node: yaml.Node, block: str) -> str:
    """A value as written; one that is no text, unquoted and cut short by a #, or half a character, is a ValueError."""
    if not isinstance(node, yaml.ScalarNode):
        raise ValueError(_NESTED)
    rest = block[node.end_mark.index :].partition("\n")[0].strip()
    if node.style is None and rest.startswith("#"):
        raise ValueError(f"would be cut at {rest!r}; put quotes around the value, or move the comment")
    try:
        return _joined(node.value, "strict").strip()
    except UnicodeDecodeError:
        raise ValueError("holds half of a surrogate pair, which is no character; retype the text") from None


def _joined(text: str, lone: str = "replace") -> str:
    """A text in which two halves of a character, as JSON escapes an emoji, are one; `lone` is for a half alone."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", lone)


# -- TOML --------------------------------------------------------------------------------------------------------------


def toml_items(block: str) -> list[Item]:
    """The keys of a TOML table; a number or boolean carries a fault, since how it was written is lost."""
    try:
        table = tomllib.loads(block)
    except (ValueError, RecursionError, OverflowError) as fault:
        at = re.search(r"\(at line (\d+), column \d+\)", str(fault))
        said = re.sub(r" \(at .*\)$", "", str(fault)) if isinstance(fault, tomllib.TOMLDecodeError) else "a value"
        last = block.count("\n") + 1
        raise Unreadable(
            f"front matter cannot be read ({said}); texts need quotes, lists need brackets",
            min(int(at[1]), last) if at else last,
        ) from None
    items = []
    for key, value in table.items():
        line, inner = _toml_line(block, key), tuple(_keys(value))
        try:
            items.append(Item(key, line, _toml_value(value), inner=inner))
        except ValueError as fault:
            items.append(Item(key, line, fault=str(fault), inner=inner))
    return items


def _toml_line(block: str, key: str) -> int:
    found = re.search(rf"^[^\S\n]*\[*[^\S\n]*[\"']?{re.escape(key)}[\"']?[^\S\n]*[\]=.]", block, re.MULTILINE)
    return _line(block, found.start() if found else 0)


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    for entry in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _keys(entry)


def _toml_value(value: Any) -> str | tuple[str, ...]:
    if isinstance(value, date | time):
        return value.isoformat()
    return tuple(_toml_text(entry) for entry in value) if isinstance(value, list) else _toml_text(value)


def _toml_text(value: Any) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, dict | list):
        raise ValueError(_NESTED)
    written = str(value).lower() if isinstance(value, bool) else str(value)
    raise ValueError(f"holds {written}, which is no text; put quotes around it")
