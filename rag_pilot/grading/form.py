"""The form in which an expert labels answers by hand: an ipywidgets box with a small key listener.

Key presses and clicks reach Python with the number of the screen they were made on and the text of its fields; one
made on a screen that is no longer shown is dropped. The page is drawn only when a browser asks for it, so a notebook
executed without one holds no company text. Knows nothing of judges, retrievers and measures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets

from ..errors import PilotError
from . import form_page
from .items import Groups, Item
from .labels import LabelStore
from .session import LabelSession


class Keys(anywidget.AnyWidget):  # type: ignore[misc]
    """The listener in the browser; all it decides is which presses belong to the form."""

    _esm = Path(__file__).parent / "keys.js"
    _css = Path(__file__).parent / "form.css"
    notice = traitlets.Unicode().tag(sync=True)


class LabelForm(ipywidgets.VBox):  # type: ignore[misc]
    """The form over one session; `label_form` makes a new one each time that it is displayed."""

    def __init__(self, session: LabelSession, language: str = "en") -> None:
        self.session, self.language = session, language
        self.say = form_page.texts(language)
        self.screen = 0
        self.page = ipywidgets.HTML(f'<p class="rp-muted">{escape(self.say["loading"])}</p>')
        self.status = ipywidgets.HTML()
        self.listener = Keys(notice=self.say["notice"])
        self.listener.on_msg(self._receive)
        super().__init__([self.page, self.status, self.listener])
        self.add_class("rp-form")
        done, total = session.progress()
        told = [self.say["half_line"]] if session.store.half_line() else []
        self._tell(" ".join([*told, self.say["welcome_back"].format(done, total)] if done else told))

    def press(self, name: str, screen: int | None = None, fields: Mapping[str, Any] | None = None) -> None:
        """One key or button, the screen it was pressed on and what its fields held; faults are shown, never raised."""
        if screen not in (None, self.screen) and name != "ready":
            return
        try:
            if fields and name != "ready":
                note, also = (str(fields.get(field, "")) for field in ("note", "also"))
                self.session.write(note, also, fields.get("stale") is True)
            told = self._act(name)
        except (PilotError, OSError) as fault:
            self._tell(f"{self.say['not_saved']} – {fault}", alarm=True)
        else:
            if told is not None:
                self._tell(told)
        if name != "fields":
            self._draw()

    def _act(self, name: str) -> str | None:
        session = self.session
        if name in form_page.LABEL_KEYS:
            return session.label(form_page.LABEL_KEYS[name])
        if name in form_page.CAUSE_KEYS:
            return session.cause(form_page.CAUSE_KEYS[name])
        if name in ("ArrowLeft", "ArrowRight"):
            return session.move(1 if name == "ArrowRight" else -1)
        if name in ("u", "s", "fields"):
            told = session.keep()
            return (session.undo() if name == "u" else session.skip()) if name != "fields" else told or None
        return None

    def _receive(self, _: Any, content: Mapping[str, Any], __: Any) -> None:
        try:
            self.press(str(content["key"]), content.get("screen"), content.get("fields"))
        except Exception as fault:  # ipywidgets would send it to a log that nobody reads
            self._tell(f"{self.say['not_saved']} – {type(fault).__name__}: {fault}", alarm=True)
        finally:
            self.listener.send({"done": content.get("id")})

    def _tell(self, message: str, alarm: bool = False) -> None:
        role = "alert" if alarm else "status"
        self.status.value = f'<div class="rp-status" role="{role}">{escape(message)}</div>'

    def _draw(self) -> None:
        session, say = self.session, self.say
        self.screen += 1
        session.shown()
        (done, total), (again, repeats), notes = session.progress(), session.progress("repeat"), []
        if done == total and repeats:
            notes.append(say["repeats"].format(again, repeats))
        if session.hidden:
            needed = ", ".join(need or say["nobody"] for need in session.needed)
            notes.append(say["hidden"].format(len(session.hidden), len(session.hidden) + total, needed))
        head = form_page.heading(say["progress"].format(done, total), done, total, notes, say)
        if session.item:
            labelled = session.saved(session.item) is not None
            body = form_page.item_page(session.item, session.draft(session.item), labelled, head, say)
        else:
            body = form_page.closing_page(session.summary(), head, say)
        self.page.value = f'<div class="rp-page" data-screen="{self.screen}" lang="{self.language}">{body}</div>'

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle:
            bundle["text/plain"] = f"{self.say['form']}: {self.say['progress'].format(*self.session.progress())}"
        return bundle


def label_form(
    items: Iterable[Item],
    store: LabelStore,
    annotator: str,
    *,
    seed: int,
    groups: Groups,
    language: str = "en",
    repeats: int = 5,
    clock: Callable[[], datetime] = datetime.now,
) -> LabelForm:
    """A new form over `items` for one person who may open what `groups` may open; it resumes from the file alone."""
    say = form_page.texts(language)
    session = LabelSession(items, store, annotator, seed=seed, groups=groups, say=say, repeats=repeats, clock=clock)
    return LabelForm(session, language)
