"""On a Dask cluster, with a scheduler and workers that are real processes: the same bits, whoever dies."""

import json
import socket
import subprocess

import pytest

from giantstep.errors import ParameterError
from giantstep.sweep import run_sweep
from giantstep.sweep.toml import read

from .helpers import assert_as_undisturbed, batches, finish, python, start, wait_for_batches, wait_until, write_toml

pytest.importorskip("distributed")


def dask(kind: str, *words: object) -> subprocess.Popen[str]:
    """A scheduler or a worker."""
    words = (f"distributed.cli.dask_{kind}", *words, "--host", "127.0.0.1", "--no-dashboard")
    return python("-m", *words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def test_a_cluster_that_loses_workers_gives_the_bits_of_a_local_run(tmp_path):
    file, toml = tmp_path / "scheduler.json", write_toml(tmp_path, trials=60)
    scheduler = dask("scheduler", "--port", 0, "--scheduler-file", file)
    wait_until(lambda: file.exists() and file.read_text().strip(), scheduler)
    worker = ("worker", json.loads(file.read_text())["address"], "--nthreads", 1, "--no-nanny")
    store, first, second = tmp_path / "sweep.sqlite", dask(*worker), dask(*worker)
    driver = start("run", toml, "--scheduler", worker[1], "--quiet")
    wait_for_batches(store, 10, driver)
    dask(*worker)  # which has to do the rest
    first.kill()
    wait_for_batches(store, batches(store) + 10, driver)
    second.kill()
    _, err = driver.communicate(timeout=120)
    assert driver.returncode == 0, err
    assert_as_undisturbed(read(toml), store)


def test_an_address_where_nobody_answers_is_an_error_of_one_sentence(tmp_path):
    toml = write_toml(tmp_path)
    with socket.socket() as unused:  # bound, not listening: nobody answers there
        unused.bind(("127.0.0.1", 0))
        code, _, err = finish("run", toml, "--scheduler", f"tcp://127.0.0.1:{unused.getsockname()[1]}")
    assert (code, err.count("\n")) == (2, 1)
    assert "does not answer" in err
    with pytest.raises(ParameterError, match=r"is no address .* write it like"):
        run_sweep(toml, tmp_path / "s.sqlite", scheduler="nonsense://nowhere")
