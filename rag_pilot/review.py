"""Spot checks: answers of a run, or of production, that a person re-reads at intervals, held against the judge.

A draw is made by seed, written to data/<pilot>/reviews/ before anything of it is read, and the same until all of it is
read; the next one holds other answers. Its labels are of kind `spot`: no score, no gate and no sample counts them.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .analysis.grades import judge_label
from .analysis.sample import needs_person
from .analysis.shares import Share
from .errors import DataError
from .files import read_text, write_text
from .grading.agreement import AGREEMENT_ABOVE
from .grading.items import Item, missing
from .grading.labels import LabelStore
from .grading.production import Production, Served, item_of
from .looks import FILE, judge_id, read_looks, tested
from .pilot import Pilot
from .reading import say, sentence, spot_form, spot_items
from .records import LABELS, Record
from .results import Result
from .stored import stored_result, stored_runs

if TYPE_CHECKING:
    from IPython.display import HTML

    from .grading.form import LabelForm

SEVERITY = {label: place for place, label in enumerate(LABELS[:3])}
"""Who is stricter; a declined answer is neither better nor worse than another label."""


@dataclass(frozen=True)
class Draw(Record):
    """One spot check as it was drawn: `of` answers could be drawn, `closed` more the annotator may not open, and of
    `gone` more the question or a text that was shown is gone.

    `run` is empty for answers of a file, which are kept whole in `served`; `drawn` is (id, answer_sha) of each;
    an id of a file follows the file's name, such as real.jsonl:7.
    """

    name: str
    date: str
    annotator: str
    source: str  # the run's or the file's name
    seed: int
    of: int
    closed: int
    drawn: tuple[tuple[str, str], ...]
    run: str = ""
    gone: int = 0
    left_out: int = 0  # rows of the file that could not be read
    served: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True)
class SpotCheck:
    """What came of a draw: of each answer that was read (id, the person's label, the judge's or None).

    `waiting` are unread answers that she may open; the others that she may no longer open are `closed`.
    """

    draw: Draw
    rows: tuple[tuple[str, str, str | None], ...]
    waiting: int
    gone: bool = False  # its run is no longer on disk, and with it what the judge said
    tested: tuple[int, int] | None = None  # (agreed, of) when its judge was last tested; None: never

    @property
    def done(self) -> bool:
        """Whether all that she may open is read; until then nothing of the judge is shown."""
        return not self.waiting

    @property
    def closed(self) -> int:
        """Unread answers that she may no longer open, or whose question, text or run is gone."""
        return len(self.draw.drawn) - len(self.rows) - self.waiting

    @property
    def judged(self) -> list[tuple[str, str, str]]:
        """The answers that both have labelled."""
        return [(i, person, judge) for i, person, judge in self.rows if judge is not None]

    @property
    def agreement(self) -> Share:
        """How often both say the same, of the answers that both have labelled."""
        same, without = sum(a == b for _, a, b in self.judged), len(self.rows) - len(self.judged)
        return Share(same, len(self.judged), {"without a judge's label": without} if without else {})

    @property
    def stricter(self) -> tuple[int, int]:
        """(answers of which the person thinks worse than the judge, and of which the judge does)."""
        pairs = [(SEVERITY[a], SEVERITY[b]) for _, a, b in self.judged if a in SEVERITY]
        return sum(a > b for a, b in pairs), sum(a < b for a, b in pairs)

    @property
    def words(self) -> str:
        """What follows: nothing but from an interval that leaves no doubt."""
        interval = self.agreement.interval
        if not self.done:
            return f"{self.waiting} of {len(self.draw.drawn)} answers wait to be read; the judge is shown when all are."
        if self.gone:
            return f"The run {self.draw.run} is no longer on disk, and with it what the judge said."
        if interval is None:
            return "No judge graded these answers: the labels stand alone."
        mend = "mend the judge on the answers below and test it again (06) before it grades others."
        if interval.high < AGREEMENT_ABOVE:
            return f"They diverge: {mend} {self.drift}"
        if self.drifted:
            return f"{self.drift} Have the documents or questions changed? If not, {mend}"
        if interval.low > AGREEMENT_ABOVE:
            return f"The judge still agrees with the person. {self.drift}"
        few = f"So few answers do not tell whether agreement is above {AGREEMENT_ABOVE}, as the judge needs."
        return f"{few} {self.drift}"

    @property
    def p(self) -> float | None:
        """Fisher's exact p, two-sided: agreement when the judge was tested against agreement now; None: not known."""
        if not self.tested or not self.judged:
            return None
        from scipy.stats import fisher_exact

        rows = [(count, n - count) for count, n in (self.tested, (self.agreement.count, self.agreement.n))]
        return float(fisher_exact(rows)[1])

    @property
    def drifted(self) -> bool:
        """Whether the judge is shown to agree less often than when it was tested."""
        if self.p is None or self.tested is None:
            return False
        then, n = self.tested
        return self.p <= 0.05 and self.agreement.count * n < then * self.agreement.n

    @property
    def drift(self) -> str:
        """What the agreement says beside that of the judge's test."""
        if self.p is None or self.tested is None:
            return "Whether that is less than when it was tested cannot be told: no test of this judge is on record."
        (then, n), now = self.tested, self.agreement
        said = "it agrees less" if self.drifted else "no drift is shown by this many"
        return (
            f"When tested the judge agreed on {then} of {n}, now on {now.count} of {now.n}: {said} "
            f"(Fisher's exact test, p = {self.p:.2g})."
        )


# -- drawing -----------------------------------------------------------------------------------------------------------


def draw_from_run(result: Result, n: int) -> Draw:
    """Draw from the answers of a run that need a person and that no person has read; those of the sample are not among
    them. The open draw of this run, where one is not read through."""
    read = {*result.to_read, *result.expert.current}
    needed = [q.id for q in result.questions if needs_person(q, result.run.answers[q.id]) and q.id not in read]
    found = spot_items(result, needed)
    none = "no answer that needs a person is unread and open to the annotator"
    name, gone = result.run.id, len(needed) - len(found)
    if gone:
        none += f"; of {gone} the question or a text that was shown is gone since: run again"
    return _open(result.pilot, name) or _draw(result.pilot, name, found, n, none, run=name, gone=gone)


def draw_from_file(pilot: Pilot, served: Production, n: int) -> Draw:
    """Draw from the answers of a file that the annotator may read (see `grading.production`)."""
    documents = {d.id: d for d in pilot.documents().documents}
    found = [item_of(answer, documents, served.path.name) for answer in served.answers]
    none = (
        f"none of its {len(found)} answers is undrawn and open to {pilot.settings.pilot.annotator}: it must name its "
        f"asker's groups (such as {pilot.everyone}), all of them hers, and no document but those that she may open"
    )
    name, left_out = served.path.name, len(served.left_out)
    rows = {item.question_id: a.as_json() for item, a in zip(found, served.answers, strict=True)}
    return _open(pilot, name) or _draw(pilot, name, found, n, none, left_out=left_out, served=rows)


def draws(pilot: Pilot) -> list[Draw]:
    """Every draw of a pilot, oldest first; DataError where a file of them cannot be read."""
    found = []
    for path in sorted((pilot.data / "reviews").glob("*.json")):
        try:
            row = json.loads(read_text(path))
            found.append(Draw.from_json({**row, "drawn": [(str(i), str(sha)) for i, sha in row["drawn"]]}))
        except (ValueError, TypeError, KeyError) as fault:
            raise DataError(f"{path}: no draw can be read here ({fault}); restore the file, or remove it") from None
    return found


def _open(pilot: Pilot, source: str) -> Draw | None:
    """The annotator's last draw of this source, if an answer of it waits."""
    key = source, pilot.settings.pilot.annotator
    last = next((draw for draw in reversed(draws(pilot)) if (draw.source, draw.annotator) == key), None)
    return last if last and not check_of(pilot, last).done else None


def _draw(
    pilot: Pilot,
    source: str,
    items: Sequence[Item],
    n: int,
    none: str,
    *,
    run: str = "",
    gone: int = 0,
    left_out: int = 0,
    served: Mapping[str, Any] | None = None,
) -> Draw:
    if n < 1:
        raise DataError(f"{n} answers cannot be drawn; expected 1 or more, such as 15")
    table, before = pilot.settings.pilot, draws(pilot)
    spots = [label for label in LabelStore(pilot.data / "labels.jsonl").counting() if label.kind == "spot"]
    known = {(label.question_id, label.answer_sha) for label in spots}  # by whomever; what waits for another does not
    known |= {one for draw in before if draw.annotator == table.annotator for one in draw.drawn}
    fresh = [item for item in items if (item.question_id, item.answer_sha) not in known]
    groups = pilot.annotator_groups
    pool = {item.question_id: item.answer_sha for item in fresh if not missing(item, groups)}
    if not pool:
        raise DataError(f"{source}: nothing to draw: {none}")
    number = 1 + max((int(led[0]) for draw in before if (led := re.match("[0-9]+", draw.name))), default=0)
    name = f"{number:03}-{Path(source).stem}"
    path = pilot.data / "reviews" / f"{name}.json"
    if path.exists():
        raise DataError(f"{path}: stands here already, and the draw in it has another name; move the file elsewhere")
    used = {draw.seed for draw in before}
    seed = next(seed for seed in count(table.seed + number - 1) if seed not in used)
    chosen = random.Random(seed).sample(sorted(pool), min(n, len(pool)))
    draw = Draw(
        name=name,
        date=date.today().isoformat(),
        annotator=table.annotator,
        source=source,
        seed=seed,
        of=len(pool),
        closed=len(fresh) - len(pool),
        drawn=tuple((i, pool[i]) for i in chosen),
        run=run,
        gone=gone,
        left_out=left_out,
        served=tuple(served[i] for i in chosen) if served else (),
    )
    text = json.dumps(draw.as_json(), ensure_ascii=False, indent=1, allow_nan=False)
    write_text(path, text + "\n")
    return draw


# -- reading and result ------------------------------------------------------------------------------------------------


def review_items(pilot: Pilot, draw: Draw) -> list[Item]:
    """The answers of a draw as the form shows them, under the access files as they stand now."""
    if draw.run:
        result = _opened(pilot, draw)
        if result is None:
            return []
        texts_now = {i: result.run.answers[i].sha for i, _ in draw.drawn if i in result.run.answers}
        return spot_items(result, [i for i, sha in draw.drawn if texts_now.get(i) == sha])
    documents = {d.id: d for d in pilot.documents().documents}
    return [item_of(Served.from_json(row), documents, draw.source) for row in draw.served]


def review_form(pilot: Pilot, language: str = "") -> LabelForm | HTML:
    """The form over the annotator's newest draw of which an answer waits, else over the last one.

    A sentence where nothing was drawn, or the last draw was made for somebody else.
    """
    found, annotator = draws(pilot), pilot.settings.pilot.annotator
    if not found:
        return sentence(say(pilot, language)["no_draw"])
    hers = (draw for draw in reversed(found) if draw.annotator == annotator)
    shown = next((draw for draw in hers if not check_of(pilot, draw).done), found[-1])
    if shown.annotator != annotator:
        return sentence(say(pilot, language)["draw_of_another"].format(shown.name, shown.annotator, annotator))
    return spot_form(pilot, review_items(pilot, shown), shown.annotator, language)


def spot_checks(pilot: Pilot) -> list[SpotCheck]:
    """What came of every draw so far, oldest first."""
    return [check_of(pilot, draw) for draw in draws(pilot)]


def check_of(pilot: Pilot, draw: Draw) -> SpotCheck:
    """What came of one draw so far."""
    labels = LabelStore(pilot.data / "labels.jsonl").counting()
    hers = {(x.question_id, x.answer_sha): x.label for x in labels if (x.annotator, x.kind) == (draw.annotator, "spot")}
    read = [(i, label) for i, sha in draw.drawn if (label := hers.get((i, sha)))]
    groups = pilot.annotator_groups
    unread = [item for item in review_items(pilot, draw) if (item.question_id, item.answer_sha) not in hers]
    judged: dict[str, str | None] = {}
    last: tuple[int, int] | None = None
    gone = bool(draw.run) and draw.run not in stored_runs(pilot)
    if read and (result := _opened(pilot, draw)):
        run = result.run
        judged = {i: judge_label(run.answers[i], result.verdicts.get(i)) for i, _ in read if i in run.answers}
        last = tested(read_looks(pilot.data / FILE), judge_id(run.info.get("judge") or {}))
    rows = tuple((i, label, judged.get(i)) for i, label in read)
    return SpotCheck(draw, rows, sum(not missing(item, groups) for item in unread), gone, last)


def _opened(pilot: Pilot, draw: Draw) -> Result | None:
    """The run of a draw, its questions those that the set still has; None where there is none on disk."""
    return stored_result(pilot, draw.run, gone=True) if draw.run in stored_runs(pilot) else None
