"""Reference lines and parts of an error, in pictures and on the command line."""

from __future__ import annotations

import csv
import io

import numpy as np
import pytest

import giantstep as gs

from .command import giantstep

TARGET = gs.Target("sin", noise=0.1)


def line(axes, label):
    (found,) = (line for line in axes.lines if line.get_label() == label)
    return found.get_xdata(), found.get_ydata()


@pytest.mark.parametrize("steps", [1, 2])
def test_curves_and_references_share_the_total_number_of_samples(steps):
    net = gs.Network("tanh", eta=1, alpha0=[0.5, 2], steps=steps)
    curves = gs.predict(net, TARGET, alpha=[0.5, 1, 4], lam=0.1, throw=False)
    axes = gs.plot(curves, reference=("bayes", "ridge"))
    for index, alpha0 in enumerate([0.5, 2]):
        ends = axes.lines[index].get_xdata()[[0, -1]]
        np.testing.assert_allclose(ends, curves.alpha[[0, -1]] + steps * alpha0)
        np.testing.assert_allclose(axes.lines[index].get_ydata()[[0, -1]], curves.test_error[index, [0, -1]])
    for label, verb in (("best possible", gs.bayes), ("ridge regression", gs.ridge)):
        samples, values = line(axes, label)
        assert samples[0] == pytest.approx(0.5 + 0.5 * steps)
        assert samples[-1] == pytest.approx(4 + 2 * steps)
        np.testing.assert_allclose(values, verb(TARGET, alpha=samples).test_error)


def test_a_schedule_counts_the_samples_of_every_step():
    net = gs.Network("tanh", steps=[gs.Step(1, 0.5), gs.Step(1, 2)])
    curve = gs.predict(net, "sin", alpha=[1, 2], lam=0.1, throw=False)
    line = gs.plot(curve, reference="ridge").lines[0]
    np.testing.assert_allclose(line.get_xdata()[[0, -1]], [3.5, 4.5])


def test_message_passing_is_drawn_where_it_is_not_the_best_possible():
    curve = gs.predict(gs.Network("tanh", eta=1, alpha0=0.5), "x**2", alpha=[0.4, 0.7], lam=0.1)
    axes = gs.plot(curve, reference="bayes")
    samples, best = line(axes, "best possible")
    _, passing = line(axes, "message passing")
    hard = (samples > 1.0) & (samples < 1.128)
    assert (best[hard] == 0.0).all()
    assert (passing[hard] > 0.1).all()


@pytest.mark.parametrize(
    ("model", "target", "alpha", "reference"),
    [
        (gs.Network("tanh", eta=[1, 2], alpha0=1), "sin", 1, "bayes"),
        (gs.Network("tanh", eta=1, alpha0=1), "sin", [1, 2], "best"),
        (gs.Network("tanh", eta=1, alpha0=1), lambda z: z, [1, 2], "ridge"),
        (gs.SpikedRF("tanh", r=1, gamma=1), "sin", [1, 2], "ridge"),
    ],
)
def test_references_without_a_total_number_of_samples_are_refused(model, target, alpha, reference):
    with pytest.raises(gs.GiantstepError):
        gs.plot(gs.predict(model, target, alpha=alpha, lam=0.1), reference=reference)


def test_parts_are_areas_that_end_at_the_test_error():
    parts = gs.explain(gs.Network("tanh", eta=2, alpha0=2), TARGET, alpha=[1, 2, 4], lam=0.1)
    axes = gs.plot(parts)
    top = max(area.get_paths()[0].vertices[:, 1].max() for area in axes.collections)
    assert top == pytest.approx(float(parts.test_error.max()))


@pytest.mark.parametrize(
    ("layer", "lam", "x"),
    [
        ({"eta": [0.5, 1, 2]}, 0.1, None),
        ({"eta": [0.5, 1, 2]}, 0.1, "eta"),
        ({"eta": 1, "beta": [1, 2]}, 0.1, None),
        ({"eta": 1}, [0.1, 1], "lam"),
        ({"eta": [1]}, 0.1, None),
    ],
)
def test_references_beside_parts_are_level_where_the_number_of_samples_stays(layer, lam, x):
    parts = gs.explain(gs.Network("tanh", alpha0=1, **layer), "sin", alpha=1, lam=lam)
    axes = gs.plot(parts, x)
    assert len(axes.collections) == 3
    _, ridge = line(axes, "ridge regression")
    np.testing.assert_allclose(ridge, parts.ridge_error.item())


def test_negative_parts_are_bars_below_zero():
    parts = gs.explain(gs.Network("tanh", eta=2, alpha0=2), TARGET, alpha=[1, 2, 4], lam=0.1)
    moved = parts.assign(batch_noise=-parts.batch_noise, readout=parts.readout + 2 * parts.batch_noise)
    expressivity, readout, noise = ([bar.get_bbox() for bar in group] for group in gs.plot(moved).containers)
    assert [bar.y1 for bar in readout] == pytest.approx((moved.expressivity + moved.readout).values)
    assert [bar.y0 for bar in readout] == pytest.approx([bar.y1 for bar in expressivity])
    ends = sorted(y for bar in noise for y in (bar.y0, bar.y1))
    assert ends == pytest.approx(sorted([*moved.batch_noise.values, 0.0, 0.0, 0.0]))


def test_the_commands_print_what_the_verbs_answer():
    done = giantstep("bayes --target sin --noise 0.1 --alpha 1,2 --format csv")
    found = [float(row["test_error"]) for row in csv.DictReader(io.StringIO(done.stdout))]
    np.testing.assert_allclose(found, gs.bayes(TARGET, alpha=[1, 2]).test_error, rtol=1e-9)
    assert "0.23167" in giantstep("ridge --target sin --noise 0.1 --alpha 1 --lam 0.1 --kernel exp(x)").stdout
