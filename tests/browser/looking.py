"""What tests look at on the page, and how they wait for it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest

expect = pytest.importorskip("playwright.sync_api", reason="the extra 'browser' is not installed").expect
expect.set_options(timeout=60_000)  # milliseconds: a busy machine is no reason to fail

QUIET = 120_000  # milliseconds until all cards have answered, on a busy machine
CARDS = ("curve", "learned", "optimum", "coefficients", "spectrum")


def settled(page: Any, *cards: str) -> None:
    """The page is there, and these cards (all, if none is named) compute no more."""
    busy = ", ".join(f"#{card}.busy" for card in cards) or ".card.busy"
    expect(page.locator("html[data-ready=true]")).to_be_attached(timeout=QUIET)
    expect(page.locator(busy)).to_have_count(0, timeout=QUIET)
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def traces(page: Any, card: str = "curve") -> dict[str, dict[str, Any]]:
    """What is drawn on a card, by name; the main curve also as "main"."""
    picked = "(box) => JSON.stringify((box.data ?? []).map(({name, x, y, meta}) => ({name, x, y, meta})))"
    found = json.loads(page.locator(f"#{card} .chart").evaluate(picked))
    return {trace["meta"]: trace for trace in found if "meta" in trace} | {
        trace["name"]: trace for trace in found
    }


def unfold(page: Any) -> None:
    """Open what is folded away among the controls."""
    for fold in page.locator("details.more:not([open]) > summary").all()[::-1]:
        fold.click()


def drawn(page: Any, card: str = "curve") -> None:
    """There is a picture on the card."""
    expect(page.locator(f"#{card} .chart .main-svg").first).to_be_visible()


def eventually(condition: Callable[[], Any], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


class Delayed:
    """Answers of some views are held back until they are let go."""

    def __init__(self, page: Any, *views: str):
        self.page, self.held, self.open = page, [], False
        for view in views:
            page.route(f"**/api/{view}", self._answer)
            page.route(f"**/api/{view}/draft", self._answer)

    def _answer(self, route: Any) -> None:
        if self.open:
            route.continue_()
        else:
            self.held.append(route)

    def let_go(self) -> None:
        self.open = True
        for route in self.held:
            try:
                route.continue_()
            except Exception:  # the page has given it up
                continue
