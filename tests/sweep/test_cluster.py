"""On a Dask cluster, with a scheduler and workers that are real processes: the same bits, whoever dies."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from giantstep.errors import ParameterError
from giantstep.sweep import run_sweep
from giantstep.sweep.toml import read

from .helpers import assert_nothing_twice, assert_same_results, batches, finish, start, wait_for_batches, write_toml

pytest.importorskip("distributed")
Spawn = Callable[..., subprocess.Popen[bytes]]


@pytest.fixture
def spawn() -> Iterator[Spawn]:
    """Processes that are gone when the test is."""
    started = []
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}

    def begin(*command: object) -> subprocess.Popen[bytes]:
        environment = os.environ | {"OMP_NUM_THREADS": "1"}
        started.append(subprocess.Popen([sys.executable, *map(str, command)], env=environment, **quiet))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()


def cluster(spawn: Spawn, folder: Path) -> tuple[str, Callable[[], subprocess.Popen[bytes]]]:
    """The address of a new scheduler, and a function that starts a worker for it."""
    file = folder / "scheduler.json"
    here = ("--host", "127.0.0.1", "--no-dashboard")
    spawn("-m", "distributed.cli.dask_scheduler", "--port", 0, "--scheduler-file", file, *here)
    deadline = time.monotonic() + 60
    while not file.exists() or not file.read_text().strip():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    address = json.loads(file.read_text())["address"]

    def worker() -> subprocess.Popen[bytes]:
        return spawn("-m", "distributed.cli.dask_worker", address, "--nthreads", 1, "--no-nanny", *here)

    return address, worker


def test_a_cluster_that_loses_workers_gives_the_bits_of_a_local_run(tmp_path, spawn):
    address, worker = cluster(spawn, tmp_path)
    toml = write_toml(tmp_path, trials=60)
    store, alone = tmp_path / "sweep.sqlite", tmp_path / "alone.sqlite"
    first, second = worker(), worker()
    driver = start("run", toml, "--scheduler", address, "--quiet")
    wait_for_batches(store, 10, driver)
    worker()  # which has to do the rest
    first.kill()
    wait_for_batches(store, batches(store) + 10, driver)
    second.kill()
    _, err = driver.communicate(timeout=120)
    assert driver.returncode == 0, err
    sweep = read(toml)
    run_sweep(sweep, alone, workers=1)
    assert_same_results(sweep, store, alone)
    assert_nothing_twice(sweep, store)


def test_an_address_where_nobody_answers_is_an_error_of_one_sentence(tmp_path):
    toml = write_toml(tmp_path)
    with socket.socket() as unused:  # bound, not listening: nobody answers there
        unused.bind(("127.0.0.1", 0))
        code, _, err = finish("run", toml, "--scheduler", f"tcp://127.0.0.1:{unused.getsockname()[1]}")
    assert (code, err.count("\n")) == (2, 1)
    assert "does not answer" in err
    with pytest.raises(ParameterError, match=r"is no address .* write it like"):
        run_sweep(toml, tmp_path / "s.sqlite", scheduler="nonsense://nowhere")
