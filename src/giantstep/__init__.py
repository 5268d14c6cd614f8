"""giantstep: what a two-layer network learns from one giant gradient step, and how well it will generalise."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Network": "model.network",
    "SpikedRF": "model.spiked",
    "Letters": "model.letters",
    "TwoSpikes": "model.spiked",
    "Step": "model.network",
    "Inputs": "model.inputs",
    "Target": "model.target",
    "Function": "functions",
    "Loss": "losses",
    "predict": "theory.predict",
    "simulate": "simulation",
    "simulate_spectrum": "simulation.eigenvalues",
    "coefficients": "insight.coefficients",
    "linear_error": "theory.labels",
    "bounds": "insight.bounds",
    "staircase": "insight.staircase",
    "bayes": "insight.reference.bayes",
    "ridge": "insight.reference.ridge",
    "explain": "insight.reference.explain",
    "bound_functions": "insight.bounds",
    "learned_function": "insight.learned",
    "spectrum": "insight.spectrum",
    "weight_spectrum": "insight.weight_spectrum",
    "tune": "insight.tune",
    "compare": "answers.comparison",
    "summary": "answers.comparison",
    "plot": "plotting",
    "Sweep": "sweep",
    "run_sweep": "sweep",
    "save": "files",
    "load": "files",
    "ConvergenceError": "errors",
    "ExpressionError": "errors",
    "GiantstepError": "errors",
    "GiantstepWarning": "errors",
    "LimitWarning": "errors",
    "ParameterError": "errors",
}

__all__ = [*sorted(_HOME), "__version__"]

if TYPE_CHECKING:
    from .answers.comparison import compare as compare
    from .answers.comparison import summary as summary
    from .errors import ConvergenceError as ConvergenceError
    from .errors import ExpressionError as ExpressionError
    from .errors import GiantstepError as GiantstepError
    from .errors import GiantstepWarning as GiantstepWarning
    from .errors import LimitWarning as LimitWarning
    from .errors import ParameterError as ParameterError
    from .files import load as load
    from .files import save as save
    from .functions import Function as Function
    from .insight.bounds import bound_functions as bound_functions
    from .insight.bounds import bounds as bounds
    from .insight.coefficients import coefficients as coefficients
    from .insight.learned import learned_function as learned_function
    from .insight.reference.bayes import bayes as bayes
    from .insight.reference.explain import explain as explain
    from .insight.reference.ridge import ridge as ridge
    from .insight.spectrum import spectrum as spectrum
    from .insight.staircase import staircase as staircase
    from .insight.tune import tune as tune
    from .insight.weight_spectrum import weight_spectrum as weight_spectrum
    from .losses import Loss as Loss
    from .model.inputs import Inputs as Inputs
    from .model.letters import Letters as Letters
    from .model.network import Network as Network
    from .model.network import Step as Step
    from .model.spiked import SpikedRF as SpikedRF
    from .model.spiked import TwoSpikes as TwoSpikes
    from .model.target import Target as Target
    from .plotting import plot as plot
    from .simulation import simulate as simulate
    from .simulation.eigenvalues import simulate_spectrum as simulate_spectrum
    from .sweep import Sweep as Sweep
    from .sweep import run_sweep as run_sweep
    from .theory.labels import linear_error as linear_error
    from .theory.predict import predict as predict


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used: `import giantstep` alone stays fast."""
    if name not in _HOME:
        raise AttributeError(f"module 'giantstep' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOME[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
