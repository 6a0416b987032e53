"""The page of a notebook in the sponsor's language: its prose from `texts/`, in place of that of the cells.

The notebook itself stays English; its tables are asked for in the language by its cells. Other pages are left alone.
"""

from __future__ import annotations

from typing import Any

from .html import english_in
from .speech import FOLDER, speech


def put_into(language: str, book: Any, name: str) -> str:
    """Put the prose of an executed notebook into a language where `texts/<name>.toml` has it; returns the page's.

    A cell whose words the team has changed stays as the team wrote it. An output that does not say that it is in the
    language is marked as English.
    """
    if language == "en" or not (FOLDER / f"{name}.toml").exists():
        return "en"
    english, own = speech(name, "en"), speech(name, language)
    for cell in book.cells:
        if cell.cell_type == "markdown" and english.get(cell.id) == cell.source:
            cell.source = own[cell.id]
        for output in cell.get("outputs", []):
            if html := output.get("data", {}).get("text/html"):
                output.data["text/html"] = str(english_in(html, language))
    return language
