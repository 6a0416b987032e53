"""Whether a judge agrees with the expert well enough to grade single answers.

This is one look: what pairs of labels, the expert's and the judge's, say of it. When a look is taken, on which answers,
and what an earlier one leaves open is decided in `admitting.py`. It says nothing about the headline, which corrects a
biased judge by itself. This module sees pairs of labels and no answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from ..errors import DataError
from ..records import JUDGE_LABELS, LABELS

KAPPA_ABOVE, AGREEMENT_ABOVE, FAULTS_NEEDED, DRAWS = 0.5, 0.75, 8, 4000
"""With 50 labels a judge of kappa .8 passes four times in five, one of .5 in 3 % (simulated for this project)."""

SEED = 1  # of the draws; no setting, so that no other seed can be tried until a judge passes
NOT_READ = "not all read"

Pair = tuple[str | None, str | None]


@dataclass(frozen=True)
class Gate:
    """The result of comparing the judge with the expert.

    `state` is passed, failed, too few faults, no data, or not all read; `asks` is how many answers the person must read
    for it.
    """

    state: str
    n: int
    dropped: int  # pairs in which one label is missing
    agreed: int
    agreement_low: float | None
    kappa: float | None  # None: undefined, one of the two used a single label
    kappa_low: float | None
    faults: int  # answers that the expert does not call correct
    recall: Mapping[str, tuple[int, int]]  # expert's label -> (the judge says the same, all)
    matrix: Mapping[tuple[str, str], int]  # (expert's label, judge's label) -> answers
    confidence: float
    words: str
    asks: int = 0

    @property
    def passed(self) -> bool:
        """Whether the judge's single labels may be used."""
        return self.state == "passed"


def _counts(pairs: Sequence[Pair], judge_labels: Sequence[str]) -> tuple[dict[tuple[str, str], int], int]:
    """Answers by pair of labels, and how many pairs lack a label; an unknown label is an error."""
    counts: dict[tuple[str, str], int] = {}
    dropped = 0
    for expert, judge in pairs:
        for who, label, allowed in (("expert", expert, LABELS), ("judge", judge, judge_labels)):
            if label is not None and label not in allowed:
                raise DataError(f"the {who}'s label {label!r} is unknown; expected one of {', '.join(allowed)}")
        if expert is None or judge is None:
            dropped += 1
        else:
            counts[expert, judge] = counts.get((expert, judge), 0) + 1
    return counts, dropped


def _kappa(table: np.ndarray) -> np.ndarray:
    """Cohen's kappa of tables of shares (..., k, k); 0 where chance alone agrees always."""
    observed = np.trace(table, axis1=-2, axis2=-1)
    chance = (table.sum(-1) * table.sum(-2)).sum(-1)
    room = 1 - chance
    return np.where(room > 1e-12, (observed - chance) / np.where(room > 1e-12, room, 1.0), 0.0)


def cohen_kappa(pairs: Sequence[Pair]) -> float | None:
    """Agreement of two annotators beyond chance (Cohen 1960), over pairs in which both gave a label.

    None, "undefined", where there is no pair or one of the two used a single label: neither 0 nor 1 would be true then.
    """
    counts, _ = _counts(pairs, LABELS)
    return _kappa_of(counts)


def _kappa_of(counts: Mapping[tuple[str, str], int]) -> float | None:
    if len({a for a, _ in counts}) < 2 or len({b for _, b in counts}) < 2:
        return None
    return float(_kappa(_table(counts, LABELS) / sum(counts.values())))


def _table(counts: Mapping[tuple[str, str], int], labels: Sequence[str]) -> np.ndarray:
    return np.array([[counts.get((a, b), 0) for b in labels] for a in labels], dtype=float)


def gate(pairs: Sequence[Pair], seed: int = SEED, looks: int = 1) -> Gate:
    """Whether the judge may grade single answers, from (expert's, judge's) labels of answers that it really graded.

    It passes when the one-sided 95 % lower bounds of kappa (seeded Dirichlet draws, a prior of one answer spread
    evenly over the cells) and of agreement (Clopper-Pearson) are above 0.5 and 0.75; with two planned `looks` the
    bounds are at 97.5 %. Under 8 answers that the expert does not call correct nothing can be said. Key 4 of the
    expert is a label of its own here.
    """
    if looks not in (1, 2):
        raise DataError(f"{looks} looks at the gate; expected 1, or 2 if a second one was planned beforehand")
    confidence = 1 - 0.05 / looks
    counts, dropped = _counts(pairs, JUDGE_LABELS)
    n, agreed = sum(counts.values()), sum(k for (a, b), k in counts.items() if a == b)
    used = LABELS if any(a == "declined" for a, _ in counts) else JUDGE_LABELS
    of_label = {a: sum(k for (expert, _), k in counts.items() if expert == a) for a in used}
    faults = n - of_label["correct"]
    kappa_low = agreement_low = None
    if n:
        prior = _table(counts, used).ravel() + 1 / len(used) ** 2
        draws = np.random.default_rng(seed).dirichlet(prior, DRAWS).reshape(DRAWS, len(used), len(used))
        kappa_low = float(np.quantile(_kappa(draws), 1 - confidence))
        agreement_low = float(special.betaincinv(agreed, n - agreed + 1, 1 - confidence)) if agreed else 0.0
    good = agreement_low is not None and agreement_low > AGREEMENT_ABOVE
    good = good and kappa_low is not None and kappa_low > KAPPA_ABOVE
    state = "no data" if not n else "too few faults" if faults < FAULTS_NEEDED else "passed" if good else "failed"
    recall = {a: (counts.get((a, a), 0), total) for a, total in of_label.items()}
    return Gate(
        state=state,
        n=n,
        dropped=dropped,
        agreed=agreed,
        agreement_low=agreement_low,
        kappa=_kappa_of(counts),
        kappa_low=kappa_low,
        faults=faults,
        recall=recall,
        matrix={(a, b): counts.get((a, b), 0) for a in used for b in JUDGE_LABELS},
        confidence=confidence,
        words=_words(state, n, agreed, agreement_low, kappa_low, faults, recall) + _without(pairs, n, agreed, dropped),
    )


def _words(
    state: str,
    n: int,
    agreed: int,
    agreement_low: float | None,
    kappa_low: float | None,
    faults: int,
    recall: Mapping[str, tuple[int, int]],
) -> str:
    if agreement_low is None or kappa_low is None:
        return "The judge was not tested: no answer has both labels."
    seen = (
        f"Judge and expert agree on {agreed} of {n} answers (at least {agreement_low:.2f}, needed above "
        f"{AGREEMENT_ABOVE}; kappa at least {kappa_low:.2f}, needed above {KAPPA_ABOVE})."
    )
    if state == "passed":
        return f"{seen} The judge may grade single answers."
    if state == "too few faults":
        return f"Too few faults to test the judge: {faults} of {n} answers are not correct, {FAULTS_NEEDED} are needed."
    return f"{seen} The judge is not admitted. {_missed(recall)}"


def _missed(recall: Mapping[str, tuple[int, int]]) -> str:
    missed = ", ".join(f"{said} of {total} {label}" for label, (said, total) in recall.items() if said < total)
    if missed:
        return f"Of the expert's labels it recognised {missed}."
    return "It always said what the expert said, but on too few answers, or of one label alone, to show that it can."


def _without(pairs: Sequence[Pair], n: int, agreed: int, dropped: int) -> str:
    """What was left out, and between which bounds agreement would be had the judge graded what the expert did."""
    if not dropped:
        return ""
    ungraded = sum(expert is not None and judge is None for expert, judge in pairs)
    bounds = f": with the {ungraded} that the judge could not grade, {agreed} to {agreed + ungraded} of {n + ungraded}"
    told = f"{dropped} pairs lack" if dropped > 1 else "1 pair lacks"
    return f" {told} a label and {'are' if dropped > 1 else 'is'} not counted{bounds if ungraded else ''}."
