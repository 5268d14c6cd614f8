"""The driver: what is missing, done and stored, job by job; the only process that writes."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..errors import GiantstepWarning, ParameterError
from ..parameters import check_count, flag, flag_or_none
from ..progress import Display
from ..system import cores
from ..workers import WorkerDied
from .description import Sweep, canonical
from .executors import Executor, alone, as_executor, cluster, local
from .export import Results, check_any, collected
from .job import RESULTS_VERSION, Job, Outcome
from .parts import Part, parts
from .problems import StoreError, SweepError, Unfinished
from .status import tally
from .store import Store
from .toml import read as read_toml

_GLANCE = 1.0  # seconds between looks at the display while nothing finishes
_QUEUED = 2  # jobs in flight per worker: the next one is there when one finishes
_MOST_NOTES = 3  # warnings of workers that are passed on


class Report(NamedTuple):
    """How a run ended: jobs done in it, what those that failed said, and whether somebody stopped it."""

    done: int
    failures: tuple[str, ...]
    interrupted: bool


def run_sweep(
    sweep: Sweep | str | os.PathLike[str],
    store: str | os.PathLike[str] | Store,
    *,
    executor: Any = None,
    workers: int | None = None,
    threads: int = 1,
    scheduler: str | None = None,
    local_cluster: int | None = None,
    retry: bool = False,
    progress: bool | None = None,
    read: bool = True,
) -> Results:
    """Compute what is missing of a sweep, keep it in the file `store`, and return all of it.

    Run again after a crash, a Ctrl-C, with more trials or longer lists: only what is missing is computed. Several
    sweeps may share a store.

    Parameters
    ----------
    sweep : Sweep or str
        What to compute, or the name of a TOML file that says it.
    store : str, path or Store
        The name of a file, which is made if there is none, or a store that is open for writing:
        `with giantstep.sweep.Store.writing("curves.sqlite") as store: ...`
    executor : object, optional
        What runs the jobs, in place of local processes: anything with `submit`, such as an executor of
        `concurrent.futures` (of processes: threads share their settings) or a Dask client, or an object with the
        methods of `giantstep.sweep.executors.Executor`. It stays open.
    workers : int, optional
        Local processes; all processors by default.
    threads : int
        Of each worker's linear algebra. With the same number results are the same bit for bit, however and
        wherever they are computed (on processors of one kind); otherwise to about 1e-10.
    scheduler : str, optional
        The address of a Dask cluster, "tcp://...", to use instead of local processes.
    local_cluster : int, optional
        Start a Dask cluster of so many processes here, to try things out.
    retry : bool
        Do what failed before, and only that. Failures are recorded with their message and otherwise left alone.
    progress : bool, optional
        Show a line; by default one appears if a person is watching.
    read : bool
        False leaves the answers in the store, and the Datasets are None.

    Returns
    -------
    Results
        `theory` and `simulation`, Datasets as `predict` and `simulate` give them (NaN where something is missing),
        `interrupted`, which is true after Ctrl-C, `done`, the number of jobs that this run has finished, and `status`,
        how far each part is. Failures and interruptions also warn.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> net = gs.Network("tanh", eta=1, alpha0=[1, 2])
    >>> sweep = gs.Sweep(net, "sin", alpha=[0.5, 1], lam=0.1, theory=True, simulation={"d": 30, "trials": 2})
    >>> with TemporaryDirectory() as folder:  # keep yours
    ...     found = gs.run_sweep(sweep, f"{folder}/curves.sqlite", workers=1)
    ...     gs.run_sweep(sweep, f"{folder}/curves.sqlite", workers=1).done  # all is there already
    0
    >>> dict(found.simulation.test_error.sizes)
    {'trial': 2, 'alpha0': 2, 'alpha': 2}
    """
    sweep = sweep if isinstance(sweep, Sweep) else read_toml(sweep)
    threads, display = check_count("threads", threads, 1), Display(flag_or_none("progress", progress))
    retry, read = flag("retry", retry), flag("read", read)
    place = _place(executor, workers, scheduler, local_cluster, threads)
    wanted = parts(sweep)
    with nullcontext(store) if isinstance(store, Store) else Store.writing(store) as kept:
        report = drive(sweep, wanted, kept, place, threads, retry=retry, display=display)
        found = collected(wanted, kept, read)
    if report.interrupted:
        note = f"interrupted: what is finished is kept in {str(kept.path)!r}; run it again to go on"
        warnings.warn(note, Unfinished, stacklevel=2)
    if report.failures:
        first = f"{len(report.failures)} jobs failed, the first with: {report.failures[0]}"
        warnings.warn(f"{first}; retry=True does them again", Unfinished, stacklevel=2)
    if read:
        check_any(found, kept.path)
    return found._replace(interrupted=report.interrupted, done=report.done)


Place = Callable[[list[Part], int], AbstractContextManager[Executor]]


def _place(
    executor: Any, workers: int | None, scheduler: str | None, local_cluster: int | None, threads: int
) -> Place:
    """What makes the executor when there is something to do, for the parts and the number of jobs at hand."""
    if scheduler is not None and local_cluster is not None:
        raise ParameterError("scheduler and local_cluster are two clusters; give one of them")
    if executor is not None:
        if (workers, scheduler, local_cluster) != (None, None, None):
            raise ParameterError(
                "executor says where jobs run: leave out workers, scheduler and local_cluster"
            )
        lent = as_executor(executor, threads)
        return lambda wanted, jobs: nullcontext(lent)
    if scheduler is not None or local_cluster is not None:
        return lambda wanted, jobs: cluster(scheduler, local_cluster, threads)
    most = cores() if workers is None else check_count("workers", workers, 1)

    def here(wanted: list[Part], jobs: int) -> AbstractContextManager[Executor]:
        for part in wanted:
            part.check(min(most, jobs))
        return local(min(most, jobs), threads)

    return here


def drive(
    sweep: Sweep,
    wanted: list[Part],
    store: Store,
    executor: Place,
    threads: int = 1,
    *,
    retry: bool = False,
    display: Display | None = None,
) -> Report:
    """Do what is missing (or, with `retry`, what failed) of every part of a sweep, and store it."""
    display = display or Display(False)
    finished: list[_Workload] = []
    interrupted = False
    store.begin_run(canonical(sweep.to_dict()), threads)
    try:
        todo = [(part, _wanted(part, store, retry)) for part in wanted]
        todo = [(part, missing) for part, missing in todo if missing.any()]
        if todo:
            jobs = sum(part.count(missing) for part, missing in todo)
            with executor([part for part, _ in todo], jobs) as workers:
                for part, missing in todo:
                    finished.append(_Workload(part, missing, store, workers, display))
                    finished[-1].do()
    except KeyboardInterrupt:
        interrupted = True
    finally:
        with suppress(StoreError):  # a full disk is being reported already
            store.end_run()
    notes = {text: note for load in finished for text, note in load.notes.items()}
    for note in list(notes.values())[:_MOST_NOTES]:
        warnings.warn(note, stacklevel=3)
    failures = tuple(message for load in finished for message in load.failures)
    return Report(sum(load.done for load in finished), failures, interrupted)


class _Workload:
    """The jobs of one part: sent out a few at a time, stored one by one as they come back."""

    def __init__(self, part: Part, missing: np.ndarray, store: Store, executor: Executor, display: Display):
        self.part, self.store, self.executor, self.display = part, store, executor, display
        self.total, self._waiting = part.count(missing), part.jobs(missing)
        self._flying: dict[Future[Outcome], Job] = {}
        self.done = 0
        self.failures: list[str] = []
        self.notes: dict[str, GiantstepWarning] = {}  # each once

    def do(self) -> None:
        """All of them; Ctrl-C still keeps what has come back by then."""
        self.store.enter_family(self.part.family)
        self.display.begin(self.part.family.kind, self.total)
        try:
            while self._send() or self._flying:
                wait(self._flying, timeout=_GLANCE, return_when=FIRST_COMPLETED)
                self._collect()
                self._show()
        except KeyboardInterrupt:
            self._collect()
            raise
        finally:
            self.display.end()
            for future in self._flying:  # what has begun ends with its executor
                future.cancel()

    def _send(self) -> bool:
        """Keep every worker busy; whether there was anything to send."""
        room = max(0, _QUEUED * self.executor.width() - len(self._flying))
        sent = False
        for job in islice(self._waiting, room):
            self._flying[self.executor.submit(job.work)] = job
            sent = True
            if self.executor.width() == 1 and any(future.done() for future in self._flying):
                break  # done here and now: store it before the next one
        return sent

    def _collect(self) -> None:
        """Store what is finished; do again what was lost with a worker."""
        lost = []
        for future in [future for future in self._flying if future.done()]:
            try:
                self._keep(self._flying[future], self.executor.outcome(future))
            except WorkerDied:
                lost.append(self._flying[future])
            del self._flying[future]
        if lost:
            self._rescue(lost)

    def _rescue(self, lost: list[Job]) -> None:
        """Perhaps memory is short: once what is in flight is back, each lost job has the machine to itself."""
        wait(self._flying)
        for future, job in self._flying.items():
            try:
                self._keep(job, self.executor.outcome(future))
            except WorkerDied:
                lost.append(job)
        self._flying.clear()
        for job in lost:
            self._keep(job, alone(job.work, self.executor))
            self._show()

    def _keep(self, job: Job, outcome: Outcome) -> None:
        if outcome.refused:
            raise ParameterError(outcome.message)
        if outcome.results_version != RESULTS_VERSION:
            raise SweepError(
                f"a worker's giantstep gives other numbers (results version {outcome.results_version}, here "
                f"{RESULTS_VERSION}); install the same version there"
            )
        self.store.add(job, outcome)
        if outcome.answers is None:
            self.failures.append(outcome.message)
        else:
            self.done += 1
        self.notes |= {str(note): note for note in outcome.notes}

    def _show(self) -> None:
        self.display.update(self.done, len(self.failures), min(len(self._flying), self.executor.width()))


def _wanted(part: Part, store: Store, retry: bool) -> np.ndarray:
    """The points to compute now, [points]."""
    found = tally(part, store)
    return found.failed if retry else ~found.done & ~found.failed
