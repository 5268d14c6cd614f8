"""numpy's numbers as Python's."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """So that attributes come back equal to what was saved."""
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value
