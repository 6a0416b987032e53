"""What a model's answers vary by themselves, measured before the first change of answers is planned."""

import os
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from endpoint import Endpoint, Step, completion, kind_of
from tiny import tiny_pilot

from rag_pilot.analysis.comparison import BROKEN_EXPECTED, detectable
from rag_pilot.answering.start import CODE
from rag_pilot.errors import RunStoppedError
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reporting import tables
from rag_pilot.stored import stored_result

CHANGE = """
[[change]]
name = "NAME"
cause = "missing_or_stale"
hypothesis = "The hotel limit is out of date."
measure = "correct"
"""


@pytest.fixture
def root(endpoint: Endpoint, tmp_path: Path) -> Path:
    """A pilot that asks a model, with two changes; the judge is the offline one."""
    data = tiny_pilot(tmp_path).data
    text = (data / "pilot.toml").read_text(encoding="utf-8").replace("changes_planned = 1", "changes_planned = 2")
    lines = f'[answer]\nkind = "model"\nmodel = "m"\nbase_url = "{endpoint.url}"\nkey_variable = "PILOT_TEST_KEY"\n'
    text = text.replace("[answer]\n", lines + "retry_seconds = 0.01\nconcurrency = 1\n")
    (data / "pilot.toml").write_text(text + CHANGE.replace("NAME", "mended") + CHANGE.replace("NAME", "more"), "utf-8")
    old = (data / "documents" / "travel.md").read_text(encoding="utf-8")
    for name, euros in (("mended", "120"), ("more", "130")):
        (data / "changes" / name / "documents").mkdir(parents=True)
        (data / "changes" / name / "documents" / "travel.md").write_text(old.replace("95", euros), encoding="utf-8")
    Pilot.open("tiny", tmp_path).lock_acceptance()
    return tmp_path


def ledger(root: Path) -> Ledger:
    return Ledger(Pilot.open("tiny", root))


class Saying:
    """A model that says the same each time, or of some questions something else when asked again."""

    def __init__(self, moody: dict[str, list[str]] | None = None) -> None:
        self.moody, self.asked, self.stops_at = moody or {}, Counter[str](), 0

    def __call__(self, sent: dict[str, Any]) -> Step:
        prompt = sent["messages"][0]["content"]
        if kind_of(sent) == "check":
            return 200, completion(CODE, tokens=(len(prompt) // 3, 9)), {}
        if self.stops_at and self.asked.total() + 1 == self.stops_at:
            return 401, {"error": {"message": "no"}}, {}
        said = next((texts for words, texts in self.moody.items() if words in prompt.rpartition("Question")[2]), None)
        times, self.asked[prompt] = self.asked[prompt], self.asked[prompt] + 1
        text = said[min(times, len(said) - 1)] if said else "It is so [1]."
        return 200, completion(text, tokens=(len(prompt) // 3, 9)), {}


def told(found: Any) -> str:
    return BeautifulSoup(tables.changes([found]), "html.parser").get_text(" ")


def test_a_system_that_always_says_the_same_flips_nowhere(endpoint: Endpoint, root: Path) -> None:
    endpoint.decide = Saying()
    found = ledger(root).attempt("mended")
    assert (found.planned["flips"], found.planned["asked_twice"]) == (0, 6)
    assert found.planned["detectable"] == detectable(6, BROKEN_EXPECTED, 0.025)
    assert "0 of 6 questions came out differently when the same system was asked twice" in told(found)


def test_what_comes_out_differently_widens_the_detectable_difference_and_is_said(
    endpoint: Endpoint, root: Path
) -> None:
    right, wrong = "Everybody gets 25 days of annual leave a year [1].", "A taxi is claimed on form T-7 [1]."
    endpoint.decide = saying = Saying({"days of annual leave": [right, wrong], "hotel": ["So [1].", "Thus [1]."]})
    first = ledger(root).result(())
    once = dict(saying.asked)
    found = ledger(root).attempt("mended")
    assert all(saying.asked[prompt] == 2 for prompt in once)  # nothing was taken from the replies that are kept
    assert (found.planned["flips"], found.planned["asked_twice"]) == (1, 6)  # the hotel is wrong in either wording
    assert found.planned["detectable"] == detectable(6, BROKEN_EXPECTED + 1 / 12, 0.025)
    assert "1 of 6 questions came out differently when the same system was asked twice" in told(found)
    assert found.before.run.id == first.run.id  # the second asking measures nothing else
    calls = len(endpoint.calls)
    more = ledger(root).attempt("more")
    again = [call for call in endpoint.calls[calls:] if kind_of(call) == "answer"]
    assert more.planned["flips"] == 1 and all("130 euros" in call["messages"][0]["content"] for call in again)
    lines = ledger(root).path.read_bytes()
    assert [t.planned["flips"] for t in ledger(root).attempt_all()] == [1, 1] and ledger(
        root
    ).path.read_bytes() == lines


def test_where_nobody_grades_another_text_counts_and_it_is_said_to_be_an_upper_limit(
    endpoint: Endpoint, root: Path
) -> None:
    settings = root / "data" / "tiny" / "pilot.toml"
    settings.write_text(settings.read_text("utf-8") + '[judge]\nkind = "none"\n', "utf-8")
    endpoint.decide = Saying({"hotel": ["So [1].", "Thus [1]."], "dogs": ["Yes [1].", "Yes, they do [1]."]})
    found = ledger(root).attempt("mended")
    assert (found.planned["flips"], found.planned["flips_ungraded"]) == (1, 1)  # a rule grades the unanswerable one
    assert "of 1 of them only the text is known to differ" in told(found)


def test_the_dry_run_counts_the_second_asking_until_it_is_done(endpoint: Endpoint, root: Path) -> None:
    endpoint.decide = saying = Saying()
    before = ledger(root).dry_run()
    second = sum(c.asked for c in before.calls if c.again and c.what == "answer")
    once = sum(c.asked for c in before.calls if not c.again and c.what == "answer")
    assert second == once > 0 and before.money == sum(c.money for c in before.calls)
    shown = BeautifulSoup(tables.dry_run(before, ledger(root).pilot.settings), "html.parser").get_text(" ")
    assert "Answering (m), the second time" in shown and "is not part of this run" in shown
    ledger(root).result(())
    assert saying.asked.total() == once
    assert sum(c.asked for c in ledger(root).dry_run(()).calls if c.what == "answer") == second
    ledger(root).attempt_all()
    assert ledger(root).dry_run(()).asked == 0


def test_a_second_asking_that_was_stopped_goes_on_where_it_stopped(endpoint: Endpoint, root: Path) -> None:
    endpoint.decide = saying = Saying()
    ledger(root).result(())
    once = saying.asked.total()
    saying.stops_at = once + 3
    with pytest.raises(RunStoppedError):
        ledger(root).attempt("mended")
    assert saying.asked.total() == once + 2 and ledger(root).lines() == []
    saying.stops_at = 0
    found = ledger(root).attempt("mended")
    assert found.planned["asked_twice"] == 6 and max(saying.asked.values()) == 2


def test_the_second_asking_is_never_the_latest_run(root, endpoint):
    endpoint.decide = Saying()
    first = ledger(root).attempt("mended")
    pilot = ledger(root).pilot
    again = next(path for path in (pilot.results / "runs").glob("*-baseline-again-*/run.json"))
    os.utime(again, (2e9, 2e9))
    assert stored_result(pilot).run.id == first.after.run.id
