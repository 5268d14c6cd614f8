"""Descriptions of inputs with a covariance."""

import json
import pickle

import numpy as np
import pytest

import giantstep as gs

TWO = ([2.5, 0.5], [0.25, 0.75])
MATRICES = [[[0.5, 0.3], [0.3, 0.4]], [[0.5, -0.3], [-0.3, 0.6]]]
LAWS = [
    gs.Inputs(*TWO),
    gs.Inputs(*TWO, [0.9, 0.1000005]),  # as people round
    gs.Inputs(*TWO, [[0.9, 0.1], [0.2, 0.8]]),
    gs.Inputs(*TWO, MATRICES),
    gs.Inputs([3, 1, 0.2]),
    gs.Inputs.power_law(0.5, d=30),
    gs.Inputs.power_law([0.1, 0.5], d=30, source=2),
]


@pytest.mark.parametrize("inputs", LAWS, ids=str)
def test_inputs_are_shown_as_calls_and_survive_their_dictionary(inputs: gs.Inputs) -> None:
    assert np.ndim(inputs.shares) == 3 or eval(str(inputs), NAMES) == inputs
    target = gs.Target("x1 + x1*x2" if np.ndim(inputs.shares) > 1 else "sin", inputs=inputs)
    again = gs.Target.from_dict(json.loads(json.dumps(target.to_dict())))
    assert again == target
    assert hash(again) == hash(target)
    assert pickle.loads(pickle.dumps(target)) == target
    assert sum(law == inputs for law in LAWS) == 1


def test_eigenvalues_have_mean_one_and_shares_sum_to_the_identity() -> None:
    for inputs in LAWS[:-1]:
        assert inputs.mu @ inputs.omega == pytest.approx(1.0, abs=1e-14)
        assert inputs.mu.sum() == pytest.approx(1.0, abs=1e-14)
        for k in (1, 2) if inputs.shares is None else ((2,) if np.ndim(inputs.shares) > 1 else (1,)):
            np.testing.assert_allclose(inputs.tau(k).sum(axis=0), np.eye(k), atol=1e-14)
    np.testing.assert_allclose(gs.Inputs(*TWO).tau(1)[:, 0, 0], [0.625, 0.375])
    assert gs.Inputs([5, 1], [0.25, 0.75]) == gs.Inputs(*TWO)


def test_a_source_moves_the_target_along_the_power_law() -> None:
    flat, usual, large = (gs.Inputs.power_law(0.5, d=30, source=s) for s in (0, 1, 3))
    np.testing.assert_allclose(flat.tau(1)[:, 0, 0], 1 / 30)
    np.testing.assert_allclose(usual.tau(2)[:, 1, 1], usual.omega / 30)
    assert large.tau(1)[0, 0, 0] > usual.tau(1)[0, 0, 0] > flat.tau(1)[0, 0, 0]
    exponents = gs.Inputs.power_law([0.1, 0.5], d=30)
    assert exponents.at(exponent=0.5) == usual


def _sample(n: int = 4000, d: int = 40) -> np.ndarray:
    """Gaussian inputs with a known covariance, in no special basis, with a mean."""
    random = np.random.default_rng(3)
    rotation = np.linalg.qr(random.normal(size=(d, d)))[0]
    return random.normal(size=(n, d)) * np.linspace(2, 0.2, d) @ rotation + 5.0


def test_data_give_their_eigenvalues_and_the_shares_of_a_direction() -> None:
    X, direction = _sample(), np.random.default_rng(0).normal(size=40)
    inputs = gs.Inputs.from_data(X, direction=direction)
    covariance = np.cov(X.T, bias=True)
    values, vectors = np.linalg.eigh(covariance / np.trace(covariance) * 40)
    parts = (vectors.T @ direction) ** 2 * values / (direction @ (vectors * values) @ vectors.T @ direction)
    assert inputs.d == 40
    for power in (1, 2, 3):  # bins move moments by at most 2e-5
        np.testing.assert_allclose(inputs.mu @ inputs.omega**power, (values**power).mean(), rtol=2e-5)
        np.testing.assert_allclose(inputs.tau(1)[:, 0, 0] @ inputs.omega**power, parts @ values**power, rtol=2e-5)


def test_a_direction_is_found_from_labels() -> None:
    X, direction = _sample(40_000), np.ones(40)
    z = (X - X.mean(axis=0)) @ direction
    labels = np.tanh(z / z.std()) + 0.1 * np.random.default_rng(1).normal(size=len(z))
    known, found = gs.Inputs.from_data(X, direction=direction), gs.Inputs.from_data(X, y=labels)
    for power in (1, 2):  # noise is d·s²/(n b²) of the direction, 1e-4 here
        moments = [one.tau(1)[:, 0, 0] @ one.omega**power for one in (known, found)]
        np.testing.assert_allclose(*moments, rtol=0.02)


def test_several_directions_share_eigenvalues_and_are_treated_alike() -> None:
    pair = np.array([np.eye(40)[0], np.eye(40)[0] + 0.5 * np.eye(40)[1]])  # not orthogonal
    tau, swapped = (gs.Inputs.from_data(_sample(), direction=rows).tau(2) for rows in (pair, pair[::-1]))
    np.testing.assert_allclose(tau.sum(axis=0), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(tau[:, ::-1, ::-1], swapped, atol=1e-12)
    assert np.abs(tau - swapped).max() > 0.01


SAMPLE = _sample()
NAMES = {"Inputs": gs.Inputs, "Target": gs.Target, "np": np, "TWO": TWO, "MATRICES": MATRICES}
NAMES |= {"data": gs.Inputs.from_data, "X": SAMPLE, "few": _sample(300)}


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("Inputs([1, -1])", "eigenvalues = -1 is not allowed"),
        ("Inputs([1, np.nan])", "finite"),
        ("Inputs([0, 0])", "all 0"),
        ("Inputs([])", "list of numbers"),
        ("Inputs([1, 2], [0.5, 0.6])", "sum to 1.1"),
        ("Inputs([1, 2], [1.0])", "1 entries for 2 eigenvalues"),
        ("Inputs([1, 2], None, [0.5, 0.6])", "sum to 1.1"),
        ("Inputs([1, 2], None, [0.5, 0.2, 0.3])", r"shares has shape \(3,\) for 2 eigenvalues"),
        ("Inputs([1, 0], None, [0.5, 0.5])", "eigenvalue 0, where the inputs do not vary"),
        ("Inputs([1, 2], None, [[[1.2, 0], [0, 0.5]], [[-0.2, 0], [0, 0.5]]])", "at least 0"),
        ("Inputs([1, 2], None, [[[0.5, 0], [0, 0.5]], [[0.5, 0], [0, 0.4]]])", "to the identity; these sum to"),
        ("Inputs([1, 2], None, [[[0.5, 0.1], [0, 0.5]], [[0.5, 0], [0, 0.5]]])", "symmetric"),
        ("Target('x1 + x1*x2', inputs=Inputs(*TWO, [0.5, 0.5]))", "for 1 direction, and the target has 2"),
        ("Target('sin', inputs=Inputs(*TWO, MATRICES))", "the target has 1; give one row"),
        ("Target('sin', inputs=[1, 2])", "must be Inputs"),
        ("data(np.zeros((100, 3)))", "X is constant"),
        ("data(np.ones(5))", r"shape \(5,\)"),
        ("data(np.full((100, 3), np.nan))", "not finite"),
        ("data(few)", "300 rows for 40 columns.*at least 400 rows"),
        ("data(X, direction=np.ones(3))", "give 40 finite numbers"),
        ("data(X, direction=np.zeros(40))", "do not vary along it"),
        ("data(X, direction=np.full(40, np.nan))", "direction has entries that are not finite"),
        ("data(X, np.ones(4000))", r"labels of the 4000 rows go into y= \(--labels\)"),
        ("data(X, y=np.ones(3))", "one finite label for each"),
        ("data(X, y=np.ones(4000))", "y is 1 in all 4000 rows.*give labels that vary"),
        ("data(X, y=np.random.default_rng(0).normal(size=4000))", "says too little about a direction"),
        ("data(X, y=np.ones(4000), direction=np.ones(40))", "give one or the other"),
        ("data(X, keep=1)", "True or False"),
    ],
)
def test_what_is_no_spectrum_and_says_too_little_is_refused(call: str, words: str) -> None:
    with pytest.raises(gs.ParameterError, match=words):
        eval(call, NAMES)


def test_kept_data_are_equal_by_content_and_have_no_dictionary() -> None:
    one, same, other = (gs.Inputs.from_data(X, keep=True) for X in (SAMPLE, _sample(), -SAMPLE))
    assert one == same
    assert hash(one) == hash(same)
    assert one != other
    assert one != gs.Inputs.from_data(SAMPLE)
    assert pickle.loads(pickle.dumps(one)) == one
    assert "4000 rows of data" in repr(one)
    with pytest.raises(gs.ParameterError, match="cannot be written"):
        gs.Target("sin", inputs=one).to_dict()
    target = gs.Target("sin", inputs=one)
    simulated = gs.simulate(gs.Network("tanh", eta=1, alpha0=1), target, alpha=1, lam=1, d=40, trials=1)
    assert "4000 rows of data" in simulated.attrs["target"]


@pytest.mark.parametrize("exponent", [0.4, 0.8])
def test_bins_move_answers_by_less_than_a_ten_thousandth(exponent: float) -> None:
    random, d = np.random.default_rng(0), 150
    rotation = np.linalg.qr(random.normal(size=(d, d)))[0]
    X = random.normal(size=(12 * d, d)) * np.arange(1.0, d + 1) ** (-exponent / 2) @ rotation
    direction = random.normal(size=d)
    binned = gs.Inputs.from_data(X, direction=direction)
    values, vectors = np.linalg.eigh(np.cov(X.T, bias=True))
    parts = (vectors.T @ direction) ** 2 * values
    every = gs.Inputs(values, shares=parts / parts.sum(), d=d)
    assert len(binned.omega) < d
    targets = [gs.Target("sin", inputs=inputs) for inputs in (binned, every)]
    at = {"alpha": [0.6, 4], "lam": 0.01, "d": d, "throw": False}
    for net in (gs.Network("tanh", eta=[0, 0.3], alpha0=1), gs.Network("relu", eta=0.3, alpha0=1, steps=2)):
        errors = [gs.predict(net, target, **at).test_error for target in targets]
        np.testing.assert_allclose(*errors, rtol=1e-4)
