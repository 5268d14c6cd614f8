"""Sweeps at scale: thousands of settings and trials, kept in one file that survives crashes and extensions.

description   what is swept, in Python (toml: or as a file)
points        what a result answers: its identity
parts         the theory and the simulation of a sweep, cut into jobs and put together as Datasets
job           one unit of work, wherever it runs
store, lock   the file that keeps results, and its one writer
executors     this process, local processes, a Dask cluster, or an executor of the user's
run           the driver;  status: how far it is;  export: what comes out
"""

from .description import Simulation, Sweep, Theory
from .export import results
from .run import run_sweep
from .store import Store

__all__ = ["Simulation", "Store", "Sweep", "Theory", "results", "run_sweep"]
