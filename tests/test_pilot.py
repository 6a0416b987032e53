"""A pilot opened from disk: what it reuses, what it refuses, who may see what."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from article import embed
from endpoint import completion
from tiny import DOCUMENTS, SECRET, run_and_label, tiny_pilot

from rag_pilot.answering.start import CODE
from rag_pilot.building import Variant
from rag_pilot.errors import DataError, SettingsError, StaleError
from rag_pilot.pilot import Pilot
from rag_pilot.reading import items
from rag_pilot.results import Result
from rag_pilot.retrieval.embedding import Embedding
from rag_pilot.tracing import trace


@pytest.fixture
def pilot(tmp_path: Path) -> Pilot:
    return tiny_pilot(tmp_path)


def test_a_folder_without_settings_says_how_to_make_a_pilot(tmp_path):
    with pytest.raises(SettingsError, match="rag-pilot new"):
        Pilot.open("nothing", tmp_path)


def test_the_environment_names_the_pilot_and_the_audience(pilot, tmp_path, monkeypatch):
    monkeypatch.setenv("RAG_PILOT", "tiny")
    monkeypatch.setenv("RAG_PILOT_AUDIENCE", "hr;finance")
    opened = Pilot.open(root=tmp_path)
    assert opened.name == "tiny"
    assert opened.readers == {"hr", "finance", "all-staff"}


def test_pages_are_for_everyone_unless_told_otherwise(pilot):
    assert pilot.readers == {"all-staff"}


def test_the_first_run_waits_for_the_lock(pilot):
    with pytest.raises(StaleError, match="notebook 00"):
        pilot.run()
    assert not (pilot.results / "runs").exists()


def test_criteria_changed_after_the_lock_stop_the_next_run(pilot):
    pilot.lock_acceptance()
    pilot.run()
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace("at_most = 0.05", "at_most = 0.5"), encoding="utf-8")
    with pytest.raises(StaleError, match="restore them"):
        Pilot.open("tiny", pilot.data.parents[1]).run()


def test_a_run_writes_every_answer_and_an_equal_configuration_is_reused(pilot):
    pilot.lock_acceptance()
    run = pilot.run()
    info = json.loads((run.folder / "run.json").read_text(encoding="utf-8"))
    assert info["asked"] == info["answered"] + info["declined"] == 6
    assert info["complete"]
    again = Pilot.open("tiny", pilot.data.parents[1]).run("other-name")
    assert again.folder == run.folder
    assert again.answers == run.answers


@pytest.mark.parametrize("change", ["question", "document", "access", "setting"])
def test_whatever_can_change_an_answer_makes_another_run(pilot, change):
    pilot.lock_acceptance()
    first = pilot.run()
    if change == "question":
        path, old, new = pilot.data / "questions.jsonl", "How many days", "How many free days"
    elif change == "document":
        path, old, new = pilot.data / "documents" / "leave.md", "25 days", "26 days"
    elif change == "access":
        path, old, new = pilot.data / "documents" / "leave.md", "[all-staff]", "[hr]"
    else:
        path, old, new = pilot.data / "pilot.toml", "coverage = 0.2", "coverage = 0.3"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    assert Pilot.open("tiny", pilot.data.parents[1]).run().folder != first.folder


def test_an_amended_expected_answer_asks_nothing_again(pilot):
    pilot.lock_acceptance()
    first = pilot.run()
    path = pilot.data / "questions.jsonl"
    path.write_text(path.read_text(encoding="utf-8").replace("120 euros", "95 euros"), encoding="utf-8")
    again = Pilot.open("tiny", pilot.data.parents[1]).run()
    assert again.folder == first.folder
    assert first.verdicts["q6"].label != again.verdicts["q6"].label == "correct"


def test_revoking_a_group_holds_at_the_next_question_without_a_rebuild(pilot):
    assert [h.doc for h in pilot.search("What does band 7 pay?", ["hr"])] == ["salaries"]
    path = pilot.data / "documents" / "salaries.md"
    path.write_text(path.read_text(encoding="utf-8").replace("[hr]", "[board]"), encoding="utf-8")
    assert pilot.search("What does band 7 pay?", ["hr"]) == []
    assert pilot.build().state == "reused"


def test_a_document_whose_groups_became_unreadable_is_closed_at_the_next_question(pilot):
    path = pilot.data / "documents" / "salaries.md"
    path.write_text(path.read_text(encoding="utf-8").replace("groups: [hr]", "groups: []"), encoding="utf-8")
    assert "salaries" not in [h.doc for h in pilot.search("What does band 7 pay?", ["hr", "all-staff"])]


def test_a_saved_index_holds_no_group_and_is_reused(pilot):
    assert pilot.build().state == "rebuilt"
    folder = next((pilot.results / "index").iterdir())
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert {"manifest.json", "passages.jsonl", "names.json"} <= {path.name for path in files}
    for path in files:
        assert b"all-staff" not in path.read_bytes() and b'"hr"' not in path.read_bytes(), path
    assert Pilot.open("tiny", pilot.data.parents[1]).build().state == "reused"


def test_a_saved_index_opened_again_answers_as_it_did_and_by_the_access_files_of_now(pilot):
    asked = [(q.question, sorted(q.groups)) for q in pilot.questions]
    before = [pilot.search(question, groups) for question, groups in asked]
    again = Pilot.open("tiny", pilot.data.parents[1])
    assert [again.search(question, groups) for question, groups in asked] == before and any(before)
    path = pilot.data / "documents" / "salaries.md"
    path.write_text(path.read_text(encoding="utf-8").replace("[hr]", "[board]"), encoding="utf-8")
    later = Pilot.open("tiny", pilot.data.parents[1])
    assert later.search("What does band 7 pay?", ["hr"]) == again.search("What does band 7 pay?", ["hr"]) == []
    assert [h.doc for h in later.search("What does band 7 pay?", ["board"])] == ["salaries"]
    assert later.build().state == "reused"


def test_one_changed_document_is_split_and_embedded_alone(pilot, monkeypatch):
    seen: list[str] = []

    def encode(texts: list[str]) -> np.ndarray:
        seen.extend(texts)
        return embed(texts)

    monkeypatch.setattr(Embedding, "_loaded", lambda self: encode)
    dense = Variant(pilot.settings.changed({"retrieval.method": "hybrid"}))
    whole = pilot.build(dense)
    assert len(seen) == len(whole.index.passages) == 3
    page = pilot.data / "documents" / "leave.md"
    page.write_text(page.read_text(encoding="utf-8").replace("25 days", "26 days"), encoding="utf-8")
    again = Pilot.open("tiny", pilot.data.parents[1]).build(dense)
    assert (again.state, again.embedded) == ("rebuilt", 1) and len(seen) == 4 and "26 days" in seen[-1]
    for doc in DOCUMENTS:
        old, new = ([p for p in b.index.passages if p.doc == doc] for b in (whole, again))
        assert (old == new) == (doc != "leave")
    page.unlink()
    less = Pilot.open("tiny", pilot.data.parents[1]).build(dense)
    assert {p.doc for p in less.index.passages} == {"salaries", "travel"} and len(seen) == 4


def test_a_cached_run_with_searches_imports_no_torch(pilot, monkeypatch):
    pilot.lock_acceptance()
    path = pilot.data / "pilot.toml"
    path.write_text(path.read_text(encoding="utf-8").replace('"keyword"', '"hybrid"'), encoding="utf-8")
    monkeypatch.setattr(Embedding, "_loaded", lambda self: embed)
    root = pilot.data.parents[1]
    Pilot.open("tiny", root).run()
    for folder in ("runs", "index"):
        shutil.rmtree(pilot.results / folder)  # the index is built and the questions are asked again, from the cache
    program = f"""
import sys
from pathlib import Path
from rag_pilot import Pilot
pilot = Pilot.open("tiny", Path({str(root)!r}))
run = pilot.run()
hits = pilot.search("How many days of annual leave a year?", ["all-staff"])
print(pilot.build().manifest.dimension, run.info["answered"] > 0, "dense" in hits.lists)
print([name for name in ("torch", "sentence_transformers", "transformers") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "12 True True\n[]\n", done.stderr


def test_documents_of_a_change_are_laid_over_those_of_the_pilot_and_never_written_there(pilot):
    overlay = pilot.data / "changes" / "mended" / "documents"
    overlay.mkdir(parents=True)
    (overlay / "leave.md").write_text("---\ngroups: [all-staff]\n---\n# Annual leave\n\n30 days.\n", encoding="utf-8")
    texts = {d.id: d.text for d in pilot.documents(["mended"]).documents}
    assert texts.keys() == DOCUMENTS.keys()
    assert "30 days" in texts["leave"]
    assert "25 days" in {d.id: d.text for d in pilot.documents().documents}["leave"]


def test_text_that_the_embedding_model_does_not_see_is_counted_when_the_index_is_built(pilot):
    def beyond() -> float:
        return pilot.build(Variant(pilot.settings.changed({"retrieval.method": "dense"}))).manifest.beyond

    page = pilot.data / "documents" / "travel.md"
    page.write_text(f"---\ngroups: [all-staff]\n---\n# Travel\n\n{'Keep every receipt. ' * 300}", encoding="utf-8")
    assert beyond() == 0  # long passages are embedded in pieces
    words = " ".join(f"title{n}" for n in range(300))
    page.write_text(f"---\ntitle: {words}\ngroups: [all-staff]\n---\nA taxi is claimed on form T-7.", encoding="utf-8")
    assert beyond() > 0.3


def test_a_small_passage_is_matched_and_its_section_is_shown_to_model_and_expert(pilot):
    page = pilot.data / "documents" / "travel.md"
    rules = [f"Rule {n} of the travel handbook says what a receipt of kind {n} must show." for n in range(12)]
    body = "\n\n".join(["# Travel", *rules, "A taxi is claimed on form T-7. The hotel limit is 95 euros a night."])
    page.write_text(f"---\ngroups: [all-staff]\n---\n{body}\n", encoding="utf-8")
    small = Variant(pilot.settings.changed({"passages.max_tokens": 64, "passages.parent_tokens": 800}))
    pilot.lock_acceptance()
    result = Result(pilot, pilot.run("parents", small), pilot.build(small))
    shown = [hit["doc"] for hit in result.run.answers["q2"].hits]
    assert shown.count("travel") == 1
    assert all(rule in trace(result, "q2").prompt for rule in rules)
    item = next(item for item in items(result) if item.question_id == "q2")
    assert rules[0] in item.passages[0].text


def test_the_order_is_written_once_and_must_fit_the_questions(pilot):
    order = pilot.order()
    assert sorted(order) == [f"q{n}" for n in range(1, 7)]
    assert pilot.order() == order
    path = pilot.data / "questions.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5]), encoding="utf-8")
    assert sorted(pilot.order()) == sorted(set(order) - {"q6"})  # no answer was seen: it is drawn again
    pilot.lock_acceptance()
    pilot.run()
    drawn = pilot.order()
    path.write_text("".join(lines), encoding="utf-8")
    with pytest.raises(StaleError, match="q6.*append new ids"):
        pilot.order()
    path.write_text("".join(lines[:5]), encoding="utf-8")
    assert pilot.order() == drawn


def test_where_labels_stand_no_order_is_drawn_again(pilot):
    pilot.order()
    (pilot.data / "labels.jsonl").write_text("", encoding="utf-8")
    path = pilot.data / "questions.jsonl"
    path.write_text("".join(path.read_text(encoding="utf-8").splitlines(keepends=True)[:5]), encoding="utf-8")
    with pytest.raises(StaleError, match="q6"):
        pilot.order()


def test_a_pilot_without_a_readable_document_says_so(tmp_path):
    pilot = tiny_pilot(tmp_path)
    for path in (pilot.data / "documents").iterdir():
        path.unlink()
    with pytest.raises(DataError, match="no readable document"):
        pilot.build()


def test_no_file_of_a_run_holds_text_that_the_asker_may_not_open(pilot):
    pilot.lock_acceptance()
    run = pilot.run()
    for line in (run.folder / "answers.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if row["question_id"] not in ("q3", "q5"):  # asked by hr
            assert SECRET not in line
            assert "salaries#" not in line


def test_a_run_that_was_labelled_is_read_back_with_its_labels(pilot):
    run_and_label(pilot)
    again = Pilot.open("tiny", pilot.data.parents[1])
    assert again.run().info["complete"]


def test_the_instructions_are_a_setting_that_reaches_the_model_the_trace_and_the_runs_hash(pilot, endpoint, tmp_path):
    own = "One sentence with [n], or write only NOT_FOUND"
    endpoint.says("25 days [1].", tokens=(0, 0))
    endpoint.steps = [(200, completion(CODE, tokens=(0, 0)), {})]
    table = {**endpoint.table().model_dump(exclude={"instructions"}), "instructions": own}
    told = [
        pilot.settings.changed({f"answer.{k}": v for k, v in table.items() if k != without})
        for without in ("", "instructions")
    ]
    first, second = (pilot.config(Variant(settings))["prompt"] for settings in told)
    assert first != second == pilot.config(pilot.baseline)["prompt"]
    variant = Variant(told[0])
    pilot.lock_acceptance()
    run = pilot.run("own", variant)
    assert run.info["config"]["prompt"] == first
    asked = [call["messages"][0]["content"] for call in endpoint.calls]
    assert sum(prompt.startswith(own + "\n\n[1] (") for prompt in asked) >= len(run.answers) - 1
    pilot.settings = told[0]
    traced = trace(Result(pilot, run, pilot.build(variant)), "q1").prompt
    assert traced in asked
    assert run.info["flags"] == {"not_in_passage": 4}
    assert run.info["sentences"]["uncited"] == 0


def test_instructions_without_the_mark_are_refused_before_the_first_call(pilot):
    pilot.lock_acceptance()
    silent = Variant(pilot.settings.changed({"answer.instructions": "Answer."}))
    with pytest.raises(SettingsError, match="never mention NOT_FOUND"):
        pilot.run("silent", silent)
