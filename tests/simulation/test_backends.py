"""One implementation on several array libraries."""

from __future__ import annotations

import numpy as np
import pytest

from giantstep.errors import ParameterError
from giantstep.model.letters import Letters
from giantstep.model.network import Network
from giantstep.model.spiked import SpikedRF
from giantstep.model.target import Target
from giantstep.simulation import simulate
from giantstep.simulation.backend import make_backend
from giantstep.simulation.trial import Task, run_trial

from .strict import StrictBackend

LETTERS = Letters((1.0, -0.5), (0.4, 0.6), biases=(0.1, -0.3))
CASES = {
    "network": (Network("tanh", 1.5, 2.0, readout=LETTERS), Target("sin", noise=0.1), None),
    "no step": (Network("relu", 0.0, 2.0, beta=0.5), Target("tanh"), None),
    "spiked": (
        SpikedRF("relu", 0.9, 0.8, 1.1, 1.2, LETTERS),
        Target("sign", flips=0.1, latent_noise=0.1),
        None,
    ),
    "directions": (
        Network("relu", 1.5, 2.0, steps=2, readout=LETTERS),
        Target("x1 + x1*x2", noise=0.1),
        None,
    ),
    "gaussian": (SpikedRF("erf", 0.9, 0.8, 1.1, 1.2, LETTERS), Target("logistic", scale=1.0), "gaussian"),
}
SMALL = {"alpha": [0.4, 2.0], "d": 40, "trials": 1}


@pytest.mark.parametrize(
    "lams", [[0.1], [0.0, 0.1], list(np.logspace(-2, 0, 9))], ids=["few", "zero", "many"]
)
@pytest.mark.parametrize("backend", ["array-api-strict", "torch"])
@pytest.mark.parametrize("case", CASES)
def test_every_array_library_gives_the_same_results(case, backend, lams):
    if backend == "torch":
        pytest.importorskip("torch")
    library = make_backend("torch") if backend == "torch" else StrictBackend()
    model, target, features = CASES[case]
    points = tuple((n, float(lam)) for n in (16, 80) for lam in lams)
    n_test = 500 if target.binary else None
    task = Task(model, target, 40, points=points, features=features or "network", n_test=n_test)
    expected, result = run_trial(task), run_trial(task, library)
    for name in expected:
        np.testing.assert_allclose(result[name], expected[name], rtol=1e-9, atol=1e-10, err_msg=str(name))


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_single_precision_agrees_to_single_precision(backend):
    """A well-conditioned ridge (lam = 1): rounding of 6e-8, times the condition number of about 100."""
    if backend == "torch":
        pytest.importorskip("torch")
    model, target, _ = CASES["network"]
    arguments = SMALL | {"lam": 1.0, "backend": backend}
    double = simulate(model, target, **arguments)
    single = simulate(model, target, dtype="float32", **arguments)
    for name in ("test_error", "train_error", "q1", "q2", "c", "r", "gamma"):
        np.testing.assert_allclose(single[name], double[name], rtol=1e-5)
        assert not np.array_equal(single[name], double[name])


def test_a_gpu_that_torch_does_not_see_is_refused():
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("there is one")
    with pytest.raises(ParameterError, match="torch sees no CUDA GPU"):
        make_backend(device="cuda")


def test_a_device_that_does_not_exist_is_refused():
    pytest.importorskip("torch")
    with pytest.raises(ParameterError, match="'warp'"):
        make_backend(device="warp")


def test_a_gpu_draws_rows_that_only_append(monkeypatch):
    """The native generator of torch, tried on the CPU: chunks are keyed, whatever is drawn before them."""
    pytest.importorskip("torch")
    from giantstep.simulation.draw import CHUNK_ROWS, Draws, Kind, Purpose

    backend = make_backend("torch")
    monkeypatch.setattr(backend, "draws_natively", True)
    draws = Draws(1, 2, backend)
    long = backend.numpy(draws.normal(Purpose.TRAIN, Kind.INPUTS, 0, 3 * CHUNK_ROWS, 4))
    part = backend.numpy(draws.normal(Purpose.TRAIN, Kind.INPUTS, CHUNK_ROWS - 3, CHUNK_ROWS + 9, 4))
    np.testing.assert_array_equal(part, long[CHUNK_ROWS - 3 : CHUNK_ROWS + 9])
    assert abs(long.mean()) < 4 / np.sqrt(long.size)
    assert abs(long.var() - 1) < 4 * np.sqrt(2 / long.size)
