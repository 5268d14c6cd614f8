"""The learned function: what the network computes, on average, of the one projection that matters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..answers.quantities import describe
from ..errors import ParameterError
from ..gaussian.cuts import Cuts
from ..model.arguments import checked_arguments
from ..model.checks import as_it_is, parameter
from ..model.description import Model
from ..model.target import as_target
from ..runtime.progress import with_bar
from ..theory.labels import SeveralDirections, labels_of
from ..theory.predict import predict
from ..theory.problem import Problem, model_grid, pose
from .coefficients import moments_in_blocks

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    from ..functions import Function
    from ..model.description import FunctionLike, Parameter
    from ..model.target import Target


@checked_arguments(x=as_it_is)
@with_bar("learning")
def learned_function(
    model: Model,
    target: Target | FunctionLike,
    x: Parameter | Sequence[Parameter],
    *,
    alpha: Parameter,
    lam: Parameter,
    loss: str = "square",
    bulk: str | None = None,
    d: Parameter | None = None,
) -> xr.Dataset:
    r"""The network's average output given the target's own projection, :math:`E[f\,|\,\theta\cdot x/\sqrt d = x]`.

    This is what a plot of the network against its single-index target shows. Averages over everything else
    are Gaussian, and in closed form: with :math:`s^2 = c + r^2\rho^2`, :math:`\rho^2 = 1 - \gamma^2`, and
    :math:`A, B, C` the averages of σ, σ', σ'' over a Gaussian of mean γrx and variance s²,

    .. math:: f(x) = m A + \zeta\,(\gamma x B + r\rho^2 C) + \psi\,\rho\,(x B - \gamma r C) + \tfrac12 \chi\, C,

    summed over letters (with a ζ for each direction, where the letters' spikes span several). A network without
    a step (eta = 0 or alpha0 = 0) is the random features model, whose learned function is linear.

    Parameters
    ----------
    model : Network, SpikedRF or TwoSpikes
        The first layer.
    target : Target, str or callable
        The function to learn.
    x : number, 1-D array, or tuple of them
        Where to evaluate it. For a target of several directions a tuple, (x1, x2) say, opens the dimensions `x1`, `x2`:
        the learned function of these projections, averaged over the others.
    alpha : number or grid
        Samples for the readout, divided by d.
    lam : number or grid
        Ridge penalty of the readout.
    loss : str or Loss
        Loss of the readout.
    bulk : str, optional
        Distribution of the rows, as in `predict`.
    d : number or grid, optional
        Input dimension, for the finite-size correction.

    Returns
    -------
    xarray.Dataset
        The answer of `predict` with two more variables: `learned`, over `x` and the grid, and `truth`, the target at
        `x`, averaged in the same way.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=1, alpha0=2)
    >>> curve = gs.learned_function(net, "sin", x=[1, 2], alpha=2, lam=0.1)
    >>> curve.learned.values.round(3), curve.truth.values.round(3)
    (array([0.53, 1.  ]), array([0.841, 0.909]))
    """
    target = as_target(target)
    fitted = predict(model, target, alpha=alpha, lam=lam, loss=loss, bulk=bulk, d=d)
    at = places_of(x, target.directions)
    if clash := [dim for one in at for dim in one.dims if dim in fitted.variables and dim not in fitted.dims]:
        raise ParameterError(f"x has the dimension {clash[0]!r}, which the answer has already; rename it", "x")
    model = model.resolved()
    problem = pose(model, target, model_grid(model, target), bulk)
    learned = conditional_mean(problem, model, fitted, at)
    named = {str(one.name): one.assign_attrs(describe(str(one.name))) for one in at}
    answer = fitted.assign_coords(named)
    answer = answer.assign(learned=learned, truth=target_curve(target, at))
    given = ", ".join(describe(str(one.name)).get("symbol", str(one.name)) for one in at)
    answer["learned"].attrs = {"symbol": rf"\hat f({given})", "long_name": "average output given the target's input"}
    answer["truth"].attrs = {"symbol": rf"\sigma_*({given})", "long_name": "noiseless target"}
    if target.directions > len(at):
        answer["truth"].attrs["long_name"] += ", averaged over its other directions"
        if "x" in answer.coords:
            answer["x"].attrs["long_name"] = "input along the target's first direction"
    return answer.assign_attrs(command="learned_function")


def places_of(x: Any, directions: int) -> list[xr.DataArray]:
    """Projections on the target's first directions, each with a dimension of its own: `x`, or `x1`, `x2`, ..."""
    several = isinstance(x, tuple)
    if several and not 1 <= len(x) <= directions:
        raise ParameterError(f"x has projections on {len(x)} directions, and the target has {directions}")
    found = []
    for i, one in enumerate(x if several else (x,), start=1):
        name = f"x{i}" if several else "x"
        found.append(labelled(name, parameter(name, one)).rename(name))
    return found


def labelled(name: str, values: Any) -> xr.DataArray:
    """Values with dimensions: their own, or the one of their name."""
    import xarray as xr

    if type(values).__name__ == "DataArray":
        return values
    return xr.DataArray(values, dims=(name,)[: np.ndim(values)])


def conditional_mean(problem: Problem, model: Model, fitted: xr.Dataset, x: list[xr.DataArray]) -> xr.DataArray:
    """The learned function of fitted order parameters, as `predict` names and labels them."""
    merging, group = problem.merging, model.group
    letters = model.readout
    several = not letters.single
    which, sign = (merging.group, merging.sign) if several else (np.arange(len(merging.letters.values)), 1.0)
    if letters.law is not None:
        raise ParameterError(
            f"the learned function needs order parameters letter by letter, and the law {letters.law!r} gives sums"
        )
    biases = np.asarray(merging.letters.biases or np.zeros(len(merging.letters.values)))[which] * sign
    orders = {  # without coordinates, which the answer has anyway: to compare them would take longer than the averages
        name: fitted[name].drop_vars(fitted[name].coords)
        for name in ("m", "zeta", "psi", "chi", "nu")
        if name in fitted
    }
    found = mean_given(x, model.activation, orders, Geometry.of(problem, which, sign, biases, group))
    return found.drop_vars(["letter", "letter_"], errors="ignore")


class Geometry(NamedTuple):
    """Rows of groups, along `group`, as the target's directions see them: for each first layer of a grid."""

    b: xr.DataArray  # along "spike", components of a group's spike
    c: xr.DataArray
    biases: xr.DataArray
    theta: xr.DataArray  # along "direction" and "spike": the spikes' directions on the target's,
    rest: xr.DataArray  # along "direction" and "direction_": and what they leave open of these
    group: str

    @staticmethod
    def of(problem: Problem, which: np.ndarray, sign: Any, biases: np.ndarray, group: str) -> Geometry:
        """Of the problem's groups `which`, some of them turned round."""
        import xarray as xr

        room, k, U = problem.directions, problem.labels.directions, len(problem.c)
        b, theta, rest = np.zeros((U, len(which), room)), np.zeros((U, k, room)), np.zeros((U, k, k))
        for chunk in (block.chunk for block in problem.blocks(48)):
            frame = problem.frame(chunk)
            met = min(k, frame.spikes)
            b[chunk, :, : frame.spikes] = (frame.b @ frame.back)[:, which] * np.reshape(sign, (-1, 1))
            known = frame.turn[:, :, :met] * frame.gamma[:, None, :met]
            theta[chunk, :, : frame.spikes] = known @ frame.back[:, :met]
            rest[chunk] = (frame.turn * frame.rho[:, None]) @ np.swapaxes(frame.turn, -1, -2)

        def placed(values: np.ndarray, *inner: str) -> xr.DataArray:
            shape = (*problem.split.layer_shape, *values.shape[1:])
            return xr.DataArray(values.reshape(shape), dims=(*problem.split.layer_dims, *inner))

        return Geometry(
            placed(b, group, "spike"),
            placed(problem.c[:, which], group),
            xr.DataArray(biases, dims=group),
            placed(theta, "direction", "spike"),
            placed(rest, "direction", "direction_"),
            group,
        )


def target_curve(target: Target, x: list[xr.DataArray]) -> xr.DataArray:
    """The noiseless target at x, averaged over directions that are not given."""
    import xarray as xr

    places = xr.broadcast(*x)
    law = labels_of(target)
    if not isinstance(law, SeveralDirections):
        return places[0].copy(data=np.asarray(target.function(np.asarray(places[0].values, dtype=float))))
    z = np.stack([np.asarray(one.values, dtype=float).reshape(-1) for one in places])  # [given, points]
    normals, offsets = law.clean.planes
    cuts = Cuts(normals[:, len(z) :])
    values = []
    for point in z.T:  # one at a time: rules may be large, and a picture has few points
        left = offsets - normals[:, : len(z)] @ point
        v, w = cuts.nodes(left, cuts.points(0, 0, law.fastest), law.reach)
        values.append(float(w @ law.clean.mean(*np.broadcast_arrays(*point[:, None], *v))))
    return places[0].copy(data=np.reshape(values, places[0].shape)).rename(None)


def mean_given(
    x: list[xr.DataArray], activation: Function, orders: dict[str, xr.DataArray], rows: Geometry
) -> xr.DataArray:
    """f(x) of the docstring of `learned_function`, summed over the groups, given some projections x.

    A group's spike is S = Σ b_j d̂_j and its linear part L = Σ ζ_j d̂_j + Σ ψ_m ê_m. On the target's directions these
    have components S·θ̂ = Σ b_j Θ_j and L·θ̂ = Σ ζ_j Θ_j + `rest`·ψ. Given x the argument of σ is Gaussian with mean
    (S·θ̂)·x, and f = m A + (L·θ̂)·x B + (L·S - (L·θ̂)·(S·θ̂)) C + χC/2 + νB.
    """

    def given(values: xr.DataArray) -> list[xr.DataArray]:
        """Components on the directions that x has projections on."""
        return [values.isel(direction=i, drop=True) for i in range(len(x))]

    def dot(p: list[xr.DataArray], q: list[xr.DataArray]) -> Any:
        return sum(one * other for one, other in zip(p, q, strict=True))

    spike = given((rows.b * rows.theta).sum("spike"))
    width = (rows.c + (rows.b**2).sum("spike") - dot(spike, spike)) ** 0.5
    A, B, C = _averages(activation, dot(spike, x) + rows.biases, width)
    found = orders["m"] * A
    if "zeta" in orders:
        zeta, psi = orders["zeta"], orders["psi"]
        psi = psi.rename(direction="direction_") if "direction" in psi.dims else psi
        linear = given((zeta * rows.theta).sum("spike") + (rows.rest * psi).sum("direction_"))
        found = found + dot(linear, x) * B + ((zeta * rows.b).sum("spike") - dot(linear, spike)) * C
    if "chi" in orders:
        found = found + 0.5 * orders["chi"] * C
    if "nu" in orders:
        found = found + orders["nu"] * B
    return found.sum(rows.group)


def _averages(activation: Function, shift: xr.DataArray, width: xr.DataArray) -> list[xr.DataArray]:
    """E σ, E σ', E σ'' over N(shift, width²); derivatives by parts, so that σ needs none."""
    import xarray as xr

    shift, width = xr.broadcast(shift, width)
    w = width.values.reshape(-1)
    found, _ = moments_in_blocks(activation, shift.values.reshape(-1), w)
    columns = (found.mean, found.first / w, found.second / w**2)
    return [shift.copy(data=column.reshape(shift.shape)) for column in columns]
