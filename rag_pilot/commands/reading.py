"""What people read and label: `labels`, `review`, `adopt`.

Each is a few calls of what the notebooks call too, and returns an exit code. Heavy imports stand inside.
"""

from __future__ import annotations

import argparse

from ..errors import DataError


def labels(args: argparse.Namespace) -> int:
    """Write answers into a spreadsheet, or read its labels."""
    from ..grading.labels import LabelStore
    from ..grading.labels_csv import export_labels, import_labels
    from ..pilot import Pilot
    from ..reading import items
    from ..reporting.spreadsheet import exported_lines, imported_lines
    from ..results import Result

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


def review(args: argparse.Namespace) -> int:
    """Draw a spot check and print how far it is read."""
    from ..grading.production import read_production
    from ..pilot import Pilot
    from ..reporting import tables
    from ..review import check_of, draw_from_file, draw_from_run
    from ..stored import stored_result

    pilot = Pilot.open(args.pilot)
    if args.file:
        served = read_production(args.file, args.encoding)
        for left in served.left_out:
            print(f"  {served.unit} {left.line} left out: {left.reason}")
        draw = draw_from_file(pilot, served, args.n)
    else:
        draw = draw_from_run(stored_result(pilot, args.run, gone=True), args.n)
    print(repr(tables.review([check_of(pilot, draw)])))
    print(f"{draw.annotator} reads them in notebook 09 (make lab PILOT={pilot.name}), which shows the result;")
    print("when all are read, this command draws the next ones.")
    return 1 if draw.left_out else 0


def adopt(args: argparse.Namespace) -> int:
    """List real answers that failed, or take one into the questions."""
    from ..adopting import adopt, read_answers
    from ..pilot import Pilot
    from ..reporting.words import plural

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
