"""What people read and write: the expert's forms, and the failures of a run as a page's readers may see them.

Text appears only for those who may open where it comes from. What they save is stored elsewhere, and pages are drawn
elsewhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import TYPE_CHECKING

from .analysis.sample import needs_person
from .corpus.access import all_of
from .corpus.question_file import QuestionFile
from .errors import SettingsError
from .grading.desk import Desk
from .grading.form_parts import Texts, texts
from .grading.items import REPEATS, Item, ShownPassage, missing
from .grading.labels import LabelStore
from .identity import fold
from .ledger import Ledger
from .pilot import Pilot
from .records import Answer, Question
from .results import Result
from .two_runs import unchanged

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
    wanted = [i for i in result.listed if i in result.causes and label in (None, result.graded[i].label)]
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
    return [_item(result, by_id[i], result.listed.index(i) + 1) for i in result.to_read]


def changed_items(tried: Sequence[Tried], ledger: Ledger | None = None) -> list[Item]:
    """Both versions of every answer that must be read before a change can be decided, each text once; and of the run
    with all changes that are kept, the answers of the sample that are no longer those of week 1.

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
    ledger = ledger or (Ledger(tried[0].before.pilot) if tried else None)
    for result, question in _unread_of_kept(ledger) if ledger else ():
        item = _undated(_item(result, question, None))
        found.setdefault(item.key, item)
    return list(found.values())


def _unread_of_kept(ledger: Ledger) -> list[tuple[Result, Question]]:
    """The answers of the sample that all kept changes together altered, while one is unread; the others are week 1's.

    Changes that waited for a reader were measured beside each other: the run with all that is kept can be no one's.
    """
    if not ledger.kept():
        return []
    first, final = ledger.result(()), ledger.result()
    same = unchanged(first, final)  # wherever the changes stand in pilot.toml
    altered = [i for i in final.to_read if i not in same]
    labels = {i: final.expert.current.get(i) for i in altered}
    if all(labels.values()):
        return []
    here = [i for i, label in labels.items() if label is None or label.position is None]
    return [(final, final.by_id[i]) for i in here]


def spot_items(result: Result, question_ids: Iterable[str]) -> list[Item]:
    """The answers to those questions as items of a spot check, which no count reads.

    Left out are those whose question, or the text of a passage that was shown, is gone.
    """
    kept = [i for i in question_ids if i in result.by_id and i in result.run.answers]
    whole = [i for i in kept if all(hit["id"] in result.built.passages for hit in result.run.answers[i].hits)]
    return [replace(_item(result, result.by_id[i], None), kind="spot") for i in whole]


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
        doc_groups=document.groups if document else frozenset({result.pilot.everyone}),
        position=position,
        needs=all_of(question.groups) if question.adopted or not document else (),
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


def expert_form(
    result: Result, language: str = "", *, annotator: str = "", groups: Collection[str] = ()
) -> LabelForm | HTML:
    """The form in which the expert labels this run; it shows only what her groups may open.

    For somebody else, `annotator` with `groups` beside everyone's, it holds the answers of the sample that are closed
    to the annotator of pilot.toml. `language` is en, fr or pl; empty, in every form: `form_language` of pilot.toml.
    SettingsError for a group that no document has, and for a person without a name.
    """
    table = result.settings.pilot
    own = fold(annotator).strip() in ("", fold(table.annotator).strip())
    if own and not groups:
        return _label_form(result.pilot, items(result), language)
    if own or not groups:
        raise SettingsError(
            f"found annotator={annotator!r}, groups={groups!r}; expected the name of a person other than "
            f'{table.annotator!r} and the groups that she has, such as annotator="M. Reid", groups=["hr"]'
        )
    closed = [item for item in items(result) if missing(item, result.pilot.annotator_groups)]
    form = form_for(result, closed, language, annotator, groups)
    return form if closed else sentence(say(result.pilot, language)["nothing_closed"].format(table.annotator))


def form_for(
    result: Result, found: list[Item], language: str, annotator: str = "", groups: Collection[str] = ()
) -> LabelForm:
    """A form over those items, none shown twice, for a person of `groups` beside everyone's; for the annotator of
    pilot.toml where none is named.

    SettingsError for a group that no document has.
    """
    known = frozenset[str]().union(*(document.groups for document in result.documents.values()))
    if isinstance(groups, str) or (unknown := sorted(set(groups) - known)):
        told = groups if isinstance(groups, str) else ", ".join(unknown)
        raise SettingsError(f"groups: found {told}; expected a list of {', '.join(sorted(known))}")
    hers = frozenset(groups) | {result.settings.pilot.everyone} if annotator else result.pilot.annotator_groups
    return _label_form(result.pilot, found, language, 0, annotator, hers)


def changes_form(tried: Iterable[Tried], language: str = "", ledger: Ledger | None = None) -> LabelForm | HTML:
    """The form in which the expert reads both versions of changed answers, shuffled; a sentence where there are none.

    Changes that are not decided ask for it, and what kept ones altered of the sample, also where none of them could be
    tried again: `ledger` (by default that of the first tried) knows them. Run the notebook again afterwards, and the
    labels decide them.
    """
    tried = list(tried)
    pilot = ledger.pilot if ledger else tried[0].before.pilot if tried else None
    if pilot and (found := changed_items(tried, ledger)):
        return _label_form(pilot, found, language, repeats=0)
    asked = language or (pilot.settings.pilot.form_language if pilot else "en")
    return sentence(texts(asked)["no_changed_answers"])


def spot_form(pilot: Pilot, found: list[Item], annotator: str, language: str = "") -> LabelForm:
    """The form over a spot check's items, none shown twice, for the person for whom they were drawn."""
    return _label_form(pilot, found, language, 0, annotator)


def _label_form(
    pilot: Pilot,
    found: list[Item],
    language: str,
    repeats: int = REPEATS,
    annotator: str = "",
    groups: frozenset[str] = frozenset(),
) -> LabelForm:
    """A form for that person of those groups; for the annotator of pilot.toml where none is named."""
    from .grading.form import label_form  # widgets are loaded where they are shown

    table = pilot.settings.pilot
    return label_form(
        found,
        LabelStore(pilot.data / "labels.jsonl"),
        annotator or table.annotator,
        seed=table.seed,
        groups=groups or pilot.annotator_groups,
        language=language or table.form_language,
        documents=pilot.documents().documents,
        repeats=repeats,
    )


def writing_desk(pilot: Pilot, language: str = "") -> Desk:
    """The question set as the expert finds it: what is complete, undecided, incomplete, and closed to her."""
    table, file = pilot.settings.pilot, QuestionFile(pilot.data / "questions.jsonl")
    return Desk(file, lambda: pilot.documents().documents, pilot.annotator_groups, table.everyone, say(pilot, language))


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
    return sentence(f"{told}. {desk.say['all_written' if total else 'nothing_to_write']}")


def say(pilot: Pilot, language: str = "") -> Texts:
    """The words of the forms in that language; empty: that of pilot.toml."""
    return texts(language or pilot.settings.pilot.form_language)


def sentence(text: str) -> HTML:
    """A sentence that stands in place of a form."""
    from IPython.display import HTML

    return HTML(f"<p>{escape(text)}</p>")  # type: ignore[no-untyped-call]
