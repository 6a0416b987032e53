"""Why one question went as it did."""

import pytest
from tiny import SECRET, run_and_label, tiny_pilot

from rag_pilot.errors import DataError
from rag_pilot.ledger import Ledger
from rag_pilot.tracing import trace


@pytest.fixture
def result(tmp_path):
    pilot = tiny_pilot(tmp_path)
    run_and_label(pilot)
    return Ledger(pilot).result()


def test_it_shows_the_place_in_every_list_the_shared_words_and_the_prompt(result):
    found = trace(result, "q2")
    assert {p.name: p.document for p in found.places} == {"keyword": 1, "shown": 1}
    assert "taxi" in found.seen[0].shared
    assert found.seen[0].expected
    assert "claimed on form T-7" in found.prompt
    assert found.text.startswith("A taxi is claimed")


def test_it_shows_only_ranks_to_those_who_may_not_read(result):
    found = trace(result, "q3")
    assert found.hidden == "hr"
    assert SECRET not in repr(found)
    assert found.places


def test_an_unknown_question_is_refused(result):
    with pytest.raises(DataError, match="q99"):
        trace(result, "q99")
