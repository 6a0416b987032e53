"""Tables of notebook 00: is retrieval what a team needs, and not fine-tuning, long prompts or a hosted search?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...analysis.cost import Prices, Usage, monthly_cost
from ...planning import ROOMY, CorpusSize, Source
from ...settings import Settings
from ..html import Html, element, join, listing, note, paragraph, section, table, tag
from ..words import plural

RAG, TUNING = "retrieval", "fine-tuning"
YES = tag("yes", "good")

NEEDS = {
    "changes": (
        RAG,
        "The knowledge changes often",
        "Fits: update the document, the next answer uses it",
        "Poor fit: train again",
    ),
    "source": (
        RAG,
        "Readers want to open the source",
        "Fits: each answer links the passage",
        "Poor fit: no source to show",
    ),
    "access": (
        RAG,
        "Not everybody may read everything",
        "Fits: passages are filtered per asker",
        "Poor fit: a model cannot forget",
    ),
    "format": (
        TUNING,
        "Always the same format or house tone",
        "Possible by instruction",
        "Fits: this is what it learns best",
    ),
    "latency": (
        TUNING,
        "Very short waiting time",
        "Search and long prompts cost time",
        "Fits: short prompts, a smaller model",
    ),
    "updates": (
        RAG,
        "An update must cost little",
        "Low: read the changed document again",
        "High: new examples, training, tests",
    ),
    "start": (
        RAG,
        "Start with the data there is",
        "The documents as they are",
        "Hundreds of good examples or more",
    ),
}
"""Rows of the decision table by their name in `needs` of [plan]: the side that each speaks for, and its three cells."""
ONLY_RETRIEVAL = ("changes", "source", "access")
"""What fine-tuning cannot give at all."""


def decision_table(settings: Settings) -> Html:
    """Retrieval or fine-tuning: seven needs, which of them are the team's own, the count for each, what follows."""
    ours = settings.plan.needs
    rows = [
        (join([need, " ", element("code", name)]), YES if name in ours else "–", rag, tuning)
        for name, (_, need, rag, tuning) in NEEDS.items()
    ]
    return section(
        *_count(ours),
        table(
            "Retrieval (RAG) or fine-tuning?", ("What you need", "You", "Retrieval over documents", "Fine-tuning"), rows
        ),
    )


def _count(ours: Collection[str]) -> list[Html]:
    if not ours:
        return [
            paragraph(tag("not counted yet", "open"), " Name the rows that hold for you in pilot.toml and run again:"),
            paragraph(element("code", '[plan] needs = ["changes", "source"]')),
        ]
    held = {side: [n for n in NEEDS if n in ours and NEEDS[n][0] == side] for side in (RAG, TUNING)}
    bound = [NEEDS[n][1].lower() for n in ONLY_RETRIEVAL if n in ours]
    if len(held[RAG]) >= len(held[TUNING]):
        follows = "Start with retrieval."
        if held[TUNING]:
            follows += (
                " What speaks for fine-tuning comes on top of it, not in its place: test it if week 2 leaves failures "
                "of format, or answers that take too long."
            )
    elif bound:
        follows = f"Start with retrieval all the same: fine-tuning cannot give you this: {'; '.join(bound)}."
    else:
        follows = (
            "Fine-tuning may serve you better. Collect the questions of notebook 01 anyway: they will show whether it "
            "does."
        )
    counted = f"{len(held[RAG])} of your {plural(len(ours), 'row')} for retrieval, {len(held[TUNING])} for fine-tuning."
    return [paragraph(counted, kind="big"), paragraph(follows)]


def long_context(found: CorpusSize, settings: Settings) -> Html:
    """Whether all documents fit the model's window, and what a month would cost if each question sent them all."""
    window, own, few = settings.plan.context_window, settings.cost, settings.retrieval.k
    if not found.documents:
        return section("No document was read yet: put them into documents/ and run this cell again.")
    fits = {
        "yes": ("they fit", f"they take {100 * found.tokens / window:.1f} % of that"),
        "barely": ("they fit barely", f"they take {100 * found.tokens / window:.1f} % of that, little is left to grow"),
        "no": ("they do not fit", f"they are {found.tokens / window:.1f} times as long: you need a search"),
    }
    word, why = fits[found.fits(window)]
    prices = Prices(own.input_per_million, own.output_per_million)
    shown = min(few * settings.passages.max_tokens, found.tokens)
    rows = [
        (what, f"{tokens:,}", f"{monthly_cost(own.questions_per_month, Usage(tokens, 0), prices):,.0f}")
        for what, tokens in (("every document", found.tokens), (f"{plural(few, 'passage')}, at most", shown))
    ]
    return section(
        paragraph(f"{plural(found.documents, 'document')}, {found.tokens:,} tokens: {word}", kind="big"),
        f"Your model reads {window:,} tokens; {why}.",
        f"{found.closed} of them are not open to everyone: a prompt that holds them all would show them to everybody."
        if found.closed
        else None,
        table(
            f"What a month sends, {own.questions_per_month:,} questions",
            ("Each prompt holds", "Tokens of documents", f"{own.currency} a month"),
            rows,
        ),
        note(
            f"Tokens counted with {found.counted_with}; another model counts somewhat differently. The window is "
            "context_window in [plan], 128,000 by default as OpenAI's gpt-4o; comfortable is up to "
            f"{100 * ROOMY:g} % of it, this workbook's own rule. Prices are those in [cost]."
        ),
        listing(
            [
                "A small set that hardly changes and that everybody may read may need no search: send it whole.",
                "Else search: a long prompt costs more at each question, is harder to keep fresh, and leaves no "
                "passage to check an answer by.",
            ]
        ),
    )


def hosted_or_own(settings: Settings) -> Html:
    """When a hosted file search will do, when a store of one's own is needed, and how to measure both."""
    rows = (
        ("Answers over files, soon, with no server to run", YES, "more work"),
        ("Own cutting of documents, keywords beside meaning, reranking", "little or none", YES),
        (
            "Access from your own groups, revoked at the next question",
            "attributes that you keep up",
            tag("yes", "good"),
        ),
        ("Documents may not leave your machines", "no", YES),
    )
    store = settings.hosted.store
    state = (
        f"{store} is named in [hosted]: notebook 03 measures it beside ours, on the same questions."
        if store
        else "To measure one: name its store in [hosted] of pilot.toml. Notebook 03 then asks it the same questions; "
        "anything with search(question, groups, k) will do."
    )
    return section(
        table("Hosted search or your own store?", ("If you need this", "Hosted file search", "Own store"), rows), state
    )


def freshness(found: Sequence[Source], readers: Collection[str]) -> Html:
    """How old the documents of each source may be, and how many are older; a folder is named to who may open some."""
    may = frozenset(readers)
    shown = [s for s in found if not s.documents or any(d.groups & may for d in s.documents)]
    count, stale = sum(len(s.documents) for s in found), sum(len(s.stale) for s in found)
    if not count:
        return section("No document was read yet: put them into documents/ and run this cell again.")
    rows = [
        (
            s.name or "in no folder",
            f"{s.days:,} days" if s.days else "no bound",
            len(s.documents),
            max((d.updated for d in s.documents if d.updated and d.groups & may), default="–"),
            len(s.stale),
            s.undated,
        )
        for s in shown
    ]
    head = ("Source", "May be", "Documents", "Latest", "Out of date", "Without a date")
    empty = [s.name for s in shown if not s.documents]
    unbound = [s.name or "documents in no folder" for s in shown if s.documents and not s.days]
    hints = [
        f"No bound yet for {', '.join(unbound)}: agree on one and write it into pilot.toml, fresh_days for all or "
        'fresh = { "FOLDER" = DAYS }, in [documents].'
        if unbound
        else "",
        f"No document stands in {', '.join(empty)}: mend the folder's name under fresh in pilot.toml." if empty else "",
        f"{plural(len(found) - len(shown), 'source')} not shown to these readers, counted in the total."
        if len(shown) < len(found)
        else "",
        "Notebook 02 names what is out of date, with its owner." if stale else "",
    ]
    return section(
        paragraph(element("strong", f"{stale} of {plural(count, 'document')} out of date.")),
        table("How fresh each source must be", head, rows),
        listing(h for h in hints if h) if any(hints) else None,
    )


def build_cost(settings: Settings) -> Html:
    """What the two weeks, the building and the running cost, each with whose figure it is."""
    plan, currency = settings.plan, settings.cost.currency
    (low, high), (first, last) = plan.build_cost, plan.build_weeks
    own = {"build_cost", "build_weeks"} & plan.model_fields_set
    rows = (
        ("The two weeks", "an engineer's time, a few days of the expert, few calls of a model", "the article"),
        (
            "Building it afterwards",
            f"{low:,.0f} to {high:,.0f} {currency}, {first} to {last} weeks",
            "your figures" if own else "the article's published range for an internal assistant",
        ),
        ("Running it", "by the month, below", "your prices, measured tokens"),
    )
    return section(
        table("What it takes", ("What", "How much", "Whose figure"), rows),
        None if own else note("Put your own range into build_cost and build_weeks of [plan] in pilot.toml."),
    )
