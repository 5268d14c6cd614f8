"""Small stored results of the gallery's pictures: computed once, kept as JSON beside the script that made them.

    python docs/gallery/budget.py                            # draw from the stored results
    python docs/gallery/budget.py --compute full --device cuda   # compute, store and draw (tiny, quick or full)

A script says what is computed (`parts`, and `then` what needs those), which of it is stored (`STORED`, or `reduced`),
what is compared, and how it is drawn. Pictures of the stored results go to docs/_static/figures; results have five
digits, planes three.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr

from giantstep.answers.quantities import describe
from giantstep.figures.cached_call import CachedCall
from giantstep.figures.registry import Size
from giantstep.figures.report import scores, table
from giantstep.plotting import save_figure
from giantstep.plotting.style import styled

HERE = Path(__file__).parent
PICTURES = HERE.parent / "_static" / "figures"


def path_of(figure: Any) -> Path:
    """Where the results of a gallery script are kept."""
    return HERE / f"{figure.NAME.replace('-', '_')}.json"


def write(figure: Any, data: dict[str, xr.Dataset]) -> None:
    """Keep what the script draws and compares, rounded."""
    reduced = figure.reduced(data) if hasattr(figure, "reduced") else data
    parts = {}
    for part, dataset in reduced.items():
        names = [name for name in dataset.data_vars if name in figure.STORED]
        if not names:
            continue
        dims = {dim for name in names for dim in dataset[name].dims}
        coords = {
            str(name): _plain(values, 12)
            for name, values in dataset.coords.items()
            if values.dtype.kind in "fi" and (set(values.dims) <= dims)
        }
        variables = {str(name): _plain(dataset[name], 3 if dataset[name].size > 900 else 5) for name in names}
        attrs = {name: dataset.attrs[name] for name in ("d", "date", "hardware") if name in dataset.attrs}
        parts[part] = {"coords": coords, "variables": variables, "attrs": attrs}
    lines = ",\n".join(f"{json.dumps(part)}: {json.dumps(content)}" for part, content in parts.items())
    path_of(figure).write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")


def _plain(values: xr.DataArray, digits: int) -> list[Any]:
    """[dimensions, numbers as nested lists]; numbers that are not finite become null."""

    def rounded(number: Any) -> Any:
        if isinstance(number, list):
            return [rounded(one) for one in number]
        return float(f"{number:.{digits}g}") if np.isfinite(number) else None

    return [list(values.dims), rounded(values.values.astype(float).tolist())]


def read(figure: Any) -> dict[str, xr.Dataset]:
    """The stored results, as the Datasets that they were."""
    parts = json.loads(path_of(figure).read_text(encoding="utf-8"))
    found = {}
    for part, content in parts.items():
        variables, coords = (
            {name: (dims, np.array(values, dtype=float)) for name, (dims, values) in content[kind].items()}
            for kind in ("variables", "coords")
        )
        dataset = xr.Dataset(variables, coords, content["attrs"])
        for name in dataset.variables:
            dataset[name].attrs.update(describe(str(name)))
        found[part] = dataset
    return found


def run(figure: Any) -> None:
    """Run a gallery script: compute and store if `--compute` is given, then draw and print the z-scores."""
    parser = argparse.ArgumentParser(description=figure.TITLE)
    parser.add_argument("--compute", choices=list(figure.SIZES), help="compute at this size and store the results")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--workers", type=int, default=1, help="processes side by side")
    parser.add_argument("--data", default="reproduction-gallery", help="folder for all of the data")
    parser.add_argument("--picture", help="file to draw (default: in docs/_static/figures)")
    options = parser.parse_args()
    if options.compute:
        folder = Path(options.data)
        folder.mkdir(parents=True, exist_ok=True)
        write(figure, _obtain(figure, figure.SIZES[options.compute], folder, options.device, options.workers))
    data = read(figure)
    print(table(scores(figure.comparisons(data))))
    with styled():
        save_figure(figure.draw(data), options.picture or PICTURES / f"{figure.NAME}.png")


def _obtain(figure: Any, size: Size, folder: Path, device: str, workers: int) -> dict[str, xr.Dataset]:
    """Every part's data, from the folder or computed."""

    def obtained(parts: Mapping[str, CachedCall]) -> dict[str, xr.Dataset]:
        return {name: part.obtain(folder / f"{figure.NAME}.{name}.nc", device, workers) for name, part in parts.items()}

    data = obtained(figure.parts(size))
    return data | obtained(figure.then(size, data)) if hasattr(figure, "then") else data
