"""Keyword and dense lists, filtered by permission before ranking, and fused.

A passage that the asker may not open is in no list, whatever the method. Order is reproducible: similarities are
rounded to 1e-4 before ranking, ties go to the better similarity and then by passage id. Where documents come from,
and whether a hit is good, is not known here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, SettingsError
from ..records import Hit, Passage
from .dense import DECIMALS, Dense, check_unit
from .fusion import Candidates, Fusion, fuse, moments
from .keyword import VARIANTS, Tokenizer, Weighed, words
from .merging import SECTIONS, SEPARATE, Merging
from .permissions import Permitted, Rows
from .postings import Postings
from .rerank import LIST, Reranker

Scores = NDArray[np.float64]
Rewrite = Callable[[str], str]
Listed = tuple[dict[str, Candidates], dict[int, float] | None]
"""List name -> candidates; and the cosine of each row that may stand in a list, None without vectors."""

METHODS = {"hybrid": ("keyword", "dense"), "keyword": ("keyword",), "dense": ("dense",)}
"""Method -> the lists that it fuses."""
EQUAL = Fusion()
"""The article's: by ranks, both lists alike."""


class Retriever(Protocol):
    """Anything that finds passages for an asker: ours, a database, a company's own search."""

    def search(self, question: str, groups: Any, k: int = 5) -> Sequence[Hit | Mapping[str, Any]]:
        """At most k hits, best first; a hit needs at least `doc` and `text`."""
        ...


class Hits(list[Hit]):
    """A list of hits that also carries the candidate lists they came from: list name -> passage ids, best first.

    `rerank_seconds` is None where nothing was reranked; `rerank_reused` tells whether its scores were kept from an
    earlier call.
    """

    rerank_seconds: float | None = None
    rerank_reused: bool | None = None

    def __init__(self, hits: Iterable[Hit] = (), lists: Mapping[str, tuple[str, ...]] | None = None) -> None:
        super().__init__(hits)
        self.lists = dict(lists or {})


@dataclass(frozen=True)
class Parts:
    """What an index is made of, apart from who may open what: what is saved of it."""

    rows: Rows
    postings: Postings
    dense: Dense


class HybridIndex:
    """An index in memory over passages or mappings with `text`, `doc`, `groups`.

    `embed(list[str])` returns unit vectors, shape (n, dimension); it may have `.queries()` and `.passages()` for a
    model with prefixes; None leaves the dense list out. `method` is hybrid, keyword or dense. `indexed` gives the text
    that is matched (default: the passage's own), `windows` the pieces of it that fit the embedding model: a passage is
    as similar as its best window, so nothing is cut off. `rewrite` changes the question, `fusion` says how the lists
    become one (default: the article's RRF, equal weights), `merging` which of the passages that belong together are
    hits. `reranker` reads the head of the fused list again.
    Raises DataError for groups that are no collection of names, for ids that stand twice and for vectors that do not
    fit, SettingsError for a method or variant of BM25 that does not exist.
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
        rewrite: Rewrite = lambda question: question,
        fusion: Fusion = EQUAL,
        merging: Merging = SECTIONS,
        reranker: Reranker | None = None,
    ) -> None:
        passages = [Passage.of(chunk, number) for number, chunk in enumerate(chunks)]
        if bm25 not in VARIANTS:
            raise SettingsError(f"bm25 is {bm25!r}; expected one of {', '.join(VARIANTS)}")
        self.embed = embed
        self.method = self._usable(method)
        self.passages = Permitted(Rows.of(passages))
        postings = Postings.of(tokenizer(indexed(p)) for p in passages)
        pieces = [(windows(p) if windows else ()) or [indexed(p)] for p in passages]
        starts = np.cumsum([0, *(len(p) for p in pieces)])[:-1]
        dense = Dense(self._embedded([text for piece in pieces for text in piece]), starts)
        self._take(Parts(self.passages.rows, postings, dense), tokenizer, bm25)
        self.rewrite, self.fusion, self.merging, self.reranker = rewrite, fusion, merging, reranker
        self.ties = ""

    @classmethod
    def of_parts(
        cls,
        parts: Parts,
        embed: Any = None,
        *,
        method: str = "hybrid",
        tokenizer: Tokenizer = words,
        bm25: str = "lucene",
        **asked: Any,
    ) -> HybridIndex:
        """An index of parts that were made before, as `opened` reads them; open to nobody until groups are set.

        `asked` is what `using` takes too.
        """
        index = cls((), tokenizer=tokenizer, bm25=bm25)
        index.embed, index.passages = embed, Permitted(parts.rows, {})
        index._take(parts, tokenizer, bm25)
        return index.using(method, **asked)

    def _take(self, parts: Parts, tokenizer: Tokenizer, bm25: str) -> None:
        self.parts, self.dense, self.tokenizer = parts, parts.dense, tokenizer
        self.keyword = VARIANTS[bm25](parts.postings)
        self._order = parts.rows.order

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
        check_unit(vectors)
        return vectors

    def using(self, method: str | None = None, **otherwise: Any) -> HybridIndex:
        """The same index asked otherwise; all else, access too, is shared.

        `otherwise` replaces `rewrite`, `fusion`, `merging`, `reranker`, or `ties`: the list whose rank decides between
        equal fused scores, where it is not the similarity (to see what that rule decides).
        """
        if unknown := otherwise.keys() - {"rewrite", "fusion", "merging", "reranker", "ties"}:
            raise TypeError(f"an index cannot be asked with another {', '.join(sorted(unknown))}; build one")
        other = object.__new__(HybridIndex)
        other.__dict__.update(self.__dict__, **otherwise)
        other.method = self._usable(method or self.method)
        return other

    def unmerged(self) -> HybridIndex:
        """The same index without reranking, every passage a hit of its own; access is shared."""
        return self.using(merging=SEPARATE, reranker=None)

    def set_groups(self, groups: Mapping[str, frozenset[str]] | None) -> None:
        """Replace who may open each document, effective at the next question; a document without an entry is closed."""
        self.passages.replace(groups)  # in place, because `using` shares them

    def allowed(self, user_groups: Collection[str]) -> NDArray[np.bool_]:
        """Which passages an asker of those groups may open: one group in common is enough, none is none."""
        return self.passages.allowed(user_groups)

    def search(self, query: str, user_groups: Collection[str], k: int = 5, depth: int = 50, rrf_k: int = 60) -> Hits:
        """At most k hits, best first, each with its passage's fields and `similarity`, its cosine to the query.

        Each list holds at most `depth` permitted passages, doubled for as long as merging leaves fewer hits than there
        would be without it; `rrf_k` is of the fusion by ranks. Unlike the article, a passage that shares no token with
        the query gets no keyword rank: there it would be ranked by its position.
        """
        return self.search_many([query], user_groups, k, depth, rrf_k)[0]

    def search_many(
        self, queries: Iterable[str], user_groups: Collection[str], k: int = 5, depth: int = 50, rrf_k: int = 60
    ) -> list[Hits]:
        """What `search` gives for each of those queries, asked by one asker: one matrix product for many of them."""
        queries, allowed = list(queries), self.allowed(user_groups)
        if not allowed.any():
            return [Hits(lists={name: () for name in self._lists()}) for _ in queries]
        found = self._listed(queries, allowed, depth)
        pairs = zip(queries, found, strict=True)
        return [self._hits(query, allowed, *lists, k, depth, rrf_k) for query, lists in pairs]

    def _listed(self, queries: Sequence[str], allowed: NDArray[np.bool_], depth: int) -> Iterator[Listed]:
        """For each query its candidate lists of allowed rows, and the cosine of every row that stands in one."""
        queries = [self.rewrite(query) for query in queries]
        rows = np.flatnonzero(allowed)
        known: Weighed = {}  # what the words of earlier queries weigh
        size = self.dense.batch(len(rows))
        for at in range(0, len(queries), size):
            batch = queries[at : at + size]
            vectors = self._query_vectors(batch)
            near = None if vectors is None else self.dense.near(vectors, rows)
            for number, query in enumerate(batch):
                lists: dict[str, Candidates] = {}
                listed = rows[:0] if near is None else rows[self.dense.candidates(near[number], depth)]
                if "keyword" in self._lists():
                    matching, scores = self.keyword.matching(self.tokenizer(query), allowed, known)
                    best = self._top(matching, scores, depth)
                    both = np.intersect1d(np.union1d(listed, best), matching, assume_unique=True)
                    weighed = _by_row(both, scores[np.searchsorted(matching, both)])
                    lists["keyword"] = Candidates(best, weighed, *moments(scores, len(rows)))
                    listed = np.union1d(listed, best)
                if vectors is None or near is None:
                    yield lists, None
                    continue
                similarity = _by_row(listed, self.dense.exact(vectors[number], listed))
                if "dense" in self._lists():
                    cosines = np.array(list(similarity.values()))
                    best = self._top(listed, cosines, depth)
                    # near is a float32 product, otherwise rounded in a batch; passages of one text have no deviation
                    mean, deviation = (round(found, DECIMALS) for found in moments(near[number], len(rows)))
                    lists["dense"] = Candidates(best, similarity, mean, deviation)
                yield lists, similarity

    def _hits(
        self,
        query: str,
        allowed: NDArray[np.bool_],
        lists: Mapping[str, Candidates],
        similarity: Mapping[int, Any] | None,
        k: int,
        depth: int,
        rrf_k: int,
    ) -> Hits:
        """The candidate lists as one, merged, best first, its head in the reranker's order where there is one.

        They are searched deeper where near duplicates, or passages of one document, take the place of others in them.
        """
        fused = fuse(lists, self.fusion, rrf_k)
        ranks: dict[int, dict[str, int]] = {}
        for name, one in lists.items():
            for rank, row in enumerate(one.rows.tolist(), start=1):
                ranks.setdefault(row, {})[name] = rank
        near = similarity or {}

        def place(row: int) -> tuple[float, ...]:
            decides = ranks[row].get(self.ties, len(fused)) if self.ties else -near.get(row, 0.0)
            return (-fused[row], decides, self._order[row])

        best = sorted(fused, key=place)
        k = min(k, len(best))  # a deeper search fills up what merging took, and gives no more than that
        shown, distinct = self.merging.first(best, self.passages.__getitem__, k)
        if distinct < k and any(len(lists[name].rows) == depth for name in self.fusion.weights(lists)):
            deeper = next(self._listed([query], allowed, 2 * depth))
            return self._hits(query, allowed, *deeper, k, 2 * depth, rrf_k)
        ids = self.passages.rows.ids
        told = {name: tuple(ids[row] for row in one.rows.tolist()) for name, one in lists.items()}
        spent: float | None = None
        reused: bool | None = None
        if self.reranker:
            started = time.perf_counter()
            head = best[: self.reranker.depth]
            order = self.reranker.order(query, [self.passages[row] for row in head])
            reranked = [head[at] for at, _ in order]
            told[LIST] = tuple(ids[row] for row in reranked)
            for rank, (at, score) in enumerate(order, start=1):
                ranks[head[at]][LIST], fused[head[at]] = rank, score
            spent, reused = time.perf_counter() - started, order.reused
            shown, _ = self.merging.first(reranked + best[len(head) :], self.passages.__getitem__, k)
        hits = Hits((Hit(self.passages[r], near.get(r), fused[r], ranks[r]) for r in shown), told)
        hits.rerank_seconds, hits.rerank_reused = spent, reused
        return hits

    def _lists(self) -> tuple[str, ...]:
        return METHODS[self.method] if self.embed is not None else ("keyword",)

    def _query_vectors(self, queries: list[str]) -> NDArray[np.float32] | None:
        """Unit vectors of queries; None for an index without vectors or by keyword only."""
        if self.embed is None or self.method == "keyword":
            return None
        vectors = np.asarray(getattr(self.embed, "queries", self.embed)(queries), dtype=np.float32)
        width = self.dense.vectors.shape[1]
        if vectors.shape != (len(queries), width):
            raise DataError(
                f"the query's vector has {vectors.shape[-1]} dimensions, the index {width}: "
                "index and questions must use the same embedding model; rebuild the index"
            )
        check_unit(vectors)
        return vectors

    def _top(self, rows: NDArray[np.intp], scores: Scores, depth: int) -> NDArray[np.intp]:
        """The `depth` best of those rows by their scores, ties by passage id."""
        if 0 < depth < len(rows):
            kept = scores >= np.partition(scores, len(rows) - depth)[len(rows) - depth]
            rows, scores = rows[kept], scores[kept]
        return rows[np.lexsort((self._order[rows], -scores))][:depth]


def _by_row(rows: NDArray[np.intp], scores: NDArray[Any]) -> dict[int, float]:
    return dict(zip(rows.tolist(), scores.tolist(), strict=True))
