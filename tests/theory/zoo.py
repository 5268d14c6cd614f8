"""One list of problems for all tests of the theory: named, small, and chosen to be awkward in different ways."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import giantstep as gs


@dataclass(frozen=True)
class Case:
    """Spiked random features and a target, with one setting of the readout."""

    name: str
    activation: str
    target: str
    r: float = 1.0
    gamma: float = 0.8
    c: float = 1.0
    beta: float = 1.0
    alpha: float = 1.5
    lam: float = 0.1
    noise: float = 0.0
    d: float = float("inf")

    @property
    def model(self) -> gs.SpikedRF:
        return gs.SpikedRF(self.activation, r=self.r, gamma=self.gamma, c=self.c, beta=self.beta)

    @property
    def label(self) -> gs.Target:
        return gs.Target(self.target, noise=self.noise)

    def predict(self, **options: Any):
        return gs.predict(self.model, self.label, alpha=self.alpha, lam=self.lam, d=self.d, **options)

    def but(self, **changes: Any) -> Case:
        return replace(self, **changes)


@dataclass(frozen=True)
class Trained:
    """A network and a target, for the exact bulk: the gradient step's parameters, and the readout's letters."""

    name: str
    activation: str
    target: str
    eta: float = 2.0
    alpha0: float = 0.8
    beta: float = 1.0
    noise: float = 0.0
    letters: tuple[tuple[float, ...], tuple[float, ...]] = field(default=((1.0,), (1.0,)))
    biases: tuple[float, ...] | None = None

    @property
    def model(self) -> gs.Network:
        readout = gs.Letters(*self.letters, self.biases)
        return gs.Network(self.activation, eta=self.eta, alpha0=self.alpha0, beta=self.beta, readout=readout)

    @property
    def label(self) -> gs.Target:
        return gs.Target(self.target, noise=self.noise)


CASES = [
    Case("tanh on sin", "tanh", "sin"),
    Case("narrow", "tanh", "sin", beta=0.01, alpha=0.5),
    Case("wide", "tanh", "tanh", beta=100.0, alpha=3.0),
    Case("few samples", "erf", "sin", alpha=0.05, lam=0.5),
    Case("many samples", "erf", "He3", alpha=100.0, beta=2.0),
    Case("noisy", "tanh", "sin", noise=0.7, lam=0.01),
    Case("noisy at finite size", "tanh", "relu", noise=0.4, d=200.0),
    Case("finite size", "relu", "sin", d=50.0, c=1.4),
    Case("unaligned", "tanh", "He2", gamma=0.0, r=1.7),
    Case("aligned", "softplus", "tanh", gamma=1.0, r=0.6),
    Case("misaligned", "gelu", "sin", gamma=-0.6, r=1.2),
    Case("almost aligned, kinked", "relu", "abs", gamma=0.99),
    Case("jump on jump", "sign", "sign", gamma=0.9, r=0.7),
    Case("steep spike", "tanh", "sin", r=12.0, gamma=0.7),
    Case("strong spike, large bulk", "hard_tanh", "sin", r=6.0, c=9.0, gamma=0.5),
    Case("small bulk", "sin", "tanh", c=0.1, r=0.9),
    Case("large bulk", "relu", "relu", c=30.0, r=2.0),
    Case("even activation", "cos", "He2", r=1.3, gamma=0.9),
    Case("polynomial", "He3", "He3", r=0.5, gamma=0.7, lam=1.0),
    Case("almost interpolating", "tanh", "sin", alpha=1.0, lam=1e-4),
    Case("almost ridgeless", "erf", "tanh", alpha=0.4, beta=1.3, lam=1e-7, r=0.6),
    Case("heavy ridge", "tanh", "sin", lam=1e4),
    Case("random features, not odd", "relu", "sin", r=0.0, gamma=0.3),
    Case("random features, odd", "tanh", "sin", r=0.0, gamma=0.3),
    Case("negative spike", "softplus", "sin", r=-1.1),
]

# the pairs for which the accuracy of test_error is shown by refinement
KINKED = [("relu", "relu"), ("tanh", "sign"), ("sign", "sign"), ("hard_tanh", "abs"), ("tanh", "sin")]

TRAINED = [
    Trained("odd", "tanh", "sin"),
    Trained("odd, noisy, little data", "erf", "tanh", eta=3.0, alpha0=0.4, beta=0.7, noise=0.4),
    Trained("kinked target", "tanh", "sign", eta=1.5),
    Trained("not odd", "relu", "tanh", eta=1.2, alpha0=0.6),
    Trained("not odd, curved target", "softplus", "relu", eta=1.5, alpha0=1.5, noise=0.2),
    Trained("odd letters", "tanh", "sin", letters=((0.5, 1.5), (0.4, 0.6))),
    Trained("letters", "gelu", "sin", eta=1.4, letters=((-1.0, 0.0, 1.0), (0.25, 0.5, 0.25))),
    Trained("shifted", "tanh(x + 0.4)", "tanh", eta=1.5, letters=((0.5, 1.0), (0.5, 0.5))),
    Trained("odd letters, the last one silent", "tanh", "sin", letters=((1.0, 0.0), (0.5, 0.5))),
    Trained("biases", "tanh", "sin", eta=1.5, letters=((0.5, 1.0), (0.4, 0.6)), biases=(0.6, -0.3)),
    Trained("biases, not odd", "relu", "tanh", eta=1.2, letters=((-1.0, 1.0), (0.5, 0.5)), biases=(0.5, 0.2)),
]


def named(cases: list[Any]) -> Any:
    """pytest ids."""
    return [case.name for case in cases]
