"""A file's content -> Markdown, by the kind that its name says.

Text kinds may carry front matter, which is cut off before they come here; the others are converted from their bytes.
Who may open a file is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import PurePosixPath

from ..errors import DataError
from ..files import decode
from .markdown import Converted
from .read_csv import csv_to_markdown
from .read_docx import docx_to_markdown
from .read_html import decoded, html_to_markdown
from .read_mhtml import mhtml_to_markdown
from .read_odt import odt_to_markdown
from .read_pdf import pdf_to_markdown
from .read_pptx import pptx_to_markdown
from .read_rtf import rtf_to_markdown
from .read_xlsx import xlsx_to_markdown

HTML = (".html", ".htm")
TEXT_KINDS = (".md", ".txt", *HTML)
"""Kinds that are text and may carry front matter."""

_FROM_BYTES: dict[str, Callable[[bytes], Converted]] = {
    ".docx": docx_to_markdown,
    ".pdf": pdf_to_markdown,
    ".pptx": pptx_to_markdown,
    ".xlsx": xlsx_to_markdown,
    ".csv": csv_to_markdown,
    ".tsv": csv_to_markdown,
    ".odt": odt_to_markdown,
    ".rtf": rtf_to_markdown,
    ".mhtml": mhtml_to_markdown,
    ".mht": mhtml_to_markdown,
}
FORMATS = (*TEXT_KINDS, *_FROM_BYTES)

_REMEDIES = {
    "is an old Word file; open it and save it as .docx": ".doc .dot .wps",
    "is an old Excel file; open it and save it as .xlsx": ".xls .xlt",
    "is an old PowerPoint file; open it and save it as .pptx": ".ppt .pps .pot",
    "is a Word file with macros or a template; save it as .docx": ".docm .dotx .dotm",
    "is a workbook with macros, a binary one or a template; save it as .xlsx": ".xlsm .xlsb .xltx .xltm",
    "is a slide show, a template or has macros; save it as .pptx": ".ppsx .pptm .potx .potm .ppsm",
    "is a spreadsheet; save it as .xlsx": ".ods .numbers .gsheet",
    "is a set of slides; save it as .pptx": ".odp .key .gslides",
    "is a text of another program; save it as .docx": ".pages .gdoc .wpd .ott .sxw .one",
    "is a mail; save what people need of it as a document": ".msg .eml .pst .mbox",
    "is a picture; if it holds text, run character recognition (OCR) over it and save a PDF": (
        ".png .jpg .jpeg .gif .bmp .tif .tiff .webp .heic .svg .ico"
    ),
    "is a recording; put its transcript beside it as a document": ".mp3 .wav .m4a .mp4 .mov .avi .mkv .wmv .webm .ogg",
    "is an archive; unpack it": ".zip .7z .rar .gz .tar .tgz",
    "is only a link; save the page or file that it leads to": ".url .lnk .webloc",
}
_REMEDY = {kind: reason for reason, kinds in _REMEDIES.items() for kind in kinds.split()}


def kind_of(name: str) -> str:
    """The ending of a file's name in lower case, with its dot."""
    return PurePosixPath(name).suffix.lower()


def refusal(name: str) -> str:
    """Why files of this kind are not read and what to do; empty for those that are."""
    kind = kind_of(name)
    if kind in FORMATS:
        return ""
    ending = f"ending in {kind}" if kind else "without an ending"
    return _REMEDY.get(kind) or f"files {ending} are not read; save it as one of {', '.join(FORMATS)}"


def convert(name: str, body: str, data: bytes) -> Converted:
    """The Markdown of one file, from its text below the front matter or from its bytes; a DataError names the file."""
    kind = kind_of(name)
    if not data:  # what a reader says of it misleads
        raise DataError(f"{name}: is empty (0 bytes); copy it again from where it is kept, or remove it")
    try:
        if kind in _FROM_BYTES:
            converted = _FROM_BYTES[kind](data)
        else:
            converted = html_to_markdown(body) if kind in HTML else Converted(body)
        encoding = _encoding(kind, data, name)
    except DataError as fault:
        raise DataError(f"{name}: {fault}") from None
    except RecursionError:
        raise DataError(f"{name}: is nested too deep to be read; save it again in a simpler form") from None
    except Exception as fault:  # a damaged file makes the readers raise almost anything
        cause = " ".join(str(fault).split())[:200]
        raise DataError(f"{name}: is damaged ({type(fault).__name__}: {cause}); open it and save it again") from None
    said = () if encoding.upper() == "UTF-8" else (f"read as {encoding}; save it as UTF-8 if letters look wrong",)
    return replace(converted, notes=(*converted.notes, *said))


def _encoding(kind: str, data: bytes, name: str) -> str:
    if kind in HTML:
        return decoded(data, name)[1]
    return decode(data)[1] if kind in (".md", ".txt", ".csv", ".tsv") else "UTF-8"
