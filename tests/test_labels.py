from dataclasses import replace
from datetime import UTC, datetime, timedelta
from multiprocessing import get_context
from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given
from hypothesis import strategies as st

from rag_pilot.errors import DataError
from rag_pilot.grading.labels import LabelStore, counting, key, seconds, stamp
from rag_pilot.records import KINDS, LABELS, Label

T0 = datetime(2026, 9, 15, 14, 3, 11, tzinfo=UTC)


def label(question: str = "q1", value: str | None = "correct", **more: object) -> Label:
    return Label(**{"question_id": question, "answer_sha": "sha", "annotator": "Émilie", "label": value, **more})  # type: ignore[arg-type]


def test_a_saved_label_is_one_line_and_reads_back_as_it_was(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "new" / "labels.jsonl")
    saved = store.add(label(note="« déjà vu » – 38 €\nsecond line", cause="not_retrieved", stale=True, position=3))
    assert store.path.read_bytes().count(b"\n") == 1
    assert store.read() == [saved]
    assert saved.saved_at


def test_a_missing_file_holds_no_labels(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    assert (store.read(), store.counting(), store.half_line()) == ([], [], "")


def test_a_corrected_label_counts_once_and_its_history_stays_readable(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    for value in ("correct", "wrong"):
        store.add(label("q3", value))
    assert [line.label for line in store.read()] == ["correct", "wrong"]
    assert [line.label for line in store.counting()] == ["wrong"]


def test_a_retracted_label_counts_no_more_and_can_be_given_again(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    first = store.add(label(note="n"))
    store.retract(first)
    assert store.counting() == []
    assert [line.note for line in store.read()] == ["n", ""]
    store.add(label(value="partly"))
    assert [line.label for line in store.counting()] == ["partly"]


@given(
    st.lists(
        st.builds(
            label,
            st.sampled_from(["q1", "q2"]),
            st.sampled_from([*LABELS, None]),
            answer_sha=st.sampled_from(["a", "b"]),
            annotator=st.sampled_from(["x", "y"]),
            kind=st.sampled_from(KINDS),
        )
    )
)
def test_the_last_line_of_each_key_counts(lines: list[Label]) -> None:
    by_hand = {}
    for line in lines:
        by_hand[(line.question_id, line.answer_sha, line.annotator, line.kind)] = line
    found = counting(lines)
    assert {key(line): line for line in found} == {k: v for k, v in by_hand.items() if v.label is not None}
    assert len({key(line) for line in found}) == len(found)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "Correct"}, "label is 'Correct', expected one of correct, partly, wrong, declined"),
        ({"kind": "third"}, "kind is 'third'"),
        ({"cause": "tired"}, "cause is 'tired'"),
        ({"annotator": " "}, "annotator is ' '"),
        ({"answer_sha": ""}, "answer_sha is ''"),
        ({"position": 1.5}, "position is 1.5"),
        ({"question_id": 7}, "question_id is 7, expected a text"),
        ({"shown_at": "noon"}, "shown_at is 'noon', expected a time"),
        ({"shown_at": "2026-09-15T14:03:11"}, "lacks the offset"),
        ({"stale": "yes"}, "stale is 'yes'"),
    ],
)
def test_a_label_that_cannot_be_right_is_refused_and_nothing_is_written(
    tmp_path: Path, change: dict[str, object], said: str
) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    with pytest.raises(DataError, match="nothing was saved") as fault:
        store.add(label(**change) if "label" not in change else replace(label(), **change))  # type: ignore[arg-type]
    assert said in str(fault.value)
    assert not store.path.exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"question_id": 12, "answer_sha": "a", "annotator": "x", "label": "wrong"}', "question_id is 12"),
        ('{"question_id": "1", "answer_sha": "a", "annotator": "x", "label": "good"}', "label is 'good'"),
        ('{"question_id": "1", "annotator": "x", "label": "wrong"}', "answer_sha"),
        ("[1]", "not a JSON object"),
        ("{half", "mend or remove the line"),
    ],
)
def test_an_unfit_line_is_named_by_file_and_line(tmp_path: Path, line: str, said: str) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    store.add(label())
    with store.path.open("a", encoding="utf-8") as file:
        file.write(line + "\n")
    store_again = LabelStore(store.path)
    with pytest.raises(DataError, match=r"labels\.jsonl, line 2: ") as fault:
        store_again.read()
    assert said in str(fault.value)


def test_half_a_last_line_is_reported_left_out_and_cut_by_the_next_save(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    kept = store.add(label(note="é"))
    whole = store.path.read_bytes()
    store.path.write_bytes(whole + whole[: whole.index("é".encode()) + 1])  # cut inside the two bytes of é
    assert store.read() == [kept]
    assert store.half_line().startswith('{"question_id"')
    more = store.add(label("q2"))
    assert store.read() == [kept, more]
    assert store.half_line() == ""


def test_a_file_saved_by_a_windows_editor_still_reads(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    first = store.add(label(note="déjà"))
    text = store.path.read_text(encoding="utf-8").replace("\n", "\r\n")
    for data in (text.encode("utf-8-sig"), text.encode("cp1252")):
        store.path.write_bytes(data)
        assert store.read() == [first]


def test_a_file_held_by_another_program_gives_an_error_and_no_line(tmp_path: Path) -> None:
    store = LabelStore(tmp_path / "labels.jsonl")
    store.add(label())
    with FileLock(tmp_path / ".labels.jsonl.lock"), pytest.raises(DataError, match="another program holds the file"):
        store.add(label("q2"))
    assert len(store.read()) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full, a disk without room, exists on Linux only")
def test_a_full_disk_gives_an_error_that_says_so(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    path.symlink_to("/dev/full")
    with pytest.raises(DataError, match="nothing was saved: No space left on device"):
        LabelStore(path).add(label())


def test_a_save_that_fails_half_way_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="file size limits exist on POSIX only")
    import signal

    store = LabelStore(tmp_path / "labels.jsonl")
    store.add(label())
    before = store.path.read_bytes()
    limits, handler = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 40, limits[1]))
    try:
        with pytest.raises(DataError, match="nothing was saved: File too large"):
            store.add(label("q2"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)
    assert store.path.read_bytes() == before


def _add_many(path: Path, who: str) -> None:
    for n in range(25):
        LabelStore(path).add(label(f"q{n}", annotator=who, note="x" * 5000))


def test_two_people_saving_at_once_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "labels.jsonl"
    people = [get_context("spawn").Process(target=_add_many, args=(path, who)) for who in ("a", "b")]
    for person in people:
        person.start()
    for person in people:
        person.join(30)
    assert len(LabelStore(path).counting()) == 50


def test_seconds_run_from_showing_to_the_first_label() -> None:
    def at(after: float, **more: object) -> Label:
        return label(shown_at=stamp(T0), saved_at=stamp(T0 + timedelta(seconds=after)), **more)

    edited = [at(4.5), at(90, note="later")]
    assert seconds(edited) == {key(edited[0]): 4.5}
    taken_back = [at(1), replace(at(2), label=None), at(7)]
    assert seconds(taken_back) == {key(edited[0]): 7.0}
    assert seconds([label()]) == {}


def test_times_carry_the_offset_of_their_zone() -> None:
    assert datetime.fromisoformat(stamp(T0)) == T0
    assert datetime.fromisoformat(stamp(datetime(2026, 9, 15, 14))).tzinfo is not None
