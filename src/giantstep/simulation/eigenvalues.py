"""Eigenvalues of the features' covariance at finite size, trial by trial: what the verb `spectrum` predicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..answers.grid import Grid
from ..errors import ParameterError
from ..model.arguments import checked_arguments
from ..model.description import check_model
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..model.target import Target, as_target
from ..runtime.progress import with_bar
from . import check
from .backend import Backend, make_backend
from .data import Data
from .draw import Draws, Purpose
from .first_layer import first_layer
from .run import Plan, provenance_of
from .trial import Task

if TYPE_CHECKING:
    import xarray as xr


@checked_arguments(**check.ARGUMENTS)
@with_bar("trials")
def simulate_spectrum(
    model: Network | SpikedRF,
    target: Target | str | None = None,
    *,
    alpha: float,
    d: int,
    trials: int = 10,
    seed: int = 0,
    device: str = "cpu",
    dtype: str = "float64",
) -> xr.Dataset:
    r"""All p eigenvalues of :math:`\Psi^\top\Psi/p`, in increasing order, n = `alpha`·d samples, for each trial.

    Ψ are the features of a first layer as `simulate` draws and trains it, from the same random numbers.

    Parameters
    ----------
    model : Network, SpikedRF or TwoSpikes
        The first layer; its parameters are single numbers.
    target : Target, str or callable, optional
        Needed by a Network, whose first layer it shapes.
    alpha : float
        Samples, divided by d.
    d : int
        Input dimension.
    trials : int or sequence of int
        How many trials, or which.
    seed : int
        Seed of all trials, as in `simulate`.
    device : str
        "cpu" or "cuda".
    dtype : {"float64", "float32"}
        Precision of the numbers.

    Returns
    -------
    xarray.Dataset
        `eigenvalue` over (`trial`, `rank`).

    Examples
    --------
    >>> found = gs.simulate_spectrum(gs.SpikedRF("tanh", r=1, gamma=1), alpha=2, d=50, trials=3)
    >>> dict(found.eigenvalue.sizes)
    {'trial': 3, 'rank': 50}
    """
    check_model("model", model)
    if model.takes_steps and target is None:
        raise ParameterError(
            "model is a Network, whose spectrum needs the target that its step was taken on; give target=", "target"
        )
    numbers = check.trial_numbers(trials)
    task = Task(
        model.resolved(), as_target("x" if target is None else target), d, seed=seed, device=device, dtype=dtype
    )
    plan = Plan(task, alpha, lam=1.0)
    plan.split.grid.check_single("spectra are simulated one by one")
    (task,) = plan.tasks()
    backend = make_backend(task.backend, device, dtype)
    found = np.stack([_eigenvalues(task, Draws(seed, trial, backend), backend) for trial in numbers])
    attrs = provenance_of(task) | {"command": "simulate_spectrum"}
    if not model.takes_steps:
        del attrs["target"]  # which shaped nothing
    dataset = Grid(task.model.numbers() | task.target.numbers() | {"alpha": alpha}).dataset(
        {"eigenvalue": (("trial", "rank"), found)}, attrs, {"trial": numbers}
    )
    dataset["eigenvalue"].attrs["long_name"] = "eigenvalue of the features' covariance"
    return dataset


def _eigenvalues(task: Task, draws: Draws, backend: Backend) -> np.ndarray:
    """Those of one trial; the Gram matrix holds its lower triangle."""
    from scipy.linalg import eigvalsh

    layer = first_layer(task.model, task.target, task.d, draws)
    p = layer.rows.shape[0]
    gram = backend.zeros(p, p)
    data = Data(Purpose.TRAIN, task.target, layer.theta, draws, task.model.most_steps)
    for rows, _ in data.featured(layer, task.points[0][0]):
        gram = backend.add_gram(gram, rows)
    return eigvalsh(backend.numpy(gram) / p, lower=True)
