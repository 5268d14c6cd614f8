"""Questions of the page: each is checked, computed by a worker while somebody waits for it, and then remembered."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from ..runtime.threads import allowed_threads
from ..runtime.workers import Workers, tell
from .refusals import Gone, Refused, refusal
from .settings import Settings
from .views import VIEWS, as_json

LANES = {"quick": 3, "slow": 5, "reference": 1, "simulation": 1}
"""How many processes answer the questions of each lane. One that was left in the middle is lost, another is ready."""

_REMEMBERED = 400  # answers
_NICENESS = 5  # of all that is not quick, so that sliders stay so


class Jobs:
    """Has views computed, and remembers their answers. `longest`: seconds by lane, if others than the usual."""

    def __init__(self, longest: dict[str, float] | None = None):
        self._longest = {"simulation": 900.0} if longest is None else longest
        self._answers: OrderedDict[tuple[str, Settings, bool], str] = OrderedDict()
        self.lanes = {
            lane: Workers(
                count,
                allowed_threads() if lane == "simulation" else 1,
                "giantstep.explorer.preload",
                forked=True,
                niceness=0 if lane == "quick" else _NICENESS,
            )
            for lane, count in LANES.items()
        }
        for workers in self.lanes.values():
            workers.submit(int)  # so that the first question finds a process

    def answer(
        self,
        view: str,
        coarse: bool,
        given: Any,
        send: Callable[[str], None],
        wanted: Callable[[], bool] = lambda: True,
    ) -> None:
        """Send the JSON lines of a view's answer as they come; `wanted` tells whether somebody still waits.

        Raises Refused when there is no answer, and Gone (having ended the work) when nobody wants one.
        """
        if view not in VIEWS:
            raise Refused(f"there is no view {view[:40]!r}; there are {', '.join(VIEWS)}", HTTPStatus.NOT_FOUND)
        try:
            settings = Settings.parse(given).only(VIEWS[view].uses)
            coarse = coarse and VIEWS[view].drafts
            known = self._answers.get((view, settings, False)) or self._answers.get((view, settings, coarse))
            send(known or self._computed(view, settings, coarse, send, wanted))
        except (Gone, Refused):
            raise
        except Exception as error:
            raise refusal(error) from None

    def _computed(
        self, view: str, settings: Settings, coarse: bool, send: Callable[[str], None], wanted: Callable[[], bool]
    ) -> str:
        """The last line of an answer, which is remembered, after drafts and progress have been sent."""
        lane = VIEWS[view].lane(settings)
        workers, end = self.lanes[lane], time.monotonic() + self._longest.get(lane, 120.0)

        def look() -> None:
            if workers.closed or not wanted():
                raise Gone
            if time.monotonic() > end:
                raise Refused(
                    "this takes too long for a page; use the Python lines or easier values",
                    HTTPStatus.SERVICE_UNAVAILABLE,
                )

        line = workers.do(computed, view, settings, coarse, hear=send, look=look)
        if view != "simulate":
            self._answers[view, settings, coarse] = line
            if len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        return line

    def close(self) -> None:
        """End all work."""
        for workers in self.lanes.values():
            workers.close()


def computed(view: str, settings: Settings, coarse: bool) -> str:
    """In a worker: the last line of an answer, after those before it have been told."""
    return as_json(VIEWS[view].answer(settings, coarse, lambda answer: tell(as_json(answer))))
