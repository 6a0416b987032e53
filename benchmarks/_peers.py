"""The hybrid recipes that LlamaIndex and Haystack document, over the same documents with the same embedding.

LlamaIndex: sentence splitter of 1,024 tokens, vector index and BM25 retriever, fused by reciprocal ranks; the title is
in the metadata, which it indexes with each chunk; stemmer and stop words of the set's language, as its guide shows.
Haystack: word splitter of 200 words, BM25 and embedding retriever of the in-memory store, joined by reciprocal ranks;
title and text in one, as in its tutorial (whose 512 words are more than the model reads; it says to choose fewer).
Rerankers and rewriting by a model, which both offer on top, are left out: ours runs without them here too. Nothing is
fetched and nothing sent.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib import import_module

from rag_pilot.records import Document, Question
from rag_pilot.retrieval.embedding import Embedding

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when haystack is imported
Search = Callable[[str], list[str]]  # question -> documents of the chunks found, best first
NEEDS = {"llamaindex": ("llama_index.core", "llama_index.retrievers.bm25"), "haystack": ("haystack",)}
PEERS = tuple(NEEDS)
DEPTH = {"llamaindex": 5, "haystack": 10}
"""Chunks that each list gives to the fusion: Haystack's default; LlamaIndex's (2) is too few for five documents.

For LlamaIndex 5 and 10 find the same over the four sets, 676 of 732 questions (mtrag .902 and .884, awsdocs .930 and
.950, cnil_fr .799 and .805, clapnq 1.000 both); 20 and 50 find less.
"""
STEMMED = {
    "ar": "arabic",
    "de": "german",
    "en": "english",
    "es": "spanish",
    "fr": "french",
    "ru": "russian",
    "tr": "turkish",
}
STOPPED = ("de", "en", "es", "fr", "ru", "tr", "zh")
"""Languages whose stop words bm25s brings; the others are searched with all their words."""


def absent(who: str) -> str:
    """Why that peer cannot be asked; '' where it can."""
    try:
        for module in NEEDS[who]:
            import_module(module)
    except ImportError as fault:
        return str(fault)
    return ""


def peers(
    who: str, documents: Sequence[Document], questions: Sequence[Question], lang: str, embedding: Embedding
) -> Callable[[Question], list[str]]:
    """That peer's search, each question over an index of only those documents that its asker may open."""
    build = {"llamaindex": llamaindex, "haystack": haystack}[who]
    embedding.queries([q.question for q in questions])
    indexes = {
        groups: build([d for d in documents if d.groups & groups], embedding, lang, DEPTH[who])
        for groups in {q.groups for q in questions}
    }
    return lambda question: indexes[question.groups](question.question)


def llamaindex(documents: Sequence[Document], embedding: Embedding, lang: str, depth: int) -> Search:
    """VectorStoreIndex and BM25Retriever under a QueryFusionRetriever (reciprocal_rerank, the question as it is)."""
    import Stemmer
    from llama_index.core import Document as Source
    from llama_index.core import VectorStoreIndex
    from llama_index.core.embeddings import BaseEmbedding
    from llama_index.core.llms import MockLLM
    from llama_index.core.node_parser import SentenceSplitter
    from llama_index.core.retrievers import QueryFusionRetriever
    from llama_index.retrievers.bm25 import BM25Retriever

    class Ours(BaseEmbedding):
        def _get_query_embedding(self, query: str) -> list[float]:
            return embedding.queries([query])[0].tolist()

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_query_embedding(query)

        def _get_text_embedding(self, text: str) -> list[float]:
            return self._get_text_embeddings([text])[0]

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return embedding.passages(texts).tolist()

    sources = [
        Source(
            text=d.text,
            id_=d.id,
            metadata={"title": d.title, "id": d.id},
            excluded_embed_metadata_keys=["id"],
            excluded_llm_metadata_keys=["id"],
        )
        for d in documents
    ]
    nodes = SentenceSplitter(chunk_size=1024, chunk_overlap=20).get_nodes_from_documents(sources)
    depth = min(depth, len(nodes))
    vectors = VectorStoreIndex(nodes, embed_model=Ours(embed_batch_size=2048))
    words = BM25Retriever.from_defaults(
        nodes=nodes,
        similarity_top_k=depth,
        language=lang if lang in STOPPED else [],
        stemmer=Stemmer.Stemmer(STEMMED[lang]) if lang in STEMMED else None,
        skip_stemming=lang not in STEMMED,
    )
    fused = QueryFusionRetriever(
        [vectors.as_retriever(similarity_top_k=depth), words],
        llm=MockLLM(),  # not asked with num_queries 1, but one must be given
        mode="reciprocal_rerank",
        num_queries=1,
        similarity_top_k=2 * depth,
        use_async=False,
    )
    return lambda question: [str(hit.node.ref_doc_id) for hit in fused.retrieve(question)]


def haystack(documents: Sequence[Document], embedding: Embedding, lang: str, depth: int) -> Search:
    """InMemoryBM25Retriever and InMemoryEmbeddingRetriever under a DocumentJoiner (reciprocal_rank_fusion)."""
    from haystack import Document as Source
    from haystack.components.joiners import DocumentJoiner
    from haystack.components.preprocessors import DocumentSplitter
    from haystack.components.retrievers.in_memory import InMemoryBM25Retriever, InMemoryEmbeddingRetriever
    from haystack.document_stores.in_memory import InMemoryDocumentStore

    sources = [Source(content=f"{d.title}\n{d.text}", meta={"document": d.id}) for d in documents]
    chunks = DocumentSplitter(split_by="word", split_length=200).run(documents=sources)["documents"]
    vectors = embedding.passages([c.content for c in chunks]).tolist()
    store = InMemoryDocumentStore()
    store.write_documents([replace(chunk, embedding=v) for chunk, v in zip(chunks, vectors, strict=True)])
    words = InMemoryBM25Retriever(store, top_k=depth)
    meanings = InMemoryEmbeddingRetriever(store, top_k=depth)
    joiner = DocumentJoiner(join_mode="reciprocal_rank_fusion")

    def search(question: str) -> list[str]:
        lists = [
            words.run(query=question)["documents"],
            meanings.run(query_embedding=embedding.queries([question])[0].tolist())["documents"],
        ]
        return [hit.meta["document"] for hit in joiner.run(documents=lists)["documents"]]

    return search
