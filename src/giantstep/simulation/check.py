"""Refuse what cannot work before anything is drawn or allocated, with a sentence that says the way out."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ..answers.grid import Grid
from ..errors import NotCovered, ParameterError
from ..losses import Loss, as_loss
from ..model.checks import allow, an_executor, as_it_is, at_least, check_count, flag, floats, one_of
from ..model.checks import parameter as checked_parameter
from ..model.description import Model
from ..model.network import Network
from ..model.spiked import SpikedRF
from ..model.target import Target
from .backend import DTYPES, MANY_LAMS, Backend
from .data import rows_at_most
from .first_layer import coordinates
from .gradient_step import group_slices, width
from .trial import Task

_MOST_TRIALS = 1_000_000  # a quarter of a gigabyte of tasks
_MOST_NUMBERS = 1e13  # random numbers that a trial may draw: a core draws 1e8 a second


def check_choices(model: Model, features: str | None) -> str:
    """The features to use; refuse choices that contradict the model."""
    if features == "gaussian" and not isinstance(model, SpikedRF):
        raise ParameterError("features = 'gaussian' needs a SpikedRF; for a network, simulate net.equivalent(target)")
    if features == "gaussian" and model.readout.law is not None:
        raise ParameterError(
            f"features = 'gaussian' has coefficients per letter, and the law {model.readout.law!r} gives every "
            "neuron its own; use a finite vocabulary, Letters(values, weights)"
        )
    if isinstance(model, Network):
        grid = Grid(model.numbers())
        for eta, alpha0, _ in model.stages({name: grid.over(name, grid.dims) for name in model.numbers()}):
            if np.isinf(alpha0).any():
                raise NotCovered(
                    "alpha0 = inf is a step on infinitely many samples, which cannot be drawn; simulate a large finite "
                    "alpha0, or the spiked features model net.equivalent(target)"
                )
            if np.any(eta > 0) and np.any(alpha0 > 0) and not model.activation.has_derivative:
                raise NotCovered(
                    f"activation = {model.activation.name!r} has no derivative, so a Network cannot take a gradient "
                    "step with it; use a SpikedRF, or eta = 0 for plain random features"
                )
    return features or "network"


def check_bulk(model: Model, bulk: str | None) -> str | None:
    """The rows of W: random ones (None), or those of Π⊥, which only some models have."""
    if bulk not in (None, "orthogonal"):
        raise ParameterError(
            f"bulk = {bulk!r} is not a thing to simulate: rows are random (leave it out) or 'orthogonal'; what "
            "predict calls exact and isotropic are theories of a Network and of its equivalent SpikedRF"
        )
    if bulk and (
        model.takes_steps
        or np.any(np.asarray(model.beta) != 1.0)
        or np.any(np.asarray(model.c) != 1.0)  # type: ignore[attr-defined]
        or model.readout.c is not None
    ):
        raise ParameterError(
            "bulk = 'orthogonal' is W = Π⊥, with as many unit rows as dimensions; use a SpikedRF or TwoSpikes with "
            "beta = 1, c = 1"
        )
    return bulk


def check_learned_at(x: Any, features: str, directions: int) -> tuple[tuple[float, ...], ...]:
    """Points at which to evaluate the learned function; Gaussian features, redrawn for each input, have none."""
    if x is None:
        return ()
    if features == "gaussian":
        raise ParameterError("learned_at needs features = 'network': Gaussian features are not a function of x")
    points = floats("learned_at", x)
    checked_parameter("learned_at", points.ravel())
    points = points.reshape(-1, 1) if points.ndim < 2 else points
    if points.ndim > 2 or not 1 <= points.shape[1] <= directions:
        raise ParameterError(
            f"learned_at has shape {points.shape}; give numbers, along the target's first direction, or points "
            f"[n, j] in its first j directions: this target has {directions}"
        )
    return tuple(map(tuple, points.tolist()))


def check_loss(loss: str | Loss, target: Target, lam: Any) -> Loss:
    """The loss; refuse labels and penalties that it cannot have."""
    loss = as_loss(loss)
    if np.isinf(lam).any():
        raise ParameterError("lam = inf cannot be simulated: the readout is then zero; use a large finite value", "lam")
    if loss.margin and not target.binary:
        raise NotCovered(
            f"loss = {loss.name!r} is for labels ±1, and this target has real labels; use a binary target such as "
            "'sign' or Target('sign', flips=0.1), or a loss of the residual such as 'huber:1'"
        )
    if not loss.linear and not np.all(np.asarray(lam) > 0):
        raise NotCovered(
            f"lam must be positive with loss = {loss.name!r}: without a penalty the readout may be infinite or "
            "not unique; use a small number such as 1e-4"
        )
    return loss


def trial_numbers(trials: int | Sequence[int]) -> list[int]:
    """The numbers of the trials to run: 0 to trials-1, or those in a list."""
    if isinstance(trials, bytes | bytearray) or not isinstance(trials, Iterable):
        if (count := check_count("trials", trials, 1)) > _MOST_TRIALS:
            raise ParameterError(
                f"trials = {count} are too many to be kept in order; run up to {_MOST_TRIALS} at a time, as"
                " trials=range(first, last)"
            )
        return list(range(count))
    numbers = [check_count("trials", trial, 0) for trial in trials]
    if not numbers or len(set(numbers)) < len(numbers):
        raise ParameterError(f"trials = {trials!r} must be a count or a list of different trial numbers")
    return numbers


ARGUMENTS = {
    "d": at_least(2),
    "trials": lambda name, value: trial_numbers(value),
    "features": one_of("network", "gaussian"),
    "learned_at": as_it_is,
    "device": allow(
        lambda value: isinstance(value, str) and re.fullmatch(r"(cpu|cuda|mps|xpu)(:[0-9]+)?", value) is not None,
        "is unknown; use 'cpu', 'cuda' or 'cuda:1'",
    ),
    "dtype": one_of(*DTYPES),
    "backend": one_of("numpy", "torch"),
    "executor": an_executor,
    "progress": flag,
    "n_test": at_least(1),
}


def _batches(model: Model) -> list[float]:
    """The `alpha0` of each step that a model with plain numbers takes."""
    stages = model.stages(model.numbers()) if isinstance(model, Network) else []
    return [float(alpha0) for eta, alpha0, _ in stages if eta > 0 and alpha0 > 0]


def check_sizes(model: Model, target: Target, alpha: Iterable[float], d: int) -> None:
    """No ratio may round to nothing at this d, and it must have room for the directions of spikes and target."""
    if d < (room := model.spike_directions + target.directions):
        raise ParameterError(
            f"d = {d} is too small for {model.spike_directions} direction(s) of spikes and {target.directions} of the "
            f"target; use d of at least {room}, and far more for a comparison with theory"
        )
    if target.inputs is not None:
        coordinates(target.inputs, d)  # refuses sizes that have no room for all eigenvalues
    ratios = [("beta", float(model.beta), "neurons"), ("alpha", min(alpha), "training samples")]  # type: ignore[arg-type]
    for name, ratio, what in ratios + [("alpha0", one, "samples in the step") for one in _batches(model)]:
        if round(ratio * d) == 0:
            raise ParameterError(
                f"d = {d} is too small: {name} = {ratio:g} leaves no {what}; use d of at least {np.ceil(1 / ratio):g}"
            )
    p = width(model, d)
    sizes = [group.stop - group.start for group in group_slices(model.readout, p)]
    if min(sizes) == 0:
        share = model.readout.weights[sizes.index(0)]
        raise ParameterError(
            f"d = {d} is too small: of {p} neurons none has the letter with the share {share:g}; raise d or beta, or"
            " leave such letters out"
        )


def needed_bytes(task: Task, backend: Backend) -> int:
    """Peak memory of a trial: rows and their step, Gram matrix and its factorisation, blocks of samples."""
    model, d, p = task.model, task.d, width(task.model, task.d)
    sizes = [n for n, _ in task.points]
    if isinstance(model, Network) and model.refit is not None:  # a readout is fitted between steps
        sizes += [round(alpha0 * d) for alpha0 in _batches(model)[:-1]]
    few = max((n for n in sizes if n < p), default=0)
    many = any(n >= p for n in sizes)
    rows = 3 * p * d if model.takes_steps else 2 * p * d
    lams = {lam for _, lam in task.points}
    solves = 4 if 0 in lams or len(lams) >= MANY_LAMS else 3  # by eigenvalues
    matrices = (p * p if many else 0) + few * (p + few) + (solves - 1) * max(p * many, few) ** 2
    if not as_loss(task.loss).linear:  # all features, and a weighted or signed copy or two of them
        n = max(n for n, _ in task.points)
        matrices = 4 * n * p + 3 * max(p, min(n, 2 * p)) ** 2
    blocks = backend.block_rows * (2 * d + 3 * p) + 4 * len(task.points) * (p + d + backend.block_rows)
    return backend.itemsize * (max(rows, p * d + matrices) + blocks)


def check_samples(task: Task) -> None:
    """Refuse a trial that would draw inputs for days, or more rows of the user's own than there are."""
    model, limit = task.model, rows_at_most(task.target, task.model.most_steps)
    batches = [alpha0 * task.d for alpha0 in _batches(model)]
    readout, test = max(n for n, _ in task.points), task.n_test or 0
    if task.learned_at and not math.isinf(limit):
        raise NotCovered("learned_at averages over Gaussian inputs; leave out keep=True for it", "learned_at")
    if (needed := max(*batches, readout, test)) > limit:
        raise ParameterError(
            f"a batch needs {needed:.0f} rows, and the {task.target.inputs.kept.name}, divided between steps,"  # type: ignore[union-attr]
            f" readout and test, have {limit:.0f} for each; use a smaller alpha, alpha0 or n_test, or more data"
        )
    if (numbers := (readout + sum(batches) + test) * task.d) > _MOST_NUMBERS:
        raise ParameterError(
            f"a trial with d = {task.d} would draw {numbers / task.d:.1e} samples, {numbers:.1e} random numbers, which"
            f" takes days; up to {_MOST_NUMBERS:.0e} are allowed: use a smaller alpha, alpha0 or n_test, or predict"
        )


def check_memory(tasks: Iterable[Task], backend: Backend, workers: int) -> None:
    """The largest trial must fit, once per worker."""
    needed = workers * max(needed_bytes(task, backend) for task in tasks)
    free = backend.free_bytes()
    if free is not None and needed > free:
        raise ParameterError(
            f"d = {max(task.d for task in tasks)} with these ratios needs about {needed / 2**30:.1f} GiB on "
            f"{backend.device} for {workers} trial(s) at once, and {free / 2**30:.1f} GiB are free; "
            "use a smaller d, fewer workers or dtype = 'float32'"
        )
