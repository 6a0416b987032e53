"""The questions and documents of a pilot as they stand on disk, and as one author may see them. No form, no screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from ..corpus.access import may_open
from ..corpus.question_file import QuestionFile
from ..records import FAILED_IN_USE, Document
from .draft import Draft, quote_fault, reasons
from .form_parts import Texts
from .items import Groups


class Desk:
    """Read when made and at each `read`; `hidden` are questions whose document the author may not open."""

    def __init__(
        self,
        file: QuestionFile,
        documents: Callable[[], Iterable[Document]],
        groups: Groups,
        everyone: str,
        say: Texts,
    ) -> None:
        self.file, self.groups, self.everyone, self.say = file, groups, everyone, say
        self._documents = documents
        self.read()

    def read(self) -> None:
        """Read both again; where either cannot be read, the desk stays as it was."""
        rows, documents = self.file.read(), {d.id: d for d in self._documents()}
        self.rows: Mapping[str, Mapping[str, Any]] = rows
        self.documents: Mapping[str, Document] = documents
        needs = {id_: self._missing(row) for id_, row in rows.items()}
        self.hidden = {id_: need for id_, need in needs.items() if need is not None}

    def reasons(self, id_: str) -> list[str]:
        """Why a question is not complete as it stands in the file."""
        return reasons(Draft.of(self.rows[id_]), self.documents, self.everyone, self.say)

    def faults(self, draft: Draft, before: Draft) -> list[str]:
        """Why a draft cannot be saved; a quote that was decided upon before is left alone."""
        found = reasons(draft, self.documents, self.everyone, self.say)
        kept = (draft.doc, draft.also, draft.quote) == (before.doc, before.also, before.quote)
        if before.answerable is None or not kept:
            found += quote_fault(draft, self.documents, self.say)
        return found

    def counts(self) -> dict[str, int]:
        """How many questions there are of each kind: complete, undecided, incomplete (of all), hidden (beside that)."""
        undecided = sum(row["answerable"] is None for row in self.rows.values())
        complete = sum(not self.reasons(id_) for id_ in self.rows)
        incomplete = len(self.rows) - undecided - complete
        return {"complete": complete, "undecided": undecided, "incomplete": incomplete, "hidden": len(self.hidden)}

    @property
    def open_documents(self) -> list[Document]:
        """The documents that the author may open."""
        return [d for d in self.documents.values() if may_open(d.groups, self.groups)]

    @property
    def group_names(self) -> list[str]:
        """The groups that documents are open to, beside everyone's."""
        return sorted({g for d in self.documents.values() for g in d.groups} - {self.everyone})

    @property
    def categories(self) -> list[str]:
        """The categories in use."""
        return sorted({row["category"] for row in self.rows.values() if row.get("category")})

    def _missing(self, row: Mapping[str, Any]) -> str | None:
        """The groups that would show a question; None where all its documents are open to the author.

        Of a real question all its asker's groups are needed, as where its answer was re-read.
        """
        asker = frozenset(row.get("groups") or ()) if row.get("source") == FAILED_IN_USE else frozenset()
        if not asker <= self.groups:
            return " + ".join(sorted(asker))
        for doc in filter(None, (row.get("doc"), *(row.get("also") or ()))):
            groups = self.documents[doc].groups if doc in self.documents else frozenset()
            if not may_open(groups, self.groups):
                return " / ".join(sorted(groups))
        return None
