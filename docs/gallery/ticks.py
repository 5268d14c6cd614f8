"""Plain numbers on logarithmic axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def log_ticks(axis: Any, ticks: Sequence[float]) -> None:
    """Plain numbers on a logarithmic axis: all numbers of `ticks` that lie in its range."""
    from matplotlib.ticker import NullFormatter

    low, high = axis.get_view_interval()
    inside = [tick for tick in ticks if low <= tick <= high]
    axis.set_ticks(inside, [f"{tick:g}" for tick in inside])
    axis.set_minor_formatter(NullFormatter())
