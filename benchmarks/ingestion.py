"""Reading and splitting two organisations' handbooks (934 Markdown files): time, memory, and whether a word is lost.

    python benchmarks/ingestion.py [--json FILE] [--data FOLDER]

Nothing is embedded and torch is not imported. Each splitter runs in a process of its own, so that its peak memory is
its own; both count tokens with all-MiniLM's tokenizer and cut at 400. The peer is semantic-text-splitter's Markdown
splitter (Rust), which is given the texts as read here. Figures: seconds, seconds.read, seconds.split, peak_mb,
documents, skipped, passages, words, words_lost, words_cut (longer than a passage), torch_imported; and of the peer
peer.seconds.split, peer.passages, peer.words_lost.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import re
import resource
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from rag_pilot.corpus.access import Access, Entry
from rag_pilot.corpus.documents import Documents, Sources, read_documents
from rag_pilot.corpus.passages import Splitter, split_documents
from rag_pilot.retrieval.embedding import token_counter
from rag_pilot.settings import PassageTable

DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "handbooks"
EVERYTHING = Access((Entry("**", frozenset({"all-staff"})),))
COUNT = token_counter(PassageTable().counted_with)
SITE_KEYS = (
    *("permalink", "data_source", "data_source_2", "hide_sidebar", "sidebar", "description", "home", "heroImage"),
    *("heroText", "tagline", "actionText", "actionLink", "footer", "ignoreDisconnectedPageCheck"),
)
"""Front matter keys of these handbooks' site generators."""


def read(folder: Path) -> Documents:
    return read_documents(folder, EVERYTHING, Sources(other_keys=SITE_KEYS, ids="path"))


def lost(texts: Iterable[tuple[str, str]], longest: int) -> tuple[int, int, int]:
    """(words, words that stand in no passage, words longer than a passage) over a document's text and its passages'.

    A word has a letter or digit: rules of tables are none. One that alone is longer than a passage (an address of a
    thousand letters) has to be cut.
    """
    words = missing = cut = 0
    for text, passages in texts:
        here = Counter(word for word in text.split() if re.search(r"[^\W_]", word))
        words += here.total()
        for word, n in (here - Counter(passages.split())).items():
            long = COUNT([word])[0] > longest
            missing, cut = missing + n * (not long), cut + n * long
    return words, missing, cut


def ours(folder: Path) -> dict[str, float]:
    started = time.perf_counter()
    found = read(folder)
    read_in = time.perf_counter()
    table = PassageTable()
    passages = split_documents(found.documents, Splitter(table.max_tokens, table.overlap, COUNT))
    done = time.perf_counter()
    by_document: dict[str, list[str]] = {d.id: [] for d in found.documents}
    for passage in passages:
        by_document[passage.doc].append(passage.text)
    words, missing, cut = lost(((d.text, "\n".join(by_document[d.id])) for d in found.documents), table.max_tokens)
    return {
        "seconds": done - started,
        "seconds.read": read_in - started,
        "seconds.split": done - read_in,
        "documents": len(found.documents),
        "skipped": len(found.skipped),
        "passages": len(passages),
        "words": words,
        "words_lost": missing,
        "words_cut": cut,
        "torch_imported": float("torch" in sys.modules),
    }


def peer(folder: Path) -> dict[str, float]:
    from semantic_text_splitter import MarkdownSplitter

    documents = read(folder).documents
    splitter = MarkdownSplitter.from_callback(lambda text: COUNT([text])[0], PassageTable().max_tokens)
    started = time.perf_counter()
    cut = [splitter.chunks(document.text) for document in documents]
    seconds = time.perf_counter() - started
    texts = ((d.text, "\n".join(pieces)) for d, pieces in zip(documents, cut, strict=True))
    _, missing, _ = lost(texts, PassageTable().max_tokens)
    return {"peer.seconds.split": seconds, "peer.passages": sum(map(len, cut)), "peer.words_lost": missing}


def measured(name: str, folder: Path) -> dict[str, float]:
    """What `name` measured in a process of its own, with its peak memory."""
    command = [sys.executable, __file__, "--only", name, "--data", str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return dict(json.loads(done.stdout))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--only", choices=("ours", "peer"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.only:
        found = {"ours": ours, "peer": peer}[args.only](args.data)
        found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(found))
        return
    if not args.data.is_dir():
        print(f"skipped: {args.data} is not there (the handbooks are not part of the project)")
        return
    figures = measured("ours", args.data)
    if importlib.util.find_spec("semantic_text_splitter"):
        figures |= {name: value for name, value in measured("peer", args.data).items() if name.startswith("peer.")}
    else:
        print("semantic-text-splitter is not installed (the dev extra): no peer is measured")
    for name, value in figures.items():
        print(f"{name:22} {value:12,.1f}")
    if args.json:
        args.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
