"""`rag-pilot check`: everything that stands in a pilot's folder, as lines for a terminal.

It needs neither lock, order, questions nor index, loads no model, and names every file: it is for the engineer, who
may open the folder anyway.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from .corpus.access import Access
from .corpus.checks import summary
from .corpus.documents import REFUSED
from .corpus.draft import write_draft
from .corpus.inventory import Entry, Inventory
from .errors import PilotError
from .pilot import Pilot


def check_pilot(pilot: Pilot) -> tuple[list[str], bool]:
    """The lines to print, and whether something was found that must be mended before numbers can be trusted."""
    found = pilot.inventory()
    lines = [*_files(found), *_draft(pilot, found)]
    findings = pilot.check()
    lines += ["", f"{_n(found.questions or 0, 'question')}, {summary(findings)}"]
    for finding in findings:
        ids = f" [{', '.join(finding.ids[:10])}{', ...' if len(finding.ids) > 10 else ''}]" if finding.ids else ""
        lines.append(f"  {finding.severity:7} {finding.what}{ids}: {finding.what_to_do}")
    nobody = any(skip.cause in ("nobody", "access", "keys") for skip in found.skipped)
    errors = any(finding.severity == "error" for finding in findings)
    return lines, bool(errors or nobody or not found.entries)


def _files(found: Inventory) -> Iterator[str]:
    total = len(found.entries) + len(found.skipped)
    yield f"{len(found.entries)} of {_n(total, 'file')} read, {len(found.skipped)} refused"
    if found.entries:
        head = (
            "file",
            "words",
            "headings",
            "tables",
            "passages",
            "text covered",
            "pages with text",
            "language",
            "groups",
        )
        yield from _aligned(head, [_row(entry) for entry in found.entries])
        yield f"  {_percent(found.covered)} of the text stands in passages"
    for cause, words in REFUSED.items():
        refused = [skip for skip in found.skipped if skip.cause == cause]
        yield from [f"refused, {words}: {len(refused)}", *(f"  {skip.reason}" for skip in refused)] if refused else []
    if found.other_keys:
        keys = ", ".join(f"{key} ({n})" for key, n in found.other_keys.most_common())
        yield f"  unknown keys and the files refused for them: {keys}"
    if found.old:
        yield f"out of date on {found.today.isoformat()}: {len(found.old)}"
        yield from (f"  {d.path}: {why}; owner: {d.owner or 'none named'}" for d, why in found.old)
    if found.alike:
        yield f"pairs with the same or nearly the same text: {len(found.alike)}"
        for pair in found.alike:
            groups = " and ".join(f"({', '.join(sorted(d.groups))})" for d in (pair.first, pair.second))
            apart = f"; they are open to different people: {groups}" if pair.apart else ""
            yield f"  {pair.first.path} and {pair.second.path}: {_percent(pair.share)} alike{apart}"
    if found.questions and found.unasked:
        yield f"documents that no question needs: {len(found.unasked)} of {len(found.entries)}"
        yield from (f"  {d.path}" for d in found.unasked)
    yield from (f"note: {note}" for note in found.notes)


_HEAD = ("file", "words", "headings", "tables", "passages", "text covered", "pages with text", "language", "groups")


def _row(entry: Entry) -> tuple[str, ...]:
    d = entry.document
    pages = f"{entry.pages - entry.empty_pages} of {entry.pages}" if entry.pages else ""
    counts = (entry.words, entry.headings, entry.tables, entry.passages)
    return (d.path, *map(str, counts), _percent(entry.covered), pages, d.lang or "?", ", ".join(sorted(d.groups)))


def _percent(share: float | None) -> str:
    """A share in percent; what is not the whole is never rounded to it."""
    return "no data" if share is None else "100 %" if share == 1 else f"{min(100 * share, 99.9):.1f} %"


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[i]) for row in (head, *rows)) for i in range(len(head))]
    for row in (head, *rows):
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()


def _draft(pilot: Pilot, found: Inventory) -> Iterator[str]:
    nobody = [skip.path for skip in found.skipped if skip.cause == "nobody"]
    others = [skip.path for skip in found.skipped if skip.cause in ("keys", "access", "content")]
    others += [entry.document.path for entry in found.entries]
    if not nobody:
        return
    table = pilot.data / "access.csv"
    draft = pilot.data / "access.draft.csv"
    try:
        written = write_draft(draft, Access.read(table if table.exists() else None), nobody, others)
    except PilotError as fault:
        yield f"  no draft was written: {fault}"
        return
    if written:
        yield f"  {draft} names their folders and grants nothing: fill in the groups and rename it to access.csv"
    else:
        yield f"  {draft} is being filled in and was left as it is: rename it to access.csv when it is done"


def _n(n: int, noun: str) -> str:
    return f"{n} {noun}{'' if n == 1 else 's'}"
