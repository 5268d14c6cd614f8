"""Theory against simulation: the same quantities on the same points, and their difference in standard errors."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError, warn
from ..model.arguments import checked_arguments
from ..model.checks import as_it_is, number
from .dims import place_name
from .own_simulation import as_trials, measurable
from .quantities import names

if TYPE_CHECKING:
    import xarray as xr

_COLUMNS = ("statistic", "points", "rms z", "worst z", "|z| > 3", "worst at")
PARTS = ("theory", "simulation", "standard_error", "difference", "z")
_SAME = 1e-9  # relative distance of coordinates that count as equal (0.1·3 is not quite 0.3)
_LARGE = 1000  # dimensions from which the limit should do
_BEYOND = 3.0  # a z that scatter alone rarely has
_UNLIKELY = 3.5  # a z that is no scatter
_ROUNDING = 1e-10  # relative difference that rounding explains: such a point tests nothing
_NOTHING = 1e-24  # what is left of a squared error that is 0 in theory, where readouts interpolate: rounding, squared


@checked_arguments(simulation=as_it_is, d=partial(number, low=1.0))
def compare(theory: xr.Dataset, simulation: Any, d: float | None = None) -> xr.Dataset:
    """How far the simulated means lie from the theory, in standard errors over the trials.

    Parameters
    ----------
    theory : xarray.Dataset
        From `predict`. Predict with the `d=` of the simulation: the limit may be off by more than the scatter, and a
        warning then says so.
    simulation : xarray.Dataset, array, dictionary of arrays, or pandas.DataFrame
        From `simulate`, or the numbers of your own simulation, with at least two trials. An array of shape [trials] or
        [trials, points of the theory] holds test errors. A dictionary has such an array for each quantity, and may name
        the points: `{"alpha": [1, 2], "test_error": ...}`. A DataFrame has one row for each trial and point, a column
        for each quantity, and a column for each list of the theory.
    d : number, optional
        Input dimension of your own networks. Without it, `compare` assumes the d of the theory.

    Returns
    -------
    xarray.Dataset
        The statistics that theory and simulation both have, at the points that both have. Each has the dimension
        `part`: "theory", "simulation" (mean over trials), "standard_error" (of that mean), "difference" (simulation -
        theory) and "z" (difference over standard error). If one has a list of parameters and the other a single
        number, only that number is compared. z is NaN where the trials do not scatter and agree with the theory to
        rounding.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=1, alpha0=2)
    >>> theory = gs.predict(net, "sin", alpha=1, lam=0.1, d=100)
    >>> simulation = gs.simulate(net, "sin", alpha=1, lam=0.1, d=100, trials=4)
    >>> comparison = gs.compare(theory, simulation)
    >>> float(comparison.test_error.sel(part="z").round(1))
    -0.6

    Test errors of four networks that you trained yourself:

    >>> mine = gs.compare(theory, [0.168, 0.159, 0.181, 0.173])
    >>> print(gs.summary(mine))
    statistic   points  rms z  worst z  |z| > 3  worst at
    test_error  1       0.16   +0.16    0 %
    expected for 4 trials if the theory holds: rms z 1.73, |z| > 3 5.8 %
    theory and networks have d = 100
    """
    import xarray as xr

    if "trial" in theory.dims:
        raise ParameterError("theory must come from predict; compare takes a theory and then a simulation", "theory")
    simulation = as_trials(simulation, theory, d)
    trials = simulation.sizes.get("trial")
    if trials is None:
        raise ParameterError(
            "simulation has no dimension 'trial'; compare takes a theory (from predict) and then a simulation, or your"
            " own numbers: rename the dimension that counts the trials",
            "simulation",
        )
    if trials < 2:
        raise ParameterError(
            f"scatter needs at least 2 trials, and simulation has {trials}; simulate more", "simulation"
        )
    _warn_if_different(theory, simulation)
    theory, simulation = _aligned(theory, simulation)
    shared = [name for name in measurable(theory) if name in simulation.data_vars]
    if not shared:
        raise ParameterError(
            f"theory and simulation have no statistic in common; the theory has {', '.join(measurable(theory))}",
            "simulation",
        )
    # variables and not arrays with labels, which would be aligned and merged again in every operation
    compared = {name: _parts(theory[name].variable, simulation[name].variable) for name in shared}
    dims = {dim for values in compared.values() for dim in values.dims}
    labels = {
        name: (theory if name in theory.coords else simulation).coords[name].variable
        for name, label in simulation.coords.items()
        if dims.issuperset(label.dims)
    }
    labels["part"] = xr.Variable("part", np.array(PARTS, dtype=object))
    kept = {name: theory.attrs[name] for name in ("model", "target", "bulk", "loss") if name in theory.attrs}
    size = float(theory["d"]) if "d" in theory.coords else np.inf
    about = {"command": "compare", "trials": trials, "theory_d": size}
    comparison = xr.Dataset(compared, labels, simulation.attrs | kept | about)
    _hint_at_size(size, simulation.attrs.get("d"), comparison.get("test_error"))
    return comparison


@checked_arguments()
def summary(comparison: xr.Dataset) -> Summary:
    """A short table with the root mean square of z, the worst z, and the share of |z| > 3, for each statistic.

    If the theory is right, z follows Student's distribution with trials - 1 degrees of freedom: a line below the table
    says what to expect. Points along `alpha` and `lam` share their trials, so their z move together.

    Parameters
    ----------
    comparison : xarray.Dataset
        From `compare`.

    Returns
    -------
    Summary
        A text, which notebooks show as a table.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=1, alpha0=2)
    >>> setting = dict(alpha=1, lam=0.1, d=100)
    >>> comparison = gs.compare(gs.predict(net, "sin", **setting), gs.simulate(net, "sin", **setting, trials=4))
    >>> print(gs.summary(comparison[["test_error"]]))
    statistic   points  rms z  worst z  |z| > 3  worst at
    test_error  1       0.59   -0.59    0 %
    expected for 4 trials if the theory holds: rms z 1.73, |z| > 3 5.8 %
    theory and networks have d = 100
    """
    from scipy.stats import t as student

    from .tables import aligned

    if "part" not in comparison.dims:
        raise ParameterError("comparison does not come from compare; give what compare(...) returns", "comparison")
    rows = [_row(str(name), values.sel(part="z", drop=True)) for name, values in comparison.data_vars.items()]
    columns = {name: tuple(row[j] for row in rows if row) for j, name in enumerate(_COLUMNS)}
    trials = comparison.attrs["trials"]
    usual = f"rms z {np.sqrt((trials - 1) / (trials - 3)):.2f}" if trials > 3 else "any rms z"
    beyond = 100 * 2 * student.sf(3, trials - 1)
    table = aligned({name: np.array(column, dtype=object) for name, column in columns.items()})
    notes = [
        f"expected for {trials} trials if the theory holds: {usual}, |z| > 3 {beyond:.1f} %",
        _sizes_in_words(comparison),
    ]
    if np.isfinite(comparison.attrs.get("theory_d", np.inf)):
        beyond_scatter = [_left_out(comparison, str(name)) for name in comparison]
        notes += filter(None, [*beyond_scatter, of_the_limit(map(str, comparison))])
    return Summary(columns, table, notes)


def _row(name: str, z: xr.DataArray) -> tuple[Any, ...]:
    """A statistic's row of the summary; empty where no point tests the theory."""
    tested = z.values[~np.isnan(z.values)]
    if not tested.size:
        return ()
    at = np.unravel_index(np.nanargmax(np.abs(z.values)), z.shape)
    worst = z.isel(dict(zip(z.dims, at, strict=True)))
    places = {str(dim): float(worst[dim]) for dim in z.dims if dim in worst.coords}
    place = ", ".join(place_name(dim, at) if dim == "direction" else f"{dim} = {at:g}" for dim, at in places.items())
    rms, beyond = np.sqrt(np.mean(tested**2)), 100 * np.mean(np.abs(tested) > 3)
    return name, tested.size, f"{rms:.2f}", f"{worst.item():+.2f}", f"{beyond:.0f} %", place


def _sizes_in_words(comparison: xr.Dataset) -> str:
    """For which d the theory and the networks are, and how to make them equal."""
    of_theory, d = comparison.attrs.get("theory_d", np.inf), comparison.attrs.get("d")
    if np.isfinite(of_theory):
        return f"theory and networks have d = {of_theory:g}"
    limit = "the theory is the limit d = inf"
    if d is None:
        return f"{limit}; predict(..., d=...) with the networks' d corrects for their size"
    return f"{limit}, the networks have d = {d:g}; predict(..., d={d:g}) corrects for it"


class Summary(str):
    """The text of `summary`; notebooks show it as a table."""

    columns: dict[str, tuple[Any, ...]]
    notes: list[str]

    def __new__(cls, columns: dict[str, tuple[Any, ...]], table: str, notes: list[str]) -> Summary:
        """Join a table and the notes below it."""
        text = super().__new__(cls, "\n".join([table, *notes]))
        text.columns, text.notes = columns, notes
        return text

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        import pandas as pd

        rows = pd.DataFrame(self.columns).to_html(index=False, border=0)
        return rows + "".join(f"<p>{escape(note)}</p>" for note in self.notes)


def _left_out(comparison: xr.Dataset, name: str) -> str:
    """A sentence on differences that are too large for scatter; empty where there are none.

    Beyond the corrections that it has, the theory leaves out effects of order 1/d: in the median over figures at
    d = 200 to 400 at most 7/d of an error.
    """
    theory, difference, z = (comparison[name].sel(part=part).values for part in ("theory", "difference", "z"))
    beyond = (np.abs(z) > _UNLIKELY) & (theory != 0.0)
    if name not in names("error") or not beyond.any():
        return ""
    worst, unit = float(np.abs(difference[beyond] / theory[beyond]).max()), 1.0 / float(comparison.attrs["d"])
    return (
        f"beyond scatter, {name} is off by up to {worst:.1%}; effects of order 1/d, which the theory leaves out, are a"
        f" few times {unit:.1%}"
    )


def of_the_limit(statistics: Iterable[str]) -> str:
    """Which statistics no theory corrects for d, in a sentence; nothing where there are none."""
    statistics = set(statistics)
    uncorrected = ", ".join(name for name in names("first layer") if name in statistics).replace("_", " ")
    return uncorrected and f"not corrected for d, so that part of their z is due to it: {uncorrected}"


def side_by_side(comparison: xr.Dataset, name: str) -> xr.Dataset:
    """Theory, simulation, standard error and z of one statistic as variables of their own, for a table."""
    values = {part: comparison[name].sel(part=part, drop=True) for part in PARTS}
    columns = {
        name: values["theory"],
        "simulated": values["simulation"],
        "±": values["standard_error"],
        "z": values["z"].round(2),
    }
    return comparison.drop_vars([*comparison.data_vars, "part"]).assign(columns)


def _parts(theory: xr.Variable, trials: xr.Variable) -> xr.Variable:
    """The theory, what was simulated, and how far they are apart, along the last dimension: `PARTS`."""
    import xarray as xr

    mean = trials.mean("trial")
    error = trials.std("trial", ddof=1) / np.sqrt(trials.count("trial"))  # a table may have fewer trials of a point
    sizes = {**theory.sizes, **mean.sizes}
    at, mean, error = (each.set_dims(sizes).values for each in (theory, mean, error))
    difference = mean - at
    rounding = _ROUNDING * np.maximum(np.abs(at), np.abs(mean)) + _NOTHING * (at == 0.0)
    tested = (error > rounding) | (np.abs(difference) > rounding)
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(tested, difference / error, np.nan)
    return xr.Variable(
        (*sizes, "part"), np.stack([at, mean, error, difference, z], axis=-1), trials.attrs or theory.attrs
    )


def _aligned(theory: xr.Dataset, simulation: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    """Both on the points that they share; an error that names the parameter when there are none."""
    if "d" in theory.coords:
        simulation = simulation.assign_coords(d=float(simulation.attrs.get("d", theory["d"])))
    for name in sorted(set(map(str, theory.coords)) & set(map(str, simulation.coords)) - {"trial"}):
        if name == "d" and np.isinf(theory["d"]).all():
            continue  # the limit is meant to be compared with any size
        if all(data[name].dims in ((), (name,)) for data in (theory, simulation)):
            theory, simulation = _aligned_along(name, theory, simulation)
    for dim in set(theory.dims) & set(simulation.dims):
        if theory.sizes[dim] != simulation.sizes[dim]:
            raise ParameterError(
                f"theory has {theory.sizes[dim]} points along {dim}, simulation has {simulation.sizes[dim]}, and"
                f" neither says at which {dim} they are; use the same points in both"
            )
    return theory, simulation


def _aligned_along(name: str, theory: xr.Dataset, simulation: xr.Dataset) -> tuple[xr.Dataset, xr.Dataset]:
    here, there = np.atleast_1d(theory[name].values), np.atleast_1d(simulation[name].values)
    close = np.isclose(there[:, None], here[None, :], rtol=_SAME, atol=0.0)
    keep = np.flatnonzero(close.any(axis=1))
    if not keep.size:
        raise ParameterError(
            f"theory and simulation share no value of {name}: {_span(here)} against {_span(there)};"
            f" predict with the simulation's {name}"
        )
    match = close[keep].argmax(axis=1)
    if not (theory[name].ndim and simulation[name].ndim):  # one number selects from the other's list
        match, keep = int(match[0]), int(keep[0])
    theory = theory.isel({name: match}, missing_dims="ignore")
    simulation = simulation.isel({name: keep}, missing_dims="ignore")
    return theory.assign_coords({name: simulation[name].variable}), simulation  # rounding gone


def _hint_at_size(theory_d: float, d: Any, errors: xr.DataArray | None) -> None:
    """Where the limit misses small networks by more than their scatter, say that there is a theory of their size."""
    missed = errors is not None and bool((np.abs(errors.sel(part="z")) > _BEYOND).any())
    if missed and np.isinf(theory_d) and d is not None and d < _LARGE:
        warn(
            f"the theory is the limit d = inf, and the networks have d = {d:g}: part of the difference is due to their"
            f" size; predict(..., d={d:g}) corrects for it (on the command line, leave out --limit)"
        )


def _span(values: np.ndarray) -> str:
    return f"{len(values)} values from {values.min():g} to {values.max():g}" if len(values) > 1 else f"{values[0]:g}"


def _warn_if_different(theory: xr.Dataset, simulation: xr.Dataset) -> None:
    for owner, key in (("model", "activation"), ("model", "readout"), ("target", "function")):
        try:
            ours, theirs = (json.loads(data.attrs[owner])[key] for data in (theory, simulation))
        except (KeyError, ValueError):
            continue
        if ours != theirs:
            warn(f"the {key} of the theory is {ours}, and the {key} of the simulation is {theirs}")
