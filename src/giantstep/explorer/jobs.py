"""A process for each question: it can be ended when nobody waits for it, and what it holds goes with it.

Processes are forked from a small server that has the library loaded, which takes milliseconds.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from ..errors import ExpressionError, GiantstepError
from .settings import Settings
from .views import VIEWS

_TICK = 0.05  # seconds between two looks at whether somebody still waits
_MOST_WAITING = 64
_REMEMBERED = 400  # answers
_LONGEST = {"simulate": 900.0}  # seconds; others:
_LONGEST_VIEW = 120.0
_POLITE = 5  # niceness of all that is not quick, so that sliders stay so

Message = tuple[str, str]  # what it is ("line", "refused", "failed", "end") and its text


class Refused(Exception):
    """There is no answer, for a reason that the visitor should read."""

    def __init__(self, sentence: str, status: int = 400):
        super().__init__(sentence)
        self.sentence, self.status = sentence, status


class Gone(Exception):
    """Nobody waits for the answer any more."""


class Jobs:
    """Runs views, a few at a time in each lane, and remembers their answers."""

    def __init__(self, cores: int | None = None):
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["giantstep.explorer.preload"])
        cores = cores or os.cpu_count() or 1
        self._slots = {
            "quick": threading.BoundedSemaphore(max(2, cores // 2)),
            "late": threading.BoundedSemaphore(2),
            "heavy": threading.BoundedSemaphore(2),
            "simulation": threading.BoundedSemaphore(1),
        }
        self._answers: OrderedDict[tuple[str, Settings], list[str]] = OrderedDict()
        self._lock = threading.Lock()
        self._waiting = 0
        self._running: set[Any] = set()
        self.closed = False

    def lines(self, view: str, given: Any, wanted: Callable[[], bool]) -> Generator[str, None, None]:
        """The JSON lines of a view's answer; `wanted` tells whether somebody still waits.

        Raises Refused when there is no answer, and Gone (having ended the work) when nobody wants one.
        """
        if view not in VIEWS:
            raise Refused(f"there is no view {view[:40]!r}; there are {', '.join(VIEWS)}", 404)
        try:
            settings = Settings.parse(given).only(VIEWS[view].uses)
        except GiantstepError as error:
            raise Refused(sentence(error)) from None
        known = self._remembered((view, settings))
        if known is not None:
            yield from known
            return
        lines = []
        for line in self._computed(view, settings, wanted):
            lines.append(line)
            yield line
        if view != "simulate":
            self._remember((view, settings), lines)

    def warm_up(self) -> None:
        """Have the library loaded before the first question comes."""
        threading.Thread(target=self._first, daemon=True).start()

    def close(self) -> None:
        """End all work."""
        self.closed = True
        with self._lock:
            for process in self._running:
                process.terminate()

    def _first(self) -> None:
        # what is started here inherits it: a Ctrl-C in the terminal is for us alone, who end the others quietly
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        process = self._context.Process(target=_nothing, daemon=True)
        process.start()
        process.join()

    def _computed(self, view: str, settings: Settings, wanted: Callable[[], bool]) -> Iterator[str]:
        lane = VIEWS[view].lane(settings)
        with self._slot(lane, wanted), self._process(view, settings, lane) as (process, pipe):
            end = time.monotonic() + _LONGEST.get(view, _LONGEST_VIEW)
            while True:
                if not wanted() or self.closed:
                    raise Gone
                if time.monotonic() > end:
                    raise Refused(
                        "this takes too long for a page; use the Python lines or easier values", 503
                    )
                if not pipe.poll(_TICK):
                    continue
                try:
                    kind, text = pipe.recv()
                except EOFError:
                    process.join(1.0)
                    raise Refused(
                        "the computation ended unexpectedly; try less extreme values", 500
                    ) from None
                if kind == "end":
                    return
                if kind != "line":
                    raise Refused(text, 400 if kind == "refused" else 500)
                yield text

    @contextmanager
    def _slot(self, lane: str, wanted: Callable[[], bool]) -> Iterator[None]:
        """A turn among the jobs of one kind, first come first served or nearly so."""
        with self._lock:
            if self._waiting >= _MOST_WAITING:
                raise Refused("too many questions at once; try again in a moment", 503)
            self._waiting += 1
        try:
            while not self._slots[lane].acquire(timeout=_TICK):
                if not wanted() or self.closed:
                    raise Gone
        finally:
            with self._lock:
                self._waiting -= 1
        try:
            yield
        finally:
            self._slots[lane].release()

    @contextmanager
    def _process(self, view: str, settings: Settings, lane: str) -> Iterator[tuple[Any, Any]]:
        """A process at work on a view; it does not outlive the block."""
        ours, theirs = self._context.Pipe(duplex=False)
        process = self._context.Process(target=_work, args=(view, settings, lane, theirs), daemon=True)
        try:
            process.start()
            theirs.close()
            with self._lock:
                self._running.add(process)
            yield process, ours
        finally:
            with self._lock:
                self._running.discard(process)
            ours.close()
            process.terminate()
            process.join()

    def _remembered(self, key: tuple[str, Settings]) -> list[str] | None:
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def _remember(self, key: tuple[str, Settings], lines: list[str]) -> None:
        with self._lock:
            self._answers[key] = lines
            while len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)


def sentence(error: GiantstepError) -> str:
    """One line for the page."""
    if isinstance(error, ExpressionError):
        return f"{error.reason} (column {error.position + 1} of {error.text[:80]!r})"
    return " ".join(str(error).split()).removeprefix("--")


def messages(view: str, settings: Settings) -> Iterator[Message]:
    """What a process has to say on a view: lines and an end, or why not. Tracebacks go to the terminal alone."""
    try:
        for line in VIEWS[view].lines(settings):
            yield "line", json.dumps(line, allow_nan=False)
        yield "end", ""
    except GiantstepError as error:
        yield "refused", sentence(error)
    except (MemoryError, ArithmeticError) as error:
        yield "refused", f"these values are too extreme to compute with ({type(error).__name__})"
    except Exception as error:
        traceback.print_exc(file=sys.stderr)
        yield "failed", f"the computation failed ({type(error).__name__}); the terminal has the details"


def _work(view: str, settings: Settings, lane: str, pipe: Connection) -> None:
    """The life of a process."""
    from ..simulation.draw import draw_threads
    from ..simulation.schedule import cap_threads, end_with_parent

    if lane == "simulation":
        cap_threads(draw_threads())
    else:  # one thread, as `preload` has arranged
        end_with_parent()
    if lane != "quick":
        os.nice(_POLITE)
    for message in messages(view, settings):
        pipe.send(message)


def _nothing() -> None:
    """What the first process does."""
