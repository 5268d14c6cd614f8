"""Averages of the score against Monte Carlo of their definition, and label laws against direct integration."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

import giantstep as gs
from giantstep.functions import as_function
from giantstep.losses import Loss, as_loss
from giantstep.theory.channel import BinaryChannel, Channel, RealChannel
from giantstep.theory.channel.real import Window
from giantstep.theory.labels import binary_law

SAMPLES = 400_000
# 13 channels × 3 κ × 6 averages: chance exceeds this once in ten thousand runs
BEYOND_CHANCE = 6.0
NODES = 32

REAL = ["square", "huber:0.5", "absolute", "pinball:0.8"]
BINARY = {
    "logistic": gs.Target("sign"),
    "hinge": gs.Target("sign", flips=0.1),
    "squared_hinge": gs.Target("sign", latent_noise=0.4),
    "exponential": gs.Target("logistic", scale=2.0),
    "huber:0.5": gs.Target("x**3 - x", flips=0.05),
    "square": gs.Target("logistic", scale=5.0, latent_noise=0.3),
}
KAPPA = np.array([[-1.3, 0.1, 0.9]])
GAMMA = 0.6
CENTRE, RHO = GAMMA * KAPPA[:, None], np.array([[np.sqrt(1 - GAMMA**2)]])  # of one direction of the target
FIELDS = tuple(np.array([row]) for row in ([-0.8, 0.1, 1.2], [0.3, 0.5, -0.2], [0.4, 3.0, 20.0], [0.5, 1.5, 0.3]))
GIVEN = (FIELDS[0], FIELDS[1][:, None], *FIELDS[2:])  # as a channel takes them: P for each direction


def drawn(target: gs.Target, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """y, clean labels, labels and cavity fields [SAMPLES, κ], straight from their definition."""
    M, P, _, q = FIELDS
    y, xi = rng.standard_normal((2, SAMPLES, KAPPA.size))
    z = GAMMA * KAPPA + np.sqrt(1 - GAMMA**2) * y
    clean = np.asarray(target.function(z))
    if not target.binary:
        labels = clean + target.noise * rng.standard_normal(z.shape)
    else:
        latent, clean = z + target.latent_noise * rng.standard_normal(z.shape), np.sign(clean)
        if target.scale is None:
            labels = np.sign(np.asarray(target.function(latent)))
        else:
            labels = np.where(rng.random(z.shape) < expit(target.scale * latent), 1.0, -1.0)
        labels = np.where(rng.random(z.shape) < target.flips, -labels, labels)
    return y, clean, labels, M + P * y + np.sqrt(q - P**2) * xi


def averages(channel: Channel, arguments: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    """All that it answers, each [1, κ]."""
    scores = channel.scores(*arguments)
    assert scores.Dy.shape == (1, 1, KAPPA.size)
    return scores._asdict() | {"Dy": scores.Dy[:, 0]} | channel.training(*arguments)._asdict()


def check(loss: Loss, found: dict[str, np.ndarray], draws: tuple[np.ndarray, ...]) -> None:
    y, clean, labels, omega = draws
    _, P, V, _ = FIELDS
    f, g = loss.score(labels, omega, np.broadcast_to(V, omega.shape))
    fitted = omega + V * f
    samples = {
        "F1": f,
        "F2": f * f,
        "G": g,
        "Dy": y * f + P * g,
        "loss": loss.value(labels, fitted),
        "error": (labels - fitted) ** 2,
        "train": labels * fitted < 0,
        "test": clean * omega < 0,
    }
    for name, values in found.items():
        error = samples[name].std(axis=0) / np.sqrt(SAMPLES)
        z = (samples[name].mean(axis=0) - values[0]) / np.maximum(error, 1e-6)  # 1e-6: an event that never came
        assert np.all(np.abs(z) < BEYOND_CHANCE), (name, z)


@pytest.mark.parametrize("target", ["sin", "relu"])
@pytest.mark.parametrize("text", REAL)
def test_averages_for_real_labels_are_those_of_drawn_samples(text: str, target: str):
    loss, noise, rows = as_loss(text), 0.3, np.zeros(1, int)
    channel = RealChannel(loss, as_function(target), CENTRE, RHO, NODES)
    found = averages(channel, (rows, *GIVEN, np.array([noise])))
    check(loss, found, drawn(gs.Target(target, noise=noise), np.random.default_rng(1)))


@pytest.mark.parametrize("text", BINARY)
def test_averages_for_binary_labels_are_those_of_drawn_samples(text: str):
    loss, target, rows = as_loss(text), BINARY[text], np.zeros(1, int)
    law = binary_law(target)
    channel = BinaryChannel(loss, law, CENTRE, RHO, NODES)
    found = averages(channel, (rows, *GIVEN, np.zeros(1)))
    found["train"], found["test"] = channel.wrong(rows, *GIVEN)
    check(loss, found, drawn(target, np.random.default_rng(2)))


OWN = {
    "square": Loss(lambda y, z: (y - z) ** 2 / 2, lambda y, z: z - y, lambda y, z: 1.0 + 0.0 * z),
    "pinball:0.8": Loss(lambda y, z: np.maximum(0.8 * (y - z), (z - y) / 5), lambda y, z: (z > y) - 0.8, kinks=[0]),
}


@pytest.mark.parametrize("text", OWN)
def test_a_loss_of_ones_own_is_averaged_like_its_closed_form(text: str):
    """Through the generic score and rule: only their rounding and quadrature differ."""
    channels = (RealChannel(loss, as_function("sin"), CENTRE, RHO, 24) for loss in (OWN[text], as_loss(text)))
    own, closed = (averages(channel, (np.zeros(1, int), *GIVEN, np.array([0.3]))) for channel in channels)
    for part, values in own.items():
        np.testing.assert_allclose(values, closed[part], rtol=1e-9, err_msg=part)


@pytest.mark.parametrize("text", ["huber:0.5", "absolute", "pinball:0.8"])
@pytest.mark.parametrize("stiffness", [1e-9, 1e-4, 0.1, 1.0, 1e4, 1e8])
@pytest.mark.parametrize("away", [0.2, 6.0, 30.0])
def test_closed_forms_of_clipped_scores_equal_integrals_over_the_residual(text: str, stiffness: float, away: float):
    """From windows far narrower than the Gaussian, where differences of Φ would cancel, to far wider ones; in the
    middle and that many standard deviations off."""
    loss, V, size = as_loss(text), np.array([stiffness]), np.sqrt(0.7)
    channel = RealChannel(loss, as_function("0*x"), np.zeros((1, 1, 1)), np.array([[0.8]]), 8)
    fields = np.array([[away * size]]), np.zeros((1, 1, 1)), V[None], np.array([[0.7]])
    found = channel.scores(np.zeros(1, int), *fields, np.zeros(1))
    edges = np.unique([*(size * (away + np.arange(-38.0, 39.0))), *loss.breaks(0.0, V).ravel()])
    x, w = np.polynomial.legendre.leggauss(20)
    half = 0.5 * np.diff(edges)[:, None]
    omega = edges[:-1, None] + half * (1.0 + x)
    weights = half * w * norm.pdf(omega / size - away) / size
    score = loss.score(0.0, omega, V)
    square = (weights * score.f**2).sum()
    assert found.F1[0, 0] == pytest.approx((weights * score.f).sum(), abs=1e-10 * np.sqrt(square))
    assert found.F2[0, 0] == pytest.approx(square, rel=1e-10)
    ends = np.finfo(float).eps * away * size / stiffness  # their rounding, compared with the width of the window
    assert found.G[0, 0] == pytest.approx((weights * score.g).sum(), rel=1e-8 + ends, abs=0.0)


@pytest.mark.parametrize("away", [0.0, 6.0, 12.0, 30.0])
def test_narrow_windows_are_known_however_far_out(away: float):
    """Residuals within ±V, `away` standard deviations off: to their own digits, to what (away·V)² leaves of them."""
    V = 1e-6
    window = Window(as_loss("absolute"), np.array([away]), np.ones(1), np.array([V]))
    mass, first, second = (float(part[0]) for part in window.inside)
    assert mass == pytest.approx(2 * V * norm.pdf(away), rel=1e-8, abs=0.0)
    assert first == pytest.approx(mass * away * V**2 / 3, rel=1e-8, abs=1e-16 * V * mass)
    assert second == pytest.approx(mass * V**2 / 3, rel=1e-8, abs=0.0)


def test_test_signs_follow_the_bivariate_normal_law():
    """Φ(a) + Φ(b) - 2Φ2(a, b; ϱ) with a = M/√q, b = γκ/√(1-γ²), ϱ = P/√q."""
    law = binary_law(gs.Target("sign", flips=0.2))
    _, wrong = BinaryChannel(as_loss("logistic"), law, CENTRE, RHO, NODES).wrong(np.zeros(1, int), *GIVEN)
    for i, kappa in enumerate(KAPPA[0]):
        M, P, _, q = (float(field[0, i]) for field in FIELDS)
        a, b, rho = M / np.sqrt(q), GAMMA * kappa / np.sqrt(1 - GAMMA**2), P / np.sqrt(q)
        both = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([a, b])
        single = multivariate_normal(0, 1).cdf([a, b]).sum()
        assert wrong[0, i] == pytest.approx(single - 2 * both, abs=1e-8)  # scipy's cdf is good to 1e-8


@pytest.mark.parametrize("target", list(BINARY.values()), ids=lambda t: f"{t.function.name} {t.scale}")
def test_label_chances_are_gaussian_averages_of_the_label(target: gs.Target):
    law = binary_law(target)

    mean, variance = 0.4, 0.3
    size = np.sqrt(variance + target.latent_noise**2)  # of what a label is the sign of, or follows by a logistic law

    def integrand(t: float) -> float:
        z = mean + size * t
        up = expit(target.scale * z) if target.scale is not None else float(target.function(z) > 0)
        return (target.flips + (1 - 2 * target.flips) * up) * norm.pdf(t)

    edges = [-9.0, *((np.array([-1.0, 0.0, 1.0]) - mean) / size), 9.0]  # where the functions above change sign
    expected = sum(quad(integrand, a, b, epsabs=1e-13)[0] for a, b in pairwise(edges))
    found, slope = law.chance(np.array(mean), np.array(variance))
    assert found == pytest.approx(expected, abs=1e-11)
    step = 1e-5
    ahead, behind = (law.chance(np.array(mean + s), np.array(variance))[0] for s in (step, -step))
    assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-8)  # differences: h² and EPS/h


def test_hermite_coefficients_of_label_laws_are_gaussian_averages():
    law = binary_law(gs.Target("x**2 - x - 1", flips=0.1, latent_noise=0.5))
    z, weights = np.polynomial.hermite_e.hermegauss(200)
    mean = 2.0 * law.chance(z, np.zeros_like(z))[0] - 1.0
    weights = weights / weights.sum()
    expected = [weights @ mean, weights @ (z * mean), weights @ ((z**2 - 1) * mean)]
    assert np.allclose(law.expectation(np.zeros(1), np.ones(1), 2)[:, 0], expected, atol=1e-12)


@pytest.mark.parametrize("name", ["logistic", "exponential"])
def test_the_rule_for_analytic_scores_has_the_digits_that_its_bound_promises(name: str):
    """Eight on the coarsest rule and 2.5 more for each doubling, of averages of size one; against a dense rule."""
    law, loss = binary_law(gs.Target("sign", flips=0.1)), as_loss(name)
    V, root = (a.reshape(1, -1) for a in np.meshgrid([0.01, 1.0, 50.0], [0.05, 0.4, 1.0]))
    M, share, centre = np.full_like(V, 0.4), 0.6, np.full_like(V, 0.3)
    z = np.linspace(-9.0, 9.0, 4001)
    w = np.exp(-0.5 * z**2) * (z[1] - z[0]) / np.sqrt(2.0 * np.pi)
    field, rho = M[..., None] + root[..., None] * z, float(RHO[0, 0])
    up, _ = law.chance(0.3 + rho * share * z, np.full_like(z, rho**2 * (1.0 - share**2)))
    f, g = zip(*(loss.score(y, field, V[..., None]) for y in (1.0, -1.0)), strict=True)
    expected = {"F1": up * f[0] + (1 - up) * f[1], "F2": up * f[0] ** 2 + (1 - up) * f[1] ** 2}
    expected["G"] = up * g[0] + (1 - up) * g[1]
    for points, digits in ((6, 8.0), (12, 10.5), (24, 13.0)):
        channel = BinaryChannel(loss, law, centre[:, None], RHO, points)
        scores = channel.scores(np.zeros(1, int), M, share * root[:, None], V, root**2, np.zeros(1))
        for part, values in expected.items():
            off = np.abs(getattr(scores, part) - values @ w).max()
            assert off <= 10.0 ** (1.0 - digits) * np.abs(values @ w).max() + 1e-13, (part, points)


@pytest.mark.parametrize("loss", ["huber:0.5", "absolute"])
@pytest.mark.parametrize("spread", [1.0, 0.1, 0.02])
def test_real_labels_however_sharp_are_resolved(loss: str, spread: float):
    """Nodes along y are as many as a residual of standard deviation `spread` takes; against adaptive integration."""
    chosen, target = as_loss(loss), as_function("sin(2*x)")
    M, P, V = np.array([[0.2]]), np.array([[[0.1]]]), np.array([[0.05]])
    q = P[:, 0] ** 2 + spread**2
    channel = RealChannel(chosen, target, np.array([[[0.3]]]), np.array([[0.8]]), 24, np.zeros((1, 1)))
    found = channel.scores(np.zeros(1, int), M, P, V, q, np.zeros(1))
    x, w = np.polynomial.legendre.leggauss(100)
    xi = (np.arange(-19.5, 20.0)[:, None] + 0.5 * x).reshape(-1) * 0.45  # forty pieces of [-9, 9]
    smooth = 0.225 * np.tile(w, 40) * np.exp(-0.5 * xi**2) / np.sqrt(2 * np.pi)

    def given(y: float) -> float:
        """E f over the rest of the field, by a rule so fine that its kinks do not matter to 1e-7."""
        omega = 0.2 + 0.1 * y + spread * xi
        label = float(np.sin(2 * (0.3 + 0.8 * y)))
        return float(smooth @ chosen.score(label, omega, np.full_like(omega, 0.05)).f)

    y = np.linspace(-8.0, 8.0, 6001)
    weights = (y[1] - y[0]) * np.exp(-0.5 * y**2) / np.sqrt(2 * np.pi)
    expected = weights @ np.array([given(one) for one in y])
    assert float(found.F1[0, 0]) == pytest.approx(expected, abs=3e-6)
