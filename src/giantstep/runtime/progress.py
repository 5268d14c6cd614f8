"""How far long work is: a bar on a terminal and in a notebook, a line now and then in a log.

Terminals have rich's bar, which keeps warnings whole that are printed meanwhile. In notebooks it is a line of HTML, for
which nothing has to be installed.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from html import escape
from inspect import signature
from threading import Event, Thread
from typing import Any, ClassVar, ParamSpec, TextIO, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_SHARE = 0.05  # of the work, and
_SILENCE = 60.0  # seconds: whichever passes first makes a plain line due
_PATIENCE = 1.0  # seconds that work must take before anything is shown unasked
_REFRESH = 0.25  # seconds between two drawings of a bar
_WHOLE = 100  # percent


class Display:
    """Shows done, running, failed, rate and time left. `wanted` None: only if a person watches long work."""

    def __init__(
        self, wanted: bool | None = None, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic
    ):
        self.wanted, self.stream, self.clock = wanted, stream or sys.stderr, clock
        self.notebook = stream is None and in_notebook()
        self.watched = self.notebook or self.stream.isatty()

    @contextmanager
    def over(self, name: str, total: int) -> Iterator[Display]:
        """Show progress while the block runs, which does `total` pieces of work."""
        self.name, self.total, self.began = name, total, self.clock()
        self._counts: tuple[int, int, int | None] = (0, 0, None)
        self._reported, self._reported_at = 0, self.began
        ended = Event()
        painter = Thread(target=self._paint, args=[ended], daemon=True)
        if self.watched and self.wanted is not False:
            painter.start()
        try:
            yield self
        finally:
            ended.set()
            if painter.is_alive():
                painter.join()

    def advance(self) -> None:
        """One more piece is done."""
        self.update(self._counts[0] + 1)

    def update(self, done: int, failed: int = 0, running: int | None = None) -> None:
        """So many pieces are finished (well or not) by now."""
        self._counts, finished = (done, failed, running), done + failed
        new = finished - self._reported
        due = new >= max(1, _SHARE * self.total) or (new > 0 and finished == self.total)
        silent = self.clock() - self._reported_at > _SILENCE
        if self.wanted and not self.watched and (due or silent):
            self._reported, self._reported_at = finished, self.clock()
            print(f"{self.name}: {self.words(done, failed, running)}", file=self.stream, flush=True)

    def words(self, done: int, failed: int = 0, running: int | None = None) -> str:
        """'12 of 40 done, 2 running, 1 failed, 3.4/s, 8 s left'."""
        finished, elapsed = done + failed, self.clock() - self.began
        parts = [f"{done} of {self.total} done"]
        parts += [] if running is None else [f"{running} running", f"{failed} failed"]
        if finished and elapsed > 0:
            rate = finished / elapsed
            parts += [f"{rate:.3g}/s" if rate >= 1 else f"{rate * 60:.3g}/min"]
            parts += [f"{duration((self.total - finished) / rate)} left"]
        return ", ".join(parts)

    def _paint(self, ended: Event) -> None:
        """Draw the bar until the work ends, in a thread of its own: a single piece of the work may take long."""
        if not self.wanted and ended.wait(_PATIENCE):
            return
        with _notebook_bar(self) if self.notebook else _terminal_bar(self) as draw:
            last = False
            while not last:
                last = ended.wait(_REFRESH)  # what was reported last is drawn, too
                done, failed, running = self._counts
                draw(self.words(done, failed, running), done + failed)


Draw = Callable[[str, int], Any]  # what to say, and how many pieces are finished


@contextmanager
def _terminal_bar(display: Display) -> Iterator[Draw]:
    """One line of a terminal, which disappears when the work is done."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn(display.name), BarColumn(), TextColumn("{task.description}"), TimeElapsedColumn()
    console = Console(file=display.stream)
    # standard output stays as it is: it may go elsewhere
    with Progress(*columns, console=console, transient=True, redirect_stdout=False) as bar:
        task = bar.add_task("", total=display.total)
        yield lambda words, finished: bar.update(task, completed=finished, description=words)


@contextmanager
def _notebook_bar(display: Display) -> Iterator[Draw]:
    """A bar below the cell, which is empty when the work is done."""
    from IPython.display import display as show

    handle: Any = show({"text/html": ""}, display_id=True, raw=True)

    def draw(words: str, finished: int) -> None:
        amount = f' value="{finished}" max="{display.total}"' if finished else ""  # without: to and fro
        text = f"<span>{escape(display.name)} <progress{amount}></progress> {escape(words)}</span>"
        handle.update({"text/html": text}, raw=True)

    yield draw
    handle.update({"text/html": ""}, raw=True)


def in_notebook() -> bool:
    """Whether cells of a notebook are being run."""
    if "ipykernel" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return hasattr(get_ipython(), "kernel")


class Share(Display):
    """The same for work that reports which share of it is done, from 0 to 1, or nothing at all."""

    open: ClassVar[bool] = False

    @contextmanager
    def of(self, name: str) -> Iterator[Callable[[float], None]]:
        """Show progress while the block runs; yields the function that reports the share."""
        with self.over(name, _WHOLE):
            yield lambda share: self.update(round(_WHOLE * share))

    def words(self, done: int, failed: int = 0, running: int | None = None) -> str:
        return f"{done} %" if done else ""


def with_bar(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A verb that shows a bar in notebooks if it takes long, unless its `progress` is already reported somewhere."""

    def decorate(verb: Callable[P, R]) -> Callable[P, R]:
        @wraps(verb)
        def shown(*args: P.args, **kwargs: P.kwargs) -> R:
            if Share.open or not in_notebook() or kwargs.get("progress") is not None:
                return verb(*args, **kwargs)
            Share.open = True  # so that a verb which calls others shows one bar
            try:
                with Share().of(name) as report:
                    if "progress" in signature(verb).parameters:
                        kwargs["progress"] = report
                    return verb(*args, **kwargs)
            finally:
                Share.open = False

        return shown

    return decorate


def duration(seconds: float) -> str:
    """Seconds in words: '8 s', '3 min 20 s', '5 h 12 min'."""
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"
