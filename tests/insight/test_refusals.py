"""What the further questions refuse: in a sentence, and soon."""

import time

import pytest
from attrs import evolve

import giantstep as gs

NET, SPIKED = gs.Network("tanh", eta=1.0, alpha0=1.0), gs.SpikedRF("tanh", r=1.0, gamma=1.0)
PAIR = gs.Letters((-1, 1), (0.5, 0.5))
TWICE = gs.Network("relu", eta=1, alpha0=1, steps=2, readout=PAIR)
TWENTY = gs.Network("tanh", eta=1, alpha0=1, steps=20)
PRODUCT, SIGNS = "x1 + x1*x2", gs.Target("sign", flips=0.1)
LONG = "would take half a minute or more"
REFUSED = [
    (gs.tune, (NET, "sin"), {"alpha": 1, "over": "gamma"}, "over = 'gamma' must name"),
    (gs.tune, (SPIKED, "sin"), {"alpha": 1, "over": ("eta", "lam")}, "needs a Network"),
    (gs.tune, (NET, "sin"), {"alpha": 1, "over": ("lam", "split")}, "give a budget"),
    (gs.tune, (NET, "sin"), {"alpha": 1, "budget": 3}, "budget = 3 goes with over = 'split'.*leave the budget out"),
    (gs.tune, (NET, "sin"), {"budget": 3}, "add 'split' to over, or give alpha instead"),
    (gs.tune, (NET, "sin"), {}, "give alpha"),
    (gs.tune, (NET, "sin"), {"alpha": 1, "over": "eta"}, "give the penalty lam"),
    (gs.tune, (NET, "sin"), {"alpha": 1, "scan": {"eta": [1, 2, 3]}}, "not optimised over"),
    (gs.tune, (NET, "sin"), {"alpha": 1, "scan": {"lam": [1.0]}}, "three or more"),
    (gs.tune, (NET, SIGNS), {"alpha": 1, "error": "accuracy"}, "error = 'accuracy' is unknown; use"),
    (gs.tune, (NET, "sin"), {"alpha": 1, "error": "test_error_01"}, "±1, and this target has real labels"),
    (gs.bounds, (NET, "sin"), {"over": "alpha0"}, "over = 'alpha0' is unknown"),
    (gs.bounds, (SPIKED, "sin"), {"over": "eta"}, "a SpikedRF has no learning rate"),
    (gs.bounds, (SPIKED, SIGNS), {}, "bounds, and the parts of an error, are for real labels"),
    (gs.explain, (NET, SIGNS), {"alpha": 1, "lam": 0.1}, "the parts of an error, are for real labels"),
    (gs.bound_functions, (NET, PRODUCT, [0.0]), {}, "drawn for one direction"),
    (gs.learned_function, (NET, PRODUCT, ([0], [0], [0])), {"alpha": 1, "lam": 1}, "on 3 directions"),
    (gs.staircase, (gs.Network("tanh", eta=[1, 2], alpha0=1), PRODUCT), {}, "eta has 2 values in a list"),
    (gs.coefficients, (NET, [0.0]), {}, "give target="),
    (gs.spectrum, (NET,), {"alpha": 1}, "target"),
    (gs.spectrum, (SPIKED,), {"alpha": 1, "normalise": "d"}, "normalise"),
    (gs.spectrum, (NET, PRODUCT), {"alpha": 1, "bulk": "exact"}, "several directions"),
    (gs.spectrum, (TWICE, "sin"), {"alpha": 1}, "several directions"),
    (gs.spectrum, (SPIKED,), {"alpha": 1e16}, r"alpha = 1e\+16 must be at most 1e\+15"),
    (gs.spectrum, (gs.SpikedRF("tanh", r=100, gamma=1),), {"alpha": 1}, "100 times as long .* up to 32"),
    (gs.spectrum, (gs.SpikedRF("tanh", r=1, gamma=1, c=1e-10),), {"alpha": 1}, "1e.05 times as long"),
    (gs.spectrum, (TWENTY, "sin"), {"alpha": 1}, LONG),
    (gs.weight_spectrum, (TWENTY, "sin"), {}, LONG),
    (gs.weight_spectrum, (gs.Network("tanh", eta=1, alpha0=1, beta=1e10), "sin"), {}, "not resolved at beta = 1e.10"),
    (gs.weight_spectrum, (NET, "sin"), {"bulk": "orthogonal"}, "unknown"),
    (gs.weight_spectrum, (TWICE, "sin"), {"bulk": "isotropic"}, "several directions"),
    (gs.bayes, ("sin",), {"alpha": []}, "alpha is an empty range"),
    (gs.bayes, ("sin(40*x)",), {"alpha": 1}, "sin"),
    (gs.bayes, ("x1*x2",), {"alpha": 1}, "has 2 directions"),
    (gs.bayes, ("exp(-100*x**2)",), {"alpha": 1}, "equal in double precision"),
    (gs.bayes, ("tanh(50*x)**2",), {"alpha": 1}, "equal in double precision"),
    (gs.bayes, ("exp(-1/x**2)",), {"alpha": 1}, "equal in double precision"),
    (gs.ridge, ("sin",), {"alpha": 1, "lam": -1}, "lam"),
    (gs.ridge, ("sin",), {"alpha": 1, "kernel": "-x"}, "kernel = '-x' is not allowed"),
    (gs.explain, (SPIKED, "sin"), {"alpha": 1, "lam": 0.1}, "give a Network"),
    (gs.Network.equivalent, (NET, "x1 + x2/2 + x1*x2/3"), {}, "along several directions of the target"),
    (gs.Network.equivalent, (evolve(NET, steps=2), "x1 + x2/2 + x1*x2/3"), {}, "along several directions"),
    (gs.predict, (NET, "sin"), {"alpha": 1, "lam": 1, "beta": 2}, r"predict\(\) has no argument 'beta': it belongs to"),
    (gs.simulate, (NET, "sin"), {"alpha": 1, "lam": 1, "d": 50, "noise": 1}, r"as in Target\(\.\.\., noise=\.\.\.\)"),
    (gs.tune, (NET, "sin"), {"alpha": 1, "eta": 1}, r"as in Network\(\.\.\., eta=\.\.\.\)"),
    (gs.predict, (NET, "sin"), {"alpha": 1, "lam": 1, "foo": 2}, "unexpected keyword argument 'foo'"),
]


@pytest.mark.parametrize(("verb", "about", "options", "words"), REFUSED)
def test_what_has_no_answer_is_refused_in_a_sentence_and_soon(verb, about, options, words):
    began = time.process_time()
    with pytest.raises((gs.GiantstepError, TypeError), match=words):
        verb(*about, **options)
    assert time.process_time() - began < 5
