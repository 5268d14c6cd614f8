"""A small sweep, drivers as real processes, and exact comparison of what they leave."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

import giantstep as gs
from giantstep.sweep import Sweep, results
from giantstep.sweep.results import parts
from giantstep.sweep.store import Store

SWEEP = gs.Sweep(
    gs.Network("tanh", eta=[0.5, 1.0], alpha0=2.0),
    "sin",
    alpha=[0.5, 1.0, 2.0],
    lam=[0.01, 0.1],
    theory={"bulk": "isotropic"},
    simulation={"d": 10, "trials": 20, "n_test": 200},
)

TOML = """
target = "sin"
alpha = [0.5, 1.0, 2.0]
lam = [0.01, 0.1]
[model]
activation = "tanh"
eta = [0.5, 1.0]
alpha0 = 2.0
[theory]
bulk = "isotropic"
[simulation]
d = {d}
trials = {trials}
n_test = 200
"""

DRIVER = "from giantstep.cli import main; main()"
STARTED: list[subprocess.Popen[str]] = []  # which the fixture in conftest ends if a test does not


class Here:
    """An executor of one's own, which counts its jobs."""

    def __init__(self) -> None:
        self.jobs = 0

    def submit(self, function, *arguments) -> Future[Any]:
        self.jobs += 1
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


def write_toml(folder: Path, d: int = 20, trials: int = 10) -> Path:
    path = folder / "sweep.toml"
    path.write_text(TOML.format(d=d, trials=trials))
    return path


def start(*words: object) -> subprocess.Popen[str]:
    """`giantstep sweep ...` as a process of its own."""
    command = [sys.executable, "-c", DRIVER, "sweep", *map(str, words)]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    process = subprocess.Popen(command, text=True, env=os.environ | {"OMP_NUM_THREADS": "1"}, **pipes)
    STARTED.append(process)
    return process


def finish(*words: object) -> tuple[int, str, str]:
    process = start(*words)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


def batches(store: Path) -> int:
    """Jobs that are in a store which somebody may be writing."""
    if not store.exists() or not store.stat().st_size:
        return 0
    with closing(sqlite3.connect(f"{store.absolute().as_uri()}?mode=ro", uri=True, timeout=10)) as connection:
        return connection.execute("SELECT count(*) FROM job").fetchone()[0]


def wait_for_batches(store: Path, count: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while batches(store) < count:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def assert_same_results(sweep: Sweep, store: Path, other: Path) -> None:
    """Bit for bit, labels included."""
    for one, two in zip(results(sweep, store)[:2], results(sweep, other)[:2], strict=True):
        assert one is not None
        assert two is not None
        assert one.attrs["missing"] == 0
        assert one.identical(two)


def assert_nothing_twice(sweep: Sweep, store: Path) -> None:
    with Store.reading(store) as kept:
        for part in parts(sweep):
            stored = kept.points(part.family)
            assert len(np.unique(stored, axis=0)) == len(stored) == len(np.unique(part.keys, axis=0))
