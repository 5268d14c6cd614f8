"""Empirical risk minimisation on spiked random features at finite size, apart from everything in the package.

Losses whose score is clipped are solved through their dual, a quadratic programme in a box, and certified by
the duality gap; smooth ones by Newton's method, certified by the gradient. Both certificates are returned as a
bound on the relative excess of the objective.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

ACTIVATIONS = {"tanh": np.tanh, "relu": lambda x: np.maximum(x, 0.0)}

# loss: (a, low, high, margin); ℓ = max over low ≤ p ≤ high of p s - a p²/2 with s = y - z, or 1 - yz for margins
BOXES = {
    "square": (1.0, -np.inf, np.inf, False),
    "huber:0.5": (1.0, -0.5, 0.5, False),
    "absolute": (0.0, -1.0, 1.0, False),
    "pinball:0.8": (0.0, -0.2, 0.8, False),
    "hinge": (0.0, 0.0, 1.0, True),
    "squared_hinge": (1.0, 0.0, np.inf, True),
}


@dataclass(frozen=True)
class Labels:
    """How labels arise from z = θ·x/√d: real with noise, or signs with flips, latent noise or a logistic law."""

    clean: Callable[[np.ndarray], np.ndarray]
    noise: float = 0.0
    flips: float = 0.0
    latent: float = 0.0
    scale: float | None = None
    binary: bool = False

    def draw(self, z: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        if not self.binary:
            return self.clean(z) + self.noise * rng.standard_normal(len(z))
        if self.scale is not None:
            y = np.where(rng.random(len(z)) < expit(self.scale * z), 1.0, -1.0)
        else:
            y = np.sign(self.clean(z + self.latent * rng.standard_normal(len(z))))
        return np.where(rng.random(len(z)) < self.flips, -y, y)


@dataclass(frozen=True)
class Setting:
    """A model, a loss and labels."""

    name: str
    activation: str
    loss: str
    labels: Labels
    r: float
    gamma: float
    alpha: float
    beta: float
    lam: float


def trial(setting: Setting, d: int, seed: int, n_test: int = 4000) -> dict[str, float]:
    """One draw of features and data, the fitted readout's statistics, and the optimality certificate `excess`."""
    rng = np.random.default_rng(seed)
    p, n = round(setting.beta * d), round(setting.alpha * d)
    W = rng.standard_normal((p, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    v, t = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    theta = setting.gamma * v + np.sqrt(1.0 - setting.gamma**2) * t
    F = W + setting.r * v  # unit spike: κ = v·x
    sigma = ACTIVATIONS[setting.activation]

    def batch(size: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.standard_normal((size, d))
        return sigma(X @ F.T) / np.sqrt(p), X @ theta

    phi, z = batch(n)
    y = setting.labels.draw(z, rng)
    a, excess = fit(setting.loss, phi, y, setting.lam)
    out = phi @ a
    phi, z = batch(n_test)
    clean, test = setting.labels.clean(z), phi @ a
    across = W.T @ a - v * (v @ (W.T @ a))
    answers = {
        "excess": excess,
        "test_error": np.mean((clean - test) ** 2),
        "train_error": np.mean((y - out) ** 2),
        "train_loss": np.mean(value(setting.loss, y, out)),
        "m": a.sum() / np.sqrt(p),
        "psi": a @ W @ t / np.sqrt(p),
        "q1": across @ across / p,
        "q2": a @ a / p,
    }
    if setting.labels.binary:
        answers |= {"test_error_01": np.mean(clean * test < 0), "train_error_01": np.mean(y * out < 0)}
    return {name: float(answer) for name, answer in answers.items()}


def value(loss: str, y: np.ndarray, z: np.ndarray) -> np.ndarray:
    """ℓ(y, z)."""
    if loss == "logistic":
        return np.logaddexp(0.0, -y * z)
    if loss == "exponential":
        return np.exp(-y * z)
    a, low, high, margin = BOXES[loss]
    s = 1.0 - y * z if margin else y - z
    if a == 0.0:
        return np.maximum(high * s, low * s)
    force = np.clip(s, low, high)
    return force * s - 0.5 * force**2


def fit(loss: str, phi: np.ndarray, y: np.ndarray, lam: float) -> tuple[np.ndarray, float]:
    """The minimiser of Σ ℓ + lam/2 |a|², and a bound on its relative excess."""
    return _newton(loss, phi, y, lam) if loss in ("logistic", "exponential") else _dual(loss, phi, y, lam)


def _newton(loss: str, phi: np.ndarray, y: np.ndarray, lam: float) -> tuple[np.ndarray, float]:
    a = np.zeros(phi.shape[1])

    def objective(a: np.ndarray) -> float:
        return value(loss, y, phi @ a).sum() + 0.5 * lam * a @ a

    for _ in range(100):
        h = expit(-y * (phi @ a)) if loss == "logistic" else np.exp(-y * (phi @ a))
        curvature = h * (1.0 - h) if loss == "logistic" else h
        gradient = lam * a - phi.T @ (y * h)
        if gradient @ gradient < 1e-20 * len(y):
            break
        step = np.linalg.solve(phi.T @ (curvature[:, None] * phi) + lam * np.eye(len(a)), gradient)
        size, now = 1.0, objective(a)
        while objective(a - size * step) > now - 1e-4 * size * gradient @ step and size > 1e-10:
            size /= 2.0
        a = a - size * step
    return a, float(gradient @ gradient / (2.0 * lam) / objective(a))  # lam-strong convexity


def _dual(loss: str, phi: np.ndarray, y: np.ndarray, lam: float) -> tuple[np.ndarray, float]:
    a, low, high, margin = BOXES[loss]
    signed, linear = (phi * y[:, None], np.ones_like(y)) if margin else (phi, y)
    kernel = signed @ signed.T / lam + a * np.eye(len(y))

    def dual(force: np.ndarray) -> tuple[float, np.ndarray]:
        pull = kernel @ force
        return 0.5 * force @ pull - linear @ force, pull - linear

    start = np.clip(np.linalg.lstsq(kernel + 1e-9 * np.eye(len(y)), linear, rcond=None)[0], low, high)
    options = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    found = minimize(dual, start, jac=True, method="L-BFGS-B", bounds=[(low, high)] * len(y), options=options)
    readout = signed.T @ found.x / lam
    primal = value(loss, y, phi @ readout).sum() + 0.5 * lam * readout @ readout
    return readout, float((primal + found.fun) / abs(primal))
