"""One implementation on several array libraries, and the threads of numpy and scipy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (loads its BLAS)
from threadpoolctl import threadpool_info, threadpool_limits

from giantstep import Inputs, Letters, Network, SpikedRF, Target, simulate
from giantstep.runtime.threads import VARIABLES, limited_threads
from giantstep.simulation.trial import Task, run_trial

from .helpers import library

LETTERS = Letters((1.0, -0.5), (0.4, 0.6), biases=(0.1, -0.3))
SPIKED, ERF = (SpikedRF(name, 0.9, 0.8, 1.1, 1.2, LETTERS) for name in ("relu", "erf"))
TWO = Inputs([2.5, 0.5], [0.25, 0.75])
FEW, ZERO, MANY = (0.05, 0.5), (0.0, 0.1), tuple(np.logspace(-2, 0, 16).tolist())
CASES = {
    "network": (Network("tanh", 1.5, 2.0, readout=LETTERS), Target("sin", noise=0.1), MANY, {"learned_at": ((0.5,),)}),
    "no step": (Network("relu", 0.0, 2.0, beta=0.5), Target("tanh"), ZERO, {}),
    "spiked": (SPIKED, Target("sign", flips=0.1, latent_noise=0.1), ZERO, {}),
    "directions": (Network("relu", 1.5, 2.0, steps=2, readout=LETTERS), Target("x1 + x1*x2", noise=0.1), FEW, {}),
    "inputs": (Network("relu", 1.0, 1.0, steps=2, rows="gaussian"), Target("x1 + x1*x2", inputs=TWO), FEW, {}),
    "gaussian": (ERF, Target("logistic", scale=1.0), MANY, {"features": "gaussian"}),
    "logistic": (SPIKED, Target("sign", flips=0.1), FEW, {"loss": "logistic"}),
    "huber": (SPIKED, Target("sin", noise=0.3), FEW, {"loss": "huber:0.5"}),
    "hinge": (SPIKED, Target("sign", flips=0.1), FEW, {"loss": "hinge"}),
    "absolute": (SPIKED, Target("sin", noise=0.3), FEW, {"loss": "absolute"}),
}  # fmt: skip


@pytest.mark.parametrize("other", ["array-api-strict", "torch"])
@pytest.mark.parametrize("case", CASES)
def test_every_array_library_gives_the_same_results(case, other):
    """Sums are in another order: 1e-16 times the condition numbers of Gram matrices, and of those of Newton's steps."""
    model, target, lams, options = CASES[case]
    points = tuple((n, lam) for n in (16, 80) for lam in lams)
    n_test = None if case in ("network", "no step") else 300
    task = Task(model, target, 40, points=points, n_test=n_test, **options)
    expected, result = run_trial(task), run_trial(task, library(other))
    near = 1e-8 if "loss" in options else 1e-9
    for name in set(expected) - {"optimality"}:
        np.testing.assert_allclose(result[name], expected[name], rtol=near, atol=near / 10, err_msg=name)


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_single_precision_agrees_to_single_precision(backend):
    """A well-conditioned ridge (lam = 1): rounding of 6e-8, times the condition number of about 100."""
    if backend == "torch":
        pytest.importorskip("torch")
    model, target, _, _ = CASES["network"]
    arguments = {"alpha": [0.4, 2.0], "d": 40, "trials": 1, "lam": 1.0, "backend": backend}
    double, single = (simulate(model, target, dtype=dtype, **arguments) for dtype in ("float64", "float32"))
    for name in ("test_error", "train_error", "q1", "q2", "c", "r", "gamma"):
        np.testing.assert_allclose(single[name], double[name], rtol=1e-5)
        assert not np.array_equal(single[name], double[name])


def threads() -> dict[str, int]:
    pools = [(pool["filepath"], pool["num_threads"]) for pool in threadpool_info()]
    return {owner: n for path, n in pools for owner in ("numpy", "scipy") if f"{owner}.libs" in path}


@pytest.mark.skipif(len(threads()) < 2, reason="numpy and scipy share one BLAS here")
def test_numpy_keeps_still_until_the_last_of_overlapping_trials_is_over_also_after_an_error(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    with threadpool_limits(2):
        with limited_threads(100):
            assert threads() == {"numpy": 1, "scipy": 1}
        first, second = limited_threads(2000), limited_threads(2000)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert threads() == {"numpy": 1, "scipy": 2}
        second.__exit__(None, None, None)
        assert threads() == {"numpy": 2, "scipy": 2}
        with pytest.raises(ZeroDivisionError), limited_threads(2000):
            raise ZeroDivisionError
        assert threads()["numpy"] == 2
