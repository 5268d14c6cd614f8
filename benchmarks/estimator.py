"""One giant step on tables, against ridge regression, kernels, random features, a trained network and boosted trees.

All methods are tuned by one protocol: inside each of the outer folds, candidates are tried in random order, the
method's default first, by 3-fold cross-validation, until a budget of seconds of one core is spent; the best is fitted
on the whole training fold. Data are those that come with scikit-learn, and three synthetic ones.

    python benchmarks/estimator.py                  prints the tables of docs/_data/estimator.md
    python benchmarks/estimator.py --cost           prints what the choice of rate and penalty costs, in fits
    python benchmarks/estimator.py --refit          prints what it brings to fit the readout on all samples
"""

from __future__ import annotations

import argparse
import os
import time
import warnings

os.environ.setdefault("OMP_NUM_THREADS", "1")  # seconds of one core, for every method

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.compose import TransformedTargetRegressor
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_friedman1
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    KFold,
    ParameterGrid,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_val_score,
)
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from giantstep.sklearn import OneStepClassifier, OneStepRegressor

FOLDS = 5
WIDTHS = {"activation": ["tanh", "relu"], "width": [256, 512, 1024]}
STEP = WIDTHS | {"split": [0.5, 0.75], "steps": [1, 2]}
PENALTIES = np.logspace(-4, 4, 17)
SCALES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3]


def directions(d: int, count: int, rng: np.random.Generator) -> np.ndarray:
    """Orthonormal, and along no axis: trees, which split along axes, have no advantage of it."""
    return np.linalg.qr(rng.standard_normal((d, count)))[0]


def one_index(n: int = 1000, d: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """The theory's own setting: Gaussian inputs, a target of one direction, and noise."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    return X, np.tanh(3 * X @ directions(d, 1, rng)[:, 0]) + 0.3 * rng.standard_normal(n)


def two_index(n: int = 1000, d: int = 30) -> tuple[np.ndarray, np.ndarray]:
    """Two directions, the second seen only through the first."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, d))
    first, second = (X @ directions(d, 2, rng)).T
    return X, np.tanh(2 * first) * (1 + second) + 0.3 * rng.standard_normal(n)


def scaled(model: object) -> object:
    """A regressor on standardised inputs and targets, as ours is inside."""
    return TransformedTargetRegressor(make_pipeline(StandardScaler(), model), transformer=StandardScaler())


def regressors() -> dict[str, tuple[object, dict]]:
    def grid(name: str, **values: object) -> dict:
        return {f"regressor__{name}__{key}": value for key, value in values.items()}

    return {
        "giant step": (OneStepRegressor(random_state=0), STEP),
        "no step (eta=0)": (OneStepRegressor(0.0, random_state=0), WIDTHS),
        "ridge": (scaled(Ridge()), grid("ridge", alpha=PENALTIES)),
        "kernel ridge (RBF)": (
            scaled(KernelRidge(kernel="rbf", gamma=0.03)),
            grid("kernelridge", alpha=[0.001, 0.01, 0.1, 1.0, 10.0], gamma=SCALES),
        ),
        "RBF sampler + ridge": (
            TransformedTargetRegressor(
                make_pipeline(StandardScaler(), RBFSampler(gamma=0.03, n_components=256, random_state=0), Ridge()),
                transformer=StandardScaler(),
            ),
            grid("rbfsampler", gamma=SCALES, n_components=[256, 1024]) | grid("ridge", alpha=[0.01, 0.1, 1.0, 10.0]),
        ),
        "MLP, fully trained": (
            scaled(MLPRegressor(hidden_layer_sizes=(256,), solver="lbfgs", alpha=1.0, max_iter=200, random_state=0)),
            grid("mlpregressor", alpha=[0.01, 0.1, 1.0, 10.0, 100.0], activation=["tanh", "relu"]),
        ),
        "gradient boosting": (
            HistGradientBoostingRegressor(random_state=0),
            {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [4, 8, 31], "max_iter": [100, 300]},
        ),
    }


def classifiers() -> dict[str, tuple[object, dict]]:
    def on_standard(*models: object) -> object:
        return make_pipeline(StandardScaler(), *models)

    return {
        "giant step": (OneStepClassifier(random_state=0), STEP),
        "no step (eta=0)": (OneStepClassifier(0.0, random_state=0), WIDTHS),
        "ridge": (on_standard(RidgeClassifier()), {"ridgeclassifier__alpha": PENALTIES}),
        "logistic regression": (
            on_standard(LogisticRegression(max_iter=500)),
            {"logisticregression__C": 1 / PENALTIES},
        ),
        "SVM (RBF)": (on_standard(SVC()), {"svc__C": [0.1, 1.0, 10.0, 100.0], "svc__gamma": SCALES}),
        "RBF sampler + ridge": (
            on_standard(RBFSampler(gamma=0.03, n_components=256, random_state=0), RidgeClassifier()),
            {
                "rbfsampler__gamma": SCALES,
                "rbfsampler__n_components": [256, 1024],
                "ridgeclassifier__alpha": [0.01, 0.1, 1.0, 10.0],
            },
        ),
        "MLP, fully trained": (
            on_standard(
                MLPClassifier(hidden_layer_sizes=(256,), solver="lbfgs", alpha=1.0, max_iter=200, random_state=0)
            ),
            {"mlpclassifier__alpha": [0.01, 0.1, 1.0, 10.0, 100.0], "mlpclassifier__activation": ["tanh", "relu"]},
        ),
        "gradient boosting": (
            HistGradientBoostingClassifier(random_state=0),
            {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [4, 8, 31], "max_iter": [100, 300]},
        ),
    }


TASKS = {
    "single index": (one_index, regressors),
    "two index": (two_index, regressors),
    "Friedman #1": (lambda: make_friedman1(1000, noise=1.0, random_state=0), regressors),
    "diabetes": (lambda: load_diabetes(return_X_y=True), regressors),
    "breast cancer": (lambda: load_breast_cancer(return_X_y=True), classifiers),
    "wine": (lambda: load_wine(return_X_y=True), classifiers),
    "iris": (lambda: load_iris(return_X_y=True), classifiers),
    "digits": (lambda: load_digits(return_X_y=True), classifiers),
}


def tuned(model: object, grid: dict, X: np.ndarray, y: np.ndarray, budget: float) -> tuple[object, int]:
    """The best candidate that the budget of processor seconds lets us see, fitted; and how many were seen."""
    candidates = list(ParameterGrid(grid))
    np.random.default_rng(0).shuffle(candidates)
    inner = StratifiedKFold if is_classifier(model) else KFold
    folds = inner(3, shuffle=True, random_state=1)
    start, best, tried = time.process_time(), (-np.inf, {}), 0
    for candidate in [{}, *candidates]:
        score = cross_val_score(clone(model).set_params(**candidate), X, y, cv=folds, error_score="raise").mean()
        best, tried = max(best, (score, candidate), key=lambda each: each[0]), tried + 1
        if time.process_time() - start > budget:
            break
    return clone(model).set_params(**best[1]).fit(X, y), tried


def error_of_mean(scores: np.ndarray) -> float:
    """Standard error of a cross-validated mean: training sets overlap, which 1/folds alone would ignore.

    Nadeau and Bengio (2003): variance × (1/runs + test/train).
    """
    return float(np.sqrt(scores.var(ddof=1) * (1 / len(scores) + 1 / (FOLDS - 1))))


def compare(name: str, budget: float, repeats: int) -> None:
    data, methods = TASKS[name]
    X, y = data()
    metric, kind = ("accuracy", RepeatedStratifiedKFold) if methods is classifiers else ("R²", RepeatedKFold)
    folds = list(kind(n_splits=FOLDS, n_repeats=repeats, random_state=0).split(X, y))
    print(f"\n**{name[0].upper()}{name[1:]}** (n = {X.shape[0]}, d = {X.shape[1]}): {metric}\n")
    print(f"| method | {metric} | minus giant step | candidates | s for one fit |")
    print("|---|---|---|---|---|")
    reference = None
    for method, (model, grid) in methods().items():
        scores, seconds, counts = [], [], []
        for train, test in folds:
            fitted, tried = tuned(model, grid, X[train], y[train], budget)
            start = time.process_time()
            clone(fitted).fit(X[train], y[train])
            seconds.append(time.process_time() - start)
            scores.append(fitted.score(X[test], y[test]))
            counts.append(tried)
        scores = np.array(scores)
        reference = scores if reference is None else reference
        apart = scores - reference
        shown = f"{apart.mean():+.3f} ± {error_of_mean(apart):.3f}" if method != "giant step" else ""
        print(
            f"| {method} | {scores.mean():.3f} ± {error_of_mean(scores):.3f} | {shown} | {np.median(counts):.0f} |"
            f" {np.median(seconds):.2g} |",
            flush=True,
        )


def cost() -> None:
    """Processor time of fits that choose rate and penalty, over that of fits that are given what was chosen."""

    def seconds(model: object, X: np.ndarray, y: np.ndarray) -> float:
        start = time.process_time()
        clone(model).fit(X, y)
        return time.process_time() - start

    def classes(n: int, count: int) -> tuple[np.ndarray, np.ndarray]:
        X, y = one_index(n)
        return X, np.digitize(y, np.quantile(y, np.arange(1, count) / count))

    tasks = {
        "single index, n = 300": (OneStepRegressor(), lambda: one_index(300)),
        "single index, n = 300, width 1024": (OneStepRegressor(width=1024), lambda: one_index(300)),
        "diabetes, n = 442": (OneStepRegressor(), lambda: load_diabetes(return_X_y=True)),
        "single index, n = 1,000": (OneStepRegressor(), lambda: one_index(1_000)),
        "single index, n = 1,000, width 64": (OneStepRegressor(width=64), lambda: one_index(1_000)),
        "single index, n = 1,000, width 1024": (OneStepRegressor(width=1024), lambda: one_index(1_000)),
        "single index, n = 10,000": (OneStepRegressor(), lambda: one_index(10_000)),
        "single index, n = 100,000": (OneStepRegressor(), lambda: one_index(100_000)),
        "two classes, n = 300": (OneStepClassifier(), lambda: classes(300, 2)),
        "two classes, n = 1,000": (OneStepClassifier(), lambda: classes(1_000, 2)),
        "five classes, n = 500": (OneStepClassifier(), lambda: classes(500, 5)),
        "breast cancer, n = 569": (OneStepClassifier(), lambda: load_breast_cancer(return_X_y=True)),
        "digits, n = 1,797": (OneStepClassifier(), lambda: load_digits(return_X_y=True)),
    }
    print("| data | eta and lam chosen, s | given, s | ratio |\n|---|---|---|---|")
    for name, (kind, data) in tasks.items():
        X, y = data()
        model = kind.set_params(random_state=0).fit(X, y)
        given = clone(model).set_params(eta=model.network_.eta or "auto", lam=model.lam_)
        pairs, start = [], time.process_time()
        while len(pairs) < 5 or (time.process_time() - start < 5 and len(pairs) < 30):  # by turns
            pairs.append((seconds(model, X, y), seconds(given, X, y)))
        chosen, plain = np.min(pairs, axis=0)
        print(f"| {name} | {chosen:.3f} | {plain:.3f} | {chosen / plain:.1f} |", flush=True)


def refits(repeats: int) -> None:
    """Defaults with the readout on all samples, and on those that the step has not seen."""
    print('| data | score, refit_on="rest" | refit_on="all" | difference |\n|---|---|---|---|')
    for name, (data, methods) in TASKS.items():
        X, y = data()
        kind = RepeatedStratifiedKFold if methods is classifiers else RepeatedKFold
        folds = kind(n_splits=FOLDS, n_repeats=repeats, random_state=0)
        model = methods()["giant step"][0]
        rest, all_ = (
            cross_val_score(clone(model).set_params(refit_on=which), X, y, cv=folds) for which in ("rest", "all")
        )
        apart = all_ - rest
        print(
            f"| {name} | {rest.mean():.3f} | {all_.mean():.3f} | {apart.mean():+.3f} ± {error_of_mean(apart):.3f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--budget", type=float, default=2.0, help="seconds of tuning per outer fold (default 2)")
    parser.add_argument("--repeats", type=int, default=1, help="repetitions of the outer 5 folds (default 1)")
    parser.add_argument("--only", default="", help="data sets whose name begins so (default: all)")
    parser.add_argument("--refit", action="store_true", help="refit_on='all' against 'rest', instead")
    parser.add_argument("--cost", action="store_true", help="the cost of choosing, instead")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # lbfgs may reach max_iter; such candidates are judged like any other
    if options.cost:
        cost()
        return
    if options.refit:
        refits(options.repeats)
        return
    for name in TASKS:
        if name.startswith(options.only):
            compare(name, options.budget, options.repeats)


if __name__ == "__main__":
    main()
