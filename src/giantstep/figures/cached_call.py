"""One call of a public verb, kept in a file that is used again.

The file remembers the call. It counts as done only for the very same call of the same version; a simulation keeps the
trials that it has finished, and goes on with the others.
"""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import giantstep

from ..errors import ParameterError
from ..files import load, save
from ..runtime.system import processor

if TYPE_CHECKING:
    import xarray as xr

_LONG = 12  # entries from which on an array in words is its ends


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
        arguments = map(_spoken, (self.model, *self.more))
        options = [f"{name}={_spoken(value)}" for name, value in self.options.items() if value is not None]
        return f"gs.{self.verb}({', '.join([*arguments, *options])})"

    def compute(self, device: str = "cpu", workers: int = 1, **changed: Any) -> xr.Dataset:
        """The answer of the verb, with some of its options `changed`."""
        options = {**self.options, **changed}
        if self.simulated:
            options["device"] = device
        if self.verb == "simulate":  # a GPU does one trial at a time
            options |= {"workers": workers if device == "cpu" else 1, "progress": False}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", giantstep.LimitWarning)  # figures draw the limit on purpose
            return getattr(giantstep, self.verb)(self.model, *self.more, **options)

    def obtain(self, path: Path, device: str = "cpu", workers: int = 1) -> xr.Dataset:
        """What the file has, after what it lacked was computed."""
        saved = self._saved(path)
        if not self.simulated:
            return self._compute_and_save(path, None, device, workers) if saved is None else saved
        wanted = list(range(self.options["trials"]))
        missing = [trial for trial in wanted if saved is None or trial not in saved["trial"]]
        if missing or saved is None:
            saved = self._compute_and_save(path, saved, device, workers, trials=missing)
        return saved.sel(trial=wanted)

    def _saved(self, path: Path) -> xr.Dataset | None:
        try:
            dataset = load(path)
        except ParameterError:  # absent or damaged: either way to be computed
            return None
        return dataset if dataset.attrs.get("call") == self.key() else None

    def _compute_and_save(
        self, path: Path, before: xr.Dataset | None, device: str, workers: int, **changed: Any
    ) -> xr.Dataset:
        """The answer, after the trials that were there before."""
        import xarray as xr

        start = time.perf_counter()
        answer = self.compute(device, workers, **changed)
        interrupted = answer.attrs.pop("interrupted", False)
        seconds, date = time.perf_counter() - start, time.strftime("%Y-%m-%d", time.gmtime())
        if before is not None:
            seconds += before.attrs["seconds"]
            answer = xr.concat([before, answer], "trial", coords="minimal", compat="override", combine_attrs="override")
        answer = answer.assign_attrs(seconds=seconds, call=self.key(), date=date, hardware=hardware(device))
        save(answer, path)
        if interrupted:
            raise KeyboardInterrupt
        return answer


def hardware(device: str) -> str:
    """The processor, or the GPU, in words."""
    if device != "cpu":
        import torch

        return torch.cuda.get_device_name(device)
    return f"{os.cpu_count()} × {processor()}"


def _plain(value: Any) -> Any:
    return value.to_dict() if hasattr(value, "to_dict") else np.asarray(value).tolist()


def _spoken(value: Any) -> str:
    """A value in a few words: long arrays by their ends."""
    if isinstance(value, np.ndarray):
        return np.array2string(value, threshold=_LONG, separator=", ", formatter={"float_kind": "{:.4g}".format})
    return f"gs.{value!r}" if type(value).__module__.startswith("giantstep") else repr(value)
