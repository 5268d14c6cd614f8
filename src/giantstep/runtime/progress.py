"""How far long work is: a bar on a terminal and in a notebook, a line now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from html import escape
from inspect import signature
from threading import RLock, Timer
from typing import Any, ClassVar, ParamSpec, TextIO, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_SHARE = 0.05  # of the work, and
_SILENCE = 60.0  # seconds: whichever passes first makes a plain line due
_PATIENCE = 1.0  # seconds that work must take before anything is shown unasked
_WHOLE = 100  # percent


class Display:
    """Shows done, running, failed, rate and time left. `wanted` None: only if a person watches long work.

    A person, on a terminal or in a notebook, sees a bar also while a single piece of the work takes long.
    """

    def __init__(
        self,
        wanted: bool | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.wanted, self.stream, self.clock = wanted, stream or sys.stderr, clock
        self.notebook = stream is None and in_notebook()
        self.watched = self.notebook or self.stream.isatty()
        self._bar: _TerminalBar | _NotebookBar | None = None
        self._alarm: Timer | None = None  # for work whose first piece takes long
        self._one_at_a_time = RLock()

    @contextmanager
    def over(self, name: str, total: int) -> Iterator[Display]:
        """Shown while the block runs."""
        self.begin(name, total)
        try:
            yield self
        finally:
            self.end()

    def begin(self, name: str, total: int) -> None:
        """`total` pieces of work are about to be done."""
        self.name, self.total, self.began = name, total, self.clock()
        self._done, self._told, self._spoke = 0, 0, self.began
        if self.watched and self.wanted is not False:
            self._alarm = Timer(_PATIENCE, self._still_at_it)
            self._alarm.daemon = True
            self._alarm.start()

    def advance(self) -> None:
        """One more piece is done."""
        self.update(self._done + 1)

    def update(self, done: int, failed: int = 0, running: int | None = None) -> None:
        """So many pieces are finished (well or not) by now."""
        self._done = done
        if self.watched and (self.wanted or (self.wanted is None and self._long(done + failed))):
            self._show(done, failed, running)
        elif self.wanted and not self.watched and self._due(done + failed):
            self._told, self._spoke = done + failed, self.clock()
            print(f"{self.name}: {self.words(done, failed, running)}", file=self.stream, flush=True)

    def end(self) -> None:
        with self._one_at_a_time:
            if self._alarm is not None:
                self._alarm.cancel()
                self._alarm = None
            if self._bar is not None:
                self._bar.stop()
                self._bar = None

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

    def _still_at_it(self) -> None:
        """The bar, where nothing has called for it yet; in the alarm's own thread."""
        with self._one_at_a_time:
            if self._bar is None and self._alarm is not None:
                self._show(self._done, 0, None)

    def _show(self, done: int, failed: int, running: int | None) -> None:
        words, finished = self.words(done, failed, running), done + failed
        with self._one_at_a_time:
            if self._bar is None:
                self._bar = _NotebookBar(self.name) if self.notebook else _TerminalBar(self)
            total = self.total if finished else None  # a bar without a total runs to and fro
            self._bar.show(words, finished, total)

    def _long(self, finished: int) -> bool:
        elapsed = self.clock() - self.began
        return self._bar is not None or (finished > 0 and elapsed * self.total / finished > _PATIENCE)

    def _due(self, finished: int) -> bool:
        if finished == self._told:
            return self.clock() - self._spoke > _SILENCE
        enough = finished - self._told >= max(1, _SHARE * self.total)
        return enough or finished == self.total or self.clock() - self._spoke > _SILENCE


class _TerminalBar:
    """One line of a terminal, gone when the work is done."""

    def __init__(self, display: Display):
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn(display.name),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
        )
        self.bar = Progress(
            *columns,
            console=Console(file=display.stream),
            transient=True,
            redirect_stdout=False,  # which may go elsewhere
            refresh_per_second=4,
            get_time=display.clock,
        )
        self.bar.add_task("", total=None)
        self.bar.tasks[0].start_time = display.began
        self.bar.start()

    def show(self, words: str, finished: int, total: int | None) -> None:
        self.bar.update(self.bar.task_ids[0], completed=finished, total=total, description=words)

    def stop(self) -> None:
        self.bar.stop()


class _NotebookBar:
    """A bar below the cell, which is empty when the work is done."""

    def __init__(self, name: str):
        from IPython.display import display

        self.name = name
        self.handle: Any = display(_html(""), display_id=True, raw=True)

    def show(self, words: str, finished: int, total: int | None) -> None:
        amount = "" if total is None else f' value="{finished}" max="{total}"'
        bar = f"<progress{amount}></progress>"
        self.handle.update(_html(f"<span>{escape(self.name)} {bar} {escape(words)}</span>"), raw=True)

    def stop(self) -> None:
        self.handle.update(_html(""), raw=True)


def _html(text: str) -> dict[str, str]:
    return {"text/html": text}


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
        """Shown while the block runs, which is given the function to report with."""
        with self.over(name, _WHOLE):
            yield lambda share: self.update(round(_WHOLE * share))

    def words(self, done: int, failed: int = 0, running: int | None = None) -> str:
        return f"{done} %" if done else ""


def with_bar(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A verb that shows a bar in notebooks if it takes long, unless its `progress` is already reported somewhere."""

    def decorate(verb: Callable[P, R]) -> Callable[P, R]:
        reports = "progress" in signature(verb).parameters

        @wraps(verb)
        def shown(*args: P.args, **kwargs: P.kwargs) -> R:
            if Share.open or not in_notebook() or kwargs.get("progress") is not None:
                return verb(*args, **kwargs)
            Share.open = True  # so that a verb which calls others shows one bar
            try:
                with Share().of(name) as report:
                    if reports:
                        kwargs["progress"] = report
                    return verb(*args, **kwargs)
            finally:
                Share.open = False

        return shown

    return decorate


def duration(seconds: float) -> str:
    """Seconds in words: '8 s', '3 min 20 s', '5 h 12 min'."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
