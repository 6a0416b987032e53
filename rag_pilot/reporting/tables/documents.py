"""Tables of the documents: who may open them, what was read of each file, what was refused, old, or there twice.

A file is named only to those who may open it, and one that nobody could be named for to no reader; all are counted.
`rag-pilot check`, which is the engineer's, names them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date
from pathlib import PurePosixPath

from ...analysis.shares import percent
from ...corpus.documents import REFUSED, Documents
from ...corpus.documents import why_stale as overdue
from ...corpus.inventory import FileRecord, Inventory
from ...records import Document
from ..html import Html, element, listing, note, paragraph, section, table, tag, whole
from ..words import plural

_UNKNOWN = "not known"


def documents(
    found: Documents,
    today: date,
    readers: Collection[str] = frozenset(),
    everyone: str | None = None,
    why_stale: Callable[[Document], str] | None = None,
) -> Html:
    """What was read, what was refused and why, and what is out of date.

    `why_stale` says why a document is; without it only review dates count. Files and their owners are named only where
    `readers` may open them; out-of-date documents are counted all the same.
    """
    docs, may = found.documents, frozenset(readers)
    if not docs and not found.skipped:
        return section("No document was found.")
    stale = [(d, why) for d in docs if (why := why_stale(d) if why_stale else overdue(d, today))]
    undated = sum(not d.review_by for d in docs)
    named = [s for s in found.skipped if s.groups & may]
    closed = Counter(s.cause for s in found.skipped if not s.groups & may)
    hidden = ", ".join(f"{closed[cause]} {words}" for cause, words in REFUSED.items() if closed[cause])
    remarks = [n for n in found.notes if any(n.startswith(f"{d.path}: ") for d in docs if d.groups & may)]
    parts: list[object] = [
        paragraph(
            element("strong", f"{len(docs)} of {plural(len(docs) + len(found.skipped), 'file')} read. "),
            f"{len(found.skipped)} refused, {len(stale)} out of date on {today.isoformat()}, "
            f"{undated} without review date.",
        ),
        _kinds(docs, everyone),
        table("Who may open them (a document counts for each of its groups)", ("Group", "Documents"), _groups(docs)),
        table(
            "Refused files",
            ("File", "Why"),
            [(s.path, s.reason.removeprefix(f"{s.path}: ")) for s in named],
            empty="none",
        )
        if named or not hidden
        else None,
        note(f"Refused and not named here, where nobody is known to may open them: {hidden}.") if hidden else None,
        table(
            "Out of date",
            ("Document", "Owner", "Updated", "Why"),
            [_stale(d, why, may) for d, why in stale],
            empty="none",
        ),
        listing(remarks) if remarks else None,
        _elsewhere(len(found.notes) - len(remarks), "remark"),
    ]
    return section(*parts)


def inventory(found: Inventory, readers: Collection[str] = frozenset()) -> Html:
    """What was read of every file: words, headings, tables, passages, the share of its text that stands in some.

    Totals are of all files; lines only of those that `readers` may open.
    """
    may, files = frozenset(readers), found.files
    shown = [f for f in files if f.document.groups & may]
    rows = [_row(f) for f in shown]
    empty = sum(f.empty_pages for f in files)
    sentences = [
        f"{plural(len(files), 'document')}, {plural(sum(f.words for f in files), 'word')}, "
        f"{plural(sum(f.passages for f in files), 'passage')}, {sum(f.tokens for f in files):,} tokens (counted with "
        f"{found.counted_with}).",
        f"{percent(found.covered or 0)} % of the text that was read stands in some passage"
        + (f"; {plural(empty, 'page')} without text count as missing." if empty else "."),
    ]
    if found.asked:
        sentences.append(
            f"{len(found.unasked)} of {plural(len(files), 'document')} named by no question "
            f"({plural(found.asked, 'question')})."
        )
    return section(
        listing(sentences if files else ["No document was read."]),
        table(f"What was read of each file ({len(shown)} of {len(files)} shown)", _HEAD, rows) if files else None,
        _elsewhere(len(files) - len(shown), "document"),
        *_alike(found, may),
    )


_HEAD = (
    *("File", "Words", "Headings", "Tables", "Passages", "Tokens", "Pages", "Covered", "Language", "Groups"),
    *("Updated", "Questions"),
)


def _row(file: FileRecord) -> tuple[object, ...]:
    d = file.document
    return (
        d.path or d.id,
        file.words,
        file.headings,
        file.tables,
        file.passages,
        file.tokens,
        f"{file.pages}, {file.empty_pages} without text" if file.empty_pages else file.pages or "–",
        f"{percent(file.covered)} %",
        d.lang or _UNKNOWN,
        ", ".join(sorted(d.groups)),
        whole(d.updated or _UNKNOWN),
        "–" if file.questions is None else file.questions,
    )


def _alike(found: Inventory, may: frozenset[str]) -> Iterable[Html | None]:
    """Copies and near duplicates; a set of which the readers may not open every document is counted, not named."""
    by_id = {f.document.id: f.document for f in found.files}
    sets = [
        *(([by_id[i] for i in same], "the same words") for same in found.copies),
        *(([by_id[i] for i in f.ids], f"{percent(f.least)} % alike or more") for f in found.families),
    ]
    shown = [(docs, how) for docs, how in sets if all(d.groups & may for d in docs)]
    rows = [(", ".join(d.path or d.id for d in docs), how, _same_readers(docs)) for docs, how in shown]
    yield table("There twice", ("Files", "How alike", "Readers"), rows, empty="none" if not sets else "none named here")
    yield _elsewhere(len(sets) - len(shown), "set")
    if apart := sum(len({d.groups for d in docs}) > 1 for docs, _ in sets):
        yield paragraph(
            tag("look at them", "bad"),
            f" {plural(apart, 'set')} of nearly one text not open to the same readers: what one file closes, another "
            "may show.",
        )


def _same_readers(docs: Sequence[Document]) -> Html:
    same = len({d.groups for d in docs}) == 1
    return tag("the same") if same else tag("not the same", "bad")


def _elsewhere(count: int, what: str) -> Html | None:
    if not count:
        return None
    return note(f"{plural(count, what)} not shown here; `rag-pilot check`, which is the engineer's, lists everything.")


def _kinds(docs: Sequence[Document], everyone: str | None) -> Html:
    """Languages x formats, with how many everybody may not open where the name of everyone's group is given."""
    kinds = Counter((d.lang or _UNKNOWN, PurePosixPath(d.path).suffix.lower() or "no ending") for d in docs)
    closed = Counter(d.lang or _UNKNOWN for d in docs if everyone and everyone not in d.groups)
    formats, langs = sorted({f for _, f in kinds}), sorted({lang for lang, _ in kinds})
    rows = [[lang, *(kinds[lang, f] for f in formats), sum(kinds[lang, f] for f in formats)] for lang in langs]
    rows.append(["All", *(sum(kinds[lang, f] for lang in langs) for f in formats), len(docs)])
    head = ["Language", *formats, "All"]
    if everyone:
        head.append(f"Not open to {everyone}")
        for row, count in zip(rows, [*(closed[lang] for lang in langs), closed.total()], strict=True):
            row.append(count)
    return table("Documents by language and format", head, rows if docs else [], total=True)


def _groups(docs: Sequence[Document]) -> list[tuple[object, ...]]:
    counts = Counter(group for d in docs for group in d.groups)
    return [(group, count) for group, count in sorted(counts.items(), key=lambda item: (-item[1], item[0]))]


def _stale(document: Document, why: str, readers: frozenset[str]) -> tuple[object, ...]:
    name, owner = document.title or document.id, document.owner or "no owner named"
    if not document.groups & readers:
        name, owner = f"not shown here (needs {' or '.join(sorted(document.groups))})", "not shown here"
    return name, owner, whole(document.updated or _UNKNOWN), why
