"""One giant step or several, on the same samples."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import stored_results
from ticks import log_ticks

from giantstep.answers.comparison import compare
from giantstep.figures import look
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.registry import Size
from giantstep.model.network import Network
from giantstep.plotting import style

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from giantstep.figures.registry import Data

NAME = "several-steps"
SEED = 12
TITLE = "One giant step, or three?"
STORED = ("test_error", "gamma")
SIZES = {
    "tiny": Size(60, 4, n_test=2000),
    "quick": Size(200, 8, n_test=2000),
    "full": Size(2000, 5, n_test=20_000),
}  # samples, since rows that are nearly parallel make exact averages slow
_STEPS, _SAMPLES = (1, 2, 3, 4), 4.0
_RATIOS = {"alpha": 2.0, "lam": 0.1}
# near the best common rate for each number of steps, read off coarse scans by `predict` at d = 300 (4 to 12 rates);
# with letters, the rate for two steps lies beyond the scanned rates, and the rate for four steps between them
_BEST: dict[str, tuple[str, str, str, Sequence[float]]] = {
    "relu": ("ReLU", "relu", "uniform", (3.3, 1.7, 1.3, 1.05)),
    "gelu": ("GELU", "gelu", "uniform", (2.9, 1.6, 1.25, 1.05)),
    "letters": (r"ReLU, letters $\pm1$", "relu", "rademacher", (1.6, 2.3, 1.8, 1.5)),
    "tanh": ("tanh", "tanh", "uniform", (2.6, 2.05, 1.75, 1.55)),
}
_RATES = (0.5, 1.0, 2.0)


def parts(size: Size) -> dict[str, CachedCall]:
    """Every network at its best rates, and one at three rates."""
    models = {name: _network(*said[1:]) for name, said in _BEST.items()}
    models["rates"] = _network("relu", "uniform", None)
    run = {"d": size.d, "trials": size.trials, "seed": SEED, "n_test": size.n_test}
    found: dict[str, CachedCall] = {}
    for name, model in models.items():
        found[f"{name}-theory"] = CachedCall("predict", model, ("tanh",), {**_RATIOS, "d": size.d, "tolerance": 1e-6})
        found[f"{name}-simulation"] = CachedCall("simulate", model, ("tanh",), {**_RATIOS, **run})
    return found


def _network(activation: str, readout: str, rates: Sequence[float] | None) -> Network:
    """One network for each number of steps, all on the same number of samples."""
    import xarray as xr

    def along(values: Any) -> xr.DataArray:
        return xr.DataArray(values, dims="steps", coords={"steps": list(_STEPS)})

    eta = list(_RATES) if rates is None else along(list(rates))
    samples = along(_SAMPLES / np.array(_STEPS))
    return Network(activation, eta=eta, alpha0=samples, steps=along(list(_STEPS)), readout=readout)


def comparisons(data: Data) -> dict[str, xr.Dataset]:
    """Test errors of all; alignments too at the three rates."""
    words = {name: said[0].replace(r"$\pm1$", "±1") for name, said in _BEST.items()}
    found = {
        f"{said}, best rates": compare(data[f"{name}-theory"], data[f"{name}-simulation"])[["test_error"]]
        for name, said in words.items()
    }
    last = [_in_the_end(data[f"rates-{kind}"]) for kind in ("theory", "simulation")]
    return found | {"ReLU, three rates": compare(*last)[["test_error", "gamma"]]}


def _in_the_end(data: xr.Dataset) -> xr.Dataset:
    """The results, with γ after the last step of each network only."""
    gamma = data["gamma"]
    return data.assign(gamma=gamma.where(gamma["step"] == gamma["steps"]).sum("step", min_count=1))


def draw(data: Data) -> Figure:
    """Best rates on the left; three rates, and the alignments that they leave, on the right."""
    figure, (left, middle, right) = look.panels(3, 9.6, 3.7)
    colours = [style.look(index, len(_BEST)) for index in range(len(_BEST))]  # networks have no order, rates have
    for name, shade in zip(_BEST, colours, strict=True):
        look.line(left, data[f"{name}-theory"]["test_error"], "steps", shade)
        look.points(left, data[f"{name}-simulation"]["test_error"], "steps", shade)
    left.set_yscale("log")
    log_ticks(left.yaxis, (0.03, 0.05, 0.1, 0.2, 0.3))
    left.set_title("near the best rate for each", loc="left")
    left.set_ylabel(r"test error, $\epsilon_g$")
    labels = [said[0] for said in _BEST.values()]
    look.series_legend(left, colours, labels, "", loc="center", bbox_to_anchor=(0.64, 0.7))
    theory, trained = (_in_the_end(data[f"rates-{kind}"]) for kind in ("theory", "simulation"))
    _rates(middle, theory["test_error"], trained["test_error"])
    middle.set_title("ReLU, the same rate for all", loc="left")
    middle.set_ylabel(r"test error, $\epsilon_g$")
    _rates(right, theory["gamma"], trained["gamma"])
    right.set_title("the alignment that it leaves", loc="left")
    right.set_ylabel(r"alignment after the last step, $\gamma$")
    for axes in (left, middle, right):
        axes.set_xticks(_STEPS)
        axes.set_xlabel(r"number of steps, $T$")
    labels = [f"$\\tilde\\eta = {value:g}$" for value in _RATES]
    look.series_legend(right, look.shades(len(_RATES)), labels, "rate of each step", loc="lower left")
    kinds = {"theory": "exact theory"}
    look.kinds_legend(figure, kinds, look.trials_words(data["rates-simulation"], "networks"))
    return figure


def _rates(axes: Axes, theory: xr.DataArray, trained: xr.DataArray) -> None:
    for index, shade in enumerate(look.shades(len(_RATES))):
        look.line(axes, theory.isel(eta=index), "steps", shade)
        look.points(axes, trained.isel(eta=index), "steps", shade)


if __name__ == "__main__":
    stored_results.run(sys.modules[__name__])
