"""Where jobs run: in this process, in local processes, on a Dask cluster, or wherever a user's executor has them run.

The driver cannot tell them apart.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from collections.abc import Iterator
from concurrent.futures import CancelledError, Future
from contextlib import ExitStack, contextmanager, suppress
from typing import Any, Protocol, runtime_checkable
from urllib.parse import urlsplit

from ..errors import ParameterError
from ..parameters import check_count
from ..system import cores, deaf_children
from ..workers import NoWorker, WorkerDied, Workers, process_pool
from .job import Outcome, Work, perform
from .problems import SweepError

_TRIES = 3  # for a job whose worker died
_SCHEMES = ("tcp", "tls", "ucx", "ws", "wss")
_START = 60.0  # seconds for a cluster's processes, on a machine that has much else to do
_PATIENCE = 10.0  # seconds for them to end
_REFRESH = 5.0  # seconds between looks at how large a cluster has become
DIED = "its worker process died again and again (killed, perhaps for want of memory); try fewer workers or a smaller d"


@runtime_checkable
class Executor(Protocol):
    """Runs jobs. One of your own has these three methods; `submit` calls `perform(work, threads)` somewhere."""

    def width(self) -> int:
        """How many jobs it runs side by side."""
        ...

    def submit(self, work: Work) -> Future[Outcome]: ...

    def outcome(self, future: Future[Outcome]) -> Outcome:
        """What came of a finished job; `WorkerDied` if it was lost."""
        ...


@contextmanager
def local(workers: int, threads: int) -> Iterator[Executor]:
    """This process for one worker, fresh processes for several."""
    if workers == 1:
        yield _Here(threads)
        return
    with process_pool(workers, threads) as pool:
        yield _Processes(workers, pool, threads)


@contextmanager
def cluster(address: str | None, started: int | None, threads: int) -> Iterator[Executor]:
    """An existing Dask cluster at `address`, or one of `started` processes on this machine."""
    try:
        import distributed
    except ImportError:
        raise ParameterError(
            "a cluster needs dask.distributed, which is not installed; pip install 'giantstep[cluster]'"
        ) from None
    here: Any = None
    with ExitStack() as cleanup:
        if started is not None:
            check_count("local_cluster", started, 1)
            options: dict[str, Any] = {
                "n_workers": started,
                "threads_per_worker": 1,
                "dashboard_address": "127.0.0.1:0",
            }
            # processes of their own, which LocalCluster's are not: those would run the user's script again
            from distributed.deploy.subprocess import SubprocessCluster

            with deaf_children():
                here = cleanup.enter_context(SubprocessCluster(**options))
            address = here.scheduler_address
        else:
            _check_answers(address or "")
        client = cleanup.enter_context(distributed.Client(address, timeout="30s", set_as_default=False))
        if started is not None:
            try:
                client.wait_for_workers(started, timeout=_START)
            except TimeoutError as error:
                raise SweepError(f"the cluster's processes do not start: {error}") from error
        yield _Dask(client, threads)
        if started is not None:
            _end(here, client)


def _end(cluster: Any, client: Any) -> None:
    """End a cluster's workers, which have nothing more to do, before Dask does.

    A worker lives in a process that another one, its nanny, has started. Dask kills what a nanny has started, and then
    the nanny: its semaphores stay behind, and if it notices in time, it complains on the user's screen. Asked, it
    ends by itself; what it and the worker say of a connection that is lost meanwhile is of no interest.
    """
    for nanny in (False, True):
        client.run(logging.disable, nanny=nanny, on_error="ignore")
    cluster.sync(_ended, [worker.process for worker in cluster.workers.values() if worker.process])


async def _ended(processes: list[asyncio.subprocess.Process]) -> None:
    """What has not ended in the end is still Dask's to kill."""
    for process in processes:
        with suppress(ProcessLookupError):  # it has ended by itself
            process.terminate()
    if processes:
        await asyncio.wait(
            [asyncio.ensure_future(process.wait()) for process in processes], timeout=_PATIENCE
        )


def as_executor(given: Any, threads: int) -> Executor:
    """What a user gives: an `Executor`, a Dask client, or anything with `submit`, which stays the user's to end."""
    if isinstance(given, Executor):
        return given
    if hasattr(given, "get_executor") and hasattr(given, "nthreads"):
        return _Dask(given, threads)
    if callable(getattr(given, "submit", None)):
        return _Lent(given, threads)
    raise ParameterError(
        f"executor = {given!r} has no method submit; give an executor of concurrent.futures, a Dask client, or leave "
        "it out for local processes (workers=)"
    )


def _check_answers(address: str) -> None:
    """Knock before Dask does: it takes a minute to give up, and says so in many lines."""
    parts = urlsplit(address)
    try:
        if parts.scheme not in _SCHEMES or not parts.hostname or not parts.port:
            raise ValueError
        socket.create_connection((parts.hostname, parts.port), timeout=10.0).close()
    except ValueError:
        raise ParameterError(
            f"scheduler = {address!r} is no address; write it like tcp://10.0.0.5:8786"
        ) from None
    except OSError as error:
        raise SweepError(f"scheduler = {address!r} does not answer ({error}); is it running?") from None


class _Here:
    def __init__(self, threads: int):
        self.threads = threads

    def width(self) -> int:
        return 1

    def submit(self, work: Work) -> Future[Outcome]:
        future: Future[Outcome] = Future()
        future.set_result(perform(work, self.threads))
        return future

    def outcome(self, future: Future[Outcome]) -> Outcome:
        return future.result()


class _Processes:
    def __init__(self, workers: int, pool: Workers, threads: int):
        self.workers, self.threads, self._pool = workers, threads, pool

    def width(self) -> int:
        return self.workers

    def submit(self, work: Work) -> Future[Outcome]:
        return self._pool.submit(perform, work, self.threads)

    def outcome(self, future: Future[Outcome]) -> Outcome:
        try:
            return future.result()
        except NoWorker as error:
            raise SweepError(f"{error} (what was finished is safe)") from error


class _Lent:
    """An executor of `concurrent.futures`, or one like it."""

    def __init__(self, executor: Any, threads: int):
        self.threads, self._executor = threads, executor
        self._width = getattr(executor, "_max_workers", None) or cores()  # no public name tells

    def width(self) -> int:
        return self._width

    def submit(self, work: Work) -> Future[Outcome]:
        try:
            return self._executor.submit(perform, work, self.threads)
        except RuntimeError as error:  # it is broken, or shut down
            raise SweepError(_unfit(error)) from error

    def outcome(self, future: Future[Outcome]) -> Outcome:
        try:
            return future.result()
        except WorkerDied:
            raise
        except Exception as error:
            raise SweepError(_unfit(error)) from error


def _unfit(error: Exception) -> str:
    return (
        f"the executor cannot go on ({type(error).__name__}: {error}); what was finished is safe: run it again with a "
        "new one"
    )


class _Dask:
    """The scheduler itself repeats jobs whose worker died, three times unless configured otherwise."""

    def __init__(self, client: Any, threads: int):
        self.client, self.threads, self._looked, self._width = client, threads, -_REFRESH, 1
        self._executor = client.get_executor(pure=False)

    def width(self) -> int:
        if time.monotonic() - self._looked > _REFRESH:  # clusters grow and shrink
            self._looked, self._width = time.monotonic(), max(1, sum(self.client.nthreads().values()))
        return self._width

    def submit(self, work: Work) -> Future[Outcome]:
        return self._executor.submit(perform, work, self.threads)

    def outcome(self, future: Future[Outcome]) -> Outcome:
        from distributed import KilledWorker

        try:
            return future.result()
        except KilledWorker:
            return Outcome(None, DIED)
        except CancelledError as error:
            raise SweepError(
                "the connection to the cluster is lost; what was finished is safe: run the same command again"
            ) from error
        except Exception as error:
            raise SweepError(
                f"the cluster's workers cannot do this work: {type(error).__name__}: {error}; they need the same "
                "giantstep as here"
            ) from error


def alone(work: Work, executor: Executor) -> Outcome:
    """A job that was lost with its worker, with nothing beside it: if a worker dies again, this job is the reason."""
    for _ in range(_TRIES):
        with suppress(WorkerDied):
            return executor.outcome(executor.submit(work))
    return Outcome(None, DIED)
