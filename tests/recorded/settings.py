"""Questions of every kind, whose answers are recorded: what a change of the code must not change.

Each entry is a name and a function without arguments that gives named arrays. `python -m tests.recorded` records them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import giantstep as gs
from giantstep import Network, SpikedRF, Target

from ..zoo import BIASED, FLIPS, ONE_IN_DISGUISE, PLANE, TILTED, TWO, UNEQUAL

Answers = dict[str, np.ndarray]
SETTINGS: dict[str, Callable[[], Answers]] = {}

_STATISTICS = ["m", "zeta", "psi", "chi", "q1", "q2", "V1", "V2", "c", "r", "gamma"]
_PREDICTED = ["test_error", "train_error", "train_loss", *_STATISTICS, "test_error_01", "train_error_01"]
_SIMULATED = [*_PREDICTED, "overlap", "learned", "optimality"]


def _kept(found: Any, names: list[str]) -> Answers:
    return {name: np.asarray(found[name].values, float) for name in names if name in found}


def _predicted(name: str, model: Any, target: Any, alpha: Any = 1.5, lam: Any = 0.1, **more: Any) -> None:
    SETTINGS[f"predict: {name}"] = lambda: _kept(gs.predict(model, target, alpha=alpha, lam=lam, **more), _PREDICTED)


def _simulated(name: str, model: Any, target: Any, alpha: Any = 1.5, lam: Any = 0.1, **more: Any) -> None:
    options = {"d": 60, "trials": 2, "seed": 5, "progress": False, "alpha": alpha, "lam": lam} | more
    SETTINGS[f"simulate: {name}"] = lambda: _kept(gs.simulate(model, target, **options), _SIMULATED)


def _asked(name: str, names: str, ask: Callable[[], Any]) -> None:
    SETTINGS[name] = lambda: _kept(ask(), names.split())


_A = [0.4, 1.3, 3.0]
_SIGNS, _RELU = SpikedRF("relu", 1.0, 0.8, readout="rademacher"), SpikedRF("relu", 1.0, 0.8)
_TANH = SpikedRF("tanh", 0.8, 0.7)

# spiked random features
_predicted("tanh on sin", SpikedRF("tanh", [0.0, 1.0], 0.8), "sin", _A, [0.01, 0.3])
_predicted("relu on relu, noisy", SpikedRF("relu", 1.0, 0.9, beta=0.7), Target("relu", noise=0.3), _A)
_predicted("sign on sign, sharp", SpikedRF("sign", 1.5, 0.97, c=1.3), "sign", _A)
_predicted("aligned", SpikedRF("erf", 1.7, 1.0), "erf", _A)
_predicted("against the target", SpikedRF("gelu", 0.7, -0.6), "tanh", _A)
_predicted("finite d", SpikedRF("sin", 1.0, 1.0), "sin", _A, d=[100, 1000])
_predicted("ridgeless", _TANH, "sin", [0.4, 0.9, 1.0, 2.0], 0.0)
_predicted("infinite penalty", _TANH, "sin", 1.0, [1e6, np.inf])
_predicted("linear features", SpikedRF("x", 0.8, 0.7, beta=[0.5, 1.5]), "tanh", [0.5, 2.0], 0.0)
_predicted("orthogonal rows", _SIGNS, "relu", _A, bulk="orthogonal", d=500)
_predicted("biases", SpikedRF("tanh", 1.2, 0.9, beta=1.2, readout=BIASED), "relu", _A, d=1000)
_predicted("unequal row norms", SpikedRF("tanh", 1.0, 0.6, readout=UNEQUAL), "tanh", _A, d=1000)
_predicted("ternary", SpikedRF("relu", 1.0, 0.7, readout="ternary"), "relu", _A, d=1000)
_predicted("gaussian letters", SpikedRF("tanh", 0.8, 0.8, readout="gaussian"), "tanh", 1.2, d=1000)
_predicted("labels with flips", SpikedRF("tanh", 1.0, 0.8), FLIPS, _A)
_predicted("logistic labels", _RELU, Target("logistic", scale=2), 1.0)
# networks
_predicted("tanh network", Network("tanh", [1, 3], [0.5, 2]), "sin", _A)
_predicted("relu network", Network("relu", 2, 1), "tanh", _A, [0.01, 0.1])
_predicted("gelu network, finite d", Network("gelu", 1, 0.5, 0.6), "relu", _A, d=300)
_predicted("tanh network, finite d", Network("tanh", 3, 16), "tanh", _A, d=200)
_predicted("noisy network", Network("softplus", 2, 1), Target("tanh", noise=[0.01, 0.3]))
_predicted("isotropic network", Network("relu", 2, 1), "tanh", _A, bulk="isotropic", d=300)
_predicted("no step", Network("tanh", [0, 1], [0, 1]), "sin", 1.0)
_predicted("population gradient", Network("relu", 1, np.inf), "relu", 1.0)
_predicted("letters, tanh", Network("tanh", 3, 0.5, readout=TWO), "tanh", _A, d=1000)
_predicted("letters, relu", Network("relu", 2, 0.5, readout=TWO), "tanh", _A, d=1000)
_predicted("ternary network", Network("gelu", 2, 1, readout="ternary"), Target("sin", noise=0.2), d=1000)
_predicted("biased network", Network("relu", 1, 1, readout=BIASED), "sin", bulk="isotropic", d=1000)
_predicted("other loss in the step", Network("tanh", 3, 1, step_loss="huber:0.5"), Target("sin", noise=0.3))
_predicted("ridgeless network", Network("tanh", 1, 1), "sin", [0.5, 2.0], 0.0)
_predicted("network on signs", Network("tanh", 4, 1), FLIPS, 1.5, 0.3)
# losses
_SRF, _NOISY = SpikedRF("tanh", 1.0, 0.8), Target("sin", noise=0.3)
for _loss in ("logistic", "hinge", "squared_hinge", "exponential"):
    _predicted(_loss, _SRF, FLIPS, [0.7, 2.0], 0.3, loss=_loss)
for _loss in ("huber:0.5", "absolute", "pinball:0.8"):
    _predicted(_loss, _SRF, _NOISY, [0.7, 2.0], 0.3, loss=_loss)
_predicted("logistic network", Network("tanh", 4, 1.0), FLIPS, 1.5, 0.3, loss="logistic")
_predicted("huber network, finite d", Network("relu", 2, 1), Target("tanh", noise=0.3), loss="huber:0.5", d=500)
_PAIR = SpikedRF("relu", 1.0, 0.7, readout="rademacher")
_predicted("logistic, letters", _PAIR, FLIPS, 1.2, 0.3, loss="logistic", d=1000)
_predicted("logistic on logistic labels", _SRF, Target("logistic", scale=2), 1.0, 0.3, loss="logistic")
# two spikes
_predicted("two spikes", TILTED, Target("sin", noise=0.2), [0.8, 1.5], 0.2)
_predicted("two spikes, finite d", PLANE, "relu", 1.2, d=400)
_predicted("one spike in disguise", ONE_IN_DISGUISE, "sin", 0.8, 0.2, d=400)

# further questions
_NET, _WIDE, _LETTERS = Network("tanh", 2, 1), Network("relu", 2, 1), SpikedRF("tanh", 1.2, 0.9, readout=TWO)
_bounds, _learned, _best = "upper lower lower_beta linear", "learned function target", "best_error best_lam best_eta"
_spectrum = "eigenvalue density edge outlier spike_per_d spike mass_at_zero mass moment1 moment2"
_overlaps, _tuned, _at = "overlap_spike overlap_target threshold", f"{_best} best_split landscape", {"alpha": 1.5}
_asked("bounds: spiked", _bounds, lambda: gs.bounds(SpikedRF("tanh", [0.5, 1.5], 0.8), "sin"))
_asked("bounds: network", _bounds, lambda: gs.bounds(Network("relu", [1, 2], 1, readout="rademacher"), "tanh"))
_asked("bounds: over eta", f"{_bounds} eta_lower", lambda: gs.bounds(Network("tanh", 1, 5), "sin", over="eta"))
_asked(
    "learned function: network", _learned, lambda: gs.learned_function(_WIDE, "tanh", [-1.5, 0.0, 0.7], lam=0.1, **_at)
)
_asked(
    "learned function: letters",
    _learned,
    lambda: gs.learned_function(_LETTERS, "sin", [-1.5, 0.7], lam=0.1, d=1000, **_at),
)
_asked("spectrum: spiked", _spectrum, lambda: gs.spectrum(_SRF, target="sin", points=40, **_at))
_asked("spectrum: network", _spectrum, lambda: gs.spectrum(_NET, target="sin", points=30, d=500, **_at))
_asked("weights: network", f"{_spectrum} {_overlaps}", lambda: gs.weight_spectrum(_NET, "sin", d=500, points=40))
_rows = SpikedRF("relu", 1.0, 0.8, beta=1.5)
_asked("weights: spiked", f"{_spectrum} overlap_spike", lambda: gs.weight_spectrum(_rows, d=500, points=40))
_asked("tune: lam", _tuned, lambda: gs.tune(_NET, "sin", bulk="isotropic", **_at))
_asked("tune: eta and lam", _tuned, lambda: gs.tune(_NET, "sin", over=("eta", "lam"), bulk="isotropic", d=1000, **_at))
_asked("tune: exact", _tuned, lambda: gs.tune(_WIDE, "tanh", scan={"lam": [0.01, 0.1, 1.0]}, **_at))
_features = SpikedRF("relu", 1.0, 0.8, readout=TWO)
_asked("coefficients", "mu0 mu1 mu2 dmu0", lambda: gs.coefficients(_features, [-1.0, 0.5]))
# simulated trials
_simulated("network", Network("tanh", [0, 2], 1), "sin", [0.5, 1.5], [0.01, 0.1])
_simulated("relu network, noisy", Network("relu", 1, 2, 0.7), Target("tanh", noise=0.2), learned_at=[-1.0, 0.5])
_simulated("spiked features", SpikedRF("relu", 1.0, 0.8, c=1.2), "relu", [0.5, 1.5])
_simulated("gaussian features", SpikedRF("tanh", 1.0, 0.8, readout=TWO), "sin", features="gaussian")
_simulated("orthogonal rows", _SIGNS, "relu", bulk="orthogonal")
_simulated("letters and biases", Network("relu", 1, 1, readout=BIASED), "sin")
_simulated("gaussian letters", Network("tanh", 1, 1, readout="gaussian"), "sin")
_simulated("flipped labels, logistic", _NET, FLIPS, 1.5, 0.3, loss="logistic")
_simulated("huber, and in the step", Network("tanh", 2, 1, step_loss="huber:0.5"), _NOISY, 1.5, 0.3, loss="huber:0.5")
_simulated("sampled test", _SRF, "sin", n_test=500)
_few = {"d": 40, "trials": 2}
_asked("simulated eigenvalues", "eigenvalue", lambda: gs.simulate_spectrum(_NET, target="sin", **_few, **_at))
