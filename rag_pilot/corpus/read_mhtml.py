"""MHTML (a page saved whole by a browser) -> Markdown: its HTML part, as read_html reads it."""

from __future__ import annotations

from dataclasses import replace
from email import message_from_bytes
from email.errors import CloseBoundaryNotFoundDefect
from email.message import Message
from email.policy import default

from ..errors import DataError
from .markdown import Converted, one_line
from .read_html import decode_html, html_to_markdown


def mhtml_to_markdown(data: bytes) -> Converted:
    """The text of the page; pictures, styles and frames beside it are left out, frames with a note."""
    message = message_from_bytes(data, policy=default)
    if any(isinstance(defect, CloseBoundaryNotFoundDefect) for part in message.walk() for defect in part.defects):
        raise DataError("is cut off (its last boundary is missing); save the page again")
    pages = [part for part in message.walk() if part.get_content_type() == "text/html"]
    if not pages:
        raise DataError("holds no page; save it again, as a complete page or as .html")
    converted = html_to_markdown(_text(pages[0]))
    frames = f"{len(pages) - 1} frames beside the page are not read"
    return replace(
        converted,
        title=converted.title or one_line(str(message["subject"] or "")),
        notes=(*converted.notes, *([frames] if len(pages) > 1 else [])),
    )


def _text(part: Message) -> str:
    content = part.get_payload(decode=True)
    data = content if isinstance(content, bytes) else b""
    try:
        return data.decode(part.get_content_charset("utf-8")).replace("\r\n", "\n")
    except (ValueError, LookupError):
        return decode_html(data, "its page")
