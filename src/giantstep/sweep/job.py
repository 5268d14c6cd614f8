"""One unit of work: computed in this process, in another one or on another machine, with the same result.

The number of threads is part of a job's conditions, since sums in another order differ in the last bits. With one
thread each (the default) every way of running a sweep gives the same bits.
"""

from __future__ import annotations

import os
import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from ..errors import GiantstepError, GiantstepWarning, ParameterError
from ..runtime.system import processor
from ..runtime.threads import thread_pools

RESULTS_VERSION = 1
"""Raised whenever the same request gives other numbers than before (beyond rounding): stores are then not mixed."""

Answers = dict[str, np.ndarray]  # each [points, ...]


Work = Callable[[], tuple[Answers, dict[str, str]]]
"""Computes answers with points along the first axis, and what the result's attributes should say. It is sent to
workers: a function of a module, with plain arguments."""


@dataclass(frozen=True)
class Job:
    """Points of a family [points, columns] that are computed together, and stored together or not at all."""

    family: str
    keys: np.ndarray
    work: Work


@dataclass(frozen=True)
class Outcome:
    """The result of a job: answers, or a message that says why there are none."""

    answers: Answers | None
    message: str = ""
    refused: bool = False  # the description itself makes no sense: no other job of it will do better
    attrs: dict[str, str] = field(default_factory=dict)
    notes: tuple[GiantstepWarning, ...] = ()
    seconds: float = 0.0
    machine: dict[str, Any] = field(default_factory=dict)
    results_version: int = RESULTS_VERSION


def perform(work: Work, threads: int) -> Outcome:
    """Compute, and return answers or the error's message; only an interruption raises."""
    began = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught, thread_pools().limit(limits=threads):
        warnings.simplefilter("always", GiantstepWarning)
        try:
            answers, attrs = work()
            outcome: dict[str, Any] = {"answers": answers, "attrs": attrs}
        except Exception as error:
            text = str(error) if isinstance(error, GiantstepError) else f"{type(error).__name__}: {error}"
            outcome = {"answers": None, "message": text, "refused": isinstance(error, ParameterError)}
    notes = tuple(each.message for each in caught if isinstance(each.message, GiantstepWarning))
    return Outcome(**outcome, notes=notes, seconds=time.perf_counter() - began, machine=machine(threads))


@cache
def machine(threads: int) -> dict[str, Any]:
    """Where a result was computed: enough to explain its last digits and its time; no names of hosts."""
    import scipy

    blas = {str(library["internal_api"]) for library in thread_pools().info() if library["user_api"] == "blas"}
    return {
        "platform": platform.platform(),
        "processor": processor(),
        "cpus": os.cpu_count(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "blas": sorted(blas),
        "threads": threads,
    }


def pack(points: np.ndarray, answers: Answers) -> tuple[dict[str, Any], bytes]:
    """A table with a record for each point, as bytes, and how to read it: fields, and words that are numbers in it.

    No pickles, so that a file from anywhere is safe to open.
    """
    columns, words = {"points": points}, {}
    for name, values in answers.items():
        if values.dtype == object:
            known, values = np.unique(values.astype(str), return_inverse=True)
            words[name] = known.tolist()
        columns[name] = values
    fields = [
        (name, "<f8" if values.dtype.kind == "f" else values.dtype.str, values.shape[1:])
        for name, values in columns.items()
    ]
    table = np.empty(len(points), dtype=fields)
    for name, values in columns.items():
        table[name] = values
    return {"fields": fields, "words": words}, table.tobytes()


def unpack(facts: dict[str, Any], data: bytes) -> Answers:
    """The columns of the table that `pack` made."""
    fields = [(name, kind, tuple(shape)) for name, kind, shape in facts["fields"]]
    table, words = np.frombuffer(data, dtype=fields), facts["words"]
    return {
        name: np.array(words[name], dtype=object)[table[name]] if name in words else table[name]
        for name, _, _ in fields
    }


def blank(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """An array that says 'not computed': NaN, False, or these words."""
    if dtype.kind == "O":
        return np.full(shape, "not computed yet", dtype=object)
    return np.zeros(shape, dtype) if dtype.kind == "b" else np.full(shape, np.nan)
