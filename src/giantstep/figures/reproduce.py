"""From parts to files: data, picture and page of one figure or of all, computing only what is not there."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from ..errors import ParameterError
from ..files import check_place
from ..runtime.progress import Display
from .registry import NAMES, Figure, Size, find
from .report import Made, scores, write_csv, write_page

_PICTURES = ("pdf", "png")


def reproduce(
    names: Iterable[str] = NAMES,
    *,
    size: str = "quick",
    out: str | Path | None = None,
    device: str = "cpu",
    workers: int = 1,
    page: bool = True,
    report: Callable[[Made], None] | None = None,
) -> list[Made]:
    """Make the figures in the folder `out`, with their data and a `page` index.html that shows them.

    The z-scores are on the page and in scores.csv. `size` is "quick" (a few hundred dimensions), "full" (the
    paper's) or "tiny" (to try it out). Data that is already there, from the same calls of the same version, is
    used again. `report` hears of each figure.
    """
    figures = [find(name) for name in names]
    if size not in ("tiny", "quick", "full"):
        raise ParameterError(f"size = {size!r} is unknown; use 'quick', 'full' or 'tiny'")
    folder = Path(out or f"reproduction-{size}")
    folder.mkdir(parents=True, exist_ok=True)
    for name in ["index.html", "scores.csv", *(name for figure in figures for name in _files(figure, size))]:
        check_place(folder / name)
    made = []
    for figure in figures:
        made.append(make_figure(figure, figure.SIZES[size], folder, device, workers))
        if report:
            report(made[-1])
        if page:
            write_page(made, folder)
            write_csv(made, folder / "scores.csv")
    return made


def _files(figure: Figure, size: str) -> list[str]:
    """What a figure writes: its pictures, and the data of each part."""
    parts = [f"{part}.nc" for part in figure.parts(figure.SIZES[size])]
    return [f"{figure.NAME}.{ending}" for ending in (*_PICTURES, *parts)]


def make_figure(figure: Figure, size: Size, folder: Path, device: str = "cpu", workers: int = 1) -> Made:
    """Data, PDF and PNG of one figure."""
    from ..plotting import save_figure
    from ..plotting.style import styled

    start = time.perf_counter()
    parts, data = figure.parts(size), {}
    with Display().over(figure.NAME, len(parts)) as shown:
        for name, part in parts.items():
            data[name] = part.obtain(folder / f"{figure.NAME}.{name}.nc", device, workers)
            shown.advance()
    with styled():
        picture = figure.draw(data)
    for ending in _PICTURES:
        save_figure(picture, folder / f"{figure.NAME}.{ending}")
    return Made(
        figure.NAME,
        size,
        {name: part.words() for name, part in parts.items()},
        scores(figure.comparisons(data)),
        sum(dataset.attrs["seconds"] for dataset in data.values()),
        time.perf_counter() - start,
        "; ".join(sorted({dataset.attrs["hardware"] for dataset in data.values()})),
        max(dataset.attrs["date"] for dataset in data.values()),
    )
