"""The network of the paper as scikit-learn estimators: `OneStepRegressor` and `OneStepClassifier`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .errors import ParameterError
from .estimator.inputs import standard_inputs
from .estimator.readout import fit_readout
from .estimator.step import features, one_step
from .functions import as_function
from .losses import Loss, as_loss, square
from .model import Letters, as_letters
from .parameters import parameter
from .simulation.backend import Backend, make_backend

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils import check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "giantstep.sklearn needs scikit-learn, which is not installed: pip install 'giantstep[sklearn]'"
    ) from error

__all__ = ["OneStepClassifier", "OneStepRegressor"]


class _OneStep(BaseEstimator):
    """What regressor and classifier share: standard inputs, the split, the step, the readout.

    Subclasses say what the outputs are.
    """

    _default_loss: Loss

    def __init__(
        self,
        eta: float | str = "auto",
        width: int | float = 256,
        *,
        split: float = 0.5,
        refit_on: str = "rest",
        lam: float = 0.1,
        loss: str | Loss = "auto",
        activation: Any = "tanh",
        letters: str | Letters = "uniform",
        whiten: bool = False,
        fit_intercept: bool = True,
        device: str = "cpu",
        backend: str | None = None,
        dtype: str = "float64",
        random_state: Any = None,
    ):
        self.eta = eta
        self.width = width
        self.split = split
        self.refit_on = refit_on
        self.lam = lam
        self.loss = loss
        self.activation = activation
        self.letters = letters
        self.whiten = whiten
        self.fit_intercept = fit_intercept
        self.device = device
        self.backend = backend
        self.dtype = dtype
        self.random_state = random_state

    def _fit(self, X: np.ndarray, targets: np.ndarray, labels: np.ndarray, loss: Loss, strata: Any) -> None:
        """Step towards `targets` [n, outputs] (mean 0, variance 1), then fit `labels` [n, outputs]."""
        random, backend = check_random_state(self.random_state), self._library()
        lam, activation = float(parameter("lam", self.lam, low=0.0)), as_function(self.activation)
        seed = int(random.randint(np.iinfo(np.int32).max))
        stepping = self._chosen(random.permutation(len(X)), strata)
        self.inputs_ = standard_inputs(X, self.whiten)
        x = self.inputs_(X)
        self.activation_ = activation
        self.network_ = one_step(
            x[stepping],
            targets[stepping],
            width=self._neurons(self.inputs_.directions),
            letters=as_letters(self.letters),
            activation=activation,
            eta=self._rate(),
            seed=seed,
            backend=backend,
        )
        fitted = slice(None) if self.refit_on == "all" else ~stepping
        phi = backend.xp.concat(list(features(self.network_, activation, x[fitted], backend)), axis=0)
        found = [fit_readout(phi, y, lam, loss, self.fit_intercept, backend) for y in labels[fitted].T]
        self.readout_ = np.stack([each.weights for each in found])
        self.intercept_ = np.array([each.intercept for each in found])
        self.optimality_ = np.array([each.optimality for each in found])

    def _outputs(self, X: Any) -> np.ndarray:
        """The network's outputs [n, outputs]."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        backend = self._library()
        readout = backend.asarray(self.readout_.T / self.readout_.shape[1] ** 0.5)
        blocks = features(self.network_, self.activation_, self.inputs_(X), backend)
        outputs = [backend.numpy(backend.matmul(block, readout)) for block in blocks]
        return np.concatenate(outputs) + self.intercept_

    def _chosen(self, order: np.ndarray, strata: np.ndarray | None) -> np.ndarray:
        """Which samples the step sees: every 1/split-th of a random order, sorted by class if there are classes."""
        split = float(parameter("split", self.split, low=0.0, high=1.0))
        if not 0.0 < split < 1.0:
            raise ParameterError(f"split = {split:g} leaves no samples to one of step and readout; try 0.5")
        if self.refit_on not in ("rest", "all"):
            raise ParameterError(f"refit_on = {self.refit_on!r} is unknown; use 'rest' or 'all'")
        if strata is not None:
            order = order[np.argsort(strata[order], kind="stable")]
        counted = np.floor(np.arange(len(order) + 1) * split + 0.5)
        chosen = np.zeros(len(order), dtype=bool)
        chosen[order] = np.diff(counted) > 0
        if chosen.all() or not chosen.any():  # very few samples: one goes to the other side
            chosen[order[0]] = not chosen[order[0]]
        return chosen

    def _neurons(self, d: int) -> int:
        """A whole number counts neurons, any other number is the ratio beta of neurons to inputs."""
        if isinstance(self.width, (int, np.integer)) and not isinstance(self.width, bool):
            count = int(self.width)
        else:
            count = round(float(parameter("width", self.width, low=0.0, strict=True)) * d)
        if count < 1:
            raise ParameterError(
                f"width = {self.width!r} leaves no neurons with {d} inputs; give at least one"
            )
        return count

    def _rate(self) -> float | str:
        if isinstance(self.eta, str):
            if self.eta != "auto":
                raise ParameterError(f"eta = {self.eta!r} is not allowed: use a number or 'auto'")
            return self.eta
        return float(parameter("eta", self.eta, low=0.0))

    def _loss(self) -> Loss:
        return self._default_loss if self.loss == "auto" else as_loss(self.loss)

    def _library(self) -> Backend:
        return make_backend(self.backend, self.device, self.dtype)

    @property
    def outlier_ratio_(self) -> float:
        """Largest singular value of the trained rows over the edge √c·(1 + √(p/d)) of random ones.

        Above 1 the step has left a spike that a spectrum shows; random rows are at 1, less a little.
        """
        p, d = self.network_.rows.shape
        edge = float(np.sqrt(self.network_.c.mean())) * (1 + np.sqrt(p / d))
        return float(np.linalg.norm(self.network_.rows, 2)) / edge


_PARAMETERS = """
    Parameters
    ----------
    eta : step size divided by d, as in the theory, or "auto": rows then move as far as they are long, which is where
        features are learned. 0 is plain random features. The spike's strength grows like eta·d/width.
    width : neurons if a whole number, else the ratio beta of neurons to inputs.
    split : share of the samples that the step sees; the others are the readout's.
    refit_on : "rest" fits the readout on samples that the step has not seen, as in the theory; "all" on all of
        them, which is more data, and biased.
    lam : penalty of the readout, against the sum of the losses.
    loss : of the readout, by name or as a `giantstep.Loss`; "auto" is {loss}.
    activation : a name or expression of giantstep, or a `giantstep.Function`.
    letters : initial readout weights, by name or as `giantstep.Letters`; its biases are the neurons'.
    whiten : whether to remove correlations between inputs too, as the theory's x ~ N(0, I) has none. Directions
        with little variance are then as loud as the others: for samples many times the inputs.
    fit_intercept : whether the readout has an intercept, which the penalty spares.
    device, backend, dtype : as in `giantstep.simulate`.
    random_state : of split and initial weights.

    Attributes
    ----------
    network_ : the trained first layer: `rows`, `biases`, the step `eta`, and for each output the unit direction
        `spike` in standardised inputs, its strength `r`, and `c`, the rows' mean squared norm without it.
    inputs_ : the map that standardises inputs.
    readout_, intercept_ : weights [outputs, width] and intercepts of f = a·φ/√p + b.
    optimality_ : duality gap of each readout, relative to its objective; 0 for the square loss.
    outlier_ratio_ : largest singular value of the rows over the edge of a random matrix's.
"""


class OneStepRegressor(RegressorMixin, _OneStep):
    __doc__ = """Regression by a two-layer network after one giant gradient step: features learned, then ridge.

    Inputs are standardised, and so are targets, so that eta and lam mean what they mean in the theory; predictions
    are in the units of y.
""" + _PARAMETERS.format(loss="square, ridge regression")

    _default_loss = square

    def fit(self, X: Any, y: Any) -> OneStepRegressor:
        """Train on samples X [n, features] with real targets y [n]."""
        X, y = validate_data(self, X, y, dtype=np.float64, y_numeric=True, ensure_min_samples=2)
        loss = self._loss()
        if not loss.residual:
            raise ParameterError(
                f"loss = {loss.name!r} is for classes; use a loss of the residual, such as 'huber:1'"
            )
        y = np.asarray(y, dtype=np.float64)
        self.y_mean_, self.y_scale_ = float(y.mean()), float(y.std()) or 1.0
        targets = ((y - self.y_mean_) / self.y_scale_)[:, None]
        self._fit(X, targets, targets, loss, None)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets [n]."""
        outputs = self._outputs(X)[:, 0]
        return self.y_mean_ + self.y_scale_ * outputs


def _is_logistic(estimator: OneStepClassifier) -> bool:
    return estimator._loss().name == "logistic"


class OneStepClassifier(ClassifierMixin, _OneStep):
    __doc__ = """Classification by a two-layer network after one giant gradient step, then logistic regression.

    Two classes are labels ±1 of one output. More classes have an output each, one against the rest: neurons are
    dealt to the outputs in equal shares, the step pulls each share towards its own class (its labels standardised),
    and every readout sees all neurons.
""" + _PARAMETERS.format(loss="logistic")

    _default_loss = as_loss("logistic")

    def fit(self, X: Any, y: Any) -> OneStepClassifier:
        """Train on samples X [n, features] of classes y [n]."""
        X, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ParameterError(
                f"y has one class only, {self.classes_[0]!r}; a classifier needs at least two"
            )
        outputs = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        labels = np.stack([np.where(codes == k, 1.0, -1.0) for k in outputs], axis=1)
        loss = self._loss()
        if loss != square and not float(parameter("lam", self.lam)) > 0:
            raise ParameterError(f"lam = {self.lam} must be positive with loss = {loss.name!r}; try 1e-3")
        targets = (labels - labels.mean(axis=0)) / labels.std(axis=0)
        self._fit(X, targets, labels, loss, codes)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """The outputs: [n] for two classes, positive for the second; [n, classes] for more."""
        outputs = self._outputs(X)
        return outputs[:, 0] if len(self.classes_) == 2 else outputs

    def predict(self, X: Any) -> np.ndarray:
        """Predicted classes [n]."""
        decision = self.decision_function(X)
        codes = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
        return self.classes_[codes]

    @available_if(_is_logistic)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [n, classes]; with many classes, those of each against the rest, normalised."""
        from scipy.special import expit

        positive = expit(self._outputs(X))
        if len(self.classes_) == 2:
            return np.concatenate([1 - positive, positive], axis=1)
        return positive / positive.sum(axis=1, keepdims=True)
