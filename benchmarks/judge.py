"""The offline judge, or any other, against people, beside baselines that cost nothing.

    python benchmarks/judge.py [--json FILE] [--sets evouna mtrag_human sample] [--pilot NAME] [--even]

Sets: evouna (correct or wrong; any of several expected answers will do), mtrag_human (correct, partly, wrong) and all
labels of data/sample, where the citation rule stands behind every judge as it does in a pilot. What was developed was
developed on questions whose id has an even SHA-256 (all answers to one question are on one side); the odd ones are
reported, --even shows the others. The baselines are always-correct, exact containment (case, accents, punctuation and
articles aside), token-overlap F1 and token recall; the cut-offs of the last two are the best of the even half, set by
set. Where people gave two labels a judge's partly is wrong. --pilot adds the judge of that pilot's pilot.toml, called
model. fitted is the offline judge fitted to the answers that it is held against, 50 at a time and always without the
answer itself, as a pilot fits it; where fewer than 30 are left it says nothing of them, and that is no figure.

Figures, with JUDGE one of offline, fitted, model, always, contains, f1, recall: kappa, weighted_kappa (linear),
agreement, unreadable (share), each .SET.JUDGE; kappa_low and agreement_low, the gate's one-sided 95 % bounds; n.SET;
kappa.SET.best_baseline. Of mtrag_human, kappa and agreement .humans (two annotators against each other) and
.human_label (one against the label that the means of all three make), and the same _faithful, on faithful or not.
faithful.mtrag_human.JUDGE is kappa on faithful or not, JUDGE one of offline (supported claims / claims, at least
FAITHFUL), model (--pilot, where its judge.scores is model), always, overlap (share of the answer's words that its
passages hold, the cut-off of the even half) and humans; .best_baseline, undefined.mtrag_human.JUDGE (share without
a claim), faithful_agreement, faithful_low (one-sided 95 % bound of kappa). The answers of that set cite nothing, so
each claim is held against all passages of its question.
A kappa that is undefined (one of the two used a single label) is no figure. What is unreadable is in no kappa. The
bounds take answers for independent; several answers to one question are not quite, and the truth is a little wider.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import cohen_kappa_score

from rag_pilot.analysis.intervals import wilson
from rag_pilot.examples import example_runs
from rag_pilot.files import read_jsonl
from rag_pilot.fitting import LABELS_NEEDED, groups_of, out_of_fold
from rag_pilot.grading.agreement import Gate, Pair, cohen_kappa, gate
from rag_pilot.grading.faithfulness import FAITHFUL, Checked, claims_of, faithfulness
from rag_pilot.grading.judge import Judge, Judgement, features, offline_judge
from rag_pilot.grading.labels import LabelStore
from rag_pilot.identity import fold_word
from rag_pilot.ledger import Ledger
from rag_pilot.models import scorer_of
from rag_pilot.pilot import Pilot
from rag_pilot.records import JUDGE_LABELS, Hit

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
SETS, SEED, AT_A_TIME = ("evouna", "mtrag_human", "sample"), 1, 50
WORST_FIRST = (None, "wrong", "partly", "correct")
Label = str | None


@dataclass(frozen=True)
class Row:
    """One answer that a person labelled; `cited`: whether it cites a document that the reference accepts."""

    question_id: str
    question: str
    expected: tuple[str, ...]
    text: str
    label: str
    cited: bool = True

    @property
    def even(self) -> bool:
        """Whether it is of the half to develop on."""
        return int(hashlib.sha256(self.question_id.encode()).hexdigest(), 16) % 2 == 0


def rows_of(name: str, data: Path) -> list[Row]:
    """The labelled answers of a set."""
    if name == "sample":
        return sample_rows()
    rows = []
    for _, row in read_jsonl(data / name / "labels.jsonl"):
        question, _, _ = row["id"].rpartition("-" if name == "evouna" else "|")  # the rest of the id is the system
        ways = row["expected"].split("/") if name == "evouna" else [row["expected"]]
        expected = tuple(way.strip() for way in ways if way.strip())
        rows.append(Row(question, row["question"], expected, row["answer"], row["label"]))
    return rows


def sample_rows() -> list[Row]:
    """Every answer of the sample that was read, each text once: of its runs, of check/ and of its example runs."""
    ledger = Ledger(Pilot.open("sample", ROOT))
    own = [ledger.result(()), *(one.after for one in ledger.attempt_all())]
    check = LabelStore(ledger.pilot.data / "check" / "labels.jsonl").counting()
    rows: dict[tuple[str, str], Row] = {}
    for result in (*own, *example_runs(ledger.pilot)):
        answers = result.run.answers
        read = {label.question_id: label for label in check if label.answer_sha == answers[label.question_id].sha}
        for i, label in {**read, **result.expert.current}.items():
            q, a = result.by_id[i], answers[i]
            cites = not q.docs.isdisjoint(a.docs)
            rows[i, a.sha] = Row(i, q.question, (q.expected,), a.text or "", label.label or "", cites)
    return list(rows.values())


# -- judges ----------------------------------------------------------------------------------------------------------


def tokens(text: str) -> list[str]:
    return [w for w in re.findall(r"\w+", fold_word(re.sub(r"\[\d+\]", " ", text))) if w not in ("a", "an", "the")]


def recall(expected: str, text: str) -> float:
    wanted = set(tokens(expected))
    return len(wanted & set(tokens(text))) / len(wanted) if wanted else 0.0


def f1(expected: str, text: str) -> float:
    wanted, held = set(tokens(expected)), set(tokens(text))
    return 2 * len(wanted & held) / (len(wanted) + len(held)) if wanted or held else 0.0


def contains(expected: str, text: str) -> float:
    wanted = " ".join(tokens(expected))
    return float(bool(wanted) and wanted in " ".join(tokens(text)))


def labels_by(judge: Judge, rows: Sequence[Row]) -> list[Label]:
    """A judge's label of every row: the best that any of the expected answers gives."""

    def label(row: Row, expected: str) -> Label:
        said = judge(row.question, expected, row.text)
        return said.label if isinstance(said, Judgement) else said

    return [max((label(row, e) for e in row.expected), key=WORST_FIRST.index) for row in rows]


def labels_by_score(score: Callable[[str, str], float], rows: Sequence[Row]) -> list[Label]:
    """Labels by a score and the two cut-offs that give the even half its best kappa."""
    scores = [max(score(e, row.text) for e in row.expected) for row in rows]
    grid = [n / 20 for n in range(1, 21)]
    even = [(s, row) for s, row in zip(scores, rows, strict=True) if row.even]
    two = len({row.label for row in rows}) == 2

    def kappa(cuts: tuple[float, float]) -> float:
        return cohen_kappa([(row.label, ruled(row, cut(s, *cuts), two)) for s, row in even]) or -1.0

    best = max(((some, full) for some in grid for full in grid if some <= full), key=kappa)
    return [cut(s, *best) for s in scores]


def cut(score: float, some: float, full: float) -> str:
    return "correct" if score >= full else "partly" if score >= some else "wrong"


def ruled(row: Row, label: Label, two: bool) -> Label:
    """After the citation rule, and partly as wrong where people gave only two labels."""
    label = "partly" if label == "correct" and not row.cited else label
    return "wrong" if label == "partly" and two else label


def labels_fitted(rows: Sequence[Row], asked: Sequence[int]) -> list[Label]:
    """Labels of those rows by fits on 50 of them at a time, of each row by one that did not see its question."""
    found: list[Label] = [None] * len(rows)
    shuffled = random.Random(SEED).sample(asked, len(asked))
    for some in (shuffled[n : n + AT_A_TIME] for n in range(0, len(shuffled), AT_A_TIME)):
        if len(some) >= LABELS_NEEDED:
            x = np.array([_features(rows[n]) for n in some])
            groups = groups_of([rows[n].question for n in some])
            for n, label in zip(some, out_of_fold(x, [rows[n].label for n in some], groups), strict=True):
                found[n] = label
    return found


def _features(row: Row) -> Sequence[float]:
    """Against the expected answer that fits best by the fixed weights."""
    best = max(row.expected, key=lambda e: WORST_FIRST.index(offline_judge(row.question, e, row.text).label))
    return features(row.question, best, row.text)


def judgements(rows: Sequence[Row], model: Judge | None, asked: Sequence[int]) -> dict[str, list[Label]]:
    """Every judge's labels of the rows; of the fitted one only of those that are asked for."""
    found = {"offline": labels_by(offline_judge, rows)}
    if len(asked) >= LABELS_NEEDED:
        found["fitted"] = labels_fitted(rows, asked)
    if model is not None:
        found["model"] = labels_by(model, rows)
    found["always"] = ["correct"] * len(rows)
    found["contains"] = [cut(max(contains(e, r.text) for e in r.expected), 1, 1) for r in rows]
    return found | {s.__name__: labels_by_score(s, rows) for s in (f1, recall)}


# -- people ----------------------------------------------------------------------------------------------------------


def humans(data: Path, even: bool) -> dict[str, list[Pair]]:
    """Annotators of mtrag_human against each other, in either order, and against the label made of all three's means.

    `faithful` is faithful (here correct) or not. The label holds the annotator's own scores: a flattering comparison.
    """
    found: dict[str, list[Pair]] = {"humans": [], "human_label": [], "humans_faithful": [], "human_label_faithful": []}
    left_out = 0
    for _, row in read_jsonl(data / "mtrag_human" / "labels.jsonl"):
        if Row(row["id"].rpartition("|")[0], "", (), "", "").even != even:
            continue
        scores = [row["scores"][d] for d in ("faithfulness", "appropriateness", "completeness")]
        if len({len(of_all) for of_all in scores}) > 1:  # whose score is missing is not known
            left_out += 1
            continue
        labels = [cut(min(three), 3, 4) for three in zip(*scores, strict=True)]
        faithful = [cut(score, 4, 4) for score in scores[0]]
        found["humans"] += permutations(labels, 2)
        found["human_label"] += [(row["label"], label) for label in labels]
        found["humans_faithful"] += permutations(faithful, 2)
        found["human_label_faithful"] += [("correct" if row["faithful"] else "wrong", label) for label in faithful]
    print(f"mtrag_human  {left_out} answers with a score missing are not in the comparison of annotators")
    return found


# -- faithful or not ---------------------------------------------------------------------------------------------------


def faithful_figures(data: Path, even: bool, llm: Callable[[str], str] | None) -> dict[str, float]:
    """Print faithful or not by every judge against people on mtrag_human; the figures of it."""
    rows = [row for _, row in read_jsonl(data / "mtrag_human" / "labels.jsonl")]
    halves = [Row(row["id"].rpartition("|")[0], "", (), "", "").even for row in rows]
    people = ["correct" if row["faithful"] else "wrong" for row in rows]
    shares = [overlap(row) for row in rows]
    grid = [n / 20 for n in range(1, 21)]

    def kappa(at: float) -> float:
        return cohen_kappa([(p, cut(s, at, at)) for p, s, h in zip(people, shares, halves, strict=True) if h]) or -1.0

    best = max(grid, key=kappa)
    asked = [n for n, half in enumerate(halves) if half == even]
    said: dict[str, list[Label]] = {"offline": [faithful_label(checked(rows[n], None)) for n in asked]}
    if llm is not None:
        said["model"] = [faithful_label(checked(rows[n], llm)) for n in asked]
    said |= {"always": ["correct"] * len(asked), "overlap": [cut(shares[n], best, best) for n in asked]}
    figures, baselines = dict[str, float](), []
    for judge, labels in said.items():
        found = report("mtrag faithf", judge, [(people[n], label) for n, label in zip(asked, labels, strict=True)])
        for figure, name in (("kappa", "faithful"), ("agreement", "faithful_agreement"), ("kappa_low", "faithful_low")):
            if f"{figure}.mtrag faithf.{judge}" in found:
                figures[f"{name}.mtrag_human.{judge}"] = found[f"{figure}.mtrag faithf.{judge}"]
        figures[f"undefined.mtrag_human.{judge}"] = found[f"unreadable.mtrag faithf.{judge}"]
        if judge in ("always", "overlap"):
            baselines.append(figures.get(f"faithful.mtrag_human.{judge}"))
    known = [value for value in baselines if value is not None]
    return figures | ({"faithful.mtrag_human.best_baseline": max(known)} if known else {})


def overlap(row: dict[str, Any]) -> float:
    return recall(row["answer"], " ".join(p["text"] for p in row["passages"]))


def checked(row: dict[str, Any], llm: Callable[[str], str] | None) -> Checked:
    hits = [Hit.of({"id": p["id"], "doc": "", "text": p["text"]}, n) for n, p in enumerate(row["passages"])]
    claims = [replace(claim, cited=tuple(range(1, len(hits) + 1))) for claim in claims_of(row["answer"])]
    return faithfulness(row["question"], claims, hits, llm)


def faithful_label(found: Checked) -> Label:
    return None if found.value is None else cut(found.value, FAITHFUL, FAITHFUL)


# -- report ----------------------------------------------------------------------------------------------------------


def weighted(pairs: Iterable[Pair]) -> float | None:
    """Cohen's kappa with linear weights; None where it is undefined."""
    both = [(a, b) for a, b in pairs if a in JUDGE_LABELS and b in JUDGE_LABELS]
    if len({a for a, _ in both}) < 2 or len({b for _, b in both}) < 2:
        return None
    people, judge = zip(*[(JUDGE_LABELS.index(a), JUDGE_LABELS.index(b)) for a, b in both], strict=True)
    return float(cohen_kappa_score(people, judge, weights="linear", labels=range(len(JUDGE_LABELS))))


def shown(value: float | None) -> str:
    return "  -  " if value is None else f"{value:5.2f}"


def report(name: str, judge: str, pairs: Sequence[Pair]) -> dict[str, float]:
    """Print one line, and the figures of it."""
    tested = gate(pairs, SEED)
    agreement = tested.agreed / tested.n if tested.n else None
    interval = wilson(tested.agreed, tested.n)
    told = f"{shown(agreement)} ({interval.low:.2f}-{interval.high:.2f})" if interval else shown(None)
    counts = ", ".join(f"{said}/{n} {label}" for label, (said, n) in tested.recall.items() if n)
    print(
        f"{name:12} {judge:9} {shown(tested.kappa)} {shown(tested.kappa_low)}  {shown(weighted(pairs))}    {told:18} "
        f"{tested.dropped:3} of {len(pairs):4}  {counts}"
    )
    figures = {
        "kappa": tested.kappa,
        "kappa_low": tested.kappa_low if tested.kappa is not None else None,
        "weighted_kappa": weighted(pairs),
        "agreement": agreement,
        "agreement_low": tested.agreement_low,
        "unreadable": tested.dropped / len(pairs),
    }
    return {f"{figure}.{name}.{judge}": round(v, 4) for figure, v in figures.items() if v is not None}


def print_confusion(name: str, tested: Gate) -> None:
    """What people said against what the offline judge said."""
    used = [label for label in tested.recall if tested.recall[label][1]]
    for label in used:
        row = ", ".join(f"{tested.matrix[label, said]:4} {said}" for said in JUDGE_LABELS)
        print(f"{name:12} people {label:8} offline {row}")
    print(f"{name:12} {tested.words}\n")


def main() -> int:
    """Print the tables; write the figures; exit 0 also where data is absent."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--pilot", help="the judge of that pilot's pilot.toml too")
    parser.add_argument("--even", action="store_true", help="the half that was developed on, not the reported one")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    arguments = parser.parse_args()
    pilot = Pilot.open(arguments.pilot, ROOT) if arguments.pilot else None
    model = pilot.judge(pilot.settings) if pilot else None
    figures: dict[str, Any] = {}
    print("set          judge     kappa  low  weighted  agreement (95 %)   unreadable  recognised of people's labels")
    for name in arguments.sets:
        if name != "sample" and not (arguments.data / name).is_dir():
            print(f"{name} skipped: {arguments.data / name} is absent (people's labels are not part of the project)")
            continue
        rows = rows_of(name, arguments.data)
        two, baselines = len({row.label for row in rows}) == 2, dict[str, float]()
        asked = [n for n, row in enumerate(rows) if row.even == arguments.even]
        figures[f"n.{name}"] = len(asked)
        pairs: list[Pair] = []
        for judge, said in judgements(rows, model, asked).items():
            graded = [(rows[n].label, ruled(rows[n], said[n], two)) for n in asked]
            pairs = graded if judge == "offline" else pairs
            found = report(name, judge, graded)
            figures |= found
            if judge not in ("offline", "fitted", "model") and f"kappa.{name}.{judge}" in found:
                baselines[judge] = found[f"kappa.{name}.{judge}"]
        if baselines:
            figures[f"kappa.{name}.best_baseline"] = max(baselines.values())
        if name == "mtrag_human":
            figures |= faithful_figures(
                arguments.data, arguments.even, scorer_of(pilot.settings, pilot.results / "cache") if pilot else None
            )
            for who, both in humans(arguments.data, arguments.even).items():
                kappa, agreement = cohen_kappa(both), float(np.mean([a == b for a, b in both]))
                figures[f"kappa.{name}.{who}"] = None if kappa is None else round(kappa, 4)
                if who == "humans_faithful":
                    figures[f"faithful.{name}.humans"] = figures[f"kappa.{name}.{who}"]
                figures[f"agreement.{name}.{who}"] = round(agreement, 4)
                print(f"{name:12} {who:21} kappa {shown(kappa)}, agreement {agreement:.2f}")
        print_confusion(name, gate(pairs, SEED))
    if arguments.json:
        kept = {name: value for name, value in figures.items() if value is not None}
        arguments.json.write_text(json.dumps(kept, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
