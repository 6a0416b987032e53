"""Does anything reach an asker who may not open it? Every stage from the index to the page, asked by those who may not.

A question is asked with its asker's groups, and with the largest set that must not see a restricted document: all
groups less the document's. That is done for the documents that its reference names, and for those that a reader of all
groups would be shown, so that each asking has a real chance to leak. Passages are known by their id, texts by words
that stand in restricted passages only. What follows from a leak is not known here.
"""

from __future__ import annotations

import base64
import html
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .analysis.measures import Leaks
from .analysis.shares import Share
from .answering.answerer import INSTRUCTIONS, NOT_FOUND, answer
from .building import Built
from .corpus.guarded import Guarded
from .errors import RunStoppedError
from .files import read_jsonl
from .progress import progress
from .records import Answer, Question

FILTER, CACHE = "filter before ranking", "asked again after a reader of all groups"
HITS, TEXT, PROMPT, RUN_FILE, PAGE = "hits", "text of the hits, with their sections", "prompt", "run file", "page"
WIDE = 4  # a reader of all groups is shown so many times more hits, to know what lies behind the first
MOST = 50  # and no more: others' searches give no more


@dataclass(frozen=True)
class Rights:
    """Who may open what, as it stands now: passages and documents by id, and words by where they stand.

    A passage of another's search, whose id is not known, has the groups of its document; without one it is closed.
    """

    passages: Mapping[str, AbstractSet[str]]
    documents: Mapping[str, AbstractSet[str]]
    words: Guarded
    everyone: str

    @classmethod
    def of(cls, built: Built, everyone: str) -> Rights:
        """Those of an index and its documents."""
        documents = built.documents.documents
        words = Guarded(built.passages.values(), documents, built.groups, everyone)
        return cls(built.groups, {d.id: d.groups for d in documents}, words, everyone)

    def restricted(self, docs: Iterable[str]) -> set[frozenset[str]]:
        """The groups of those documents that are not open to everyone."""
        found = (frozenset(self.documents.get(doc, frozenset())) for doc in docs if doc in self.documents)
        return {groups for groups in found if self.everyone not in groups}

    def closed(self, ids: Iterable[str], readers: AbstractSet[str], doc_of: Mapping[str, str]) -> tuple[str, ...]:
        """The passages that readers of those groups may not open; `doc_of` names the document of foreign ones."""
        return tuple(
            sorted(
                i
                for i in set(ids)
                if readers.isdisjoint(
                    self.passages[i] if i in self.passages else self.documents.get(doc_of.get(i, ""), frozenset())
                )
            )
        )


@dataclass(frozen=True)
class Audit:
    """The leaks of each stage, of so many askings that reached it; `restricted` documents stand in the set."""

    stages: Mapping[str, Leaks]
    restricted: int

    @property
    def questions(self) -> frozenset[str]:
        """The questions with a leak in any stage."""
        return frozenset().union(*(leaks.passages for leaks in self.stages.values()))

    @property
    def unseen(self) -> int:
        """The most askings of a stage that failed, so that nobody knows what they would have shown."""
        return max((leaks.share.missing.get("error", 0) for leaks in self.stages.values()), default=0)

    @property
    def looked_at(self) -> int:
        """How often something was looked at, all stages together; 0 where no asking came to an end."""
        return sum(leaks.share.n for leaks in self.stages.values())


@dataclass
class _Tally:
    checked: Counter[str] = field(default_factory=Counter)
    leaked: Counter[str] = field(default_factory=Counter)
    passages: dict[str, dict[str, set[str]]] = field(default_factory=lambda: defaultdict(lambda: defaultdict(set)))
    errors: int = 0

    def add(self, stage: str, question: str, closed: Sequence[str]) -> None:
        self.checked[stage] += 1
        if closed:
            self.leaked[stage] += 1
            self.passages[stage][question].update(closed)

    def stages(self) -> dict[str, Leaks]:
        missing = {"error": self.errors} if self.errors else {}
        return {
            stage: Leaks(
                Share(self.leaked[stage], n, missing),
                {question: tuple(sorted(ids)) for question, ids in self.passages[stage].items()},
            )
            for stage, n in (self.checked or {HITS: 0}).items()
        }


@dataclass(frozen=True)
class _Asked:
    """One asking: what came back, and what the model would have read."""

    answer: Answer
    groups: frozenset[str]
    shown: str
    prompt: str

    @property
    def docs(self) -> dict[str, str]:
        return {hit["id"]: hit["doc"] for hit in self.answer.hits}

    def closed(self, question: Question, rights: Rights) -> dict[str, tuple[str, ...]]:
        """Stage -> the passages that this asker may not open."""
        lists = {f"{name} list": ids for name, ids in self.answer.lists.items()} | {HITS: list(self.docs)}
        own = question.question
        return {
            **{name: rights.closed(ids, self.groups, self.docs) for name, ids in lists.items()},
            TEXT: rights.words.closed(self.shown, self.groups, own),
            PROMPT: rights.words.closed(self.prompt, self.groups, own),
        }


def audit(
    questions: Sequence[Question],
    index: Any,
    rights: Rights,
    *,
    k: int = 5,
    search: Mapping[str, Any] | None = None,
    instructions: str = INSTRUCTIONS,
    ask: Callable[..., Answer] = answer,
    widely: bool = True,
    run_file: Path | None = None,
) -> Audit:
    """Ask through the whole answerer up to the model, which is asked nothing, and look at every stage.

    `index` is any retriever, `ask` anything that is called like `answer`. `widely` False asks only the questions whose
    reference names a restricted document, for a search that is paid by the question. `run_file` is an answers.jsonl. An
    asking that fails is counted as an error and not as free of leaks.
    """
    tally = _Tally()
    everybody = frozenset({rights.everyone}).union(*rights.documents.values(), *(q.groups for q in questions))

    def asked(question: Question, groups: frozenset[str], blanks: int = 0, k: int = k) -> _Asked | None:
        prompts: list[str] = []

        def record(prompt: str) -> str:
            prompts.append(prompt)
            return NOT_FOUND

        text = question.question + " " * blanks
        try:
            given = ask(text, index, groups, record, None, k=k, instructions=instructions, **(search or {}))
        except RunStoppedError:
            raise
        except Exception:  # whatever another's search raises
            tally.errors += 1
            return None
        shown = "\n".join(hit.shown for prompt in prompts for hit in getattr(prompt, "passages", ()))
        return _Asked(given, groups, shown, "\n".join(prompts))

    for question in progress(questions, "leak audit", len(questions)):
        named = rights.restricted(question.docs)
        if not named and not widely:
            continue
        # first, so that whatever is kept for the next asker was found for this one
        wide = asked(question, everybody, k=max(k, min(WIDE * k, MOST)))
        if wide is None:
            continue
        closed_to = named | (rights.restricted(wide.docs.values()) if widely else set())
        askers = {question.groups, *(everybody - groups for groups in closed_to)}
        for number, groups in enumerate(sorted(askers, key=sorted), start=1):
            narrow = asked(question, groups)
            if narrow is None:
                continue
            found = narrow.closed(question, rights)
            kept = set().union(*found.values())
            fresh = asked(question, groups, blanks=number) if kept else None  # words that nobody asked before
            first = fresh.closed(question, rights) if fresh else found
            for stage, closed in first.items():
                tally.add(stage, question.id, closed)
            tally.add(CACHE, question.id, sorted(kept.difference(*first.values())))
            tally.add(FILTER, question.id, _kept_out(wide, narrow, rights, k))
    stages = tally.stages()
    if run_file:
        stages[RUN_FILE] = audit_run(run_file, questions, rights)
    return Audit(stages, sum(rights.everyone not in groups for groups in rights.documents.values()))


def _kept_out(wide: _Asked, narrow: _Asked, rights: Rights, k: int) -> list[str]:
    """Passages that a reader of all groups was shown and this asker was not, though he may open them and had room.

    A search that filters what it has ranked already leaves such gaps, by which an asker can tell that something is
    hidden. One that filters first cannot: without the others, every passage can only move up.
    """
    if len(narrow.answer.hits) >= k:
        return []
    closed = rights.closed(wide.docs, narrow.groups, wide.docs)
    shown = set(narrow.docs.values())
    return sorted(i for i, doc in wide.docs.items() if i not in closed and doc not in shown)


def audit_run(path: Path, questions: Iterable[Question], rights: Rights) -> Leaks:
    """The answers of a run as they lie on disk: every passage and document that is named, and every word."""
    asked = {q.id: q for q in questions}
    tally = _Tally()
    for _, row in read_jsonl(path):
        question = asked.get(str(row.get("question_id")))
        readers, own = (question.groups, question.question) if question else (frozenset[str](), "")
        own = f"{own} {row.get('searched') or ''}"  # what glossary and model made of it, who have read no passage
        hits = row.get("hits") or []
        docs = {str(hit.get("id")): str(hit.get("doc")) for hit in hits}
        ids = [*docs, *(row.get("cited") or []), *(i for ids in (row.get("lists") or {}).values() for i in ids)]
        closed = {*rights.closed(ids, readers, docs), *rights.words.closed("\n".join(texts_in(row)), readers, own)}
        closed |= {doc for doc in row.get("docs") or [] if readers.isdisjoint(rights.documents.get(doc, frozenset()))}
        tally.add(RUN_FILE, str(row.get("question_id")), sorted(closed))
    return tally.stages().get(RUN_FILE, Leaks(Share(0, 0), {}))


def audit_pages(pages: Mapping[str, str], readers: AbstractSet[str], words: Guarded) -> Leaks:
    """HTML pages by name: the words that their readers could have read nowhere, in the text and in every attribute."""
    tally = _Tally()
    for name, page in pages.items():
        tally.add(PAGE, name, words.closed(words_on(page), readers))
    return tally.stages().get(PAGE, Leaks(Share(0, 0), {}))


def words_on(page: str) -> str:
    """What can be read in HTML: its text, every attribute, and the labels of pictures (their letters are shapes, what
    they say stands in the comments of the SVG)."""
    values = [value for pair in _ATTRIBUTE.findall(page) for value in pair]
    drawn = [base64.b64decode(v.removeprefix(_SVG)).decode("utf-8", "replace") for v in values if v.startswith(_SVG)]
    labels = [label for picture in drawn for label in re.findall(r"<!--(.*?)-->", picture, re.S)]
    told = [value for value in values if not value.startswith("data:")]
    return html.unescape(" | ".join([re.sub(r"<[^>]*>", " ", page), *told, *labels]))


_SVG = "data:image/svg+xml;base64,"
_ATTRIBUTE = re.compile(r"""=(?:"([^"]*)"|'([^']*)')""")


def texts_in(value: Any) -> Iterator[str]:
    """Every text in a JSON value, itself where it is one."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        yield from texts_in(list(value.values()))
    elif isinstance(value, list):
        for entry in value:
            yield from texts_in(entry)
