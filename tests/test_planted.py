"""A secret planted wherever text comes from reaches no file of a report for everyone, and that of its group."""

import base64
import re
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pytest
from planted import TO_NOBODY, TO_THE_GROUP, planted_pilot
from tiny import notebook

from rag_pilot.pilot import Pilot
from rag_pilot.reporting.export import export

NOTEBOOKS = Path(__file__).resolve().parents[1] / "notebooks"
PICTURE = (
    "from rag_pilot import Ledger, Pilot, figures\nresult = Ledger(Pilot.open()).result(())\n"
    "figures.retrieval_by({'keyword': result.hits_by('category')}, 'category')"
)
"""The picture of notebook 03, without its embedding model."""


def everything(report: Path) -> Iterator[tuple[str, str]]:
    """Each file of a report and each run's page by name: its text, and that of its pictures."""
    for path in (*report.iterdir(), *report.parent.glob("runs/*/report.html")):
        text = path.read_text(encoding="utf-8")
        drawn = re.findall(r"base64,([A-Za-z0-9+/=]+)", text)
        yield path.name, "\n".join([text, *(base64.b64decode(data).decode("utf-8") for data in drawn)]).casefold()


@pytest.fixture(scope="module")
def pilot(tmp_path_factory: pytest.TempPathFactory) -> Pilot:
    """The cells of nine notebooks in one, because a kernel takes seconds to start."""
    made = planted_pilot(tmp_path_factory.mktemp("planted"))
    paths = [path for path in sorted(NOTEBOOKS.glob("*.ipynb")) if not path.name.startswith("03")]
    cells = [c.source for path in paths for c in nbformat.read(path, 4).cells if c.cell_type == "code"]
    notebook(made.data.parent.parent / "notebooks" / "06_all.ipynb", "# All pages", *cells, PICTURE)
    return made


@pytest.mark.slow
def test_no_secret_stands_in_a_report_for_everyone_and_what_is_hidden_is_counted(pilot: Pilot) -> None:
    report = export(pilot, pilot.data.parent.parent / "notebooks").parent
    found = {(name, word) for name, text in everything(report) for word in (*TO_THE_GROUP, *TO_NOBODY) if word in text}
    assert found == set()
    page = " ".join((report / "06_all.html").read_text(encoding="utf-8").split())
    told = re.search(
        r"(\d+) places of this page not shown, which quote what its readers may not open: (.*?)\.</p>", page
    )
    assert told and told[2] == f"{told[1]} need hr" and page.count("not shown (needs hr)") >= int(told[1])
    assert re.search(r"\d bad answers? not shown: the reader needs hr\.", page)
    assert "not shown (needs hr)</p>" in page  # the picture, whose label it was


@pytest.mark.slow
def test_readers_of_the_group_are_shown_every_one(pilot: Pilot) -> None:
    report = export(pilot, pilot.data.parent.parent / "notebooks", ["hr"]).parent
    texts = dict(everything(report))
    assert {word for word in TO_THE_GROUP if not any(word in text for text in texts.values())} == set()
    assert "places of this page not shown" not in texts["06_all.html"]
    labels = [
        base64.b64decode(data)
        for data in re.findall(r"base64,([A-Za-z0-9+/=]+)", (report / "06_all.html").read_text("utf-8"))
    ]
    assert any(b"zqcategory" in label for label in labels)
