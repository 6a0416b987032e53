"""Pilot: one folder of data, opened; documents, questions, index and runs of it, reused where nothing changed.

It ties the rooms together for the notebooks and the command line. What a run means stands in `results.py`, what the
changes of week 2 did in `ledger.py`. Nothing here prints or draws.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

from . import __version__
from .analysis.cost import paid_so_far
from .analysis.sample import seeded_order
from .analysis.sensitivity import can_detect
from .answering.answerer import instructed, prompt_hash
from .answering.calls import only_stored
from .building import (
    SEARCHING,
    Built,
    Variant,
    embed_questions,
    embedding_of,
    key_of,
    manifest_of,
    open_or_build,
    rewriter,
)
from .corpus.access import groups_said
from .corpus.checks import Finding, check_questions
from .corpus.documents import Documents, why_stale
from .corpus.grouping import Groups, group_questions
from .corpus.inventory import Inventory, inventory
from .corpus.layers import read_layers, state_of
from .corpus.passages import Splitter, split_documents
from .corpus.questions import QuestionSet, closed_to, read_questions
from .corpus.tickets import Imported, import_questions
from .errors import DataError, ModelError, NotStoredError, SettingsError, StaleError
from .evaluation import grade, keep_unreadable, run_eval, unreadable_of
from .files import read_jsonl, write_jsonl
from .identity import fingerprint
from .lock import lock_criteria, read_lock
from .models import answerer, at_once, check_models, judge_of
from .records import Document, Question
from .reindex import Reindexed, check_accepted, found_by, gate
from .retrieval.cache import CachedEmbedding
from .retrieval.embedding import cheap_counter
from .retrieval.hybrid import Hits
from .retrieval.keyword import tokenizer
from .retrieval.manifest import document_hashes
from .retrieval.rewrite import read_glossary
from .runs import Run, open_run, read_info
from .settings import read_settings


class Pilot:
    """A pilot's data and results folders with its settings; see `Pilot.open`."""

    def __init__(self, data: Path, results: Path) -> None:
        self.data, self.results = data, results
        self.settings = read_settings(data / "pilot.toml")
        self._documents: dict[tuple[str, ...], tuple[str, Documents]] = {}
        self._built: dict[str, Built] = {}

    @classmethod
    def open(cls, name: str | None = None, root: Path | None = None) -> Pilot:
        """Open data/<name>: by default the pilot that RAG_PILOT names, else the sample; SettingsError where none is.

        `root` is the folder that holds data/ and results/; by default the nearest one above the working folder.
        """
        name = name or os.environ.get("RAG_PILOT") or "sample"
        root = root or next((p for p in (Path.cwd(), *Path.cwd().parents) if (p / "data").is_dir()), Path.cwd())
        if not (root / "data" / name / "pilot.toml").exists():
            there = ", ".join(sorted(path.parent.name for path in (root / "data").glob("*/pilot.toml"))) or "none yet"
            raise SettingsError(
                f"no pilot {name!r}: {root / 'data' / name / 'pilot.toml'} does not exist. The pilots are: {there}. "
                "Name one of them, or make one with `rag-pilot new NAME`"
            )
        return cls(root / "data" / name, root / "results" / name)

    @property
    def name(self) -> str:
        """The name of the pilot's folder."""
        return self.data.name

    @property
    def today(self) -> date:
        """The day at which documents count as fresh or stale."""
        return self.settings.pilot.as_of or date.today()

    def why_stale(self, document: Document) -> str:
        """Why a document counts as out of date today, or empty (see `corpus.documents.why_stale`)."""
        return why_stale(document, self.today, self.settings.documents.days_for(document.path))

    @property
    def readers(self) -> frozenset[str]:
        """Those for whom pages are made: everyone, and the groups of RAG_PILOT_AUDIENCE (with ; between), else of
        pilot.toml's audience."""
        named = {group for group in os.environ.get("RAG_PILOT_AUDIENCE", "").split(";") if group}
        return frozenset(named or self.settings.pilot.audience) | {self.everyone}

    @property
    def everyone(self) -> str:
        """The group that every asker has."""
        return self.settings.pilot.everyone

    @property
    def closed_to_readers(self) -> Callable[[Question], str]:
        """The groups that readers lack to see a question, by the documents as they stand now; empty: they may."""
        groups, readers = {d.id: d.groups for d in self.documents().documents}, self.readers
        return lambda question: groups_said(closed_to(question, groups, readers))

    @property
    def annotator_groups(self) -> frozenset[str]:
        """Whose documents the expert may open: her groups', and everyone's."""
        return frozenset(self.settings.pilot.annotator_groups) | {self.everyone}

    @property
    def baseline(self) -> Variant:
        """The configuration of pilot.toml, no change made."""
        return Variant(self.settings)

    # -- documents and questions ---------------------------------------------------------------------------------------

    @property
    def questions(self) -> QuestionSet:
        """The question set as it stands on disk, everyone's group added to each asker's."""
        return read_questions(self.data / "questions.jsonl", self.everyone)

    @property
    def collected(self) -> QuestionSet:
        """The question set so far: an empty one where there is no questions.jsonl yet."""
        return self.questions if (self.data / "questions.jsonl").exists() else QuestionSet(())

    def documents(self, changes: Sequence[str] = ()) -> Documents:
        """The documents as they stand on disk, those of the changes laid over them; read again when a file changed."""
        state = state_of(self.data, changes)
        known = self._documents.get(tuple(changes))
        if known is None or known[0] != state:
            known = (state, read_layers(self.data, changes, self.settings.documents))
            self._documents[tuple(changes)] = known
        return known[1]

    def inventory(self, questions: Sequence[Question] | None = None, built: Built | None = None) -> Inventory:
        """What was read of every file, by the passages of an index, else cut anew, without a model.

        `questions` None means those collected so far.
        """
        documents, table = self.documents(), self.settings.passages
        questions = self.collected if questions is None else questions
        if built:
            return inventory(documents, built.passages.values(), questions, table.counted_with)
        count, counted_with = cheap_counter(table.counted_with)
        splitter = Splitter(table.max_tokens, table.overlap, count)
        return inventory(documents, split_documents(documents.documents, splitter), questions, counted_with)

    def check(self) -> list[Finding]:
        """What is wrong or weak in the question set, errors first, and what it can show; no file is an empty set."""
        questions, tokens = self.collected, tokenizer(self.settings.pilot.languages)
        found = check_questions(questions, self.documents().documents, self.everyone, tokens)
        answerable = sum(q.answerable for q in questions)
        return [*found, can_detect(answerable, self.settings.pilot.changes_planned)] if answerable else found

    def import_questions(
        self,
        path: Path | str,
        columns: Mapping[str, str] | None = None,
        mask: bool = False,
        encoding: str | None = None,
        sheet: str | None = None,
    ) -> Imported:
        """Append the questions of a ticket export to questions.jsonl (see `corpus.tickets.import_questions`).

        Where pilot.toml names one language, a question that names none has it.
        """
        to, languages = self.data / "questions.jsonl", self.settings.pilot.languages
        lang = languages[0] if len(languages) == 1 else ""
        return import_questions(Path(path), to, columns, mask, encoding, sheet, self.everyone, lang)

    def question_groups(self) -> Groups:
        """The questions grouped by what they ask, for choosing among those that nobody has decided yet.

        By the pilot's embedding; by their letters alone where keywords alone are searched, or no model can be loaded.
        """
        table = self.settings.retrieval
        try:
            if table.method == "keyword":
                raise ModelError("this pilot searches by keywords alone")
            embedding = CachedEmbedding(embedding_of(self.settings), self.results / "cache")
            return group_questions(self.collected, embedding.queries, embedding.model.name, embedding.model.alike)
        except NotStoredError:
            raise
        except ModelError as fault:
            return group_questions(self.collected, None, str(fault))

    def may_open(self, question: Question, changes: Sequence[str] = ()) -> bool:
        """Whether the asker may open a document that answers the question."""
        groups = {d.id: d.groups for d in self.documents(changes).documents}
        return any(question.groups & groups.get(doc, frozenset()) for doc in question.docs)

    def order(self) -> list[str]:
        """The order in which answers are read: drawn by seed, again for another set until one is asked."""
        path = self.data / "order.jsonl"
        ids = [str(row["id"]) for _, row in read_jsonl(path)] if path.exists() else []
        odd = sorted({q.id for q in self.collected} ^ set(ids))
        seen = (self.data / "labels.jsonl").exists() or any((self.results / "runs").glob("*"))
        if odd and seen:
            raise StaleError(
                f"{path.name} and questions.jsonl do not hold the same questions ({', '.join(odd[:5])}), and answers "
                "may have been seen: append new ids at the end of order.jsonl, and take out those that are gone"
            )
        if odd or not path.exists():
            ids = seeded_order(self.collected, self.settings.pilot.seed)
            write_jsonl(path, [{"position": n, "id": i} for n, i in enumerate(ids, start=1)])
        return ids

    @property
    def locked(self) -> Mapping[str, Any] | None:
        """The acceptance criteria as locked, or None."""
        return read_lock(self.data / "acceptance.lock.json")

    def lock_acceptance(self, author: str | None = None, why: str = "") -> Mapping[str, Any]:
        """Lock the acceptance criteria (see `lock.lock_criteria`)."""
        path = self.data / "acceptance.lock.json"
        return lock_criteria(path, self.settings, date.today(), author or self.settings.pilot.annotator, why)

    # -- index ---------------------------------------------------------------------------------------------------------

    def build(self, variant: Variant | None = None) -> Built:
        """The index of a variant: passages and vectors reused where nothing changed, groups as they stand now."""
        variant = variant or self.baseline
        settings, documents = variant.settings, self.documents(variant.changes)
        if not documents.documents:
            raise DataError(
                f"{self.data / 'documents'} holds no readable document: put yours there, and where some are, "
                "notebook 02 or `rag-pilot check` says why each was refused"
            )
        embedding = CachedEmbedding(embedding_of(settings), self.results / "cache")
        manifest, glossary = manifest_of(settings, documents.documents, embedding), self.glossary(variant)
        key = key_of(manifest, settings, glossary)
        built = self._built.get(key)
        if built is None:
            rewrite = rewriter(settings, glossary, self.results / "cache")
            built = open_or_build(self.results / "index", manifest, settings, documents, embedding, rewrite)
            self._built[key] = replace(built, state="reused", embedded=0)
        built.index.set_groups({d.id: d.groups for d in documents.documents})
        return replace(built, documents=documents, groups=built.index.passages.by_id())

    def reindex(self, accept: bool = False) -> Reindexed:
        """Accept the index of pilot.toml as it is now, unless Hit@5 falls beyond reindex_max_loss (see `reindex.gate`).

        `accept` accepts whatever was lost. Builds the index where documents or settings have changed.
        """
        built, questions = self.build(), self.collected
        embed_questions(built.index, questions)
        found = found_by(built.index, questions, self.settings.retrieval)
        return gate(self._accepted, self._index_key, found, self.settings.reindex_max_loss, accept)

    @property
    def _accepted(self) -> Path:
        return self.results / "index" / "accepted.json"

    @property
    def _index_key(self) -> str:
        """Of the index of pilot.toml as it is now, which need not have been built."""
        manifest = manifest_of(self.settings, self.documents().documents, embedding_of(self.settings))
        return key_of(manifest, self.settings, self.glossary(self.baseline))

    def glossary(self, variant: Variant) -> dict[str, tuple[str, ...]]:
        """The glossary of a variant: of its last change that brings one, else the pilot's; empty where it is off."""
        if not variant.settings.retrieval.glossary:
            return {}
        overlays = [self.data / "changes" / c / "glossary.toml" for c in reversed(variant.changes)]
        return read_glossary(next((p for p in overlays if p.exists()), self.data / "glossary.toml"))

    def search(
        self, question: str, groups: Sequence[str], variant: Variant | None = None, k: int | None = None
    ) -> Hits:
        """Search as an asker of those groups, by the access files as they stand now."""
        table = (variant or self.baseline).settings.retrieval
        return self.build(variant).index.search(question, set(groups), k or table.k, table.depth, table.rrf_k)

    # -- runs ----------------------------------------------------------------------------------------------------------

    def config(self, variant: Variant) -> dict[str, Any]:
        """Everything that can change an answer, as it is written into run.json; expected answers are not part of it."""
        settings, documents = variant.settings, self.documents(variant.changes).documents
        return {
            "version": __version__,
            "prompt": prompt_hash(instructed(settings.answer.instructions)),
            **settings.deciding("passages", *SEARCHING, "answer"),
            "languages": list(settings.pilot.languages),
            "changes": list(variant.changes),
            "documents": fingerprint(document_hashes(documents)),
            "access": fingerprint({d.id: sorted(d.groups) for d in documents}),
            "questions": fingerprint([[q.id, q.question, sorted(q.groups)] for q in self.questions]),
            "glossary": fingerprint(self.glossary(variant)),
        }

    def finished(self, variant: Variant) -> Run | None:
        """The complete run on disk that `run` would reuse, or None."""
        return self._finished(fingerprint(self.config(variant)))

    def _finished(self, print_id: str) -> Run | None:
        complete = (f for f in self._folders(print_id) if read_info(f).get("complete"))
        folder = next(complete, None)
        return open_run(folder, self.questions) if folder else None

    def begun(self, variant: Variant) -> Path | None:
        """The folder of a run that was stopped and that `run` would go on with, on whatever day it was begun."""
        return next(self._folders(fingerprint(self.config(variant))), None)

    def refuse_unstored(self, variant: Variant) -> None:
        """NotStoredError for a variant that would have to ask a model while only what is stored may be used.

        It names what is another than in the last run of the same changes.
        """
        if not only_stored() or not variant.settings.addresses or self.finished(variant):
            return
        now, differing = self.config(variant), list[str]()
        infos = [read_info(path.parent) for path in (self.results / "runs").glob("*/run.json")]
        made = [i for i in infos if i.get("complete") and i["config"].get("changes") == now["changes"]]
        for info in sorted(made, key=lambda i: str(i.get("date")))[-1:]:
            differing = [name for name, value in now.items() if info["config"].get(name) != value]
        why = f"since the last one these have changed: {', '.join(differing)}" if differing else "there is none"
        raise NotStoredError(
            f"no complete run of the present documents, questions and settings is stored ({why}), and pages are made "
            f"without calling a model; `rag-pilot run {self.name}` makes it (with --dry-run it tells the cost), "
            f"notebook 07 that of a planned change, `rag-pilot export {self.name} --run` whatever is missing"
        )

    def _folders(self, print_id: str) -> Iterator[Path]:
        for path in sorted((self.results / "runs").glob("*/run.json")):
            if f'"fingerprint": "{print_id}"' in path.read_text(encoding="utf-8"):
                yield path.parent

    def run(self, slug: str = "baseline", variant: Variant | None = None) -> Run:
        """Ask all questions of a variant, or reuse the run that did; unthresholded, every answer stored with its ranks.

        The acceptance criteria must be locked and the order of reading written: both happen before an answer is seen.
        StaleError where the index of pilot.toml, on which every variant stands, is not the one that was accepted (see
        `reindex`).
        """
        if self.settings.acceptance and self.locked is None:
            raise StaleError(
                "the acceptance criteria are not locked: agree on them in notebook 00 before the first run"
            )
        self.lock_acceptance()
        if not self.questions:
            raise DataError(f"{self.data / 'questions.jsonl'} holds no question to ask: collect them in notebook 01")
        self.order()
        variant = variant or self.baseline
        config = self.config(variant)
        print_id = fingerprint(config)
        settings, cache = variant.settings, self.results / "cache"
        questions, judge = self.questions, judge_of(settings, cache)
        graded_by = settings.deciding("judge")["judge"]
        if known := self._finished(print_id):
            stands = unreadable_of(known, graded_by, questions)
            fresh = grade([q for q in questions if q.id not in stands], known.answers, judge, at_once(settings.judge))
            verdicts = {i: v for i in known.answers if (v := stands.get(i) or fresh.get(i))}
            keep_unreadable(replace(known, verdicts=verdicts), graded_by, questions)
            return replace(known, verdicts=verdicts, info={**known.info, "judge": graded_by})
        self.refuse_unstored(variant)
        check_accepted(self._accepted, self._index_key)
        built = self.build(variant)
        folder = self.begun(variant)
        if folder is None:
            check_models(settings)
            folder = self.results / "runs" / f"{date.today().isoformat()}-{slug}-{print_id[:6]}"
        embed_questions(built.index, questions)
        by_model = "model" in (settings.answer.kind, settings.rewrite.kind, settings.judge.kind)
        return run_eval(
            questions,
            built.index,
            answerer(settings, cache),
            judge,
            min_similarity=None,
            k=settings.retrieval.k,
            instructions=instructed(settings.answer.instructions),
            search={"depth": settings.retrieval.depth, "rrf_k": settings.retrieval.rrf_k},
            threads=at_once(settings.answer),
            judges=at_once(settings.judge),
            folder=folder,
            info={
                "name": slug,
                "date": date.today().isoformat(),
                "config": config,
                "fingerprint": print_id,
                "judge": graded_by,
                "prices": settings.cost.model_dump(exclude_none=True),
            },
            cost=partial(paid_so_far, settings.cost) if by_model else None,
        )
