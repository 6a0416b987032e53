"""Make docs/index.png and those of notebooks 03, 06, 07 and 09: the pages of the sample's report.

rag-pilot export sample && python docs/screenshot_report.py
"""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "tests"))

from lab import chromium  # noqa: E402

REPORT = HERE.parent / "results" / "sample" / "report"
PAGES = {
    "index": ("index.html", 0, 1700),
    "03": ("03_keyword_vs_hybrid.html", 0, 1500),
    "06": ("06_week1_result.html", 0, 1500),
    "07": ("07_fix_and_rerun.html", 0, 1500),
    "09": ("09_decision.html", 0, 1500),
}
"""Name of the picture -> page, and from where to where it is shown, in CSS pixels."""


def main() -> None:
    """Open each page with the network off and take its picture at a width of 1100 pixels."""
    with chromium() as browser:
        context = browser.new_context(viewport={"width": 1100, "height": 900}, offline=True)
        page = context.new_page()
        for name, (file, top, bottom) in PAGES.items():
            page.goto((REPORT / file).as_uri())
            clip = {"x": 0, "y": top, "width": 1100, "height": bottom - top}
            page.screenshot(path=HERE / f"{name}.png", full_page=True, clip=clip)


if __name__ == "__main__":
    main()
