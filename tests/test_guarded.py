"""Words that stand in restricted passages only."""

from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.corpus.guarded import PIECE, STEP, Guarded
from rag_pilot.records import Document, Passage

SECRET = "the plant in Leeds will close at the end of March and forty people will be told in May"


def guarded(*rows: tuple[str, str, str]) -> Guarded:
    """Rows of id, group, text; each is a document of one passage."""
    passages = [Passage(i, i, text, frozenset({group})) for i, group, text in rows]
    documents = [Document(i, i, text, frozenset({group})) for i, group, text in rows]
    return Guarded(passages, documents, {p.id: p.groups for p in passages}, "all")


def test_eight_words_in_a_row_are_recognised_wherever_they_stand_and_however_they_are_set():
    found = guarded(("secret", "board", SECRET), ("open", "all", "nothing of the kind is written here at all"))
    words = SECRET.split()
    for start in range(len(words) - 7):
        text = f"Before. **{words[start].upper()}**,\n " + " ".join(words[start + 1 : start + 8]) + " after"
        assert found.closed(text, {"all"}) == ("secret",), start
        assert found.closed(text, {"all", "board"}) == ()
    assert found.closed("the plant in Leeds was opened in March", {"all"}) == ()


def test_what_also_stands_in_something_open_is_nobodys_secret_however_it_is_cut():
    passages = [
        Passage("secret", "a", SECRET, frozenset({"board"})),
        Passage("one", "b", " ".join(SECRET.split()[:8]), frozenset({"all"})),
        Passage("two", "b", " ".join(SECRET.split()[8:]), frozenset({"all"})),
    ]
    groups = {p.id: p.groups for p in passages}
    documents = [Document("b", "b", SECRET, frozenset({"all"}))]
    assert Guarded(passages, documents, groups, "all").closed(SECRET, {"all"}) == ()
    assert Guarded(passages, [], groups, "all").closed(SECRET, {"all"}) == ("secret",)  # the seam of the two


def test_the_readers_own_question_is_not_told_to_him():
    found = guarded(("secret", "board", SECRET))
    asked = " ".join(SECRET.split()[:10])
    assert found.closed(f"Question: {asked}", {"all"}, asked) == ()
    assert found.closed(f"{SECRET} Question: {asked}", {"all"}, asked) == ("secret",)


def test_a_short_passage_is_known_as_a_whole_and_three_words_are_no_secret():
    found = guarded(("short", "hr", "Band 7 pays 91,500"), ("tiny", "hr", "Call Maud today"))
    assert found.closed("It says: band 7 pays 91,500!", {"all"}) == ("short",)
    assert found.closed("call Maud today", {"all"}) == ()


def test_a_passage_without_groups_is_closed_to_all():
    passage = Passage("p", "d", SECRET)
    assert Guarded([passage], [], {}, "all").closed(SECRET, {"all", "board"}) == ("p",)


WORDS = st.lists(st.sampled_from([f"w{n}" for n in range(30)]), max_size=30).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["all", "hr", "it"]), WORDS), max_size=6), WORDS, st.sampled_from(["hr", "it"])
)
def test_it_agrees_with_a_search_word_by_word(rows, text, group):
    readers = {"all", group}
    known = [(f"p{n}", g, words) for n, (g, words) in enumerate(rows)]
    seen = {
        i
        for i, g, words in known
        if g not in readers and len(w := words.split()) >= 4
        for start in {*range(0, max(len(w) - PIECE, 0), STEP), max(len(w) - PIECE, 0)}
        if f" {(piece := ' '.join(w[start : start + PIECE]))} " in f" {text} "
        and not any(h in readers and f" {piece} " in f" {other} " for _, h, other in known)
    }
    found = set(guarded(*known).closed(text, readers))
    assert found <= seen and bool(found) == bool(seen)  # a piece of two passages is told of one of them
