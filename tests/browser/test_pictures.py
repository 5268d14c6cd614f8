"""Every chart, looked at: its marks are there and are those of the settings, whichever control was moved, and how."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from giantstep.explorer.settings import Settings, controls
from giantstep.explorer.views import VIEWS

from ..explorer.conftest import Visitor, eventually
from .looking import ALL_IN_SIGHT, CARDS, OTHER, QUIET, enter, expect, pixels, settled, slide, start, unfold

pytestmark = pytest.mark.browser

AREA = "#optimum .chart .nsewdrag"  # within the map's axes
KINDS = {control["name"]: control["kind"] for control in controls()}
SLIDERS = {control["name"] for control in controls() if "slider" in control}
QUESTIONS = {  # the view behind each card's main marks
    "curve": "curve", "learned": "learned", "parts": "parts", "optimum": "landscape", "coefficients": "coefficients",
    "spectrum": "spectrum",
}  # fmt: skip
LINES = ("untrained", "linear", "best", "limits", "model")  # other lines of the curve
PAUSE = 400  # milliseconds after which a card has taken note of a change, or has drawn its last answer
SHADE = 0.05  # by which a colour may differ from the scale's
STROKE = 0.2  # the same for a thin line, whose edges are smoothed
HIDDEN = 0.15  # of the marks at most are under other marks


def form(page: Any) -> dict[str, Any]:
    """The settings as the form shows them."""
    fields = page.locator("#controls [name]").evaluate_all(
        "(fields) => fields.map((f) => [f.name, f.type === 'checkbox' ? f.checked : f.value])"
    )
    read = {"count": int, "number": lambda text: text if text == "inf" else float(text)}
    return {name: read.get(KINDS[name], str if isinstance(value, str) else bool)(value) for name, value in fields}


def main_trace(page: Any, card: str) -> Any:
    """The card's main marks as Plotly holds them, and their places on the chart in pixels."""
    picked = """({ data, _fullLayout: layout }) => {
      const trace = data?.find(({ meta }) => meta === "main");
      if (!trace) return null;
      const { xaxis, yaxis } = layout, within = (axis, at) => (at < 0 || at > axis._length ? null : axis._offset + at);
      const to = (axis, v) => v === null ? null : within(axis, axis.d2p(v));
      const places = trace.z ? [] : trace.x.map((v, i) => [to(xaxis, v), to(yaxis, trace.y[i])]);
      const { x, y, z, type, name, line, marker, zmin, zmax, colorscale } = trace;
      const cross = data.find(({ name }) => name === "you are here");
      const at = cross && [cross.x[0], cross.y[0]];
      return { x, y, z, type, name, line, marker, zmin, zmax, colorscale, places, cross: at };
    }"""
    return page.locator(f"#{card} .chart").evaluate(picked)


def expected(explorer: Any, card: str, settings: dict[str, Any]) -> dict[str, Any]:
    """What the main marks must be by the server's last word, which other tests compare with the library."""
    view = QUESTIONS[card]
    status, (*_, found, _) = Visitor(explorer).ask(view, {name: settings[name] for name in VIEWS[view].uses})
    assert status == 200, found
    error = next((name for name in (settings["quantity"], "test_error_01", "test_error") if name in found), "")
    if card == "optimum":
        values = np.array(found[error], dtype=float).T
        with np.errstate(invalid="ignore", divide="ignore"):
            heights = np.log(np.where(values > 0, values, np.nan))
        return {"z": heights, "cross": [settings[found["name"]], settings["lam"]]}
    if card == "parts":
        names = ("bayes_error", "ridge_error", "test_error", "batch_noise", "readout", "expressivity")
        return {"x": [found[name] for name in names if found[name] is not None]}
    if card == "coefficients":
        return {"x": found["kappa"], "y": found["curves"][0]["mu0"]}
    if card == "spectrum":
        low, high = found["edge"][0]
        known = [(v, p) for v, p in zip(found["eigenvalue"], found["density"], strict=True) if v is not None]
        return {"x": [v for v, _ in known if low <= v <= high], "y": [v * p for v, p in known if low <= v <= high]}
    return {"x": found["x"], "y": found["learned" if card == "learned" else error]}


def is_of(found: dict[str, Any] | None, wanted: dict[str, Any]) -> bool:
    """Whether what Plotly holds is what the server has answered."""
    if found is None:
        return False
    pairs = [(np.array(found.get(name), float), np.array(values, float)) for name, values in wanted.items()]
    return all(a.shape == b.shape and np.allclose(a, b, rtol=1e-9, equal_nan=True) for a, b in pairs)


def share_in_sight(page: Any, card: str, found: dict[str, Any], wanted: dict[str, Any]) -> float:
    """The share of the card's marks that are seen in their colours."""
    if card == "optimum":
        return cells_in_colour(page, found, wanted["z"])
    seen = pixels(page.locator(f"#{card} .chart"))
    if card == "parts":  # the middle of each bar that is longer than a few pixels
        zero = page.locator(f"#{card} .chart").evaluate("({ _fullLayout: { xaxis } }) => xaxis._offset + xaxis.d2p(0)")
        bars = [
            (0.5 * (zero + x), y, to_rgb(c))
            for (x, y), c in zip(found["places"], found["marker"]["color"], strict=True)
            if abs(x - zero) > 6
        ]
        return float(np.mean([np.abs(seen[int(y), int(x)] - c).max() < SHADE for x, y, c in bars]))
    colour, hits = to_rgb(found["line"]["color"]), []
    for (x, y), (x2, y2) in zip(found["places"], found["places"][1:], strict=False):
        if None in (x, y, x2, y2):
            continue
        column, row = round((x + x2) / 2), round((y + y2) / 2)
        if 2 <= row < seen.shape[0] - 2 and 0 <= column < seen.shape[1]:
            near = seen[row - 2 : row + 3, column]  # across the stroke
            hits.append(np.abs(near - colour).max(axis=-1).min() < STROKE)
    assert len(hits) > 2, card
    return float(np.mean(hits))


def cells_in_colour(page: Any, found: dict[str, Any], values: np.ndarray) -> float:
    """The share of the map's cells whose middle is seen in the colour of its value."""
    places, shades = zip(*found["colorscale"], strict=True)
    scale = np.array([to_rgb(shade) for shade in shades])
    known = np.isfinite(values)
    at = (values[known] - found["zmin"]) / (found["zmax"] - found["zmin"])
    wanted = np.stack([np.interp(at, places, channel) for channel in scale.T], axis=-1)
    seen = pixels(page.locator(AREA))[::-1]  # penalties grow upwards
    rows, columns = (
        ((np.arange(count) + 0.5) / count * length).astype(int)
        for count, length in zip(values.shape, seen.shape, strict=False)
    )
    return float(np.mean(np.abs(seen[np.ix_(rows, columns)][known] - wanted).max(axis=-1) < SHADE))


def at_rest(page: Any, *cards: str) -> None:
    """These cards have drawn all that they had to."""
    page.wait_for_timeout(PAUSE)
    settled(page, *cards)
    page.wait_for_timeout(PAUSE)


def shows_its_settings(page: Any, explorer: Any, cards: tuple[str, ...]) -> dict[str, Any]:
    """What belongs to the settings is there, is seen, and stays; axes have their labels."""
    settings = form(page)
    wanted = {card: expected(explorer, card, settings) for card in cards}
    for card in cards:
        eventually(lambda card=card: is_of(main_trace(page, card), wanted[card]), QUIET / 1000)
    at_rest(page, *cards)
    for card in cards:
        found = main_trace(page, card)
        assert is_of(found, wanted[card]), card
        assert share_in_sight(page, card, found, wanted[card]) > 1 - HIDDEN, (card, settings)
        for axis in ("x", "y"):
            assert page.locator(f"#{card} .chart .{axis}tick text").count() > 1, card
    return wanted


@pytest.mark.parametrize("name", OTHER)
def test_every_control_leaves_every_chart_with_the_marks_of_its_settings(visit, explorer, name):
    cards = tuple(card for card, view in QUESTIONS.items() if name in VIEWS[view].uses or name == "quantity")
    if name in ("eta", "r", "lam"):
        cards = tuple({*cards, "optimum"})  # where they move the cross
    if name in LINES or name in ("trials", "seed"):
        cards = ("curve",)
    if name in ("layer", "r", "gamma", "c", "flips", "latent_noise"):
        cards = tuple(card for card in cards if card != "parts")  # which the spike and random signs have not
    page = visit(start("flips" if name == "quantity" else name), *CARDS, size=ALL_IN_SIGHT)
    unfold(page)
    before = shows_its_settings(page, explorer, cards)
    lines = page.locator("#curve .chart").evaluate("({ data }) => data.length")
    if name in SLIDERS:
        for _ in slide(page, name, (0.1, 0.2, 0.25) if name != "steps" else (0.05, 0.15)):
            page.wait_for_timeout(50)
        shows_its_settings(page, explorer, cards)
        page.locator(f"#slide-{name}").press("ArrowRight")
        shows_its_settings(page, explorer, cards)
    enter(page, name, OTHER[name])
    expect(page).to_have_url(re.compile(f"[#&]{name}="))
    after = shows_its_settings(page, explorer, cards)
    expect(page.locator("[aria-invalid]")).to_have_count(0)
    if name in LINES:
        assert page.locator("#curve .chart").evaluate("({ data }) => data.length") != lines
    elif name not in ("trials", "seed"):
        assert any(str(before[card]) != str(after[card]) for card in cards)


@pytest.mark.parametrize("name", ["eta", "lam"])
def test_the_map_is_seen_all_the_while_its_cross_is_moved(visit, explorer, name):
    page = visit("#bulk=isotropic", "optimum", size=ALL_IN_SIGHT)
    wanted = shows_its_settings(page, explorer, ("optimum",))["optimum"]
    places = set()
    for _ in slide(page, name, np.linspace(0.2, 0.8, 10)):
        page.wait_for_timeout(250)
        found = main_trace(page, "optimum")
        assert share_in_sight(page, "optimum", found, wanted) > 1 - HIDDEN
        places.add(tuple(found["cross"]))
    assert len(places) > 4  # it follows the hand
    shows_its_settings(page, explorer, ("optimum",))


def test_the_planes_of_a_function_of_two_directions_are_seen_after_a_move(visit):
    page = visit("#target=x1%20%2B%20x1*x2", "learned", size=ALL_IN_SIGHT)
    unfold(page)
    for change in (
        lambda: enter(page, "lam", "1"),
        lambda: page.locator("#slide-eta").press("ArrowRight"),
        lambda: enter(page, "seed", "1"),  # which changes nothing there
    ):
        change()
        at_rest(page, "learned")
        panels = page.locator("#learned .nsewdrag").all()
        assert len(panels) == 2
        for panel in panels:
            assert np.mean(pixels(panel).min(axis=-1) < 0.97) > 0.9  # the card is white, and no shade is


def test_a_page_after_moves_looks_as_a_fresh_one(visit):
    page = visit("", *CARDS, size=ALL_IN_SIGHT)
    enter(page, "alpha", "1.2")
    at_rest(page)
    for _ in slide(page, "eta", (0.6, 0.5, 0.4)):
        page.wait_for_timeout(50)
    page.locator("#slide-lam").press("PageUp")
    at_rest(page)
    fresh = visit(f"#{page.url.partition('#')[2]}", size=ALL_IN_SIGHT)
    at_rest(fresh)
    for card in CARDS:
        here, there = (pixels(one.locator(f"#{card} .chart")) for one in (page, fresh))
        shifts = [np.roll(here, (down, right), (0, 1)) for down in range(-2, 3) for right in range(-2, 3)]
        nearest = np.min([np.abs(moved - there).max(axis=-1) for moved in shifts], axis=0)
        # Plotly's margins remember labels that were there, so axes and their labels may be a pixel elsewhere
        assert np.mean(nearest > STROKE) < 0.01, card


def test_every_card_is_tried():
    assert set(QUESTIONS) == set(CARDS)
    assert set(OTHER) == set(Settings.__dataclass_fields__)
