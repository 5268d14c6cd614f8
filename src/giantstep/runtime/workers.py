"""Worker processes that do not run the user's program again.

The fresh processes of `multiprocessing` begin by importing the user's main module: a script without a main guard
would start itself once more in each of them, and one that comes from standard input cannot be imported at all. A
worker here is a new Python that runs a few lines of ours and gets its jobs through a pipe. Functions that the
user's script or notebook defines travel by value (cloudpickle), all others by name.

One thread of this process looks after each worker. When a worker dies, the job that it was doing is lost and no
other, and a new worker takes its place; one that does not even start is told apart, with the reason.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.spawn import get_executable
from queue import Empty, SimpleQueue
from threading import Lock, Thread
from typing import Any

from ..errors import GiantstepError
from .system import ending, inheriting
from .threads import VARIABLES

_READY = "ready"
_PATIENCE = 10.0  # seconds
_START = f"""
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that has started us: it ends us
from multiprocessing import connection
pipe = getattr(connection, "PipeConnection", connection.Connection)(int(sys.argv[1]))  # the first is Windows'
sys.path[:] = pipe.recv()
try:
    import numpy  # which all jobs need: where it fails, no worker starts
    from {__name__} import serve
except BaseException as error:
    pipe.send(f"{{type(error).__name__}}: {{error}}")
else:
    serve(pipe)
"""


class WorkerDied(GiantstepError, RuntimeError):
    """A worker process died while it did this job."""

    page = "Questions that people ask"


class NoWorker(GiantstepError, RuntimeError):
    """A worker process could not be started; the message says why."""

    page = "Questions that people ask"


class _Elsewhere(Exception):
    """Where in the worker an error was raised: the cause of the one that is raised here."""

    def __str__(self) -> str:
        return f"\n{self.args[0]}"


@contextmanager
def process_pool(workers: int, threads: int) -> Iterator[Workers]:
    """Fresh processes with `threads` threads each; none of them outlives the block, whatever ends it."""
    pool = Workers(workers, threads)
    try:
        yield pool
    finally:
        pool.close()


class Workers:
    """So many processes that do what they are given, in the order in which it is given."""

    def __init__(self, workers: int, threads: int):
        self._threads = threads
        self._jobs: SimpleQueue[tuple[Future[Any], Any] | None] = SimpleQueue()
        self._lock, self._closed = Lock(), False
        self._alive: set[_Worker] = set()
        self._keepers = [Thread(target=self._keep, daemon=True) for _ in range(workers)]
        for keeper in self._keepers:
            keeper.start()

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """The future of `function(*args)`: its exceptions are the function's, `WorkerDied` or `NoWorker`."""
        future: Future[Any] = Future()
        self._jobs.put((future, (function, args)))
        return future

    def close(self) -> None:
        """End every process now; what has not begun is cancelled, what is under way is lost."""
        with self._lock:
            self._closed = True
            alive = list(self._alive)
        with suppress(Empty):
            while waiting := self._jobs.get_nowait():
                waiting[0].cancel()
        for _ in self._keepers:
            self._jobs.put(None)
        for worker in alive:
            worker.process.kill()
        for keeper in self._keepers:
            keeper.join()

    def _keep(self) -> None:
        """The life of a thread: it starts a worker, hands it one job after another, and replaces it if it dies."""
        worker: _Worker | None = None
        with suppress(NoWorker):  # said to whoever gives this thread a job
            worker = self._started()
        while (job := self._jobs.get()) is not None:
            future, work = job
            if not future.set_running_or_notify_cancel():
                continue
            try:
                sent = _dumped(work)
                worker = worker or self._started()
                answer = worker.do(sent)
            except Exception as error:
                if isinstance(error, WorkerDied):
                    worker = self._forgotten(worker)
                future.set_exception(error)
            else:
                future.set_result(answer)
        self._forgotten(worker)

    def _started(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise NoWorker("the workers have been dismissed")
            worker = _Worker(self._threads)
            self._alive.add(worker)
        try:
            worker.greet()
        except NoWorker:
            self._forgotten(worker)
            raise
        return worker

    def _forgotten(self, worker: _Worker | None) -> None:
        if worker is not None:
            with self._lock:
                self._alive.discard(worker)
            worker.end()


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, threads: int):
        self._pipe, theirs = Pipe()
        try:
            self.process = subprocess.Popen(
                [get_executable() or "", "-P", "-c", _START, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,  # which may be the user's script
                env=os.environ | dict.fromkeys(VARIABLES, str(threads)),
                **inheriting(theirs.fileno()),
            )
        except OSError as error:
            self._pipe.close()
            raise NoWorker(_not_started(error.strerror or str(error))) from error
        finally:
            theirs.close()

    def greet(self) -> None:
        """Wait until it is ready."""
        try:
            self._pipe.send(sys.path)
            told = self._pipe.recv()
        except (EOFError, OSError):
            told = f"the process ended while it started ({self._ending()})"
        if told != _READY:
            raise NoWorker(_not_started(told))

    def do(self, job: bytes) -> Any:
        """What comes of a job."""
        try:
            self._pipe.send_bytes(job)
            answer = self._pipe.recv_bytes()
        except (EOFError, OSError):
            raise WorkerDied(
                f"a worker process died ({self._ending()}); try fewer workers or a smaller d"
            ) from None
        result, error, where = pickle.loads(answer)
        if error is not None:
            raise error from _Elsewhere(where)
        return result

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        self._pipe.close()

    def _ending(self) -> str:
        """How it ended, in words."""
        try:
            status = self.process.wait(_PATIENCE)  # a pipe closes a moment before its process is gone
        except subprocess.TimeoutExpired:
            return "it does not answer any more"
        return ending(status)


def _not_started(reason: str) -> str:
    return f"worker processes do not start: {reason}; with workers = 1 everything is computed in this process"


def serve(pipe: Connection) -> None:
    """The life of a worker: it ends with its parent, which need not say good-bye."""
    jobs: SimpleQueue[bytes] = SimpleQueue()
    try:
        Thread(target=_receive, args=(pipe, jobs), daemon=True).start()
        pipe.send(_READY)
        while True:
            pipe.send_bytes(_done(jobs.get()))
    except (EOFError, OSError):  # the parent is gone
        os._exit(1)


def _receive(pipe: Connection, jobs: SimpleQueue[bytes]) -> None:
    try:
        while True:
            jobs.put(pipe.recv_bytes())
    except (EOFError, OSError):  # also in the middle of a job, which nobody waits for any more
        os._exit(1)


def _done(job: bytes) -> bytes:
    """What came of a job: its result, or the error and where it was raised."""
    try:
        function, args = pickle.loads(job)
        return _dumped((function(*args), None, ""))
    except BaseException as error:
        where = traceback.format_exc()
        if isinstance(error, Exception):
            with suppress(Exception):  # one with arguments of its own may not come back
                told = _dumped((None, error, where))
                pickle.loads(told)
                return told
        return _dumped((None, RuntimeError(f"{type(error).__name__}: {error}"), where))


def _dumped(value: Any) -> bytes:
    import cloudpickle

    return cloudpickle.dumps(value)


def limit_threads(threads: int) -> None:
    """In a process that others have started: linear algebra and draws share the cores with its siblings."""
    os.environ["OMP_NUM_THREADS"] = str(threads)
    import scipy.linalg  # noqa: F401  (its own BLAS must be loaded before it can be capped)
    from threadpoolctl import threadpool_limits

    threadpool_limits(threads)


def check_sendable(value: Any) -> None:
    """Raise what sending `value` to a worker would raise."""
    _dumped(value)
