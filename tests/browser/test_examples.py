"""The built-in examples: each is answered soon, without a warning, with numbers that mean something."""

from __future__ import annotations

import time
from typing import Any

import pytest
from threadpoolctl import threadpool_limits

from giantstep.explorer.settings import Settings
from giantstep.explorer.views import VIEWS

from .looking import QUIET, expect, settled, traces

pytestmark = pytest.mark.browser

LONGEST = {"landscape": 6.0, "optimum": 6.0}  # seconds of processor time for the map; others:
LONGEST_VIEW = 3.0


def examples(page: Any) -> list[tuple[str, str, dict[str, Any]]]:
    """Titles, settings as after # in a link, and as the page sends them."""
    return page.evaluate("""async () => {
      const load = (name) => import(`./${name}.js`), { about } = await load("api"), { PRESETS } = await load("presets");
      const { decode, initialOf } = await load("state"), initial = initialOf((await about()).controls);
      return Object.values(PRESETS).flat().map(([title, text]) => [title, text, decode(text, initial)]);
    }""")


def test_every_example_is_answered_soon_and_without_a_warning(visit):
    page = visit("#bulk=isotropic", "curve")
    slow, warned = [], []
    for title, _, given in examples(page):
        settings = Settings.parse({name: value for name, value in given.items() if name != "pins"})
        for name, view in VIEWS.items():
            polished = settings.loss == "square" and settings.layer == "step" and settings.steps == 1
            asked = {"simulate": False, "bounds": False, "optimum": polished, "best_possible": settings.best}
            if not asked.get(name, True):
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
    for title, text, _ in examples(page):
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
