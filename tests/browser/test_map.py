"""The map of errors, looked at: its cells have the colours of the settings, whichever control was moved, and how."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from giantstep.explorer.settings import controls
from giantstep.explorer.views import VIEWS

from ..explorer.conftest import Visitor
from .looking import (
    ALL_IN_SIGHT,
    CARDS,
    OTHER,
    QUIET,
    enter,
    eventually,
    pixels,
    settled,
    slide,
    start,
    unfold,
)

pytestmark = pytest.mark.browser

AREA = "#optimum .chart .nsewdrag"  # within the map's axes
KINDS = {control["name"]: control["kind"] for control in controls()}
SLIDERS = {control["name"] for control in controls() if "slider" in control}
MARKED = ("eta", "r", "lam")  # they move the cross alone
MOVERS = (*VIEWS["landscape"].uses, *MARKED, "quantity")
VALUES = OTHER | {"quantity": "test_error"}
PAUSE = 500  # milliseconds after which a card has taken note of a change, or has drawn its last answer
SHADE = 0.05  # by which a colour may differ from the scale's
MARKS = 0.1  # of the cells at most are under the cross and the star


def form(page: Any) -> dict[str, Any]:
    """The settings as the form shows them."""
    fields = page.locator("#controls [name]").evaluate_all(
        "(fields) => fields.map((f) => [f.name, f.type === 'checkbox' ? f.checked : f.value])"
    )
    return {name: int(value) if KINDS[name] == "count" else value for name, value in fields}


def drawn_map(page: Any) -> dict[str, Any] | None:
    """The map as Plotly holds it, and the place of the cross."""
    picked = """({ data }) => data && {
      ...data.find(({ z }) => z), cross: data.find(({ name }) => name === "you are here"),
    }"""
    return page.locator("#optimum .chart").evaluate(picked)


def heights(errors: Any) -> np.ndarray:
    """What the colours tell apart: logarithms, a row for each penalty, NaN where there is no error."""
    values = np.array(errors, dtype=float).T
    return np.log(np.where(values > 0, values, np.nan))


def expected(explorer: Any, settings: dict[str, Any]) -> tuple[str, np.ndarray, list[float]]:
    """The quantity, the map, and the cross that belong to these settings, by the server's answer."""
    status, lines = Visitor(explorer).ask(
        "landscape", {name: settings[name] for name in VIEWS["landscape"].uses}
    )
    assert status == 200, lines
    answer = lines[-2]  # the last line says that it was the last
    signs = "test_error_01" in answer and settings["quantity"] != "test_error"
    quantity = "test_error_01" if signs else "test_error"
    return quantity, heights(answer[quantity]), [float(settings[answer["name"]]), float(settings["lam"])]


def is_of(found: dict[str, Any] | None, quantity: str, values: np.ndarray, cross: list[float]) -> bool:
    if found is None or found["name"] != quantity or found["cross"] is None:
        return False
    drawn = np.array(found["z"], dtype=float)
    place = [found["cross"]["x"][0], found["cross"]["y"][0]]
    return (
        place == cross
        and drawn.shape == values.shape
        and np.allclose(drawn, values, rtol=1e-9, equal_nan=True)
    )


def share_in_colour(page: Any, values: np.ndarray) -> float:
    """The share of the map's cells whose middle is seen in the colour of its value."""
    found = drawn_map(page)
    places, shades = zip(*found["colorscale"], strict=True)
    scale = np.array([[int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)] for shade in shades])
    known, low, high = np.isfinite(values), found["zmin"], found["zmax"]
    at = (values[known] - low) / (high - low)
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


def shows_the_map_of_its_settings(page: Any, explorer: Any) -> tuple[str, np.ndarray, list[float]]:
    """What belongs to the settings is there, is seen, and stays."""
    wanted = expected(explorer, form(page))
    eventually(lambda: is_of(drawn_map(page), *wanted), QUIET / 1000)
    at_rest(page, "optimum")
    assert is_of(drawn_map(page), *wanted)
    assert share_in_colour(page, wanted[1]) > 1 - MARKS
    return wanted


@pytest.mark.parametrize("name", MOVERS)
def test_every_control_leaves_the_map_in_the_colours_of_its_settings(
    visit: Any, explorer: Any, name: str
) -> None:
    address = start("flips" if name == "quantity" else name)  # labels ±1 have two errors
    page = visit(address, size=ALL_IN_SIGHT)
    settled(page, "optimum")
    unfold(page)
    _, before, cross = shows_the_map_of_its_settings(page, explorer)
    if name in SLIDERS:
        for _ in slide(page, name, (0.1, 0.2, 0.25) if name != "steps" else (0.05, 0.15)):
            page.wait_for_timeout(50)
        shows_the_map_of_its_settings(page, explorer)
        page.locator(f"#slide-{name}").press("ArrowRight")
        shows_the_map_of_its_settings(page, explorer)
    enter(page, name, VALUES[name])
    _, after, there = shows_the_map_of_its_settings(page, explorer)
    assert there != cross if name in MARKED else not np.array_equal(before, after)


@pytest.mark.parametrize("name", ["eta", "lam"])
def test_the_map_is_seen_all_the_while_its_cross_is_moved(visit: Any, explorer: Any, name: str) -> None:
    page = visit("#bulk=isotropic", size=ALL_IN_SIGHT)
    settled(page, "optimum")
    _, values, _ = shows_the_map_of_its_settings(page, explorer)
    places = set()
    for _ in slide(page, name, np.linspace(0.2, 0.8, 10)):
        page.wait_for_timeout(250)
        assert share_in_colour(page, values) > 1 - MARKS
        cross = drawn_map(page)["cross"]
        places.add((*cross["x"], *cross["y"]))
    assert len(places) > 4  # it follows the hand
    shows_the_map_of_its_settings(page, explorer)


def test_the_planes_of_a_function_of_two_directions_are_seen_after_a_move(visit: Any) -> None:
    page = visit("#target=x1%20%2B%20x1*x2", size=ALL_IN_SIGHT)
    settled(page, "learned")
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


def test_a_page_after_moves_looks_as_a_fresh_one(visit: Any, pictures: Path) -> None:
    page = visit(size=ALL_IN_SIGHT)
    settled(page)
    enter(page, "alpha", "1.2")
    at_rest(page)
    for _ in slide(page, "eta", (0.6, 0.5, 0.4)):
        page.wait_for_timeout(50)
    page.locator("#slide-lam").press("PageUp")
    at_rest(page)
    page.screenshot(path=pictures / "moved.png")
    fresh = visit(f"#{page.url.partition('#')[2]}", size=ALL_IN_SIGHT)
    at_rest(fresh)
    for card in CARDS:
        here, there = (pixels(one.locator(f"#{card} .chart")) for one in (page, fresh))
        assert np.mean(np.abs(here - there).max(axis=-1) > SHADE) < 0.001, card
