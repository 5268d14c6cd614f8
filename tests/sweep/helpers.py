"""A small sweep, drivers as real processes, and exact comparison of what they leave."""

import os
import sqlite3
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from giantstep.sweep import Sweep, results, run_sweep
from giantstep.sweep.results import parts
from giantstep.sweep.store import Store
from giantstep.sweep.toml import sweep_of

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

SWEEP = sweep_of(tomllib.loads(TOML.format(d=10, trials=20)))
STARTED: list[subprocess.Popen[str]] = []  # which the fixture in conftest ends if a test does not


class Here:
    """An executor of one's own, which counts its jobs."""

    jobs = 0

    def submit(self, function, *arguments) -> Future[Any]:
        self.jobs += 1
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


def write_toml(folder: Path, d: int = 20, trials: int = 10) -> Path:
    (folder / "sweep.toml").write_text(TOML.format(d=d, trials=trials))
    return folder / "sweep.toml"


def python(*words: object, **more: int) -> subprocess.Popen[str]:
    """Python as a process of its own."""
    options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **more}
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    STARTED.append(subprocess.Popen([sys.executable, *map(str, words)], text=True, env=environment, **options))
    return STARTED[-1]


def start(*words: object) -> subprocess.Popen[str]:
    """`giantstep sweep ...` as a process of its own."""
    return python("-m", "giantstep", "sweep", *words)


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


def wait_until(condition: Callable[[], object], process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.005)


def wait_for_batches(store: Path, count: int, process: subprocess.Popen[str]) -> None:
    wait_until(lambda: batches(store) >= count, process)


def assert_as_undisturbed(sweep: Sweep, store: Path, other: Path | None = None) -> None:
    """Bit for bit what a run from end to end leaves, labels included, and nothing twice."""
    if other is None:
        run_sweep(sweep, other := store.with_name("whole.sqlite"), workers=1)
    for one, two in zip(results(sweep, store)[:2], results(sweep, other)[:2], strict=True):
        assert one.attrs["missing"] == 0
        assert one.identical(two)
    assert_nothing_twice(sweep, store)


def assert_nothing_twice(sweep: Sweep, store: Path) -> None:
    with Store.reading(store) as kept:
        for part in parts(sweep):
            stored = kept.points(part.family)
            assert len(np.unique(stored, axis=0)) == len(stored) >= len(np.unique(part.keys, axis=0))
