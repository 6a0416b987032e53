"""Whatever stands in front matter and access.csv, a document opens to nobody whom a plain line did not name."""

import random
import re
import unicodedata
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.corpus.access import Access, group_names
from rag_pilot.corpus.documents import read_documents
from rag_pilot.corpus.front_matter import split_front_matter
from rag_pilot.corpus.metadata import Metadata
from rag_pilot.errors import PilotError

# -- random folders ----------------------------------------------------------------------------------------------------

FOLDERS = ("", "hr/", "hr/pay/", "it/", "HR/")
STEMS = ("a", "b", "pay")
FILES = st.builds("{}{}{}".format, st.sampled_from(FOLDERS), st.sampled_from(STEMS), st.sampled_from([".md", ".txt"]))
PATTERNS = (
    "**",
    "*",
    "hr/",
    "hr/**",
    "hr/*",
    "hr/*.md",
    "**/pay*",
    "*/pay/*",
    "it/?.md",
    "hr/pay/a.md",
    "HR/a.md",
    "b.*",
)
GROUPS = st.sets(st.sampled_from(["hr", "it", "board"]), min_size=1, max_size=2)
ACCESS = st.dictionaries(st.sampled_from(PATTERNS), GROUPS, max_size=5)
HEADS = st.one_of(st.none(), GROUPS)


def plain_match(pattern: str, path: str) -> bool:
    """A second reading of the patterns, by a regular expression."""
    pattern = pattern.casefold() + ("**" if pattern.endswith("/") else "")
    written = "".join(
        {"**/": "(?:[^/]*/)*", "**": "(?:[^/]*/)*[^/]*", "*": "[^/]*", "?": "[^/]"}.get(part) or re.escape(part)
        for part in re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", pattern)
    )
    return re.fullmatch(written, path.casefold()) is not None


UNIVERSE = [
    f"{folder}{stem}{kind}"
    for folder in ("", "hr/", "hr/pay/", "hr/x/", "it/", "it/pay/", "x/y/z/")
    for stem in ("a", "b", "pay", "payx", "qq")
    for kind in (".md", ".txt")
]


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(FILES, HEADS, min_size=1, max_size=6), ACCESS)
def test_a_document_s_groups_are_those_of_one_statement_that_can_be_read_or_it_is_refused(
    tmp_path_factory, files, lines
):
    root = tmp_path_factory.mktemp("pilot")
    for name, groups in files.items():
        (root / "documents" / name).parent.mkdir(parents=True, exist_ok=True)
        head = f"---\ngroups: [{', '.join(sorted(groups))}]\n---\n" if groups else ""
        (root / "documents" / name).write_text(head + "text", encoding="utf-8")
    table = "".join(f"{pattern},{';'.join(sorted(groups))}\n" for pattern, groups in lines.items())
    (root / "access.csv").write_text("path,groups\n" + table, encoding="utf-8")
    try:
        found = read_documents(root / "documents", Access.read(root / "access.csv"))
    except PilotError as refused:
        assert "stands twice" in str(refused)
        return
    assert {d.path for d in found.documents} | {s.path for s in found.skipped} == set(files)
    assert len(found.documents) + len(found.skipped) == len(files)
    for document in found.documents:
        own, matching = files[document.path], [p for p in lines if plain_match(p, document.path)]
        exact = [p for p in matching if p.casefold() == document.path.casefold()]
        reach = {p: {path for path in UNIVERSE if plain_match(p, path)} for p in matching}
        narrowest = exact or [p for p in matching if all(reach[p] <= reach[other] for other in matching)]
        said = [frozenset(lines[p]) for p in narrowest] + ([frozenset(own)] if own else [])
        assert document.groups in said
        assert not own or document.groups == own
        assert not matching or document.groups in [frozenset(lines[p]) for p in narrowest]


# -- 10,000 inputs -----------------------------------------------------------------------------------------------------

SIGNS = [*"-+:#,;[]{}\"'@&*!|>%=?~.\\ \t\r\n", "\ufeff", "\u00a0", "\u200b", "\u2028", "\x00", "\x85", "é", "e\u0301"]
SCRAPS = [*SIGNS, "\udc80", "---\n", "+++\n", "<!-- x -->", "null", "groups", "Groups: [all-staff]", "title:", "true"]
HEAD_SEEDS = [
    "---\ntitle: Pay\ngroups: [hr, legal]\nupdated: 2026-03-14\n---\n# Pay\n\nBands.\n",
    "---\ngroups:\n- hr\n- legal\nowner: \"Head: HR\"\nlayout: page\n---\nBands\n",
    "---\r\ngroups: hr, legal\r\nlang: fr\r\n---\r\nBands\r\n",
    '+++\ntitle = "Pay"\ngroups = ["hr", "legal"]\nupdated = 2026-03-14\n+++\nBands\n',
    '+++\ngroups = "hr, legal"\n[layout]\na = {b = [1, 2]}\n+++\nBands\n',
]  # fmt: skip
TABLE_SEEDS = [
    "path,groups,owner,sensitivity\nhr/**,hr;legal,Maud,high\npay.md,hr,,\n",
    'path;groups;owner\n"hr/a;b.md";hr;"two\nlines"\n**;hr\n',
    "path\tgroups\tfiles\r\nhr/\thr; legal\t3\r\n*.md\tlegal\t\r\n",
]
DESCRIBED = "path,title,link,updated,review_by,lang,owner\nhr/**,Pay,x,2026-03-14,2027-01-01,fr,Maud\na.pdf,,,,,en,\n"
PLAIN_GROUPS = re.compile(r"^[\"']?groups[\"']?[ \t]*[:=]", re.MULTILINE)


def damaged(text: str, chance: random.Random, most: int = 4) -> str:
    """The text after one to `most` slips of a hand or a program: letters and lines lost, doubled, added, moved."""
    for _ in range(chance.randint(1, most)):
        at, other = sorted(chance.randint(0, len(text)) for _ in range(2))
        lines = text.split("\n")
        line = chance.randrange(len(lines))
        scrap = chance.choice(SCRAPS)
        text = chance.choice(
            [
                text[:at] + scrap + text[at:],
                text[:at] + text[at + 1 :],
                text[:at] + text[at : at + 1].swapcase() + text[at + 1 :],
                text[:at] + scrap * chance.randint(1, 40) + text[other:] if chance.random() < 0.1 else scrap + text,
                "\n".join(lines[:line] + lines[line + 1 :]),
                "\n".join([*lines[: line + 1], *lines[line:]]),
                "\n".join([*lines[:line], scrap + lines[line], *lines[line + 1 :]]),
            ]
        )
    return text


def stands_in(text: str, name: str) -> bool:
    return name in " ".join(unicodedata.normalize("NFC", text).split())  # YAML folds a name that runs on


def test_five_thousand_damaged_front_matters_raise_nothing_unplanned_and_name_no_group_that_is_not_written():
    chance, read, refused = random.Random(3), 0, 0
    for _ in range(5000):
        text = damaged(chance.choice(HEAD_SEEDS), chance)
        try:
            found = split_front_matter(text, "x.md", ("layout",) if chance.random() < 0.5 else ())
        except PilotError as fault:
            assert str(fault).startswith("x.md, line ")
            refused += 1
            continue
        read += 1
        assert all(stands_in(text, name) for name in found.groups or ())
        if PLAIN_GROUPS.search(text):  # then access.csv alone must not decide
            assert found.groups is not None, text
    assert min(read, refused) > 800


def test_five_thousand_damaged_tables_raise_nothing_unplanned_and_grant_no_group_that_is_not_written(tmp_path: Path):
    chance, read, refused = random.Random(4), 0, 0
    for number in range(5000):
        text = damaged(DESCRIBED if number % 4 == 0 else chance.choice(TABLE_SEEDS), chance, 2)
        path = tmp_path / f"access.csv.{number}"
        path.write_bytes(text.encode(chance.choice(["utf-8", "utf-8-sig", "cp1252"] * 5 + ["utf-16"]), "replace"))
        try:
            if number % 4 == 0:
                Metadata.read(path).of("hr/pay.md")
                read += 1
                continue
            access = Access.read(path)
            read += 1
            for name in ("hr/pay.md", "pay.md", "hr/a;b.md"):
                for group in entry.groups if (entry := access.of(name)) else ():
                    assert stands_in(text.replace("\udc80", "?"), group) or "?" in group
        except PilotError as fault:
            assert "access.csv" in str(fault)
            refused += 1
    assert min(read, refused) > 800


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=12), st.text(max_size=12))
def test_any_two_names_of_groups_stay_two_names_or_are_refused(one, other):
    try:
        names = group_names([one, other])
    except ValueError:
        return
    assert names == {unicodedata.normalize("NFC", name).strip() for name in (one, other)}
