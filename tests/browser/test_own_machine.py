"""What the page promises: everything is computed on this machine, and nothing leaves it."""

from __future__ import annotations

from urllib.parse import urlsplit

import pytest

from .looking import ALL_IN_SIGHT, CARDS, expect, settled

pytestmark = pytest.mark.browser

BUTTONS = ["Zoom", "Pan", "Reset axes"]
NOTE_REFUSALS = """
  window.refused = [];
  document.addEventListener("securitypolicyviolation", ({ blockedURI }) => window.refused.push(blockedURI));
"""


@pytest.mark.parametrize("address", ["", "#target=x1%20%2B%20x1*x2"])
def test_a_chart_has_these_buttons_and_no_others(visit, address):
    page = visit(address, *CARDS, size=ALL_IN_SIGHT)
    for card in CARDS:
        if card == "parts" and address:
            continue  # errors are split into parts for targets of one direction alone
        page.locator(f"#{card} .nsewdrag").first.hover()
        bar = page.locator(f"#{card} .modebar")
        expect(bar).to_be_visible()
        shown = bar.locator("[data-title]").evaluate_all("(buttons) => buttons.map(({ dataset }) => dataset.title)")
        assert shown == BUTTONS, card


def test_the_page_asks_its_own_server_alone(visit, explorer):
    page = visit("#d=100&trials=2", size=ALL_IN_SIGHT)
    page.add_init_script(NOTE_REFUSALS)
    page.reload()
    settled(page)
    for card in CARDS:
        page.locator(f"#{card} .nsewdrag").first.hover()
        with page.expect_download():
            page.locator(f"#{card} .take", has_text="PNG").click()
    page.get_by_role("button", name="Simulate at d = 100").click()
    expect(page.locator("#curve .remark")).to_contain_text("standard errors")
    asked = page.evaluate("() => performance.getEntriesByType('resource').map(({ name }) => name)")
    paths = {urlsplit(url).path for url in asked}
    assert {"/main.js", "/plotly.min.js", "/api/landscape", "/api/simulate"} <= paths
    assert {urlsplit(url).netloc for url in asked} - {""} == {urlsplit(explorer.url).netloc}
    assert set(page.evaluate("() => window.refused")) <= {"inline"}  # the content policy had nothing else to refuse
