"""The theory's line behind simulated points has as many nodes as it needs, each of them exact."""

import numpy as np
import pytest
import xarray as xr

import giantstep as gs
from giantstep.plotting.theory_line import refine

from .command import giantstep

CURVES = {
    "gentle": lambda x, k: k / (1 + x),
    "a peak": lambda x, k: 1 + k * 0.05 / np.sqrt((x - 1.3) ** 2 + 0.05**2),
    "a kink": lambda x, k: np.abs(x - 1.7) + k,
    "decades": lambda x, k: 10.0 ** (-k * x),
}


def theory_of(curve):
    """A curve for each of two penalties."""

    def theory(alpha) -> xr.Dataset:
        lam = np.array([1.0, 2.0])
        values = curve(np.asarray(alpha)[:, None], lam)
        return xr.Dataset(
            {"test_error": (("alpha", "lam"), values)}, {"alpha": alpha, "lam": lam, "beta": 1.0}
        )

    return theory


@pytest.mark.parametrize("name", CURVES)
@pytest.mark.parametrize("alpha", [np.linspace(0.1, 3, 6), np.array([0.1, 0.7, 9.0])])
def test_the_line_is_exact_at_its_nodes_and_invisibly_off_between(name, alpha):
    theory = theory_of(CURVES[name])
    line = refine(theory, theory(alpha), "alpha").test_error.transpose("alpha", "lam")
    at = line.alpha.values
    assert set(alpha) <= set(at)
    np.testing.assert_array_equal(line, theory(at).test_error)
    decades = alpha[-1] > 30 * alpha[0]
    dense = np.geomspace(*alpha[[0, -1]], 4001) if decades else np.linspace(*alpha[[0, -1]], 4001)
    scale = np.log if decades else np.asarray
    wide = (
        np.diff(scale(at)) > 1.01 * np.ptp(scale(alpha)) / 512
    )  # others are a pixel, and no line shows less
    for k in (0, 1):
        truth = theory(dense).test_error.values[:, k]
        logarithmic = decades and line.min() > 0 and line.max() > 30 * line.min()
        shown = np.log if logarithmic else np.asarray
        chords = np.interp(scale(dense), scale(at), shown(line.values[:, k]))
        height = np.ptp(shown(line.values))
        off = np.abs(chords - shown(truth))[wide[np.searchsorted(at[1:-1], dense)]]
        assert off.max(initial=0.0) <= 0.004 * height  # half of a line's width
    assert name != "gentle" or len(at) < 80


def test_another_theory_is_not_drawn_between_the_points():
    theory = theory_of(CURVES["gentle"])
    known = 1.1 * theory(np.linspace(0.5, 3, 6))
    assert refine(theory, known, "alpha") is None


def test_every_picture_of_a_prediction_has_smooth_lines():
    model, points = gs.Network("tanh", eta=1, alpha0=[0.5, 2]), np.linspace(0.3, 3, 5)
    few = gs.predict(model, "sin", alpha=points, lam=0.01, d=200)
    many = gs.predict(model, "sin", alpha=np.linspace(0.3, 3, 41), lam=0.01, d=200)
    trials = gs.simulate(model, "sin", alpha=points, lam=0.01, d=200, trials=2)
    pictures = gs.plot(few), gs.plot(gs.compare(few, trials)), gs.plot(trials, theory=few)
    for axes in pictures:
        lines = [line.get_data() for line in axes.lines if len(line.get_xdata()) > len(points)]
        for (x, y), exact in zip(lines, many.test_error, strict=True):
            np.testing.assert_allclose(np.interp(many.alpha, x, y), exact, rtol=0.03)


def test_what_cannot_be_asked_again_stays_as_it_is():
    own = gs.predict(gs.Network("tanh", eta=0, alpha0=1), lambda z: np.sin(z), alpha=[0.5, 1, 3], lam=0.1)
    named = gs.predict(gs.Network("tanh", eta=0, alpha0=1), "sin", alpha=[0.5, 1, 3], lam=0.1)
    for dataset in (own, named.assign(test_error=2 * named.test_error)):
        np.testing.assert_array_equal(gs.plot(dataset).lines[0].get_xdata(), [0.5, 1, 3])


def test_steps_are_not_divided(tmp_path):
    run = "compare --eta 1 --alpha0 1 --alpha 1 --lam 0.1 --d 20 --trials 2 --plot s.png"
    for more in ("--steps 1,2,3", "--steps 1,2 --bulk isotropic,exact", "--steps 2 --show gamma"):
        done = giantstep(f"{run} {more}", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        (tmp_path / "s.png").unlink()
