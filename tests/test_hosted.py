"""Hosted file search: against a server on this machine that follows the published interface."""

import json
import re
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from tiny import DOCUMENTS, SECRET, tiny_pilot

from rag_pilot.audit import HITS
from rag_pilot.compared import retrievers
from rag_pilot.errors import AccessError, DataError, ModelError
from rag_pilot.evaluation import run_eval
from rag_pilot.hosted import HostedSearch, group_filter
from rag_pilot.pilot import Pilot
from rag_pilot.records import Question
from rag_pilot.reporting import tables
from rag_pilot.settings import HostedTable

KEY = "sk-proj-Kp20-very-secret-0077"

COMPARE = {
    "eq": lambda held, value: held == value,
    "ne": lambda held, value: held != value,
    "gt": lambda held, value: held > value,
    "gte": lambda held, value: held >= value,
    "lt": lambda held, value: held < value,
    "lte": lambda held, value: held <= value,
    "in": lambda held, value: held in value,
    "nin": lambda held, value: held not in value,
}


def passes(condition: Mapping[str, Any], attributes: Mapping[str, Any]) -> bool:
    """The published grammar: a comparison of one attribute, or `and` / `or` over filters."""
    if condition["type"] in ("and", "or"):
        assert set(condition) == {"type", "filters"} and condition["filters"]
        return {"and": all, "or": any}[condition["type"]](passes(f, attributes) for f in condition["filters"])
    assert set(condition) == {"type", "key", "value"} and len(condition["key"]) <= 64
    held = attributes.get(condition["key"])
    return (
        held is not None
        and type(held) is type(condition["value"])
        and COMPARE[condition["type"]](held, condition["value"])
    )


class Store:
    """A vector store `vs_1` of files, ranked by shared words; `broken` is another answer, `filters` may be off."""

    def __init__(self) -> None:
        store = self
        self.files: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = []
        self.broken: tuple[int, bytes] | None = None
        self.filters = True

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = json.loads(self.rfile.read(int(self.headers["content-length"])))
                store.calls.append({"path": self.path, **sent})
                status, body = store.broken or store.answer(self.path, self.headers["authorization"], sent)
                self.send_response(status)
                self.send_header("content-type", "text/html" if body.startswith(b"<") else "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"

    def answer(self, path: str, key: str, sent: dict[str, Any]) -> tuple[int, bytes]:
        if key != f"Bearer {KEY}":
            return 401, json.dumps(
                {"error": {"message": "Incorrect API key provided", "code": "invalid_api_key"}}
            ).encode()
        if path != "/v1/vector_stores/vs_1/search":
            return 404, b'{"error": {"message": "No vector store found"}}'
        unfit = set(sent) - {"query", "filters", "max_num_results", "ranking_options", "rewrite_query"}
        if unfit or not sent["query"] or not 1 <= sent.get("max_num_results", 10) <= 50:
            return 400, json.dumps({"error": {"message": f"invalid: {unfit or sent}"}}).encode()
        asked = set(re.findall(r"\w+", sent["query"].lower()))
        found = []
        for number, file in enumerate(self.files):
            score = len(asked & set(re.findall(r"\w+", file["text"].lower()))) / (1 + len(asked))
            if score and (not self.filters or "filters" not in sent or passes(sent["filters"], file["attributes"])):
                found.append(
                    {
                        "file_id": f"file-{number}",
                        "filename": file["filename"],
                        "score": score,
                        "attributes": file["attributes"],
                        "content": [{"type": "text", "text": file["text"]}],
                    }
                )
        found.sort(key=lambda row: -row["score"])
        most = sent.get("max_num_results", 10)
        page = {
            "object": "vector_store.search_results.page",
            "search_query": [sent["query"]],
            "data": found[:most],
            "has_more": len(found) > most,
            "next_page": None,
        }
        return 200, json.dumps(page).encode()

    def table(self, **more: Any) -> HostedTable:
        return HostedTable(**{"store": "vs_1", "base_url": self.url, "key_variable": "PILOT_TEST_KEY", **more})

    def close(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def file(name: str, text: str, *groups: str, **more: Any) -> dict[str, Any]:
    return {"filename": name, "text": text, "attributes": {**{f"group_{g}": True for g in groups}, **more}}


@pytest.fixture(scope="module")
def server() -> Iterator[Store]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PILOT_TEST_KEY", KEY)
        patch.setenv("NO_PROXY", "127.0.0.1")
        running = Store()
        yield running
        running.close()


@pytest.fixture
def store(server: Store) -> Store:
    server.calls.clear()
    server.broken, server.filters = None, True
    server.files = [
        file("leave.md", "25 days of leave a year", "staff"),
        file("pay.md", "band 7 pays a year", "hr", "board"),
        file("plan.md", "a year of change", "board", doc="board/plan"),
        file("open.md", "a year that nobody marked"),
        file("old.md", "a year that was marked by hand", group_staff="true"),
    ]
    return server


def docs(store: Store, *groups: str, k: int = 5) -> list[str]:
    return [hit.doc for hit in HostedSearch(store.table()).search("how many a year", set(groups), k)]


def test_an_asker_gets_the_files_of_any_of_his_groups_and_no_others(store: Store) -> None:
    assert docs(store, "staff") == ["leave"]
    assert docs(store, "hr") == ["pay"]
    assert set(docs(store, "staff", "board")) == {"leave", "pay", "board/plan"}
    assert docs(store, "nobody") == [] == docs(store, "true")


def test_what_is_sent_is_the_question_a_filter_by_groups_and_the_number_of_results(store: Store) -> None:
    docs(store, "hr", "board", k=3)
    docs(store, "hr")
    path = "/v1/vector_stores/vs_1/search"
    hr, board = ({"type": "eq", "key": f"group_{g}", "value": True} for g in ("hr", "board"))
    either = {"type": "or", "filters": [board, hr]}
    assert store.calls == [
        {"path": path, "query": "how many a year", "filters": either, "max_num_results": 3},
        {"path": path, "query": "how many a year", "filters": hr, "max_num_results": 5},
    ]


def test_an_asker_without_groups_is_answered_without_a_call(store: Store) -> None:
    assert docs(store) == [] and store.calls == []
    with pytest.raises(DataError, match="expected a set of group names"):
        HostedSearch(store.table()).search("a year", "hr")
    assert store.calls == []


def test_a_hit_names_our_document_and_carries_text_score_and_groups_but_no_similarity(store: Store) -> None:
    (hit,) = HostedSearch(store.table()).search("band 7", {"hr"})
    assert (hit.doc, hit.text, hit.similarity, hit.score) == ("pay", "band 7 pays a year", None, pytest.approx(2 / 3))
    assert hit["groups"] == {"hr", "board"} and hit["id"].startswith("pay#")


def test_where_the_address_ignores_the_filter_nothing_is_shown_and_no_file_is_named(store: Store) -> None:
    store.filters = False
    for files in (store.files, store.files[3:4], store.files[4:]):  # one that nobody marked, one marked by the word
        store.files = files
        with pytest.raises(AccessError, match="does not apply attribute filters") as fault:
            docs(store, "staff")
    assert not re.search("pay|plan|open|band", str(fault.value))
    asked = [Question("q", "how many a year", doc="leave", groups=frozenset({"staff"}))]
    run = run_eval(asked, HostedSearch(store.table()), lambda _: "NOT_FOUND")
    assert run.answers["q"].status == "error" and run.answers["q"].hits == () and "band" not in repr(run)


@pytest.mark.parametrize("k", [0, 51])
def test_more_results_than_the_interface_gives_are_refused(store: Store, k: int) -> None:
    with pytest.raises(DataError, match=f"k is {k}; hosted search gives 1 to 50"):
        docs(store, "staff", k=k)
    assert len(docs(store, "staff", k=50)) == 1


def test_a_group_whose_name_is_too_long_for_an_attribute_is_named() -> None:
    assert group_filter({"x" * 58})["key"] == "group_" + "x" * 58
    with pytest.raises(AccessError, match="has 59 characters.* at most 58"):
        group_filter({"hr", "x" * 59})


@pytest.mark.parametrize(
    ("broken", "cause"),
    [
        ((500, b"{}"), "InternalServerError"),
        ((429, b'{"error": {"message": "pay first"}}'), "pay first"),
        ((200, b"<html>Sign in</html>"), ""),
        ((200, b"[]"), ""),
        ((200, b"{}"), ""),
        ((200, b'{"data": null}'), ""),
        ((200, b'{"data": [{"score": 1}]}'), "TypeError"),
        ((200, b'{"data": [{"filename": "a", "content": null, "attributes": {"group_staff": true}}]}'), "TypeError"),
        ((200, b"{half"), ""),
    ],
)
def test_an_answer_of_another_form_is_one_line_of_cause_with_what_to_check(
    store: Store, broken: tuple[int, bytes], cause: str
) -> None:
    store.broken = broken
    with pytest.raises(ModelError, match=f"hosted search gave no results .*{cause}.*check hosted.store") as fault:
        docs(store, "staff")
    assert KEY not in str(fault.value) and len(store.calls) == 1


def test_a_wrong_key_store_or_address_says_what_to_check(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for table, cause in (
        (store.table(store="vs_2"), "No vector store found"),
        (store.table(base_url="http://127.0.0.1:9/v1"), "APIConnectionError"),
    ):
        with pytest.raises(ModelError, match=f"{cause}.*hosted.base_url.*PILOT_TEST_KEY"):
            HostedSearch(table).search("a year", {"staff"})
    monkeypatch.setenv("PILOT_TEST_KEY", "sk-wrong-1234567")
    with pytest.raises(ModelError, match="Incorrect API key") as fault:
        HostedSearch(store.table()).search("a year", {"staff"})
    assert "sk-wrong" not in str(fault.value)
    monkeypatch.delenv("PILOT_TEST_KEY")
    with pytest.raises(ModelError, match="set the environment variable PILOT_TEST_KEY, or hosted.base_url"):
        HostedSearch(HostedTable(store="vs_1", key_variable="PILOT_TEST_KEY"))


# -- notebook 03 -----------------------------------------------------------------------------------------------------


def pilot_with(store: Store, root: Any) -> Pilot:
    path = tiny_pilot(root).data / "pilot.toml"
    hosted = f'[hosted]\nstore = "vs_1"\nbase_url = "{store.url}"\nkey_variable = "PILOT_TEST_KEY"\n'
    path.write_text(path.read_text(encoding="utf-8") + hosted, encoding="utf-8")
    return Pilot.open("tiny", root)


@pytest.mark.slow
def test_notebook_03_measures_it_in_a_row_of_the_same_table_with_its_leaks(store: Store, tmp_path: Any) -> None:
    store.files = [file(f"{doc}.md", text, group) for doc, (group, text) in DOCUMENTS.items()]
    pilot = pilot_with(store, tmp_path)
    compared = retrievers(pilot, others={"of the shelf": Shelf()})
    assert list(compared) == ["keyword", "dense", "hybrid", "hosted", "of the shelf"]
    assert [(r.retrieval.hit5.count, r.retrieval.hit5.n) for r in compared.values()][3:] == [(4, 4), (1, 4)]
    assert compared["hosted"].leaks.share.count == 0 and compared["hosted"].leaking.count == 0
    assert compared["hosted"].audit.stages[HITS].share.n == 2  # q3 alone names a restricted document
    shelf = compared["of the shelf"]
    assert shelf.leaks.passages.keys() == {"q1", "q2", "q4", "q6"}  # those of hr may read it
    page = tables.retrievers(
        {n: r.retrieval for n, r in compared.items()},
        {n: r.leaks for n, r in compared.items()},
        {n: r.audit for n, r in compared.items()},
    )
    assert "hosted  4 of 4  4 of 4" in repr(page) and page.count("rp-bad") == 2
    store.broken = (500, b"{}")
    with pytest.raises(ModelError, match="hosted: no question was answered; the first: .*hosted.store"):
        retrievers(pilot)


class Shelf:
    """A search that gives everybody the same book, by an id that names nothing of ours."""

    def search(self, question: str, groups: Any, k: int = 5) -> list[dict[str, str]]:
        return [{"id": "book", "doc": "salaries", "text": f"Band 7 pays {SECRET} euros a year."}]
