"""What commands print and write: tables for people, CSV and JSON for programs, files and pictures on request."""

from __future__ import annotations

import io
import math
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import ParameterError
from ..runtime.progress import Share
from .options import Output, Picture

if TYPE_CHECKING:
    import xarray as xr
    from matplotlib.axes import Axes

    from ..answers.arrays import NamedArrays


def answer(
    dataset: xr.Dataset | NamedArrays,
    output: Output,
    default: Sequence[str],
    remarks: Iterable[str] = (),
    curve: bool = True,
    **picture: Any,
) -> int:
    """Deliver an answer with a table of the quantities to show, and remarks below it unless some were named.

    A picture has curves of the first quantity; or, without a `curve`, what `plot` draws of such an answer.
    """
    names = shown(dataset, output, default)
    lines = [table(dataset, names)]
    remarks = list(dict.fromkeys(filter(None, remarks)))
    if remarks and not output.show:
        lines += ["", *remarks]
    return deliver(dataset, output, "\n".join(lines), names[:1] if curve else None, **picture)


def deliver(
    dataset: xr.Dataset | NamedArrays,
    output: Output,
    table: str,
    y: Sequence[str] | None = None,
    *,
    picture: xr.Dataset | None = None,
    theory: xr.Dataset | None = None,
    reference: Sequence[str] = (),
) -> int:
    """The answer on standard output in the form that was asked for, in a file and as a picture if they were named; the
    command's status, which is 130, as after any Ctrl-C, when the work was cut short (of which a warning has told).

    The picture shows `y` of the answer, or of another dataset, `picture`.
    """
    if output.out:
        from ..answers.arrays import NamedArrays
        from ..files import save

        with writing("wrote", output.out):
            save(NamedArrays.of(dataset).dataset(), output.out)
    try:
        if output.format == "csv":
            from ..answers.tables import write_csv

            write_csv(dataset, sys.stdout)
        elif output.format == "json":
            from ..files import write_json

            write_json(dataset, sys.stdout)
        else:
            print(table)
        sys.stdout.flush()
    finally:  # who has seen enough of a table, and closed its pipe, still wants the picture
        if isinstance(output, Picture) and output.plot:
            from ..answers.arrays import NamedArrays
            from ..plotting import plot

            drawn = NamedArrays.of(dataset).dataset() if picture is None else picture
            save_picture(plot(drawn, output.x, y, theory=theory, reference=reference), output.plot)
    return 130 if dataset.attrs.get("interrupted") else 0


def save_picture(axes: Axes, path: str) -> None:
    """Write the figure that some axes belong to."""
    from ..plotting import save_figure

    with writing("drew", path):
        save_figure(axes.figure, path)  # type: ignore[arg-type]


def shown(dataset: xr.Dataset | NamedArrays, output: Output, default: Sequence[str]) -> list[str]:
    """The quantities to show: those asked for, which must exist, or the default ones."""
    if output.show is None:
        return [name for name in default if name in dataset]
    names = output.show.split(",")
    if unknown := [name for name in names if name not in dataset.data_vars]:
        known = ", ".join(map(str, dataset.data_vars))
        raise ParameterError(f"--show {output.show}: there is no {unknown[0]!r} here; there are {known}")
    return names


def table(dataset: xr.Dataset | NamedArrays, names: Sequence[str] = (), headed: bool = True) -> str:
    """A line with the subject and what does not vary, where the table is to be `headed`; then, of named quantities, a
    row per point with its dimensions.

    What several steps have made of the first layer is shown as it is after the last one, unless some of it is named.
    """
    from ..answers.arrays import NamedArrays
    from ..answers.dims import after_last_step
    from ..answers.provenance import constants
    from ..answers.tables import aligned, points

    arrays = NamedArrays.of(dataset)
    layer = [name for name in ("r", "gamma", "c") if name in arrays.data_vars and name not in names]
    if not any("step" in arrays[name].dims for name in names):
        last = {name: after_last_step(arrays[name]) for name in layer}
        arrays = replace(arrays, data_vars={**arrays.data_vars, **last})
    inputs = [*constants(arrays.coords), *layer]
    flat = points(arrays, [*inputs, *names])
    columns = [column for column in flat if column.split("[")[0] in inputs]
    same = {column: float(flat.pop(column)[0]) for column in columns if len(set(flat[column].tolist())) == 1}
    words = [_subject(arrays), ", ".join(f"{name} = {value:.6g}" for name, value in same.items())]
    above = "; ".join(filter(None, words))
    lines = [f"# {above}"] if headed and above else []
    return "\n".join([*lines, *aligned(flat).splitlines()])


def working(words: str) -> AbstractContextManager[Callable[[float], None]]:
    """What is being done, on a terminal, once it takes long; gives the function that tells how much of it is done."""
    return Share().of(words)


@contextmanager
def writing(verb: str, path: str) -> Iterator[None]:
    """Say what was done to a file, once it is done, and whether that replaced another."""
    replaced = ", which replaces the file that was there" if os.path.exists(path) else ""
    yield
    note(f"{verb} {path}{replaced}")


def note(text: str) -> None:
    """A remark, beside the data."""
    print(text, file=sys.stderr)


def _subject(arrays: NamedArrays) -> str:
    """Model, target, bulk and size, in words."""
    from ..answers.provenance import subject

    words, bulk, d = subject(arrays.attrs), f"{arrays.attrs.get('bulk')} bulk", arrays.attrs.get("d")
    words += [bulk] * ("bulk" in arrays.attrs and bulk not in words)
    words += [f"d = {d}"] * ("d" in arrays.attrs and "d" not in arrays.coords)
    words += ["theory at d = inf"] * (arrays.attrs.get("theory_d") == math.inf)
    return ", ".join(words)


def prepare() -> None:
    """Let every text through: what a stream's encoding lacks becomes a question mark, what was closed swallows all."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # started with >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115  (for as long as we run)
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def abandon_output() -> None:
    """Write no more to standard output, lest Python's own last flush of it fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
