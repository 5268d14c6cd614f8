"""What tests look at on the page, and how they wait for it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from io import BytesIO
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

expect = pytest.importorskip("playwright.sync_api", reason="the extra 'browser' is not installed").expect
expect.set_options(timeout=60_000)  # milliseconds: a busy machine is no reason to fail

QUIET = 120_000  # milliseconds until all cards have answered, on a busy machine
ALL_IN_SIGHT = (1440, 2200)  # a window in which the controls and every chart are seen at once
CARDS = ("curve", "learned", "parts", "optimum", "coefficients", "spectrum")

OTHER = {  # a value for each setting that is not its initial one; those of the given spike need that layer
    "activation": "relu", "target": "tanh", "noise": "0.4", "flips": "0.1", "latent_noise": "0.2", "layer": "spiked",
    "eta": "1.5", "alpha0": "4", "steps": "2", "rows": "gaussian", "bias_scale": "1", "r": "2", "gamma": "0.5",
    "c": "2", "beta": "2", "readout": "ternary",
    "bulk": "isotropic", "alpha": "1", "lam": "1", "loss": "huber:0.5", "along": "lam", "low": "0.3", "high": "3",
    "quantity": "train_error", "d": "200", "finite": False, "trials": "3", "seed": "1",
    "inputs": "blocks", "share": "0.5", "exponent": "0.2",
    "untrained": False, "linear": False, "best": False, "limits": True, "model": True,
}  # fmt: skip
_NEEDS: dict[str, str] = dict.fromkeys(("flips", "latent_noise"), "target=sign&noise=0&")
_NEEDS |= {"share": "inputs=blocks&", "exponent": "inputs=power&"}
_NEEDS |= dict.fromkeys(("r", "gamma", "c"), "layer=spiked&")


def start(name: str) -> str:
    """An address at which this setting matters; with the model that is quick, unless that knows nothing of it."""
    bulk = "" if name in ("bulk", "rows", "bias_scale", "model") else "bulk=isotropic"
    return f"#{_NEEDS.get(name, '')}{bulk}"


def settled(page: Any, *cards: str) -> None:
    """The page is there, and these cards (all, if none is named) compute no more."""
    busy = ", ".join(f"#{card}.busy" for card in cards) or ".card.busy"
    frames = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    expect(page.locator("html[data-ready=true]")).to_be_attached(timeout=QUIET)
    page.evaluate(frames)  # in which cards take note of a change
    expect(page.locator(busy)).to_have_count(0, timeout=QUIET)
    page.evaluate(frames)


def traces(page: Any, card: str = "curve") -> dict[str, dict[str, Any]]:
    """What is drawn on a card, by name; the main curve also as "main"."""
    picked = "(box) => JSON.stringify((box.data ?? []).map(({name, x, y, z, meta}) => ({name, x, y, z, meta})))"
    found = json.loads(page.locator(f"#{card} .chart").evaluate(picked))
    return {trace["meta"]: trace for trace in found if "meta" in trace} | {trace["name"]: trace for trace in found}


def unfold(page: Any) -> None:
    """Open what is folded away among the controls."""
    for fold in page.locator("details.more:not([open]) > summary").all()[::-1]:
        fold.click()


def enter(page: Any, name: str, value: Any) -> None:
    """Another value for a setting, by its box."""
    field = page.locator(f"#set-{name}")
    if isinstance(value, bool):
        field.set_checked(value)
    elif field.evaluate("(field) => field.tagName") == "SELECT":
        field.select_option(value)
    else:
        field.fill(value)


@contextmanager
def delayed(page: Any, *views: str) -> Iterator[None]:
    """Answers of these views are held back meanwhile."""
    held: list[Any] = []
    address = re.compile(f"/api/({'|'.join(views)})(/draft)?$")
    page.route(address, lambda route: held.append(route))
    yield
    page.unroute(address)
    for route in held:
        with suppress(Exception):  # the page has given it up
            route.continue_()


def slide(page: Any, name: str, shares: Iterable[float]) -> Iterator[float]:
    """Drag a slider with the mouse to each of these shares of its width; the hand is lifted after the last."""
    box = page.locator(f"#slide-{name}").bounding_box()
    for count, share in enumerate(shares):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
        if count == 0:
            page.mouse.down()
        yield share
    page.mouse.up()


def pixels(place: Any) -> np.ndarray:
    """What is seen there: rows of pixels, each red, green and blue from 0 to 1."""
    before = seen = None
    while before is None or before != place.bounding_box():  # a message in another card may move this one meanwhile
        before, seen = place.bounding_box(), place.screenshot()
    return imread(BytesIO(seen), format="png")[..., :3]
