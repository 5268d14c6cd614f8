"""The explorer in a real browser: what a visitor does, and what the page looks like afterwards."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import numpy as np
import pytest

from ..explorer.conftest import eventually
from .looking import CARDS, QUIET, expect, settled, traces, unfold

pytestmark = pytest.mark.browser


def test_a_page_without_its_token_says_what_to_open(visit, explorer):
    page = visit(token=False)
    expect(page.locator("#alarm")).to_contain_text("the whole link that giantstep explore printed")
    page.goto(explorer.link)
    expect(page.locator("html[data-ready=true]")).to_be_attached()
    assert "token" not in page.url  # it is kept, but not in sight
    page.goto(f"{explorer.url}#eta=2")  # a link from a colleague
    page.reload()
    expect(page.locator("#set-eta")).to_have_value("2")


def test_a_page_without_plotly_says_what_to_install(visit, monkeypatch):
    monkeypatch.setattr("giantstep.explorer.assets.find_spec", lambda name: None)
    page = visit()
    expect(page.locator("#alarm")).to_contain_text("pip install 'giantstep[explore]'")


def test_a_link_restores_the_page(visit):
    page = visit("#target=He2&eta=3.5&finite=false&readout=ternary&alpha0=inf&pin=eta%3D1")
    expect(page.locator("#set-target")).to_have_value("He2")
    expect(page.locator("#set-eta")).to_have_value("3.5")
    expect(page.locator("#set-alpha0")).to_have_value("inf")
    expect(page.locator("#set-finite")).not_to_be_checked()
    expect(page.locator(".unpin")).to_have_count(1)
    address = page.url
    page.reload()
    expect(page.locator("#set-readout")).to_have_value("ternary")
    assert page.url == address


def test_a_function_of_two_directions_is_learned_on_a_plane(visit):
    page = visit("", "curve", "learned")
    page.locator("#examples").select_option(label="A readout of both signs")
    settled(page, "curve", "learned")
    page.locator("#learned").scroll_into_view_if_needed()
    eventually(lambda: traces(page, "learned")["target"]["x"][0] == -2.5)
    titles = page.locator("#learned .annotation-text").all_text_contents()
    assert titles == ["target", "network, on average", "pinned: a₀ = uniform"]
    with page.expect_download() as waiting:
        page.locator("#learned .take", has_text="CSV").click()
    head, *rows = Path(waiting.value.path()).read_text().splitlines()
    assert head == 'x1,x2,target,"network, on average",pinned: a₀ = uniform'
    assert len(rows) == 33**2
    for row in rows[:: len(rows) // 7]:
        x1, x2, target, *_ = map(float, row.split(","))
        assert target == pytest.approx(x1 + x1 * x2, abs=1e-12)
    page.locator("#learned .chart").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#learned .hoverlayer text").first).to_be_visible()
    page.locator("#set-target").fill("sin")  # back to a line
    eventually(lambda: "target (σ⋆)" in traces(page, "learned"))


HOSTILE = ("<img src=x onerror=alert(1)>", "__import__('os').system('id')", "');alert(1)//", "tanh(", "exp(x**4)")


def test_hostile_texts_give_one_message_at_their_field(visit):
    page = visit("#target=%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E&__proto__=1&eta=1e400")
    dialogs: list[str] = []
    page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
    expect(page.locator("#set-eta-error")).to_contain_text("Learning rate ÷ d")
    page.goto(f"{page.url.partition('#')[0]}#bulk=isotropic")
    settled(page, "curve")
    for text in HOSTILE:
        page.locator("#set-target").fill(text)
        expect(page.locator("#set-target-error")).not_to_be_empty()
        expect(page.locator("#set-target")).to_have_attribute("aria-invalid", "true")
        expect(page.locator("#curve.stale")).to_have_count(1)  # the picture is of something else
        expect(page.locator(".message.error")).to_have_count(0)  # it is said once, at the field
        page.get_by_role("button", name="Pin", exact=True).click()
        expect(page.locator(".unpin")).to_have_count(0)  # what has no answer cannot be kept
        assert "Traceback" not in page.content()
        assert page.locator("img").count() == 0
    assert not dialogs
    page.locator("#set-target").fill("sin")  # and the page recovers
    expect(page.locator("[aria-invalid]")).to_have_count(0)
    settled(page, "curve")
    expect(page.locator("#curve.stale")).to_have_count(0)


def test_classification_is_judged_by_its_signs(visit):
    page = visit("#target=sign&noise=0&bulk=isotropic", "curve", "learned")
    expect(page.locator("#summary dt").first).to_have_text("Wrong signs")
    shares = traces(page)["main"]["y"]
    assert all(0 < share < 0.5 for share in shares)
    unfold(page)
    page.locator("#set-quantity").select_option("test_error")
    eventually(lambda: traces(page)["main"]["y"] != shares)
    squared = ("best of the map: error", "optimum")
    eventually(lambda: any(name.startswith(squared) for name in traces(page, "optimum")))
    page.locator("#set-quantity").select_option("auto")
    eventually(lambda: any(name.startswith("best of the map: wrong") for name in traces(page, "optimum")))
    page.locator("#set-quantity").select_option("train_error_01")
    page.locator("#set-target").fill("sin")
    expect(page.locator("#curve .facts")).to_contain_text("Labels are not ±1")


def test_structured_inputs_leave_out_what_is_not_known_for_them(visit):
    page = visit("#alpha0=2&d=1000", "curve")
    references = {"best possible", "best linear method"}
    assert references <= set(traces(page))
    expect(page.locator("#set-share")).to_be_hidden()
    page.locator("#set-inputs").select_option("blocks")
    page.locator("#set-share").fill("0.8")
    settled(page)
    assert not references & set(traces(page))
    assert page.locator("[aria-invalid], .message").count() == 0
    page.locator("#set-layer").select_option("spiked")  # which has isotropic inputs
    expect(page.locator("#set-inputs")).to_be_hidden()
    settled(page, "curve")
    assert "best linear method" in traces(page)


def test_what_is_drawn_can_be_taken_away(visit):
    page = visit("#bulk=isotropic")
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    settled(page, "curve")
    page.locator("#curve .python summary").click()
    copy = page.get_by_role("button", name="Copy the Python lines: The network")
    copy.click()
    expect(copy).to_have_text("Copied")
    assert page.evaluate("() => navigator.clipboard.readText()").startswith("import numpy as np\nimport giantstep")
    for kind, opening in {"PNG": b"\x89PNG", "SVG": b"<svg"}.items():
        with page.expect_download() as waiting:
            page.get_by_role("button", name=f"Learning curve: save as {kind} picture").click()
        assert waiting.value.suggested_filename == f"giantstep-curve.{kind.lower()}"
        assert Path(waiting.value.path()).read_bytes().startswith(opening)


def test_a_simulation_drops_its_points_and_can_be_cancelled(visit):
    page = visit("#d=100&trials=4&bulk=isotropic", "curve")
    page.get_by_role("button", name="Simulate at d = 100").click()
    expect(page.locator("#curve .remark")).to_contain_text("standard errors", timeout=QUIET)
    eventually(lambda: "simulation, d = 100, 4 of 4 trials" in traces(page))
    assert len(traces(page)["simulation, d = 100, 4 of 4 trials"]["x"]) == 8
    page.locator("#set-d").fill("1500")
    eventually(lambda: not any(name.startswith("simulation") for name in traces(page)))  # they were of another d
    page.get_by_role("button", name="Simulate at d = 1500").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#curve .remark")).to_contain_text("cancelled")


@pytest.mark.parametrize("card", CARDS)
def test_the_values_of_every_chart_can_be_saved(visit, card):
    page = visit("#bulk=isotropic", card)
    page.locator(f"#{card}").scroll_into_view_if_needed()
    expect(page.locator(f"#{card} .chart .main-svg").first).to_be_visible()
    with page.expect_download() as waiting:
        page.locator(f"#{card} .take", has_text="CSV").click()
    head, *rows = csv.reader(Path(waiting.value.path()).read_text().splitlines())
    assert head[0] == ("eta" if card == "optimum" else "series")
    main = traces(page, card)["main"]
    if card == "optimum":
        map_of = [*np.meshgrid(main["x"], main["y"]), np.exp(np.array(main["z"], float))]  # shades are logarithms
        np.testing.assert_allclose(np.array(rows, float), np.stack(map_of, axis=-1).reshape(-1, 3), rtol=1e-9)
    elif card == "parts":
        assert [float(row[1]) for row in rows] == pytest.approx(main["x"])
    else:
        mine = [float(row[2]) for row in rows if row[0] == main["name"] and row[2]]
        assert mine == pytest.approx([value for value in main["y"] if value is not None])


@pytest.mark.parametrize("size", [(1440, 900), (820, 1100), (390, 844)])
def test_it_fits_every_window_and_nothing_covers_the_legend(visit, size):
    page = visit("#bulk=isotropic&noise=0.3&lam=0.01", "curve", size=size)
    root = page.locator("html")
    assert root.evaluate("(root) => root.scrollWidth <= root.clientWidth")
    plot, legend = (page.locator(f"#curve .{part}").bounding_box() for part in ("nsewdrag", "legend"))
    page.locator("#curve .nsewdrag").hover()
    bar = page.locator("#curve .modebar").bounding_box()
    assert legend["y"] > plot["y"] + plot["height"]
    assert bar["y"] + bar["height"] <= legend["y"]
    assert legend["height"] < plot["height"] / 2


def test_the_main_question_is_above_the_fold(visit):
    page = visit("#bulk=isotropic", "curve")
    sliders = [f"#slide-{name}" for name in ("noise", "eta", "alpha0", "beta", "alpha", "lam")]
    for place in ("#summary", "#curve .chart", "#set-loss", *sliders):
        box = page.locator(place).bounding_box()
        assert box["y"] >= 0
        assert box["y"] + box["height"] <= 900, place


def test_on_a_phone_the_curve_stays_in_view_while_a_slider_moves(visit):
    page = visit("#bulk=isotropic", "curve", size=(390, 844), has_touch=True, is_mobile=True)
    slider = page.locator("#slide-lam")
    page.evaluate("() => document.querySelector('#slide-lam').scrollIntoView({ block: 'end' })")
    before = traces(page)["main"]["y"]
    slider.evaluate("(s) => { s.value = 150; s.dispatchEvent(new Event('input')); }")
    eventually(lambda: traces(page)["main"]["y"] != before)
    chart, hand = page.locator("#curve .chart").bounding_box(), slider.bounding_box()
    assert chart["y"] >= -1
    assert chart["y"] + chart["height"] <= hand["y"]  # the one is not in front of the other
    assert hand["y"] + hand["height"] <= 845


def test_a_chart_takes_the_keyboard(visit):
    page = visit("#bulk=isotropic", "curve")
    page.locator("#curve .chart").focus()
    page.keyboard.press("ArrowRight")
    expect(page.locator("#curve .hoverlayer text").first).to_be_visible()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("alpha="))
    label = page.locator("#curve .chart").get_attribute("aria-label")
    assert "this network, isotropic model (d = 300): from" in label
    page.locator("#optimum .chart").focus()
    settled(page, "optimum")
    expect(page.locator("#optimum .chart .main-svg").first).to_be_visible()
    for _ in range(6):  # from the middle, away from the marks
        page.keyboard.press("ArrowRight")
    expect(page.locator("#optimum .hoverlayer text").first).to_contain_text("test error")
