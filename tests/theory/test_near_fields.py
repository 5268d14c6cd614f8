"""Real labels of several directions near a field seen before: the short series against sums over all nodes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import giantstep as gs
from giantstep.losses import Loss, as_loss
from giantstep.theory.channel.near import JointRealChannel
from giantstep.theory.channel.real import ResidualChannel
from giantstep.theory.labels import joint_law
from giantstep.theory.layer import given
from giantstep.theory.rule import Rule


def _channel(text: str, loss: Loss) -> tuple[JointRealChannel, np.ndarray]:
    law = joint_law(gs.Target(text))
    assert law is not None
    kappa, weights = Rule(12, 9.0).at(1)
    if not loss.line:  # every node takes many evaluations of such a loss
        kappa, weights = kappa[..., 13:14], weights[..., 13:14]
    overlaps = np.array((0.5, 0.2, 0.0)[: law.directions])
    frame = given(np.ones((1, 1, 1)), overlaps[None, :, None], np.ones((1, 1))).frame()
    return JointRealChannel(loss, law, frame, kappa, 24, 0.5 * (kappa**2).sum(axis=1)), weights


def _fields(directions: int, nodes: int, apart: float) -> tuple[np.ndarray, ...]:
    """Neighbouring fields of four points, some of them narrow at one end of the range of κ."""
    rng, points = np.random.default_rng(5), 4
    fade = 0.1 + 0.9 / (1.0 + np.exp(-2.0 * np.linspace(-4.0, 4.0, nodes)))
    M, V, q = (
        rng.uniform(low, high, (points, 1)) * np.ones(nodes)
        for low, high in ((-0.3, 0.3), (0.8, 1.2), (0.8, 1.2))
    )
    P = 0.3 * rng.normal(size=(1, directions, 1)) + apart * rng.normal(size=(points, directions, 1))
    return np.zeros(points, int), M, P * fade, V, q * fade**2, np.full(points, 0.1)


OFTEN = "giantstep.theory.channel.near._OFTEN"
SOFT = Loss(
    lambda y, z: np.logaddexp(y - z, z - y),
    lambda y, z: np.tanh(z - y),
    lambda y, z: 1.0 / np.cosh(z - y) ** 2,
)


@pytest.mark.parametrize(
    ("text", "loss", "apart"),
    [
        ("x1 + x1*x2", "huber", 0.05),
        ("relu(x1) + relu(x2)", "absolute", 0.05),
        ("x1 + x1*x2", "pinball:0.3", 0.0),
        ("x1 + x1*x2 + x2*x3", "huber:0.5", 0.03),
        ("tanh(x1) + x2", SOFT, 0.05),
    ],
)
def test_near_a_field_a_short_series_gives_what_all_nodes_give(text, loss, apart, monkeypatch):
    monkeypatch.setattr(OFTEN, 2)
    channel, weights = _channel(text, as_loss(loss))
    rows, *fields = _fields(channel._felt.y.shape[1], channel.nodes, apart)
    if not channel.loss.line:
        rows, *fields = (part[:2] for part in (rows, *fields))
    near = (*channel.scores(rows, *fields), *channel.training(rows, *fields))
    assert len(channel._around) == 1
    assert (channel._covered(rows, *fields)[0] == 0).all()
    everywhere = (
        *ResidualChannel.scores(channel, rows, *fields),
        *ResidualChannel.training(channel, rows, *fields),
    )
    for one, other in zip(near, everywhere, strict=True):
        # six digits of a series whose coefficients are small, and pieces of laws that lose 1e-8 or so
        assert_allclose((one * weights).sum(axis=-1), (other * weights).sum(axis=-1), atol=1e-7, rtol=1e-7)


def test_tables_change_no_answer(monkeypatch):
    net, goal = gs.Network("relu", eta=1.5, alpha0=2.0), gs.Target("x1 + x1*x2", noise=0.3)
    monkeypatch.setattr(OFTEN, 2)
    found = gs.predict(net, goal, alpha=[0.8, 1.0], lam=0.1, loss="huber")
    monkeypatch.setattr(OFTEN, 1 << 20)
    nodes = gs.predict(net, goal, alpha=[0.8, 1.0], lam=0.1, loss="huber")
    for name in ("test_error", "train_loss", "psi"):
        assert_allclose(found[name], nodes[name], rtol=1e-6, atol=1e-7)


def test_a_field_that_moves_on_is_given_a_table_of_its_own(monkeypatch):
    monkeypatch.setattr(OFTEN, 2)
    channel, _ = _channel("x1 + x1*x2", as_loss("huber"))
    rows, *fields = _fields(2, channel.nodes, 0.0)
    one = [field[:1] for field in fields]
    channel.scores(rows[:1], *one)
    assert not channel._around  # one visit is not worth a table,
    channel.scores(rows[:1], *one)
    assert len(channel._around) == 1  # a second one is,
    one[1] = one[1] + 0.8
    for _ in range(2):
        channel.scores(rows[:1], *one)
    assert len(channel._around) == 2  # and so it is elsewhere
