import re
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.corpus.passages import Splitter, count_words, prefix_of, split_documents, with_groups
from rag_pilot.corpus.sentences import sentences
from rag_pilot.records import Document, Passage
from rag_pilot.retrieval.embedding import available, token_counter

WORD = st.sampled_from(["fee", "limit", "Łódź", "congés", "30", "e.g.", "x_y", "<b>", "|", "#", "-", "`", "1.", "=="])
SENTENCE = st.lists(WORD, min_size=1, max_size=14).map(lambda w: f"The {' '.join(w)}.")
PARAGRAPH = st.lists(SENTENCE, min_size=1, max_size=8).map(" ".join)
LINES = st.lists(SENTENCE, min_size=1, max_size=12)
HEADING = st.tuples(st.integers(1, 4), st.integers(0, 99)).map(lambda h: f"{'#' * h[0]} Heading {h[1]}")
BLOCK = st.one_of(
    PARAGRAPH,
    PARAGRAPH,
    HEADING,
    LINES.map("\n".join),
    LINES.map(lambda lines: "\n".join(f"- {line}" for line in lines)),
    LINES.map(lambda lines: "\n".join(f"> {line}" for line in lines)),
    LINES.map(lambda lines: "\n".join(["| name | value |", "|---|---|", *(f"| a | {line} |" for line in lines)])),
    LINES.map(lambda lines: "\n".join(["```", *lines, "```"])),
    LINES.map(lambda lines: "\n".join(f"    {line}" for line in lines)),
    st.sampled_from(["Title\n=====", "[a]: http://example.org", "~~~\nopen", "***", "<div>\nraw\n</div>"]),
    st.text(alphabet=st.characters(codec="utf-8", exclude_characters="\r"), max_size=40),
)
TEXT = st.lists(BLOCK, max_size=10).map("\n\n".join)


def document(text: str, title: str = "Card fees") -> Document:
    return Document("fees", title, text, frozenset({"staff"}))


def split(text: str, max_tokens: int = 254, title: str = "Card fees", overlap: float = 0.15) -> list[Passage]:
    return Splitter(max_tokens, overlap).split(document(text, title))


def texts(passages: Sequence[Passage]) -> list[str]:
    return [p.text for p in passages]


def words(*parts: str) -> Counter[str]:
    return Counter(word for part in parts for word in part.split())


def prose(n: int, start: int = 0) -> str:
    return " ".join(f"Sentence number {i} says what rule {i} is." for i in range(start, start + n))


# -- laws --------------------------------------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(TEXT, st.sampled_from([32, 48, 254]))
def test_every_word_of_a_document_is_in_some_passage_and_none_is_over_the_limit(text, limit):
    passages = split(text, limit)
    assert not words(text) - words(*texts(passages))
    assert bool(passages) == bool(text.strip())
    for passage in passages:
        assert sum(count_words([prefix_of(passage.title, passage.headings), passage.text])) <= limit
        assert count_words([passage.text])[0] <= passage.tokens <= limit
        assert passage.text.strip() and passage.doc == "fees" and passage.groups == {"staff"}
    assert len({p.id for p in passages}) == len(passages)


@settings(max_examples=40, deadline=None)
@given(TEXT)
def test_where_no_section_is_cut_nothing_is_repeated(text):
    assert words(text) == words(*texts(split(text, 100_000)))


@settings(max_examples=40, deadline=None)
@given(TEXT, st.sampled_from([32, 64, 200]))
def test_the_windows_of_a_passage_hold_all_its_words_and_fit_with_title_and_headings(text, window):
    splitter = Splitter(window)
    for passage in split(text, 400):
        pieces = splitter.texts(passage)
        assert not words(passage.text) - words(*pieces)
        for piece in pieces:
            assert sum(count_words([prefix_of(passage.title, passage.headings), piece])) <= window
        if passage.tokens <= window:
            assert pieces == [passage.text]


@settings(max_examples=60, deadline=None)
@given(TEXT, st.sampled_from([64, 100, 400]))
def test_parents_hold_their_passages_within_their_bound_and_move_none(text, bound):
    alone = Splitter(32).split(document(text))
    passages = Splitter(32, parent_tokens=bound).split(document(text))
    assert [replace(p, parent="") for p in passages] == alone
    for p in passages:
        assert not words(p.text) - words(p.shown)
        if p.parent:
            assert sum(count_words([prefix_of(p.title, p.headings), p.parent])) <= bound
            assert sum(other.parent == p.parent for other in passages) > 1


@settings(max_examples=40, deadline=None)
@given(st.lists(PARAGRAPH, min_size=2, max_size=5), st.data())
def test_ids_stay_when_another_section_is_edited(bodies, data):
    def ids(bodies: list[str]) -> list[set[str]]:
        passages = split("\n\n".join(f"# Part {n}\n\n{body}" for n, body in enumerate(bodies)), 48)
        return [{p.id for p in passages if p.headings == (f"Part {n}",)} for n in range(len(bodies))]

    unique = [f"Part {n} begins. {body} Part {n} ends." for n, body in enumerate(bodies)]
    edited = data.draw(st.integers(0, len(bodies) - 1))
    change = data.draw(st.sampled_from(["", "Quite new.", prose(30)]))
    before, after = ids(unique), ids([change if n == edited else b for n, b in enumerate(unique)])
    repeated = set.intersection(*before)  # a cut may leave the same piece of text in two sections
    for n in set(range(len(bodies))) - {edited}:
        assert {i for i in before[n] - repeated if "-" not in i} <= after[n] | {i for s in after for i in s}


# -- sections ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("# A\n\n    # not\n\nz", [("A",)]),
        ("# A\n\n~~~\n# not\n~~~\n\nz", [("A",)]),
        ("# A\n\n````\n```\n# not\n```\n````\n\nz", [("A",)]),
        ("# A\n\n```\n# not\n\nz", [("A",)]),
        ("# A\n\n- item\n\n  # not\n", [("A",)]),
        ("Title\n=====\n\nfoo\n\nSub\n---\nbar", [("Title",), ("Title", "Sub")]),
        ("last line\n---\n\nx", [("last line",)]),
        ("Two\nlines\n===\n\nx", [("Two lines",)]),
        ("# A\n\n### B\n\nx\n\n### C\n\ny\n\n## D\n\nz", [("A", "B"), ("A", "C"), ("A", "D")]),
        ("# A\n\n## B\n\n### C\n\nx\n\n# D\n\ny", [("A", "B", "C"), ("D",)]),
        ("### B\n\nx\n\n# A\n\ny\n\n## C\n\nz", [("B",), ("A",), ("A", "C")]),
        ("All fees exclude VAT.\n\n# Card fees\n\nx", [(), ("Card fees",)]),
        ("Plain text only.", [()]),
        ("# A\n## B\n### C", [("A", "B", "C")]),
        ("# A\n\n# B\n\nx", [("A",), ("B",)]),
        ("#\n\nx", [("",)]),
        ("# The `code` of *all*\n\nx", [("The code of all",)]),
        ("| a | b |\n|---|---|\n| 1 | 2 |", [()]),
        ("[a]: http://example.org", [()]),
        ("", []),
        (" \n\n", []),
        ("<!-- page 1 -->\n\n<!-- page 2 -->", []),
    ],
)
def test_a_section_begins_at_a_heading_and_knows_the_path_to_it(text, headings):
    assert [p.headings for p in split(text)] == headings


def test_a_section_that_fits_is_one_passage_as_it_stands_in_the_source():
    text = "# A\n\nOne *two*.\n\n- x\n- y\n\n## B\n\n| a | b |\n|---|---|\n| 1 | 2 |"
    assert texts(split(text)) == ["# A\n\nOne *two*.\n\n- x\n- y", "## B\n\n| a | b |\n|---|---|\n| 1 | 2 |"]


def test_headings_without_text_travel_with_the_next_text():
    assert texts(split("# A\n\n## B\n\nx\n\n# C\n\n# D")) == ["# A\n\n## B\n\nx", "# C", "# D"]


def test_a_passage_keeps_what_the_document_says_of_itself():
    source = Document(
        "fees", "Fees", "x", frozenset({"g"}), "fees.md", "https://example.org", "Ana", "low", "2026-01-02", lang="fr"
    )
    (passage,) = Splitter().split(source)
    assert {n: passage[n] for n in ("doc", "title", "link", "owner", "sensitivity", "updated", "lang")} == {
        "doc": "fees",
        "title": "Fees",
        "link": "https://example.org",
        "owner": "Ana",
        "sensitivity": "low",
        "updated": "2026-01-02",
        "lang": "fr",
    }
    other = Document("other", "Other", "x", frozenset({"h"}))
    assert [p.doc for p in split_documents([source, other], Splitter())] == ["fees", "other"]


# -- ids ---------------------------------------------------------------------------------------------------------------


def test_ids_are_the_document_and_the_text_and_equal_texts_are_numbered():
    same, other = split("# A\n\nx\n\n# B\n\ny"), split("# B\n\ny\n\n# A\n\nx")
    assert {p.text: p.id for p in same} == {p.text: p.id for p in other}
    assert same[0].id == "fees#8d1aa49d"
    twice = split("# A\n\n# A\n\n# A\n\nx")
    assert [p.id for p in twice][:2] == [twice[0].id, f"{twice[0].id}-2"]


def test_ids_do_not_depend_on_title_groups_or_dates():
    first = Document("d", "One", prose(3), frozenset({"a"}))
    second = Document("d", "Another title", prose(3), frozenset({"b"}), updated="2026-01-01")
    assert [p.id for p in Splitter().split(first)] == [p.id for p in Splitter().split(second)]


# -- cuts --------------------------------------------------------------------------------------------------------------


def test_prose_is_cut_between_sentences_and_repeats_whole_ones_within_the_share():
    passages = split("# A\n\n" + prose(40), 100)
    body = [sentences(p.text.removeprefix("# A\n\n")) for p in passages]
    assert len(body) > 3 and all(s in sentences(prose(40)) for part in body for s in part)
    for one, following in pairwise(body):
        repeated = [s for s in following if s in one]
        assert repeated == one[-len(repeated) :] and len(repeated) >= 1
        assert sum(count_words(repeated)) <= 0.15 * 100
    assert [s for n, part in enumerate(body) for s in part if n == 0 or s not in body[n - 1]] == sentences(prose(40))


def test_overlap_of_zero_repeats_nothing():
    assert words("# A\n\n" + prose(40)) == words(*texts(split("# A\n\n" + prose(40), 100, overlap=0.0)))


def test_nothing_is_repeated_between_blocks():
    text = "\n\n".join(prose(1, n) for n in range(24))
    passages = split(text, 100)
    assert len(passages) > 1 and words(text) == words(*texts(passages))


def test_a_section_within_the_bound_is_the_parent_of_all_its_passages_as_it_stands():
    text = f"# Fees\n\n{prose(12)}\n\n| name | value |\n|---|---|\n" + "\n".join(
        f"| row {i} | {i} |" for i in range(12)
    )
    passages = Splitter(64, parent_tokens=1000).split(document(text + "\n\n# Cards\n\nFree."))
    assert len(passages) > 3
    assert {" ".join(p.parent.split()) for p in passages[:-1]} == {" ".join(text.split())}
    assert (passages[-1].parent, passages[-1].shown) == ("", "# Cards\n\nFree.")


def test_a_longer_section_is_shown_in_runs_and_a_run_that_begins_in_a_table_has_its_head():
    rows = "\n".join(f"| row {i} | limit {i} |" for i in range(30))
    passages = Splitter(40, parent_tokens=110).split(document(f"# Fees\n\n| name | value |\n|---|---|\n{rows}"))
    parents = list(dict.fromkeys(p.parent for p in passages))
    assert 1 < len(parents) < len(passages)
    assert all(parent.count("| name | value |") == 1 for parent in parents)
    assert sum(parent.count("| row ") for parent in parents) == 30


def test_a_table_that_is_cut_repeats_its_head_and_keeps_rows_whole():
    head = "| form | limit |\n|---|---|"
    rows = [f"| FRM-{n} | {n} pounds a day |" for n in range(40)]
    passages = split("# Limits\n\n" + "\n".join([head, *rows]), 80)
    assert len(passages) > 2
    for passage in passages:
        assert passage.text.count(head) == 1
        assert set(passage.text.split("\n")) <= {"# Limits", "", *head.split("\n"), *rows}
    assert [line for p in passages for line in p.text.split("\n") if line.startswith("| FRM")] == rows


def test_a_wide_rule_under_the_head_of_a_table_does_not_cost_the_head():
    def count(texts: Sequence[str]) -> list[int]:
        return [len(re.findall(r"\w+|[^\w\s]", text)) for text in texts]

    rows = "\n".join(f"| row {i} | limit {i} |" for i in range(30))
    wide = f"# Fees\n\n| name | value |\n| {'-' * 90} | {'-' * 90}:|\n{rows}"
    passages = Splitter(60, count=count).split(document(wide))
    assert len(passages) > 3
    assert all("| name | value |\n| --- | ---:|\n| row" in p.text for p in passages)


def test_code_and_lists_are_cut_between_lines():
    lines = [f"- item {n} of the list" for n in range(60)]
    passages = split("\n".join(lines), 60)
    assert len(passages) > 2 and [line for p in passages for line in p.text.split("\n")] == lines


def test_one_endless_sentence_is_cut_between_words_and_one_endless_word_between_letters():
    endless = " ".join(f"w{n}" for n in range(500))
    pieces = texts(split(endless, 60))
    assert len(pieces) > 5 and " ".join(pieces).split() == endless.split()

    def letters(parts: Sequence[str]) -> list[int]:
        return [len(part) for part in parts]

    word = "".join(chr(97 + n % 26) for n in range(3000))
    passages = Splitter(200, 0.15, letters).split(document(f"before {word} after"))
    assert max(len(p.text) for p in passages) <= 200
    assert "".join("".join(texts(passages)).split()) == f"before{word}after"


def test_title_and_headings_have_their_room_also_where_they_are_long():
    title = " ".join(f"title{n}" for n in range(120))  # 160 of 254 tokens
    for passage in split("# A\n\n" + prose(60), 254, title):
        assert sum(count_words([prefix_of(passage.title, passage.headings), passage.text])) <= 254
    (whole,) = split("# A\n\n" + prose(20), 400, title)
    windows = Splitter(254).texts(whole)
    assert len(windows) > 1 and max(count_words(windows)) + count_words([f"{title} > A"])[0] <= 254


def test_a_title_that_fills_the_window_leaves_an_eighth_for_text():
    title = " ".join(["title"] * 300)
    passages = split(prose(20), 254, title)
    assert not words(prose(20)) - words(*texts(passages)) and max(count_words(texts(passages))) <= 254 // 8


def test_a_passage_whose_tokens_were_not_counted_is_windowed_too():
    passage = Passage.of({"text": prose(60), "doc": "d", "groups": ()})
    pieces = Splitter(100).texts(passage)
    assert passage.tokens == 0 and len(pieces) > 3 and max(count_words(pieces)) <= 100
    for text in ("", "short  text\n\n\n\nas it stands"):
        assert Splitter(100).texts(Passage("a#1", "a", text)) == [text]
    assert Splitter(32).texts(Passage("a#1", "a", "", title="t " * 50)) == [""]


@pytest.mark.skipif(not available("all-MiniLM-L6-v2"), reason="the model's wheel is not installed")
def test_the_limit_holds_in_the_models_own_tokens():
    count = token_counter("all-MiniLM-L6-v2")
    text = "# Congés\n\n" + "Zażółć gęślą jaźń, przysługuje prawo do urlopu. L'ancienneté s'apprécie au 31 mai. " * 40
    passages = Splitter(254, 0.15, count).split(document(text, "Règles"))
    assert len(passages) > 3 and not words(text) - words(*texts(passages))
    for passage in passages:
        assert count([f"Règles > Congés\n{passage.text}"])[0] <= passage.tokens <= 254


# -- pages -------------------------------------------------------------------------------------------------------------


def test_a_passage_has_the_page_on_which_it_begins_and_no_page_mark():
    text = "# A\n\n<!-- page 1 -->\n\none\n\n<!-- page 2 -->\n\ntwo\n\n# B\n\nthree\n\n<!-- page 3 -->\n\n# C\n\nfour"
    passages = split(text)
    assert [(p.headings[0], p.page) for p in passages] == [("A", None), ("B", 2), ("C", 3)]
    assert "page" not in " ".join(texts(passages))


def test_a_block_over_two_pages_is_on_the_first():
    assert [p.page for p in split("<!-- page 1 -->\n```\ncode\n<!-- page 2 -->\nmore\n```\n\n# B")] == [1, 2]


def test_pieces_of_a_cut_section_have_their_own_pages():
    text = "\n\n".join(f"<!-- page {n} -->\n\n{prose(8, 8 * n)}" for n in range(1, 5))
    assert [p.page for p in split(text, 120)] == [1, 2, 3, 4]


# -- the rest ----------------------------------------------------------------------------------------------------------


def test_with_groups_replaces_groups_and_closes_what_has_no_entry():
    passages = [Passage("a#1", "a", "x", frozenset({"old"})), Passage("b#1", "b", "y", frozenset({"old"}))]
    assert [p.groups for p in with_groups(passages, {"a": frozenset({"new"})})] == [{"new"}, frozenset()]


def test_a_heading_that_repeats_the_title_is_indexed_once():
    assert prefix_of("Fees", ("FEES", "Cards")) == "Fees > Cards"
    assert prefix_of("", ("", "Cards")) == "Cards" and prefix_of("", ()) == ""


def test_large_documents_take_seconds():
    table = "| a | b |\n|---|---|\n" + "\n".join(f"| row {n} | value {n} |" for n in range(4000))
    started = time.perf_counter()
    assert len(split(f"{table}\n\n# B\n\n{'Word word word. ' * 8000}\n\n# C\n\n{'x' * 50_000}")) > 100
    assert time.perf_counter() - started < 10
