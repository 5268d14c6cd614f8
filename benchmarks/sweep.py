"""Sweeps: overhead per unit of work, scaling from one worker to two, and theory in blocks.

    python benchmarks/sweep.py            all three, about a minute and a half
    python benchmarks/sweep.py --million  theory on a million points instead of twenty thousand (minutes)

Overhead is wall time less the time spent inside units, per unit; efficiency is time with one worker over twice the
time with two, the start of the processes (a second or so) included and, after the slash, left out.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

import giantstep as gs
from giantstep.sweep import results

NETWORK = gs.Network("tanh", eta=1.0, alpha0=2.0)


def timed(sweep: gs.Sweep, store: Path, workers: int) -> tuple[float, float, int]:
    """Wall time, time inside units, number of units."""
    began = time.perf_counter()
    gs.run_sweep(sweep, store, workers=workers, progress=False, read=False)
    wall = time.perf_counter() - began
    connection = sqlite3.connect(store)
    inside, units = connection.execute("SELECT total(json_extract(facts, '$.seconds')), count(*) FROM job").fetchone()
    connection.close()
    return wall, inside, units


def overhead(folder: Path) -> None:
    """Units that do next to nothing: what remains is the sweep itself."""
    grid = {"alpha": [0.5, 1.0, 2.0], "lam": [0.01, 0.1]}
    sweep = gs.Sweep(NETWORK, "sin", **grid, simulation={"d": 4, "trials": 1000, "n_test": 10})
    timed(gs.Sweep(NETWORK, "sin", **grid, simulation={"d": 4, "trials": 1, "n_test": 10}), folder / "w.sqlite", 1)
    wall, inside, units = timed(sweep, folder / "overhead.sqlite", 1)
    print(f"overhead, in one process: {1e3 * (wall - inside) / units:.2f} ms per unit ({units} units)")


def scaling(folder: Path) -> None:
    """Units of about half a second on an idle processor."""
    simulation = {"d": 500, "trials": 24}
    sweep = gs.Sweep(NETWORK, "sin", alpha=[0.5, 1.0, 2.0, 3.0], lam=[0.01, 0.1], simulation=simulation)
    one, _, _ = timed(sweep, folder / "one.sqlite", 1)
    two, _, units = timed(sweep, folder / "two.sqlite", 2)
    start = _starting_time(folder)
    print(
        f"scaling: {units} units, 1 worker {one:.1f} s, 2 workers {two:.1f} s, efficiency {one / (2 * two):.2f}"
        f" / {one / (2 * (two - start)):.2f} (processes start in {start:.1f} s)"
    )


def _starting_time(folder: Path) -> float:
    """Two units that do nothing, in two fresh processes."""
    sweep = gs.Sweep(NETWORK, "sin", alpha=1.0, lam=0.1, simulation={"d": 4, "trials": 2, "n_test": 10})
    return timed(sweep, folder / "start.sqlite", 2)[0]


def theory(folder: Path, side: int, workers: int = 2) -> None:
    """A grid of side × side points of the isotropic theory."""
    model = gs.Network("tanh", eta=np.linspace(0.1, 3, side), alpha0=2.0)
    sweep = gs.Sweep(model, "sin", alpha=np.linspace(0.1, 5, side), lam=0.1, theory={"bulk": "isotropic"})
    store = folder / "theory.sqlite"
    wall, inside, blocks = timed(sweep, store, workers)
    print(
        f"theory: {side**2} points in {blocks} calls, {wall:.1f} s with {workers} workers, {inside:.1f} s inside calls;"
    )
    size = store.stat().st_size / 2**20
    again, _, _ = timed(sweep, store, 1)
    began = time.perf_counter()
    results(sweep, store)
    print(
        f"        asking again {again:.1f} s, reading all {time.perf_counter() - began:.1f} s, {size:.0f} MiB on disk"
    )


if __name__ == "__main__":
    warnings.simplefilter("ignore", gs.LimitWarning)  # speed is asked for here
    print(f"giantstep {gs.__version__}, {os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as name:
        overhead(Path(name))
        scaling(Path(name))
        theory(Path(name), 1000 if "--million" in sys.argv else 150)
