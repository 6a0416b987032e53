"""The lock of the acceptance criteria: what was agreed before the first run, when, by whom, and every amendment since.

What makes a verdict stricter or laxer is locked with them: the number of changes, a second look at the judge, an
extension of the question set. It knows what is locked and whether pilot.toml still says so, and nothing of runs.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

from .errors import SettingsError, StaleError
from .files import dumps, read_text, write_text
from .identity import fingerprint
from .settings import Settings

PLANS = {
    "second_look": "a second look at the judge (second_look)",
    "extension_planned": "an extension of the question set (extension_planned)",
}
"""Settings that allow a second verdict, for which both are stricter; where a lock does not name one, it is false."""


def as_locked(settings: Settings, locked: Mapping[str, Any]) -> bool:
    """Whether the criteria, the number of changes and the plans are still those that were locked."""
    return bool(locked["hash"] == _lockable(settings)["hash"])


def _lockable(settings: Settings) -> dict[str, Any]:
    criteria = [c.model_dump(mode="json", exclude_none=True) for c in settings.acceptance]
    plans = {name: True for name in PLANS if getattr(settings.pilot, name)}
    entry = {"criteria": criteria, "changes_planned": settings.pilot.changes_planned, **plans}
    return {**entry, "hash": _hash(entry)}


def _hash(entry: Mapping[str, Any]) -> str:
    plans = [name for name in PLANS if entry.get(name)]
    return fingerprint([entry["criteria"], entry["changes_planned"], *([plans] if plans else [])])


def lock_criteria(path: Path, settings: Settings, today: date, author: str, why: str = "") -> Mapping[str, Any]:
    """Write the criteria with date and hash before the first run; an amendment needs a reason, which stays on record.

    Returns what is locked. Raises StaleError when pilot.toml differs from the lock and no reason is given.
    """
    entry = {"date": today.isoformat(), "author": author, **_lockable(settings)}
    locked = read_lock(path)
    if locked and locked["hash"] == entry["hash"]:
        return locked
    if locked and not why.strip():
        names = {"criteria": "the acceptance criteria", "changes_planned": "the changes planned (changes_planned)"}
        differing = [words for name, words in (names | PLANS).items() if locked.get(name) != entry.get(name)]
        raise StaleError(
            f"{path.name}: {' and '.join(differing)} in pilot.toml are not those locked on {locked['date']}; restore "
            "them, or amend the lock with a reason: pilot.lock_acceptance(why='...'), which stays on record"
        )
    if locked:
        entry |= {"why": why, "amends": locked}
    write_text(path, dumps(entry) + "\n")
    return entry


def read_lock(path: Path) -> dict[str, Any] | None:
    """The locked criteria, or None; SettingsError for a lock, or one that it amends, whose hash does not fit it."""
    if not path.exists():
        return None
    try:
        locked: dict[str, Any] = json.loads(read_text(path))
        history = [locked]
        while "amends" in history[-1]:
            history.append(history[-1]["amends"])
        if any(entry["hash"] != _hash(entry) for entry in history):
            raise ValueError("a hash does not fit its criteria")
    except (ValueError, KeyError, TypeError) as fault:
        raise SettingsError(f"{path}: edited by hand or damaged ({fault}); restore it from git") from None
    return locked
