"""Bad input gets a sentence before anything is drawn, and what would not fit into memory is not begun."""

from __future__ import annotations

import sys
import tracemalloc
from threading import Lock
from types import SimpleNamespace

import numpy as np
import pytest

from giantstep import Function, Inputs, Network, ParameterError, SpikedRF, Target, simulate, simulate_spectrum
from giantstep.simulation import check, trial
from giantstep.simulation.backend import make_backend

from ..zoo import FLIPS, SIGNS

NET = Network("tanh", eta=1.0, alpha0=2.0)
SRF = SpikedRF("tanh", r=0.9, gamma=0.8)
FINE = {"alpha": 1.0, "lam": 0.1, "d": 20, "trials": 1}
OWN = Target("sin", inputs=Inputs.from_data(np.random.default_rng(0).normal(size=(1200, 20)), keep=True))
LOCK = Lock()  # which stays where it is
LOCKED = SpikedRF(Function(lambda x, lock=LOCK: np.tanh(x)), r=0.5, gamma=0.5)

REFUSED = {
    # sizes
    "d too small for alpha": (NET, {"alpha": 0.01}, r"d = 20 .*alpha = 0.01 .*at least 100"),
    "d too small for beta": (Network("tanh", 1.0, 1.0, beta=0.02), {}, "beta = 0.02 leaves no neurons"),
    "d too small for alpha0": (Network("tanh", 1.0, 0.02), {}, "alpha0 = 0.02 leaves no samples in the step"),
    "d too small for letters": (SpikedRF("tanh", 1.0, 1.0, beta=0.1, readout="ternary"), {}, "of 2 neurons none has"),
    "d too small for directions": (NET, {"target": "x1*x2", "d": 2}, r"1 direction\(s\) of spikes and 2 of the target"),
    "d of other inputs": (NET, {"target": Target("sin", inputs=Inputs.power_law(0.3, d=50))}, "use d=50"),
    "no room for eigenvalues": (NET, {"target": Target("sin", inputs=Inputs([9, 1], [0.01, 0.99]))}, "at least 100"),
    "d of other rows": (NET, {"target": OWN, "d": 30}, "use d=20"),
    "too few rows": (NET, {"target": OWN, "alpha": 21}, r"needs 420 rows.*1200 rows.*400 for each"),
    "rows and a learned function": (NET, {"target": OWN, "learned_at": [0, 1]}, "learned_at averages over Gaussian"),
    "d is not whole": (NET, {"d": 20.5}, "d = 20.5"),
    "d is one": (NET, {"d": 1}, "at least 2"),
    "samples for years": (NET, {"alpha": 1e12}, "would draw .* samples"),
    "tests for years": (NET, {"n_test": 10**12}, "would draw .* samples"),
    "memory": (SRF, {"d": 2_000_000}, r"needs about \d+\.\d GiB .* free"),
    # numbers
    "no trials": (NET, {"trials": 0}, "trials = 0"),
    "empty list of trials": (NET, {"trials": []}, "trials"),
    "repeated trials": (NET, {"trials": [1, 1]}, "different trial numbers"),
    "more trials than memory": (NET, {"trials": 10**12}, r"trials = 1000000000000 .* up to 1000000 at a time"),
    "trials as bytes": (NET, {"trials": bytearray(b"12")}, "trials = bytearray"),
    "trials as a fraction": (NET, {"trials": 2.0}, "trials = 2.0 is not allowed"),
    "progress as a text": (NET, {"progress": "yes"}, "progress = 'yes' .* must be True or False"),
    "infinite alpha": (NET, {"alpha": [1.0, np.inf]}, "alpha = inf is not allowed"),
    "zero alpha": (NET, {"alpha": 0.0}, "alpha = 0 "),
    "words for numbers": (NET, {"alpha": "many"}, "alpha = 'many'"),
    "infinite lam": (NET, {"lam": np.inf}, "lam = inf cannot be simulated"),
    "negative lam": (NET, {"lam": -1.0}, "lam = -1"),
    "no penalty": (NET, {"loss": "huber:1", "lam": [0.0, 1.0]}, "lam must be positive with loss = 'huber:1'"),
    "infinite alpha0": (Network("tanh", 1.0, np.inf), {}, "alpha0 = inf .*equivalent"),
    "no workers": (NET, {"workers": 0}, "workers = 0"),
    "negative seed": (NET, {"seed": -1}, "seed = -1"),
    "no test samples": (NET, {"n_test": 0}, "n_test = 0"),
    "points behind a mask": (NET, {"learned_at": np.ma.masked_array([[1.0]], [[True]])}, "a masked entry"),
    "points as words": (NET, {"learned_at": ["no"]}, "learned_at"),
    "points of three directions": (NET, {"target": "x1*x2", "learned_at": [[0.0, 0.0, 1.0]]}, "this target has 2"),
    "points that are none": (NET, {"target": "x1*x2", "learned_at": [[0.0, np.nan]]}, "learned_at"),
    # choices
    "no derivative": (Network("sign", 1.0, 1.0), {}, "'sign' has no derivative.*SpikedRF"),
    "margin loss, real labels": (NET, {"loss": "hinge"}, "loss = 'hinge' is for labels ±1"),
    "unknown features": (NET, {"features": "linear"}, "features = 'linear'"),
    "Gaussian features of a network": (NET, {"features": "gaussian"}, r"net.equivalent\(target\)"),
    "Gaussian features of a law": (SpikedRF("tanh", 1, 1, readout="gaussian"), {"features": "gaussian"}, "finite"),
    "Gaussian features at points": (SRF, {"features": "gaussian", "learned_at": [0.0]}, "learned_at needs"),
    "orthogonal rows of a network": (NET, {"bulk": "orthogonal"}, "use a SpikedRF"),
    "orthogonal rows, too many": (SpikedRF("relu", 1.0, 1.0, beta=2.0), {"bulk": "orthogonal"}, "beta = 1"),
    "orthogonal rows, too long": (SpikedRF("relu", 1.0, 1.0, c=1.5), {"bulk": "orthogonal"}, "c = 1"),
    "a theory's bulk": (SRF, {"bulk": "exact"}, "bulk = 'exact'"),
    "unknown dtype": (NET, {"dtype": "float16"}, "dtype = 'float16'"),
    "unknown backend": (NET, {"backend": "abacus"}, "backend = 'abacus'"),
    "unknown device": (NET, {"device": "warp"}, "device = 'warp'"),
    "a device without a number": (NET, {"device": "cuda:x"}, "device = 'cuda:x'"),
    "numpy on a GPU": (NET, {"backend": "numpy", "device": "cuda"}, "runs on device 'cpu'"),
    "what cannot be sent": (LOCKED, {"workers": 2, "trials": 2}, "workers = 2 sends trials to other processes"),
}  # fmt: skip


@pytest.mark.parametrize(("model", "change", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_work_is_refused_with_a_sentence(model, change, sentence):
    arguments = {"target": "sin"} | FINE | change
    with pytest.raises(ParameterError, match=sentence):
        simulate(model, **arguments)


def test_a_spectrum_is_of_one_network_with_a_target():
    with pytest.raises(ParameterError, match="needs the target"):
        simulate_spectrum(NET, alpha=1.0, d=20)
    with pytest.raises(ParameterError, match="alpha has 2 values in a list"):
        simulate_spectrum(NET, "sin", alpha=[1.0, 2.0], d=20)


def test_random_features_need_no_derivative():
    assert np.isfinite(simulate(Network("sign", 0.0, 1.0), "sin", **FINE).test_error).all()


def test_cuda_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(ParameterError, match=r"needs torch, which is not installed.*giantstep"):
        simulate(NET, "sin", **FINE, device="cuda")
    blind = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    monkeypatch.setitem(sys.modules, "torch", blind)
    with pytest.raises(ParameterError, match="torch sees no CUDA GPU"):
        simulate(NET, "sin", **FINE, device="cuda")


ONE, ZERO, SEVERAL, REALS = (0.1,), (0.0, 0.1), tuple(np.logspace(-2, 0, 16)), Target("sin", noise=0.3)
WIDE = Network("tanh", eta=1.0, alpha0=2.0, beta=15.0)


@pytest.mark.parametrize("ratios", [(0.5,), (3.0,), (0.5, 3.0)])
@pytest.mark.parametrize(
    ("model", "target", "loss", "lams", "most"),
    [
        (NET, REALS, "square", ONE, 2),
        *((WIDE, REALS, "square", lams, 2) for lams in (ONE, ZERO, SEVERAL)),
        (SpikedRF("tanh", 0.9, 0.8, beta=15.0, readout=SIGNS), REALS, "square", ONE, 2),
        (Network("tanh", eta=1.0, alpha0=30.0, beta=15.0, steps=2, refit=0.1), REALS, "square", ONE, 2),
        (WIDE, FLIPS, "logistic", ONE, 4),
        (WIDE, REALS, "absolute", ONE, 4),
    ],
)
def test_the_memory_estimate_is_an_upper_bound_and_not_a_wild_one(model, target, loss, lams, most, ratios):
    p, backend = 600, make_backend()
    backend.block_rows = 64  # so that matrices take most of it
    points = tuple((round(ratio * p), lam) for ratio in ratios for lam in lams)
    task = trial.Task(model, target, round(p / model.beta), points=points, loss=loss, n_test=100)
    trial.run_trial(task, backend)  # caches and imports
    tracemalloc.start()
    try:
        trial.run_trial(task, backend)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < check.needed_bytes(task, backend) < most * peak
