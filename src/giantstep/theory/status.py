"""What can happen at a point, as a code for arrays and as a sentence with advice."""

from __future__ import annotations

CONVERGED, UNSOLVED, IMPRECISE, DIVERGES, RARE_INPUTS, SEPARABLE = range(6)

SENTENCES = (
    "converged",
    "the self-consistent equations were not solved to tolerance: try a larger lam or alpha away from beta",
    "numerical integration did not reach the tolerance: the quadrature_error says how far it got",
    "ridgeless at the interpolation threshold: the error diverges",
    "ridgeless interpolation is decided here by rare inputs far out along the spike, where the activation"
    " saturates: the limit is infinite or out of reach; use a small positive lam",
    "the labels are all but separable along the spike alone, where the ridge does not act at d = infinity, and a"
    " margin loss then drives m to infinity: give a finite d, or labels with flips or latent_noise, or another gamma",
)
FAILED = (UNSOLVED, IMPRECISE, RARE_INPUTS, SEPARABLE)
