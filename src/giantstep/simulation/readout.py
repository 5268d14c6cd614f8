"""Fit the readouts of all sample sizes and penalties of a trial: ridge regression; `convex` has other losses.

Both take the training samples as a function (so that they decide how often to pass over them) and `problems`,
{n: lams}, and return {n: Fit}.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from .backend import Backend

Rows = Callable[[int], Iterator[tuple[Any, Any]]]
"""n -> the first n training samples in blocks: features [rows, p] and labels [rows]."""

Problems = Mapping[int, Sequence[float]]


class Fit(NamedTuple):
    """Readouts for one sample size."""

    readouts: Any  # [p, lams]
    train_error: np.ndarray  # [lams], mean squared
    train_loss: np.ndarray  # [lams], mean loss
    optimality: np.ndarray | None = None  # [lams], relative duality gap; None where the fit is in closed form


def ridge(rows: Rows, p: int, problems: Problems, backend: Backend) -> dict[int, Fit]:
    """Minimise ½ Σ (y - a·φ/√p)² + lam/2 |a|² in one pass over nested data.

    Sizes n ≥ p share a p×p Gram matrix that grows with the samples; sizes n < p share the n×n matrix of
    kernels between samples. Memory therefore does not grow with n.
    """
    few = max((n for n in problems if n < p), default=0)
    many = [n for n in problems if n >= p]
    fits: dict[int, Fit] = {}
    power: list[Any] = []  # of the labels, part by part
    gram, correlation = backend.zeros(p, p) if many else None, backend.zeros(p)
    kept, kept_labels = (backend.zeros(p, few).T, backend.zeros(few))  # row-major where the library lets us choose
    start = 0
    for features, labels in rows(max(problems)):
        features /= p**0.5
        stop = start + features.shape[0]
        if start < few:
            inside = min(stop, few)
            kept[start:inside, :] = features[: inside - start, :]
            kept_labels[start:inside] = labels[: inside - start]
        if many:
            cuts = [start, *sorted(n for n in many if start < n < stop), stop]
            for left, right in pairwise(cuts):
                part, targets = (features[left - start : right - start, :], labels[left - start : right - start])
                gram = backend.add_gram(gram, part)
                correlation = correlation + backend.matmul(targets, part)
                power.append(targets @ targets)  # left on the device, which need not wait for the host
                if right in problems:
                    fits[right] = _primal(gram, correlation, power, right, problems[right], backend)
        start = stop
    if few:
        fits |= _dual(kept, kept_labels, {n: lams for n, lams in problems.items() if n < p}, backend)
    return fits


def _primal(gram: Any, correlation: Any, power: list[Any], n: int, lams: Sequence[float], backend: Backend) -> Fit:
    """n ≥ p: (ΦᵀΦ + lam) a = Φᵀy; the training error follows from the same p×p moments.

    |y - Φa|² = |y|² - a·Φᵀy - lam |a|² at the solution. An error of the solver's enters to first order, which costs
    no more than rounding would in aᵀ(ΦᵀΦ)a: about eps |ΦᵀΦ| |a|² either way.
    """
    readouts = backend.solve_shifted(gram, correlation, lams)
    explained = backend.numpy(backend.matmul(correlation, readouts))
    shrunk = np.asarray(lams) * backend.numpy(backend.xp.sum(readouts * readouts, axis=0))
    error = np.maximum(sum(map(float, power)) - explained - shrunk, 0.0) / n
    return Fit(readouts, error, error / 2)


def _dual(features: Any, labels: Any, problems: Problems, backend: Backend) -> dict[int, Fit]:
    """n < p: a = Φᵀk with (ΦΦᵀ + lam) k = y, whose residuals are lam·k."""
    fits = {}
    kernel = backend.add_gram(backend.zeros(features.shape[0], features.shape[0]), features.T)
    for n, lams in problems.items():
        part, targets = kernel[:n, :n], labels[:n]
        dual = backend.solve_shifted(part, targets, lams)
        readouts = backend.matmul(features[:n, :].T, dual)
        residuals = backend.asarray(np.asarray(lams))[None, :] * dual
        if min(lams) == 0:
            residuals = targets[:, None] - backend.matmul(features[:n, :], readouts)
        error = backend.numpy(backend.xp.sum(residuals * residuals, axis=0)) / n
        fits[n] = Fit(readouts, error, error / 2)
    return fits
