"""The nouns of a pilot: frozen records that can be read like mappings and become plain JSON values.

Reading like a mapping (`hit["doc"]`) lets plain dictionaries of other systems and ours mix. This module knows nothing
of files, pilots, models or statistics. Ids are text, byte for byte; no record ever holds NaN.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Self

from .errors import DataError
from .identity import fingerprint, plain

LABELS = ("correct", "partly", "wrong", "declined")
"""The four labels, in the order in which every table and picture shows them."""

JUDGE_LABELS = LABELS[:3]
"""What a judge may say; a decline is decided before any judge is asked."""

DECLINE_REASONS = ("no_passage", "low_similarity", "not_found", "uncited", "bad_citation")

CAUSES = ("missing_or_stale", "not_retrieved", "wrong_despite_passage", "should_have_declined")
"""The method's four causes; `OTHER_CAUSES` stand apart and are counted."""

OF_REFERENCE = "reference_wrong"
"""The cause that is no fault of the answer: it can be said of a correct one too."""

OTHER_CAUSES = (OF_REFERENCE, "not_permitted", "format_or_tone")

EMPTY: tuple[Any, ...] = (None, "", (), {}, frozenset())


class Record:
    """A dataclass whose fields can also be read by name, as of a mapping."""

    def __getitem__(self, name: str) -> Any:
        try:
            return getattr(self, name)
        except AttributeError:
            raise KeyError(name) from None

    def get(self, name: str, default: Any = None) -> Any:
        """What `record[name]` gives, or `default` where there is no such field."""
        try:
            return self[name]
        except KeyError:
            return default

    def keys(self) -> list[str]:
        """The field names, in order; makes `dict(record)` work."""
        return [f.name for f in fields(self)]  # type: ignore[arg-type]

    def as_json(self) -> dict[str, Any]:
        """The record as plain JSON values: sets sorted, tuples as lists, optional values that are empty left out."""
        return {
            f.name: plain(value)
            for f in fields(self)  # type: ignore[arg-type]
            if (value := getattr(self, f.name)) not in EMPTY or (f.default is MISSING and f.default_factory is MISSING)
        }

    @classmethod
    def from_json(cls, row: Mapping[str, Any]) -> Self:
        """The record of a JSON object; unknown keys are ignored, a missing required one is a TypeError."""
        known = {f.name: f for f in fields(cls)}  # type: ignore[arg-type]
        values: dict[str, Any] = {}
        for name, value in row.items():
            if name in known:
                kind = str(known[name].type)
                if kind.startswith(("frozenset", "tuple")) and isinstance(value, str):
                    raise TypeError(f"{name} is the text {value!r}; expected a list such as [{value!r}]")
                if kind.startswith("frozenset"):
                    value = frozenset(value)
                elif kind.startswith("tuple"):
                    value = tuple(value)
                values[name] = value
        return cls(**values)


@dataclass(frozen=True)
class Document(Record):
    """One document as text with Markdown headings; `groups` are those who may open it (never empty)."""

    id: str
    title: str
    text: str
    groups: frozenset[str]
    path: str = ""
    link: str = ""
    owner: str = ""
    sensitivity: str = ""
    updated: str = ""  # ISO date
    review_by: str = ""  # ISO date
    lang: str = ""
    sha: str = ""  # of the source file and of what the tables say of it


@dataclass(frozen=True)
class Passage(Record):
    """One retrievable piece of a document; `headings` is the path of headings above it, outermost first."""

    id: str
    doc: str
    text: str
    groups: frozenset[str] = frozenset()
    title: str = ""
    headings: tuple[str, ...] = ()
    link: str = ""
    lang: str = ""
    updated: str = ""
    owner: str = ""
    sensitivity: str = ""
    page: int | None = None
    tokens: int = 0
    parent: str = ""  # the text of its section that is shown in its place; empty: its own
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.extra[name] if name in self.extra else super().__getitem__(name)

    @property
    def shown(self) -> str:
        """What a model and a person are shown of it: its parent section where there is one, else its text."""
        return self.parent or self.text

    @classmethod
    def of(cls, chunk: Passage | Mapping[str, Any], number: int = 0) -> Passage:
        """A passage from a mapping with `text`, `doc`, `groups`; unknown fields are kept in `extra`.

        `groups` must be a collection of group names: a plain string would be read letter by letter and is refused.
        """
        if isinstance(chunk, Passage):
            return chunk
        if missing := [name for name in ("doc", "text") if chunk.get(name) is None]:
            raise DataError(f"passage {number} has no {' and no '.join(missing)}; expected doc, text and groups")
        groups = () if chunk.get("groups") is None else chunk["groups"]
        if isinstance(groups, str) or not isinstance(groups, Collection) or not all(isinstance(g, str) for g in groups):
            raise DataError(f"passage {number}: groups is {groups!r}; expected a set of names such as {{'hr'}}")
        known = {f.name for f in fields(cls)} - {"extra", "groups", "headings", "id"}
        doc, text = str(chunk["doc"]), str(chunk["text"])
        return cls(
            id=str(chunk.get("id") or f"{doc}#{number:06d}"),
            groups=frozenset(groups),
            headings=tuple(chunk.get("headings") or ()),
            extra={k: v for k, v in chunk.items() if k not in known | {"id", "groups", "headings", "extra"}},
            **{"doc": doc, "text": text, **{k: chunk[k] for k in known - {"doc", "text"} if chunk.get(k) is not None}},
        )


@dataclass(frozen=True)
class Hit(Record):
    """A passage that a retriever returned, with its cosine to the query (None where there is none) and its ranks.

    Reads like its passage: `hit["doc"]`, `hit["text"]`. `ranks` maps a candidate list's name to the rank there (from
    1).
    """

    passage: Passage
    similarity: float | None = None
    score: float | None = None  # of the list that decided the order; never compared with a threshold
    ranks: Mapping[str, int] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return super().__getitem__(name) if name in ("passage", "similarity", "score", "ranks") else self.passage[name]

    @property
    def doc(self) -> str:
        """The id of the passage's document."""
        return self.passage.doc

    @property
    def text(self) -> str:
        """The passage's text."""
        return self.passage.text

    @property
    def shown(self) -> str:
        """What a model and a person are shown of the passage."""
        return self.passage.shown

    @classmethod
    def of(cls, hit: Hit | Mapping[str, Any], number: int) -> Hit:
        """A hit of any retriever: ours, or a mapping with at least `doc` and `text`.

        One without an id is named by its document and text, never by its rank: what an answer cites must stay the same
        when passages change places.
        """
        if isinstance(hit, Hit):
            return hit
        known = {"similarity", "score", "ranks"}
        chunk = {k: v for k, v in hit.items() if k not in known}
        id_ = hit.get("id") or f"{hit.get('doc')}#{fingerprint(str(hit.get('text')))}"
        similarity, score = (None if hit.get(name) is None else float(hit[name]) for name in ("similarity", "score"))
        ranks = {str(name): int(rank) for name, rank in (hit.get("ranks") or {}).items()}
        return cls(Passage.of({"groups": (), **chunk, "id": id_}, number), similarity, score, ranks)


FAILED_IN_USE = "failed in use"
"""The source of a question that joined the set because its answer failed in use (see `adopting.py`)."""


@dataclass(frozen=True)
class Question(Record):
    """One question of the test set; `groups` are the asker's, `doc` and `also` the documents that answer it."""

    id: str
    question: str
    expected: str = ""
    doc: str | None = None
    groups: frozenset[str] = frozenset()
    answerable: bool = True
    category: str = ""
    lang: str = ""
    also: tuple[str, ...] = ()
    quote: str = ""  # the words of the passage that hold the answer
    source: str = ""  # ticket, chat, search-log, mail, or FAILED_IN_USE
    validated_by: str = ""
    added: str = ""  # ISO date when it joined a living set
    amendments: tuple[Mapping[str, Any], ...] = ()  # {"field", "old", "date", "author", "why"}, oldest first
    asked: int = 1  # how often, where many people asked the same

    def as_json(self) -> dict[str, Any]:
        """As any record, with `groups` also where there are none (nobody should guess), `asked` only where it tells."""
        row = {**super().as_json(), "groups": sorted(self.groups)}
        return {name: value for name, value in row.items() if (name, value) != ("asked", 1)}

    @property
    def adopted(self) -> bool:
        """Whether it joined the set because its answer failed in use: no share of all questions may count it."""
        return self.source == FAILED_IN_USE

    @property
    def docs(self) -> frozenset[str]:
        """Every document that the reference accepts."""
        return frozenset({self.doc, *self.also} - {None, ""})  # type: ignore[arg-type]


@dataclass(frozen=True)
class Candidate(Record):
    """What an answer keeps of a hit: enough for measures and traces, no text."""

    id: str
    doc: str
    similarity: float | None = None
    ranks: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer(Record):
    """What came back for one question: answered, declined (with a reason) or error (with a cause)."""

    question_id: str
    status: str  # answered | declined | error
    text: str | None = None
    docs: tuple[str, ...] = ()  # cited, in order of their number
    cited: tuple[str, ...] = ()  # cited passage ids, in order of their number
    reason: str | None = None  # of a decline: DECLINE_REASONS; of an error: its cause
    flags: tuple[str, ...] = ()  # own_words, mixed, citation_not_understood, not_in_passage
    absent: tuple[str, ...] = ()  # numbers, dates and names of cited sentences that the cited passages do not hold
    uncited: int = 0  # sentences without a citation
    sentences: int = 0
    hits: tuple[Mapping[str, Any], ...] = ()  # Candidate as mappings, best first: what the model was shown
    lists: Mapping[str, Any] = field(default_factory=dict)  # list name -> passage ids in order, to the depth searched
    sha: str = ""  # see answer_sha
    model: str = ""  # as the endpoint named itself
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)  # per stage; of a reused reply, when it was first given
    finish: str = ""
    searched: str = ""  # the text that was searched, where a model rewrites questions
    not_rewritten: str = ""  # why that model's reply was not used
    rewriting: Mapping[str, Any] = field(default_factory=dict)  # that model's tokens_in, tokens_out, reused
    not_applied: tuple[str, ...] = ()  # settings that the endpoint refused, such as temperature
    reused: bool | None = None  # whether a model's reply was kept from an earlier call; None: no model was asked
    rerank_reused: bool | None = None  # the same of a reranking model's scores
    final: bool = False  # of an error: filtered or truncated twice, it is not asked again

    @property
    def why(self) -> str | None:
        """Its reason, or `citation_not_understood`: what could not be read must not be counted as citing nothing."""
        return "citation_not_understood" if "citation_not_understood" in self.flags else self.reason

    @property
    def similarity(self) -> float | None:
        """The best cosine among the hits, which a decline threshold is compared with; None where no hit has one."""
        known = [h["similarity"] for h in self.hits if h.get("similarity") is not None]
        return max(known) if known else None


@dataclass(frozen=True)
class Verdict(Record):
    """A label given by rule or by a judge to one answer; an unreadable judge reply has `label` None and keeps `raw`."""

    question_id: str
    answer_sha: str
    label: str | None
    by: str  # rule | citation_rule | judge
    judged: str | None = None  # the judge's label before the citation rule
    reason: str = ""
    raw: str = ""
    reused: bool | None = None  # whether a model's reply was kept from an earlier call; None: no model was asked
    spent: Mapping[str, Any] = field(default_factory=dict)  # the judge's tokens_in, tokens_out, seconds, not_applied
    against: str = ""  # fingerprint of the question and the expected answer that the judge was given


@dataclass(frozen=True)
class Label(Record):
    """One action of a person in the form: a label, or a retraction of it (`kind` as in KINDS)."""

    question_id: str
    answer_sha: str
    annotator: str
    label: str | None  # None retracts
    kind: str = "label"
    run_id: str = ""
    cause: str = ""
    note: str = ""
    also: str = ""  # "another document answers this too": its id
    stale: bool = False  # "the document is out of date"
    position: int | None = None
    seed: int | None = None
    shown_at: str = ""
    saved_at: str = ""


KINDS = ("label", "repeat", "second", "spot", "adjudicated")
