"""What the pages of a report say: the sponsor's first page, and the frame around each executed notebook.

Texts of questions, answers and documents reach a page only where the pilot's readers may see them; the rest is counted
with the groups that are needed. Which file a page goes to, and how notebooks are run, is not known here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from .. import __version__
from ..amending import scored_against
from ..analysis.cost import Tariff, monthly_cost
from ..analysis.headline import Headline
from ..analysis.latency import StageTime
from ..ledger import Ledger
from ..reading import Failure, failures
from ..results import Result
from ..said import Said
from . import figures, tables
from .html import STYLE, Html, link, readable
from .speech import NARROW, Voice, speech
from .tables.plan import say_reason
from .tables.ready import REREAD
from .tables.score import rounding

TEMPLATES = Path(__file__).parent / "templates"
WRONG_SHOWN = 3  # a sponsor asks for three real wrong answers
LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,8})*")  # what a page may be told of a text, such as fr-CA


@dataclass(frozen=True)
class Page:
    """One notebook's page: its file, its heading, its goal in a sentence, the converted body, and its language."""

    file: str
    title: str
    goal: str
    body: str
    lang: str = "en"


@dataclass(frozen=True)
class Stamp:
    """What stands on every page: which run, when, of which data, for whom, and what the numbers cannot support; in the
    language of the page."""

    pilot: str
    facts: tuple[tuple[str, str], ...]
    prints: tuple[tuple[str, str], ...]
    limits: tuple[str, ...]
    readers: str
    made: str
    version: str = __version__
    language: str = "en"


def stamp(result: Result, language: str = "en", shows: str = "") -> Stamp:
    """The stamp of a run, in the language of the page that it is for; `shows` says what a page shows of it, where that
    is not the run as a whole."""
    say = Voice(language)
    info, config = result.run.info, result.run.info.get("config", {})
    prints = {
        "run": info.get("fingerprint", ""),
        **{name: config.get(name, "") for name in ("questions", "documents", "access")},
    }
    models = ", ".join(info.get("models", ())) or say("no_model")
    return Stamp(
        pilot=result.settings.pilot.title,
        facts=(
            *([(say("this_page_shows"), shows)] if shows else []),
            (say("run"), result.run.id),
            (say("date"), str(info.get("date", ""))),
            (say("questions"), str(len(result.questions))),
            *([(say("scored_against"), say.say(amended))] if (amended := scored_against(result)) else []),
            (say("answered_by"), models),
            (say("data"), str(prints["run"])),
        ),
        prints=tuple((say(f"print_{name}"), str(value)) for name, value in prints.items() if value),
        limits=limits(result, language),
        readers=", ".join(sorted(result.pilot.readers)),
        made=date.today().isoformat(),
        language=language,
    )


def limits(result: Result, language: str = "en") -> tuple[str, ...]:
    """What the numbers of a run cannot support, the weightiest first."""
    say, n = Voice(language), len(result.drawn)
    none = sum(not q.answerable for q in result.drawn) / n if n else 0.0
    others = ("run", "gain", "open", "topic", "cost")
    return say("limit_mix", n=n, none=none), *(say(f"limit_{name}") for name in others)


def notebook_page(page: Page, pages: Sequence[Page], stamped: Stamp) -> str:
    """One notebook's page with its neighbours linked."""
    place = pages.index(page)
    return render(
        "notebook.html.j2",
        title=f"{page.title} – {stamped.pilot}",
        stamp=stamped,
        body=Html(page.body),
        page=page,
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
    return render("run.html.j2", title=f"Run {result.run.id}", stamp=stamp(result), body=Html("".join(parts)))


def front_page(ledger: Ledger, result: Result, tasks: int, pages: Sequence[Page], stamped: Stamp) -> str:
    """The sponsor's page, in the language of its stamp: decision, score, criteria, pictures, wrong answers, owners,
    cost, what watches it.

    `tasks` is how many documents stand in the tasks.csv beside the page.
    """
    decision, language = result.decision(ledger.left()), stamped.language
    say = Voice(language)
    return render(
        "front.html.j2",
        title=say("title", pilot=stamped.pilot),
        stamp=stamped,
        verdict=decision.verdict,
        reasons=[say_reason(reason, say) for reason in decision.reasons],
        numbers=_numbers(result, say),
        headline=_headline(result.headline, say),
        rounded=rounding(result.headline, say) or "",
        agreed=tables.agreed(result.pilot.locked, language),
        criteria=tables.judgements(result.judgements(), language),
        pictures=_pictures(ledger, result, language),
        wrong=_wrong(result, say),
        owners=tables.tasks(result, language),
        tasks=tasks,
        cost=_cost(result, say),
        speed=_speed(result.stage_times(), say),
        launch=_launch(result, say),
        pages=pages,
    )


def render(name: str, *, stamp: Stamp, **values: Any) -> str:
    """A page of that template, in the language of its stamp."""
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
    return environment.get_template(name).render(style=style, stamp=stamp, say=Voice(stamp.language), **values)


def _shown(value: object) -> object:
    """A value as the templates escape it: what is `Html` is not escaped again."""
    if isinstance(value, Html):
        return Markup(value)
    return readable(value) if isinstance(value, str) and not isinstance(value, Markup) else value


# -- the parts of the first page ---------------------------------------------------------------------------------------


def _headline(found: Headline, say: Voice) -> str:
    """What the score says of itself; which labels wait for which is for who reads them (notebooks 05 and 06)."""
    return " ".join(say.say(said) for said in found.said if said.key != "waits") or found.words


def _numbers(result: Result, say: Voice) -> list[dict[str, str]]:
    head, shown = result.headline, []
    for name in ("correct", "wrong", "declined"):
        if (e := getattr(head, name)) is not None:
            span = say("between", low=e.interval.low, high=e.interval.high)
            shown.append({"label": say(f"label_{name}"), "value": say.percent(e.value), "span": span})
    if shown:
        told = ("–", say("less")) if head.partly is None else (say.percent(head.partly), say("remainder"))
        shown.insert(1, {"label": say("label_partly"), "value": told[0], "span": told[1]})
    return shown


def _pictures(ledger: Ledger, result: Result, language: str) -> list[Html]:
    words, first = speech("figures", language), ledger.result(())
    runs = {words["first_run"]: first} if first.run.id != result.run.id else {}
    runs[words["final_run"]] = result
    return [
        figures.score(ledger, language=language),
        figures.labels({name: r.label_shares for name, r in runs.items()}, language=language),
        figures.retrieval({name: r.retrieval for name, r in runs.items()}, language=language),
    ]


def _wrong(result: Result, say: Voice) -> dict[str, Any]:
    wrong = failures(result, "wrong")
    shown = [f for f in wrong if not f.hidden]
    hidden = [f for f in wrong if f.hidden]
    graded = sum(g.label is not None for g in result.graded.values())
    words = [say("wrong_known", n=len(wrong), graded=graded, asked=len(result.graded))]
    if hidden:
        needed = Counter(say.say(one) for f in hidden for one in _groups(f.hidden))
        groups = ", ".join(f"{one} ({n})" if len(needed) > 1 else one for one, n in sorted(needed.items()))
        words.append(say("wrong_hidden", n=len(hidden), groups=groups))
    if shown:
        words.append(say("first_that_can" if hidden else "first"))
    return {"words": " ".join(words), "cases": [_case(f, result, say) for f in shown[:WRONG_SHOWN]]}


def _groups(hidden: str) -> tuple[str, ...]:
    """Each of the groups that are needed together, such as 'hr' and 'finance or legal'."""
    each = hidden.values.get("each") if isinstance(hidden, Said) else None
    return each if isinstance(each, tuple) else (hidden,)


def _case(failure: Failure, result: Result, say: Voice) -> dict[str, object]:
    lang = next((q.lang for q in result.questions if q.id == failure.question_id), "")
    document = result.documents.get(failure.doc)
    said = Markup(' lang="{}"')
    named = link(document.link, document.title) if document else failure.doc or say("no_document")
    by = {"expert": result.settings.pilot.annotator}.get(failure.by) or say.code("by", failure.by)
    return {
        "id": failure.question_id,
        "lang": said.format(lang) if LANGUAGE.fullmatch(lang) else "",
        "question": failure.question,
        "expected": failure.expected or say("a_decline"),
        "expected_lang": said.format(lang) if LANGUAGE.fullmatch(lang) and failure.expected else "",
        "got": failure.got,
        "document": named,
        "document_lang": said.format(document.lang) if document and LANGUAGE.fullmatch(document.lang) else "",
        "cause": say.code("cause", failure.cause),
        "by": by,
    }


def _cost(result: Result, say: Voice) -> str:
    table, spent = result.settings.cost, result.spending()
    tariff, used = Tariff.of(table), spent.answering
    if used is None:
        return say("cost_none")
    money = monthly_cost(table.questions_per_month, used, tariff.answering)
    rewriting = ""
    if again := spent.rewriting:
        money += monthly_cost(table.questions_per_month, again, tariff.rewriting)
        rewriting = f" {say('cost_rewriting', into=again.tokens_in, out=again.tokens_out)}"
    absent = {"cost_free": used.without_call, "cost_silent": used.not_reported, "cost_failed": used.errors}
    return say(
        "cost_month",
        money=money,
        currency=table.currency,
        questions=table.questions_per_month,
        into=used.tokens_in,
        out=used.tokens_out,
        rewriting=rewriting,
        n=used.n,
        apart="".join(f", {say(key, n=n)}" for key, n in absent.items() if n),
        price_in=table.input_per_million,
        price_out=table.output_per_million,
    )


def _speed(times: Sequence[StageTime], say: Voice) -> str:
    total = next((t for t in times if t.stage == "total"), None)
    if total is None or total.p50 is None:
        return say("no_time_kept", n=total.kept) if total and total.kept else say("no_time")
    words = say("half_took", n=total.n, half=_time(total.p50, say))
    words += (
        f", {say('most_took', most=_time(total.p95, say))}" if total.p95 is not None else f" {say('too_few_timed')}"
    )
    if total.budget is not None and total.within is not None:
        budget = say("budget_kept" if total.within else "budget_not_kept", budget=_time(total.budget, say))
        words += f"{NARROW if say.language == 'fr' else ''}; {budget}"
    if total.kept:
        words += f" {say('not_timed', n=total.kept)}"
    return f"{words}. {say('measured_here')}"


def _time(seconds: float, say: Voice) -> str:
    space = " " if say.language == "en" else NARROW
    return f"{say.number(seconds, '.1f')}{space}s" if seconds >= 1 else f"{say.number(1000 * seconds, '.3g')}{space}ms"


def _launch(result: Result, say: Voice) -> str:
    which = tuple(
        say("falls" if c.at_most is None else "rises", measure=c.measure, limit=c.at_most or c.at_least or 0.0)
        for c in result.settings.alert
    )
    alerts = f", {say('alerts', which=which) if which else say('no_alert')}"
    return say("launch_gate", n=len(result.questions), alerts=alerts, reread=REREAD)
