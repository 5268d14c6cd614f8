"""What commands print and write: tables for people, CSV and JSON for programs, files and pictures on request."""

from __future__ import annotations

import json
import math
import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from .options import Output, Picture
from .streams import abandon_output

if TYPE_CHECKING:
    import xarray as xr

_PATIENCE = 1.0  # seconds without a sign of life
_LONGEST = 60  # rows that a terminal gets; beyond, the middle is left out


def check(output: Output) -> None:
    """Refuse a file that cannot be written before anything is computed."""
    from ..files import check_dataset_path

    if output.out:
        check_dataset_path(output.out)
    if isinstance(output, Picture) and output.plot:
        from ..plotting.style import check_picture_path

        check_picture_path(output.plot)


def deliver(dataset: xr.Dataset, output: Output, table: str) -> None:
    """The answer on standard output in the form that was asked for, and in a file if one was named."""
    from ..files import save, write_json
    from ..tables import write_csv

    said = ""
    if output.out:
        said = deed("wrote", output.out)
        save(dataset, output.out)
    try:
        if output.format == "csv":
            write_csv(dataset, sys.stdout)
        elif output.format == "json":
            write_json(dataset, sys.stdout)
        else:
            print(table)
        sys.stdout.flush()
    except BrokenPipeError:  # who has seen enough of a table still wants the picture
        if not (isinstance(output, Picture) and output.plot):
            raise
        abandon_output()
    if said:
        note(said)


def draw(
    dataset: xr.Dataset, output: Picture, names: Sequence[str] | None, theory: xr.Dataset | None = None
) -> None:
    """The picture, if one was asked for."""
    if not output.plot:
        return
    from ..plotting import plot, save_figure

    axes = plot(dataset, output.x, names, theory=theory)
    said = deed("drew", output.plot)
    save_figure(axes.figure, output.plot)  # type: ignore[arg-type]
    note(said)


def shown(dataset: xr.Dataset, output: Output, default: Sequence[str]) -> list[str]:
    """The quantities to show: those asked for, which must exist, or the default ones."""
    if output.show is None:
        return [name for name in default if name in dataset]
    names = output.show.split(",")
    if unknown := [name for name in names if name not in dataset.data_vars]:
        known = ", ".join(map(str, dataset.data_vars))
        raise ParameterError(f"--show {output.show}: there is no {unknown[0]!r} here; there are {known}")
    return names


def table(dataset: xr.Dataset, names: Sequence[str], digits: int = 5) -> str:
    """A line with what does not vary, then a row per point with the dimensions and the named quantities.

    What several steps have made of the first layer is shown as it is after the last one, unless some of it is named.
    """
    from ..axes import after_last_step
    from ..tables import aligned, points

    dataset, names = _a_column_for_each_direction(dataset, names)
    fixed = [
        name for name, values in dataset.coords.items() if values.ndim == 0 and values.dtype.kind in "fi"
    ]
    order = ("r", "gamma", "c")
    layer = [
        str(name) for name in dataset.data_vars if str(name).split("_")[0] in order and name not in names
    ]
    layer.sort(key=lambda name: order.index(name.split("_")[0]))
    if not any("step" in dataset[name].dims for name in names):
        dataset = dataset.assign({name: after_last_step(dataset[name]) for name in layer})
    numbers = [name for name in (*fixed, *layer) if dataset[name].ndim == 0]
    numbers = [name for name in numbers if not (name == "noise" and float(dataset[name]) == 0.0)]
    along = [name for name in layer if name not in numbers and "part" not in dataset[name].dims]
    flat = points(dataset, [*along, *names])
    heading = "; ".join(
        filter(None, [_subject(dataset), ", ".join(f"{n} = {float(dataset[n]):.6g}" for n in numbers)])
    )
    lines = aligned(flat, digits).split("\n")
    if sys.stdout.isatty() and len(lines) > _LONGEST:
        left_out = len(lines) - _LONGEST
        half = _LONGEST // 2
        lines[half:-half] = [f"... {left_out} rows left out here; --format csv or --out FILE gives all ..."]
    return "\n".join([f"# {heading}"] * bool(heading) + lines)


def _a_column_for_each_direction(dataset: xr.Dataset, names: Sequence[str]) -> tuple[xr.Dataset, list[str]]:
    """gamma_1, gamma_2, ... instead of rows for the directions of a target."""
    if "direction" not in dataset.dims:
        return dataset, list(names)
    along = [str(name) for name, values in dataset.data_vars.items() if "direction" in values.dims]
    apart = {
        name: {
            f"{name}_{j + 1}": dataset[name].isel(direction=j, drop=True)
            for j in range(dataset.sizes["direction"])
        }
        for name in along
    }
    columns = {column: values for parts in apart.values() for column, values in parts.items()}
    shown = [column for name in names for column in apart.get(name, {name: None})]
    return dataset.drop_vars(along).assign(columns), shown


def progress(words: str) -> Callable[[float], None] | None:
    """A line in the terminal that says how much is done, once a second has passed; None without a terminal."""
    if not sys.stderr.isatty():
        return None
    start = time.monotonic()

    def show(share: float) -> None:
        if time.monotonic() - start > _PATIENCE:
            line = f"{words}: {100 * share:3.0f} %" if share < 1 else ""
            print(f"\r{line:<30}", end="" if line else "\r", file=sys.stderr, flush=True)

    return show


def status(dataset: xr.Dataset) -> int:
    """130, as after any Ctrl-C, when the work was cut short (of which a warning has told)."""
    return 130 if dataset.attrs.get("interrupted") else 0


def deed(verb: str, path: str) -> str:
    """What is about to be done to a file, in the words to say once it is done: a file that is there is replaced."""
    return f"{verb} {path}" + (", which replaces the file that was there" if os.path.exists(path) else "")


def note(text: str) -> None:
    """A remark, beside the data."""
    print(text, file=sys.stderr)


def _subject(dataset: xr.Dataset) -> str:
    words = []
    for key, noun in (("model", "activation"), ("target", "function")):
        try:
            data: dict[str, Any] = json.loads(dataset.attrs[key])
        except (KeyError, ValueError):
            continue
        kind = {"Network": "network", "SpikedRF": "spiked features"}.get(data["kind"], "target")
        words.append(f"{data[noun]} {kind}")
    if "bulk" in dataset.attrs:
        words.append(f"{dataset.attrs['bulk']} bulk")
    if "d" in dataset.attrs and "d" not in dataset.coords:
        words.append(f"d = {dataset.attrs['d']}")
    if "theory_d" in dataset.attrs and math.isinf(dataset.attrs["theory_d"]):
        words.append("theory at d = inf")
    return ", ".join(words)
