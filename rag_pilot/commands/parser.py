"""What each command takes, in one grammar: a command is a verb, each argument says what it is, each page how it ends.

It knows the commands' names and functions, and nothing of what they do.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from . import collecting, measuring, reading

PILOT = "the folder below data/"
DEFAULT = f"{PILOT} (default: RAG_PILOT, else sample)"
RUN = "the name of a folder in results/PILOT/runs"
ENCODING = "the encoding of a file that is not UTF-8, UTF-16 or cp1252, such as cp1250"
ENDS = "0 done; 2 it could not be done, and why stands in one message; 130 interrupted, what was finished is kept"


def parser() -> argparse.ArgumentParser:
    """The whole command line; `args.command` of what it parses is the function to call."""
    made = argparse.ArgumentParser(
        prog="rag-pilot",
        description="A two-week pilot of an assistant on documents. `rag-pilot COMMAND --help` tells more of each.",
        epilog=f"exit codes: {ENDS}; 1 done, and something was found that each command's --help names.",
    )
    commands = made.add_subparsers(required=True, metavar="COMMAND", title="commands")
    for add in (_collecting, _measuring, _reading):
        add(_Commands(commands))
    return made


class _Commands:
    """Commands as they are added: what it does, when it ends with 1, and examples."""

    def __init__(self, to: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
        self.to = to

    def add(
        self,
        name: str,
        does: Callable[[argparse.Namespace], int],
        words: str,
        found: str = "",
        examples: Sequence[str] = (),
    ) -> argparse.ArgumentParser:
        ends = ENDS.replace("; 2", f"; 1 {found}; 2", 1) if found else ENDS
        told = "".join(f"\n  rag-pilot {name} {example}" for example in examples)
        made = self.to.add_parser(
            name,
            help=words,
            description=f"{words[0].upper()}{words[1:]}.",
            epilog="exit codes:\n  " + ends.replace("; ", "\n  ") + (f"\n\nexamples:{told}" if told else ""),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        made.set_defaults(command=does)
        return made


def _collecting(commands: _Commands) -> None:
    new = commands.add("new", collecting.new, "make the folder of a new pilot", examples=["acme --lang fr"])
    new.add_argument("name", metavar="NAME", help="the name of the folder below data/: letters, digits, - and _")
    languages = ("en", "fr", "pl")
    new.add_argument("--lang", default="en", choices=languages, help="the language of the documents (default: en)")

    tickets = commands.add(
        "import",
        collecting.import_,
        "append the questions of a ticket export to a questions.jsonl",
        "rows were left out, or there are none",
        ["tickets.xlsx --to data/acme/questions.jsonl --column question=Betreff --mask"],
    )
    kinds = "a .csv, .tsv, .xlsx, .jsonl, .json, or a .txt with one question a line"
    tickets.add_argument("tickets", metavar="FILE", type=Path, help=kinds)
    to = "the file to append to, such as data/PILOT/questions.jsonl"
    tickets.add_argument("--to", type=Path, required=True, metavar="FILE", help=to)
    told = "the column of a field whose guess is not clear, such as question=Betreff; FIELD= for none; may be repeated"
    tickets.add_argument("--column", action="append", default=[], metavar="FIELD=NAME", help=told)
    tickets.add_argument("--mask", action="store_true", help="replace e-mail addresses and phone numbers")
    tickets.add_argument("--encoding", help=ENCODING)
    tickets.add_argument("--sheet", help="the sheet of a workbook with several")

    check = commands.add(
        "check",
        collecting.check,
        "say what was read of the documents, and what is wrong with the questions",
        "a file was skipped, or the questions have an error",
        ["acme"],
    )
    _pilot(check)
    index = commands.add(
        "index",
        collecting.index,
        "build or open the index, and compare what it finds with the accepted one",
        "it is refused: it finds fewer of the right documents than the accepted one",
        ["acme", "acme --accept-loss"],
    )
    _pilot(index)
    index.add_argument("--accept-loss", action="store_true", help="accept it whatever it no longer finds")


def _measuring(commands: _Commands) -> None:
    run = commands.add(
        "run",
        measuring.run,
        "ask all questions, with the changes that are kept, or reuse the run that did",
        "a question ended in an error, or something leaks",
        ["acme --dry-run", "acme"],
    )
    _pilot(run)
    dry = "tell how many calls it would make and what they would cost, and call nobody"
    run.add_argument("--dry-run", action="store_true", help=dry)

    export = commands.add(
        "export",
        measuring.export,
        "run the notebooks and write results/PILOT/report/index.html",
        examples=["acme", "acme --audience hr legal"],
    )
    _pilot(export)
    audience = "the groups of those who will read it, beside everyone's (default: audience in pilot.toml)"
    export.add_argument("--audience", nargs="+", default=[], metavar="GROUP", help=audience)
    stored = "ask models for what is not stored; without it pages show stored runs, and no address is called"
    export.add_argument("--run", action="store_true", help=stored)

    compare = commands.add("compare", measuring.compare, "compare two runs, question by question")
    compare.add_argument("before", metavar="BEFORE", help=RUN)
    compare.add_argument("after", metavar="AFTER", help=f"{RUN}, another one")
    compare.add_argument("--pilot", help=DEFAULT)
    common = "compare over the questions that both runs hold, where they hold different ones; it says so"
    compare.add_argument("--common", action="store_true", help=common)

    gate = commands.add(
        "gate",
        measuring.gate,
        "hold a run against the limits of pilot.toml ([[acceptance]], [[alert]]), and write a dated page of it",
        "the run does not pass: it is below a limit, a criterion is not decided, something leaks, or it is older",
        ["--pilot acme", "2026-01-31-baseline-3fa2c1 --pilot acme"],
    )
    live = "(default: the run of documents, questions and settings as they stand, with the kept changes)"
    gate.add_argument("run", nargs="?", metavar="RUN", help=f"{RUN} {live}")
    gate.add_argument("--pilot", help=DEFAULT)

    trace = commands.add(
        "trace",
        measuring.trace,
        "show where the document of a question stood in each list, and what the model saw",
        examples=["acme q017"],
    )
    trace.add_argument("pilot", metavar="PILOT", help=PILOT)
    trace.add_argument("question_id", metavar="QUESTION", help="the id of the question")
    trace.add_argument("--run", help=f"{RUN} (default: the latest)")


def _reading(commands: _Commands) -> None:
    labels = commands.add(
        "labels",
        reading.labels,
        "write the answers to be labelled as a spreadsheet, or read its labels back",
        "a row was refused",
        ["export acme answers.csv", "import acme answers.xlsx"],
    )
    labels.add_argument("way", choices=("export", "import"), help="the way: export writes FILE, import reads it")
    labels.add_argument("pilot", metavar="PILOT", help=PILOT)
    labels.add_argument("file", metavar="FILE", type=Path, help="a .csv; to import also an .xlsx")
    labels.add_argument("--encoding", help=ENCODING)

    review = commands.add(
        "review",
        reading.review,
        "draw answers that a person re-reads as a spot check",
        "rows of the file were left out",
        ["acme", "acme --file real.jsonl --n 20"],
    )
    review.add_argument("pilot", metavar="PILOT", help=PILOT)
    source = review.add_mutually_exclusive_group()
    source.add_argument("--run", help=f"{RUN} (default: the latest)")
    real = "real answers: a .jsonl or .csv with question, answer, groups; as far as known id, documents, passages"
    source.add_argument("--file", type=Path, help=real)
    review.add_argument("--n", type=int, default=15, help="the number of answers to draw (default: 15)")
    review.add_argument("--encoding", help=ENCODING)

    adopt = commands.add(
        "adopt",
        reading.adopt,
        "list the real answers that failed when they were re-read, or take one into the questions",
        examples=["acme", 'acme real.jsonl:7 --expected "25 days." --doc leave'],
    )
    adopt.add_argument("pilot", metavar="PILOT", help=PILOT)
    adopt.add_argument("answer", nargs="?", metavar="ANSWER", help="its id, such as real.jsonl:7 (default: list them)")
    adopt.add_argument("--expected", default="", metavar="TEXT", help="the answer that the expert says is right")
    adopt.add_argument("--doc", default="", metavar="ID", help="the id of the document that holds it")
    adopt.add_argument("--unanswerable", action="store_true", help="the asker's documents do not answer it")


def _pilot(command: argparse.ArgumentParser) -> None:
    command.add_argument("pilot", nargs="?", metavar="PILOT", help=DEFAULT)
