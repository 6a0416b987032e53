"""The table of a pilot's files: what was read, what came out, what was refused and why, what a person should know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath

from ...corpus.documents import REFUSED
from ...corpus.inventory import Inventory
from ...records import Document
from ..html import Html, element, listing, note, paragraph, section, table
from ..words import plural


def documents(found: Inventory, readers: Collection[str] = frozenset(), everyone: str | None = None) -> Html:
    """What was read and what came out, what was refused and why; what is old, alike, or asked for by no question.

    Documents are named only where `readers` may open them; the others are counted.
    """
    if not found.entries and not found.skipped:
        return section("No document was found.")
    n, named = len(found.entries), frozenset(readers)
    seen = [e for e in found.entries if e.document.groups & named]
    files = [
        (d.path or d.id, e.words, e.headings, e.tables, e.passages, _share(e.covered), d.lang or "not known")
        for e in seen
        for d in [e.document]
    ]
    head = ("File", "Words", "Headings", "Tables", "Passages", "Text covered", "Language")
    docs = [e.document for e in found.entries]
    told = [skip for skip in found.skipped if skip.groups & named]
    hidden = len(found.skipped) - len(told)
    return section(
        paragraph(
            element("strong", f"{n} of {plural(n + len(found.skipped), 'file')} read. "),
            f"{len(found.skipped)} refused{_why(found)}, {len(found.old)} out of date on {found.today.isoformat()}, "
            f"{sum(not d.review_by for d in docs)} without review date. "
            f"Of the text {_share(found.covered)} stands in passages.",
        ),
        _kinds(docs, everyone),
        table("Who may open them (a document counts for each of its groups)", ("Group", "Documents"), _groups(docs)),
        table("Files read", head, files, empty="none that this page may name"),
        note(f"{plural(n - len(seen), 'file')} not named here: this page's readers may not open them.")
        if n > len(seen)
        else None,
        table("Refused files", ("File", "Why"), [(s.path, s.reason) for s in told], empty="none to name here"),
        note(f"{plural(hidden, 'refused file')} not named here; `rag-pilot check` names all of them.")
        if hidden
        else None,
        _other_keys(found),
        table(
            "Out of date",
            ("Document", "Owner", "Updated", "Why"),
            [(_name(d, named), d.owner or "no owner named", d.updated or "not known", why) for d, why in found.old],
            empty="none",
        ),
        table(
            "The same or nearly the same text",
            ("Document", "Document", "Alike", "Who may open them"),
            [
                (_name(p.first, named), _name(p.second, named), _share(p.share), "differs" if p.apart else "the same")
                for p in found.alike
            ],
            empty="none",
        ),
        _unasked(found, named),
        listing(found.notes) if found.notes else None,
    )


def _share(value: float | None) -> str:
    """A share in percent; what is not the whole is never rounded to it."""
    return "no data" if value is None else "100 %" if value == 1 else f"{min(100 * value, 99.9):.1f} %"


def _why(found: Inventory) -> str:
    kinds = Counter(skip.cause for skip in found.skipped)
    return f" ({'; '.join(f'{n}: {REFUSED.get(cause, cause)}' for cause, n in kinds.most_common())})" if kinds else ""


def _other_keys(found: Inventory) -> Html | None:
    if not found.other_keys:
        return None
    listed = ", ".join(f"{key} ({n})" for key, n in found.other_keys.most_common())
    return note(
        f"Unknown keys of front matter, with the files refused for them: {listed}. Keys of another program are passed "
        "over when other_keys under [documents] in pilot.toml names them."
    )


def _unasked(found: Inventory, readers: frozenset[str]) -> Html | None:
    if not found.questions:
        return None
    seen = [d for d in found.unasked if d.groups & readers]
    hidden = len(found.unasked) - len(seen)
    return section(
        table(
            f"Documents that none of the {plural(found.questions, 'question')} needs",
            ("Document", "Owner"),
            [(d.title or d.id, d.owner or "no owner named") for d in seen],
            empty="none that this page may name" if hidden else "none",
        ),
        note(f"{hidden} more are not named here.") if hidden and seen else None,
    )


def _kinds(docs: Sequence[Document], everyone: str | None) -> Html:
    """Languages x formats, with how many everybody may not open where the name of everyone's group is given."""
    kinds = Counter((d.lang or "not known", PurePosixPath(d.path).suffix.lower() or "no ending") for d in docs)
    closed = Counter(d.lang or "not known" for d in docs if everyone and everyone not in d.groups)
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


def _name(document: Document, readers: frozenset[str]) -> str:
    if not document.groups & readers:
        return f"not shown here (needs {' or '.join(sorted(document.groups))})"
    return document.title or document.id
