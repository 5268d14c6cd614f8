"""Activations and targets: a catalogue of names, safe expressions in x, and users' own callables."""

from .catalogue import as_function, catalogue
from .function import Function
from .hyperplanes import as_planes
from .properties import crossings, turning_values
from .several_variables import Joint, as_hyperplanes, followed, target_function

__all__ = [
    "Function",
    "Joint",
    "as_function",
    "as_hyperplanes",
    "as_planes",
    "catalogue",
    "crossings",
    "followed",
    "target_function",
    "turning_values",
]
