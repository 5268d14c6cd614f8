"""What regressor and classifier share; the one module besides `giantstep.sklearn` that needs scikit-learn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..errors import ParameterError
from ..functions import Function, as_function
from ..letters import Letters, as_letters
from ..losses import Loss, as_loss, square
from ..parameters import flag, number, parameter
from ..simulation.backend import Backend, make_backend
from . import shares
from .inputs import row_blocks, standard_inputs
from .readout import Readouts
from .step import FirstLayer, Rate, features
from .tuning import Fitted, choose_penalty, train

if TYPE_CHECKING:
    import xarray as xr

_JUDGES = 8
"""Samples per neuron over which leave-one-out errors are averaged, at most."""


class OneStep(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
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
        for name in ("whiten", "fit_intercept", "warm_start"):
            flag(name, getattr(self, name))
        random, rate, lam = check_random_state(self.random_state), self._rate(), self._penalty(loss)
        key = self._fingerprint(X, labels, weights) if self.warm_start else None
        kept = getattr(self, "_warm", None)
        if key is not None and kept is not None and kept[0] == key:
            _, readouts, fitted = kept
            known = fitted.known
            if known is None and (lam is None or loss == square):  # moments serve all penalties
                known = choose_penalty(readouts, fitted.features, None)
            linear, lam = readouts.fit(fitted.features, lam, known, fitted.linear)
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
            activation=activation, loss=loss, intercept=self.fit_intercept, judges=_JUDGES * layer.width,
            backend=backend,
        )  # fmt: skip
        return readouts, layer

    def _keep(self, readouts: Readouts, fitted: Fitted) -> None:
        """What a fitted estimator remembers: nothing of the samples."""
        self.inputs_, self.activation_ = readouts.inputs, readouts.activation
        self.network_, self.lam_ = fitted.features.trained, fitted.lam
        self.readout_, self.intercept_ = fitted.linear.weights, fitted.linear.intercept
        self.optimality_ = fitted.linear.optimality
        curve = {} if fitted.known is None else fitted.known.curve
        self._loo = "error" if readouts.loss == square else "loss", fitted.rates, curve
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
        for name, given in zip(("X", "y"), (X, *y), strict=False):
            if np.ma.is_masked(given):  # scikit-learn would take what is behind the mask
                raise ParameterError(f"{name} has a masked entry; fill it, or leave its sample out")
        return validate_data(self, X, *y, accept_sparse="csr", dtype=[np.float64, np.float32], **options)

    def _weighted(self, X: Any, y: np.ndarray, sample_weight: Any) -> tuple[Any, np.ndarray, np.ndarray]:
        """Samples with their weights; those of weight 0 are not there, and equal ones are one."""
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        present = weights > 0
        if present.sum() < 2:
            raise ParameterError("sample_weight leaves fewer than two samples; at least two must be positive")
        if not present.all():
            X, y, weights = X[present], y[present], weights[present]
        return shares.merged(X, y, weights)

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
    def loo_(self) -> xr.Dataset:
        """What left out samples lose: at each rate that was compared, and at each penalty of the network itself."""
        import xarray as xr

        check_is_fitted(self)
        found = xr.Dataset()
        name, rates, penalties = self._loo
        for title, axis, values in ((f"rate_{name}", "eta", rates), (name, "lam", penalties)):
            if values:
                at = sorted(values)
                found[title] = xr.DataArray([values[each] for each in at], {axis: at}, (axis,))
        return found

    @property
    def outlier_ratio_(self) -> float:
        """Largest singular value of the trained rows over the edge √c·(1 + √(p/d)) of random ones.

        Above 1 the step has left a spike that a spectrum shows; random rows are at 1, less a little.
        """
        p, d = self.network_.rows.shape
        edge = float(np.sqrt(self.network_.c.mean())) * (1 + np.sqrt(p / d))
        return float(np.linalg.norm(self.network_.rows, 2)) / edge
