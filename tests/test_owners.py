from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from browsing import axe_faults, faults
from bs4 import BeautifulSoup
from hypothesis import given
from hypothesis import strategies as st
from tiny import LABELS, SECRET, tiny_pilot

from rag_pilot.files import append_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.records import Label
from rag_pilot.reporting.owners import owner_pages, slugs
from rag_pilot.reporting.pages import stamp
from rag_pilot.reporting.tasks import owners_tasks, visible
from rag_pilot.results import Result


def owned(root: Path, **owners: str) -> Result:
    """The tiny pilot whose answers all failed for their documents, with these owners of them."""
    pilot = tiny_pilot(root)
    for document, owner in owners.items():
        path = pilot.data / "documents" / f"{document}.md"
        line = f"owner: {owner}\n" if owner else ""
        text = path.read_text(encoding="utf-8").replace(f"owner: Head of {document}\n", line)
        path.write_text(text, encoding="utf-8")
    pilot.lock_acceptance()
    answers = Ledger(pilot).result().run.answers
    for position, question in enumerate(LABELS, start=1):
        given_ = {"position": position, "saved_at": "2026-01-05T10:00:00+01:00", "cause": "missing_or_stale"}
        append_jsonl(pilot.data / "labels.jsonl", Label(question, answers[question].sha, "Maud", "wrong", **given_))
    return Ledger(Pilot.open("tiny", root)).result()


def pages(result: Result) -> dict[str, BeautifulSoup]:
    return {name: BeautifulSoup(text, "html.parser") for name, text in owner_pages(result, stamp(result)).items()}


def words(page: BeautifulSoup) -> str:
    return " ".join(page.get_text(" ").split())


def test_each_owner_has_a_page_with_her_questions_and_the_list_links_every_page(tmp_path: Path) -> None:
    made = pages(owned(tmp_path))
    travel = ["owner-head-of-leave.html", "owner-head-of-travel.html", "owners.html"]
    assert sorted(made) == travel
    page = words(made["owner-head-of-travel.html"])
    for told in (
        "On which form is a taxi claimed?",
        "Expected On form T-7.",
        "Came out A taxi is claimed on form T-7.",
    ):
        assert told in page
    assert "Expected 120 euros a night Came out" in page and "annual leave a year?" not in page
    assert "How to send it back" in page and "File travel.md" in page
    assert [a["href"] for a in made["owners.html"].select("main li a")] == travel[:-1]
    assert "Head of travel : 1 document to mend, 2 bad answers" in words(made["owners.html"]).replace(" :", " :")


def test_what_the_readers_may_not_see_is_counted_and_nothing_of_it_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = owned(tmp_path)
    made = owner_pages(result, stamp(result))
    assert all(SECRET not in page and "band 7" not in page and "salaries.md" not in page for page in made.values())
    assert not any("salaries" in name or "Head of salaries" in page for name, page in made.items())
    page = BeautifulSoup(made["owners.html"], "html.parser")
    assert "1 document not shown to these readers: that needs hr." in words(page)
    monkeypatch.setenv("RAG_PILOT_AUDIENCE", "hr;all-staff")
    assert "What does band 7 pay?" in owner_pages(result, stamp(result))["owner-head-of-salaries.html"]


def test_an_owner_of_an_open_and_a_closed_document_is_not_told_to_own_the_closed_one(tmp_path: Path) -> None:
    made = pages(owned(tmp_path, leave="Zoe", salaries="Zoe"))
    assert sorted(made) == ["owner-head-of-travel.html", "owner-zoe.html", "owners.html"]
    assert "not shown" not in words(made["owner-zoe.html"]) and "How many days" in words(made["owner-zoe.html"])
    assert "1 document not shown to these readers: that needs hr." in words(made["owners.html"])
    assert "may not see" not in words(made["owners.html"])


def test_documents_without_an_owner_have_a_page_that_asks_for_one(tmp_path: Path) -> None:
    made = pages(owned(tmp_path, leave="", travel="No owner"))
    assert "Nobody is named as their owner." in words(made["owner-no-owner.html"])
    assert "How many days of annual leave a year?" in words(made["owner-no-owner.html"])
    assert "Nobody is named" not in words(made["owner-no-owner-2.html"])


def test_owners_whose_names_fold_alike_keep_a_page_each(tmp_path: Path) -> None:
    made = pages(owned(tmp_path, leave="Łucja Żak", travel="lucja zak"))
    found = {name: page.h1.text for name, page in made.items() if "lucja" in name}
    assert found == {
        "owner-lucja-zak.html": "lucja zak: documents to mend",
        "owner-lucja-zak-2.html": "Łucja Żak: documents to mend",
    }


def test_a_page_stands_alone_with_title_language_and_landmarks_and_markup_stays_text(tmp_path: Path) -> None:
    for name, page in pages(owned(tmp_path, travel="'<b>Ops</b>'")).items():
        assert page.html["lang"] == "en" and page.title.text.strip() and not page.find_all("script"), name
        assert [len(page.find_all(tag)) for tag in ("header", "main", "footer", "h1")] == [1, 1, 1, 1], name
        assert [tag.get("src") or tag.get("href") for tag in page.find_all(["img", "link"])] == ["data:,"], name
        assert not page.find_all("b"), name


@pytest.mark.browser(seconds=60)
def test_in_a_browser_each_page_asks_for_nothing_fits_its_window_and_axe_finds_nothing(
    tmp_path: Path, page: Any
) -> None:
    result = owned(
        tmp_path / "pilot",
        travel=f"{'x' * 300}\nlink: https://intranet.example/docs/delivery-and-cutoff-times-of-{'x' * 60}",
    )
    found = {}
    for name, text in owner_pages(result, stamp(result)).items():
        made = tmp_path / name
        made.write_text(text, encoding="utf-8")
        found[name] = faults(page, made) + axe_faults(page, made)
    assert len(found) == 3 and not any(found.values()), found


def test_without_a_task_the_list_says_so(tmp_path: Path) -> None:
    pilot = tiny_pilot(tmp_path)
    pilot.lock_acceptance()
    result = Ledger(pilot).result()
    result.run = replace(result.run, verdicts={})
    made = pages(result)
    assert list(made) == ["owners.html"] and "No document has to be mended" in words(made["owners.html"])


@given(st.lists(st.text(max_size=8) | st.sampled_from(["a", "A", "a-2", "á", "", "no owner", "?"]), max_size=12))
def test_no_two_owners_share_a_file_on_any_disk(owners: list[str]) -> None:
    made = slugs(owners)
    assert set(made) == set(owners) and len({slug.casefold() for slug in made.values()}) == len(made)
    assert all(set(slug) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") and slug for slug in made.values())
    assert made == slugs(reversed(owners))


def relabelled(result: Result, question: str, label: str, **more: object) -> Result:
    """The run after the expert has said something else of one answer."""
    answer = result.run.answers[question]
    line = Label(question, answer.sha, "Maud", label, saved_at="2026-01-06T10:00:00+01:00", **more)
    append_jsonl(result.pilot.data / "labels.jsonl", line)
    return Ledger(Pilot.open("tiny", result.pilot.data.parent.parent)).result()


def test_a_document_that_the_expert_calls_out_of_date_is_a_task_although_its_answer_was_right(tmp_path):
    result = relabelled(owned(tmp_path), "q1", "correct", stale=True)
    tasks = {task.document: task for task in owners_tasks(result)}
    assert tasks["leave"].missing == "out of date, says Maud"
    assert [i for i, _ in tasks["leave"].questions] == ["q1"]


def test_a_task_whose_note_quotes_a_closed_document_is_counted_and_not_written(tmp_path):
    note = f"is it not that Band 7 pays {SECRET} euros a year, as the other page says"
    result = relabelled(owned(tmp_path), "q6", "wrong", cause="missing_or_stale", note=note)
    shown, left_out = visible(owners_tasks(result), result)
    assert left_out == 2 and {task.document for task in shown} == {"leave"}
