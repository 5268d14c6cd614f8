"""The network of the paper as scikit-learn estimators: `OneStepRegressor` and `OneStepClassifier`."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr

from .errors import ParameterError
from .estimator import curve
from .estimator.network import standardise
from .losses import as_loss, square
from .model.checks import check_count, not_a_number, parameter

try:
    from sklearn.base import ClassifierMixin, RegressorMixin, clone
    from sklearn.model_selection import KFold, learning_curve
    from sklearn.utils import check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted

    from .estimator.base import OneStep
except ImportError as error:
    raise ImportError(
        "giantstep.sklearn needs scikit-learn, which is not installed: pip install 'giantstep[sklearn]'"
    ) from error

__all__ = ["OneStepClassifier", "OneStepRegressor"]


def _check_real(y: Any) -> None:
    """Refuse targets that are no numbers; complex and missing ones are scikit-learn's to refuse, in its own words, and
    truth values are 0 and 1 to it."""
    found = None if y is None else not_a_number(y)
    if found not in (None, "a complex number", "a truth value"):
        raise ParameterError(f"y has {found} where a regressor needs numbers; for classes there is OneStepClassifier")


class OneStepRegressor(RegressorMixin, OneStep):
    """Regression by a two-layer network after one giant gradient step: features learned, then ridge.

    Inputs are standardised, and so are targets, so that eta and lam mean what they mean in the theory; predictions
    are in the units of y. With several targets, the step pulls an equal share of the neurons towards each, and every
    readout uses all neurons. As a transformer it gives the learned features.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from giantstep.sklearn import OneStepRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OneStepRegressor(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.4)
    True
    """

    _default_loss = square

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneStepRegressor:
        """Train on samples X [n, features] with real targets y [n] or [n, targets]."""
        _check_real(y)
        X, y = self._validated(X, y, y_numeric=True, multi_output=True, ensure_min_samples=2)
        loss, single = self._loss(), np.ndim(y) == 1
        if not loss.residual:
            raise ParameterError(f"loss = {loss.name!r} is for classes; use a loss of the residual, such as 'huber:1'")
        X, y, weights = self._merged(X, np.asarray(y, dtype=np.float64).reshape(len(y), -1), sample_weight)
        standard = standardise(y, weights)
        self._fit(X, standard(y), weights, np.zeros(len(y)))
        deviation = np.where(standard.axes > 0, 1 / np.where(standard.axes > 0, standard.axes, 1.0), 0.0)
        both = standard.unit * standard.mean, standard.unit * deviation
        self.y_mean_, self.y_scale_ = (each[0] if single else each for each in both)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets, [n] or [n, targets] as y was."""
        outputs = self._outputs(X)
        with np.errstate(over="ignore"):
            y = self.y_mean_ + self.y_scale_ * (outputs if np.ndim(self.y_mean_) else outputs[:, 0])
        if not np.isfinite(y).all():
            raise ParameterError("y is so large that predictions overflow; fit y in larger units")
        return y

    def learning_curve_theory(self, X: Any, y: Any, *, sizes: Any = 6, folds: int = 5) -> xr.Dataset:
        """How far these data are from the theory: its learning curve beside the cross-validated one.

        The theory is for Gaussian inputs and a target of one direction. It predicts the error of the fitted network on
        such data, at each number of samples: with as many inputs, with the alignment, shape and noise measured on your
        data (`giantstep.estimator.curve`), the same width, learning rate and penalty, the readout fitted on the samples
        that the step did not use, and no intercept. The same network is cross-validated on your data. Where the two
        curves agree, your data behave like Gaussian ones.

        Parameters
        ----------
        X, y : array
            Samples with one target, as in `fit`.
        sizes : int or sequence of int
            Numbers of training samples, or how many of them, spread evenly in logarithm.
        folds : int
            Number of folds of the cross-validation.

        Returns
        -------
        xarray.Dataset
            Over `eta` (0, and the fitted rate if it is another) and `n`: `theory`, `measured` and `measured_error`
            (standard errors), mean squared errors of new labels in units of the variance of y; attributes `gamma`, the
            alignment that half of the samples give, `noise`, and `target`, the estimate of σ*.
        """
        check_is_fitted(self)
        if self.steps > 1 or np.ndim(self.y_mean_):
            raise ParameterError("steps and y: the theory's learning curve is for one step and one target")
        _check_real(y)
        folds = check_count("folds", folds, 2)
        X, y = self._validated(X, y, y_numeric=True, ensure_min_samples=4 * folds, reset=False)
        columns, ones = np.asarray(y, dtype=np.float64)[:, None], np.ones(len(y))
        y, x = standardise(columns, ones)(columns)[:, 0], standardise(X, ones, self.whiten)(X)
        most = len(y) - -(-len(y) // folds)
        if np.ndim(sizes) == 0:
            sizes = np.geomspace(len(y) / 10, most, check_count("sizes", sizes, 1))
        n = np.unique(np.round(parameter("sizes", sizes, low=2, high=most)).astype(int))
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        gamma, target = curve.resembling(x, y, np.random.default_rng(seed))
        etas = np.unique([0.0, self.network_.eta])
        network = {"activation": self.activation_, "eta": etas, "beta": len(self.network_.rows) / x.shape[1]}
        found = curve.theory_curve(
            target, n, network | {"readout": self._letters()}, x.shape[1], float(self.split), self.lam_
        )
        plain: Any = clone(self).set_params(lam=self.lam_, refit_on="rest", fit_intercept=False)  # type: ignore[union-attr]
        options: Any = {"scoring": "neg_mean_squared_error", "shuffle": True, "error_score": "raise"}
        cv = KFold(folds, shuffle=True, random_state=seed)
        curves = (
            learning_curve(plain.set_params(eta=eta), X, y, train_sizes=n, cv=cv, random_state=seed, **options)
            for eta in etas
        )
        errors = np.stack([-scores for _, _, scores, *_ in curves])
        found["measured"] = ("eta", "n"), errors.mean(axis=2)
        found["measured_error"] = ("eta", "n"), errors.std(axis=2, ddof=1) / np.sqrt(folds)
        return found.assign_attrs(gamma=gamma, noise=target.noise, target=target.function.spec)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class OneStepClassifier(ClassifierMixin, OneStep):
    """Classification by a two-layer network after one giant gradient step, then logistic regression.

    Two classes are labels ±1 of one output. More classes have an output each, one against the rest: the step pulls an
    equal share of the neurons towards each class (with standardised labels), and every readout uses all neurons. As a
    transformer it gives the learned features.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from giantstep.sklearn import OneStepClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneStepClassifier(width=60, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """

    _default_loss = as_loss("logistic")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneStepClassifier:
        """Train on samples X [n, features] of classes y [n]."""
        X, y = self._validated(X, y, ensure_min_samples=2)
        check_classification_targets(y)
        classes, codes = np.unique(y, return_inverse=True)
        X, codes, weights = self._merged(X, codes[:, None], sample_weight)
        present, codes = np.unique(codes[:, 0], return_inverse=True)
        self.classes_ = classes[present.astype(int)]
        if len(self.classes_) < 2:
            raise ParameterError(
                f"y has one class only, {self.classes_.tolist()[0]!r}; a classifier needs at least two"
            )
        outputs = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        labels = np.stack([np.where(codes == k, 1.0, -1.0) for k in outputs], axis=1)
        self._fit(X, labels, weights, codes)
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

    @available_if(lambda estimator: estimator._loss().name == "logistic")
    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities [n, classes]; with many classes, those of each against the rest, normalised."""
        from scipy.special import expit

        positive = expit(self._outputs(X))
        if len(self.classes_) == 2:
            return np.concatenate([1 - positive, positive], axis=1)
        return positive / positive.sum(axis=1, keepdims=True)
