"""The paper's figures: data, pictures and a page, each with one command.

`giantstep reproduce` makes them all, `giantstep figure NAME` one of them. A figure says what is computed (`parts`),
what is tested (`comparisons`) and how it looks (`draw`); `look` draws all of them, and the gallery's.
"""

from .registry import NAMES, find
from .reproduce import make_figure, reproduce

__all__ = ["NAMES", "find", "make_figure", "reproduce"]
