"""Both forms as somebody meets them who sees little or uses no mouse: axe-core's findings, and where the focus is."""

from collections.abc import Iterator
from typing import Any

import pytest
import test_form_browser
import test_writing_browser

pytest.importorskip("axe_playwright_python", reason="axe-playwright-python is not installed: nothing was looked at")
from axe_playwright_python.sync_playwright import Axe  # noqa: E402

pytestmark = pytest.mark.browser
FORMS = {
    "label": f"{test_form_browser.MODULE}\nmake('labels.jsonl', long=True)",
    "write": f"{test_writing_browser.MODULE}\nmake('questions.jsonl')",
}
FOCUSED = """
() => {
    const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
    const light = color => color.match(/[0-9.]+/g).slice(0, 3).map(v => linear(v / 255))
        .reduce((sum, v, i) => sum + v * [.2126, .7152, .0722][i], 0);
    const contrast = (a, b) => (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    const at = document.activeElement, page = document.querySelector(".rp-page");
    const ground = light(getComputedStyle(page).backgroundColor);
    const { outlineStyle, outlineWidth, outlineColor } = getComputedStyle(at);
    return {
        inside: page.contains(at),
        name: at.dataset.key ?? at.name ?? at.className,
        outline: outlineStyle === "none" ? 0 : parseFloat(outlineWidth),
        contrast: contrast(light(outlineColor), ground),
        frame: contrast(light(getComputedStyle(page).borderTopColor), ground),
    };
}
"""  # contrast as in WCAG 2.2: of an outline, or of the page's frame, against the page


@pytest.fixture(scope="module", params=FORMS)
def notebook(lab: Any, window: Any, request: pytest.FixtureRequest) -> Iterator[tuple[str, Any]]:
    """The name of a form, and a notebook that shows it."""
    page = window.new_page()
    lab.open(page, f"{request.param}.ipynb", [FORMS[request.param]])
    page.add_style_tag(content="body { height: 100vh }")  # axe takes all in a body without height for hidden
    yield request.param, page
    page.close()


@pytest.fixture(params=("light", "dark"))
def form(lab: Any, notebook: tuple[str, Any], request: pytest.FixtureRequest) -> tuple[str, Any]:
    """The same in a theme, the form drawn anew."""
    name, page = notebook
    theme = f"JupyterLab {request.param.title()}"
    page.evaluate("theme => window.jupyterapp.commands.execute('apputils:change-theme', { theme })", theme)
    page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")
    page.evaluate("document.querySelector('.rp-form')?.remove()")
    lab.run_all(page)
    page.wait_for_selector(".rp-page:not([inert]) .rp-question")
    page.wait_for_function("document.activeElement?.classList.contains('rp-form')")
    return name, page


def press(page: Any, *keys: str) -> None:
    for key in keys:
        before = page.locator(".rp-page").get_attribute("data-screen")
        page.wait_for_timeout(300)
        page.keyboard.press(key)
        page.wait_for_selector(f".rp-page:not([inert]):not([data-screen='{before}'])")


def findings(page: Any) -> list[str]:
    """What axe-core calls serious or critical within the form, and where."""
    found = Axe().run(page, ".rp-form", options={}).response
    read = [node["html"] for rule in found["passes"] if rule["id"] == "color-contrast" for node in rule["nodes"]]
    assert any("data-key" in html for html in read), "axe-core compared no colours"
    rules = [rule for rule in found["violations"] if rule["impact"] in ("serious", "critical")]
    return [f"{rule['help']}: {node['failureSummary']} {node['html']}" for rule in rules for node in rule["nodes"]]


def test_axe_finds_nothing_serious(form: tuple[str, Any]) -> None:
    name, page = form
    found = {"first": findings(page)}
    if name == "label":
        press(page, "3", "7")
        page.wait_for_selector(".rp-prompt")
    else:
        page.keyboard.press("f")
        page.keyboard.type("leave")
        press(page, "Enter", "1", "a", "2", "d", "y")
        page.wait_for_selector(".rp-document")
    found["filled in"] = findings(page)
    page.keyboard.press("?")
    page.wait_for_selector(".rp-help:not([hidden])")
    found["help"] = findings(page)
    while not page.locator(".rp-closing").count():
        press(page, "ArrowRight")
    found["closing"] = findings(page)
    assert not any(found.values()), found


def test_whatever_has_the_focus_shows_it(form: tuple[str, Any]) -> None:
    name, page = form
    assert page.evaluate(FOCUSED)["frame"] >= 3  # the form as a whole, where keys act
    met = set()
    page.keyboard.press("Tab")
    while (focused := page.evaluate(FOCUSED))["inside"]:
        assert focused["outline"] >= 2 and focused["contrast"] >= 3, focused
        met.add(focused["name"])
        page.keyboard.press("Tab")
    wanted = {
        "label": {"1", "4", "ArrowRight", "?", "also", "stale", "note"},
        "write": {"y", "expected", "search", "?"},
    }
    assert wanted[name] <= met
