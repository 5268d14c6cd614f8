"""What a sample of inputs says of their covariance: eigenvalues, the target's shares, bins for what is small."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import ParameterError, refused
from .checks import floats

ROWS_PER_COLUMN = 10  # the sample's own noise adds columns/rows to the mean squared eigenvalue
_MOST_NOISE = 0.1  # of a direction that is estimated from labels
_RANK = 1e-12  # eigenvalues below this part of the largest are 0
# relative change of the averages that the theory is made of; answers moved by up to three times as much
_SETTLED = 2e-5
_WIDEST, _HALVINGS = 0.4, 12  # of bins, in log(eigenvalue + _FLOOR)
_FLOOR = 0.01  # of the mean eigenvalue


def whitened(X: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues of a sample's covariance, mean 1, largest first [d]; the sample in their basis, each component
    divided by its standard deviation [n, d]; and the eigenvectors times these [d, d], which map directions alike."""
    x = floats("X", X)
    if x.ndim != 2 or 0 in x.shape:
        raise ParameterError(f"X has shape {x.shape}; give one row for each sample, [samples, inputs]", "X")
    if not np.isfinite(x).all():
        raise ParameterError("X has entries that are not finite numbers; fill or leave out these rows", "X")
    n, d = x.shape
    if n < ROWS_PER_COLUMN * d:
        raise ParameterError(
            f"X has {n} rows for {d} columns, too few for the eigenvalues of a covariance; give at least"
            f" {ROWS_PER_COLUMN * d} rows, or project on fewer columns",
            "X",
        )
    x = x - x.mean(axis=0)
    values, vectors = np.linalg.eigh(x.T @ x / n)
    values, vectors = values[::-1], vectors[:, ::-1]
    if values[0] <= _RANK * float((x**2).max(initial=0.0)) or values[0] <= 0.0:
        raise ParameterError("X is constant: its rows are all the same", "X")
    scale = np.sqrt(np.where(values > _RANK * values[0], values, 0.0))
    inverse = np.divide(1.0, scale, out=np.zeros(d), where=scale > 0.0)
    omega = scale**2 / (scale**2).mean()
    return omega, x @ (vectors * inverse), vectors * scale


def given_directions(direction: Any, images: np.ndarray, samples: int) -> np.ndarray:
    """The user's directions in whitened coordinates, [k, d]: orthonormal, each as near to its own as can be."""
    given = floats("direction", direction)
    vectors = np.atleast_2d(given)
    if vectors.ndim != 2 or vectors.shape[1] != len(images):
        labels = f"; labels of the {samples} rows go into y= (--labels)" if given.shape == (samples,) else ""
        raise ParameterError(
            f"direction has shape {given.shape}; give {len(images)} finite numbers, or a row of them for each"
            f" direction of the target{labels}",
            "direction",
        )
    if not np.isfinite(vectors).all():
        raise ParameterError(
            "direction has entries that are not finite numbers; give a number for each column of X", "direction"
        )
    theta = vectors @ images
    left, sizes, right = np.linalg.svd(theta, full_matrices=False)
    if sizes[-1] <= _RANK * max(1.0, float(sizes[0])):
        raise ParameterError(
            "direction: the inputs do not vary along it, or the directions are not independent", "direction"
        )
    return left @ right


def regressed_direction(y: Any, rows: np.ndarray) -> np.ndarray:
    """The direction of linear regression in whitened coordinates, [1, d]."""
    labels = floats("y", y)
    if labels.shape != rows.shape[:1] or not np.isfinite(labels).all():
        raise ParameterError(
            f"y has shape {labels.shape}; give one finite label for each of the {len(rows)} rows of X", "y"
        )
    if np.ptp(labels) == 0.0:
        raise ParameterError(
            f"y is {labels[0]:g} in all {len(labels)} rows and says nothing about a direction; give labels that vary,"
            " or direction=",
            "y",
        )
    labels = labels - labels.mean()
    theta = rows.T @ labels / len(labels)
    power, rank = float(theta @ theta), int((rows != 0.0).any(axis=0).sum())
    noise = rank * max(float(labels @ labels) / len(labels) - power, 0.0) / len(labels)
    if noise > _MOST_NOISE * power:
        raise refused(
            "y",
            f"<{len(labels)} labels>",
            f"says too little about a direction: noise is {noise / max(power, 1e-300):.0%} of its regression on X, at"
            f" most {_MOST_NOISE:.0%} are allowed; give more rows, or direction=",
        )
    return theta[None] / np.sqrt(power)


def binned(omega: np.ndarray, tau: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Eigenvalues [d], largest first, put together in bins: of each their mean, their count, and the sum of their
    shares [..., k, k].

    Bins are as wide as can be, in log(ω + 0.01), such that none of the averages over the spectrum that the theory is
    made of moves by more than 2e-5 of its value: the second to fourth moments of ω, the first to third of the target's
    shares τ, and the resolvents ∫μω/(1+tω), ∫τω/(1+tω) for t from 0.1 to 10,000. For 784 inputs a grid of first layers
    takes half the time that it takes with every eigenvalue.
    """
    exact, place = _averages(omega, np.ones(len(omega)), tau), np.log(omega + _FLOOR)
    for halving in range(_HALVINGS):
        together = np.unique(np.floor((place[0] - place) * 2**halving / _WIDEST), return_inverse=True)[1]
        counts = np.bincount(together)
        shares = np.zeros((len(counts), *tau.shape[1:]))
        np.add.at(shares, together, tau)
        bins = np.bincount(together, omega) / counts, counts, shares
        if np.all(np.abs(_averages(*bins) - exact) <= _SETTLED * np.abs(exact)):
            return bins
    return omega, np.ones(len(omega)), tau


def _averages(omega: np.ndarray, counts: np.ndarray, tau: np.ndarray) -> np.ndarray:
    functions = [omega**power for power in (1, 2, 3, 4)]
    functions += [omega / (1.0 + t * omega) for t in 10.0 ** np.arange(-1, 5)]
    of_target = np.trace(tau, axis1=1, axis2=2)
    return np.array([weights @ f for f in functions for weights in (counts, of_target)])
