"""The verb: a description, ratios and a size in; a labelled Dataset of every statistic, trial by trial, out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..answers.dims import Dimensions
from ..answers.grid import LayerGrid
from ..answers.provenance import provenance
from ..losses import Loss, as_loss
from ..model.arguments import checked_arguments
from ..model.description import Model
from ..model.target import Target, as_target
from . import check
from .backend import make_backend
from .schedule import run_trials
from .trial import Task

if TYPE_CHECKING:
    import xarray as xr


@checked_arguments(**check.ARGUMENTS)
def simulate(
    model: Model,
    target: Target | str | Callable[[Any], Any],
    *,
    alpha: Any,
    lam: Any,
    loss: str | Loss = "square",
    d: int,
    trials: int | Sequence[int] = 10,
    seed: int = 0,
    features: str | None = None,
    bulk: str | None = None,
    learned_at: Any = None,
    device: str = "cpu",
    dtype: str = "float64",
    backend: str | None = None,
    workers: int = 1,
    executor: Any = None,
    progress: bool | None = None,
    n_test: int | None = None,
) -> xr.Dataset:
    r"""Train networks of finite size, and measure in each of several trials what `predict` predicts.

    A trial draws a target direction θ and a first layer of p = `beta`·d rows. Then it fits the readout on n =
    `alpha`·d fresh samples x ~ N(0, I) with labels y = σ*(θ·x/√d) + noise,

    .. math:: \hat a = \arg\min_a \sum_{\mu\le n}\ell(y^\mu, a\cdot\varphi^\mu/\sqrt p) + \frac\lambda2|a|^2 ,

    where φ = σ(Fx) are the features of the first layer and ℓ is the loss, by default ½(y - z)². `test_error` is the
    squared error against the noiseless target, averaged over all inputs. What you may simulate:

    ======================================  =======================================================================
    ``Network("tanh", eta=1, alpha0=2)``    rows of unit norm take one gradient step of size η̃d on the square
                                            loss of α0·d samples; the residuals contain the initial output
    ``Network(..., steps=3)``               several steps, each on a fresh batch with the initial readout
    ``Network(..., reuse_batch=True)``      all steps on one batch; there is no theory for this
    ``Network(..., refit=0.1)``             the readout is fitted between the steps; no theory for this either
    ``Network("relu", eta=0, alpha0=0)``    random features: no step
    ``SpikedRF("tanh", r=0.9, gamma=0.8)``  F = W + r 1 vᵀ/√d; norms and alignment are exact in every trial
    ``SpikedRF(...), features="gaussian"``  the equivalent Gaussian features of Result 2, to test that result
    ``SpikedRF(...), bulk="orthogonal"``    W = Π⊥
    ``TwoSpikes(...)``                      two spikes with two left vectors
    ``readout=Letters(...)``                letters and biases: a model's groups of neurons have the size weight·p,
                                            rounded; biases act in the steps as well
    ``Target("x1 + x1*x2")``                several directions: a trial draws orthonormal ones; the spikes of a
                                            `SpikedRF` or `TwoSpikes` overlap with the first only
    ``Target("sin", inputs=Inputs(...))``   x ~ N(0, Ω): rows begin with unit norm in the space of the inputs;
                                            `c`, `r`, `gamma` and all statistics are measured after
                                            multiplication of w and θ by the square root of Ω
    ``Inputs.from_data(X, keep=True)``      samples are rows of X, drawn without replacement: an equal part for
                                            each step, for the readout, and for the test error
    ``Target("sign", flips=0.1)``           labels ±1; also ``Target("logistic", scale=2)``
    ``lam=0``                               least squares of minimum norm
    ``loss="logistic"``                     for labels ±1; also hinge, squared_hinge, exponential
    ``loss="huber:0.5"``                    robust regression; also absolute, pinball:0.9
    ``loss=Loss(value, derivative)``        any other convex loss
    ======================================  =======================================================================

    Parameters
    ----------
    model : Network, SpikedRF or TwoSpikes
        The network to train.
    target : Target, str or callable
        The function to learn. A name, an expression in x or a Python function stands for a target without noise.
    alpha : number or grid
        Fresh samples for the readout, divided by d. All points of a trial share its random numbers: a smaller alpha
        uses the first samples of a larger one. Model parameters and the noise may be grids too (see `predict`).
    lam : number or grid
        Ridge penalty of the readout.
    loss : str or Loss
        Loss of the readout. All but "square" need lam > 0.
    d : int
        Input dimension; p, n and n0 are the nearest whole numbers.
    trials : int or sequence of int
        How many trials, or which: `trials=[7]` repeats trial 7 alone.
    seed : int
        Seed of all trials. Trial t of a seed always draws the same numbers, whatever else you ask for.
    features : {"network", "gaussian"}, optional
        The features of the network (default), or the equivalent Gaussian features.
    bulk : {"orthogonal"}, optional
        Rows are random by default. "orthogonal" takes the rows of Π⊥ = I - vvᵀ/d (for `TwoSpikes`, of the projector
        across both spikes); this needs beta = c = 1.
    learned_at : number or 1-D array, optional
        Numbers x at which to evaluate the learned function E[f | θ·x/√d = x]; the answer then has `learned` along `x`.
        With several directions these are projections on the first; an array [n, j] has points in the first j
        directions, with the coordinates `x1`, `x2`, ... along `x`.
    device : str
        "cpu" (default) or "cuda", which uses torch and draws its own random numbers.
    backend : str
        "numpy" (default) or "torch". On the CPU both use the same random numbers.
    dtype : {"float64", "float32"}
        Precision of the numbers. Measured at d = 800, float32 changes test errors by 1e-6 of their value at lam = 1,
        2e-5 at lam = 0.01 and 4e-3 at lam = 1e-4: a Gram matrix squares the condition number.
    workers : int
        Number of local processes. They share the threads.
    executor : object, optional
        An object with a method `submit`, such as a `concurrent.futures` executor or a Dask client.
    progress : bool, optional
        Whether to show a bar. By default one appears in notebooks and on terminals if the work takes over a second.
    n_test : int, optional
        Number of test samples. By default `test_error` needs none: it is an exact average over inputs. Where that is
        not possible, 20,000 or 10 d samples are drawn, whichever is more: for nearly parallel rows at small d (a few
        dozen), for targets of several directions, and for signs of a function that is not ±1 itself. Shares of wrong
        signs are always counted on samples; an output of exactly 0 is half wrong.

    Returns
    -------
    xarray.Dataset
        With the dimension `trial` and the dimensions of the grid. The variables are `test_error`, `train_error`,
        `train_loss`, `m`, `zeta`, `psi`, `q1`, `q2` (with several letters these five have `letter`, q1 also
        `letter_`); binary labels add `test_error_01`, `train_error_01`. `test_samples` is the number of samples
        behind `test_error`, 0 where it is an exact average (`attrs["test_error_method"]` says the same in a word).
        Losses other than square add `optimality`, the relative duality gap, which bounds how far the objective is
        above its minimum; more than 1e-8, or 1e-3 in float32, is an error. A `Network` adds four measurements of its
        step, with v ∝ Σ (y-f) x: `r` is the least squares fit of W¹v by the letters (their mean if uniform), `c` is
        the mean squared norm of the rows without the spike, `gamma` is v·θ/(|v||θ|), and `overlap` is the mean
        component of the rows along θ. The statistics m to q2 use W¹ without that spike. Without a step r = gamma = 0,
        and v is a random direction orthogonal to θ. With several directions `gamma`, `overlap` and `psi` have the
        dimension `direction`.

    Notes
    -----
    The order of trials and the number of workers change results by rounding only (about 1e-14). If you
    change the number of threads, or ask for other alphas and lams together, results agree to about 1e-10. Ctrl-C
    returns the trials that are complete, with `attrs["interrupted"]` = 1 and a warning.

    Linear algebra uses one thread below d = 1000 (or p, if that is larger), where several are slower, and all cores
    from there on. The environment variable OMP_NUM_THREADS, set before Python starts, decides otherwise.

    Examples
    --------
    >>> net = gs.Network("tanh", eta=1, alpha0=2)
    >>> trained = gs.simulate(net, "sin", alpha=[1, 2], lam=0.1, d=100, trials=4)
    >>> trained.test_error.mean("trial").values.round(3)
    array([0.165, 0.136])
    """
    task = Task(
        model.resolved(),
        target,  # type: ignore[arg-type]  (the plan makes it one)
        d=d,
        seed=seed,
        n_test=n_test,
        features=features,
        loss=loss,
        backend=backend,
        device=device,
        dtype=dtype,
        bulk=bulk,
        learned_at=learned_at,
    )
    plan = Plan(task, alpha, lam)
    done, interrupted = run_trials(check.trial_numbers(trials), plan.tasks(workers), workers, executor, progress)
    names = next(iter(done.values()))[0]
    answers = {name: np.stack([[one[name] for one in trial] for trial in done.values()]) for name in names}
    attrs = provenance_of(plan.common) | averaging(answers) | {"interrupted": int(interrupted)}
    return plan.split.label(answers, plan.axes, attrs, list(done), _places(plan.common.learned_at)).dataset()


class Plan:
    """How the grid splits into settings (a first layer each) and the readouts that are fitted on each.

    It is made from a task as a user says it, and refuses what cannot be done. `common` is the task of all settings:
    their model and target have grids, its points are still to come.
    """

    def __init__(self, task: Task, alpha: Any, lam: Any):
        model, target = task.model, as_target(task.target)
        features, bulk = check.check_choices(model, task.features), check.check_bulk(model, task.bulk)
        self.common = common = replace(
            task,
            target=target,
            features=features,
            bulk=bulk,
            learned_at=check.check_learned_at(task.learned_at, features, target.directions),
            loss=check.check_loss(task.loss, target, lam),
            backend=make_backend(task.backend, task.device, task.dtype).name,
        )
        self.axes = Dimensions(model, target.directions)
        self.names = tuple(common.model.numbers())
        names = (*self.names, *common.target.numbers())
        self.split = LayerGrid(LayerGrid.grid_of(common.model, common.target, alpha=alpha, lam=lam), names)
        self._values = {name: self.split.layers(name).tolist() for name in names}
        self._points = [self.split.settings(name) for name in ("alpha", "lam")]

    def tasks(self, workers: int = 1) -> list[Task]:
        """The task of each setting, for any trial; refuse settings that do not fit into memory `workers` times."""
        common, tasks = self.common, [self.task(u) for u in range(self.split.counts[0])]
        for task, alphas in zip(tasks, self.split.settings("alpha").tolist(), strict=True):
            check.check_sizes(task.model, task.target, alphas, common.d)
        check.check_memory(tasks, make_backend(common.backend, common.device, common.dtype), workers)
        for task in tasks:
            check.check_samples(task)
        return tasks

    def task(self, u: int, chosen: np.ndarray | None = None) -> Task:
        """The task of one setting, for any trial, with all of its readouts or the chosen ones."""
        common = self.common
        model = common.model.at(**{name: self._values[name][u] for name in self.names})
        target = common.target.at(**{name: self._values[name][u] for name in common.target.numbers()})
        alphas, lams = (values[u] if chosen is None else values[u][chosen] for values in self._points)
        points = tuple(
            (round(alpha * common.d), lam) for alpha, lam in zip(alphas.tolist(), lams.tolist(), strict=True)
        )
        return replace(common, model=model, target=target, points=points)


def _places(points: tuple[tuple[float, ...], ...]) -> dict[str, Any]:
    """Coordinates of the points of the learned function: `x`, or `x1`, `x2`, ... along the dimension `x`."""
    columns = [list(column) for column in zip(*points, strict=True)]
    if len(columns) == 1:
        return {"x": columns[0]}
    return {f"x{j}": (("x",), column) for j, column in enumerate(columns, start=1)}


def averaging(answers: dict[str, np.ndarray]) -> dict[str, str]:
    """One word for how test errors were averaged over inputs."""
    samples = answers["test_samples"]
    samples = samples[~np.isnan(samples)]
    word = "exact" if not np.any(samples) else "sampled" if np.all(samples) else "exact or sampled"
    return {"test_error_method": word}


def provenance_of(task: Task) -> dict[str, Any]:
    """The attributes of a simulation's Dataset that are known before it runs; netCDF has no booleans."""
    return provenance(
        "simulate",
        task.model,
        task.target,
        features=task.features,
        loss=as_loss(task.loss).name,
        d=task.d,
        seed=task.seed,
        n_test=task.n_test or "exact",
        device=task.device,
        dtype=task.dtype,
        backend=task.backend,
    ) | ({"bulk": task.bulk} if task.bulk else {})
