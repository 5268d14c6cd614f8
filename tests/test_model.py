"""Descriptions: what is allowed, what is refused and why, and their plain form."""

import json
from inspect import signature

import numpy as np
import pytest
import xarray as xr

import giantstep as gs
from giantstep import Letters, Network, ParameterError, SpikedRF, Step, Target, TwoSpikes

NAMES = {kind.__name__: kind for kind in (Network, SpikedRF, TwoSpikes, Step, Target, Letters)}
RUN = xr.DataArray([0.5, 1.0], dims="run")
NAMES |= {"gs": gs, "np": np, "xr": xr, "inf": np.inf, "net": Network("tanh", 1, 1), "RUN": RUN}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("Network('tanh', -1, 1)", "eta = -1 is not allowed: it must be at least 0"),
        ("Network('tanh', inf, 1)", "eta = inf .* must be finite and at least 0"),
        ("Network('tanh', None, 1)", "eta is missing: give eta and alpha0, or a schedule"),
        ("Network('tanh', 1, -0.5)", "alpha0 = -0.5 .*inf is allowed"),
        ("Network('tanh', 1, 1, steps=1.5)", "steps = 1.5 must be whole numbers"),
        ("Network('tanh', 1, steps=[Step(1, 1)])", "each Step has its own eta and alpha0"),
        ("Network('tanh', steps=[Step(1, 1), 3])", "steps has 3, which is no Step"),
        ("Step(1, 1, 'cubic')", "loss = 'cubic' is unknown"),
        ("Network('tanh', 1, 1, rows='round')", "rows = 'round' is unknown; use 'unit', 'gaussian'"),
        ("Network('tanh', 1, 1, rows=-1)", "rows = -1 is not allowed"),
        ("Network('tanh', 1, 1, bias_scale=[1, 2])", "is not a single number"),
        ("Network('tanh', 1, 1, beta=0)", "beta = 0 is not allowed: it must be greater than 0"),
        ("Network('tanh', 1, 1, beta=1e-21)", "beta = 1e-21 .*numbers from 1e-20 to 1e"),
        ("Network('tanh', 1, 1, reuse_batch='no')", "reuse_batch = 'no' .* must be True or False"),
        ("Network('tanh', [], 1)", "eta is an empty range"),
        ("Network('tanh', [[1.0]], 1)", "eta has 2 dimensions"),
        # what numpy would take for a number
        ("Network('tanh', 'fast', 1)", "eta = 'fast' is not a number"),
        ("Network('tanh', np.array([1, '2'], dtype=object), 1)", "has a text where"),
        ("Network('tanh', [1, 2j], 1)", "is not a number or a sequence of numbers"),
        ("Network('tanh', 10**400, 1)", "is not a number or a sequence of numbers"),
        ("Network('tanh', np.array(['2026-01-01'], 'datetime64[D]'), 1)", "is not a number or a sequence"),
        ("Network('tanh', np.ma.masked_array([1, 2], [0, 1]), 1)", "eta = .* has a masked entry"),
        ("Network('tanh', b'12', 1)", "has bytes where a number is needed"),
        ("Network('tanh', True, 1)", "eta = True has a truth value where .* write 1 or 0"),
        ("Network('tanh', xr.DataArray([True], dims='eta'), 1)", "has a truth value"),
        ("Network('tanh', -RUN, 1)", r"eta = -0\.5"),
        # names
        ("Network('stair', 1, 1)", "no function is called 'stair'; giantstep.functions.catalogue"),
        ("Network('staircase', 1, 1)", "'staircase' is a target of several directions"),
        ("Target('stair')", "did you mean 'staircase'"),
        ("Target('logistc')", "did you mean 'logistic'"),
        # letters
        ("Network('tanh', 1, 1, readout='fancy')", "readout = 'fancy' is unknown"),
        ("Network('tanh', 1, 1, readout={-1: 0.5, 1: 0.5})", r"Letters\(\(-1, 1\), \(0.5, 0.5\)\)"),
        ("Network('tanh', 1, 1, readout=Letters((1,), (1,), c=(2,)))", "row norms follow from its step"),
        ("Letters((1, 2), (1,))", "1 entries for 2 values"),
        ("Letters((1, 2), (0.5, 0.6))", "sum to 1"),
        ("Letters((1, 2), (1.5, -0.5))", "Letters.weights = -0.5 .* greater than 0"),
        ("Letters((1,), (1,), c=(0,))", "Letters.c = 0 .* greater than 0"),
        # spikes and targets
        ("SpikedRF('tanh', 1, 1.01)", "gamma = 1.01 .* between -1 and 1"),
        ("SpikedRF('tanh', inf, 1)", "r = inf .* a finite number"),
        ("Target('sign', flips=0.6)", "flips = 0.6 .* between 0 and 0.5"),
        ("Target('sign', flips=0.1, noise=1)", "use flips or latent_noise"),
        ("Target('logistic', scale=0)", "scale = 0"),
        ("Target('sin', scale=2)", "scale = 2 is for the target 'logistic'.* use 'logistic', or flips"),
        ("Target(lambda x: np.sign(x), scale=2)", "scale = 2 is for the target 'logistic'"),
        ("Target('committee', directions='3')", "directions = '3' .* must be a whole number"),
        ("Target(np.hypot, kinks=[(('1', 0), 0)])", "must be pairs"),
        ("gs.Function(abs, breakpoints=['0'])", "breakpoints = .* has a text"),
        # verbs
        ("gs.predict(net, 'sin', alpha='1', lam=1)", "alpha = '1' has a text"),
        ("gs.predict(net, 'sin', alpha=1, lam=1, throw='no')", "throw = 'no' .* must be True or False"),
        ("gs.predict(net, 'sin', alpha=1, lam=1, progress=True)", "progress = True .* must be a function"),
        ("gs.spectrum(net, 'sin', alpha=1, points='9')", "points = '9' .* at least 2 and at most 100000"),
        # dictionaries
        ("Network.from_dict({'kind': 'Forest'})", "'Forest', which is not a Network"),
        ("Network.from_dict({'kind': 'Target', 'function': 'sin'})", "'Target', which is not a Network"),
        ("Network.from_dict({'activation': 'tanh', 'momentum': 2})", "has 'momentum', which Network has not"),
        ("Network.from_dict({'eta': 1})", "has no activation, which Network needs"),
        ("Network(gs.Function(np.tanh, np.cosh), 1, 1).to_dict()", "Python callable"),
    ],
)
def test_bad_values_are_refused_with_what_is_allowed(call, words):
    with pytest.raises(ParameterError, match=words):
        eval(call, NAMES)


def test_numpys_numbers_truth_values_and_masks_that_hide_nothing_are_taken_as_they_are():
    masked = np.ma.masked_array([1.0, 2.0], [False, False])
    net = Network("tanh", masked, np.int64(1), np.float32(0.5), reuse_batch=np.True_)  # type: ignore[arg-type]
    assert net == Network("tanh", [1.0, 2.0], 1, 0.5, reuse_batch=True)
    assert json.loads(json.dumps(net.to_dict()))["reuse_batch"] is True


TEXTS = [  # what `repr` shows of what they make
    "Network('tanh', eta=1, alpha0=inf)",
    "Network('tanh(2*x)', eta=[0.5, 1], alpha0=1, beta=2)",
    "Network('tanh', eta=1, alpha0=2, steps=[1, 3], rows='gaussian')",
    "Network('tanh', eta=1, alpha0=1, bias_scale=0.5)",
    "Network('tanh', steps=[Step(1, alpha0=0.5), Step([2, 3], alpha0=1, loss='logistic')])",
    "SpikedRF('relu', r=[0.5, 1], gamma=1)",
    "SpikedRF('relu', r=[0.5, 2], gamma=1)",
    "SpikedRF('relu', r=1, gamma=1, readout=Letters([1], weights=[1], biases=[2]))",
    "TwoSpikes('relu', strengths=[1, 1], alignments=[0.7, 0.5], left=[[1, 1], [1, -1]], weights=[0.5, 0.5])",
    "Target('sin', noise=[0, 0.5])",
    "Target('sign', scale=2)",
    "Target('sign', flips=0.1, latent_noise=0.2)",
]
ZOO = {text: eval(text, NAMES) for text in TEXTS} | {  # the others have no text that makes them again
    "Network('tanh', eta=[0, 1, ..., 999], alpha0=1)": Network("tanh", np.arange(1000), 1),
    "SpikedRF('relu', r=<DataArray {'run': 2}>, gamma=1)": SpikedRF("relu", r=RUN, gamma=1),
}


@pytest.mark.parametrize(("text", "thing"), ZOO.items(), ids=ZOO)
def test_descriptions_are_shown_as_calls_and_survive_their_dictionary(text, thing):
    assert repr(thing) == text
    plain = json.loads(json.dumps(thing.to_dict()))
    again = type(thing).from_dict(plain)
    assert again == thing
    assert hash(again) == hash(thing)
    assert json.loads(json.dumps(again.to_dict())) == plain
    assert sum(again == other for other in ZOO.values()) == 1
    with pytest.raises(AttributeError):
        again.to_dict = None


EARLY = [  # sweeps find their results, and files their models, by these
    (
        Network("tanh", 1, 1),
        '{"kind": "Network", "activation": "tanh", "eta": 1, "alpha0": 1, "beta": 1, "step_loss": "square",'
        ' "readout": {"values": [1], "weights": [1]}}',
    ),
    (Target("sin"), '{"kind": "Target", "function": "sin", "noise": 0, "flips": 0, "latent_noise": 0, "scale": null}'),
]


@pytest.mark.parametrize(("thing", "early"), EARLY, ids=repr)
def test_dictionaries_are_those_of_early_versions_where_newer_parameters_are_at_their_defaults(thing, early):
    assert json.loads(json.dumps(thing.to_dict())) == json.loads(early)
    assert type(thing).from_dict(json.loads(early)) == thing


def test_a_model_can_be_had_with_other_numbers():
    net = Network("tanh", [1, 2], 1, beta=2, steps=[1, 3])
    hash(net)  # a copy is equal by its own value, also where caches know the original
    assert net.moved(eta=[4, 5]) == Network("tanh", [4, 5], 1, beta=2, steps=[1, 3])
    with pytest.raises(ParameterError, match="eta = -1"):
        net.moved(eta=-1)
    two = Network("tanh", steps=[Step([1, 2], 3), Step(4, 5, loss="logistic")])
    assert list(two.numbers()) == ["eta_1", "alpha0_1", "eta_2", "alpha0_2", "beta"]
    assert two.at(eta_1=2, beta=3) == Network("tanh", beta=3, steps=[Step(2, 3), Step(4, 5, loss="logistic")])
    target = Target("sin", noise=[0, 1], inputs=gs.Inputs.power_law([0, 0.5], d=30))
    hash(target)
    assert target.at(noise=1, exponent=0.5) == Target("sin", noise=1, inputs=gs.Inputs.power_law(0.5, d=30))


def test_labels_are_binary_where_they_have_two_values():
    signs = [Target("logistic"), Target("x1 + x1*x2", scale=2), Target("sin", flips=0.1)]
    signs += [Target("sign"), Target("sign(x1*x2)")]
    assert all(target.binary for target in signs)
    assert not any(target.binary for target in (Target("sign", noise=0.1), Target("sin")))


def test_biases_of_a_law_are_independent_of_the_letters():
    letters = Letters((-1, 1), (0.25, 0.75)).with_biases("gaussian", 0.5, nodes=3)
    values, weights, biases = map(np.asarray, (letters.values, letters.weights, letters.biases))
    for value, share in ((-1, 0.25), (1, 0.75)):
        at = values == value
        moments = [weights[at] @ biases[at] ** k for k in (0, 1, 2, 4)]
        np.testing.assert_allclose(moments, share * np.array([1, 0, 0.5**2, 3 * 0.5**4]), atol=1e-15)


@pytest.mark.parametrize("law", ["gaussian", "uniform-interval"])
def test_neurons_have_the_quantiles_of_the_law_that_the_nodes_of_a_rule_stand_for(law):
    """Moments of 10,000 quantiles: the tails that they cut off a Gaussian hold up to 0.5 % of its fourth moment."""
    letters = Network("tanh", 1, 1, readout=law).readout
    drawn, kurtosis = letters.of_neurons(10_000), {"gaussian": 3.0, "uniform-interval": 1.8}[law]
    for moments in (
        [np.mean(drawn**k) for k in (1, 2, 4)],
        [np.asarray(letters.weights) @ np.asarray(letters.values) ** k for k in (1, 2, 4)],
    ):
        np.testing.assert_allclose(moments, [0, 1, kurtosis], rtol=5e-3, atol=1e-12)


def test_two_spikes_are_one_where_all_pairs_are_multiples_of_one():
    one, two = (
        TwoSpikes("relu", (1, 1), (0.6, 0.5), left=[(1, 0), second], weights=(0.5, 0.5)).reduced()
        for second in ((2, 0), (2, 0.1))
    )
    assert one.gamma == pytest.approx(0.6)
    assert abs(np.asarray(one.readout.values)) == pytest.approx([1, 2])
    assert two is None


def test_notebooks_offer_what_users_give_and_ask_and_show_what_was_given_but_no_html_of_the_user_s():
    for thing, question in (
        (Network("tanh", 1.0, 1.0), "equivalent"),
        (SpikedRF("tanh", 1, 1), "to_dict"),
        (Letters((1,), (1,)), "with_biases"),
    ):
        offered = {name for name in dir(thing) if not name.startswith("_")}
        assert offered == {*signature(type(thing)).parameters, question, "from_dict", "to_dict"}
    shown = Network("tanh", eta=[1, 2], alpha0=1.0)._repr_html_()
    assert "<caption>Network</caption>" in shown
    assert "learning rate of the step" in shown
    assert "beta" not in shown  # at its default
    named = gs.Function(np.tanh, name="<b>mine</b>")
    assert repr(Target(named)) == "Target(<<b>mine</b>>)"
    assert "&lt;b&gt;mine&lt;/b&gt;" in Target(named)._repr_html_()
