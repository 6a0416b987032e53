"""`rag-pilot check` as an engineer meets it: on a folder of files, before there is anything else."""

import re
import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from tiny import tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.corpus.documents import Documents, Skipped
from rag_pilot.corpus.inventory import inventory
from rag_pilot.files import read_text
from rag_pilot.records import Document
from rag_pilot.reporting.check import file_lines, summary_lines
from rag_pilot.starter import write_starter


@pytest.fixture
def check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """The command: (exit code, what it printed, what it said on stderr)."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RAG_PILOT", raising=False)

    def run() -> tuple[int, str, str]:
        code = main(["check", "acme"])
        return code, *capsys.readouterr()

    return run


def starter(root: Path, files: dict[str, str], access: str = "") -> Path:
    data = write_starter(root / "data", "acme")
    for name, text in files.items():
        (data / "documents" / name).parent.mkdir(parents=True, exist_ok=True)
        (data / "documents" / name).write_text(text, encoding="utf-8")
    if access:
        (data / "access.csv").write_text(access, encoding="utf-8")
    return data


LONG = (
    "a-name-of-a-file-as-people-write-them-who-put-the-whole-subject-and-the-date-and-their-initials-2026-03-14-MK.txt"
)


def test_check_needs_neither_questions_nor_lock_nor_model_and_names_every_file_whole(tmp_path):
    files = {LONG: "# Leave\n\n25 days.", "old/plan.doc": "x", "old/list.doc": "x", "photo.bmp": "x", "empty.md": ""}
    data = starter(tmp_path, files, "path,groups\n**,all-staff\n")
    for name in ("questions.jsonl", "glossary.toml"):
        (data / name).unlink()
    code = "import sys; from rag_pilot.__main__ import main; c = main(['check', 'acme']); print(*sys.modules); exit(c)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and not done.stderr
    lines = done.stdout.splitlines()
    assert {"torch", "sentence_transformers", "pandas"}.isdisjoint(lines.pop().split())
    columns = "words headings tables passages tokens pages no text covered asked lang updated file (groups)"
    assert " ".join(lines[0].split()) == columns
    assert lines[1].endswith(f"  {LONG}  (all-staff)") and lines[1].split()[:4] == ["3", "1", "0", "1"]
    assert [line.split()[1].rstrip(":") for line in lines if line.startswith("  skipped")] == [
        "empty.md",
        "old/list.doc",
        "old/plan.doc",
        "photo.bmp",
    ]
    assert "1 document read, 4 skipped" in lines
    assert "  3 refused: of a kind that is not read (.doc 2, .bmp 1)" in lines
    assert sorted(path.name for path in tmp_path.iterdir()) == ["data"]


def test_keys_of_a_site_generator_are_mended_by_the_line_that_check_prints(check, tmp_path):
    head = "---\nlayout: page\npermalink: /x\ngroups: [all-staff]\n---\n"
    data = starter(tmp_path, {f"{n}.md": f"{head}Text {n}" for n in range(5)} | {"x.md": "---\nGroups: [hr]\n---\nx"})
    code, said, _ = check()
    assert code == 1 and "0 documents read, 6 skipped" in said
    assert "unknown keys in front matter: layout 5, permalink 5, Groups 1" in said
    assert "mistyped, to be mended in the files: Groups (groups?)" in said
    line = re.search(r"other_keys = .*$", said, re.MULTILINE)
    assert line
    path = data / "pilot.toml"
    path.write_text(f"{read_text(path)}\n[documents]\n{line[0]}\n", encoding="utf-8")
    _, said, _ = check()
    assert "5 documents read, 1 skipped" in said
    assert "  skipped x.md, line 2: unknown key 'Groups'; write groups" in said


def test_a_draft_is_written_once_and_filling_it_in_is_all_that_is_left(check, tmp_path):
    data = starter(tmp_path, {"hr/a.md": "x", "hr/b.md": "y", "c.md": "z"})
    code, said, _ = check()
    assert code == 1 and "  3 refused: nobody was named who may open it" in said
    assert "access.draft.csv was written: fill in groups" in said
    draft = data / "access.draft.csv"
    assert read_text(draft) == "path,groups,owner,sensitivity,files\n*,,,,1\nhr/*,,,,2\n"
    draft.write_text(read_text(draft).replace("*,", "*,all-staff"), encoding="utf-8")
    assert "left as it is" in check()[1] and "all-staff" in read_text(draft)
    draft.rename(data / "access.csv")
    code, said, _ = check()
    assert "3 documents read, 0 skipped" in said and not draft.exists()
    assert code == 1 and "no questions" in said  # what is still to do


def test_broken_questions_do_not_hide_the_documents(check, tmp_path):
    pilot = tiny_pilot(tmp_path, "acme")
    (pilot.data / "questions.jsonl").write_text("{", encoding="utf-8")
    code, said, fault = check()
    assert code == 2 and "3 documents read" in said
    assert fault.startswith("rag-pilot: ") and "questions.jsonl, line 1" in fault


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("pilot.toml", b"[documents]\nother_keys = ['group']\n", "other_keys holds 'group'"),
        ("pilot.toml", b"[documents\n", "pilot.toml: "),
        ("access.csv", b"path,groups\na.md,\n", "access.csv, line 2: groups is empty"),
        ("access.csv", b"\x81\x8d", "access.csv: neither UTF-8 nor cp1252"),
        ("documents.csv", b"path,titel\na.md,A\n", "documents.csv: column 'titel' is unknown"),
    ],
)
def test_a_table_that_cannot_be_read_is_one_message(check, tmp_path, file, content, words):
    data = starter(tmp_path, {"a.md": "x"})
    (data / file).write_bytes(content)
    code, _, fault = check()
    assert code == 2 and len(fault.splitlines()) == 1
    assert fault.startswith("rag-pilot: ") and words in fault


def test_a_counter_that_is_not_there_is_replaced_and_named(check, tmp_path):
    data = starter(tmp_path, {"a.md": "---\ngroups: [all-staff]\n---\none two three"})
    path = data / "pilot.toml"
    path.write_text(re.sub(r"counted_with = .*", 'counted_with = "/nowhere"', read_text(path)), encoding="utf-8")
    assert "(counted with 4 tokens for 3 words)" in check()[1]


# -- what the summary says ---------------------------------------------------------------------------------------------


WORDS = " ".join(f"w{n}" for n in range(100))


def document(id_: str, text: str, *groups: str, updated: str = "", owner: str = "") -> Document:
    return Document(id_, id_, text, frozenset(groups), f"{id_}.md", updated=updated, owner=owner)


def test_text_that_other_readers_may_open_elsewhere_gets_a_remark_of_its_own():
    docs = (
        document("bands", WORDS, "hr"),
        document("faq", f"{WORDS} more", "all-staff"),
        document("tea", "tea is free", "all-staff"),
        document("tee", "Tea is free!", "all-staff"),
    )
    lines = summary_lines(inventory(Documents(docs), []), lambda _: "")
    assert "  the same words: tea.md, tee.md" in lines
    assert "  99 % of their word runs alike: bands.md, faq.md" in lines
    (remark,) = [line for line in lines if "CHECK" in line]
    assert remark.endswith("not the same readers: bands.md is open to hr; faq.md is open to all-staff")


def test_stale_and_undated_documents_and_groups_spelled_in_two_ways_are_told():
    docs = (document("a", "x", "HR", updated="2020-01-01", owner="Maud"), document("b", "y", "hr"))
    lines = summary_lines(inventory(Documents(docs), []), lambda d: "too old" if d.updated else "")
    assert "  a.md: too old (Maud)" in lines and "1 document out of date" in lines
    assert "1 document without any date: nobody can say whether they are out of date" in lines
    assert "groups written in several ways, which are different groups: HR, hr" in lines


def test_every_line_of_the_table_has_its_names_at_one_place():
    docs = Documents((document("a", WORDS * 300, "hr"), document("b", "x", "hr")), (Skipped("c.doc", "c.doc: old"),))
    lines = file_lines(inventory(docs, []))
    assert lines[0].index("file (groups)") == lines[1].index("a.md") == lines[2].index("b.md")
    assert lines[3:] == ["  skipped c.doc: old", ""]


def test_freshness_is_counted_in_days_from_the_pilot_s_day(tmp_path):
    pilot = tiny_pilot(tmp_path)
    toml = pilot.data / "pilot.toml"
    toml.write_text(
        read_text(toml).replace("[pilot]", "[documents]\nfresh_days = 30\n[pilot]\nas_of = 2026-03-31"), "utf-8"
    )
    fresh = type(pilot).open("tiny", tmp_path)
    assert fresh.today == date(2026, 3, 31)
    assert fresh.why_stale(document("a", "x", "hr", updated="2026-03-01")) == ""
    assert "2026-02-28, more than 30 days ago" in fresh.why_stale(document("a", "x", "hr", updated="2026-02-28"))
