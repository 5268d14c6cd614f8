"""One unit of work: computed in this process, in another one or on another machine, with the same result.

The number of threads is part of a job's conditions, since sums in another order differ in the last bits. With one
thread each (the default) every way of running a sweep gives the same bits.
"""

from __future__ import annotations

import json
import os
import platform
import time
import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Protocol

import numpy as np

from ..errors import GiantstepError, GiantstepWarning, ParameterError
from ..simulation.pools import thread_pools
from ..system import processor
from .points import digest

RESULTS_VERSION = 1
"""Raised whenever the same request gives other numbers than before (beyond rounding): stores are then not mixed."""

Answers = dict[str, np.ndarray]  # each [points, ...]


class Work(Protocol):
    """What a worker is sent: plain, picklable."""

    def compute(self) -> tuple[Answers, dict[str, str]]:
        """Answers with points along the first axis, and what the result's attributes should say."""
        ...


@dataclass(frozen=True)
class Job:
    """Points of a family [points, columns] that are computed together, and stored together or not at all."""

    family: str
    keys: np.ndarray
    work: Work

    @property
    def identity(self) -> str:
        return digest(self.family.encode(), np.ascontiguousarray(self.keys, dtype="<f8").tobytes())


@dataclass(frozen=True)
class Outcome:
    """What came of a job: answers, or a message that says why not."""

    answers: Answers | None
    message: str = ""
    refused: bool = False  # the description itself makes no sense: no other job of it will do better
    attrs: dict[str, str] = field(default_factory=dict)
    notes: tuple[GiantstepWarning, ...] = ()
    seconds: float = 0.0
    machine: str = ""
    results_version: int = RESULTS_VERSION


def perform(work: Work, threads: int) -> Outcome:
    """Compute, and tell what happened; only an interruption raises."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, thread_pools().limit(limits=threads):
        warnings.simplefilter("always", GiantstepWarning)
        try:
            answers, attrs = work.compute()
            told: dict[str, Any] = {"answers": answers, "attrs": attrs}
        except Exception as error:
            text = str(error) if isinstance(error, GiantstepError) else f"{type(error).__name__}: {error}"
            told = {"answers": None, "message": text, "refused": isinstance(error, ParameterError)}
    notes = tuple(each.message for each in caught if isinstance(each.message, GiantstepWarning))
    return Outcome(**told, notes=notes, seconds=time.perf_counter() - began, machine=machine(threads))


@cache
def machine(threads: int) -> str:
    """Where a result was computed, as JSON: enough to explain its last digits and its time; no names of hosts."""
    import scipy

    blas = {
        str(library["internal_api"]) for library in thread_pools().info() if library["user_api"] == "blas"
    }
    facts = {
        "platform": platform.platform(),
        "processor": processor(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": sorted(blas),
        "threads": threads,
    }
    return json.dumps(facts)
