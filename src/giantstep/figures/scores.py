"""How far the simulations lie from the theory: a line for each comparison, and a table of them."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..answers.comparison import of_the_limit
from ..files import replacing

if TYPE_CHECKING:
    import xarray as xr

_LARGE = 1.5  # times the root mean square that z has if the theory is right
_TESTED = ("test_error", "learned", "spike", "outlier", "r", "gamma", "c", "network_error")


@dataclass(frozen=True)
class Score:
    """z-scores of one quantity over the points of one comparison."""

    what: str
    quantity: str
    points: int
    trials: int
    rms: float
    worst: float

    @property
    def expected(self) -> float:
        """The root mean square of z if the theory is right: Student's distribution with trials - 1 degrees."""
        return np.sqrt((self.trials - 1) / (self.trials - 3)) if self.trials > 3 else np.nan

    def cells(self) -> dict[str, str]:
        """The line of a table, column by column."""
        return {
            "comparison": self.what,
            "quantity": self.quantity.replace("_", " "),
            "points": str(self.points),
            "trials": str(self.trials),
            "rms z": f"{self.rms:.2f}",
            "if right": f"{self.expected:.2f}",
            "worst z": f"{self.worst:+.2f}",
        }


def scores(comparisons: Mapping[str, xr.Dataset]) -> list[Score]:
    """A line for each comparison and each quantity that figures are about."""
    return [
        _score(what, name, compared)
        for what, compared in comparisons.items()
        for name in _TESTED
        if name in compared.data_vars
    ]


def table(lines: Sequence[Score]) -> str:
    """The lines as text, and what is to be said of them."""
    from ..answers.tables import aligned

    rows = [line.cells() for line in lines]
    cells = aligned({name: np.array([row[name] for row in rows], dtype=object) for name in rows[0]})
    return "\n".join(filter(None, [cells, remark(lines)]))


def remark(lines: Iterable[Score]) -> str:
    """Why z may be large, in a sentence or two; nothing where none is."""
    lines = list(lines)
    said = [of_the_limit({line.quantity for line in lines})]
    if any(line.rms > _LARGE * line.expected for line in lines):
        said.append(
            "where rms z is above 'if right', standard errors are small enough to show what the theory leaves out:"
            " effects of order 1/d (larger networks: --full), or the rows of a network if the bulk is isotropic; points"
            " of one panel share their trials, so their z move together"
        )
    return "\n".join(filter(None, said))


def write_csv(lines: Mapping[str, Iterable[Score]], path: Path) -> None:
    """The lines of every figure, for other programs."""
    rows = [{"figure": name, **score.cells()} for name, of_figure in lines.items() for score in of_figure]
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else ["figure"])
        writer.writeheader()
        writer.writerows(rows)


def _score(what: str, name: str, compared: xr.Dataset) -> Score:
    z = compared[name].sel(part="z").values.ravel()
    z = z[np.isfinite(z)]
    worst = float(z[np.argmax(np.abs(z))])
    return Score(what, name, z.size, compared.attrs["trials"], float(np.sqrt(np.mean(z**2))), worst)
