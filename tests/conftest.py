"""What tests share: one JupyterLab, chromium and model's address a module; and how long a browser test may take."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

BROWSER_SECONDS = 20
LONGEST = "test_sample_pilot.py"
"""The file that takes longest is begun first, so that the others are done beside it."""
BEGUN = pytest.StashKey[float]()
started: set[Any] = set()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the longest file first."""
    items.sort(key=lambda item: item.path.name != LONGEST)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Any:
    """Fail a browser test that took longer, or than its marker's `seconds`; the first of a module starts a server."""
    report = yield
    if marker := item.get_closest_marker("browser"):
        module = item.nodeid.partition("::")[0]
        if call.when == "setup":
            item.stash[BEGUN] = call.start if module in started else call.stop
            started.add(module)
        took, most = call.stop - item.stash[BEGUN], marker.kwargs.get("seconds", BROWSER_SECONDS)
        if call.when == "call" and report.passed and took > most:
            report.outcome, report.longrepr = "failed", f"{item.nodeid} took {took:.1f} s; expected at most {most} s"
    return report


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Give each worker whole files: what a module makes once, such as a report of ten notebooks, is made once."""
    from xdist.scheduler import LoadFileScheduling

    return LoadFileScheduling(config, log)


def _skip_without_browser() -> None:
    pytest.importorskip("playwright.sync_api", reason="playwright is not installed: no browser test was run")
    from lab import CHROMIUM

    if not Path(CHROMIUM).exists():
        pytest.skip(f"{CHROMIUM} does not exist: no browser test was run")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A JupyterLab; it ends with the module, because by itself it ends when nobody used it for a minute."""
    _skip_without_browser()
    from lab import jupyterlab

    with jupyterlab(tmp_path_factory.mktemp("lab")) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Chromium; it ends with the module, because its event loop would be in the way of later ones."""
    _skip_without_browser()
    from lab import chromium

    with chromium() as started:
        yield started


@pytest.fixture(scope="module")
def window(browser: Any) -> Iterator[Any]:
    """A browser window of 1280 x 800 whose pages share one cache."""
    from lab import SCREEN

    context = browser.new_context(viewport=SCREEN)
    context.set_default_timeout(10_000)
    yield context
    context.close()


@pytest.fixture
def page(window: Any) -> Iterator[Any]:
    """An empty page."""
    opened = window.new_page()
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def server() -> Iterator[Any]:
    """A model's address on this machine; it ends with the module."""
    from endpoint import KEY, Endpoint

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PILOT_TEST_KEY", KEY)
        patch.setenv("NO_PROXY", "127.0.0.1")
        running = Endpoint()
        yield running
        running.close()


@pytest.fixture
def endpoint(server: Any) -> Any:
    """That address, as new."""
    server.reset()
    return server
