"""What must hold for inputs with a covariance: limits that are isotropic problems, descriptions that say the same."""

import numpy as np
import pytest

import giantstep as gs

from ..zoo import MIX, PRODUCT, SHIFTED, TWO, TWO_SIGNS

# answers are of order one and differ by rounding, or by what two runs of a search leave open
ROUNDING = 1e-12
NAMES = ("test_error", "train_error", "q2", "m", "chi", "c", "r", "gamma")


def answers(net, y, names=NAMES, **options):
    found = gs.predict(net, y, **({"alpha": 1.5, "lam": 0.1} | options))
    return np.concatenate([np.ravel(found[name].values) for name in names if name in found])


def agree(a, b, tolerance=ROUNDING) -> None:
    assert np.abs(a - b).max() <= tolerance * max(1.0, np.abs(b).max())


def network(activation, steps, **options) -> gs.Network:
    return gs.Network(activation, steps=[gs.Step(*step) for step in steps], **options)


CASES = {
    "tanh": (gs.Network("tanh", eta=2, alpha0=1), "sin", {}),
    "two steps": (gs.Network("relu", eta=1, alpha0=1, steps=2), "tanh", {}),
    "letters, gaussian rows": (
        gs.Network(SHIFTED, eta=0.8, alpha0=1, steps=2, rows="gaussian", readout=TWO_SIGNS), MIX, {},
    ),
    "two directions": (gs.Network("relu", eta=1, alpha0=2, steps=2), PRODUCT, {}),
    "letter zero": (
        gs.Network("gelu", eta=1, alpha0=1, readout=gs.Letters((-1, 0, 1), (0.3, 0.3, 0.4))), "sin", {},
    ),
    "huber": (gs.Network("tanh", eta=1, alpha0=1), "sin", {"loss": "huber:0.5"}),
    "logistic": (gs.Network("tanh", eta=1, alpha0=1), "sign", {"loss": "logistic"}),
    "population": (gs.Network("relu", eta=1, alpha0=np.inf), "tanh", {}),
    "no step": (gs.Network("relu", eta=0, alpha0=1), "tanh", {}),
    "finite size": (gs.Network("tanh", eta=2, alpha0=1), "sin", {"d": 100}),
    "averaged rows": (gs.Network("relu", eta=1, alpha0=1, steps=2), "tanh", {"bulk": "isotropic"}),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_equal_eigenvalues_are_isotropic_inputs(case):
    """As one eigenvalue of any size, and as three that happen to be equal."""
    net, function, options = CASES[case]
    names = [name for name in NAMES if name != "chi"]  # averaged rows have one for inputs with a covariance
    isotropic = answers(net, function, names, **options)
    for inputs in (gs.Inputs([7.0]), gs.Inputs([1, 1, 1], masses=[0.2, 0.5, 0.3])):
        agree(answers(net, gs.Target(function, inputs=inputs), names, **options), isotropic)


@pytest.mark.parametrize("case", CASES)
def test_an_eigenvalue_split_in_several_changes_nothing(case):
    """With as few eigenvalues as steps coefficients are kept on each, with more of them as powers."""
    net, function, options = CASES[case]
    k = gs.Target(function).directions
    few = gs.Inputs([2.5, 0.5], masses=[0.25, 0.75], shares=[[0.6, 0.4], [0.3, 0.7]][:k])
    rows = [[0.2, 0.1, 0.4, 0.2, 0.1], [0.1, 0.2, 0.2, 0.1, 0.4]][:k]
    many = gs.Inputs([2.5, 0.5, 2.5, 0.5, 0.5], masses=[0.1, 0.25, 0.15, 0.2, 0.3], shares=rows)
    targets = (gs.Target(function, inputs=inputs) for inputs in (few, many))
    agree(*(answers(net, y, **options) for y in targets), tolerance=1e-11)


@pytest.mark.parametrize(
    ("activation", "function", "letters", "noise"), [("relu", PRODUCT, TWO_SIGNS, 0.0), (SHIFTED, MIX, TWO, 0.3)]
)
def test_inputs_of_which_half_are_constant_are_isotropic_inputs_in_half_the_dimensions(
    activation, function, letters, noise
):
    """Of a unit row, the squared norm of one half varies by half as much as that of a Gaussian row."""
    steps, k = [(0.6, 1), (0.5, 1.5)], gs.Target(function).directions
    half = gs.Inputs([2, 0], masses=[0.5, 0.5], shares=[[1, 0]] * k)
    net = network(activation, steps, readout=letters)
    y = gs.Target(function, noise=noise, inputs=half)
    other = network(activation, [(4 * a, 2 * b) for a, b in steps], beta=2, rows=1.0, readout=letters)
    agree(answers(net, y), answers(other, gs.Target(function, noise=noise), alpha=3.0))


@pytest.mark.parametrize("inputs", [gs.Inputs([2.5, 0.5], masses=[0.25, 0.75]), gs.Inputs.power_law(0.4, d=50)])
def test_a_step_of_rate_zero_changes_nothing_and_a_tiny_one_hardly_anything(inputs):
    y, names = gs.Target("tanh", inputs=inputs), ("test_error", "train_error", "q2", "m", "chi")
    steps = [(1, 1), (0.7, 2)]
    plain = answers(network("relu", steps, readout=TWO_SIGNS), y, names)
    for place in range(3):
        more = [*steps[:place], (0, 1), *steps[place:]]
        agree(answers(network("relu", more, readout=TWO_SIGNS), y, names), plain)
    more = [(1, 1), (1e-9, 1), (0.7, 2)]  # one more level of norms and one more block of the pencil, which count
    agree(answers(network("relu", more), y, names), answers(network("relu", steps), y, names), tolerance=1e-7)


def test_all_the_data_of_a_step_is_the_limit_of_much_of_it_and_does_not_find_the_target():
    """One step goes along Ωθ, whose cosine with θ is T1/√T2 in whitened coordinates; τ on one eigenvalue makes it 1."""
    for shares, expected in (((0.5, 0.5), 1.5 / np.sqrt(3.25)), ((1.0, 0.0), 1.0)):
        y = gs.Target("sin", inputs=gs.Inputs([2.5, 0.5], masses=[0.25, 0.75], shares=shares))
        found, near = (gs.predict(gs.Network("relu", eta=1, alpha0=a), y, alpha=1.5, lam=0.1) for a in (np.inf, 1e10))
        assert float(found.gamma) == pytest.approx(expected, rel=1e-12)
        assert float(found.test_error) == pytest.approx(float(near.test_error), rel=1e-9)  # of order 1/alpha0


def test_exponents_on_a_grid_are_those_one_by_one():
    net = gs.Network("relu", eta=[0.5, 1], alpha0=1, steps=2)
    together = gs.predict(net, gs.Target("sin", inputs=gs.Inputs.power_law([0.1, 0.4], d=60)), alpha=[1, 2], lam=0.1)
    for exponent in (0.1, 0.4):
        alone = gs.predict(net, gs.Target("sin", inputs=gs.Inputs.power_law(exponent, d=60)), alpha=[1, 2], lam=0.1)
        for name in ("test_error", "r"):
            agree(together[name].sel(exponent=exponent).values, alone[name].values, tolerance=1e-10)


@pytest.mark.parametrize("alpha", [0.3, 0.7, 1.5])
@pytest.mark.parametrize("beta", [0.6, 2.0])
def test_ridgeless_linear_features_on_constant_inputs_are_the_limit_of_a_small_penalty(alpha, beta):
    y = gs.Target("tanh", noise=0.3, inputs=gs.Inputs([2, 0], masses=[0.5, 0.5], shares=[1, 0]))
    net = gs.Network("x", eta=0.5, alpha0=1, beta=beta)
    found = gs.predict(net, y, alpha=alpha, lam=[0, 1e-8])
    assert found.test_error.values[0] == pytest.approx(found.test_error.values[1], rel=1e-6)  # of order lam


def test_a_few_large_eigenvalues_are_warned_of_and_refused():
    y = gs.Target("sin", inputs=gs.Inputs.power_law(1, d=1000))
    with pytest.warns(gs.LimitWarning, match=r"\(spread\) of 0\.\d+, .* \(share\) of 0\.\d+"):
        found = gs.predict(gs.Network("tanh", eta=0.3, alpha0=1), y, alpha=1, lam=0.1)
    assert found.code == 10
    assert np.isfinite(found.test_error)
    net = gs.Network("tanh", eta=1, alpha0=1)
    refused = pytest.raises(gs.ConvergenceError, match="the theory does not apply")
    with pytest.warns(gs.LimitWarning, match="few eigenvalues"), refused as caught:
        gs.predict(net, y, alpha=1, lam=0.1)
    assert caught.value.partial.code == 11
    assert np.isnan(caught.value.partial.test_error)
    assert gs.predict(net, y, alpha=1, lam=0.1, d=1e6).code == 0  # the same spectrum, spread over many more inputs


def test_spread_and_share_are_those_of_initial_rows_without_a_step():
    """Unit rows: d·Var |w̃|² = 2(M2 - 1) and tr Ω²/d = M2; at d = 20 with M2 = 1.75, 0.075 and 0.0875."""
    y = gs.Target("sin", inputs=gs.Inputs([2.5, 0.5], masses=[0.25, 0.75], d=20))
    with pytest.warns(gs.LimitWarning, match=r"\(spread\) of 0\.075, .* \(share\) of 0\.08[78]"):
        gs.predict(gs.Network("tanh", eta=0, alpha0=1), y, alpha=1, lam=0.1)


@pytest.mark.parametrize(
    ("activation", "eta", "bulk"), [("relu", 1.5, None), ("tanh", 2, None), ("relu", 1.5, "isotropic")]
)
def test_a_spectrum_of_features_has_its_mass_and_its_moments(activation, eta, bulk):
    """The density is integrated; moments are known in closed form from traces."""
    y = gs.Target("tanh", inputs=gs.Inputs([2.5, 0.5], masses=[0.25, 0.75], shares=[0.3, 0.7]))
    found = gs.spectrum(gs.Network(activation, eta=eta, alpha0=1, beta=0.8), alpha=1.7, target=y, bulk=bulk)
    density, x = found.weight * found.density, found.eigenvalue
    for power, expected in ((0, 1.0), (1, found.moment1), (2, found.moment2)):
        assert float((density * x**power).sum()) == pytest.approx(float(expected), rel=1e-7)
