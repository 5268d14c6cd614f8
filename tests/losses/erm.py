"""Empirical risk minimisation on spiked random features at finite size, apart from everything in the package.

Losses whose score is clipped are solved through their dual, a quadratic programme in a box, and certified by
the duality gap; smooth ones by Newton's method, certified by the gradient. Both certificates are returned as a
bound on the relative excess of the objective.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

import giantstep as gs

from ..zoo import Case

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


def draw_labels(target: gs.Target, z: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Clean labels and those that are seen, from z = θ·x: real with noise, or signs with flips, latent noise or a
    logistic law."""
    clean = np.asarray(target.function(z))
    if not target.binary:
        return clean, clean + target.noise * rng.standard_normal(z.shape)
    latent = z + target.latent_noise * rng.standard_normal(z.shape)
    if target.scale is not None:
        y = np.where(rng.random(z.shape) < expit(target.scale * latent), 1.0, -1.0)
    else:
        y = np.sign(np.asarray(target.function(latent)))
    return np.sign(clean), np.where(rng.random(z.shape) < target.flips, -y, y)


def trial(case: Case, d: int, seed: int, n_test: int = 4000) -> dict[str, float]:
    """One draw of features and data, the fitted readout's statistics, and the optimality certificate `excess`."""
    rng, model, loss = np.random.default_rng(seed), case.model, case.options["loss"]
    p, n = round(model.beta * d), round(case.alpha * d)
    W = rng.standard_normal((p, d))
    W /= np.linalg.norm(W, axis=1, keepdims=True)
    v, t = np.linalg.qr(rng.standard_normal((d, 2)))[0].T
    theta = model.gamma * v + np.sqrt(1.0 - model.gamma**2) * t
    F = W + model.r * v  # unit spike: κ = v·x
    sigma = ACTIVATIONS[model.activation.name]

    def batch(size: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.standard_normal((size, d))
        return sigma(X @ F.T) / np.sqrt(p), X @ theta

    phi, z = batch(n)
    _, y = draw_labels(case.label, z, rng)
    a, excess = fit(loss, phi, y, case.lam)
    out = phi @ a
    phi, z = batch(n_test)
    clean, test = draw_labels(case.label, z, rng)[0], phi @ a
    across = W.T @ a - v * (v @ (W.T @ a))
    answers = {
        "excess": excess,
        "test_error": np.mean((clean - test) ** 2),
        "train_error": np.mean((y - out) ** 2),
        "train_loss": np.mean(value(loss, y, out)),
        "m": a.sum() / np.sqrt(p),
        "psi": a @ W @ t / np.sqrt(p),
        "q1": across @ across / p,
        "q2": a @ a / p,
    }
    if case.label.binary:
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
