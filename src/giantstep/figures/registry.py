"""Which figures there are, and what a figure's module has to offer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from ..errors import ParameterError

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

    from .cached_call import CachedCall

    Data = Mapping[str, xr.Dataset]
    Parts = Mapping[str, CachedCall | Callable[[Data], CachedCall]]

NAMES = (
    "learned-function",
    "trained-network",
    "bounds",
    "spikes",
    "width",
    "letters",
    "basis",
    "spectrum",
)
"""The paper's figures, in the order of their numbers, 1 to 8."""

GALLERY = (
    "strong-steps",
    "budget",
    "outlier",
    "several-steps",
    "trajectories",
    "two-directions",
    "staircase",
    "between-steps",
)
"""Pictures beyond the paper, once figures 9 to 16: scripts in docs/gallery draw them."""


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


class FigureModule(Protocol):
    """What a figure is: a module of this package, or one of the figures of `learning_curves`."""

    NAME: str
    TITLE: str
    CAPTION: str
    SIZES: Mapping[str, Size]  # tiny (tests), quick, full (the paper's)

    def parts(self, size: Size) -> Parts:
        """What to compute, by name; a function gets the parts before it and says what comes next."""
        ...

    def comparisons(self, data: Data) -> dict[str, xr.Dataset]:
        """Theory against simulation, as `compare` answers, by name; empty where nothing is simulated."""
        ...

    def draw(self, data: Data) -> Figure:
        """The picture, from the data alone."""
        ...


def find(name: str) -> FigureModule:
    """The figure of that name, or of that number."""
    if name.isdecimal() and 1 <= int(name) <= len(NAMES):
        name = NAMES[int(name) - 1]
    if name in GALLERY or (name.isdecimal() and int(name) in range(len(NAMES) + 1, len(NAMES + GALLERY) + 1)):
        script = (NAMES + GALLERY)[int(name) - 1] if name.isdecimal() else name
        raise ParameterError(
            f"figure {name!r} is not the paper's: docs/gallery/{script.replace('-', '_')}.py of the documentation"
            " draws it, and the page Gallery shows it"
        )
    if name not in NAMES:
        raise ParameterError(
            f"figure {name!r} is unknown; there are {', '.join(NAMES)}, or their numbers 1 to {len(NAMES)}"
        )
    from .learning_curves import FIGURES

    if name in FIGURES:
        return FIGURES[name]  # type: ignore[return-value]
    return import_module(f".{name.replace('-', '_')}", __package__)  # type: ignore[return-value]


def number(name: str) -> int:
    """The figure's number, which is also the seed of its simulations."""
    return NAMES.index(name) + 1
