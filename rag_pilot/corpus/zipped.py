"""The zip around .docx, .pptx, .xlsx and .odt files, opened with the checks that all of them need.

What stands in its parts is not known here.
"""

from __future__ import annotations

import io
import re
from zipfile import ZipFile

from lxml import etree

from ..errors import DataError

MOST_UNPACKED = 500 * 2**20
"""Bytes to which a file may unpack; a well-made bomb of 40 kB unpacks to gigabytes."""
MOST_XML = 100 * 2**20
"""Bytes of its XML, which costs several times its size in memory; a book of 1,000 pages has about 10 MB."""

_OLE = b"\xd0\xcf\x11\xe0"
_DAY = re.compile(rb"<dcterms:modified[^>]*>\s*(\d{4}-\d\d-\d\d)")
_TITLE = re.compile(rb"<dc:title[^>]*>([^<]*)<")


def open_package(data: bytes, kind: str) -> ZipFile:
    """The zip of a file of that kind (`.docx` ...), every XML part of it known to be whole; else a DataError."""
    if data.startswith(_OLE):
        old = f"an old {kind[:-1]}" if kind.endswith("x") else "an old office file"
        raise DataError(f"is protected by a password, or {old}; save it as {kind} without a password")
    package = ZipFile(io.BytesIO(data))
    parts = package.infolist()
    xml = [part for part in parts if part.filename.endswith((".xml", ".rels"))]
    for what, size, most in (
        ("unpacks to", sum(part.file_size for part in parts), MOST_UNPACKED),
        ("holds text of", sum(part.file_size for part in xml), MOST_XML),
    ):
        if size > most:
            raise DataError(f"{what} {size >> 20:,} MB, more than the {most >> 20} that are read; split it")
    encrypted = any(part.flag_bits & 1 for part in parts)
    if encrypted or b"encryption-data" in part_of(package, "META-INF/manifest.xml"):
        raise DataError(f"is protected by a password; save it as {kind} without a password")
    for part in xml:
        package.read(part)  # checks its sum
    return package


def part_of(package: ZipFile, name: str) -> bytes:
    """The bytes of a part, empty where there is none."""
    return package.read(name) if name in package.namelist() else b""


def xml_of(data: bytes) -> etree._Element:
    """The root element of a part; entities are not followed."""
    return etree.fromstring(data, etree.XMLParser(resolve_entities=False, no_network=True))


def core_properties(package: ZipFile) -> tuple[str, str]:
    """(title, ISO day of the last change) as an Office file says of itself; empty where it says nothing."""
    core = part_of(package, "docProps/core.xml")
    title, day = _TITLE.search(core), _DAY.search(core)
    text = etree.fromstring(b"<t>" + title[1] + b"</t>").text if title else ""
    return text or "", day[1].decode() if day else ""
