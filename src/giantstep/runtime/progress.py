"""How far long work is: one line that lives on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import RLock, Timer
from typing import Any, TextIO

_SHARE = 0.05  # of the work, and
_SILENCE = 60.0  # seconds: whichever passes first makes a plain line due
_PATIENCE = 1.5  # seconds that work must take before anything is shown unasked
_WHOLE = 100  # percent


class Display:
    """Shows done, running, failed, rate and time left. `wanted` None: only if a person watches long work.

    A person sees the bar move, and the time pass, also while a single piece of the work takes long.
    """

    def __init__(
        self,
        wanted: bool | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.wanted, self.stream, self.clock = wanted, stream or sys.stderr, clock
        self.terminal = self.stream.isatty()
        self._bar: Any = None
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
        if self.terminal and self.wanted is not False:
            self._alarm = Timer(_PATIENCE, self._still_at_it)
            self._alarm.daemon = True
            self._alarm.start()

    def advance(self) -> None:
        """One more piece is done."""
        self.update(self._done + 1)

    def update(self, done: int, failed: int = 0, running: int | None = None) -> None:
        """So many pieces are finished (well or not) by now."""
        self._done = done
        if self.terminal and (self.wanted or (self.wanted is None and self._long(done + failed))):
            self._show(done, failed, running)
        elif self.wanted and not self.terminal and self._due(done + failed):
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
                self._bar = self._new_bar()
            total = self.total if finished else None  # a bar that has none runs to and fro
            self._bar.update(self._bar.task_ids[0], completed=finished, total=total, description=words)

    def _new_bar(self) -> Any:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        columns = (
            TextColumn(self.name),
            BarColumn(),
            TextColumn("{task.description}"),
            TimeElapsedColumn(),
        )
        bar = Progress(
            *columns,
            console=Console(file=self.stream),
            transient=True,
            redirect_stdout=False,  # which may go elsewhere
            refresh_per_second=4,
            get_time=self.clock,
        )
        bar.add_task("", total=None)
        bar.tasks[0].start_time = self.began
        bar.start()
        return bar

    def _long(self, finished: int) -> bool:
        elapsed = self.clock() - self.began
        return self._bar is not None or (finished > 0 and elapsed * self.total / finished > _PATIENCE)

    def _due(self, finished: int) -> bool:
        if finished == self._told:
            return self.clock() - self._spoke > _SILENCE
        enough = finished - self._told >= max(1, _SHARE * self.total)
        return enough or finished == self.total or self.clock() - self._spoke > _SILENCE


class Share(Display):
    """The same for work that reports which share of it is done, from 0 to 1, or nothing at all."""

    @contextmanager
    def of(self, name: str) -> Iterator[Callable[[float], None]]:
        """Shown while the block runs, which is given the function to report with."""
        with self.over(name, _WHOLE):
            yield lambda share: self.update(round(_WHOLE * share))

    def words(self, done: int, failed: int = 0, running: int | None = None) -> str:
        return f"{done} %" if done else ""


def duration(seconds: float) -> str:
    """Seconds in words: '8 s', '3 min 20 s', '5 h 12 min'."""
    seconds = round(seconds)
    if seconds < 60:
        return f"{seconds} s"
    minutes, seconds = divmod(seconds, 60)
    return f"{minutes} min {seconds} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
