"""pilot.toml: read, validated, fingerprinted; and the lock of the acceptance criteria.

Every setting has its default and its reason here. Keys never stand in a file: a model's key comes from the environment.
What a setting does is known in the room that uses it.
"""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from .errors import SettingsError
from .files import read_text
from .identity import fingerprint, nearest
from .records import CAUSES, OTHER_CAUSES

SHORTEST_KEY = 8
"""Letters; what is shorter (none, x, test) is a word that a server of one's own is given, and may stand anywhere."""
DOCUMENT_KEYS = ("title", "link", "groups", "updated", "owner", "lang", "review_by", "sensitivity")
"""What a file may say of itself in its front matter; fields of Document."""


class _Table(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class PilotTable(_Table):
    """Who and what the pilot is about."""

    title: str = "Assistant pilot"
    as_of: date | None = None  # the day at which documents are fresh or stale; none: today
    languages: tuple[str, ...] = ("en",)  # of the documents and questions
    form_language: Literal["en", "fr", "pl"] = "en"  # of the expert's forms; the labels are stored the same
    report_language: Literal["en", "fr", "pl"] = "en"  # of the sponsor's first page, its pictures and the decision
    everyone: str = Field("all-staff", min_length=1)  # the group that every asker has
    annotator: str = "expert"  # whose labels count
    annotator_groups: tuple[str, ...] = ()  # what she may read; empty: everyone's
    audience: tuple[str, ...] = ()  # who the exported pages are for; empty: everyone's
    labels: int = Field(50, ge=1)  # answers that the expert reads (METHOD: the first 50)
    seed: int = 1
    changes_planned: int = Field(5, ge=1, le=50)  # the level of each comparison is .05 / this
    second_look: bool = False  # test the judge at twice the labels too, if it fails; then both at 97.5 %
    extension_planned: bool = False  # the question set may be extended once; then both verdicts at 97.5 %


class Acceptance(_Table):
    """One criterion, agreed before the first run; the denominator is part of it."""

    name: str
    measure: Literal["correct", "wrong", "declined", "hit5", "leaks"]
    at_most: float | None = Field(None, ge=0, le=1)
    at_least: float | None = Field(None, ge=0, le=1)
    of: Literal["all questions", "answerable questions"] = "all questions"

    @model_validator(mode="after")
    def _one_limit(self) -> Acceptance:
        if (self.at_most is None) == (self.at_least is None):
            raise ValueError("give one of at_most and at_least")
        if (self.measure == "hit5") != (self.of == "answerable questions"):
            raise ValueError("hit5 is counted of answerable questions, everything else of all questions")
        return self


class Alert(_Table):
    """One limit of the release gate and of the monthly alarm, beside what was agreed; see release.py."""

    measure: Literal["correct", "wrong", "declined", "hit5", "faithfulness"]
    at_most: float | None = Field(None, ge=0, le=1)
    at_least: float | None = Field(None, ge=0, le=1)

    @model_validator(mode="after")
    def _the_side_that_alarms(self) -> Alert:
        side, other = ("at_most", "at_least") if self.measure in ("wrong", "declined") else ("at_least", "at_most")
        if getattr(self, side) is None or getattr(self, other) is not None:
            raise ValueError(f"an alert on {self.measure} has {side}, and no {other}")
        return self


class DocumentsTable(_Table):
    """What the documents' files are like; see corpus/documents.py."""

    other_keys: tuple[str, ...] = ()  # front matter that other programs wrote for themselves: known, and not read
    ids: Literal["name", "path"] = "name"  # a document's id: its file's name, or its path where names repeat
    fresh_days: int = Field(0, ge=0)  # a document updated longer ago than that is stale; 0: no bound
    fresh: dict[str, Annotated[int, Field(ge=0)]] = Field(default_factory=dict)  # the same for a folder, such as "hr"

    def source_of(self, path: str) -> str:
        """The folder of `fresh` that a document (its path below documents/) stands in, the deepest; else empty."""
        return max((f for f in self.fresh if path.startswith(f"{f.strip('/')}/")), key=len, default="")

    def days_for(self, path: str) -> int:
        """How many days old a document there may be; 0: no bound."""
        source = self.source_of(path)
        return self.fresh[source] if source else self.fresh_days

    @model_validator(mode="after")
    def _none_of_ours(self) -> DocumentsTable:
        for key in self.other_keys:
            if meant := nearest(key, DOCUMENT_KEYS) or ("groups" if "group" in key.casefold() else ""):
                raise ValueError(
                    f"other_keys holds {key!r}, which is {meant!r} or nearly so: a mistyped key must never be passed "
                    "over. Mend it in the files"
                )
        return self


class PassageTable(_Table):
    """How documents are cut; see corpus/passages.py."""

    max_tokens: int = Field(400, ge=32)
    parent_tokens: int = Field(0, ge=0)  # of the section that is shown for a passage that matched; 0: the passage
    overlap: float = Field(0.15, ge=0, le=0.5)
    counted_with: str = "all-MiniLM-L6-v2"

    @model_validator(mode="after")
    def _parent_holds_its_passages(self) -> PassageTable:
        if 0 < self.parent_tokens < self.max_tokens:
            raise ValueError(
                f"parent_tokens is {self.parent_tokens}; expected 0 or at least {self.max_tokens} (max_tokens)"
            )
        return self


class RetrievalTable(_Table):
    """How passages are found; the defaults beat the article's on every set of benchmarks/retrieval.py."""

    method: Literal["hybrid", "keyword", "dense"] = "hybrid"
    embedding: str = "all-MiniLM-L6-v2"
    precision: Literal["float32", "bfloat16"] = "float32"  # in which the model computes; see retrieval/embedding.py
    bm25: Literal["lucene", "okapi"] = "lucene"
    titles: bool = True  # title and headings are indexed with each passage
    question_headings: bool = True  # a passage is also as similar as the question that its heading asks, as in an FAQ
    glossary: bool = True  # synonyms of glossary.toml are added to questions
    k: int = Field(5, ge=1)
    depth: int = Field(50, ge=1)
    fusion: Literal["scores", "ranks"] = "scores"  # standardised scores, or reciprocal ranks as in the article
    dense_weight: float = Field(0.7, ge=0, le=1)  # of the dense list; 0.5: equal, 0: keyword alone; see notebook 03
    rrf_k: int = Field(60, ge=1)  # of the fusion by ranks
    rerank: str = ""  # a cross-encoder, by folder or hub name; empty: none
    rerank_depth: int = Field(40, ge=1)  # passages of the fused list that it reads
    per_document: int = Field(0, ge=0)  # most hits of one document; 0: no bound
    per_text: int = Field(2, ge=0)  # most hits of near duplicates, of any document; 0: no bound; see merging.py


class ModelTable(_Table):
    """A model behind any OpenAI-compatible address."""

    kind: str = "model"
    model: str = ""
    revision: str = ""  # what stands behind the name, where you know it: a file's SHA-256, a snapshot
    base_url: str = ""
    key_variable: str = Field("OPENAI_API_KEY", pattern=r"^[A-Za-z_]\w*$")  # the environment variable with the key
    temperature: float = Field(0.0, ge=0, le=2)
    max_tokens: int = Field(600, ge=1)
    timeout: float = Field(120.0, gt=0)  # seconds
    concurrency: int = Field(4, ge=1)
    requests_per_minute: int = Field(0, ge=0)  # what the endpoint allows; 0: no bound
    tokens_per_minute: int = Field(0, ge=0)  # prompt and max_tokens together; 0: no bound
    retries: int = Field(5, ge=0)  # of a call that was cut, took too long or found the endpoint out of order
    retry_seconds: float = Field(1.0, ge=0)  # before the first of them; doubled each time
    repeat: int = Field(1, ge=1)  # another number asks everything again: how much a model's answers vary by themselves

    @property
    def asked_by(self) -> dict[str, Any]:
        """All that can change a reply, but for the prompt."""
        told = {"revision"} if self.revision else set()
        deciding = {"model", "base_url", "temperature", "max_tokens", "repeat"} | told
        return self.model_dump(mode="json", include=deciding)

    @model_validator(mode="after")
    def _model_named(self) -> ModelTable:
        if self.kind == "model" and not self.model:
            raise ValueError("kind is 'model' but no model is named")
        return self


HOW_CALLED = frozenset(
    {
        "key_variable",
        "timeout",
        "concurrency",
        "requests_per_minute",
        "tokens_per_minute",
        "retries",
        "retry_seconds",
        "batch",
    }
)
"""Settings of a model that no answer depends on: a run goes on where one of them was changed."""


class RewriteTable(ModelTable):
    """Who rewrites questions for the search, beside the glossary: a small model will do; see retrieval/rewrite.py."""

    kind: Literal["none", "model"] = "none"
    max_tokens: int = Field(200, ge=1)
    timeout: float = Field(30.0, gt=0)  # seconds


class EmbeddingTable(ModelTable):
    """An embedding behind an address, in place of retrieval.embedding; see answering/endpoints.py."""

    kind: Literal["none", "model"] = "none"
    batch: int = Field(64, ge=1)  # texts in one call
    window: int = Field(512, ge=16)  # tokens of one text that the model reads; a longer passage is cut into several
    dimensions: int = Field(0, ge=0)  # asked for; 0: the model's own
    query_prefix: str = ""
    passage_prefix: str = ""


class RerankTable(ModelTable):
    """A reranker behind an address (POST /rerank), in place of retrieval.rerank; see answering/endpoints.py."""

    kind: Literal["none", "model"] = "none"
    timeout: float = Field(30.0, gt=0)  # seconds


class AnswerTable(ModelTable):
    """Who answers: the extractive floor, or a model."""

    kind: Literal["extractive", "model"] = "extractive"
    sentences: int = Field(2, ge=1)  # extractive: most sentences of an answer
    instructions: str = ""  # model: what stands before the passages; empty: ours, see answering/answerer.py
    coverage: float = Field(0.2, ge=0, le=1)  # extractive: share of the question's words that the best line must hold


class JudgeTable(ModelTable):
    """Who grades what the expert did not read."""

    kind: Literal["offline", "fitted", "model", "none"] = "offline"  # fitted: offline, its weights from your labels
    scores: Literal["offline", "model"] = (
        "offline"  # who checks claims for faithfulness: rules, or the model named here
    )

    @model_validator(mode="after")
    def _scoring_model_named(self) -> JudgeTable:
        if self.scores == "model" and not self.model:
            raise ValueError("scores is 'model' but no model is named")
        return self


class HostedTable(_Table):
    """Hosted file search of an OpenAI-compatible address, measured in notebook 03 beside ours; see hosted.py."""

    store: str = ""  # the id of its vector store; empty: nothing is asked
    base_url: str = ""
    key_variable: str = Field("OPENAI_API_KEY", pattern=r"^[A-Za-z_]\w*$")  # the environment variable with the key
    timeout: float = Field(60.0, gt=0)  # seconds


class CostTable(_Table):
    """Prices per million tokens and the load expected; illustrations of the article until the user gives hers.

    A price that is not given is not guessed: what needs it says so.
    """

    currency: str = "USD"
    input_per_million: float = Field(5.0, ge=0)  # of the model that answers
    output_per_million: float = Field(5.0, ge=0)
    cached_per_million: float | None = Field(None, ge=0)  # of its input that the endpoint keeps, as the prompt's start
    rewrite_input_per_million: float | None = Field(None, ge=0)  # of the model that rewrites; none: as who answers
    rewrite_output_per_million: float | None = Field(None, ge=0)
    judge_input_per_million: float | None = Field(None, ge=0)  # of the model that grades; none: as who answers
    judge_output_per_million: float | None = Field(None, ge=0)
    small_input_per_million: float | None = Field(None, ge=0)  # of a small model that could rewrite, or answer
    small_output_per_million: float | None = Field(None, ge=0)  # what is easy
    easy_share: float | None = Field(None, ge=0, le=1)  # of the questions, as a router would find them
    questions_per_month: int = Field(10_000, ge=0)

    @model_validator(mode="after")
    def _prices_in_pairs(self) -> CostTable:
        for who in ("rewrite", "judge", "small"):
            given = (getattr(self, f"{who}_input_per_million"), getattr(self, f"{who}_output_per_million"))
            if (given[0] is None) != (given[1] is None):
                raise ValueError(f"give both of {who}_input_per_million and {who}_output_per_million, or neither")
        return self


Need = Literal["changes", "source", "access", "format", "latency", "updates", "start"]


class PlanTable(_Table):
    """What notebook 00 reckons with before anything is measured; no run and no answer depends on it."""

    needs: tuple[Need, ...] = ()  # the rows of the decision table that hold for you; empty: not counted yet
    context_window: int = Field(128_000, ge=1)  # tokens that your model reads; 128,000 is OpenAI's gpt-4o
    build_cost: tuple[float, float] = (8_000, 18_000)  # from, to, in [cost]'s currency; the article's published range
    build_weeks: tuple[int, int] = (4, 8)  # from, to; the article's too

    @model_validator(mode="after")
    def _from_to(self) -> PlanTable:
        for name, (low, high) in (("build_cost", self.build_cost), ("build_weeks", self.build_weeks)):
            if not 0 <= low <= high:
                raise ValueError(f"{name} is {low:g} to {high:g}; expected two numbers, the smaller one first")
        return self


class Change(_Table):
    """One change of week 2, planned: what is believed, what it mends, and the one measure that decides."""

    name: str = Field(pattern=r"^[a-z0-9][a-z0-9-]*$")
    cause: str
    hypothesis: str
    measure: Literal["hit5", "correct"]
    set: dict[str, Any] = Field(default_factory=dict)  # settings by dotted name; documents overlay from changes/<name>/

    @field_validator("cause")
    @classmethod
    def _known_cause(cls, cause: str) -> str:
        if cause not in (*CAUSES, *OTHER_CAUSES):
            raise ValueError(f"expected one of {', '.join((*CAUSES, *OTHER_CAUSES))}")
        return cause


class Settings(_Table):
    """The whole of pilot.toml."""

    pilot: PilotTable = PilotTable()
    acceptance: tuple[Acceptance, ...] = ()
    plan: PlanTable = PlanTable()
    alert: tuple[Alert, ...] = ()
    documents: DocumentsTable = DocumentsTable()
    passages: PassageTable = PassageTable()
    retrieval: RetrievalTable = RetrievalTable()
    embedding: EmbeddingTable = EmbeddingTable()
    rewrite: RewriteTable = RewriteTable()
    rerank: RerankTable = RerankTable()
    answer: AnswerTable = AnswerTable()
    judge: JudgeTable = JudgeTable()
    hosted: HostedTable = HostedTable()
    cost: CostTable = CostTable()
    budgets: dict[str, float] = Field(default_factory=dict)  # seconds at p95 per stage, and "total"
    threshold_max_wrong: float = Field(0.05, gt=0, lt=1)  # the rule of notebook 08
    reindex_max_loss: float = Field(0.02, ge=0, le=1)  # most that Hit@5 may fall (2 of 100 questions) in a re-index
    change: tuple[Change, ...] = ()

    @model_validator(mode="after")
    def _names_once(self) -> Settings:
        for table, entries in (("acceptance", self.acceptance), ("change", self.change)):
            names = [entry.name for entry in entries]
            if twice := [name for name in names if names.count(name) > 1]:
                raise ValueError(f"two [[{table}]] have the name {twice[0]!r}")
        watched = [alert.measure for alert in self.alert]
        if again := [measure for measure in watched if watched.count(measure) > 1]:
            raise ValueError(f"two [[alert]] are on {again[0]!r}; keep one")
        return self

    @property
    def addresses(self) -> tuple[str, ...]:
        """The tables whose model is asked at an address while questions are asked and answers graded."""
        named = [name for name in ("embedding", "rewrite", "rerank", "answer", "judge") if self._at_address(name)]
        return tuple(named)

    def _at_address(self, name: str) -> bool:
        table = getattr(self, name)
        return table.kind == "model" and not (name == "embedding" and self.retrieval.method == "keyword")

    def changed(self, values: Mapping[str, Any]) -> Settings:
        """These settings with some values replaced by dotted name; SettingsError names one that does not exist."""
        data = self.model_dump()
        for name, value in values.items():
            table, _, key = name.partition(".")
            if not isinstance(data.get(table), dict) or key not in data[table]:
                raise SettingsError(
                    f"a change sets {name!r}, which is no setting; expected for example 'retrieval.titles'"
                )
            data[table][key] = value
        return _validated(data, "a change")

    def deciding(self, *tables: str) -> dict[str, dict[str, Any]]:
        """Those tables without what changes no answer (HOW_CALLED)."""
        data = self.model_dump(mode="json")
        return {name: {k: v for k, v in data[name].items() if k not in HOW_CALLED} for name in tables}

    def fingerprint(self, *tables: str) -> str:
        """Twelve hex digits over what decides in those tables: equal settings, equal fingerprint."""
        return fingerprint(self.deciding(*tables))


def read_settings(path: Path) -> Settings:
    """The settings of a pilot.toml; SettingsError names the file, the entry, what it held and what is expected."""
    try:
        table = tomllib.loads(read_text(path))
    except FileNotFoundError:
        raise SettingsError(
            f"{path} does not exist: make a pilot with `rag-pilot new NAME`, or set RAG_PILOT"
        ) from None
    except tomllib.TOMLDecodeError as fault:
        raise SettingsError(f"{path}: {fault}; mend the line (texts need quotes, lists need brackets)") from None
    settings = _validated(table, str(path))
    _refuse_keys(settings, path)
    for change in settings.change:  # a planned change that cannot be made is known before the first run
        try:
            _refuse_keys(settings.changed(change.set), path)
        except SettingsError as fault:
            raise SettingsError(f"{path}: change {change.name!r}: {fault}") from None
    return settings


def _refuse_keys(settings: Settings, path: Path) -> None:
    """SettingsError where an entry holds a key: addresses and models' names stand in every run and on pages."""
    for name in ("embedding", "rewrite", "rerank", "answer", "judge", "hosted"):
        table = getattr(settings, name)
        key = os.environ.get(table.key_variable, "").strip()
        if len(key) >= SHORTEST_KEY and key in json.dumps(settings.model_dump(mode="json"), ensure_ascii=False):
            raise SettingsError(
                f"{path} holds the key that stands in the environment variable {table.key_variable}: take it out "
                "(of an address, a name or a text); it is read from the environment alone"
            )
        if "@" in urlsplit(table.base_url).netloc:
            raise SettingsError(
                f"{path}: {name}.base_url holds a user or password before the @; an address stands in every run: take "
                f"it out, and put the key into the environment variable {table.key_variable}"
            )


def _validated(table: Mapping[str, Any], where: str) -> Settings:
    try:
        return Settings.model_validate(_lists_as_tuples(table))
    except ValidationError as fault:
        error = fault.errors()[0]
    name = ".".join(str(part) for part in error["loc"]) or "the table"
    if error["type"] == "extra_forbidden":  # what it held is not shown: it may be a key
        raise SettingsError(
            f"{where}: {name} is no setting; mend its name or remove it (a key stands in the environment)"
        )
    held = "no variable's name" if name.endswith("key_variable") else _without_keys(repr(error["input"]), table)
    raise SettingsError(f"{where}: {name} is {held}: {error['msg']}; mend this entry")


def _without_keys(text: str, table: Mapping[str, Any]) -> str:
    """A text as it is shown, the keys cut out of it that the tables name a variable of."""
    tables = [entry for entry in table.values() if isinstance(entry, Mapping)]
    names = {str(entry.get("key_variable", "OPENAI_API_KEY")) for entry in tables}
    for key in (os.environ.get(name, "").strip() for name in names):
        text = text.replace(key, "***") if len(key) >= SHORTEST_KEY else text
    return text


def _lists_as_tuples(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _lists_as_tuples(entry) for name, entry in value.items()}
    return tuple(map(_lists_as_tuples, value)) if isinstance(value, list | tuple) else value
