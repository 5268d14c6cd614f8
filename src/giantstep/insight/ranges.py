"""The values that `tune` scans along each parameter, unless a user gives others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import ParameterError
from ..model.checks import parameter
from .bounds_over import rate_of_unit_spike

if TYPE_CHECKING:
    from ..losses import Loss
    from ..model.network import Network
    from ..model.target import Target

_SCAN = {
    "lam": np.geomspace(1e-5, 1e3, 25),
    "split": np.linspace(0.04, 0.96, 12),
    "steps": np.arange(1.0, 5.0),
}
_SPIKES = np.geomspace(0.1, 20.0, 18)  # r at which learning rates are tried
_COARSER = {
    "eta": np.geomspace(0.1, 20.0, 9),
    "split": np.linspace(0.04, 0.96, 7),
}  # with rate and split at once, and where every point is dear: after several steps, and with losses other than square,
_PENALTIES = np.geomspace(1e-3, 1e3, 13)  # which have these penalties


def ranges(
    model: Any, target: Target, over: tuple[str, ...], budget: Any, loss: Loss, scan: dict[str, Any]
) -> dict[str, np.ndarray]:
    """Values to scan along each parameter, increasing."""
    if stray := set(scan) - set(over):
        raise ParameterError(f"scan = {sorted(stray)} are not optimised over; over = {over!r}")
    axes = {}
    dear = not loss.linear or model.most_steps > 1 or "steps" in over or {"eta", "split"} <= set(over)
    usual = {**_SCAN, "eta": _SPIKES, **(_COARSER if dear else {})}
    if not loss.linear:
        usual["lam"] = _PENALTIES
    for name in over:
        given = scan.get(name)
        if given is None and name == "eta":
            given = _typical_rate(model, target, budget) * usual[name]
        values = parameter(name, usual[name] if given is None else given, low=0.0, strict=True)
        axes[name] = np.unique(np.atleast_1d(np.asarray(values, dtype=float)))
        if len(axes[name]) < 3 and name != "steps":
            raise ParameterError(f"scan of {name} has {len(axes[name])} values; give three or more")
        if name == "split" and axes[name][-1] >= 1.0:
            raise ParameterError("scan of split must lie strictly between 0 and 1")
    return axes


def _typical_rate(net: Network, target: Target, budget: Any) -> float:
    """The learning rate of a spike of one, in the middle of the grid."""
    alpha0 = np.asarray(net.alpha0 if budget is None else 0.3 * np.asarray(budget), dtype=float)
    middle = {
        name: np.atleast_1d(np.median(np.asarray(values, dtype=float)))
        for name, values in ({"alpha0": alpha0, "beta": net.beta} | target.numbers()).items()
    }
    return float(rate_of_unit_spike(net, target, middle)[0])
