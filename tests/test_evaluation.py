import json
import random
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import article
import pytest
from article import embed
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rag_pilot.answering.answerer import Reply, plain_citations
from rag_pilot.errors import DataError, StaleError
from rag_pilot.evaluation import grade, regrade, run_eval
from rag_pilot.files import dumps, read_jsonl
from rag_pilot.grading.judge import Judgement, model_judge
from rag_pilot.records import JUDGE_LABELS, Answer, Question, Verdict
from rag_pilot.retrieval.hybrid import HybridIndex
from rag_pilot.retrieval.keyword import article_tokenizer
from rag_pilot.runs import Run, open_run

WORDS = ["leave", "hotel", "parking", "band", "discount", "zzz"]
CHUNKS = [
    {"id": f"{doc}#{n}", "doc": doc, "text": text, "groups": groups}
    for n, (doc, text, groups) in enumerate(
        [
            ("leave", "annual leave is 25 days", {"all"}),
            ("leave", "ask for leave in the portal", {"all"}),
            ("travel", "the hotel limit is 95 euros", {"all"}),
            ("parking", "parking is free in leeds", {"all", "sales"}),
            ("salaries", "band 7 pays 91500 euros", {"hr"}),
            ("discounts", "a discount of 12 percent at most", {"sales"}),
        ]
    )
]
INDEX = HybridIndex(CHUNKS, embed, bm25="okapi", tokenizer=article_tokenizer)
TEXTS = [
    "NOT_FOUND",
    "NOT_FOUND.",
    "It is so.",
    "It is so [9].",
    "It is [0].",
    "It is so [1].",
    "Zażółć: 5 € [1][2].",
    "Yes [3]. No [1].",
]


def question(id_: str, text: str = "annual leave", doc: str | None = "leave", **more: Any) -> Question:
    return Question(id_, text, **{"expected": "25 days", "doc": doc, "groups": frozenset({"all"}), **more})


def asked(n: int = 5) -> list[Question]:
    return [question(f"q{i}", f"{WORDS[i % 5]} {i}") for i in range(n)]


class Model:
    """A model that answers by the question, fails where told to, and notes what it was asked."""

    def __init__(
        self, text: str = "Zażółć – 25 € [1].", fails: tuple[str, ...] = (), waits: Callable[[str], float] | None = None
    ):
        self.text, self.fails, self.waits, self.asked = text, set(fails), waits, []

    def __call__(self, prompt: Any) -> str:
        if self.waits:
            time.sleep(self.waits(prompt.question))
        self.asked.append(prompt.question)
        if prompt.question in self.fails:
            raise ConnectionError(f"no line for {prompt.question}")
        return Reply(self.text, model="m-1", tokens_in=len(prompt), tokens_out=3)


def plain(run: Run) -> dict[str, Answer]:
    """The answers without their times, which differ between runs."""
    return {i: replace(a, seconds={}) for i, a in run.answers.items()}


def rows(folder: Path) -> list[dict[str, Any]]:
    return [row for _, row in read_jsonl(folder / "answers.jsonl")]


# -- the article ---------------------------------------------------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.tuples(
            st.lists(st.sampled_from(WORDS), min_size=1, max_size=3),
            st.sets(st.sampled_from(["all", "hr", "sales"])),
            st.sampled_from(["leave", "travel", "salaries", "elsewhere"]),
            st.booleans(),
        ),
        min_size=1,
        max_size=8,
    ),
    st.integers(0, 10**6),
)
def test_under_the_articles_settings_labels_and_found_are_the_articles(
    tmp_path_factory: pytest.TempPathFactory, asked: list[tuple[list[str], set[str], str, bool]], seed: int
) -> None:
    items = [
        {
            "id": f"{n:03}",
            "question": f"{' '.join(words)} {n}",
            "expected": f"e{n}",
            "doc": doc,
            "groups": sorted(groups),
            "answerable": answerable,
        }
        for n, (words, groups, doc, answerable) in enumerate(asked)
    ]
    path = tmp_path_factory.mktemp("set") / "questions.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in items))

    def llm(prompt: str) -> str:
        return random.Random(f"{seed}{prompt.rpartition(chr(10))[2].removeprefix('Question: ')}").choice(TEXTS)

    def judge(question: str, expected: str, text: str) -> str:
        return random.Random(f"{seed}{question}{expected}{text}").choice(JUDGE_LABELS)

    labels, found, answerable = article.run_eval(items, INDEX, llm, judge)
    run = run_eval(path, INDEX, llm, judge, citations=plain_citations)
    raw = [v.judged or v.label for v in run.verdicts.values()]  # the article has no citation rule
    assert {label: raw.count(label) for label in raw} == dict(labels)
    assert run.found == (found, answerable)
    assert sum(run.labels.values()) == len(items)
    for item in items:
        given = run.answers[item["id"]]
        expected = article.answer(item["question"], INDEX, set(item["groups"]), llm)
        assert {"status": given.status, "text": given.text, "docs": list(given.docs)} == expected


# -- grading -------------------------------------------------------------------------------------------------------


def test_the_judge_sees_neither_declines_nor_questions_that_have_no_answer() -> None:
    texts = {
        "a": "25 [1].",
        "b": "NOT_FOUND",
        "c": "25 [1].",
        "d": "NOT_FOUND",
        "e": "The passages do not mention it [1].",
    }
    seen: list[tuple[str, str, str]] = []

    def judge(*texts: str) -> str:
        seen.append(texts)  # type: ignore[arg-type]
        return "correct"

    questions = [question(i, i, answerable=i in "ab") for i in texts]
    run = run_eval(questions, INDEX, lambda p: texts[p.question], judge, min_similarity=None)  # type: ignore[attr-defined]
    assert seen == [("a", "25 days", "25 [1].")]
    assert {i: (v.label, v.by) for i, v in run.verdicts.items()} == {
        "a": ("correct", "judge"),
        "b": ("declined", "rule"),
        "c": ("wrong", "rule"),
        "d": ("correct", "rule"),
    }
    assert dict(run.labels) == {"correct": 2, "declined": 1, "wrong": 1, "ungraded": 1}


@pytest.mark.parametrize(
    ("doc", "also", "judged", "label", "by"),
    [
        ("leave", (), "correct", "correct", "judge"),
        ("travel", ("leave",), "correct", "correct", "judge"),
        ("travel", (), "correct", "partly", "citation_rule"),
        (None, (), "correct", "partly", "citation_rule"),
        ("travel", (), "wrong", "wrong", "judge"),
        ("travel", (), "partly", "partly", "judge"),
        ("travel", (), None, None, "judge"),
    ],
)
def test_an_answer_graded_correct_that_cites_no_accepted_document_is_partly(
    doc: str | None, also: tuple[str, ...], judged: str | None, label: str | None, by: str
) -> None:
    run = run_eval([question("q", doc=doc, also=also)], INDEX, Model("25 [1]."), lambda *_: judged)
    verdict = run.verdicts["q"]
    assert (verdict.label, verdict.judged, verdict.by) == (label, judged, by)
    assert verdict.answer_sha == run.answers["q"].sha != ""


def test_an_unreadable_judgement_has_no_label_and_is_kept_as_it_came(tmp_path: Path) -> None:
    judge = model_judge(lambda prompt: "Not {correct}, \ud83d I'd say")
    run = run_eval([question("q")], INDEX, Model(), judge, folder=tmp_path / "run")
    assert run.verdicts["q"].label is None
    assert dict(run.labels) == {"ungraded": 1}
    kept = open_run(tmp_path / "run", [question("q")]).verdicts["q"]
    assert (kept.label, kept.raw) == (None, "Not {correct}, ? I'd say")


def test_a_judge_that_fails_on_one_answer_leaves_it_ungraded_and_goes_on() -> None:
    def judge(text: str, expected: str, given: str) -> Judgement:
        if text == "hotel 1":
            raise TimeoutError("too late")
        return Judgement("wrong", raw="x")

    run = run_eval(asked(3), INDEX, Model(), judge)
    assert {i: v.label for i, v in run.verdicts.items()} == {"q0": "wrong", "q1": None, "q2": "wrong"}
    assert run.verdicts["q1"].reason == "TimeoutError: too late"
    assert run.verdicts["q0"].raw == ""


def test_without_a_judge_answers_stay_ungraded_and_rules_still_speak() -> None:
    questions = [question("a"), question("b", groups=frozenset()), question("c", answerable=False)]
    run = run_eval(questions, INDEX, Model())
    assert {i: v.label for i, v in run.verdicts.items()} == {"b": "declined", "c": "wrong"}
    assert dict(run.labels) == {"ungraded": 1, "declined": 1, "wrong": 1}


@pytest.mark.parametrize("label", ["declined", "Correct", "incorrect", "", 1])
def test_a_judges_label_that_is_none_is_refused_and_no_answer_is_lost(tmp_path: Path, label: Any) -> None:
    with pytest.raises(DataError, match="of 'q0'; expected one of correct, partly, wrong"):
        run_eval(asked(3), INDEX, Model(), lambda *_: label, folder=tmp_path / "run")
    again = Model()
    assert run_eval(asked(3), INDEX, again, lambda *_: "wrong", folder=tmp_path / "run").labels["wrong"] == 3
    assert again.asked == []


def test_the_same_answers_can_be_graded_by_another_judge() -> None:
    run = run_eval(asked(3), INDEX, Model(), lambda *_: "wrong")
    other = regrade(run, lambda *_: "partly")
    assert (dict(run.labels), dict(other.labels)) == ({"wrong": 3}, {"partly": 3})
    assert other.answers is run.answers


# -- errors and concurrency ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("threads", [1, 4])
def test_a_call_that_fails_is_an_error_and_loses_no_other(tmp_path: Path, threads: int) -> None:
    run = run_eval(
        asked(), INDEX, Model(fails=("parking 2",)), lambda *_: "wrong", threads=threads, folder=tmp_path / "r"
    )
    assert [a.status for a in run.answers.values()] == ["answered", "answered", "error", "declined", "answered"]
    assert run.answers["q2"].reason == "ConnectionError: no line for parking 2"
    assert "q2" not in run.verdicts
    assert (run.errors, run.info["error"], run.info["complete"], run.info["asked"]) == (1, 1, False, 5)
    assert dict(run.labels) == {"wrong": 3, "error": 1, "declined": 1}
    assert run.found[1] == 4


def test_an_index_that_fails_or_gives_what_no_file_may_hold_is_an_error_of_its_question(tmp_path: Path) -> None:
    class Odd:
        def search(self, question: str, groups: Any, k: int = 5) -> list[dict[str, Any]]:
            value = {"nan": float("nan"), "inf": float("inf"), "fine": 0.9}[question]
            return [{"doc": "leave", "text": "t", "similarity": value}]

    questions = [question(i, i) for i in ("nan", "fine", "inf", "lost")]
    run = run_eval(questions, Odd(), Model(), folder=tmp_path / "run", info={"config": {"k": 5}})
    assert {i: a.status for i, a in run.answers.items()} == {
        "nan": "error",
        "fine": "answered",
        "inf": "error",
        "lost": "error",
    }
    for file in (tmp_path / "run").iterdir():
        assert not any(word in file.read_text() for word in ("NaN", "Infinity"))
    with pytest.raises(ValueError, match="JSON"):
        run_eval(questions, Odd(), Model(), folder=tmp_path / "other", info={"score": float("nan")})
    assert not (tmp_path / "other" / "run.json").exists()


@pytest.mark.parametrize("seed", [1, 2])
def test_the_order_in_which_calls_finish_does_not_matter(tmp_path: Path, seed: int) -> None:
    questions = asked(12)
    order = random.Random(seed)
    delays = {q.question: order.random() / 50 for q in questions}
    one = run_eval(questions, INDEX, Model(), lambda *_: "partly", folder=tmp_path / "one")
    model = Model(waits=delays.__getitem__)
    many = run_eval(questions, INDEX, model, lambda *_: "partly", threads=6, folder=tmp_path / "many")
    assert model.asked != [
        q.question for q in questions if q.question in model.asked
    ]  # they did finish in another order
    assert plain(one) == plain(many)
    assert one.verdicts == many.verdicts
    assert [r["question_id"] for r in rows(tmp_path / "many")] == [q.id for q in questions] == list(many.answers)


def test_an_answer_is_on_disk_before_the_next_is_asked(tmp_path: Path) -> None:
    counts: list[int] = []

    def model(prompt: str) -> str:
        path = tmp_path / "run" / "answers.jsonl"
        counts.append(len(rows(path.parent)) if path.exists() else 0)
        return "25 [1]."

    run_eval([question(f"q{n}") for n in range(4)], INDEX, model, folder=tmp_path / "run")
    assert counts == [0, 1, 2, 3]


def test_when_a_run_is_stopped_calls_that_have_not_begun_are_never_made(tmp_path: Path) -> None:
    begun = []
    lock = threading.Lock()

    def model(prompt: Any) -> str:
        with lock:
            begun.append(prompt.question)
            if len(begun) == 3:
                raise KeyboardInterrupt
        time.sleep(0.02)
        return "25 [1]."

    questions = [question(f"q{n}") for n in range(60)]
    with pytest.raises(KeyboardInterrupt):
        run_eval(questions, INDEX, model, threads=2, folder=tmp_path / "run")
    assert len(begun) < 20
    again = Model()
    run = run_eval(questions, INDEX, again, folder=tmp_path / "run")
    assert run.info["complete"]
    assert len(again.asked) < 60


def test_an_id_that_stands_twice_is_refused_before_any_call() -> None:
    model = Model()
    with pytest.raises(DataError, match="question 'q1' stands twice"):
        run_eval([question("q0"), question("q1"), question("q1")], INDEX, model)
    assert model.asked == []


# -- on disk -------------------------------------------------------------------------------------------------------


def test_a_run_reads_back_as_it_was(tmp_path: Path) -> None:
    questions = [*asked(), question("u", answerable=False), question("n", groups=frozenset())]
    folder = tmp_path / "2026-09-15-base"
    run = run_eval(
        questions, INDEX, Model(fails=("hotel 1",)), lambda *_: "correct", folder=folder, info={"name": "base"}
    )
    read = open_run(folder, questions)
    assert (read.questions, read.answers, read.verdicts) == (run.questions, run.answers, run.verdicts)
    assert (read.info, read.id, read.labels, read.found) == (run.info, "2026-09-15-base", run.labels, run.found)
    assert run.info["models"] == ["m-1"]
    assert run.info["tokens_out"] == 3 * sum(a.status == "answered" for a in run.answers.values())
    assert sum(run.info["decline_reasons"].values()) == run.info["declined"] > 0
    assert run.info["answered"] + run.info["declined"] + run.info["error"] == run.info["asked"] == len(questions)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6))
@example(-1)
def test_a_run_cut_off_at_any_byte_goes_on_and_comes_to_the_same_answers(
    tmp_path_factory: pytest.TempPathFactory, place: int
) -> None:
    folder = tmp_path_factory.mktemp("runs") / "run"
    whole = run_eval(asked(), INDEX, Model(), lambda *_: "wrong", folder=folder)
    content = (folder / "answers.jsonl").read_bytes()
    cut = place % (len(content) + 1) if place >= 0 else content.rindex("ż".encode()) + 1  # in the middle of a letter
    (folder / "answers.jsonl").write_bytes(content[:cut])
    kept = content[:cut].count(b"\n") + (content[cut : cut + 1] == b"\n")
    model = Model()
    run = run_eval(asked(), INDEX, model, lambda *_: "wrong", folder=folder)
    assert plain(run) == plain(whole)
    assert run.verdicts == whole.verdicts
    assert model.asked == [q.question for q in asked()[kept:] if whole.answers[q.id].status == "answered"]
    half = content[:cut].rpartition(b"\n")[2]
    copy = folder / "answers.jsonl.cut"
    if half and content[cut : cut + 1] != b"\n":
        assert copy.read_bytes() == half + b"\n"
    assert len(rows(folder)) == len(asked())


def test_resuming_redoes_errors_and_missing_answers_and_only_those(tmp_path: Path) -> None:
    questions = [question(f"q{n}", f"leave {n}") for n in range(4)]
    folder = tmp_path / "run"
    run_eval(questions[:3], INDEX, Model("first [1].", fails=("leave 1",)), folder=folder)
    again = Model("second [1].")
    run = run_eval(questions, INDEX, again, folder=folder)
    assert again.asked == ["leave 1", "leave 3"]
    assert [a.text for a in run.answers.values()] == ["first [1].", "second [1].", "first [1].", "second [1]."]
    assert [r["question_id"] for r in rows(folder)] == ["q0", "q1", "q2", "q3"]
    assert run.info["complete"]
    last = Model()
    run_eval(questions, INDEX, last, folder=folder)
    assert last.asked == []


@pytest.mark.parametrize(
    "other",
    [
        {"info": {"config": {"model": "n"}}},
        {"info": {}},
        {"k": 3},
        {"min_similarity": None},
        {"instructions": "Answer."},
        {"search": {"depth": 7}},
    ],
)
def test_a_run_begun_with_another_configuration_is_not_gone_on_with(tmp_path: Path, other: dict[str, Any]) -> None:
    same: dict[str, Any] = {"folder": tmp_path / "run", "info": {"config": {"model": "m", "sizes": (1, 2)}}}
    run_eval(asked(2), INDEX, Model(fails=("hotel 1",)), **same)
    before = {p.name: p.read_bytes() for p in same["folder"].iterdir()}
    model = Model()
    with pytest.raises(StaleError, match="begun with another configuration .* start a run of another name"):
        run_eval(asked(2), INDEX, model, **same | other)
    assert model.asked == []
    assert {p.name: p.read_bytes() for p in same["folder"].iterdir()} == before
    run_eval(asked(2), INDEX, model, **same)
    assert model.asked == ["hotel 1"]


@pytest.mark.parametrize(
    "line", ['{"question_id": "q0", "answ', '{"status": "answered"}', "[]", '{"question_id": "q0", "status": NaN}']
)
def test_a_bad_line_inside_the_file_is_an_error_with_its_number(tmp_path: Path, line: str) -> None:
    folder = tmp_path / "run"
    run_eval(asked(3), INDEX, Model(), folder=folder)
    lines = (folder / "answers.jsonl").read_text().split("\n")
    (folder / "answers.jsonl").write_text("\n".join([lines[0], line, *lines[2:]]))
    for read in (lambda: run_eval(asked(3), INDEX, Model(), folder=folder), lambda: open_run(folder, asked(3))):
        with pytest.raises(DataError, match=r"answers\.jsonl, line 2: "):
            read()


def test_a_run_that_does_not_fit_its_questions_or_cannot_be_read_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run_eval(asked(3), INDEX, Model(), folder=folder)
    with pytest.raises(DataError, match="answers do not fit the questions"):
        open_run(folder, asked(2))
    content = (folder / "answers.jsonl").read_text()
    (folder / "answers.jsonl").write_text(content + content.split("\n")[0] + "\n")
    with pytest.raises(DataError, match="answers do not fit the questions"):
        open_run(folder, asked(3))
    (folder / "run.json").write_text("{")
    with pytest.raises(DataError, match=r"run\.json: no run can be read here"):
        open_run(folder, asked(3))
    with pytest.raises(DataError, match=r"run\.json: no run can be read here"):
        open_run(tmp_path / "none", asked(3))


# -- what a label hangs on, and what must not come out ----------------------------------------------------------------


class Fixed:
    def __init__(self, *docs: str) -> None:
        self.hits = [{"id": f"{doc}#1", "doc": doc, "text": f"text of {doc}"} for doc in docs]

    def search(self, question: str, groups: Any, k: int = 5) -> list[dict[str, str]]:
        return self.hits


def test_a_label_follows_an_answer_whose_passages_change_places_and_no_other() -> None:
    def sha(text: str, *docs: str) -> str:
        return run_eval([question("q")], Fixed(*docs), lambda _: text).answers["q"].sha

    kept = sha("25 days [1]. Ask [1, 2].", "a", "b")
    assert kept == sha("25 days [2]. Ask [2][1].", "b", "a") == sha("25 days [2].\nAsk [2, 3].", "c", "a", "b")
    assert kept != sha("25 days [1]. Ask [1, 2].", "a", "c")
    assert kept != sha("25 days [2]. Ask [1, 2].", "a", "b")
    assert kept != sha("24 days [1]. Ask [1, 2].", "a", "b")


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(WORDS), st.sets(st.sampled_from("abc"))), min_size=1, max_size=6),
    st.lists(st.sets(st.sampled_from("abc")), min_size=1, max_size=3),
)
def test_no_text_of_a_forbidden_passage_reaches_prompt_files_or_log(
    tmp_path_factory: pytest.TempPathFactory, passages: list[tuple[str, set[str]]], askers: list[set[str]]
) -> None:
    folder = tmp_path_factory.mktemp("runs") / "run"
    chunks = [
        {"id": f"p{n}.", "doc": f"d{n}.", "text": f"{word} secret{n}.", "title": f"title{n}.", "groups": groups}
        for n, (word, groups) in enumerate(passages)
    ]
    questions = [question(f"q{n}", "leave hotel", None, groups=frozenset(groups)) for n, groups in enumerate(askers)]
    prompts: list[str] = []

    def repeating(prompt: Any) -> str:
        prompts.append(str(prompt))
        if len(prompts) == 2:
            raise RuntimeError(str(prompt))
        return str(prompt)[prompt.index("[1]") :]

    index = HybridIndex(chunks, embed)
    run = run_eval(
        questions, index, repeating, lambda *texts: Judgement(None, raw=str(texts)), min_similarity=None, folder=folder
    )
    readable = set().union(*askers)
    everything = "".join(prompts) + "".join(p.read_text() for p in folder.iterdir())
    for n, (_, groups) in enumerate(passages):
        if not groups & readable:
            assert not any(f"{word}{n}." in everything for word in ("secret", "title", "p", "d"))
    for q in questions:
        told = dumps(run.answers[q.id])
        assert not any(f"secret{n}." in told for n, (_, groups) in enumerate(passages) if not groups & q.groups)


def test_nothing_of_questions_or_passages_is_logged_or_printed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(0)
    run_eval(asked(25), INDEX, Model(fails=("hotel 1",)), lambda *_: "wrong", folder=tmp_path / "run", threads=3)
    told = caplog.text + "".join(capfd.readouterr())
    assert not any(word in told for word in ("leave", "hotel", "25 €", "q1", "no line"))


def test_grading_needs_an_answer_for_every_question() -> None:
    with pytest.raises(KeyError):
        grade(asked(1), {}, None)
    assert grade([], {}, None) == {}
    assert isinstance(grade([question("q")], {"q": Answer("q", "declined")}, None)["q"], Verdict)
