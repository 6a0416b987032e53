"""A page for each document owner: what to mend in her documents, which questions need it, and how to send it back.

The pages are for the pilot's readers, as tasks.csv beside them is: what these may not see whole is counted, and who
owns a document that is closed to them is not told. Which documents have to be mended is known in `tasks`, which file of
the report is written when in `export`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from markupsafe import Markup

from ..identity import fold_word
from ..reading import Failure, failures
from ..results import Result
from .html import link
from .pages import LANGUAGE, Stamp, render
from .tasks import Task, owners_tasks, visible
from .words import MEND, plural

INDEX = "owners.html"
NO_OWNER = "No owner"
LONGEST = 60  # letters of an owner's name in a file's name


def slugs(owners: Iterable[str]) -> dict[str, str]:
    """A file name's part for each owner, no two alike on any disk: letters without accents, digits and hyphens.

    Owners whose names fold to the same get a number, in the order of their names; the empty one is 'no-owner'.
    """
    made: dict[str, str] = {}
    for owner in sorted(set(owners)):
        plain = re.sub(r"[^a-z0-9]+", "-", fold_word(owner))[:LONGEST].strip("-")
        stem = plain or ("owner" if owner else "no-owner")
        slug, again = stem, 2
        while slug in made.values():
            slug, again = f"{stem}-{again}", again + 1
        made[owner] = slug
    return made


def owner_pages(result: Result, stamped: Stamp) -> dict[str, str]:
    """Name of the file -> page: one for each owner of a document to be mended, and `owners.html`, which lists them.

    Documents that the readers may not open are counted there, and on no owner's page.
    """
    every = owners_tasks(result)
    secret = [task for task in every if _is_closed(task, result)]
    every = [task for task in every if task not in secret]
    shown, _ = visible(every, result)
    bad = {failure.question_id: failure for failure in failures(result)}
    names = {owner: f"owner-{slug}.html" for owner, slug in slugs(task.owner for task in every).items()}
    made, rows = {}, []
    for owner, file in names.items():
        hers = [task for task in shown if task.owner == owner]
        closed = [task for task in every if task.owner == owner and task not in hers]
        made[file] = render(
            "owner.html.j2",
            title=f"{owner or NO_OWNER}: documents to mend – {stamped.pilot}",
            stamp=stamped,
            owner=owner,
            heading=owner or NO_OWNER,
            documents=[_document(task, result, bad) for task in hers],
            closed=_closed(closed, result),
            mend=MEND["missing_or_stale"],
        )
        rows.append({"file": file, "owner": owner or NO_OWNER, "words": _words(hers, closed)})
    title, hidden = f"Owners – {stamped.pilot}", _closed(secret, result)
    made[INDEX] = render("owners.html.j2", title=title, stamp=stamped, owners=rows, closed=hidden)
    return made


def _is_closed(task: Task, result: Result) -> bool:
    """Whether its document is one that the readers may not open."""
    document = result.documents.get(task.document)
    return document is not None and not document.groups & result.pilot.readers


def _words(hers: Sequence[Task], closed: Sequence[Task]) -> str:
    hidden = f", {len(closed)} more that these readers may not see" if closed else ""
    asked = sum(len(task.questions) for task in hers)
    return f"{plural(len(hers), 'document')} to mend, {plural(asked, 'bad answer')}{hidden}"


def _closed(closed: Sequence[Task], result: Result) -> str:
    """How many of these documents the readers may not see whole, and which groups they need."""
    if not closed:
        return ""
    needed = {lacking for task in closed for i, _ in task.questions if (lacking := result.hidden(i))}
    found = (result.documents.get(task.document) for task in closed)
    needed |= {" or ".join(sorted(d.groups)) for d in found if d and not d.groups & result.pilot.readers}
    return f"{plural(len(closed), 'document')} not shown to these readers: that needs {'; '.join(sorted(needed))}."


def _document(task: Task, result: Result, bad: Mapping[str, Failure]) -> dict[str, Any]:
    document = result.documents.get(task.document)
    by_id = result.by_id
    facts = [("Updated", document.updated or "no date"), ("File", document.path)] if document else []
    return {
        "name": task.document,
        "title": document.title if document else task.document or "a document that nobody has named",
        "link": link(document.link, document.link) if document and document.link else "",
        "facts": facts if document else [("State", "not among the documents that were read: it is to be written")],
        "missing": task.missing,
        "cases": [_case(bad[i], by_id[i].lang) for i, _ in task.questions if i in bad],
    }


def _case(failure: Failure, lang: str) -> dict[str, Any]:
    return {
        "id": failure.question_id,
        "lang": Markup(' lang="{}"').format(lang) if LANGUAGE.fullmatch(lang) else "",
        "question": failure.question,
        "expected": failure.expected or "a decline",
        "got": failure.got,
        "label": failure.label,
    }
