from itertools import combinations

from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.corpus.near_duplicates import ALIKE, RUN, exact_duplicates, near_duplicates, words_of
from rag_pilot.records import Document


def documents(*texts: str) -> list[Document]:
    return [Document(str(n), "", text, frozenset({"all-staff"})) for n, text in enumerate(texts)]


HUNDRED = [f"word{n}" for n in range(100)]


def changed(*places: int) -> str:
    return " ".join("other" + w if n in places else w for n, w in enumerate(HUNDRED))


def test_three_words_in_a_hundred_may_differ_and_four_may_not():
    (family,) = near_duplicates(documents(changed(), "Something else altogether.", changed(20, 50, 80)))
    assert family.ids == ("0", "2")
    assert family.least == family.most == 81 / 111
    assert near_duplicates(documents(changed(), changed(20, 40, 60, 80))) == []


def test_copies_are_known_whatever_case_composition_blanks_and_page_marks():
    same = documents(
        "# Congés\n\n25 jours", "<!-- page 1 -->\n\nCONGE\u0301S  25\u00a0jours", "25 jours congés", "", " "
    )
    assert exact_duplicates(same) == [("0", "1")]
    assert [f.ids for f in near_duplicates(same)] == [("0", "1")]


def test_short_texts_are_alike_only_where_they_are_the_same():
    assert near_duplicates(documents("tea is free", "tea is not", "free", "x")) == []
    assert [f.ids for f in near_duplicates(documents("tea is free", "Tea is free!"))] == [("0", "1")]


def test_a_chain_is_one_family_with_the_shares_of_its_links():
    (family,) = near_duplicates(documents(changed(), changed(20), changed(20, 40), changed(20, 40, 60, 80)))
    assert family.ids == ("0", "1", "2", "3")
    assert (family.least, family.most) == (81 / 111, 91 / 101)  # the ends, 76 / 116, are no link


def runs(text: str) -> set[tuple[str, ...]]:
    words = words_of(text)
    size = min(RUN, len(words))
    return {tuple(words[i : i + size]) for i in range(len(words) - size + 1)} if words else set()


TEXTS = st.lists(st.lists(st.sampled_from("ab"), max_size=12).map(" ".join), max_size=7)


@settings(max_examples=150, deadline=None)
@given(TEXTS)
def test_families_are_those_of_all_pairs_compared_one_by_one(texts):
    sets = [runs(text) for text in texts]
    group = list(range(len(texts)))
    for i, j in combinations(range(len(texts)), 2):
        if sets[i] and sets[j] and len(sets[i] & sets[j]) / len(sets[i] | sets[j]) >= ALIKE:
            group = [group[i] if g == group[j] else g for g in group]
    expected = {tuple(str(n) for n, g in enumerate(group) if g == one) for one in group if group.count(one) > 1}
    assert {f.ids for f in near_duplicates(documents(*texts))} == expected


def test_three_thousand_pages_with_one_long_boilerplate_are_not_taken_for_each_other():
    boilerplate = " ".join(f"b{n}" for n in range(60))
    texts = [f"{boilerplate} " + " ".join(f"w{i}x{n}" for n in range(40)) for i in range(3000)]
    assert [f.ids for f in near_duplicates(documents(*texts, texts[7]))] == [("7", "3000")]
