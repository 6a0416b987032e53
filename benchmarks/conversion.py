"""Files -> Markdown: our readers beside markitdown and pandoc, on collected real files and on hard cases built here.

    python benchmarks/conversion.py [--json FILE] [--data FOLDER] [--repeats 3]

What a file holds was written down by reading it: how many headings, tables as rows x columns, some words in the order
in which a reader meets them, and phrases that must not come along (navigation, deleted or hidden text, NaN). Words
found: those that come after the one before. Tables right: those of the shape, empty rows and columns not counted.
Figures: words.WHO.KIND, headings.WHO.KIND, tables.WHO.KIND (shares), wrong.WHO.KIND (phrases that came along),
seconds.WHO (median over the repeats, all files), start.WHO (seconds to the first use). The exit code is 1 where one of
our readers refuses a file that is whole or reads one that is protected, cut off or a scan.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import tempfile
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from _conversion_cases import FACTS, REFUSED, Facts, built

from rag_pilot.corpus.convert import HTML, TEXT_KINDS, convert, kind_of
from rag_pilot.corpus.read_html import decode_html
from rag_pilot.errors import PilotError
from rag_pilot.files import read_jsonl, read_text

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
PANDOC_READS = {f".{kind}": kind for kind in ("docx", "odt", "rtf", "html", "csv", "xlsx", "pptx")}


# -- converters --------------------------------------------------------------------------------------------------------


def ours(path: Path) -> str:
    data = path.read_bytes()
    kind = kind_of(path.name)
    body = "" if kind not in TEXT_KINDS else decode_html(data, path.name) if kind in HTML else read_text(path)
    return convert(path.name, body, data).text


def peers() -> dict[str, Callable[[Path], str]]:
    """Those that are installed; an exception means that the file is not read."""
    found: dict[str, Callable[[Path], str]] = {}
    try:
        from markitdown import MarkItDown

        reader = MarkItDown(enable_plugins=False)
        found["markitdown"] = lambda path: str(reader.convert(str(path)).text_content)
    except ImportError:
        print("markitdown is not installed: not measured")
    try:
        import pypandoc

        found["pandoc"] = lambda path: str(
            pypandoc.convert_file(
                str(path), "gfm", format=PANDOC_READS[kind_of(path.name)], extra_args=["--wrap=none", "--standalone"]
            )
        )
    except ImportError:
        print("pypandoc_binary is not installed: not measured")
    return found


START = {
    "rag_pilot": "import rag_pilot.corpus.convert, openpyxl, pptx",
    "markitdown": "from markitdown import MarkItDown; MarkItDown()",
    "pandoc": "import pypandoc; pypandoc.convert_text('x', 'gfm', format='html')",
}


def start_seconds(who: str) -> float:
    """Seconds until a converter could read its first file, less those of Python itself."""

    def run(code: str) -> float:
        started = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        return time.perf_counter() - started

    return statistics.median(run(START[who]) for _ in range(3)) - statistics.median(run("pass") for _ in range(3))


# -- judging -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Score:
    """Numbers found and numbers to be found."""

    words: tuple[int, int]
    headings: tuple[int, int]
    tables: tuple[int, int]
    wrong: int


def judge(markdown: str, facts: Facts) -> Score:
    text = unicodedata.normalize("NFC", " ".join(re.sub(r"\\(\W)|[*`]", r"\1", markdown).split()))
    at = found = 0
    words = facts.words.split()
    for one in words:
        sides = (
            ("", "")
            if ord(one[0]) > 0x2E80
            else (r"(?<!\w)" if one[0].isalnum() else "", r"(?!\w)" if one[-1].isalnum() else "")
        )
        if match := re.compile(sides[0] + re.escape(unicodedata.normalize("NFC", one)) + sides[1]).search(text, at):
            found, at = found + 1, match.end()
    shapes = Counter(shapes_of(markdown))
    asked = Counter(tuple(int(n) for n in shape.split("x")) for shape in facts.tables.split())
    headings = len(re.findall(r"^#{1,6} +\S", re.sub(r"^(```+).*?^\1", "", markdown, flags=re.M | re.S), re.M))
    expected = facts.headings if facts.headings is not None else headings
    phrases = [p for p in facts.absent.split(";") if p]
    return Score(
        words=(found, len(words)),
        headings=(min(headings, expected), max(headings, expected)),
        tables=((shapes & asked).total(), asked.total()),
        wrong=sum(re.search(rf"(?<!\w){re.escape(p)}(?!\w)", text) is not None for p in phrases),
    )


def shapes_of(markdown: str) -> list[tuple[int, int]]:
    """Rows x columns of all pipe tables, and of HTML tables where a converter fell back to them."""
    tables = [
        [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in block.strip().split("\n")]
        for block in re.findall(r"(?:^ {0,3}\|.*(?:\n|\Z))+", markdown, re.M)
    ]
    for table in re.findall(r"<table.*?</table>", markdown, re.S):
        rows = re.findall(r"<tr.*?</tr>", table, re.S)
        tables.append([re.findall(r"<t[dh].*?>(.*?)</t[dh]>", row, re.S) for row in rows])
    shapes = []
    for rows in tables:
        kept = [
            [cell.strip() for cell in row] for row in rows if not all(re.fullmatch(r"[\s:-]*", cell) for cell in row)
        ]
        columns = {i for row in kept for i, cell in enumerate(row) if cell}
        shapes.append((len(kept), len(columns)))
    return shapes


def main() -> int:
    """Print the tables; write the figures; exit 1 where our readers refuse or accept the wrong files."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--data", type=Path, default=DATA)
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parser.parse_args()
    converters: dict[str, Callable[[Path], str]] = {"rag_pilot": ours, **peers()}
    messy = arguments.data / "messy"
    with tempfile.TemporaryDirectory() as folder:
        files: dict[Path, Facts | None] = {}
        for name, (data, facts) in built().items():
            path = Path(folder) / name
            path.write_bytes(data)
            files[path] = facts
        if messy.is_dir():
            for _, row in read_jsonl(messy / "manifest.jsonl"):
                name = Path(str(row["file"])).name
                files[messy / "files" / name] = None if name in REFUSED else FACTS[name]
        else:
            print(f"{messy} is absent (real files are not part of the project): only the built cases are measured")
        return report(files, converters, arguments.repeats, arguments.json)


def report(
    files: Mapping[Path, Facts | None],
    converters: Mapping[str, Callable[[Path], str]],
    repeats: int,
    target: Path | None,
) -> int:
    """Convert, judge, print, write."""
    scores: dict[tuple[str, str], list[Score]] = defaultdict(list)
    seconds: Counter[str] = Counter()
    faults: list[str] = []
    print("words, headings, tables: found / to be found; !N: phrases that must not be there; -: not read\n")
    print(f"{'file':56}" + "".join(f"{who:>27}" for who in converters))
    for path, facts in files.items():
        line = f"{path.name[:55]:56}"
        for who, converter in converters.items():
            text, took = timed(converter, path, repeats)
            seconds[who] += took
            if who == "rag_pilot" and (text is None) != (facts is None):
                faults.append(f"{path.name}: {'is refused' if text is None else 'must be refused'}")
            if facts is None:
                line += f"{'refused' if text is None else 'empty' if not text.strip() else 'read!':>27}"
                continue
            score = judge(text or "", facts)
            scores[who, kind_of(path.name)].append(score)
            cells = " ".join(f"{n}/{of}" for n, of in (score.words, score.headings, score.tables))
            line += f"{cells + (f' !{score.wrong}' if score.wrong else '') if text is not None else '-':>27}"
        print(line)
    figures = summary(scores, list(converters))
    for who in converters:
        figures[f"seconds.{who}"] = round(seconds[who], 3)
        figures[f"start.{who}"] = round(start_seconds(who), 3)
    print(
        "\n"
        + "".join(
            f"{who}: {figures[f'seconds.{who}']:.2f} s, start {figures[f'start.{who}']:.2f} s\n" for who in converters
        )
    )
    for fault in faults:
        print(f"WRONG {fault}")
    if target:
        target.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    return 1 if faults else 0


def timed(converter: Callable[[Path], str], path: Path, repeats: int) -> tuple[str | None, float]:
    """(text or None where the file is not read, median seconds)."""
    times: list[float] = []
    text: str | None = None
    for _ in range(repeats):
        started = time.perf_counter()
        try:
            text = converter(path)
        except PilotError:
            text = None
        except Exception:  # a peer's own
            if converter is ours:
                raise
            text = None
        times.append(time.perf_counter() - started)
    return text, statistics.median(times)


def summary(scores: Mapping[tuple[str, str], list[Score]], who: list[str]) -> dict[str, float]:
    """Shares per kind of file, printed and returned."""
    figures: dict[str, float] = {}
    print(f"\n{'kind':8}{'measure':10}" + "".join(f"{name:>14}" for name in who))
    for kind in dict.fromkeys(kind for _, kind in scores):
        for measure in ("words", "headings", "tables", "wrong"):
            line = f"{kind:8}{measure:10}"
            for name in who:
                values = [getattr(score, measure) for score in scores[name, kind]]
                if measure == "wrong":
                    figure: float = sum(values)
                    line += f"{figure:>14}"
                else:
                    of = sum(value[1] for value in values)
                    if not of:
                        line += f"{'':>14}"
                        continue
                    figure = round(sum(value[0] for value in values) / of, 3)
                    line += f"{figure:>14.3f}"
                figures[f"{measure}.{name}.{kind[1:]}"] = figure
            print(line)
    return figures


if __name__ == "__main__":
    sys.exit(main())
