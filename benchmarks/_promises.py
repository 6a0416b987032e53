"""What the statistics promise, held against exact sums and seeded repetitions; nothing here needs a model.

    python benchmarks/statistics.py [--json FILE] [--repetitions 10000] [--only wilson paired ...]

Coverage is of 95 % intervals: the share of samples whose interval holds the truth. Parts and figures:
wilson     exact, over 12, 50, 200 and 300 questions and rates of .5, .8 and .95: coverage.wilson.min; over five more
           numbers of questions, 10 and 20 among them: coverage.wilson.wide_min
paired     exact, over 150, 200 and 300 questions of which a change alters 4 to 40 %: coverage.paired.min; with
           changes that break nothing at all: coverage.paired.wide_min
ppi        50 of 200, 50 of 300 and 100 of 300 answers read, rates of .5, .8 and .95, six judges: coverage.ppi.min and
           .max; of the one-sided bounds that decide an acceptance criterion: coverage.acceptance.min; and with a
           quarter of 200 questions settled by rule: coverage.headline.min and .max
keep       ten changes that do nothing, each held against the last that was kept: type1.keep, the chance to keep any
judged     the same of one change when the expert reads only what the judge scores differently and 20 more, for judges
           good, poor and useless, fair and lenient with the new version: type1.judged
gate       50 answers, .15 wrong and .15 partly: gate.pass.kappa80, gate.pass.kappa50
power      the chance that a true change is kept; the smallest net gain that is shown four times in five
acceptance the chance that a true rate of wrong answers is shown to be at most 5 %, all answers read
seconds    threshold_s, of the sweep of 300 answers; statistics_s, of all other statistics of a run over the sample
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import numpy as np
from scipy import stats

from rag_pilot.analysis.acceptance import Criterion, acceptance, chance_to_meet
from rag_pilot.analysis.comparison import compare, confirmed, detectable, level, mcnemar, power
from rag_pilot.analysis.headline import Estimate, estimate
from rag_pilot.analysis.intervals import Interval, bonett_price, wilson
from rag_pilot.analysis.threshold import Scored, sweep
from rag_pilot.building import Variant
from rag_pilot.grading.agreement import gate
from rag_pilot.pilot import Pilot
from rag_pilot.results import Result

ROOT = Path(__file__).resolve().parents[1]
RATES = (0.5, 0.8, 0.95)
DESIGNS = ((50, 200), (50, 300), (100, 300))  # answers read, answers that need a person
JUDGES: dict[str, float | tuple[float, float]] = {  # correlation with the expert, or P(correct | expert's yes, no)
    "r 0": 0.0,
    "r .3": 0.3,
    "r .7": 0.7,
    "r .9": 0.9,
    "lenient": (0.98, 0.50),
    "harsh": (0.70, 0.02),
}
NAMED = (12, 50, 200, 300)  # questions of a segment, of the expert's sample, of a set
CHANGING = (
    (0.02, 0.02),
    (0.055, 0.055),
    (0.15, 0.15),
    (0.2, 0.2),
    (0.05, 0.02),
    (0.08, 0.03),
    (0.12, 0.04),
    (0.12, 0.02),
)
BREAKING_NONE = ((0.02, 0.0), (0.04, 0.0), (0.08, 0.0))
DISCORDANT = (0.10, 0.24, 0.40)
CHANGES, START, ASKED, CHANGED = 10, 0.72, 200, 0.6  # planned; right at first; questions; share of answers changed
Figures = dict[str, float]


def holds(interval: Interval | None, truth: float) -> bool:
    return interval is not None and interval.low <= truth <= interval.high


def of_wilson() -> Figures:
    found = {}
    for n, rate in product((*NAMED, 10, 20, 30, 100, 150), RATES):
        chance = stats.binom.pmf(np.arange(n + 1), n, rate)
        found[n, rate] = float(sum(chance[k] for k in range(n + 1) if holds(wilson(k, n), rate)))
    shown("Wilson, by n and rate", found)
    named = min(value for (n, _), value in found.items() if n in NAMED)
    return {"coverage.wilson.min": named, "coverage.wilson.wide_min": min(found.values())}


def of_paired() -> Figures:
    found = {}
    for n, (fixed, broken) in product((150, 200, 300), (*CHANGING, *BREAKING_NONE)):
        changed = np.arange(n + 1)
        of_changed = stats.binom.pmf(changed, n, fixed + broken)
        total = 0.0
        for k in changed[of_changed > 1e-12]:
            chance = stats.binom.pmf(np.arange(k + 1), k, fixed / (fixed + broken))
            inside = (holds(bonett_price(b, int(k) - b, n), fixed - broken) for b in range(k + 1))
            total += of_changed[k] * sum(p for p, held in zip(chance, inside, strict=True) if held)
        found[n, fixed, broken] = float(total)
    shown("Bonett and Price, by n, share fixed and share broken", found)
    named = min(value for (_, *shares), value in found.items() if tuple(shares) in CHANGING)
    return {"coverage.paired.min": named, "coverage.paired.wide_min": min(found.values())}


def cells(rate: float, judge: float | tuple[float, float]) -> np.ndarray:
    """The chance of (expert, judge) = (1, 1), (1, 0), (0, 1), (0, 0)."""
    if isinstance(judge, tuple):
        said_yes, said_no = judge
    else:
        said_yes, said_no = rate + judge * (1 - rate), rate * (1 - judge)
    return np.array([rate * said_yes, rate * (1 - said_yes), (1 - rate) * said_no, (1 - rate) * (1 - said_no)])


def samples(
    rng: np.random.Generator, rate: float, judge: float | tuple[float, float], design: tuple[int, int], count: int
) -> Iterator[tuple[Estimate, int]]:
    """Estimates of the share correct over answers that all need a person, and how often each sample was drawn."""
    (n, m), p = design, cells(rate, judge)
    drawn = np.column_stack([rng.multinomial(n, p, count), rng.binomial(m - n, p[0] + p[2], count)])
    for (both, only_expert, only_judge, neither, unread), times in Counter(map(tuple, drawn.tolist())).items():
        read = [(True, True)] * both + [(True, False)] * only_expert + [(False, True)] * only_judge
        read += [(False, False)] * neither
        yield estimate("correct", 0, m, read, [True] * unread + [False] * (m - n - unread)), times


def of_ppi(repetitions: int) -> Figures:
    rng, found, bounds = np.random.default_rng(1), {}, {}
    for design, rate, (name, judge) in product(DESIGNS, RATES, JUDGES.items()):
        held = low = high = 0
        for given, times in samples(rng, rate, judge, design, repetitions):
            one_sided = acceptance(Criterion("c", "correct", "at_least", 0.5, "all"), given)
            held += times * holds(given.interval, rate)
            low += times * ((one_sided.low or 0) <= rate)
            high += times * ((one_sided.high or 0) >= rate)
        cell = ("{} of {}".format(*design), rate, name)
        found[cell] = held / repetitions
        bounds[cell] = min(low, high) / repetitions
    shown("The headline's interval, by answers read, rate and judge", found)
    shown("The weaker of the two one-sided bounds of an acceptance criterion", bounds)
    figures = {"coverage.ppi.min": min(found.values()), "coverage.ppi.max": max(found.values())}
    return figures | {"coverage.acceptance.min": min(bounds.values())} | _with_rules(rng, repetitions)


def _with_rules(rng: np.random.Generator, repetitions: int, asked: int = ASKED, n: int = 50) -> Figures:
    """A quarter of the questions is settled by rule, half of it as correct; how many of a run need a person varies."""
    found = {}
    for rate, (name, judge) in product(RATES, JUDGES.items()):
        held, p, truth = 0, cells(rate, judge), 0.125 + 0.75 * rate
        for m, known, *_ in rng.multinomial(asked, [0.75, 0.125, 0.125], repetitions).tolist():
            both, yes, no, neither = rng.multinomial(n, p).tolist()
            read = [(True, True)] * both + [(True, False)] * yes + [(False, True)] * no + [(False, False)] * neither
            unread = int(rng.binomial(m - n, p[0] + p[2]))
            given = estimate("correct", known, asked, read, [True] * unread + [False] * (m - n - unread))
            held += holds(given.interval, truth)
        found[rate, name] = held / repetitions
    shown("The same over 200 questions, a quarter settled by rule", found)
    return {"coverage.headline.min": min(found.values()), "coverage.headline.max": max(found.values())}


def of_keep(repetitions: int) -> Figures:
    rng, found, gains = np.random.default_rng(2), {}, {}
    for planned, share in product((CHANGES, 5), DISCORDANT):
        any_kept, gain = 0, 0
        fix, break_ = share / 2 / (1 - START), share / 2 / START  # the same number each way, from the true rate
        for right in rng.binomial(ASKED, START, repetitions).tolist():
            first, verdicts = right, list[str]()
            for _ in range(planned):
                fixed, broken = int(rng.binomial(ASKED - right, fix)), int(rng.binomial(right, break_))
                kept = mcnemar(fixed, broken) <= level(planned, verdicts)
                verdicts.append("kept" if kept else "not shown")
                right += fixed - broken if kept else 0
            any_kept += "kept" in verdicts
            gain += right - first
        found[f"{planned} changes", share] = any_kept / repetitions
        gains[f"{planned} changes", share] = gain / repetitions / ASKED
    shown("Any of so many changes that do nothing is kept, by share of questions that differ", found)
    shown("What the score would seem to have gained", gains)
    return {"type1.keep": max(p for (name, _), p in found.items() if name == f"{CHANGES} changes")}


def of_judged(repetitions: int) -> Figures:
    rng, found, read, power_ = np.random.default_rng(5), {}, {}, {}
    for kappa, lenience, (fix, break_) in product((0.8, 0.4, 0.0), (0.0, 0.1, 0.2), ((0.04, 0.04), (0.08, 0.03))):
        kept = pairs = 0
        few = min(repetitions, 2000)  # two passes over 200 questions in each
        for _ in range(few):
            before = rng.random(ASKED) < START
            chance = np.where(before, break_ / START, fix / (1 - START))
            after = before ^ (rng.random(ASKED) < chance)
            same = (rng.random(ASKED) > CHANGED) & (before == after)
            judged = _as_judged(rng, before, kappa, 0.0), _as_judged(rng, after, kappa, lenience)
            fates = [_by_id(side) for side in (before, after, *judged)]
            unchanged = {str(i) for i in np.flatnonzero(same)}
            asked = confirmed(({}, {}), (fates[2], fates[3]), unchanged, 1)
            seen = {*asked.to_read, *asked.check}
            known = [{q: right for q, right in side.items() if q in seen} for side in fates[:2]]
            given = confirmed((known[0], known[1]), (fates[2], fates[3]), unchanged, 1)
            result = compare(given.before, given.after, level(5, []), unchanged=unchanged)
            kept += result.verdict == "kept"
            pairs += len(seen)
        (found if fix == break_ else power_)[kappa, lenience] = kept / few
        read[kappa, lenience] = pairs / few / 100
    shown(
        "A change that does nothing is kept, by the judge's kappa and its lenience with the new version",
        found,
    )
    shown("A change that fixes 8 and breaks 3 % is kept", power_)
    shown("Pairs that she reads (a number, not percent)", read)
    return {"type1.judged": max(found.values())}


def _as_judged(rng: np.random.Generator, right: np.ndarray, kappa: float, lenience: float) -> np.ndarray:
    yes = np.where(right, START + kappa * (1 - START), START * (1 - kappa) + lenience)
    return rng.random(len(right)) < yes


def _by_id(right: np.ndarray) -> dict[str, bool]:
    return {str(i): bool(value) for i, value in enumerate(right)}


def of_gate(repetitions: int) -> Figures:
    rng, found, labels = np.random.default_rng(3), {}, ("wrong", "partly", "correct")
    shares = np.array([0.15, 0.15, 0.70])
    for n, kappa, looks in product((30, 50, 100), (0.5, 0.8), (1, 2)):
        p = kappa * np.diag(shares) + (1 - kappa) * np.outer(shares, shares)
        passed = 0
        few = min(repetitions, 4000)  # 4,000 draws of the gate in each
        for table, times in Counter(map(tuple, rng.multinomial(n, p.ravel(), few).tolist())).items():
            pairs = [pair for pair, k in zip(product(labels, labels), table, strict=True) for _ in range(k)]
            passed += times * gate(pairs, 1, looks).passed
        found[n, kappa, looks] = passed / few
    shown("The judge is admitted, by answers, true kappa and planned looks", found)
    return {"gate.pass.kappa80": found[50, 0.8, 1], "gate.pass.kappa50": found[50, 0.5, 1]}


def of_power() -> Figures:
    for name, at in (("one change, .025", 0.025), ("five, .01", 0.01), ("ten, .005", 0.005)):
        chances = {
            (n, f"{100 * fixed:g}/{100 * broken:g} %"): power(n, fixed, broken, at)
            for n, (fixed, broken) in product((150, 200, 300), ((0.05, 0.02), (0.08, 0.03), (0.12, 0.04), (0.12, 0.02)))
        }
        shown(f"A change is kept, {name}, by n and fixed/broken", chances)
        gains = {(broken,): detectable(ASKED, broken, at) or 1.0 for broken in (0.0, 0.02, 0.03, 0.05, 0.08)}
        shown(f"Net gain shown by {ASKED} questions four times in five, {name}, by share broken", gains)
    chances = {(f"{f}/{b}",): power(ASKED, f / 100, b / 100, 0.01) for f, b in ((5, 2), (8, 3), (12, 4))}
    return {f"power.{name}": chance for (name,), chance in chances.items()}


def of_acceptance() -> Figures:
    wrong = Criterion("wrong", "wrong", "at_most", 0.05, "all questions")
    found = {(n, rate): chance_to_meet(wrong, n, rate) for n, rate in product((100, 150, 200, 300, 400), (0.01, 0.02))}
    shown("At most 5 % is met, by questions and true rate", found)
    return {"acceptance.met.2_of_200": found[200, 0.02]}


def of_seconds() -> Figures:
    rng, rows = np.random.default_rng(4), list[Scored]()
    for i in range(300):
        answerable, label = (
            i % 7 > 0,
            str(rng.choice(["correct", "partly", "wrong", "declined"], p=[0.7, 0.1, 0.1, 0.1])),
        )
        score = float(rng.normal(0.6 if answerable else 0.45, 0.12))
        label = label if answerable else "wrong"
        rows.append(Scored(str(i), score, answerable, label != "declined", label))
    begun = time.perf_counter()
    sweep(rows, 0.1, 1)
    threshold_s = time.perf_counter() - begun
    with tempfile.TemporaryDirectory() as folder:
        pilot = Pilot(ROOT / "data" / "sample", Path(folder))
        variant = Variant(pilot.settings.changed({"retrieval.method": "keyword"}))
        result = Result(pilot, pilot.run("timed", variant), pilot.build(variant))
        leaking = result.audit.questions  # asks again; the rest only counts
        begun = time.perf_counter()
        found = [
            leaking,
            result.headline,
            result.gate,
            result.retrieval,
            result.leaks,
            result.four_way,
            result.label_shares,
        ]
        found += [result.pareto, result.judgements(), result.decision(), result.stage_times(), result.spending()]
        found += [by(segment) for segment in result.segments for by in (result.hits_by, result.measures_by)]
        statistics_s = time.perf_counter() - begun
    print(
        f"\nThe sweep of 300 answers: {threshold_s:.2f} s; {len(found)} other statistics of a run: {statistics_s:.2f} s"
    )
    return {"threshold_s": threshold_s, "statistics_s": statistics_s}


def shown(title: str, found: dict[tuple, float]) -> None:
    """Print a table of chances, percent."""
    print(f"\n{title}")
    for *cell, value in ((*key, number) for key, number in found.items()):
        print(f"  {'  '.join(f'{part!s:>10}' for part in cell)}  {100 * value:6.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="statistics.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--repetitions", type=int, default=10_000)
    parts = {
        "wilson": of_wilson,
        "paired": of_paired,
        "ppi": lambda: of_ppi(repetitions),
        "keep": lambda: of_keep(repetitions),
        "judged": lambda: of_judged(repetitions),
        "gate": lambda: of_gate(repetitions),
        "power": of_power,
        "acceptance": of_acceptance,
        "seconds": of_seconds,
    }
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    arguments = parser.parse_args()
    repetitions, figures = arguments.repetitions, Figures()
    for part in arguments.only:
        figures |= parts[part]()
    print()
    for figure, number in figures.items():
        print(f"{figure:24} {number:8.4f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
