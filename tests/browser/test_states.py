"""Where each card stands: computing, computed, refused or unreachable; and the page for people who cannot see it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ..explorer.conftest import eventually
from .looking import CARDS, QUIET, delayed, enter, expect, settled, slide

pytestmark = pytest.mark.browser

DIM = 0.7  # opacity below which a picture is seen to be of other settings
OPACITY = "(chart) => Number(getComputedStyle(chart).opacity)"


def states(page: Any) -> set[str]:
    """Of the cards and of the strip of numbers."""
    return {page.locator(f"#{place}").get_attribute("data-state") for place in (*CARDS, "summary")}


def test_the_four_states_are_told_apart_on_every_card_and_tile(visit):
    page = visit("#bulk=isotropic", *CARDS, size=(1440, 2200))
    eventually(lambda: states(page) == {"computed"})
    page.locator("#set-activation").fill("sign")  # which no gradient step can use
    expect(page.locator("#set-activation-error")).to_contain_text("a spike, given directly")
    eventually(lambda: states(page) == {"refused"}, QUIET / 1000)
    for card in CARDS:
        expect(page.locator(f"#{card} .status")).to_have_text("refused: see “Activation” · shown: σ = tanh")
        eventually(lambda card=card: page.locator(f"#{card} .chart").evaluate(OPACITY) < DIM)
    expect(page.locator("#summary .words").first).to_have_text("refused; at σ = tanh")
    assert not page.locator(".card.busy").count()
    page.locator("#set-activation").fill("erf")
    eventually(lambda: states(page) == {"computed"}, QUIET / 1000)
    page.route("**/api/**", lambda route: route.abort())  # as if the server had ended
    page.locator("#set-activation").fill("relu")
    eventually(lambda: states(page) == {"unreachable"}, QUIET / 1000)
    expect(page.locator("#alarm")).to_contain_text("Start it again in a terminal with “giantstep explore”")
    expect(page.locator("#curve .status")).to_have_text("no answer · shown: σ = erf")
    expect(page.locator("#summary .words").first).to_contain_text("no answer")


def test_numbers_and_curves_behind_a_hand_are_dimmed_and_say_of_what_they_are(visit):
    page = visit("#bulk=isotropic", "curve", "learned")
    with delayed(page, "curve", "learned"):
        for _ in slide(page, "eta", (0.3, 0.4, 0.5)):
            page.wait_for_timeout(60)
            expect(page.locator("#curve .status")).to_contain_text("shown: η̃ = 3")
            expect(page.locator("#summary .words").first).to_have_text("at η̃ = 3")
            eventually(lambda: page.locator("#curve .chart").evaluate(OPACITY) < DIM)
            eventually(lambda: page.locator("#summary dd").first.evaluate(OPACITY) < DIM)
    settled(page, "curve", "learned")
    expect(page.locator("#summary .words").first).not_to_contain_text("at η̃")
    page.locator("#curve").evaluate("(card) => card.classList.add('behind')")  # as it is just behind a hand
    eventually(lambda: page.locator("#curve .chart").evaluate(OPACITY) < DIM)


def test_an_axis_keeps_its_kind_until_the_visitor_changes_it(visit):
    page = visit("#bulk=isotropic", "curve")
    kind = lambda: page.locator("#curve .chart").evaluate("({ layout }) => layout.yaxis.type")  # noqa: E731
    kinds = set()
    for _ in slide(page, "eta", (0.0, 0.2, 0.5, 0.8, 1.0)):
        page.wait_for_timeout(300)
        kinds.add(kind())
    settled(page, "curve")
    assert kinds | {kind()} == {"log"}
    page.get_by_role("button", name="Learning curve: logarithmic or linear axis").click()
    enter(page, "lam", "10")
    settled(page, "curve")
    assert kind() == "linear"


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 2200), (390, 844)])
def test_axe_finds_no_violations(visit, size, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="the extra 'browser' is not installed")
    page = visit("#bulk=isotropic", *CARDS, size=size, scheme=scheme)
    for fold in page.locator("details:not([open]) > summary").all()[::-1]:
        fold.click()
    found = axe.Axe().run(page)
    said = [(v["id"], [n["target"] for n in v["nodes"]][:3]) for v in found.response["violations"]]
    assert not said


def test_the_settings_come_before_the_charts_by_keyboard(visit):
    page = visit("#bulk=isotropic", "curve")
    after = "(controls) => controls.compareDocumentPosition(stage) & Node.DOCUMENT_POSITION_FOLLOWING"
    assert page.locator("#controls").evaluate(after)
    page.locator("body").press("Tab")
    page.keyboard.press("Enter")  # the link that skips to the settings
    page.keyboard.press("Tab")
    expect(page.locator("#set-activation")).to_be_focused()


def test_something_is_there_before_anything_has_answered(visit):
    page = visit("")
    page.route("**/api/**", lambda route: None)  # nobody answers
    page.reload(wait_until="commit")
    expect(page.locator("#intro svg")).to_be_visible()
    expect(page.locator("#stage .skeleton")).to_be_visible()
    painted = page.evaluate("""() => new Promise((done) => new PerformanceObserver((list) =>
      done(list.getEntries()[0].startTime)).observe({ type: "paint", buffered: true }))""")
    assert painted < 1000  # milliseconds
    page.unroute("**/api/**")


def test_the_example_menu_follows_the_settings(visit):
    page = visit("", "curve")
    chosen = page.locator("#examples option:checked")
    expect(chosen).to_have_text("2  One giant step can")
    page.locator("#set-eta").fill("2")
    expect(chosen).to_have_text("choose…")
    page.wait_for_timeout(1000)  # a pause ends a step of the history
    page.locator("#examples").select_option(label="6  Signs: a classifier")
    expect(chosen).to_have_text("6  Signs: a classifier")
    expect(page.locator("#summary dt").first).to_have_text("Wrong signs", timeout=QUIET)
    page.get_by_role("button", name="Undo").click()
    expect(chosen).to_have_text(re.compile("choose"))
