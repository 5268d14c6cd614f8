"""One list of settings for all tests: models, letters, targets, and named cases that are awkward in different ways."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import giantstep as gs
from giantstep import Letters, Network, SpikedRF, Target

MIX, PRODUCT, SHIFTED = "(x**2 - 1)/2 + x", "x1 + x1*x2", "tanh(x + 0.5)"

SIGNS = Letters((-1, 1), (0.5, 0.5))
TWO_SIGNS = Letters((-1, 1), (0.4, 0.6))
TWO = Letters((0.5, 1.5), (0.5, 0.5))
THREE = Letters((0, 1, 2), (0.3, 0.4, 0.3))
TERNARY = Letters((-1, 0, 1), (0.25, 0.5, 0.25))
UNEQUAL = Letters((0.5, 2), (0.5, 0.5), c=(1.0, 1.8))
BIASED = Letters((1, -0.5, 1), (0.4, 0.3, 0.3), biases=(0.0, 0.5, -0.7))
BIASES = Letters((1, 1), (0.5, 0.5), biases=(-0.5, 0.5))

FLIPS = Target("sign", flips=0.1)
PLANE = gs.TwoSpikes("relu", (1.0, 0.8), (0.6, 0.5), ((1, 1), (1, -1)), (0.5, 0.5))
TILTED = gs.TwoSpikes("tanh", (1.2, 1.0), (0.5, 0.7), ((1, 0.5), (0.3, 1), (-1, 1)), (0.4, 0.3, 0.3), c=1.2, beta=1.3)
ONE_IN_DISGUISE = gs.TwoSpikes("tanh", (1.2, 0.7), (0.5, 0.7), ((1, 2), (0.5, 1)), (0.4, 0.6))

BLOCKS, THREE_BLOCKS = ((2.5, 0.5), (0.25, 0.75)), ((3, 1, 0.2), (0.1, 0.6, 0.3))  # eigenvalues and masses
TOGETHER = [[[0.5, 0.3], [0.3, 0.4]], [[0.5, -0.3], [-0.3, 0.6]]]  # two directions that share eigenvalues


@dataclass(frozen=True)
class Case:
    """One setting: a model, a target and a readout, at one alpha and one lam."""

    name: str
    model: Any
    target: Any
    alpha: float = 1.5
    lam: float = 0.1
    options: dict[str, Any] = field(default_factory=dict)  # for predict and simulate: bulk, loss
    simulated: dict[str, Any] = field(default_factory=dict)  # for simulate alone: features, n_test
    trials: int = 40  # as many as a standard error of 1 % takes at d = 250, with a margin
    apart: bool = True  # whether spikes differ by more than chance, so that zeta and q1 can be told

    @property
    def label(self) -> Target:
        return self.target if isinstance(self.target, Target) else Target(self.target)

    def predict(self, **more: Any):
        options = {"alpha": self.alpha, "lam": self.lam} | self.options | more
        return gs.predict(self.model, self.target, **options)

    def simulate(self, **more: Any):
        options = {"alpha": self.alpha, "lam": self.lam, "trials": self.trials, "progress": False}
        return gs.simulate(self.model, self.target, **options | self.options | self.simulated | more)

    def but(self, **changes: Any) -> Case:
        return replace(self, **changes)


def named(cases: list[Case]) -> list[str]:
    """pytest ids."""
    return [case.name for case in cases]


def spiked(name: str, activation: str, function: str, alpha=1.5, lam=0.1, noise=0.0, d=None, **more: Any) -> Case:
    """Spiked random features with a spike of strength 1 and alignment 0.8, unless told otherwise."""
    model = SpikedRF(activation, **{"r": 1.0, "gamma": 0.8} | more)
    return Case(name, model, Target(function, noise=noise), alpha, lam, {} if d is None else {"d": d})


# one group and the square loss, for the plain reference
SCALAR = [
    spiked("tanh on sin", "tanh", "sin"),
    spiked("narrow", "tanh", "sin", beta=0.01, alpha=0.5),
    spiked("wide", "tanh", "tanh", beta=100.0, alpha=3.0),
    spiked("few samples", "erf", "sin", alpha=0.05, lam=0.5),
    spiked("many samples", "erf", "He3", alpha=100.0, beta=2.0),
    spiked("noisy", "tanh", "sin", noise=0.7, lam=0.01),
    spiked("noisy at finite size", "tanh", "relu", noise=0.4, d=200.0),
    spiked("finite size", "relu", "sin", d=50.0, c=1.4),
    spiked("unaligned", "tanh", "He2", gamma=0.0, r=1.7),
    spiked("aligned", "softplus", "tanh", gamma=1.0, r=0.6),
    spiked("misaligned", "gelu", "sin", gamma=-0.6, r=1.2),
    spiked("almost aligned, kinked", "relu", "abs", gamma=0.99),
    spiked("jump on jump", "sign", "sign", gamma=0.9, r=0.7),
    spiked("steep spike", "tanh", "sin", r=12.0, gamma=0.7),
    spiked("strong spike, large bulk", "hard_tanh", "sin", r=6.0, c=9.0, gamma=0.5),
    spiked("small bulk", "sin", "tanh", c=0.1, r=0.9),
    spiked("large bulk", "relu", "relu", c=30.0, r=2.0),
    spiked("even activation", "cos", "He2", r=1.3, gamma=0.9),
    spiked("polynomial", "He3", "He3", r=0.5, gamma=0.7, lam=1.0),
    spiked("almost interpolating", "tanh", "sin", alpha=1.0, lam=1e-4),
    spiked("almost ridgeless", "erf", "tanh", alpha=0.4, beta=1.3, lam=1e-7, r=0.6),
    spiked("heavy ridge", "tanh", "sin", lam=1e4),
    spiked("random features, not odd", "relu", "sin", r=0.0, gamma=0.3),
    spiked("random features, odd", "tanh", "sin", r=0.0, gamma=0.3),
    spiked("negative spike", "softplus", "sin", r=-1.1),
]

RIDGELESS = [
    spiked("interpolating", "erf", "tanh", 0.5, 0.0, beta=1.5, r=0.5, noise=0.3),
    spiked("interpolating, kinked", "relu", "sin", 0.7, 0.0, beta=2.0, r=0.4),
    spiked("interpolating at finite size", "softplus", "sin", 0.4, 0.0, r=0.4, d=300.0),
    spiked("overdetermined", "tanh", "sin", 2.5, 0.0, beta=0.8, noise=0.3),
    spiked("overdetermined, kinked", "relu", "abs", 4.0, 0.0, r=1.4, gamma=0.6),
    spiked("linear, few samples", "identity", "sin", 0.4, 0.0, beta=0.7, noise=0.2),
    spiked("linear, few samples, wide", "identity", "sin", 0.5, 0.0, beta=2.5, noise=0.2),
    spiked("linear, more samples than features", "identity", "sin", 1.4, 0.0, beta=0.7, noise=0.2),
]


def trained(name: str, activation: str, target: Any, eta=2.0, alpha0=0.8, **more: Any) -> Case:
    return Case(name, Network(activation, eta=eta, alpha0=alpha0, **more), target)


# steps of equal rates on batches of equal size, for the exact bulk
TRAINED = [
    trained("odd", "tanh", "sin"),
    trained("odd, noisy, little data", "erf", Target("tanh", noise=0.4), 3.0, 0.4, beta=0.7),
    trained("kinked target", "tanh", "sign", 1.5),
    trained("not odd", "relu", "tanh", 1.2, 0.6),
    trained("not odd, curved target", "softplus", Target("relu", noise=0.2), 1.5, 1.5),
    trained("odd letters", "tanh", "sin", readout=Letters((0.5, 1.5), (0.4, 0.6))),
    trained("letters", "gelu", "sin", 1.4, readout=TERNARY),
    trained("shifted", "tanh(x + 0.4)", "tanh", 1.5, readout=Letters((0.5, 1.0), (0.5, 0.5))),
    trained("odd letters, the last one silent", "tanh", "sin", readout=Letters((1.0, 0.0), (0.5, 0.5))),
    trained("biases", "tanh", "sin", 1.5, readout=Letters((0.5, 1.0), (0.4, 0.6), (0.6, -0.3))),
    trained("biases, not odd", "relu", "tanh", 1.2, readout=Letters((-1.0, 1.0), (0.5, 0.5), (0.5, 0.2))),
    trained("two steps", "relu", "tanh", 1.0, 1.5, steps=2),
    trained("small biases", SHIFTED, MIX, 1.5, 1.5, bias_scale=2.0),
    trained("three steps, small biases", "gelu", "tanh", 1.0, 2.0, steps=3, bias_scale=2.0),
]


# theory against simulation

SPIKED = [
    Case("tanh on tanh", SpikedRF("tanh", 1.0, 0.8), "tanh", 1.2, 0.1, trials=110),
    Case("tanh on sin, wide", SpikedRF("tanh", 1.5, 0.6, beta=1.8), "sin", 0.8, 0.1, trials=60),
    Case("tanh on sign, noisy", SpikedRF("tanh", 0.8, 0.9, c=1.3), Target("sign", noise=0.3), 2.0, 0.3),
    Case("tanh on relu", SpikedRF("tanh", 0.7, 0.4, beta=0.5), "relu", 1.5, 0.2),
    Case("erf on sin", SpikedRF("erf", 1.2, 0.7, beta=0.6), "sin", 1.0, 0.05, trials=110),
    Case("erf on erf, aligned", SpikedRF("erf", 1.7, 1.0, c=1.1), "erf", 0.7, 0.1, trials=90),
    Case("sin on sign", SpikedRF("sin", 1.0, 0.8, beta=1.3), "sign", 0.9, 0.1),
    Case("sin on tanh, unaligned", SpikedRF("sin", 0.9, 0.0), "tanh", 1.6, 0.2),
    Case("relu on relu", SpikedRF("relu", 1.0, 0.9), "relu", 1.4, 0.1, trials=130),
    Case("relu on tanh, wide", SpikedRF("relu", 0.6, 0.5, beta=2.0), "tanh", 0.6, 0.3),
    Case("relu on sin, noisy", SpikedRF("relu", 1.3, 0.7, beta=0.7), Target("sin", noise=0.5), 2.5, 0.2),
    Case("sign on tanh", SpikedRF("sign", 1.0, 0.8), "tanh", 1.1, 0.3, trials=60),
    Case("sign on sign, narrow", SpikedRF("sign", 1.5, 0.95, beta=0.5), "sign", 1.3, 0.2, trials=50),
    Case("random features", SpikedRF("tanh", 0.0, 0.0), "tanh", 1.5, 0.1, trials=140),
    Case("random features, relu", SpikedRF("relu", 0.0, 0.0, beta=1.4), Target("relu", noise=0.2), 2.0, 0.2),
    Case("strong spike", SpikedRF("tanh", 3.0, 0.9, beta=1.5), "sin", 2.0, 0.5),
]

_SQUARE_ROWS = {"bulk": "orthogonal"}
LETTERS = [
    Case("rademacher relu on relu", SpikedRF("relu", 1.0, 0.9, readout="rademacher"), "relu", 1.4, trials=60),
    Case("ternary tanh", SpikedRF("tanh", 1.3, 0.8, beta=0.6, readout=TERNARY), "sin", 1.1, 0.1),
    Case("ternary relu", SpikedRF("relu", 1.0, 0.7, beta=1.8, readout=TERNARY), "relu", 1.6, 0.1),
    Case("unequal row norms", SpikedRF("tanh", 1.0, 0.6, readout=UNEQUAL), Target("tanh", noise=0.3), 1.5, 0.2),
    Case("biases", SpikedRF("tanh", 1.2, 0.9, beta=1.2, readout=BIASED), "relu", 1.3, 0.1),
    Case("aligned rademacher", SpikedRF("relu", 1.0, 1.0, readout="rademacher"), "relu", 2.0, 0.1),
    Case("projector", SpikedRF("relu", 1.0, 0.8, readout="rademacher"), "relu", 1.5, 0.1, _SQUARE_ROWS),
    Case("gaussian letters", SpikedRF("tanh", 0.8, 0.8, readout="gaussian:20"), "tanh", 1.2, 0.1),
]

_HUBER, _LOGISTIC = {"loss": "huber:0.5"}, {"loss": "logistic"}
NETWORKS = [
    Case("tanh on tanh, eta 1", Network("tanh", 1, 0.3), "tanh"),
    Case("tanh on tanh, eta 3", Network("tanh", 3, 0.5), "tanh"),
    Case("tanh on tanh, eta 6", Network("tanh", 6, 1.0), "tanh", 3.0),
    Case("tanh on sin, eta 3", Network("tanh", 3, 0.3, 0.5), "sin"),
    Case("tanh on sin, eta 6, wide", Network("tanh", 6, 0.5, 2.0), "sin", 1.0),
    Case("erf on tanh", Network("erf", 3, 0.5), "tanh"),
    Case("erf on sign, wide", Network("erf", 6, 0.5, 2.0), "sign", 1.2, 0.3),
    Case("erf on sin, eta 1", Network("erf", 1, 0.3, 0.5), "sin", 2.0),
    Case("sin on sin", Network("sin", 3, 1.0), "sin"),
    Case("sin on tanh, wide", Network("sin", 3, 0.5, 2.0), "tanh", 0.8, 0.2),
    Case("relu on tanh", Network("relu", 1, 0.5), "tanh"),
    Case("relu on relu, eta 3", Network("relu", 3, 1.0), "relu"),
    Case("relu on sin, wide", Network("relu", 3, 0.5, 2.0), "sin", 1.0, 0.2),
    Case("relu on He2", Network("relu", 1, 1.0), "He2", 2.0, 0.3),
    Case("softplus on relu", Network("softplus", 3, 0.5), "relu"),
    Case("softplus on tanh, eta 6", Network("softplus", 6, 1.0), "tanh", 2.0),
    Case("gelu on relu", Network("gelu", 1, 0.3), "relu"),
    Case("gelu on sin, narrow", Network("gelu", 1, 0.5, 0.5), "sin", 1.5, 0.2),
    Case("noise, tanh", Network("tanh", 3, 0.5), Target("tanh", noise=0.3)),
    Case("noise, relu", Network("relu", 2, 0.5), Target("tanh", noise=0.3)),
    Case("letters .5 1.5, tanh", Network("tanh", 3, 0.5, readout=TWO), "tanh"),
    Case("letters 0 1 2, tanh", Network("tanh", 2, 0.5, readout=THREE), Target("sin", noise=0.2)),
    Case("letters .5 1.5, relu", Network("relu", 2, 0.5, readout=TWO), "tanh"),
    Case("letters 0 1 2, softplus", Network("softplus", 2, 0.5, readout=THREE), "relu"),
    Case("rademacher, gelu", Network("gelu", 2, 0.5, readout="rademacher"), "relu"),
    Case("ternary, tanh", Network("tanh", 3, 1.0, readout="ternary"), "tanh"),
    Case("no step", Network("tanh", 0, 0), "tanh"),
    Case("logistic readout", Network("tanh", 4, 1.0), FLIPS, 1.5, 0.3, _LOGISTIC),
    Case("huber readout", Network("tanh", 3, 0.5), Target("sin", noise=0.3), 1.5, 0.3, _HUBER),
    Case("huber step", Network("tanh", 5, 0.5, step_loss="huber:0.5"), Target("sin", noise=0.2), 1.5, 0.3),
    Case("logistic step", Network("relu", 3, 0.5, step_loss="logistic"), FLIPS, 1.5, 0.3),
    Case("biases, tanh", Network("tanh", 3, 0.5, readout=BIASED), "sin"),
    Case("biases, relu", Network("relu", 2, 0.5, readout=BIASED), "tanh"),
]


def steps(activation: str, etas: Any, alphas: Any = None, beta: float = 1.0, **more: Any) -> Network:
    """A network after steps of these rates on batches of these sizes; of size d if they are left out."""
    sizes = [1.0] * len(etas) if alphas is None else alphas
    return Network(activation, steps=[gs.Step(eta, n) for eta, n in zip(etas, sizes, strict=True)], beta=beta, **more)


SEVERAL_STEPS = [
    Case("two steps, tanh on sin", steps("tanh", (2, 2)), "sin"),
    Case("weak steps, tanh on tanh", steps("tanh", (0.7, 0.7), (2, 2), 0.7), "tanh", 1.2),
    Case("strong steps, tanh on sin", steps("tanh", (6, 4), (0.5, 1)), "sin", 2.0, 0.3),
    Case("three steps, noise, tanh", steps("tanh", (2, 2, 2)), Target("sin", noise=0.3)),
    Case("four steps, tanh on sin", steps("tanh", (1.5,) * 4), "sin", 1.5, 0.2),
    Case("two steps, erf on sign, wide", steps("erf", (3, 2), (1, 1), 1.6), "sign", 1.2, 0.3),
    Case("two steps, relu on tanh", steps("relu", (1.5, 1)), "tanh"),
    Case("three steps, relu on relu", steps("relu", (1, 1, 1)), "relu"),
    Case("two steps, relu on a parabola", steps("relu", (2, 1.5), (2, 1)), MIX),
    Case("two steps, noise, gelu on relu", steps("gelu", (2, 2), (0.8, 0.8)), Target("relu", noise=0.2)),
    Case("three steps, gelu on a parabola", steps("gelu", (1.5,) * 3, (2, 1, 1)), MIX),
    Case("letters .5 1.5, two steps, tanh", steps("tanh", (2, 2), readout=TWO), "sin"),
    Case("letters ±1, two steps, relu", steps("relu", (2, 2), readout="rademacher"), "tanh"),
    Case("letters ±1, three steps, gelu", steps("gelu", (2,) * 3, readout="rademacher"), "sin"),
    Case(
        "letters -1 0 1, two steps, gelu",
        steps("gelu", (1.5, 1.5), (1.5, 1.5), readout="ternary"),
        Target("sin", noise=0.2),
    ),
    Case("gaussian rows, two steps, gelu, wide", steps("gelu", (3, 1.5), (4, 2), 3, rows="gaussian"), MIX, 2.0),
    # its two spikes differ by 0.07, hardly more than means of rows do by chance, and an m of -4 magnifies that: zeta
    # across the first is 0.06, 0.06, 0.02 off at d = 300, 600, 2400, while errors agree
    Case("biases, two steps, relu", steps("relu", (1.5, 1), readout=BIASES), "tanh", apart=False),
    Case("huber readout, two steps", steps("tanh", (2, 2)), Target("sin", noise=0.3), 1.5, 0.3, _HUBER),
    Case("logistic readout, two steps", steps("relu", (2, 1.5)), FLIPS, 1.5, 0.3, _LOGISTIC),
    Case(
        "logistic readout, letters ±1, two steps",
        steps("relu", (2, 2), readout="rademacher"),
        FLIPS,
        1.5,
        0.3,
        _LOGISTIC,
    ),
]


_HUBER_STEP = [gs.Step(1, 1), gs.Step(2, 0.5, loss="huber:0.3")]
_ABSOLUTE_STEP = [gs.Step(1, 1), gs.Step(2, 0.5, loss="absolute")]
_NOISY_PRODUCT = Target(PRODUCT, noise=0.2)
_THREE_SIGNS = Target("sign(x1)*sign(x2 + x3 + 0.5)", flips=0.1)

# two spikes, losses of steps that bend, signs of several directions, a target that oscillates
FURTHER = [
    Case("two spikes, relu", PLANE, "relu"),
    Case("two spikes, tanh", TILTED, Target("sin", noise=0.2), 1.2, 0.2),
    Case("two spikes on signs", PLANE, FLIPS, 1.2, 0.2),
    Case("two spikes on a product", PLANE, _NOISY_PRODUCT, 1.5, 0.2),
    Case("two spikes, projector", PLANE, "relu", 1.5, 0.1, _SQUARE_ROWS),
    Case("two spikes on a product, projector", PLANE, _NOISY_PRODUCT, 1.5, 0.2, _SQUARE_ROWS),
    Case("product, projector", SpikedRF("relu", 1, 0.8, readout=SIGNS), _NOISY_PRODUCT, 1.5, 0.2, _SQUARE_ROWS),
    Case("two spikes, logistic", PLANE, FLIPS, 1.5, 0.1, _LOGISTIC),
    Case("huber step on a cube", Network("relu", 2, 1, step_loss="huber:0.3"), Target("x**3/3", noise=0.2)),
    Case("square step, huber step", Network("relu", steps=_HUBER_STEP), "sin"),
    Case("square step, absolute step", Network("tanh", steps=_ABSOLUTE_STEP), Target("sin", noise=0.3)),
    Case("signs of three directions", Network("relu", 2, 2), _THREE_SIGNS, 1.5, 0.3, _LOGISTIC),
    Case("oscillating target", Network("tanh", 2, 1), "x + sin(26*x)", 1.0, 0.1),
    Case("small biases", Network(SHIFTED, 1.5, 1.5, bias_scale=2.0), "sin", 0.7, 0.03),
]


def on(function: str, inputs: gs.Inputs, **more: Any) -> Target:
    return Target(function, inputs=inputs, **more)


def inputs_with_a_covariance(d: int) -> list[Case]:
    """Blocks and power laws, one step and two, letters, two directions, another loss; power laws are for this d."""
    law, wide = gs.Inputs.power_law(0.3, d=d), gs.Inputs.power_law(0.3, d=d, source=2)
    small, large, middle, even = (
        gs.Inputs(*BLOCKS, shares) for shares in ([0.1, 0.9], [0.7, 0.3], [0.3, 0.7], [0.5, 0.5])
    )
    three, pair = gs.Inputs(*THREE_BLOCKS, [0.6, 0.2, 0.2]), gs.Inputs(*BLOCKS, TOGETHER)
    product = on("tanh(2*x1)*(1 + tanh(2*x2)/2)", pair)
    return [
        Case("two blocks", Network("tanh", 2, 1), on("sin", even)),
        Case("on the small block, noise", Network("erf", 1.5, 1, 0.8), on("tanh", small, noise=0.3)),
        Case("power law", Network("relu", 1, 1), on("tanh", law)),
        Case("power law, large eigenvalues", Network("gelu", 0.7, 1), on("relu", wide)),
        Case("three blocks, two steps", steps("tanh", (1, 0.8)), on("sin", three)),
        Case("letters ±1, two steps", steps("relu", (1.5, 1), readout="rademacher"), on("tanh", middle)),
        Case("two directions", Network("tanh", 1, 1), product, simulated={"n_test": 3000}),
        Case("huber readout", Network("tanh", 1.5, 1), on("sin", large, noise=0.3), 1.5, 0.3, _HUBER),
    ]
