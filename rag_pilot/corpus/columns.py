"""Which column of a ticket export holds what: guessed from its name in six languages and from what stands in it.

A guess is made only where one column is better than all others. Two equally good ones stop the import where the
question, its body or its id are meant; elsewhere neither is taken, and both are named. It knows no files. `group` and
`department` are never guessed as the asker's groups: in ticket systems they mostly name the team that answers.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ..errors import DataError

Table = Mapping[str, Sequence[str]]
"""The cells of each column, by its name."""

# English, French, Polish, German, Spanish, Italian; better names in an earlier line
NAMES: dict[str, tuple[str, ...]] = {
    "id": (
        "id",
        "ticketid ticketno ticketnr ticketnumber ticketnummer casenumber caseid issuekey requestid questionid "
        "idduticket numeroduticket numeroticket nodeticket idzgloszenia numerzgloszenia nrzgloszenia vorgangsnummer",
        "number key no nr n ref reference identifier ticket issueid numero identifiant numer identyfikator nummer "
        "kennung referencia identificador riferimento identificativo",
    ),
    "question": (
        "question questions query searchterm searchterms searchquery pytanie pytania frage fragen suchbegriff pregunta "
        "domanda",
        "subject title summary shortdescription objet sujet titre temat tytul betreff titel asunto titulo oggetto "
        "titolo",
        "request ticket issue demande zgloszenie anfrage solicitud richiesta",
    ),
    "body": (
        "body description text message content details texte corps contenu opis tresc wiadomosc beschreibung nachricht "
        "inhalt descripcion mensaje texto descrizione messaggio testo",
    ),
    "expected": (
        "expected expectedanswer",
        "answer reply response resolution solution reponse odpowiedz rozwiazanie antwort losung loesung respuesta "
        "solucion risposta soluzione",
    ),
    "doc": ("doc documentid", "document dokument documento"),
    "groups": ("groups askergroups usergroups groupes grupy gruppen grupos gruppi",),
    "category": ("category categorie kategoria kategorie categoria", "topic type theme thema typ tipo"),
    "lang": ("lang language langue jezyk sprache idioma lingua", "locale"),
    "source": ("source zrodlo quelle fuente fonte", "channel via origin canal origine kanal canale"),
    "asked": (
        "asked timesasked",
        "count frequency occurrences searches nombre occurences liczba anzahl haufigkeit frecuencia frequenza",
    ),
}
FIELDS = tuple(NAMES)
MUST_BE_CLEAR = ("id", "question", "body")


@dataclass(frozen=True)
class Columns:
    """The column taken for each field, how it was found, what stayed unclear, and the columns not used."""

    taken: Mapping[str, str]
    how: Mapping[str, str]  # by its name | by what it holds | as told
    unclear: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unused: tuple[str, ...] = ()


def folded_name(name: str) -> str:
    """A column's name as it is compared: letters and digits alone, no case, no accents."""
    plain = unicodedata.normalize("NFKD", name.casefold().replace("ł", "l").replace("ß", "ss"))
    return "".join(c for c in plain if c.isalnum())


def names_a_question(columns: Sequence[str]) -> bool:
    """Whether a line of names looks like the head of a table of questions."""
    known = set(" ".join((*NAMES["question"][:2], *NAMES["body"])).split())
    return any(folded_name(name) in known for name in columns)


def choose_columns(table: Table, told: Mapping[str, str] | None = None) -> Columns:
    """The columns to import; `told` names some of them (question -> Betreff; an empty name: none).

    DataError with the columns found where the question is not clear, or two columns are equally good.
    """
    taken = _told(table, told or {})
    how = dict.fromkeys(taken, "as told")
    closed = set(taken) | {name for name, column in (told or {}).items() if not column}
    unclear: dict[str, tuple[str, ...]] = {}

    def take(name: str, columns: Sequence[str], why: str = "by its name") -> bool:
        if len(columns) == 1:
            taken[name], how[name] = columns[0], why
        elif columns:
            unclear[name] = tuple(columns)
        return bool(columns)

    for name in FIELDS:
        if name == "body" and (how.get("question") == "as told" or taken.get("question") in _best_named(table)):
            continue  # a column that is named a question is the whole question
        if name in closed:
            continue
        for names in NAMES[name]:
            free = [c for c in table if c not in taken.values()]
            if take(name, [c for c in free if folded_name(c) in names.split() and _fits(name, names, table[c])]):
                break
    if "question" not in taken and "question" not in unclear and "question" not in closed:
        if "body" in taken and "body" not in closed:
            taken["question"], how["question"] = taken.pop("body"), how.pop("body")
        elif "body" in unclear:
            unclear["question"] = unclear.pop("body")
        else:
            free = [c for c in table if c not in taken.values()]
            take("question", [c for c in free if _reads_like_questions(table[c])], "by what it holds")
    _refuse(table, taken, unclear)
    return Columns(taken, how, unclear, tuple(c for c in table if c not in taken.values()))


def _best_named(table: Table) -> list[str]:
    return [column for column in table if folded_name(column) in NAMES["question"][0].split()]


def _told(table: Table, told: Mapping[str, str]) -> dict[str, str]:
    taken: dict[str, str] = {}
    for name, column in told.items():
        if name not in FIELDS:
            raise DataError(f"there is no field {name!r}; a column can be told for {', '.join(FIELDS)}")
        if not column:
            continue
        same = [c for c in table if c == column] or [c for c in table if folded_name(c) == folded_name(column)]
        if len(same) != 1:
            raise DataError(f"no column {column!r} for {name}; the columns are {_listed(table)}")
        if same[0] in taken.values():
            raise DataError(f"the column {same[0]!r} was told for two fields; name another one")
        taken[name] = same[0]
    return taken


def _refuse(table: Table, taken: Mapping[str, str], unclear: Mapping[str, tuple[str, ...]]) -> None:
    for name in MUST_BE_CLEAR:
        if name in unclear:
            both, first = " and ".join(map(repr, unclear[name])), unclear[name][0]
            none = "" if name == "question" else f", or --column {name}= for none"
            raise DataError(
                f"the columns {both} could each be the {name}: say which with --column {name}={_shell(first)}{none} "
                f"(in a notebook columns={{{name!r}: {first!r}}}); all columns are {_listed(table)}"
            )
    if "question" not in taken:
        raise DataError(
            f"no column is clearly the question; the columns are {_listed(table)}. Say which with "
            "--column question=NAME (in a notebook columns={'question': 'NAME'}); the first line must name the columns"
        )


def _listed(table: Table) -> str:
    return ", ".join(map(repr, table)) or "none"


def _shell(column: str) -> str:
    return column if re.fullmatch(r"[\w.-]+", column) else f'"{column}"'


# -- what a column holds -----------------------------------------------------------------------------------------------


def _fits(name: str, names: str, cells: Sequence[str]) -> bool:
    """Whether what a column holds agrees with its name; an empty column agrees with every name."""
    held = [cell for cell in cells if cell.strip()]
    tests: dict[str, Callable[[Sequence[str]], bool]] = {
        "id": _are_ids,
        "question": _are_texts,
        "body": _are_texts,
        "asked": lambda held: all(re.fullmatch(r"\d{1,9}(\.0+)?", cell.strip()) for cell in held),
        "lang": lambda held: _most(held, lambda cell: len(cell.strip()) <= 12),
    }
    plain = names == NAMES[name][0] and name != "body"  # the field's own name needs no proof
    if not held or name not in tests or plain:
        return True
    vague = name == "question" and names == NAMES["question"][-1]  # "ticket" may hold its number
    return tests[name](held) and not (vague and _are_ids(held))


def _most(held: Sequence[str], test: Callable[[str], bool], share: float = 0.9) -> bool:
    return sum(map(test, held)) >= share * len(held)


def _are_ids(held: Sequence[str]) -> bool:
    return _most(held, lambda cell: len(cell) <= 64 and len(cell.split()) == 1)


def _are_texts(held: Sequence[str]) -> bool:
    return _most(held, lambda cell: any(c.isalpha() for c in cell), 0.5)


def _reads_like_questions(cells: Sequence[str]) -> bool:
    """Sentences, mostly different ones, in most rows."""
    held = [cell for cell in cells if cell.strip()]
    return (
        len(held) >= max(1, 0.5 * len(cells))
        and _are_texts(held)
        and sum(len(cell.split()) for cell in held) >= 3 * len(held)
        and len(set(held)) >= 0.5 * len(held)
    )
