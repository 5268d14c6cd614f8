"""The network of the paper as scikit-learn estimators: `OneStepRegressor` and `OneStepClassifier`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ParameterError
from .estimator import curve
from .estimator.inputs import standard_inputs
from .losses import as_loss, square
from .parameters import not_a_number

if TYPE_CHECKING:
    import xarray as xr

try:
    from sklearn.base import ClassifierMixin, RegressorMixin
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


_PARAMETERS = """
    Parameters
    ----------
    eta : float or "loo" or "auto"
        Step size divided by d, as in the theory; 0 is plain random features. "loo" takes the best by leave-one-out
        of 0 and of multiples of "auto", at which rows move as far as they are long. The spike's strength grows like
        eta·d/width.
    width : int or float
        Neurons if a whole number, else the ratio beta of neurons to inputs.
    steps : int
        How many giant steps, each on a share of the samples of its own.
    split : float
        Share of the samples that the steps see, all together.
    refit_on : {{"all", "rest"}}
        "all" fits the readout on all samples; "rest" on those that no step has seen, as in the theory.
    lam : float or "loo"
        Penalty of the readout, against the sum of the losses; "loo" takes the best by leave-one-out, which is in
        closed form for the square loss and to one Newton step for others.
    loss : str or Loss
        Of the readout, by name or as a `giantstep.Loss`; "auto" is {loss}.
    activation : str or Function
        A name or expression of giantstep, or a `giantstep.Function`.
    letters : str or Letters
        Initial readout weights, by name or as `giantstep.Letters`; its biases are the neurons'. "auto" is one
        letter where the activation is odd, and both signs ("rademacher") where it is not.
    whiten : bool
        Whether to remove correlations between inputs too, as the theory's x ~ N(0, I) has none. Directions
        with little variance are then as loud as the others: for samples many times the inputs.
    fit_intercept : bool
        Whether the readout has an intercept, which the penalty spares.
    warm_start : bool
        Whether another `fit` on the same samples, with no parameter changed but lam, keeps the features and
        their moments: penalties then cost little. Samples stay in memory for that.
    device, backend, dtype : str
        As in `giantstep.simulate`: device="cuda" trains on a GPU, through torch.
    random_state : int, RandomState or None
        Of shares and initial weights.

    Attributes
    ----------
    network_
        The trained first layer: `rows`, `biases`, the step `eta`, and for each output the unit direction
        `spike` in standardised inputs, its strength `r`, and `c`, the rows' mean squared norm without it (`etas`,
        `spikes` and `strengths` have those of all steps).
    lam_
        The penalty; chosen, with lam="loo".
    loo_
        An xarray.Dataset with what rate and penalty were chosen by, means over samples that were left out:
        `rate_error` by eta, of the thinned networks that were compared, each at its best lam; `error` by lam, of
        the network itself. They are squares, of labels of variance 1 in regression; for losses other than square
        the losses themselves, `rate_loss` and `loss`.
    inputs_
        The map that standardises inputs.
    readout_, intercept_
        Weights [outputs, width] and intercepts of f = a·φ/√p + b.
    optimality_
        Duality gap of each readout, relative to its objective; 0 for the square loss.
    outlier_ratio_
        Largest singular value of the rows over the edge of a random matrix's.
"""


def _check_real(y: Any) -> None:
    """Refuse targets that are no numbers; complex and missing ones are scikit-learn's to refuse, in its own words, and
    truth values are 0 and 1 to it."""
    found = None if y is None else not_a_number(y)
    if found not in (None, "a complex number", "a truth value"):
        raise ParameterError(
            f"y has {found} where a regressor needs numbers; for classes there is OneStepClassifier"
        )


class OneStepRegressor(RegressorMixin, OneStep):
    __doc__ = (
        """Regression by a two-layer network after one giant gradient step: features learned, then ridge.

    Inputs are standardised, and so are targets, so that eta and lam mean what they mean in the theory; predictions
    are in the units of y. With several targets neurons are dealt to them in equal shares, the step pulls each share
    towards its own target, and every readout sees all neurons. As a transformer it gives the learned features.
"""
        + _PARAMETERS.format(loss="square, ridge regression")
        + """
    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from giantstep.sklearn import OneStepRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = OneStepRegressor(random_state=0).fit(X[:300], y[:300])
    >>> bool(model.score(X[300:], y[300:]) > 0.4)
    True
    """
    )

    _default_loss = square

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneStepRegressor:
        """Train on samples X [n, features] with real targets y [n] or [n, targets]."""
        _check_real(y)
        X, y = self._given(X, y, y_numeric=True, multi_output=True, ensure_min_samples=2)
        loss = self._loss()
        if not loss.residual:
            raise ParameterError(
                f"loss = {loss.name!r} is for classes; use a loss of the residual, such as 'huber:1'"
            )
        X, y, weights = self._weighted(X, np.asarray(y, dtype=np.float64), sample_weight)
        self.y_mean_ = np.average(y, axis=0, weights=weights)
        spread = np.sqrt(np.average((y - self.y_mean_) ** 2, axis=0, weights=weights))
        self.y_scale_ = np.where(spread > 0, spread, 1.0)
        targets = ((y - self.y_mean_) / self.y_scale_).reshape(len(y), -1)
        self._fit(X, targets, targets, weights, loss, None)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predicted targets, [n] or [n, targets] as y was."""
        outputs = self._outputs(X)
        return self.y_mean_ + self.y_scale_ * (outputs if np.ndim(self.y_mean_) else outputs[:, 0])

    def learning_curve_theory(self, X: Any, y: Any, *, sizes: Any = 6, folds: int = 5) -> xr.Dataset:
        """How far these data are from the theory: its learning curve beside the cross-validated one.

        The theory speaks of Gaussian inputs and a target of one direction. It is asked for such data with as many
        inputs, and with the alignment, shape and noise that these data show (`giantstep.estimator.curve`), what the
        fitted network's error would be at each number of samples: same width, learning rate and penalty, the readout on
        the samples that the step has not seen, no intercept. The same network is cross-validated on the data. Where
        the two curves agree, the data behave like Gaussian ones; where they do not, they do not.

        Parameters
        ----------
        X, y : array
            Samples with one target, as in `fit`.
        sizes : int or sequence of int
            Numbers of training samples, or how many of them, spread evenly in logarithm.
        folds : int
            Of the cross-validation.

        Returns
        -------
        xarray.Dataset
            Over `eta` (0, and the fitted rate if it is another) and `n`: `theory`, `measured` and `measured_error`
            (standard errors), mean squared errors of new labels in units of the variance of y; attributes `gamma`, the
            alignment that half of the samples give, `noise` and `target`, what was taken for σ*.
        """
        check_is_fitted(self)
        if self._steps() > 1 or np.ndim(self.y_mean_):
            raise ParameterError("the theory's learning curve is for one step and one target")
        _check_real(y)
        X, y = self._given(X, y, y_numeric=True, ensure_min_samples=4 * folds, reset=False)
        y = (np.asarray(y, dtype=np.float64) - y.mean()) / (y.std() or 1.0)
        random = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        if np.ndim(sizes) == 0:
            sizes = np.geomspace(len(y) / 10, len(y) * (1 - 1 / folds), int(sizes))
        sizes, etas = np.unique(np.round(sizes).astype(int)), np.unique([0.0, self.network_.eta])
        inputs = standard_inputs(X, np.ones(len(y)), self.whiten)
        like = curve.resembling(inputs(X), y, random)
        found = curve.theory_curve(
            like, sizes, etas, d=inputs.directions, width=len(self.network_.rows), split=self._split(), lam=self.lam_,
            activation=self.activation_, letters=self._letters(self.activation_),
        )  # fmt: skip
        plain = {"lam": self.lam_, "refit_on": "rest", "fit_intercept": False, "warm_start": False}
        settings: dict[str, Any] = self.get_params(deep=False) | plain

        def train_on(index: np.ndarray, eta: float) -> Any:
            settings["eta"] = eta
            model = OneStepRegressor(**settings).fit(X[index], y[index])
            return lambda held: model.predict(X[held])

        for name, values in zip(
            ("measured", "measured_error"),
            curve.measured_curve(train_on, y, sizes, etas, folds, random),
            strict=True,
        ):
            found[name] = (("eta", "n"), values)
        return found.assign_attrs(gamma=like.gamma, noise=like.noise, target=like.target.function.spec)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _is_logistic(estimator: OneStepClassifier) -> bool:
    return estimator._loss().name == "logistic"


class OneStepClassifier(ClassifierMixin, OneStep):
    __doc__ = (
        """Classification by a two-layer network after one giant gradient step, then logistic regression.

    Two classes are labels ±1 of one output. More classes have an output each, one against the rest: neurons are
    dealt to the outputs in equal shares, the step pulls each share towards its own class (its labels standardised),
    and every readout sees all neurons. As a transformer it gives the learned features.
"""
        + _PARAMETERS.format(loss="logistic")
        + """
    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from giantstep.sklearn import OneStepClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = OneStepClassifier(width=60, random_state=0).fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    """
    )

    _default_loss = as_loss("logistic")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OneStepClassifier:
        """Train on samples X [n, features] of classes y [n]."""
        X, y = self._given(X, y, ensure_min_samples=2)
        check_classification_targets(y)
        X, y, weights = self._weighted(X, y, sample_weight)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ParameterError(
                f"y has one class only, {self.classes_.tolist()[0]!r}; a classifier needs at least two"
            )
        outputs = [1] if len(self.classes_) == 2 else range(len(self.classes_))
        labels = np.stack([np.where(codes == k, 1.0, -1.0) for k in outputs], axis=1)
        mean = np.average(labels, axis=0, weights=weights)
        self._fit(X, (labels - mean) / np.sqrt(1 - mean**2), labels, weights, self._loss(), codes)
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
