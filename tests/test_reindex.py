"""What a re-index loses is known, by question, before it is accepted."""

import pytest
from tiny import tiny_pilot

from rag_pilot.errors import DataError, SettingsError, StaleError
from rag_pilot.pilot import Pilot


@pytest.fixture
def pilot(tmp_path):
    return tiny_pilot(tmp_path)


def rewrite(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def reopened(pilot):
    return Pilot.open("tiny", pilot.data.parents[1])


def test_the_first_index_is_accepted_and_an_unchanged_one_compared_with_itself(pilot):
    first = pilot.reindex()
    assert (first.compared, first.not_compared) == (0, 0)
    again = reopened(pilot).reindex()
    assert (again.compared, again.before, again.after, again.loss) == (4, 4, 4, 0)
    assert again.words == "Hit@5 4 of 4 before, 4 after"


def test_a_loss_beyond_the_setting_is_refused_named_and_accepted_only_when_told(pilot):
    pilot.reindex()
    path = pilot.results / "index" / "accepted.json"
    accepted = path.read_bytes()
    (pilot.data / "documents" / "leave.md").unlink()
    for _ in range(2):  # refused is refused: nothing was accepted on the way
        with pytest.raises(StaleError, match=r"4 of 4 before, 3 after; lost: q1\. .*25\.0 points, at most 2\.0"):
            reopened(pilot).reindex()
        assert path.read_bytes() == accepted
    assert reopened(pilot).reindex(accept=True).lost == ("q1",)
    assert reopened(pilot).reindex().before == 3


def test_a_loss_within_the_setting_passes(pilot):
    rewrite(pilot.data / "pilot.toml", "[pilot]", "reindex_max_loss = 0.25\n[pilot]")
    reopened(pilot).reindex()
    (pilot.data / "documents" / "leave.md").unlink()
    assert reopened(pilot).reindex().loss == 0.25
    rewrite(pilot.data / "pilot.toml", "= 0.25", "= 1.5")
    with pytest.raises(SettingsError, match="reindex_max_loss"):
        reopened(pilot)


def test_a_gain_and_a_revoked_group_show_by_question(pilot):
    salaries = pilot.data / "documents" / "salaries.md"
    rewrite(salaries, "[hr]", "[board]")
    pilot.reindex()
    rewrite(salaries, "[board]", "[hr]")
    rewrite(pilot.data / "documents" / "travel.md", "A taxi", "A cab or taxi")
    gained = reopened(pilot).reindex()
    assert (gained.gained, gained.lost, gained.loss) == (("q3",), (), 0)
    rewrite(salaries, "[hr]", "[board]")
    rewrite(pilot.data / "documents" / "travel.md", "A cab or taxi", "A taxi")
    with pytest.raises(StaleError, match="lost: q3"):
        reopened(pilot).reindex()


def test_questions_that_are_new_or_changed_are_counted_and_not_compared(pilot):
    pilot.reindex()
    rewrite(pilot.data / "questions.jsonl", "How many days of annual leave a year?", "How many days off?")
    amended = '"expected": "95 euros a night", "amendments": [{"field": "expected", "old": "120 euros a night"}]'
    rewrite(
        pilot.data / "questions.jsonl", '"expected": "120 euros a night"', amended
    )  # the expected answer is no part of the question
    found = reopened(pilot).reindex()
    assert (found.compared, found.not_compared) == (3, 1) and "1 new or changed, not compared" in found.words


@pytest.mark.parametrize("content", ["", "{", "[]", '{"index": "x"}'])
def test_a_record_that_cannot_be_read_says_what_to_do(pilot, content):
    path = pilot.results / "index" / "accepted.json"
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"accepted\.json cannot be read .*remove it"):
        pilot.reindex()
