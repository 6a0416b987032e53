"""Tables for days 1 and 2: what became of a ticket export, and which of its questions ask the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ...corpus.columns import FIELDS
from ...corpus.grouping import Group, Groups
from ...corpus.tickets import Imported, by_reason
from ...records import Question
from ..html import Html, element, facts, listing, note, paragraph, section, table
from ..words import plural

MOST_GROUPS = 60
MOST_WORDINGS = 3
MOST_IDS = 8


def imported(found: Imported) -> Html:
    """How an export was read, which columns were taken, and what became of each of its rows."""
    unit = found.export.unit
    return section(
        paragraph(
            element("strong", f"{plural(len(found.new), 'new question')} from {plural(found.rows, 'row')}. "),
            f"{plural(found.before, 'question')} stood in {found.to.name} before and were left as they are.",
        ),
        facts(found.export.path.name, _reading(found)),
        table("What its columns were taken for", ("Field", "Column", "Why"), _columns(found)),
        note(f"Columns not used: {', '.join(found.columns.unused) or 'none'}."),
        table(
            "What became of each row",
            ("", "Rows"),
            [
                ("New questions", len(found.new)),
                ("Repeats of one of these, counted with it", len(found.repeats)),
                ("Were there already", len(found.known)),
                ("Left out", len(found.left_out)),
                ("All", found.rows),
            ],
            total=True,
        ),
        table(
            "Left out",
            ("Why", f"In {unit}s"),
            [(why, ranges(lines)) for why, lines in by_reason(found.left_out).items()],
            empty="none",
        ),
        _conflicts(found.conflicts),
        note(
            f"Another answer than in {found.to.name}, which was kept: "
            f"{', '.join(f'{unit} {line} ({id_})' for line, id_ in found.differing)}."
        )
        if found.differing
        else None,
        note(
            "The new ones wait with answerable null: no run asks them until somebody has written what is expected and "
            "set answerable to true or false."
        )
        if found.new
        else None,
    )


def _reading(found: Imported) -> list[tuple[str, object]]:
    rows: list[tuple[str, object]] = [
        ("Read as", found.export.how),
        (f"Blank {found.export.unit}s", found.export.blank),
        ("Ids", _ids(found)),
    ]
    if found.masked is not None:
        emails, phones = found.masked
        counted = f"{plural(emails, 'e-mail address', 'e-mail addresses')}, {plural(phones, 'phone number')}"
        rows.append(("Masked", f"{counted}; names of people and postal addresses are not known: look for them"))
    return rows


def _ids(found: Imported) -> str:
    if not found.made_ids:
        return "as they stand in the export"
    made = f": {found.new[0]} to {found.new[-1]}" if found.new else ""
    return f"none in the export; made for the new questions{made}"


def _columns(found: Imported) -> list[tuple[str, str, str]]:
    taken, unclear = found.columns.taken, found.columns.unclear
    rows = [(name, taken[name], found.columns.how[name]) for name in FIELDS if name in taken]
    return rows + [
        (name, "none", f"{' and '.join(columns)} are equally good: say which with --column {name}=")
        for name, columns in unclear.items()
    ]


def _conflicts(pairs: Sequence[tuple[str, str]]) -> Html | None:
    if not pairs:
        return None
    shown = [f"{one} and {other}" for one, other in pairs[:MOST_IDS]]
    more = [f"and {len(pairs) - MOST_IDS} more pairs"] if len(pairs) > MOST_IDS else []
    return section(
        paragraph(element("strong", "One text, different answers: "), "both were kept; agree on one answer of"),
        listing([*shown, *more]),
    )


def ranges(numbers: Sequence[int]) -> str:
    """Such as '2-5, 9': every number, shortened."""
    parts: list[list[int]] = []
    for number in sorted(numbers):
        if parts and number <= parts[-1][1] + 1:
            parts[-1][1] = number
        else:
            parts.append([number, number])
    return ", ".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


def question_groups(found: Groups, readers: Collection[str] = frozenset(), most: int = MOST_GROUPS) -> Html:
    """Questions that ask the same, those asked most first; texts only of askers whose groups the readers all have."""
    open_ = [g for g in found.groups if len(_chosen(found, g)) < len(g.members)]
    if not open_:
        return section("No candidates: every question of the set is decided.")
    rows = [_group(found, group, frozenset(readers)) for group in open_[:most]]
    rest = open_[most:]
    return section(
        paragraph(
            element("strong", f"{plural(len(found.questions), 'question')} in {plural(len(found.groups), 'group')}. "),
            f"{plural(sum(not _chosen(found, g) for g in open_), 'group')} without a question that is already chosen; "
            f"{plural(len(found.groups) - len(open_), 'group')} of chosen ones alone, not shown. {found.how}",
        ),
        table(
            "Questions that ask the same, most asked first",
            ("Question", "Asked", "Other wordings", "Ids", "Already chosen"),
            rows,
        ),
        note(f"And {plural(len(rest), 'group')}, asked {sum(g.asked for g in rest):,} times in all.") if rest else None,
        note("A group is a proposal. Choose the wording that people really use; typos stay as they are."),
    )


def _chosen(found: Groups, group: Group) -> list[str]:
    return [i for i in (found.questions[place].id for place in group.members) if i in found.chosen]


def _group(found: Groups, group: Group, readers: frozenset[str]) -> tuple[object, ...]:
    questions = [found.questions[i] for i in group.members]
    wordings = list(dict.fromkeys(_shown(q, readers) for q in questions))
    others, ids = wordings[1:], [q.id for q in questions]
    more = f" (and {len(others) - MOST_WORDINGS} more)" if len(others) > MOST_WORDINGS else ""
    return (
        wordings[0],
        group.asked,
        " · ".join(others[:MOST_WORDINGS]) + more or "–",
        ", ".join(ids[:MOST_IDS]) + (f" and {len(ids) - MOST_IDS} more" if len(ids) > MOST_IDS else ""),
        ", ".join(_chosen(found, group)) or "–",
    )


def _shown(question: Question, readers: frozenset[str]) -> str:
    closed = question.groups - readers
    text = " ".join(question.question.split())
    return f"not shown here (asked in {', '.join(sorted(closed))})" if closed else text[:160] + "…" * (len(text) > 160)
