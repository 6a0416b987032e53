"""Tables of one run: what it is, what came back, and how far the expert has read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from ...amending import scored_against
from ...analysis.cost import Usage
from ...analysis.latency import P95_FROM, StageTime
from ...results import Result
from ..html import NOT_MEASURED, Html, element, facts, join, listing, note, paragraph, section, table, tag
from ..words import DECLINE, FLAG, plural


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
        *([("Scored against", amended)] if (amended := scored_against(result)) else []),
        (
            "Answered by",
            ", ".join(info.get("models") or ()) or f"{result.settings.answer.kind} answerer, no model named",
        ),
    ]
    like = f"questions like these {len(result.drawn)}, in this mix"
    limits = [
        f"They speak of {like}. Other people's questions can come out differently.",
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
    parts += [*_replies(result), _tokens(result), stages(result.stage_times()), *_embedded(result)]
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
    if refused := sorted({n for v in result.run.verdicts.values() for n in v.spent.get("not_applied", ())}):
        said.append(
            note(
                f"Not applied to the judge, because its endpoint refuses it: {', '.join(refused)}. The same answer may "
                "be graded differently another time."
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


def _embedded(result: Result) -> list[Html]:
    """What of retrieval is not in its seconds."""
    if result.settings.retrieval.method == "keyword":
        return []
    told = "Questions were embedded before the first was asked: that time is not in retrieve and total."
    if result.settings.embedding.kind == "model":
        told += f" It is done at an address, so whether they are within their budgets is {NOT_MEASURED}."
    return [note(told)]


def _ms(seconds: float | None, absent: str = NOT_MEASURED) -> str:
    if seconds is None:
        return absent
    return f"{1000 * seconds:,.0f} ms" if seconds >= 0.01 else f"{1000 * seconds:.1f} ms"


def _first(result: Result) -> bool:
    """Whether it is the run of week 1."""
    return str(result.run.info.get("name", "baseline")) == "baseline"


def closed_to_annotator(result: Result, closed: Mapping[str, str]) -> str:
    """Which of the answers that are asked for wait for somebody else than the annotator; empty where none does.

    `closed` holds the groups that each needs.
    """
    if not closed:
        return ""
    named, them = ", ".join(f"{i} ({needed})" for i, needed in closed.items()), "it" if len(closed) == 1 else "them"
    return (
        f" {plural(len(closed), 'answer')} of these {'is' if len(closed) == 1 else 'are'} closed to "
        f"{result.settings.pilot.annotator}; somebody with the groups in brackets reads {them}: {named}."
    )


def progress(result: Result) -> Html:
    """How many of the answers that need a person are labelled, and what to do next."""
    done, wanted = result.labelled
    stale, beyond = len(set(result.expert.stale) & set(result.to_read)), len(result.sample.beyond)
    later = [q for q in result.sample.beyond if q not in set(result.to_read)]
    further = [i for i in result.to_read[wanted:] if i not in result.expert.current]
    joined = sum(result.by_id[i].adopted for i in further)
    more = len(further) - joined
    if not wanted:
        step = "No answer of this run needs a person: every label follows by rule."
    elif done < wanted:
        where = "label the others in notebook 05" if _first(result) else "read what changed in notebook 07's form"
        step = f"Next: {where}. The order was fixed before any answer was seen: keep to it."
    else:
        step = "Done: notebook 06 has the result of week 1." if _first(result) else "Done: the score is this run's own."
    hints = [
        f"{plural(stale, 'answer')} labelled with an earlier text: read the new one." if stale else "",
        f"{plural(beyond, 'label')} wait until the answer to question {result.sample.waiting} is labelled."
        if beyond and result.sample.waiting
        else "",
        f"To test the judge, {plural(more, 'answer')} further down the order {'is' if more == 1 else 'are'} asked for: "
        "notebook 06 says why; the form of 05 holds them."
        if more
        else "",
        f"{plural(joined, 'answer')} to questions that failed in use {'is' if joined == 1 else 'are'} asked for at the "
        "end of the form, for a count of their own."
        if joined
        else "",
        closed_to_annotator(result, result.closed_of(further)).strip(),
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
