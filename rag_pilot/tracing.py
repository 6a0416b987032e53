"""Where the expected document of one question stood in every list, what beat it, and what the model saw.

The first step whenever an answer is bad. Computed from a stored run and its index; nothing is asked of a model.
"""

from __future__ import annotations

from dataclasses import dataclass

from .answering.answerer import Prompt
from .errors import DataError
from .identity import fold
from .records import Hit, Passage
from .results import Result


@dataclass(frozen=True)
class Place:
    """The best place of the expected document, and of the passage with its quote, in one list (None: not in it)."""

    name: str
    document: int | None
    quote: int | None
    length: int


@dataclass(frozen=True)
class Seen:
    """One passage that was shown: why it is there."""

    number: int
    passage: Passage
    similarity: float | None
    ranks: str
    shared: tuple[str, ...]  # tokens that it shares with the question as searched
    expected: bool


@dataclass(frozen=True)
class Trace:
    """Everything that led to one answer."""

    question_id: str
    question: str
    searched: str  # the question as it was searched, synonyms added
    expected: str
    docs: tuple[str, ...]
    places: tuple[Place, ...]
    seen: tuple[Seen, ...]
    status: str
    text: str
    prompt: str
    hidden: str = ""  # groups that are needed to see it
    lost: int = 0  # passages of the run that stand in the documents no more: their text is not known
    quoted: bool = True  # whether the question names the words that hold the answer


def trace(result: Result, question_id: str) -> Trace:
    """Trace one question of a run; texts are left out where the pilot's readers may not see them."""
    question = next((q for q in result.questions if q.id == question_id), None)
    if question is None:
        raise DataError(f"no question {question_id!r} in this run; ids stand in questions.jsonl")
    answer, passages, index = result.run.answers[question_id], result.built.passages, result.built.index
    quote = fold(question.quote)

    def place(name: str, ids: list[str]) -> Place:
        held = [fold(passages[i].shown) if i in passages else "" for i in ids]
        docs = [passages[i].doc if i in passages else i.rpartition("#")[0] for i in ids]  # ours are document#hash
        document = next((n for n, doc in enumerate(docs, 1) if doc in question.docs), None)
        holding = next((n for n, text in enumerate(held, 1) if quote and quote in text), None)
        return Place(name, document, holding, len(ids))

    lists = {**{name: list(ids) for name, ids in answer.lists.items()}, "shown": [h["id"] for h in answer.hits]}
    searched = index.rewrite(question.question)
    asked = set(index.tokenizer(searched))
    seen = tuple(
        Seen(
            number=n,
            passage=passages[h["id"]],
            similarity=h.get("similarity"),
            ranks=", ".join(f"{name} {rank}" for name, rank in h.get("ranks", {}).items()),
            shared=tuple(sorted(asked & set(index.tokenizer(passages[h["id"]].text)))),
            expected=h["doc"] in question.docs,
        )
        for n, h in enumerate(answer.hits, start=1)
        if h["id"] in passages
    )
    hidden = result.hidden(question_id)
    lost = len({i for ids in lists.values() for i in ids} - passages.keys())
    places = tuple(place(name, ids) for name, ids in lists.items())
    if hidden:
        return Trace(question_id, "", "", "", (), places, (), answer.status, "", "", hidden, lost)
    return Trace(
        question_id=question_id,
        question=question.question,
        searched=searched,
        expected=question.expected,
        docs=tuple(sorted(question.docs)),
        places=places,
        seen=seen,
        status=f"{answer.status}: {answer.reason}" if answer.reason else answer.status,
        text=answer.text or "",
        prompt=str(Prompt(question.question, [Hit(s.passage, s.similarity) for s in seen]))
        if len(seen) == len(answer.hits)
        else "",
        lost=lost,
        quoted=bool(quote),
    )
