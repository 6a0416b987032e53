"""What is done with runs: `run`, `export`, `compare`, `gate`, `trace`.

Each is a few calls of what the notebooks call too, and returns an exit code. Heavy imports stand inside.
"""

from __future__ import annotations

import argparse

SURE = "correct, by rule or expert"  # a judge's label alone never decides


def run(args: argparse.Namespace) -> int:
    """Ask all questions, or tell what that would cost."""
    from ..ledger import Ledger
    from ..pilot import Pilot

    ledger = Ledger(Pilot.open(args.pilot))
    if args.dry_run:
        from ..reporting import tables

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


def export(args: argparse.Namespace) -> int:
    """Write the report and print where."""
    from ..pilot import Pilot
    from ..reporting.export import export

    pilot = Pilot.open(args.pilot)
    print(export(pilot, pilot.data.parent.parent / "notebooks", args.audience, calls=args.run))
    return 0


def compare(args: argparse.Namespace) -> int:
    """Print what was fixed and broken between two runs."""
    from ..analysis.comparison import TOTAL_LEVEL, compare
    from ..pilot import Pilot
    from ..reporting.tables import retrieval_rows
    from ..stored import stored_result
    from ..two_runs import adopted_in_both, correct, failed, hits, retrieval_change, unchanged

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


def trace(args: argparse.Namespace) -> int:
    """Print where the document of a question stood."""
    from ..pilot import Pilot
    from ..reporting import tables
    from ..stored import stored_result
    from ..tracing import trace

    pilot = Pilot.open(args.pilot)
    print(repr(tables.trace(trace(stored_result(pilot, args.run), args.question_id))))
    return 0


def gate(args: argparse.Namespace) -> int:
    """Hold a run against its limits, print the result and write its page."""
    from ..pilot import Pilot
    from ..release import release_gate
    from ..reporting.gates import gate_lines, write_gate

    found = release_gate(Pilot.open(args.pilot), args.run)
    print("\n".join(gate_lines(found)))
    print(f"written to {write_gate(found)}")
    return 0 if found.passed else 1
