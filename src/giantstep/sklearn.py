"""The network of the paper as scikit-learn estimators: `OneStepRegressor` and `OneStepClassifier`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .errors import ParameterError
from .estimator import curve, shares
from .estimator.inputs import row_blocks, standard_inputs
from .estimator.readout import Readouts
from .estimator.step import FirstLayer, Rate, features
from .estimator.tuning import Fitted, train
from .functions import Function, as_function
from .losses import Loss, as_loss, square
from .model import Letters, as_letters
from .parameters import number, parameter
from .simulation.backend import Backend, make_backend

if TYPE_CHECKING:
    import xarray as xr

try:
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        ClassNamePrefixFeaturesOutMixin,
        RegressorMixin,
        TransformerMixin,
    )
    from sklearn.utils import check_random_state
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data
except ImportError as error:
    raise ImportError(
        "giantstep.sklearn needs scikit-learn, which is not installed: pip install 'giantstep[sklearn]'"
    ) from error

__all__ = ["OneStepClassifier", "OneStepRegressor"]


class _OneStep(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What regressor and classifier share: standard inputs, shares of the samples, steps, the readout.

    Subclasses say what the outputs are.
    """

    _default_loss: Loss

    def __init__(
        self,
        eta: float | str = "loo",
        width: int | float = 256,
        *,
        steps: int = 1,
        split: float = 0.5,
        refit_on: str = "all",
        lam: float | str = "loo",
        loss: str | Loss = "auto",
        activation: Any = "tanh",
        letters: str | Letters = "auto",
        whiten: bool = False,
        fit_intercept: bool = True,
        warm_start: bool = False,
        device: str = "cpu",
        backend: str | None = None,
        dtype: str = "float64",
        random_state: Any = None,
    ):
        self.eta = eta
        self.width = width
        self.steps = steps
        self.split = split
        self.refit_on = refit_on
        self.lam = lam
        self.loss = loss
        self.activation = activation
        self.letters = letters
        self.whiten = whiten
        self.fit_intercept = fit_intercept
        self.warm_start = warm_start
        self.device = device
        self.backend = backend
        self.dtype = dtype
        self.random_state = random_state

    def _fit(
        self,
        X: Any,
        targets: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        loss: Loss,
        strata: np.ndarray | None,
    ) -> None:
        """Steps towards `targets` [n, outputs] (mean 0, variance 1), then a fit of `labels` [n, outputs]."""
        random, rate, lam = check_random_state(self.random_state), self._rate(), self._penalty(loss)
        key = self._fingerprint(X, labels, weights) if self.warm_start else None
        kept = getattr(self, "_warm", None)
        if key is not None and kept is not None and kept[0] == key:
            _, readouts, fitted = kept
            known = fitted.known or readouts.judge(fitted.features, None)
            linear, lam = readouts.fit(fitted.features, lam, known)
            fitted = fitted._replace(linear=linear, lam=lam, known=known)
        else:
            readouts, layer = self._posed(X, targets, labels, weights, loss, strata, random)
            fitted = train(readouts, layer, rate, lam)
        self._keep(readouts, fitted)
        self._warm = None if key is None else (key, readouts, fitted)

    def _posed(
        self,
        X: Any,
        targets: np.ndarray,
        labels: np.ndarray,
        weights: np.ndarray,
        loss: Loss,
        strata: np.ndarray | None,
        random: np.random.RandomState,
    ) -> tuple[Readouts, FirstLayer]:
        """The samples of each step and of the readout, and the first layer before its steps."""
        backend, activation, steps = self._library(), as_function(self.activation), self._steps()
        seed = int(random.randint(np.iinfo(np.int32).max))
        key = shares.keys(X, seed)
        share, place = shares.deal(key, weights, strata, self._split(), steps)
        order = np.argsort(place, kind="stable")
        fresh, seen = order[share[order] == shares.FRESH], order[share[order] != shares.FRESH]
        inputs = standard_inputs(X, weights, self.whiten)

        def batch(step: int) -> Any:
            for part, block in row_blocks(X, backend.block_rows, np.flatnonzero(share == step)):
                yield tuple(backend.asarray(a) for a in (inputs(block), targets[part], weights[part]))

        layer = FirstLayer(
            width=self._neurons(inputs.directions),
            directions=inputs.directions,
            outputs=targets.shape[1],
            letters=self._letters(activation),
            activation=activation,
            batches=tuple(lambda step=step: batch(step) for step in range(steps)),
            seed=seed,
            backend=backend,
        )
        readouts = Readouts(
            X=X, inputs=inputs, labels=labels, weights=weights, copies=shares.copies(key),
            fresh=fresh, seen=seen if self.refit_on == "all" else seen[:0],
            activation=activation, loss=loss, intercept=self.fit_intercept, backend=backend,
        )  # fmt: skip
        return readouts, layer

    def _keep(self, readouts: Readouts, fitted: Fitted) -> None:
        """What a fitted estimator remembers: nothing of the samples."""
        self.inputs_, self.activation_ = readouts.inputs, readouts.activation
        self.network_, self.lam_ = fitted.features.trained, fitted.lam
        self.readout_, self.intercept_ = fitted.linear.weights, fitted.linear.intercept
        self.optimality_ = fitted.linear.optimality
        self.loo_ = _errors(readouts, fitted.lam)
        self._n_features_out = len(self.network_.rows)

    def transform(self, X: Any) -> np.ndarray:
        """The learned features σ(Wx + b) [n, width], to be used in a pipeline."""
        check_is_fitted(self)
        X = self._given(X, reset=False)
        backend = self._library()
        blocks = features(self.network_, self.activation_, X, self.inputs_, backend)
        return np.concatenate([backend.numpy(block) for block in blocks])

    def _outputs(self, X: Any) -> np.ndarray:
        """The network's outputs [n, outputs]."""
        check_is_fitted(self)
        X = self._given(X, reset=False)
        backend = self._library()
        readout = backend.asarray(self.readout_.T / self.readout_.shape[1] ** 0.5)
        blocks = features(self.network_, self.activation_, X, self.inputs_, backend)
        outputs = [backend.numpy(backend.matmul(block, readout)) for block in blocks]
        return np.concatenate(outputs) + self.intercept_

    def _given(self, X: Any, *y: Any, **options: Any) -> Any:
        """Inputs as they come: dense or CSR, in double or single precision, not copied if possible."""
        return validate_data(self, X, *y, accept_sparse="csr", dtype=[np.float64, np.float32], **options)

    def _weighted(self, X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Samples with their weights; those of weight 0 are not there."""
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        present = weights > 0
        if present.all():
            return X, y, weights
        if present.sum() < 2:
            raise ParameterError("sample_weight leaves fewer than two samples; at least two must be positive")
        return X[present], y[present], weights[present]

    def _split(self) -> float:
        split = number("split", self.split, low=0.0, high=1.0)
        if not 0.0 < split < 1.0:
            raise ParameterError(f"split = {split:g} leaves no samples to one of step and readout; try 0.5")
        if self.refit_on not in ("rest", "all"):
            raise ParameterError(f"refit_on = {self.refit_on!r} is unknown; use 'rest' or 'all'")
        return split

    def _steps(self) -> int:
        if not isinstance(self.steps, (int, np.integer)) or isinstance(self.steps, bool) or self.steps < 1:
            raise ParameterError(
                f"steps = {self.steps!r} is not a count of steps; use 1 or more (eta=0: none)"
            )
        return int(self.steps)

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

    def _letters(self, activation: Function) -> Letters:
        """Where one sign of the spike is not the mirror image of the other, neurons need both.

        All ReLUs of one sign are flat on one side of the spike, where no readout of theirs can follow the target.
        """
        if isinstance(self.letters, str) and self.letters == "auto":
            return as_letters("uniform" if activation.parity == "odd" else "rademacher")
        return as_letters(self.letters)

    def _rate(self) -> Rate | None:
        if not isinstance(self.eta, str):
            return Rate(number("eta", self.eta, low=0.0), relative=False)
        if self.eta not in ("loo", "auto"):
            raise ParameterError(f"eta = {self.eta!r} is not allowed: use a number, 'loo' or 'auto'")
        return Rate(1.0, relative=True) if self.eta == "auto" else None

    def _penalty(self, loss: Loss) -> float | None:
        if isinstance(self.lam, str):
            if self.lam != "loo":
                raise ParameterError(f"lam = {self.lam!r} is not allowed: use a number or 'loo'")
            return None
        lam = number("lam", self.lam, low=0.0)
        if loss != square and not lam > 0:
            raise ParameterError(f"lam = {self.lam} must be positive with loss = {loss.name!r}; try 1e-3")
        return lam

    def _loss(self) -> Loss:
        return (
            self._default_loss if isinstance(self.loss, str) and self.loss == "auto" else as_loss(self.loss)
        )

    def _library(self) -> Backend:
        return make_backend(self.backend, self.device, self.dtype)

    def _fingerprint(self, X: Any, labels: np.ndarray, weights: np.ndarray) -> tuple[Any, ...]:
        """Of samples and parameters, all but lam."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name != "lam"}
        return (
            hash(shares.keys(X, 0).tobytes()), hash(labels.tobytes()), hash(weights.tobytes()), repr(parameters)
        )  # fmt: skip

    def __getstate__(self) -> dict[str, Any]:
        """What is pickled: without the samples that `warm_start` keeps."""
        state: Any = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_warm"}

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    @property
    def outlier_ratio_(self) -> float:
        """Largest singular value of the trained rows over the edge √c·(1 + √(p/d)) of random ones.

        Above 1 the step has left a spike that a spectrum shows; random rows are at 1, less a little.
        """
        p, d = self.network_.rows.shape
        edge = float(np.sqrt(self.network_.c.mean())) * (1 + np.sqrt(p / d))
        return float(np.linalg.norm(self.network_.rows, 2)) / edge


def _errors(readouts: Readouts, lam: float) -> xr.Dataset:
    """What rate and penalty were chosen by; empty where both were given."""
    import xarray as xr

    found = xr.Dataset()
    if readouts.errors:
        etas = sorted(readouts.errors)
        rows = np.stack([readouts.errors[eta] for eta in etas])
        lams = readouts.lams if rows.shape[1] > 1 else [lam]
        found["error"] = xr.DataArray(rows, {"eta": etas, "lam": lams}, ("eta", "lam"))
    for name, axis, values in (("rate_loss", "eta", readouts.rates), ("loss", "lam", readouts.losses)):
        if values:
            at = sorted(values)
            found[name] = xr.DataArray([values[each] for each in at], {axis: at}, (axis,))
    return found


_PARAMETERS = """
    Parameters
    ----------
    eta : step size divided by d, as in the theory; 0 is plain random features. "loo" takes the best by leave-one-out
        of 0 and of multiples of "auto", at which rows move as far as they are long. The spike's strength grows like
        eta·d/width.
    width : neurons if a whole number, else the ratio beta of neurons to inputs.
    steps : how many giant steps, each on a share of the samples of its own.
    split : share of the samples that the steps see, all together.
    refit_on : "all" fits the readout on all samples; "rest" on those that no step has seen, as in the theory.
    lam : penalty of the readout, against the sum of the losses; "loo" takes the best by leave-one-out, which is in
        closed form for the square loss and to one Newton step for others.
    loss : of the readout, by name or as a `giantstep.Loss`; "auto" is {loss}.
    activation : a name or expression of giantstep, or a `giantstep.Function`.
    letters : initial readout weights, by name or as `giantstep.Letters`; its biases are the neurons'. "auto" is one
        letter where the activation is odd, and both signs ("rademacher") where it is not.
    whiten : whether to remove correlations between inputs too, as the theory's x ~ N(0, I) has none. Directions
        with little variance are then as loud as the others: for samples many times the inputs.
    fit_intercept : whether the readout has an intercept, which the penalty spares.
    warm_start : whether another `fit` on the same samples, with no parameter changed but lam, keeps the features and
        their decomposition: penalties then cost next to nothing. Samples stay in memory for that.
    device, backend, dtype : as in `giantstep.simulate`: device="cuda" trains on a GPU, through torch.
    random_state : of shares and initial weights.

    Attributes
    ----------
    network_ : the trained first layer: `rows`, `biases`, the step `eta`, and for each output the unit direction
        `spike` in standardised inputs, its strength `r`, and `c`, the rows' mean squared norm without it (`etas`,
        `spikes` and `strengths` have those of all steps).
    lam_ : the penalty; chosen, with lam="loo".
    loo_ : an xarray.Dataset with what the choice was made by: `error`, mean squared leave-one-out errors by eta and
        lam, in units of the labels' variance{error}.
    inputs_ : the map that standardises inputs.
    readout_, intercept_ : weights [outputs, width] and intercepts of f = a·φ/√p + b.
    optimality_ : duality gap of each readout, relative to its objective; 0 for the square loss.
    outlier_ratio_ : largest singular value of the rows over the edge of a random matrix's.
"""


class OneStepRegressor(RegressorMixin, _OneStep):
    __doc__ = (
        """Regression by a two-layer network after one giant gradient step: features learned, then ridge.

    Inputs are standardised, and so are targets, so that eta and lam mean what they mean in the theory; predictions
    are in the units of y. With several targets neurons are dealt to them in equal shares, the step pulls each share
    towards its own target, and every readout sees all neurons. As a transformer it gives the learned features.
"""
        + _PARAMETERS.format(loss="square, ridge regression", error="")
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
        X, y : samples with one target, as in `fit`.
        sizes : numbers of training samples, or how many of them, spread evenly in logarithm.
        folds : of the cross-validation.

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
            model = OneStepRegressor(**settings | {"eta": eta}).fit(X[index], y[index])
            return lambda held: model.predict(X[held])

        for name, values in zip(
            ("measured", "measured_error"),
            curve.measured_curve(train_on, y, sizes, etas, folds, random),
            strict=True,
        ):
            found[name] = (("eta", "n"), values)
        return found.assign_attrs(gamma=like.gamma, noise=like.noise, target=like.target.function.name)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


def _is_logistic(estimator: OneStepClassifier) -> bool:
    return estimator._loss().name == "logistic"


class OneStepClassifier(ClassifierMixin, _OneStep):
    __doc__ = (
        """Classification by a two-layer network after one giant gradient step, then logistic regression.

    Two classes are labels ±1 of one output. More classes have an output each, one against the rest: neurons are
    dealt to the outputs in equal shares, the step pulls each share towards its own class (its labels standardised),
    and every readout sees all neurons. As a transformer it gives the learned features.
"""
        + _PARAMETERS.format(
            loss="logistic",
            error=" (square loss); for other losses\n        `rate_loss`, mean leave-one-out losses by eta at a first"
            " guess of lam, and `loss`, by lam",
        )
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
                f"y has one class only, {self.classes_[0]!r}; a classifier needs at least two"
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
