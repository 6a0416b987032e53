"""The sample company: what it must hold, and the baseline that its labels hang on."""

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from browsing import axe_faults, faults

from rag_pilot.analysis.grades import citation_rule, rule_label
from rag_pilot.analysis.sample import seeded_order
from rag_pilot.files import dumps, read_jsonl
from rag_pilot.identity import fold
from rag_pilot.ledger import Ledger
from rag_pilot.lock import read_lock
from rag_pilot.pilot import Pilot
from rag_pilot.records import Label
from rag_pilot.reporting.export import export
from rag_pilot.results import Result

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "data" / "sample"
FROZEN = Path(__file__).with_name("frozen_baseline.json")
GROUPS = {"all-staff", "procurement", "finance", "hr", "it", "sales", "legal", "operations"}


@pytest.fixture(scope="module")
def pilot(tmp_path_factory) -> Pilot:
    """The sample in a folder of its own; vectors of an earlier run on this machine are taken along."""
    root = tmp_path_factory.mktemp("sample")
    shutil.copytree(SAMPLE, root / "data" / "sample")
    cache = ROOT / "results" / "sample" / "cache"
    if cache.is_dir():
        shutil.copytree(cache, root / "results" / "sample" / "cache")
    return Pilot.open("sample", root)


@pytest.fixture(scope="module")
def baseline(pilot: Pilot) -> Result:
    return Ledger(pilot).result(())


def test_every_document_is_read_with_groups_owner_and_date(pilot):
    read = pilot.documents()
    assert read.skipped == ()
    assert read.notes == ("emergency-plan-leeds.pdf: left out as head or foot of all pages: Page 1",)
    assert len(read.documents) >= 60
    assert Counter(d.lang for d in read.documents)["fr"] >= 12
    assert Counter(d.lang for d in read.documents)["pl"] >= 12
    assert set().union(*(d.groups for d in read.documents)) == GROUPS
    restricted = [d for d in read.documents if "all-staff" not in d.groups]
    assert len(restricted) >= len(read.documents) * 0.3
    assert {Path(d.path).suffix for d in read.documents} == {".md", ".html", ".docx", ".pdf"}
    assert all(d.owner and d.updated for d in read.documents)


def test_two_hundred_questions_in_categories_that_can_be_told_apart(pilot):
    questions = pilot.questions
    assert len(questions) == 200
    assert sum(not q.answerable for q in questions) == 28
    assert min(Counter(q.category for q in questions).values()) >= 12
    languages = Counter(q.lang for q in questions)
    assert languages["fr"] >= 38
    assert languages["pl"] >= 38


def test_the_set_has_no_error_and_stale_references_are_the_three_old_pages(pilot):
    assert [f for f in pilot.check() if f.severity == "error"] == []
    texts = {d.id: fold(d.text) for d in pilot.documents().documents}
    mended = {d.id: fold(d.text) for d in pilot.documents(["mended-documents"]).documents}
    lost = [q for q in pilot.questions if q.quote and fold(q.quote) not in texts[q.doc].replace("\\", "")]
    assert {q.doc for q in lost} <= {"site-parking-leeds", "delivery-and-cutoff-times", "horaires-entrepot-lyon"}
    assert all(fold(q.quote) in mended[q.doc] for q in lost)


def test_the_order_is_the_seeded_one_and_the_criteria_are_locked(pilot):
    assert pilot.order() == seeded_order(pilot.questions, pilot.settings.pilot.seed)
    assert read_lock(SAMPLE / "acceptance.lock.json")


def test_the_built_files_hold_the_words_of_their_sources(pilot):
    for source in (SAMPLE / "sources").glob("*.md"):
        text = next(d.text for d in pilot.documents().documents if d.id == source.stem)
        body = source.read_text(encoding="utf-8").split("---\n", 2)[2]
        held = set(re.findall(r"\w+", fold(text)))
        lost = set(re.findall(r"\w+", re.sub(r"(?m)^\s*\d+\. ", "", fold(body)))) - held
        assert not lost - {str(n) for n in range(10)}, (source.name, lost)


@pytest.mark.slow
def test_the_baseline_is_the_one_that_was_labelled(baseline):
    """A change of code that alters answers is seen here: relabel, then write the file anew with FREEZE=1."""
    found = {
        "settings": baseline.settings.fingerprint("passages", "retrieval", "answer"),
        "passages": len(baseline.built.index.passages),
        "answers": {i: a.sha or a.reason for i, a in baseline.run.answers.items()},
    }
    if os.environ.get("FREEZE"):
        FROZEN.write_text(json.dumps(found, indent=0) + "\n", encoding="utf-8")
    frozen = json.loads(FROZEN.read_text(encoding="utf-8"))
    changed = sorted(i for i in frozen["answers"] if frozen["answers"][i] != found["answers"].get(i))
    assert changed == []
    assert frozen == found


def _read(path):
    return [Label.from_json(row) for _, row in read_jsonl(path)]


WEEK1 = _read(SAMPLE / "labels.jsonl")[:50]
LATER, CHECK = _read(SAMPLE / "labels.jsonl")[50:], _read(SAMPLE / "check" / "labels.jsonl")


@pytest.mark.slow
def test_the_fifty_labels_of_week_1_belong_to_the_baseline(baseline):
    assert [label.question_id for label in WEEK1] == baseline.first_to_read
    assert baseline.labelled == (50, 50)
    assert {label.annotator for label in (*WEEK1, *LATER, *CHECK)} == {"sample-author"}
    assert all(label.note or label.label == "correct" for label in (*WEEK1, *LATER, *CHECK))
    assert all(bool(label.cause) == (label.label != "correct") for label in (*LATER, *CHECK))


@pytest.mark.slow
def test_week_2_is_read_a_change_is_kept_and_the_final_run_decided(pilot):
    ledger = Ledger(pilot)
    verdicts = {one.change.name: one.entry["verdict"] for one in ledger.attempt_all()}
    assert verdicts == {
        "titles-and-glossary": "not shown",
        "multilingual-embedding": "not shown",
        "mended-documents": "kept",
        "longer-answers": "not shown",
    }
    final = ledger.result()
    assert final.labelled == (50, 50)
    assert final.headline.by_person == 50
    assert final.decision(ledger.left()).verdict == "stop"


def _truth(result):
    """Labels of all answers of a run by rule or by a person who read each."""
    read = {(label.question_id, label.answer_sha): label.label for label in (*WEEK1, *LATER, *CHECK)}
    by_id = {q.id: q for q in result.questions}
    found = {}
    for id_, answer in result.run.answers.items():
        known = rule_label(by_id[id_], answer)
        found[id_] = known or citation_rule(by_id[id_], answer, read[id_, answer.sha])
    return Counter(found.values())


@pytest.mark.slow
@pytest.mark.parametrize("kept", [(), ("mended-documents",)], ids=["baseline", "final"])
def test_the_truth_lies_inside_the_interval_of_fifty_labels_and_the_judge(pilot, kept, tmp_path):
    root = tmp_path / "fifty"
    shutil.copytree(pilot.data, root / "data" / "sample")
    shutil.copytree(pilot.results, root / "results" / "sample")
    weekly = (label for label in (*WEEK1, *LATER) if kept or label in WEEK1)
    (root / "data" / "sample" / "labels.jsonl").write_text("".join(dumps(label) + "\n" for label in weekly), "utf-8")
    result = Ledger(Pilot.open("sample", root)).result(kept)
    assert (result.headline.by_person, result.headline.by_judge) == ((50, 44) if not kept else (50, 42))
    truth = _truth(result)
    assert truth.total() == 200
    for label in ("correct", "wrong", "declined"):
        low, high = getattr(result.headline, label).interval
        assert low <= truth[label] / 200 <= high, (label, truth)


@pytest.mark.slow
def test_nothing_leaks_in_the_baseline(baseline):
    assert baseline.leaks.share.count == 0
    assert baseline.leaks.share.n == 200


# -- the ten notebooks and their pages ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def report(pilot: Pilot) -> Path:
    """The folder of the sample's report; its runs, which take longest, are those of the tests above."""
    Ledger(pilot).attempt_all()
    return export(pilot, ROOT / "notebooks").parent


def every_page(report: Path) -> list[Path]:
    """First page, notebooks, owners' pages, and the page of each run."""
    return [*sorted(report.glob("*.html")), *sorted(report.parent.glob("runs/*/report.html"))]


@pytest.mark.slow
def test_all_ten_run_in_order_and_each_has_its_page(report: Path) -> None:
    names = [path.name for path in every_page(report)]
    numbers = sorted(name[:2] for name in names if name[0] == "0")
    assert numbers == [f"{n:02}" for n in range(10)]
    assert {"index.html", "owners.html"} <= set(names) and any(name.startswith("owner-") for name in names)
    assert names.count("report.html") == len([*report.parent.glob("runs/*/run.json")]) >= 2
    for name in ("gates.jsonl", "decisions.jsonl", "order.jsonl", "acceptance.lock.json", "labels.jsonl"):
        assert (report.parents[2] / "data" / "sample" / name).read_bytes() == (SAMPLE / name).read_bytes(), name


@pytest.mark.slow
@pytest.mark.browser(seconds=120)
def test_every_page_asks_for_nothing_fits_its_window_and_shows_no_fault(report: Path, page: Any) -> None:
    found = {path.name: faults(page, path) for path in every_page(report)}
    assert {name: told for name, told in found.items() if told} == {}


@pytest.mark.slow
@pytest.mark.browser(seconds=240)
def test_axe_finds_nothing_serious_on_any_page(report: Path, page: Any) -> None:
    found = {path.name: axe_faults(page, path) for path in every_page(report)}
    assert {name: told for name, told in found.items() if told} == {}
