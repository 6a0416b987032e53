"""A configuration and documents to an index: opened from disk where its manifest fits, else built and saved.

Passages are split with the counter of one model and embedded in windows of another's; who may open them is attached by
the caller, every time. Which pilot this belongs to is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

from . import __version__
from .corpus.documents import Documents
from .corpus.passages import Splitter, prefix_of, split_documents
from .records import Document, Passage, Question
from .retrieval.embedding import OFFLINE, CachedEmbedding, Model, token_counter
from .retrieval.hybrid import HybridIndex
from .retrieval.keyword import tokenizer
from .retrieval.manifest import Manifest, document_hashes, save_index, saved_manifest, saved_passages
from .retrieval.rewrite import expander
from .settings import Settings


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


def manifest_of(settings: Settings, documents: Sequence[Document], model: Model) -> Manifest:
    """What an index of those documents under those settings depends on."""
    return Manifest(
        documents=document_hashes(documents),
        passages={**settings.passages.model_dump(mode="json"), "version": __version__},
        model=model.name,
        prefixes=(model.query_prefix, model.passage_prefix),
        tokeniser="+".join(settings.pilot.languages),
    )


def split(settings: Settings, documents: Documents) -> list[Passage]:
    """The passages of those documents under those settings."""
    table = settings.passages
    splitter = Splitter(table.max_tokens, table.overlap, token_counter(table.counted_with), table.parent_tokens)
    return split_documents(documents.documents, splitter)


def open_or_build(
    folder: Path,
    manifest: Manifest,
    settings: Settings,
    documents: Documents,
    embedding: CachedEmbedding,
    glossary: Mapping[str, Sequence[str]],
) -> Built:
    """The index of that manifest, its passages read from `folder` where they were saved; open to nobody yet."""
    folder = folder / manifest.fingerprint
    saved = saved_manifest(folder)
    count = token_counter(settings.passages.counted_with)
    passages = saved_passages(folder) if saved else split(settings, documents)
    find, titles = settings.retrieval, settings.retrieval.titles

    def prefix(passage: Passage) -> str:
        return prefix_of(passage.title, passage.headings) + "\n" if titles else ""

    model = embedding.model
    window = Splitter(model.window, settings.passages.overlap, count)
    pieces = {p.id: [prefix(p) + text for text in window.texts(p)] for p in passages}
    index = HybridIndex(
        passages,
        None if find.method == "keyword" else embedding,
        method=find.method,
        tokenizer=tokenizer(settings.pilot.languages),
        bm25=find.bm25,
        indexed=lambda p: prefix(p) + p.text,
        windows=lambda p: pieces[p.id],
        rewrite=expander(glossary),
        per_document=find.per_document,
    )
    if saved:
        return Built(index, saved, documents, "reused", embedding.computed)
    count = token_counter(model.name) if model.name in OFFLINE else count
    sizes = count([text for texts in pieces.values() for text in texts]) if index.embed is not None else []
    beyond = sum(max(0, n - model.window) for n in sizes) / max(sum(sizes), 1)
    observed = replace(manifest, dimension=index.dense.vectors.shape[1], beyond=round(beyond, 6))
    return Built(index, save_index(folder, observed, passages), documents, "rebuilt", embedding.computed)


def embed_questions(index: HybridIndex, questions: Iterable[Question]) -> None:
    """Embed all questions in one batch, so that the cache answers one by one."""
    if index.embed is not None:
        index.embed.queries([index.rewrite(q.question) for q in questions])
