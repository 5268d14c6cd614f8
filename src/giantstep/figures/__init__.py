"""The paper's figures, and five of our own: data, pictures and a page, each with one command.

`giantstep reproduce` makes them all, `giantstep figure NAME` one of them. A module per figure says what is
computed (`parts`), what is tested (`comparisons`) and how it looks (`draw`); the rest of the package is shared.
"""

from .registry import NAMES, find
from .reproduce import make_figure, reproduce

__all__ = ["NAMES", "find", "make_figure", "reproduce"]
