"""How far the isotropic model of a trained network is off: what `isotropy_gap` says of it."""

import numpy as np
import pytest

import giantstep as gs


def test_the_gap_is_the_isotropic_error_over_the_exact_one():
    net = gs.Network("tanh", eta=2.0, alpha0=0.5)
    found = net.isotropy_gap("tanh", alpha=1.5, lam=0.1)
    exact, isotropic = (
        float(gs.predict(net, "tanh", alpha=1.5, lam=0.1, bulk=bulk).test_error)
        for bulk in ("exact", "isotropic")
    )
    assert (float(found.exact), float(found.isotropic)) == pytest.approx((exact, isotropic), rel=1e-12)
    assert float(found.gap) == pytest.approx(isotropic / exact - 1.0, rel=1e-9)


def test_the_model_is_too_optimistic_and_more_so_after_strong_steps_on_little_data():
    net = gs.Network("tanh", eta=[0.5, 1.0, 2.0], alpha0=[0.5, 1.0, 4.0])
    gap = net.isotropy_gap("tanh", alpha=1.5, lam=0.1).gap.transpose("eta", "alpha0").values
    assert np.all(gap < 0.0)
    assert np.all(np.diff(gap, axis=0) < 0.0)
    assert np.all(np.diff(gap, axis=1) > 0.0)
