"""Warm processes that answer one question after another; each is ended only when nobody wants its answer any more.

Where the system allows it they are forked, in milliseconds, from a small server that has the library loaded.
"""

from __future__ import annotations

import json
import sys
import threading
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from types import ModuleType
from typing import Any

from ..errors import GiantstepError
from ..runtime.system import deaf_children, preloading_context, step_back
from .refusals import refusal
from .settings import Settings
from .view import Effort
from .views import VIEWS

_WARM = {
    "quick": 2,
    "patient": 1,
    "reference": 1,
    "simulation": 0,
}  # processes of each kind that wait for questions
_POLITE = 5  # niceness of all that is not quick, so that sliders stay so
_RETIRES = 1000  # questions after which a process is replaced, whatever it has gathered by then
_SILENT = 0.3  # seconds before the first word on progress, and between two

Message = tuple[str, Any]  # what it is ("line", "refused", "failed", "end") and what it says


class Worker:
    """One process, and our end of the pipe to it."""

    def __init__(self, context: Any, kind: str):
        self.kind, self.asked, self.working = kind, 0, False
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_live, args=(kind, theirs), daemon=True)
        with _nameless_main():
            self.process.start()
        theirs.close()

    def ask(self, view: str, settings: Settings, coarse: bool) -> None:
        self.asked += 1
        self.working = True
        self.pipe.send((view, settings, coarse))

    def hear(self, seconds: float) -> Message | None:
        """The next message, None if there is none for so long; EOFError if the process has ended."""
        if not self.pipe.poll(seconds):
            return None
        message = self.pipe.recv()
        self.working = message[0] == "line"
        return message

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()  # it has nothing to tidy up, and does not hear anything softer while it computes
        self.process.join()


_starting = threading.Lock()


@contextmanager
def _nameless_main() -> Iterator[None]:
    """Start a process that does not import the user's main module: a script without a guard would begin again in it."""
    with _starting:
        main = sys.modules["__main__"]
        sys.modules["__main__"] = ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = main


class Workers:
    """All processes: those that wait, by kind, and those at work."""

    def __init__(self) -> None:
        self._context = preloading_context("giantstep.explorer.preload")
        self._idle: dict[str, list[Worker]] = {kind: [] for kind in _WARM}
        self.busy: set[Worker] = set()
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._closed = False
        threading.Thread(target=self._warm_up, daemon=True).start()

    @contextmanager
    def lend(self, kind: str) -> Iterator[Worker]:
        """A worker for one question. One that is left in the middle of it is ended, and another takes its place."""
        self._ready.wait()
        with self._lock:
            worker = self._idle[kind].pop() if self._idle[kind] else None
        worker = worker or Worker(self._context, kind)
        with self._lock:
            self.busy.add(worker)
        try:
            yield worker
        finally:
            with self._lock:
                self.busy.discard(worker)
            if worker.working or worker.asked >= _RETIRES or not _WARM[kind] or not self._keep(worker):
                worker.end()
                threading.Thread(target=self._add, args=(kind,), daemon=True).start()

    def close(self) -> None:
        """End all work."""
        with self._lock:
            self._closed = True
            workers = [*self.busy, *(worker for idle in self._idle.values() for worker in idle)]
            self._idle = {kind: [] for kind in _WARM}
        for worker in workers:
            worker.process.kill()

    def _warm_up(self) -> None:
        try:
            # an interrupt may end the server of processes meanwhile; a worker that is asked for says so itself
            with deaf_children(), suppress(OSError, EOFError, RuntimeError):
                for kind, count in _WARM.items():
                    for _ in range(count):
                        self._add(kind)
                        self._ready.set()  # the server of processes runs: whoever needs one gets one
        finally:
            self._ready.set()

    def _add(self, kind: str) -> None:
        """Have one more process waiting, if none is."""
        with self._lock:
            if self._closed or len(self._idle[kind]) >= _WARM[kind]:
                return
        try:
            worker = Worker(self._context, kind)
        except (OSError, EOFError, KeyError):  # the explorer ends, and the server of processes with it
            if self._closed:
                return
            raise
        if not self._keep(worker):
            worker.end()

    def _keep(self, worker: Worker) -> bool:
        """Let a worker wait for the next question, unless the explorer ends."""
        with self._lock:
            if not self._closed:
                self._idle[worker.kind].append(worker)
            return not self._closed


def messages(view: str, settings: Settings, effort: Effort = Effort()) -> Iterator[Message]:  # noqa: B008
    """What a process has to say on a view: lines and an end, or why not. Tracebacks go to the terminal alone."""
    try:
        for line in VIEWS[view].lines(settings, effort):
            yield "line", json.dumps(line, allow_nan=False)
        yield "end", None
    except GiantstepError as error:
        yield "refused", refusal(error, settings)
    except (MemoryError, ArithmeticError) as error:
        yield "refused", (f"these values are too extreme to compute with ({type(error).__name__})", None)
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        text = f"the computation failed ({type(error).__name__}); the terminal has the details"
        yield "failed", (text, None)


class _Progress:
    """Sends the share that is done as a line, now and then."""

    def __init__(self, pipe: Connection):
        self.pipe, self.next = pipe, time.monotonic() + _SILENT

    def __call__(self, share: float) -> None:
        if share < 1.0 and time.monotonic() >= self.next:
            self.next = time.monotonic() + _SILENT
            self.pipe.send(("line", json.dumps({"progress": round(float(share), 3)})))


def _live(kind: str, pipe: Connection) -> None:
    """The life of a process."""
    from ..runtime.threads import allowed_threads
    from ..simulation.schedule import cap_threads, end_with_parent
    from . import preload as preload  # there already where processes are forked

    if kind == "simulation":
        cap_threads(allowed_threads())
    else:  # one thread, as `preload` has arranged
        end_with_parent()
    if kind != "quick":
        step_back(_POLITE)
    with suppress(EOFError, ConnectionError):  # nobody asks any more, or waits for what is unread
        while True:
            view, settings, coarse = pipe.recv()
            for message in messages(view, settings, Effort(coarse, _Progress(pipe))):
                pipe.send(message)
