"""The pilot's main numbers: the share of each label over all questions, from some labels and an imperfect judge.

What rules settle is known; the rest is a prediction-powered mean (PPI++, Angelopoulos, Duchi and Zrnic 2023) of the
expert's labels with the judge as the predictor, and its interval is Wilson's on the effective number of questions. A
biased judge costs width, never truth, so it is used whether admitted or not. Simulated for this project with 50 of 150
answers read, coverage of 95 % intervals is 94-98 %. The module does not know where labels come from, nor whether the
questions are the right ones.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..errors import DataError
from ..records import Answer, Label, Question, Verdict
from ..said import Said
from .grades import Graded, judge_label, scored, settle
from .intervals import Interval, wilson
from .sample import needs_person, read_so_far
from .shares import COUNTS_ONLY_UNDER, Share, percent, share_of

UNREADABLE_MOST = 0.05
"""Share of a judge's replies that may be unreadable; above it there is no headline, until all answers are read."""


@dataclass(frozen=True)
class Estimate:
    """The share of one label over all questions; `n_eff` is how many questions read by hand would say as much."""

    label: str
    value: float
    interval: Interval
    n_eff: float
    known: int  # questions that have the label by rule
    weight: float  # of the judge: 0 ignores it, 1 takes its mean and corrects it (lambda)
    r2: float  # of judge and expert, adjusted, over the answers read

    def text(self) -> str:
        """Such as '72 % (64-80)'."""
        return f"{percent(self.value)} % ({percent(self.interval.low)}-{percent(self.interval.high)})"


@dataclass(frozen=True)
class Headline:
    """The estimates (None where too little is read), the remaining share `partly`, and the sentences to print.

    The three are estimated apart, so their sum can pass 1: by `excess` then, and `partly` is None.

    `asked` = by_person + by_judge + by_rule + errors + not_graded. `judge`: its readable replies that
    say correct, after the citation rule; the unreadable ones are what is missing.
    """

    correct: Estimate | None
    wrong: Estimate | None
    declined: Estimate | None
    partly: float | None
    asked: int
    unanswerable: int
    by_person: int
    by_judge: int
    by_rule: int
    errors: int
    not_graded: int
    words: str
    judge: Share = Share(0, 0)
    excess: float = 0.0
    said: tuple[Said, ...] = field(default=(), compare=False)  # the sentences of `words`, one by one


def estimate(label: str, known: int, asked: int, read: Sequence[tuple[bool, bool]], unread: Sequence[bool]) -> Estimate:
    """The share of `label` over `asked` questions, `known` of which have it by rule.

    `read` holds (expert says so, judge says so) for the answers read, `unread` what the judge says of the others that
    need a person; where there is no judge, False throughout: that is labels alone. One extra row, a quarter in each
    cell, steadies the judge's weight.
    """
    n, m = len(read), len(read) + len(unread)
    if n == 0 < m or asked < max(m, 1) or known > asked - m:
        raise DataError(f"{n} read of {m}, {known} known by rule, {asked} asked: no share can be estimated from that")
    theta, smoothed, weight, r2, labelling = 0.0, 0.0, 0.0, 0.0, 0.0
    if n:
        y, f = np.asarray(read, dtype=float).T
        if len({judge for _, judge in read}.union(unread)) == 2:  # a judge that says the same of all says nothing
            weight, r2 = _judge_weight(y, f, m)
        gap = float(f.mean() - np.mean(unread)) if unread else 0.0
        theta = min(1.0, max(0.0, float(y.mean()) - weight * gap))
        smoothed = (n * theta + 1) / (n + 2)
        labelling = (m / asked) ** 2 * smoothed * (1 - smoothed) * (1 - r2) * (1 / n - 1 / m)
    total, cautious = (known + m * theta) / asked, (known + m * smoothed) / asked
    spread = cautious * (1 - cautious)
    n_eff = spread / (spread / asked + labelling) if spread > 0 else float(asked)
    interval = wilson(total * n_eff, n_eff)
    assert interval is not None  # asked >= 1 here
    return Estimate(label, total, interval, n_eff, known, weight, r2)


def _judge_weight(y: np.ndarray, f: np.ndarray, m: int) -> tuple[float, float]:
    """Lambda, and the adjusted r2 of judge and expert, from the n rows read and the extra one."""
    n = len(y)
    mean_y, mean_f = (y.sum() + 0.5) / (n + 1), (f.sum() + 0.5) / (n + 1)
    cov = max(0.0, (float(y @ f) + 0.25) / (n + 1) - mean_y * mean_f)
    var_y, var_f = mean_y * (1 - mean_y), mean_f * (1 - mean_f)
    weight = min(1.0, cov / var_f * (m - n) / m)
    r2 = max(0.0, 1 - (1 - cov**2 / (var_y * var_f)) * (n - 1) / (n - 2)) if n > 2 else 0.0
    return float(weight), float(r2)


def headline(
    questions: Sequence[Question],
    answers: Mapping[str, Answer],
    order: Sequence[str],
    labels: Mapping[str, Label],
    verdicts: Mapping[str, Verdict],
    annotator: str,
) -> Headline:
    """The shares of the four labels over all questions of a complete run, and the sentences that stand beside them.

    Only labels that form a random sample of the order are used (see `sample.read_so_far`); under 10 of them, unless
    that is all, there are words and no number; so too where more of the judge's replies are unreadable than
    UNREADABLE_MOST, unless all answers are read. A failed call counts in the denominator and has no label. `partly` is
    the remainder, None where there is none.
    """
    if missing := sorted({q.id for q in questions} - set(order)):
        raise DataError(
            f"question {missing[0]!r} is not in the order in which answers are read; write a new order first"
        )
    labels = {i: given for i, given in labels.items() if i in answers and given.answer_sha == answers[i].sha}
    sample = read_so_far(order, questions, answers, labels)
    settled = settle(questions, answers, {}, labels, judge_admitted=False)
    by_id = {q.id: q for q in questions}
    need = [q.id for q in questions if needs_person(q, answers[q.id])]
    unread = [i for i in need if i not in set(sample.read)]
    judged = {i: judge_label(answers[i], verdicts.get(i)) for i in need}
    experts = {i: scored(by_id[i], labels[i].label or "") for i in sample.read}
    known = [settled[q.id] for q in questions if q.id not in judged]
    errors = sum(g.by == "error" for g in known)
    by_judge = sum(judged[i] is not None for i in unread)
    replies = [v for i in need if (v := verdicts.get(i)) and v.by != "rule" and v.answer_sha == answers[i].sha]
    judge = share_of((None if v.label is None else v.label == "correct" for v in replies), "unreadable")
    unreadable = len(replies) - judge.n
    refused = bool(unread) and unreadable > UNREADABLE_MOST * len(replies)
    enough = bool(questions) and (not unread or len(experts) >= COUNTS_ONLY_UNDER) and not refused

    def of(label: str) -> Estimate | None:
        if not enough:
            return None
        rows = [(experts[i] == label, judged[i] == label) for i in sample.read]
        by_rules = sum(g.label == label for g in known)
        return estimate(label, by_rules, len(questions), rows, [judged[i] == label for i in unread])

    correct, wrong, declined = of("correct"), of("wrong"), of("declined")
    partly, excess = None, 0.0
    if correct and wrong and declined:
        rest = round(1 - correct.value - wrong.value - declined.value - errors / len(questions), 12)
        partly, excess = (rest + 0.0, 0.0) if rest >= 0 else (None, -rest)
    by_rule, nobody = len(known) - errors, len(unread) - by_judge
    if refused:
        said = [_refusal(unreadable, len(replies))]
    else:
        whom = _whom(len(experts), annotator, by_judge, by_rule, nobody)
        said = _words(correct, questions, whom, errors, len(need), sample.waiting, len(sample.beyond)) + _over(excess)
    return Headline(
        correct=correct,
        wrong=wrong,
        declined=declined,
        partly=partly,
        asked=len(questions),
        unanswerable=sum(not q.answerable for q in questions),
        by_person=len(experts),
        by_judge=by_judge,
        by_rule=by_rule,
        errors=errors,
        not_graded=nobody,
        words=" ".join(said),
        judge=judge,
        excess=excess,
        said=tuple(said),
    )


def _whom(read: int, annotator: str, judge: int, rule: int, nobody: int) -> Said:
    words = f"{read} answers read by {annotator}, {judge} by the judge, {rule} by rule"
    who = {"read": read, "person": annotator, "judge": judge, "rule": rule}
    if nobody:
        return Said("whom_and_nobody", f"{words}, {nobody} by nobody.", **who, nobody=nobody)
    return Said("whom", f"{words}.", **who)


def _over(excess: float) -> list[Said]:
    if not excess:
        return []
    words = (
        f"The shares are estimated apart, each with its error: correct, wrong and declined together pass 100 % by "
        f"{100 * excess:.1f} points, so how many are partly right is less than can be told."
    )
    return [Said("over", words, points=100 * excess)]


def withheld(found: Headline, sample: int, needed: Sequence[str]) -> Headline:
    """A headline without its numbers, because answers of the sample wait for somebody who may open what they show.

    `needed` are the groups that each of them needs.
    """
    groups = sorted(Counter(needed).items())
    waits = tuple(Said("waiting_for", f"{count} for {named}", n=count, groups=named) for named, count in groups)
    words = (
        f"No headline: {len(needed)} of the {sample} answers of the sample show text that the annotator may not open, "
        f"and wait for a reader with access to it ({', '.join(waits)}), or for two who differ to agree. They stay in "
        "the sample, or the number would be of the others alone: "
        ' in notebook 05 open expert_form(result, annotator="her name", groups=[...]) for such a person.'
    )
    said = (Said("withheld", words, n=len(needed), sample=sample, waiting=waits),)
    return replace(found, correct=None, wrong=None, declined=None, partly=None, excess=0.0, words=words, said=said)


def beside(found: Headline, adopted: Sequence[Graded]) -> Headline:
    """A headline that says what became of questions that are in none of its shares: they joined because they failed."""
    if not adopted:
        return found
    said = [g.label for g in adopted if g.by in ("rule", "expert")]  # the judge was tested on none of them
    right, unread = said.count("correct"), len(adopted) - len(said)
    joined = "1 more question" if len(adopted) == 1 else f"{len(adopted)} more questions"
    words = (
        f"{joined} joined the set for having failed in use: {right} correct now, {unread} not graded by a person or a "
        "rule; in no share."
    )
    more = Said("joined", words, n=len(adopted), right=right, unread=unread)
    return replace(found, words=f"{found.words} {more}", said=(*found.said, more))


def _refusal(unreadable: int, asked: int) -> Said:
    words = (
        f"No headline: of {asked} answers that the judge was given, it left {unreadable} without a readable label "
        f"({percent(unreadable / asked)} %, at most {percent(UNREADABLE_MOST)} % are allowed), and nobody knows which "
        "ones. Its replies and reasons stand in verdicts.jsonl: mend the judge (another model, more max_tokens, fuller "
        'expected answers) and run again, or set [judge] kind = "none" for a number from the person\'s labels alone.'
    )
    share, most = unreadable / asked, UNREADABLE_MOST
    return Said("unreadable", words, asked=asked, n=unreadable, share=share, most=most)


def _words(
    correct: Estimate | None,
    questions: Sequence[Question],
    whom: Said,
    errors: int,
    need: int,
    waiting: str | None,
    beyond: int,
) -> list[Said]:
    asked, after = len(questions), []
    if errors:
        after.append(Said("failed", f"{errors} calls failed: asked, and counted as no label.", n=errors))
    if beyond:
        words = f"{beyond} labels further down the order wait until question {waiting} is labelled."
        after.append(Said("waits", words, n=beyond, question=waiting))
    if not asked:
        return [Said("no_data", "No data: no question was asked.")]
    if correct is None:
        first = min(need, COUNTS_ONLY_UNDER)
        words = (
            f"{need} of {asked} answers need a person; the first {first} in the order give a first number, 50 a usable "
            "one."
        )
        needed = Said("no_number_needed", words, need=need, asked=asked, first=first)
        return [Said("no_number", f"No number yet: {whom}", whom=whom), needed, *after]
    none, span = sum(not q.answerable for q in questions) / asked, correct.interval
    words = f"On questions like these {asked} ({percent(none)} % unanswerable, this mix): {correct.text()} correct."
    share = Said("share", words, asked=asked, none=none, value=correct.value, low=span.low, high=span.high)
    mix = Said("other_mix", "Another mix, or questions not used to mend the system, can differ.")
    return [share, whom, mix, *after]
