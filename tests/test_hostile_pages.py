"""Whatever stands in documents, questions, answers and notes, every exported page stays whole, silent and usable."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from tiny import LABELS, SETTINGS, notebook, tiny_pilot

from rag_pilot.files import append_jsonl, write_jsonl
from rag_pilot.ledger import Ledger
from rag_pilot.pilot import Pilot
from rag_pilot.records import Label
from rag_pilot.reporting.export import export

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
LONG = "x" * 4000
SIGNS = (
    "<script>alert(1)</script>",
    "from $5 to $10, \\(x^2\\) and $$y$$",
    "\U0001f9d1\u200d\U0001f680 flies",
    "</style></title><h1>big</h1>",
    "`code` | cell | **bold** [text](javascript:alert(2))",
    "<img src=x onerror=alert(3)>",
    "<svg onload=alert(4)>",
    "\u202eright to left\u202c \u05e9\u05dc\u05d5\u05dd",
    "&lt;already&gt; &amp; {{ 7 * 7 }} {% raw %}",
    "-->]]><!--",
)
HOSTILE = " ; ".join(SIGNS)
LINKS = ("javascript:alert(5)", "file:///etc/hosts", "data:text/html,<script>alert(6)</script>", "//far.invalid/x")


def hostile_pilot(root: Path) -> Pilot:
    """The tiny pilot with such texts in every place that a page takes one from; documents link to odd addresses."""
    data = tiny_pilot(root).data
    title = HOSTILE.replace('"', "'")
    change = {"name": "odd", "cause": "wrong_despite_passage", "hypothesis": HOSTILE, "measure": "correct"}
    lines = "".join(f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in change.items())
    settings = SETTINGS.replace('title = "Tiny <pilot>"', f"title = {json.dumps(HOSTILE, ensure_ascii=False)}")
    (data / "pilot.toml").write_text(f"{settings}\n[[change]]\n{lines}set = {{ 'answer.sentences' = 3 }}\n", "utf-8")
    for number, name in enumerate(("leave", "travel", "more", "still")):
        head = {"title": f"{title} {number}", "link": LINKS[number], "owner": f"{HOSTILE} {number}"}
        front = "".join(f"{key}: {json.dumps(value, ensure_ascii=False)}\n" for key, value in head.items())
        text = f"---\ngroups: [all-staff]\nreview_by: 2020-01-01\n{front}---\n# {HOSTILE}\n\n"
        text += f"Everybody gets 25 days of annual leave a year {HOSTILE}.\n\nA taxi is claimed on form T-7 {LONG}.\n"
        (data / "documents" / f"{name}.md").write_text(text, encoding="utf-8")
    rows = [json.loads(line) for line in (data / "questions.jsonl").read_text(encoding="utf-8").splitlines()]
    for row in rows:
        row["question"] += f" {HOSTILE}\n| --- |\n{LONG if row['id'] == 'q1' else ''}"
        row["expected"] += f" {HOSTILE} \u0000\u0007\x1b[31m"
        row["category"], row["source"], row["lang"] = f"{HOSTILE[:60]} {row['id']}", HOSTILE[:90], '"><b>'
    write_jsonl(data / "questions.jsonl", rows)
    pilot = Pilot.open("tiny", root)
    pilot.lock_acceptance()
    answers = Ledger(pilot).result().run.answers
    for position, question in enumerate(LABELS, start=1):
        label = Label(question, answers[question].sha, "Maud", "wrong", position=position, note=f"{HOSTILE} {LONG}")
        append_jsonl(data / "labels.jsonl", label)
    return pilot


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The cells of nine notebooks in one, because a kernel takes seconds to start."""
    pilot = hostile_pilot(tmp_path_factory.mktemp("hostile"))
    paths = [path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if not path.name.startswith("03")]
    cells = [c.source for path in paths for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    notebook(pilot.data.parent.parent / "notebooks" / "06_all.ipynb", "# All pages", *cells)
    return export(pilot, pilot.data.parent.parent / "notebooks").parent


def pages(report: Path) -> list[Path]:
    return [*sorted(report.glob("*.html")), *sorted(report.parent.glob("runs/*/report.html"))]


@pytest.fixture
def opened(page: Any) -> Iterator[tuple[Any, list[str], list[str]]]:
    """A page, the requests beyond its own file, and the dialogs that opened."""
    asked, dialogs = list[str](), list[str]()
    page.on("request", lambda request: asked.append(request.url))
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    yield page, asked, dialogs


@pytest.mark.browser(seconds=60)
def test_every_page_is_silent_whole_and_no_wider_than_its_window(report: Path, opened: Any) -> None:
    page, asked, dialogs = opened
    for path in pages(report):
        for width in (1280, 400):
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(path.as_uri())
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            wide = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert wide <= 0, f"{path.name} at {width}: {wide} beyond, {page.evaluate(WIDEST)}"
        assert page.locator("script, img:not([src^='data:']), svg, [onload], [onerror]").count() == 0
        assert (
            page.locator("h1").count() == 1
            and page.locator("main").count() == 1
            and page.locator("footer").is_visible()
        )
        links = page.locator("a").evaluate_all("links => links.map(a => a.getAttribute('href'))")
        assert not [link for link in links if re.match(r"(?i)\s*(javascript|file|data|//)", link)]
    assert {url for url in asked if not url.startswith(("file:", "data:"))} == set() and dialogs == []
    assert {url for url in asked if url.startswith("file:")} == {path.as_uri() for path in pages(report)}


WIDEST = """() => [...document.querySelectorAll('main *, header *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth
    && !e.closest('[role=group]')).slice(0, 3).map(e => e.outerHTML.slice(0, 200))"""


@pytest.mark.browser(seconds=60)
def test_the_texts_stand_on_the_page_letter_for_letter(report: Path, opened: Any) -> None:
    page, _, _ = opened
    for name in ("06_all.html", "index.html"):
        page.goto((report / name).as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        seen = page.evaluate("document.querySelector('main').innerText")
        assert [sign for sign in SIGNS if sign not in seen] == []
        assert "\ufffd" in seen and "\x1b" not in seen


@pytest.mark.browser(seconds=90)
def test_axe_finds_nothing_serious_on_any_page(report: Path, page: Any) -> None:
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe is not installed").Axe()
    for path in pages(report):
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        rules = [r for r in axe.run(page).response["violations"] if r["impact"] in ("serious", "critical")]
        found = [f"{r['id']}: {n['failureSummary']} {n['html'][:300]}" for r in rules for n in r["nodes"]]
        assert found == [], path.name


@pytest.mark.browser
def test_tables_and_folded_parts_are_reached_by_keyboard_and_the_first_stop_skips_to_the_content(
    report: Path, page: Any
) -> None:
    page.set_viewport_size({"width": 400, "height": 900})
    page.goto((report / "06_all.html").as_uri())
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#main"
    met = set()
    for _ in range(40):
        page.keyboard.press("Tab")
        met.add(page.evaluate("document.activeElement.getAttribute('role') || document.activeElement.tagName"))
    assert {"group", "SUMMARY"} <= met
    boxes = page.locator("[role=group]")
    assert boxes.count() > 5 and all(boxes.evaluate_all("all => all.map(e => e.tabIndex === 0 && !!e.ariaLabel)"))


@pytest.mark.browser(seconds=60)
def test_on_paper_folded_parts_are_open_and_there_is_no_navigation(report: Path, page: Any, tmp_path: Path) -> None:
    pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed")
    page.goto((report / "06_all.html").as_uri())
    folded = page.locator("details:not([open]) caption")
    assert folded.count() and not folded.first.is_visible()
    page.pdf(path=str(tmp_path / "a.pdf"), prefer_css_page_size=True)
    sheets = pypdf.PdfReader(tmp_path / "a.pdf").pages
    width, height = (float(n) for n in sheets[0].mediabox[2:])
    assert (round(width), round(height)) in ((595, 842), (596, 842))  # A4, in points
    page.emulate_media(media="print")
    assert folded.first.evaluate("caption => caption.checkVisibility() && caption.offsetHeight > 0")
    text = "\n".join(sheet.extract_text() for sheet in sheets)
    assert "Skip to the content" not in text and "First page" not in text and "intranet" not in text
