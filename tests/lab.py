"""A real JupyterLab or Notebook on 127.0.0.1 with folders of its own, and chromium to look at it."""

import contextlib
import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import nbformat
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SCREEN = {"width": 1280, "height": 800}


@dataclass(frozen=True)
class Lab:
    url: str
    token: str
    root: Path
    shows: str = "lab/tree"  # the address under which it opens a notebook

    def open(self, page: Page, name: str, cells: list[str]) -> None:
        """Write a notebook, start its kernel, open it."""
        notebook = nbformat.v4.new_notebook(
            cells=[nbformat.v4.new_code_cell(c) for c in cells],
            metadata={"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        )
        nbformat.write(notebook, self.root / name)
        session = {"path": name, "name": name, "type": "notebook", "kernel": {"name": "python3"}}
        headers = {"Authorization": f"token {self.token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self.url}/api/sessions", json.dumps(session).encode(), headers)
        urllib.request.urlopen(request, timeout=30).close()
        page.goto(f"{self.url}/{self.shows}/{name}?reset&token={self.token}")
        page.wait_for_function(
            """() => {
                const session = window.jupyterapp?.shell.currentWidget?.sessionContext;
                return session?.isReady && session.session?.kernel?.connectionStatus === "connected"
                    && session.session.kernel.status === "idle";
            }""",
            timeout=30_000,
        )

    def run_all(self, page: Page) -> None:
        page.evaluate("void window.jupyterapp.commands.execute('notebook:run-all-cells')")


@contextlib.contextmanager
def jupyterlab(root: Path, program: str = "jupyterlab") -> Iterator[Lab]:
    """JupyterLab or another program over `root`; it also ends by itself when nobody uses it for a minute."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own, work, token = root / "own", root / "work", secrets.token_hex(16)
    work.mkdir(parents=True)
    folders = {
        f"{kind}_{name}": str(own / f"{kind}-{name}".lower())
        for kind, names in {
            "JUPYTER": ("CONFIG_DIR", "DATA_DIR", "RUNTIME_DIR"),
            "JUPYTERLAB": ("SETTINGS_DIR", "WORKSPACES_DIR"),
            "XDG": ("CONFIG_HOME", "DATA_HOME", "CACHE_HOME"),
        }.items()
        for name in names
    }
    notices = (
        own / "jupyterlab-settings_dir" / "@jupyterlab" / "apputils-extension" / "notification.jupyterlab-settings"
    )
    notices.parent.mkdir(parents=True)
    notices.write_text('{"fetchNews": "false", "checkForUpdates": false}', encoding="utf-8")
    command = [sys.executable, "-m", program, "--no-browser", "--allow-root", "--expose-app-in-browser"]
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": work,
        "ServerApp.shutdown_no_activity_timeout": 60,
        "IdentityProvider.token": token,
        "MappingKernelManager.cull_idle_timeout": 60,
        "MappingKernelManager.cull_interval": 20,
        "MappingKernelManager.cull_connected": True,
    }
    with (root / "server.log").open("wb") as log:
        server = subprocess.Popen(
            [*command, *(f"--{name}={value}" for name, value in options.items())],
            env={**os.environ, **folders, "IPYTHONDIR": str(own / "ipython")},
            stdout=log,
            stderr=log,
            cwd=work,
        )
    url = f"http://127.0.0.1:{port}"
    try:
        _wait(f"{url}/api/status?token={token}", server, root / "server.log")
        yield Lab(url, token, work, "notebooks" if program == "notebook" else Lab.shows)
    finally:
        server.terminate()
        try:
            server.wait(15)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if server.poll() is not None:
            break
        with (
            contextlib.suppress(urllib.error.URLError, ConnectionError),
            urllib.request.urlopen(url, timeout=5) as reply,
        ):
            json.load(reply)
            return
        time.sleep(0.1)
    raise RuntimeError(f"the server did not start:\n{log.read_text(encoding='utf-8')[-2000:]}")


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        try:
            yield browser
        finally:
            browser.close()
