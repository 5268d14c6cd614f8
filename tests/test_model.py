"""Descriptions: what is allowed, what is refused and why, and their plain form."""

import json

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import giantstep as gs
from giantstep.errors import ParameterError
from giantstep.model.checks import parameter
from giantstep.model.letters import Letters, as_letters
from giantstep.model.network import Network, Step
from giantstep.model.spiked import SpikedRF
from giantstep.model.target import Target, as_target

positive = st.floats(1e-20, 1e20)  # what parameters may be
grids = st.lists(positive, min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Network("tanh", -1, 1), "eta = -1 is not allowed: it must be at least 0"),
        (lambda: Network("tanh", [1, -2], 1), "eta = -2"),
        (lambda: Network("tanh", np.nan, 1), "eta = nan"),
        (lambda: Network("tanh", np.inf, 1), "eta = inf .* must be finite and at least 0"),
        (lambda: Network("tanh", None, 1), "eta is missing: give eta and alpha0, or a schedule"),
        (lambda: Network("tanh", 1), "alpha0 is missing: give eta and alpha0, or a schedule"),
        (lambda: Network("tanh", 1, -0.5), "alpha0 = -0.5 .*inf is allowed"),
        (lambda: Network("tanh", 1, 1, steps=1.5), "steps = 1.5 must be whole numbers"),
        (lambda: Network("tanh", 1, 1, steps=-1), "steps = -1 is not allowed"),
        (lambda: Network("tanh", 1, steps=[Step(1, 1)]), "each Step has its own eta and alpha0"),
        (lambda: Network("tanh", steps=[Step(1, 1), 3]), "steps has 3, which is no Step"),
        (lambda: Network("tanh", steps=[Step(-1, 1)]), "eta = -1 is not allowed"),
        (lambda: Step(1, 1, "cubic"), "loss = 'cubic' is unknown"),
        (lambda: Network("tanh", 1, 1, rows="round"), "rows = 'round' is unknown; use 'unit', 'gaussian'"),
        (lambda: Network("tanh", 1, 1, rows=-1), "rows = -1 is not allowed"),
        (lambda: Network("tanh", 1, 1, bias_scale=-1), "bias_scale = -1 is not allowed"),
        (lambda: Network("tanh", 1, 1, bias_scale=[1, 2]), "is not a single number"),
        (lambda: Network("tanh", 1, 1, beta=0), "beta = 0 is not allowed: it must be greater than 0"),
        (lambda: Network("tanh", "fast", 1), "eta = 'fast' is not a number"),
        (lambda: Network("tanh", "2", 1), "eta = '2' has a text where a number is needed"),  # type: ignore[arg-type]
        (lambda: Network("tanh", [1, "2"], 1), "has a text where a number is needed"),  # type: ignore[arg-type]
        (lambda: Network("tanh", xr.DataArray(["2"], dims="eta"), 1), "has a text where a number is needed"),
        (lambda: Network("tanh", np.array([1, "2"], dtype=object), 1), "has a text where"),
        (lambda: Network("tanh", [1, None], 1), "is not a number or a sequence of numbers"),  # type: ignore[arg-type]
        (lambda: Network("tanh", [1, 2j], 1), "is not a number or a sequence of numbers"),  # type: ignore[arg-type]
        (lambda: Network("tanh", 10**400, 1), "is not a number or a sequence of numbers"),
        (
            lambda: Network("tanh", np.array(["2026-01-01"], "datetime64[D]"), 1),
            "is not a number or a sequence",
        ),
        (lambda: Step("1", 1), "eta = '1' has a text"),  # type: ignore[arg-type]
        (lambda: Letters(("1",), (1,)), "Letters.values = .* has a text"),  # type: ignore[arg-type]
        (lambda: Target("sin", noise="0.1"), "noise = '0.1' has a text"),  # type: ignore[arg-type]
        (
            lambda: Target("committee", directions="3"),
            "directions = '3' is not allowed: it must be a whole number",
        ),  # type: ignore[arg-type]
        (lambda: Target(np.hypot, kinks=[(("1", 0), 0)]), "must be pairs"),
        (lambda: gs.Function(abs, breakpoints=["0"]), "breakpoints = .* has a text"),  # type: ignore[list-item]
        (lambda: gs.predict(Network("tanh", 1, 1), "sin", alpha="1", lam=1), "alpha = '1' has a text"),  # type: ignore[arg-type]
        (
            lambda: gs.predict(Network("tanh", 1, 1), "sin", alpha=1, lam=1, tolerance="1"),  # type: ignore[arg-type]
            "tolerance = '1' has a text",
        ),
        (lambda: gs.spectrum(SpikedRF("tanh", 1, 1), alpha=1, points="9"), "points = '9' is not allowed"),  # type: ignore[arg-type]
        (lambda: Network("tanh", [], 1), "eta is an empty range"),
        (lambda: Network("tanh", [[1.0]], 1), "eta has 2 dimensions"),
        (lambda: Network("tanhh", 1, 1), "did you mean 'tanh'"),
        (lambda: Network("stair", 1, 1), "no function is called 'stair'; giantstep.functions.catalogue"),
        (lambda: Network("staircase", 1, 1), "'staircase' is a target of several directions"),
        (lambda: Target("stair"), "did you mean 'staircase'"),
        (lambda: Target("committe", directions=3), "did you mean 'committee'"),
        (lambda: Target("relo"), "did you mean 'relu'"),
        (lambda: Target("logistc"), "did you mean 'logistic'"),
        (lambda: Network("tanh", 1, 1, readout="fancy"), "readout = 'fancy' is unknown"),
        (
            lambda: Network("tanh", 1, 1, readout=Letters((1,), (1,), c=(2,))),
            "row norms follow from its step",
        ),
        (lambda: SpikedRF("tanh", 1, 1.01), "gamma = 1.01 .* between -1 and 1"),
        (lambda: SpikedRF("tanh", np.inf, 1), "r = inf .* a finite number"),
        (lambda: SpikedRF("tanh", 1, 1, c=0), "c = 0"),
        (lambda: Target("sin", noise=-1), "noise = -1"),
        (lambda: Target("sign", flips=0.6), "flips = 0.6 .* between 0 and 0.5"),
        (lambda: Target("sign", flips=[0.1, 0.2]), "flips = .* not a single number"),  # type: ignore[arg-type]
        (lambda: Target("sign", latent_noise="loud"), "latent_noise = 'loud' is not a number"),  # type: ignore[arg-type]
        (lambda: Target("sign", flips=0.1, noise=1), "use flips or latent_noise"),
        (lambda: Target("logistic", scale=0), "scale = 0"),
        (lambda: Letters((1, 2), (1,)), "1 entries for 2 values"),
        (lambda: Letters((1, 2), (0.5, 0.6)), "sum to 1"),
        (lambda: Letters((1, 2), (1.5, -0.5)), "positive fractions"),
        (lambda: Letters((1,), (1,), c=(0,)), "must be positive"),
        (lambda: Letters((np.nan,), (1,)), "Letters.values = nan"),
        (lambda: Network("tanh", np.ma.masked_array([1, 2], [0, 1]), 1), "eta = .* has a masked entry"),
        (lambda: Network("tanh", [1, np.ma.masked], 1), "has a masked entry"),
        (lambda: Network("tanh", bytearray(b"12"), 1), "has bytes where a number is needed"),
        (lambda: Network("tanh", b"12", 1), "has bytes where a number is needed"),
        (lambda: Network("tanh", True, 1), "eta = True has a truth value where .* write 1 or 0"),
        (lambda: Network("tanh", np.True_, 1), "has a truth value"),
        (lambda: Network("tanh", [0.5, True], 1), "has a truth value"),
        (lambda: Network("tanh", xr.DataArray([True], dims="eta"), 1), "has a truth value"),
        (lambda: Network("tanh", 1, 1, steps=True), "steps = True has a truth value"),
        (lambda: Letters((True,), (1,)), "Letters.values = .* has a truth value"),
        (lambda: Network("tanh", 1, 1, reuse_batch="no"), "reuse_batch = 'no' .* must be True or False"),  # type: ignore[arg-type]
        (lambda: gs.predict(Network("tanh", 1, 1), "sin", alpha=1, lam=True), "lam = True has a truth value"),
        (
            lambda: gs.predict(Network("tanh", 1, 1), "sin", alpha=1, lam=1, throw="no"),  # type: ignore[arg-type]
            "throw = 'no' is not allowed: it must be True or False",
        ),
        (
            lambda: gs.predict(Network("tanh", 1, 1), "sin", alpha=1, lam=1, progress=True),  # type: ignore[arg-type]
            "progress = True is not allowed: it must be a function",
        ),
        (
            lambda: gs.tune(Network("tanh", 1, 1), "sin", over="lam", alpha=1, progress="yes"),  # type: ignore[arg-type]
            "progress = 'yes' is not allowed: it must be a function",
        ),
        (
            lambda: gs.spectrum(SpikedRF("tanh", 1, 1), alpha=1, kernel=1),  # type: ignore[arg-type]
            "kernel = 1 is not allowed: it must be True or False",
        ),
        (
            lambda: gs.predict(Network("tanh", 1, 1), "sin", alpha=1, lam="small"),
            "lam = 'small' is not a number",
        ),  # type: ignore[arg-type]
    ],
)
def test_bad_values_are_refused_with_what_is_allowed(make, said):
    with pytest.raises(ParameterError, match=said):
        make()


def test_numpys_truth_values_and_masks_that_hide_nothing_are_taken_as_they_are():
    net = Network("tanh", np.ma.masked_array([1.0, 2.0], [False, False]), 1, reuse_batch=np.True_)  # type: ignore[arg-type]
    assert net == Network("tanh", [1.0, 2.0], 1, reuse_batch=True)
    assert json.loads(json.dumps(net.to_dict()))["reuse_batch"] is True


@pytest.mark.parametrize(
    ("model", "said"),
    [
        (Network("tanh", 1, np.inf), "Network('tanh', eta=1, alpha0=inf)"),
        (Network("tanh(2*x)", [0.5, 1], 1, beta=2), "Network('tanh(2*x)', eta=[0.5, 1], alpha0=1, beta=2)"),
        (Network("tanh", 1, 2, steps=[1, 3], rows="gaussian"), None),
        (
            Network("tanh", steps=[Step(1, 0.5), Step([2, 3], 1, loss="logistic")]),
            "Network('tanh', steps=[Step(1, alpha0=0.5), Step([2, 3], alpha0=1, loss='logistic')])",
        ),
        (SpikedRF("relu", 1 / 3, 1, readout=Letters((1,), (1,), biases=(2,))), None),
        (gs.TwoSpikes("relu", (1, 1), (0.7, 0.5), ((1, 1), (1, -1)), (0.5, 0.5)), None),
        (Target("sin", noise=0.1), "Target('sin', noise=0.1)"),
        (Target("logistic", scale=2), None),
    ],
)
def test_a_description_is_shown_as_the_call_that_makes_it(model, said):
    assert said is None or repr(model) == said
    names = {kind.__name__: kind for kind in (Network, SpikedRF, gs.TwoSpikes, Step, Target, Letters)}
    assert eval(repr(model), names | {"inf": np.inf}).to_dict() == model.to_dict()


def test_long_lists_and_callables_are_shown_in_short():
    assert repr(Network("tanh", np.arange(1000), 1)) == "Network('tanh', eta=[0, 1, ..., 999], alpha0=1)"
    assert repr(Target(np.cbrt)) == "Target(<Function cbrt>)"


@given(positive | grids, positive | grids, positive)
def test_networks_survive_their_dictionary(eta, alpha0, beta):
    net = Network("tanh(2*x)", eta, alpha0, beta, readout=Letters((1, -2), (0.25, 0.75), biases=(0, 1)))
    again = Network.from_dict(json.loads(json.dumps(net.to_dict())))
    assert again.to_dict() == net.to_dict()
    assert again.activation == net.activation
    np.testing.assert_array_equal(again.eta, net.eta)


@pytest.mark.parametrize(
    "thing",
    [
        SpikedRF("relu", r=[-1.0, 2.0], gamma=0.5, c=2.0, readout="ternary"),
        SpikedRF("relu", r=xr.DataArray([1.0, 2.0], dims="run"), gamma=xr.DataArray([0.0, 1.0], dims="run")),
        Network("tanh", 1.0, 2.0, steps=[1, 3], rows=0.5),
        Network("tanh", 1.0, 2.0, bias_scale=0.5),
        Network("tanh", steps=[Step(1.0, [0.5, 2.0]), Step(2.0, 1.0, loss="logistic")], rows="gaussian"),
        Target("max(x, 0)", noise=[0.0, 0.5]),
        Target("logistic", scale=2.0),
        Target("sign", flips=0.1, latent_noise=0.2),
    ],
)
def test_descriptions_survive_their_dictionary(thing):
    plain = json.loads(json.dumps(thing.to_dict()))
    again = type(thing).from_dict(plain)
    assert type(again) is type(thing)
    assert again == thing
    assert json.loads(json.dumps(again.to_dict())) == plain


def test_a_callable_has_no_dictionary():
    net = Network(gs.Function(np.tanh, derivative=lambda x: 1 - np.tanh(x) ** 2), 1, 1)
    with pytest.raises(ParameterError, match="Python callable"):
        net.to_dict()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"kind": "Forest"}, "'Forest', which is not a Network"),
        ({"kind": "Target", "function": "sin"}, "'Target', which is not a Network"),
        ({"kind": "Network", "activation": "tanh", "eta": 1, "alpha0": 1, "momentum": 2}, "momentum"),
    ],
)
def test_foreign_dictionaries_are_refused(data, said):
    with pytest.raises(ParameterError, match=said):
        Network.from_dict(data)


def test_descriptions_cannot_be_changed():
    with pytest.raises(AttributeError):
        Network("tanh", 1, 1).eta = 2  # type: ignore[misc]


def test_descriptions_compare_and_hash_by_value():
    def made():
        yield Network("tanh", [1, 2], xr.DataArray([0.5, 1.0], dims="run"), readout="rademacher")
        yield Network("tanh", steps=[Step(1, [0.5, 2.0])])
        yield SpikedRF("relu", r=np.array([1.0, 2.0]), gamma=1)
        yield gs.TwoSpikes("relu", (1, 1), (0.7, 0.5), ((1, 1), (1, -1)), (0.5, 0.5))
        yield Target("sin", noise=[0.0, 0.5])
        yield Letters((1, 2), (0.5, 0.5), biases=(0.0, 1.0))

    one, other = list(made()), list(made())
    for i, a in enumerate(one):
        assert hash(a) == hash(other[i])
        assert [a == b for b in other] == [i == j for j in range(len(other))]
    assert Network("tanh", [1, 2], 1) != Network("tanh", [1, 3], 1)
    assert Network("tanh", [1, 2], 1) != Network("tanh", xr.DataArray([1.0, 2.0], dims="run"), 1)
    assert Network("tanh", 1, 1) != Network("tanh", 1, 1, steps=1)


def test_a_model_can_be_had_with_other_numbers():
    net = Network("tanh", [1, 2], 1, beta=2, steps=[1, 3])
    assert net.at(eta=2, steps=3) == Network("tanh", 2, 1, beta=2, steps=3)
    assert net.at(eta=2, steps=1).most_steps == 3  # of the grid that it is from
    assert net.moved(eta=[4, 5]) == Network("tanh", [4, 5], 1, beta=2, steps=[1, 3])
    with pytest.raises(ParameterError, match="eta = -1"):
        net.moved(eta=-1)
    two = Network("tanh", steps=[Step([1, 2], 3), Step(4, 5, loss="logistic")])
    assert list(two.numbers()) == ["eta_1", "alpha0_1", "eta_2", "alpha0_2", "beta"]
    assert two.at(eta_1=2, beta=3) == Network("tanh", beta=3, steps=[Step(2, 3), Step(4, 5, loss="logistic")])
    assert two.moved(alpha0_2=[6, 7]) == Network(
        "tanh", steps=[Step([1, 2], 3), Step(4, [6, 7], loss="logistic")]
    )
    assert SpikedRF("relu", [1, 2], 0.5).at(r=2) == SpikedRF("relu", 2, 0.5)


def test_names_stand_for_letters_and_targets():
    assert as_letters("uniform").uniform
    assert as_letters("rademacher").values == (-1.0, 1.0)
    assert not as_letters("ternary").uniform
    assert as_target("sin").function == Target("sin").function
    target = Target("sin", noise=1)
    assert as_target(target) is target
    assert Target("logistic").binary
    assert not target.binary


def test_parameters_become_floats_arrays_or_stay_dataarrays():
    assert isinstance(parameter("eta", np.int64(3)), float)
    assert parameter("eta", (1, 2)).dtype == float
    labelled = xr.DataArray([1, 2], dims="run")
    assert parameter("eta", labelled).dims == ("run",)
    with pytest.raises(ParameterError, match="eta = -1"):
        parameter("eta", -labelled, low=0.0)


def test_only_alpha0_may_be_infinite_in_a_network():
    assert Network("tanh", 1, np.inf).alpha0 == np.inf


def test_tab_completion_offers_what_users_give_and_ask():
    offered = [name for name in dir(Network("tanh", 1.0, 1.0)) if not name.startswith("_")]
    given = [
        "activation",
        "alpha0",
        "beta",
        "bias_scale",
        "eta",
        "readout",
        "refit",
        "reuse_batch",
        "rows",
        "step_loss",
        "steps",
    ]
    assert sorted(offered) == sorted([*given, "equivalent", "from_dict", "to_dict"])
    assert "binary" in dir(Target("sin"))
    assert "random_signs" not in dir(Target("sin"))


def test_notebooks_show_a_table_of_what_was_given_and_no_html_of_the_user_s():
    shown = Network("tanh", eta=[1, 2], alpha0=1.0)._repr_html_()
    assert "<caption>Network</caption>" in shown
    assert "learning rate of the step" in shown
    assert "beta" not in shown  # at its default
    named = gs.Function(np.tanh, name="<b>mine</b>")
    assert "&lt;b&gt;mine&lt;/b&gt;" in Target(named)._repr_html_()


@pytest.mark.parametrize("letters", [[-1, 1], (-1, 1), {-1: 0.5, 1: 0.5}, 3])
def test_letters_that_are_not_letters_are_refused_with_an_example(letters):
    with pytest.raises(ParameterError, match=r"Letters\(\(-1, 1\), \(0.5, 0.5\)\)"):
        Network("tanh", eta=1, alpha0=1, readout=letters)


@pytest.mark.parametrize("function", ["sin", "tanh", "sign(x - 1)", lambda x: np.sign(x)])
def test_chances_of_a_projection_are_not_those_of_another_function(function):
    """Theory and simulation would each understand something else by it."""
    with pytest.raises(
        gs.ParameterError, match=r"scale = 2 is for the target 'logistic'.* use 'logistic', or flips"
    ):
        Target(function, scale=2)
    assert Target.from_dict(Target("logistic", scale=2).to_dict()) == Target("logistic", scale=2)
    assert Target("x1 + x1*x2", scale=2).binary
