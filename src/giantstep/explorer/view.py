"""What a view is, and how a function becomes one.

A view names the settings that it `uses`: its answer depends on nothing else, so the page asks again only when one
of them changes, and equal questions are answered from memory. Its lane is the queue that it waits in, so that none
waits for a slower one: "quick" (some tens of milliseconds), "late" (up to seconds), "heavy" (more), "reference" (one
process alone, which remembers what it has tabulated for a target) or "simulation".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .settings import Settings

Answer = dict[str, Any]


@dataclass(frozen=True)
class Effort:
    """How an answer is computed: coarsely, as a draft while a hand moves, and who hears of the share that is done."""

    coarse: bool = False
    report: Callable[[float], None] = lambda share: None


@dataclass(frozen=True)
class View:
    """One question: what computes it, the settings that it uses, the queue that it waits in, and whether it drafts."""

    lines: Callable[[Settings, Effort], Iterator[Answer]]
    uses: tuple[str, ...]
    lane: Callable[[Settings], str]
    drafts: bool = False


VIEWS: dict[str, View] = {}


def quick(settings: Settings) -> bool:
    """Whether a point takes milliseconds: the square loss after one step."""
    return settings.loss == "square" and settings.steps == 1


def by_effort(settings: Settings) -> str:
    return "quick" if quick(settings) else "late"


def always(lane: str) -> Callable[[Settings], str]:
    return lambda settings: lane


def view(uses: tuple[str, ...], lane: Callable[[Settings], str] = by_effort, drafts: bool = False) -> Any:
    """Register a function of settings and effort; if it `drafts`, a slow answer comes after its draft."""

    def register(function: Callable[[Settings, Effort], Answer]) -> Any:
        def lines(settings: Settings, effort: Effort) -> Iterator[Answer]:
            if effort.coarse or (drafts and not quick(settings)):
                yield function(settings, Effort(coarse=True)) | {"draft": True}
            if not effort.coarse:
                yield function(settings, effort)

        VIEWS[function.__name__] = View(lines, uses, lane, drafts)
        return function

    return register
