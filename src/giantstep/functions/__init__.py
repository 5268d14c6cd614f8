"""Activations and targets: a catalogue of names, safe expressions in x, and users' own callables."""

from .catalogue import as_function, catalogue
from .function import Function
from .joint import Joint, target_function

__all__ = ["Function", "Joint", "as_function", "catalogue", "target_function"]
