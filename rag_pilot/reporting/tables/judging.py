"""Tables of the judge: which is in use, how it agrees with the expert, what it said; and what answers rest on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ...analysis.shares import MEANS_FROM
from ...grading.agreement import AGREEMENT_ABOVE, FAULTS_NEEDED, KAPPA_ABOVE, NOT_READ, Gate
from ...records import JUDGE_LABELS, Answer
from ...results import Result
from ...scores import Score
from ..html import NOT_MEASURED, Html, facts, note, paragraph, section, table, tag
from ..words import plural


def gate(found: Gate) -> Html:
    """Whether the judge may grade single answers, and how it did on the expert's labels."""
    kind = {"passed": "good", "failed": "bad"}.get(found.state, "open")
    words = {"passed": "judge admitted", "failed": "judge not admitted", NOT_READ: "judge not admitted yet"}
    figures = [
        ("Labels that agree", f"{found.agreed} of {found.n}", _bound(found.agreement_low), f"above {AGREEMENT_ABOVE}"),
        (
            "Agreement beyond chance (kappa)",
            f"{found.kappa:.2f}" if found.kappa is not None else "undefined: one label only",
            _bound(found.kappa_low),
            f"above {KAPPA_ABOVE}",
        ),
        ("Answers not correct, to test it on", f"{found.faults} of {found.n}", "–", f"at least {FAULTS_NEEDED}"),
    ]
    rows = [
        (label, *(found.matrix.get((label, j), 0) for j in JUDGE_LABELS), f"{same} of {of}")
        for label, (same, of) in found.recall.items()
    ]
    head = ("Expert's label", *(f"judge: {j}" for j in JUDGE_LABELS), "Recognised")
    level = f"At least ({100 * found.confidence:g} %)"
    return section(
        paragraph(tag(words.get(found.state, "judge not tested"), kind)),
        found.words,
        table("The judge against the expert", ("What", "Seen", level, "Needed"), figures) if found.n else None,
        table("Labels of the same answers", head, rows) if found.n else None,
    )


def _bound(value: float | None) -> str:
    return NOT_MEASURED if value is None else f"{value:.2f}"


def judge_in_use(result: Result) -> Html:
    """Which judge grades what the expert does not read; how a fitted one agrees with her, once tested."""
    chosen, fitted = result.settings.judge, result.fitted
    named = f": {chosen.model}" if chosen.kind == "model" else ""
    rows: list[tuple[str, object]] = [("Judge", JUDGE[chosen.kind] + named)]
    if fitted and fitted.why:
        rows.append(("Weights in use", f"the fixed ones: {fitted.why}"))
    elif fitted:
        rows.append(("Weights in use", f"fitted to {plural(fitted.labels, 'label')}, in {fitted.folds} folds"))
        rows.append(("Labels in no fit", f"{fitted.unclear} (the citation may be their fault, or no judge has them)"))
        if (now := result.gate).n:
            fixed = result.gate_of(result.run.verdicts)
            rows.append(("Agrees with the expert, out of fold", f"{now.agreed} of {now.n}"))
            rows.append(("The fixed weights, on the same answers", f"{fixed.agreed} of {fixed.n}"))
    return section(
        facts("Who grades the other answers", rows),
        note(
            "What a fitted judge says of a labelled answer comes from a fit that did not see it; gate and score use "
            "nothing else."
        )
        if fitted and not fitted.why
        else None,
    )


def grading(result: Result) -> Html:
    """Which judge is in use, what it was given and left unread, and what the citation rule made of its labels."""
    given = [v for v in result.verdicts.values() if v.by != "rule"]
    said = sum(v.judged == "correct" for v in given)
    lowered, unread = sum(v.by == "citation_rule" for v in given), sum(v.label is None for v in given)
    rows = [
        ("Answers that the judge was given", len(given)),
        ("Without a readable label", f"{unread} of {len(given)}"),
        ("Called correct", f"{said} of {len(given)}"),
        ("Of these partly by the citation rule", f"{lowered} of {said}"),
    ]
    return section(
        judge_in_use(result),
        facts("What it said", rows),
        note("The citation rule: what cites no document that the reference accepts is partly at most."),
    )


JUDGE = {
    "offline": "the offline rules, fixed weights",
    "fitted": "the offline rules, weights fitted to the expert's labels",
    "model": "a model",
    "none": "none",
}


def scores(found: Sequence[Score], answers: Iterable[Answer] = ()) -> Html:
    """Faithfulness, answer relevance and context precision, with what they were counted over and what is missing.

    Of `answers` the sentences that cite nothing stand beside them.
    """
    given = [a for a in answers if a.status == "answered"]
    bare, said = sum(a.uncited for a in given), sum(a.sentences for a in given)
    rows: list[tuple[object, ...]] = []
    for score in found:
        name = score.name if score.validated else f"{score.name} (unvalidated)"
        mean = score.mean
        absent = mean.missing_text() or "none"
        rows.append((name, f"{score.held} of {score.of} {UNIT[score.name]}", mean.text(), absent, score.by))
    if said:
        rows.append(("sentences that cite nothing", f"{bare} of {said} sentences", "–", "–", "counted"))
    return section(
        table(
            "What answers rest on",
            ("Score", "Counted", "Mean of the questions (95 %)", "Questions not in it", "Checked"),
            rows,
        ),
        note(
            "Faithfulness: claims that the cited passages support, of all claims; one that cites nothing is not "
            "supported. A decline has no value, nor has an answer that claims nothing. No interval under "
            f"{MEANS_FROM} questions."
        ),
        note(
            "Unvalidated: nobody has held answer relevance (claims to the point) and context precision (useful "
            "passages among those shown) against people's judgement. They say where to look. None of the three decides "
            "anything."
        ),
    )


UNIT = {
    "faithfulness": "claims supported",
    "answer relevance": "claims to the point",
    "context precision": "passages useful",
}
