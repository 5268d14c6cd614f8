"""The verb `ridge`: what ridge regression on the inputs, or a dot-product kernel, reaches (note 14, section 7)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ...answers.grid import Grid
from ...answers.provenance import provenance
from ...errors import ParameterError
from ...functions import Function, as_function
from ...gaussian import moments, ndtr
from ...model.arguments import checked_arguments
from ...model.inputs import refuse_inputs
from ...model.target import Target, as_target
from ...runtime.progress import with_bar
from ...theory.labels import SeveralDirections, binary_law, labels_of

if TYPE_CHECKING:
    import xarray as xr

    from ...model.description import FunctionLike, Parameter

_HALVINGS = 80
_STEP = 1e-3  # of differences, for kernels without a derivative


@checked_arguments(kernel=lambda name, value: as_function(value))
@with_bar("solving")
def ridge(
    target: Target | FunctionLike,
    *,
    alpha: Parameter,
    lam: Parameter | None = None,
    kernel: FunctionLike | None = None,
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
    at_zero, slope, floor = _kernel(kernel)
    fit = _Fit(target, grid.over("alpha", grid.dims), grid.over("noise", grid.dims), intercept=at_zero > 0.0)
    best = np.maximum(slope * fit.best_penalty(floor / slope) - floor, 0.0) + 0.0 * fit.alpha
    penalty = best if lam is None else grid.over("lam", grid.dims)
    m, q = fit.readout((penalty + floor) / slope)
    variables = {"test_error": (grid.dims, fit.error(m, q)), "best_lam": (grid.dims, best)}
    law = binary_law(target)
    if law is not None:
        share = np.divide(m, np.sqrt(q), out=np.zeros_like(m), where=q > 0.0)
        side = np.divide(
            fit.b, np.sqrt(q), out=np.full_like(q, np.inf * np.sign(fit.b) if fit.b else 0.0), where=q > 0.0
        )
        wrong = law.clean.up_below(-side, np.zeros_like(m), np.ones_like(m), share)
        below = law.clean.up_below(np.full_like(m, 40.0), np.zeros_like(m), np.ones_like(m), share)
        variables["test_error_01"] = (grid.dims, wrong + ndtr(side) - (below - wrong))
    attrs = provenance(
        "ridge", None, target, **({} if kernel is None else {"kernel": as_function(kernel).name})
    )
    return grid.dataset(variables, attrs)


def _kernel(kernel: FunctionLike | None) -> tuple[float, float, float]:
    """f(0), f'(0) and f(1) - f(0) - f'(0)."""
    if kernel is None:
        return 1.0, 1.0, 0.0
    f = as_function(kernel)
    h = _STEP * np.arange(-2.0, 3.0)
    values = np.asarray(f(h), float)
    slope = (
        float(f.derivative(0.0)) if f.has_derivative else float(values @ [1, -8, 0, 8, -1]) / (12.0 * _STEP)
    )
    start, end = float(values[2]), float(f(1.0))
    floor = end - start - slope
    if not (start >= 0.0 and slope > 0.0 and floor >= -1e-12 * end):
        raise ParameterError(
            f"kernel = {f.name!r} is not allowed: f(0) = {start:g}, f'(0) = {slope:g} and f(1) = {end:g} must obey"
            " f(0) ≥ 0, f'(0) > 0 and f(1) ≥ f(0) + f'(0), as for every kernel with a linear part"
        )
    return start, slope, max(floor, 0.0)


class _Fit:
    """Ridge regression on labels Y at every point of a grid; errors are against the noiseless target."""

    def __init__(self, target: Target, alpha: np.ndarray, noise: np.ndarray, intercept: bool):
        self.alpha = np.asarray(alpha, float)
        (h0, self.h1, square), (c0, self.c1, self.square) = _label_moments(target)
        self.b = h0 if intercept else 0.0
        self.rest = square - 2.0 * self.b * h0 + self.b**2 - self.h1**2 + noise**2  # noise to a linear method
        self.square += self.b**2 - 2.0 * self.b * c0

    def readout(self, penalty: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """w·θ/d and |w|²/d."""
        alpha, h = self.alpha, self.h1
        with np.errstate(divide="ignore", invalid="ignore"):
            r = 2.0 / (penalty + alpha + 1.0 + np.sqrt((penalty + alpha - 1.0) ** 2 + 4.0 * penalty))
            r = np.where(np.isinf(penalty), 0.0, r)  # V/(1 + V)
            m, nu = h * alpha * r, alpha * r * r
            q = np.where(nu < 1.0, (m * m + nu * (h * h - 2.0 * h * m + self.rest)) / (1.0 - nu), np.inf)
        return m, q

    def error(self, m: np.ndarray, q: np.ndarray) -> np.ndarray:
        """Mean squared error against the noiseless target."""
        return self.square - 2.0 * self.c1 * m + q

    def best_penalty(self, least: float) -> np.ndarray:
        """That of the smallest error, not below `least`: s²/h1² where labels are the target plus noise."""
        if self.h1 == 0.0:
            return np.full_like(self.alpha, np.inf)
        if self.h1 == self.c1:
            return np.maximum(self.rest / self.h1**2, least) + 0.0 * self.alpha
        low, high = np.full_like(self.alpha, -20.0), np.full_like(self.alpha, 20.0)
        for _ in range(_HALVINGS):  # thirds, in ln λ: labels ±1 with randomness of their own
            first, second = low + (high - low) / 3.0, high - (high - low) / 3.0
            lower = self.error(*self.readout(np.exp(first))) > self.error(*self.readout(np.exp(second)))
            low, high = np.where(lower, first, low), np.where(lower, high, second)
        return np.maximum(np.exp(0.5 * (low + high)), least)


def _label_moments(target: Target) -> tuple[tuple[float, float, float], tuple[float, float, float]]:
    """E Y, |E[zY]| and E Y² of the labels, noise apart, and of the noiseless target (its slope along E[zY])."""
    law = labels_of(target)
    if isinstance(law, SeveralDirections):
        mean, along, square = law.moments(finer=1)
        clean, clean_along, clean_square = law.clean.moments(finer=1)
        size = float(np.linalg.norm(along))
        onto = float(clean_along @ along) / size if size > 0.0 else 0.0
        return (mean, size, square), (clean, onto, clean_square)
    signs = binary_law(target)
    function: Function = target.function if signs is None else signs.clean.function()
    part, _ = moments(function)
    clean = float(part.mean), float(part.first), float(part.square)
    if signs is None:
        return clean, clean
    mean, slope = signs.expectation(np.zeros(1), np.ones(1))
    return (float(mean[0]), float(slope[0]), 1.0), clean
