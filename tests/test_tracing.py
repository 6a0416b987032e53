"""Why one question went as it did."""

import pytest
from tiny import SECRET, run_and_label, tiny_pilot

from rag_pilot.errors import DataError
from rag_pilot.ledger import Ledger
from rag_pilot.reporting import tables
from rag_pilot.results import Result
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


def test_places_stay_those_of_the_run_where_the_documents_have_changed_since(result):
    before = trace(result, "q2")
    page = result.pilot.data / "documents" / "travel.md"
    page.write_text(page.read_text(encoding="utf-8").replace("95 euros", "120 euros"), encoding="utf-8")
    after = trace(Result(result.pilot, result.run, result.pilot.build()), "q2")
    assert [(p.name, p.document, p.length) for p in after.places] == [
        (p.name, p.document, p.length) for p in before.places
    ]
    assert (before.lost, after.lost) == (0, 1)
    assert after.hidden == "access to a passage that is gone" and after.prompt == ""
    assert "1 passage of its lists is in them no more" in repr(tables.trace(after))
