"""The functions that a readout combines: Result 2's coefficients as curves in κ, and Hermite coefficients."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.grid import Grid
from ..answers.provenance import provenance
from ..errors import ParameterError, warn
from ..gaussian import Moments, moments
from ..model.arguments import checked_arguments
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..model.target import as_target
from ..theory.derivative_moments import at_rest
from ..theory.equivalent import spiked_features
from ..theory.features import coefficient_moments

if TYPE_CHECKING:
    import xarray as xr

    from ..functions import Function
    from ..model.description import FunctionLike, Parameter
    from ..model.target import Target

_BLOCK = 2048  # averages done together: bounds the memory, whatever the grid
_WORRYING = 1e-8  # error, relative to √E σ², that a user should hear about


@checked_arguments()
def coefficients(
    model: Network | SpikedRF, kappa: Parameter, target: Target | FunctionLike | None = None
) -> xr.Dataset:
    r"""The conditional Gaussian equivalent of the features as functions of κ (Result 2).

    Given the projection κ of the input on the spike, features behave as
    :math:`\mu_0(\kappa) + \mu_1(\kappa)\,w\cdot x + \mu_2(\kappa)\,\xi` with ξ standard normal, where for
    z ~ N(0, c)

    .. math:: \mu_0 = E\,\sigma(z + r\kappa), \quad c\,\mu_1 = E\,z\,\sigma(z + r\kappa), \quad
              \mu_2^2 = E\,\sigma^2(z + r\kappa) - \mu_0^2 - c\,\mu_1^2 .

    The fitted function is a combination of μ0(κ), κμ1(κ) and μ1(κ) times the projection on the rest of the target.
    Without a spike μ0, μ1 and μ2 are constants.

    Parameters
    ----------
    model : Network or SpikedRF
        The first layer. A letter's spike is r times its value.
    kappa : number or grid
        Where to evaluate them.
    target : Target, str or callable, optional
        The target that the steps of a Network learn.

    Returns
    -------
    xarray.Dataset
        `mu0`, `mu1`, `mu2`, `dmu0` (∂μ0/∂c, which matters when row norms fluctuate) and `quadrature_error` (relative to
        √E σ²) over `kappa`, the dimensions of the model's `r` and `c`, and `letter` if there are several; `c` along
        `letter`, where each has its own.

    Examples
    --------
    >>> gs.coefficients(gs.SpikedRF("relu", r=1, gamma=1), kappa=[-1, 0, 1]).mu0.values.round(4)
    array([0.0833, 0.3989, 1.0833])
    """
    if isinstance(model, Network):
        if target is None:
            raise ParameterError("a Network has coefficients after steps on a target; give target=")
        model, _ = spiked_features(model, as_target(target))
    if not isinstance(model, SpikedRF):
        raise ParameterError(
            f"model = {type(model).__name__}(...) has no coefficients along one spike; give a SpikedRF or a Network"
        )
    letters = model.readout
    norms = {"c": model.c} if letters.c is None else {}  # else each letter has its own
    grid = Grid({"r": model.r, **norms, "kappa": kappa})
    values = np.asarray(letters.values)
    shape = (*grid.shape, len(values))
    c = np.broadcast_to(grid.over("c", grid.dims)[..., None] if letters.c is None else letters.c, shape)
    spike = grid.over("r", grid.dims)[..., None] * values
    shift = spike * grid.over("kappa", grid.dims)[..., None] + (letters.biases or 0.0)
    averages, error = moments_in_blocks(model.activation, shift.reshape(-1), np.sqrt(c.reshape(-1)))
    mu0, mu1, mu2sq, dmu0 = coefficient_moments(averages, c.reshape(-1))
    if error.max() > _WORRYING:
        warn(
            f"the coefficients of {model.activation.name} are known to {error.max():.0e} of its size only;"
            " name its breakpoints, if it has any"
        )
    answers = {"mu0": mu0, "mu1": mu1, "mu2": np.sqrt(mu2sq), "dmu0": dmu0, "quadrature_error": error}
    one = len(values) == 1
    dims, sizes = (grid.dims, grid.shape) if one else ((*grid.dims, "letter"), shape)
    variables: dict[str, Any] = {name: (dims, flat.reshape(sizes)) for name, flat in answers.items()}
    if letters.c is not None:
        variables["c"] = ((), letters.c[0]) if one else (("letter",), letters.c)
    return grid.dataset(variables, provenance("coefficients", model), {} if one else {"letter": list(values)})


def hermite(function: Function) -> dict[str, float]:
    """Hermite coefficients of an activation or a target; an error if its variance is infinite.

    `h0`, `h1`, `h2` are E f, E z f and E (z² - 1) f; `square` is E f² = h0² + h1² + h2²/2 + ...; `spread` is
    E f'² - (E f')², which inflates the rows in a step, NaN without a bounded derivative.
    """
    found, _ = moments(function)
    spread = np.nan
    if function.has_derivative and not function.derivative.poles:
        rest, _ = at_rest(function, np.zeros(1))
        spread = (rest.s1**2 + rest.n2).item()
    named = {"h0": found.mean, "h1": found.first, "h2": found.second, "square": found.square, "spread": spread}
    return {name: float(value) for name, value in named.items()}


def hermite_table(functions: Mapping[str, Function]) -> xr.Dataset:
    """Parity, number of breakpoints and Hermite coefficients of several functions, along `function`."""
    import xarray as xr

    rows = [hermite(function) for function in functions.values()]
    size = np.sqrt([row["square"] for row in rows])
    answers: dict[str, Any] = {
        "parity": np.array([f.parity or "" for f in functions.values()], dtype=object),
        "breaks": np.array([len(f.breakpoints) for f in functions.values()]),
    }
    for name in rows[0]:
        column = np.array([row[name] for row in rows])
        answers[name] = np.where(np.abs(column) < 1e-14 * size, 0.0, column)  # zero by symmetry
    coords = {"function": np.array(list(functions), dtype=object)}
    return xr.Dataset({name: ("function", values) for name, values in answers.items()}, coords)


def moments_in_blocks(f: Function, shift: np.ndarray, scale: np.ndarray) -> tuple[Moments, np.ndarray]:
    """`gaussian.moments` at shift and scale [n], a block at a time."""
    parts = [slice(start, start + _BLOCK) for start in range(0, len(shift), _BLOCK)]
    found = [moments(f, shift[part], scale[part]) for part in parts]
    columns = zip(*(block for block, _ in found), strict=True)
    return Moments(*map(np.concatenate, columns)), np.concatenate([error for _, error in found])
