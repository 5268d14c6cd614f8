"""Stores and executors as objects: the same results as by their names, and neither is closed for its owner."""

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from multiprocessing import get_context
from threading import Timer
from typing import Any

import pytest
from attrs import evolve

import giantstep as gs
from giantstep.errors import ParameterError
from giantstep.runtime.workers import WorkerDied, process_pool
from giantstep.sweep import Store, results, run_sweep
from giantstep.sweep.job import Outcome
from giantstep.sweep.run import SweepError
from giantstep.sweep.store import StoreError

from .helpers import SWEEP, Here, assert_as_undisturbed


@contextmanager
def dask_client() -> Iterator[Any]:
    distributed = pytest.importorskip("distributed")
    address = {"dashboard_address": "127.0.0.1:0"}
    with distributed.Client(n_workers=1, threads_per_worker=1, processes=False, **address) as client:
        yield client


EXECUTORS = {
    "one's own": lambda: nullcontext(Here()),
    "of concurrent.futures": lambda: ProcessPoolExecutor(2, mp_context=get_context("spawn")),
    "workers": lambda: process_pool(1, 1),
    "a Dask client": dask_client,
}


@pytest.mark.parametrize("name", EXECUTORS)
def test_an_executor_does_the_jobs_and_stays_open(name, tmp_path, whole):
    store = tmp_path / "s.sqlite"
    with EXECUTORS[name]() as executor:
        found = run_sweep(SWEEP, store, executor=executor)
        assert found.done == 41  # 40 trials at a setting and a block of theory
        assert [part.done for part in found.status] == [12, 40]
        again = run_sweep(SWEEP, store, executor=executor, read=False)
        assert (again.theory, again.simulation, again.done) == (None, None, 0)
        assert executor.submit(abs, -1).result() == 1
    assert_as_undisturbed(SWEEP, store, whole)


class Losing(Here):
    """Two workers die over the first two jobs, the second a while after the first and as Dask may put it."""

    losses = WorkerDied("a test"), TypeError("cannot unpack non-iterable Outcome object")

    def submit(self, function, *arguments) -> Future[Outcome]:
        if self.jobs >= 2:
            return super().submit(function, *arguments)
        self.jobs += 1
        future: Future[Outcome] = Future()
        Timer(0.1 * self.jobs, future.set_exception, [self.losses[self.jobs - 1]]).start()
        return future


def test_jobs_that_are_lost_one_after_the_other_are_all_done_again(tmp_path, whole):
    sweep, executor = evolve(SWEEP, theory=None), Losing()
    found = run_sweep(sweep, tmp_path / "s.sqlite", executor=executor)
    assert (found.done, executor.jobs) == (40, 42)
    assert found.simulation.identical(results(sweep, whole).simulation)


class Older(Here):
    """Workers of another version."""

    def submit(self, function, *arguments) -> Future[Outcome]:
        return super().submit(lambda: replace(function(*arguments), results_version=-1))


def shut_down() -> ProcessPoolExecutor:
    with ProcessPoolExecutor(1) as pool:
        return pool


@pytest.mark.parametrize(
    ("make", "words"), [(Older, "install the same version there"), (shut_down, "what was finished is safe")]
)
def test_workers_of_another_version_and_those_that_are_gone_are_named(make, words, tmp_path):
    with pytest.raises(SweepError, match=words):
        run_sweep(SWEEP, tmp_path / "s.sqlite", executor=make())
    with pytest.raises(ParameterError, match="has nothing of this sweep yet"):
        results(SWEEP, tmp_path / "s.sqlite")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"executor": 4}, "executor = 4 has no method submit"),
        ({"executor": Here(), "workers": 2}, "leave out workers and scheduler"),
        ({"retry": "no"}, "retry = 'no' is not allowed: it must be True or False"),
    ],
)
def test_what_cannot_run_jobs_is_refused(tmp_path, options, words):
    with pytest.raises(ParameterError, match=words):
        run_sweep(SWEEP, tmp_path / "s.sqlite", **options)
    assert not list(tmp_path.iterdir())


def test_an_open_store_takes_several_sweeps_and_gives_them_back(tmp_path, whole):
    path = tmp_path / "s.sqlite"
    other = gs.Sweep(SWEEP.model, "tanh", alpha=1.0, lam=0.1, theory={"bulk": "isotropic"})
    with Store.writing(path) as store:
        found = run_sweep(SWEEP, store, workers=1)
        run_sweep(other, store, workers=1)
        assert results(SWEEP, store).simulation.identical(found.simulation)
        assert results(None, store).theory.attrs["target"] == results(other, store).theory.attrs["target"]
    assert_as_undisturbed(SWEEP, path, whole)
    with Store.reading(path) as store, pytest.raises(StoreError, match="cannot be written"):
        run_sweep(SWEEP, store, workers=1)
