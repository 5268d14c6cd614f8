"""Warm processes that answer one question after another; each is ended only when nobody wants its answer any more.

`runtime.workers`, the pool of simulations, starts a new Python for each process. Here a process is lost whenever a
visitor moves on from a slow question: where the system allows it, the next one is forked in milliseconds from a small
server that has the library loaded.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http import HTTPStatus
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from queue import Empty, LifoQueue
from types import ModuleType
from typing import Any

from ..errors import GiantstepError
from ..runtime.system import deaf_children, preloading_context, step_back
from .refusals import Gone, Refused, refusal
from .settings import Settings
from .views import VIEWS, Effort, plain

TICK = 0.05  # seconds between two looks at whether somebody still waits
_NICENESS = 5  # of all that is not quick, so that sliders stay so
_SILENCE = 0.3  # seconds before the first word on progress, and between two


LANES = {"quick": 3, "slow": 5, "reference": 1, "simulation": 1}
"""How many processes answer the questions of each lane. While one that was left in the middle of a slider's question is
replaced, another takes the next."""

Message = str | Refused | None  # a line of an answer, why there is none, or the end


class Worker:
    """One process, and our end of the pipe to it."""

    def __init__(self, context: Any, lane: str):
        self.lane, self.working = lane, False
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=live, args=(lane, theirs), daemon=True)
        with _nameless_main(), deaf_children():
            self.process.start()
        theirs.close()

    def lines(self, view: str, settings: Settings, coarse: bool, check: Callable[[], None]) -> Iterator[str]:
        """The lines of an answer as they come; meanwhile `check` may raise, which leaves the work in the middle."""
        self.working = True
        try:
            self.pipe.send((view, settings, coarse))
            while self.working:
                check()
                if self.pipe.poll(TICK):
                    message = self.pipe.recv()
                    self.working = isinstance(message, str)
                    if isinstance(message, Refused):
                        raise message
                    if self.working:
                        yield message
        except (EOFError, ConnectionError):
            sentence = "the computation ended unexpectedly; try less extreme values"
            raise Refused(sentence, HTTPStatus.INTERNAL_SERVER_ERROR) from None

    def end(self) -> None:
        self.pipe.close()
        self.process.kill()  # it has nothing to tidy up, and does not hear anything softer while it computes
        self.process.join()


@contextmanager
def _nameless_main() -> Iterator[None]:
    """Start a process that does not import the user's main module: a script without a guard would begin again in it."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


class Workers:
    """All processes, and those of each lane that wait for a question."""

    def __init__(self) -> None:
        self._context = preloading_context("giantstep.explorer.preload")
        self._idle: dict[str, LifoQueue[Worker]] = {lane: LifoQueue() for lane in LANES}
        self._starting = threading.Lock()  # one process at a time
        self.alive: set[Worker] = set()
        self.closed = False
        self._start(*(lane for lane, count in LANES.items() for _ in range(count)))

    @contextmanager
    def lend(self, lane: str, wanted: Callable[[], bool]) -> Iterator[Worker]:
        """A worker for one question. One that is left in the middle of it is ended, and another takes its place."""
        worker = None
        while worker is None:
            if self.closed or not wanted():
                raise Gone
            with suppress(Empty):
                worker = self._idle[lane].get(timeout=TICK)
        try:
            yield worker
        finally:
            if worker.working:
                worker.end()
                self.alive.discard(worker)
                self._start(lane)
            else:
                self._idle[lane].put(worker)

    def close(self) -> None:
        """End all work. A process that is just being started would complain if we ended before it."""
        with self._starting:
            self.closed = True
        for worker in [*self.alive]:
            worker.process.kill()

    def _start(self, *lanes: str) -> None:
        """Have a new process for each of these, in a thread, so that nobody waits for the others."""

        def start() -> None:
            for lane in lanes:
                with self._starting:
                    if self.closed:
                        return
                    worker = Worker(self._context, lane)
                    self.alive.add(worker)
                self._idle[lane].put(worker)

        threading.Thread(target=start, daemon=True).start()


def messages(view: str, settings: Settings, effort: Effort = Effort()) -> Iterator[Message]:  # noqa: B008
    """What a process has to say on a view: lines and an end, or why not. Tracebacks go to the terminal alone."""
    try:
        for line in VIEWS[view].lines(settings, effort):
            yield json.dumps(line, default=plain, allow_nan=False)
        yield None
    except GiantstepError as error:
        yield refusal(error)
    except (MemoryError, ArithmeticError) as error:
        yield Refused(f"these values are too extreme to compute with ({type(error).__name__})")
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        sentence = f"the computation failed ({type(error).__name__}); the terminal has the details"
        yield Refused(sentence, HTTPStatus.INTERNAL_SERVER_ERROR)


class _Progress:
    """Sends the share that is done as a line, now and then."""

    def __init__(self, pipe: Connection):
        self.pipe, self.next = pipe, time.monotonic() + _SILENCE

    def __call__(self, share: float) -> None:
        if share < 1.0 and time.monotonic() >= self.next:
            self.next = time.monotonic() + _SILENCE
            self.pipe.send(json.dumps({"progress": round(float(share), 3)}))


def live(lane: str, pipe: Connection) -> None:
    """The life of a process."""
    from ..runtime.threads import allowed_threads, limit_threads
    from . import preload as preload  # there already where processes are forked

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C ends it quietly
    threading.Thread(target=_end_after_parent, daemon=True).start()
    if lane == "simulation":  # all others have one thread, as `preload` has arranged
        limit_threads(allowed_threads())
    if lane != "quick":
        step_back(_NICENESS)
    with suppress(EOFError, ConnectionError):  # nobody asks any more, or waits for what is unread
        while True:
            view, settings, coarse = pipe.recv()
            for message in messages(view, settings, Effort(coarse, _Progress(pipe))):
                pipe.send(message)


def _end_after_parent() -> None:
    """A process whose parent was killed would compute on, up to its next line."""
    if (parent := parent_process()) is not None:
        parent.join()
        os._exit(1)
