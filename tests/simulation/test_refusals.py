"""Bad input gets a sentence, before anything is drawn."""

from __future__ import annotations

import sys
from threading import Lock

import numpy as np
import pytest

from giantstep.errors import ParameterError
from giantstep.functions import Function
from giantstep.model.letters import Letters
from giantstep.model.network import Network
from giantstep.model.spiked import SpikedRF
from giantstep.model.target import Target
from giantstep.simulation import check, simulate, trial
from giantstep.simulation.backend import make_backend

NET = Network("tanh", eta=1.0, alpha0=2.0)
SRF = SpikedRF("tanh", r=0.9, gamma=0.8)
FINE = {"alpha": 1.0, "lam": 0.1, "d": 20, "trials": 1}

REFUSED = [
    ("d too small for alpha", NET, {"alpha": 0.01}, r"d = 20 .*alpha = 0.01 .*at least 100"),
    ("d too small for beta", Network("tanh", 1.0, 1.0, beta=0.02), {}, r"beta = 0.02 leaves no neurons"),
    (
        "d too small for alpha0",
        Network("tanh", 1.0, 0.02),
        {},
        r"alpha0 = 0.02 leaves no samples in the step",
    ),
    (
        "d too small for letters",
        SpikedRF("tanh", 1.0, 1.0, beta=0.1, readout="ternary"),
        {},
        "2 neurons for 3",
    ),
    ("d is not whole", NET, {"d": 20.5}, "d = 20.5"),
    ("d is one", NET, {"d": 1}, "at least 2"),
    ("no trials", NET, {"trials": 0}, "trials = 0"),
    ("empty list of trials", NET, {"trials": []}, "trials"),
    ("repeated trials", NET, {"trials": [1, 1]}, "different trial numbers"),
    (
        "more trials than memory",
        NET,
        {"trials": 10**12},
        r"trials = 1000000000000 .* up to 1000000 at a time",
    ),
    ("trials as bytes", NET, {"trials": bytearray(b"12")}, "trials = bytearray"),
    ("trials as a fraction", NET, {"trials": 2.0}, "trials = 2.0 is not allowed"),
    ("progress as a text", NET, {"progress": "yes"}, "progress = 'yes' .* must be True or False"),
    ("alpha as a truth value", NET, {"alpha": np.True_}, "alpha = .* has a truth value"),
    ("points behind a mask", NET, {"learned_at": np.ma.masked_array([[1.0]], [[True]])}, "a masked entry"),
    ("samples for years", NET, {"alpha": 1e12}, "would draw .* samples"),
    ("tests for years", NET, {"n_test": 10**12}, "would draw .* samples"),
    ("infinite lam", NET, {"lam": np.inf}, "lam = inf cannot be simulated"),
    ("negative lam", NET, {"lam": -1.0}, "lam = -1"),
    ("infinite alpha", NET, {"alpha": [1.0, np.inf]}, "alpha = inf is not allowed"),
    ("zero alpha", NET, {"alpha": 0.0}, "alpha = 0 "),
    ("words for numbers", NET, {"alpha": "many"}, "alpha = 'many'"),
    ("infinite alpha0", Network("tanh", 1.0, np.inf), {}, "alpha0 = inf .*equivalent"),
    ("no derivative", Network("sign", 1.0, 1.0), {}, "'sign' has no derivative.*SpikedRF"),
    ("unknown loss", NET, {"loss": "cubic"}, "loss = 'cubic' is unknown; use one of absolute"),
    ("margin loss, real labels", NET, {"loss": "hinge"}, "loss = 'hinge' is for labels ±1"),
    ("no penalty", NET, {"loss": "huber:1", "lam": [0.0, 1.0]}, "lam must be positive with loss = 'huber:1'"),
    ("unknown features", NET, {"features": "linear"}, "features = 'linear'"),
    ("Gaussian features of a network", NET, {"features": "gaussian"}, r"net.equivalent\(target\)"),
    (
        "Gaussian features of a law",
        SpikedRF("tanh", 1, 1, readout="gaussian"),
        {"features": "gaussian"},
        "finite",
    ),
    ("unknown dtype", NET, {"dtype": "float16"}, "dtype = 'float16'"),
    ("unknown backend", NET, {"backend": "abacus"}, "backend = 'abacus'"),
    ("numpy on a GPU", NET, {"backend": "numpy", "device": "cuda"}, "runs on device 'cpu'"),
    ("no workers", NET, {"workers": 0}, "workers = 0"),
    ("negative seed", NET, {"seed": -1}, "seed = -1"),
    ("no test samples", NET, {"n_test": 0}, "n_test = 0"),
]


@pytest.mark.parametrize(
    ("model", "change", "sentence"), [case[1:] for case in REFUSED], ids=[c[0] for c in REFUSED]
)
def test_what_cannot_work_is_refused_with_a_sentence(model, change, sentence):
    with pytest.raises(ParameterError, match=sentence):
        simulate(model, "sin", **FINE | change)


def test_random_features_need_no_derivative():
    assert np.isfinite(simulate(Network("sign", 0.0, 1.0), "sin", **FINE).test_error).all()


def test_cuda_that_is_not_there_is_refused(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)  # as if it were not installed
    with pytest.raises(ParameterError, match=r"needs torch, which is not installed.*giantstep"):
        simulate(NET, "sin", **FINE, device="cuda")


def test_more_memory_than_there_is_is_refused_before_it_is_taken():
    with pytest.raises(ParameterError, match=r"needs about \d+\.\d GiB .* free"):
        simulate(SRF, "sin", **FINE | {"d": 2_000_000})


def test_functions_that_cannot_be_sent_to_workers_are_refused():
    lock = Lock()

    def guarded(x):
        with lock:
            return np.tanh(x)

    model = SpikedRF(Function(guarded), r=0.5, gamma=0.5)
    with pytest.raises(ParameterError, match="workers = 2 sends trials to other processes"):
        simulate(model, "sin", **FINE | {"workers": 2, "trials": 2})


def test_noise_on_binary_labels_is_refused():
    with pytest.raises(ParameterError, match="noise"):
        Target("sign", flips=0.1, noise=0.1)


def peak_of(task: trial.Task) -> int:
    import tracemalloc

    trial.run_trial(task)  # caches and imports
    tracemalloc.start()
    try:
        trial.run_trial(task)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("lams", [(0.1,), (0.0, 0.1), tuple(np.logspace(-2, 0, 8))])
@pytest.mark.parametrize("ratios", [(0.5,), (3.0,), (0.5, 3.0)])
@pytest.mark.parametrize(
    "model",
    [
        NET,
        SpikedRF("tanh", 0.9, 0.8, readout=Letters((1, 2), (0.5, 0.5))),
        Network("tanh", eta=1.0, alpha0=2.0, steps=2, refit=0.1),
    ],
    ids=["a step", "letters", "a readout fitted between steps"],
)
def test_the_memory_estimate_is_an_upper_bound_and_not_a_wild_one(model, ratios, lams):
    d = 400
    points = tuple((round(ratio * d), lam) for ratio in ratios for lam in lams)
    task = trial.Task(model, Target("sin"), d, 0, 0, points)
    estimate, peak = check.needed_bytes(task, make_backend()), peak_of(task)
    assert peak < 1.05 * estimate
    assert estimate < 3 * peak
