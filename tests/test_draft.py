from pathlib import Path

import pytest

from rag_pilot.corpus.access import Access
from rag_pilot.corpus.documents import read_documents
from rag_pilot.corpus.draft import NAME, draft_access, write_draft
from rag_pilot.errors import AccessError
from rag_pilot.files import read_text

FILES = ("a.md", "hr/pay.md", "hr/leave.md", "hr/old/x.md", "it/ü;,b/run.md", "it/named.md", "it/photo.bmp")


def pilot(tmp_path: Path, access: str = "", files: tuple[str, ...] = FILES) -> Path:
    for name in files:
        path = tmp_path / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("groups" if name == "x" else "text", encoding="utf-8")
    if access:
        (tmp_path / "access.csv").write_text(access, encoding="utf-8")
    return tmp_path / "access.csv"


def skipped(access: Path):
    return read_documents(access.parent / "documents", Access.read(access if access.exists() else None)).skipped


def test_a_line_for_every_folder_that_holds_files_nobody_was_named_for(tmp_path):
    access = pilot(tmp_path, "path;groups;owner\nit/named.md;it;Ops, \n")
    assert draft_access(access, skipped(access)) == (
        'path,groups,owner,sensitivity,files\nit/named.md,it,"Ops,",,\n'
        '*,,,,1\nhr/*,,,,2\nhr/old/*,,,,1\n"it/ü;,b/*",,,,1\n'
    )


def test_it_grants_nothing_until_every_line_is_filled_in_and_then_works_at_once(tmp_path):
    access = pilot(tmp_path)
    write_draft(access, skipped(access))
    draft = tmp_path / NAME
    with pytest.raises(AccessError, match="lines 2, 3, 4, 5 and 6: groups is empty"):
        Access.read(draft)
    draft.write_text(read_text(draft).replace("*,,,,1", "*,all-staff,,,1", 1), encoding="utf-8")
    with pytest.raises(AccessError, match="lines 3, 4, 5 and 6: groups is empty"):
        Access.read(draft)
    draft.write_text(read_text(draft).replace(",,,,", ",hr;legal,Maud,,"), encoding="utf-8")
    draft.rename(access)
    found = read_documents(tmp_path / "documents", Access.read(access))
    assert {d.path: sorted(d.groups) for d in found.documents} == {
        "a.md": ["all-staff"],
        **{name: ["hr", "legal"] for name in FILES[1:6]},
    }
    assert write_draft(access, found.skipped) == ""


def test_narrow_lines_of_access_csv_stay_in_force_when_the_draft_takes_its_place(tmp_path):
    access = pilot(tmp_path, "path,groups\nhr/pay.md,board\n", ("hr/pay.md", "hr/leave.md"))
    write_draft(access, skipped(access))
    text = read_text(tmp_path / NAME).replace("hr/*,", "hr/*,all-staff")
    access.write_text(text, encoding="utf-8")
    found = read_documents(tmp_path / "documents", Access.read(access)).documents
    assert {d.id: d.groups for d in found} == {"pay": {"board"}, "leave": {"all-staff"}}


def test_a_draft_that_is_there_is_never_written_over_and_neither_is_access_csv(tmp_path):
    access = pilot(tmp_path, "path,groups\nit/named.md,it\n")
    before = read_text(access)
    assert "was written" in write_draft(access, skipped(access))
    assert "waits for you" in write_draft(access, skipped(access))
    mine = read_text(tmp_path / NAME).replace("hr/*,", "hr/*,hr")
    (tmp_path / NAME).write_text(mine, encoding="utf-8")
    assert "left as it is" in write_draft(access, skipped(access))
    assert (read_text(tmp_path / NAME), read_text(access)) == (mine, before)


def test_folders_whose_names_mean_others_too_get_no_line_and_spellings_of_one_get_one(tmp_path):
    access = pilot(tmp_path, files=("a*/x.md", "HR/y.md", "hr/z.md"))
    assert draft_access(access, skipped(access)).splitlines()[1:] == ["HR/*,,,,2"]
