"""How far the simulations lie from the theory, as a table and as a file, and the page `index.html`: every figure with
its caption, z-scores, calls and times, in one file beside the pictures."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import __version__
from ..answers.comparison import of_the_limit
from ..files import replacing
from .registry import Size, find, number

if TYPE_CHECKING:
    import xarray as xr

_LARGE = 1.5  # times the root mean square that z has if the theory is right
_TESTED = ("test_error", "learned", "spike", "outlier", "r", "gamma", "c", "network_error")
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>giantstep: the paper's figures</title><style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
figure { margin: 0 } img { max-width: 100%; height: auto } figcaption { max-width: 50rem }
table { border-collapse: collapse; font-size: 90%; margin: .8rem 0 }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; border-bottom: 1px solid #ddd }
td.n { text-align: right; font-variant-numeric: tabular-nums } code { font-size: 85%; overflow-wrap: anywhere }
section { border-top: 1px solid #ccc; margin-top: 2.5rem; padding-top: .5rem } .small { color: #666; font-size: 90% }
</style></head><body>
<h1>One giant gradient step: the figures, recomputed</h1>
"""
_ZS = """<p>z is the mean over the trials minus the theory, in standard errors. If the theory is right its root mean
square is the one in the column "if right". Theories are corrected for the simulations' size to leading order, unless
a figure says otherwise; points of one panel share their trials, so their z move together.</p>
"""


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


@dataclass(frozen=True)
class Made:
    """A finished figure: where it is, what was compared, and how long its data took and this call took."""

    name: str
    size: Size
    calls: dict[str, str]
    scores: list[Score]
    data_seconds: float
    seconds: float
    hardware: str
    date: str


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


def write_page(made: Sequence[Made], folder: Path) -> None:
    """Show these figures, whose pictures are in the folder already."""
    total = sum(figure.data_seconds for figure in made)
    words = f"giantstep {__version__}, {len(made)} figures, {_duration(total)} of computing. Theory and simulations"
    toc = "".join(f'<li value="{number(m.name)}"><a href="#{m.name}">{_title(m)}</a></li>' for m in made)
    body = "".join(_section(figure) for figure in made)
    text = f"{_HEAD}<p>{words} are in the .nc files beside this page.</p><ol>{toc}</ol>{_ZS}{body}</body></html>\n"
    with replacing(folder / "index.html") as temporary:
        temporary.write_text(text, encoding="utf-8")


def _section(made: Made) -> str:
    figure = find(made.name)
    calls = "".join(
        f"<li>{escape(part)}: <code>{escape(call)}</code></li>" for part, call in made.calls.items()
    )
    size = f"seed {number(made.name)}, d = {made.size.d}, {made.size.trials} trials; " if made.scores else ""
    facts = f"{size}data computed in {_duration(made.data_seconds)} on {escape(made.hardware)}, {made.date}"
    return f"""<section id="{made.name}"><h2>{number(made.name)}. {_title(made)}</h2>
<figure><img src="{made.name}.png" alt="{_title(made)}"><figcaption>{escape(figure.CAPTION)}</figcaption></figure>
{_table(made.scores)}<p class="small">{facts}; <a href="{made.name}.pdf">PDF</a></p>
<details><summary>The calls behind it</summary><ul>{calls}</ul></details></section>
"""


def _title(made: Made) -> str:
    return escape(find(made.name).TITLE)


def _table(lines: Sequence[Score]) -> str:
    if not lines:
        return '<p class="small">Nothing is simulated here: the functions are exact.</p>'
    rows = [line.cells() for line in lines]
    head = "".join(f"<th>{name}</th>" for name in rows[0])
    left = ("comparison", "quantity")
    body = "".join(
        "<tr>"
        + "".join(f"<td{'' if n in left else ' class=n'}>{escape(v)}</td>" for n, v in row.items())
        + "</tr>"
        for row in rows
    )
    said = f'<p class="small">{escape(words)}.</p>' if (words := remark(lines)) else ""
    return f"<table><tr>{head}</tr>{body}</table>{said}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.1f} min"
