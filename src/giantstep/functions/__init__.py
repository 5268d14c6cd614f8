"""Activations and targets: a catalogue of names, safe expressions in x, and users' own callables."""

from .catalogue import as_function, catalogue
from .function import Function

__all__ = ["Function", "as_function", "catalogue"]
