"""RTF -> Markdown: headings by outline level or style, tables, list items, footnotes, text in any code page.

Insertions are read, deletions are not. Hidden text, comments, headers, footers, pictures and field codes are left out.
"""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass, field, replace

from ..errors import DataError
from .markdown import Converted, heading, item, join, one_line, paragraph, table

_TOKEN = re.compile(
    r"\\([a-zA-Z]{1,32})(-?\d{1,10})? ?|\\'([0-9a-fA-F]{2})|\\([^a-zA-Z])|([{}])|[\r\n\0]+|([^\\{}\r\n\0]+)"
)
_CODE_PAGES = {
    "0": "cp1252", "2": "cp1252", "77": "mac_roman", "128": "cp932", "129": "cp949", "134": "gbk", "136": "big5",
    "161": "cp1253", "162": "cp1254", "163": "cp1258", "177": "cp1255", "178": "cp1256", "186": "cp1257",
    "204": "cp1251", "222": "cp874", "238": "cp1250",
}  # fmt: skip
"""Of fonts by their character set, as the RTF 1.9 specification names them."""

_NOT_READ = """fonttbl colortbl stylesheet info header headerl headerr headerf footer footerl footerr footerf pict
object nonshppict xe tc fldinst ftnsep ftnsepc aftnsep aftnsepc listtext pntext"""
_LEFT_OUT = set(_NOT_READ.split())  # beside all groups that begin with \\*
_SIGNS = {
    "emdash": "—", "endash": "–", "lquote": "‘", "rquote": "’", "ldblquote": "“", "rdblquote": "”", "bullet": "•",
    "emspace": " ", "enspace": " ", "tab": " ", "line": " ", "softline": " ", "lbr": " ", "nestcell": " ",
    "nestrow": " ", "~": " ", "_": "-", "\\": "\\", "{": "{", "}": "}",
}  # fmt: skip
_HEADING_NAME = re.compile(r"(?:heading|titre|überschrift|nagłówek)\s*([1-9])", re.IGNORECASE)


@dataclass(frozen=True)
class _State:
    """What holds inside one group, and is as before when it ends."""

    destination: str = ""  # left out, or one of fonttbl, stylesheet, title, footnote; empty in the body
    code_page: str = "cp1252"
    skipped: int = 1  # signs after \u that stand for it where Unicode is not known
    unseen: bool = False  # hidden or deleted
    level: int = 0  # of a heading
    listed: bool = False
    in_table: bool = False


@dataclass
class _Text:
    """A place that text goes to, with what has not been decoded yet."""

    words: list[str] = field(default_factory=list)
    raw: bytearray = field(default_factory=bytearray)
    code_page: str = "cp1252"

    def add(self, text: str) -> None:
        self.flush()
        self.words.append(text)

    def add_bytes(self, data: bytes, code_page: str) -> None:
        if code_page != self.code_page:
            self.flush()
            self.code_page = code_page
        self.raw += data

    def flush(self) -> None:
        if self.raw:
            self.words.append(self.raw.decode(self.code_page, "replace"))
            self.raw.clear()

    def take(self) -> str:
        self.flush()
        text = "".join(self.words).encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # \u in two halves
        self.words.clear()
        return text


def rtf_to_markdown(data: bytes) -> Converted:
    """The body of an RTF file; footnotes follow the paragraph that holds them."""
    if not data.lstrip().startswith(b"{\\rtf"):
        raise DataError("is not RTF; save it as .rtf, .docx or .txt again")
    reader = _Reader(data.decode("latin-1"))
    reader.read()
    day = re.fullmatch(r"\d{4}-\d\d-\d\d", reader.updated)
    return Converted(join(reader.blocks), title=one_line(reader.title.take()), updated=day[0] if day else "")


class _Reader:
    def __init__(self, source: str) -> None:
        self.source = source
        self.blocks: list[str] = []
        self.title = _Text()
        self.updated = ""
        self.body, self.note, self.name = _Text(), _Text(), _Text()
        self.notes: list[str] = []
        self.table_notes: list[str] = []
        self.fonts: dict[str, str] = {}
        self.styles: dict[str, int] = {}
        self.font = self.style = self.default_page = ""
        self.rows: list[list[str]] = []
        self.cells: list[str] = []
        self.merged: list[
            str
        ] = []  # of the cells of the row: "" or the word that merges it with the one before or above
        self.state = _State()
        self.stack: list[_State] = []

    def read(self) -> None:
        """Fill `blocks`; a DataError where the file ends inside a group."""
        at = to_skip = 0
        while match := _TOKEN.match(self.source, at):
            at = match.end()
            word, number, code, sign, brace, text = match.groups()
            if brace == "{":
                self.stack.append(self.state)
                if self.source.startswith("\\*", at):
                    self.state = replace(self.state, destination="*")
            elif brace:
                if not self.stack:
                    break
                self._close(self.stack.pop())
                if not self.stack:
                    break
            elif word == "bin":
                at += max(int(number or 0), 0)
            elif word == "u" and number:
                self._text(chr(int(number) % 0x10000))
                to_skip = self.state.skipped
            elif to_skip and (code or text):
                if text and len(text) > to_skip:
                    self._bytes(text[to_skip:].encode("latin-1"))
                to_skip -= min(to_skip, len(text or "x"))
            elif code:
                self._bytes(bytes.fromhex(code))
            elif text:
                self._bytes(text.encode("latin-1"))
            elif (word or sign) in _SIGNS:
                self._text(_SIGNS[word or sign])
            elif word:
                to_skip = 0
                self._word(word, number)
            elif sign in ("\n", "\r"):
                self._end_paragraph()
        if self.stack:
            raise DataError("is cut off in the middle; open it and save it again")
        self._end_paragraph()
        self._end_table()

    # -- text ----------------------------------------------------------------------------------------------------------

    @property
    def _target(self) -> _Text | None:
        targets = {"": self.body, "footnote": self.note, "title": self.title, "stylesheet": self.name}
        return None if self.state.unseen else targets.get(self.state.destination)

    def _text(self, text: str) -> None:
        if target := self._target:
            target.add(text)

    def _bytes(self, data: bytes) -> None:
        if target := self._target:
            target.add_bytes(data, self.state.code_page)

    def _close(self, before: _State) -> None:
        inside, self.state = self.state.destination, before
        if inside == "footnote" and before.destination != "footnote":
            self.notes.append(self.note.take())
        elif inside == "stylesheet" and (match := _HEADING_NAME.match(self.name.take().strip())):
            self.styles.setdefault(self.style, int(match[1]))

    # -- words ---------------------------------------------------------------------------------------------------------

    def _word(self, word: str, number: str | None) -> None:
        state, on = self.state, number != "0"
        if word in ("shptxt", "footnote") and state.destination in ("", "*"):
            self.state = replace(state, destination="footnote")  # a text box is read as a note is
        elif word in ("title", "revtim") and state.destination == "info":
            self.state = replace(state, destination=word)
        elif word in _LEFT_OUT and state.destination in ("", "*", "footnote"):
            if word in ("listtext", "pntext"):
                self.stack[-1] = replace(self.stack[-1], listed=True)
            self.state = replace(state, destination=word)
        elif word == "ansicpg":
            self.default_page = _known(f"cp{number}")
            self.state = replace(state, code_page=self.default_page)
        elif word == "uc":
            self.state = replace(state, skipped=max(int(number or 1), 0))
        elif word == "f" and state.destination == "fonttbl":
            self.font = number or "0"
        elif word == "fcharset" and state.destination == "fonttbl":
            if number in _CODE_PAGES and number not in ("0", "2"):
                self.fonts[self.font] = _CODE_PAGES[number]
        elif word == "f":
            self.state = replace(state, code_page=self.fonts.get(number or "0", self.default_page or "cp1252"))
        elif word == "s":
            self.style = number or "0"
            self.state = replace(state, level=state.level or self.styles.get(self.style, 0))
        elif word == "outlinelevel":
            level = int(number or 0) + 1 if int(number or 0) < 9 else 0
            if state.destination == "stylesheet":
                self.styles[self.style] = level
            else:
                self.state = replace(state, level=level)
        elif word in ("v", "deleted"):
            self.state = replace(state, unseen=on)
        elif word == "plain":
            self.state = replace(state, unseen=False)
        elif word in ("yr", "mo", "dy") and state.destination == "revtim":
            self.updated += (number or "0").zfill(2) + "-" * (word != "dy")
        elif not state.destination:
            self._body_word(word, number)

    def _body_word(self, word: str, number: str | None) -> None:
        if word == "pard":
            self.state = replace(self.state, level=0, listed=False, in_table=False)
        elif word == "intbl":
            self.state = replace(self.state, in_table=True)
        elif word in ("ls", "pnlvlblt", "pnlvlbody"):
            self.state = replace(self.state, listed=True)
        elif word in ("par", "sect", "page"):
            self._end_paragraph()
        elif word == "trowd":
            self.merged = [""]
        elif word in ("clmrg", "clvmrg") and self.merged:
            self.merged[-1] = word
        elif word == "cellx":
            self.merged.append("")
        elif word == "cell":
            self.cells.append(self.body.take())
        elif word == "row":
            self._end_row()

    def _end_paragraph(self) -> None:
        if self.state.destination:
            self._text(" ")
            return
        if self.state.in_table:
            self.body.add(" ")
            return
        text, level = self.body.take(), self.state.level
        if text.strip() or self.notes:
            self._end_table()
            self.blocks.append(heading(level, text) if level else item(text) if self.state.listed else paragraph(text))
            self.blocks += [paragraph(note) for note in self.notes]
            self.notes = []

    def _end_row(self) -> None:
        above = self.rows[-1] if self.rows else []
        for i, merged in enumerate(self.merged[: len(self.cells)]):
            if merged == "clmrg" and i:
                self.cells[i] = self.cells[i - 1]
            elif merged == "clvmrg" and i < len(above):
                self.cells[i] = above[i]
        self.rows.append(self.cells)
        self.table_notes += self.notes
        self.cells, self.notes = [], []

    def _end_table(self) -> None:
        if self.rows:
            wide = max(map(len, self.rows)) > 1
            self.blocks += [table(self.rows)] if wide else [paragraph(text) for row in self.rows for text in row]
            self.blocks += [paragraph(note) for note in self.table_notes]
            self.rows, self.table_notes = [], []


def _known(code_page: str) -> str:
    try:
        return codecs.lookup(code_page).name
    except LookupError:
        return "utf-8" if code_page == "cp65001" else "cp1252"
