"""What a run would call and cost, before it does: every prompt is made as the run makes it, and nobody is called.

Replies that are kept in the pilot's cache are found by the very prompts and count as free. What is estimated: tokens of
a prompt (four letters each), tokens of a reply (the mean of earlier runs by the same model, else max_tokens), and where
an answer is not known yet, that it will be graded. Whether the calls would succeed is not known here.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .analysis.cost import Prices, Tariff, Usage, monthly_cost
from .analysis.grades import rule_label
from .answering.answerer import Reply, answer, instructed
from .answering.context import tokens_of
from .answering.start import check_prompt
from .building import Built, Variant, embed_questions
from .evaluation import unreadable_of
from .files import read_text
from .models import answerer, checked, judge_of
from .pilot import Pilot
from .records import Answer, Question
from .retrieval.rewrite import Rewriter
from .runs import answers_in
from .settings import ModelTable, Settings


class NotKeptError(Exception):
    """Raised in place of a call: it carries the prompt and never leaves this module."""

    def __init__(self, prompt: str) -> None:
        super().__init__("no reply is kept")
        self.prompt = prompt


def nobody(prompt: str) -> Reply:
    """A model that is never called."""
    raise NotKeptError(prompt)


@dataclass(frozen=True)
class Calls:
    """What one model would be asked: `asked` calls to pay for, `kept` replies that are free.

    `tokens_out` is an upper limit where `replies` is 0: no earlier run by this model tells how long its replies are.
    """

    what: str  # check | rewrite | answer | judge
    model: str
    asked: int
    kept: int
    tokens_in: int
    tokens_out: int
    replies: int  # of earlier runs, whose mean length was taken
    money: float
    again: bool = False  # by asking the same system a second time, before the first change is planned


@dataclass(frozen=True)
class Forecast:
    """The calls of a run by who is called, in order; none where no model is configured."""

    questions: int
    calls: tuple[Calls, ...] = ()
    run: str = ""  # the complete run on disk that would be reused
    unknown: int = 0  # questions searched as they were asked, because their rewriting is not known yet
    ungraded: int = 0  # of the judge's calls, those for answers that are not known yet: declines are not graded
    models: Mapping[str, str] = field(default_factory=dict)  # what -> kind of who does it, where it is no model
    uncounted: tuple[str, ...] = ()  # what would be called too, in a sentence each

    @property
    def asked(self) -> int:
        """Calls to be paid for."""
        return sum(calls.asked for calls in self.calls)

    @property
    def money(self) -> float:
        """What they come to."""
        return sum(calls.money for calls in self.calls)


def forecast(pilot: Pilot, variant: Variant | None = None) -> Forecast:
    """What `pilot.run` of a variant would call now. Needs no key and no server; builds the index where it is missing.

    An unfinished run goes on where it stopped: what it was told is kept in the cache, and free; its models are not
    checked again.
    """
    variant = variant or pilot.baseline
    settings, begun = variant.settings, pilot.begun(variant)
    final = {a.question_id for a in answers_in(begun) if a.final} if begun else set()  # not asked again
    questions = [q for q in pilot.questions if q.id not in final]
    tables: dict[str, ModelTable] = {n: getattr(settings, n) for n in ("rewrite", "answer", "judge")}
    by_model = {name for name, table in tables.items() if table.kind == "model"}
    others = {name: table.kind for name, table in tables.items() if name not in by_model}
    finished = pilot.finished(variant)
    uncounted = _uncounted(settings, len(questions), finished is not None)
    if not by_model or (not finished and _embeds_elsewhere(settings)):
        run = finished.id if finished else ""
        return Forecast(len(pilot.questions), (), run, models=others, uncounted=uncounted)
    asked: dict[str, list[str]] = {name: [] for name in ("check", *tables)}
    kept = dict.fromkeys(asked, 0)
    answers: Mapping[str, Answer | None] = finished.answers if finished else {}
    unknown = 0
    if not finished:
        built = pilot.build(variant)
        unknown = _rewriting(built, questions, asked["rewrite"], kept)
        answers = _answers(pilot, built, settings, questions, asked["answer"], kept)
    lengths = {name: _length(pilot.results / "runs", name, tables[name]) for name in by_model}
    ungraded = 0
    if "judge" in by_model:
        long = "x" * 4 * (lengths["answer"][0] if "answer" in by_model else 0)
        stands = unreadable_of(finished, settings.deciding("judge")["judge"], questions) if finished else {}
        to_grade = [q for q in questions if q.id not in stands]
        ungraded = _judging(pilot, settings, to_grade, answers, long, asked["judge"], kept)
    tariff = Tariff.of(settings.cost)
    prices = {"rewrite": tariff.rewriting, "answer": tariff.answering, "judge": tariff.judging}
    calls = [
        _calls(name, tables[name], asked[name], kept[name], *lengths[name], prices[name])
        for name in tables
        if name in by_model
    ]
    if not finished and not begun:
        checks = [
            _calls("check", table, [check_prompt(tokens)], 0, table.max_tokens, 0, prices[name])
            for name, table, tokens in checked(settings)
        ]
        calls = [*checks, *calls]
    run = finished.id if finished else ""
    return Forecast(len(pilot.questions), tuple(calls), run, unknown, ungraded, others, uncounted)


def _embeds_elsewhere(settings: Settings) -> bool:
    return settings.embedding.kind == "model" and settings.retrieval.method != "keyword"


def _uncounted(settings: Settings, questions: int, finished: bool) -> tuple[str, ...]:
    told = []
    if settings.rerank.kind == "model":
        told.append("The leak audit and a re-index rerank too, for other askers: their calls are not counted.")
    if _embeds_elsewhere(settings) and not finished:
        told.append(
            f"Embedding is done at an address ([embedding], {settings.embedding.model}), which no prompt can be made "
            "without: calls and cost of this run are not measured. Its passages and questions are embedded once."
        )
    elif settings.rerank.kind == "model" and not finished:
        told.append(
            f"Reranking ([rerank], {settings.rerank.model}): at most {questions} calls, one a question. Prompts are "
            "taken as they are without it, and may hold other passages in the run."
        )
    if settings.judge.scores == "model":
        told.append(
            f'Scores ([judge] scores = "model"): at most {6 * questions} calls after the run, three an answer, each '
            "made again once where its reply cannot be read, when the table of what answers rest on is made."
        )
    return tuple(told)


def _rewriting(built: Built, questions: Iterable[Question], asked: list[str], kept: dict[str, int]) -> int:
    """Note what the rewriting model would be asked; how many questions are searched without its words."""
    rewrite = built.index.rewrite
    if not isinstance(rewrite, Rewriter):
        return 0
    for prompt, known in {rewrite.prompt(q.question): rewrite.known(q.question) for q in questions}.items():
        if prompt and known:
            kept["rewrite"] += 1
        elif prompt:
            asked.append(prompt)
    return sum(rewrite.known(q.question) is None for q in questions)


def _answers(
    pilot: Pilot,
    built: Built,
    settings: Settings,
    questions: Iterable[Question],
    asked: list[str],
    kept: dict[str, int],
) -> dict[str, Answer | None]:
    """The answers that need no call; of the others what the model would be asked."""
    index = built.index
    if isinstance(rewrite := index.rewrite, Rewriter):
        index = index.using(rewrite=rewrite.without_calls)
    if settings.rerank.kind == "model":
        index = index.using(reranker=None)
    embed_questions(index, questions)
    llm, find = answerer(settings, pilot.results / "cache", nobody), settings.retrieval
    found: dict[str, Answer | None] = {}
    for question in questions:
        try:
            given = answer(
                question.question,
                index,
                question.groups,
                llm,
                None,
                k=find.k,
                instructions=instructed(settings.answer.instructions),
                question_id=question.id,
                depth=find.depth,
                rrf_k=find.rrf_k,
            )
            kept["answer"] += given.reused is not None
            found[question.id] = given
        except NotKeptError as call:
            asked.append(call.prompt)
            found[question.id] = None
    return found


def _judging(
    pilot: Pilot,
    settings: Settings,
    questions: Iterable[Question],
    answers: Mapping[str, Answer | None],
    long: str,
    asked: list[str],
    kept: dict[str, int],
) -> int:
    """Note what the judge would be asked; how many of it are answers that are not known yet, taken to be `long`."""
    judge = judge_of(settings, pilot.results / "cache", nobody)
    assert judge is not None
    unknown = 0
    for question in questions:
        given = answers[question.id]
        if given and (given.status != "answered" or rule_label(question, given) is not None):
            continue
        if not question.answerable:
            continue
        unknown += given is None
        try:
            judge(question.question, question.expected, (given.text if given else long) or "")
            kept["judge"] += 1
        except NotKeptError as call:
            asked.append(call.prompt)
    return unknown


def _length(runs: Path, name: str, table: ModelTable) -> tuple[int, int]:
    """(mean tokens of a reply in earlier runs by that model, their number), else (max_tokens, 0)."""
    tokens = replies = 0
    for path in sorted(runs.glob("*/run.json")):
        info: dict[str, Any] = json.loads(read_text(path))
        by = info.get("judge") if name == "judge" else info.get("config", {}).get(name)
        told = info.get("replies", {}).get({"answer": "answers"}.get(name, name), {})
        same = isinstance(by, dict) and (by.get("model"), by.get("base_url")) == (table.model, table.base_url)
        if same and told.get("tokens_out"):
            tokens += told["tokens_out"]
            replies += told["reused"] + told["new"]
    return (min(round(tokens / replies), table.max_tokens), replies) if replies else (table.max_tokens, 0)


def _calls(
    what: str, table: ModelTable, prompts: list[str], kept: int, length: int, replies: int, prices: Prices
) -> Calls:
    into, out = sum(map(tokens_of, prompts)), length * len(prompts)
    return Calls(what, table.model, len(prompts), kept, into, out, replies, monthly_cost(1, Usage(into, out), prices))
