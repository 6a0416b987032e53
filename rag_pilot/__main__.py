"""The command line: `rag-pilot new | import | check | index | run | labels | review | adopt | export | gate | ...`.

What a command takes stands in `commands/parser.py`. A PilotError is a message and exit code 2, never a traceback;
findings, failed runs and what is refused give exit code 1.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from .commands.parser import parser
from .errors import PilotError

UNREAD = 141
"""Whoever read what is printed (`| head`) has closed it: a shell says the same of a program that ends so."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 0 done, 1 something to mend was found, 2 it could not be done, 130 interrupted, 141 unread."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a console that cannot show a letter still shows the rest
    args = parser().parse_args(arguments)
    try:
        code: int = args.command(args)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # what is still to be flushed goes nowhere
        return UNREAD
    except (PilotError, OSError) as fault:
        print(f"rag-pilot: {fault}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("rag-pilot: interrupted; what was finished is kept, run it again to go on", file=sys.stderr)
        return 130
    return code


if __name__ == "__main__":
    sys.exit(main())
