"""Questions of every kind, whose answers are recorded: what a change of the code must not change.

Each entry is a name and a function without arguments that gives named arrays. `python -m tests.recorded` records them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import giantstep as gs

Answers = dict[str, np.ndarray]
SETTINGS: dict[str, Callable[[], Answers]] = {}

_MAIN = (
    "test_error",
    "train_error",
    "train_loss",
    "m",
    "zeta",
    "psi",
    "chi",
    "q1",
    "q2",
    "V1",
    "V2",
    "c",
    "r",
    "gamma",
)
_BINARY = ("test_error_01", "train_error_01")


def _kept(found: Any, names: tuple[str, ...]) -> Answers:
    return {name: np.asarray(found[name].values, float) for name in names if name in found}


def _predicted(name: str, model: Any, target: Any, **readout: Any) -> None:
    SETTINGS[f"predict: {name}"] = lambda: _kept(gs.predict(model, target, **readout), _MAIN + _BINARY)


def _simulated(name: str, model: Any, target: Any, **readout: Any) -> None:
    more = (*_MAIN, *_BINARY, "overlap", "learned", "optimality")
    SETTINGS[f"simulate: {name}"] = lambda: _kept(
        gs.simulate(model, target, **{"d": 60, "trials": 2, "seed": 5, "progress": False} | readout), more
    )


def _asked(name: str, ask: Callable[[], Any], *names: str) -> None:
    SETTINGS[name] = lambda: _kept(ask(), names)


_TWO = gs.Letters((0.5, 1.5), (0.5, 0.5))
_BIASED = gs.Letters((1, -0.5, 1), (0.4, 0.3, 0.3), biases=(0.0, 0.5, -0.7))
_UNEQUAL = gs.Letters((0.5, 2), (0.5, 0.5), c=(1.0, 1.8))
_ALPHAS = [0.4, 1.3, 3.0]
_SIGN = gs.Target("sign", flips=0.1)

# spiked random features
_predicted("tanh on sin", gs.SpikedRF("tanh", r=[0.0, 1.0], gamma=0.8), "sin", alpha=_ALPHAS, lam=[0.01, 0.3])
_predicted(
    "relu on relu, noisy",
    gs.SpikedRF("relu", r=1.0, gamma=0.9, beta=0.7),
    gs.Target("relu", noise=0.3),
    alpha=_ALPHAS,
    lam=0.1,
)
_predicted(
    "sign on sign, sharp", gs.SpikedRF("sign", r=1.5, gamma=0.97, c=1.3), "sign", alpha=_ALPHAS, lam=0.1
)
_predicted("aligned", gs.SpikedRF("erf", r=1.7, gamma=1.0), "erf", alpha=_ALPHAS, lam=0.1)
_predicted("against the target", gs.SpikedRF("gelu", r=0.7, gamma=-0.6), "tanh", alpha=_ALPHAS, lam=0.1)
_predicted("finite d", gs.SpikedRF("sin", r=1.0, gamma=1.0), "sin", alpha=_ALPHAS, lam=0.1, d=[100, 1000])
_predicted("ridgeless", gs.SpikedRF("tanh", r=0.8, gamma=0.7), "sin", alpha=[0.4, 0.9, 1.0, 2.0], lam=0.0)
_predicted("infinite penalty", gs.SpikedRF("tanh", r=0.8, gamma=0.7), "sin", alpha=1.0, lam=[1e6, np.inf])
_predicted(
    "linear features", gs.SpikedRF("x", r=0.8, gamma=0.7, beta=[0.5, 1.5]), "tanh", alpha=[0.5, 2.0], lam=0.0
)
_predicted(
    "orthogonal rows",
    gs.SpikedRF("relu", r=1.0, gamma=0.8, readout="rademacher"),
    "relu",
    alpha=_ALPHAS,
    lam=0.1,
    bulk="orthogonal",
    d=500,
)
_predicted(
    "biases",
    gs.SpikedRF("tanh", r=1.2, gamma=0.9, beta=1.2, readout=_BIASED),
    "relu",
    alpha=_ALPHAS,
    lam=0.1,
    d=1000,
)
_predicted(
    "unequal row norms",
    gs.SpikedRF("tanh", r=1.0, gamma=0.6, readout=_UNEQUAL),
    "tanh",
    alpha=_ALPHAS,
    lam=0.1,
    d=1000,
)
_predicted(
    "ternary",
    gs.SpikedRF("relu", r=1.0, gamma=0.7, readout="ternary"),
    "relu",
    alpha=_ALPHAS,
    lam=0.1,
    d=1000,
)
_predicted(
    "gaussian letters",
    gs.SpikedRF("tanh", r=0.8, gamma=0.8, readout="gaussian"),
    "tanh",
    alpha=1.2,
    lam=0.1,
    d=1000,
)
_predicted("labels with flips", gs.SpikedRF("tanh", r=1.0, gamma=0.8), _SIGN, alpha=_ALPHAS, lam=0.1)
_predicted(
    "logistic labels",
    gs.SpikedRF("relu", r=1.0, gamma=0.8),
    gs.Target("logistic", scale=2),
    alpha=1.0,
    lam=0.1,
)
# networks
_predicted("tanh network", gs.Network("tanh", eta=[1, 3], alpha0=[0.5, 2]), "sin", alpha=_ALPHAS, lam=0.1)
_predicted("relu network", gs.Network("relu", eta=2, alpha0=1), "tanh", alpha=_ALPHAS, lam=[0.01, 0.1])
_predicted(
    "gelu network, finite d",
    gs.Network("gelu", eta=1, alpha0=0.5, beta=0.6),
    "relu",
    alpha=_ALPHAS,
    lam=0.1,
    d=300,
)
_predicted(
    "tanh network, finite d", gs.Network("tanh", eta=3, alpha0=16), "tanh", alpha=_ALPHAS, lam=0.1, d=200
)
_predicted(
    "noisy network",
    gs.Network("softplus", eta=2, alpha0=1),
    gs.Target("tanh", noise=[0.01, 0.3]),
    alpha=1.5,
    lam=0.1,
)
_predicted(
    "isotropic network",
    gs.Network("relu", eta=2, alpha0=1),
    "tanh",
    alpha=_ALPHAS,
    lam=0.1,
    bulk="isotropic",
    d=300,
)
_predicted("no step", gs.Network("tanh", eta=[0, 1], alpha0=[0, 1]), "sin", alpha=1.0, lam=0.1)
_predicted("population gradient", gs.Network("relu", eta=1, alpha0=np.inf), "relu", alpha=1.0, lam=0.1)
_predicted(
    "letters, tanh",
    gs.Network("tanh", eta=3, alpha0=0.5, readout=_TWO),
    "tanh",
    alpha=_ALPHAS,
    lam=0.1,
    d=1000,
)
_predicted(
    "letters, relu",
    gs.Network("relu", eta=2, alpha0=0.5, readout=_TWO),
    "tanh",
    alpha=_ALPHAS,
    lam=0.1,
    d=1000,
)
_predicted(
    "ternary network",
    gs.Network("gelu", eta=2, alpha0=1, readout="ternary"),
    gs.Target("sin", noise=0.2),
    alpha=1.5,
    lam=0.1,
    d=1000,
)
_predicted(
    "biased network",
    gs.Network("relu", eta=1, alpha0=1, readout=_BIASED),
    "sin",
    alpha=1.5,
    lam=0.1,
    bulk="isotropic",
    d=1000,
)
_predicted(
    "other loss in the step",
    gs.Network("tanh", eta=3, alpha0=1, step_loss="huber:0.5"),
    gs.Target("sin", noise=0.3),
    alpha=1.5,
    lam=0.1,
)
_predicted("ridgeless network", gs.Network("tanh", eta=1, alpha0=1), "sin", alpha=[0.5, 2.0], lam=0.0)
_predicted("network on signs", gs.Network("tanh", eta=4, alpha0=1), _SIGN, alpha=1.5, lam=0.3)
# losses
_SRF, _NET = gs.SpikedRF("tanh", r=1.0, gamma=0.8), gs.Network("tanh", eta=4, alpha0=1.0)
for _loss in ("logistic", "hinge", "squared_hinge", "exponential"):
    _predicted(_loss, _SRF, _SIGN, alpha=[0.7, 2.0], lam=0.3, loss=_loss)
for _loss in ("huber:0.5", "absolute", "pinball:0.8"):
    _predicted(_loss, _SRF, gs.Target("sin", noise=0.3), alpha=[0.7, 2.0], lam=0.3, loss=_loss)
_predicted("logistic network", _NET, _SIGN, alpha=1.5, lam=0.3, loss="logistic")
_predicted(
    "huber network, finite d",
    gs.Network("relu", eta=2, alpha0=1),
    gs.Target("tanh", noise=0.3),
    alpha=1.5,
    lam=0.1,
    loss="huber:0.5",
    d=500,
)
_predicted(
    "logistic, letters",
    gs.SpikedRF("relu", r=1.0, gamma=0.7, readout="rademacher"),
    _SIGN,
    alpha=1.2,
    lam=0.3,
    loss="logistic",
    d=1000,
)
_predicted(
    "logistic on logistic labels", _SRF, gs.Target("logistic", scale=2), alpha=1.0, lam=0.3, loss="logistic"
)
# two spikes
_PAIR = gs.TwoSpikes(
    "tanh", (1.2, 1.0), (0.5, 0.7), ((1, 0.5), (0.3, 1), (-1, 1)), (0.4, 0.3, 0.3), c=1.2, beta=1.3
)
_predicted("two spikes", _PAIR, gs.Target("sin", noise=0.2), alpha=[0.8, 1.5], lam=0.2)
_predicted(
    "two spikes, finite d",
    gs.TwoSpikes("relu", (1.0, 0.8), (0.6, 0.5), ((1, 1), (1, -1)), (0.5, 0.5)),
    "relu",
    alpha=1.2,
    lam=0.1,
    d=400,
)
_predicted(
    "one spike in disguise",
    gs.TwoSpikes("tanh", (1.2, 0.7), (0.5, 0.7), ((1, 2), (0.5, 1)), (0.4, 0.6)),
    "sin",
    alpha=0.8,
    lam=0.2,
    d=400,
)
# further questions
_bounds = ("upper", "lower", "lower_beta", "linear")
_asked("bounds: spiked", lambda: gs.bounds(gs.SpikedRF("tanh", r=[0.5, 1.5], gamma=0.8), "sin"), *_bounds)
_asked(
    "bounds: network",
    lambda: gs.bounds(gs.Network("relu", eta=[1, 2], alpha0=1, readout="rademacher"), "tanh"),
    *_bounds,
)
_asked(
    "bounds: over eta",
    lambda: gs.bounds(gs.Network("tanh", eta=1, alpha0=5), "sin", over="eta"),
    *_bounds,
    "eta_lower",
)
_asked(
    "learned function: network",
    lambda: gs.learned_function(
        gs.Network("relu", eta=2, alpha0=1), "tanh", x=[-1.5, 0.0, 0.7], alpha=1.5, lam=0.1
    ),
    "learned",
    "function",
    "target",
)
_asked(
    "learned function: letters",
    lambda: gs.learned_function(
        gs.SpikedRF("tanh", r=1.2, gamma=0.9, readout=_TWO), "sin", x=[-1.5, 0.7], alpha=1.5, lam=0.1, d=1000
    ),
    "learned",
    "function",
    "target",
)
_spectrum = (
    "eigenvalue",
    "density",
    "edge",
    "outlier",
    "spike_per_d",
    "spike",
    "mass_at_zero",
    "mass",
    "moment1",
    "moment2",
)
_asked(
    "spectrum: spiked",
    lambda: gs.spectrum(gs.SpikedRF("tanh", r=1.0, gamma=0.8), alpha=1.5, target="sin", points=40),
    *_spectrum,
)
_asked(
    "spectrum: network",
    lambda: gs.spectrum(gs.Network("tanh", eta=2, alpha0=1), alpha=1.5, target="sin", points=30, d=500),
    *_spectrum,
)
_asked(
    "weights: network",
    lambda: gs.weight_spectrum(gs.Network("tanh", eta=2, alpha0=1), "sin", d=500, points=40),
    *_spectrum,
    "overlap_spike",
    "overlap_target",
    "threshold",
)
_asked(
    "weights: spiked",
    lambda: gs.weight_spectrum(gs.SpikedRF("relu", r=1.0, gamma=0.8, beta=1.5), d=500, points=40),
    *_spectrum,
    "overlap_spike",
)
_best = ("best_error", "best_lam", "best_eta", "best_split", "landscape")
_asked(
    "tune: lam",
    lambda: gs.tune(gs.Network("tanh", eta=2, alpha0=1), "sin", alpha=1.5, bulk="isotropic"),
    *_best,
)
_asked(
    "tune: eta and lam",
    lambda: gs.tune(
        gs.Network("tanh", eta=2, alpha0=1), "sin", alpha=1.5, over=("eta", "lam"), bulk="isotropic", d=1000
    ),
    *_best,
)
_asked(
    "tune: exact",
    lambda: gs.tune(gs.Network("relu", eta=2, alpha0=1), "tanh", alpha=1.5, scan={"lam": [0.01, 0.1, 1.0]}),
    *_best,
)
_asked(
    "coefficients",
    lambda: gs.coefficients(gs.SpikedRF("relu", r=1.0, gamma=0.8, readout=_TWO), [-1.0, 0.5]),
    "mu0",
    "mu1",
    "mu2",
    "dmu0",
)


def _both_bulks() -> Answers:
    net = gs.Network("tanh", eta=3, alpha0=0.5)
    exact, isotropic = (
        gs.predict(net, "sin", alpha=1.5, lam=0.1, bulk=bulk).test_error.values
        for bulk in ("exact", "isotropic")
    )
    return {"exact": exact, "isotropic": isotropic, "gap": isotropic / exact - 1.0}


SETTINGS["isotropy gap"] = _both_bulks
SETTINGS["equivalent"] = lambda: {
    name: np.asarray(
        getattr(gs.Network("relu", eta=[1.0, 2.0], alpha0=1).equivalent(gs.Target("tanh", noise=0.2)), name),
        float,
    )
    for name in ("r", "gamma", "c")
}
# simulated trials
_simulated("network", gs.Network("tanh", eta=[0, 2], alpha0=1), "sin", alpha=[0.5, 1.5], lam=[0.01, 0.1])
_simulated(
    "relu network, noisy",
    gs.Network("relu", eta=1, alpha0=2, beta=0.7),
    gs.Target("tanh", noise=0.2),
    alpha=1.5,
    lam=0.1,
    learned_at=[-1.0, 0.5],
)
_simulated("spiked features", gs.SpikedRF("relu", r=1.0, gamma=0.8, c=1.2), "relu", alpha=[0.5, 1.5], lam=0.1)
_simulated(
    "gaussian features",
    gs.SpikedRF("tanh", r=1.0, gamma=0.8, readout=_TWO),
    "sin",
    alpha=1.5,
    lam=0.1,
    features="gaussian",
)
_simulated(
    "orthogonal rows",
    gs.SpikedRF("relu", r=1.0, gamma=0.8, readout="rademacher"),
    "relu",
    alpha=1.5,
    lam=0.1,
    bulk="orthogonal",
)
_simulated(
    "letters and biases", gs.Network("relu", eta=1, alpha0=1, readout=_BIASED), "sin", alpha=1.5, lam=0.1
)
_simulated(
    "gaussian letters", gs.Network("tanh", eta=1, alpha0=1, readout="gaussian"), "sin", alpha=1.5, lam=0.1
)
_simulated(
    "flipped labels, logistic",
    gs.Network("tanh", eta=2, alpha0=1),
    _SIGN,
    alpha=1.5,
    lam=0.3,
    loss="logistic",
)
_simulated(
    "huber, and in the step",
    gs.Network("tanh", eta=2, alpha0=1, step_loss="huber:0.5"),
    gs.Target("sin", noise=0.3),
    alpha=1.5,
    lam=0.3,
    loss="huber:0.5",
)
_simulated("sampled test", gs.SpikedRF("tanh", r=1.0, gamma=0.8), "sin", alpha=1.5, lam=0.1, n_test=500)
_asked(
    "simulated eigenvalues",
    lambda: gs.simulate_spectrum(
        gs.Network("tanh", eta=2, alpha0=1), alpha=1.5, target="sin", d=40, trials=2
    ),
    "eigenvalue",
)
