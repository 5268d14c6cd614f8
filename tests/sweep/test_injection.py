"""Stores and executors as objects: the same results as by their names, and neither is closed for its owner."""

from __future__ import annotations

from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from threading import Timer

import pytest
from attrs import evolve

import giantstep as gs
from giantstep.cli import main
from giantstep.errors import ParameterError
from giantstep.runtime.workers import WorkerDied, process_pool
from giantstep.sweep import Store, results, run_sweep
from giantstep.sweep.job import Outcome
from giantstep.sweep.part import Part
from giantstep.sweep.run import SweepError
from giantstep.sweep.store import StoreError

from .helpers import assert_nothing_twice, assert_same_results, write_toml

SWEEP = gs.Sweep(
    gs.Network("tanh", eta=[0.5, 1.0], alpha0=2.0),
    "sin",
    alpha=[0.5, 1.0],
    lam=0.1,
    theory={"bulk": "isotropic"},
    simulation={"d": 10, "trials": 3, "n_test": 200},
)


class Counting:
    """An executor of one's own."""

    def __init__(self) -> None:
        self.jobs = 0

    def submit(self, function, *arguments) -> Future[Outcome]:
        self.jobs += 1
        future: Future[Outcome] = Future()
        future.set_result(function(*arguments))
        return future


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "s.sqlite"
    run_sweep(SWEEP, path, workers=1)
    return path


def test_an_executor_of_one_s_own_does_the_jobs(tmp_path, whole):
    executor, store = Counting(), tmp_path / "s.sqlite"
    found = run_sweep(SWEEP, store, executor=executor)
    assert executor.jobs == found.done == 1 + 6
    assert [part.done for part in found.status] == [4, 6]
    assert_same_results(SWEEP, store, whole)
    assert run_sweep(SWEEP, store, executor=executor).done == 0


class Losing(Counting):
    """Two workers that die over the first two jobs, the second of them a while after the first."""

    def submit(self, function, *arguments) -> Future[Outcome]:
        if self.jobs >= 2:
            return super().submit(function, *arguments)
        self.jobs += 1
        future: Future[Outcome] = Future()
        Timer(0.1 * self.jobs, future.set_exception, [WorkerDied("a test")]).start()
        return future


def test_jobs_that_are_lost_one_after_the_other_are_all_done_again(tmp_path, whole):
    sweep, executor = evolve(SWEEP, theory=None), Losing()
    found = run_sweep(sweep, tmp_path / "s.sqlite", executor=executor)
    assert (found.done, executor.jobs) == (6, 8)
    assert found.simulation.identical(results(sweep, whole).simulation)


def test_answers_of_another_version_s_workers_are_not_kept(tmp_path):
    class Older(Counting):
        def submit(self, function, *arguments) -> Future[Outcome]:
            future: Future[Outcome] = Future()
            future.set_result(replace(function(*arguments), results_version=-1))
            return future

    store = tmp_path / "s.sqlite"
    with pytest.raises(SweepError, match="install the same version there"):
        run_sweep(SWEEP, store, executor=Older())
    with pytest.raises(ParameterError, match="has nothing of this sweep yet"):
        results(SWEEP, store)


def test_an_executor_of_concurrent_futures_stays_open(tmp_path, whole):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        run_sweep(SWEEP, tmp_path / "s.sqlite", executor=pool)
        assert pool.submit(abs, -1).result() == 1
    assert_same_results(SWEEP, tmp_path / "s.sqlite", whole)
    with pytest.raises(SweepError, match="what was finished is safe"):
        run_sweep(SWEEP, tmp_path / "other.sqlite", executor=pool)


def test_a_pool_of_workers_is_an_executor(tmp_path, whole):
    with process_pool(1, 1) as pool:
        run_sweep(SWEEP, tmp_path / "s.sqlite", executor=pool)
    assert_same_results(SWEEP, tmp_path / "s.sqlite", whole)


def test_a_dask_client_is_an_executor(tmp_path, whole):
    distributed = pytest.importorskip("distributed")
    options = {
        "n_workers": 1,
        "threads_per_worker": 1,
        "processes": False,
        "dashboard_address": "127.0.0.1:0",
    }
    with distributed.LocalCluster(**options) as cluster, distributed.Client(cluster) as client:
        run_sweep(SWEEP, tmp_path / "s.sqlite", executor=client)
        assert client.submit(abs, -1).result() == 1
    assert_same_results(SWEEP, tmp_path / "s.sqlite", whole)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"executor": 4}, "executor = 4 has no method submit"),
        ({"executor": Counting(), "workers": 2}, "leave out workers and scheduler"),
    ],
)
def test_what_cannot_run_jobs_is_refused(tmp_path, given, words):
    with pytest.raises(ParameterError, match=words):
        run_sweep(SWEEP, tmp_path / "s.sqlite", **given)
    assert not (tmp_path / "s.sqlite").exists()


def test_an_open_store_takes_several_sweeps_and_gives_them_back(tmp_path, whole):
    path = tmp_path / "s.sqlite"
    other = gs.Sweep(SWEEP.model, "tanh", alpha=1.0, lam=0.1, theory={"bulk": "isotropic"})
    with Store.writing(path) as store:
        found = run_sweep(SWEEP, store, workers=1)
        run_sweep(other, store, workers=1)
        assert results(SWEEP, store).simulation.identical(found.simulation)
        assert results(None, store).theory.attrs["target"] == results(other, store).theory.attrs["target"]
    assert_same_results(SWEEP, path, whole)
    assert_nothing_twice(SWEEP, path)
    with Store.reading(path) as store, pytest.raises(StoreError, match="cannot be written"):
        run_sweep(SWEEP, store, workers=1)


def test_answers_can_be_left_in_the_store(tmp_path):
    found = run_sweep(SWEEP, tmp_path / "s.sqlite", workers=1, read=False)
    assert (found.theory, found.simulation, found.done) == (None, None, 7)


def test_a_run_builds_its_parts_once(tmp_path, monkeypatch):
    built, genuine = [], Part.__init__
    monkeypatch.setattr(Part, "__init__", lambda part, sweep: (built.append(part), genuine(part, sweep))[1])
    run_sweep(SWEEP, tmp_path / "s.sqlite", workers=1)
    assert len(built) == 2
    built.clear()
    with pytest.raises(SystemExit):
        main(["sweep", "run", str(write_toml(tmp_path, trials=1)), "--workers", "1", "--quiet"])
    assert len(built) == 2


def test_the_command_runs_what_python_runs(tmp_path, monkeypatch):
    asked = []

    def spied(*arguments, **options):
        asked.append(options)
        return run_sweep(*arguments, **options)

    monkeypatch.setattr("giantstep.sweep.run_sweep", spied)
    with pytest.raises(SystemExit) as ended:
        main(["sweep", "run", str(write_toml(tmp_path, trials=1)), "--workers", "1", "--quiet"])
    assert not ended.value.code
    assert asked[0]["workers"] == 1
