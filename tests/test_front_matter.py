"""Front matter in TOML, or with keys of other programs; what any front matter does stands in test_documents.py."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.corpus.access import Access, Entry
from rag_pilot.corpus.documents import read_documents
from rag_pilot.corpus.front_matter import UnknownKeys, split_front_matter
from rag_pilot.errors import AccessError, DataError, PilotError


def split(text: str, *other_keys: str):
    return split_front_matter(text, "x.md", other_keys)


def test_toml_front_matter_fills_the_same_keys():
    head = """+++
title = "Travel: booking #2"   # a comment
link = 'https://x.example/t'
groups = ["hr", "NO", " Legal "]
updated = 2026-03-14
review_by = "2027-03-31"
lang = "fr-FR"
+++
# Other
"""
    found = split(head)
    assert (found.groups, found.body) == ({"hr", "NO", "Legal"}, "# Other\n")
    assert found.values == {
        "title": "Travel: booking #2",
        "link": "https://x.example/t",
        "updated": "2026-03-14",
        "review_by": "2027-03-31",
        "lang": "fr",
    }
    assert split('\ufeff+++\ngroups = "hr, it"\n+++\n').groups == {"hr", "it"}
    assert split("+++\nupdated = 2026-03-14T10:00:00Z\n+++\n").values == {"updated": "2026-03-14"}


@pytest.mark.parametrize(
    ("head", "message"),
    [
        ("groups = [true]", "line 2: groups holds true, which is no text; put quotes around it"),
        ("groups = [7, 'hr']", "line 2: groups holds 7, which is no text"),
        ("groups = 7", "line 2: groups holds 7, which is no text"),
        ("title = 'A'\ngroups = [1.0]", "line 3: groups holds 1.0, which is no text"),
        ("groups = [2026-01-01]", "line 2: groups holds 2026-01-01, which is no text"),
        ("groups = []", "line 2: groups is empty"),
        ("groups = ''", "line 2: groups is empty"),
        ("groups = [['hr']]", "line 2: groups holds a list or mapping"),
        ("[groups]\nhr = 'yes'", "line 2: groups holds a list or mapping"),
        ("groups = hr", "line 2: front matter cannot be read .*texts need quotes"),
        ("title = 'A'\ngroups = ['hr']\ngroups = ['it']", "line 4: front matter cannot be read"),
        ("Groups = ['hr']", "line 2: unknown key 'Groups'; write groups"),
        ("[extra]\ngroups = ['hr']", "line 2: groups stands inside extra"),
        ("updated = 14/03/2026", "line 2: front matter cannot be read"),
        ("updated = '14/03/2026'", "line 2: updated is '14/03/2026'; expected a date such as 2026-03-14"),
        ("updated = 07:32:00", "line 2: updated is '07:32:00'"),
        ("title = 42", "line 2: title holds 42, which is no text"),
        ("title = " + "9" * 5000, "line 2: front matter cannot be read"),
        ("title = " + "[" * 5000, "line 2: front matter cannot be read"),
    ],
)
def test_toml_that_cannot_be_trusted_is_refused_with_its_line(head, message):
    with pytest.raises(PilotError, match=f"^x.md, {message}"):
        split(f"+++\n{head}\n+++\nSalary bands")


@pytest.mark.parametrize("before", ["\n", " ", "<!-- export -->\n", "\n<!-- a\nb -->\n\n"])
@pytest.mark.parametrize(("fence", "key"), [("---", "owner: HR"), ("+++", 'groups = ["hr"]')])
def test_front_matter_that_does_not_begin_the_file_is_refused(before, fence, key):
    with pytest.raises(AccessError, match=rf"{re.escape(fence)} after blanks or a comment"):
        split(f"{before}{fence}\n{key}\n{fence}\nSalary bands")


def test_a_fence_closes_only_its_own_kind():
    with pytest.raises(AccessError, match="line 1: front matter is opened and never closed; add a line \\+\\+\\+"):
        split('+++\ngroups = ["hr"]\n---\nSalary bands')


# -- keys of other programs --------------------------------------------------------------------------------------------


SITE = "---\nlayout: page\ngroups: [hr]\nmenu: {main: {weight: 3, title: x}}\npermalink: /pay\n---\nbands"


def test_keys_of_other_programs_refuse_the_file_with_all_their_names_and_the_remedy():
    with pytest.raises(
        UnknownKeys, match=r"line 2: unknown key 'layout' \(and menu, permalink\); .*other_keys in \[doc"
    ):
        split(SITE)
    with pytest.raises(UnknownKeys) as refused:
        split(SITE, "menu")
    assert refused.value.keys == ("layout", "permalink")


def test_keys_named_in_the_settings_are_passed_over_whatever_they_hold():
    found = split(SITE, "layout", "menu", "permalink")
    assert (found.groups, found.values, found.body) == ({"hr"}, {}, "bands")
    assert split("+++\ndraft = false\n[extra]\nweight = 3\n+++\nx", "draft", "extra").body == "x"


@pytest.mark.parametrize("key", ["Groups", "group", "groupes", "GROUPS", "gruops", "groups_", "Title", "owners"])
def test_a_mistyped_key_is_shown_what_it_was_meant_to_be_not_how_to_pass_it_over(key):
    with pytest.raises(UnknownKeys, match=rf"line 3: unknown key '{key}' \(and layout\); write \w+$"):
        split(f"---\nlayout: page\n{key}: [hr]\n---\nbands", "title", "menu")


@pytest.mark.parametrize("inner", ["{groups: [hr]}", "{a: [{Groups: hr}]}", "[{group: hr}]", "\n  groups: hr"])
def test_groups_inside_a_key_that_is_passed_over_refuse_the_file(inner):
    with pytest.raises(AccessError, match="line 2: .* stands inside meta, where it is not read"):
        split(f"---\nmeta: {inner}\n---\nbands", "meta")


def test_an_anchor_that_holds_itself_ends():
    assert split("---\nmeta: &a [*a, {x: *a}]\n---\nbands", "meta").body == "bands"


# -- characters that JSON escapes --------------------------------------------------------------------------------------


EMOJI = json.dumps("\U0001f9d1")  # in two halves


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: text.strip()))
def test_a_text_escaped_as_json_does_is_the_text(text):
    found = split(f"---\ntitle: {json.dumps(text)}\ngroups: [{EMOJI}]\n---\nx")
    assert (found.values["title"], found.groups) == (text.strip(), {json.loads(EMOJI)})


@pytest.mark.parametrize("half", [r"\ud83e", r"\uddd1", r"\uddd1\ud83e", r"\ufffd\ud83e"])
def test_half_a_character_refuses_the_file_with_its_line_wherever_it_stands(half):
    for key, kind in (("title", DataError), ("owner", DataError), ("groups", AccessError)):
        with pytest.raises(kind, match=f"^x.md, line 2: {key} holds half of a surrogate pair.*retype the text$"):
            split(f'---\n{key}: "{half}"\n---\nx')
    with pytest.raises(UnknownKeys) as fault:
        split(f'---\n"a{half}": b\n"c{half}": d\n---\nx')
    assert str(fault.value).encode()


def test_a_document_with_an_escaped_emoji_is_read_and_half_of_one_is_listed(tmp_path):
    (tmp_path / "a.md").write_text('---\ngroups: [hr]\ntitle: "\\ud83e\\uddd1 Leave"\n---\nx\n', encoding="utf-8")
    (tmp_path / "b.md").write_text('---\ngroups: [hr]\ntitle: "\\ud83e Leave"\n---\nx\n', encoding="utf-8")
    found = read_documents(tmp_path, Access((Entry("**", frozenset({"hr"}), line=2),)))
    assert [d.title for d in found.documents] == ["\U0001f9d1 Leave"]
    assert [s.path for s in found.skipped] == ["b.md"]
