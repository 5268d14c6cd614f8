"""The theory's line behind simulated points has as many nodes as it needs, each of them exact."""

import numpy as np
import pytest

import giantstep as gs

from .command import giantstep

NET = {"eta": 1.0, "alpha0": 1.0}


@pytest.mark.parametrize(
    ("x", "places"),
    [
        ("alpha", np.linspace(0.2, 3.0, 6)),  # across the peak of a small penalty
        ("lam", np.geomspace(1e-4, 10.0, 4)),
        ("eta", np.array([0.5, 1.0, 3.0])),
        ("noise", np.array([0.0, 0.5, 2.0])),
    ],
)
def test_lines_are_exact_at_their_nodes_and_invisibly_off_between(x, places):
    def theory(values):
        setting = {"alpha": 1.2, "lam": 1e-3, "noise": 0.1, **NET, x: values}
        net = gs.Network("tanh", **{name: setting.pop(name) for name in NET})
        return gs.predict(net, gs.Target("sin", noise=setting.pop("noise")), **setting, d=200)

    axes = gs.plot(theory(places), x)
    at, drawn = axes.lines[0].get_data()
    assert set(places) <= set(at)
    np.testing.assert_allclose(drawn, theory(at).test_error, rtol=1e-9)
    scale, space = (np.log, np.geomspace) if axes.get_xscale() == "log" else (np.asarray, np.linspace)
    dense = space(places[0], places[-1], 2001)
    exact = theory(dense).test_error.values
    off = np.interp(scale(dense), scale(at), drawn) - exact
    assert np.abs(off).max() < 0.005 * np.ptp(exact)  # half of a line's width


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
