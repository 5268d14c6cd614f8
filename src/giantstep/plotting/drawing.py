"""The content of a picture of curves: a dataset's values along one dimension, one curve for each
combination of the others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..errors import ParameterError, refused
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

    def places(self, x: str) -> np.ndarray:
        """Where the values are, on the dimension x."""
        return self.values[x].values if x in self.values.coords else np.arange(self.values.sizes[x])

    def along(self, x: str) -> tuple[np.ndarray, np.ndarray]:
        """Places and values; infinite values (the interpolation peak) leave a gap."""
        flat = self.values.transpose(x).values.astype(float)
        return self.places(x), np.where(np.isfinite(flat), flat, np.nan)

    def points(self, x: str) -> tuple[np.ndarray, np.ndarray, np.ndarray] | None:
        """Places, means over trials and their standard errors, where something was measured."""
        values = self.values
        if "part" in values.dims:
            means, errors = values.sel(part="simulation"), values.sel(part="standard_error")
        elif "trial" in values.dims:
            trials = values.sizes["trial"]
            means = values.mean("trial")
            errors = values.std("trial", ddof=min(1, trials - 1)) / np.sqrt(trials)
        else:
            return None
        return *self._replace(values=means).along(x), self._replace(values=errors).along(x)[1]


class Drawing(NamedTuple):
    """The content of a picture."""

    dataset: xr.Dataset
    names: list[str]
    x: str
    curves: list[Curve]
    lines: list[Curve]  # what is exact: one for each curve, or for each theory of each curve; or none
    theories: list[str]
    theory_d: float = np.inf  # that the lines are for
    truth: Curve | None = None  # the target along x, which learned functions are drawn over


def drawing_of(dataset: xr.Dataset, x: str | None, y: str | Sequence[str] | None, theory: xr.Dataset | None) -> Drawing:
    names = quantities(dataset, y)
    x = abscissa(dataset, names, x)
    curves = list(_curves(dataset, names, x))
    truth = None
    if "truth" in dataset and "truth" not in names and dataset["truth"].dims == (x,):
        values = dataset["truth"].sortby(x)
        truth = Curve(f"target {style.symbol(values)}", values)
        if len(curves) == 1:  # beside the target's, a line needs its name
            curves = [curves[0]._replace(label=f"learned {style.symbol(dataset[names[0]])}")]
    if len(curves) > _MOST_CURVES:
        raise ParameterError(
            f"{len(curves)} curves are too many for one picture (at most {_MOST_CURVES}); select some first,"
            " with dataset.isel(...) or dataset.sel(...)"
        )
    if theory is not None and (missing := [name for name in names if name not in theory]):
        raise ParameterError(f"theory has no {missing[0]}, which is drawn of the dataset; leave it out", "theory")
    if not any(np.isfinite(each[names]).to_array().any() for each in (dataset, theory) if each is not None):
        raise ParameterError(f"no value of {names[0]} is finite here: there is nothing to draw")
    drawing = Drawing(dataset, names, x, curves, [], [], truth=truth)
    exact = dataset if theory is None and "trial" not in dataset[names[0]].dims else theory
    return drawing if exact is None else _with_lines(drawing, exact)


def _with_lines(drawing: Drawing, theory: xr.Dataset) -> Drawing:
    """The lines of a theory, one for each `bulk` that it alone has, and smooth where it can be asked for more."""
    names, x = drawing.names, drawing.x
    several = {"bulk"} & (set(theory.dims) - set(drawing.dataset.dims))
    smooth = smooth_theory(theory, names, x)
    if smooth is None:
        smooth = theory.sel(part="theory") if "part" in theory.dims else theory
    lines = list(_curves(smooth.transpose(..., *several), names, x))
    theories = [f"{bulk} theory" for bulk in smooth["bulk"].values] if several else ["theory"]
    if len(lines) != len(drawing.curves) * len(theories):
        raise ParameterError(
            f"theory has {len(lines)} curves and the dataset {len(drawing.curves)}; give both the same"
        )
    d = theory.attrs.get("theory_d", theory["d"].values if "d" in theory.coords else np.inf)
    return drawing._replace(lines=lines, theories=theories, theory_d=float(d) if np.ndim(d) == 0 else np.nan)


def quantities(dataset: xr.Dataset, y: str | Sequence[str] | None) -> list[str]:
    """What is drawn of a dataset: what was named, which must be there, or what matters most."""
    if y is None:
        known = (names for names in _DEFAULTS if set(names) <= set(dataset.data_vars))
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
    sizes = {str(dim): n for name in names for dim, n in dataset[name].sizes.items() if dim not in _NOT_CURVES}
    if x is not None and x not in sizes:
        raise refused("x", x, f"is not a dimension of {names[0]}; it has {', '.join(sizes) or 'none'}")
    if not sizes:
        raise ParameterError(f"{names[0]} is a single number here; give some parameter a range to draw a curve")
    return x or min(sizes, key=lambda dim: (dim != "x", -sizes[dim], [*_PREFERRED, dim].index(dim)))


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
