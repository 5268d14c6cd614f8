"""Debian's chromium, driven by playwright, on a running explorer: `make test-browser`."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

from giantstep.explorer import Explorer

from ..explorer.conftest import serving

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
# Questions that are refused or find no server are logged by the browser itself, and are what some tests want. Plotly
# brings a style sheet for maps, which are not drawn here; the content policy keeps it out.
EXPECTED = ("400 (Bad Request)", "401 (Unauthorized)", "inline style", "net::ERR_FAILED")


@pytest.fixture(scope="session")
def explorer() -> Iterator[Explorer]:
    with serving() as server:
        yield server


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    sync = pytest.importorskip("playwright.sync_api", reason="the extra 'browser' is not installed")
    path = shutil.which("chromium")
    if path is None:
        pytest.fail("chromium is absent; install it with: apt-get update && apt-get install -y chromium")
    with sync.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture
def visit(chromium: Any, explorer: Explorer, request: Any) -> Iterator[Any]:
    """Open the page with given settings in its address, and wait until these cards compute no more.

    Whatever the browser complains about fails the test.
    """
    from .looking import settled

    complaints: list[str] = []
    pages: list[Any] = []

    def open_page(
        address: str = "",
        *cards: str,
        size: tuple[int, int] = (1440, 900),
        scheme: Any = "light",
        token: bool = True,
        **more: Any,
    ) -> Any:
        context = chromium.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            reduced_motion="reduce",
            accept_downloads=True,
            **more,
        )
        page = context.new_page()
        page.set_default_timeout(60_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda said: complaints.append(said.text) if unexpected(said) else None)
        page.on("request", lambda asked: complaints.append(asked.url) if foreign(asked.url) else None)
        page.goto(f"{explorer.link if token else explorer.url}{address}")
        pages.append(page)
        if cards:
            settled(page, *cards)
        return page

    def foreign(url: str) -> bool:
        return not url.startswith((explorer.url, "data:", f"blob:{explorer.url}"))

    def unexpected(said: Any) -> bool:
        return said.type in ("error", "warning") and not any(words in said.text for words in EXPECTED)

    yield open_page
    for k, page in enumerate(pages):  # to be looked at
        page.screenshot(path=f"screenshots/{re.sub('[^a-z0-9]+', '-', request.node.name)}{k}.png")
        page.context.close()
    assert not complaints
