"""What the pages of a report say: the sponsor's first page, and the frame around each executed notebook.

Texts of questions, answers and documents reach a page only where the pilot's readers may see them; the rest is counted
with the groups that are needed. Which file a page goes to, and how notebooks are run, is not known here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .. import __version__
from ..amending import scored_against
from ..analysis.acceptance import Judgement
from ..analysis.cost import Tariff, monthly_cost
from ..analysis.decision import Decision
from ..analysis.headline import Estimate
from ..analysis.latency import StageTime
from ..analysis.shares import percent
from ..ledger import Ledger
from ..reading import Failure, failures
from ..results import Result
from . import figures, tables
from .html import STYLE, Html, link, readable
from .tables.score import LESS
from .words import CAUSE, DECISION, MEASURE, cause_name, plural

TEMPLATES = Path(__file__).parent / "templates"
WRONG_SHOWN = 3  # a sponsor asks for three real wrong answers
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")  # what a page may be told of a text, such as fr-CA
REREAD = 20  # real answers that a person re-reads each month after launch (the method)


@dataclass(frozen=True)
class Page:
    """One notebook's page: its file, its heading, its goal in a sentence, and the converted body."""

    file: str
    title: str
    goal: str
    body: str


@dataclass(frozen=True)
class Stamp:
    """What stands on every page: which run, when, of which data, for whom, and what the numbers cannot support."""

    pilot: str
    facts: tuple[tuple[str, str], ...]
    prints: tuple[tuple[str, str], ...]
    limits: tuple[str, ...]
    readers: str
    made: str
    version: str = __version__


def stamp(result: Result, shows: str = "") -> Stamp:
    """The stamp of a run; `shows` says what a page shows of it, where that is not the run as a whole."""
    info, config = result.run.info, result.run.info.get("config", {})
    prints = {
        "run": info.get("fingerprint", ""),
        **{name: config.get(name, "") for name in ("questions", "documents", "access")},
    }
    models = ", ".join(info.get("models", ())) or "sentences of the documents, no model"
    return Stamp(
        pilot=result.settings.pilot.title,
        facts=(
            *([("This page shows", shows)] if shows else []),
            ("Run", result.run.id),
            ("Date", str(info.get("date", ""))),
            ("Questions", f"{len(result.questions)}"),
            *([("Scored against", amended)] if (amended := scored_against(result)) else []),
            ("Answered by", models),
            ("Data", str(prints["run"])),
        ),
        prints=tuple((f"{name} fingerprint", str(value)) for name, value in prints.items() if value),
        limits=limits(result),
        readers=", ".join(sorted(result.pilot.readers)),
        made=date.today().isoformat(),
    )


def limits(result: Result) -> tuple[str, ...]:
    """What the numbers of a run cannot support, the weightiest first."""
    n = len(result.drawn)
    none = sum(not q.answerable for q in result.drawn)
    return (
        f"They speak of questions like these {n} ({percent(none / n) if n else 0} % unanswerable, this mix of topics): "
        "others can come out worse, above all those that did not serve to mend the system.",
        "They hold for this run alone: other documents, settings, access rights or another model need a new run.",
        "A gain was measured on the questions that prompted the change; expect less of it in use.",
        "“Not decided” is not “met”: so many questions cannot tell, and the page says how many could.",
        "A topic with under 30 questions has counts, not a rank; one with under 10 says nothing.",
        "Cost is an estimate from the tokens of this run and the prices in pilot.toml; speed is that of this machine.",
    )


def notebook_page(page: Page, pages: Sequence[Page], stamped: Stamp) -> str:
    """One notebook's page with its neighbours linked."""
    place = pages.index(page)
    return _render(
        "notebook.html.j2",
        title=f"{page.title} – {stamped.pilot}",
        stamp=stamped,
        body=Html(page.body),
        before=pages[place - 1] if place else None,
        after=pages[place + 1] if place + 1 < len(pages) else None,
    )


def run_page(result: Result) -> str:
    """The dated page of one run: its numbers, and every failure with what was expected and what came out."""
    name = {result.run.info.get("name", "run"): result.retrieval}
    parts = (
        tables.headline(result.headline),
        tables.label_shares(result.label_shares),
        tables.retrievers(name, {next(iter(name)): result.leaks}),
        tables.failures(failures(result)),
    )
    return _render("run.html.j2", title=f"Run {result.run.id}", stamp=stamp(result), body=Html("".join(parts)))


def front_page(ledger: Ledger, result: Result, tasks: int, pages: Sequence[Page], stamped: Stamp) -> str:
    """The sponsor's page: decision, score, criteria, pictures, wrong answers, owners, cost, what watches it.

    `tasks` is how many documents stand in the tasks.csv beside the page.
    """
    decision = result.decision(ledger.left())
    return _render(
        "front.html.j2",
        title=f"{stamped.pilot}: result of the pilot",
        stamp=stamped,
        verdict=decision.verdict,
        decision=DECISION[decision.verdict],
        reasons=_reasons(decision, result.judgements()),
        numbers=_numbers(result),
        headline=result.headline.words,
        agreed=tables.agreed(result.pilot.locked),
        criteria=tables.judgements(result.judgements()),
        pictures=_pictures(ledger, result),
        wrong=_wrong(result),
        owners=tables.tasks(result),
        tasks=tasks,
        cost=_cost(result),
        speed=_speed(result.stage_times()),
        launch=_launch(result),
        pages=pages,
    )


def _render(name: str, **values: Any) -> str:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    style = Html(STYLE + "\n" + (TEMPLATES / "report.css").read_text(encoding="utf-8").strip())
    return environment.get_template(name).render(style=style, **values)


def _shown(value: object) -> object:
    """A value as the templates escape it: what is `Html` is not escaped again."""
    if isinstance(value, Html):
        return Markup(value)
    return readable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


# -- the parts of the first page ---------------------------------------------------------------------------------------


def _reasons(decision: Decision, judgements: Sequence[Judgement]) -> tuple[str, ...]:
    """The reasons in plain words; what stands in the table below, word for word, is named only."""
    first, second = decision.reasons
    open_ones = [j for j in judgements if j.state == "not decided"]
    if open_ones and second == "; ".join(j.words for j in open_ones):
        second = f"Open: {', '.join(j.criterion.name for j in open_ones)}. The table below says what would decide them."
    for code, name in CAUSE.items():
        second = second.replace(code, name)
    return first, second


def _numbers(result: Result) -> list[dict[str, str]]:
    head = result.headline
    rows = [(name, getattr(head, name)) for name in ("correct", "wrong", "declined")]
    shown = [_number(name, e.value, _span(e)) for name, e in rows if e is not None]
    if shown and head.partly is None:
        shown.insert(1, {"label": "partly", "value": "–", "span": LESS})
    elif head.partly is not None:
        shown.insert(1, _number("partly", head.partly, "the remainder"))
    return shown


def _number(label: str, value: float, span: str) -> dict[str, str]:
    return {"label": label, "value": f"{percent(value)} %", "span": span}


def _span(estimate: Estimate) -> str:
    return f"between {percent(estimate.interval.low)} and {percent(estimate.interval.high)} %"


def _pictures(ledger: Ledger, result: Result) -> list[Html]:
    first = ledger.result(())
    runs = {"first run": first, "final run": result} if first.run.id != result.run.id else {"this run": result}
    return [
        figures.labels({name: r.label_shares for name, r in runs.items()}),
        figures.retrieval({name: r.retrieval for name, r in runs.items()}),
        figures.changes(ledger.attempt_all()),
    ]


def _wrong(result: Result) -> dict[str, Any]:
    wrong = failures(result, "wrong")
    shown = [f for f in wrong if not f.hidden]
    hidden = [f for f in wrong if f.hidden]
    graded = sum(g.label is not None for g in result.graded.values())
    words = f"{plural(len(wrong), 'answer')} {'is' if len(wrong) == 1 else 'are'} known to be wrong; "
    words += f"{graded} of {len(result.graded)} have a label."
    if hidden:
        groups = ", ".join(sorted({name for f in hidden for name in f.hidden.split(", ")}))
        words += f" {len(hidden)} of them cannot be shown to these readers: that needs {groups}."
    if shown:
        words += " The first that can, in the order of reading:" if hidden else " The first, in the order of reading:"
    return {"words": words, "cases": [_case(f, result) for f in shown[:WRONG_SHOWN]]}


def _case(failure: Failure, result: Result) -> dict[str, object]:
    lang = next((q.lang for q in result.questions if q.id == failure.question_id), "")
    document = result.documents.get(failure.doc)
    named = link(document.link, document.title) if document else failure.doc or "none: the documents cannot answer it"
    return {
        "id": failure.question_id,
        "lang": Markup(' lang="{}"').format(lang) if LANGUAGE.fullmatch(lang) else "",
        "question": failure.question,
        "expected": failure.expected or "a decline",
        "got": failure.got,
        "document": named,
        "cause": cause_name(failure.cause),
        "by": {"expert": result.settings.pilot.annotator, "judge": "the judge"}.get(failure.by, failure.by),
    }


def _cost(result: Result) -> str:
    table, spent = result.settings.cost, result.spending()
    tariff, used = Tariff.of(table), spent.answering
    if used is None:
        return (
            "No tokens were reported, so nothing is priced: the extractive answerer asks no model. "
            "With a model this line states the monthly cost."
        )
    money = monthly_cost(table.questions_per_month, used, tariff.answering)
    rewriting = ""
    if again := spent.rewriting:
        money += monthly_cost(table.questions_per_month, again, tariff.rewriting)
        rewriting = f" (and {again.tokens_in:,.0f} and {again.tokens_out:,.0f} to rewrite it)"
    absent = {"declined without a call, free": used.without_call, "without a token count": used.not_reported}
    apart = "".join(f", {n} {what}" for what, n in (absent | {"failed": used.errors}).items() if n)
    return (
        f"About {money:,.0f} {table.currency} a month for {table.questions_per_month:,} questions: "
        f"{used.tokens_in:,.0f} tokens in and {used.tokens_out:,.0f} out a question{rewriting}, measured over "
        f"{used.n}{apart}; "
        f"prices from pilot.toml ({table.input_per_million:g} and {table.output_per_million:g} a million tokens)."
    )


def _speed(times: Sequence[StageTime]) -> str:
    total = next((t for t in times if t.stage == "total"), None)
    if total is None or total.p50 is None:
        kept = (
            f": all of {plural(total.kept, 'reply', 'replies')} were kept from earlier calls"
            if total and total.kept
            else ""
        )
        return f"No time was measured{kept}."
    words = f"Half of {plural(total.n, 'answer')} took {_time(total.p50)} or less"
    words += f", 95 % took {_time(total.p95)} or less" if total.p95 is not None else " (too few for a 95th percentile)"
    if total.budget is not None and total.within is not None:
        words += f"; the budget of {_time(total.budget)} is {'kept' if total.within else 'not kept'}"
    if total.kept:
        words += f" ({plural(total.kept, 'answer')} kept from earlier calls, not timed)"
    return f"{words}. Measured in this run, on this machine."


def _time(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds >= 1 else f"{1000 * seconds:.3g} ms"


def _launch(result: Result) -> str:
    alerts = [
        f"{MEASURE.get(c.measure, c.measure)} {'rises above' if c.at_most is not None else 'falls below'} "
        f"{100 * (c.at_most if c.at_most is not None else c.at_least or 0):g} %"
        for c in result.settings.acceptance
    ]
    when = f", and an alert says when {' or '.join(alerts)}" if alerts else ""
    return (
        f"The {len(result.questions)} questions stay as the release gate: no change of documents, settings or model "
        f"goes live before it has passed them{when}; each month a person reads about {REREAD} real answers, and every "
        "question that failed joins the set."
    )
