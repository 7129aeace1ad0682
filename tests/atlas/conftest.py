"""The site in a real browser: Chromium from the system, driven by Playwright; a page that complains fails."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Request, sync_playwright

from ..long_examples import ATLAS

# Opens a page of the site by its path in it, with a #state if there is one.
Open = Callable[[str], Page]

# Chromium takes seconds to start where every core is busy.
_PATIENCE = 60_000.0


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Path:
    """The whole site, as a user makes it, once for all workers of pytest-xdist: by the first that needs it."""
    place = tmp_path_factory.getbasetemp()
    folder = (place if worker_id == "master" else place.parent) / "atlas" / "site"
    folder.parent.mkdir(exist_ok=True)
    with (folder.parent / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not folder.exists():
            unfinished = folder.with_name(f"of-{worker_id}")
            unfinished.mkdir()
            command = [sys.executable, "-m", *ATLAS.split()]
            subprocess.run(command, cwd=unfinished, check=True, capture_output=True)
            (unfinished / "site").rename(folder)
    return folder


@pytest.fixture(scope="session")
def made(site: Path) -> Mapping[str, str]:
    """What every file of the site holds, by its path."""
    found = sorted(path for path in site.rglob("*") if path.is_file() and path.name != ".ptxmma-atlas")
    return {path.relative_to(site).as_posix(): path.read_bytes().decode() for path in found}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium without network."""
    path = shutil.which("chromium")
    if path is None:
        pytest.skip("no chromium is installed; on Debian: apt-get install chromium")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"], timeout=_PATIENCE
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def tab(browser: Browser) -> Iterator[Page]:
    """One tab for the tests of a module: a new one takes half a second of a processor."""
    context = browser.new_context(offline=True, reduced_motion="reduce")
    context.set_default_timeout(_PATIENCE)
    yield context.new_page()
    context.close()


@pytest.fixture
def open_page(site: Path, tab: Page) -> Iterator[Open]:
    """Opens pages from file:// addresses; afterwards nothing was written to the console or asked of a network."""
    complaints: list[str] = []

    def asked(request: Request) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            complaints.append(f"asks {request.url}")

    heard: Mapping[Any, Callable[[Any], None]] = {
        "console": lambda message: complaints.append(f"{tab.url}: {message.text}"),
        "pageerror": lambda error: complaints.append(f"{tab.url}: {error}"),
        "requestfailed": lambda request: complaints.append(f"{tab.url}: no {request.url}"),
        "request": asked,
    }

    def opened(path: str) -> Page:
        address = f"file://{site}/{path}"
        if address.partition("#")[0] == tab.url.partition("#")[0]:
            tab.goto("about:blank")  # else a page that is there would only be told its new #state
        tab.goto(address)
        return tab

    for event, hear in heard.items():
        tab.on(event, hear)
    tab.set_viewport_size({"width": 1280, "height": 720})
    yield opened
    tab.evaluate("localStorage.clear()")
    for event, hear in heard.items():
        tab.remove_listener(event, hear)
    assert complaints == []
