"""Questions and their turns: a few at a time in each lane, each answered once and then from memory."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from typing import Any

from ..errors import GiantstepError
from ..runtime.system import cores
from .refusals import refusal
from .settings import Settings
from .views import VIEWS
from .workers import Worker, Workers

_KINDS = {"late": "patient", "heavy": "patient"}  # of processes; other lanes have their own

_TICK = 0.05  # seconds between two looks at whether somebody still waits
_MOST_WAITING = 64
_REMEMBERED = 400  # answers
_LONGEST = {"simulate": 900.0}  # seconds; others:
_LONGEST_VIEW = 120.0

Key = tuple[str, Settings, bool]


class Refused(Exception):
    """There is no answer, for a reason that the visitor should read; perhaps one setting is to blame."""

    def __init__(self, sentence: str, status: int = 400, field: str | None = None):
        super().__init__(sentence)
        self.sentence, self.status, self.field = sentence, status, field


class Gone(Exception):
    """Nobody waits for the answer any more."""


class Jobs:
    """Has views computed, and remembers their answers."""

    def __init__(self, processors: int | None = None):
        turns = {
            "quick": max(2, (processors or cores()) // 2),
            "late": 2,
            "heavy": 2,
            "reference": 1,
            "simulation": 1,
        }
        self._slots = {lane: threading.BoundedSemaphore(count) for lane, count in turns.items()}
        self._answers: OrderedDict[Key, list[str]] = OrderedDict()
        self._lock = threading.Lock()
        self._waiting = 0
        self.workers = Workers()
        self.closed = False

    def lines(
        self, view: str, given: Any, wanted: Callable[[], bool], coarse: bool = False
    ) -> Generator[str, None, None]:
        """The JSON lines of a view's answer; `wanted` tells whether somebody still waits.

        Raises Refused when there is no answer, and Gone (having ended the work) when nobody wants one.
        """
        if view not in VIEWS:
            raise Refused(f"there is no view {view[:40]!r}; there are {', '.join(VIEWS)}", 404)
        try:
            settings = Settings.parse(given).only(VIEWS[view].uses)
        except GiantstepError as error:
            text, field = refusal(error)
            raise Refused(text, field=field) from None
        coarse = coarse and VIEWS[view].drafts
        known = self._remembered((view, settings, False)) or self._remembered((view, settings, coarse))
        if known is not None:
            yield from known
            return
        lines = []
        for line in self._computed(view, settings, coarse, wanted):
            if not line.startswith('{"progress"'):
                lines.append(line)
            yield line
        if view != "simulate":
            self._remember((view, settings, coarse), lines[-1:])  # without the draft before it

    def close(self) -> None:
        """End all work."""
        self.closed = True
        self.workers.close()

    def _computed(
        self, view: str, settings: Settings, coarse: bool, wanted: Callable[[], bool]
    ) -> Iterator[str]:
        lane = VIEWS[view].lane(settings)
        with self._slot(lane, wanted), self.workers.lend(_KINDS.get(lane, lane)) as worker:
            end = time.monotonic() + _LONGEST.get(view, _LONGEST_VIEW)
            worker.ask(view, settings, coarse)
            while True:
                if not wanted() or self.closed:
                    raise Gone
                if time.monotonic() > end:
                    raise Refused(
                        "this takes too long for a page; use the Python lines or easier values", 503
                    )
                kind, said = self._heard(worker)
                if kind == "end":
                    return
                if kind == "line":
                    yield said
                elif kind:
                    text, field = said
                    raise Refused(text, 400 if kind == "refused" else 500, field)

    def _heard(self, worker: Worker) -> tuple[str, Any]:
        """The worker's next message, or an empty one after a while."""
        try:
            return worker.hear(_TICK) or ("", None)
        except (EOFError, ConnectionError):
            raise Refused("the computation ended unexpectedly; try less extreme values", 500) from None

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

    def _remembered(self, key: Key) -> list[str] | None:
        with self._lock:
            if key in self._answers:
                self._answers.move_to_end(key)
            return self._answers.get(key)

    def _remember(self, key: Key, lines: list[str]) -> None:
        with self._lock:
            self._answers[key] = lines
            while len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
