"""Worker processes that do not run the user's program again.

The fresh processes of `multiprocessing` begin by importing the user's main module: a script without a main guard
would start itself once more in each of them, and one that comes from standard input cannot be imported at all. A
worker here is a new Python that runs a few lines of ours and gets its jobs through a pipe. Functions that the
user's script or notebook defines travel by value (cloudpickle), all others by name.

One thread of this process looks after each worker. When a worker dies, the job that it was doing is lost and no
other, and a new worker takes its place. Where a worker does not even start, the error is another, and has the reason.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, suppress
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from multiprocessing.pool import RemoteTraceback  # type: ignore[attr-defined]
from multiprocessing.spawn import get_executable
from queue import SimpleQueue
from threading import Lock, Thread, local
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


def process_pool(workers: int, threads: int) -> closing[Workers]:
    """Fresh processes with `threads` threads each; none of them outlives the block, whatever ends it."""
    return closing(Workers(workers, threads))


class Workers:
    """At most so many processes; they take jobs in the order in which these are submitted."""

    def __init__(self, workers: int, threads: int):
        self._threads, self._keepers = threads, ThreadPoolExecutor(workers)
        self._mine = local()  # the worker of each thread
        self._lock, self._closed = Lock(), False
        self._started: list[_Worker] = []

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """The future of `function(*args)`: its exceptions are the function's, `WorkerDied` or `NoWorker`."""
        return self._keepers.submit(self._do, function, args)

    def close(self) -> None:
        """End every process now; what has not begun is cancelled, what is under way is lost."""
        with self._lock:
            self._closed = True
        for worker in self._started:
            worker.process.kill()
        self._keepers.shutdown(cancel_futures=True)
        for worker in self._started:
            worker.process.wait()
            worker.pipe.close()

    def _do(self, function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
        """One job, in the process of this thread."""
        job = dumped((function, args))
        if getattr(self._mine, "worker", None) is None:
            self._mine.worker = self._start()
        try:
            return self._mine.worker.do(job)
        except WorkerDied:
            self._mine.worker = None
            raise

    def _start(self) -> _Worker:
        with self._lock:
            if self._closed:
                raise NoWorker("the workers have been dismissed")
            worker = _Worker(self._threads)
            self._started.append(worker)
        worker.greet()
        return worker


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, threads: int):
        self.pipe, theirs = Pipe()
        try:
            self.process = subprocess.Popen(
                [get_executable() or "", "-P", "-c", _START, str(theirs.fileno())],
                stdin=subprocess.DEVNULL,  # which may be the user's script
                env=os.environ | dict.fromkeys(VARIABLES, str(threads)),
                **inheriting(theirs.fileno()),
            )
        except OSError as error:
            self.pipe.close()
            raise NoWorker(_not_started(error.strerror or str(error))) from error
        finally:
            theirs.close()

    def greet(self) -> None:
        """Wait until it is ready."""
        try:
            self.pipe.send(sys.path)
            told = self.pipe.recv()
        except (EOFError, OSError):
            told = f"the process ended while it started ({self._ending()})"
        if told != _READY:
            raise NoWorker(_not_started(told))

    def do(self, job: bytes) -> Any:
        """The result of a job."""
        try:
            self.pipe.send_bytes(job)
            answer = self.pipe.recv_bytes()
        except (EOFError, OSError):
            raise WorkerDied(
                f"a worker process died ({self._ending()}); try fewer workers or a smaller d"
            ) from None
        result, error, where = pickle.loads(answer)
        if error is not None:
            raise error from RemoteTraceback(where)
        return result

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
    """Do jobs until the parent process ends."""
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
    """The result of a job, or its error and where it was raised, as bytes."""
    try:
        function, args = pickle.loads(job)
        return dumped((function(*args), None, ""))
    except BaseException as error:
        where = traceback.format_exc()
        if isinstance(error, Exception):
            with suppress(Exception):  # one with arguments of its own may not come back
                told = dumped((None, error, where))
                pickle.loads(told)
                return told
        return dumped((None, RuntimeError(f"{type(error).__name__}: {error}"), where))


def dumped(value: Any) -> bytes:
    """A value as the bytes that are sent to a worker."""
    import cloudpickle

    return cloudpickle.dumps(value)
