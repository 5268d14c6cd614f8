"""The one table of symbols: every input and answer with its symbol in the paper and its meaning in words."""

from __future__ import annotations

TABLE = {
    # inputs
    "eta": (r"\tilde\eta", "learning rate of the step, divided by d"),
    "alpha0": (r"\alpha_0", "samples in the gradient step, divided by d"),
    "alpha": (r"\alpha", "samples for the readout, divided by d"),
    "beta": (r"\beta", "width, divided by d"),
    "lam": (r"\lambda", "ridge penalty of the readout"),
    "refit": (r"\lambda_{\mathrm{b}}", "ridge penalty of the readout between the steps"),
    "r": (r"r", "spike strength"),
    "gamma": (r"\gamma", "alignment of the spike with the target"),
    "c": (r"c", "bulk variance: mean squared row norm without the spike"),
    "noise": (r"\Delta", "standard deviation of the label noise"),
    "d": (r"d", "input dimension"),
    "letter": (r"\ell", "initial readout weight of a group of neurons, times √p"),
    "trial": ("", "independent repetition"),
    "kappa": (r"\kappa", "projection of the input on the spike"),
    "x": ("x", "input along the target's direction"),
    "x1": ("x_1", "input along the target's first direction"),
    "x2": ("x_2", "input along the target's second direction"),
    "x3": ("x_3", "input along the target's third direction"),
    "x4": ("x_4", "input along the target's fourth direction"),
    # answers
    "test_error": (r"\epsilon_g", "mean squared test error against the noiseless target"),
    "train_error": (r"\epsilon_t", "mean squared training error against the labels"),
    "train_loss": (r"\bar\ell_t", "mean training loss (half the squared error for the square loss)"),
    "test_error_01": (r"P_g", "share of wrong signs on clean test labels"),
    "train_error_01": (r"P_t", "share of wrong signs on the training labels"),
    "m": (r"m", "readout along the all-ones direction, 1·a/√p"),
    "zeta": (r"\zeta", "component of the readout along Wv, v being the spike: a·Wv/√(dp)"),
    "psi": (
        r"\psi",
        "component of the readout along Wt, t being θ without its part along the spike: a·Wt/√(dp)",
    ),
    "chi": (r"\chi", "readout along the fluctuation of the row norms"),
    "nu": (r"\nu", "readout along the biases of scale 1/√d"),
    "q1": (r"q_1", "squared norm of the fitted linear map across the spike, a·WΠWᵀa/p"),
    "q2": (r"q_2", "squared norm of the readout, |a|²/p"),
    "V1": (r"V_1", "response of the linear features"),
    "V2": (r"V_2", "response of the noise-like features"),
    "network_error": (
        r"\epsilon_f",
        "mean squared error of the network itself, before its readout is refitted",
    ),
    "steps": ("T", "number of gradient steps"),
    "step": ("t", "gradient step, counted from 1"),
    "direction": ("", "direction of the target: 1 is x1, the first in its expression"),
    "overlap": (r"\overline{w\cdot\hat\theta}", "mean overlap of the trained rows with the target direction"),
    "mu0": (r"\mu_0", "mean of the features given κ"),
    "mu1": (r"\mu_1", "slope of the features across the spike, given κ"),
    "mu2": (r"\mu_2", "size of the features' nonlinear rest, given κ"),
    "dmu0": (r"\partial_c\mu_0", "derivative of μ0 with respect to the squared row norm"),
    "upper": ("", "upper bound: reached by an infinite penalty"),
    "lower": ("", "lower bound: no readout does better"),
    "lower_beta": ("", "lower bound at this width"),
    "floor": ("", "lower bound whatever the activation and the letters"),
    "by_direction": ("", "error that a direction's linear part can save at most"),
    "found": ("", "step at which the spikes find a direction; 0 if never"),
    "linear": ("", "error of the best linear predictor"),
    "eigenvalue": ("x", "eigenvalue"),
    "density": (r"\rho", "density of the bulk's eigenvalues"),
    "edge": ("", "ends of the bulk's intervals"),
    "mass_at_zero": ("", "share of the eigenvalues that are zero"),
    "spike_per_d": ("", "eigenvalue that grows with d, divided by d"),
    "spike": ("", "eigenvalue that grows with d"),
    "outlier": ("", "isolated eigenvalue"),
    "weight": ("", "quadrature weight: sums of weight times density are integrals over the bulk"),
    "mass": ("", "share of the eigenvalues that bulk and zeros account for"),
    "moment1": ("", "mean eigenvalue of bulk and zeros"),
    "moment2": ("", "mean squared eigenvalue of bulk and zeros"),
    "overlap_neurons": ("", "squared cosine of the top left singular vector with the letters"),
    "overlap_spike": ("", "squared cosine of the top right singular vector with the spike"),
    "overlap_target": ("", "squared cosine of the top right singular vector with the target's direction"),
    "threshold": ("", "spike strength r at which the spike leaves the bulk"),
    "landscape": (r"\epsilon_g", "test error"),
    "best_error": (r"\epsilon_g", "test error at the optimum"),
    "best_lam": (r"\lambda", "best ridge penalty"),
    "best_eta": (r"\tilde\eta", "best learning rate, divided by d"),
    "best_steps": ("T", "best number of steps"),
    "by_steps": (r"\epsilon_g", "test error at the optimum for each number of steps"),
    "best_split": ("", "best share of the samples for the step"),
    "split": ("", "share of the samples for the step"),
    "budget": ("", "samples for step and readout together, divided by d"),
    "at_end": ("", "whether an optimum lies at an end of the scanned range"),
    # diagnostics
    "residual": ("", "largest relative residual of the self-consistent equations"),
    "quadrature_error": (
        "",
        "estimated relative error of test_error and train_loss from numerical integration",
    ),
    "test_samples": ("", "test samples behind test_error; 0 where its average over inputs is exact"),
    "optimality": ("", "bound on the relative suboptimality of the fitted readout: its duality gap"),
    "converged": ("", "whether residual and quadrature error are within tolerance"),
    "status": ("", "what happened at this point, in words"),
    "code": ("", "what happened at this point, as a number; 0 is converged"),
}

# sums over the neurons of one letter, or over pairs of letters, where there are several
_PER_LETTER = ("m", "zeta", "psi", "chi", "nu", "q2", "V2", "c", "overlap")
_PER_PAIR = ("q1", "V1")


def letter_axes(name: str) -> int:
    """How many axes over letters a quantity has when there are several letters."""
    return 1 if name in _PER_LETTER else 2 if name in _PER_PAIR else 0


def describe(name: str) -> dict[str, str]:
    """The attributes `symbol` (LaTeX) and `long_name` of a quantity; empty for names outside the table."""
    if name not in TABLE:
        return {}
    symbol, words = TABLE[name]
    return {"symbol": symbol, "long_name": words} if symbol else {"long_name": words}
