"""The content of a picture of curves: a dataset's values along one dimension, one curve for each
combination of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ParameterError
from . import style
from .theory_line import smooth_theory

if TYPE_CHECKING:
    import xarray as xr

_DEFAULTS = (  # what is drawn of a dataset unless named: the first of these that it has
    ("learned", "truth"),
    ("mu0", "mu1", "mu2"),
    ("test_error_01",),  # of labels ±1, whose squared error says little
    ("test_error",),
    ("upper", "lower"),
    ("overlap",),
)
_PREFERRED = ("alpha", "lam", "alpha0", "eta", "beta", "kappa")  # for x, among dimensions of equal length
_NOT_CURVES = ("trial", "part")
_MOST_CURVES = 40


class Curve(NamedTuple):
    """Values along x of one quantity at one combination of the other dimensions."""

    label: str
    values: xr.DataArray


class Marks(NamedTuple):
    """Words for the lines of a picture, one for each theory, and for its points."""

    lines: list[str]
    points: str


class Drawing(NamedTuple):
    """The content of a picture."""

    dataset: xr.Dataset
    names: list[str]
    x: str
    curves: list[Curve]
    lines: list[Curve]  # what is exact: one for each curve, or for each theory of each curve; or none
    theories: list[str]
    theory_d: float = np.inf  # that the lines are for
    truth: xr.DataArray | None = None  # the target along x, which learned functions are drawn over

    @property
    def compared(self) -> bool:
        return "part" in self.dataset.dims

    @property
    def abscissae(self) -> np.ndarray:
        return along(self.curves[0].values, self.x)

    @property
    def ordinates(self) -> np.ndarray:
        """Every value that is drawn as a line or a point."""
        shown = [part for curve in self.curves for part in parts(curve.values)[:2] if part is not None]
        shown += [line.values for line in self.lines]
        return np.concatenate([values_along(values, self.x) for values in shown])


def drawing_of(
    dataset: xr.Dataset, x: str | None, y: str | Sequence[str] | None, theory: xr.Dataset | None
) -> Drawing:
    names = quantities(dataset, y)
    x = abscissa(dataset, names, x)
    over = "truth" in dataset and "truth" not in names and dataset["truth"].dims == (x,)
    truth = dataset["truth"].sortby(x) if over else None
    curves = list(_curves(dataset, names, x))
    if over and len(curves) == 1:  # beside the target's, a line needs its name
        curves = [Curve(f"learned {style.symbol(dataset[names[0]])}", curves[0].values)]
    if len(curves) > _MOST_CURVES:
        raise ParameterError(
            f"{len(curves)} curves are too many for one picture (at most {_MOST_CURVES}); select some first,"
            " with dataset.isel(...) or dataset.sel(...)"
        )
    if theory is not None and (missing := [name for name in names if name not in theory]):
        raise ParameterError(
            f"theory has no {missing[0]}, which is drawn of the dataset; leave it out", "theory"
        )
    exact = dataset if theory is None and "trial" not in dataset[names[0]].dims else theory
    lines, theories, size = [], [], np.inf
    if exact is not None:
        size, several = _size(exact), {"bulk"} & (set(exact.dims) - set(dataset.dims))
        again = exact.attrs.get("command") in ("predict", "compare")
        smooth = smooth_theory(exact, names, x) if again else None
        exact = _exact(exact) if smooth is None else smooth
        lines = list(_curves(exact.transpose(..., *several), names, x))
        theories = [f"{bulk} theory" for bulk in exact["bulk"].values] if several else ["theory"]
        if len(lines) != len(curves) * len(theories):
            raise ParameterError(
                f"theory has {len(lines)} curves and the dataset {len(curves)}; give both the same"
            )
    drawing = Drawing(dataset, names, x, curves, lines, theories, size, truth)
    if not np.isfinite(drawing.ordinates).any():
        raise ParameterError(f"no value of {names[0]} is finite here: there is nothing to draw")
    return drawing


def _exact(theory: xr.Dataset) -> xr.Dataset:
    return theory.sel(part="theory") if "part" in theory.dims else theory


def _size(theory: xr.Dataset) -> float:
    """The d that a prediction, or the theory of a comparison, is for; the limit where none is said."""
    size = theory.attrs.get("theory_d", theory["d"].values if "d" in theory.coords else np.inf)
    return float(size) if np.ndim(size) == 0 else np.nan


def quantities(dataset: xr.Dataset, y: str | Sequence[str] | None) -> list[str]:
    """What is drawn of a dataset: what was named, which must be there, or what matters most."""
    if y is None:
        known = (names for names in _DEFAULTS if set(names) <= set(map(str, dataset.data_vars)))
        y = [name for name in next(known, ("test_error",)) if name != "truth"]
    names = [y] if isinstance(y, str) else list(y)
    if not names:
        raise ParameterError("y is empty; name a quantity, or leave it out", "y")
    drawable = [str(name) for name, values in dataset.data_vars.items() if values.dtype.kind == "f"]
    if unknown := [name for name in names if name not in drawable]:
        raise ParameterError(f"y = {unknown[0]!r} is not in this dataset; it has {', '.join(drawable)}")
    return names


def abscissa(dataset: xr.Dataset, names: list[str], x: str | None) -> str:
    """The dimension along the horizontal axis: the one asked for, a function's argument, or the longest."""
    sizes = {str(dim): n for name in names for dim, n in dataset[name].sizes.items()}
    sizes = {dim: n for dim, n in sizes.items() if dim not in _NOT_CURVES}
    if x is not None and x not in sizes:
        raise ParameterError(
            f"x = {x!r} is not a dimension of {names[0]}; it has {', '.join(sizes) or 'none'}"
        )
    if not sizes:
        raise ParameterError(
            f"{names[0]} is a single number here; give some parameter a range to draw a curve"
        )
    rank = {name: place for place, name in enumerate(_PREFERRED)}
    return x or min(sizes, key=lambda dim: (dim != "x", -sizes[dim], rank.get(dim, len(rank))))


def _curves(dataset: xr.Dataset, names: list[str], x: str) -> Iterator[Curve]:
    for name in names:
        values = dataset[name]
        if x not in values.dims and x in dataset.coords:  # the same everywhere: a level line
            values = values.expand_dims({x: dataset[x].values})
        others = [str(dim) for dim in values.dims if dim not in (x, *_NOT_CURVES)]
        for index in product(*(range(values.sizes[dim]) for dim in others)):
            chosen = values.isel(dict(zip(others, index, strict=True)))
            words = [style.symbol(values)] if len(names) > 1 else []
            for dim, place in zip(others, index, strict=True):
                known = dim in values.coords and dim != "bulk"  # which has names
                words.append(style.setting(values[dim], float(chosen[dim])) if known else f"{dim} {place}")
            yield Curve(", ".join(words), chosen)


def marks(drawing: Drawing) -> Marks | None:
    """What lines and points stand for, in words, where a picture has points."""
    values = drawing.curves[0].values
    if not drawing.compared and "trial" not in values.dims:
        return None
    trials = values.sizes.get("trial", drawing.dataset.attrs.get("trials"))
    size = "limit $d = \\infty$" if np.isinf(drawing.theory_d) else f"$d = {drawing.theory_d:g}$"
    lines = [f"{theory}, {size}" for theory in drawing.theories]
    d = drawing.dataset.attrs.get("d")
    simulated = "simulated" if d is None or not lines else f"simulated, $d = {d:g}$"
    many = "" if trials is None else f", {trials} trials"
    return Marks(lines, f"{simulated}, 1 trial" if trials == 1 else f"{simulated}: mean ± s.e.{many}")


def parts(values: xr.DataArray) -> tuple[xr.DataArray | None, xr.DataArray | None, xr.DataArray | None]:
    """What is exact, what was measured, and its standard errors; None for what there is not."""
    if "part" in values.dims:
        theory, points, bars = (values.sel(part=p) for p in ("theory", "simulation", "standard_error"))
        return theory, points, bars
    if "trial" not in values.dims:
        return values, None, None
    trials = values.sizes["trial"]
    return None, values.mean("trial"), values.std("trial", ddof=min(1, trials - 1)) / np.sqrt(trials)


def along(values: xr.DataArray, x: str) -> np.ndarray:
    """The places of values on the dimension x."""
    return values[x].values if x in values.coords else np.arange(values.sizes[x])


def values_along(values: xr.DataArray, x: str) -> np.ndarray:
    """Values along x; infinite ones (the interpolation peak) leave a gap."""
    flat = values.transpose(x).values.astype(float)
    return np.where(np.isfinite(flat), flat, np.nan)
