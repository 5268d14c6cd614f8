"""Which figures there are, and what a figure is made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..errors import ParameterError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure as Drawn

    from .cached_call import CachedCall

    Data = Mapping[str, xr.Dataset]
    Parts = Mapping[str, CachedCall]

NAMES = ("learned-function", "trained-network", "bounds", "spikes", "width", "letters", "basis", "spectrum")
"""The paper's figures, in the order of their numbers, 1 to 8."""


@dataclass(frozen=True)
class Size:
    """How large: input dimension and trials of the simulations, and points of the smooth curves.

    `n_test` samples estimate the test error where its exact average would take long: at tiny size.
    """

    d: int
    trials: int
    curve: int = 80
    n_test: int | None = None


_QUICK, _FULL = Size(300, 20, 40), Size(2000, 10)


def sizes(tiny_curve: int = 5, quick: Size = _QUICK, full: Size = _FULL) -> dict[str, Size]:
    """The sizes of a figure with simulations: that of the tests, one for a laptop, and the paper's."""
    return {"tiny": Size(60, 4, tiny_curve, n_test=2000), "quick": quick, "full": full}


@dataclass(frozen=True)
class Figure:
    """What a figure computes (`parts`, by name), what it compares by theory and simulation, and how it looks.

    `comparisons` are answers of `compare` by name, none where nothing is simulated; `draw` sees the data alone.
    """

    NAME: str
    TITLE: str
    CAPTION: str
    SIZES: Mapping[str, Size]  # tiny (tests), quick, full (the paper's)
    parts: Callable[[Size], Parts]
    draw: Callable[[Data], Drawn]
    comparisons: Callable[[Data], dict[str, xr.Dataset]] = lambda data: {}


def find(name: str) -> Figure:
    """The figure of that name, or of that number."""
    name = {str(number(known)): known for known in NAMES}.get(name, name)
    if name not in NAMES:
        raise ParameterError(
            f"figure {name!r} is not one of the paper's: {', '.join(NAMES)}, or their numbers 1 to {len(NAMES)};"
            " the page Gallery of the documentation has others"
        )
    from . import input_functions, learning_curves, spectrum

    figures = (*input_functions.FIGURES, *learning_curves.FIGURES, spectrum.FIGURE)
    return next(figure for figure in figures if name == figure.NAME)


def number(name: str) -> int:
    """The figure's number, which is also the seed of its simulations."""
    return NAMES.index(name) + 1
