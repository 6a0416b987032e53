from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.corpus.access import Access, Entry
from rag_pilot.corpus.documents import Documents, Skipped, read_documents
from rag_pilot.corpus.inventory import Inventory, inventory
from rag_pilot.corpus.passages import Splitter, split_documents
from rag_pilot.records import Document, Passage, Question

STAFF = frozenset({"all-staff"})
TEXT = (
    "# Leave\n\nEverybody gets *25* days.\n\n## Who\n\n| a | b |\n| --- | --- |\n| c | 1 |\n\n```\n# no heading\n```\n"
)


def document(id_: str, text: str = TEXT, **more: object) -> Document:
    return Document(id_, id_.title(), text, STAFF, path=f"{id_}.md", **more)  # type: ignore[arg-type]


def read(*documents: Document, passages: list[Passage] | None = None, **more: object) -> Inventory:
    found = Documents(documents, **more)  # type: ignore[arg-type]
    return inventory(found, split_documents(documents, Splitter()) if passages is None else passages)


def test_a_file_is_counted_in_words_headings_tables_passages_and_tokens():
    passages = [Passage("leave#1", "leave", "x", tokens=9), Passage("leave#2", "leave", "y", tokens=4)]
    (file,) = read(document("leave"), passages=passages).files
    assert (file.words, file.headings, file.tables, file.passages, file.tokens) == (12, 2, 1, 2, 13)
    assert (file.pages, file.empty_pages, file.questions) == (0, 0, None)


def test_all_text_is_covered_by_the_passages_of_the_splitter_and_what_is_lost_shows():
    whole = read(document("a"), document("b", "one two two three"))
    assert [f.covered for f in whole.files] == [1.0, 1.0] and whole.covered == 1.0
    part = [Passage("b#1", "b", "two two two four"), Passage("b#2", "b", "one")]
    lost = read(document("b", "one two two three"), document("a", "six"), passages=part)
    assert [(f.document.id, f.covered) for f in lost.files] == [("a", 0.0), ("b", 0.75)]
    assert lost.covered == 3 / 5


def test_a_word_too_long_for_a_passage_is_covered_by_its_pieces_and_a_short_one_not_by_a_longer():
    long = document("a", "see " + "x" * 2000 + "y")
    passages = split_documents([long], Splitter(32, count=lambda texts: [len(t) for t in texts]))
    assert len(passages) > 50 and read(long, passages=passages).covered == 1
    assert read(long, passages=passages[:9]).covered == 0.5
    assert read(document("b", "one"), passages=[Passage("b#1", "b", "someone")]).covered == 0


def test_pages_without_text_count_against_the_share_covered():
    paged = document("p", "<!-- page 1 -->\n\none two three four\n\n<!-- page 3 -->\n\nfive six seven eight")
    found = read(paged, document("q", "nine ten"), pages={"p": (4, 2)})
    assert [(f.words, f.covered, f.pages, f.empty_pages) for f in found.files] == [(8, 0.5, 4, 2), (2, 1.0, 0, 0)]
    assert found.covered == 10 / 18


def test_nothing_read_has_no_share():
    assert read().covered is None and read().files == ()


@given(st.lists(st.text("ab\n# ", max_size=30), max_size=4), st.data())
def test_the_share_covered_is_never_over_one_and_one_where_every_word_is_held(texts, data):
    documents = [document(f"d{n}", text) for n, text in enumerate(texts)]
    kept = [p for p in split_documents(documents, Splitter()) if data.draw(st.booleans())]
    for file in read(*documents, passages=kept).files:
        assert 0 <= file.covered <= 1
    assert all(f.covered == 1 for f in read(*documents).files if f.words)


def test_documents_that_no_question_names_are_told_and_also_counts():
    questions = [Question("q1", "?", doc="a", also=("b",)), Question("q2", "?", doc="a"), Question("q3", "?")]
    found = inventory(Documents((document("a"), document("b"), document("c"))), [], questions)
    assert [f.questions for f in found.files] == [2, 1, 0]
    assert (found.unasked, found.asked) == (("c",), 3)
    assert inventory(Documents((document("a"),)), []).unasked == ()


def test_copies_are_no_near_duplicates_besides():
    words = " ".join(f"w{n}" for n in range(100))
    found = read(
        document("a", "tea is free"), document("b", "Tea is free."), document("c", words), document("d", words + " x")
    )
    assert found.copies == (("a", "b"),)
    assert [family.ids for family in found.families] == [("c", "d")]


def test_unknown_keys_are_counted_over_all_files():
    skipped = (
        Skipped("a.md", "", "keys", unknown=("layout", "tags")),
        Skipped("b.md", "", "keys", unknown=("layout",)),
    )
    assert read(skipped=skipped).unknown_keys == Counter(layout=2, tags=1)


def test_pages_of_a_pdf_are_known_to_the_inventory(tmp_path: Path):
    canvas = pytest.importorskip("reportlab.pdfgen.canvas").Canvas(str(tmp_path / "x.pdf"), invariant=1)
    for number in range(5):
        canvas.drawString(72, 700, f"Page {number} says this." if number else "")
        canvas.showPage()
    canvas.save()
    found = read_documents(tmp_path, Access((Entry("**", STAFF),)))
    (file,) = inventory(found, split_documents(found.documents, Splitter())).files
    assert (file.pages, file.empty_pages, file.covered) == (5, 1, 0.8)
