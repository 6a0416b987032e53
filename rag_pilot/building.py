"""A configuration and documents to an index: opened from disk where its manifest fits, else built and saved.

Passages are split with the counter of one model and embedded in windows of another's; who may open them is attached by
the caller, every time. Which pilot this belongs to is not known here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from . import __version__
from .answering.client import ChatModel
from .answering.endpoints import EmbeddingModel, RerankingModel
from .corpus.documents import Documents
from .corpus.passages import Splitter, prefix_of, question_above, split_documents
from .errors import DataError, ModelError, RunStoppedError
from .identity import fingerprint
from .pool import finished
from .progress import progress
from .records import Document, Passage, Question
from .retrieval.cache import CachedEmbedding
from .retrieval.embedding import Embedding, Model, load_embedding, token_counter
from .retrieval.fusion import Fusion
from .retrieval.hybrid import HybridIndex
from .retrieval.keyword import tokenizer
from .retrieval.manifest import Manifest, document_hashes
from .retrieval.merging import Merging
from .retrieval.replies import Replies
from .retrieval.rerank import Reranker, cross_encoder
from .retrieval.rewrite import Rewrite, Rewriter, expander
from .retrieval.stored import open_index, save_index, saved_manifest
from .settings import Settings

SEARCHING = ("retrieval", "embedding", "rewrite", "rerank")
"""The tables of pilot.toml that decide what is found."""


@dataclass(frozen=True)
class Variant:
    """A configuration to be measured: settings, and the changes whose files are laid over the pilot's."""

    settings: Settings
    changes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Built:
    """An index with what it was built from; `state` is 'reused' or 'rebuilt'."""

    index: HybridIndex
    manifest: Manifest
    documents: Documents
    state: str
    embedded: int = 0  # passages whose vector had to be computed
    groups: Mapping[str, frozenset[str]] = field(default_factory=dict)  # passage id -> who may open it

    @cached_property
    def passages(self) -> dict[str, Passage]:
        """The passages by id."""
        return {p.id: p for p in self.index.passages}


def manifest_of(settings: Settings, documents: Sequence[Document], embedding: Embedding) -> Manifest:
    """What an index of those documents under those settings depends on."""
    manifest = Manifest(
        documents=document_hashes(documents),
        passages={**settings.passages.model_dump(mode="json"), "version": __version__},
        model="",
        prefixes=(),
        tokeniser="+".join(settings.pilot.languages),
        titles=settings.retrieval.titles,
    )
    if settings.retrieval.method == "keyword":
        return manifest
    model = embedding.model
    prefixes = (model.query_prefix, model.passage_prefix)
    return replace(
        manifest,
        question_headings=settings.retrieval.question_headings,
        model=model.name,
        prefixes=prefixes,
        revision=embedding.revision,
        precision=embedding.precision,
        window=settings.embedding.window if settings.embedding.kind == "model" else None,
    )


def key_of(manifest: Manifest, settings: Settings, glossary: Mapping[str, Sequence[str]]) -> str:
    """All that an index and what it finds depend on, but for who may open what."""
    return fingerprint([manifest.fingerprint, settings.fingerprint(*SEARCHING), glossary])


def rewriter(settings: Settings, glossary: Mapping[str, Sequence[str]], cache_folder: Path) -> Rewrite:
    """From a question to the text that is searched: the glossary, and the model where one is configured.

    Its address is first called when a question is not in the cache: what was asked before needs no key.
    """
    table, expand = settings.rewrite, expander(glossary, settings.pilot.languages)
    if table.kind == "none":
        return expand
    replies = Replies(cache_folder / "rewrite.sqlite", table.asked_by)
    return Rewriter(ChatModel(table, "rewrite"), expand, replies, table.concurrency)


def embedding_of(settings: Settings) -> Embedding:
    """The embedding of those settings: the one behind an address where there is one, else by its name.

    At an address one name can stand for another model: address, revision and dimensions are its revision here.
    """
    table = settings.embedding
    if table.kind == "none":
        return load_embedding(settings.retrieval.embedding, settings.retrieval.precision)
    model = Model(table.model, table.query_prefix, table.passage_prefix, max_tokens=table.window)
    revision = fingerprint([table.base_url, table.revision, table.dimensions])
    return Embedding(model, EmbeddingModel(table), revision=revision)


def reranker(settings: Settings, cache_folder: Path) -> Reranker | None:
    """The reranker of those settings: the one behind an address where there is one, else a cross-encoder, or None."""
    find, table = settings.retrieval, settings.rerank
    if table.kind == "model":
        replies = Replies(cache_folder / "rerank.sqlite", table.asked_by)
        return Reranker(RerankingModel(table, replies), find.rerank_depth)
    return Reranker(cross_encoder(find.rerank), find.rerank_depth) if find.rerank else None


def split(settings: Settings, documents: Sequence[Document], known: Mapping[str, list[Passage]]) -> list[Passage]:
    """The passages of those documents under those settings, in order; those of `known` documents as they are there."""
    table = settings.passages
    splitter = Splitter(table.max_tokens, table.overlap, token_counter(table.counted_with), table.parent_tokens)
    found = {d.id: known.get(d.id, []) for d in documents}
    for passage in split_documents([d for d in documents if d.id not in known], splitter):
        found[passage.doc].append(passage)
    return [passage for passages in found.values() for passage in passages]


def earlier(folder: Path, manifest: Manifest) -> dict[str, list[Passage]]:
    """The passages of documents that have not changed since an index in `folder`, split as now: document -> passages.

    Of several saved indexes it is the one that shares most documents.
    """
    shared: dict[Path, set[str]] = {}
    for path in sorted(folder.glob("*/manifest.json")):
        saved = saved_manifest(path.parent)
        if saved and saved.passages == manifest.passages:
            shared[path.parent] = {d for d, sha in saved.documents.items() if manifest.documents.get(d) == sha}
    if not any(shared.values()):
        return {}
    nearest = max(shared, key=lambda path: len(shared[path]))
    found: dict[str, list[Passage]] = {doc: [] for doc in shared[nearest]}
    try:
        for passage in open_index(nearest)[1].rows.passages:
            if passage.doc in found:
                found[passage.doc].append(passage)
    except DataError:  # a damaged index is no source
        return {}
    return found


def open_or_build(
    folder: Path,
    manifest: Manifest,
    settings: Settings,
    documents: Documents,
    embedding: CachedEmbedding,
    rewrite: Rewrite,
) -> Built:
    """The index of that manifest, opened from `folder` where it was saved; open to nobody yet."""
    place = folder / manifest.fingerprint
    if saved_manifest(place):
        saved, parts = open_index(place, manifest)
        return Built(HybridIndex.of_parts(parts, **_how(settings, embedding, rewrite)), saved, documents, "reused")
    passages = split(settings, documents.documents, earlier(folder, manifest))
    index, beyond = index_of(passages, settings, embedding, rewrite)
    index.set_groups({})
    saved = save_index(place, replace(manifest, beyond=round(beyond, 6)), index.parts)
    return Built(index, saved, documents, "rebuilt", embedding.computed)


def index_of(
    passages: Sequence[Passage], settings: Settings, embedding: CachedEmbedding, rewrite: Rewrite = str
) -> tuple[HybridIndex, float]:
    """The index of those passages under those settings, in memory, and the share of tokens that no window holds.

    A passage is open to its own groups.
    """
    find = settings.retrieval

    def prefix(passage: Passage) -> str:
        return prefix_of(passage.title, passage.headings) + "\n" if find.titles else ""

    pieces, beyond = ({}, 0.0) if find.method == "keyword" else _windows(passages, prefix, settings, embedding)
    index = HybridIndex(
        passages,
        indexed=lambda p: prefix(p) + p.text,
        windows=lambda p: pieces.get(p.id, ()),
        **_how(settings, embedding, rewrite),
    )
    return index, beyond


def _how(settings: Settings, embedding: CachedEmbedding, rewrite: Rewrite) -> dict[str, Any]:
    """How an index under those settings is asked, made now or opened."""
    find = settings.retrieval
    return {
        "embed": None if find.method == "keyword" else embedding,
        "method": find.method,
        "tokenizer": tokenizer(settings.pilot.languages),
        "bm25": find.bm25,
        "rewrite": rewrite,
        "fusion": Fusion(find.fusion, find.dense_weight),
        "merging": Merging(find.per_document, find.per_text),
        "reranker": reranker(settings, embedding.folder),
    }


def _windows(
    passages: Sequence[Passage], prefix: Callable[[Passage], str], settings: Settings, embedding: Embedding
) -> tuple[dict[str, list[str]], float]:
    """The pieces of each passage that fit the embedding's window, counted by itself; share of tokens that do not fit.

    A model whose tokenizer nobody knows is counted with the splitter's.
    """
    table, own = settings.passages, embedding.count
    count, most = own or token_counter(table.counted_with), embedding.window
    splitter = Splitter(most, table.overlap, count)
    known = own is None or embedding.model.name == table.counted_with  # a passage's tokens were counted so
    pieces = {p.id: [prefix(p) + t for t in splitter.texts(p if known else replace(p, tokens=0))] for p in passages}
    if settings.retrieval.question_headings:
        for passage in passages:
            if question := question_above(passage.title, passage.headings):
                pieces[passage.id].append(question)
    sizes = count([text for texts in pieces.values() for text in texts])
    return pieces, sum(max(0, n - most) for n in sizes) / max(sum(sizes), 1)


def embed_questions(index: HybridIndex, questions: Iterable[Question]) -> None:
    """Rewrite and embed all questions in one batch, so that the caches answer one by one.

    One that its model cannot rewrite is left out: the fault is that question's when it is asked. ModelError where not
    one of them can be rewritten.
    """
    asked = list(dict.fromkeys(q.question for q in questions))
    if isinstance(index.rewrite, Rewriter):
        asked = _can_be_rewritten(index.rewrite, asked)
    if index.embed is not None:
        index.embed.queries([index.rewrite(question) for question in asked])


def _can_be_rewritten(rewrite: Rewriter, questions: Sequence[str]) -> list[str]:
    faults: list[ModelError] = []

    def tried(question: str) -> list[str]:
        try:
            rewrite(question)
        except RunStoppedError:
            raise
        except ModelError as fault:
            faults.append(fault)
            return []
        return [question]

    with closing(finished(tried, questions, rewrite.threads, rewrite)) as rewriting:
        found = {question for done in progress(rewriting, "rewriting", len(questions)) for question in done}
    if faults and not found:
        raise ModelError(f"no question could be rewritten; the first: {faults[0]}")
    return [question for question in questions if question in found]
