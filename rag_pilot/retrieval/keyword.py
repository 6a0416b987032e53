"""BM25 over an inverted index: rank-bm25's statistics and formula, without a dictionary per passage.

Two variants: `okapi` is rank-bm25's BM25Okapi, bit for bit; `lucene`, the default, has a non-negative idf (a term in
half of the passages still counts, a common one never lowers a rank). Tokens are folded words; codes are found whole
and in parts; scripts without blanks between words are cut into pairs of letters. It knows no permissions, no meaning.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi
from snowballstemmer.english_stemmer import EnglishStemmer
from snowballstemmer.french_stemmer import FrenchStemmer
from snowballstemmer.polish_stemmer import PolishStemmer

from ..identity import fold_word
from .postings import Postings

Tokenizer = Callable[[str], list[str]]
Weighed = dict[str, tuple[NDArray[Any], NDArray[np.float64]]]
"""Word -> the passages that hold it and what it adds to each one's score."""

# the classes, not snowballstemmer.stemmer(): where PyStemmer is installed that gives its older rules, and no Polish
STEMMERS = {"en": EnglishStemmer, "fr": FrenchStemmer, "pl": PolishStemmer}

# function words only: what a question is *about* must stay, so no verbs of modality, no negations
STOP_WORDS = {
    "en": """a an and are as at be been but by can could did do does for from had has have how i if in into is it its
    me my of on or our shall she should so than that the their them then there these they this to us was we were what
    when where which who whom whose why will with would you your he his her about""",
    "fr": """a à au aux avec c ce ces cet cette d dans de des du elle elles en est et eu il ils j je l la le les leur
    leurs lui m ma mais me mes mon n nos notre nous on ou où par pour qu que quel quelle quelles quels qui quoi s sa
    se ses son sont sur t ta te tes toi ton tu un une vos votre vous y comment combien quand est-ce ai as avons avez
    ont être""",
    "pl": """a aby albo ale bo by być był była było były co czy dla do go i ich ile im ja jak jaka jaki jakie jako jej
    jest jego już kiedy kto która które który których lub ma mam mi mnie mogę może można na nad nam nas o od on ona
    oni ono oraz po pod przed przez przy są się sobie ta tak tam te tego tej ten to tu tym u w we więc z za ze że żeby
    gdzie""",
}

# letters of scripts written without blanks between words: Chinese, Japanese; Thai, Lao, Burmese, Khmer with their marks
_UNSPACED = (
    "\u3005-\u3007\u3041-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uff66-\uff9f"
    "\U00020000-\U0003ffff\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecf\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u17d7"
)
_LETTER = rf"[^\W_{_UNSPACED}]"
_WORD = re.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|{_LETTER}+(?:[-_./'’+#&]{_LETTER}+)*[+#]{{0,2}}")
_PARTS = re.compile(r"[^\W\d_]+|\d+")


def words(text: str) -> list[str]:
    """Folded words in order; FRM-204 gives frm204, frm and 204, so that px-20, PX 20 and px20 meet; c++ stays c++.

    Where words are not parted by blanks (Chinese, Japanese, Thai, Lao, Burmese, Khmer) every two neighbouring letters
    are a token, as in Lucene's CJKAnalyzer: 年假有 gives 年假 and 假有.
    """
    tokens: list[str] = []
    for match in _WORD.finditer(unicodedata.normalize("NFC", text)):
        if match["unspaced"]:
            tokens.extend(_pairs(unicodedata.normalize("NFKC", match[0])))
            continue
        word = fold_word(match[0])
        if word.isalpha():
            tokens.append(word)
            continue
        tokens.extend(_compound(word))
    return tokens


def _pairs(run: str) -> list[str]:
    return [run[n : n + 2] for n in range(len(run) - 1)] or [run]


@lru_cache(maxsize=50_000)
def _compound(word: str) -> tuple[str, ...]:
    parts = _PARTS.findall(word)
    joined = re.sub(r"[-_./'’&]", "", word)
    if len(parts) == 1 or not any(
        c.isdigit() for c in word
    ):  # don't, e-mail, c++: their parts and, if no elision, the whole
        elision = "'" in word or "’" in word
        whole = [] if elision or joined in parts else [joined]
        return (*parts, *whole) if joined != word or whole else (word,)
    return (joined, *parts)


def tokenizer(languages: Iterable[str] = (), stop_words: bool = True) -> Tokenizer:
    """The tokeniser of those languages: folded words, their function words left out, stems beside nothing else.

    With one language the words are stemmed (Snowball); with none or several they are not, because a stemmer of another
    language joins words that have nothing in common.
    """
    languages = tuple(languages)
    stopped = (
        frozenset(fold_word(w) for lang in languages for w in STOP_WORDS.get(lang, "").split()) if stop_words else ()
    )
    if len(languages) != 1 or languages[0] not in STEMMERS:
        return lambda text: [w for w in words(text) if w not in stopped]
    stem = _stemmer(STEMMERS[languages[0]])
    return lambda text: [stem(w) for w in words(text) if w not in stopped]


def _stemmer(algorithm: Callable[[], Any]) -> Callable[[str], str]:
    stemmer, lock = algorithm(), Lock()  # the stemmer keeps the word that it works on

    @lru_cache(maxsize=200_000)
    def stem(word: str) -> str:
        if not word.isalpha():
            return word
        with lock:
            return fold_word(str(stemmer.stemWord(word)))

    return stem


def article_tokenizer(text: str) -> list[str]:
    """The article's tokeniser: lower case, split at blanks."""
    return text.lower().split()


class Okapi(BM25Okapi):  # type: ignore[misc]
    """rank-bm25's BM25Okapi (k1 1.5, b .75, epsilon .25) scored through posting lists: the same sums in the same
    order."""

    def __init__(self, corpus: Iterable[Sequence[str]] | Postings) -> None:
        super().__init__(corpus)

    def _initialize(self, corpus: Iterable[Sequence[str]] | Postings) -> dict[str, int]:
        self.postings = corpus if isinstance(corpus, Postings) else Postings.of(corpus)
        self.doc_len = self.postings.lengths
        self.corpus_size = len(self.doc_len)
        self.avgdl = int(self.doc_len.sum()) / self.corpus_size if self.corpus_size else 0.0
        # no word at all: no length counts
        self._norm = self.k1 * (1 - self.b + self.b * self.doc_len / (self.avgdl or 1.0))
        return self.postings.spread()

    def _calc_idf(self, nd: dict[str, int]) -> None:
        if nd:
            super()._calc_idf(nd)

    def get_scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """A score for each passage; 0 for those that share no token with the query, which `matched` tells apart."""
        score = np.zeros(self.corpus_size)
        for passages, weights in self._weighed(query, None, {}):
            score[passages] += weights
        return score

    def matched(self, query: Sequence[str]) -> NDArray[np.bool_]:
        """Which passages share a token with the query."""
        shared = np.zeros(self.corpus_size, dtype=bool)
        for passages, _ in self._weighed(query, None, {}):
            shared[passages] = True
        return shared

    def matching(
        self, query: Sequence[str], allowed: NDArray[np.bool_], known: Weighed
    ) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """(the allowed passages that share a token with the query, ascending; their scores).

        `known` keeps what was weighed for the same `allowed`, for questions that share words.
        """
        score, shared = np.zeros(self.corpus_size), np.zeros(self.corpus_size, dtype=bool)
        for passages, weights in self._weighed(query, allowed, known):
            score[passages] += weights
            shared[passages] = True
        rows = np.flatnonzero(shared)
        return rows, score[rows]

    def _weighed(
        self, query: Sequence[str], allowed: NDArray[np.bool_] | None, known: Weighed
    ) -> Iterator[tuple[NDArray[Any], NDArray[np.float64]]]:
        """For each token of the query that stands in the corpus: the passages that hold it, and what it adds there."""
        for word in query:
            if word not in known and (found := self.postings.of_word(word)) is not None:
                passages, count = found
                if allowed is not None:
                    kept = allowed.take(passages)
                    passages, count = passages[kept], count[kept]
                known[word] = (
                    passages,
                    self.idf[word] * (count * (self.k1 + 1) / (count + self._norm.take(passages))),
                )
            if word in known:
                yield known[word]


class Lucene(Okapi):
    """BM25 with the idf of Lucene, log(1 + (N - n + .5)/(n + .5)): positive for every term (Kamphuis et al., 2020)."""

    def _calc_idf(self, nd: dict[str, int]) -> None:
        for word, count in nd.items():
            self.idf[word] = math.log(1 + (self.corpus_size - count + 0.5) / (count + 0.5))


VARIANTS: dict[str, type[Okapi]] = {"lucene": Lucene, "okapi": Okapi}
