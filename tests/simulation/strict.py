"""A backend in the array API alone: what runs on it asks nothing of an array library that torch may not have."""

from __future__ import annotations

from typing import Any

import array_api_strict
import numpy as np

from giantstep.simulation.backend import Backend


class StrictBackend(Backend):
    def __init__(self) -> None:
        super().__init__(array_api_strict, "array-api-strict")

    def asarray(self, values: np.ndarray) -> Any:
        return self.xp.asarray(values, dtype=self.dtype)

    def numpy(self, array: Any) -> np.ndarray:
        return np.asarray(array, dtype=np.float64)

    def indices(self, values: np.ndarray) -> Any:
        return self.xp.asarray(values)

    def zeros(self, *shape: int) -> Any:
        return self.xp.zeros(shape, dtype=self.dtype)

    def add_product(self, total: Any, a: Any, b: Any) -> Any:
        total += a @ b
        return total

    def add_gram(self, total: Any, rows: Any) -> Any:
        return self.add_product(total, rows.T, rows)

    def symmetric_product(self, matrix: Any, columns: Any) -> Any:
        return matrix @ columns

    def _by_cholesky(self, matrix: Any, right: Any, lam: float) -> Any:
        return self.xp.linalg.solve(matrix + lam * self.asarray(np.eye(matrix.shape[0])), right)
