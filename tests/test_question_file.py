import json
import multiprocessing
import tempfile
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from rag_pilot.corpus.question_file import QuestionFile, amended
from rag_pilot.corpus.questions import read_questions
from rag_pilot.errors import DataError, StaleError


def line(id_: str, **more: Any) -> str:
    row = {"id": id_, "question": f"Où est {id_} ?", "groups": [], "answerable": None, **more}
    return json.dumps(row, ensure_ascii=False)


def file(folder: Path, *lines: str, end: str = "\n", encoding: str = "utf-8") -> QuestionFile:
    path = folder / "questions.jsonl"
    path.write_bytes((end.join(lines) + end).encode(encoding))
    return QuestionFile(path)


def test_every_other_line_and_the_order_stay_byte_for_byte(tmp_path: Path) -> None:
    odd = '{ "question":"b",  "id":"b","groups" : [],"answerable":true , "expected":"\\u00e9", "doc":"d"}'
    store = file(tmp_path, line("a"), odd, "", line("c"))
    store.save(store.read()["a"], {"answerable": False}, "Maud", "2026-09-15")
    lines = store.path.read_bytes().decode().split("\n")
    assert lines[1:] == [odd, "", line("c"), ""]
    assert json.loads(lines[0]) == {**json.loads(line("a")), "answerable": False}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_line_ends_and_byte_order_mark_stay(tmp_path: Path, end: str, encoding: str) -> None:
    store = file(tmp_path, line("a"), line("b"), end=end, encoding=encoding)
    before = store.path.read_bytes()
    store.save(store.read()["b"], {"category": "x"}, "Maud", "2026-09-15")
    assert store.path.read_bytes() == before.replace(
        line("b").encode(), json.dumps({**json.loads(line("b")), "category": "x"}, ensure_ascii=False).encode()
    )


@pytest.mark.parametrize("end", ["\n", ""])
def test_a_question_is_added_behind_the_others_and_never_under_an_id_that_is_taken(tmp_path: Path, end: str) -> None:
    store = file(tmp_path, line("a"), line("b"), end="\n")
    before = store.path.read_bytes().removesuffix(b"\n") + end.encode()
    store.path.write_bytes(before)
    store.add(json.loads(line("ć", added="2026-09-15")))
    assert store.path.read_bytes().startswith(before) and list(store.read()) == ["a", "b", "ć"]
    for row, said in ((json.loads(line("a")), "'a' stands there already"), ({"id": "d"}, "d: question, groups")):
        with pytest.raises(DataError, match=f"nothing was saved: .*{said}"):
            store.add(row)
    assert list(store.read()) == ["a", "b", "ć"]


def test_a_file_in_cp1252_becomes_utf_8_as_a_whole(tmp_path: Path) -> None:
    store = file(tmp_path, line("a"), line("b"), encoding="cp1252")
    store.save(store.read()["b"], {"expected": "„ł”"}, "Maud", "2026-09-15")
    assert store.path.read_text(encoding="utf-8").startswith(line("a"))
    assert store.read()["b"]["expected"] == "„ł”"


def test_what_was_undecided_is_filled_in_and_what_was_decided_is_amended(tmp_path: Path) -> None:
    store = file(tmp_path, line("a", expected="draft"))
    first = store.save(store.read()["a"], {"answerable": True, "expected": "25", "doc": "leave"}, "Maud", "2026-09-15")
    assert "amendments" not in first
    store.save(first, {"expected": "27", "doc": "leave"}, "Fenella", "2026-09-16", why="law of 2026")
    last = store.save(store.read()["a"], {"category": "policy"}, "Maud", "2026-09-17")
    assert last["amendments"] == [
        {"field": "expected", "old": "25", "date": "2026-09-16", "author": "Fenella", "why": "law of 2026"},
        {"field": "category", "old": None, "date": "2026-09-17", "author": "Maud"},
    ]
    (question,) = read_questions(store.path, None)
    assert (question.expected, len(question.amendments)) == ("27", 2)


def test_a_question_that_changed_since_it_was_shown_is_refused_and_the_file_left_alone(tmp_path: Path) -> None:
    store = file(tmp_path, line("a"), line("b"))
    shown = store.read()
    store.save(shown["a"], {"answerable": False}, "Maud", "2026-09-15")
    before = store.path.read_bytes()
    with pytest.raises(StaleError, match="a was changed or removed"):
        store.save(shown["a"], {"answerable": True}, "Fenella", "2026-09-15")
    assert store.path.read_bytes() == before
    store.save(shown["b"], {"answerable": True}, "Fenella", "2026-09-15")  # another one is no clash
    store.path.write_text(line("b"), encoding="utf-8")
    with pytest.raises(StaleError, match="removed"):
        store.save(shown["a"], {"answerable": True}, "Fenella", "2026-09-15")


def test_nothing_is_written_where_nothing_differs(tmp_path: Path) -> None:
    store = file(tmp_path, line("a", answerable=True, expected="25"))
    before = store.path.stat().st_mtime_ns
    store.save(store.read()["a"], {"expected": "25"}, "Maud", "2026-09-15")
    assert store.path.stat().st_mtime_ns == before


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ([line("a"), '{"id": '], "line 2: not a JSON object"),
        ([line("a"), line("b"), line("a")], "lines 1 and 3: the id 'a' stands twice"),
        ([line("a"), "", line("b", answerable="yes")], "line 3: answerable is 'yes'"),
    ],
)
def test_a_file_with_a_bad_line_is_not_touched(tmp_path: Path, lines: list[str], said: str) -> None:
    store = file(tmp_path, *lines)
    before = store.path.read_bytes()
    with pytest.raises(DataError, match=said):
        store.save(json.loads(line("a")), {"answerable": True}, "Maud", "2026-09-15")
    assert store.path.read_bytes() == before


def test_a_value_that_no_question_may_have_is_refused(tmp_path: Path) -> None:
    store = file(tmp_path, line("a"))
    with pytest.raises(DataError, match="nothing was saved: a: groups"):
        store.save(store.read()["a"], {"groups": ["a;b"]}, "Maud", "2026-09-15")


def test_a_held_file_and_a_missing_one_are_errors_that_say_so(tmp_path: Path) -> None:
    store = file(tmp_path, line("a"))
    with FileLock(tmp_path / ".questions.jsonl.lock"), pytest.raises(DataError, match="another program holds the file"):
        store.save(store.read()["a"], {"answerable": True}, "Maud", "2026-09-15")
    with pytest.raises(DataError, match="no such file"):
        QuestionFile(tmp_path / "none.jsonl").read()


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="file size limits exist on POSIX only")
    import signal

    store = file(tmp_path, line("a"), line("b"))
    before = store.path.read_bytes()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) - 5, limits[1]))
    try:
        with pytest.raises(DataError, match="nothing was saved: File too large"):
            store.save(store.read()["a"], {"answerable": True, "expected": "x" * 50}, "Maud", "2026-09-15")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert store.path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir() if p.suffix != ".lock"] == ["questions.jsonl"]


def test_times_are_kept_by_author_and_half_a_line_is_none(tmp_path: Path) -> None:
    store = file(tmp_path, line("a"))
    assert store.seconds() == []
    store.keep_time("a", "Maud", "2026-09-15T14:00:00.000+02:00", "2026-09-15T14:01:30.500+02:00")
    store.keep_time("a", "Fenella", "2026-09-15T14:00:00+02:00", "2026-09-15T12:00:10+00:00")
    with store.times.open("a", encoding="utf-8") as log:
        log.write('{"question_id": "a", "shown')
    assert (store.seconds("Maud"), store.seconds()) == ([90.5], [90.5, 10])
    store.keep_time("b", "Maud", "2026-09-15T14:00:00+02:00", "2026-09-15T14:00:20+02:00")
    assert store.seconds("Maud") == [90.5, 20]
    store.times.write_text('{"question_id": "a"}\n{}\n', encoding="utf-8")
    with pytest.raises(DataError, match="line 1: KeyError"):
        store.seconds()


def _write_many(path: Path, who: str, ids: list[str]) -> None:
    store = QuestionFile(path)
    for id_ in ids:
        while True:
            try:
                store.save(store.read()[id_], {"answerable": True, "expected": f"by {who}"}, who, "2026-09-15")
                break
            except (DataError, StaleError):  # the lock was held for long
                continue


def test_two_people_who_write_at_the_same_time_lose_no_line(tmp_path: Path) -> None:
    ids = [f"q{n}" for n in range(40)]
    store = file(tmp_path, *(line(id_) for id_ in ids))
    spawn = multiprocessing.get_context("spawn")
    people = [spawn.Process(target=_write_many, args=(store.path, str(k), ids[k::2])) for k in range(2)]
    for person in people:
        person.start()
    for person in people:
        person.join(60)
        assert person.exitcode == 0
    assert [row["expected"] for row in store.read().values()] == [f"by {n % 2}" for n in range(40)]


VALUES = st.fixed_dictionaries(
    {},
    optional={
        "answerable": st.booleans(),
        "expected": st.text('aé\n"\u2028', max_size=4),
        "doc": st.sampled_from([None, "d", "e"]),
        "also": st.lists(st.sampled_from("de"), max_size=2),
        "groups": st.lists(st.sampled_from(["hr", "it"]), max_size=2, unique=True),
    },
)
ACTS = st.lists(st.tuples(st.sampled_from("abc"), VALUES, st.booleans()), max_size=8)


@settings(max_examples=60, deadline=None)
@given(ACTS)
def test_whatever_is_saved_in_whatever_order_old_values_can_be_read_back_and_other_lines_never_change(
    acts: list[tuple[str, dict[str, Any], bool]],
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        store = file(Path(folder), line("a"), line("b", answerable=True, expected="x"), line("c", also=["d"]))
        decided: dict[str, dict[str, Any]] = {"b": store.read()["b"]}
        for id_, values, stale in acts:
            before = store.path.read_bytes().split(b"\n")
            shown = store.read()[id_]
            if stale:
                with pytest.raises(StaleError):
                    store.save({**shown, "question": "another"}, values, "Maud", "2026-09-15")
                assert store.path.read_bytes().split(b"\n") == before
                continue
            store.save(shown, values, "Maud", "2026-09-15")
            after = store.path.read_bytes().split(b"\n")
            place = "abc".index(id_)
            assert [x for n, x in enumerate(after) if n != place] == [x for n, x in enumerate(before) if n != place]
            if id_ not in decided and store.read()[id_]["answerable"] is not None:
                decided[id_] = store.read()[id_]
        for id_, first in decided.items():
            now = store.read()[id_]
            for act in reversed(now.pop("amendments", [])):
                now[act["field"]] = act["old"]
            assert {k: v for k, v in now.items() if v is not None} == {k: v for k, v in first.items() if v is not None}


def test_amending_leaves_the_question_it_was_given_alone() -> None:
    row = {"id": "a", "answerable": True, "expected": "1", "amendments": [{"field": "doc", "old": "x"}]}
    changed = amended(row, {"expected": "2"}, "Maud", "2026-09-15")
    assert [a["field"] for a in changed["amendments"]] == ["doc", "expected"]
    assert row == {"id": "a", "answerable": True, "expected": "1", "amendments": [{"field": "doc", "old": "x"}]}
