"""The first passages of the fused list, put in order by something that reads question and passage together.

It sees only what the asker may open, because it comes after the lists. Which cross-encoder suits a language is not
known here: notebook 07 measures one as any other change. `cross-encoder/ms-marco-MiniLM-L6-v2` reads English,
`BAAI/bge-reranker-v2-m3` some hundred languages; both need a hub or a folder.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..errors import DataError, ModelError
from ..records import Passage

LIST = "rerank"
"""The name of its list beside keyword and dense: in hits, run files, traces and the leak audit."""
DECIMALS = 4

Score = Callable[[str, Sequence[str]], Sequence[float]]
"""(question, texts of passages) -> a score for each, higher is better."""


class Scores(list[float]):
    """Scores that also tell whether they were kept from an earlier call (None: nobody is called)."""

    reused: bool | None = None


class Order(list[tuple[int, float]]):
    """(place, score) of each passage, best first; `reused` as the scores tell it."""

    reused: bool | None = None


@dataclass(frozen=True)
class Reranker:
    """Any function that scores texts for a question, and how many of the fused list it reads."""

    score: Score
    depth: int = 40

    def order(self, question: str, passages: Sequence[Passage]) -> Order:
        """(place in `passages`, score) of each, best first; scores are rounded to 1e-4, ties stay in their order.

        Raises DataError for scores that are not one number for each passage.
        """
        texts = ["\n".join(filter(None, [p.title, " > ".join(p.headings), p.text])) for p in passages]
        given = self.score(question, texts) if texts else []
        try:
            scores = [round(float(score), DECIMALS) for score in given]
        except (TypeError, ValueError):  # such as a cross-encoder of several labels
            raise DataError(f"the reranker gave {str(given)[:80]}; expected a number for each passage") from None
        if len(scores) != len(texts) or not all(map(math.isfinite, scores)):
            raise DataError(
                f"the reranker gave {len(scores)} scores for {len(texts)} passages; expected a number for each"
            )
        order = Order(sorted(enumerate(scores), key=lambda placed: (-placed[1], placed[0])))
        order.reused = getattr(given, "reused", None)
        return order


@cache
def cross_encoder(name: str) -> Score:
    """The scores of a sentence-transformers CrossEncoder, by folder or hub name; ModelError where it cannot load."""
    loaded: list[Any] = []

    def score(question: str, texts: Sequence[str]) -> Sequence[float]:
        if not loaded:
            from sentence_transformers import CrossEncoder
            from transformers.utils import logging

            logging.disable_progress_bar()  # type: ignore[no-untyped-call]
            try:
                loaded.append(CrossEncoder(name, device="cpu"))
            except Exception as fault:
                raise ModelError(
                    f"reranker {name!r} could not be loaded ({type(fault).__name__}): give a folder, a name that your "
                    "hub serves, or leave retrieval.rerank out"
                ) from fault
        found: Sequence[float] = loaded[0].predict([(question, text) for text in texts]).tolist()
        return found

    return score
