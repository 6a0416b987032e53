"""The command line: `rag-pilot new | import | check | index | run | labels | review | adopt | export | ...`.

Each command is a few calls of what the notebooks call too. A PilotError is a message and exit code 2, never a
traceback; findings, failed runs and a refused index give exit code 1. Heavy imports stand inside the commands.
"""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .errors import DataError, PilotError

if TYPE_CHECKING:
    from .records import Question

SURE = "correct, by rule or expert"  # a judge's label alone never decides


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 done, 1 something to mend was found, 2 it could not be done, 130 interrupted."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a console that cannot show a letter still shows the rest
    args = _parser().parse_args(arguments)
    try:
        code: int = args.command(args)
    except (PilotError, OSError) as fault:
        print(f"rag-pilot: {fault}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rag-pilot: interrupted; what was finished is kept, run it again to go on", file=sys.stderr)
        return 130
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="rag-pilot", description="A two-week pilot of an assistant on documents.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    which = "the folder below data/ (default: RAG_PILOT, else sample)"

    def command(name: str, does: Callable[[argparse.Namespace], int], words: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=words, description=words)
        made.set_defaults(command=does)
        return made

    new = command("new", _new, "make the folder of a new pilot")
    new.add_argument("name")
    new.add_argument("--lang", default="en", choices=("en", "fr", "pl"), help="of the documents (default: en)")
    tickets = command("import", _import, "append the questions of a ticket export to a questions.jsonl")
    tickets.add_argument(
        "tickets", type=Path, help="a .csv, .tsv, .xlsx, .jsonl, .json, or .txt with one question a line"
    )
    tickets.add_argument("--to", type=Path, required=True, metavar="FILE", help="such as data/PILOT/questions.jsonl")
    told = "the column of a field where the guess is not clear, such as question=Betreff; FIELD= for none"
    tickets.add_argument("--column", action="append", default=[], metavar="FIELD=NAME", help=told)
    tickets.add_argument("--mask", action="store_true", help="replace e-mail addresses and phone numbers")
    tickets.add_argument("--encoding", help="where it is not UTF-8, UTF-16 or cp1252, such as cp1250")
    tickets.add_argument("--sheet", help="of a workbook with several")
    check = command("check", _check, "what was read of the documents, and what is wrong with the questions")
    check.add_argument("pilot", nargs="?", help=which)
    index = command("index", _index, "build or open the index, and compare what it finds with the accepted one")
    index.add_argument("pilot", nargs="?", help=which)
    index.add_argument("--accept-loss", action="store_true", help="accept it whatever it no longer finds")
    run = command("run", _run, "ask all questions, with the changes that are kept, or reuse the run that did")
    run.add_argument("pilot", nargs="?", help=which)
    dry = "tell how many calls it would make and what they would cost, and call nobody"
    run.add_argument("--dry-run", action="store_true", help=dry)
    labels = command("labels", _labels, "the answers to be labelled as a spreadsheet, and its labels back")
    labels.add_argument("way", choices=("export", "import"))
    labels.add_argument("pilot", help="the folder below data/")
    labels.add_argument("file", type=Path, help="a .csv; to import also an .xlsx")
    labels.add_argument("--encoding", help="of a file to import that is not UTF-8, UTF-16 or cp1252, such as cp1250")
    review = command("review", _review, "draw answers that a person re-reads as a spot check")
    review.add_argument("pilot", help="the folder below data/")
    source = review.add_mutually_exclusive_group()
    source.add_argument("--run", help="a folder in results/PILOT/runs (default: the latest)")
    held = "real answers: a .jsonl or .csv with question, answer, groups; id, documents, passages"
    source.add_argument("--file", type=Path, help=held)
    review.add_argument("--n", type=int, default=15, help="how many (default: 15)")
    review.add_argument("--encoding", help="of a file that is not UTF-8, UTF-16 or cp1252, such as cp1250")
    adopted = command("adopt", _adopt, "real answers that failed when they were re-read; take one into the questions")
    adopted.add_argument("pilot", help="the folder below data/")
    adopted.add_argument("answer", nargs="?", help="such as real.jsonl:7 (default: list them)")
    adopted.add_argument("--expected", default="", metavar="TEXT", help="what the expert says is right")
    adopted.add_argument("--doc", default="", metavar="ID", help="the document that holds it")
    adopted.add_argument("--unanswerable", action="store_true", help="the asker's documents do not answer it")
    export = command("export", _export, "run the notebooks and write results/PILOT/report/index.html")
    export.add_argument("pilot", nargs="?", help=which)
    export.add_argument("--audience", nargs="+", default=[], metavar="GROUP", help="who will read it")
    stored = "ask models for what is not stored; without it pages show stored runs, and no address is called"
    export.add_argument("--run", action="store_true", help=stored)
    compare = command("compare", _compare, "two runs, question by question")
    compare.add_argument("before", help="a folder in results/PILOT/runs")
    compare.add_argument("after", help="another one")
    compare.add_argument("--pilot", help=which)
    common = "where the runs hold different questions: over those that both hold; it says so"
    compare.add_argument("--common", action="store_true", help=common)
    trace = command("trace", _trace, "where the document of a question stood, and what the model saw")
    trace.add_argument("pilot", help="the folder below data/")
    trace.add_argument("question_id")
    trace.add_argument("--run", help="a folder in results/PILOT/runs (default: the latest)")
    return parser


def _new(args: argparse.Namespace) -> int:
    from .starter import write_starter

    here = Path.cwd()
    root = next((p for p in (here, *here.parents) if (p / "data").is_dir()), here)
    folder = write_starter(root / "data", args.name, args.lang)
    print(f"made {folder}")
    print(f"  1. put documents into {folder / 'documents'}; who may open them goes into access.csv beside it")
    print(f"  2. rag-pilot import TICKETS --to {folder / 'questions.jsonl'}, or write it (README.md shows how)")
    print(f"  3. rag-pilot check {args.name}")
    print(f"  4. make lab PILOT={args.name}, or as the README says without make; begin with 00_plan")
    return 0


def _import(args: argparse.Namespace) -> int:
    from .corpus.tickets import import_questions
    from .reporting import tables
    from .settings import read_settings

    if unfit := [told for told in args.column if "=" not in told]:
        raise DataError(f"--column {unfit[0]}: expected FIELD=NAME, such as question=Betreff")
    columns = {name.strip(): column for name, _, column in (told.partition("=") for told in args.column)}
    settings = args.to.parent / "pilot.toml"
    everyone = read_settings(settings).pilot.everyone if settings.exists() else None
    found = import_questions(args.tickets, args.to, columns, args.mask, args.encoding, args.sheet, everyone)
    print(repr(tables.imported(found)))
    return 1 if found.left_out or found.conflicts or not found.rows else 0


def _check(args: argparse.Namespace) -> int:
    from .corpus.checks import summary
    from .corpus.draft import write_draft
    from .pilot import Pilot
    from .reporting.check import file_lines, summary_lines
    from .reporting.words import plural

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


def _index(args: argparse.Namespace) -> int:
    from .pilot import Pilot
    from .reindex import REFUSED
    from .reporting import tables

    pilot = Pilot.open(args.pilot)
    print(repr(tables.index(pilot.build())))
    found = pilot.reindex(args.accept_loss)
    print(repr(tables.reindexed(found)))
    return 1 if found.state == REFUSED else 0


def _run(args: argparse.Namespace) -> int:
    from .ledger import Ledger
    from .pilot import Pilot

    ledger = Ledger(Pilot.open(args.pilot))
    if args.dry_run:
        from .reporting import tables

        print(repr(tables.dry_run(ledger.dry_run(), ledger.pilot.settings)))
        return 0
    result = ledger.result()
    info, leaking = result.run.info, result.leaking
    counts = ", ".join(f"{info[name]} {name}" for name in ("asked", "answered", "declined", "error"))
    print(f"run {result.run.id}: {counts}")
    if unused := info.get("not_rewritten"):
        print(f"searched as asked, because the rewriting model's reply was no query: {unused}")
    print(f"right document among the first 5: {result.retrieval.hit5.text()}")
    print(f"questions with a leak: {leaking.count} of {leaking.n}")
    for stage, leaks in result.audit.stages.items():
        if leaks.share.count:
            print(f"  {stage}: {leaks.share.count} of {leaks.share.n} ({', '.join(sorted(leaks.passages))})")
    print(result.headline.words)
    print(f"written to {result.run.folder}")
    return 1 if leaking.count or info["error"] else 0


def _labels(args: argparse.Namespace) -> int:
    from .grading.labels import LabelStore
    from .grading.labels_csv import export_labels, import_labels
    from .pilot import Pilot
    from .reading import items
    from .reporting.spreadsheet import exported_lines, imported_lines
    from .results import Result

    pilot = Pilot.open(args.pilot)
    run = pilot.finished(pilot.baseline)
    if run is None:
        raise DataError(f"pilot {pilot.name} has no finished run of pilot.toml as it is: `rag-pilot run` makes one")
    table, store = pilot.settings.pilot, LabelStore(pilot.data / "labels.jsonl")
    found, groups = items(Result(pilot, run, pilot.build())), pilot.annotator_groups
    if args.way == "export":
        sign = "," if table.languages[:1] == ("en",) else ";"  # what spreadsheets of those languages expect
        written = export_labels(
            found, store, table.annotator, args.file, seed=table.seed, groups=groups, delimiter=sign
        )
        print("\n".join(exported_lines(written, pilot.name, table.annotator)))
        return 0
    back = import_labels(
        args.file, found, store, table.annotator, seed=table.seed, groups=groups, encoding=args.encoding
    )
    print("\n".join(imported_lines(back)))
    return 1 if back.refused else 0


def _review(args: argparse.Namespace) -> int:
    from .grading.production import read_production
    from .pilot import Pilot
    from .reporting import tables
    from .review import check_of, draw_from_file, draw_from_run
    from .stored import stored_result

    pilot = Pilot.open(args.pilot)
    if args.file:
        served = read_production(args.file, args.encoding)
        for left in served.left_out:
            print(f"  {served.unit} {left.line} left out: {left.reason}")
        draw = draw_from_file(pilot, served, args.n)
    else:
        draw = draw_from_run(stored_result(pilot, args.run), args.n)
    print(repr(tables.review([check_of(pilot, draw)])))
    print(f"{draw.annotator} reads them in notebook 09 (make lab PILOT={pilot.name}), which shows the result;")
    print("when all are read, this command draws the next ones.")
    return 1 if draw.left_out else 0


def _adopt(args: argparse.Namespace) -> int:
    from .adopting import adopt, read_answers
    from .pilot import Pilot
    from .reporting.words import plural

    pilot = Pilot.open(args.pilot)
    if args.answer:
        id_, finished = adopt(pilot, args.answer, args.expected, args.doc, not args.unanswerable)
        stood = f"{args.answer} stood in the questions as {id_} since a try that was cut short, and is left as it was "
        done = f"{stood}written then; now it is" if finished else f"{args.answer} joined the set as {id_},"
        print(f"{done} last in the order; the next run asks it")
        return 0
    read = read_answers(pilot)
    failed = {id_: one for id_, one in read.items() if one.failed}
    print(f"{len(failed)} of {plural(len(read), 'real answer')} that were read failed")
    for id_, one in failed.items():
        state = f"in the set as {one.known}" if one.known else "not in the set"
        print(f"  {id_}: {one.label}, {state}: {' '.join(one.served.question.split())}")
        if one.note:
            print(f"    {one.annotator}: {' '.join(one.note.split())}")
    return 0


def _export(args: argparse.Namespace) -> int:
    from .pilot import Pilot
    from .reporting.export import export

    pilot = Pilot.open(args.pilot)
    print(export(pilot, pilot.data.parent.parent / "notebooks", args.audience, calls=args.run))
    return 0


def _compare(args: argparse.Namespace) -> int:
    from .analysis.comparison import TOTAL_LEVEL, compare
    from .pilot import Pilot
    from .reporting.tables import retrieval_rows
    from .stored import stored_result
    from .two_runs import adopted_in_both, correct, failed, hits, retrieval_change, unchanged

    pilot = Pilot.open(args.pilot)
    before, after = stored_result(pilot, args.before), stored_result(pilot, args.after)
    level = TOTAL_LEVEL / pilot.settings.pilot.changes_planned
    lost, added = failed(before, after), {q.id: q.added for q in (*before.questions, *after.questions)}
    asked = {"failed": lost, "common_only": args.common, "added": added}
    found_by = {
        "hit5": compare(*hits(before, after, 5), level, "right document among the first 5", **asked),
        "correct": compare(correct(before), correct(after), level, SURE, unchanged(before, after), **asked),
    }
    for measure, found in found_by.items():
        print(f"{found.measure}: {found.before.text()} -> {found.after.text()}\n  {found.words}")
        if joined := adopted_in_both(before, after, measure):
            print(f"  {joined} of the questions compared joined the set because of a real answer that had failed")
        for where, ids in (("before", found.only_before), ("after", found.only_after)):
            if ids:
                told = (f"{i} (new since {added[i]})" if added.get(i) else i for i in ids)
                print(f"  only {where}: {', '.join(told)}")
        print(f"  fixed:  {', '.join(found.fixed) or 'none'}\n  broken: {', '.join(found.broken) or 'none'}")
    print(repr(retrieval_rows(retrieval_change(before, after, level))))
    print("A change is kept by notebook 07 alone, which names its measure before the run.")
    return 0


def _trace(args: argparse.Namespace) -> int:
    from .pilot import Pilot
    from .reporting import tables
    from .stored import stored_result
    from .tracing import trace

    pilot = Pilot.open(args.pilot)
    print(repr(tables.trace(trace(stored_result(pilot, args.run), args.question_id))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
