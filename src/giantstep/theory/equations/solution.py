"""What every solver returns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass
class Solution:
    """Order parameters and errors, [U, A] with group axes behind, and the residual at the returned point."""

    V: np.ndarray  # packed (V1, V2)
    q: np.ndarray  # packed (q1, q2)
    m: np.ndarray  # [U, A, K]
    zeta: np.ndarray
    psi: np.ndarray
    chi: np.ndarray
    test_error: np.ndarray  # [U, A]
    train_error: np.ndarray
    train_loss: np.ndarray
    residual: np.ndarray
    tail: np.ndarray  # share of the error's κ-integrand still standing at the ends of the rule
    start: np.ndarray  # what the same solver may begin from on another rule
    test_error_01: np.ndarray | None = None  # binary labels only
    train_error_01: np.ndarray | None = None
    evaluations: np.ndarray | None = None  # of the general solver's map
