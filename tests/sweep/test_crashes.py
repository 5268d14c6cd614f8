"""Nothing finished is lost and nothing counts twice, whatever kills the driver or a worker. Real processes."""

import os
import random
import signal
import sqlite3
import time
from contextlib import closing

import psutil
import pytest
from attrs import evolve

from giantstep.runtime.workers import process_pool
from giantstep.sweep.results import status
from giantstep.sweep.run import Unfinished, run_sweep
from giantstep.sweep.store import Store, StoreError
from giantstep.sweep.toml import read

from .helpers import assert_as_undisturbed, batches, finish, python, start, wait_for_batches, write_toml

pytestmark = pytest.mark.posix  # a process that kills itself, or is interrupted

MOST = 25  # units that a run may do before it is killed: there must be some left


@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_kills_at_random_moments_leave_the_table_of_an_uninterrupted_run(kills, tmp_path):
    toml = write_toml(tmp_path, d=20, trials=25 * kills)
    store, moment = tmp_path / "sweep.sqlite", random.Random(20)
    grown, before, ready = 0, 0, 1.0
    for kill in range(kills):
        began = time.monotonic()
        process = start("run", toml, "--workers", 2 if kill % 6 == 4 else 1, "--quiet")
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
        assert not psutil.wait_procs(workers, timeout=10)[1]
        grown, before = grown + (batches(store) > before), batches(store)
    assert grown >= kills // 2  # kills hit runs that were at work
    assert finish("run", toml, "--quiet", "--workers", 1)[0] == 0
    assert_as_undisturbed(read(toml), store)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["sweep.sqlite", "sweep.toml", "whole.sqlite"]


def test_a_second_driver_is_refused_the_first_goes_on_and_ctrl_c_stops_it_and_says_how_to_go_on(tmp_path):
    toml = write_toml(tmp_path, d=40, trials=400)
    store = tmp_path / "sweep.sqlite"
    process = start("run", toml, "--quiet", "--workers", 2)
    wait_for_batches(store, 1, process)
    with pytest.raises(StoreError, match=rf"written by another process \(process {process.pid}, since"):
        run_sweep(read(toml), store, workers=1)
    code, out, _ = finish("status", toml)
    assert code == 0
    assert "of 800 trials at a setting done" in out
    wait_for_batches(store, batches(store) + 5, process)
    workers = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert f"go on with: giantstep sweep run {toml}" in err
    assert "Traceback" not in err
    assert batches(store) < 800
    assert not psutil.wait_procs(workers, timeout=10)[1]
    fewer = evolve(read(toml), simulation=evolve(read(toml).simulation, trials=20))
    run_sweep(fewer, store, workers=1)
    assert_as_undisturbed(fewer, store)


class Deadly:
    """A pool in which the jobs of trial 2 kill the process that does them."""

    def __init__(self, pool) -> None:
        self.pool = pool

    def submit(self, function, work, threads):
        return self.pool.submit(*((os.abort,) if work.args[0].trial == 2 else (function, work, threads)))


def test_a_job_that_kills_its_worker_is_recorded_and_the_others_are_done(tmp_path):
    sweep, store = evolve(read(write_toml(tmp_path, trials=6)), theory=None), tmp_path / "s.sqlite"
    words = "2 jobs failed, the first with: its worker"
    with process_pool(2, 1) as pool, pytest.warns(Unfinished, match=words):
        found = run_sweep(sweep, store, executor=Deadly(pool))
    assert found.done == 10
    lost = found.simulation.test_error.isnull().any(["eta", "alpha", "lam"])
    assert list(lost.trial[lost]) == [2]
    assert status(sweep, store)[0].messages == (found.status[0].messages[0],) * 2
    assert run_sweep(sweep, store, workers=1, retry=True).simulation.attrs["missing"] == 0


MAKING = """
import sys
from pathlib import Path
from giantstep.sweep import Store
print("ready", flush=True)
for number in range(100000):
    with Store.writing(Path(sys.argv[1]) / f"{number}.sqlite"):
        pass
"""


def test_a_kill_while_a_store_is_made_leaves_nothing_that_stays(tmp_path):
    moment = random.Random(3)
    for kill in range(8):
        folder = tmp_path / str(kill)
        folder.mkdir()
        process = python("-c", MAKING, folder)
        process.stdout.readline()
        time.sleep(moment.uniform(0.0, 0.3))
        process.kill()
        process.communicate()
        assert len({path for path in folder.iterdir() if path.suffix != ".sqlite"}) <= 4
        last = max((int(path.name.partition(".")[0]) for path in folder.iterdir()), default=0)
        with Store.writing(folder / f"{last}.sqlite"):
            pass
        assert {path.suffix for path in folder.iterdir()} == {".sqlite"}
        assert all(path.stat().st_size for path in folder.iterdir())


def test_a_store_of_which_half_is_written_is_made_anew(tmp_path):
    path, half, whole = (tmp_path / name for name in ("s.sqlite", "half.sqlite", "whole.sqlite"))
    with Store.writing(whole):
        pass
    path.write_bytes(whole.read_bytes()[:4096])  # a commit writes the first page first
    with closing(sqlite3.connect(half, isolation_level=None)) as connection:
        connection.executescript("PRAGMA cache_size = 1; BEGIN IMMEDIATE")  # so that pages are written before the end
        for number in range(50):
            connection.execute(f"CREATE TABLE t{number} (x)")
        (tmp_path / "s.sqlite-journal").write_bytes((tmp_path / "half.sqlite-journal").read_bytes())
    half.unlink()
    with Store.writing(path):
        pass
    assert sorted(tmp_path.iterdir()) == [path, whole]
    assert path.stat().st_size == whole.stat().st_size
