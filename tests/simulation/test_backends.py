"""One implementation on several array libraries, and numpy's fast products."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (loads its BLAS)
from threadpoolctl import threadpool_info, threadpool_limits

from giantstep.errors import ParameterError
from giantstep.model.inputs import Inputs
from giantstep.model.letters import Letters
from giantstep.model.network import Network
from giantstep.model.spiked import SpikedRF
from giantstep.model.target import Target
from giantstep.runtime.threads import VARIABLES, limited_threads
from giantstep.simulation import simulate
from giantstep.simulation.backend import NumpyBackend, make_backend
from giantstep.simulation.draw import CHUNK_ROWS, Draws, Kind, Purpose
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


def test_a_gpu_that_torch_does_not_see_is_refused():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ParameterError, match="torch sees no CUDA GPU"):
        make_backend(device="cuda")


def test_a_gpu_draws_rows_that_only_append():
    """The native generator of torch, tried on the CPU: chunks are keyed, whatever is drawn before them."""
    backend = library("torch")
    backend.draws_natively = True
    draws = Draws(1, 2, backend)
    long = backend.numpy(draws.normal(Purpose.TRAIN, Kind.INPUTS, 0, 3 * CHUNK_ROWS, 4))
    part = backend.numpy(draws.normal(Purpose.TRAIN, Kind.INPUTS, CHUNK_ROWS - 3, CHUNK_ROWS + 9, 4))
    np.testing.assert_array_equal(part, long[CHUNK_ROWS - 3 : CHUNK_ROWS + 9])
    assert abs(long.mean()) < 4 / np.sqrt(long.size)
    assert abs(long.var() - 1) < 4 * np.sqrt(2 / long.size)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_products_do_not_depend_on_the_layout(dtype):
    rng, backend = np.random.default_rng(0), NumpyBackend(dtype)
    near = {"rtol": 20 * backend.eps, "atol": 20 * backend.eps}
    for one, two, order in product("CF", "CF", "CF"):
        a = np.asarray(rng.standard_normal((5, 7)), dtype=dtype, order=one)
        b = np.asarray(rng.standard_normal((7, 3)), dtype=dtype, order=two)
        for left, right in ((a, b), (a, b[:, 0]), (a[0], b), (a[0], b[:, 0]), (a[:, 1:4], b[1:4, ::2])):
            result = backend.matmul(left, right)
            np.testing.assert_allclose(result, left @ right, **near)
            assert result.dtype == dtype
            assert result.ndim < 2 or result.flags.c_contiguous
        total = np.ones((5, 3), dtype=dtype, order=order)
        result = backend.add_product(total, a, b)
        np.testing.assert_allclose(result, 1 + a @ b, **near)
        assert np.shares_memory(result, total)
        gram = backend.add_gram(backend.zeros(7, 7), a)
        np.testing.assert_allclose(np.tril(gram), np.tril(a.T @ a), **near)


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
