"""Does learning features help on my data, and how far are they from the theory?

Fits the network with and without its giant step, says what was chosen and what it brings, and draws the theory's
learning curve beside the cross-validated one. `python examples/estimator.py --out curve.png`
"""

from __future__ import annotations

import argparse

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.model_selection import cross_val_score

from giantstep.sklearn import OneStepRegressor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", default="estimator.png", help="file of the picture (default estimator.png)")
    options = parser.parse_args()
    X, y = load_diabetes(return_X_y=True)  # put your own table here
    for name, eta in (("a step, if leave-one-out prefers one", "loo"), ("no step", 0.0)):
        scores = cross_val_score(OneStepRegressor(eta, random_state=0), X, y, cv=5)
        print(f"{name}: R² = {scores.mean():.3f}")
    model = OneStepRegressor("auto", random_state=0).fit(X, y)
    curve = model.learning_curve_theory(X, y)
    print(f"alignment of the direction that half of the samples give: {curve.gamma:.2f}; noise {curve.noise:.2f}")
    figure, axes = plt.subplots()
    for color, eta in enumerate(curve.eta.values):
        one = curve.sel(eta=eta)
        axes.plot(one.n, one.theory, f"C{color}", label=f"theory, eta = {eta:.3g}")
        axes.errorbar(one.n, one.measured, one.measured_error, fmt=f"C{color}o", label="these data")
    axes.set(xlabel="samples", ylabel="mean squared error / variance of y", xscale="log")
    axes.legend()
    figure.savefig(options.out)


if __name__ == "__main__":
    main()
