"""What a run would call and cost, held against what it then really calls."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup
from endpoint import Endpoint, Step, completion, kind_of
from tiny import tiny_pilot

from rag_pilot.__main__ import main
from rag_pilot.answering.start import CODE
from rag_pilot.building import Variant
from rag_pilot.errors import RunStoppedError
from rag_pilot.forecast import Calls, Forecast, forecast
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reporting import tables

ALL = ("rewrite", "answer", "judge")


def helpful(sent: dict[str, Any]) -> Step:
    """Gives the code word back, leaves questions as they are, answers, and grades."""
    text, kind = sent["messages"][0]["content"], kind_of(sent)
    said = {
        "check": f"{CODE}",
        "rewrite": text.splitlines()[-1],
        "answer": "It is so [1].",
        "judge": '{"reason": "same", "label": "correct"}',
    }[kind]
    return 200, completion(said, tokens=(len(text) // 3, 30)), {}


def pilot_with(endpoint: Endpoint, root: Path, *who: str) -> Pilot:
    if not (root / "data").exists():
        tiny_pilot(root)
    path = root / "data" / "tiny" / "pilot.toml"
    plain = path.read_text(encoding="utf-8")
    for name in who:
        lines = f'kind = "model"\nmodel = "{name}-model"\nbase_url = "{endpoint.url}"\n'
        lines += 'key_variable = "PILOT_TEST_KEY"\nretry_seconds = 0.01\n'
        plain = plain.replace("[answer]\n", f"[answer]\n{lines}") if name == "answer" else f"{plain}[{name}]\n{lines}"
    path.write_text(plain, encoding="utf-8")
    pilot = Pilot.open("tiny", root)
    pilot.lock_acceptance()
    return pilot


def by_kind(endpoint: Endpoint) -> tuple[Counter[str], Counter[str]]:
    """Calls, and tokens of their prompts by the rule that is named: one for every four letters."""
    asked, tokens = Counter[str](), Counter[str]()
    for call in endpoint.calls:
        asked[kind_of(call)] += 1
        tokens[kind_of(call)] += len(call["messages"][0]["content"]) // 4 + 1
    return asked, tokens


def rows(found: Forecast) -> dict[str, Calls]:
    return {c.what: c for c in found.calls if c.what != "check"}


def text_of(found: Forecast, pilot: Pilot) -> str:
    return BeautifulSoup(tables.dry_run(found, pilot.settings), "html.parser").get_text(" ")


def test_a_pilot_without_a_model_makes_no_call_and_says_so_and_nothing_is_built(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    found = Ledger(pilot).dry_run()
    assert (found.asked, found.calls, found.money) == (0, (), 0)
    told = text_of(found, pilot)
    assert "No model is called" in told and "0 calls, the extractive answerer asks no model" in told
    assert "0 calls, the offline judge asks no model" in told
    assert not pilot.results.exists()


def test_what_is_foretold_is_what_the_run_then_asks_and_nothing_is_asked_before(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.decide = helpful
    pilot = pilot_with(endpoint, tmp_path, *ALL)
    found = Ledger(pilot).dry_run()
    assert endpoint.calls == [] and not (pilot.results / "runs").exists()
    assert not list((pilot.results).rglob("*.sqlite"))
    run = Ledger(pilot).result().run
    asked, tokens = by_kind(endpoint)
    told = rows(found)
    assert asked["check"] == sum(c.asked for c in found.calls if c.what == "check") == 2
    assert tokens["check"] == sum(c.tokens_in for c in found.calls if c.what == "check")
    for who in ("rewrite", "answer"):
        assert (told[who].asked, told[who].kept, told[who].tokens_in) == (asked[who], 0, tokens[who]), who
    assert told["rewrite"].asked == 6
    assert told["judge"].asked >= asked["judge"] == 4  # at most all that can be answered
    assert (found.unknown, found.ungraded) == (6, told["judge"].asked)
    assert (told["answer"].tokens_out, told["answer"].replies) == (600 * told["answer"].asked, 0)  # the upper limit
    money = told["answer"].tokens_in * 5 + told["answer"].tokens_out * 5
    assert told["answer"].money == pytest.approx(money / 1e6)
    assert found.money == pytest.approx(sum((c.tokens_in + c.tokens_out) * 5 for c in found.calls) / 1e6)
    before = len(endpoint.calls)
    after = Ledger(pilot).dry_run()
    assert (after.run, after.asked, after.money, len(endpoint.calls)) == (run.id, 0, 0, before)
    assert rows(after)["judge"].kept == asked["judge"]
    assert f"The run {run.id} is complete" in text_of(after, pilot)


def test_of_answers_that_are_known_the_judges_calls_are_exact_and_replies_as_long_as_before(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    def declining(sent: dict[str, Any]) -> Step:
        asked = sent["messages"][0]["content"].rpartition("Question: ")[2]
        none = kind_of(sent) == "answer" and "taxi" in asked
        return (200, completion("NOT_FOUND", tokens=(9, 30)), {}) if none else helpful(sent)

    endpoint.decide = declining
    pilot = pilot_with(endpoint, tmp_path, "answer", "judge")
    assert pilot.run().info["declined"] == 1
    stricter = Variant(pilot.settings.changed({"judge.temperature": 0.5}))
    longer = Variant(pilot.settings.changed({"answer.max_tokens": 601}))
    foretold, more = forecast(pilot, stricter), forecast(pilot, longer)
    endpoint.calls.clear()
    pilot.run("stricter", stricter)
    asked, tokens = by_kind(endpoint)
    (judge,) = (c for c in foretold.calls if c.asked)
    assert judge.asked == 3  # of four questions that can be answered one was declined
    assert (judge.asked, judge.tokens_in, foretold.ungraded) == (asked["judge"], tokens["judge"], 0)
    assert (judge.tokens_out, judge.replies) == (30 * judge.asked, asked["judge"])
    answers = rows(more)["answer"]
    assert (answers.kept, answers.tokens_out) == (0, 30 * answers.asked)
    assert "the mean of earlier runs by the same model" in text_of(more, pilot)
    other = Variant(pilot.settings.changed({"answer.model": "another"}))
    assert rows(forecast(pilot, other))["answer"].replies == 0


def test_a_run_that_stopped_pays_for_the_rest_only(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused: Step = (401, {"error": {"message": "bad key"}}, {})
    seen: list[str] = []

    def decide(sent: dict[str, Any]) -> Step:
        seen.append(kind_of(sent))
        return refused if seen.count("answer") > 3 else helpful(sent)

    endpoint.decide = decide
    pilot = pilot_with(endpoint, tmp_path, "answer")
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text().replace("[answer]\n", "[answer]\nconcurrency = 1\n"))
    pilot = Pilot.open("tiny", tmp_path)
    whole = rows(forecast(pilot))["answer"].asked
    with pytest.raises(RunStoppedError, match="stops with"):
        pilot.run()
    monkeypatch.delenv("PILOT_TEST_KEY")
    monkeypatch.setattr(endpoint, "decide", lambda sent: pytest.fail("asked"))
    found = rows(forecast(Pilot.open("tiny", tmp_path)))
    assert (found["answer"].kept, found["answer"].asked) == (3, whole - 3)
    assert "check" not in [calls.what for calls in forecast(Pilot.open("tiny", tmp_path)).calls]


def test_a_run_that_was_begun_on_another_day_goes_on_in_its_folder(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = lambda sent: helpful(sent) if kind_of(sent) == "check" else (401, {"error": {}}, {})
    pilot = pilot_with(endpoint, tmp_path, "answer")
    with pytest.raises(RunStoppedError, match="stops with"):
        pilot.run()
    (begun,) = (tmp_path / "results" / "tiny" / "runs").iterdir()
    earlier = begun.rename(begun.with_name(f"2026-01-31{begun.name[10:]}"))
    endpoint.decide = helpful
    endpoint.calls.clear()
    run = Pilot.open("tiny", tmp_path).run()
    assert (run.folder, run.info["complete"]) == (earlier, True)
    assert list(earlier.parent.iterdir()) == [earlier]
    assert "check" not in map(kind_of, endpoint.calls)


def test_a_model_judge_beside_the_extractive_answerer_is_foretold_exactly(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = helpful
    pilot = pilot_with(endpoint, tmp_path, "judge")
    found = forecast(pilot)
    pilot.run()
    asked, tokens = by_kind(endpoint)
    judge = rows(found)["judge"]
    assert (judge.asked, judge.tokens_in, found.ungraded) == (asked["judge"], tokens["judge"], 0)
    assert "the extractive answerer asks no model" in text_of(found, pilot)


def test_what_is_estimated_is_named_and_how_and_what_has_no_price_of_its_own(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    pilot = pilot_with(endpoint, tmp_path, *ALL)
    told = text_of(forecast(pilot), pilot)
    for words in (
        "a token for every four letters",
        "Tokens out not measured for check before the run, rewriting questions, answering, grading",
        "its upper limit, max_tokens",
        "6 questions not rewritten yet",
        "because a decline is not graded",
        "No price of its own for rewriting questions in [cost]",
        "No price of its own for grading in [cost]",
        "5 and 5 USD a million",
        "rewrite-model",
    ):
        assert words in " ".join(told.split()), words
    priced = pilot.settings.changed({"cost.rewrite_input_per_million": 0.0, "cost.rewrite_output_per_million": 0.0})
    free = forecast(pilot, Variant(priced))
    assert rows(free)["rewrite"].money == 0 < rows(free)["answer"].money
    assert "No price of its own for rewriting" not in str(tables.dry_run(free, priced))


def test_the_command_tells_and_asks_nobody_and_needs_no_key(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    endpoint.decide = lambda sent: pytest.fail("asked")
    pilot_with(endpoint, tmp_path, "answer")
    monkeypatch.delenv("PILOT_TEST_KEY")
    monkeypatch.chdir(tmp_path)
    assert main(["run", "tiny", "--dry-run"]) == 0
    told = capsys.readouterr().out
    assert "calls, about" in told and "Answering (answer-model)" in told and "Kept, free" in told
    assert not (tmp_path / "results" / "tiny" / "runs").exists() and endpoint.calls == []


def test_an_earlier_run_that_tells_no_tokens_is_no_measure(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = lambda _: (200, completion(f"{CODE}: yes [1].", tokens=(0, 0)), {})
    pilot = pilot_with(endpoint, tmp_path, "answer")
    run = pilot.run()
    assert json.loads((run.folder / "run.json").read_text())["replies"]["answers"]["tokens_out"] == 0
    other = Variant(pilot.settings.changed({"answer.repeat": 2}))
    assert rows(forecast(pilot, other))["answer"].replies == 0


def test_what_cannot_be_told_without_a_call_is_not_measured_and_nobody_is_called(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    pilot = pilot_with(endpoint, tmp_path, "answer", "embedding")
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text().replace('method = "keyword"', 'method = "hybrid"'))
    found = forecast(Pilot.open("tiny", tmp_path))
    shown = repr(tables.dry_run(found, pilot.settings))
    assert (endpoint.calls, found.calls) == ([], ())
    assert shown.startswith("Not measured") and "embedding-model" in shown


def test_a_reranker_and_scores_by_a_model_are_told_and_not_called(endpoint: Endpoint, tmp_path: Path) -> None:
    pilot = pilot_with(endpoint, tmp_path, "answer", "judge", "rerank")
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text().replace('model = "judge-model"', 'model = "judge-model"\nscores = "model"'))
    found = forecast(Pilot.open("tiny", tmp_path))
    assert endpoint.calls == [] and [c.what for c in found.calls] == ["check", "check", "answer", "judge"]
    shown = repr(tables.dry_run(found, pilot.settings))
    assert "rerank-model): at most 6 calls" in shown and "at most 36 calls" in shown


def test_what_failed_for_good_in_a_run_that_was_begun_is_foretold_as_little_as_it_is_asked(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    def decide(sent: dict[str, Any]) -> Step:
        if kind_of(sent) == "answer" and "leave a year" in sent["messages"][0]["content"].rpartition("Question:")[2]:
            return 200, completion("25", "content_filter"), {}
        if kind_of(sent) == "answer" and "hotel" in sent["messages"][0]["content"].rpartition("Question:")[2]:
            return 400, {"error": {"message": "odd"}}, {}
        return helpful(sent)

    endpoint.decide = decide
    pilot_with(endpoint, tmp_path, "answer")
    for _ in range(2):
        assert not Pilot.open("tiny", tmp_path).run().info["complete"]
    found = rows(forecast(Pilot.open("tiny", tmp_path)))["answer"]
    endpoint.calls.clear()
    Pilot.open("tiny", tmp_path).run()
    assert found.asked == len(endpoint.calls) == 1


def test_another_judge_whose_replies_cannot_be_read_is_asked_once_for_a_run_that_stands(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.decide = helpful
    pilot_with(endpoint, tmp_path, "answer").run()
    endpoint.decide = lambda sent: helpful(sent) if kind_of(sent) != "judge" else (200, completion("hm"), {})
    pilot_with(endpoint, tmp_path, "judge")
    endpoint.calls.clear()
    first = Pilot.open("tiny", tmp_path).run()
    assert len(endpoint.calls) == 2 * sum(v.by != "rule" for v in first.verdicts.values()) > 0
    endpoint.calls.clear()
    assert rows(forecast(Pilot.open("tiny", tmp_path)))["judge"].asked == 0
    assert Pilot.open("tiny", tmp_path).run().verdicts == first.verdicts
    assert endpoint.calls == []


def test_an_unreadable_verdict_is_not_paid_for_again_until_its_expected_answer_is_amended(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    pilot = pilot_with(endpoint, tmp_path, "answer", "judge")
    endpoint.decide = lambda sent: helpful(sent) if kind_of(sent) != "judge" else (200, completion("hm"), {})
    first = pilot.run()
    unreadable = [v for v in first.verdicts.values() if v.by != "rule"]
    assert unreadable and all(v.label is None for v in unreadable)
    endpoint.calls.clear()
    assert rows(forecast(Pilot.open("tiny", tmp_path)))["judge"].asked == 0
    assert Pilot.open("tiny", tmp_path).run().verdicts == first.verdicts
    assert endpoint.calls == []
    path = pilot.data / "questions.jsonl"
    path.write_text(path.read_text().replace("On form T-7.", "Form T-7."))
    assert rows(forecast(Pilot.open("tiny", tmp_path)))["judge"].asked == 1
    Pilot.open("tiny", tmp_path).run()
    assert [kind_of(sent) for sent in endpoint.calls] == ["judge", "judge"]
