"""Where the expected document of one question stood in every list, what beat it and why, and what the model saw.

The first step whenever an answer is bad. Ranks are those of the stored run; scores, and places beyond what was
searched, come from asking the index once more, and are left out where it gives other lists by now. Nothing is asked of
a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from .answering.answerer import Prompt, instructed
from .errors import DataError
from .identity import fold
from .records import Answer, Hit, Passage, Question
from .results import Result
from .retrieval.hybrid import Hits, HybridIndex
from .retrieval.rerank import LIST
from .retrieval.rewrite import Rewriter

DEEP = 1000  # so far down a list the expected document is looked for


@dataclass(frozen=True)
class Place:
    """The best place of the expected document, and of the passage with its quote, in one list (None: not in it).

    `length` passages were searched: a place beyond it is where the document would have stood. A score is BM25, a
    cosine, or the fused one, by list; None where it is not known.
    """

    name: str
    document: int | None
    quote: int | None
    length: int
    document_score: float | None = None
    quote_score: float | None = None


@dataclass(frozen=True)
class Seen:
    """One passage: why it stands where it stands; `number` is its place among those that were shown, 0: not shown."""

    number: int
    passage: Passage
    similarity: float | None
    ranks: Mapping[str, int]
    shared: tuple[str, ...]  # tokens that it shares with the question as searched
    expected: bool
    why: str = ""  # it stands before the expected passage: what it has more of

    def higher(self, other: Seen) -> list[str]:
        """The lists in which it stands before another, or the other does not stand."""
        return [name for name, rank in self.ranks.items() if rank < other.ranks.get(name, rank + 1)]


@dataclass(frozen=True)
class Trace:
    """Everything that led to one answer."""

    question_id: str
    question: str
    searched: str  # the question as it was searched: synonyms added, rewritten
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
    sought: Seen | None = None  # the expected passage, where it was not shown
    closed: bool = False  # the asker may not open the expected document
    not_rewritten: str = ""  # why the reply of the model that rewrites was not used


@dataclass(frozen=True)
class _Again:
    """The question asked once more: lists in full depth, the fused order before and after merging, and scores."""

    lists: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fused: Mapping[str, float] = field(default_factory=dict)  # passage id -> score, best first
    ordered: Sequence[str] = ()  # the fused list, its head in the reranker's order
    merged: Sequence[str] = ()
    hits: Mapping[str, Hit] = field(default_factory=dict)
    words: Mapping[str, float] = field(default_factory=dict)  # BM25

    def score(self, name: str, passage_id: str) -> float | None:
        if name == "keyword":
            return self.words.get(passage_id)
        if name == "dense":
            return self.hits[passage_id].similarity if passage_id in self.hits else None
        return None if name == LIST else self.fused.get(passage_id)

    def put_back(self, passage: Passage, other: Passage) -> bool:
        """Whether a passage stood before another until merging put it behind that one, or left it out."""
        place = {i: n for n, i in enumerate(self.ordered)}
        after = {i: n for n, i in enumerate(self.merged)}
        one, two = passage.id, other.id
        if not (place.keys() >= {one, two} and two in after):
            return False
        return place[one] < place[two] and (one not in after or after[one] > after[two])


def trace_largest_cause(result: Result) -> Trace | None:
    """The trace of the first bad answer, in the order of reading, of the largest cause of which readers may see one.

    None where no bad answer has a known cause, or none that they may see.
    """
    ids = (i for row in result.pareto.rows for i in row.questions if not result.hidden(i))
    return next((trace(result, i) for i in ids), None)


def trace(result: Result, question_id: str) -> Trace:
    """Trace one question of a run; texts and scores are left out where the pilot's readers may not see them."""
    question = next((q for q in result.questions if q.id == question_id), None)
    if question is None:
        raise DataError(f"no question {question_id!r} in this run; ids stand in questions.jsonl")
    answer, passages, index = result.run.answers[question_id], result.built.passages, result.built.index
    hidden = result.hidden(question_id)
    searched = _searched(result, question, answer)
    again = _Again() if hidden else _ask_again(result, question, answer, searched)
    lists = {**{name: list(ids) for name, ids in answer.lists.items()}, "shown": [h["id"] for h in answer.hits]}
    lost = len({i for ids in lists.values() for i in ids} - passages.keys())
    places = _places(question, answer, passages, again)
    if hidden:
        told = bool(question.quote)
        return Trace(question_id, "", "", "", (), places, (), answer.status, "", "", hidden, lost, told)
    asked = set(index.tokenizer(searched))
    instructions = instructed(result.settings.answer.instructions)

    def seen(number: int, passage: Passage, similarity: float | None, ranks: Mapping[str, int]) -> Seen:
        shared = tuple(sorted(asked & set(index.tokenizer(passage.text))))
        return Seen(number, passage, similarity, dict(ranks), shared, passage.doc in question.docs)

    shown = [
        seen(n, passages[h["id"]], h.get("similarity"), h.get("ranks", {}))
        for n, h in enumerate(answer.hits, start=1)
        if h["id"] in passages
    ]
    sought = next((s for s in shown if s.expected), None)
    if sought is None and (best := _sought(question, passages, again)):
        hit = again.hits.get(best.id)
        ranks = {name: list(ids).index(best.id) + 1 for name, ids in again.lists.items() if best.id in ids}
        sought = seen(0, best, hit.similarity if hit else None, ranks)
    before = shown[: sought.number - 1] if sought and sought.number else shown
    if sought:
        shown = [replace(s, why=_why(s, sought, again)) if s in before else s for s in shown]
    return Trace(
        question_id=question_id,
        question=question.question,
        searched=searched,
        expected=question.expected,
        docs=tuple(sorted(question.docs)),
        places=places,
        seen=tuple(shown),
        status=f"{answer.status}: {answer.why}" if answer.why and answer.reason else answer.status,
        text=answer.text or "",
        prompt=str(Prompt(question.question, [Hit(s.passage, s.similarity) for s in shown], instructions))
        if len(shown) == len(answer.hits)
        else "",
        lost=lost,
        quoted=bool(question.quote),
        sought=sought if sought and not sought.number else None,
        closed=bool(question.docs) and not result.may_open(question),
        not_rewritten=answer.not_rewritten,
    )


def _searched(result: Result, question: Question, answer: Answer) -> str:
    """What was searched: as the run kept it where a model rewrites, which is not asked again."""
    rewrite = result.built.index.rewrite
    return answer.searched or (question.question if isinstance(rewrite, Rewriter) else rewrite(question.question))


def _ask_again(result: Result, question: Question, answer: Answer, searched: str) -> _Again:
    """The same search as in the run, deeper and without merging; nothing where it gives other lists than the run.

    The run's lists are longer than its depth where merging had them searched deeper.
    """
    index = result.retriever
    if not isinstance(index, HybridIndex) or not answer.lists:
        return _Again()
    _, search = result.asked_with
    found = {name: ids for name, ids in answer.lists.items() if name != LIST}
    depth = max([search.get("depth", 50), *map(len, found.values())])
    plain = index.unmerged().using(rewrite=lambda _: searched)

    def ask(depth: int) -> Hits:
        return plain.search(question.question, question.groups, **{**search, "k": 2 * depth, "depth": depth})

    deep = ask(max(depth, DEEP))
    if any(list(deep.lists.get(name, ()))[: len(ids)] != list(ids) for name, ids in found.items()):
        return _Again()
    fused = {h["id"]: h for h in ask(depth)}
    ordered = list(dict.fromkeys([*(i for i in answer.lists.get(LIST, ()) if i in fused), *fused]))
    merged, _ = index.merging.first(range(len(ordered)), lambda n: fused[ordered[n]].passage, len(ordered))
    scores = index.keyword.get_scores(index.tokenizer(searched)) if "keyword" in deep.lists else ()
    return _Again(
        deep.lists,
        {i: h.score or 0.0 for i, h in fused.items()},
        ordered,
        [ordered[n] for n in merged],
        {h["id"]: h for h in deep},
        {p.id: float(score) for p, score in zip(index.passages, scores, strict=False)},
    )


def _places(question: Question, answer: Answer, passages: Mapping[str, Passage], again: _Again) -> tuple[Place, ...]:
    """List by list, before fusion, after it, after merging, and as shown."""
    told = {h["id"]: h["doc"] for h in answer.hits}  # whatever the id looks like
    quote = fold(question.quote)

    def doc(i: str) -> str:
        return passages[i].doc if i in passages else told.get(i) or i.rpartition("#")[0]  # ours are document#hash

    def place(name: str, ids: Sequence[str], length: int) -> Place:
        document = next((n for n, i in enumerate(ids, 1) if doc(i) in question.docs), None)
        holding = next(
            (n for n, i in enumerate(ids, 1) if quote and i in passages and quote in fold(passages[i].shown)), None
        )
        scores = (again.score(name, ids[n - 1]) if n else None for n in (document, holding))
        return Place(name, document, holding, length, *scores)

    found = [place(name, again.lists.get(name, ids), len(ids)) for name, ids in answer.lists.items()]
    if len(answer.lists) > 1 and again.fused:
        found.append(place("fused", list(again.fused), len(again.fused)))
    if list(again.merged) != list(again.ordered):
        found.append(place("merged", again.merged, len(again.merged)))
    shown = [h["id"] for h in answer.hits]
    return (*found, place("shown", shown, len(shown)))


def _sought(question: Question, passages: Mapping[str, Passage], again: _Again) -> Passage | None:
    """The passage that should have been shown: the one with the quote, else the expected document's best."""
    own = {p.id: p for p in passages.values() if p.doc in question.docs}
    quote = fold(question.quote)
    holding = (p for p in own.values() if quote and quote in fold(p.text))
    ranked = (own[i] for ids in (again.fused, *again.lists.values()) for i in ids if i in own)
    return next(holding, None) or next(ranked, None) or next(iter(own.values()), None)


def _why(seen: Seen, sought: Seen, again: _Again) -> str:
    """What a passage has more of than the expected one, or that merging alone put it first."""
    if again.put_back(sought.passage, seen.passage):
        return "stood behind it until merging (per_text, per_document, sections) put the expected passage back"
    pairs = [
        ("words shared", len(seen.shared), len(sought.shared), "{}"),
        ("BM25", again.words.get(seen.passage.id), again.words.get(sought.passage.id), "{:.2f}"),
        ("similarity", seen.similarity, sought.similarity, "{:.2f}"),
    ]
    more = [
        f"{name} {form.format(mine)} against {form.format(its)}"
        for name, mine, its, form in pairs
        if mine is not None and its is not None and mine > its
    ]
    return "; ".join(more) or f"stands higher in {' and '.join(seen.higher(sought)) or 'the fused list'}"
