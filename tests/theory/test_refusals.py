"""What the theory refuses: with a sentence that says why, or what to do instead."""

import pytest

import giantstep as gs

from ..zoo import BLOCKS, PLANE, PRODUCT, TOGETHER

AT = {"alpha": 1, "lam": 1}
NET, BLIND, ONE = gs.Network("relu", 1, 1), gs.SpikedRF("tanh", r=0, gamma=0), gs.Letters((1,), (1,))
FIVE = gs.Network("relu", 1, 1, steps=2, readout=gs.Letters((-2, -1, 0.5, 1, 2), (0.2,) * 5))
FEW = gs.Network("relu", 1, 1, readout=ONE.with_biases("gaussian", 0.5))
SPREAD = gs.Target("tanh", inputs=gs.Inputs([3, 2, 1]))
SHARED = gs.Target(PRODUCT, inputs=gs.Inputs(*BLOCKS, TOGETHER))
NARROW = gs.Target(lambda x, y: 1.0 * ((x > 0.3) & (x < 0.36)) + 0.1 * x * y)

REFUSED = [
    (lambda: gs.predict(NET, "x + x1", **AT), "use one or the other"),
    (lambda: gs.predict(NET, "x2**2", **AT), "x1 is missing: number the directions from x1 on"),
    (lambda: gs.predict(NET, "x1 + x5*x2*x3*x4", **AT), "too many"),
    (lambda: gs.predict(NET, "x1 + 0*x2", **AT), "does not depend on x2"),
    (lambda: gs.predict(NET, "exp(x1**2) + x2", **AT), "grows too fast"),
    (lambda: gs.predict(BLIND, "sin(3000*x)", **AT), r"sin\(3000\*x\) varies on a scale of 0\.00\d near x = "),
    (lambda: gs.predict(BLIND, NARROW, **AT), r"jumps twice within 0\.06 along x1"),
    (lambda: gs.predict(FIVE, "sin", **AT), r"5 directions.*simulate"),
    (lambda: gs.predict(gs.Network("tanh", 0.1, 1, steps=41), "sin", **AT), "steps = 41: the theory covers up to 40"),
    (lambda: gs.predict(PLANE, "sin", **AT, loss="logistic"), "labels ±1"),
    (lambda: gs.TwoSpikes("tanh", (1, 1), (0.9, 0.9), ((1, 1),), (1,)), "sum of their squares must be at most 1"),
    (lambda: gs.TwoSpikes("tanh", (1,), (0.1, 0.1), ((1, 1),), (1,)), "two strengths"),
    (lambda: ONE.with_biases("cauchy", 1), "law = 'cauchy' is unknown"),
    (lambda: ONE.with_biases("gaussian", 1).with_biases("gaussian", 1), "that has no biases yet"),
    (lambda: gs.simulate(FEW, "sin", **AT, d=100, trials=1, progress=False), "none has the letter with"),
    # inputs with a covariance
    (lambda: gs.predict(gs.Network("relu", 1, 1, bias_scale=1), SPREAD, **AT), "bias_scale = 1"),
    (lambda: gs.predict(gs.SpikedRF("relu", r=1, gamma=1), SPREAD, **AT), "SpikedRF"),
    (lambda: gs.predict(gs.Network("relu", 1, 1, steps=17), SPREAD, **AT), "up to 16"),
    (lambda: NET.equivalent(SPREAD), "isotropic inputs"),
    (lambda: gs.weight_spectrum(NET, target=SPREAD), "isotropic inputs"),
    (lambda: gs.staircase(NET, SHARED), "share eigenvalues"),
]


@pytest.mark.parametrize(("ask", "words"), REFUSED)
def test_what_the_theory_does_not_cover_is_refused_with_a_sentence(ask, words):
    with pytest.raises(gs.ParameterError, match=words):
        ask()
