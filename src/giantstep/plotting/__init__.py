"""Pictures of what `predict`, `simulate`, `compare` and `coefficients` answer. `plot` is the public verb."""

from .plot import plot
from .style import save_figure

__all__ = ["plot", "save_figure"]
