"""Several letters and biases: against a plain reference, and symmetries that are exact."""

import numpy as np
import pytest

import giantstep as gs

from ..zoo import TERNARY, Case
from . import reference

VOCABULARIES = {
    "two letters": gs.Letters((0.5, 1.5), (0.4, 0.6)),
    "signs": gs.Letters((-1.0, 1.0), (0.3, 0.7)),
    "with a silent group": TERNARY,
    "unequal rows": gs.Letters((1.0, 1.0, -0.4), (0.2, 0.5, 0.3), c=(0.6, 1.9, 1.0)),
    "biases": gs.Letters((1.0, 1.0, 0.5), (0.3, 0.4, 0.3), biases=(0.5, -0.8, 0.0)),
}


@pytest.mark.parametrize("d", [np.inf, 150.0])
@pytest.mark.parametrize("activation", ["softplus", "tanh"])
@pytest.mark.parametrize("name", VOCABULARIES)
def test_every_statistic_of_every_letter_equals_the_plain_reference(name, activation, d):
    """1e-9 for errors. The all-ones directions are nearly collinear at d = ∞, so m is looser by their condition
    number, up to 1e5 here."""
    model = gs.SpikedRF(activation, r=1.2, gamma=0.7, beta=1.3, c=1.1, readout=VOCABULARIES[name])
    case = Case(name, model, gs.Target("sin", noise=0.3), 1.3, 0.1, {"d": d})
    found, expected, tables = case.predict(), reference.solve_case(case), reference.table_of(case)
    for statistic in ("test_error", "train_error"):
        assert float(found[statistic]) == pytest.approx(expected[statistic], rel=1e-9), statistic
    for statistic in ("V1", "V2", "psi", "q1", "q2"):
        assert found[statistic].values == pytest.approx(expected[statistic], rel=1e-8, abs=1e-9), statistic
    # m itself is unique only without null directions: compare the function that it stands for
    inside = np.abs(tables.kappa) < 3.0
    fitted, wanted = (
        answer["m"] @ tables.mu0[:, inside] + answer["zeta"] @ (tables.kappa * tables.mu1)[:, inside]
        for answer in ({name: found[name].values for name in ("m", "zeta")}, expected)
    )
    assert fitted == pytest.approx(wanted, abs=1e-6)


@pytest.mark.parametrize("bulk", ["isotropic", "exact"])
@pytest.mark.parametrize("values", [(-1.0, 0.0, 1.0), (0.7, -0.7, 0.7)])
def test_for_odd_activations_only_the_size_of_a_letter_matters(bulk, values):
    """Letters that differ in the last digits are not merged: solving each sign on its own gives the same errors and,
    letter by letter, what merging expands to."""
    weights, answers = (1 / 6, 1 / 3, 1 / 2), []
    for letters in (values, np.array(values) * (1.0 + 1e-13 * np.arange(3))):
        net = gs.Network("tanh", eta=2.0, alpha0=0.8, beta=1.2, readout=gs.Letters(tuple(letters), weights))
        answers.append(gs.predict(net, gs.Target("sin", noise=0.2), alpha=1.3, lam=0.1, d=300, bulk=bulk))
    merged, plain = answers
    assert float(merged.test_error) == pytest.approx(float(plain.test_error), rel=1e-10)
    for name in ("m", "zeta", "psi", "q2", "V2", "q1", "V1", *(["chi"] if bulk == "exact" else [])):
        size = np.abs(plain[name].values).max()
        assert merged[name].values == pytest.approx(plain[name].values, abs=1e-9 * size), name
