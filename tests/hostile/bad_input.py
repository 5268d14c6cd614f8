"""Every public verb, a call of each that works, and the values that any of its arguments may be given by mistake."""

from __future__ import annotations

import datetime
import decimal
import faulthandler
import fractions
import itertools
import pathlib
import warnings
from collections.abc import Callable
from inspect import signature
from typing import Any, NamedTuple

import attrs
import numpy as np
import xarray as xr

import giantstep as gs
from giantstep.losses import square

from ..zoo import PLANE

SECONDS = 60  # of the clock, after which the run ends: without its bad value a call takes less than one


def values() -> dict[str, Any]:
    """By name, made anew each time: some of them can be used once."""
    endless: list[Any] = []
    endless.append(endless)
    return {
        "None": None, "True": True, "numpy's True": np.True_, "minus one": -1, "zero": 0, "a fraction": 1.5,
        "minus a fraction": -0.5, "nan": np.nan, "inf": np.inf, "minus inf": -np.inf, "400 digits": 10**400,
        "1e300": 1e300, "5e-324": 5e-324, "complex": 1j, "Decimal": decimal.Decimal("0.5"),
        "Fraction": fractions.Fraction(1, 3), "numpy's float": np.float32(0.5), "numpy's int": np.int8(2),
        "no text": "", "a text": "abc", "a number in quotes": "1", "an expression": "sin(x", "NUL": "a\0b",
        "half a character": "\ud800", "long text": "x" * 10_000, "bytes": b"12", "bytearray": bytearray(b"12"),
        "memoryview": memoryview(b"12"), "path": pathlib.Path("no/such/place"), "empty list": [], "empty tuple": (),
        "list": [0.5, 1.0], "list of lists": [[1.0, 2.0], [3.0, 4.0]], "ragged": [[1.0], [2.0, 3.0]],
        "mixed list": [1.0, "a"], "list of None": [None], "list of texts": ["alpha", "lam"],
        "nan in a list": [0.5, np.nan],
        "endless list": endless, "set": {1.0}, "empty dict": {}, "dict": {"a": 1}, "kind alone": {"kind": "Network"},
        "wrong kind": {"kind": 3}, "unhashable kind": {"kind": []}, "range": range(1, 3), "iterator": iter([1.0]),
        "object": object(), "module": np, "Ellipsis": ..., "slice": slice(3),
        "array": np.ones(2), "matrix": np.ones((2, 2)), "empty array": np.ones(0),
        "array of objects": np.array([None, 1.0]),
        "array of texts": np.array(["a"]), "masked": np.ma.masked_array([1.0, 2.0], [False, True]),
        "date": datetime.date(2020, 1, 1), "numpy's date": np.datetime64("2020-01-01"), "records": np.zeros(2, "i4,f8"),
        "DataArray": xr.DataArray([0.5, 1.0], dims="budget"), "dims status": xr.DataArray([0.5, 1.0], dims="status"),
        "dims lam": xr.DataArray([0.5, 1.0], dims="lam"), "dims 7": xr.DataArray([0.5, 1.0], dims=[7]),
        "2-D DataArray": xr.DataArray(np.ones((1, 1))), "text DataArray": xr.DataArray(["a"], dims="alpha"),
        "empty Dataset": xr.Dataset(), "Dataset": xr.Dataset({"test_error": ("alpha", [1.0])}),
        "Network": gs.Network("tanh", eta=1, alpha0=1), "SpikedRF": gs.SpikedRF("tanh", r=1, gamma=0.5),
        "Step": gs.Step(1, 1), "Target": gs.Target("sin"), "two directions": gs.Target("x1*x2"),
        "Letters": gs.Letters((-1, 1), (0.5, 0.5)), "Function": gs.Function(np.tanh),
        "Loss": gs.Loss(square.value, square.derivative),
    }  # fmt: skip


class Verb(NamedTuple):
    call: Callable[..., Any]
    fine: dict[str, Any]


def verbs() -> dict[str, Verb]:
    """Each public verb with arguments that it takes, small enough to be asked ten thousand times."""
    net, srf = gs.Network("tanh", eta=1.0, alpha0=1.0), gs.SpikedRF("tanh", r=1.0, gamma=0.5)
    fit = {"alpha": 1.0, "lam": 0.1}
    asked = {"model": net, "target": "sin"}
    curve = gs.predict(net, "sin", alpha=[0.5, 1.0], lam=0.1, d=20)
    networks = gs.simulate(net, "sin", alpha=[0.5, 1.0], lam=0.1, d=20, trials=2)
    sweep = gs.Sweep(net, "sin", **fit, theory={})
    return {
        "Network": Verb(gs.Network, {"activation": "tanh", "eta": 1.0, "alpha0": 1.0}),
        "SpikedRF": Verb(gs.SpikedRF, {"activation": "tanh", "r": 1.0, "gamma": 0.5}),
        "TwoSpikes": Verb(gs.TwoSpikes, attrs.asdict(PLANE, recurse=False)),
        "Letters": Verb(gs.Letters, {"values": (-1, 1), "weights": (0.5, 0.5)}),
        "Letters.with_biases": Verb(gs.Letters((1,), (1,)).with_biases, {"law": "gaussian", "scale": 0.5}),
        "Step": Verb(gs.Step, {"eta": 1.0, "alpha0": 1.0}),
        "Target": Verb(gs.Target, {"function": "sin"}),
        "Function": Verb(gs.Function, {"function": np.tanh}),
        "Loss": Verb(gs.Loss, {"value": square.value, "derivative": square.derivative}),
        "Network.from_dict": Verb(gs.Network.from_dict, {"data": net.to_dict()}),
        "Network.equivalent": Verb(net.equivalent, {"target": "sin"}),
        "Target.from_dict": Verb(gs.Target.from_dict, {"data": gs.Target("sin").to_dict()}),
        "Letters.from_dict": Verb(gs.Letters.from_dict, {"data": {"values": (1,), "weights": (1,)}}),
        "predict": Verb(gs.predict, asked | fit),
        "simulate": Verb(gs.simulate, asked | fit | {"d": 20, "trials": 1}),
        "simulate_spectrum": Verb(gs.simulate_spectrum, asked | {"alpha": 1.0, "d": 20, "trials": 1}),
        "coefficients": Verb(gs.coefficients, {"model": net, "kappa": [0.0, 1.0], "target": "sin"}),
        "linear_error": Verb(gs.linear_error, {"target": "sin"}),
        "bounds": Verb(gs.bounds, asked),
        "staircase": Verb(gs.staircase, {"net": net, "target": "sin"}),
        "bayes": Verb(gs.bayes, {"target": "sin", "alpha": 1.0}),
        "ridge": Verb(gs.ridge, {"target": "sin", "alpha": 1.0}),
        "explain": Verb(gs.explain, asked | fit),
        "bound_functions": Verb(gs.bound_functions, asked | {"x": [0.0, 1.0]}),
        "learned_function": Verb(gs.learned_function, asked | fit | {"x": [0.0, 1.0]}),
        "spectrum": Verb(gs.spectrum, {"model": srf, "alpha": 1.0, "points": 20}),
        "weight_spectrum": Verb(gs.weight_spectrum, asked | {"points": 20}),
        "tune": Verb(gs.tune, {"model": srf, "target": "sin", "alpha": 1.0, "scan": {"lam": [0.05, 0.5, 5.0]}}),
        "compare": Verb(gs.compare, {"theory": curve, "simulation": networks}),
        "summary": Verb(gs.summary, {"comparison": gs.compare(curve, networks)}),
        "plot": Verb(gs.plot, {"dataset": curve}),
        "save": Verb(gs.save, {"dataset": curve, "path": "curve.nc"}),
        "load": Verb(gs.load, {"path": "curve.nc"}),
        "Sweep": Verb(gs.Sweep, asked | fit | {"theory": {}}),
        "Sweep.from_dict": Verb(gs.Sweep.from_dict, {"data": sweep.to_dict()}),
        "run_sweep": Verb(gs.run_sweep, {"sweep": sweep, "store": "store"}),
    }  # fmt: skip


class Case(NamedTuple):
    verb: str
    argument: str
    value: str


def cases(table: dict[str, Verb]) -> list[Case]:
    """Every verb with every value for every argument."""
    arguments = [(name, argument) for name, verb in table.items() for argument in signature(verb.call).parameters]
    return [Case(*pair, value) for pair, value in itertools.product(arguments, values())]


def ending(case: Case, table: dict[str, Verb]) -> str:
    """How a call ends: "answered", "refused", or what was raised instead of a sentence that names the argument."""
    verb, value = table[case.verb], values()[case.value]
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            verb.call(**verb.fine | {case.argument: value})
    except gs.ConvergenceError:
        return "refused"
    except gs.GiantstepError as error:
        # a path is named by itself
        words = (case.argument, f"{value}"[:100]) if case.argument in ("sweep", "store") else (case.argument,)
        named = getattr(error, "name", None) == case.argument or any(word in str(error) for word in words)
        return "refused" if named else f"names no argument: {error}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    finally:
        faulthandler.cancel_dump_traceback_later()
    return "answered"


def raw_endings(chosen: list[Case], table: dict[str, Verb]) -> dict[Case, str]:
    """The calls that neither answer nor are refused in a sentence that names the argument."""
    endings = {case: ending(case, table) for case in chosen}
    return {case: end for case, end in endings.items() if end not in ("answered", "refused")}
