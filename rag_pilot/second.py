"""A second person reads some of the answers that the expert has read, blind: how far they agree, and what to settle.

Her labels are of kind `second` and count nowhere: the annotator's do, until both have settled an answer by one more
label (`adjudicated`). How good either of them is is not known here.
"""

from __future__ import annotations

import random
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .errors import DataError
from .grading.agreement import cohen_kappa
from .grading.labels import counting
from .identity import fold
from .reading import form_for, items, say, sentence
from .records import Label
from .results import Result

if TYPE_CHECKING:
    from IPython.display import HTML

    from .grading.form import LabelForm

READS = 12
"""Answers that a second person reads: between ten and fifteen, an hour's quarter."""


@dataclass(frozen=True)
class Second:
    """What two persons said of the same answers; ids in the order of reading."""

    drawn: tuple[str, ...]
    pairs: dict[str, tuple[Label, Label]]  # question -> the annotator's label and the other person's
    settled: dict[str, Label]

    @property
    def agreed(self) -> int:
        """Answers with the same label twice."""
        return sum(first.label == other.label for first, other in self.pairs.values())

    @property
    def kappa(self) -> float | None:
        """Agreement beyond chance; None where it is undefined."""
        return cohen_kappa([(first.label, other.label) for first, other in self.pairs.values()])

    @property
    def differing(self) -> list[str]:
        """Answers that they label differently."""
        return [i for i, (first, other) in self.pairs.items() if first.label != other.label]


def second_reading(result: Result) -> Second:
    """The answers drawn for a second person, and what both said; drawn by seed among those that the annotator read.

    Nothing is drawn before she has read all of the sample: the draw would be of what she read first.
    """
    main, seed = result.settings.pilot.annotator, result.settings.pilot.seed
    last = counting(result.all_labels)
    now = [line for line in last if line.label and line.answer_sha == _sha(result, line)]
    own = {line.question_id: line for line in now if line.kind == "label" and line.annotator == main}
    hers = [i for i in result.first_to_read if i in own]
    done, wanted = result.labelled
    drawn = set(random.Random(seed + 2).sample(hers, min(READS, len(hers)))) if done == wanted else set()
    others = {line.question_id: line for line in now if line.kind == "second" and line.annotator != main}
    return Second(
        tuple(i for i in hers if i in drawn),
        {i: (own[i], others[i]) for i in hers if i in others},
        {line.question_id: line for line in now if line.kind == "adjudicated"},
    )


def _sha(result: Result, line: Label) -> str | None:
    answer = result.run.answers.get(line.question_id)
    return answer.sha if answer else None


def second_form(result: Result, annotator: str, groups: Collection[str] = (), language: str = "") -> LabelForm | HTML:
    """The form for a second person, of `groups` beside everyone's; a sentence before the annotator is through.

    DataError where the person is the annotator herself or has no name.
    """
    main = result.settings.pilot.annotator
    if fold(annotator).strip() in ("", fold(main).strip()):
        raise DataError(f"found annotator={annotator!r}; expected the name of a second person, who is not {main!r}")
    drawn = second_reading(result).drawn
    if not drawn:
        done, wanted = result.labelled
        return sentence(say(result.pilot, language)["second_later"].format(done, wanted))
    found = [replace(item, kind="second") for item in items(result) if item.question_id in drawn]
    return form_for(result, found, language, annotator, groups)


def settling_form(result: Result, language: str = "") -> LabelForm | HTML:
    """The form in which both settle the answers that they labelled differently; their labels stand in the table."""
    differing = second_reading(result).differing
    if not differing:
        return sentence(say(result.pilot, language)["nothing_to_settle"])
    found = [replace(item, kind="adjudicated") for item in items(result) if item.question_id in differing]
    return form_for(result, found, language)
