"""The explorer in a real browser: what a visitor does, and what the page looks like afterwards."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.browser
expect = pytest.importorskip("playwright.sync_api", reason="the extra 'browser' is not installed").expect
expect.set_options(timeout=60_000)  # milliseconds: a busy machine is no reason to fail

QUIET = 120_000  # milliseconds until all cards have answered, on a busy machine


def settled(page: Any) -> None:
    expect(page.locator("html[data-ready=true]")).to_be_attached(timeout=QUIET)
    expect(page.locator(".card.busy")).to_have_count(0, timeout=QUIET)


def main_curve(page: Any) -> str:
    return page.locator("#curve .chart > svg .main .curve").first.get_attribute("d")


def test_all_views_appear(visit: Any, pictures: Path) -> None:
    page = visit()
    settled(page)
    page.screenshot(path=pictures / "initial.png")
    for card in ("curve", "learned", "optimum", "coefficients", "spectrum"):
        expect(page.locator(f"#{card} .chart > svg")).to_be_visible()
    expect(page.locator("#curve .legend")).to_contain_text("random features")
    expect(page.locator("#optimum .legend")).to_contain_text("optimum: error")
    expect(page.locator(".message.error")).to_have_count(0)
    assert page.locator("#curve .series.simulation").count() == 0


def test_a_slider_moves_the_curve_and_the_address(visit: Any) -> None:
    page = visit()
    expect(page.locator("#curve .chart > svg .main .curve")).to_be_visible()
    before = main_curve(page)
    slider = page.get_by_label("Learning rate ÷ d, slider")
    slider.focus()
    page.keyboard.press("PageUp")  # sliders answer to the keyboard
    expect(page.locator("#set-eta")).not_to_have_value("3")
    expect(page).to_have_url(re.compile("#eta="))
    expect(page.locator("#curve .chart > svg .main .curve")).not_to_have_attribute("d", before)


def test_the_curve_follows_a_slider_that_keeps_moving(visit: Any) -> None:
    page = visit("#bulk=isotropic")
    settled(page)
    slider = page.get_by_label("Learning rate ÷ d, slider")
    slider.focus()
    seen = {main_curve(page)}
    for _ in range(60):  # two steps per picture or so: no rest between them
        page.keyboard.press("ArrowRight", delay=15)
        seen.add(main_curve(page))
    assert len(seen) > 3  # it was redrawn on the way, not only at the end
    settled(page)
    fresh = visit(f"#{page.url.partition('#')[2]}")
    settled(fresh)
    assert main_curve(fresh) == main_curve(page)  # and the last picture is that of the last setting


def test_a_link_restores_the_page(visit: Any) -> None:
    page = visit("#target=He2&eta=3.5&finite=true&readout=ternary&alpha0=inf")
    expect(page.locator("#set-target")).to_have_value("He2")
    expect(page.locator("#set-eta")).to_have_value("3.5")
    expect(page.locator("#set-alpha0")).to_have_value("inf")
    expect(page.locator("#set-finite")).to_be_checked()
    address = page.url
    page.reload()
    expect(page.locator("#set-readout")).to_have_value("ternary")
    assert page.url == address


def test_the_target_can_be_an_expression(visit: Any) -> None:
    page = visit()
    expect(page.locator("#learned .chart > svg .plain .curve")).to_be_visible()
    before = page.locator("#learned .chart > svg .plain .curve").get_attribute("d")
    page.locator("#set-target").fill("tanh(2*x) + 0.3*x**3")
    expect(page.locator("#learned .chart > svg .plain .curve")).not_to_have_attribute("d", before)
    page.locator("#learned details summary").click()
    expect(page.locator("#learned pre")).to_contain_text('gs.Target("tanh(2*x) + 0.3*x**3")')


@pytest.mark.parametrize(
    "text",
    ["<img src=x onerror=alert(1)>", "__import__('os').system('id')", "');alert(1)//", "tanh(", "exp(x**4)"],
)
def test_hostile_texts_give_one_message_and_nothing_else(visit: Any, text: str) -> None:
    page = visit()
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    expect(page.locator("#curve .chart > svg .main .curve")).to_be_visible()
    page.locator("#set-target").fill(text)
    expect(page.locator("#alarm .message.error")).to_have_count(1)
    assert "Traceback" not in page.content()
    assert page.locator("img").count() == 0
    assert not dialogs
    page.locator("#set-target").fill("sin")  # and the page recovers
    expect(page.locator("#alarm .message.error")).to_have_count(0)


def test_classification_shows_shares_of_wrong_signs(visit: Any) -> None:
    page = visit("#target=sign&quantity=test_error_01&bulk=isotropic")
    expect(page.locator("#curve .chart > svg .main .curve")).to_be_visible()
    expect(page.locator("#summary")).to_contain_text("Wrong signs")
    page.locator("#set-target").fill("sin")
    expect(page.locator("#curve .message.note")).to_contain_text("Labels are not ±1")


def test_the_same_text_in_a_link_is_harmless(visit: Any) -> None:
    page = visit("#target=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&__proto__=1&eta=1e400")
    expect(page.locator("#alarm .message.error").first).to_be_visible()
    assert page.locator("img").count() == 0


def test_a_simulation_drops_its_points_and_can_be_cancelled(visit: Any, pictures: Path) -> None:
    page = visit("#d=100&trials=4&bulk=isotropic")
    expect(page.locator("#curve .chart > svg .main .curve")).to_be_visible()
    page.get_by_role("button", name="Simulate at d = 100").click()
    expect(page.locator("#curve .chart > svg .simulation .marker").first).to_be_visible()
    expect(page.locator("#curve .remark")).to_contain_text("standard errors", timeout=QUIET)
    assert page.locator("#curve .chart > svg .simulation .bar").count() == 8
    settled(page)
    page.screenshot(path=pictures / "simulation.png")
    page.locator("#set-d").fill("1500")
    expect(page.locator("#curve .chart > svg .simulation")).to_have_count(0)  # these were of another d
    page.get_by_role("button", name="Simulate at d = 1500").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#curve .remark")).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Simulate at d = 1500")).to_be_visible()


def test_python_lines_can_be_copied(visit: Any) -> None:
    page = visit()
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    settled(page)
    page.locator("#curve details summary").click()
    page.get_by_role("button", name="Copy the Python lines: The network").click()
    expect(page.get_by_role("button", name="Copy the Python lines: The network")).to_have_text("Copied")
    assert page.evaluate("() => navigator.clipboard.readText()").startswith(
        "import numpy as np\nimport giantstep"
    )


def test_every_control_has_a_name_and_can_be_reached_by_keyboard(visit: Any) -> None:
    page = visit()
    expect(page.locator("#controls input").first).to_be_visible()
    fields = page.locator("#controls input, #controls select").all()
    unnamed = [
        f
        for f in fields
        if not f.get_attribute("aria-label")
        and not page.locator(f"label[for={f.get_attribute('id')}]").count()
    ]
    assert not unnamed
    page.locator("body").press("Tab")
    expect(page.locator(".skip")).to_be_focused()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [(1440, 900), (820, 1100), (390, 844)])
def test_it_fits_every_window(visit: Any, pictures: Path, size: tuple[int, int], scheme: str) -> None:
    page = visit("#bulk=isotropic&noise=0.3&lam=0.01", size=size, scheme=scheme)
    settled(page)
    overflow = page.evaluate(
        "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    assert overflow <= 0
    page.screenshot(path=pictures / f"page-{size[0]}-{scheme}.png", full_page=True)
