import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from endpoint import KEY, Endpoint, Step, completion
from tiny import tiny_pilot

from rag_pilot.answering.start import CODE, check_model
from rag_pilot.errors import ModelError, RunStoppedError
from rag_pilot.pilot import Pilot

NO_PATH = (404, {"error": {"message": "Not Found"}}, {})


def reads(most: int = 10**6, tells: bool = True, says: str = "") -> Callable[[dict[str, Any]], Step]:
    """A server that reads the last so many words of a prompt and repeats the code word where it is among them."""

    def decide(sent: dict[str, Any]) -> Step:
        text = sent["messages"][0]["content"].split()
        seen = text[-most:]
        found = [word.strip(".") for word in seen if word.startswith("amber-")]
        counted = (len(seen), 9) if tells else (0, 0)
        return 200, completion(says or (f"It is {found[0]}." if found else "Which code word?"), tokens=counted), {}

    return decide


def test_a_model_that_gives_the_code_word_back_is_ready_after_one_call_of_full_size(endpoint: Endpoint) -> None:
    endpoint.decide = reads()
    assert check_model(endpoint.table(), tokens=2500) == "tiny-2026-01"
    (call,) = endpoint.calls
    words = call["messages"][0]["content"].split()
    assert 2500 <= len(words) <= 2530
    assert CODE in " ".join(words[:8])
    assert CODE not in " ".join(words[8:])


@pytest.mark.parametrize("most", [1024, 1500, 2048])
def test_a_context_that_is_too_small_is_named(endpoint: Endpoint, most: int) -> None:
    endpoint.decide = reads(most)
    with pytest.raises(RunStoppedError, match=rf"\[answer\] tiny: the server reads {most:,} tokens .*context"):
        check_model(endpoint.table(), tokens=3000)


def test_it_is_found_too_where_the_server_counts_no_tokens(endpoint: Endpoint) -> None:
    endpoint.decide = reads(2048, tells=False)
    with pytest.raises(RunStoppedError, match="did not come back .*'Which code word.'.*context is smaller"):
        check_model(endpoint.table(), tokens=3000)


WRONG: list[tuple[dict[str, Any], Step, str]] = [
    ({}, (401, {"error": {"message": "Incorrect API key"}}, {}), "Incorrect API key.*check the key .* PILOT_TEST_KEY"),
    ({}, (403, {"error": {"message": "not allowed"}}, {}), "not allowed.*check the key .* PILOT_TEST_KEY"),
    ({}, (404, {"error": {"message": "no such deployment"}}, {}), "no such deployment.*'tiny' .on Azure .* deployment"),
    ({}, (429, {"error": {"message": "no money", "code": "insufficient_quota"}}, {}), "no money.*account"),
    ({}, (200, b"<html>Sign in</html>", {}), "Sign in.*expected a chat completion; check base_url"),
    ({}, (200, completion("", "length", tokens=(0, 0)), {}), "raise max_tokens"),
]


@pytest.mark.parametrize(("table", "step", "sentence"), WRONG)
def test_one_sentence_says_what_is_wrong(endpoint: Endpoint, table: Any, step: Step, sentence: str) -> None:
    endpoint.decide = lambda _: step
    with pytest.raises(RunStoppedError, match=sentence) as fault:
        check_model(endpoint.table(**table), table="judge")
    assert str(fault.value).startswith("[judge] ")
    assert "\n" not in str(fault.value)
    assert KEY not in str(fault.value)
    assert len(endpoint.calls) == 1


@pytest.mark.parametrize(
    ("ending", "sentence"),
    [
        ("/v1/chat/completions", "base_url must end before /chat/completions"),
        ("/v1/chat/completions/", "base_url must end before /chat/completions"),
        ("", "most servers want /v1 at its end"),
        ("/", "most servers want /v1 at its end"),
    ],
)
def test_an_address_that_ends_wrongly_is_told_from_an_unknown_model(
    endpoint: Endpoint, ending: str, sentence: str
) -> None:
    endpoint.decide = lambda _: reads()(_) if endpoint.calls[-1]["path"] == "/v1/chat/completions" else NO_PATH
    with pytest.raises(RunStoppedError, match=sentence):
        check_model(endpoint.table(base_url=endpoint.url.removesuffix("/v1") + ending))
    assert check_model(endpoint.table())


def test_a_server_that_is_not_there_or_a_missing_key_is_said(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(RunStoppedError, match=r"is a server running at http://127\.0\.0\.1:9/v1\?"):
        check_model(endpoint.table(base_url="http://127.0.0.1:9/v1"))
    monkeypatch.delenv("PILOT_TEST_KEY")
    with pytest.raises(RunStoppedError, match="set the environment variable PILOT_TEST_KEY"):
        check_model(endpoint.table(base_url=""))


# -- in a pilot --------------------------------------------------------------------------------------------------------


def pilot_with(endpoint: Endpoint, root: Path, judge: bool = False, **more: Any) -> Pilot:
    pilot = tiny_pilot(root)
    table = {"base_url": endpoint.url, "model": "tiny", "key_variable": "PILOT_TEST_KEY", "retry_seconds": 0.01, **more}
    lines = "kind = 'model'\n" + "".join(f"{name} = {json.dumps(value)}\n" for name, value in table.items())
    path = pilot.data / "pilot.toml"
    told = path.read_text().replace("[answer]\n", f"[answer]\n{lines}")
    path.write_text(told + (f"[judge]\n{lines}" if judge else ""))
    pilot = Pilot.open("tiny", root)
    pilot.lock_acceptance()
    return pilot


def helpful(sent: dict[str, Any]) -> Step:
    """A server that passes the check, answers, and judges."""
    text = sent["messages"][0]["content"]
    if CODE in text:
        return reads()(sent)
    said = '{"reason": "same", "label": "correct"}' if "Expected answer" in text else "It is so [1]."
    return 200, completion(said, tokens=(len(text.split()), 9)), {}


def test_a_new_run_begins_with_the_check_and_one_that_exists_calls_nobody(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = helpful
    run = pilot_with(endpoint, tmp_path, judge=True).run()
    prompts = [call["messages"][0]["content"] for call in endpoint.calls]
    assert [CODE in prompt for prompt in prompts] == [True, True, *[False] * (len(prompts) - 2)]
    assert len(prompts[0].split()) >= 5 * 400
    asked = sum(a.model != "" for a in run.answers.values())
    told = run.info["replies"]["answers"]
    assert (told["reused"], told["new"]) == (0, asked)
    assert run.info["models"] == ["tiny-2026-01"]
    assert run.info["config"]["answer"]["model"] == "tiny"
    before = len(endpoint.calls)
    again = Pilot.open("tiny", tmp_path).run()
    assert (len(endpoint.calls), again.id) == (before, run.id)
    assert [v.label for v in again.verdicts.values()] == [v.label for v in run.verdicts.values()]


def test_a_run_whose_check_fails_asks_nothing_and_writes_nothing(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = reads(1000)
    pilot = pilot_with(endpoint, tmp_path)
    with pytest.raises(RunStoppedError, match="context is too small"):
        pilot.run()
    assert not list((pilot.results / "runs").glob("*"))
    endpoint.decide = helpful
    assert pilot.run().info["complete"]


def test_a_run_goes_on_where_only_how_the_model_is_called_was_changed(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = helpful
    first = pilot_with(endpoint, tmp_path).run()
    before, path = len(endpoint.calls), tmp_path / "data" / "tiny" / "pilot.toml"
    path.write_text(path.read_text().replace("[answer]\n", "[answer]\nconcurrency = 2\nrequests_per_minute = 900\n"))
    assert (Pilot.open("tiny", tmp_path).run().id, len(endpoint.calls)) == (first.id, before)
    path.write_text(path.read_text().replace("[answer]\n", "[answer]\nrepeat = 2\n"))
    again = Pilot.open("tiny", tmp_path).run()
    assert again.id != first.id
    assert again.info["replies"]["answers"] == first.info["replies"]["answers"]


def test_checking_a_pilots_files_calls_no_model(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = helpful
    pilot = pilot_with(endpoint, tmp_path, judge=True)
    pilot.check()
    pilot.inventory()
    assert endpoint.calls == []


def test_a_model_error_is_no_run_stop() -> None:
    assert issubclass(RunStoppedError, ModelError)
