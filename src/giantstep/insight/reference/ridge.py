"""The verb `ridge`: what ridge regression on the inputs, or a dot-product kernel, reaches (note 14, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...answers.grid import Grid
from ...answers.provenance import provenance
from ...errors import ParameterError
from ...functions import as_function
from ...gaussian import moments, ndtr
from ...model.arguments import checked_arguments
from ...model.inputs import refuse_inputs
from ...model.target import Target, as_target
from ...runtime.progress import with_bar
from ...theory.labels import SeveralDirections, binary_law, labels_of
from ...theory.symmetric import TINY
from .rules import slope_of, zeros

if TYPE_CHECKING:
    import xarray as xr

    from ...model.description import FunctionLike, Parameter


@checked_arguments(kernel=lambda name, value: as_function(value))
@with_bar("solving")
def ridge(
    target: Target | FunctionLike, *, alpha: Parameter, lam: Parameter | None = None, kernel: FunctionLike | None = None
) -> xr.Dataset:
    r"""The test error of ridge regression with n = αd samples, with the best penalty or a given one.

    It minimises :math:`\frac12\sum(y - b - w\cdot x/\sqrt d)^2 + \frac\lambda2|w|^2`. In this regime a kernel
    :math:`f(x\cdot x'/d)` does the same with the penalty :math:`[\lambda + f(1) - f(0) - f'(0)]/f'(0)`, and without the
    intercept b if f(0) = 0.

    Parameters
    ----------
    target : Target, str or callable
        The function to learn.
    alpha : number or grid
        All samples, divided by d.
    lam : number or grid, optional
        Ridge penalty. Without it, the penalty with the smallest test error.
    kernel : str, callable or Function, optional
        f, such as "exp(x)": a name, an expression in x = x·x'/d, or your own function.

    Returns
    -------
    xarray.Dataset
        `test_error`, `test_error_01` for labels ±1 of one direction, and `best_lam`, on the grid of all parameters.

    Examples
    --------
    >>> line = gs.ridge(gs.Target("sin", noise=0.1), alpha=[1, 2, 4])
    >>> line.test_error.values.round(4), float(line.best_lam[0].round(4))
    (array([0.1969, 0.1195, 0.0873]), 0.2024)
    >>> float(gs.ridge(gs.Target("sin", noise=0.1), alpha=1, lam=0.1, kernel="exp(x)").test_error.round(4))
    0.2317
    """
    target = as_target(target)
    refuse_inputs(target, "the error of ridge regression")
    grid = Grid({"alpha": alpha, "noise": target.noise} | ({} if lam is None else {"lam": lam}))
    alpha, noise = (grid.over(name, grid.dims) for name in ("alpha", "noise"))
    at_zero, slope, floor = _kernel(kernel)
    (h0, along, square), (c0, clean_along, clean_square) = _label_moments(target)
    h = float(along[0] if len(along) == 1 else np.linalg.norm(along))
    c = float(clean_along @ along) / (h or 1.0)
    b = h0 if at_zero > 0.0 else 0.0
    rest = square - 2.0 * b * h0 + b**2 - h**2 + noise**2  # noise to a linear method
    best = np.maximum(slope * _best_penalty(h, c, rest, alpha) - floor, 0.0)
    penalty = best if lam is None else grid.over("lam", grid.dims)
    m, q = _readout(h, rest, alpha, (penalty + floor) / slope)
    error = clean_square + b**2 - 2.0 * b * c0 - 2.0 * c * m + q
    variables = {"test_error": (grid.dims, error), "best_lam": (grid.dims, best)}
    if (law := binary_law(target)) is not None:
        size, zero, one = np.sqrt(np.maximum(q, TINY)), np.zeros_like(m), np.ones_like(m)
        missed = law.clean.up_below(-b / size, zero, one, m / size)
        wrong = 2.0 * missed + ndtr(b / size) - law.clean.chance(zero, one)[0]
        variables["test_error_01"] = (grid.dims, wrong)
    attrs = provenance("ridge", None, target, **({} if kernel is None else {"kernel": as_function(kernel).name}))
    return grid.dataset(variables, attrs)


def _kernel(kernel: FunctionLike | None) -> tuple[float, float, float]:
    """f(0), f'(0) and f(1) - f(0) - f'(0)."""
    if kernel is None:
        return 1.0, 1.0, 0.0
    f = as_function(kernel)
    start, end, slope = float(f(0.0)), float(f(1.0)), slope_of(f, np.zeros(1)).item()
    floor = end - start - slope
    if not (start >= 0.0 and slope > 0.0 and floor >= -1e-12 * end):
        raise ParameterError(
            f"kernel = {f.name!r} is not allowed: f(0) = {start:g}, f'(0) = {slope:g} and f(1) = {end:g} must obey"
            " f(0) ≥ 0, f'(0) > 0 and f(1) ≥ f(0) + f'(0), as for every kernel with a linear part"
        )
    return start, slope, max(floor, 0.0)


def _readout(h: float, rest: np.ndarray, alpha: np.ndarray, penalty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """w·θ/d and |w|²/d of labels with E[zY] = h, and with `rest` of their variance besides."""
    with np.errstate(divide="ignore", invalid="ignore"):
        r = 2.0 / (penalty + alpha + 1.0 + np.sqrt((penalty + alpha - 1.0) ** 2 + 4.0 * penalty))
        r = np.where(np.isinf(penalty), 0.0, r)  # V/(1 + V)
        m, nu = h * alpha * r, alpha * r * r
        q = np.where(nu < 1.0, (m * m + nu * (h * h - 2.0 * h * m + rest)) / (1.0 - nu), np.inf)
    return m, q


def _best_penalty(h: float, c: float, rest: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """That of the smallest error, which falls with a = αV/(1 + V) up to a root of its derivative, a quartic.

    It is s²/h² where labels are the target plus noise, and c = h is its E[zY] too.
    """
    if np.isclose(h, 0.0, atol=1e-14):  # of even targets
        return np.full_like(alpha, np.inf)

    def derivative(a: np.ndarray, alpha: np.ndarray, rest: np.ndarray) -> np.ndarray:
        nu = a * a / alpha
        linear = h * h + (h * h + rest) / alpha
        return linear * a - h * h * nu * (3.0 - nu) - c * h * (1.0 - nu) ** 2

    r = zeros(derivative, np.zeros_like(alpha), np.minimum(alpha, 1.0), alpha, rest) / alpha
    return (1.0 - r) * (1.0 / r - alpha)


def _label_moments(target: Target) -> tuple[tuple[float, np.ndarray, float], tuple[float, np.ndarray, float]]:
    """E Y, E[zY] [k] and E Y² of the labels, noise apart, and of the noiseless target."""
    law = labels_of(target)
    if isinstance(law, SeveralDirections):
        return law.moments(finer=1), law.clean.moments(finer=1)
    part, _ = moments(law.function)
    clean = float(part.mean), np.array([part.first]), float(part.square)
    if law.law is None:
        return clean, clean
    mean, slope = law.law.expectation(np.zeros(1), np.ones(1))
    return (float(mean[0]), slope, 1.0), clean
