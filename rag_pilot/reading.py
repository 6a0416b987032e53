"""What people read and write: the expert's two forms, and the failures of a run as a page's readers may see them.

Text appears only for those who may open where it comes from. What they save is stored elsewhere, and pages are drawn
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from .corpus.question_file import QuestionFile
from .grading.desk import Desk
from .grading.form_parts import texts
from .grading.items import Item, ShownPassage
from .grading.labels import LabelStore
from .pilot import Pilot
from .records import Answer, Question
from .results import Result

if TYPE_CHECKING:
    from IPython.display import HTML

    from .grading.form import LabelForm
    from .grading.writing_form import WritingForm


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


def _item(result: Result, question: Question, position: int) -> Item:
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


def expert_form(result: Result, language: str = "en") -> LabelForm:
    """The form in which the expert labels this run; it shows only what her groups may open."""
    from .grading.form import label_form  # widgets are loaded where they are shown

    pilot = result.settings.pilot
    groups = frozenset(pilot.annotator_groups) | {pilot.everyone}
    store = LabelStore(result.pilot.data / "labels.jsonl")
    return label_form(items(result), store, pilot.annotator, seed=pilot.seed, groups=groups, language=language)


def writing_desk(pilot: Pilot, language: str = "en") -> Desk:
    """The question set as the expert finds it: what is complete, undecided, incomplete, and closed to her."""
    table, file = pilot.settings.pilot, QuestionFile(pilot.data / "questions.jsonl")
    groups = frozenset(table.annotator_groups) | {table.everyone}
    return Desk(file, lambda: pilot.documents().documents, groups, table.everyone, texts(language))


def writing_form(pilot: Pilot, language: str = "en", question: str = "", author: str = "") -> WritingForm | HTML:
    """The form in which the expert writes what she expects as answers; a sentence instead where nothing is left.

    It shows what the annotator's groups may open. `question` is an id to begin with, also one that is complete;
    `author` is who writes, if not the annotator of pilot.toml.
    """
    from IPython.display import HTML

    from .grading.writing import WritingSession
    from .grading.writing_form import WritingForm

    desk = writing_desk(pilot, language)
    session = WritingSession(desk, author or pilot.settings.pilot.annotator, start=question)
    done, total = session.progress()
    if done < total or question:
        return WritingForm(session, language)
    told = desk.say["written"].format(done, total)
    return HTML(  # type: ignore[no-untyped-call]
        f"<p>{escape(told)}. {escape(desk.say['all_written' if total else 'nothing_to_write'])}</p>"
    )
