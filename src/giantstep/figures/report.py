"""How far the simulations lie from the theory, as a table and as a file, and the page `index.html`: every figure with
its caption, z-scores, calls and times, in one file beside the pictures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import __version__
from ..answers.comparison import of_the_limit, summary
from ..answers.tables import aligned
from ..files import replacing
from ..runtime.progress import duration
from .registry import Size, find, number

if TYPE_CHECKING:
    import xarray as xr

_LARGE = 1.5  # times the root mean square that z has if the theory is right
_COLUMNS = ("comparison", "quantity", "points", "trials", "rms z", "if right", "worst z")
_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>giantstep: the paper's figures</title><style>
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; color: #222 }
figure { margin: 0 } img { max-width: 100%; height: auto } figcaption { max-width: 50rem }
table { border-collapse: collapse; font-size: 90%; margin: .8rem 0 }
th, td { padding: .15rem .8rem .15rem 0; text-align: left; border-bottom: 1px solid #ddd }
td:nth-child(n+3) { text-align: right; font-variant-numeric: tabular-nums }
code { font-size: 85%; overflow-wrap: anywhere }
section { border-top: 1px solid #ccc; margin-top: 2.5rem; padding-top: .5rem } .small { color: #666; font-size: 90% }
</style></head><body>
<h1>One giant gradient step: the figures, recomputed</h1>
"""
_ZS = """<p>z is the mean over the trials minus the theory, in standard errors. If the theory is right its root mean
square is the one in the column "if right". Theories are corrected for the simulations' size to leading order, unless
a figure says otherwise; points of one panel share their trials, so their z move together.</p>
"""


Row = dict[str, str]
"""z-scores of one quantity over the points of one comparison: the cells of a table, by the names of its columns."""


@dataclass(frozen=True)
class Made:
    """A finished figure: where it is, what was compared, and how long its data took and this call took."""

    name: str
    size: Size
    calls: dict[str, str]
    scores: list[Row]
    data_seconds: float
    seconds: float
    hardware: str
    date: str


def scores(comparisons: Mapping[str, xr.Dataset]) -> list[Row]:
    """A row for each comparison and each quantity; "if right" is the root mean square of z if the theory is right, from
    Student's distribution with trials - 1 degrees of freedom."""
    rows: list[Row] = []
    for what, compared in comparisons.items():
        trials, columns = compared.attrs["trials"], summary(compared).columns
        right = f"{np.sqrt((trials - 1) / (trials - 3)) if trials > 3 else np.nan:.2f}"
        known = zip(*(columns[name] for name in ("statistic", "points", "rms z", "worst z")), strict=True)
        for quantity, points, rms, worst in known:
            cells = (what, quantity.replace("_", " "), points, trials, rms, right, worst)
            rows.append(dict(zip(_COLUMNS, map(str, cells), strict=True)))
    return rows


def table(rows: Sequence[Row]) -> str:
    """The rows as text, and what is to be said of them."""
    cells = aligned({name: np.array([row[name] for row in rows], dtype=object) for name in _COLUMNS})
    return "\n".join(filter(None, [cells, remark(rows)]))


def remark(rows: Sequence[Row]) -> str:
    """Why z may be large, in a sentence or two; nothing where none is."""
    said = [of_the_limit(row["quantity"].replace(" ", "_") for row in rows)]
    if any(float(row["rms z"]) > _LARGE * float(row["if right"]) for row in rows):
        said.append(
            "where rms z is above 'if right', standard errors are small enough to show what the theory leaves out:"
            " effects of order 1/d (larger networks: --full), or the rows of a network if the bulk is isotropic; points"
            " of one panel share their trials, so their z move together"
        )
    return "\n".join(filter(None, said))


def write_csv(made: Iterable[Made], path: Path) -> None:
    """The rows of every figure, for other programs."""
    import pandas as pd

    rows = ({"figure": figure.name, **row} for figure in made for row in figure.scores)
    with replacing(path) as temporary:
        pd.DataFrame(rows, columns=["figure", *_COLUMNS]).to_csv(temporary, index=False)


def write_page(made: Sequence[Made], folder: Path) -> None:
    """Show these figures, whose pictures are in the folder already."""
    total = duration(sum(figure.data_seconds for figure in made))
    toc = "".join(
        f'<li value="{number(m.name)}"><a href="#{m.name}">{escape(find(m.name).TITLE)}</a></li>' for m in made
    )
    text = f"""{_HEAD}<p>giantstep {__version__}, {len(made)} figures, {total} of computing. Theory and simulations are
in the .nc files beside this page.</p><ol>{toc}</ol>{_ZS}{"".join(map(_section, made))}</body></html>
"""
    with replacing(folder / "index.html") as temporary:
        temporary.write_text(text, encoding="utf-8")


def _section(made: Made) -> str:
    figure = find(made.name)
    title = escape(figure.TITLE)
    calls = "".join(f"<li>{escape(part)}: <code>{escape(call)}</code></li>" for part, call in made.calls.items())
    size = f"seed {number(made.name)}, d = {made.size.d}, {made.size.trials} trials; " if made.scores else ""
    facts = f"{size}data computed in {duration(made.data_seconds)} on {escape(made.hardware)}, {made.date}"
    return f"""<section id="{made.name}"><h2>{number(made.name)}. {title}</h2>
<figure><img src="{made.name}.png" alt="{title}"><figcaption>{escape(figure.CAPTION)}</figcaption></figure>
{_table(made.scores)}<p class="small">{facts}; <a href="{made.name}.pdf">PDF</a></p>
<details><summary>The calls behind it</summary><ul>{calls}</ul></details></section>
"""


def _table(rows: Sequence[Row]) -> str:
    import pandas as pd

    if not rows:
        return '<p class="small">Nothing is simulated here: the functions are exact.</p>'
    said = f'<p class="small">{escape(words)}.</p>' if (words := remark(rows)) else ""
    return pd.DataFrame(rows).to_html(index=False, border=0) + said
