"""A re-index is gated: Hit@5 on the question set before and after, and a set loss refuses it.

What was found under the accepted index is kept by question, so that the old index need not be there any more. Whether
a lost question should have been lost (its document is gone, its group was revoked) is not known here: a person says so
by accepting. A refusal is an outcome like the others, not an error: nothing was accepted, and it says what to do.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path

from .analysis.measures import rank_of
from .errors import DataError, ModelError, StaleError
from .files import read_text, write_text
from .identity import fingerprint
from .records import Question, Record
from .retrieval.hybrid import HybridIndex
from .settings import RetrievalTable

K = 5
FIRST, UNCHANGED, ACCEPTED, REFUSED = "accepted as the first", "accepted before", "accepted", "refused"


@dataclass(frozen=True)
class Accepted(Record):
    """What was found under the index that is accepted: question (by what it asks) -> is its document among the five."""

    index: str  # fingerprint of all that the index and the search depend on
    found: Mapping[str, bool]
    date: str = ""

    def __post_init__(self) -> None:
        kept = isinstance(self.found, Mapping) and all(isinstance(hit, bool) for hit in self.found.values())
        if not (kept and isinstance(self.index, str) and isinstance(self.date, str)):
            raise TypeError("expected index and date as texts, found as true or false for each question")


@dataclass(frozen=True)
class Reindexed:
    """Hit@5 over the questions asked of both indexes; those that are new or were changed since are counted apart.

    `state` is one of FIRST, UNCHANGED (the very index that was accepted), ACCEPTED, REFUSED (which accepted nothing).
    """

    compared: int
    before: int
    after: int
    lost: tuple[str, ...] = ()
    gained: tuple[str, ...] = ()
    not_compared: int = 0
    state: str = ACCEPTED
    most: float = 0.0  # the largest loss that passes

    @property
    def loss(self) -> float:
        """The share of the compared questions by which Hit@5 fell; 0 where it did not."""
        return max(0, self.before - self.after) / self.compared if self.compared else 0.0

    @property
    def words(self) -> str:
        """What a person reads: the counts, the questions, and what to do about a refusal."""
        if self.state == FIRST:
            return FIRST
        names = [
            f"{word}: {', '.join(ids[:10])}{' ...' if len(ids) > 10 else ''}"
            for word, ids in (("lost", self.lost), ("gained", self.gained))
            if ids
        ]
        counts = f"Hit@{K} {self.before} of {self.compared} before, {self.after} after"
        apart = f"{self.not_compared} new or changed, not compared" if self.not_compared else ""
        told = "; ".join(part for part in (counts, *names, apart) if part)
        return f"the re-index is refused: {told}. {self.remedy}" if self.state == REFUSED else told

    @property
    def remedy(self) -> str:
        """What to do about a refusal."""
        return (
            f"That is a loss of {100 * self.loss:.1f} points, at most {100 * self.most:.1f} are allowed "
            "(reindex_max_loss in pilot.toml). Mend the documents or settings, or accept the loss: "
            "`rag-pilot index PILOT --accept-loss`, or pilot.reindex(accept=True) in notebook 02"
        )


def found_by(index: HybridIndex, questions: Iterable[Question], table: RetrievalTable) -> list[tuple[Question, bool]]:
    """For each answerable question: is an accepted document among its asker's first five hits.

    Raises ModelError, with the question's id, where one cannot be asked: a gate that leaves out questions is none.
    """
    by_asker: dict[frozenset[str], list[Question]] = {}
    for question in questions:
        if question.answerable and question.docs:
            by_asker.setdefault(question.groups, []).append(question)
    found: list[tuple[Question, bool]] = []
    for groups, asked in by_asker.items():
        for question in asked:  # what was rewritten is kept
            try:
                index.rewrite(question.question)
            except ModelError as fault:
                raise ModelError(f"question {question.id}: {fault}") from None
        many = index.search_many([q.question for q in asked], groups, K, table.depth, table.rrf_k)
        for question, hits in zip(asked, many, strict=True):
            found.append((question, rank_of(question.docs, [hit.doc for hit in hits]) is not None))
    return found


def gate(
    path: Path, index: str, found: Sequence[tuple[Question, bool]], most: float, accept: bool = False
) -> Reindexed:
    """Compare with what `path` says was accepted, and accept the index if it is the first or loses at most `most`.

    Beyond that loss it is REFUSED, and nothing is accepted, unless told to `accept`. Questions that were added since
    the very same index was accepted are kept with it, so that the next one is compared on them too. Raises DataError
    for a file that cannot be read.
    """
    now = {_key(question): question for question, _ in found}
    hit = {_key(question): hit for question, hit in found}
    old = _accepted(path)
    known = {key: old.found[key] for key in now if old and key in old.found}
    result = Reindexed(
        len(known),
        sum(known.values()),
        sum(hit[key] for key in known),
        tuple(now[key].id for key in known if known[key] and not hit[key]),
        tuple(now[key].id for key in known if hit[key] and not known[key]),
        len(now) - len(known),
        ACCEPTED if old else FIRST,
        most,
    )
    same = old is not None and old.index == index
    if old and not accept and same:
        result, hit = replace(result, state=UNCHANGED), {**hit, **old.found}
    elif old and not accept and result.loss > most:
        return replace(result, state=REFUSED)
    if not (old and same and old.found == hit):
        entry = Accepted(index, hit, date.today().isoformat())
        write_text(path, json.dumps(entry.as_json(), ensure_ascii=False, indent=1) + "\n")
    return result


def check_accepted(path: Path, index: str) -> None:
    """Raise StaleError where another index was accepted and this one was not looked at, or was refused."""
    old = _accepted(path)
    if old and old.index != index:
        raise StaleError(
            "documents, settings or the version of this program have changed since an index was accepted on "
            f"{old.date}, and this one is not: see "
            "what it loses in notebook 02 or with `rag-pilot index PILOT`, then run again"
        )


def _key(question: Question) -> str:
    """What a question asks and of whom: an amended expected answer is the same question, another document is not."""
    return f"{question.id} {fingerprint([question.question, sorted(question.groups), sorted(question.docs)])}"


def _accepted(path: Path) -> Accepted | None:
    if not path.exists():
        return None
    try:
        return Accepted.from_json(json.loads(read_text(path)))
    except (ValueError, TypeError, AttributeError) as fault:
        raise DataError(
            f"{path} cannot be read ({fault}): remove it, the present index then counts as the first accepted one"
        ) from None
