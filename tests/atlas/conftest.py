"""The site in a real browser: Chromium from the system, driven by Playwright; a page that complains fails."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from ptxmma.atlas.site import files, write
from ptxmma.spec.specification import Specification

# Opens a page of the site by its path in it, with a #state if there is one.
Open = Callable[[str], Page]

# Chromium takes seconds to start where every core is busy.
_PATIENCE = 60_000.0


@pytest.fixture(scope="session")
def site(specification: Specification, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, written once."""
    folder = tmp_path_factory.mktemp("atlas") / "site"
    write(folder, files(specification))
    return folder


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


@pytest.fixture
def open_page(site: Path, browser: Browser) -> Iterator[Open]:
    """Opens pages from file:// addresses; afterwards nothing was written to the console or asked of a network."""
    context = browser.new_context(offline=True, reduced_motion="reduce")
    context.set_default_timeout(_PATIENCE)
    page = context.new_page()
    complaints: list[str] = []
    page.on("console", lambda message: complaints.append(f"{page.url}: {message.text}"))
    page.on("pageerror", lambda error: complaints.append(f"{page.url}: {error}"))
    page.on("requestfailed", lambda request: complaints.append(f"{page.url}: no {request.url}"))
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith(("file:", "data:", "blob:"))
            else complaints.append(f"asks {request.url}")
        ),
    )

    def opened(path: str) -> Page:
        page.goto("about:blank")
        page.goto(f"file://{site}/{path}")
        return page

    yield opened
    context.close()
    assert complaints == []
