"""The page `index.html`: every figure with its caption, z-scores, calls and times, in one file beside the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from .. import __version__
from ..files import replacing
from .registry import find, number
from .reproduce import Made
from .scores import Score, remark

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
_ZS = """<p>z is the mean over the trials less the theory, in standard errors. If the theory is right its root mean
square is the one in the column "if right". Theories are corrected for the simulations' size to leading order, unless
a figure says otherwise; points of one panel share their trials, so their z move together.</p>
"""


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
