"""Theory and simulation agree within errors, over a zoo of settings, and the test would notice if they did not."""

from __future__ import annotations

import numpy as np
import pytest

import giantstep as gs

from .. import zoo
from ..zoo import Case
from .harness import (
    Outcome,
    assert_that_three_per_cent_are_noticed,
    assert_z_scores,
    judged,
    outcomes,
    report,
    standard_error,
)

# relative standard error of a test error: 3 % off in all is then a mean z² of 5, of about 1 if not
PRECISION = 0.015
SHARE = 0.4  # of the trials that a standard error of 1 % takes, so that one of 1.5 % is left


def shortened(cases: list[Case]) -> list[Case]:
    return [case.but(trials=int(SHARE * case.trials)) for case in cases]


def sampled(cases: list[Case]) -> list[Case]:
    """With few test samples where the exact average takes longer, or wrong signs are counted on many.

    Trials scatter by 3 to 7 %, to which these add 2 to 4 %.
    """
    slow = {"two steps, relu on a parabola", "strong step"}
    signs = {"sin on sign", "sign on sign, narrow", "logistic readout"}
    few = {"n_test": 3000}
    return [case.but(simulated=case.simulated | few) if case.name in slow | signs else case for case in cases]


@pytest.fixture(scope="module")
def spiked() -> list[Outcome]:
    return outcomes(sampled(shortened(zoo.SPIKED)), d=250, seed=100)


def test_spiked_random_features_agree_with_result_3(spiked):
    assert np.sqrt(np.mean([o.precision**2 for o in spiked])) < PRECISION, report(spiked)
    assert_z_scores(spiked)


def test_an_error_of_three_per_cent_in_the_theory_would_be_noticed(spiked):
    assert_that_three_per_cent_are_noticed(spiked)


def test_gaussian_features_agree_with_result_3():
    chosen = shortened([zoo.SPIKED[i] for i in (0, 2, 4, 6, 8, 11)])
    gaussian = [case.but(simulated={"features": "gaussian"}) for case in chosen]
    # the equivalent features have no input norm that could fluctuate, an effect of order 1/d that is small here
    names = ("test_error", "train_error", "psi", "q2")
    assert_z_scores(outcomes(sampled(gaussian), d=250, seed=300), names)


def test_letters_and_biases_agree():
    """At one seed in 70 the test error exceeds its bound, not one in 200 (resampled from 240 trials of each case): what
    is left of order 1/d is up to a quarter of a trial's standard deviation."""
    assert_z_scores(outcomes(shortened(zoo.LETTERS), d=250, seed=500))


STRONG = ("tanh on tanh, eta 3", "tanh on sin, eta 3", "erf on tanh")
FAST_NETWORKS = {
    *STRONG, "sin on sin", "relu on tanh", "softplus on relu", "gelu on relu", "noise, relu", "letters .5 1.5, relu",
    "ternary, tanh", "logistic readout", "huber readout", "biases, tanh", "biases, relu",
}  # fmt: skip


@pytest.fixture(scope="module")
def networks() -> list[Outcome]:
    cases = [case for case in zoo.NETWORKS if case.name in FAST_NETWORKS]
    return outcomes(sampled(cases), d=300, trials=16, seed=700)


def test_trained_networks_agree_with_the_exact_bulk(networks):
    assert_z_scores(networks)


def test_the_isotropic_model_of_a_strong_step_is_rejected(networks):
    """The known gap of the paper's model, 5 to 10 % here: shown, not hidden."""
    isotropic = [judged(o.case, o.run, bulk="isotropic") for o in networks if o.case.name in STRONG]
    assert len(isotropic) == len(STRONG)
    assert all(o.gap < -0.03 for o in isotropic), report(isotropic)
    with pytest.raises(AssertionError):
        assert_z_scores(isotropic, names=("test_error",))


MEASURED = [zoo.NETWORKS[i] for i in (0, 3, 10, 14, -2, -1)]


@pytest.mark.parametrize("case", MEASURED, ids=zoo.named(MEASURED))
def test_measured_spike_alignment_and_norms_agree_with_result_1(case):
    """With biases letter by letter: each has a slope, and so a spike, of its own."""
    at = {"alpha": 0.2, "lam": 1.0, "d": 300}
    run, theory = case.simulate(**at, seed=900, n_test=100), case.predict(**at)
    for name in ("c", "r", "gamma"):
        assert run[name].dims == ("trial", *theory[name].dims)
        mean, error = run[name].mean("trial").values, standard_error(run[name]).values
        # what Result 1 leaves out is of order 1/d; 4.5 standard errors of t with 39 degrees for 26 comparisons
        off = np.abs(mean - theory[name].values)
        assert np.all(off < 4.5 * error + 2 / at["d"] * np.abs(mean)), (name, mean, theory[name].values, error)


@pytest.mark.parametrize(
    "readout", ["uniform", pytest.param(zoo.TERNARY, marks=pytest.mark.slow)], ids=["uniform", "ternary"]
)
def test_the_step_takes_away_what_the_rows_have_in_common(readout):
    """The initial output is linear in the groups' mean rows, and the step descends on it: an effect of order 1/d.

    Where learning is almost perfect it decides: without it the corrected theory is 4 % off at d = 200, or more, which
    is three to four standard errors of so many trials.
    """
    case = Case("large batch", gs.Network("tanh", 3, 16, readout=readout), "tanh", 3.0, 0.1, trials=80)
    with_it = judged(case, case.simulate(d=200, seed=1100))
    assert with_it.precision < PRECISION
    for name, z in with_it.z.items():
        assert abs(np.ravel(z)[0]) < 3.5, name + report([with_it])  # seven values, t-distributed
    # for inputs with eigenvalues, be they equal, the effect is left out
    without = judged(case.but(target=zoo.on("tanh", gs.Inputs.power_law(0, d=2))), with_it.run)
    assert without.gap - with_it.gap > 0.03
    assert abs(without.z["test_error"][0]) > abs(with_it.z["test_error"][0]), report([with_it, without])


def test_strong_steps_do_not_blow_up_what_the_rows_have_in_common():
    """The drag is on the rows as they were drawn; on those of the strong step's own size it would be 14 % off here."""
    case = Case("strong step", gs.Network("tanh", 30, 2), "tanh", 1.0, 0.1, trials=60)
    (outcome,) = outcomes(sampled([case]), d=150, seed=1200)
    assert outcome.precision < PRECISION
    # what is left of order 1/d was 2 % at this size in 150 networks of other seeds
    assert abs(outcome.gap) < 0.035 + 3.0 * outcome.precision, report([outcome])


# one kind of each: odd and not, noise, three steps, letters of two signs, biases, gaussian rows
# the widest, whose trials take longest, scatters least
FAST_STEPS = {0: 20, 3: 20, 6: 20, 8: 20, 11: 20, 12: 20, 15: 16, 16: 20}


def test_several_steps_agree_with_the_exact_bulk():
    """At d = 300; what steps do to their own fluctuations, of order 1/d, is not in the theory: 0.3 to 1 % there."""
    cases = [zoo.SEVERAL_STEPS[i].but(trials=trials) for i, trials in FAST_STEPS.items()]
    assert_z_scores(outcomes(sampled(cases), d=300, seed=900), ("test_error", "train_error", "m", "q2"))


def test_further_kinds_agree():
    """At d = 250, where steps' own fluctuations, of order 1/d, are less than a standard error of so few trials."""
    few = [case.but(trials=20, simulated={"n_test": 3000}) for case in zoo.FURTHER]
    assert_z_scores(outcomes(few, d=250, seed=3000))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["SPIKED", "LETTERS", "NETWORKS", "SEVERAL_STEPS", "FURTHER"])
def test_the_whole_zoo_agrees_at_larger_size(kind):
    whole = outcomes(getattr(zoo, kind), d=600, trials=60, seed=2000)
    print(report(whole))
    assert_z_scores(whole)


@pytest.fixture(scope="module")
def correlated_inputs() -> list[Outcome]:
    return outcomes(zoo.inputs_with_a_covariance(400), d=400, trials=24, seed=900)


def test_inputs_with_a_covariance_agree(correlated_inputs):
    precision = np.sqrt(np.mean([o.precision**2 for o in correlated_inputs]))
    assert precision < PRECISION, report(correlated_inputs)
    assert_z_scores(correlated_inputs)


def test_an_error_of_three_per_cent_would_be_noticed_with_a_covariance(correlated_inputs):
    assert_that_three_per_cent_are_noticed(correlated_inputs)
