import hashlib
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from endpoint import KEY, Endpoint, Step
from tiny import tiny_pilot

from rag_pilot.analysis.latency import stage_times
from rag_pilot.answering.calls import connect
from rag_pilot.answering.endpoints import EmbeddingModel, RerankingModel
from rag_pilot.building import Variant
from rag_pilot.compared import ablations
from rag_pilot.errors import ModelError, RunStoppedError, SettingsError
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.reporting.tables import answers
from rag_pilot.retrieval.replies import Replies
from rag_pilot.settings import EmbeddingTable, RerankTable


def vector(text: str) -> list[float]:
    """A vector of a text's words: texts that share some are alike."""
    made = np.zeros(64)
    for word in text.casefold().replace(".", " ").replace("?", " ").split():
        made[hashlib.sha256(word.encode()).digest()[0] % 64] += 3
    return [float(n) for n in made]


def embedded(sent: dict[str, Any]) -> Step:
    """What an endpoint says to /embeddings, its rows in no order."""
    rows = [{"object": "embedding", "index": n, "embedding": vector(t)} for n, t in enumerate(sent["input"])]
    random.Random(len(rows)).shuffle(rows)
    return 200, {"object": "list", "model": "embed-1", "data": rows, "usage": {"prompt_tokens": 3}}, {}


def longest_first(sent: dict[str, Any]) -> Step:
    """What an endpoint says to /rerank: a text is the better the longer it is."""
    rows = [{"index": n, "relevance_score": len(text)} for n, text in enumerate(sent["documents"])]
    return 200, {"results": sorted(rows, key=lambda row: -row["relevance_score"])}, {}


def table(kind: Callable[..., Any], endpoint: Endpoint, **more: Any) -> Any:
    given = {"kind": "model", "model": "m-1", "base_url": endpoint.url, "key_variable": "PILOT_TEST_KEY"}
    return kind(**{**given, "timeout": 5.0, "retry_seconds": 0.01, **more})


def pilot_with(root: Path, endpoint: Endpoint, name: str, method: str, **more: Any) -> Pilot:
    """The tiny pilot with a model of this endpoint in the table `name`."""
    path = root / "data" / "tiny" / "pilot.toml"
    if not path.exists():
        tiny_pilot(root)
    given = {"kind": "model", "model": "m-1", "base_url": endpoint.url, "key_variable": "PILOT_TEST_KEY", **more}
    lines = "".join(f"{key} = {json.dumps(value)}\n" for key, value in given.items())
    before = path.read_text().partition("\n[embedding]")[0].partition("\n[rerank]")[0].rstrip()
    before = before.replace('"keyword"', json.dumps(method))
    path.write_text(f"{before}\n\n[{name}]\nretry_seconds = 0.01\n{lines}")
    return Pilot.open("tiny", root)


# -- vectors -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("batch", "threads"), [(1, 1), (3, 4), (100, 4)])
def test_vectors_are_of_length_one_and_in_the_order_of_the_texts_however_they_are_asked_for(
    endpoint: Endpoint, batch: int, threads: int
) -> None:
    endpoint.decide = embedded
    texts = [f"text {n}" for n in range(10)]
    found = EmbeddingModel(table(EmbeddingTable, endpoint, batch=batch, concurrency=threads))(texts)
    expected = np.array([vector(text) for text in texts])
    np.testing.assert_allclose(found, expected / np.linalg.norm(expected, axis=1, keepdims=True), rtol=1e-6)
    assert [len(call["input"]) for call in endpoint.calls].count(batch) >= 10 // batch
    assert {(c["path"], c["model"], c["key"]) for c in endpoint.calls} == {("/v1/embeddings", "m-1", f"Bearer {KEY}")}
    assert "dimensions" not in endpoint.calls[0]


def test_another_dimension_is_asked_for_where_one_is_set(endpoint: Endpoint) -> None:
    endpoint.decide = embedded
    EmbeddingModel(table(EmbeddingTable, endpoint, dimensions=64))(["a"])
    assert endpoint.calls[0]["dimensions"] == 64


def rows(*vectors: Any) -> dict[str, Any]:
    return {"data": [{"index": n, "embedding": v} for n, v in enumerate(vectors)]}


BROKEN = [
    rows([1.0, 0.0]),
    rows([1.0, 0.0], [0.0, 1.0], [1.0, 1.0]),
    rows([1.0, 0.0], [1.0]),
    rows([1.0, 0.0], [0.0, 0.0]),
    rows([1.0, 0.0], [None, 1.0]),
    rows([1.0, 0.0], "half"),
    rows([], []),
    rows(1.0, 2.0),
    {"data": [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}]},
    {"data": None},
    {},
    "<html>",
]


@pytest.mark.parametrize("body", BROKEN, ids=str)
def test_a_reply_that_is_not_a_vector_for_each_text_is_an_error(endpoint: Endpoint, body: Any) -> None:
    endpoint.gives(body)
    with pytest.raises(ModelError):
        EmbeddingModel(table(EmbeddingTable, endpoint, retries=0))(["one", "two"])


def test_what_a_second_call_mends_is_asked_again_and_a_refused_key_ends_it(endpoint: Endpoint) -> None:
    fine = embedded({"input": ["one"]})
    busy: Step = (429, {"error": {"message": "slow down"}}, {"retry-after": "0"})
    endpoint.steps = [busy, (500, {}, {}), (0, "", {}), fine]
    assert EmbeddingModel(table(EmbeddingTable, endpoint))(["one"]).shape == (1, 64)
    endpoint.gives({"error": {"message": f"bad key {KEY}"}}, 401)
    with pytest.raises(RunStoppedError, match=r"bad key \*\*\*.*PILOT_TEST_KEY"):
        EmbeddingModel(table(EmbeddingTable, endpoint))(["one"])


def test_a_pilot_is_embedded_at_its_address_once_and_asked_with_the_same_model(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.decide = embedded
    more = {"query_prefix": "q: ", "passage_prefix": "p: ", "batch": 2}
    pilot = pilot_with(tmp_path, endpoint, "embedding", "dense", **more)
    hits = pilot.search("annual leave a year", ["all-staff"])
    assert hits[0].doc == "leave" and hits[0].similarity > 0.3
    asked = [text for call in endpoint.calls for text in call["input"]]
    assert all(text.startswith("p: ") for text in asked[:-1]) and asked[-1] == "q: annual leave a year"
    before = len(endpoint.calls)
    again = pilot_with(tmp_path, endpoint, "embedding", "dense", **more)
    assert [h.passage.id for h in again.search("annual leave a year", ["all-staff"])] == [h.passage.id for h in hits]
    assert len(endpoint.calls) == before
    assert again.build().manifest.model == "m-1"


@pytest.mark.parametrize("change", [{"revision": "2"}, {"dimensions": 64}, {"model": "m-2"}, {"passage_prefix": "p:"}])
def test_another_model_behind_the_address_is_another_index(endpoint: Endpoint, tmp_path: Path, change: Any) -> None:
    endpoint.decide = embedded
    first = pilot_with(tmp_path, endpoint, "embedding", "dense").build()
    before = len(endpoint.calls)
    other = pilot_with(tmp_path, endpoint, "embedding", "dense", **change).build()
    assert first.manifest.fingerprint != other.manifest.fingerprint
    assert len(endpoint.calls) > before


def test_a_build_that_was_stopped_asks_only_for_the_rest(endpoint: Endpoint, tmp_path: Path) -> None:
    more = {"batch": 1, "concurrency": 1}

    def two_then_refused(sent: dict[str, Any]) -> Step:
        return embedded(sent) if len(endpoint.calls) <= 2 else (401, {"error": {"message": "no"}}, {})

    endpoint.decide = two_then_refused
    with pytest.raises(RunStoppedError, match="no"):
        pilot_with(tmp_path, endpoint, "embedding", "dense", **more).build()
    assert not (tmp_path / "results" / "tiny" / "index").exists()
    done = [call["input"][0] for call in endpoint.calls[:2]]
    endpoint.calls.clear()
    endpoint.decide = embedded
    assert pilot_with(tmp_path, endpoint, "embedding", "dense", **more).build().state == "rebuilt"
    asked = [call["input"][0] for call in endpoint.calls]
    assert asked and not set(asked) & set(done)


def test_a_batch_that_is_refused_loses_none_of_the_others(endpoint: Endpoint, tmp_path: Path) -> None:
    more = {"batch": 1, "concurrency": 3}
    endpoint.wait = 0.1  # so that all three are under way at once

    def first_fails(sent: dict[str, Any]) -> Step:
        return embedded(sent) if len(endpoint.calls) != 1 else (400, {"error": {"message": "odd text"}}, {})

    endpoint.decide = first_fails
    with pytest.raises(ModelError, match="odd text"):
        pilot_with(tmp_path, endpoint, "embedding", "dense", **more).build()
    sent = [call["input"][0] for call in endpoint.calls]
    assert len(sent) == 3
    endpoint.calls.clear()
    endpoint.decide = embedded
    pilot_with(tmp_path, endpoint, "embedding", "dense", **more).build()
    asked = [call["input"][0] for call in endpoint.calls]
    assert asked == sent[:1]


# -- scores ------------------------------------------------------------------------------------------------------------


def test_scores_are_those_of_the_texts_in_any_order_and_are_not_asked_for_twice(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.decide = longest_first
    for kept in (False, True):
        ranker = RerankingModel(table(RerankTable, endpoint), Replies(tmp_path / "rerank.sqlite", {"model": "m-1"}))
        scores = ranker("how long?", ["two", "one more", "x"])
        assert (scores, scores.reused) == ([3.0, 8.0, 1.0], kept)
    (call,) = endpoint.calls
    assert (call["path"], call["query"], call["top_n"]) == ("/v1/rerank", "how long?", 3)


@pytest.mark.parametrize(
    "found",
    [
        [{"index": 0, "relevance_score": 1.0}],
        [{"index": 0, "relevance_score": 1.0}, {"index": 0, "relevance_score": 1.0}],
        [{"index": 0, "relevance_score": 1.0}, {"index": 1, "relevance_score": "high"}],
        [{"index": 0, "relevance_score": 1.0}, {"index": 1}],
        None,
    ],
    ids=str,
)
def test_a_reply_that_is_not_a_score_for_each_text_is_an_error_and_not_kept(
    endpoint: Endpoint, tmp_path: Path, found: Any
) -> None:
    endpoint.gives({"results": found})
    ranker = RerankingModel(table(RerankTable, endpoint), Replies(tmp_path / "rerank.sqlite", {}))
    with pytest.raises(ModelError):
        ranker("how long?", ["one", "two"])
    endpoint.decide = longest_first
    assert ranker("how long?", ["one", "three"]) == [3.0, 5.0]


def test_a_pilot_reranks_at_its_address_what_the_asker_may_open_and_shows_what_it_does(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.decide = longest_first
    pilot = pilot_with(tmp_path, endpoint, "rerank", "keyword")
    question = "annual taxi hotel leave band"
    hits = pilot.search(question, ["all-staff"])
    sizes = [len(h.passage.text) for h in hits]
    assert len(hits) == 2 and sizes == sorted(sizes, reverse=True)
    assert not any("91,500" in text for call in endpoint.calls for text in call["documents"])
    pilot.lock_acceptance()
    _, found = ablations(pilot)
    assert "rerank.kind" in [row.setting for row in found]


def test_scores_that_were_kept_are_no_time_that_was_waited_for_now(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = longest_first
    pilot = pilot_with(tmp_path, endpoint, "rerank", "keyword")
    pilot.lock_acceptance()
    first = pilot.run().info["seconds"]
    assert first["rerank"]["measured"] == len(endpoint.calls) > 0
    count = len(endpoint.calls)
    another = Variant(pilot.settings.changed({"answer.sentences": 1}))
    again = pilot.run("again", another)
    assert len(endpoint.calls) == count
    assert again.info["seconds"]["rerank"]["measured"] == 0
    times = {t.stage: t for t in stage_times(again.answers.values(), {})}
    assert (times["rerank"].n, times["rerank"].kept, times["rerank"].p50) == (0, count, None)
    assert times["total"].kept == count


def test_a_budget_is_not_kept_where_the_embedding_of_the_question_was_not_measured(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    endpoint.decide = embedded
    pilot = pilot_with(tmp_path, endpoint, "embedding", "dense")
    pilot.lock_acceptance()
    result = Ledger(pilot).result(())
    result.settings.budgets.update(retrieve=9.0, generate=9.0, total=9.0)
    result.run.answers.update(
        {f"{n}": replace(a, question_id=f"{n}") for a in list(result.run.answers.values()) for n in range(20)}
    )
    within = {t.stage: t.within for t in result.stage_times()}
    assert (within["retrieve"], within["generate"], within["total"]) == (None, True, None)
    assert "whether they are within their budgets is not measured" in str(answers.run(result))


def test_a_narrower_window_is_another_index(endpoint: Endpoint, tmp_path: Path) -> None:
    endpoint.decide = embedded
    wide = pilot_with(tmp_path, endpoint, "embedding", "dense").build()
    narrow = pilot_with(tmp_path, endpoint, "embedding", "dense", window=16).build()
    assert narrow.state == "rebuilt" and narrow.manifest.fingerprint != wide.manifest.fingerprint


def test_a_build_that_is_refused_asks_nothing_more_and_tells_the_cause(endpoint: Endpoint) -> None:
    refused: Step = (401, {"error": {"message": "no"}}, {})
    busy: Step = (429, {"error": {"message": "slow down"}}, {"retry-after": "50"})
    endpoint.decide = lambda sent: refused if sent["input"] == ["last"] else busy
    endpoint.wait = 0.1
    with pytest.raises(RunStoppedError, match="check the key"):
        EmbeddingModel(table(EmbeddingTable, endpoint, batch=1, concurrency=2))(["a", "last", *"bcdefgh"])
    assert len(endpoint.calls) <= 4


@pytest.mark.parametrize("name", ["embedding", "rerank", "judge", "rewrite"])
def test_no_table_may_hold_a_password(endpoint: Endpoint, tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingsError, match=rf"{name}\.base_url holds a user or password"):
        pilot_with(tmp_path, endpoint, name, "keyword", base_url="http://bob:pw@127.0.0.1/v1")


def test_a_planned_change_may_not_hold_one_either(tmp_path: Path) -> None:
    path = tiny_pilot(tmp_path).data / "pilot.toml"
    change = '\n[[change]]\nname = "x"\ncause = "not_retrieved"\nhypothesis = "h"\nmeasure = "hit5"\n'
    path.write_text(path.read_text() + change + 'set = { "answer.base_url" = "http://bob:pw@127.0.0.1/v1" }\n')
    with pytest.raises(SettingsError, match="user or password"):
        Pilot.open("tiny", tmp_path)


def test_an_empty_address_is_openais_own_whatever_the_environment_says(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    client, _ = connect("", "PILOT_TEST_KEY", 5.0, "answer")
    assert client.base_url.host == "api.openai.com"
