"""The sample company: what it must hold, and the baseline that its labels hang on."""

import json
import os
import re
import shutil
from collections import Counter
from pathlib import Path

import pytest

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


@pytest.fixture(scope="module")
def pages(pilot: Pilot) -> list[Path]:
    """Every page of the sample's report: all ten notebooks run in order, each in a fresh kernel."""
    report = export(pilot, ROOT / "notebooks").parent
    return [*sorted(report.glob("*.html")), *sorted((pilot.results / "runs").glob("*/report.html"))]


@pytest.mark.slow
def test_all_ten_run_in_order_on_the_sample_and_what_they_wrote_was_written_before(pages, pilot):
    names = {path.stem for path in pages}
    assert {path.stem for path in (ROOT / "notebooks").glob("*.ipynb")} | {"index", "owners", "report"} <= names
    for path in pages:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"\bNaN\b|\bnan\b|Traceback|ToggleButtons\(", text), path.name
    for name in ("gates.jsonl", "decisions.jsonl", "order.jsonl", "acceptance.lock.json", "labels.jsonl"):
        assert (pilot.data / name).read_bytes() == (SAMPLE / name).read_bytes(), name


@pytest.mark.browser(seconds=120)
def test_no_page_of_the_sample_asks_for_anything_or_is_wider_than_a_telephone(pages, page):
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for path in pages:
        page.goto(path.as_uri())
        assert page.title() and page.locator("html[lang]").count() == page.locator("h1").count() == 1
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, f"{path.name} at {width}: {wide} pixels too wide"
    assert {url for url in asked if not url.startswith("data:")} == {path.as_uri() for path in pages}


@pytest.mark.browser(seconds=240)
def test_axe_finds_nothing_serious_on_any_page_of_the_sample(pages, page):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    for path in pages:
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        found = axe.run(page).response
        assert "color-contrast" in {rule["id"] for rule in found["passes"]}, "axe-core compared no colours"
        grave = [rule for rule in found["violations"] if rule["impact"] in ("serious", "critical")]
        told = [f"{rule['id']}: {node['html'][:300]}" for rule in grave for node in rule["nodes"]]
        assert told == [], path.name
