"""How far along a long run is: a bar with the remaining time on a terminal, plain lines elsewhere."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

_PATIENCE = 2.0  # seconds before anything is shown unasked
_LINES = 20  # plain lines per run, at most


class Progress:
    """Counts finished trials. `wanted` None means: show a bar if a person is watching and the work is long."""

    def __init__(
        self,
        total: int,
        wanted: bool | None = None,
        stream: TextIO | None = None,
        clock: Callable[[], float] = time.monotonic,
    ):
        self.total, self.wanted, self.clock = total, wanted, clock
        self.stream = stream or sys.stderr
        self.terminal = self.stream.isatty()
        self.done, self.begun, self.bar, self.lines = 0, clock(), None, 0

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *exception: Any) -> None:
        if self.bar is not None:
            self.bar.stop()

    def advance(self) -> None:
        """One more trial is done."""
        self.done += 1
        elapsed = self.clock() - self.begun
        remaining = elapsed / self.done * (self.total - self.done)
        if self.terminal and (self.wanted or (self.wanted is None and elapsed + remaining > _PATIENCE)):
            self._show_bar()
        elif self.wanted and not self.terminal and self.done * _LINES // self.total > self.lines:
            self.lines = self.done * _LINES // self.total
            print(
                f"{self.done} of {self.total} trials, {remaining:.0f} s to go", file=self.stream, flush=True
            )

    def _show_bar(self) -> None:
        if self.bar is None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
            from rich.progress import Progress as Bar

            columns = (TextColumn("trials"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
            self.bar = Bar(*columns, console=Console(file=self.stream), transient=True)
            self.bar.add_task("trials", total=self.total)
            self.bar.start()
        self.bar.update(self.bar.task_ids[0], completed=self.done)
