"""Several giant steps: reductions that must hold, and values of independent derivations, digit by digit."""

from __future__ import annotations

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.problem import model_grid, pose

from ..zoo import steps

PRINTED = 6e-9  # values are printed with eight decimals
AT = {"alpha": 1.5, "lam": 0.1}


def _bulk(net: gs.Network, target: gs.Target):
    problem = pose(net, target, model_grid(net, target, **AT))
    return problem, problem.bulks(np.arange(1))[0]


def test_the_chain_of_two_batches_has_the_forms_of_an_independent_derivation():
    """At Ṽ = ½: F, -F', and the forms on (W v̂, W ê, δ); then tr C²/d."""
    _, bulk = _bulk(steps("tanh", (2, 2)), gs.Target("sin"))
    at = bulk.resolvent(np.full((1, 1, 1, 1), 0.5))
    assert at.T.item() == pytest.approx(0.77402635, abs=PRINTED)
    assert at.slopes[0].item() == pytest.approx(0.62782117, abs=PRINTED)
    forms = at.forms()[0, 0, :, 0, :, 0]
    rows = [0.87798353, -0.04273871, -0.91903284, 0.74321998, 0.02131384, 2.46313003]
    assert forms[np.triu_indices(3)] == pytest.approx(rows, abs=PRINTED)
    assert bulk.norm_overlap().item() == pytest.approx(2.1662731, abs=6e-8)


def test_gaussian_rows_without_a_step_matter_where_the_features_have_no_mean():
    """A centred relu: only the fluctuation of the row norms can fit the target's mean."""
    net = gs.Network("max(x, 0) - 0.3989422804014327", eta=0, alpha0=0, beta=3, rows="gaussian")
    found = gs.predict(net, "relu", alpha=4, lam=0.01)
    assert [float(found.test_error), float(found.train_error)] == pytest.approx([0.41872852, 0.05214959], abs=2e-8)
    assert float(found.chi) == pytest.approx(1.21300349, abs=2e-7)


# reductions


def test_a_grid_of_steps_has_the_answers_of_each_number():
    together = gs.predict(gs.Network("tanh", eta=2, alpha0=1, steps=[0, 1, 3]), "sin", **AT)
    for count in (0, 1, 3):
        net = gs.Network("tanh", eta=2 if count else 0, alpha0=1, steps=max(count, 1))
        alone, one = gs.predict(net, "sin", **AT), together.sel(steps=count)
        np.testing.assert_allclose(one.test_error, alone.test_error, rtol=1e-11)
        assert np.isnan(one.r.values[count:]).all()
        if count:
            np.testing.assert_allclose(one.r.values[:count], np.atleast_1d(alone.r), rtol=1e-11)
    assert together.sizes["step"] == 3


def test_a_target_without_linear_part_is_never_found():
    found = gs.predict(gs.Network("relu", eta=1, alpha0=2, steps=3), "x**2 - 1", bulk="isotropic", **AT)
    np.testing.assert_allclose(found.gamma, 0.0, atol=1e-12)


def test_population_gradients_align_and_leave_the_rows_isotropic_on_all_but_the_target():
    """α = ∞: v̂ᵀCv̂ = (p2 p1 + k2 E[z f_g] E[z f_b])², known in closed form up to Gaussian averages."""
    problem, bulk = _bulk(steps("tanh", (2, 1), (np.inf, np.inf)), gs.Target("sin"))
    forms = bulk.resolvent(np.zeros((1, 1, 1, 1))).forms()[0, 0, :, 0, :, 0]
    assert problem.frame(np.arange(1)).gamma.item() == pytest.approx(1.0, abs=1e-12)
    assert problem.c.item() == pytest.approx(0.903, abs=6e-4)
    assert forms[0, 0] == pytest.approx(0.929, abs=6e-4)


def test_the_network_s_own_error_falls_as_the_derivation_says():
    """tanh on sin, eight steps of η̃ = 2 on d samples: γ and the error of the network itself."""
    found = gs.predict(gs.Network("tanh", eta=2, alpha0=1, steps=8), "sin", bulk="isotropic", **AT)
    gamma = [0.678, 0.830, 0.906, 0.945, 0.968, 0.980, 0.988, 0.992]
    assert found.gamma.values == pytest.approx(gamma, abs=6e-4)
    assert found.network_error.values[[-2, -1]] == pytest.approx([0.025, 0.020], abs=6e-4)


def test_every_bound_holds_after_several_steps():
    for counts, bulk in (([1, 2], "exact"), ([1, 2, 3], "isotropic")):  # on a plane of spikes, and in a space
        net = gs.Network("relu", eta=1.5, alpha0=2, steps=counts, readout="rademacher")
        bounds = gs.bounds(net, "tanh", bulk=bulk)
        found = gs.predict(net, "tanh", alpha=[1, 8], lam=0.001, d=1000, bulk=bulk)
        assert (found.test_error >= bounds.lower - 1e-12).all()
