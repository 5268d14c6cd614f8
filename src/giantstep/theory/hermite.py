"""What is left of a target beyond its linear part."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..gaussian import moments
from .labels import binary_law

if TYPE_CHECKING:
    from ..model import FunctionLike, Target


def linear_error(target: Target | FunctionLike) -> float:
    """Smallest error of any linear (kernel) method in this regime: what is left of σ* beyond degree one."""
    from ..model import as_target

    target = as_target(target)
    law = binary_law(target)
    found, _ = moments(target.function if law is None else law.function())
    return float(found.remainder)
