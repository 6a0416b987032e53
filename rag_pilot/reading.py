"""What people read and write: the expert's forms, and the failures of a run as a page's readers may see them.

Text appears only for those who may open where it comes from. What they save is stored elsewhere, and pages are drawn
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from .analysis.sample import needs_person
from .corpus.question_file import QuestionFile
from .grading.desk import Desk
from .grading.form_parts import texts
from .grading.items import REPEATS, Item, ShownPassage
from .grading.labels import LabelStore
from .pilot import Pilot
from .records import Answer, Question
from .results import Result

if TYPE_CHECKING:
    from IPython.display import HTML

    from .grading.form import LabelForm
    from .grading.writing_form import WritingForm
    from .ledger import Tried


@dataclass(frozen=True)
class Failure:
    """One bad answer as a reader may see it; `hidden` names the groups that are needed where she may not."""

    question_id: str
    label: str
    by: str
    cause: str | None
    question: str
    expected: str
    got: str
    doc: str
    owner: str
    hidden: str = ""


def failures(result: Result, label: str | None = None) -> list[Failure]:
    """Every bad answer (or those with one label), in the order of reading; text only where readers may see it."""
    by_id = {q.id: q for q in result.questions}
    wanted = [i for i in result.order if i in result.causes and label in (None, result.graded[i].label)]
    return [_failure(result, by_id[i]) for i in wanted]


def _failure(result: Result, question: Question) -> Failure:
    answer, graded = result.run.answers[question.id], result.graded[question.id]
    document = result.documents.get(question.doc or "")
    hidden = result.hidden(question.id)
    return Failure(
        question_id=question.id,
        label=graded.label or "",
        by=graded.by,
        cause=result.causes[question.id].name,
        question="" if hidden else question.question,
        expected="" if hidden else question.expected,
        got="" if hidden else answer.text or f"declined: {answer.reason}",
        doc="" if hidden else question.doc or "",
        owner=document.owner if document else "",
        hidden=hidden,
    )


def items(result: Result) -> list[Item]:
    """The answers that the expert reads, blind: no judge's label, no retriever's name, no rank."""
    by_id = {q.id: q for q in result.questions}
    return [_item(result, by_id[i], result.order.index(i) + 1) for i in result.to_read]


def changed_items(tried: Iterable[Tried]) -> list[Item]:
    """Both versions of every answer that must be read before a change can be decided, each text once.

    An item does not say which version it is, has no position and no dates: the form shuffles them. Not among them is
    what a rule labels (a decline) or what she read in the order of week 1; what she read here stays, so that she can
    go back.
    """
    found: dict[tuple[str, str, str], Item] = {}
    for change in (one for one in tried if one.entry["verdict"] == "not decided"):
        sides = (change.before, change.after)
        here = {i for side in sides for i, label in side.expert.current.items() if label.position is None}
        for result in sides:
            for question in (q for q in result.questions if q.id in {*change.to_read, *here}):
                label = result.expert.current.get(question.id)
                unread = label is None or label.position is None
                if unread and needs_person(question, result.run.answers[question.id]):
                    item = _undated(_item(result, question, None))
                    found.setdefault(item.key, item)
    return list(found.values())


def _undated(item: Item) -> Item:
    """The item without dates: those of a mended document would tell which version it is."""
    return replace(item, doc_updated="", passages=tuple(replace(p, updated="") for p in item.passages))


def _item(result: Result, question: Question, position: int | None) -> Item:
    answer, document = result.run.answers[question.id], result.documents.get(question.doc or "")
    return Item(
        question_id=question.id,
        run_id=result.run.id,
        answer_sha=answer.sha,
        question=question.question,
        answer=answer.text or "",
        passages=tuple(_shown(result, answer)),
        expected=question.expected,
        doc=question.doc or "",
        doc_title=document.title if document else "",
        doc_link=document.link if document else "",
        doc_updated=document.updated if document else "",
        doc_groups=document.groups if document else frozenset(),
        position=position,
    )


def _shown(result: Result, answer: Answer) -> Iterator[ShownPassage]:
    for number, hit in enumerate(answer.hits, start=1):
        p = result.built.passages[hit["id"]]
        yield ShownPassage(
            number=number,
            text=p.shown,
            groups=p.groups,
            doc=p.doc,
            title=p.title,
            headings=p.headings,
            link=p.link,
            updated=p.updated,
            cited=p.id in answer.cited,
        )


def expert_form(result: Result, language: str = "") -> LabelForm:
    """The form in which the expert labels this run; it shows only what her groups may open.

    `language` is en, fr or pl; empty, in every form: `form_language` of pilot.toml.
    """
    return _label_form(result.pilot, items(result), language)


def changes_form(tried: Iterable[Tried], language: str = "") -> LabelForm | HTML:
    """The form in which the expert reads both versions of changed answers, shuffled; a sentence where there are none.

    Only changes that are not decided ask for it; run the notebook again afterwards, and the labels decide them.
    """
    tried = list(tried)
    if found := changed_items(tried):
        return _label_form(tried[0].before.pilot, found, language, repeats=0)
    asked = language or (tried[0].before.pilot.settings.pilot.form_language if tried else "en")
    return _sentence(texts(asked)["no_changed_answers"])


def _label_form(pilot: Pilot, found: list[Item], language: str, repeats: int = REPEATS) -> LabelForm:
    from .grading.form import label_form  # widgets are loaded where they are shown

    table = pilot.settings.pilot
    groups = frozenset(table.annotator_groups) | {table.everyone}
    store = LabelStore(pilot.data / "labels.jsonl")
    asked = language or table.form_language
    return label_form(found, store, table.annotator, seed=table.seed, groups=groups, language=asked, repeats=repeats)


def writing_desk(pilot: Pilot, language: str = "en") -> Desk:
    """The question set as the expert finds it: what is complete, undecided, incomplete, and closed to her."""
    table, file = pilot.settings.pilot, QuestionFile(pilot.data / "questions.jsonl")
    groups = frozenset(table.annotator_groups) | {table.everyone}
    return Desk(file, lambda: pilot.documents().documents, groups, table.everyone, texts(language))


def writing_form(pilot: Pilot, language: str = "", question: str = "", author: str = "") -> WritingForm | HTML:
    """The form in which the expert writes what she expects as answers; a sentence instead where nothing is left.

    It shows what the annotator's groups may open. `question` is an id to begin with, also one that is complete;
    `author` is who writes, if not the annotator of pilot.toml.
    """
    from .grading.writing import WritingSession
    from .grading.writing_form import WritingForm

    language = language or pilot.settings.pilot.form_language
    desk = writing_desk(pilot, language)
    session = WritingSession(desk, author or pilot.settings.pilot.annotator, start=question)
    done, total = session.progress()
    if done < total or question:
        return WritingForm(session, language)
    told = desk.say["written"].format(done, total)
    return _sentence(f"{told}. {desk.say['all_written' if total else 'nothing_to_write']}")


def _sentence(text: str) -> HTML:
    from IPython.display import HTML

    return HTML(f"<p>{escape(text)}</p>")  # type: ignore[no-untyped-call]
