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

_ALPHA0 = (0.0, 1.0, 3.0, 10.0)
_NETWORK = Network("tanh", eta=3.0, alpha0=_ALPHA0, beta=1.0)
_LAM = 0.1
_PENALTIES = {"tanh": _LAM, "sin": _LAM}
_WHY = """The theory leaves out effects of order 1/d. With ten trials at d = 400 they make single |z| of 3 or 4; more
trials, stronger steps or a smaller d make them larger."""
_POINTS = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0])
_LINE = np.linspace(0.25, 3.0, 56)  # these among them


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
    from .learning_curves import draw_targets

    start, workers = time.perf_counter(), min(2, os.cpu_count() or 1)
    path = Path(folder) / "learning_curves.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    check_place(path)
    data: dict[str, xr.Dataset] = {}
    for name in _PENALTIES:
        print(
            f"{name} target: theory on {len(_ALPHA0) * len(_LINE)} points, then {trials} trials at d = {d}",
            file=sys.stderr,
        )
        exact = predict(_NETWORK, name, alpha=_LINE, lam=_LAM, d=d)
        measured = simulate(_NETWORK, name, alpha=_POINTS, lam=_LAM, d=d, trials=trials, workers=workers)
        data |= {f"{name}-theory": exact, f"{name}-simulation": measured}
        compared = compare(exact, measured)[["test_error", "train_error", "r", "gamma", "c"]]
        print(
            f"\ntanh network, {name} target: eta = {_NETWORK.eta:g}, beta = 1, lam = {_LAM:g}, d = {d}, exact bulk\n"
            f"the best linear predictor has test error {linear_error(name):.5f}\n"
        )
        columns = side_by_side(compared, "test_error")
        print(aligned(points(columns, list(map(str, columns)))))
        print(f"\n{summary(compared)}")
    print(f"\n{_WHY}")
    with styled():
        save_figure(draw_targets(data, _PENALTIES, _ALPHA0, {"theory": "theory"}, "y"), path)
    print(f"\ndrew {path} in {time.perf_counter() - start:.0f} s", file=sys.stderr)
