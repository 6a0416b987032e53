"""The lines of `rag-pilot check`: every file, what was refused and why, and what to do about it.

It is the engineer's and shows everything; what readers of exported pages may see is decided in `tables`. It prints
nothing itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable

from ..analysis.shares import percent
from ..corpus.convert import kind_of
from ..corpus.documents import REFUSED
from ..corpus.inventory import FileRecord, Inventory
from ..identity import fold, nearest
from ..records import Document
from ..settings import DOCUMENT_KEYS
from .words import plural

_COLUMNS: tuple[tuple[str, Callable[[FileRecord], object]], ...] = (
    ("words", lambda f: f"{f.words:,}"),
    ("headings", lambda f: f.headings),
    ("tables", lambda f: f.tables),
    ("passages", lambda f: f.passages),
    ("tokens", lambda f: f"{f.tokens:,}"),
    ("pages", lambda f: f.pages or ""),
    ("no text", lambda f: f.empty_pages or ""),
    ("covered", lambda f: f"{percent(f.covered)} %"),
    ("asked", lambda f: "" if f.questions is None else f.questions),
    ("lang", lambda f: f.document.lang or "?"),
    ("updated", lambda f: f.document.updated or "?"),
)


def file_lines(found: Inventory) -> list[str]:
    """A table of what was read, names last and whole, then each refusal and each remark."""
    table = [[name for name, _ in _COLUMNS], *([str(value(f)) for _, value in _COLUMNS] for f in found.files)]
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    shown = [" ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in table]
    names = ["file (groups)", *(f"{f.document.path}  ({', '.join(sorted(f.document.groups))})" for f in found.files)]
    lines = [
        *([f"{row}  {name}" for row, name in zip(shown, names, strict=True)] if found.files else []),
        *(f"  skipped {skipped.reason}" for skipped in found.skipped),
        *(f"  note    {note}" for note in found.notes),
    ]
    return [*lines, ""] if lines else []


def summary_lines(found: Inventory, why_stale: Callable[[Document], str]) -> list[str]:
    """What the whole folder comes to, and what is to be mended in it."""
    return [*_totals(found), *_refusals(found), *_copies(found), *_dates(found, why_stale), *_unasked(found)]


def _totals(found: Inventory) -> Iterable[str]:
    files = found.files
    yield f"{plural(len(files), 'document')} read, {len(found.skipped)} skipped"
    if files:
        words, passages = sum(f.words for f in files), sum(f.passages for f in files)
        yield (
            f"  {plural(words, 'word')} in {plural(passages, 'passage')}, {sum(f.tokens for f in files):,} tokens "
            f"(counted with {found.counted_with}); {percent(found.covered or 0)} % of the text that was read stands in "
            "some passage"
        )
    if empty := sum(f.empty_pages for f in files):
        holding = sum(1 for f in files if f.empty_pages)
        yield f"  {plural(empty, 'page')} without text in {plural(holding, 'document')}: scans, which need OCR"


def _refusals(found: Inventory) -> Iterable[str]:
    causes = Counter(skipped.cause for skipped in found.skipped)
    for cause, words in REFUSED.items():
        if causes[cause]:
            kinds = Counter(kind_of(s.path) or "no ending" for s in found.skipped if s.cause == cause == "kind")
            listed = ", ".join(f"{kind} {count}" for kind, count in sorted(kinds.items(), key=lambda k: (-k[1], k[0])))
            yield f"  {causes[cause]} refused: {words}" + (f" ({listed})" if listed else "")
    if unknown := found.unknown_keys:
        counted = sorted(unknown.items(), key=lambda item: (-item[1], item[0]))
        theirs = [key for key, _ in counted if not nearest(key, DOCUMENT_KEYS)]
        yield f"  unknown keys in front matter: {', '.join(f'{key} {count}' for key, count in counted)}"
        if theirs:
            keys = ", ".join(f'"{key}"' for key in theirs)
            yield (
                "  if other programs need them, and none of them says who may open a file, this line in [documents] of "
                f"pilot.toml passes them over: other_keys = [{keys}]"
            )
        if ours := [f"{key} ({nearest(key, DOCUMENT_KEYS)}?)" for key, _ in counted if key not in theirs]:
            yield f"  mistyped, to be mended in the files: {', '.join(ours)}"


def _copies(found: Inventory) -> Iterable[str]:
    by_id = {file.document.id: file.document for file in found.files}
    alike = [
        *((same, "the same words") for same in found.copies),
        *((f.ids, f"{_range(f.least, f.most)} of their word runs alike") for f in found.families),
    ]
    if found.copies:
        yield f"{plural(len(found.copies), 'set')} of exact duplicates"
    if found.families:
        yield f"{plural(len(found.families), 'set')} of near duplicates"
    for ids, how in alike:
        yield f"  {how}: {', '.join(by_id[i].path for i in ids)}"
        if len({by_id[i].groups for i in ids}) > 1:
            listed = "; ".join(f"{by_id[i].path} is open to {', '.join(sorted(by_id[i].groups))}" for i in ids)
            yield f"  CHECK: nearly one text, not the same readers: {listed}"


def _range(least: float, most: float) -> str:
    low, high = percent(least), percent(most)
    return f"{low} %" if low == high else f"{low} to {high} %"


def _dates(found: Inventory, why_stale: Callable[[Document], str]) -> Iterable[str]:
    documents = [file.document for file in found.files]
    stale = [(d, why) for d in documents if (why := why_stale(d))]
    undated = sum(not d.updated and not d.review_by for d in documents)
    if stale:
        yield f"{plural(len(stale), 'document')} out of date"
    for document, why in stale:
        yield f"  {document.path}: {why}" + (f" ({document.owner})" if document.owner else "")
    if undated:
        yield f"{plural(undated, 'document')} without any date: nobody can say whether they are out of date"
    spellings: dict[str, set[str]] = {}
    for group in (group for d in documents for group in d.groups):
        spellings.setdefault(fold(group), set()).add(group)
    for written in spellings.values():
        if len(written) > 1:
            yield f"groups written in several ways, which are different groups: {', '.join(sorted(written))}"


def _unasked(found: Inventory) -> Iterable[str]:
    if found.asked and found.files:
        many = f"{len(found.unasked)} of {plural(len(found.files), 'document')}"
        yield f"{many} named by no question ({plural(found.asked, 'question')}; the column 'asked' shows which)"
