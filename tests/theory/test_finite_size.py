"""The effects of order 1/d, one by one, against matrices."""

import numpy as np
import pytest

from giantstep.theory.bulk import Isotropic
from giantstep.theory.equations.means import Setting, _stiffness
from giantstep.theory.equations.response import respond


@pytest.mark.parametrize("drag", [0.0, 0.5, 1.4])
def test_the_all_ones_direction_is_as_stiff_as_that_of_rows_whose_mean_was_dragged(drag):
    """1/(1ᵀH⁻¹1) with H = λ + V̂2 + V̂1 WWᵀ and rows w_i - drag·w̄: 30 draws, four standard errors and 2/d."""
    d, beta, lam, hat1, hat2 = 200, 1.5, 0.3, 0.8, 0.2
    p = round(beta * d)
    rng = np.random.default_rng(8)
    softness = []
    for _ in range(30):
        W = rng.standard_normal((p, d))
        W /= np.linalg.norm(W, axis=1)[:, None]
        W -= drag * W.mean(axis=0)
        H = (lam + hat2) * np.eye(p) + hat1 * W @ W.T
        softness.append(np.linalg.solve(H, np.ones(p)).sum())
    bulk = Isotropic(np.ones((1, 1)), np.ones(1), drag=np.array([drag]))
    one = np.ones((1, 1))
    V = np.array([[[0.0, 1.0 / lam]]])
    for _ in range(500):
        response = respond(bulk, V, np.array([[[hat1, hat2]]]), beta * one, lam * one)
        V = response.V
    setting = Setting(one, beta * one, lam * one, 0.0 * one, d * one, one)
    expected = 1.0 / _stiffness(bulk, setting, response).item()
    error = np.std(softness, ddof=1) / np.sqrt(len(softness))
    assert abs(np.mean(softness) - expected) < 4.0 * error + 2.0 / d * expected
