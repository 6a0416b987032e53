"""Where sentences end, in English, French and Polish text with abbreviations, numbers and [n] citations.

A full stop ends a sentence only before a capital, a digit, a quotation mark, a bracket or a list mark, and never after
a known abbreviation or an initial. It knows no grammar: headlines without a stop run on to the end of their line.
"""

import re

# as they stand before the stop, in lower case
_ENGLISH = """mr mrs ms dr prof st no nos vs etc e.g i.e cf ca approx ext fig eq vol pp para sec art ch ed dept inc
ltd co corp jan feb mar apr jun jul aug sep sept oct nov dec"""
_FRENCH = "mm mme mlle mgr me pr av bd env ex p.ex réf ref tél tel chap al n°"
_POLISH = """np tj tzn tzw itd itp m.in ul pl os św pkt ust lit poz nr str ww zob por godz min sek zł gr tys mln mld
sp dyr mgr inż hab im wg dot ok"""
_ABBREVIATIONS = frozenset(f"{_ENGLISH} {_FRENCH} {_POLISH}".split())
_LONGEST_WORD = 24  # characters looked back for an abbreviation, so that long lines take linear time
_END = re.compile(
    r"""(?<![.!?…])(?P<stop>[.!?…]+)
    (?P<after>["'”’»)\]]*(?=(?P<cited>(?:\s*\[\d+(?:\s?[,;–-]\s?\d+)*\])*))(?P=cited))  # all of the citations or none
    \s+(?=[A-ZÀ-ÖØ-ÞĄĆĘŁŃÓŚŹŻ0-9"'“‘„«(\[*•–-])""",
    re.VERBOSE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a text, stripped, in order, each with its citation marks; joined they hold every word of it."""
    found: list[str] = []
    for line in re.split(r"\n+", text):
        start = 0
        for match in _END.finditer(line):
            before = line[max(start, match.start() - _LONGEST_WORD) : match.start()]
            if match["stop"] == "." and not match["after"] and _is_abbreviation(before):
                continue
            found.append(line[start : match.end()].strip())
            start = match.end()
        found.append(line[start:].strip())
    return [s for s in found if s]


def _is_abbreviation(before: str) -> bool:
    word = re.split(r"[\s(\[«„“]", before)[-1]
    return len(word) == 1 and word.isalpha() or word.lower().rstrip(".") in _ABBREVIATIONS
