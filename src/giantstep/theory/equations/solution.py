"""What every solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .order_parameters import OrderParameters


@dataclass
class Solution:
    """Order parameters, errors [U, A], and the residual at the very point that is returned."""

    state: OrderParameters
    test_error: np.ndarray
    train_error: np.ndarray
    train_loss: np.ndarray
    residual: np.ndarray
    tail: np.ndarray  # share of the error's κ-integrand still standing at the ends of the rule
    rare: np.ndarray  # share of the test error that is due to inputs which a million samples may not hold
    start: Any  # what the same solver may begin from on another rule
    responses: Any = None  # of the square loss on one rule, for the same readouts at another size
