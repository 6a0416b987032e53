"""What the forms share as widgets: a page of HTML, a line that tells what happened, a listener for keys and clicks.

Key presses and clicks reach Python with the number of the screen they were made on and the text of its fields; one
made on a screen that is no longer shown is dropped. The page is drawn only when a browser asks for it, so a notebook
executed without one holds no company text. What a press means is known to the form alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import anywidget
import ipywidgets
import traitlets

from ..errors import PilotError
from .form_parts import texts

ARROWS = ("ArrowLeft", "ArrowRight")


class Keys(anywidget.AnyWidget):  # type: ignore[misc]
    """The listener in the browser; all it decides is which presses belong to the form."""

    _esm = Path(__file__).parent / "keys.js"
    _css = Path(__file__).parent / "form.css"
    notice = traitlets.Unicode().tag(sync=True)
    sent = traitlets.List(traitlets.Unicode()).tag(sync=True)
    visits = traitlets.Dict().tag(sync=True)


class KeyForm(ipywidgets.VBox):  # type: ignore[misc]
    """A form of one page at a time; a child says what the fields held, what a press does and what is then shown."""

    def __init__(self, language: str, sent: Sequence[str], visits: Mapping[str, str]) -> None:
        """`sent` are the keys that reach Python, `visits` names the field that a key leads to."""
        self.language, self.say, self.screen = language, texts(language), 0
        self.page = ipywidgets.HTML(f'<p class="rp-muted">{escape(self.say["loading"])}</p>')
        self.status = ipywidgets.HTML()
        self.listener = Keys(notice=self.say["notice"], sent=list(sent), visits=dict(visits))
        self.listener.on_msg(self._receive)
        super().__init__([self.page, self.status, self.listener])
        self.add_class("rp-form")

    def press(self, name: str, screen: int | None = None, fields: Mapping[str, Any] | None = None) -> None:
        """One key or button, the screen it was pressed on and what its fields held; faults are shown, never raised."""
        if screen not in (None, self.screen) and name != "ready":
            return
        try:
            if fields and name != "ready":
                self._write(fields)
            told = self._act(name)
        except (PilotError, OSError) as fault:
            self._tell(f"{self.say['not_saved']} – {fault}", alarm=True)
        else:
            if told is not None:
                self._tell(told)
        if name != "fields":
            self._draw()

    def _write(self, fields: Mapping[str, Any]) -> None:
        """Keep what the fields hold."""
        raise NotImplementedError

    def _act(self, name: str) -> str | None:
        """Do what a press means, and return what to tell; None leaves what was told before."""
        raise NotImplementedError

    def _body(self) -> str:
        """The page as it is now, as HTML; what it shows counts as shown from here on."""
        raise NotImplementedError

    def _plain(self) -> str:
        """The form in one line, without text of the company: what stands where no widget can be shown."""
        raise NotImplementedError

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
        self.screen += 1
        body = self._body()
        self.page.value = f'<div class="rp-page" data-screen="{self.screen}" lang="{self.language}">{body}</div>'

    def _repr_mimebundle_(self, **kwargs: Any) -> Any:
        bundle = super()._repr_mimebundle_(**kwargs)
        if bundle:
            bundle["text/plain"] = self._plain()
        return bundle
