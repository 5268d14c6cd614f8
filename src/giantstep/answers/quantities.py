"""The one table of quantities: every answer with its symbol in the paper, its meaning and its dimensions.

What people give is in `giantstep.model.parameters`; `describe` knows both.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from ..model.parameters import PARAMETERS


class Quantity(NamedTuple):
    """One answer: its meaning, its symbol, the dimensions that it may have beyond those of the grid, its kind, and
    what has it."""

    words: str
    symbol: str = ""  # in LaTeX
    dims: tuple[str, ...] = ()  # in this order, where there are several steps, letters, spikes, directions
    kind: str = "insight"  # "error", "order parameter", "first layer", "coordinate", "diagnostic", or of another verb
    only: str = ""  # which models, targets and losses have it, where not all do


_LETTER, _PAIR = ("letter",), ("letter", "letter_")

QUANTITIES = {
    "letter": Quantity("initial readout weight of a group of neurons, times √p", r"\ell", kind="coordinate"),
    "trial": Quantity("independent repetition", kind="coordinate"),
    "kappa": Quantity("projection of the input on the spike", r"\kappa", kind="coordinate"),
    "x": Quantity("input along the target's direction", "x", kind="coordinate"),
    "x1": Quantity("input along the target's first direction", "x_1", kind="coordinate"),
    "x2": Quantity("input along the target's second direction", "x_2", kind="coordinate"),
    "x3": Quantity("input along the target's third direction", "x_3", kind="coordinate"),
    "x4": Quantity("input along the target's fourth direction", "x_4", kind="coordinate"),
    "step": Quantity("gradient step, counted from 1", "t", kind="coordinate"),
    "direction": Quantity("direction of the target: 1 is x1, the first in its expression", kind="coordinate"),
    # answers of predict and simulate
    "test_error": Quantity("mean squared test error against the noiseless target", r"\epsilon_g", kind="error"),
    "train_error": Quantity("mean squared training error against the labels", r"\epsilon_t", kind="error"),
    "train_loss": Quantity(
        "mean training loss (half the squared error for the square loss)", r"\bar\ell_t", kind="loss"
    ),
    "test_error_01": Quantity("share of wrong signs on clean test labels", "P_g", kind="error", only="labels ±1"),
    "train_error_01": Quantity("share of wrong signs on the training labels", "P_t", kind="error", only="labels ±1"),
    "m": Quantity("readout along the all-ones direction, 1·a/√p", "m", _LETTER, "order parameter"),
    "zeta": Quantity(
        "component of the readout along Wv, v being the spike: a·Wv/√(dp)",
        r"\zeta",
        ("letter", "spike"),
        "order parameter",
    ),
    "psi": Quantity(
        "component of the readout along Wt, t being θ without its part along the spike: a·Wt/√(dp)",
        r"\psi",
        ("letter", "direction"),
        "order parameter",
    ),
    "chi": Quantity(
        "readout along the fluctuation of the row norms",
        r"\chi",
        _LETTER,
        "order parameter",
        "theory with the exact bulk",
    ),
    "nu": Quantity(
        "readout along the biases of scale 1/√d",
        r"\nu",
        _LETTER,
        "order parameter",
        "theory of networks with a bias_scale",
    ),
    "q1": Quantity(
        "squared norm of the fitted linear map across the spike, a·WΠWᵀa/p", "q_1", _PAIR, "order parameter"
    ),
    "q2": Quantity("squared norm of the readout, |a|²/p", "q_2", _LETTER, "order parameter"),
    "V1": Quantity("response of the linear features", "V_1", _PAIR, "order parameter", "theory"),
    "V2": Quantity("response of the noise-like features", "V_2", _LETTER, "order parameter", "theory"),
    "c": Quantity(PARAMETERS["c"].words, PARAMETERS["c"].symbol, ("step", "letter"), "first layer", "networks"),
    "r": Quantity(PARAMETERS["r"].words, PARAMETERS["r"].symbol, ("step", "letter"), "first layer", "networks"),
    "gamma": Quantity(
        PARAMETERS["gamma"].words,
        PARAMETERS["gamma"].symbol,
        ("step", "letter", "direction"),
        "first layer",
        "networks",
    ),
    "network_error": Quantity(
        "mean squared error of the network itself, before its readout is refitted",
        r"\epsilon_f",
        ("step",),
        "first layer",
        "networks of several steps",
    ),
    "overlap": Quantity(
        "mean overlap of the trained rows with the target direction",
        r"\overline{w\cdot\hat\theta}",
        ("letter", "direction"),
        "first layer",
        "simulations",
    ),
    "test_samples": Quantity(
        "test samples behind test_error; 0 where its average over inputs is exact",
        kind="first layer",
        only="simulations",
    ),
    "learned": Quantity("average output of the network given the input along the target", dims=("x",)),
    # answers of the other verbs
    "mu0": Quantity("mean of the features given κ", r"\mu_0"),
    "mu1": Quantity("slope of the features across the spike, given κ", r"\mu_1"),
    "mu2": Quantity("size of the features' nonlinear rest, given κ", r"\mu_2"),
    "dmu0": Quantity("derivative of μ0 with respect to the squared row norm", r"\partial_c\mu_0"),
    "upper": Quantity("upper bound: reached by an infinite penalty"),
    "lower": Quantity("lower bound: no readout does better"),
    "lower_beta": Quantity("lower bound at this width"),
    "floor": Quantity("lower bound whatever the activation and the letters"),
    "by_direction": Quantity("most by which a direction's linear part can lower the error"),
    "found": Quantity("step at which the spikes find a direction; 0 if never"),
    "linear": Quantity("error of the best linear predictor"),
    "optimal_error": Quantity("smallest test error of any method", r"\epsilon_g^*"),
    "optimal_overlap": Quantity("overlap of the best estimate with the direction", "q^*"),
    "informed_overlap": Quantity("largest overlap that is a fixed point"),
    "alpha_weak": Quantity("samples, divided by d, above which the overlap is not 0", r"\alpha_c"),
    "alpha_amp": Quantity("samples, divided by d, where message passing jumps to the optimum", r"\alpha_{AMP}"),
    "alpha_optimal": Quantity("samples, divided by d, where the optimum jumps", r"\alpha_{IT}"),
    "alpha_exact": Quantity("samples, divided by d, from which on the direction is found exactly"),
    "expressivity": Quantity("error with infinitely many samples for the steps and the readout"),
    "readout": Quantity("error that the readout's finite samples add"),
    "batch_noise": Quantity("error that the finite batches of the steps add"),
    "bayes_error": Quantity("test error of message passing on as many samples", r"\epsilon_g"),
    "ridge_error": Quantity("test error of the best ridge regression on as many samples", r"\epsilon_g"),
    "advice": Quantity("advice: where the error comes from, and what lowers it"),
    "eigenvalue": Quantity("eigenvalue", "x"),
    "density": Quantity("density of the bulk's eigenvalues", r"\rho"),
    "edge": Quantity("ends of the bulk's intervals"),
    "mass_at_zero": Quantity("share of the eigenvalues that are zero"),
    "spike_per_d": Quantity("eigenvalue that grows with d, divided by d"),
    "spike": Quantity("eigenvalue that grows with d"),
    "outlier": Quantity("isolated eigenvalue"),
    "weight": Quantity("quadrature weight: sums of weight times density are integrals over the bulk"),
    "mass": Quantity("share of the eigenvalues that bulk and zeros account for"),
    "moment1": Quantity("mean eigenvalue of bulk and zeros"),
    "moment2": Quantity("mean squared eigenvalue of bulk and zeros"),
    "overlap_neurons": Quantity("squared cosine of the top left singular vector with the letters"),
    "overlap_spike": Quantity("squared cosine of the top right singular vector with the spike"),
    "overlap_target": Quantity("squared cosine of the top right singular vector with the target's direction"),
    "threshold": Quantity("spike strength r at which the spike leaves the bulk"),
    "landscape": Quantity("test error", r"\epsilon_g"),
    "best_error": Quantity("test error at the optimum", r"\epsilon_g"),
    "best_lam": Quantity("best ridge penalty", r"\lambda"),
    "best_eta": Quantity("best learning rate, divided by d", r"\tilde\eta"),
    "best_steps": Quantity("best number of steps", "T"),
    "by_steps": Quantity("test error at the optimum for each number of steps", r"\epsilon_g"),
    "best_split": Quantity("best share of the samples for the step"),
    "split": Quantity("share of the samples for the step"),
    "budget": Quantity("samples for step and readout together, divided by d"),
    "at_end": Quantity("whether an optimum lies at an end of the scanned range"),
    # diagnostics
    "residual": Quantity("largest relative residual of the self-consistent equations", kind="diagnostic"),
    "quadrature_error": Quantity(
        "estimated relative error of test_error and train_loss from numerical integration", kind="diagnostic"
    ),
    "optimality": Quantity(
        "bound on the relative suboptimality of the fitted readout: its duality gap", kind="diagnostic"
    ),
    "converged": Quantity("whether residual and quadrature error are within tolerance", kind="diagnostic"),
    "status": Quantity("what happened at this point, in words", kind="diagnostic"),
    "code": Quantity("what happened at this point, as a number; 0 is converged", kind="diagnostic"),
}


def names(kind: str) -> tuple[str, ...]:
    """The quantities of one kind, in the table's order."""
    return tuple(name for name, row in QUANTITIES.items() if row.kind == kind)


def letter_axes(name: str) -> int:
    """How many axes over letters a quantity has when there are several letters."""
    return sum(dim in _PAIR for dim in QUANTITIES[name].dims) if name in QUANTITIES else 0


@cache
def describe(name: str) -> dict[str, str]:
    """The attributes `symbol` (LaTeX) and `long_name` of a quantity or parameter; empty for other names."""
    row = QUANTITIES.get(name) or PARAMETERS.get(name)
    if row is None:
        return {}
    return ({"symbol": row.symbol} if row.symbol else {}) | {"long_name": row.words}
