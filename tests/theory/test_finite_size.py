"""The effects of order 1/d, one by one, against matrices."""

import warnings

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.bulk import Isotropic
from giantstep.theory.equations.means import Readout, _all_ones_energy, solve_means, stiffness
from giantstep.theory.equations.response import Response, respond, signal_energy_gradient, total_tangent
from giantstep.theory.labels import kurtosis, labels_of
from giantstep.theory.problem import model_grid, pose
from giantstep.theory.symmetric import packing

ONE = np.ones((1, 1))
D, BETA, LAM = 200, 1.5, 0.3
PLAIN = Isotropic(np.ones((1, 1)), np.ones(1))


def _dragged(drag: np.ndarray, bulk: Isotropic = PLAIN) -> Readout:
    """A step that has taken `drag` [K, K] of the groups' mean rows, which had the covariance of drawn ones."""
    left, drawn = np.eye(len(drag)) - drag, np.diag(bulk.c[0] / bulk.weights)
    return Readout(
        ONE, BETA * ONE, LAM * ONE, 0.0 * ONE, D * ONE, ONE < 0.0, (left @ drawn @ left.T - drawn)[None]
    )


def _closed(bulk: Isotropic, hat: np.ndarray) -> Response:
    """The bulk's response to (V̂1, V̂2), the relation closed by plain iteration."""
    K = len(bulk.weights)
    V = np.append(np.zeros(K * (K + 1) // 2), bulk.weights / LAM)[None, None]
    for _ in range(500):
        response = respond(bulk, V, hat[None, None], BETA * ONE, LAM * ONE)
        V = response.V
    return response


@pytest.mark.parametrize("drag", [0.0, 0.5, 1.4])
def test_the_all_ones_direction_is_as_stiff_as_that_of_rows_whose_mean_was_dragged(drag):
    """1/(1ᵀH⁻¹1) with H = λ + V̂2 + V̂1 WWᵀ and rows w_i - drag·w̄: 30 draws, four standard errors and 2/d."""
    hat1, hat2 = 0.8, 0.2
    p = round(BETA * D)
    rng = np.random.default_rng(8)
    softness = []
    for _ in range(30):
        W = rng.standard_normal((p, D))
        W /= np.linalg.norm(W, axis=1)[:, None]
        W -= drag * W.mean(axis=0)
        H = (LAM + hat2) * np.eye(p) + hat1 * W @ W.T
        softness.append(np.linalg.solve(H, np.ones(p)).sum())
    setting = _dragged(np.array([[drag]]))
    stiff = stiffness(PLAIN, setting, _closed(PLAIN, np.array([hat1, hat2]))).item()
    error = np.std(softness, ddof=1) / np.sqrt(len(softness))
    assert abs(np.mean(softness) - 1.0 / stiff) < 4.0 * error + 2.0 / D / stiff


@pytest.mark.parametrize("drag", [0.0, 0.5, 1.4])
def test_the_norms_hold_what_the_all_ones_direction_costs(drag):
    """The share of m in (q1, q2) is minus the gradient of f²/stiffness in (V̂1, V̂2), f being the force on m."""
    setting, hat = _dragged(np.array([[drag]])), np.array([0.8, 0.2])
    response = _closed(PLAIN, hat)
    hat1 = hat[:1].reshape(1, 1, 1, 1)
    pairs = np.zeros((1, 1, 2, 2))
    pairs[..., 0, 0], pairs[..., 1, 1] = 0.3, hat[0]  # nothing but m, and what the resolvent itself contains
    means = solve_means(
        PLAIN, setting, response, hat1, pairs, np.array([[[0.7, 0.0]]]), np.zeros((1, 1, 1)), ONE
    )
    force = means.values[0, 0, 0, 0] * stiffness(PLAIN, setting, response).item()
    share = signal_energy_gradient(response, total_tangent(response), means.u, means.stiff, means.loose)[0, 0]

    def energy(hat: np.ndarray) -> float:
        return force**2 / stiffness(PLAIN, setting, _closed(PLAIN, hat)).item()

    for j, unit in enumerate(np.eye(2)):
        slope = (energy(hat + 1e-5 * unit) - energy(hat - 1e-5 * unit)) / 2e-5
        assert -share[j] == pytest.approx(
            slope, rel=1e-7
        )  # truncation 1e-10, rounding 1e-11, over slopes of 1e-2


C, WEIGHTS = np.array([[1.0, 1.6]]), np.array([0.4, 0.6])
GROUPS = Isotropic(C, WEIGHTS)
DRAG = np.array([[0.3, 0.5], [0.2, 0.9]])
HAT = np.array([0.8, 0.3, 0.6, 0.2, 0.1])  # V̂1 (three entries), V̂2


def test_groups_whose_mean_rows_were_dragged_together_are_as_stiff_as_matrices_say():
    """(1_sᵀH⁻¹1_t)⁻¹ with rows w_i - Σ_t D_st w̄_t: 60 draws, four standard errors and 3/d of the largest entry."""
    sizes = (WEIGHTS * BETA * D).round().astype(int)
    rng = np.random.default_rng(9)
    group = np.repeat([0, 1], sizes)
    ones = np.eye(2)[group]
    hat1 = np.array([[0.8, 0.3], [0.3, 0.6]])
    found = []
    for _ in range(60):
        W = rng.standard_normal((len(group), D)) * np.sqrt(C[0, group] / D)[:, None]
        means = (ones / sizes).T @ W
        W -= ones @ DRAG @ means
        H = np.diag(LAM + np.array([0.2, 0.1])[group]) + hat1[np.ix_(group, group)] * (W @ W.T)
        found.append(ones.T @ np.linalg.solve(H, ones))
    expected = np.linalg.inv(stiffness(GROUPS, _dragged(DRAG, GROUPS), _closed(GROUPS, HAT))[0, 0])
    error = np.std(found, axis=0, ddof=1) / np.sqrt(len(found))
    assert abs(expected[0, 1]) > 20 * error[0, 1]  # the groups are tied, which the test sees
    assert np.all(np.abs(np.mean(found, axis=0) - expected) < 4.0 * error + 3.0 / D * expected.max())


def test_dragged_mean_rows_enter_the_norms_as_minus_the_gradient_of_their_energy():
    """uᵀS⁻¹u at fixed drive u, S the stiffness, against central differences in (V̂1, V̂2) with V closed."""
    setting, u = _dragged(DRAG, GROUPS), np.array([0.7, -0.4])

    def energy(hat: np.ndarray) -> float:
        return u @ np.linalg.solve(stiffness(GROUPS, setting, _closed(GROUPS, hat))[0, 0], u)

    at = _closed(GROUPS, HAT)
    m = np.linalg.solve(stiffness(GROUPS, setting, at)[0, 0], u)[None, None]
    still = np.zeros((1, 1, 2, 2))
    energies = _all_ones_energy(GROUPS, setting, at, m)
    share = signal_energy_gradient(at, total_tangent(at), still, *energies)[0, 0]
    for j, unit in enumerate(np.eye(5)):
        slope = (energy(HAT + 1e-5 * unit) - energy(HAT - 1e-5 * unit)) / 2e-5
        assert -share[j] * packing(2).counts[j] == pytest.approx(slope, rel=1e-7, abs=1e-8), j


@pytest.mark.parametrize("noise", [0.0, 0.7])
@pytest.mark.parametrize(
    "function", ["He2", "relu", "tanh(2*x)", "x1 + x1*x2", "max(x1, x2, 0.3*x3)", "sign", "parity"]
)
def test_the_fourth_moment_of_labels_is_that_of_samples(function, noise):
    target = gs.Target(function, noise=noise)
    random = np.random.default_rng(4)
    count = 400_000
    y = np.asarray(target.function(*random.normal(size=(target.directions, count))))
    y = y + noise * random.normal(size=count)
    square, fourth = labels_of(target).powers
    found = kurtosis(square, fourth, np.array([noise]))[0]
    power = square + noise**2
    for exact, sampled in ((power, y**2), (found * power**2, y**4)):
        error = sampled.std() / count**0.5
        assert (
            abs(sampled.mean() - exact) <= 5 * error + 1e-9 * exact
        )  # 28 averages: 5 standard errors are 2e-5


def test_fourth_moments_are_right_where_they_are_known():
    known = {
        "x": 3,
        "He2": 15,
        "He3": 93,
        "relu": 6,
        "x1 + x1*x2": 7.5,
        "x1*x2*x3": 27,
        "exp(x)": np.exp(4.0),
    }
    for function, exact in known.items():
        found = kurtosis(*labels_of(gs.Target(function)).powers, np.zeros(1))[0]
        assert found == pytest.approx(exact, rel=1e-4), function
    for function in ("exp(0.15*x**2)", "exp(0.15*x1**2) + x2"):  # E f² is finite, E f⁴ is not
        assert kurtosis(*labels_of(gs.Target(function)).powers, np.ones(1))[0] == np.inf


@pytest.mark.parametrize(("function", "n0"), [("He2", 400), ("x1 + x1*x2", 200)])
def test_the_scatter_between_batches_is_that_of_drawn_batches(function, n0):
    d, batches = 100, 4000
    net, target = gs.Network("tanh", eta=1, alpha0=n0 / d), gs.Target(function, noise=0.3)
    random = np.random.default_rng(9)
    y = np.asarray(target.function(*random.normal(size=(target.directions, batches, n0))))
    mean = ((y + 0.3 * random.normal(size=y.shape)) ** 2).mean(axis=1)
    measured = mean.std() / mean.mean()
    tails = ((mean - mean.mean()) ** 4).mean() / mean.var() ** 2  # of the batches' own means
    posed = pose(net, target, model_grid(net, target), "isotropic")
    expected = np.sqrt(posed.first_layers.scatter[0] / d)
    assert measured == pytest.approx(expected, rel=4 * np.sqrt((tails - 1) / (4 * batches)))


def test_batches_too_small_for_heavy_tails_are_marked_and_warned_of():
    readout = {"alpha": 1.0, "lam": 0.1, "bulk": "isotropic"}
    net = gs.Network("relu", eta=1, alpha0=2)
    sizes = np.array([1000.0, 1500.0, 1600.0, np.inf])  # 92/(2·d) = 0.03 at d = 1533
    with pytest.warns(
        gs.LimitWarning, match=r"2 of 4 points: where .*d = 1000, .* varies by 21% between"
    ) as said:
        found = gs.predict(net, "He3", d=sizes, **readout)
    assert len(said) == 1
    assert found.code.values.tolist() == [8, 8, 0, 0]
    assert found.converged.all()
    assert "alpha0" in found.status.values[0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model, target in (
            (gs.SpikedRF("relu", r=1, gamma=0.5), "He3"),  # no batch
            (gs.Network("relu", eta=[0.0], alpha0=2), "He3"),
            (gs.Network("relu", eta=1, alpha0=2, step_loss="huber:1"), "He3"),
            (gs.Network("relu", eta=1, alpha0=2), "sin"),
        ):
            assert gs.predict(model, target, d=200, **readout).code.item() == 0
    steps = gs.Network("relu", steps=[gs.Step(1, 40), gs.Step(1, 2)])  # the smallest batch counts
    assert gs.predict(steps, "He3", d=1000, **readout).code.item() == 8


def test_tails_without_a_fourth_moment_count_where_a_step_is_taken_and_nowhere_else():
    wild, readout = "exp(0.15*x**2)", {"alpha": 1.0, "lam": 0.1, "bulk": "isotropic", "d": 1000}
    for rates, code in (((0.0, 0.0), 0), ((0.0, 1.0), 8), ((1.0, 0.0), 8)):
        net = gs.Network("tanh", steps=[gs.Step(eta, 2) for eta in rates])
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", gs.LimitWarning)
            assert gs.predict(net, wild, **readout).code.item() == code
