"""What neurons' own squares learn at finite d: the estimate, against networks whose squares are taken away."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory import engine
from giantstep.theory.problem import model_grid, pose

from ..zoo import Case
from . import rows

ETA, ALPHA0, ALPHA, LAM, SIZE, NETWORKS = 1.0, 2.0, 2.0, 0.3, 300, 64


def trained(rng: np.random.Generator, steps: int) -> rows.Rows:
    """A ReLU network with p = d after steps on He2."""
    net = gs.Network("relu", eta=ETA, alpha0=ALPHA0, steps=steps)
    return rows.train(Case("", net, "He2"), SIZE, rng)


def gained(rng: np.random.Generator, drawn: rows.Rows) -> tuple[float, float]:
    """Test errors of ridge on the features, and on features without the squares (w_i·ê)²(y² - 1) E σ''/2."""
    W, theta = drawn.whole, drawn.theta
    spike = W.mean(axis=0)
    bulk = np.square(W).sum(axis=1).mean() - spike @ spike
    across = (W - spike) @ theta
    X, fresh = (rng.standard_normal((n, SIZE)) for n in (round(ALPHA * SIZE), 4000))
    labels, clean = ((x @ theta) ** 2 - 1 for x in (X, fresh))
    errors = []
    for without in (False, True):
        features = []
        for x, y in ((X, labels), (fresh, clean)):
            density = np.exp(-((x @ spike) ** 2) / (2 * bulk)) / np.sqrt(2 * np.pi * bulk)
            squares = 0.5 * (density * y)[:, None] * across**2
            features.append((np.maximum(x @ W.T, 0.0) - without * squares) / np.sqrt(SIZE))
        phi, seen = features
        a = np.linalg.solve(phi.T @ phi + LAM * np.eye(SIZE), phi.T @ labels)
        errors.append(float(np.square(clean - seen @ a).mean()))
    return errors[0], errors[1]


def estimated(steps: int) -> tuple[float, float]:
    """Share of the test error, as a warning says it, and the rows' spread along the target, for the same network."""
    net, target = gs.Network("relu", eta=ETA, alpha0=ALPHA0, steps=steps), gs.Target("He2")
    problem = pose(net, target, model_grid(net, target, alpha=ALPHA, lam=LAM, d=float(SIZE)))
    share = engine.solve(problem, 1e-9)["squares"].item()
    return share, problem.bulks(np.arange(1))[0].spread_along_signals().item()


def test_networks_without_their_squares_err_more_by_the_estimate():
    """After one step, whose rows spread little: what comes next in 1/d takes a few tenths of the estimate away."""
    share, spread = estimated(1)
    found = []
    for seed in range(NETWORKS):
        rng = np.random.default_rng(seed)
        drawn = trained(rng, steps=1)
        error, without = gained(rng, drawn)
        found.append((1 - error / without, SIZE * (drawn.whole @ drawn.theta).var()))
    (gain, along), (scatter, wobble) = np.mean(found, axis=0), np.std(found, axis=0, ddof=1) / NETWORKS**0.5
    assert 0.01 < share < 0.05
    assert -4 * scatter < share - gain < 4 * scatter + 0.3 * share
    assert abs(along - spread) < 4 * wobble + 15 / SIZE * spread


def test_rows_spread_further_with_every_step():
    spreads = [estimated(steps)[1] for steps in (1, 2, 3)]
    rng = np.random.default_rng(0)
    for steps, spread in zip((2, 3), spreads[1:], strict=True):
        along = [SIZE * (one.whole @ one.theta).var() for one in (trained(rng, steps) for _ in range(16))]
        # every step multiplies, and batches differ: He2's mean square by √(14/n0) = 15 %
        assert abs(np.mean(along) - spread) < 4 * np.std(along, ddof=1) / 16**0.5 + 15 / SIZE * spread
    assert spreads[2] > 2 * spreads[1] > 4 * spreads[0]


def test_points_that_squares_change_are_marked_at_every_size_that_is_small():
    net = gs.Network("gelu", eta=1, alpha0=2, steps=3)
    with pytest.warns(gs.LimitWarning, match="3 of 4 points.*quadratic part.*d = 300.*simulate"):
        found = gs.predict(net, "He2", alpha=2, lam=0.3, d=[300, 3000, np.inf, 1e6])
    assert found.code.values.tolist() == [9, 9, 9, 0]
    assert found.converged.all()
    assert "quadratic part" in str(found.status[0].item())


@pytest.mark.parametrize(
    ("net", "target", "loss"),
    [
        (gs.Network("tanh", eta=2, alpha0=4, steps=2), "He2", "square"),  # no squares in an odd activation
        (gs.Network("relu", eta=1, alpha0=1, steps=2), "sin", "square"),  # nor in the target
        (gs.Network("relu", eta=1, alpha0=1, steps=2), "abs", "square"),  # 1 %: its mean is no quadratic part
        (gs.SpikedRF("relu", r=1, gamma=0.5), "He2", "square"),  # no step
        (gs.Network("gelu", eta=1, alpha0=2, steps=2), "sign(x)", "logistic"),
    ],
)
def test_others_are_not(net, target, loss):
    with warnings.catch_warnings():
        warnings.simplefilter("error", gs.LimitWarning)
        assert gs.predict(net, target, alpha=2, lam=0.3, d=400, loss=loss).code.item() == 0


@pytest.mark.parametrize("target", ["He2", "abs", "x1*x2"])
@pytest.mark.parametrize("steps", [1, 2])
def test_a_population_that_shows_no_direction_is_the_limit_of_large_batches(target, steps):
    """A spike of rounding has no direction to see the target from; errors differ by 1/alpha0 and so do marks not."""
    net = gs.Network("gelu", eta=2.0, alpha0=[1e10, np.inf], steps=steps)
    found = gs.predict(net, target, alpha=1.5, lam=0.1, d=300)
    large, all_inputs = (found.isel(alpha0=i) for i in (0, 1))
    np.testing.assert_allclose(all_inputs.test_error, large.test_error, rtol=1e-8)
    assert int(all_inputs.code) == int(large.code)
    assert np.all(np.abs(all_inputs.gamma) < 1e-5)
    assert np.all(all_inputs.r < 1e-8)
