"""What is done before the first run: `new`, `import`, `check`, `index`.

Each is a few calls of what the notebooks call too, and returns an exit code. Heavy imports stand inside.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import DataError, PilotError

if TYPE_CHECKING:
    from ..records import Question


def new(args: argparse.Namespace) -> int:
    """Make the folder of a new pilot and print the next steps."""
    from ..starter import write_starter

    here = Path.cwd()
    root = next((p for p in (here, *here.parents) if (p / "data").is_dir()), here)
    folder = write_starter(root / "data", args.name, args.lang)
    print(f"made {folder}")
    print(f"  1. put documents into {folder / 'documents'}; who may open them goes into access.csv beside it")
    print(f"  2. rag-pilot import TICKETS --to {folder / 'questions.jsonl'}, or write it (README.md shows how)")
    print(f"  3. rag-pilot check {args.name}")
    print(f"  4. make lab PILOT={args.name}, or as the README says without make; begin with 00_plan")
    return 0


def import_(args: argparse.Namespace) -> int:
    """Append the questions of a ticket export."""
    from ..corpus.tickets import import_questions
    from ..reporting import tables
    from ..settings import read_settings

    if unfit := [told for told in args.column if "=" not in told]:
        raise DataError(f"--column {unfit[0]}: expected FIELD=NAME, such as question=Betreff")
    columns = {name.strip(): column for name, _, column in (told.partition("=") for told in args.column)}
    settings = args.to.parent / "pilot.toml"
    everyone = read_settings(settings).pilot.everyone if settings.exists() else None
    found = import_questions(args.tickets, args.to, columns, args.mask, args.encoding, args.sheet, everyone)
    print(repr(tables.imported(found)))
    return 1 if found.left_out or found.conflicts or not found.rows else 0


def check(args: argparse.Namespace) -> int:
    """Print every file with what came of it, then what is wrong with the questions."""
    from ..corpus.checks import summary
    from ..corpus.draft import write_draft
    from ..pilot import Pilot
    from ..reporting.check import file_lines, summary_lines
    from ..reporting.words import plural

    pilot = Pilot.open(args.pilot)
    broken: PilotError | None = None
    questions: Sequence[Question] = ()
    try:
        questions = pilot.collected
    except PilotError as fault:  # the documents are shown first all the same
        broken = fault
    found = pilot.inventory(questions)
    for line in (*file_lines(found), *summary_lines(found, pilot.why_stale)):
        print(line)
    paths = [file.document.path for file in found.files]
    if draft := write_draft(pilot.data / "access.csv", found.skipped, paths):
        print(draft)
    if broken:
        raise broken
    findings = pilot.check()
    print(f"{plural(len(questions), 'question')}, {summary(findings)}")
    for finding in findings:
        ids = f" [{', '.join(finding.ids[:10])}{', ...' if len(finding.ids) > 10 else ''}]" if finding.ids else ""
        print(f"  {finding.severity:7} {finding.what}{ids}: {finding.what_to_do}")
    errors = any(finding.severity == "error" for finding in findings)
    return 1 if errors or found.skipped else 0


def index(args: argparse.Namespace) -> int:
    """Build the index and hold it against the accepted one."""
    from ..pilot import Pilot
    from ..reindex import REFUSED
    from ..reporting import tables

    pilot = Pilot.open(args.pilot)
    print(repr(tables.index(pilot.build())))
    found = pilot.reindex(args.accept_loss)
    print(repr(tables.reindexed(found)))
    return 1 if found.state == REFUSED else 0
