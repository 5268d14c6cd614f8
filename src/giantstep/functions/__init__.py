"""Activations and targets: a catalogue of names, safe expressions in x, and users' own callables."""

from .catalogue import as_function, catalogue
from .function import Function
from .joint import Joint, as_hyperplanes, target_function

__all__ = ["Function", "Joint", "as_function", "as_hyperplanes", "catalogue", "target_function"]
