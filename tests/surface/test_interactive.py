"""Interactive pictures show what the others show."""

import builtins

import numpy as np
import pytest

import giantstep as gs
from giantstep.plotting.interactive import html

NET = gs.Network("tanh", eta=1, alpha0=[1, 2])
GRID = {"alpha": [0.5, 1, 2], "lam": 0.1}


def theory(net: gs.Network = NET, **grid):
    return gs.predict(net, "sin", **GRID | grid, bulk="isotropic")


def test_lines_and_points_are_those_of_the_dataset():
    exact, measured = theory(), gs.simulate(NET, "sin", **GRID, d=20, trials=4)
    lines = gs.plot(exact, interactive=True)
    assert [trace.mode for trace in lines.data] == ["lines+markers"] * 2
    fine = gs.plot(theory(alpha=np.linspace(1, 2, 30)), interactive=True)
    assert [trace.mode for trace in fine.data] == ["lines"] * 2
    np.testing.assert_array_equal(lines.data[1].y, exact["test_error"].isel(alpha0=1))
    assert lines.data[1].name == "α<sub>0</sub> = 2"
    points = gs.plot(measured, theory=exact, interactive=True)
    assert [trace.mode for trace in points.data] == [
        "lines",
        "markers",
    ] * 3  # of two curves, and of the legend
    assert [trace.name for trace in points.data[4:]] == ["theory", "simulated: mean ± s.e., 4 trials"]
    one = measured.isel(alpha0=0)
    assert gs.plot(one, theory=exact.isel(alpha0=0), interactive=True).layout.showlegend
    np.testing.assert_allclose(points.data[1].y, measured["test_error"].isel(alpha0=0).mean("trial"))
    bars = measured["test_error"].isel(alpha0=0).std("trial", ddof=1) / 2
    np.testing.assert_allclose(points.data[1].error_y.array, bars)


def test_a_comparison_has_its_differences_below():
    net = gs.Network("tanh", eta=1, alpha0=1)
    simulation = gs.simulate(net, "sin", **GRID, d=20, trials=3)
    found = gs.plot(gs.compare(theory(net, d=20), simulation), interactive=True)
    assert [trace.yaxis for trace in found.data] == ["y", "y", "y2", "y", "y"]
    assert found.data[-1].name == "simulated: mean ± s.e., 3 trials"
    assert found.layout.yaxis2.title.text == "z, in standard errors; grey: ±2"
    assert found.layout.showlegend  # though there is one curve
    assert "<div" in found.to_html(include_plotlyjs=False)


def test_decades_get_a_logarithmic_axis():
    dataset = theory(alpha=1, lam=np.geomspace(1e-3, 1e3, 9))
    assert gs.plot(dataset, interactive=True).layout.xaxis.type == "log"


def test_symbols_become_letters():
    assert html(r"rate, $\tilde\eta = 1$") == "rate, η\u0303 = 1"
    assert html(r"$\epsilon_g$ and $\infty$") == "ε<sub>g</sub> and ∞"


def test_steps_are_whole_and_planes_share_their_shades():
    steps = gs.plot(
        gs.staircase(gs.Network("relu", eta=1, alpha0=2, steps=3), "x1 + x1*x2"), interactive=True
    )
    assert steps.layout.xaxis.dtick == 1
    line = np.linspace(-2, 2, 3)
    net = gs.Network("relu", eta=1, alpha0=2, readout="rademacher")
    found = gs.learned_function(net, "x1 + x1*x2", (line, line), alpha=2, lam=0.1, bulk="isotropic")
    plane = gs.plot(found, interactive=True)
    assert [map_.coloraxis for map_ in plane.data] == ["coloraxis", "coloraxis"]
    np.testing.assert_array_equal(plane.data[1].z, found["learned"].transpose("x2", "x1"))
    assert plane.layout.coloraxis.cmax == -plane.layout.coloraxis.cmin == float(found.truth.max())


def test_a_learned_function_is_drawn_over_its_target():
    found = gs.plot(gs.learned_function(NET, "sin", [-1.0, 1.0], **GRID | {"alpha": 1}), interactive=True)
    assert [trace.name for trace in found.data] == [
        "target σ<sub>*</sub>(x)",
        "α<sub>0</sub> = 1",
        "α<sub>0</sub> = 2",
    ]
    np.testing.assert_allclose(found.data[0].y, np.sin([-1.0, 1.0]))


def test_what_is_drawn_by_matplotlib_alone_says_so():
    with pytest.raises(gs.ParameterError, match="curves and planes"):
        gs.plot(gs.spectrum(gs.SpikedRF("tanh", r=1, gamma=1), alpha=2), interactive=True)


def test_matplotlib_axes_and_a_missing_plotly_are_sentences(monkeypatch):
    dataset = theory()
    with pytest.raises(gs.ParameterError, match="one of the two"):
        gs.plot(dataset, ax=gs.plot(dataset), interactive=True)  # type: ignore[call-overload]
    original = builtins.__import__

    def without_plotly(name, *rest):
        if name.startswith("plotly"):
            raise ImportError(name)
        return original(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without_plotly)
    with pytest.raises(gs.ParameterError, match=r"giantstep\[explore\]"):
        gs.plot(dataset, interactive=True)
