"""`giantstep compare --bulk isotropic,exact`: several theories of one network against one simulation."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from . import output as out
from .options import Picture

if TYPE_CHECKING:
    import xarray as xr

    Theory = Callable[..., xr.Dataset]  # with any parameters changed


def compare_bulks(
    theories: Mapping[str, Theory], simulation: xr.Dataset, output: Picture, errors: Sequence[str]
) -> None:
    """A table with each bulk's prediction and z beside the simulated mean, and a picture with all curves: of what is to
    be shown, or of the first of the `errors` that there is."""
    import xarray as xr

    from ..answers.comparison import compare, summary
    from ..answers.tables import aligned, points

    compared = {bulk: compare(theory(), simulation) for bulk, theory in theories.items()}
    first = next(iter(compared.values()))
    name = out.shown(first, output, errors)[0]
    columns = {
        "simulation": first[name].sel(part="simulation", drop=True),
        "± se": first[name].sel(part="standard_error", drop=True),
    }
    for bulk, comparison in compared.items():
        columns[bulk] = comparison[name].sel(part="theory", drop=True)
        columns[f"z {bulk}"] = comparison[name].sel(part="z", drop=True)
    both = xr.concat(
        list(compared.values()), xr.DataArray(list(compared), dims="bulk"), combine_attrs="override"
    )
    table = xr.Dataset(columns)
    summaries = "\n\n".join(f"{bulk}:\n{summary(comparison)}" for bulk, comparison in compared.items())
    above = out.heading(first.assign_attrs(bulk=" and ".join(compared)))
    out.deliver(both, output, f"{above}\n{name}\n{aligned(points(table, list(columns)))}\n\n{summaries}")
    if output.plot:
        _draw(theories, simulation, compared, name, output)


def _draw(
    theories: Mapping[str, Theory],
    simulation: xr.Dataset,
    compared: Mapping[str, xr.Dataset],
    name: str,
    output: Picture,
) -> None:
    """The simulated points once, and a line for each bulk, told apart by colour and dashes."""
    from ..plotting import plot, save_figure, style
    from ..plotting.drawing import abscissa
    from .smooth import smooth

    first = next(iter(compared.values()))
    x = abscissa(first, [name], output.x)
    axes = plot(simulation, x, name)
    with style.styled():
        points = axes.containers[0] if axes.containers else None
        if points is not None and not _others(first, name, x):
            points.set_label(f"simulated: mean ± s.e., {simulation.sizes['trial']} trials")
        for index, (bulk, theory) in enumerate(theories.items()):
            look = style.look(index + 1, len(theories) + 1)
            curve = smooth(theory, compared[bulk], name, x)[name]
            rest = _others(curve.to_dataset(name=name), name, x)
            lines = (
                curve.stack(setting=rest).transpose("setting", x) if rest else curve.expand_dims("setting")
            )
            for place, line in enumerate(lines):
                label = f"{bulk} theory" if place == 0 else None
                axes.plot(line[x], line, color=look.color, ls=look.linestyle, marker="", label=label)
        axes.legend()
    said = out.deed("drew", output.plot or "")
    save_figure(axes.figure, output.plot or "")  # type: ignore[arg-type]
    out.note(said)


def _others(dataset: xr.Dataset, name: str, x: str) -> list[str]:
    """The dimensions beside x along which there is a curve each."""
    return [str(dim) for dim in dataset[name].dims if dim not in (x, "part")]
