"""The effects of order 1/d, one by one, against matrices."""

import warnings

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.bulk import Isotropic
from giantstep.theory.equations.means import Readout, solve_means, stiffness
from giantstep.theory.equations.response import Response
from giantstep.theory.labels import kurtosis, labels_of
from giantstep.theory.problem import model_grid, pose
from giantstep.theory.symmetric import packing

from . import rows

ONE = np.ones((1, 1))
D, BETA, LAM = 200, 1.5, 0.3
PLAIN = Isotropic(np.ones((1, 1)), np.ones(1))
GROUPS = Isotropic(np.array([[1.0, 1.6]]), np.array([0.4, 0.6]))
# what a step takes of the groups' mean rows, and (V̂1, V̂2), packed
DRAGGED = [(PLAIN, np.array([[drag]]), np.array([0.8, 0.2])) for drag in (0.0, 0.5, 1.4)]
DRAGGED.append((GROUPS, np.array([[0.3, 0.5], [0.2, 0.9]]), np.array([0.8, 0.3, 0.6, 0.2, 0.1])))
every_drag = pytest.mark.parametrize(("bulk", "drag", "hat"), DRAGGED, ids=["0", "0.5", "1.4", "two groups"])


def _dragged(drag: np.ndarray, bulk: Isotropic) -> Readout:
    """A step that has taken `drag` [K, K] of the groups' mean rows, which had the covariance of drawn ones."""
    left, drawn = np.eye(len(drag)) - drag, np.diag(bulk.c[0] / bulk.weights)
    more = (left @ drawn @ left.T - drawn)[None]
    return Readout(ONE, BETA * ONE, LAM * ONE, 0.0 * ONE, D * ONE, ONE < 0.0, more)


def _closed(bulk: Isotropic, hat: np.ndarray) -> Response:
    return rows.closed(bulk, hat[None, None], BETA * ONE, LAM * ONE)


@every_drag
def test_the_all_ones_directions_are_as_stiff_as_those_of_rows_whose_means_were_dragged(bulk, drag, hat):
    """(1_sᵀH⁻¹1_t)⁻¹ with H = λ + V̂2 + V̂1 WWᵀ and rows w_i - Σ_t drag_st w̄_t: 30 draws, four standard errors and
    2/d (3/d for two groups) of the largest entry."""
    K, pack = len(drag), packing(len(drag))
    hat1, hat2 = pack.matrix(hat), pack.vector(hat)
    sizes = (bulk.weights * BETA * D).round().astype(int)
    group = np.repeat(np.arange(K), sizes)
    ones, rng = np.eye(K)[group], np.random.default_rng(8)
    softness = []
    for _ in range(30 * K):
        W = rng.standard_normal((len(group), D))
        W *= np.sqrt(bulk.c[0, group] / (W**2).sum(axis=1))[:, None]
        W -= ones @ drag @ ((ones / sizes).T @ W)
        H = np.diag(LAM + hat2[group]) + hat1[np.ix_(group, group)] * (W @ W.T)
        softness.append(ones.T @ np.linalg.solve(H, ones))
    expected = np.linalg.inv(stiffness(bulk, _dragged(drag, bulk), _closed(bulk, hat))[0, 0])
    error = np.std(softness, axis=0, ddof=1) / np.sqrt(len(softness))
    assert K == 1 or abs(expected[0, 1]) > 20 * error[0, 1]  # the groups are tied, which the test sees
    off = np.abs(np.mean(softness, axis=0) - expected)
    assert np.all(off < 4.0 * error + (1.0 + K) / D * expected.max())


@every_drag
def test_the_norms_hold_what_the_all_ones_directions_cost(bulk, drag, hat):
    """The share of m in (q1, q2) is minus the gradient of fᵀS⁻¹f in (V̂1, V̂2), f the force on m, S the stiffness."""
    K, pack, readout, response = len(drag), packing(len(drag)), _dragged(drag, bulk), _closed(bulk, hat)
    hat1 = pack.matrix(hat[None, None])
    pairs = np.zeros((1, 1, 2 * K, 2 * K))  # nothing but m, and what the resolvent itself contains
    pairs[..., :K, :K], pairs[..., K:, K:] = 0.3 * np.eye(K), hat1
    drive = np.array([0.7, -0.4, 0.0, 0.0] if K == 2 else [0.7, 0.0])[None, None]
    means = solve_means(bulk, readout, response, hat1, pairs, drive, np.zeros((1, 1, K)), ONE)
    force = stiffness(bulk, readout, response)[0, 0] @ means.values[0, 0, 0]
    share = (response.moved(means.source) + means.rest)[0, 0]

    def energy(hat: np.ndarray) -> float:
        return force @ np.linalg.solve(stiffness(bulk, readout, _closed(bulk, hat))[0, 0], force)

    for j, unit in enumerate(np.eye(len(hat))):
        slope = (energy(hat + 1e-5 * unit) - energy(hat - 1e-5 * unit)) / 2e-5
        # truncation 1e-10, rounding 1e-11, over slopes of 1e-2
        assert -share[j] * pack.counts[j] == pytest.approx(slope, rel=1e-7, abs=1e-8 * (K > 1)), j


KNOWN = {"x": 3, "He2": 15, "He3": 93, "relu": 6, "x1 + x1*x2": 7.5, "x1*x2*x3": 27, "exp(x)": np.exp(4.0)}
WILD = dict.fromkeys(("exp(0.15*x**2)", "exp(0.15*x1**2) + x2"), np.inf)  # E f² is finite, E f⁴ is not


@pytest.mark.parametrize("function", KNOWN | WILD)
def test_fourth_moments_are_right_where_they_are_known(function):
    powers, noise = labels_of(gs.Target(function)).powers, np.array([float(function in WILD)])
    assert kurtosis(*powers, noise)[0] == pytest.approx((KNOWN | WILD)[function], rel=1e-4)
    if function == "x":  # Gaussian labels stay Gaussian
        assert kurtosis(*powers, np.array([0.7]))[0] == pytest.approx(3.0, rel=1e-4)


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
    with pytest.warns(gs.LimitWarning, match=r"2 of 4 points: where .*d = 1000, .* varies by 21% between") as said:
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
