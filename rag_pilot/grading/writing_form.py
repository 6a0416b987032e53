"""The form in which an expert writes the test set: question by question, the answer that she expects and where it
stands. Knows nothing of an index, an answer of a system, or a judge."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .form_parts import closing_page, heading
from .key_form import ARROWS, KeyForm
from .writing import WritingSession
from .writing_page import GROUP, HEAD_KEYS, OPEN, SENT, VISITS, clock, help_page, question_page


class WritingForm(KeyForm):
    """The form over one session; made anew each time that it is displayed."""

    def __init__(self, session: WritingSession, language: str = "en") -> None:
        self.session = session
        super().__init__(language, sent=SENT, visits=VISITS)
        self._tell("")

    def _write(self, fields: Mapping[str, Any]) -> None:
        self.session.write(fields)

    def _act(self, name: str) -> str | None:
        session = self.session
        acts = {"d": session.choose, "a": session.choose_also, "m": session.validate, "find": session.find}
        acts |= {"s": session.skip, "Enter": session.save}
        if name in acts:
            return acts[name]()
        if name in ("y", "n"):
            return session.decide(name == "y")
        if name in ARROWS:
            return session.move(1 if name == "ArrowRight" else -1)
        if name.isdecimal() and 0 < int(name) <= len(session.found.documents):
            return session.open(session.found.documents[int(name) - 1].id)
        if name.startswith(OPEN):
            return session.open(name.removeprefix(OPEN))
        return session.group(name.removeprefix(GROUP)) if name.startswith(GROUP) else None

    def _body(self) -> str:
        session, say = self.session, self.say
        session.shown()
        (done, total), notes = session.progress(), []
        if hidden := session.desk.hidden:
            needed = ", ".join(sorted({need or say["nobody"] for need in hidden.values()}))
            notes.append(say["hidden"].format(len(hidden), len(hidden) + total, needed))
        running = clock(session.pace(), session.elapsed(), say) if session.current else ""
        head = heading(say["written"].format(done, total), done, total, notes, say, HEAD_KEYS, running)
        if session.current:
            return question_page(session, head)
        return closing_page(session.summary(), head, help_page(say))

    def _plain(self) -> str:
        return f"{self.say['write_form']}: {self.say['written'].format(*self.session.progress())}"
