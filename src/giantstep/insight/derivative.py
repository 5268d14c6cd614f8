"""Exact derivatives of the test error with respect to learning rate, penalty and sample sizes.

A parameter moves by an infinitesimal imaginary amount. Result 1 is explicit. Result 2's coefficients have
derivatives that are Gaussian moments again (by parts, so neither the activation nor the target need be smooth).
The fixed point of Result 3 moves by its implicit derivative, one Newton step; everything after it is linear
algebra. The imaginary part of the error is then its derivative, without a difference being taken anywhere.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..functions import Function
from ..gaussian import points_needed, sample, tail_reach
from ..theory import square
from ..theory.bulk import Bulk, Isotropic
from ..theory.equations.averages import Averages
from ..theory.equations.means import Setting
from ..theory.equations.response import respond
from ..theory.features import Features
from ..theory.labels import Label
from ..theory.symmetric import packing

TINY = 1e-20  # the imaginary step: its square is lost in rounding, which is what makes it exact
_INNER_TOLERANCE = 1e-11


class Moved(NamedTuple):
    """One first layer and its derivatives in D directions, as imaginary parts: r, c [D, K], γ [D]."""

    r: np.ndarray
    c: np.ndarray
    gamma: np.ndarray


def error_and_gradient(
    activation: Function,
    target: Function,
    biases: np.ndarray,
    layer: Moved,
    rules: tuple[Features, Label, Bulk],
    setting: Setting,
) -> tuple[float, np.ndarray]:
    """The test error at one point and its derivative in D directions.

    `rules` are the features, the label and the bulk (an isotropic one) at the real point, U = 1; `setting`
    [D, 1] has the directions of the readout's parameters as imaginary parts.
    """
    features, label, bulk = rules
    D = len(layer.gamma)
    common = None if setting.common is None else np.real(setting.common[:1])
    real = Setting(*(np.real(getattr(setting, name))[:1] for name in _SETTING))
    real.common = common
    here = square.solve(features, label, bulk, real)
    features = _moved_features(activation, biases, features, layer)
    label = _moved_label(target, features.kappa[:, 0], label, layer.gamma)
    moved = Isotropic(layer.c, bulk.weights)
    start = _moved_responses(features, moved, setting, np.repeat(here.state.V, D, axis=0))
    found = square.solve(features, label, moved, setting, start)
    return float(here.test_error[0, 0]), np.imag(found.test_error)[:, 0] / TINY


_SETTING = ("alpha", "beta", "lam", "noise", "d", "unit")


def _moved_responses(features: Features, bulk: Bulk, setting: Setting, V: np.ndarray) -> np.ndarray:
    """V with its implicit derivative: (1 - ∂F/∂V) dV = ∂F for the fixed point V = F(V)."""
    pack = packing(len(bulk.weights))
    averages = Averages(features, bulk.modes)
    gain = 1.0 / (setting.unit[..., None] + averages.expand(V * pack.counts, averages.phi))
    response = respond(bulk, V + 0j, setting.ratio * averages.hats(gain), setting.beta, setting.lam)
    slope = setting.ratio[..., None] * averages.squares(gain * gain) * pack.counts
    Jacobian = np.eye(pack.size) - response.by_V - response.by_hat @ slope
    change = np.linalg.solve(np.real(Jacobian), np.imag(response.V)[..., None])[..., 0]
    return V + 1j * change


def _moved_features(activation: Function, biases: np.ndarray, at: Features, layer: Moved) -> Features:
    """Coefficients with derivatives: μ0' = κμ1 dr + ½E σ'' dc and so on, all by parts."""
    kappa = at.kappa[:, :1]
    c, r = np.real(layer.c)[:1, :, None], np.real(layer.r)[:1, :, None]
    dc, dr = np.imag(layer.c)[..., None], np.imag(layer.r)[..., None]
    moments = _higher_moments(activation, r * kappa + biases[:, None], np.sqrt(c))
    third, fourth, square_first, square_second = moments
    second = 2.0 * at.dmu0  # E σ''
    dmu0 = kappa * at.mu1 * dr + at.dmu0 * dc
    dmu1 = kappa * second * dr + third / (2.0 * c**1.5) * dc
    dsquare = kappa * square_first / np.sqrt(c) * dr + square_second / (2.0 * c) * dc
    dmu2sq = dsquare - 2.0 * at.mu0 * dmu0 - 2.0 * c * at.mu1 * dmu1 - at.mu1**2 * dc
    tilt = kappa * third / (2.0 * c**1.5) * dr + fourth / (4.0 * c**2) * dc  # of ∂μ0/∂c itself, for finite d
    return at._replace(
        mu0=at.mu0 + 1j * dmu0,
        mu1=at.mu1 + 1j * dmu1,
        mu2sq=at.mu2sq + 1j * dmu2sq,
        dmu0=at.dmu0 + 1j * tilt,
    )


def _moved_label(target: Function, kappa: np.ndarray, label: Label, gamma: np.ndarray) -> Label:
    """Moments of the target with derivatives in γ: its argument γκ + ρy moves by (κ - γy/ρ) dγ."""
    g, dg = float(np.real(gamma)[0]), np.imag(gamma)[:, None]
    rho = np.sqrt(max(0.0, 1.0 - g * g))
    if rho == 0.0 or not dg.any():
        return Label(label.t0 + 0j * dg, label.t1 + 0j * dg[:, None], label.t2 + 0j * dg)
    t1 = label.t1[:, 0]
    moments = _higher_moments(target, g * kappa[:, None], np.full((1, 1, 1), rho), with_second=True)
    third, _, square_first, square_second, second = (m[:, 0] for m in moments)
    dt0 = kappa * t1 / rho - g / rho**2 * second
    dt1 = kappa * second / rho - g / rho**2 * (third + t1)
    dt2 = kappa * square_first / rho - g / rho**2 * square_second
    return Label(label.t0 + 1j * dt0 * dg, (t1 + 1j * dt1 * dg)[:, None], label.t2 + 1j * dt2 * dg)


def _higher_moments(
    f: Function, shift: np.ndarray, scale: np.ndarray, with_second: bool = False
) -> list[np.ndarray]:
    """E[He3 f], E[He4 f], E[zf²], E[(z² - 1)f²] (and E[(z² - 1)f]) of f(shift + scale·z), each of shift's shape."""
    widest, span = float(scale.max()), float(np.abs(shift).max())
    reach = max(tail_reach(f, widest), tail_reach(f, widest, span), tail_reach(f, widest, -span))
    n = 2 * points_needed(f, widest, reach, span, _INNER_TOLERANCE)
    samples = sample(f, shift, np.broadcast_to(scale, shift.shape), n, reach)
    z, w, values = samples.z, samples.weights[0], samples.values
    tests = [(values, z**3 - 3.0 * z), (values, z**4 - 6.0 * z**2 + 3.0)]
    tests += [(values**2, z), (values**2, z**2 - 1.0)]
    tests += [(values, z**2 - 1.0)] * with_second
    inner = tuple(range(shift.ndim, values.ndim))
    return [(g * w * h).sum(axis=inner) for g, h in tests]
