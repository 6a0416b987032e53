"""The leak audit: silent on a sound search, and it finds a leak planted at any stage."""

import json
import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import SECRET, notebook, run_and_label, tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.analysis.shares import Share
from rag_pilot.answering.answerer import INSTRUCTIONS, LLM, answer
from rag_pilot.audit import CACHE, FILTER, HITS, PROMPT, RUN_FILE, TEXT, Audit, Rights, audit, audit_pages
from rag_pilot.corpus.guarded import Guarded
from rag_pilot.errors import AccessError
from rag_pilot.ledger import Ledger
from rag_pilot.records import Answer, Document, Passage, Question
from rag_pilot.reporting import tables
from rag_pilot.reporting.export import export
from rag_pilot.results import Result
from rag_pilot.retrieval.hybrid import METHODS, Hits, HybridIndex
from rag_pilot.retrieval.merging import Merging

ROWS = (
    ("leave", "all", "Everybody is paid for twenty-five days of annual leave in each calendar year."),
    ("travel", "all", "A taxi is claimed on form T-7 and paid with the salary of the next month."),
    ("closing", "board", "The plant in Leeds is to close in March and the pay of forty people ends then."),
    ("salaries", "hr", "Band seven is paid ninety-one thousand five hundred euros in each calendar year."),
)
QUESTIONS = (
    Question("q1", "How many days of leave are paid?", doc="leave", groups=frozenset({"all"})),
    Question("q2", "What is band seven paid?", doc="salaries", groups=frozenset({"all", "hr"})),
    Question("q3", "When does the plant in Leeds close?", doc="closing", groups=frozenset({"all"}), answerable=False),
)
EVERYBODY = frozenset({"all", "hr", "board"})


def embed(texts: Sequence[str]) -> np.ndarray:
    """Vectors by the letters of a text: near texts for near words."""
    counts = np.array(
        [[text.lower().count(letter) for letter in "abcdefghijklmnopqrstuvwxyz"] for text in texts], float
    )
    counts[:, 0] += 1
    return counts / np.linalg.norm(counts, axis=1, keepdims=True)


def index_of(rows: Sequence[tuple[str, str, str]] = ROWS, **more: Any) -> HybridIndex:
    return HybridIndex([Passage(f"{doc}#1", doc, text, frozenset({group})) for doc, group, text in rows], embed, **more)


def rights_of(index: HybridIndex) -> Rights:
    groups = {p.id: p.groups for p in index.passages}
    documents = {p.doc: Document(p.doc, p.doc, p.text, p.groups) for p in index.passages}
    words = Guarded(index.passages, documents.values(), groups, "all")
    return Rights(groups, {d.id: d.groups for d in documents.values()}, words, "all")


def leaking(found: Audit) -> dict[str, set[str]]:
    """Stage -> questions that leaked there."""
    return {stage: set(leaks.passages) for stage, leaks in found.stages.items() if leaks.share.count}


class Wrapped:
    """A search around ours, as others build them."""

    def __init__(self, index: HybridIndex) -> None:
        self.index = index

    def mine(self, passage: Passage, groups: Any) -> bool:
        return bool(passage.groups & set(groups))


class FiltersAfterTopK(Wrapped):
    def search(self, question: str, groups: Any, k: int = 5) -> Hits:
        return Hits([h for h in self.index.search(question, EVERYBODY, k=k) if self.mine(h.passage, groups)])


class TellsItsCandidates(FiltersAfterTopK):
    """Filters what it gives, and writes down what it had before."""

    def search(self, question: str, groups: Any, k: int = 5) -> Hits:
        return Hits(super().search(question, groups, k=4), self.index.search(question, EVERYBODY).lists)


class FiltersOneLeg(Wrapped):
    def search(self, question: str, groups: Any, k: int = 5) -> Hits:
        keyword = self.index.using("keyword").search(question, EVERYBODY, k=k)
        dense = self.index.using("dense").search(question, groups, k=k)
        ids = {h["id"] for h in keyword}
        return Hits([*keyword, *(h for h in dense if h["id"] not in ids)][:k], {**keyword.lists, **dense.lists})


class ExpandsToTheNeighbour(Wrapped):
    """Shows a section that runs on into the next document."""

    def search(self, question: str, groups: Any, k: int = 5) -> Hits:
        passages = self.index.passages
        found = self.index.search(question, groups, k=k)
        next_of = {p.id: passages[(n + 1) % len(passages)].text for n, p in enumerate(passages)}
        return Hits(
            [replace(h, passage=replace(h.passage, parent=f"{h.text}\n\n{next_of[h['id']]}")) for h in found],
            found.lists,
        )


class Remembers(Wrapped):
    """Keeps what it found by question, whoever asks."""

    def __init__(self, index: HybridIndex) -> None:
        super().__init__(index)
        self.known: dict[str, Hits] = {}

    def search(self, question: str, groups: Any, k: int = 5) -> Hits:
        return self.known.setdefault(question, self.index.search(question, groups, k=k))


class Foreign(Wrapped):
    """A company's own search: ids of its own, documents of ours, no lists; it may forget to filter."""

    def __init__(self, index: HybridIndex, filters: bool) -> None:
        super().__init__(index)
        self.filters = filters

    def search(self, question: str, groups: Any, k: int = 5) -> list[dict[str, Any]]:
        if k > 50:
            raise ValueError("at most 50")
        found = self.index.search(question, groups if self.filters else EVERYBODY, k=k)
        return [{"id": f"row {n}", "doc": h.doc, "text": h.text} for n, h in enumerate(found)]


class Broken(Wrapped):
    def search(self, question: str, groups: Any, k: int = 5) -> Hits:
        raise OSError("no route to host")


class AnswersTheBoard(Broken):
    def search(self, question: str, groups: Any, k: int = 5) -> Hits:
        return self.index.search(question, groups, k=k) if "board" in groups else super().search(question, groups)


class AddsBackground:
    """An answerer that puts what it remembers of the board's minutes before every prompt."""

    def __call__(self, question: str, index: Any, groups: Any, llm: LLM, *more: Any, **named: Any) -> Answer:
        return answer(question, index, groups, lambda prompt: llm(f"{ROWS[2][2]}\n\n{prompt}"), *more, **named)


def test_a_sound_search_leaks_at_no_stage_and_each_stage_was_looked_at():
    found = audit(QUESTIONS, index_of(), rights_of(index_of()))
    assert leaking(found) == {} and found.restricted == 2
    assert list(found.stages) == ["keyword list", "dense list", HITS, TEXT, PROMPT, CACHE, FILTER]
    # q1: own, less hr's, less the board's; q2 and q3: own and the two; own groups {all, hr} are all less the board's
    assert found.stages[HITS].share == Share(0, 3 + 2 + 3)
    assert found.stages[CACHE].share == found.stages[FILTER].share == Share(0, 8)


HOTEL = ("hotel", "all", "A hotel is paid for by the office in advance of each journey.")


@pytest.mark.parametrize(
    ("search", "stages", "k"),
    [
        (FiltersAfterTopK, {FILTER}, 3),
        (TellsItsCandidates, {"keyword list", "dense list"}, 5),
        (FiltersOneLeg, {"keyword list", HITS, TEXT, PROMPT}, 5),
        (ExpandsToTheNeighbour, {TEXT, PROMPT}, 5),
        (Remembers, {CACHE}, 5),
    ],
)
def test_a_planted_leak_is_found_where_it_is_and_nowhere_else(search, stages, k):
    index = index_of([*ROWS[::-1], HOTEL])
    assert leaking(audit(QUESTIONS, index, rights_of(index), k=k)) == {}
    assert leaking(audit(QUESTIONS, search(index), rights_of(index), k=k)).keys() == stages


def test_a_prompt_that_holds_more_than_the_hits_is_found_in_instructions_and_in_an_answerer():
    index = index_of()
    found = audit(QUESTIONS, index, rights_of(index), ask=AddsBackground())
    assert leaking(found) == {PROMPT: {"q1", "q2", "q3"}}
    shown = f"{INSTRUCTIONS}\nExample: {ROWS[3][2]}"
    found = audit(QUESTIONS, index, rights_of(index), instructions=shown)
    assert leaking(found) == {PROMPT: {"q1", "q2", "q3"}}
    assert found.stages[PROMPT].passages["q1"] == ("salaries#1",)


def test_another_search_is_judged_by_its_documents():
    index = index_of()
    found = audit(QUESTIONS, Foreign(index, filters=True), rights_of(index), k=20)
    assert leaking(found) == {} and found.stages[HITS].share.missing == {}
    found = leaking(audit(QUESTIONS, Foreign(index, filters=False), rights_of(index)))
    assert {HITS, TEXT, PROMPT} <= found.keys()
    unknown = replace(rights_of(index), documents={"leave": frozenset({"all"})})
    assert HITS in leaking(audit(QUESTIONS, Foreign(index, filters=True), unknown))  # what nobody knows is closed


def test_one_text_on_an_open_and_on_a_restricted_page_is_judged_page_by_page():
    text = "Call the service desk before you leave the building in an emergency."
    index = index_of([("public", "all", text), ("internal", "hr", text)])
    asked = [Question("q", "service desk", doc="internal", groups=frozenset({"all"}), answerable=False)]
    assert leaking(audit(asked, Foreign(index, filters=True), rights_of(index))) == {}
    assert leaking(audit(asked, Foreign(index, filters=False), rights_of(index))) == {HITS: {"q"}}  # the words are open


def test_a_search_that_is_paid_by_the_question_is_asked_about_restricted_documents_only():
    index = index_of()
    found = audit(QUESTIONS, index, rights_of(index), widely=False)
    assert found.stages[HITS].share == Share(0, 2 + 2)


def test_an_asking_that_fails_is_an_error_and_never_free_of_leaks():
    index = index_of()
    assert audit(QUESTIONS, Broken(index), rights_of(index)).stages[HITS].share == Share(0, 0, {"error": 3})
    found = audit(QUESTIONS[2:], AnswersTheBoard(index), rights_of(index))
    assert found.stages[HITS].share == Share(0, 1, {"error": 2})
    page = repr(tables.leak_audit(audit(QUESTIONS, Broken(index), rights_of(index))))
    assert "not audited" in page and "no leak found" not in page


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 10_000), st.sampled_from(sorted(METHODS)), st.integers(0, 2), st.integers(0, 2), st.integers(1, 6)
)
def test_our_index_is_silent_whatever_stands_in_it(seed, method, per_document, per_text, k):
    rng = random.Random(seed)
    words = [f"w{n}" for n in range(12)]
    docs = {f"d{n}": frozenset(rng.sample(["all", "hr", "board"], rng.randint(1, 2))) for n in range(6)}
    copied = " ".join(words[:9])  # stands in open and in restricted documents alike
    passages = [
        Passage(
            f"p{n}",
            doc := rng.choice(list(docs)),
            rng.choice([copied, " ".join(rng.choices(words, k=9))]),
            docs[doc],
            parent=rng.choice(["", f"s of {doc}"]),
        )
        for n in range(rng.randint(1, 25))
    ]
    index = HybridIndex(passages, embed, method=method, merging=Merging(per_document, per_text))
    asked = [
        Question(f"q{n}", " ".join(rng.choices(words, k=3)), doc=f"d{n}", groups=frozenset({"all"})) for n in range(3)
    ]
    found = audit(asked, index, rights_of(index), k=k, search={"depth": rng.choice([3, 50])})
    assert leaking(found) == {}


# -- the run, the report, the decision -----------------------------------------------------------------------------


MAY_NOT = "something that the asker may not open"


@pytest.fixture
def result(tmp_path) -> Result:
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    return Ledger(pilot).result()


@pytest.mark.parametrize(
    "planted",
    [
        lambda row, secret: row["hits"].append({"id": secret, "doc": "salaries"}),
        lambda row, secret: row["lists"]["keyword"].append(secret),
        lambda row, secret: row.update(cited=[secret]),
        lambda row, secret: row.update(docs=["salaries"]),
        lambda row, secret: row.update(text=f"As far as I know, band 7 pays {SECRET} euros a year."),
        lambda row, secret: row["hits"][0].update(note=f"band 7 pays\n{SECRET} euros a year"),
    ],
)
def test_a_run_file_with_a_foreign_passage_fails_the_run(result, planted):
    assert result.audit.stages[RUN_FILE].share == Share(0, 6) and MAY_NOT not in result.decision().reasons[0]
    secret = next(p.id for p in result.built.index.passages if p.doc == "salaries")
    path = result.run.folder / "answers.jsonl"
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for row in rows:
        if row["question_id"] in ("q1", "q3"):  # q3's asker is of hr
            planted(row, secret)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    fresh = Result(result.pilot, result.run, result.built)
    assert set(fresh.audit.stages[RUN_FILE].passages) == {"q1"} and fresh.leaking == Share(1, 6)
    assert fresh.decision().verdict == "stop" and MAY_NOT in fresh.decision().reasons[0]
    for found, colour in ((result.audit, "rp-good"), (fresh.audit, "rp-bad")):
        assert colour in tables.leak_audit(found)
        assert colour in tables.retrievers({"run": fresh.retrieval}, {}, {"run": found})


def test_a_leak_in_the_run_file_ends_the_command_with_1_and_names_stage_and_question(result, monkeypatch, capsys):
    monkeypatch.chdir(result.pilot.data.parents[1])
    assert main(["run", "tiny"]) == 0 and "questions with a leak: 0 of 6" in capsys.readouterr().out
    path = result.run.folder / "answers.jsonl"
    row = json.loads(path.read_text(encoding="utf-8").splitlines()[0])
    said = json.dumps({**row, "text": f"Band 7 pays {SECRET} euros a year."})
    path.write_text("\n".join([said, *path.read_text(encoding="utf-8").splitlines()[1:]]) + "\n", encoding="utf-8")
    assert main(["run", "tiny"]) == 1
    assert "questions with a leak: 1 of 6\n  run file: 1 of 6 (q1)\n" in capsys.readouterr().out


def test_the_criterion_counts_leaks_of_the_audit(result):
    assert result.measured("leaks") == Share(0, 6)
    index = HybridIndex(result.built.index.passages, embed)
    leaky = Result(result.pilot, result.run, result.built, FiltersOneLeg(index))
    assert leaky.measured("leaks").count > 0 and leaky.decision().verdict == "stop"


def test_a_page_that_quotes_a_restricted_document_is_found_and_refused(result, tmp_path):
    words = result.rights.words
    page = f"<p>Band <b>7</b> pays<br>{SECRET} euros a&nbsp;year</p>"
    assert audit_pages({"a": page, "b": "<p>Band 8</p>"}, {"all-staff"}, words).share == Share(1, 2)
    assert audit_pages({"a": page}, {"all-staff", "hr"}, words).share == Share(0, 1)
    assert audit_pages({"a": f'<img alt="Band 7 pays {SECRET} euros a year">'}, {"all-staff"}, words).share.count == 1
    notebook(
        tmp_path / "notebooks" / "00.ipynb", "# 00 · Plan\n\nText.", f"print('Band 7 pays {SECRET} euros a year.')"
    )
    with pytest.raises(AccessError, match=r"00.ipynb \(of salaries#\w+\): .*all-staff.*nothing was exported"):
        export(result.pilot, tmp_path / "notebooks")
    assert not (result.pilot.results / "report").exists()


def test_a_group_that_is_revoked_is_so_at_the_next_question_without_a_rebuild(result):
    pilot = result.pilot
    assert [h.doc for h in pilot.search("What does band 7 pay?", ["hr"])][:1] == ["salaries"]
    folder = sorted((pilot.results / "index").iterdir())
    page = pilot.data / "documents" / "salaries.md"
    page.write_text(page.read_text(encoding="utf-8").replace("groups: [hr]", "groups: [board]"), encoding="utf-8")
    assert "salaries" not in {h.doc for h in pilot.search("What does band 7 pay?", ["hr", "all-staff"])}
    assert [h.doc for h in pilot.search("What does band 7 pay?", ["board"])][:1] == ["salaries"]
    assert sorted((pilot.results / "index").iterdir()) == folder
    assert "salaries" in {h["doc"] for h in result.run.answers["q3"].hits}  # the run of before
    now = Result(pilot, result.run, pilot.build())
    assert "q3" in now.leaks.passages and now.leaking.count  # by the rights of now it is one
