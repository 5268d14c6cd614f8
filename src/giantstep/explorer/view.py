"""What a view is, and how a function becomes one.

A view names the settings that it `uses`: its answer depends on nothing else, so the page asks again only when one
of them changes, and equal questions are answered from memory. Its lane is the queue that it waits in: "quick" (some
tens of milliseconds), "late" (up to seconds), "heavy" (more) or "simulation", so that none waits for a slower one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .settings import Settings

Answer = dict[str, Any]
Report = Callable[[float], None]  # hears the share of the work that is done
Lines = Callable[["Settings", bool, Report], Iterator[Answer]]


@dataclass(frozen=True)
class View:
    """One question: what computes it, the settings that it uses, the queue that it waits in, and whether it drafts."""

    lines: Lines
    uses: tuple[str, ...]
    lane: Callable[[Settings], str]
    drafts: bool = False


VIEWS: dict[str, View] = {}


def quick(settings: Settings) -> bool:
    """Whether a point takes milliseconds: the square loss after one step."""
    return settings.loss == "square" and settings.steps == 1


def by_effort(settings: Settings) -> str:
    return "quick" if quick(settings) else "late"


def heavy(settings: Settings) -> str:
    return "heavy"


def view(uses: tuple[str, ...], lane: Callable[[Settings], str] = by_effort) -> Any:
    """Register a function of settings (and of how to report progress) as a view of one line."""

    def register(function: Callable[[Settings, Report], Answer]) -> Any:
        VIEWS[function.__name__] = View(lambda s, _, report: iter((function(s, report),)), uses, lane)
        return function

    return register


def drafting(
    uses: tuple[str, ...], is_slow: Callable[[Settings], bool], lane: Callable[[Settings], str]
) -> Any:
    """Register a function that can answer coarsely; where it is slow, the draft comes before the answer."""

    def register(function: Callable[[Settings, bool, Report], Answer]) -> Any:
        def lines(settings: Settings, coarse: bool, report: Report) -> Iterator[Answer]:
            if coarse or is_slow(settings):
                yield function(settings, True, lambda share: None) | {"draft": True}
            if not coarse:
                yield function(settings, False, report)

        VIEWS[function.__name__] = View(lines, uses, lane, drafts=True)
        return function

    return register


def slow(settings: Settings) -> bool:
    return not quick(settings)
