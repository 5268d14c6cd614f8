"""What can happen at a point, as a code for arrays and as a sentence with advice."""

from __future__ import annotations

import numpy as np

NOTABLE = 0.03  # relative difference, or share of an answer, from which on a number in doubt is marked
# spread or share of rows from which on inputs with a covariance are marked, and refused
WIDE, TOO_WIDE = 0.05, 0.5
REAL_SIZE = 1000.0  # input dimensions of a usual size, with which the limit is compared

(
    CONVERGED, UNSOLVED, IMPRECISE, DIVERGES, RARE_INPUTS,
    SEPARABLE, LIMIT_ALONE, RARELY_SEEN, SCATTERED, SQUARED,
    FEW_EIGENVALUES, TOO_FEW_EIGENVALUES,
) = range(12)  # fmt: skip

SENTENCES = (
    "converged",
    "the self-consistent equations were not solved to tolerance: try a larger lam or alpha away from beta",
    "numerical integration did not reach the tolerance, and the quadrature_error says how far it got: name the"
    " breakpoints of a function of your own, choose less extreme parameters, give a larger tolerance, or simulate",
    "ridgeless at the interpolation threshold: the error diverges",
    "without a penalty, rare inputs far out along the spike decide the error here, because the activation saturates"
    " there: the limit is infinite or out of reach; use a small positive lam",
    "the labels are all but separable along the spike alone, where the ridge does not act at d = infinity, and a"
    " margin loss then drives m to infinity: give a finite d, or labels with flips or latent_noise, or another gamma",
    f"converged, but the limit d = infinity is out of reach of real sizes: at d = {REAL_SIZE:g} the test error differs"
    f" by more than {NOTABLE:.0%}; give a finite d",
    f"converged, but more than {NOTABLE:.0%} of the test error is due to inputs so far out along the spike that a"
    " million samples may hold none: real data sets give other answers; use a larger lam",
    f"converged, but the labels' mean square varies by more than √{NOTABLE:.0%} = {NOTABLE**0.5:.0%} between batches of"
    " alpha0·d samples: steps differ as much, and networks of this size may be off by several per cent on average; give"
    " a larger d or alpha0",
    f"converged, but the steps have stretched the rows so much along the target's quadratic part that networks of this"
    f" size (of d = {REAL_SIZE:g} where it is infinite) learn some of it, which the theory leaves out: their test error"
    f" is lower by more than {NOTABLE:.0%}; simulate, or give a larger d",
    f"converged, but a few eigenvalues of the inputs hold so much of the rows that their spread or share is more than"
    f" {WIDE:g}: networks of this size may be off by several per cent; give a smaller eta or a larger d, or simulate",
    f"a few eigenvalues of the inputs hold so much of the rows that their spread or share is more than {TOO_WIDE:g}:"
    " the theory does not apply: give a smaller eta or inputs of a larger effective rank, or simulate",
)
FAILED = np.isin(range(len(SENTENCES)), [UNSOLVED, IMPRECISE, RARE_INPUTS, SEPARABLE, TOO_FEW_EIGENVALUES])
"""Which codes say so, for arrays of codes to index."""
