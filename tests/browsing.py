"""What an exported page has to stand in a real browser: it asks for nothing, fits its window, and axe-core reads it."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

WIDTHS = (1280, 400)
WIDEST = """() => [...document.querySelectorAll('main *, header *, footer *')]
    .filter(e => e.getBoundingClientRect().right > innerWidth && !e.closest('[role=group]'))
    .slice(0, 3).map(e => e.outerHTML.slice(0, 200))"""
BROKEN = (
    r"\bnan\b|Traceback|(?:Toggle|Button|Box|HTML|Text|Label|Output|IntProgress)s?\w*\((?:children|value|layout|\))"
)
"""No number, the program's own words, or what a widget leaves where it is not live."""


def faults(page: Any, path: Path) -> list[str]:
    """What is wrong with a page: requests, width, title, language, heading, and words that no page may show."""
    found, asked = list[str](), list[str]()
    page.on("request", note := lambda request: asked.append(request.url))
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.goto(path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        if (over := page.evaluate("document.documentElement.scrollWidth - innerWidth")) > 0:
            found.append(f"{over} px beyond {width}: {page.evaluate(WIDEST)}")
    page.remove_listener("request", note)
    found += [f"asked for {url}" for url in asked if not url.startswith("data:") and url != path.as_uri()]
    if path.as_uri() not in asked:
        found.append("no request was counted, not even its own")
    title, lang = page.title(), page.evaluate("document.documentElement.lang")
    if not title.strip() or lang not in ("en", "fr", "pl") or page.locator("h1").count() != 1:
        found.append(f"title {title!r}, language {lang!r}, {page.locator('h1').count()} h1")
    text = page.evaluate("document.body.innerText")
    return found + [f"shows {shown!r}" for shown in re.findall(BROKEN, text, re.I)]


def axe_faults(page: Any, path: Path, impacts: Iterable[str] = ("serious", "critical")) -> list[str]:
    """What axe-core finds on a page whose folded parts are open; nothing checked, or no colours, is a fault too."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed")
    page.goto(path.as_uri())
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    said = axe.Axe().run(page).response
    passed = {rule["id"]: len(rule["nodes"]) for rule in said["passes"]}
    found = [] if passed.get("color-contrast") else [f"axe-core compared no colours; it passed {sorted(passed)}"]
    rules = [rule for rule in said["violations"] if rule["impact"] in impacts]
    return found + [f"{r['id']}: {n['failureSummary']} {n['html'][:300]}" for r in rules for n in r["nodes"]]
