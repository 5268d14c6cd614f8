"""Several letters and biases: against a plain reference, symmetries that are exact, bounds, explicit traces."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import giantstep as gs
from giantstep.theory.bulk import Isotropic
from giantstep.theory.equations.response import respond
from giantstep.theory.symmetric import packing

from ..zoo import BIASED
from . import reference_groups
from .reference import PLAIN
from .reference_groups import Groups

# that the limit d = inf may be far from real sizes is tested at the end
pytestmark = pytest.mark.filterwarnings("ignore:with these letters the limit")

EXACT = 1e-12  # symmetries of the equations: only rounding, and different orders of summation
STATISTICS = ("m", "zeta", "psi", "q2", "V2")


def _predict(model, target="sin", **options):
    return gs.predict(model, target, **{"alpha": 1.3, "lam": 0.1, **options})


def _as_groups(model: gs.SpikedRF) -> Groups:
    letters = model.readout
    K = len(letters.values)
    return Groups(
        u=float(model.r) * np.array(letters.values),
        n=np.array(letters.weights),
        c=np.array(letters.c or (float(model.c),) * K),
        b=np.array(letters.biases or (0.0,) * K),
    )


# the plain reference

VOCABULARIES = {
    "two letters": gs.Letters((0.5, 1.5), (0.4, 0.6)),
    "signs": gs.Letters((-1.0, 1.0), (0.3, 0.7)),
    "with a silent group": gs.Letters((-1.0, 0.0, 1.0), (0.25, 0.5, 0.25)),
    "unequal rows": gs.Letters((1.0, 1.0, -0.4), (0.2, 0.5, 0.3), c=(0.6, 1.9, 1.0)),
    "biases": gs.Letters((1.0, 1.0, 0.5), (0.3, 0.4, 0.3), biases=(0.5, -0.8, 0.0)),
}


@pytest.mark.parametrize("activation", ["softplus", "tanh"])
@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_statistic_of_every_letter_equals_the_plain_reference(name, activation):
    """1e-9 for errors. The all-ones directions are nearly collinear at d = ∞, so m is looser by their condition
    number, up to 1e5 here."""
    model = gs.SpikedRF(activation, r=1.2, gamma=0.7, beta=1.3, c=1.1, readout=VOCABULARIES[name])
    found = _predict(model, gs.Target("sin", noise=0.3))
    groups = _as_groups(model)
    tables = reference_groups.tabulate(groups, PLAIN[activation], PLAIN["sin"], 0.7)
    expected = reference_groups.solve(groups, tables, beta=1.3, alpha=1.3, lam=0.1, noise=0.3)
    for statistic in ("test_error", "train_error"):
        assert float(found[statistic]) == pytest.approx(expected[statistic], rel=1e-9), statistic
    for statistic in ("V1", "V2", "psi", "q1", "q2"):
        assert found[statistic].values == pytest.approx(expected[statistic], rel=1e-8, abs=1e-9), statistic
    # m itself is unique only without null directions: compare the function that it stands for
    fitted = found.m.values @ tables.mu0 + found.zeta.values @ (tables.kappa * tables.mu1)
    wanted = expected["m"] @ tables.mu0 + expected["zeta"] @ (tables.kappa * tables.mu1)
    inside = np.abs(tables.kappa) < 3.0
    assert fitted[inside] == pytest.approx(wanted[inside], abs=1e-6)


# symmetries


@pytest.mark.parametrize("bulk", ["isotropic", "exact"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_one_letter_is_the_uniform_readout(activation, bulk):
    net = gs.Network(activation, eta=1.5, alpha0=1.0)
    lettered = gs.Network(activation, eta=1.5, alpha0=1.0, readout=gs.Letters((1.0,), (1.0,)))
    a, b = _predict(net, bulk=bulk), _predict(lettered, bulk=bulk)
    assert a.equals(b)


@pytest.mark.parametrize("bulk", ["isotropic", "exact"])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_letter_split_in_two_changes_nothing(activation, bulk):
    def network(values, weights):
        return gs.Network(activation, eta=1.5, alpha0=1.0, beta=1.2, readout=gs.Letters(values, weights))

    whole = _predict(network((0.5, 1.5), (0.4, 0.6)), bulk=bulk, d=500)
    split = _predict(network((0.5, 1.5, 1.5), (0.4, 0.1, 0.5)), bulk=bulk, d=500)
    for name in ("test_error", "train_error"):
        assert float(split[name]) == pytest.approx(float(whole[name]), rel=EXACT)
    for name in (*STATISTICS, *(["chi"] if bulk == "exact" else [])):
        parts = split[name].values
        assert parts[1] + parts[2] == pytest.approx(whole[name].values[1], rel=EXACT), name
        assert parts[1] / (parts[1] + parts[2]) == pytest.approx(1 / 6, rel=EXACT), name
    for name in ("q1", "V1"):
        parts = split[name].values
        assert parts[1:, 1:].sum() == pytest.approx(whole[name].values[1, 1], rel=EXACT)


@pytest.mark.parametrize("bulk", ["isotropic", "exact"])
def test_permuting_letters_permutes_answers(bulk):
    values, weights, order = np.array([0.5, 1.5, -1.0]), np.array([0.2, 0.5, 0.3]), [2, 0, 1]

    def network(index):
        letters = gs.Letters(tuple(values[index]), tuple(weights[index]))
        return gs.Network("softplus", eta=1.5, alpha0=1.0, readout=letters)

    a, b = (_predict(network(index), bulk=bulk, d=400) for index in ([0, 1, 2], order))
    assert float(a.test_error) == pytest.approx(float(b.test_error), rel=EXACT)
    for name in STATISTICS:
        assert b[name].values == pytest.approx(a[name].values[order], rel=1e-10), name
    assert b.V1.values == pytest.approx(a.V1.values[np.ix_(order, order)], rel=1e-10)


@pytest.mark.parametrize("bulk", ["isotropic", "exact"])
@pytest.mark.parametrize("values", [(-1.0, 1.0), (-1.0, 0.0, 1.0), (0.7, -0.7, 0.7)])
def test_for_odd_activations_only_the_size_of_a_letter_matters(bulk, values):
    """Letters that differ in the last digits are not merged: solving each sign on its own gives the same errors and,
    letter by letter, what merging expands to."""
    weights = np.arange(1.0, len(values) + 1) / np.arange(1.0, len(values) + 1).sum()
    apart = np.array(values) * (1.0 + 1e-13 * np.arange(len(values)))
    merged, plain = (
        _predict(
            gs.Network("tanh", eta=2.0, alpha0=0.8, beta=1.2, readout=gs.Letters(letters, weights)),
            gs.Target("sin", noise=0.2),
            bulk=bulk,
            d=300,
        )
        for letters in (values, apart)
    )
    assert float(merged.test_error) == pytest.approx(float(plain.test_error), rel=1e-10)
    for name in (*STATISTICS, "q1", "V1"):
        size = np.abs(plain[name].values).max()
        assert merged[name].values == pytest.approx(plain[name].values, abs=1e-9 * size), name


def test_a_mirrored_letter_has_sums_of_the_other_sign():
    """Flipping a letter of an odd network flips its readout weights and rows: Σa changes sign, Σa w does not."""
    plain, mirrored = (
        _predict(gs.Network("tanh", eta=2.0, alpha0=0.8, readout=gs.Letters((first, 1.5), (0.4, 0.6))), d=300)
        for first in (0.5, -0.5)
    )
    for name, sign in {"m": -1.0, "chi": -1.0, "zeta": 1.0, "psi": 1.0, "q2": 1.0}.items():
        expected = plain[name].values * np.array([sign, 1.0])
        assert mirrored[name].values == pytest.approx(expected, rel=1e-10), name


# bounds


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    data=st.data(),
    K=st.integers(1, 3),
    activation=st.sampled_from(["relu", "tanh", "softplus", "erf"]),
    target=st.sampled_from(["sin", "tanh", "He2", "He3"]),
    gamma=st.floats(-1.0, 1.0),
    alpha=st.floats(0.1, 20.0),
    beta=st.floats(0.1, 10.0),
    log_lam=st.floats(-4.0, 3.0),
)
def test_no_ridge_beats_the_projection_on_what_features_can_express(
    data, K, activation, target, gamma, alpha, beta, log_lam
):
    values = data.draw(st.lists(st.floats(-2.0, 2.0), min_size=K, max_size=K))
    biases = data.draw(st.lists(st.floats(-1.0, 1.0), min_size=K, max_size=K))
    letters = gs.Letters(tuple(values), (1.0 / K,) * K, tuple(biases))
    model = gs.SpikedRF(activation, r=1.3, gamma=gamma, beta=beta, readout=letters)
    tables = reference_groups.tabulate(_as_groups(model), PLAIN[activation], PLAIN[target], gamma, step=2.0)
    lower = reference_groups.lower_bound(tables)
    found = gs.predict(model, target, alpha=alpha, lam=10.0**log_lam)
    assert float(found.test_error) >= lower - 1e-7 * float(tables.w @ tables.t[2])


# the random-matrix part against matrices


def test_the_response_of_the_bulk_is_that_of_explicit_random_matrices():
    """(1/p) Tr of each group's block of H⁻¹, and of Ω_st H⁻¹, H = diag(D) + W(V̂1⊗I)Wᵀ, rows on spheres. Errors fall as
    1/d (fluctuations of these traces are of that order too)."""
    n, c, beta, lam = np.array([0.25, 0.75]), np.array([0.7, 1.6]), 1.6, 0.2
    hat1, hat2, pack = np.array([[0.9, 0.5], [0.5, 0.6]]), np.array([0.3, 0.1]), packing(2)
    V = np.concatenate([np.zeros(3), n / lam])[None, None]
    for _ in range(500):
        hat = pack.pack(hat1, hat2)[None, None]
        V = respond(Isotropic(c[None], n), V, hat, np.array([[beta]]), np.array([[lam]])).V
    errors, rng = {}, np.random.default_rng(3)
    for d in (40, 160):
        group = np.repeat([0, 1], np.round(n * beta * d).astype(int))
        member, off = np.eye(2)[group], []
        for _ in range(48):
            W = rng.standard_normal((len(group), d))
            W *= np.sqrt(c[group] / (W**2).sum(axis=1))[:, None]
            R = np.linalg.inv(np.diag((lam + hat2)[group]) + W @ W.T * hat1[np.ix_(group, group)])
            V1, V2 = member.T @ (W @ W.T * R) @ member / len(group), np.diag(R) @ member / len(group)
            off.append(pack.pack(V1, V2) - V[0, 0])
        errors[d] = np.abs(np.mean(off, axis=0)).max()
    assert errors[160] < 0.5 * np.abs(pack.vector(V)).max() / 160
    assert errors[160] < 0.5 * errors[40]


def test_a_limit_that_no_real_size_comes_near_is_announced_with_both_numbers():
    model = gs.SpikedRF("tanh", r=1.2, gamma=0.9, beta=1.2, readout=BIASED)
    with pytest.warns(gs.LimitWarning, match=r"out of reach of real sizes.*0\.152 in the limit and 0\.16"):
        gs.predict(model, "relu", alpha=1.3, lam=0.1)
    gs.predict(model, "relu", alpha=1.3, lam=0.1, d=400)  # a size was given: nothing to warn of
