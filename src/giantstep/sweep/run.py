"""The driver: what is missing, done and stored, job by job; the only process that writes.

Jobs run in this process, in local processes, on a Dask cluster, or wherever a user's executor has them run; the driver
cannot tell them apart.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import contextmanager, nullcontext
from itertools import islice
from typing import Any

from ..errors import GiantstepError, GiantstepWarning, ParameterError, named, warn
from ..model.arguments import checked_arguments
from ..model.checks import a_path, a_text, an_executor, as_it_is, flag
from ..runtime.progress import Display
from ..runtime.system import cores
from ..runtime.workers import WorkerDied, process_pool
from .description import Sweep
from .job import RESULTS_VERSION, Job, Outcome, perform
from .results import Results, check_any, collect, find_done, parts
from .store import Store
from .toml import read as read_toml

_SECONDS = 1.0  # between looks at the display while nothing finishes
_IN_FLIGHT = 1000  # jobs sent to an executor of which we do not know how many it runs side by side
_TRIES = 3  # of a job whose worker died
_MOST_NOTES = 3  # warnings of workers that are passed on
DIED = "its worker process died again and again (killed, perhaps for want of memory); try fewer workers or a smaller d"


class SweepError(GiantstepError, RuntimeError):
    """The sweep cannot go on, for a reason outside it; everything finished is kept."""

    page = "Sweeps: thousands of settings, on a laptop or a cluster"


class Unfinished(GiantstepWarning):
    """A run ended before all was done: somebody stopped it, or jobs failed."""


@checked_arguments(
    sweep=as_it_is,
    store=lambda name, value: value if isinstance(value, Store) else a_path(name, value),
    executor=an_executor,
    scheduler=a_text,
    retry=flag,
    progress=flag,
    read=flag,
)
def run_sweep(
    sweep: Sweep | str | os.PathLike[str],
    store: str | os.PathLike[str] | Store,
    *,
    executor: Any = None,
    workers: int | None = None,
    threads: int = 1,
    scheduler: str | None = None,
    retry: bool = False,
    progress: bool | None = None,
    read: bool = True,
) -> Results:
    """Compute the missing results of a sweep, keep them in the file `store`, and return all results.

    You can run it again after a crash or Ctrl-C, or with more trials or longer lists: it computes only the missing
    results. Several sweeps may share a store.

    Parameters
    ----------
    sweep : Sweep or str
        What to compute, or the name of a TOML file that says it.
    store : str, path or Store
        The name of a file, new or old, or a store that is open for writing:
        `with giantstep.sweep.Store.writing("curves.sqlite") as store: ...`
    executor : object, optional
        What runs the jobs, in place of local processes: anything with `submit`, such as an executor of
        `concurrent.futures` (of processes: threads share their settings) or a Dask client. It stays open.
    workers : int, optional
        Number of local processes; by default one for each processor.
    threads : int
        Threads of each worker's linear algebra. With the same number, results are the same bit for bit on processors of
        one kind; otherwise they agree to about 1e-10.
    scheduler : str, optional
        The address of a Dask cluster, "tcp://...", to use instead of local processes.
    retry : bool
        Whether to repeat the jobs that failed, and only those. Without it, failed jobs are left alone.
    progress : bool, optional
        Whether to show a bar. By default one appears in notebooks and on terminals if the work takes over a second.
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
    ...     curves = gs.run_sweep(sweep, f"{folder}/curves.sqlite", workers=1)
    ...     gs.run_sweep(sweep, f"{folder}/curves.sqlite", workers=1).done  # all is there already
    0
    >>> dict(curves.simulation.test_error.sizes)
    {'trial': 2, 'alpha0': 2, 'alpha': 2}
    """
    if executor is not None and (workers, scheduler) != (None, None):
        raise ParameterError("executor says where jobs run: leave out workers and scheduler", "executor")
    display, most = Display(progress), workers or cores()
    with named("sweep"):
        sweep = sweep if isinstance(sweep, Sweep) else read_toml(a_path("sweep", sweep))
    wanted, interrupted = parts(sweep), False
    with nullcontext(store) if isinstance(store, Store) else Store.writing(store) as kept:
        driver = _Driver(kept, threads, display)
        kept.begin_run(sweep.to_dict(), [part.family for part in wanted], threads)
        portions = {}
        for part in wanted:
            places, failed = find_done(part, kept)
            missing = failed if retry else (places < 0) & ~failed
            if missing.any():
                portions[part] = part.portions(missing.reshape(part.shape))
        most = min(most, sum(map(len, portions.values())))
        try:
            if executor is None and scheduler is None:
                for part in portions:
                    part.check(most)
            if portions:
                with _open_executor(executor, scheduler, most, threads) as (pool, at_once):
                    for part, rectangles in portions.items():
                        with display.over(part.family.kind, len(rectangles)):
                            driver.run(part.jobs(rectangles), pool, at_once)
        except KeyboardInterrupt:
            interrupted = True
        results = collect(wanted, kept, read)
    for note in list(driver.notes.values())[:_MOST_NOTES]:
        warn(note)
    if interrupted:
        warn(f"interrupted: what is finished is kept in {str(kept.path)!r}; run it again to go on", Unfinished)
    if driver.failures:
        warn(
            f"{len(driver.failures)} jobs failed, the first with: {driver.failures[0]}; retry = True does them again",
            Unfinished,
        )
    if read:
        check_any(results, kept.path)
    return results._replace(interrupted=interrupted, done=driver.done)


class _Here:
    """Runs jobs in this process."""

    def submit(self, function: Any, /, *arguments: Any) -> Future[Any]:
        future: Future[Any] = Future()
        future.set_result(function(*arguments))
        return future


@contextmanager
def _dask(address: str) -> Iterator[Any]:
    """The executor of the Dask cluster at an address."""
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError:
        raise ParameterError(
            "a cluster needs dask.distributed, which is not installed; pip install 'giantstep[cluster]'"
        ) from None
    try:  # knock before Dask does, which gives up after long, in many lines
        socket.create_connection(get_address_host_port(address), timeout=10.0).close()
    except (ValueError, TypeError) as error:
        raise ParameterError(
            f"scheduler = {address!r} is no address ({error}); write it like tcp://10.0.0.5:8786"
        ) from None
    except OSError as error:
        raise SweepError(f"scheduler = {address!r} does not answer ({error}); is it running?") from None
    with Client(address, set_as_default=False) as client:
        yield client


@contextmanager
def _open_executor(executor: Any, scheduler: str | None, workers: int, threads: int) -> Iterator[tuple[Any, int]]:
    """The executor of the jobs, and how many jobs it has at a time."""
    if scheduler is not None or executor is not None:
        with nullcontext(executor) if scheduler is None else _dask(scheduler) as given:
            # a client of Dask, whose own futures are of another kind, has an executor
            yield given.get_executor(pure=False) if hasattr(given, "get_executor") else given, _IN_FLIGHT
    elif workers == 1:
        yield _Here(), 1
    else:
        with process_pool(workers, threads) as pool:
            yield pool, 2 * workers  # the next job is there when one is finished


class _Driver:
    """Sends jobs to an executor, a few at a time, and stores each outcome as it comes back."""

    def __init__(self, store: Store, threads: int, display: Display):
        self.store, self.threads, self.display = store, threads, display
        self.done = 0
        self.failures: list[str] = []
        self.notes: dict[str, GiantstepWarning] = {}  # each once
        self._sent: dict[Future[Outcome], Job] = {}

    def run(self, jobs: Iterable[Job], executor: Any, most: int) -> None:
        """All jobs, at most so many at a time; Ctrl-C still keeps what has come back by then.

        Perhaps a worker dies because memory is short: in the end each lost job has the machine to itself. If its worker
        dies again and again, this job is why.
        """
        done, failed = self.done, len(self.failures)
        for at_once in (most, *(1,) * _TRIES):
            waiting, jobs = iter(jobs), []
            try:
                while self._send(islice(waiting, at_once - len(self._sent)), executor):
                    jobs += self._collect(_SECONDS)
                    self.display.update(self.done - done, len(self.failures) - failed, len(self._sent))
            except KeyboardInterrupt:
                self._collect(0.0)
                raise
            finally:
                for future in self._sent:  # what has begun ends with its executor
                    future.cancel()
        for job in jobs:
            self._keep(job, Outcome(None, DIED))

    def _send(self, jobs: Iterator[Job], executor: Any) -> bool:
        """Send these jobs; say whether any job is under way."""
        for job in jobs:
            try:
                future = executor.submit(perform, job.work, self.threads)
            except RuntimeError as error:  # it is broken, or shut down
                raise _stopped(error) from error
            self._sent[future] = job
            if future.done():  # `submit` itself has computed it: store it before the next one
                break
        return bool(self._sent)

    def _collect(self, timeout: float) -> list[Job]:
        """Store the outcomes of finished jobs, and return the jobs whose worker died."""
        lost = []
        for future in wait(self._sent, timeout, FIRST_COMPLETED).done:
            job = self._sent.pop(future)
            try:
                self._keep(job, _outcome(future))
            except WorkerDied:
                lost.append(job)
        return lost

    def _keep(self, job: Job, outcome: Outcome) -> None:
        if outcome.refused:
            raise ParameterError(outcome.message)
        if outcome.results_version != RESULTS_VERSION:
            raise SweepError(
                f"the giantstep of a worker computes other numbers (results version {outcome.results_version}, here "
                f"{RESULTS_VERSION}); install the same version there"
            )
        self.store.add(job, outcome)
        if outcome.answers is None:
            self.failures.append(outcome.message)
        else:
            self.done += 1
        self.notes |= {str(note): note for note in outcome.notes}


def _outcome(future: Future[Outcome]) -> Outcome:
    """The outcome of a finished job; `WorkerDied` if its worker died."""
    try:
        return future.result()
    except WorkerDied:
        raise
    except Exception as error:
        if type(error).__name__ == "KilledWorker":  # Dask has tried it several times
            return Outcome(None, DIED)
        if isinstance(error, TypeError) and Outcome.__name__ in str(error):
            # Dask had the outcome, lost its worker before it said so, and took the outcome for an exception
            raise WorkerDied("a worker was lost with what it had computed") from error
        raise _stopped(error) from error


def _stopped(error: Exception) -> SweepError:
    return SweepError(
        f"the workers cannot go on ({type(error).__name__}: {error}); what was finished is safe: run it again, with "
        "workers that can be reached and have the same giantstep"
    )
