"""Keyword and dense lists, filtered by permission before ranking, fused by reciprocal rank (Cormack et al., 2009).

A passage that the asker may not open is in no list, whatever the method. Order is reproducible: similarities are
rounded to 1e-4 before ranking, ties go to the better similarity and then by passage id. Where documents come from,
and whether a hit is good, is not known here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, SettingsError
from ..records import Hit, Passage
from .keyword import VARIANTS, Tokenizer, words

Scores = NDArray[np.float64]

METHODS = {"hybrid": ("keyword", "dense"), "keyword": ("keyword",), "dense": ("dense",)}
"""Method -> the lists that it fuses."""


class Retriever(Protocol):
    """Anything that finds passages for an asker: ours, a database, a company's own search."""

    def search(self, question: str, groups: Any, k: int = 5) -> Sequence[Hit | Mapping[str, Any]]:
        """At most k hits, best first; a hit needs at least `doc` and `text`."""
        ...


class Hits(list[Hit]):
    """A list of hits that also carries the candidate lists they came from: list name -> passage ids, best first."""

    def __init__(self, hits: Iterable[Hit] = (), lists: Mapping[str, tuple[str, ...]] | None = None) -> None:
        super().__init__(hits)
        self.lists = dict(lists or {})


class HybridIndex:
    """An index in memory over passages or mappings with `text`, `doc`, `groups`.

    `embed(list[str])` returns unit vectors, shape (n, dimension); it may have `.queries()` and `.passages()` for a
    model with prefixes; None leaves the dense list out. `method` is hybrid, keyword or dense. `indexed` gives the text
    that is matched (default: the passage's own), `windows` the pieces of it that fit the embedding model: a passage is
    as similar as its best window, so nothing is cut off. `rewrite` changes the question. `per_document` bounds the
    hits of one document (0: no bound); of passages with one parent only the best is a hit. Raises DataError for groups
    that are no collection of names, for ids that stand twice and for vectors that do not fit, SettingsError for a
    method or variant of BM25 that does not exist.
    """

    def __init__(
        self,
        chunks: Iterable[Passage | Mapping[str, Any]],
        embed: Any = None,
        *,
        method: str = "hybrid",
        tokenizer: Tokenizer = words,
        bm25: str = "lucene",
        indexed: Callable[[Passage], str] = lambda passage: passage.text,
        windows: Callable[[Passage], Sequence[str]] | None = None,
        rewrite: Callable[[str], str] = lambda question: question,
        per_document: int = 0,
    ) -> None:
        self.passages = [Passage.of(chunk, number) for number, chunk in enumerate(chunks)]
        ids = [p.id for p in self.passages]
        if len(set(ids)) < len(ids):
            twice = next(i for i in ids if ids.count(i) > 1)
            raise DataError(f"two passages have the id {twice!r}; ids must be unique")
        self.embed, self.tokenizer, self.rewrite = embed, tokenizer, rewrite
        self.method = self._usable(method)
        self.per_document = per_document
        self._order = np.argsort(np.argsort(np.array(ids))) if ids else np.zeros(0, dtype=int)
        if bm25 not in VARIANTS:
            raise SettingsError(f"bm25 is {bm25!r}; expected one of {', '.join(VARIANTS)}")
        self.keyword = VARIANTS[bm25]([tokenizer(indexed(p)) for p in self.passages])
        pieces = [(windows(p) if windows else ()) or [indexed(p)] for p in self.passages]
        self.starts = np.cumsum([0, *(len(p) for p in pieces)])[:-1]  # row of each passage's first window
        self.vectors = self._embedded([text for piece in pieces for text in piece])
        self._members: dict[str, NDArray[np.intp]] = {}  # group -> passages that it may open
        self.set_groups(None)

    def _usable(self, method: str) -> str:
        if method not in METHODS:
            raise SettingsError(f"method is {method!r}; expected one of {', '.join(METHODS)}")
        if method == "dense" and self.embed is None:
            raise SettingsError("method 'dense' needs an embed; give one, or use method 'keyword'")
        return method

    def _embedded(self, texts: list[str]) -> NDArray[np.float32]:
        if self.embed is None or not texts:
            return np.zeros((len(texts), 0), dtype=np.float32)
        vectors = np.asarray(getattr(self.embed, "passages", self.embed)(texts), dtype=np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise DataError(f"embed returned shape {vectors.shape} for {len(texts)} texts; expected ({len(texts)}, d)")
        _check_unit(vectors)
        return vectors

    def using(self, method: str) -> HybridIndex:
        """The same index with another method (hybrid, keyword, dense); everything else, access too, is shared."""
        other = object.__new__(HybridIndex)
        other.__dict__.update(self.__dict__, method=self._usable(method))
        return other

    def set_groups(self, groups: Mapping[str, frozenset[str]] | None) -> None:
        """Replace who may open each document, effective at the next question; a document without an entry is closed."""
        now = [p.groups if groups is None else groups.get(p.doc, frozenset()) for p in self.passages]
        members: dict[str, list[int]] = {}
        for number, names in enumerate(now):
            if isinstance(names, str):
                raise DataError(f"groups of {self.passages[number].doc} is {names!r}; expected a set of group names")
            for group in names:
                members.setdefault(group, []).append(number)
        # in place, because `using` shares them; passages whose groups are the same stay, so that this may be done often
        self.passages[:] = [
            p if p.groups == names else replace(p, groups=frozenset(names))
            for p, names in zip(self.passages, now, strict=True)
        ]
        self._members.update((group, np.array(numbers)) for group, numbers in members.items())
        for group in self._members.keys() - members.keys():
            del self._members[group]

    def allowed(self, user_groups: Collection[str]) -> NDArray[np.bool_]:
        """Which passages an asker of those groups may open: one group in common is enough, none is none."""
        if isinstance(user_groups, str):
            raise DataError(f"user_groups is the text {user_groups!r}; expected a set of group names such as {{'hr'}}")
        mask = np.zeros(len(self.passages), dtype=bool)
        for group in user_groups:
            if (rows := self._members.get(group)) is not None:
                mask[rows] = True
        return mask

    def search(self, query: str, user_groups: Collection[str], k: int = 5, depth: int = 50, rrf_k: int = 60) -> Hits:
        """At most k hits, best first, each with its passage's fields and `similarity`, its cosine to the query.

        Each list of at most `depth` permitted passages gives 1/(rrf_k + rank), summed (RRF). Unlike the article, a
        passage that shares no token with the query gets no keyword rank: there it would be ranked by its position.
        """
        allowed = self.allowed(user_groups)
        if not allowed.any():
            return Hits(lists={name: () for name in self._lists()})
        query = self.rewrite(query)
        similarity = self._similarities(query)
        lists: dict[str, NDArray[np.intp]] = {}
        if "keyword" in self._lists():
            tokens = self.tokenizer(query)
            rows = np.flatnonzero(allowed & self.keyword.matched(tokens))
            lists["keyword"] = self._top(self.keyword.get_scores(tokens), rows, depth)
        if "dense" in self._lists() and similarity is not None:
            lists["dense"] = self._top(similarity, np.flatnonzero(allowed), depth)
        fused: dict[int, float] = {}
        ranks: dict[int, dict[str, int]] = {}
        for name, rows in lists.items():
            for rank, row in enumerate(rows.tolist(), start=1):
                fused[row] = fused.get(row, 0.0) + 1.0 / (rrf_k + rank)
                ranks.setdefault(row, {})[name] = rank
        likeness = (lambda row: -similarity[row]) if similarity is not None else (lambda row: 0.0)
        best = sorted(fused, key=lambda row: (-fused[row], likeness(row), self._order[row]))
        hits = [
            Hit(
                self.passages[row],
                None if similarity is None else float(similarity[row]),
                fused[row],
                ranks[row],
            )
            for row in self._spread(best, k)
        ]
        return Hits(hits, {name: tuple(self.passages[row].id for row in rows) for name, rows in lists.items()})

    def _lists(self) -> tuple[str, ...]:
        return METHODS[self.method] if self.embed is not None else ("keyword",)

    def _similarities(self, query: str) -> Scores | None:
        """Cosines of all passages to the query, rounded to 1e-4; None for an index without vectors or by keyword
        only."""
        if self.embed is None or self.method == "keyword":
            return None
        vector = np.asarray(getattr(self.embed, "queries", self.embed)([query]), dtype=np.float32)[0]
        if vector.shape != self.vectors.shape[1:]:
            raise DataError(
                f"the query's vector has {vector.size} dimensions, the index {self.vectors.shape[1]}: "
                "index and questions must use the same embedding model; rebuild the index"
            )
        _check_unit(vector[None])
        cosines = (self.vectors @ vector).astype(np.float64)
        similarity: Scores = np.asarray(np.round(np.maximum.reduceat(cosines, self.starts), 4), dtype=np.float64)
        return similarity

    def _top(self, scores: Scores, rows: NDArray[np.intp], depth: int) -> NDArray[np.intp]:
        """The `depth` best of those rows, ties by passage id."""
        if 0 < depth < len(rows):
            least = np.partition(scores[rows], len(rows) - depth)[len(rows) - depth]
            rows = rows[scores[rows] >= least]
        return rows[np.lexsort((self._order[rows], -scores[rows]))][:depth]

    def _spread(self, rows: Sequence[int], k: int) -> list[int]:
        """The first k rows, one of those that share a parent, at most `per_document` of one document."""
        taken: Counter[str] = Counter()
        parents: set[tuple[str, str]] = set()
        kept: list[int] = []
        for row in rows:
            doc, parent = self.passages[row].doc, self.passages[row].parent
            if (doc, parent) in parents or 0 < self.per_document <= taken[doc]:
                continue
            kept.append(row)
            taken[doc] += 1
            if parent:
                parents.add((doc, parent))
        return kept[:k]


def _check_unit(vectors: NDArray[np.float32]) -> None:
    if not np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-2):
        raise DataError("embed returned vectors that are not of length 1; divide each by its norm")
