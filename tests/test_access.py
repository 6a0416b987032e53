from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.corpus.access import Access, Entry, group_names, may_open, read_table
from rag_pilot.errors import AccessError, DataError, PilotError


def access_of(tmp_path: Path, content: str | bytes) -> Access:
    path = tmp_path / "access.csv"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return Access.read(path)


def groups_of(access: Access, path: str) -> set[str] | None:
    entry = access.of(path)
    return set(entry.groups) if entry else None


HEADER = "path,groups,owner,sensitivity\n"


def test_reads_groups_owner_and_sensitivity_with_the_line_they_stand_on(tmp_path):
    access = access_of(tmp_path, HEADER + '\nhr/**,hr;legal,"Head of HR, Leeds",restricted\n')
    entry = access.of("hr/pay/bands.pdf")
    assert entry is not None
    assert (entry.groups, entry.owner, entry.sensitivity, entry.line) == (
        frozenset({"hr", "legal"}),
        "Head of HR, Leeds",
        "restricted",
        3,
    )


def test_no_file_means_no_entries_and_a_missing_file_is_an_error(tmp_path):
    assert Access.read(None).of("a.pdf") is None
    with pytest.raises(DataError, match="no such file"):
        Access.read(tmp_path / "access.csv")


def test_the_most_specific_line_wins_whatever_the_order(tmp_path):
    lines = ["**,all-staff,,", "hr/**,hr,,", "hr/pay/**,payroll,,", "hr/pay/dates.pdf,all-staff;hr,,"]
    for order in (lines, lines[::-1]):
        access = access_of(tmp_path, HEADER + "\n".join(order))
        assert groups_of(access, "welcome.pdf") == {"all-staff"}
        assert groups_of(access, "hr/leave.pdf") == {"hr"}
        assert groups_of(access, "hr/pay/2026/bands.pdf") == {"payroll"}
        assert groups_of(access, "hr/pay/dates.pdf") == {"all-staff", "hr"}


def test_a_star_stays_in_its_folder_and_two_stars_do_not(tmp_path):
    access = access_of(tmp_path, HEADER + "*.pdf,top,,\nhr/*/a.docx,one,,\n**/b.docx,deep,,\nit/,it,,\n")
    assert groups_of(access, "x.pdf") == {"top"}
    assert groups_of(access, "hr/x.pdf") is None
    assert groups_of(access, "hr/pay/a.docx") == {"one"}
    assert groups_of(access, "hr/pay/old/a.docx") is None
    assert groups_of(access, "b.docx") == groups_of(access, "x/y/b.docx") == {"deep"}
    assert groups_of(access, "it/run/book.pdf") == {"it"}


def test_lines_that_only_overlap_refuse_the_file_until_one_names_it(tmp_path):
    crossing = HEADER + "**/salary*,hr,,\nstaff/policies/**,all-staff,,\n"
    with pytest.raises(AccessError, match=r"lines 2 .* 3 .*add a line for this file"):
        access_of(tmp_path, crossing).of("staff/policies/salary.pdf")
    access = access_of(tmp_path, crossing + "staff/policies/salary.pdf,hr,,\n")
    assert groups_of(access, "staff/policies/salary.pdf") == {"hr"}
    assert groups_of(access, "staff/policies/leave.pdf") == {"all-staff"}


def test_a_deep_pattern_is_not_taken_for_part_of_a_one_folder_pattern(tmp_path):
    access = access_of(tmp_path, HEADER + "**/x.pdf,all-staff,,\n*/x.pdf,hr,,\n")
    assert groups_of(access, "a/x.pdf") == {"hr"}
    assert groups_of(access, "a/b/x.pdf") == {"all-staff"}


def test_case_backslashes_and_composed_letters_make_no_difference(tmp_path):
    access = access_of(tmp_path, HEADER + "HR\\Congés\\**,hr,,\n**,all-staff,,\n")
    assert groups_of(access, "hr/conge\u0301s/a.pdf") == {"hr"}


def test_names_with_brackets_can_be_named_as_it_is(tmp_path):
    access = access_of(tmp_path, HEADER + "report[1].docx,hr,,\nold[1]/*.pdf,it,,\n")
    assert groups_of(access, "report[1].docx") == {"hr"}
    assert groups_of(access, "old[1]/a.pdf") == {"it"}
    assert groups_of(access, "old1/a.pdf") is None


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: ("\ufeff" + text).encode(),
        lambda text: text.replace(",", ";").encode("cp1252"),
        lambda text: text.replace(",", "\t").replace("\n", "\r\n").encode(),
    ],
    ids=["bom", "semicolons and cp1252", "tabs and crlf"],
)
def test_files_as_excel_saves_them_read_alike(tmp_path, encode):
    access = access_of(tmp_path, encode('path,groups,owner\nété/**,"hr;legal",Zoë – Lyon\n'))
    entry = access.of("été/a.pdf")
    assert entry is not None
    assert (set(entry.groups), entry.owner) == ({"hr", "legal"}, "Zoë – Lyon")


def test_trailing_empty_cells_move_no_column(tmp_path):
    assert groups_of(access_of(tmp_path, "path,groups\na.pdf,hr,\nb.pdf,it,\n"), "b.pdf") == {"it"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (HEADER + "a.pdf,,,", "line 2: groups is empty"),
        (HEADER + "a.pdf, ; ,,", "line 2: groups is empty"),
        (HEADER + "a.pdf,hr;;it,,", "line 2: groups holds ''"),
        (HEADER + 'a.pdf,"hr,it",,', "line 2: .*separate groups with ;"),
        (HEADER + ",hr,,", "line 2: path is empty"),
        (HEADER + "a.pdf,hr\n", "line 2: 2 fields, the header has 4"),
        ("path;groups;owner;sensitivity\na.pdf;hr;it;Maud;high\n", "line 2: 5 fields, the header has 4"),
        (HEADER + 'x.pdf,hr,"two\nlines",\na.pdf,hr,it,c,d\n', "line 4: 5 fields"),
        (HEADER + "hr/**,hr,,\nHR/,all-staff,,\n", "line 3: 'HR/' stands in line 2 too"),
        ("path,group\na.pdf,hr\n", "column 'group' is unknown"),
        ("path,groups,groups\na.pdf,hr,it\n", "stands twice"),
        ("path,owner\na.pdf,x\n", "groups is missing"),
        ("", "the file is empty"),
        (HEADER + 'a.pdf,"hr,,\n', "line 2: .*quotation marks"),
    ],
)
def test_faults_name_file_and_line(tmp_path, content, message):
    with pytest.raises(PilotError, match=f"access.csv.*{message}"):
        access_of(tmp_path, content)


def test_lines_that_match_nothing_are_told(tmp_path):
    access = access_of(tmp_path, HEADER + "hr/salry/**,hr,,\n**,all-staff,,\ngone.pdf,hr,,\n")
    assert [entry.line for entry in access.unused(["hr/salary/a.pdf"])] == [2, 4]


NAMES = st.frozensets(st.sampled_from(["a", "b", "c", "hr"]))


@given(NAMES, NAMES)
def test_a_document_opens_to_those_who_share_a_group_and_to_nobody_without(groups, asker):
    assert may_open(groups, asker) == any(g == a for g in groups for a in asker)
    assert not may_open(frozenset(), asker)
    assert not may_open(groups, frozenset())


def test_a_text_is_no_list_of_groups():
    with pytest.raises(ValueError, match="expected a list"):
        group_names("hr")


PARTS = st.sampled_from(["a", "b", "ab", "*", "a*", "*b", "?", "??", "?*", "**"])
PATTERNS = st.lists(PARTS, min_size=1, max_size=3).map("/".join)
PATHS = st.lists(st.sampled_from(["a", "b", "ab", "ba"]), min_size=1, max_size=3).map("/".join)
ALL_PATHS = ["/".join(parts) for n in (1, 2, 3, 4) for parts in product(["a", "b", "ab", "aba", "c"], repeat=n)]


@given(st.sets(PATTERNS, min_size=2, max_size=3), PATHS)
def test_the_winning_pattern_opens_no_path_that_a_losing_one_does_not_match(patterns, path):
    access = Access(tuple(Entry(p, frozenset({p})) for p in sorted(patterns)))
    try:
        winner = access.of(path)
    except AccessError:
        return
    singles = {p: Access((entry,)) for p, entry in zip(sorted(patterns), access.entries, strict=True)}
    matching = [p for p, single in singles.items() if single.of(path)]
    assert (winner is None) == (not matching)
    if winner is None or winner.pattern == path:
        return
    for other in matching:
        assert all(singles[other].of(p) for p in ALL_PATHS if singles[winner.pattern].of(p))


def test_a_table_keeps_cells_as_text(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text('id,q\n00417,None\n24_07,"line one\nline two"\n,NA\n', encoding="utf-8")
    rows = read_table(path, required=("id",), known=("id", "q"))
    assert rows == [
        (2, {"id": "00417", "q": "None"}),
        (3, {"id": "24_07", "q": "line one\nline two"}),
        (5, {"id": "", "q": "NA"}),
    ]


def test_all_lines_that_are_unfit_are_told_at_once(tmp_path):
    rows = "hr/**,,,\nit/**,,,\nlegal/**,legal,,\nops/**,,,\n" + '"sales/**","sales,hr",,\n'
    with pytest.raises(AccessError, match=r"lines 2, 3 and 5: groups is empty.*; line 6: groups is 'sales,hr'"):
        access_of(tmp_path, HEADER + rows)
