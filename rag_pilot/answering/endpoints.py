"""Embedding and reranking models behind an OpenAI-compatible address, as the functions that an index takes.

Vectors are asked for in batches and scores question by question; the calls are those of calls.py. What is kept of the
vectors is known in retrieval/cache.py, who may read the texts is not known here.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import HaltedError, ModelError
from ..pool import finished
from ..retrieval.replies import Replies
from ..retrieval.rerank import Scores
from ..settings import EmbeddingTable, ModelTable
from .calls import Calls, read_row
from .context import tokens_of

Vectors = NDArray[np.float32]


class EmbeddingModel(Calls[Vectors]):
    """A function from texts to unit vectors, POST /embeddings, `batch` texts a call.

    Raises ModelError where vectors are missing, of different lengths or not finite; RunStoppedError where no call can
    do better.
    """

    def __init__(self, settings: EmbeddingTable, table: str = "embedding") -> None:
        super().__init__(settings, table, {"dimensions": settings.dimensions} if settings.dimensions else {})
        self._batch = settings.batch

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, one row a text."""
        found = sorted(self.parts(texts), key=lambda part: part[0].start)
        if len({vectors.shape[1] for _, vectors in found}) > 1:
            raise ModelError(f"{self.settings.model} gave vectors of different lengths in one build; ask again")
        return np.concatenate([vectors for _, vectors in found]) if found else np.empty((0, 0), dtype=np.float32)

    def parts(self, texts: Sequence[str]) -> Iterator[tuple[slice, Vectors]]:
        """(place in the texts, unit vectors) of each batch as it comes in, as many at once as `concurrency`.

        After a fault nothing more is asked; it is raised after what came in beside it.
        """
        faults: list[ModelError] = []

        def ask(at: int) -> tuple[slice, Vectors] | None:
            where = slice(at, at + self._batch)
            part = list(texts[where])
            try:
                return None if faults else (where, self._asked(part, sum(map(tokens_of, part))))
            except ModelError as fault:
                faults.append(fault)
                self.halt()
                return None

        places = range(0, len(texts), self._batch)
        with closing(finished(ask, places, self.settings.concurrency, self)) as asking:
            yield from filter(None, asking)
        if faults:
            raise min(faults, key=lambda fault: isinstance(fault, HaltedError))  # the cause, not what it halted

    def _made(self, client: Any, what: Any, sent: Mapping[str, Any]) -> Vectors:
        response = client.embeddings.create(model=self.settings.model, input=what, encoding_format="float", **sent)
        rows = read_row(response, "a list of embeddings").get("data") or []
        by_place = {row.get("index"): row.get("embedding") for row in rows}
        if len(rows) != len(what) or set(by_place) != set(range(len(what))):
            raise ModelError(f"{self.settings.model} gave {len(rows)} vectors for {len(what)} texts")
        try:
            vectors = np.array([by_place[n] for n in range(len(what))], dtype=np.float64)
        except (TypeError, ValueError):
            raise ModelError(f"{self.settings.model} gave vectors of different lengths, or none") from None
        lengths = np.linalg.norm(vectors, axis=-1, keepdims=True) if vectors.ndim == 2 else np.zeros(1)
        if not (np.isfinite(lengths).all() and (lengths > 0).all()):
            raise ModelError(f"{self.settings.model} gave a vector that is empty, zero or not finite")
        return np.asarray(vectors / lengths, dtype=np.float32)


class RerankingModel(Calls[list[float]]):
    """A function from a question and texts to a score for each, POST /rerank as vLLM, llama.cpp and Cohere have it.

    Scores are kept in `replies`: the same question and texts are not paid for again. Raises ModelError where scores are
    missing or are no numbers.
    """

    def __init__(self, settings: ModelTable, replies: Replies, table: str = "rerank") -> None:
        super().__init__(settings, table)
        self._replies = replies

    def __call__(self, question: str, texts: Sequence[str]) -> Scores:
        """A score for each text, higher is better."""
        asked = json.dumps([question, list(texts)])
        kept, found = self._replies.known(asked), Scores()
        found.reused = kept is not None
        if kept is None:
            scores = self._asked((question, list(texts)), tokens_of(question) + sum(map(tokens_of, texts)))
            kept = self._replies.keep(asked, json.dumps(scores))
        found.extend(json.loads(kept))
        return found

    def _made(self, client: Any, what: Any, sent: Mapping[str, Any]) -> list[float]:
        question, texts = what
        body = {"model": self.settings.model, "query": question, "documents": texts, "top_n": len(texts)}
        rows = read_row(client.post("/rerank", cast_to=object, body=body), "a list of scores").get("results") or []
        scores = {row.get("index"): row.get("relevance_score") for row in rows}
        numbers = [scores.get(n) for n in range(len(texts))]
        if len(rows) != len(texts) or not all(isinstance(n, int | float) and math.isfinite(n) for n in numbers):
            raise ModelError(f"{self.settings.model} gave {len(rows)} scores for {len(texts)} texts, or no numbers")
        return [float(n) for n in numbers if n is not None]
