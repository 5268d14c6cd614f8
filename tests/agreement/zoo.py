"""The settings that theory and simulation are compared on."""

from __future__ import annotations

import giantstep as gs

from .harness import Case


def srf(activation: str, **parameters) -> gs.SpikedRF:
    return gs.SpikedRF(activation, **parameters)


SPIKED = [
    Case("tanh on tanh", srf("tanh", r=1.0, gamma=0.8), "tanh", 1.2, 0.1, trials=110),
    Case("tanh on sin, wide", srf("tanh", r=1.5, gamma=0.6, beta=1.8), "sin", 0.8, 0.1, trials=60),
    Case("tanh on sign, noisy", srf("tanh", r=0.8, gamma=0.9, c=1.3), gs.Target("sign", noise=0.3), 2.0, 0.3),
    Case("tanh on relu", srf("tanh", r=0.7, gamma=0.4, beta=0.5), "relu", 1.5, 0.2),
    Case("erf on sin", srf("erf", r=1.2, gamma=0.7, beta=0.6), "sin", 1.0, 0.05, trials=110),
    Case("erf on erf, aligned", srf("erf", r=1.7, gamma=1.0, c=1.1), "erf", 0.7, 0.1, trials=90),
    Case("sin on sign", srf("sin", r=1.0, gamma=0.8, beta=1.3), "sign", 0.9, 0.1),
    Case("sin on tanh, unaligned", srf("sin", r=0.9, gamma=0.0), "tanh", 1.6, 0.2),
    Case("relu on relu", srf("relu", r=1.0, gamma=0.9), "relu", 1.4, 0.1, trials=130),
    Case("relu on tanh, wide", srf("relu", r=0.6, gamma=0.5, beta=2.0), "tanh", 0.6, 0.3),
    Case(
        "relu on sin, noisy", srf("relu", r=1.3, gamma=0.7, beta=0.7), gs.Target("sin", noise=0.5), 2.5, 0.2
    ),
    Case("sign on tanh", srf("sign", r=1.0, gamma=0.8), "tanh", 1.1, 0.3, trials=60),
    Case("sign on sign, narrow", srf("sign", r=1.5, gamma=0.95, beta=0.5), "sign", 1.3, 0.2, trials=50),
    Case("random features", srf("tanh", r=0.0, gamma=0.0), "tanh", 1.5, 0.1, trials=140),
    Case(
        "random features, relu",
        srf("relu", r=0.0, gamma=0.0, beta=1.4),
        gs.Target("relu", noise=0.2),
        2.0,
        0.2,
    ),
    Case("strong spike", srf("tanh", r=3.0, gamma=0.9, beta=1.5), "sin", 2.0, 0.5),
]

_TERNARY = gs.Letters((-1, 0, 1), (0.25, 0.5, 0.25))
_BIASED = gs.Letters((1, -0.5, 1), (0.4, 0.3, 0.3), biases=(0.0, 0.5, -0.7))

LETTERS = [
    Case(
        "rademacher relu on relu",
        srf("relu", r=1.0, gamma=0.9, readout="rademacher"),
        "relu",
        1.4,
        0.1,
        trials=60,
    ),
    Case("ternary tanh", srf("tanh", r=1.3, gamma=0.8, beta=0.6, readout=_TERNARY), "sin", 1.1, 0.1),
    Case("ternary relu", srf("relu", r=1.0, gamma=0.7, beta=1.8, readout=_TERNARY), "relu", 1.6, 0.1),
    Case(
        "unequal row norms",
        srf("tanh", r=1.0, gamma=0.6, readout=gs.Letters((0.5, 2), (0.5, 0.5), c=(1.0, 1.8))),
        gs.Target("tanh", noise=0.3),
        1.5,
        0.2,
    ),
    Case("biases", srf("tanh", r=1.2, gamma=0.9, beta=1.2, readout=_BIASED), "relu", 1.3, 0.1),
    Case("aligned rademacher", srf("relu", r=1.0, gamma=1.0, readout="rademacher"), "relu", 2.0, 0.1),
    Case(
        "projector",
        srf("relu", r=1.0, gamma=0.8, readout="rademacher"),
        "relu",
        1.5,
        0.1,
        {"bulk": "orthogonal"},
        {"bulk": "orthogonal"},
    ),
    Case("gaussian letters", srf("tanh", r=0.8, gamma=0.8, readout="gaussian:20"), "tanh", 1.2, 0.1),
]


def network(activation: str, eta: float, alpha0: float, beta: float = 1.0, **more) -> gs.Network:
    return gs.Network(activation, eta=eta, alpha0=alpha0, beta=beta, **more)


_TWO = gs.Letters((0.5, 1.5), (0.5, 0.5))
_THREE = gs.Letters((0, 1, 2), (0.3, 0.4, 0.3))

NETWORKS = [
    Case("tanh on tanh, eta 1", network("tanh", 1, 0.3), "tanh", 1.5, 0.1),
    Case("tanh on tanh, eta 3", network("tanh", 3, 0.5), "tanh", 1.5, 0.1),
    Case("tanh on tanh, eta 6", network("tanh", 6, 1.0), "tanh", 3.0, 0.1),
    Case("tanh on sin, eta 3", network("tanh", 3, 0.3, 0.5), "sin", 1.5, 0.1),
    Case("tanh on sin, eta 6, wide", network("tanh", 6, 0.5, 2.0), "sin", 1.0, 0.1),
    Case("erf on tanh", network("erf", 3, 0.5), "tanh", 1.5, 0.1),
    Case("erf on sign, wide", network("erf", 6, 0.5, 2.0), "sign", 1.2, 0.3),
    Case("erf on sin, eta 1", network("erf", 1, 0.3, 0.5), "sin", 2.0, 0.1),
    Case("sin on sin", network("sin", 3, 1.0), "sin", 1.5, 0.1),
    Case("sin on tanh, wide", network("sin", 3, 0.5, 2.0), "tanh", 0.8, 0.2),
    Case("relu on tanh", network("relu", 1, 0.5), "tanh", 1.5, 0.1),
    Case("relu on relu, eta 3", network("relu", 3, 1.0), "relu", 1.5, 0.1),
    Case("relu on sin, wide", network("relu", 3, 0.5, 2.0), "sin", 1.0, 0.2),
    Case("relu on He2", network("relu", 1, 1.0), "He2", 2.0, 0.3),
    Case("softplus on relu", network("softplus", 3, 0.5), "relu", 1.5, 0.1),
    Case("softplus on tanh, eta 6", network("softplus", 6, 1.0), "tanh", 2.0, 0.1),
    Case("gelu on relu", network("gelu", 1, 0.3), "relu", 1.5, 0.1),
    Case("gelu on sin, narrow", network("gelu", 1, 0.5, 0.5), "sin", 1.5, 0.2),
    Case("noise, tanh", network("tanh", 3, 0.5), gs.Target("tanh", noise=0.3), 1.5, 0.1),
    Case("noise, relu", network("relu", 2, 0.5), gs.Target("tanh", noise=0.3), 1.5, 0.1),
    Case("letters .5 1.5, tanh", network("tanh", 3, 0.5, readout=_TWO), "tanh", 1.5, 0.1),
    Case(
        "letters 0 1 2, tanh", network("tanh", 2, 0.5, readout=_THREE), gs.Target("sin", noise=0.2), 1.5, 0.1
    ),
    Case("letters .5 1.5, relu", network("relu", 2, 0.5, readout=_TWO), "tanh", 1.5, 0.1),
    Case("letters 0 1 2, softplus", network("softplus", 2, 0.5, readout=_THREE), "relu", 1.5, 0.1),
    Case("rademacher, gelu", network("gelu", 2, 0.5, readout="rademacher"), "relu", 1.5, 0.1),
    Case("ternary, tanh", network("tanh", 3, 1.0, readout="ternary"), "tanh", 1.5, 0.1),
    Case("no step", network("tanh", 0, 0), "tanh", 1.5, 0.1),
    Case(
        "logistic readout",
        network("tanh", 4, 1.0),
        gs.Target("sign", flips=0.1),
        1.5,
        0.3,
        {"loss": "logistic"},
        {"loss": "logistic"},
    ),
    Case(
        "huber readout",
        network("tanh", 3, 0.5),
        gs.Target("sin", noise=0.3),
        1.5,
        0.3,
        {"loss": "huber:0.5"},
        {"loss": "huber:0.5"},
    ),
    Case("huber step", network("tanh", 5, 0.5, step_loss="huber:0.5"), gs.Target("sin", noise=0.2), 1.5, 0.3),
    Case(
        "logistic step", network("relu", 3, 0.5, step_loss="logistic"), gs.Target("sign", flips=0.1), 1.5, 0.3
    ),
    Case("biases, tanh", network("tanh", 3, 0.5, readout=_BIASED), "sin", 1.5, 0.1),
    Case("biases, relu", network("relu", 2, 0.5, readout=_BIASED), "tanh", 1.5, 0.1),
]


def steps(activation: str, etas: tuple, alphas: tuple, beta: float = 1.0, **more) -> gs.Network:
    taken = [gs.Step(eta, alpha0) for eta, alpha0 in zip(etas, alphas, strict=True)]
    return gs.Network(activation, steps=taken, beta=beta, **more)


_MIX = "(x**2 - 1)/2 + x"
_BIASES = gs.Letters((1, 1), (0.5, 0.5), biases=(-0.5, 0.5))

SEVERAL_STEPS = [
    Case("two steps, tanh on sin", steps("tanh", (2, 2), (1, 1)), "sin", 1.5, 0.1),
    Case("weak steps, tanh on tanh", steps("tanh", (0.7, 0.7), (2, 2), 0.7), "tanh", 1.2, 0.1),
    Case("strong steps, tanh on sin", steps("tanh", (6, 4), (0.5, 1)), "sin", 2.0, 0.3),
    Case(
        "three steps, noise, tanh", steps("tanh", (2, 2, 2), (1, 1, 1)), gs.Target("sin", noise=0.3), 1.5, 0.1
    ),
    Case("four steps, tanh on sin", steps("tanh", (1.5,) * 4, (1,) * 4), "sin", 1.5, 0.2),
    Case("two steps, erf on sign, wide", steps("erf", (3, 2), (1, 1), 1.6), "sign", 1.2, 0.3),
    Case("two steps, relu on tanh", steps("relu", (1.5, 1), (1, 1)), "tanh", 1.5, 0.1),
    Case("three steps, relu on relu", steps("relu", (1, 1, 1), (1, 1, 1)), "relu", 1.5, 0.1),
    Case("two steps, relu on a parabola", steps("relu", (2, 1.5), (2, 1)), _MIX, 1.5, 0.1),
    Case(
        "two steps, noise, gelu on relu",
        steps("gelu", (2, 2), (0.8, 0.8)),
        gs.Target("relu", noise=0.2),
        1.5,
        0.1,
    ),
    Case("three steps, gelu on a parabola", steps("gelu", (1.5,) * 3, (2, 1, 1)), _MIX, 1.5, 0.1),
    Case("letters .5 1.5, two steps, tanh", steps("tanh", (2, 2), (1, 1), readout=_TWO), "sin", 1.5, 0.1),
    Case(
        "letters ±1, two steps, relu", steps("relu", (2, 2), (1, 1), readout="rademacher"), "tanh", 1.5, 0.1
    ),
    Case(
        "letters ±1, three steps, gelu",
        steps("gelu", (2,) * 3, (1,) * 3, readout="rademacher"),
        "sin",
        1.5,
        0.1,
    ),
    Case(
        "letters -1 0 1, two steps, gelu",
        steps("gelu", (1.5, 1.5), (1.5, 1.5), readout="ternary"),
        gs.Target("sin", noise=0.2),
        1.5,
        0.1,
    ),
    Case(
        "gaussian rows, two steps, gelu, wide",
        steps("gelu", (3, 1.5), (4, 2), 3, rows="gaussian"),
        _MIX,
        2.0,
        0.1,
    ),
    # its two spikes differ by 0.07, hardly more than means of rows do by chance, and an m of -4 magnifies that: zeta
    # across the first is 0.06, 0.06, 0.02 off at d = 300, 600, 2400, while errors agree
    Case(
        "biases, two steps, relu",
        steps("relu", (1.5, 1), (1, 1), readout=_BIASES),
        "tanh",
        1.5,
        0.1,
        apart=False,
    ),
    Case(
        "huber readout, two steps",
        steps("tanh", (2, 2), (1, 1)),
        gs.Target("sin", noise=0.3),
        1.5,
        0.3,
        {"loss": "huber:0.5"},
        {"loss": "huber:0.5"},
    ),
    Case(
        "logistic readout, two steps",
        steps("relu", (2, 1.5), (1, 1)),
        gs.Target("sign", flips=0.1),
        1.5,
        0.3,
        {"loss": "logistic"},
        {"loss": "logistic"},
    ),
    Case(
        "logistic readout, letters ±1, two steps",
        steps("relu", (2, 2), (1, 1), readout="rademacher"),
        gs.Target("sign", flips=0.1),
        1.5,
        0.3,
        {"loss": "logistic"},
        {"loss": "logistic"},
    ),
]

_BLOCKS = ([2.5, 0.5], [0.25, 0.75])
_THREE_BLOCKS = ([3, 1, 0.2], [0.1, 0.6, 0.3])
_SHARED = [[[0.5, 0.3], [0.3, 0.4]], [[0.5, -0.3], [-0.3, 0.6]]]  # two directions that share eigenvalues


def on(function: str, inputs: gs.Inputs, **more) -> gs.Target:
    return gs.Target(function, inputs=inputs, **more)


def inputs_with_a_covariance(d: int) -> list[Case]:
    """Blocks and power laws, one step and two, letters, two directions, another loss; power laws are for this d."""
    huber = {"loss": "huber:0.5"}
    return [
        Case("two blocks", network("tanh", 2, 1), on("sin", gs.Inputs(*_BLOCKS, [0.5, 0.5])), 1.5, 0.1),
        Case(
            "on the small block, noise",
            network("erf", 1.5, 1, 0.8),
            on("tanh", gs.Inputs(*_BLOCKS, [0.1, 0.9]), noise=0.3),
            1.5,
            0.1,
        ),
        Case("power law", network("relu", 1, 1), on("tanh", gs.Inputs.power_law(0.3, d=d)), 1.5, 0.1),
        Case(
            "power law, large eigenvalues",
            network("gelu", 0.7, 1),
            on("relu", gs.Inputs.power_law(0.3, d=d, source=2)),
            1.5,
            0.1,
        ),
        Case(
            "three blocks, two steps",
            steps("tanh", (1, 0.8), (1, 1)),
            on("sin", gs.Inputs(*_THREE_BLOCKS, [0.6, 0.2, 0.2])),
            1.5,
            0.1,
        ),
        Case(
            "letters ±1, two steps",
            steps("relu", (1.5, 1), (1, 1), readout="rademacher"),
            on("tanh", gs.Inputs(*_BLOCKS, [0.3, 0.7])),
            1.5,
            0.1,
        ),
        Case(
            "two directions",
            network("tanh", 1, 1),
            on("tanh(2*x1)*(1 + tanh(2*x2)/2)", gs.Inputs(*_BLOCKS, _SHARED)),
            1.5,
            0.1,
            simulated={"n_test": 3000},
        ),
        Case(
            "huber readout",
            network("tanh", 1.5, 1),
            on("sin", gs.Inputs(*_BLOCKS, [0.7, 0.3]), noise=0.3),
            1.5,
            0.3,
            huber,
            huber,
        ),
    ]
