"""What regressor and classifier share; the one module besides `giantstep.sklearn` that needs scikit-learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import xarray as xr
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ..errors import ParameterError
from ..functions import as_function
from ..losses import Clipped, Loss, as_loss, square
from ..model.checks import check_count, flag, number, one_of
from ..model.letters import Letters, as_letters
from ..runtime.system import free_memory
from ..runtime.threads import thread_pools, useful_threads
from .network import FirstLayer, random_layer, standardise
from .readout import LeftOut, Readout, decompose

_MULTIPLES = (0.0, 2.0, 4.0)
"""Steps that eta="loo" compares, over the one that moves rows by their own length."""

_EVERY, _ENOUGH, _EACH = 6, 40, 4
"""A step is judged on every sixth neuron, but on 40, and on 4 for each output, at least; no step on twice as many."""

_COPIES = 7
"""Arrays of the size of inputs and features that are in memory at once."""

_BLOCK = 4096
"""Samples whose features are in memory at once in a prediction."""


class OneStep(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """
    Parameters
    ----------
    eta : float or "loo" or "auto"
        Step size divided by d, as in the theory; 0 is plain random features. "auto" moves rows by their own length.
        "loo" compares no step with 2 and 4 times "auto" by leave-one-out. The spike's strength grows like
        eta·d/width.
    width : int or float
        Number of neurons if it is a whole number, else the ratio beta of neurons to inputs.
    steps : int
        How many giant steps, each on samples of its own.
    split : float
        Share of the samples that the steps use, all together.
    refit_on : {"all", "rest"}
        "all" fits the readout on all samples; "rest" on the samples that no step has used, as in the theory.
    lam : float or "loo"
        Penalty of the readout, against the sum of the losses; "loo" takes the best by leave-one-out, which is exact
        for the square loss and to one Newton step for others.
    loss : str or Loss
        Loss of the readout, by name or as a `giantstep.Loss` without kinks. "auto" is the square loss (ridge
        regression) for the regressor and the logistic loss for the classifier.
    activation : str or Function
        A name or expression of giantstep, or a `giantstep.Function`.
    letters : str or Letters
        Initial readout weights, by name or as `giantstep.Letters`; its biases are the neurons'. "auto" is one
        letter where the activation is odd, and both signs ("rademacher") where it is not.
    whiten : bool
        Whether to remove correlations between inputs too: in theory x ~ N(0, I). Directions with little variance then
        count as much as the others, so you need many times more samples than inputs.
    fit_intercept : bool
        Whether the readout has an intercept, which is not penalised.
    random_state : int, RandomState or None
        Decides which samples the steps use, and the initial weights.

    Attributes
    ----------
    network_
        The trained first layer: `rows`, `biases`, the step `eta`, and for each output the unit direction
        `spike` in standardised inputs, its strength `r`, and `c`, the mean squared norm of the rows without the spike
        (`etas`, `spikes` and `strengths` have the values of all steps).
    lam_
        The penalty; chosen, with lam="loo".
    loo_
        An xarray.Dataset with the leave-one-out errors that decided eta and lam, averaged over samples that no step
        has used. `rate_error` by eta: squared errors at the best lam of ridge regression. `error` by lam: squared
        errors with the chosen eta (for losses other than square it is `loss`). In regression y has variance 1 here.
    inputs_
        The map that standardises inputs.
    readout_, intercept_
        Weights [outputs, width] and intercepts of f = a·φ/√p + b.
    outlier_ratio_
        Largest singular value of the rows over the edge of a random matrix's.
    """

    _default_loss: Loss

    def __init_subclass__(cls, **options: Any) -> None:
        """Parameters and attributes are described once, here, and shown before the examples of each estimator."""
        super().__init_subclass__(**options)
        cls.__doc__ = (cls.__doc__ or "").replace("    Examples\n", f"{OneStep.__doc__}\n    Examples\n")

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
        self.random_state = random_state

    def _fit(self, X: np.ndarray, labels: np.ndarray, weights: np.ndarray, strata: np.ndarray) -> None:
        """On as many threads as make matrices of this size faster."""
        with thread_pools().limit(limits=useful_threads(self._neurons(X)), user_api="blas"):
            self._train(X, labels, weights, strata)

    def _train(self, X: np.ndarray, labels: np.ndarray, weights: np.ndarray, strata: np.ndarray) -> None:
        """Steps towards the labels [n, outputs], made standard, then the readout of the labels as they are."""
        loss, steps = self._loss(), check_count("steps", self.steps, 1)
        eta, lam = _number_or("eta", self.eta, "loo", "auto"), _number_or("lam", self.lam, "loo")
        if lam == 0 and loss != square:
            raise ParameterError(f"lam = 0 must be positive with loss = {loss.name!r}; try 1e-3")
        whiten, intercept = flag("whiten", self.whiten), flag("fit_intercept", self.fit_intercept)
        random = np.random.default_rng(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        share = self._shares(strata, steps, random)
        self.inputs_, self.activation_ = standardise(X, weights, whiten), as_function(self.activation)
        x, targets = self.inputs_(X), standardise(labels, weights)(labels)
        start = random_layer(self._neurons(x), x.shape[1], labels.shape[1], self._letters(), random)
        part = slice(None) if self.refit_on == "all" else share == 0
        fresh = weights[part] * (share[part] == 0)

        def after(eta: float, relative: bool) -> FirstLayer:
            layer = start
            for step in range(1, steps + 1):
                seen = share == step
                layer = layer.step(eta, relative, x[seen], targets[seen], weights[seen], self.activation_)
            return layer

        def judged(layer: FirstLayer) -> tuple[Readout, LeftOut]:
            judges = fresh if layer.etas.any() else weights[part]  # samples that a step has seen flatter it
            phi = self._features(layer, X[part])
            readout = decompose(phi, labels[part], weights[part], judges, intercept)
            return readout, readout.left_out(loss, None if isinstance(lam, str) else lam)

        sizes = {"loo": _MULTIPLES, "auto": (1.0,)}[eta] if isinstance(eta, str) else (eta,)
        layers = [after(size, isinstance(eta, str)) for size in sizes]
        every = max(min(_EVERY, len(start.rows) // max(_ENOUGH, _EACH * labels.shape[1])), 1)
        thinned = [layer.thinned(every if layer.etas.any() else -(-every // 2)) for layer in layers]
        losses = np.stack([judged(layer)[1].least if len(layers) > 1 else 0 * fresh for layer in thinned])
        means = losses @ fresh / fresh.sum()
        best = int(means.argmin())
        noise = np.linalg.norm(fresh * (losses[0] - losses[best] - means[0] + means[best])) / fresh.sum()
        self.network_ = layers[best if means[0] - means[best] > noise else 0]
        readout, left = judged(self.network_)
        scaled, self.intercept_ = readout.fit(loss, left.lam, left.theta)
        self.lam_, self.readout_ = left.lam, scaled * np.sqrt(len(start.rows))
        self._n_features_out = len(start.rows)
        name = "error" if loss == square else "loss"
        self.loo_ = xr.Dataset({name: ("lam", left.means)}, {"lam": left.lams}).sortby("lam")
        if len(layers) > 1:
            self.loo_[f"rate_{name}"] = xr.DataArray(means, {"eta": [layer.eta for layer in layers]}, ("eta",))

    def transform(self, X: Any) -> np.ndarray:
        """The learned features σ(Wx + b) [n, width], to be used in a pipeline."""
        check_is_fitted(self)
        return self._features(self.network_, self._validated(X, reset=False))

    def _outputs(self, X: Any) -> np.ndarray:
        """The network's outputs [n, outputs]."""
        check_is_fitted(self)
        X, weights = self._validated(X, reset=False), self.readout_.T / np.sqrt(self.readout_.shape[1])
        blocks = (X[start : start + _BLOCK] for start in range(0, len(X), _BLOCK))
        outputs = [self._features(self.network_, block) @ weights for block in blocks]
        return np.concatenate(outputs) + self.intercept_

    def _features(self, layer: FirstLayer, X: np.ndarray) -> np.ndarray:
        with np.errstate(over="ignore", invalid="ignore"):
            phi = layer.features(self.inputs_(X), self.activation_)
            if np.isfinite(np.linalg.norm(phi) + np.linalg.norm(layer.rows)):
                return phi
        raise ParameterError(
            f"X, activation = {self.activation!r} and eta = {self.eta!r} make features that overflow; bring X nearer to"
            " the training samples, or use a bounded activation or a smaller eta"
        )

    def _validated(self, X: Any, *y: Any, **options: Any) -> Any:
        """X, or X and y, as scikit-learn checks them; X as a dense array of doubles."""
        for name, values in zip(("X", "y"), (X, *y), strict=False):
            if np.ma.is_masked(values):  # scikit-learn would take what is behind the mask
                raise ParameterError(f"{name} has a masked entry; fill it, or leave its sample out")
        with np.errstate(over="ignore", invalid="ignore"):  # sums of numbers near the largest
            checked = validate_data(self, X, *y, accept_sparse="csr", dtype=np.float64, **options)
        X, *rest = checked if y else (checked,)
        (n, d), p = X.shape, self._neurons(X)
        needed, free = 8 * _COPIES * (n + p) * (d + p), free_memory()
        if y and free is not None and needed > free:
            raise ParameterError(
                f"width = {self.width} with X of {n} samples and {d} inputs needs about {needed / 2**30:.1f} GiB of"
                f" memory, and {free / 2**30:.1f} GiB are free; use a smaller width or fewer samples"
            )
        X = X.toarray() if hasattr(X, "toarray") else X
        return (X, *rest) if y else X

    def _merged(self, X: np.ndarray, y: np.ndarray, sample_weight: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """X, y [n, columns] and weights in an order that depends on the samples alone, equal ones as one of their joint
        weight, without those of weight 0."""
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
        present = weights > 0
        if not 1e-100 < weights.sum() < 1e100:
            raise ParameterError(f"sample_weight has the sum {weights.sum():g}; use weights that are about 1")
        samples = np.column_stack([X, y])[present]
        samples, member = np.unique(samples, axis=0, return_inverse=True)
        if len(samples) < 2:
            raise ParameterError("X and y with positive sample_weight have fewer than two different samples; give two")
        columns = X.shape[1]
        return samples[:, :columns], samples[:, columns:], np.bincount(member, weights[present])

    def _shares(self, strata: np.ndarray, steps: int, random: np.random.Generator) -> np.ndarray:
        """The step, from 1, that sees each sample, 0 for none: equal shares of every stratum."""
        split = number("split", self.split, low=0.0, high=1.0)
        if not 0.0 < split < 1.0:
            raise ParameterError(f"split = {split:g} leaves no samples to one of step and readout; try 0.5")
        one_of("rest", "all")("refit_on", self.refit_on)
        n = len(strata)
        if n <= steps:
            raise ParameterError(f"steps = {steps} need more than {n} samples; give at least {steps + 1}")
        seen = np.diff(np.floor(split * np.arange(n + 1))) > 0
        if seen.sum() < steps:
            seen[-steps:] = True
        share = np.empty(n, dtype=int)
        share[np.lexsort((random.random(n), strata))] = np.where(seen, np.cumsum(seen) % steps + 1, 0)
        return share

    def _neurons(self, X: Any) -> int:
        """A whole number counts neurons, any other number is the ratio beta of neurons to inputs."""
        if isinstance(self.width, (int, np.integer)) and not isinstance(self.width, bool):
            count = int(self.width)
        else:
            count = round(number("width", self.width, low=0.0, strict=True) * X.shape[1])
        if count < 1:
            raise ParameterError(
                f"width = {self.width!r} leaves no neurons with {X.shape[1]} inputs; give at least one"
            )
        return count

    def _letters(self) -> Letters:
        """Where one sign of the spike is not the mirror image of the other, neurons need both.

        All ReLUs of one sign are flat on one side of the spike, where no readout of theirs can follow the target.
        """
        if isinstance(self.letters, str) and self.letters == "auto":
            return as_letters("uniform" if as_function(self.activation).parity == "odd" else "rademacher")
        return as_letters(self.letters)

    def _loss(self) -> Loss:
        loss = self._default_loss if isinstance(self.loss, str) and self.loss == "auto" else as_loss(self.loss)
        if isinstance(loss, Clipped) and not loss.continuous:
            raise ParameterError(
                f"loss = {loss.name!r} has a kink, which the estimators do not fit; use a smooth one, such as"
                f" {'squared_hinge' if loss.margin else 'huber:0.1'!r}"
            )
        return loss

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


def _number_or(name: str, value: Any, *words: str) -> float | str:
    """A number that is not negative, or one of these words."""
    return one_of(*words)(name, value) if isinstance(value, str) else number(name, value, low=0.0)
