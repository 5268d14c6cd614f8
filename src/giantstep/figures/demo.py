"""Learning curves of networks after one giant step: exact theory, and trained networks."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..model.network import Network

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.figure import Figure

_TARGETS = ("tanh", "sin")
_ALPHA0 = (0.0, 1.0, 3.0, 10.0)
_NETWORK = Network("tanh", eta=3.0, alpha0=_ALPHA0, beta=1.0)
_LAM = 0.1
_STATISTICS = ["test_error", "train_error", "r", "gamma", "c"]
_WHY = """The theory leaves out effects of order 1/d. With ten trials at d = 400 they make single |z| of 3 or 4; more
trials, stronger steps or a smaller d make them larger."""
_POINTS = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0])


def main(d: int, trials: int, folder: str) -> None:
    """Predict, simulate, compare; print the tables and draw `folder`/learning_curves.png."""
    from ..answers.comparison import compare, side_by_side, summary
    from ..answers.tables import aligned, points
    from ..files import check_place
    from ..plotting import save_figure
    from ..plotting.style import styled
    from ..simulation import simulate
    from ..theory.labels import linear_error
    from ..theory.predict import predict

    start, workers = time.perf_counter(), min(2, os.cpu_count() or 1)
    path = Path(folder) / "learning_curves.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    check_place(path)
    results: dict[str, xr.Dataset] = {}
    for name in _TARGETS:
        work = f"theory on {len(_ALPHA0) * len(_POINTS)} points, then {trials} trials at d = {d}"
        print(f"{name} target: {work}", file=sys.stderr)
        exact = predict(_NETWORK, name, alpha=_POINTS, lam=_LAM, d=d)
        measured = simulate(_NETWORK, name, alpha=_POINTS, lam=_LAM, d=d, trials=trials, workers=workers)
        results[name] = compare(exact, measured)
        print(
            f"\ntanh network, {name} target: eta = {_NETWORK.eta:g}, beta = 1, lam = {_LAM:g}, d = {d}, exact bulk"
        )
        print(f"the best linear predictor has test error {linear_error(name):.5f}\n")
        columns = side_by_side(results[name], "test_error")
        print(aligned(points(columns, list(map(str, columns)))))
        print(f"\n{summary(results[name][_STATISTICS])}")
    print(f"\n{_WHY}")
    with styled():
        save_figure(draw(results, trials), path)
    print(f"\ndrew {path} in {time.perf_counter() - start:.0f} s", file=sys.stderr)


def draw(results: dict[str, xr.Dataset], trials: int) -> Figure:
    """One panel per target: lines from theory, simulated points on them, and what no linear method can beat."""
    from ..plotting import plot
    from ..plotting.style import set_log
    from ..theory.labels import linear_error
    from . import look

    figure, panels = look.panels(len(results), sharey=True)
    for axes, (name, compared) in zip(panels, results.items(), strict=True):
        plot(compared, "alpha", ax=axes)
        axes.get_legend().remove()  # type: ignore[union-attr]
        look.baseline(axes, linear_error(name), "best linear predictor")
        set_log(axes, "y")
        axes.set_title(f"{name} target", loc="left")
    panels[1].set_ylabel("")
    handles, labels = panels[0].get_legend_handles_labels()
    labels[0] += " (random features)"
    d = results[_TARGETS[0]].attrs["d"]
    title = (
        f"samples in the step, $\\alpha_0 = n_0/d$.  Lines: theory; points: {trials} networks at $d = {d}$"
    )
    figure.legend(handles, labels, title=title, loc="outside upper center", ncols=len(labels))
    return figure
