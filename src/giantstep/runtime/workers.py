"""Worker processes that do not run the user's program again: for large grids, trials, sweeps and the explorer.

A process of `multiprocessing` begins by importing the user's main module: a script without a main guard would start
itself once more in each of them, and one that comes from standard input cannot be imported at all. Ours do not import
it. Functions that the user's script or notebook defines travel by value (cloudpickle), all others by name.

Theory, simulation and sweeps take fresh processes, which are as the environment says and leave nothing behind. The
explorer's are forked from a server that has the library loaded, where the system allows it: on a busy machine with two
cores a visitor had the first curve after 2 to 4 seconds, and after 17 to 19 with fresh processes.

When a worker dies, or its job is left in the middle, that job is lost and no other, and another worker starts. Where
a worker does not even start, the error is another, and has the reason.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from importlib import import_module
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from multiprocessing.pool import RemoteTraceback  # type: ignore[attr-defined]
from threading import Lock, Semaphore, Thread
from types import ModuleType
from typing import Any

from ..errors import GiantstepError
from .system import deaf_children, ending, process_context, step_back
from .threads import VARIABLES, thread_pools

_TICK = 0.05  # seconds between two looks at whether a job's result is still wanted
_PATIENCE = 10.0  # seconds that a process may take to end
_one_at_a_time = Lock()  # while a process starts, this one has no main module
_parent: Connection  # of a worker: the pipe to the process that has started it


class WorkerDied(GiantstepError, RuntimeError):
    """A worker process died while it did this job."""

    page = "Questions that people ask"


class NoWorker(GiantstepError, RuntimeError):
    """A worker process could not be started; the message says why."""

    page = "Questions that people ask"


def process_pool(workers: int, threads: int) -> closing[Workers]:
    """Fresh processes with `threads` threads each; none of them outlives the block, whatever ends it."""
    # all jobs need numpy: where its import fails, no worker starts
    return closing(Workers(workers, threads, module="numpy"))


class Workers:
    """At most so many processes, each with `module` loaded; forked where `forked` says so and the system allows it."""

    def __init__(self, workers: int, threads: int, module: str, forked: bool = False, niceness: int = 0):
        self._context = process_context(module if forked else None)
        self._prepared = dumped((_prepare, (module, threads, niceness)))
        self._keepers, self._free = ThreadPoolExecutor(workers), Semaphore(workers)
        self._lock, self._idle = Lock(), list[_Worker]()
        self.alive, self.closed = set[_Worker](), False

    def submit(self, function: Callable[..., Any], /, *args: Any) -> Future[Any]:
        """The future of `do`; jobs begin in the order in which they are submitted."""
        return self._keepers.submit(self.do, function, *args)

    def do(
        self,
        function: Callable[..., Any],
        /,
        *args: Any,
        hear: Callable[[Any], None] = lambda told: None,
        look: Callable[[], None] = lambda: None,
    ) -> Any:
        """The result of `function(*args)`. `hear` gets what the function tells meanwhile (`tell`). `look` is called
        now and then, and may raise: then the job is left in the middle.

        Other exceptions are the function's, `WorkerDied` or `NoWorker`.
        """
        job = dumped((function, args))
        while not self._free.acquire(timeout=_TICK):
            look()
        try:
            with self._lent() as worker:
                look()
                return worker.do(job, hear, look)
        finally:
            self._free.release()

    def close(self) -> None:
        """End every process now; what has not begun is cancelled, what is under way is lost."""
        with self._lock:
            self.closed = True
        for worker in [*self.alive]:
            worker.process.kill()
        self._keepers.shutdown(cancel_futures=True)
        for worker in [*self.alive]:
            worker.end()

    @contextmanager
    def _lent(self) -> Iterator[_Worker]:
        """A worker that waits for a job, or a new one. If it dies or is left in the middle, another takes its place."""
        try:
            worker = self._idle.pop()
        except IndexError:
            worker = self._start()
        try:
            yield worker
        finally:
            if worker.working:
                worker.end()
                self.alive.discard(worker)
                with suppress(NoWorker):  # the next job will say so
                    worker = self._start()
            if not worker.working:
                self._idle.append(worker)

    def _start(self) -> _Worker:
        with self._lock:
            if self.closed:
                raise NoWorker("the workers have been dismissed")
            worker = _Worker(self._context)
            self.alive.add(worker)
        try:
            worker.do(self._prepared)
        except WorkerDied:
            raise _not_started(f"the process ended while it started ({worker.ending()})") from None
        except Exception as error:
            raise _not_started(f"{type(error).__name__}: {error}") from None
        return worker


class _Worker:
    """One process and the pipe to it."""

    def __init__(self, context: Any):
        self.working = False
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_live, args=[theirs], daemon=True)
        with closing(theirs), _nameless_main(), deaf_children():
            try:
                self.process.start()
            except OSError as error:
                raise _not_started(error.strerror or str(error)) from error

    def do(
        self, job: bytes, hear: Callable[[Any], None] = lambda told: None, look: Callable[[], None] = lambda: None
    ) -> Any:
        """As `Workers.do`."""
        self.working = True
        try:
            self.pipe.send_bytes(job)
            ended, value, error, where = self._answer(look)
            while not ended:
                hear(value)
                ended, value, error, where = self._answer(look)
        except (EOFError, OSError):
            reason = f"a worker process died ({self.ending()}); try fewer workers or a smaller d"
            raise WorkerDied(reason) from None
        self.working = False
        if error is not None:
            raise error from RemoteTraceback(where)
        return value

    def _answer(self, look: Callable[[], None]) -> Any:
        while not self.pipe.poll(_TICK):
            look()
        return pickle.loads(self.pipe.recv_bytes())

    def ending(self) -> str:
        """How it ended, in words."""
        self.process.join(_PATIENCE)  # a pipe closes a moment before its process is gone
        status = self.process.exitcode
        return "it does not answer any more" if status is None else ending(status)

    def end(self) -> None:
        """End it now: it has nothing to tidy up, and hears nothing softer while it computes."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


@contextmanager
def _nameless_main() -> Iterator[None]:
    """Hide the user's main module from a process that starts."""
    with _one_at_a_time:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


def _not_started(reason: str) -> NoWorker:
    return NoWorker(f"worker processes do not start: {reason}; with workers = 1 everything is computed in this process")


def tell(value: Any) -> None:
    """In a worker, in the middle of a job: hand a value to whoever waits for the job's result."""
    _parent.send_bytes(dumped((False, value, None, "")))


def _live(pipe: Connection) -> None:
    """Do jobs until the parent process ends."""
    global _parent
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program that has started us: it ends us
    _parent = pipe
    Thread(target=_end_with_parent, daemon=True).start()
    with suppress(EOFError, OSError):  # the parent is gone
        while True:
            pipe.send_bytes(_done(pipe.recv_bytes()))


def _end_with_parent() -> None:
    """Also in the middle of a job, which nobody waits for any more."""
    parent_process().join()  # type: ignore[union-attr]
    os._exit(1)


def _prepare(module: str, threads: int, niceness: int) -> None:
    """Of a worker, its first job: load what the others need, and set how many threads these have."""
    os.environ.update(dict.fromkeys(VARIABLES, str(threads)))  # before linear algebra is loaded, if it is not yet
    import_module(module)
    thread_pools().limit(limits=threads)
    step_back(niceness)


def _done(job: bytes) -> bytes:
    """The result of a job, or its error and where it was raised, as bytes."""
    try:
        function, args = pickle.loads(job)
        return dumped((True, function(*args), None, ""))
    except BaseException as error:
        where = traceback.format_exc()
        if isinstance(error, Exception):
            with suppress(Exception):  # one with arguments of its own may not come back
                failed = dumped((True, None, error, where))
                pickle.loads(failed)
                return failed
        return dumped((True, None, RuntimeError(f"{type(error).__name__}: {error}"), where))


def dumped(value: Any) -> bytes:
    """A value as the bytes that are sent to a worker."""
    import cloudpickle

    return cloudpickle.dumps(value)
