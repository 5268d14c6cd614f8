"""What can go wrong with a sweep, as sentences."""

from __future__ import annotations

from ..errors import GiantstepError, GiantstepWarning


class StoreError(GiantstepError, RuntimeError):
    """A sweep's file cannot be used as asked; it is left as it is."""

    page = "Sweeps: thousands of settings, on a laptop or a cluster"


class StoreFull(StoreError):
    """There is no more room; everything finished is kept."""


class SweepError(GiantstepError, RuntimeError):
    """The sweep cannot go on, for a reason outside it; everything finished is kept."""

    page = "Sweeps: thousands of settings, on a laptop or a cluster"


class Unfinished(GiantstepWarning):
    """A run ended before all was done: somebody stopped it, or jobs failed."""
