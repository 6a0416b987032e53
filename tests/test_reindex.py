"""What a re-index loses is known, by question, before it is accepted."""

import pytest
from tiny import tiny_pilot

from rag_pilot import tables
from rag_pilot.__main__ import main
from rag_pilot.building import Variant
from rag_pilot.errors import DataError, SettingsError, StaleError
from rag_pilot.pilot import Pilot
from rag_pilot.reindex import ACCEPTED, FIRST, REFUSED, UNCHANGED


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
    assert (first.state, first.compared, first.not_compared) == (FIRST, 0, 4)
    again = reopened(pilot).reindex()
    assert (again.state, again.compared, again.before, again.after, again.loss) == (UNCHANGED, 4, 4, 4, 0)
    assert again.words == "Hit@5 4 of 4 before, 4 after"


def test_a_loss_beyond_the_setting_is_refused_named_and_accepted_only_when_told(pilot):
    pilot.reindex()
    path = pilot.results / "index" / "accepted.json"
    accepted = path.read_bytes()
    (pilot.data / "documents" / "leave.md").unlink()
    for _ in range(2):  # refused is refused: nothing was accepted on the way
        refused = reopened(pilot).reindex()
        assert (refused.state, refused.lost) == (REFUSED, ("q1",))
        assert "4 of 4 before, 3 after; lost: q1. That is a loss of 25.0 points, at most 2.0" in refused.words
        assert path.read_bytes() == accepted
    assert reopened(pilot).reindex(accept=True).lost == ("q1",)
    assert reopened(pilot).reindex().before == 3


def test_no_question_is_run_against_an_index_that_was_refused_or_not_looked_at(pilot):
    pilot.lock_acceptance()
    pilot.reindex()
    (pilot.data / "documents" / "leave.md").unlink()
    for look in (lambda p: None, lambda p: p.reindex()):
        late = reopened(pilot)
        look(late)
        with pytest.raises(StaleError, match="an index was accepted on .*this one is not: .*rag-pilot index"):
            late.run()
    assert not (pilot.results / "runs").exists()
    accepting = reopened(pilot)
    accepting.reindex(accept=True)
    assert accepting.run().answers


def test_no_change_is_run_on_documents_that_were_refused_or_not_looked_at(pilot):
    pilot.lock_acceptance()
    pilot.reindex()
    change = Variant(pilot.settings.changed({"retrieval.k": 3}))
    assert pilot.run("three", change).answers
    (pilot.data / "documents" / "leave.md").unlink()
    late = reopened(pilot)
    with pytest.raises(StaleError, match="an index was accepted on"):
        late.run("three", change)
    late.reindex(accept=True)
    assert late.run("three", change).answers


def test_a_loss_within_the_setting_passes(pilot):
    rewrite(pilot.data / "pilot.toml", "[pilot]", "reindex_max_loss = 0.25\n[pilot]")
    reopened(pilot).reindex()
    (pilot.data / "documents" / "leave.md").unlink()
    passed = reopened(pilot).reindex()
    assert (passed.state, passed.loss) == (ACCEPTED, 0.25)
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
    refused = reopened(pilot).reindex()
    assert (refused.state, refused.lost) == (REFUSED, ("q3",))


def test_questions_that_are_new_or_changed_are_counted_and_not_compared(pilot):
    pilot.reindex()
    rewrite(pilot.data / "questions.jsonl", "How many days of annual leave a year?", "How many days off?")
    amended = '"expected": "95 euros a night", "amendments": [{"field": "expected", "old": "120 euros a night"}]'
    rewrite(
        pilot.data / "questions.jsonl", '"expected": "120 euros a night"', amended
    )  # the expected answer is no part of the question
    found = reopened(pilot).reindex()
    assert (found.compared, found.not_compared) == (3, 1) and "1 new or changed, not compared" in found.words


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"index": "x"}',
        '{"index": "x", "found": null}',
        '{"index": "x", "found": []}',
        '{"index": "x", "found": {"q1 0": "yes"}}',
        '{"index": 1, "found": {}}',
    ],
)
def test_a_record_that_cannot_be_read_says_what_to_do(pilot, content):
    path = pilot.results / "index" / "accepted.json"
    path.parent.mkdir(parents=True)
    path.write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=r"accepted\.json cannot be read .*remove it"):
        pilot.reindex()


def test_before_there_are_questions_the_first_is_accepted_and_those_added_later_guard_it(pilot):
    questions = pilot.data / "questions.jsonl"
    text = questions.read_text(encoding="utf-8")
    for early in (None, "", text.replace('"answerable": true', '"answerable": null')):
        questions.unlink() if early is None else questions.write_text(early, encoding="utf-8")
        found = reopened(pilot).reindex()
        assert found.compared == 0 and "nan" not in tables.reindexed(found).lower()
    assert found.state == UNCHANGED
    questions.write_text(text, encoding="utf-8")
    assert reopened(pilot).reindex().not_compared == 4  # the very index that was accepted: kept from now on
    (pilot.data / "documents" / "leave.md").unlink()
    assert reopened(pilot).reindex().state == REFUSED


def test_questions_kept_with_the_accepted_index_keep_what_was_found_then(pilot):
    """Rights are not part of an index: a revoked group does not lower what the next one is measured against."""
    pilot.reindex()
    rewrite(pilot.data / "documents" / "salaries.md", "[hr]", "[board]")
    revoked = reopened(pilot).reindex()
    assert (revoked.state, revoked.lost) == (UNCHANGED, ("q3",))
    rewrite(pilot.data / "documents" / "leave.md", "Everybody", "Everyone")
    assert reopened(pilot).reindex().lost == ("q3",)


# -- as people meet it: notebook 02 and the command line -----------------------------------------------------------


def test_the_table_shows_before_and_after_and_a_refusal_in_plain_words(pilot):
    first = repr(tables.reindexed(pilot.reindex()))
    assert (
        first
        == "accepted as the first The next index is compared with it on 4 questions, and on those added until then."
    )
    (pilot.data / "documents" / "leave.md").unlink()
    refused = repr(tables.reindexed(reopened(pilot).reindex()))
    assert refused.startswith("refused That is a loss of 25.0 points, at most 2.0 are allowed (reindex_max_loss in ")
    assert "`rag-pilot index PILOT --accept-loss`, or pilot.reindex(accept=True)" in refused
    for line in ("Hit@5 before  4 of 4", "Hit@5 now  3 of 4", "Lost  q1", "Gained  none"):
        assert line in refused
    assert repr(tables.reindexed(reopened(pilot).reindex(accept=True))).startswith("accepted ")


def test_the_command_prints_the_manifest_and_refuses_with_1_until_the_loss_is_accepted(pilot, monkeypatch, capsys):
    monkeypatch.chdir(pilot.data.parents[1])
    assert main(["index", "tiny"]) == 0
    said = capsys.readouterr().out
    for line in ("Documents  3", "Passages  3", "max_tokens 400", "keywords alone", "accepted as the first"):
        assert line in said
    (pilot.data / "documents" / "leave.md").unlink()
    for _ in range(2):
        assert main(["index", "tiny"]) == 1
        said = capsys.readouterr().out
        assert "refused That is a loss of 25.0 points" in said and "--accept-loss" in said and "Lost  q1" in said
    assert main(["index", "tiny", "--accept-loss"]) == 0
    assert main(["index", "tiny"]) == 0 and "accepted before" in capsys.readouterr().out


def test_the_command_counts_passages_without_a_word_to_search_by(pilot, monkeypatch, capsys):
    monkeypatch.chdir(pilot.data.parents[1])
    assert main(["index", "tiny"]) == 0 and "Passages without a word to search by  0" in capsys.readouterr().out
    rewrite(pilot.data / "pilot.toml", 'method = "keyword"', 'method = "keyword"\ntitles = false')
    (pilot.data / "documents" / "signs.md").write_text(
        "---\ngroups: [all-staff]\n---\n\u2192 \u2714 \u2716\n", encoding="utf-8"
    )
    for _ in range(2):  # as built, and as opened
        assert main(["index", "tiny"]) == 0 and "Passages without a word to search by  1" in capsys.readouterr().out
