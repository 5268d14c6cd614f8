"""Theory and simulation agree within errors, over a zoo of settings, and the test would notice if they did not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import xarray as xr

import giantstep as gs

from . import zoo
from .harness import STATISTICS, Case, Outcome, confront, judged, mean_square_interval, report, simulated

PRECISION = (
    0.015  # relative standard error of a test error: 3 % off in all is then a mean z² of 5, of about 1 if not
)
SHARE = 0.4  # of the trials that a standard error of 1 % takes, so that one of 1.5 % is left


def confronted(
    cases: list[Case], *, d: int, seed: int, trials: int | None = None
) -> list[tuple[xr.Dataset, Outcome]]:
    """Every case with a seed of its own, so that their z-scores are independent."""
    return [confront(case, d=d, seed=seed + i, trials=trials) for i, case in enumerate(cases)]


def outcomes(cases: list[Case], **how: int) -> list[Outcome]:
    return [outcome for _, outcome in confronted(cases, **how)]


def shortened(cases: list[Case], share: float = SHARE) -> list[Case]:
    return [replace(case, trials=int(share * case.trials)) for case in cases]


def sampled(cases: list[Case], n_test: int = 3000) -> list[Case]:
    """With few test samples where the exact average takes longer, or wrong signs are counted on many.

    Trials scatter by 3 to 7 %, to which these add 2 to 4 %.
    """
    sharp = {"two steps, relu on a parabola", "strong step"}
    signs = {"sin on sign", "sign on sign, narrow", "logistic readout"}
    return [
        replace(case, simulated={**case.simulated, "n_test": n_test}) if case.name in sharp | signs else case
        for case in cases
    ]


def assert_z_scores(found: list[Outcome], names=STATISTICS) -> None:
    """The mean of z² of each statistic over the cases is what it is for t-distributed values.

    A 99 % interval for the test error; 99.9 % for the six others, since they are six more chances to fail.
    """
    for name in names:
        known = [o for o in found if name in o.z]
        z = np.array([np.ravel(o.z[name])[0] for o in known])  # one per case: the first letter's
        level = 0.99 if name == "test_error" else 0.999
        low, high = mean_square_interval([o.trials for o in known], level)
        assert low < np.mean(z**2) < high, (
            f"{name}: mean z² {np.mean(z**2):.2f} not in ({low:.2f}, {high:.2f})" + report(found)
        )


@pytest.fixture(scope="module")
def spiked() -> list[Outcome]:
    return outcomes(sampled(shortened(zoo.SPIKED)), d=250, seed=100)


def test_spiked_random_features_agree_with_result_3(spiked):
    assert max(o.precision for o in spiked) < PRECISION, report(spiked)
    assert_z_scores(spiked)


def test_an_error_of_three_per_cent_in_the_theory_would_be_noticed(spiked):
    assert_that_three_per_cent_are_noticed(spiked)


def assert_that_three_per_cent_are_noticed(found: list[Outcome]) -> None:
    shifted = []
    for o in found:
        error = o.precision / (1.0 + o.gap)
        planted = (
            o.z["test_error"] - 0.03 / error
        )  # the theory 3 % larger, in the simulation's standard errors
        shifted.append(replace(o, z={**o.z, "test_error": planted}, gap=o.gap + 0.03))
    with pytest.raises(AssertionError, match="test_error: mean z²"):
        assert_z_scores(shifted, names=("test_error",))


def test_gaussian_features_agree_with_result_3():
    chosen = shortened([zoo.SPIKED[i] for i in (0, 2, 4, 6, 8, 11)])
    gaussian = [replace(case, simulated={"features": "gaussian"}) for case in chosen]
    found = outcomes(sampled(gaussian), d=250, seed=300)
    # the equivalent features have no input norm that could fluctuate, an effect of order 1/d that is small here
    assert_z_scores(found, names=("test_error", "train_error", "psi", "q2"))


def test_letters_and_biases_agree():
    assert_z_scores(outcomes(shortened(zoo.LETTERS), d=250, seed=500))


FAST_NETWORKS = [
    case
    for case in zoo.NETWORKS
    if case.name
    in {
        "tanh on tanh, eta 3",
        "tanh on sin, eta 3",
        "erf on tanh",
        "sin on sin",
        "relu on tanh",
        "softplus on relu",
        "gelu on relu",
        "noise, relu",
        "letters .5 1.5, relu",
        "ternary, tanh",
        "logistic readout",
        "huber readout",
        "biases, tanh",
        "biases, relu",
    }
]


@pytest.fixture(scope="module")
def networks() -> list[tuple[xr.Dataset, Outcome]]:
    return confronted(sampled(FAST_NETWORKS), d=300, trials=16, seed=700)


def test_trained_networks_agree_with_the_exact_bulk(networks):
    assert_z_scores([outcome for _, outcome in networks])


def test_the_isotropic_model_of_a_strong_step_is_rejected(networks):
    """The known gap of the paper's model, 5 to 10 % here: shown, not hidden."""
    strong = {"tanh on tanh, eta 3", "tanh on sin, eta 3", "erf on tanh"}
    found = [
        judged(replace(outcome.case, options={"bulk": "isotropic"}), run)
        for run, outcome in networks
        if outcome.case.name in strong
    ]
    assert len(found) == len(strong)
    assert all(o.gap < -0.03 for o in found), report(found)
    with pytest.raises(AssertionError):
        assert_z_scores(found, names=("test_error",))


@pytest.mark.parametrize(
    "case", [zoo.NETWORKS[i] for i in (0, 3, 10, 14)] + zoo.NETWORKS[-2:], ids=lambda case: case.name
)
def test_measured_spike_alignment_and_norms_agree_with_result_1(case):
    """With biases letter by letter: each has a slope, and so a spike, of its own."""
    trials, at = 40, {"alpha": 0.2, "lam": 1.0, "d": 300}
    run = gs.simulate(case.model, case.target, **at, trials=trials, seed=900, n_test=100, progress=False)
    theory = gs.predict(case.model, case.target, **at)
    for name in ("c", "r", "gamma"):
        assert run[name].dims == ("trial", *theory[name].dims)
        mean, error = run[name].mean("trial").values, run[name].std("trial", ddof=1).values / trials**0.5
        # what Result 1 leaves out is of order 1/d; 4.5 standard errors of t with 39 degrees for 26 comparisons
        assert np.all(np.abs(mean - theory[name].values) < 4.5 * error + 2 / at["d"] * np.abs(mean)), (
            name,
            mean,
            theory[name].values,
            error,
        )


@pytest.mark.parametrize(
    "readout",
    [
        pytest.param("uniform", id="uniform"),
        pytest.param(zoo._TERNARY, marks=pytest.mark.slow, id="ternary"),
    ],
)
def test_the_step_takes_away_what_the_rows_have_in_common(readout, monkeypatch):
    """The initial output is linear in the groups' mean rows, and the step descends on it: an effect of order 1/d.

    Where learning is almost perfect it decides: without it the corrected theory is 4 % off at d = 200, or more, which
    is three to four standard errors of so many trials.
    """
    model = zoo.network("tanh", 3, 16, readout=readout)
    case = Case("large batch", model, "tanh", 3.0, 0.1, trials=80)
    run = simulated(case, d=200, seed=1100)
    found = judged(case, run)
    assert found.precision < 0.015
    for name, z in found.z.items():
        assert abs(np.ravel(z)[0]) < 3.5, name + report([found])  # seven values, t-distributed
    monkeypatch.setattr(
        "giantstep.theory.first_layers.FirstLayers.mean_row_covariance", lambda self, chunk: None
    )
    without = judged(case, run)
    assert without.gap - found.gap > 0.03
    assert abs(without.z["test_error"][0]) > abs(found.z["test_error"][0]), report([found, without])


def test_strong_steps_do_not_blow_up_what_the_rows_have_in_common():
    """The drag is on the rows as they were drawn; on those of the strong step's own size it would be 14 % off here."""
    case = Case("strong step", zoo.network("tanh", 30, 2), "tanh", 1.0, 0.1, trials=60)
    _, found = confront(*sampled([case]), d=150, seed=1200)
    assert found.precision < 0.015
    # what is left of order 1/d was 2 % at this size in 150 networks of other seeds
    assert abs(found.gap) < 0.035 + 3.0 * found.precision, report([found])


# one kind of each: odd and not, noise, three steps, letters of two signs, biases, gaussian rows
# the widest, whose trials take longest, scatters least
FAST_STEPS = [
    replace(zoo.SEVERAL_STEPS[i], trials=trials)
    for i, trials in {0: 20, 3: 20, 6: 20, 8: 20, 11: 20, 12: 20, 15: 16, 16: 20}.items()
]


@pytest.fixture(scope="module")
def several_steps() -> list[tuple[xr.Dataset, Outcome]]:
    return confronted(sampled(FAST_STEPS), d=300, seed=900)


def test_several_steps_agree_with_the_exact_bulk(several_steps):
    """At d = 300; what steps do to their own fluctuations, of order 1/d, is not in the theory: 0.3 to 1 % there."""
    assert_z_scores([outcome for _, outcome in several_steps], ("test_error", "train_error", "m", "q2"))


def test_the_isotropic_model_of_several_steps_would_be_noticed(several_steps):
    ((run, exact),) = [both for both in several_steps if both[1].case.name == zoo.SEVERAL_STEPS[8].name]
    found = judged(replace(exact.case, options={"bulk": "isotropic"}), run)
    assert abs(float(np.ravel(found.z["test_error"])[0])) > 5.0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["SPIKED", "LETTERS", "NETWORKS", "SEVERAL_STEPS"])
def test_the_whole_zoo_agrees_at_larger_size(kind):
    found = outcomes(getattr(zoo, kind), d=600, trials=60, seed=2000)
    print(report(found))
    assert_z_scores(found)


@pytest.fixture(scope="module")
def correlated_inputs() -> list[Outcome]:
    return outcomes(zoo.inputs_with_a_covariance(400), d=400, trials=24, seed=900)


def test_inputs_with_a_covariance_agree(correlated_inputs):
    precision = np.sqrt(np.mean([o.precision**2 for o in correlated_inputs]))
    assert precision < PRECISION, report(correlated_inputs)
    assert_z_scores(correlated_inputs)


def test_an_error_of_three_per_cent_would_be_noticed_with_a_covariance(correlated_inputs):
    assert_that_three_per_cent_are_noticed(correlated_inputs)


def test_the_theory_of_isotropic_inputs_is_rejected_with_a_covariance():
    """It is 10 to 35 % off in these three settings, in either direction."""
    cases = [zoo.inputs_with_a_covariance(200)[i] for i in (0, 1, 5)]
    wrong = []
    for i, case in enumerate(cases):
        run = simulated(case, d=200, seed=950 + i, trials=8)
        isotropic = replace(case, target=gs.Target(case.target.function, noise=case.target.noise))
        wrong.append(judged(isotropic, run))
    assert all(abs(o.gap) > 0.05 for o in wrong), report(wrong)
    with pytest.raises(AssertionError):
        assert_z_scores(wrong, names=("test_error",))
