"""Questions x index x answerer (x judge) -> a run: complete, on disk, resumable.

Every answer is written as it finishes; a run that was stopped goes on where it stopped. How a run lies on disk is known
in `runs`; what a change is, and which pilot this belongs to, is not known here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Lock
from typing import Any

from .analysis.grades import citation_rule, rule_label
from .answering.answerer import INSTRUCTIONS, LLM, answer, read_citations
from .answering.citations import Citations
from .corpus.questions import read_questions
from .errors import DataError, RunStoppedError
from .files import append_jsonl, read_records, write_jsonl
from .grading.judge import UNREADABLE, Judge, Judgement
from .identity import fingerprint
from .pool import finished
from .progress import progress
from .records import JUDGE_LABELS, Answer, Question, Verdict
from .runs import Run, counted, resume, write_info

Spent = Mapping[str, tuple[int, int]]
"""Who (rewrite, answer, judge) -> tokens in and out that were paid for."""
FINAL = re.compile(r"ModelError: (filtered|truncated)")
"""Errors that, met twice, are final: asking a third time would pay for the same."""


def run_eval(
    path: Path | str | Iterable[Question],
    index: Any,
    llm: LLM,
    judge: Judge | None = None,
    *,
    everyone: str | None = None,
    min_similarity: float | None = 0.35,
    k: int = 5,
    instructions: str = INSTRUCTIONS,
    citations: Callable[[str], Citations] = read_citations,
    search: Mapping[str, Any] | None = None,
    threads: int = 1,
    judges: int = 1,
    folder: Path | None = None,
    info: Mapping[str, Any] | None = None,
    cost: Callable[[Spent], str] | None = None,
) -> Run:
    """Ask every question of a questions.jsonl (or of a list) with its asker's groups, and grade by rule and judge.

    `judge(question, expected, text)` gives correct, partly or wrong; None leaves answers ungraded. A call that fails is
    an error with its cause, neither declined nor wrong. With `folder` each answer is on disk as it finishes, and a run
    that was stopped is resumed: missing answers and errors only, but for those that are final (filtered or truncated
    twice). RunStoppedError ends the run where no further question could fare better. `info` is kept in run.json; its
    "config", and how the questions are asked ("how": k, min_similarity, instructions, search), must be the same on
    resuming (StaleError). `search` goes to the index's search; `threads` ask and `judges` grade at once; `cost` says
    what tokens of who rewrites, answers and grades come to, for the progress bars.
    """
    questions = read_questions(Path(path), everyone).questions if isinstance(path, str | Path) else tuple(path)
    if twice := [i for i, n in Counter(q.id for q in questions).items() if n > 1]:
        raise DataError(f"question {twice[0]!r} stands twice; make the ids unique")
    how = fingerprint([k, min_similarity, instructions, search or {}])
    info = {**(info or {}), "how": how}
    done = resume(folder, questions, info) if folder else {}
    failed = {i: a for i, a in done.items() if a.status == "error" and not a.final}
    todo = [q for q in questions if q.id not in done or q.id in failed]
    writing, paid = Lock(), Paid(cost)

    def ask(question: Question) -> None:
        try:
            result = answer(
                question.question,
                index,
                question.groups,
                llm,
                min_similarity,
                k=k,
                instructions=instructions,
                citations=citations,
                question_id=question.id,
                **(search or {}),
            )
        except RunStoppedError:
            raise
        except Exception as fault:
            reason = f"{type(fault).__name__}: {fault}"[:500]
            before = failed.get(question.id)
            final = bool(before and FINAL.match(before.reason or "") and FINAL.match(reason))
            result = Answer(question.id, "error", reason=reason, final=final)
        with writing:  # here and not where answers are awaited: what comes in after a stop is kept too
            if folder:
                append_jsonl(folder / "answers.jsonl", result)
            done[question.id] = result
            paid.answered(result)

    try:
        with closing(finished(ask, todo, threads, llm)) as asking:
            for _ in progress(asking, "answers", len(todo), paid.__str__):
                pass
        answers = {q.id: done[q.id] for q in questions}
        verdicts = grade(questions, answers, judge, judges, paid)
    except RunStoppedError as fault:
        kept = sum(done[q.id].status != "error" for q in questions if q.id in done)
        where = "they are kept; mend it and run again, to go on from there" if folder else "they were not written"
        raise RunStoppedError(f"{fault}. The run stops with {kept} of {len(questions)} answers: {where}") from None
    run = Run(questions, answers, verdicts, counted(info, questions, answers, verdicts), folder)
    if folder:
        write_jsonl(folder / "answers.jsonl", answers.values())
        write_jsonl(folder / "verdicts.jsonl", verdicts.values())
        write_info(folder, run.info)
    return run


@dataclass
class Paid:
    """What a run has paid for so far, as its progress bars tell it: a running count, whatever the number of answers."""

    cost: Callable[[Spent], str] | None = None
    errors: int = 0
    tokens: dict[str, tuple[int, int]] = field(default_factory=dict)  # as in Spent

    def answered(self, given: Answer) -> None:
        """Count one answer, and the rewriting of its question."""
        self.errors += given.status == "error"
        if not given.reused:
            self._add("answer", {"tokens_in": given.tokens_in, "tokens_out": given.tokens_out})
        if not given.rewriting.get("reused", True):
            self._add("rewrite", given.rewriting)

    def graded(self, verdict: Verdict) -> None:
        """Count one verdict of a judge."""
        if not verdict.reused:
            self._add("judge", verdict.spent)

    def _add(self, who: str, used: Mapping[str, Any]) -> None:
        into, out = self.tokens.get(who, (0, 0))
        self.tokens[who] = into + used.get("tokens_in", 0), out + used.get("tokens_out", 0)

    def __str__(self) -> str:
        tokens = sum(map(sum, self.tokens.values()))
        told = [f"{self.errors} in error"] if self.errors else []
        told += [f"{tokens:,} tokens"] if tokens else []
        return ", ".join(told + ([self.cost(self.tokens)] if self.cost else []))


def grade(
    questions: Iterable[Question],
    answers: Mapping[str, Answer],
    judge: Judge | None,
    threads: int = 1,
    paid: Paid | None = None,
) -> dict[str, Verdict]:
    """A verdict for every answer that has one: by rule, else by the judge, then the citation rule.

    Declines and unanswerable questions never reach the judge; an error has no verdict. `threads` grade at once; `paid`
    counts the judge's verdicts in, for the progress bar.
    """
    verdicts: dict[str, Verdict] = {}
    to_judge, paid = list[Question](), paid or Paid()
    for question in questions:
        given = answers[question.id]
        label = rule_label(question, given)
        if label is not None:
            verdicts[question.id] = Verdict(question.id, given.sha, label, "rule")
        elif judge is not None and given.status == "answered" and question.answerable:
            to_judge.append(question)

    def graded(question: Question) -> Verdict:
        assert judge is not None
        return _judged(question, answers[question.id], judge)

    found: dict[str, Verdict] = {}
    with closing(finished(graded, to_judge, threads, judge)) as grading:
        for verdict in progress(grading, "grades", len(to_judge), paid.__str__):
            paid.graded(verdict)
            found[verdict.question_id] = verdict
    return {i: v for i in answers if (v := verdicts.get(i) or found.get(i))}


def _judged(question: Question, given: Answer, judge: Judge) -> Verdict:
    try:
        said = judge(question.question, question.expected, given.text or "")
    except RunStoppedError:
        raise
    except Exception as fault:
        said = Judgement(None, f"{type(fault).__name__}: {fault}"[:500])
    judgement = said if isinstance(said, Judgement) else Judgement(said)
    if judgement.label not in (None, *JUDGE_LABELS):
        raise DataError(
            f"the judge said {judgement.label!r} of {question.id!r}; expected one of {', '.join(JUDGE_LABELS)}"
        )
    ruled = citation_rule(question, given, judgement.label)
    return Verdict(
        question.id,
        given.sha,
        ruled,
        "judge" if ruled == judgement.label else "citation_rule",
        judged=judgement.label,
        reason=judgement.reason,
        raw=judgement.raw if judgement.label is None else "",
        reused=judgement.reused,
        spent=judgement.spent,
        against=reference_of(question),
    )


def reference_of(question: Question) -> str:
    """Names what a judge is given beside an answer's text: amended, it is judged anew."""
    return fingerprint([question.question, question.expected])


def unreadable_of(run: Run, judge: Any, questions: Iterable[Question]) -> dict[str, Verdict]:
    """The verdicts on a complete run that this judge left unreadable: it was asked twice for them, and is not again.

    One whose answer, question or expected answer is another by now is not among them.
    """
    path = _unreadable(run, judge)
    kept = {v.question_id: v for v in read_records(path, Verdict.from_json)} if path.exists() else {}
    own = run.verdicts if run.info.get("judge") == judge else {}
    return _unread({**own, **kept}, run, questions)


def keep_unreadable(run: Run, judge: Any, questions: Iterable[Question]) -> None:
    """Keep what this judge left unreadable of a run beside it, where it is not known yet."""
    questions = list(questions)
    found = _unread(run.verdicts, run, questions)
    if found.keys() - unreadable_of(run, judge, questions).keys():
        write_jsonl(_unreadable(run, judge), found.values())


def _unread(verdicts: Mapping[str, Verdict], run: Run, questions: Iterable[Question]) -> dict[str, Verdict]:
    against = {q.id: reference_of(q) for q in questions}
    return {
        i: v
        for i, v in verdicts.items()
        if v.reason == UNREADABLE and v.answer_sha == run.answers[i].sha and v.against == against.get(i)
    }


def _unreadable(run: Run, judge: Any) -> Path:
    assert run.folder is not None  # a complete run is on disk
    return run.folder / f"unreadable-{fingerprint(judge)[:6]}.jsonl"


def restated(run: Run) -> Run:
    """The run's own verdicts held against the questions as they are now, where its judge cannot be asked again.

    The rules apply anew; a judge's word on another expected answer than the present one is left out.
    """
    verdicts = {}
    for question in run.questions:
        given, kept = run.answers[question.id], run.verdicts.get(question.id)
        if rule := rule_label(question, given):
            verdicts[question.id] = Verdict(question.id, given.sha, rule, "rule")
        elif kept and kept.by != "rule" and question.answerable and _judged_by(kept, question, run):
            ruled = citation_rule(question, given, kept.judged)
            by = "judge" if ruled == kept.judged else "citation_rule"
            verdicts[question.id] = replace(kept, label=ruled, by=by)
    return replace(run, verdicts=verdicts)


def _judged_by(verdict: Verdict, question: Question, run: Run) -> bool:
    """Whether a judge was given the present reference; by the dates, where a verdict of old does not say."""
    if verdict.against:
        return verdict.against == reference_of(question)
    begun = str(run.info.get("date") or "")
    return not any(a.get("field") == "expected" and str(a.get("date") or "") >= begun for a in question.amendments)


def regrade(run: Run, judge: Judge | None) -> Run:
    """The same answers with the verdicts of another judge or of amended questions, in memory."""
    return replace(run, verdicts=grade(run.questions, run.answers, judge))
