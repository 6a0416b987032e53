"""Tables of one run: what it is, what came back, what the expert and the judge say, and the score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ...analysis.cost import Usage
from ...analysis.headline import Estimate, Headline
from ...analysis.latency import P95_FROM, StageTime
from ...analysis.measures import FourWay
from ...analysis.shares import MEANS_FROM, Share, percent
from ...grading.agreement import AGREEMENT_ABOVE, FAULTS_NEEDED, KAPPA_ABOVE, Gate
from ...records import JUDGE_LABELS, LABELS
from ...results import Result
from ...scores import Score
from ..html import NO_DATA, NOT_MEASURED, Html, element, facts, join, listing, note, paragraph, section, table, tag
from ..words import DECLINE, FLAG, LABEL_MEANS, plural


def stamp(result: Result) -> Html:
    """Which run this is, and what its numbers cannot support."""
    info, n = result.run.info, len(result.questions)
    labelled, wanted = result.labelled
    who = result.settings.pilot.annotator
    rows = [
        ("Run", element("code", result.run.id or "in memory")),
        ("Date", info.get("date") or "not recorded"),
        ("Data fingerprint", element("code", info.get("fingerprint") or "not recorded")),
        ("Questions", n),
        (
            "Answered by",
            ", ".join(info.get("models") or ()) or f"{result.settings.answer.kind} answerer, no model named",
        ),
    ]
    limits = [
        f"They speak of questions like these {n}, in this mix. Other people's questions can come out differently.",
        "Small differences between categories, languages or runs may be chance: look at the intervals.",
    ]
    if labelled < wanted:
        limits.append(f"{labelled} of {wanted} answers are labelled by {who} so far: no judgement of quality is final.")
    elif wanted:
        limits.append(
            f"Right and wrong are the judgement of {who}, who read {wanted} answers; what no rule labels is estimated."
        )
    if info.get("config", {}).get("changes") or info.get("name", "baseline") != "baseline":
        limits.append("Changes were made because of these very questions: expect less on new ones.")
    return section(
        facts("This run", rows),
        paragraph(element("strong", "What these numbers cannot support")),
        listing(limits),
    )


def run(result: Result) -> Html:
    """What came back: answered, declined, failed, with reasons, tokens, seconds and flags."""
    answers = list(result.run.answers.values())
    n, status = len(answers), Counter(a.status for a in answers)
    reasons = Counter(a.why or "" for a in answers if a.status == "declined")
    flags = Counter(flag for a in answers for flag in a.flags)
    given = [a for a in answers if a.status == "answered"]
    rows = [(s, f"{status[s]} of {n}") for s in ("answered", "declined", "error")]
    parts: list[object] = [
        paragraph(
            element("strong", f"{status['answered']} of {plural(n, 'question')} answered, "),
            f"{status['declined']} declined, {status['error']} in error.",
        ),
        table("What came back", ("Status", "Questions"), rows),
    ]
    if reasons:
        named = [
            (DECLINE.get(r, r or "no reason kept"), f"{k} of {status['declined']}") for r, k in reasons.most_common()
        ]
        parts.append(table("Why it declined", ("Reason", "Questions"), named))
    if status["error"]:
        faults = Counter(a.reason or "no cause kept" for a in answers if a.status == "error")
        parts.append(table("Errors, neither declined nor wrong", ("Cause", "Questions"), faults.most_common()))
        if final := sum(a.final for a in answers):
            parts.append(note(f"{plural(final, 'error')} final: filtered or truncated twice, not asked again."))
    if flags:
        parts.append(table("Flags", ("What", "Answers"), [(FLAG.get(f, f), k) for f, k in flags.most_common()]))
    sentences, bare = sum(a.sentences for a in given), sum(a.uncited for a in given)
    if unused := sum(bool(a.not_rewritten) for a in answers):
        parts.append(note(f"{plural(unused, 'question')} searched as asked: the rewriting model's reply was no query."))
    parts += [*_replies(result), _tokens(result), stages(result.stage_times())]
    if sentences:
        parts.append(note(f"{bare} of {plural(sentences, 'sentence')} in {plural(len(given), 'answer')} cite nothing."))
    return section(*parts)


def _replies(result: Result) -> list[Html]:
    """What was kept from earlier calls, and which settings the endpoint did not apply; nothing without a model."""
    info, said = result.run.info, []
    for who, count in info.get("replies", {}).items():
        if total := count["reused"] + count["new"]:
            whose = {"judge": "the judge's", "rewrite": "the rewriting model's"}.get(who, "the model's")
            said.append(
                note(f"{count['reused']} of {whose} {plural(total, 'reply', 'replies')} kept from earlier calls.")
            )
    if refused := info.get("not_applied"):
        said.append(
            note(
                f"Not applied, because the endpoint refuses it: {', '.join(refused)}. The same question may be "
                "answered differently another time."
            )
        )
    return said


def _tokens(result: Result) -> Html:
    spent = result.spending()
    if spent.answering is None:
        said = [f"Tokens: {NOT_MEASURED}, because no answer reports any."]
    else:
        said = [f"Tokens a question: {_used(spent.answering)}."]
    said += [f"To rewrite it: {_used(spent.rewriting)}."] if spent.rewriting else []
    said += [f"To grade an answer: {_used(spent.judging)}."] if spent.judging else []
    return paragraph(" ".join(said))


def _used(used: Usage) -> str:
    silent = f", {used.not_reported} report none" if used.not_reported else ""
    return f"{used.tokens_in:,.0f} in, {used.tokens_out:,.0f} out (mean of {used.n}{silent})"


def stages(times: list[StageTime]) -> Html:
    """Time per stage against the budgets, in milliseconds; how many replies were kept from earlier calls."""

    def state(t: StageTime) -> object:
        if t.within is None:
            return "no budget" if t.budget is None else NOT_MEASURED
        return tag("within" if t.within else "over", "good" if t.within else "bad")

    rows = [(t.stage, t.n, _ms(t.p50), _ms(t.p95), _ms(t.budget, "none"), state(t)) for t in times]
    kept = {t.stage: t.kept for t in times if t.kept}
    old = ", ".join(f"{n} of {stage}" for stage, n in kept.items())
    told = f" Kept from earlier calls, so that nobody waited for them, and not in these figures: {old}." if old else ""
    return join(
        [
            table("Time per stage", ("Stage", "Answers", "Half under", "95 % under", "Budget", "Within it"), rows),
            note(f"Measured in this run, on this machine. The 95 % figure needs {P95_FROM} answers.{told}"),
        ]
    )


def _ms(seconds: float | None, absent: str = NOT_MEASURED) -> str:
    if seconds is None:
        return absent
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.1f} ms"


def progress(result: Result) -> Html:
    """How many of the answers that need a person are labelled, and what to do next."""
    done, wanted = result.labelled
    stale, beyond = len(set(result.expert.stale) & set(result.to_read)), len(result.sample.beyond)
    later = [q for q in result.sample.beyond if q not in set(result.to_read)]
    if not wanted:
        step = "No answer of this run needs a person: every label follows by rule."
    elif done < wanted:
        step = "Next: label the others in notebook 05. The order was fixed before any answer was seen: keep to it."
    else:
        step = "Done. Next: notebook 06, the result of week 1."
    hints = [
        f"{plural(stale, 'answer')} labelled with an earlier text: read the new one." if stale else "",
        f"{plural(beyond, 'label')} wait until the answer to question {result.sample.waiting} is labelled."
        if beyond and result.sample.waiting
        else "",
        f"{plural(len(later), 'label')} lie further down the order." if later else "",
    ]
    bar = element(
        "progress", f"{done} of {wanted}", value=done, max=max(wanted, 1), aria_label=f"{done} of {wanted} labelled"
    )
    return section(
        paragraph(f"{done} of {wanted} labelled", kind="big"),
        paragraph(bar),
        step,
        listing([h for h in hints if h]) if any(hints) else None,
    )


def gate(found: Gate) -> Html:
    """Whether the judge may grade single answers, and how it did on the expert's labels."""
    kind = {"passed": "good", "failed": "bad"}.get(found.state, "open")
    words = {"passed": "judge admitted", "failed": "judge not admitted", "too few faults": "judge not tested"}
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
    """Which judge grades what the expert does not read; how a fitted one agrees with her, once she has read it all."""
    chosen, fitted, (labelled, wanted) = result.settings.judge, result.fitted, result.labelled
    named = f": {chosen.model}" if chosen.kind == "model" else ""
    rows: list[tuple[str, object]] = [("Judge", JUDGE[chosen.kind] + named)]
    if fitted and fitted.why:
        rows.append(("Weights in use", f"the fixed ones: {fitted.why}"))
    elif fitted:
        rows.append(("Weights in use", f"fitted to {plural(fitted.labels, 'label')}, in {fitted.folds} folds"))
        rows.append(("Labels in no fit", f"{fitted.unclear} (the citation may be their fault, or no judge has them)"))
        if labelled >= wanted:
            now, fixed = result.gate, result.gate_of(result.run.verdicts)
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


def scores(found: Sequence[Score]) -> Html:
    """Faithfulness, answer relevance and context precision, with what they were counted over and what is missing."""
    rows = []
    for score in found:
        name = score.name if score.validated else f"{score.name} (unvalidated)"
        mean = score.mean
        absent = mean.missing_text() or "none"
        rows.append((name, f"{score.held} of {score.of} {UNIT[score.name]}", mean.text(), absent, score.by))
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


def _judge_bounds(found: Headline) -> Html | None:
    """What the unreadable replies could still make of the judge's own count; nothing where all could be read."""
    bounds, judge = found.judge.bounds, found.judge
    unread = sum(judge.missing.values())
    if not unread or bounds is None:
        return None
    return note(
        f"The judge alone: {judge.count} of {judge.n} readable labels say correct, {unread} of {judge.n + unread} are "
        f"unreadable; with these all wrong or all correct "
        f"{judge.count} to {judge.count + unread} of {judge.n + unread} "
        f"({percent(bounds.low)} to {percent(bounds.high)} %). Not an estimate."
    )


def headline(found: Headline) -> Html:
    """The score in one big sentence, then the shares of the four labels and who gave the labels."""
    if found.correct is None:
        return section(paragraph("No score yet", kind="big"), found.words, _judge_bounds(found))
    estimates: dict[str, Estimate | None] = {n: getattr(found, n) for n in ("correct", "wrong", "declined")}
    rows = []
    for label in LABELS:
        if label == "partly":
            share = NOT_MEASURED if found.partly is None else f"{percent(found.partly)} %"
            rows.append((label, share, "the remainder", "–"))
        elif (e := estimates[label]) is None:
            rows.append((label, NOT_MEASURED, NOT_MEASURED, "–"))
        else:
            span = f"{percent(e.interval.low)} to {percent(e.interval.high)} %"
            rows.append((label, f"{percent(e.value)} %", span, f"{e.n_eff:.0f}"))
    whom = [
        ("a person", found.by_person),
        ("the judge, corrected by the person's labels", found.by_judge),
        ("rule (declines, answers to what cannot be answered)", found.by_rule),
        ("nobody", found.not_graded),
        ("failed calls, no label", found.errors),
        ("asked", found.asked),
    ]
    interval = found.correct.interval
    return section(
        paragraph(
            f"{percent(found.correct.value)} % correct: between {percent(interval.low)} and {percent(interval.high)} % "
            "on questions like these.",
            kind="big",
        ),
        found.words,
        table(
            f"Estimated shares of {plural(found.asked, 'question')}",
            ("Label", "Share", "95 % interval", "Worth so many read by hand"),
            rows,
        ),
        table("Labels given by", ("Who", "Questions"), whom, total=True),
        _judge_bounds(found),
    )


def four_way(found: FourWay) -> Html:
    """Answered or declined, by whether the documents can answer."""
    columns = ("answered", "declined", "error", "not answered")
    used = [c for c in columns if c in columns[:2] or found.answerable.get(c) or found.unanswerable.get(c)]
    rows = [
        (name, *(row.get(c, 0) for c in used), sum(row.get(c, 0) for c in columns))
        for name, row in (
            ("The documents can answer", found.answerable),
            ("The documents cannot answer", found.unanswerable),
        )
    ]
    return section(
        listing(
            (
                f"Of the questions that can be answered, {found.answered.text()} were answered.",
                f"Of those that cannot, {found.rightly_declined.text()} were declined, as they should be."
                if found.rightly_declined.n
                else "No question was asked that they cannot answer: whether the system declines rightly is not known.",
            )
        ),
        table("Answered or declined", ("Questions", *used, "All"), rows),
        note(f"{plural(found.flagged, 'answered text')} may be a decline in other words: a person reads it.")
        if found.flagged
        else None,
    )


def label_shares(shares: Mapping[str, Share]) -> Html:
    """The share of each label among the answers that have one; with what the others could still make of it."""
    absent = next((s.missing_text() for s in shares.values() if s.missing_text()), "")
    rows = [
        (name, share, *([_bounds(share)] if absent else []), LABEL_MEANS.get(name, ""))
        for name, share in shares.items()
    ]
    head = ("Label", "Share", *(["With all others against or for it"] if absent else []), "What it means")
    return section(
        table("Labels of the answers that have one", head, rows),
        note(f"Not in it: {absent}. These are counts, not the estimate for all questions.") if absent else None,
    )


def _bounds(share: Share) -> str:
    bounds = share.bounds
    return NO_DATA if bounds is None else f"{percent(bounds.low)} to {percent(bounds.high)} %"
