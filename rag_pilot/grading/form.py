"""The form in which an expert labels answers by hand. Knows nothing of judges, retrievers and measures."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any

import ipywidgets

from ..records import Document
from . import form_page
from .form_parts import closing_page, heading, texts
from .items import REPEATS, Groups, Item
from .key_form import ARROWS, KeyForm
from .labels import LabelStore
from .session import LabelSession


class LabelForm(KeyForm):
    """The form over one session; `label_form` makes a new one each time that it is displayed."""

    def __init__(self, session: LabelSession, language: str = "en") -> None:
        self.session = session
        super().__init__(language, sent=[*"1234567890us", *ARROWS], visits={"n": "note"})
        self.titles = ipywidgets.HTML(layout={"display": "none"})  # drawn once: there may be thousands
        self.children = (self.page, self.status, self.listener, self.titles)
        done, total = session.progress()
        told = [self.say["half_line"]] if session.store.half_line() else []
        self._tell(" ".join([*told, self.say["welcome_back"].format(done, total)] if done else told))

    def _write(self, fields: Mapping[str, Any]) -> None:
        note, also = (str(fields.get(field, "")) for field in ("note", "also"))
        self.session.write(note, also, fields.get("stale") is True)

    def _act(self, name: str) -> str | None:
        session, item = self.session, self.session.item
        if name in ARROWS:
            return session.move(1 if name == "ArrowRight" else -1)
        if name in ("u", "s"):
            session.keep()
            return session.undo() if name == "u" else session.skip()
        if name in form_page.LABEL_KEYS:
            told = session.label(form_page.LABEL_KEYS[name])
        elif name in form_page.CAUSE_KEYS:
            told = session.cause(form_page.CAUSE_KEYS[name])
        elif name == "fields":
            told = session.keep()
        else:
            return None
        named = session.named() if session.item is item else ""
        return " – ".join(filter(None, (told, named))) or (None if name == "fields" else "")

    def _body(self) -> str:
        session, say = self.session, self.say
        session.shown()
        self.titles.value = self.titles.value or form_page.titles_list(session.titles)
        (done, total), (again, repeats), notes = session.progress(), session.progress("repeat"), []
        if done == total and repeats:
            notes.append(say["repeats"].format(again, repeats))
        if session.hidden:
            needed = ", ".join(need or say["nobody"] for need in session.needed)
            notes.append(say["hidden"].format(len(session.hidden), len(session.hidden) + total, needed))
        head = heading(say["progress"].format(done, total), done, total, notes, say, form_page.HEAD_KEYS)
        if item := session.item:
            if not done:
                head += form_page.instruction(say)
            labelled = session.saved(item) is not None
            return form_page.item_page(item, session.draft(item), labelled, session.changed(item), head, say)
        return closing_page(session.summary(), head, form_page.help_page(say))

    def _plain(self) -> str:
        return f"{self.say['form']}: {self.say['progress'].format(*self.session.progress())}"


def label_form(
    items: Iterable[Item],
    store: LabelStore,
    annotator: str,
    *,
    seed: int,
    groups: Groups,
    language: str = "en",
    documents: Iterable[Document] = (),
    repeats: int = REPEATS,
    clock: Callable[[], datetime] = datetime.now,
) -> LabelForm:
    """A new form over `items` for one person who may open what `groups` may open; it resumes from the file alone.

    Of `documents` she can name those that she may open, as answering too.
    """
    session = LabelSession(
        items,
        store,
        annotator,
        seed=seed,
        groups=groups,
        say=texts(language),
        documents=documents,
        repeats=repeats,
        clock=clock,
    )
    return LabelForm(session, language)
