"""Sweeps at scale: thousands of settings and trials, kept in one file that survives crashes and extensions.

description   what is swept, in Python (toml: or as a file)
part          what is wanted and how it is known again, cut into jobs and put together as a Dataset: theory, simulation
job           one unit of work, wherever it runs, and its answers as bytes
store         the file that keeps results, and its one writer
run           the driver;  results: how far it is, and what comes out
"""

from .description import Simulation, Sweep, Theory
from .results import results
from .run import run_sweep
from .store import Store

__all__ = ["Simulation", "Store", "Sweep", "Theory", "results", "run_sweep"]
