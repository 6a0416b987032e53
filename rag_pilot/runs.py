"""A run: one complete pass over the questions, as it stands in its folder.

Answers and verdicts are lines of JSON, what was asked of whom stands in run.json; numbers are counted from the lines.
How a run is made is not known here.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .analysis.latency import stage_times
from .analysis.measures import rank_of
from .errors import DataError, StaleError
from .files import cut_half_line, dumps, read_records, read_text, write_text
from .records import Answer, Question, Verdict

AGAIN = "baseline-again"
"""What a run is called that asks the baseline a second time, to see what a model varies by itself."""


@dataclass(frozen=True)
class Run:
    """One complete pass over the questions: answers and verdicts by question id, in the order of the questions.

    `info` is what stands in run.json: settings, fingerprints, model names as answered, counts.
    """

    questions: tuple[Question, ...]
    answers: Mapping[str, Answer]
    verdicts: Mapping[str, Verdict]
    info: Mapping[str, Any] = field(default_factory=dict)
    folder: Path | None = None

    @property
    def id(self) -> str:
        """The name of the run's folder; empty for a run in memory."""
        return self.folder.name if self.folder else ""

    @property
    def labels(self) -> Counter[str]:
        """How often each label was given by rule and judge, of all questions; `ungraded` and `error` have none."""
        return Counter(
            "error" if a.status == "error" else getattr(self.verdicts.get(i), "label", None) or "ungraded"
            for i, a in self.answers.items()
        )

    @property
    def found(self) -> tuple[int, int]:
        """(answerable questions with an accepted document among the hits, answerable questions), as in the article.

        A question that ended in an error has no hits on record and is in neither number: see `errors`.
        """
        asked = [q for q in self.questions if q.answerable and self.answers[q.id].status != "error"]
        ranks = [rank_of(q.docs, [h["doc"] for h in self.answers[q.id].hits]) for q in asked]
        return sum(rank is not None for rank in ranks), len(asked)

    @property
    def errors(self) -> int:
        """How many questions ended in an error, neither answered nor declined."""
        return sum(a.status == "error" for a in self.answers.values())


def open_run(folder: Path, questions: Collection[Question]) -> Run:
    """A run from its folder; its answers must be of these questions (DataError), and one each."""
    info = read_info(folder)
    if not (folder / "answers.jsonl").exists():
        raise DataError(f"{folder} holds no answers.jsonl: restore the file, or remove the folder and run again")
    rows = read_records(folder / "answers.jsonl", Answer.from_json)
    answers = {row.question_id: row for row in rows}
    asked = [q for q in questions if q.id in answers]
    if len(answers) < len(rows) or len(asked) < len(answers):
        raise DataError(f"{folder / 'answers.jsonl'}: answers do not fit the questions; run again, or restore the file")
    if info.get("complete") and len(rows) != info.get("asked", len(rows)):
        raise DataError(
            f"{folder / 'answers.jsonl'}: holds {len(rows)} answers of a complete run of {info['asked']} questions; "
            "restore the file, or remove the folder and run again"
        )
    graded = folder / "verdicts.jsonl"
    verdicts = {v.question_id: v for v in read_records(graded, Verdict.from_json)} if graded.exists() else {}
    return Run(tuple(asked), {q.id: answers[q.id] for q in asked}, verdicts, info, folder)


def resume(folder: Path, questions: Sequence[Question], info: Mapping[str, Any]) -> dict[str, Answer]:
    """What an interrupted run in this folder has answered; writes run.json of a new one."""
    if not (folder / "run.json").exists():
        write_info(folder, {**info, "complete": False, "asked": len(questions)})
        return {}
    begun = read_info(folder)
    now = json.loads(dumps(info))
    if differing := [name for name in ("config", "how") if begun.get(name) != now.get(name)]:
        found = "; ".join(f"{name}: {begun.get(name)}, now {now.get(name)}" for name in differing)
        raise StaleError(f"{folder.name} was begun with another configuration ({found}); start a run of another name")
    known = {q.id for q in questions}
    return {a.question_id: a for a in answers_in(folder) if a.question_id in known}


def answers_in(folder: Path) -> list[Answer]:
    """The answers of an interrupted run so far; a half line at the end is cut off, its question is asked again."""
    path = folder / "answers.jsonl"
    if not path.exists():
        return []
    with path.open("a+b") as file:
        cut_half_line(path, file)
    return read_records(path, Answer.from_json)


def read_info(folder: Path) -> dict[str, Any]:
    """What stands in run.json; DataError where there is none, or none that can be read."""
    path = folder / "run.json"
    try:
        info: dict[str, Any] = json.loads(read_text(path))
    except (FileNotFoundError, ValueError) as fault:
        raise DataError(f"{path}: no run can be read here ({fault}); restore the file or run again") from None
    return info


def counted(
    info: Mapping[str, Any],
    questions: Sequence[Question],
    answers: Mapping[str, Answer],
    verdicts: Mapping[str, Verdict],
) -> dict[str, Any]:
    """What stands in run.json of a run that ended: `info` with every count of its answers and verdicts."""
    statuses = Counter(a.status for a in answers.values())
    final = sum(a.final for a in answers.values())
    asked: dict[str, Sequence[Mapping[str, Any]]] = {
        "rewrite": [a.rewriting for a in answers.values() if a.rewriting],
        "answers": [
            {"tokens_in": a.tokens_in, "tokens_out": a.tokens_out, "reused": a.reused}
            for a in answers.values()
            if a.reused is not None
        ],
        "judge": [{"reused": v.reused, **v.spent} for v in verdicts.values() if v.reused is not None],
    }
    times = stage_times(answers.values(), {}, verdicts.values())
    return {
        **info,
        "complete": statuses["error"] == final,
        "asked": len(questions),
        **{status: statuses[status] for status in ("answered", "declined", "error")},
        "final_errors": final,
        "decline_reasons": dict(Counter(a.why for a in answers.values() if a.status == "declined")),
        "flags": dict(Counter(flag for a in answers.values() for flag in a.flags)),
        "sentences": {
            "all": sum(a.sentences for a in answers.values()),
            "uncited": sum(a.uncited for a in answers.values()),
        },
        "not_rewritten": sum(bool(a.not_rewritten) for a in answers.values()),
        "models": sorted({a.model for a in answers.values() if a.model}),
        "not_applied": sorted({name for a in answers.values() for name in a.not_applied}),
        "judge_not_applied": sorted({name for v in verdicts.values() for name in v.spent.get("not_applied", ())}),
        "tokens_in": sum(a.tokens_in for a in answers.values()),
        "tokens_out": sum(a.tokens_out for a in answers.values()),
        "replies": {who: _replies(rows) for who, rows in asked.items()},
        "seconds": {t.stage: {"measured": t.n, "p50": t.p50, "p95": t.p95} for t in times},
    }


def _replies(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How many were kept from earlier calls and how many are new; the tokens are those of all, told by the endpoint."""
    reused = sum(bool(row["reused"]) for row in rows)
    tokens = {name: sum(row.get(name, 0) for row in rows) for name in ("tokens_in", "tokens_out")}
    return {"reused": reused, "new": len(rows) - reused, **tokens}


def write_info(folder: Path, info: Mapping[str, Any]) -> None:
    """Write run.json."""
    write_text(folder / "run.json", json.dumps(info, ensure_ascii=False, indent=1, allow_nan=False) + "\n")
