"""What a run means: labels that count, gate, headline, retrieval, leaks, causes, and what a reader may see of it.

Everything is computed from stored records when it is asked for; nothing is stored twice. Which change a run belongs to
is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property

from .analysis.causes import Cause, Facts, Pareto, causes, pareto
from .analysis.cost import Spending, spending
from .analysis.decision import Criterion, Decision, Judgement, acceptance, can_show, decide
from .analysis.grades import ExpertLabels, Graded, expert_labels, judge_label, settle
from .analysis.headline import Estimate, Headline, headline, withheld
from .analysis.latency import StageTime, stage_times
from .analysis.measures import (
    FourWay,
    Leaks,
    Retrieval,
    Segment,
    by_segment,
    four_way,
    label_shares,
    leaks,
    outcomes,
    retrieval,
)
from .analysis.sample import Sample, first_that_need_a_person, read_so_far
from .analysis.shares import Share
from .analysis.threshold import Sweep, scored_answers, sweep
from .answering.answerer import instructed
from .audit import Audit, Rights, audit
from .building import Built
from .corpus.facts import Facts as TextFacts
from .corpus.facts import numbers_and_codes
from .fitting import Fitted, fitted
from .grading.agreement import Gate, gate
from .grading.labels import LabelStore
from .grading.naming import open_titles, resolved
from .models import scorer_of
from .pilot import Pilot
from .records import Document, Label, Question, Verdict
from .retrieval.hybrid import HybridIndex, Retriever
from .runs import Run
from .scores import Score, scores
from .settings import Settings

LEAK_MEASURE = "leaks"


class Result:
    """A run of a pilot with everything that is known of it, computed on demand."""

    def __init__(self, pilot: Pilot, run: Run, built: Built, retriever: Retriever | None = None) -> None:
        self.pilot, self.run, self.built = pilot, run, built
        self.retriever = retriever or built.index  # what was asked
        self.settings: Settings = pilot.settings
        self.questions: Sequence[Question] = run.questions
        self.documents: Mapping[str, Document] = {d.id: d for d in built.documents.documents}

    @cached_property
    def by_id(self) -> dict[str, Question]:
        """The questions by id."""
        return {q.id: q for q in self.questions}

    # -- labels --------------------------------------------------------------------------------------------------------

    @cached_property
    def order(self) -> list[str]:
        """The seeded order in which answers are read; without questions that joined the set after this run."""
        return [i for i in self.pilot.order() if i in self.by_id]

    @cached_property
    def all_labels(self) -> list[Label]:
        """Every line of labels.jsonl; the other document that one names by its id, where the expert may open it."""
        titles = open_titles(self.documents.values(), self.pilot.annotator_groups)
        return [resolved(label, titles) for label in LabelStore(self.pilot.data / "labels.jsonl").read()]

    @cached_property
    def expert(self) -> ExpertLabels:
        """The person's labels that count for this run."""
        return expert_labels(self.all_labels, self.run.answers, self.settings.pilot.annotator)

    @cached_property
    def to_read(self) -> list[str]:
        """The first questions of the order whose answer needs a person, as many as the pilot reads."""
        return first_that_need_a_person(self.order, self.questions, self.run.answers, self.settings.pilot.labels)

    @cached_property
    def sample(self) -> Sample:
        """How far the expert has read down the order."""
        return read_so_far(self.order, self.questions, self.run.answers, self.expert.current)

    @property
    def labelled(self) -> tuple[int, int]:
        """(answers of the sample that are labelled, answers of the sample)."""
        return sum(i in self.expert.current for i in self.to_read), len(self.to_read)

    @cached_property
    def gate(self) -> Gate:
        """Whether the judge may grade single answers: it against the expert, on answers that it graded itself."""
        return self.gate_of(self.verdicts)

    def gate_of(self, verdicts: Mapping[str, Verdict]) -> Gate:
        """The gate as it would be with those verdicts."""
        pairs = [
            (self.expert.current[i].label, judge_label(self.run.answers[i], verdicts.get(i))) for i in self.sample.read
        ]
        return gate(pairs, self.settings.pilot.seed)

    @cached_property
    def fitted(self) -> Fitted | None:
        """The judge fitted to the expert's labels, where pilot.toml says so."""
        kind = self.settings.judge.kind
        if kind != "fitted" or self.run.info.get("judge", {}).get("kind", kind) != "fitted":  # an example has its own
            return None
        return fitted(self.questions, self.run.answers, self.run.verdicts, self.expert.current)

    @property
    def verdicts(self) -> Mapping[str, Verdict]:
        """The labels by rule and judge; of a fitted judge those of labelled answers are out of fold."""
        return self.fitted.verdicts if self.fitted else self.run.verdicts

    @cached_property
    def graded(self) -> dict[str, Graded]:
        """The label of every question that counts: rule, expert, judge where admitted."""
        return settle(self.questions, self.run.answers, self.verdicts, self.expert.current, self.gate.passed)

    @cached_property
    def judged(self) -> dict[str, Graded]:
        """The labels as they would be if the judge were admitted: shown as 'not admitted' where it is not."""
        return settle(self.questions, self.run.answers, self.verdicts, self.expert.current, True)

    @cached_property
    def headline(self) -> Headline:
        """The score with its interval and the sentence to print.

        No number while an answer of the sample is closed to the annotator and nobody else has read it.
        """
        read_by = {self.expert.current[i].annotator for i in self.sample.read}
        found = headline(
            self.questions,
            self.run.answers,
            self.order,
            self.expert.current,
            self.verdicts,
            " and ".join(sorted(read_by)) or self.settings.pilot.annotator,
        )
        return withheld(found, len(self.to_read), list(self.closed.values())) if self.closed else found

    @cached_property
    def closed(self) -> dict[str, str]:
        """Answers of the sample that wait for somebody who may open what they show -> the groups that she needs."""
        needed = {i: self._needed(i, self.pilot.annotator_groups) for i in self.to_read if i not in self.expert.current}
        return {i: said for i, groups in needed.items() if (said := groups_said(groups))}

    def _needed(self, question_id: str, groups: frozenset[str]) -> list[frozenset[str]]:
        """Per text that the form shows of an answer, where it is closed to `groups`: who may open it."""
        question, answer = self.by_id[question_id], self.run.answers[question_id]
        shown = [self.built.groups.get(hit["id"], frozenset()) for hit in answer.hits]
        document = self.documents.get(question.doc or "")
        shown += [document.groups] if document else askers_only(question)
        return [may_open for may_open in shown if not may_open & groups]

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """Faithfulness, answer relevance and context precision; no decision reads them."""
        table = self.settings.judge
        llm = scorer_of(self.settings, self.pilot.results / "cache")
        return scores(self.run, self.built.passages, self.built.groups, llm, table.concurrency if llm else 1)

    @property
    def label_shares(self) -> dict[str, Share]:
        """The share of each label among the answers that have one."""
        return label_shares(self.graded)

    # -- retrieval -----------------------------------------------------------------------------------------------------

    def may_open(self, question: Question) -> bool:
        """Whether the asker may open a document that answers the question."""
        return any(d in self.documents and question.groups & self.documents[d].groups for d in question.docs)

    @cached_property
    def retrieval(self) -> Retrieval:
        """Hit@1, Hit@5, MRR and recall@5 of what was shown."""
        rankings = {i: [h["doc"] for h in a.hits] for i, a in self.run.answers.items() if a.status != "error"}
        return retrieval(self.questions, rankings, self.may_open)

    @cached_property
    def leaks(self) -> Leaks:
        """Forbidden passages in any list of any question of the run."""
        return leaks(self.questions, self.run.answers, self.built.groups)

    @property
    def asked_with(self) -> tuple[int, dict[str, int]]:
        """How many hits were asked for, and what else went to the search; its defaults for a run in memory."""
        find = self.run.info.get("config", {}).get("retrieval", {})
        ours = isinstance(self.retriever, HybridIndex)
        return find.get("k", 5), {name: find[name] for name in ("depth", "rrf_k") if ours and name in find}

    @cached_property
    def rights(self) -> Rights:
        """Who may open which passage, document and words."""
        return Rights.of(self.built, self.pilot.everyone)

    @cached_property
    def audit(self) -> Audit:
        """The leak audit: the questions asked again by those who must not see a document, and the run as it lies on
        disk. A search of others is asked only the questions about restricted documents."""
        k, search = self.asked_with
        return audit(
            self.questions,
            self.retriever,
            self.rights,
            k=k,
            search=search,
            instructions=instructed(self.settings.answer.instructions),
            widely=isinstance(self.retriever, HybridIndex),
            run_file=self.run.folder / "answers.jsonl" if self.run.folder else None,
        )

    @property
    def leaking(self) -> Share:
        """Questions with a leak in the run or in any stage of the audit; above zero the run has failed."""
        share = self.leaks.share
        known = self.audit.questions & self.run.answers.keys()
        return Share(len(known | self.leaks.passages.keys()), share.n, share.missing)

    @property
    def four_way(self) -> FourWay:
        """Answered or declined, by whether the documents can answer."""
        return four_way(self.questions, self.run.answers)

    def hits_by(self, segment: str) -> list[Segment]:
        """Hit@5 in each category, lang, source or group."""
        measured = self.retrieval.hits(5)
        return by_segment([q for q in self.questions if q.id in measured], segment, measured)

    def correct_by(self, segment: str) -> list[Segment]:
        """The share correct in each category, lang, source or group, of the answers that have a label."""
        return by_segment(self.questions, segment, outcomes(self.graded))

    @cached_property
    def laid_over(self) -> dict[str, str]:
        """Documents that this run read otherwise than they stand in the pilot's own folder -> where it read them."""
        own = {d.id: d.sha for d in self.pilot.documents(()).documents}
        where: dict[str, str] = {}
        for change in self.run.info.get("config", {}).get("changes", ()):
            folder = self.pilot.data / "changes" / change / "documents"
            if folder.is_dir():
                inside = {d.id for d in self.pilot.documents((change,)).documents if own.get(d.id) != d.sha}
                where |= {i: f"changes/{change}" for i in inside}
        return where

    # -- causes --------------------------------------------------------------------------------------------------------

    @cached_property
    def facts(self) -> Facts:
        """What is known of the documents: which exist, are out of date, or lack what is expected of them."""
        stale = {d.id for d in self.documents.values() if self.pilot.why_stale(d)}
        texts = {d.id: TextFacts.of(d.text) for d in self.documents.values()}
        lacking, holding = set[str](), set[str]()
        for q in self.questions:
            here, expected = [texts[d] for d in q.docs if d in texts], numbers_and_codes(q.expected)
            if q.answerable and here and expected:
                held = all(any(t.hold(fact) for t in here) for fact in expected)
                (holding if held else lacking).add(q.id)
        return Facts(frozenset(self.documents), stale, lacking, self.built.passages, self.may_open, holding)

    @cached_property
    def causes(self) -> dict[str, Cause]:
        """The cause of every bad answer."""
        return causes(self.questions, self.run.answers, self.graded, self.expert.current, self.facts)

    @cached_property
    def pareto(self) -> Pareto:
        """The causes, largest first."""
        return pareto(self.causes, self.graded)

    # -- what a reader may see -----------------------------------------------------------------------------------------

    def hidden(self, question_id: str) -> str:
        """Empty where the pilot's readers may see a question, its reference and its answer; else the groups needed.

        They must be able to open every document that the reference names and every passage that the model was shown. A
        question without a document, or whose document is gone, can itself tell something: there the asker's groups must
        be the readers' too.
        """
        question = self.by_id[question_id]
        answer, readers = self.run.answers[question_id], self.pilot.readers
        needed = [self.documents[d].groups for d in sorted(question.docs) if d in self.documents]
        needed += [self.built.groups.get(h["id"], frozenset()) for h in answer.hits]
        closed = [groups for groups in needed if not groups & readers]
        own = () if question.docs & self.documents.keys() else askers_only(question)
        return groups_said([*closed, *(groups for groups in own if not groups & readers)])

    # -- week 2 --------------------------------------------------------------------------------------------------------

    def threshold(self) -> Sweep:
        """The sweep of the decline threshold, over all of the order up to the last answer that the expert read."""
        covered = set(self.sample.covered)
        asked = [q for q in self.questions if q.id in covered]
        rows, _ = scored_answers(asked, self.run.answers, self.graded)
        return sweep(rows, self.settings.threshold_max_wrong, self.settings.pilot.seed)

    def judgements(self) -> list[Judgement]:
        """Each acceptance criterion against this run: met, not met, or not decided by this many questions."""
        return [acceptance(c, self._measured(c.measure)) for c in criteria(self.settings)]

    def _measured(self, measure: str) -> Share | Estimate | None:
        if measure == "hit5":
            return self.retrieval.hit5
        if measure == LEAK_MEASURE:
            return self.leaking
        estimate: Estimate | None = getattr(self.headline, measure)
        return estimate if self.labelled[0] >= self.labelled[1] else None

    def decision(self, changes_left: int = 0) -> Decision:
        """Build, test fine-tuning, fix the documents, stop, or not decided; with its reasons."""
        return decide(self.judgements(), self.pareto, self.leaking.count, changes_left)

    def spending(self) -> Spending:
        """Mean tokens a question, to answer, rewrite and grade."""
        return spending(self.run.answers.values(), self.run.verdicts.values())

    def stage_times(self) -> list[StageTime]:
        """Seconds per stage against the budgets."""
        elsewhere = self.settings.embedding.kind == "model" and self.settings.retrieval.method != "keyword"
        in_part = ("retrieve", "total") if elsewhere else ()  # questions are embedded before the first is asked
        return stage_times(self.run.answers.values(), self.settings.budgets, self.run.verdicts.values(), in_part)


def askers_only(question: Question) -> tuple[frozenset[str], ...]:
    """Each of the asker's groups: all are needed for a question whose document is not there to say who may open it."""
    return tuple(frozenset({group}) for group in sorted(question.groups))


def groups_said(needed: Iterable[frozenset[str]]) -> str:
    """Such as 'finance and hr or legal': of each text's groups one would do; empty where nothing is closed."""
    return " and ".join(
        sorted({" or ".join(sorted(groups)) or "access to a passage that is gone" for groups in needed})
    )


def criteria(settings: Settings) -> list[Criterion]:
    """The acceptance criteria of pilot.toml."""
    return [
        Criterion(
            c.name,
            c.measure,
            "at_most" if c.at_most is not None else "at_least",
            c.at_most if c.at_most is not None else c.at_least or 0.0,
            c.of,
        )
        for c in settings.acceptance
    ]


def what_can_be_shown(settings: Settings, questions: Iterable[Question]) -> list[str]:
    """What so many questions (200 while there are none) can show of each criterion, printed when it is locked."""
    asked = list(questions)
    if not asked:
        assumed = "There are no questions yet: what follows assumes 200 of them."
        return [assumed, *(can_show(c, 200).words for c in criteria(settings))]
    answerable = sum(q.answerable for q in asked)
    return [can_show(c, answerable if c.measure == "hit5" else len(asked)).words for c in criteria(settings)]
