import os
import random
import subprocess
import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from rag_pilot.identity import fold_word
from rag_pilot.retrieval.hybrid import HybridIndex
from rag_pilot.retrieval.keyword import (
    STEMMERS,
    STOP_WORDS,
    Lucene,
    Okapi,
    article_tokenizer,
    tokenizer,
    words,
)

DOCUMENT = st.lists(st.sampled_from("abcdef"), max_size=12)
CORPUS = st.lists(DOCUMENT, min_size=1, max_size=14)
QUERY = st.lists(st.sampled_from("abcdefz"), max_size=6)


@settings(max_examples=80, deadline=None)
@given(CORPUS, QUERY)
def test_okapi_scores_are_those_of_rank_bm25_bit_for_bit(corpus, query):
    assume(any(corpus))
    theirs, ours = BM25Okapi(corpus), Okapi(corpus)
    assert ours.get_scores(query).tobytes() == theirs.get_scores(query).tobytes()
    assert ours.idf == theirs.idf and ours.avgdl == theirs.avgdl


def test_okapi_is_rank_bm25_bit_for_bit_on_a_corpus_of_many_lengths():
    rng = random.Random(1)
    vocabulary = [f"w{n}" for n in range(300)]
    corpus = [rng.choices(vocabulary, [1 / (n + 1) for n in range(300)], k=rng.randint(0, 200)) for _ in range(150)]
    theirs, ours = BM25Okapi(corpus), Okapi(corpus)
    for _ in range(60):
        query = rng.choices(vocabulary, k=rng.randint(1, 8))
        assert ours.get_scores(query).tobytes() == theirs.get_scores(query).tobytes()


@settings(max_examples=80, deadline=None)
@given(CORPUS, QUERY)
def test_lucene_is_okapi_with_its_own_positive_idf(corpus, query):
    index = Lucene(corpus)
    total = len(corpus)
    reference = np.zeros(total)
    mean = sum(map(len, corpus)) / total
    for word in query:
        n = sum(word in document for document in corpus)
        assert n == 0 or index.idf[word] > 0
        for i, document in enumerate(corpus):
            f = document.count(word)
            if f:
                weight = np.log(1 + (total - n + 0.5) / (n + 0.5))
                reference[i] += weight * f * 2.5 / (f + 1.5 * (0.25 + 0.75 * len(document) / mean))
    assert index.get_scores(query) == pytest.approx(reference, abs=1e-12)


@settings(max_examples=80, deadline=None)
@given(CORPUS, st.data())
def test_adding_the_query_term_to_a_passage_never_lowers_its_rank(corpus, data):
    """For a question of one term; with several, a longer passage may lose more by its length than it gains."""
    chosen = data.draw(st.integers(0, len(corpus) - 1))
    term = data.draw(st.sampled_from("abc"))

    def rank(passages: list[list[str]]) -> int:
        scores = Lucene(passages).get_scores([term])
        return int((scores > scores[chosen] + 1e-12).sum())

    assert rank([d + [term] * (i == chosen) for i, d in enumerate(corpus)]) <= rank(corpus)


def test_a_term_that_every_passage_says_ranks_the_one_that_says_it_twice_first():
    corpus = [["error"], ["error"], ["error"], ["error", "error"]]
    assert Lucene(corpus).get_scores(["error"]).argmax() == 3
    assert BM25Okapi(corpus).get_scores(["error"]).argmax() != 3  # why it is not the default


def test_a_term_of_half_the_passages_counts():
    corpus = [["vpn"], ["vpn", "b"], ["c"], ["d"]]
    assert (Okapi(corpus).get_scores(["vpn"]) == 0).all()
    scores = Lucene(corpus).get_scores(["vpn"])
    assert min(scores[:2]) > 0 and (scores[2:] == 0).all()


@given(CORPUS, QUERY)
def test_matched_passages_are_those_that_share_a_token(corpus, query):
    for variant in (Okapi, Lucene):
        assert variant(corpus).matched(query).tolist() == [bool(set(d) & set(query)) for d in corpus]


@settings(max_examples=80, deadline=None)
@given(CORPUS, st.lists(QUERY, min_size=1, max_size=3), st.data())
def test_scores_of_allowed_passages_alone_are_those_of_all_bit_for_bit(corpus, queries, data):
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=len(corpus), max_size=len(corpus))))
    for variant in (Okapi, Lucene):
        index, known = variant(corpus), {}
        for query in queries:  # what an earlier query weighed is used again
            rows, scores = index.matching(query, allowed, known)
            assert rows.tolist() == np.flatnonzero(allowed & index.matched(query)).tolist()
            assert scores.tobytes() == index.get_scores(query)[rows].tobytes()


@pytest.mark.parametrize("times", [1, 255, 256, 70_000])
def test_a_word_is_counted_however_often_a_passage_says_it(times):
    corpus = [["a"] * times + ["b"], ["b"], ["c"] * 3]
    index = Okapi(iter(corpus))
    assert [part.tolist() for part in index.postings.of_word("a")] == [[0], [times]]
    assert index.get_scores(["a"]).tobytes() == BM25Okapi(corpus).get_scores(["a"]).tobytes()
    assert index.postings.of_word("z") is None


@pytest.mark.parametrize("corpus", [[], [[]], [[], []]])
@pytest.mark.parametrize("variant", [Okapi, Lucene])
def test_an_empty_corpus_and_passages_without_tokens_score_nothing(corpus, variant):
    index = variant(corpus)
    assert index.get_scores(["a"]).tolist() == [0.0] * len(corpus)
    assert not index.matched(["a"]).any() and not index.matched([]).any()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Contact payroll.", ["contact", "payroll"]),
        ("FRM-204", ["frm204", "frm", "204"]),
        ("FRM\u2011204", ["frm", "204"]),
        ("px20", ["px20", "px", "20"]),
        ("PX 20", ["px", "20"]),
        ("c++ and C#", ["c", "c++", "and", "c", "c#"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("Łódź lodz ŁÓDŹ", ["lodz", "lodz", "lodz"]),
        ("zażółć GĘŚLĄ", ["zazolc", "gesla"]),
        ("отпуск без ОПЛАТЫ", ["отпуск", "без", "оплаты"]),
        ("l'année d’essai", ["l", "annee", "d", "essai"]),
        ("e-mail", ["e", "mail", "email"]),
        ("10\u00a0days", ["10", "days"]),
        ("3.14", ["314", "3", "14"]),
        ("max_tokens", ["max", "tokens", "maxtokens"]),
        ('"*" (:) — … ?!', []),
        ("", []),
        ("年假有多少天？", ["年假", "假有", "有多", "多少", "少天"]),
        ("第3章のFRM-204", ["第", "3", "章の", "frm204", "frm", "204"]),
        ("カタカナ・ひらがな", ["カタ", "タカ", "カナ", "ひら", "らが", "がな"]),
        ("ｶﾞｷﾞ", ["ガギ"]),
        ("วันลา", ["วั", "ัน", "นล", "ลา"]),
        ("휴가 며칠", [unicodedata.normalize("NFD", word) for word in ("휴가", "며칠")]),
    ],
)
def test_words(text, tokens):
    assert words(text) == tokens


@pytest.mark.parametrize(
    ("passage", "query"),
    [
        ("员工每年享有二十五天年假。", "年假有多少天"),
        ("有給休暇は年に二十五日です。", "有給休暇は何日ありますか"),
        ("พนักงานมีวันลาพักร้อนยี่สิบห้าวัน", "วันลาพักร้อนมีกี่วัน"),
    ],
)
def test_a_question_in_a_script_without_blanks_finds_its_passage_by_words(passage, query):
    chunks = [
        {"text": t, "doc": t, "groups": {"g"}}
        for t in ("出租车费用由公司承担。", "駐車場は地下です。", "ที่จอดรถ", passage)
    ]
    for index in (HybridIndex(chunks), HybridIndex(chunks, tokenizer=tokenizer(("en", "pl")))):
        assert index.search(query, {"g"})[0].doc == passage


@pytest.mark.parametrize(
    ("passage", "query"),
    [
        ("Contact payroll.", "payroll"),
        ("отпуск без оплаты", "ОПЛАТЫ"),
        ("Straße", "STRASSE"),
        ("Form PX-20 is old", "px20"),
        ("We write c++ here", "C++?"),
    ],
)
def test_a_word_is_found_whatever_stands_around_it_and_however_it_is_spelt(passage, query):
    """Case 3.6: one tokeniser on both sides, or the search by words is off without a sign."""
    chunks = [{"text": text, "doc": text, "groups": {"g"}} for text in ("Lunch menu, c.", passage, "Parking map")]
    assert [hit.doc for hit in HybridIndex(chunks, method="keyword").search(query, {"g"})][:1] == [passage]


def test_of_passages_that_all_say_a_word_the_one_that_says_it_twice_is_the_first_hit():
    """Case 3.2: with a negative weight it would be the last."""
    texts = ["error one", "error two", "error six", "error and error"]
    index = HybridIndex([{"text": text, "doc": text, "groups": {"g"}} for text in texts], method="keyword")
    assert index.search("error", {"g"})[0].doc == "error and error"


def test_a_code_is_found_in_each_of_its_spellings():
    for passage in ("PX-20", "px20", "PX 20", "px/20", "Px.20"):
        for query in ("px-20", "PX20", "px 20", "20"):
            assert set(words(query)) & set(words(passage)), (query, passage)
    assert set(words("frm 204")) < set(words("FRM-204"))


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=60))
def test_composed_and_decomposed_text_and_any_case_give_the_same_words(text):
    assert words(unicodedata.normalize("NFD", text)) == words(unicodedata.normalize("NFC", text))
    assert words("Résumé Łódź Übergrößen") == words(unicodedata.normalize("NFD", "RÉSUMÉ ŁÓDŹ ÜBERGRÖSSEN"))


@given(st.text(alphabet="aBé1-_./'’+#& \n\"(:*", max_size=40))
def test_every_letter_and_digit_of_a_text_is_in_some_token(text):
    letters = [c for c in text if c.isalnum()]
    assert {fold_word(c) for c in letters} == set("".join(words(text))) - set("+#")
    assert all(words(text)) and bool(words(text)) == bool(letters)


def test_one_language_is_stemmed_and_several_are_not():
    english, both = tokenizer(("en",)), tokenizer(("en", "fr"))
    assert english("Approving suppliers") == english("approved supplier") == ["approv", "supplier"]
    assert both("Approving suppliers") == ["approving", "suppliers"] == tokenizer()("Approving suppliers")
    assert tokenizer(("fr",))("congés payés") == tokenizer(("fr",))("congé payé")
    assert tokenizer(("pl",))("urlopy") == tokenizer(("pl",))("urlop")
    assert english("FRM-204s") == ["frm204s", "frm", "204", "s"]  # codes are never stemmed


def test_the_stems_are_the_same_where_another_package_brings_a_stemmer_of_its_own(tmp_path):
    """snowballstemmer hands over to PyStemmer where that is installed: other rules, and none for Polish."""
    stub = "def algorithms(): return []\ndef Stemmer(name): raise KeyError(name)\n"
    (tmp_path / "Stemmer.py").write_text(stub, encoding="utf-8")
    code = """import Stemmer
from rag_pilot.retrieval.keyword import tokenizer
print([tokenizer((lang,))(text)[0] for lang, text in (("en", "suppliers"), ("fr", "congés"), ("pl", "urlopy"))])"""
    path = os.pathsep.join([str(tmp_path), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": path}
    )
    assert done.stdout.strip() == str([tokenizer(("en",))("suppliers")[0], "cong", tokenizer(("pl",))("urlop")[0]]), (
        done.stderr
    )


def test_function_words_are_left_out_and_negations_stay():
    assert tokenizer(("en",))("What is the limit?") == ["limit"]
    assert tokenizer(("en",))("not without approval") == ["not", "without", "approv"]
    assert tokenizer(("fr",))("où est le congé") == [*tokenizer(("fr",))("congé")]
    assert tokenizer(("pl",))("gdzie się są łódki") == [*tokenizer(("pl",))("łódki")]
    assert tokenizer(("en",), stop_words=False)("to be") == ["to", "be"]
    assert tokenizer(("de",))("die Straße") == ["die", "strasse"]
    assert STOP_WORDS.keys() == STEMMERS.keys()


def test_threads_that_share_a_tokenizer_get_the_stems_of_one():
    """Snowball's stemmer keeps the word it works on in itself; questions are asked from several threads."""
    vocabulary = [
        f"{a}{b}{c}" for a in ("organ", "relat", "nation") for b in ("iz", "ional") for c in ("ing", "ed", "es")
    ]
    alone = tokenizer(("en",))
    expected = [alone(word) for word in vocabulary]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(10):
            with ThreadPoolExecutor(4) as threads:
                assert list(threads.map(tokenizer(("en",)), vocabulary)) == expected
    finally:
        sys.setswitchinterval(interval)


def test_the_articles_tokenizer_lowers_and_splits_at_blanks():
    assert article_tokenizer("Contact PAYROLL.\n now") == ["contact", "payroll.", "now"]
