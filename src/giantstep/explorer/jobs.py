"""Questions of the page: each is checked, computed by a worker while somebody waits for it, and then remembered."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Generator, Iterator
from http import HTTPStatus
from typing import Any

from ..errors import GiantstepError
from .refusals import Gone, Refused, refusal
from .settings import Settings
from .views import VIEWS
from .workers import Workers

_REMEMBERED = 400  # answers


class Jobs:
    """Has views computed, and remembers their answers. `longest`: seconds by lane, if others than the usual."""

    def __init__(self, longest: dict[str, float] | None = None):
        self._longest = {"simulation": 900.0} if longest is None else longest
        self._answers: OrderedDict[tuple[str, Settings, bool], str] = OrderedDict()
        self.workers = Workers()

    def lines(
        self, view: str, given: Any, wanted: Callable[[], bool], coarse: bool = False
    ) -> Generator[str, None, None]:
        """The JSON lines of a view's answer; `wanted` tells whether somebody still waits.

        Raises Refused when there is no answer, and Gone (having ended the work) when nobody wants one.
        """
        if view not in VIEWS:
            raise Refused(
                f"there is no view {view[:40]!r}; there are {', '.join(VIEWS)}", HTTPStatus.NOT_FOUND
            )
        try:
            settings = Settings.parse(given).only(VIEWS[view].uses)
        except GiantstepError as error:
            raise refusal(error) from None
        coarse = coarse and VIEWS[view].drafts
        line = self._answers.get((view, settings, False)) or self._answers.get((view, settings, coarse))
        if line is not None:
            yield line
            return
        for line in self._computed(view, settings, coarse, wanted):
            yield line
        if line is not None and view != "simulate":
            self._answers[view, settings, coarse] = line  # without drafts and progress before it
            if len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)

    def _computed(
        self, view: str, settings: Settings, coarse: bool, wanted: Callable[[], bool]
    ) -> Iterator[str]:
        lane = VIEWS[view].lane(settings)

        def check() -> None:
            if self.workers.closed or not wanted():
                raise Gone
            if time.monotonic() > end:
                sentence = "this takes too long for a page; use the Python lines or easier values"
                raise Refused(sentence, HTTPStatus.SERVICE_UNAVAILABLE)

        with self.workers.lend(lane, wanted) as worker:
            end = time.monotonic() + self._longest.get(lane, 120.0)
            yield from worker.lines(view, settings, coarse, check)
