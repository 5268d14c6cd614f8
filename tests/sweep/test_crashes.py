"""Nothing finished is lost and nothing counts twice, whatever kills the driver or a worker. Real processes."""

from __future__ import annotations

import os
import random
import signal
import time
from dataclasses import dataclass, replace

import numpy as np
import psutil
import pytest

from giantstep.grid import Grid
from giantstep.progress import Display
from giantstep.sweep.executors import DIED, local
from giantstep.sweep.job import Job
from giantstep.sweep.parts.base import Part
from giantstep.sweep.points import Family
from giantstep.sweep.problems import StoreError
from giantstep.sweep.run import _Workload, run_sweep
from giantstep.sweep.store import Store
from giantstep.sweep.toml import read

from .helpers import (
    assert_nothing_twice,
    assert_same_results,
    batches,
    finish,
    start,
    wait_for_batches,
    write_toml,
)

pytestmark = pytest.mark.posix  # a process that kills itself, or is interrupted

MOST = 25  # units that a run may do before it is killed: there must be some left


@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_at_random_moments_leave_the_table_of_an_uninterrupted_run(kills, tmp_path):
    toml = write_toml(tmp_path, d=20, trials=25 * kills)
    sweep, store, whole = read(toml), tmp_path / "sweep.sqlite", tmp_path / "whole.sqlite"
    moment, grown, before, ready = random.Random(20), 0, 0, 1.0
    for kill in range(kills):
        process, began = (
            start("run", toml, "--workers", 2 if kill % 6 == 4 else 1, "--quiet"),
            time.monotonic(),
        )
        if kill % 2:  # at any moment from the start of the process on, or while units are being stored
            end = began + moment.uniform(0.0, 1.2 * ready)
            while time.monotonic() < end and batches(store) < before + MOST:
                time.sleep(0.005)
        else:
            wait_for_batches(store, before + 1, process)
            ready = time.monotonic() - began
            wait_for_batches(store, before + moment.randint(1, MOST), process)
            time.sleep(moment.uniform(0.0, 0.005))
        workers = psutil.Process(process.pid).children(recursive=True)
        process.kill()
        assert process.wait() == -signal.SIGKILL, "it was done before it could be killed: give it more to do"
        process.communicate()
        psutil.wait_procs(workers, timeout=10)
        assert not [worker for worker in workers if worker.is_running()]
        grown, before = grown + (batches(store) > before), batches(store)
    assert grown >= kills // 2  # kills hit runs that were at work
    assert finish("run", toml, "--quiet", "--workers", 1)[0] == 0
    run_sweep(sweep, whole, workers=1)
    assert_same_results(sweep, store, whole)
    assert_nothing_twice(sweep, store)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweep.sqlite", "sweep.toml", "whole.sqlite"]


def test_ctrl_c_stops_cleanly_and_says_how_to_go_on(tmp_path):
    toml = write_toml(tmp_path, d=40, trials=400)
    store = tmp_path / "sweep.sqlite"
    process = start("run", toml, "--quiet", "--workers", 2)
    wait_for_batches(store, 5, process)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert f"go on with: giantstep sweep run {toml}" in err
    assert "Traceback" not in err
    assert 5 <= batches(store) < 800
    psutil.wait_procs(workers, timeout=10)
    assert not [worker for worker in workers if worker.is_running()]
    sweep = read(toml)
    fewer = replace(sweep, simulation=replace(sweep.simulation, trials=20))
    run_sweep(fewer, store, workers=1)
    run_sweep(fewer, tmp_path / "whole.sqlite", workers=1)
    assert_same_results(fewer, store, tmp_path / "whole.sqlite")


def test_a_second_driver_is_refused_and_the_first_goes_on(tmp_path):
    toml = write_toml(tmp_path, d=20, trials=200)
    store = tmp_path / "sweep.sqlite"
    first = start("run", toml, "--quiet", "--workers", 1)
    wait_for_batches(store, 1, first)
    with pytest.raises(
        StoreError, match=rf"is being written by another process \(process {first.pid}, since"
    ):
        run_sweep(read(toml), store, workers=1)
    code, _, err = finish("run", toml, "--workers", 1)
    assert code == 2
    assert err.startswith("error: ")
    code, out, _ = finish("status", toml)
    assert code == 0
    assert "of 400 trials at a setting done" in out
    out, err = first.communicate(timeout=60)
    assert first.returncode == 0, err
    assert_nothing_twice(read(toml), store)


@dataclass(frozen=True)
class _Work:
    """Kills its own process, or answers."""

    number: int

    def compute(self):
        if self.number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return {"value": np.array([float(self.number)])}, {}


class _Numbers(Part):
    """Six jobs, one of them deadly."""

    unit = "numbers"
    shape = (6, 1)

    def __init__(self):
        self.family, self.grid = Family("numbers", ("number",), {}), Grid({})

    def _keys(self):
        return np.arange(6.0)[:, None]

    def jobs(self, missing):
        return (Job(self.family.id, self.keys[i : i + 1], _Work(i)) for i in np.flatnonzero(missing))

    def count(self, missing):
        return int(missing.sum())

    units = count

    def dataset(self, answers, attrs):
        raise NotImplementedError  # not asked for here


def test_a_job_that_kills_its_worker_is_recorded_and_the_others_are_done(tmp_path):
    part = _Numbers()
    with Store.writing(tmp_path / "s.sqlite") as store, local(2, 1) as executor:
        load = _Workload(part, np.ones(6, dtype=bool), store, executor, Display(False))
        load.do()
        assert (load.done, load.failures) == (5, [DIED])
        assert sorted(store.points(part.family)[:, 0]) == [0, 1, 3, 4, 5]
        (failure,) = store.failures(part.family)
        assert (failure.message, failure.keys.item()) == (DIED, 2.0)
