"""One call of a public verb, kept in a file that is used again.

The file remembers the call. It counts as done only for the very same call of the same version; a simulation
is kept trial by trial, and goes on where it stopped.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import giantstep

from ..errors import ParameterError
from ..files import load, save
from ..model.checks import written
from ..runtime.system import processor

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True)
class Machine:
    """What computes: a device, and a pool of processes for the trials of a simulation."""

    device: str = "cpu"
    executor: Any = None
    workers: int = 1


@contextmanager
def machine(device: str = "cpu", workers: int = 1) -> Iterator[Machine]:
    """A machine whose processes live as long as the block; a GPU does one trial at a time."""
    if device != "cpu" or workers == 1:
        yield Machine(device)
        return
    from ..runtime.threads import allowed_threads
    from ..runtime.workers import process_pool

    with process_pool(workers, max(1, allowed_threads() // workers)) as pool:
        yield Machine(device, pool, workers)


_HERE = Machine()


@dataclass(frozen=True)
class CachedCall:
    """One call, `verb(model, *more, **options)`, of which the verb is a public name of giantstep."""

    verb: str
    model: Any
    more: tuple[Any, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def simulated(self) -> bool:
        return self.verb.startswith("simulate")

    def key(self) -> str:
        """The call as text. Trials are left out: a file with fewer of them is a beginning, not a mistake."""
        options = {name: value for name, value in self.options.items() if name != "trials"}
        call = [self.verb, self.model, *self.more, options, giantstep.__version__]
        return json.dumps(call, default=_plain, sort_keys=True)

    def words(self) -> str:
        """The call as Python, for people."""
        model, more = _spoken(self.model), [_spoken(argument) for argument in self.more]
        options = [f"{name}={_spoken(value)}" for name, value in self.options.items() if value is not None]
        return f"gs.{self.verb}({', '.join([model, *more, *options])})"

    def compute(self, on: Machine = _HERE, trials: Sequence[int] | None = None) -> xr.Dataset:
        """The answer of the verb; `trials` replaces the piece's own."""
        options = dict(self.options)
        if self.simulated:
            options["device"] = on.device
        if self.verb == "simulate":
            options |= {"executor": on.executor, "progress": False}
        if trials is not None:
            options["trials"] = list(trials)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", giantstep.LimitWarning)  # figures draw the limit on purpose
            return getattr(giantstep, self.verb)(self.model, *self.more, **options)

    def obtain(self, path: Path, on: Machine = _HERE) -> xr.Dataset:
        """What the file has, after what it lacked was computed."""
        done = self._found(path)
        if not self.simulated:
            return done if done is not None else self._kept(path, None, self._timed(on, None))
        numbers = range(self.options["trials"])
        missing = [t for t in numbers if done is None or t not in done["trial"]]
        for first in range(0, len(missing), on.workers):
            done = self._kept(path, done, self._timed(on, missing[first : first + on.workers]))
        assert done is not None
        return done.sel(trial=list(numbers))

    def _timed(self, on: Machine, trials: Sequence[int] | None) -> xr.Dataset:
        start = time.perf_counter()
        answer = self.compute(on, trials)
        if answer.attrs.get("interrupted"):
            raise KeyboardInterrupt
        date = time.strftime("%Y-%m-%d", time.gmtime())
        seconds = time.perf_counter() - start
        return answer.assign_attrs(seconds=seconds, call=self.key(), date=date, hardware=hardware(on.device))

    def _found(self, path: Path) -> xr.Dataset | None:
        try:
            dataset = load(path)
        except ParameterError:  # absent or damaged: either way to be computed
            return None
        return dataset if dataset.attrs.get("call") == self.key() else None

    @staticmethod
    def _kept(path: Path, before: xr.Dataset | None, now: xr.Dataset) -> xr.Dataset:
        import xarray as xr

        if before is not None:
            seconds = before.attrs["seconds"] + now.attrs["seconds"]
            now = xr.concat(
                [before, now], "trial", coords="minimal", compat="override", combine_attrs="override"
            )
            now = now.assign_attrs(seconds=seconds)
        save(now, path)
        return now


def hardware(device: str) -> str:
    """The processor, or the GPU, in words."""
    if device != "cpu":
        import torch

        return torch.cuda.get_device_name(device)
    return f"{os.cpu_count()} × {processor()}"


def _plain(value: Any) -> Any:
    if hasattr(value, "to_dict") and type(value).__name__ != "DataArray":
        return value.to_dict()
    if type(value).__name__ == "DataArray":
        return {"dims": list(value.dims), "data": np.asarray(value).tolist()}
    return np.asarray(value).tolist()


def _spoken(value: Any) -> str:
    """A value in a few words: long arrays by their ends."""
    if isinstance(value, str):
        return repr(value)
    if hasattr(value, "to_dict") and type(value).__name__ != "DataArray":
        return f"gs.{value!r}"
    if isinstance(value, np.ndarray | list | tuple) or type(value).__name__ == "DataArray":
        numbers = np.asarray(value)
        if numbers.dtype.kind in "UO":
            return str(tuple(map(str, numbers)))
        if numbers.size > 12:
            return f"[{numbers.size} values from {written(numbers.min(), 4)} to {written(numbers.max(), 4)}]"
        return "[" + ", ".join(written(number, 4) for number in numbers.ravel()) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {_spoken(entry)}" for name, entry in value.items()) + "}"
    return written(value, 6) if isinstance(value, float) else str(value)
