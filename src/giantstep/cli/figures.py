"""The commands `giantstep figure` and `giantstep reproduce`: the paper's figures, with their data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cyclopts import Group, Parameter

from ..errors import ParameterError
from . import output as out
from .options import whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ..figures.reproduce import Made

_HOW = Group.create_ordered("How")


@Parameter(name="*", group=_HOW)
@dataclass(frozen=True)
class How:
    """Size, place and machine."""

    quick: Annotated[bool, Parameter(help="d of a few hundred (the default)")] = False
    full: Annotated[bool, Parameter(help="the paper's sizes, d = 2000 to 5000")] = False
    out: Annotated[
        str | None, Parameter(help="folder (default: reproduction-quick or -full); it is created", metavar="DIR")
    ] = None
    device: Annotated[str, Parameter(help="cpu or cuda")] = "cpu"
    workers: Annotated[int | None, whole("processes side by side (default: all processors, at most 8)")] = None

    @property
    def size(self) -> str:
        if self.quick and self.full:
            raise ParameterError("--quick and --full exclude each other; give one of them")
        return "full" if self.full else "quick"


_DEFAULT = How()


def figure(
    name: Annotated[str | None, Parameter(help="a name or number; without it, the list", group=_HOW)] = None,
    /,
    *,
    how: How = _DEFAULT,
) -> int:
    """Draw one of the paper's figures: theory, simulation, picture.

    Without a name, list the figures.

      giantstep figure
      giantstep figure width
      giantstep figure 5 --full --device cuda --out figures
    """
    from ..figures import NAMES, find

    if name is None:
        print(*(f"{place:>2}  {known:<18}{find(known).TITLE}" for place, known in enumerate(NAMES, 1)), sep="\n")
        return 0
    return _make([name], how, page=False)


def reproduce(*, how: How = _DEFAULT) -> int:
    """Draw all of the paper's figures and a page that shows them.

    The folder gets a PDF and a PNG of each figure, its data (.nc) and
    index.html, with captions, calls and z-scores. You may stop it and run it
    again: what is finished is not computed again.

      giantstep reproduce
      giantstep reproduce --full --device cuda --out full
    """
    from ..figures import NAMES

    return _make(NAMES, how, page=True)


def _make(names: Sequence[str], how: How, page: bool) -> int:
    import os
    from pathlib import Path

    from ..figures import reproduce as verb
    from ..model.checks import check_count

    folder = Path(how.out or f"reproduction-{how.size}")
    workers = min(os.cpu_count() or 1, 8) if how.workers is None else check_count("workers", how.workers, 1)
    verb(names, size=how.size, out=folder, device=how.device, workers=workers, page=page, report=_report)
    out.note(f"the page is {folder / 'index.html'}" if page else f"the pictures are in {folder}")
    return 0


def _report(made: Made) -> None:
    """What was made, and how well theory and simulation agree."""
    from ..figures.report import table

    print(f"{made.name}: {made.seconds:.0f} s", flush=True)
    if made.scores:
        print("  " + table(made.scores).replace("\n", "\n  ") + "\n", flush=True)
