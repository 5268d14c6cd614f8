"""Every parameter in one table, and how a value is checked against its row.

Models and verbs take limits and defaults from here; the command line its options; files the kind of each key; the page
its sliders; pictures and the documentation symbols and words. A new parameter of a model is a row here, a field of the
class that has it, and the code that uses it.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..errors import refused
from .checks import check_count, flag, number, parameter

_LARGEST = 1e20  # of a parameter: its powers are numbers, too


class Row(NamedTuple):
    """One parameter: what it means, which values it may have, and how a page offers it."""

    words: str  # with the unit: "divided by d"
    symbol: str = ""  # the paper's, in LaTeX
    note: str = ""  # values that mean something special, and the like
    kind: str = "grid"  # "grid": a number, or several; "number", "count" or "flag": one; "text"
    default: Any = None  # None: it must be given, or is left out
    low: float = -math.inf
    high: float = math.inf
    strict: bool = False  # whether `low` itself is excluded
    infinite: bool = False  # whether inf is allowed
    of: tuple[str, ...] = ()  # the descriptions that have it
    late: bool = False  # dictionaries hold it only where it is not at its default, as older ones do not know it
    label: str = ""  # on the page, short
    letter: str = ""  # the symbol there
    initial: Any = None  # the page's initial value
    typed: tuple[float, float] | None = None  # the ends of what visitors may type
    slider: tuple[float, float, str] | None = None  # its ends, and "log" or "linear"

    @property
    def help(self) -> str:
        """What it means, in a line."""
        return f"{self.words}; {self.note}" if self.note else self.words


_MODELS, _FEATURES = ("Network", "SpikedRF", "TwoSpikes"), ("SpikedRF", "TwoSpikes")

PARAMETERS = {
    # what is to be learned
    "activation": Row(
        "activation",
        r"\sigma",
        "a name or an expression, such as tanh(2*x)",
        "text",
        of=_MODELS,
        label="Activation",
        letter="σ",
        initial="tanh",
    ),
    "function": Row(
        "target",
        r"\sigma_\star",
        "a name or an expression in the input's projection x, or in several: x1 + x1*x2",
        "text",
        of=("Target",),
        label="Target",
        letter="σ⋆",
        initial="sin",
    ),
    "noise": Row(
        "standard deviation of the label noise",
        r"\Delta",
        default=0.0,
        low=0.0,
        of=("Target",),
        label="Label noise",
        letter="Δ",
        typed=(0.0, 1e2),
        slider=(0.0, 2.0, "linear"),
    ),
    "flips": Row(
        "chance that a ±1 label is wrong",
        note="labels become the target's signs",
        kind="number",
        default=0.0,
        low=0.0,
        high=0.5,
        of=("Target",),
        label="Flipped signs",
        typed=(0.0, 0.5),
    ),
    "latent_noise": Row(
        "standard deviation of the noise that is added before the sign of ±1 labels",
        kind="number",
        default=0.0,
        low=0.0,
        of=("Target",),
        label="Latent noise",
        typed=(0.0, 1e2),
    ),
    "scale": Row(
        "for random labels: +1 with probability sigmoid(scale·z)", kind="number", low=0.0, strict=True, of=("Target",)
    ),
    "directions": Row(
        "number of directions of committee, parity and staircase", kind="count", default=1, low=1, late=True
    ),
    "kinks": Row("hyperplanes where a callable of several directions has kinks", kind="text", default=(), late=True),
    "inputs": Row("covariance of the inputs, and the target's place in it", kind="text", of=("Target",), late=True),
    "exponent": Row("exponent of the inputs' eigenvalues, which fall as j^-exponent", "a", low=0.0, of=("PowerLaw",)),
    # the first layer of a network
    "eta": Row(
        "learning rate of the step, divided by d",
        r"\tilde\eta",
        "0: no step",
        low=0.0,
        of=("Network", "Step"),
        label="Learning rate ÷ d",
        letter="η̃",
        initial=3.0,
        typed=(0.0, 1e3),
        slider=(0.05, 50.0, "log"),
    ),
    "alpha0": Row(
        "samples in the gradient step, divided by d",
        r"\alpha_0",
        "0: random features, inf: population",
        low=0.0,
        infinite=True,
        of=("Network", "Step"),
        label="Step samples ÷ d",
        letter="α₀",
        initial=10.0,
        typed=(0.0, 1e4),
        slider=(0.05, 100.0, "log"),
    ),
    "step_loss": Row("loss whose gradient the steps follow", kind="text", default="square"),
    "steps": Row(
        "number of gradient steps",
        "T",
        "each on a fresh batch; 0: none (default 1)",
        low=0.0,
        of=("Network",),
        late=True,
        label="Number of steps",
        letter="T",
        initial=1,
        typed=(1, 8),
        slider=(1, 8, "linear"),
    ),
    "rows": Row(
        "distribution of the initial rows: unit, gaussian, or d times the variance of their squared norm",
        kind="text",
        default="unit",
        low=0.0,
        of=("Network",),
        late=True,
        label="Initial rows",
    ),
    "bias_scale": Row(
        "standard deviation of the neurons' biases, times √d",
        note="they are not trained; libraries draw them at about 1",
        kind="number",
        default=0.0,
        low=0.0,
        of=("Network",),
        late=True,
        label="Biases, times √d",
        typed=(0.0, 1e2),
        slider=(0.0, 3.0, "linear"),
    ),
    "reuse_batch": Row(
        "every step on the same batch (only simulated)", kind="flag", default=False, of=("Network",), late=True
    ),
    "refit": Row(
        "ridge penalty of the readout between the steps",
        r"\lambda_{\mathrm{b}}",
        "by default it stays as drawn (only simulated)",
        low=0.0,
        of=("Network",),
        late=True,
    ),
    # the first layer of spiked random features
    "r": Row(
        "spike strength",
        "r",
        of=("SpikedRF",),
        label="Strength of the spike",
        letter="r",
        initial=0.9,
        typed=(-1e2, 1e2),
        slider=(0.0, 5.0, "linear"),
    ),
    "gamma": Row(
        "alignment of the spike with the target",
        r"\gamma",
        "-1 to 1",
        low=-1.0,
        high=1.0,
        of=("SpikedRF",),
        label="Alignment with the target",
        letter="γ",
        initial=1.0,
        typed=(-1.0, 1.0),
        slider=(-1.0, 1.0, "linear"),
    ),
    "c": Row(
        "bulk variance: mean squared row norm without the spike",
        "c",
        default=1.0,
        low=0.0,
        strict=True,
        of=_FEATURES,
        label="Squared row norm",
        letter="c",
        typed=(1e-3, 1e3),
        slider=(0.1, 10.0, "log"),
    ),
    # any first layer
    "beta": Row(
        "width, divided by d",
        r"\beta",
        default=1.0,
        low=0.0,
        strict=True,
        of=_MODELS,
        label="Width ÷ d",
        letter="β",
        typed=(1e-2, 1e2),
        slider=(0.1, 10.0, "log"),
    ),
    "readout": Row(
        "initial readout: uniform, rademacher, ternary, gaussian, uniform-interval, or value:weight pairs, as in"
        " -1:0.5,1:0.5",
        note="value:weight:bias with biases",
        kind="text",
        default="uniform",
        of=("Network", "SpikedRF"),
        label="Initial readout",
        letter="a₀",
    ),
    # the readout and its training data
    "alpha": Row(
        "samples for the readout, divided by d",
        r"\alpha",
        low=0.0,
        strict=True,
        label="Fit samples ÷ d",
        letter="α",
        initial=2.0,
        typed=(1e-2, 1e2),
        slider=(0.1, 20.0, "log"),
    ),
    "lam": Row(
        "ridge penalty of the readout",
        r"\lambda",
        "0: minimum norm",
        low=0.0,
        infinite=True,
        label="Ridge penalty",
        letter="λ",
        initial=0.1,
        typed=(0.0, 1e6),
        slider=(1e-4, 100.0, "log"),
    ),
    "loss": Row(
        "loss of the readout: square, huber:0.5 (huber is huber:1), absolute, pinball:0.9",
        note="for labels ±1 also logistic, hinge, squared_hinge, exponential",
        kind="text",
        default="square",
        label="Loss",
        letter="ℓ",
    ),
    "bulk": Row(
        "theory of the first layer's rows: exact (default for a network) or isotropic",
        kind="text",
        label="Model of its rows",
        initial="exact",
    ),
    "d": Row(
        "input dimension", "d", low=1.0, infinite=True, label="Dimension", letter="d", initial=300, typed=(10, 3000)
    ),
    "trials": Row("independent repetitions", kind="count", default=10, low=1, label="Trials", typed=(2, 100)),
    "seed": Row("the same seed gives the same draws", kind="count", default=0, low=0, label="Seed", typed=(0, 2**31)),
}


def checked(name: str, value: Any) -> Any:
    """A value of one of the parameters: floats (an array or a DataArray for a grid), else what its kind says."""
    row = PARAMETERS[name]
    if row.kind == "text":
        return value
    if row.kind == "count":
        return check_count(name, value, int(row.low))
    if row.kind == "flag":
        return flag(name, value)
    check = parameter if row.kind == "grid" else number
    result = check(name, value, low=row.low, high=row.high, strict=row.strict, infinite=row.infinite)
    sizes = np.abs(np.asarray(result))
    far = (sizes > _LARGEST) & np.isfinite(sizes) | (sizes < 1.0 / _LARGEST) & row.strict
    if np.any(far):
        reason = f"is not allowed: the theory takes numbers from {1 / _LARGEST:g} to {_LARGEST:g}"
        raise refused(name, float(np.asarray(result)[far].flat[0]), reason)
    return result
