"""What a run means: labels that count, gate, headline, retrieval, leaks, causes, and what a reader may see of it.

Everything is computed from stored records when it is asked for; nothing is stored twice. Which change a run belongs to
is not known here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import PurePath
from typing import Any

from .admitting import JudgeTest, second_look_said
from .analysis.acceptance import Judgement, acceptance, undecided
from .analysis.causes import Cause, Facts, Pareto, causes, pareto
from .analysis.cost import Spending, spending
from .analysis.decision import LABELS_NEEDED, Decision, decide
from .analysis.grades import ExpertLabels, Graded, expert_labels, judge_label, settle
from .analysis.headline import Estimate, Headline, beside, headline, withheld
from .analysis.latency import StageTime, stage_times
from .analysis.measures import FourWay, Leaks, Retrieval, four_way, label_shares, leaks, retrieval
from .analysis.sample import Sample, first_that_need_a_person, needs_person, read_so_far, up_to_read
from .analysis.segments import Key, Records, Row, Segment, by_segment, for_readers, keys, rows
from .analysis.shares import Share
from .analysis.threshold import Sweep, not_begun, scored_answers, sweep
from .answering.answerer import instructed
from .audit import Audit, Rights, audit
from .building import Built
from .corpus.access import all_of, groups_said
from .corpus.facts import Facts as TextFacts
from .corpus.facts import numbers_and_codes
from .corpus.questions import closed_to
from .criteria import criteria
from .errors import DataError
from .extension import FILE as DECIDED
from .extension import closed_to as closed_to_set
from .extension import looks, note_set, read_sets
from .fitting import Fitted, fitted
from .grading.agreement import Gate, Pair
from .grading.labels import LabelStore
from .grading.naming import open_titles, resolved
from .looks import FILE
from .models import scorer_of
from .pilot import Pilot
from .records import Document, Label, Question, Verdict
from .retrieval.hybrid import HybridIndex, Retriever
from .runs import Run
from .said import Said
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
        self.drawn = [q for q in run.questions if not q.adopted]  # what every share is over; never chosen by outcome
        self.documents: Mapping[str, Document] = {d.id: d for d in built.documents.documents}

    @cached_property
    def by_id(self) -> dict[str, Question]:
        """The questions by id."""
        return {q.id: q for q in self.questions}

    # -- labels --------------------------------------------------------------------------------------------------------

    @cached_property
    def order(self) -> list[str]:
        """The seeded order in which answers to the drawn questions are read; not those that joined after this run."""
        drawn = {q.id for q in self.drawn}
        return [i for i in self.pilot.order() if i in drawn]

    @property
    def listed(self) -> list[str]:
        """All questions as lists show them: in the order of reading, then those that joined because they failed."""
        return [*self.order, *(q.id for q in self.questions if q.adopted)]

    @cached_property
    def all_labels(self) -> list[Label]:
        """Every line of labels.jsonl, of an example also of the one beside it; the other document that a label names by
        its id, where the expert may open it."""
        titles = open_titles(self.documents.values(), self.pilot.annotator_groups)
        folders = [self.pilot.data, *([] if self._own or not self.run.folder else [self.run.folder])]
        found = (label for folder in folders for label in LabelStore(folder / "labels.jsonl").read())
        return [resolved(label, titles) for label in found]

    @cached_property
    def expert(self) -> ExpertLabels:
        """The person's labels that count for this run."""
        return expert_labels(self.all_labels, self.run.answers, self.settings.pilot.annotator)

    @cached_property
    def _need_a_person(self) -> list[str]:
        return first_that_need_a_person(self.order, self.drawn, self.run.answers, len(self.drawn))

    @property
    def first_to_read(self) -> list[str]:
        """The sample: the first questions of the order whose answer needs a person, as many as the pilot reads."""
        return self._need_a_person[: self.settings.pilot.labels]

    @cached_property
    def to_read(self) -> list[str]:
        """The sample, the next answers of the order where the judge's test asks for them, and what joined since."""
        tested = set(self._test.answers[: self.gate.asks])
        wanted = [i for n, i in enumerate(self._need_a_person) if n < self.settings.pilot.labels or i in tested]
        return wanted + [q.id for q in self.questions if q.adopted and needs_person(q, self.run.answers[q.id])]

    @cached_property
    def sample(self) -> Sample:
        """How far the expert has read down the order."""
        return read_so_far(self.order, self.drawn, self.run.answers, self.expert.current)

    @property
    def labelled(self) -> tuple[int, int]:
        """(answers of the sample that are labelled, answers of the sample)."""
        return sum(i in self.expert.current for i in self.first_to_read), len(self.first_to_read)

    @property
    def _judge(self) -> Mapping[str, Any]:
        """The settings of the judge that graded this run."""
        return self.run.info.get("judge") or {"kind": self.settings.judge.kind}

    @property
    def _own(self) -> bool:
        """Whether this run is the pilot's own and on disk, no example: only what such a one shows goes on record."""
        return self.run.folder is not None and self.run.folder.is_relative_to(self.pilot.results)

    @cached_property
    def _test(self) -> JudgeTest:
        """What tests the judge; a run that is not the pilot's own, such as an example, is on no record."""
        pilot, table = self.pilot, self.settings.pilot
        return JudgeTest(
            self._judge,
            pilot.data / FILE if self._own else None,
            self.order,
            {i: self.run.answers[i].sha for i in self._need_a_person},
            table.labels,
            second_look_said(pilot.locked) if table.second_look else "",
        )

    @cached_property
    def gate(self) -> Gate:
        """Whether the judge may grade single answers: it against the expert, on answers that it graded itself.

        Looked at once all answers that test it are read, and that is put on record (see `admitting.py`).
        """
        return self._test.gate(self.pairs(self.verdicts), self.run.id, self._closed_to_her)

    def gate_of(self, verdicts: Mapping[str, Verdict]) -> Gate:
        """What other verdicts would show on the same answers; on no record, and it admits nobody."""
        return self._test.on_the_same(self.pairs(verdicts), self.gate)

    def pairs(self, verdicts: Mapping[str, Verdict]) -> dict[str, Pair]:
        """(her label, the judge's) of each answer that she read."""
        answers = self.run.answers
        return {i: (given.label, judge_label(answers[i], verdicts.get(i))) for i, given in self.expert.current.items()}

    def _closed_to_her(self, question_id: str) -> str:
        return groups_said(self._needed(question_id, self.pilot.annotator_groups))

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
        read_by = {self.expert.current[i].annotator for i in self.sample.read} or {self.settings.pilot.annotator}
        names = tuple(sorted(read_by))
        found = headline(
            self.drawn,
            self.run.answers,
            self.order,
            self.expert.current,
            self.verdicts,
            Said("readers", " and ".join(names), names=names),
        )
        found = withheld(found, len(self.first_to_read), list(self.closed.values())) if self.closed else found
        return beside(found, [self.graded[q.id] for q in self.questions if q.adopted])

    @cached_property
    def closed(self) -> dict[str, str]:
        """Answers of the sample that wait for somebody who may open what they show -> the groups that she needs."""
        return self.closed_of(self.first_to_read)

    def closed_of(self, question_ids: Iterable[str]) -> dict[str, str]:
        """Of those answers the unread ones that the form does not show the annotator -> the groups that are needed."""
        unread = [i for i in question_ids if i not in self.expert.current]
        needed = {i: self._needed(i, self.pilot.annotator_groups) for i in unread}
        return {i: said for i, groups in needed.items() if (said := groups_said(groups))}

    def _needed(self, question_id: str, groups: frozenset[str]) -> list[frozenset[str]]:
        """Per text that the form shows of an answer, where it is closed to `groups`: who may open it."""
        question, answer = self.by_id[question_id], self.run.answers[question_id]
        shown = [self.built.groups.get(hit["id"], frozenset()) for hit in answer.hits]
        document = self.documents.get(question.doc or "")
        shown += [document.groups] if document else []
        shown += all_of(question.groups) if question.adopted or not document else ()
        return [may_open for may_open in shown if not may_open & groups]

    @cached_property
    def scores(self) -> tuple[Score, ...]:
        """Faithfulness, answer relevance and context precision; no decision reads them."""
        table = self.settings.judge
        llm = scorer_of(self.settings, self.pilot.results / "cache")
        drawn = replace(self.run, questions=tuple(self.drawn))
        return scores(drawn, self.built.passages, self.built.groups, llm, table.concurrency if llm else 1)

    @property
    def label_shares(self) -> dict[str, Share]:
        """The share of each label among the answers that have one."""
        return label_shares({q.id: self.graded[q.id] for q in self.drawn})

    @cached_property
    def counted(self) -> dict[str, Graded]:
        """The labels that counts of causes and of correct answers are over: all, or those of a random sample.

        While answers that need a person are unread and the judge is not admitted, rules have labelled every decline of
        the set, and a person only the first answers of the order: what stands in it up to the last answer read counts.
        """
        if self.gate.passed or self.sample.waiting is None:
            return {q.id: self.graded[q.id] for q in self.drawn}
        return {i: self.graded[i] for i in up_to_read(self.order, self.sample, len(self.sample.read))}

    # -- retrieval -----------------------------------------------------------------------------------------------------

    def may_open(self, question: Question) -> bool:
        """Whether the asker may open a document that answers the question."""
        return any(d in self.documents and question.groups & self.documents[d].groups for d in question.docs)

    @cached_property
    def retrieval(self) -> Retrieval:
        """Hit@1, Hit@5, MRR and recall@5 of what was shown."""
        return retrieval(self.drawn, self.rankings, self.may_open)

    @cached_property
    def ranks(self) -> Mapping[str, int | None]:
        """The place of the right document for every question, also those that joined because they failed."""
        return retrieval(self.questions, self.rankings, self.may_open).ranks

    @cached_property
    def rankings(self) -> dict[str, list[str]]:
        """The documents shown for each question, best first; a failed call has none."""
        return {i: [h["doc"] for h in a.hits] for i, a in self.run.answers.items() if a.status != "error"}

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
        return four_way(self.drawn, self.run.answers)

    # -- parts ---------------------------------------------------------------------------------------------------------

    @cached_property
    def segments(self) -> dict[str, Key]:
        """How the questions are parted: category, language, source, group, document type, answerable or not."""
        closed = {q.id: groups_said(self._closed(q)) for q in self.questions}
        named = {name: key for name, key in keys(self.document_type).items() if name != "group"}
        shown = {k: for_readers(key, self.questions, lambda q: closed[q.id]) for k, key in named.items()}
        return keys(self.document_type) | shown

    def document_type(self, question: Question) -> str:
        """Such as 'pdf': the kind of file of the document that the question expects."""
        if not question.docs:
            return "no document"
        document = self.documents.get(question.doc or "")
        return PurePath(document.path).suffix.lstrip(".").lower() or "no suffix" if document else "document not there"

    def _key(self, segment: str) -> Key:
        if segment not in self.segments:
            raise DataError(f"segments by {segment!r}; expected one of {', '.join(self.segments)}")
        return self.segments[segment]

    def records(self, *, scored: bool = False) -> Records:
        """What the measures of a part are taken from; with the scores, which a model may have to be asked for."""
        checked = {score.name: score.checked for score in self.scores} if scored else {}
        return Records(self.run.answers, self.rankings, self.may_open, self.built.groups, self.counted, checked)

    def measures_by(self, segment: str, *, scored: bool = False) -> list[Row]:
        """All measures of all questions, then of each part of them."""
        return rows(self.drawn, self._key(segment), self.records(scored=scored))

    def hits_by(self, segment: str) -> list[Segment]:
        """Hit@5 of each part."""
        key = self._key(segment)
        return by_segment(self.drawn, key, lambda q: retrieval(q, self.rankings, self.may_open).hit5)

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
        """The cause of every bad answer that is known."""
        return causes(self.questions, self.run.answers, self.graded, self.expert.current, self.facts)

    @cached_property
    def pareto(self) -> Pareto:
        """The causes of the bad answers among what counts, largest first."""
        found = {i: cause for i, cause in self.causes.items() if i in self.counted}
        first = len(self.counted) if len(self.counted) < len(self.drawn) else None
        return pareto(found, self.counted, self.order, first)

    # -- what a reader may see -----------------------------------------------------------------------------------------

    def hidden(self, question_id: str) -> str:
        """Empty where the pilot's readers may see a question, its reference and its answer; else the groups needed.

        They must be able to open every document that the reference names and every passage that the model was shown. A
        question without a document, or whose document is gone, can itself tell something: there the asker's groups must
        be the readers' too.
        """
        shown = (self.built.groups.get(hit["id"], frozenset()) for hit in self.run.answers[question_id].hits)
        closed = [groups for groups in shown if not groups & self.pilot.readers]
        return groups_said([*self._closed(self.by_id[question_id]), *closed])

    def _closed(self, question: Question) -> tuple[frozenset[str], ...]:
        groups = {i: document.groups for i, document in self.documents.items()}
        return closed_to(question, groups, self.pilot.readers)

    # -- week 2 --------------------------------------------------------------------------------------------------------

    def threshold(self) -> Sweep:
        """The sweep of the decline threshold by labels of rule and expert, over the order up to the last of the sample
        that is read; where the judge is admitted over all of it, with the judge's labels too."""
        read = up_to_read(self.order, self.sample, self.settings.pilot.labels)
        covered = {*self.order} if self.gate.passed else {*read}
        asked = [q for q in self.questions if q.id in covered]
        rows, unlabelled = scored_answers(asked, self.run.answers, self.graded)
        judged = sum(self.graded[q.id].by == "judge" for q in asked)
        limit, seed = self.settings.threshold_max_wrong, self.settings.pilot.seed
        found, first = sweep(rows, limit, seed, unlabelled=unlabelled, judged=judged), self.sample.waiting
        if covered or first is None:
            return found
        return not_begun(found, first, first in self.expert.stale, len(self.sample.beyond))

    def judgements(self) -> list[Judgement]:
        """Each acceptance criterion against this run: met, not met, or not decided by this many questions.

        After a decision another set of questions decides nothing but leaks, unless it is the planned extension. That
        nothing leaks is not decided where the audit could not look.
        """
        sets = read_sets(self.pilot.data / DECIDED) if self._own else []
        at = looks(sets, self.settings.pilot.extension_planned)
        found = [acceptance(c, self.measured(c.measure), at) for c in criteria(self.settings)]
        why = closed_to_set(sets, [q.id for q in self.drawn])
        blind = f"The leak audit could not look {self.audit.unseen} times: run again." if self.audit.unseen else ""
        open_ = [blind * (not self.leaking.count) if j.criterion.measure == LEAK_MEASURE else why for j in found]
        return [undecided(j, told) if told else j for j, told in zip(found, open_, strict=True)]

    def measured(self, measure: str) -> Share | Estimate | None:
        """What a criterion on that measure is held against; None where labels of the sample are missing."""
        if measure == "hit5":
            return self.retrieval.hit5
        if measure == LEAK_MEASURE:
            return self.leaking
        estimate: Estimate | None = getattr(self.headline, measure)
        return estimate if self.labelled[0] >= self.labelled[1] else None

    def decision(self, changes_left: int = 0) -> Decision:
        """Build, test fine-tuning, fix the documents, stop, or not decided; with its reasons.

        Once all labels are there that a decision needs, the set of questions is put on record (see `extension.py`).
        """
        labelled, judged = self.labelled_to_decide, self.judgements()
        if self._own and judged and labelled[0] >= labelled[1]:
            found = [f"{j.criterion.name}: {j.state}" for j in judged]
            asked, planned = [q.id for q in self.drawn], self.settings.pilot.extension_planned
            note_set(self.pilot.data / DECIDED, asked, planned, found)
        return decide(judged, self.pareto, self.leaking.count, changes_left, labelled=labelled)

    @property
    def labelled_to_decide(self) -> tuple[int, int]:
        """(labelled on this very run, answers of the order that must be before a final decision)."""
        needed = self._need_a_person[: max(LABELS_NEEDED, self.settings.pilot.labels)]
        return sum(i in self.expert.current for i in needed), len(needed)

    def spending(self) -> Spending:
        """Mean tokens a question, to answer, rewrite and grade."""
        return spending(self.run.answers.values(), self.run.verdicts.values())

    def stage_times(self) -> list[StageTime]:
        """Seconds per stage against the budgets."""
        elsewhere = self.settings.embedding.kind == "model" and self.settings.retrieval.method != "keyword"
        in_part = ("retrieve", "total") if elsewhere else ()  # questions are embedded before the first is asked
        return stage_times(self.run.answers.values(), self.settings.budgets, self.run.verdicts.values(), in_part)
