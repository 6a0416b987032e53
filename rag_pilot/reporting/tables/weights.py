"""Tables of notebook 03 on fusing: what it gains over each list alone, by language, and what the lists should weigh."""

from __future__ import annotations

from collections.abc import Sequence

from ...analysis.weights import EQUAL, FEWEST, ChosenWeight, Paired
from ...compared import TIES, Ablation, Weighing
from ...results import Result
from ..html import Html, note, section, table, tag
from ..words import plural


def weighings(found: Sequence[Weighing]) -> Html:
    """Hybrid against keyword alone and dense alone, and the weight that cross-validation chooses for each fusion."""
    gains, weights = [], []
    failed = max((one.not_compared for one in found), default=0)
    for one in found:
        lang = one.lang or "all"
        n = one.hits["hybrid"].n
        gains.append(
            (
                lang,
                n,
                *(one.hits[name] for name in ("keyword", "dense", "hybrid")),
                *(_gain(one.against[name]) for name in ("keyword", "dense")),
                _advice(one),
            )
        )
        for how, chosen in one.chosen.items():
            weights.append((lang, how, *_weight(chosen)))
    return section(
        table(
            "What fusing gains (Hit@5)",
            ("Language", "Questions", "Keyword", "Dense", "Hybrid", "Against keyword", "Against dense", "What follows"),
            gains,
        ),
        table(
            "How much the dense list should weigh",
            ("Language", "Fusion by", "Weight chosen", "In the folds", "Hit@5 on questions not used to choose", "Use"),
            weights,
        ),
        note(
            "A difference in brackets is its paired 95 % interval: where it holds 0, these questions cannot tell. "
            f"Weight 1 is dense alone, 0 keyword alone, {EQUAL} equal; chosen before any reranking. Ten folds: each "
            f"question is scored by the weight that the others choose; under {FEWEST} questions none is chosen."
        ),
        note(f"Not compared, because a search ended in an error: {plural(failed, 'question')}.") if failed else None,
    )


def ablations(found: tuple[Result, Sequence[Ablation]]) -> Html:
    """Hit@1 and Hit@5 as configured and with each setting turned, with what turning it gains and loses."""
    base, turned = found
    rows: list[tuple[object, ...]] = [
        ("as configured", "", "", base.retrieval.hit1, "", base.retrieval.hit5, "", _leaking(base))
    ]
    for one in turned:
        hits = one.result.retrieval
        rows.append(
            (
                "equal scores are decided by" if one.setting == TIES else one.setting,
                *(_value(value) for value in (one.now, one.turned)),
                hits.hit1,
                _gain(one.first),
                hits.hit5,
                _gain(one.five),
                _leaking(one.result),
            )
        )
    head = ("Setting", "Is", "Turned to", "Hit@1", "Against as configured", "Hit@5", "Against as configured", "Leaks")
    failed = [(f"{one.setting} {_value(one.turned)}", one.not_compared) for one in turned if one.not_compared]
    absent = base.retrieval.hit5.missing_text()
    return section(
        table("What each setting does, one turned at a time", head, rows),
        note(
            "Questions that turning it gains and loses; in brackets the paired 95 % interval of the difference: "
            "where it holds 0, these questions cannot tell. A row is a reason to plan a change, not to make it: of so "
            "many rows one will look good by luck. Settings that need another index are changes of notebook 07."
        ),
        note(f"Not in it: {absent}.") if absent else None,
        note(
            "Not compared, because they ended in an error as configured or turned: "
            + ", ".join(f"{plural(n, 'question')} ({name})" for name, n in failed)
            + "."
        )
        if failed
        else None,
    )


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) or "none"


def _leaking(result: Result) -> Html:
    share = result.leaks.share
    return tag(f"{share.count} of {share.n}", "bad" if share.count else "good")


def _gain(found: Paired) -> str:
    if not found.n:
        return "no data"
    counts = f"+{found.gained} −{found.lost}"
    interval = found.interval
    return f"{counts} ({100 * interval.low:+.1f} to {100 * interval.high:+.1f})" if interval else counts


def _advice(one: Weighing) -> Html | str:
    worse = [name for name, found in one.against.items() if found.better is False]
    if worse:
        return tag(f"{' or '.join(worse)} alone is better here", "bad")
    shown = [name for name, found in one.against.items() if found.better]
    if len(shown) == len(one.against):
        return tag("hybrid is better than either", "good")
    if shown:
        return f"hybrid is better than {shown[0]} alone; against the other these questions cannot tell"
    return "these questions cannot tell"


def _weight(chosen: ChosenWeight) -> tuple[object, ...]:
    if chosen.weight is None:
        return f"none ({plural(chosen.against_equal.n, 'question')})", "", "", str(EQUAL)
    low, high = min(chosen.folds), max(chosen.folds)
    return (
        f"{chosen.weight:g}",
        f"{low:g}" if low == high else f"{low:g} to {high:g}",
        f"{chosen.hits} of {chosen.against_equal.n}; equal weights {chosen.equal_hits}: {_gain(chosen.against_equal)}",
        f"{chosen.recommended:g}{'' if chosen.against_equal.better else ': a gain is not shown'}",
    )
