"""A file's content -> Markdown, by the kind that its name says.

Text kinds may carry front matter, which is cut off before they come here; the others are converted from their bytes.
Who may open a file is not known here.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePosixPath

from ..errors import DataError
from .markdown import Converted
from .read_docx import docx_to_markdown
from .read_html import html_to_markdown
from .read_pdf import pdf_to_markdown

HTML = (".html", ".htm")
TEXT_KINDS = (".md", ".txt", *HTML)
"""Kinds that are text and may carry front matter."""

_FROM_BYTES: dict[str, Callable[[bytes], Converted]] = {
    ".docx": docx_to_markdown,
    ".pdf": pdf_to_markdown,
}
FORMATS = (*TEXT_KINDS, *_FROM_BYTES)


def kind_of(name: str) -> str:
    """The ending of a file's name in lower case, with its dot."""
    return PurePosixPath(name).suffix.lower()


def refusal(name: str) -> str:
    """Why files of this kind are not read and what to do; empty for those that are."""
    return (
        "" if kind_of(name) in FORMATS else f"files of this kind are not read; save it as one of {', '.join(FORMATS)}"
    )


def convert(name: str, body: str, data: bytes) -> Converted:
    """The Markdown of one file, from its text below the front matter or from its bytes; a DataError names the file."""
    kind = kind_of(name)
    try:
        if kind in _FROM_BYTES:
            return _FROM_BYTES[kind](data)
        return html_to_markdown(body) if kind in HTML else Converted(body)
    except DataError as fault:
        raise DataError(f"{name}: {fault}") from None
    except Exception as fault:  # a damaged file makes the readers raise almost anything
        cause = " ".join(str(fault).split())[:200]
        raise DataError(f"{name}: is damaged ({type(fault).__name__}: {cause}); open it and save it again") from None
