"""The built-in examples: each is answered soon, without a warning, with numbers that mean something."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import parse_qsl

import pytest
from threadpoolctl import threadpool_limits

from giantstep.explorer.settings import Settings
from giantstep.explorer.views import VIEWS

from .looking import QUIET, expect, settled, traces

pytestmark = pytest.mark.browser

LONGEST = {"landscape": 6.0, "optimum": 6.0}  # seconds of processor time for the map; others:
LONGEST_VIEW = 3.0


def examples(page: Any) -> list[tuple[str, str]]:
    """Titles and settings, as after # in a link."""
    groups = page.evaluate("async () => Object.values((await import('./presets.js')).PRESETS)")
    return [tuple(example) for group in groups for example in group]


def parsed(text: str) -> dict[str, Any]:
    """Settings as the page sends them."""
    usual = Settings()
    values: dict[str, Any] = {name: value for name, value in parse_qsl(text) if name != "pin"}
    for name, value in values.items():
        kind = type(getattr(usual, name))
        if kind is bool:
            values[name] = value == "true"
        elif value != "inf":
            values[name] = kind(value)
    return values


def test_every_example_is_answered_soon_and_without_a_warning(visit):
    page = visit("#bulk=isotropic", "curve")
    slow, warned = [], []
    for title, text in examples(page):
        settings = Settings.parse(parsed(text))
        for name, view in VIEWS.items():
            polished = settings.loss == "square" and settings.layer == "step" and settings.steps == 1
            if name in ("simulate", "bounds") or (name == "optimum" and not polished):
                continue
            if name == "best_possible" and not settings.best:
                continue
            with threadpool_limits(1):  # as in the page's own processes
                begun = time.process_time()
                answer = view.answer(settings.only(view.uses))
                spent = time.process_time() - begun
            if spent > LONGEST.get(name, LONGEST_VIEW):
                slow.append((title, name, round(spent, 1)))
            orthogonal = name == "spectrum" and settings.bulk == "orthogonal"  # which is another's, as it says
            limit = name == "parts"  # which are those of the limit, and say so where that is far
            if answer.get("notes") and not (orthogonal or limit):
                warned.append((title, name, answer["notes"]))
    assert not slow
    assert not warned


def test_every_example_opens_without_a_complaint(visit):
    page = visit("#bulk=isotropic", "curve")
    for title, text in examples(page):
        page.locator("#examples").select_option(f"#{text}")
        settled(page, "curve", "learned")
        expect(page.locator("#curve")).to_have_attribute("data-state", "computed", timeout=QUIET)
        assert not page.locator("#alarm").inner_text(), title
        # other cards may still say something: parts are those of the limit, orthogonal rows have another spectrum
        complaints = page.locator("[aria-invalid], .message.error, #curve .message, #learned .message")
        assert complaints.count() == 0, title
        assert traces(page)["main"]["y"], title
        if "target=sign" in text and "quantity" not in text:  # an activation may be sign too
            expect(page.locator("#summary dt").first).to_have_text("Wrong signs")
