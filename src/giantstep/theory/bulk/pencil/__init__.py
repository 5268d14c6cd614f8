"""The bulk of the trained network itself: the row covariances after its steps, for any activation and any steps.

Given the batches, the rows of group s are independent with covariance C_s/d. Step t makes of it

    C_t = B C_{t-1} B + (k²/α) A,   B = 1 + (k/n) Σ_μ e s1 x xᵀ,   A = (1/n) Σ_μ e² s2² x xᵀ,

where e is the residual that the step followed and s1, s2² are averages of σ' at the sample. The spikes' directions and
the target's are correlated with A and B, and the squared norms of the rows fluctuate by δ_i = O(d^-½), as large as W v̂.

Everything follows from one linear pencil 𝒮, affine in the samples' x xᵀ, with blocks (a_t, b_t) for each step t and z
at the end. For two steps, with rows and columns (a_1, b_1, a_2, b_2, z), it is S0 plus D_t on rows (a_t, b_t):

         | .   1   .   1   . |
         | 1  -1   .   .   . |              | (k²/α) e² s2²   k e s1 |
    S0 = | .   .   .   1   1 |        D_t = | k e s1          0      |
         | 1   .   1   .   . |
         | .   .   1   .  -Ṽ |

(each entry is a block over the K groups). Its averaged inverse X solves

    X = (S0 + Σ_t E[Z_t])⁻¹,      Z_t = (1 + D_t X_tt/α_t)⁻¹ D_t,      T̂ = -X_zz.

Inputs with a covariance have one such inverse for each of its eigenvalues ω, with masses μ: samples and Ṽ act in
proportion to ω, and X is the average that acts on a sample,

    G(ω) = (S0(ωṼ) + ω Σ_t E[Z_t])⁻¹,      X = ∫μω G(ω).

==================  ==================================================================================
`batch_block`       one batch: D_t, the functions of a sample whose vectors make spikes and norms
`samples`           Z_t of every sample, and averages of it
`resolvent`         S0, the fixed point, and first-order changes of G and X
`forms`             quadratic forms Ĝ on vectors that the batches themselves have made, one batch at a time;
                    their coefficients over the spectrum of the inputs
==================  ==================================================================================
"""

from .batch_block import BatchBlock
from .forms import Columns, SpectralBasis
from .resolvent import TrainedBulk, TrainedResolvent, UnclosedPencil

__all__ = ["BatchBlock", "Columns", "SpectralBasis", "TrainedBulk", "TrainedResolvent", "UnclosedPencil"]
