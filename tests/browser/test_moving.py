"""Settings that change: nothing on the page is of other settings than it seems, and every control does something."""

from __future__ import annotations

import re
from typing import Any

import pytest

from ..explorer.conftest import eventually
from .looking import ALL_IN_SIGHT, delayed, expect, settled, traces

pytestmark = pytest.mark.browser


def shown(page: Any) -> dict[str, Any]:
    """Every curve, and the place of the working point."""
    mark = page.locator("#curve .chart").evaluate("(box) => box.layout.shapes.map(({ x0 }) => x0)")
    return {"mark": mark} | {name: trace["y"] for name, trace in traces(page).items() if name != "main"}


def test_a_slow_answer_leaves_a_pale_picture_and_never_a_mixed_one(visit):
    page = visit("#bulk=isotropic", "curve", "learned")
    before = shown(page)
    opacity = "(chart) => getComputedStyle(chart).opacity"
    with delayed(page, "curve", "learned"):
        page.locator("#examples").select_option(label="A classifier by logistic regression")
        for place in ("#curve", "#summary"):
            expect(page.locator(place)).to_have_class(re.compile("stale"))
        expect(page.locator("#curve .status")).to_contain_text("computing")
        expect(page.locator("#coefficients")).to_have_attribute("data-state", "computed")
        page.wait_for_timeout(1500)  # random features of the new settings have come: they wait for the curve
        assert shown(page) == before
        assert float(page.locator("#curve .chart").evaluate(opacity)) < 0.5
    settled(page, "curve", "learned")
    expect(page.locator("#curve.stale, #summary.stale")).to_have_count(0)
    eventually(lambda: float(page.locator("#curve .chart").evaluate(opacity)) == 1)  # it fades in
    assert all(0 < share < 0.5 for share in traces(page)["main"]["y"])


def test_a_late_second_curve_is_left_out_rather_than_kept(visit):
    page = visit("", "curve")
    with delayed(page, "random_features"):
        page.locator("#set-beta").fill("2")
        eventually(lambda: "random features: no step (d = 300)" not in traces(page))  # they were of the old width
        assert "this network (d = 300)" in traces(page)
    eventually(lambda: "random features: no step (d = 300)" in traces(page))


def test_the_curve_follows_a_slider_that_keeps_moving(visit):
    page = visit("", "curve")
    moves = """async () => {
      const slider = document.querySelector("#slide-eta"), box = document.querySelector("#curve .chart");
      const middle = () => box.data.find(({ meta }) => meta === "main").y[12];
      let pictures = 0, last = middle();
      for (let k = 0; k < 150 || (pictures < 4 && k < 3000); k += 1) {
        slider.value = 80 + Math.round(60 * Math.sin(k / 50));
        slider.dispatchEvent(new Event("input"));
        await new Promise((done) => setTimeout(done, 20));
        if (middle() !== last) pictures += 1;
        last = middle();
      }
      return pictures;
    }"""
    assert page.evaluate(moves) >= 4  # drawn on the way, not only at the end
    settled(page, "curve")
    fresh = visit(f"#{page.url.partition('#')[2]}", "curve")
    assert shown(fresh) == shown(page)  # the last picture is that of the last setting, refined
    assert len(traces(page)["main"]["x"]) == 80


def test_axes_fit_the_last_answer_once_the_hand_rests(visit):
    """Also if that answer came while the hand still moved, when axes stay as they are."""
    page = visit("#bulk=isotropic", "curve")
    ranges = page.evaluate("""async () => {
      const { Chart } = await import("./chart.js"), box = document.createElement("div");
      Object.assign(box.style, { width: "500px", height: "400px" });
      document.body.append(box);
      const chart = new Chart(box, "test"), small = [1, 2, 3], found = [];
      for (const [y, moving] of [[[0, 50, 100], false], [small, true], [small, false]]) {
        chart.draw({ traces: [{ type: "scatter", x: [0, 1, 2], y }], names: ["x", "y"], x: {}, y: {} }, moving);
        await new Promise((done) => setTimeout(done, 100));
        found.push(box.layout.yaxis.range[1]);
      }
      return found;
    }""")
    assert ranges[0] == ranges[1] > 100
    assert 3 < ranges[2] < 4


@pytest.mark.parametrize(
    ("card", "places"), [("curve", {"alpha": (0.1, 1)}), ("optimum", {"eta": (0.05, 0.2), "lam": (10, 100)})]
)
def test_a_click_on_a_chart_goes_there(visit, card, places):
    """A tenth from the left and from the top, on axes in ratios."""
    page = visit("#bulk=isotropic", card, size=ALL_IN_SIGHT)
    box = page.locator(f"#{card} .chart .nsewdrag").bounding_box()
    page.mouse.move(box["x"] + 0.1 * box["width"], box["y"] + 0.1 * box["height"])
    page.mouse.down()
    page.mouse.up()
    expect(page).to_have_url(re.compile("[#&]" + next(iter(places))))
    for name, (low, high) in places.items():
        assert low < float(page.locator(f"#set-{name}").input_value()) < high


def test_undo_and_redo_are_the_browser_s(visit):
    page = visit("#bulk=isotropic", "curve")
    undo, redo = page.get_by_role("button", name="Undo"), page.get_by_role("button", name="Redo")
    expect(undo).to_be_disabled()
    page.locator("#set-eta").fill("1")
    page.wait_for_timeout(1000)  # a pause ends a step
    page.locator("#set-lam").fill("0.5")
    undo.click()
    expect(page.locator("#set-lam")).to_have_value("0.1")
    expect(page.locator("#set-eta")).to_have_value("1")
    page.locator("body").press("Control+z")
    expect(page.locator("#set-eta")).to_have_value("3")
    expect(undo).to_be_disabled()
    redo.click()
    expect(page.locator("#set-eta")).to_have_value("1")
    page.go_forward()
    expect(page.locator("#set-lam")).to_have_value("0.5")
    expect(redo).to_be_disabled()
    settled(page, "curve")


def test_the_strip_of_numbers_has_every_step(visit):
    page = visit("#eta=1&alpha0=0.5&noise=0&bulk=isotropic", "learned")
    strip = page.locator("#summary")
    expect(strip).to_contain_text("of the step in the first layer")
    page.locator("#set-steps").fill("3")
    expect(strip).to_contain_text(re.compile(r"0\.672 → 0\.841 → 0\.954"))  # r, step by step
    expect(strip).to_contain_text("Before the fit")
    page.locator("#set-steps").fill("9")
    expect(page.locator("#set-steps-error")).to_contain_text("from 1 to 8")


def test_what_is_pinned_stays_to_compare(visit):
    page = visit("#bulk=isotropic", "curve", "learned")
    kept = traces(page)["main"]["y"]
    page.get_by_role("button", name="Pin", exact=True).click()
    page.locator("#set-eta").fill("1")
    settled(page, "curve", "learned")
    pinned = traces(page)["pinned: η̃ = 3"]
    assert pinned["y"] == kept
    assert traces(page)["main"]["y"] != kept
    eventually(lambda: "pinned: η̃ = 3" in traces(page, "learned"))  # it is drawn when the curve has been
    again = visit(f"#{page.url.partition('#')[2]}")  # pins travel with the link
    settled(again, "curve")
    assert traces(again)["pinned: η̃ = 3"]["y"] == kept
    page.get_by_role("button", name="Unpin η̃ = 3").click()
    eventually(lambda: "pinned: η̃ = 3" not in traces(page))
