"""The offline judge fitted to the expert's labels: its features, weighed by a small regularised model.

What it says of an answer that she labelled always comes from a fit that saw neither that answer nor a question nearly
the same: gate and headline are given nothing else (in-sample predictions of a fitted judge make intervals too narrow).
The fit on all labels is for answers that nobody labelled. Under 30 labels the fixed weights stay. Whether a judge is
fitted is a setting, never chosen by looking at how it does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .analysis.grades import citation_rule
from .corpus.grouping import group_alike
from .grading.judge import features
from .records import JUDGE_LABELS, Answer, Label, Question, Verdict

LABELS_NEEDED, FOLDS = 30, 10
STRENGTH = 0.3
"""Inverse of the L2 penalty on standardised features; chosen on 50 labels at a time of real ones, the even half."""
ALIKE = 0.8
"""Cosine of two questions' letter runs from which they are near duplicates and stay in one fold."""

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Fitted:
    """The verdicts of a judge fitted to `labels` labels, or the fixed ones and `why` it was not fitted.

    `out_of_fold` are the labelled questions, whose verdict comes from a fit without them; `unclear` labels were left
    out of every fit, because a wrong citation may be their only fault, or the judge has no such label.
    """

    verdicts: Mapping[str, Verdict]
    labels: int
    folds: int = 0
    out_of_fold: tuple[str, ...] = ()
    unclear: int = 0
    why: str = ""


def fitted(
    questions: Sequence[Question],
    answers: Mapping[str, Answer],
    verdicts: Mapping[str, Verdict],
    labels: Mapping[str, Label],
) -> Fitted:
    """The verdicts of the judge fitted to those labels, in place of the fixed ones; those by rule stay."""
    judged = [q for q in questions if (v := verdicts.get(q.id)) and v.by != "rule"]
    known = {i: given.label for i, given in labels.items() if given.answer_sha == answers[i].sha}
    read = sorted((q for q in judged if q.id in known), key=lambda q: q.id)
    clear = {q.id for q in read if _is_clear(q, answers[q.id], known[q.id])}
    if len(clear) < LABELS_NEEDED:
        return Fitted(verdicts, len(clear), why=f"{LABELS_NEEDED} labels are needed, there are {len(clear)}")
    if len({known[i] for i in clear}) < 2:
        return Fitted(verdicts, len(clear), why="all labels are the same")
    rows = {q.id: features(q.question, q.expected, answers[q.id].text or "") for q in judged}
    x = np.array([rows[q.id] for q in read])
    y = [known[q.id] if q.id in clear else None for q in read]
    groups = groups_of([q.question for q in read])
    said = dict(zip((q.id for q in read), out_of_fold(x, y, groups), strict=True))
    others = [q.id for q in judged if q.id not in known]
    if others:
        said |= dict(zip(others, predicted(x, y, np.array([rows[i] for i in others])), strict=True))
    new = {q.id: _verdict(q, answers[q.id], verdicts[q.id], said[q.id], q.id in known) for q in judged}
    return Fitted(
        {i: new.get(i, v) for i, v in verdicts.items()},
        len(clear),
        folds_of(groups),
        tuple(q.id for q in read),
        len(read) - len(clear),
    )


def _is_clear(question: Question, answer: Answer, label: str | None) -> bool:
    """Whether a label tells what the judge, who sees texts alone, should have said."""
    return label in JUDGE_LABELS and not (label == "partly" and question.docs.isdisjoint(answer.docs))


def _verdict(question: Question, answer: Answer, fixed: Verdict, label: str, labelled: bool) -> Verdict:
    ruled = citation_rule(question, answer, label)
    return replace(
        fixed,
        label=ruled,
        by="judge" if ruled == label else "citation_rule",
        judged=label,
        reason=f"fitted to the expert's labels{', this one left out' if labelled else ''}; fixed: {fixed.reason}",
        raw="",
    )


# -- the model -------------------------------------------------------------------------------------------------------


def groups_of(questions: Sequence[str]) -> list[int]:
    """A group for each question; near duplicates, by their runs of letters, share one."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    vectors = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5)).fit_transform(questions).toarray()
    group = [0] * len(questions)
    for number, found in enumerate(group_alike(questions, [1] * len(questions), vectors, ALIKE)):
        for member in found.members:
            group[member] = number
    return group


def folds_of(groups: Sequence[int]) -> int:
    """Into how many folds those groups are put."""
    return min(FOLDS, len(set(groups)))


def out_of_fold(x: Rows, y: Sequence[str | None], groups: Sequence[int]) -> list[str]:
    """What a fit on all other folds says of each row; rows of one group are in one fold. y None: in no fit."""
    from sklearn.model_selection import GroupKFold

    said = [""] * len(y)
    for others, own in GroupKFold(folds_of(groups)).split(x, groups=groups):
        for place, label in zip(own, predicted(x[others], [y[i] for i in others], x[own]), strict=True):
            said[place] = label
    return said


def predicted(x: Rows, y: Sequence[str | None], new: Rows) -> list[str]:
    """What a fit on the rows with a label says of new rows; the only label where there is just one."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    has = [i for i, label in enumerate(y) if label is not None]
    known = [str(y[i]) for i in has]
    if len(set(known)) == 1:
        return known[:1] * len(new)
    model: Any = make_pipeline(StandardScaler(), LogisticRegression(C=STRENGTH, max_iter=1000)).fit(x[has], known)
    shares = np.round(model.predict_proba(new), 6)  # so that two processors say the same
    return [str(model.classes_[place]) for place in shares.argmax(axis=1)]
