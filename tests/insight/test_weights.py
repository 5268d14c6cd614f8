"""Singular values of the first layer: Marchenko-Pastur, the trained bulk, and the spike's transition."""

import numpy as np
import pytest

import giantstep as gs

from .finite import distance_to_law, moment, spiked_rows, trained_rows

LAYERS = {"tanh": (np.tanh, lambda h: 1 / np.cosh(h) ** 2), "relu": (lambda h: np.maximum(h, 0), lambda h: h > 0)}


@pytest.mark.parametrize(
    ("model", "c", "beta", "rel"),
    [
        *((gs.SpikedRF("tanh", r=1.0, gamma=0.8, c=1.3, beta=beta), 1.3, beta, 1e-12) for beta in (0.5, 1.0, 2.0)),
        (gs.Network("tanh", eta=0.0, alpha0=1.0), 1.0, 1.0, 1e-12),
        # by their resolvent, near the axis; the mean output of ReLU, 1/√(2π), pulls rows back by η̃/(2πβ)
        (gs.Network("tanh", eta=2.0, alpha0=np.inf, beta=0.6), 1.0, 0.6, 1e-8),
        (gs.Network("relu", eta=1.0, alpha0=np.inf, beta=0.6), (1 - 1 / (1.2 * np.pi)) ** 2, 0.6, 1e-8),
    ],
)
def test_isotropic_rows_have_marchenko_and_pasturs_bulk(model, c, beta, rel):
    found = gs.weight_spectrum(model, "sin")
    edges = c * (1 + np.sqrt(beta) * np.array([[-1, 1]])) ** 2
    np.testing.assert_allclose(found["edge"], edges, rtol=rel, atol=rel)
    assert float(found["mass"]) == pytest.approx(1.0, abs=rel)
    assert moment(found, 1) == pytest.approx(c, rel=rel)
    assert moment(found, 2) == pytest.approx(c**2 * (1 + beta), rel=rel)
    assert "outlier" not in found


@pytest.mark.parametrize("T", [0.5, 4.0, 60.0])
def test_the_spike_leaves_the_bulk_at_its_threshold(T):
    """Top singular triplet of actual matrices at T below and above c√β = 1.56, six of them, |z| < 5.

    At finite size the top eigenvalue below the threshold sticks to the edge up to d^(-2/3).
    """
    d, beta, c, gamma = 600, 1.5, 1.2, 0.7
    r = np.sqrt(T / (beta * d))
    found = gs.weight_spectrum(gs.SpikedRF("tanh", r=r, gamma=gamma, c=c, beta=beta), d=d)
    assert float(found["spike_per_d"]) == pytest.approx(T / d)
    assert float(found["threshold"]) == pytest.approx(np.sqrt(c / (np.sqrt(beta) * d)))  # r²βd = c√β
    rng = np.random.default_rng(8)
    tops, neurons, along = [], [], []
    for _ in range(6):
        u, s, vt = np.linalg.svd(spiked_rows(rng, d, beta, r, c), full_matrices=False)
        tops.append(s[0] ** 2)
        neurons.append(u[:, 0].sum() ** 2 / len(u))
        along.append(vt[0, 0] ** 2)
    for name, measured in {"outlier": tops, "overlap_neurons": neurons, "overlap_spike": along}.items():
        expected = float(found[name])
        bias = 5.0 * d ** (-2 / 3) * (expected if name == "outlier" else 1.0) if c * np.sqrt(beta) > T else 4.0 / d
        assert abs(np.mean(measured) - expected) < 5 * np.std(measured, ddof=1) / np.sqrt(6) + bias
    assert float(found["overlap_target"]) == pytest.approx(gamma**2 * float(found["overlap_spike"]))


def test_the_followed_law_is_marchenko_and_pasturs_where_that_holds():
    """Rows of two norms are followed by their resolvent; those of one norm, 1e-5 from both, have closed forms."""
    halves = gs.Letters((1.0, 1.0), (0.5, 0.5), c=(1.3 - 1e-5, 1.3 + 1e-5))
    known = gs.weight_spectrum(gs.SpikedRF("tanh", r=0.1, gamma=0.8, c=1.3, beta=1.5), d=400)
    followed = gs.weight_spectrum(gs.SpikedRF("tanh", r=0.1, gamma=0.8, beta=1.5, readout=halves), d=400)
    for name in ("edge", "outlier", "overlap_neurons", "overlap_spike"):
        np.testing.assert_allclose(followed[name], known[name], rtol=1e-6)
    # just outside the edge, where the law has a square root: to the root of the distance
    np.testing.assert_allclose(followed.threshold, known.threshold, rtol=5e-3)


def test_letters_of_different_norms_have_one_law_together():
    """Eigenvalues of WWᵀ for two halves of rows with squared norms 1 and 3."""
    d, c = 600, np.array([1.0, 3.0])
    letters = gs.Letters((0.5, 1.5), (0.5, 0.5), c=tuple(c))
    found = gs.weight_spectrum(gs.SpikedRF("tanh", r=0.0, gamma=1.0, readout=letters))
    rng = np.random.default_rng(12)
    rows = spiked_rows(rng, d, 1.0, 0.0, 1.0) * np.sqrt(np.repeat(c, d // 2))[:, None]
    assert distance_to_law(np.linalg.eigvalsh(rows @ rows.T), found) < 5.0 / d  # eigenvalues are rigid


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_rows_vary_along_the_spike_as_the_batch_weighs_it(activation):
    """A large spike is at T + c + βĉ, ĉ the variance of trained rows along it: 12 networks, four standard errors."""
    d, alpha0, beta, eta = 300, 0.5, 1.5, 3.0
    net = gs.Network(activation, eta=eta, alpha0=alpha0, beta=beta)
    found = gs.weight_spectrum(net, "sin", d=1e7)
    T, c = float(found["spike_per_d"]) * 1e7, float(found["moment1"])
    along = (float(found["outlier"]) - T - c) / beta
    rng, drawn = np.random.default_rng(10), []
    for _ in range(12):
        rows = trained_rows(rng, d, beta, alpha0, eta, *LAYERS[activation], lambda z, _: np.sin(z))
        mean = rows.mean(axis=0)
        drawn.append(d * np.var(rows @ (mean / np.linalg.norm(mean))))
    error = np.std(drawn, ddof=1) / np.sqrt(len(drawn))
    assert abs(np.mean(drawn) - along) < 4 * error + 3 / d * along


@pytest.mark.parametrize(("activation", "eta", "noise", "rel"), [("tanh", 4.0, 0.3, 1e-6), ("relu", 3.0, 0.0, 2e-6)])
def test_a_trained_layer_has_the_bulk_of_its_batch(activation, eta, noise, rel):
    """Squared singular values of two trained layers and their largest; the isotropic law is far from them.

    ReLU turns the rows (B ≠ 1) besides adding noise to them.
    """
    d, beta, alpha0 = 500, 1.5, 1.0
    net, y = gs.Network(activation, eta=eta, alpha0=alpha0, beta=beta), gs.Target("sin", noise=noise)
    laws = {bulk: gs.weight_spectrum(net, y, d=d, bulk=bulk) for bulk in ("exact", "isotropic")}
    exact = laws["exact"]
    assert float(exact["mass"]) == pytest.approx(1.0, abs=1e-6)
    for power in (1, 2):
        assert moment(exact, power) == pytest.approx(float(exact[f"moment{power}"]), rel=rel)
    assert float(exact["moment1"]) == pytest.approx(float(laws["isotropic"]["moment1"]), rel=1e-9)

    def labels(z, rng):
        return np.sin(z) + noise * rng.standard_normal(z.shape)

    rng = np.random.default_rng(11)
    values = []
    for _ in range(2):
        rows = trained_rows(rng, d, beta, alpha0, eta, *LAYERS[activation], labels)
        values.append(np.linalg.eigvalsh(rows @ rows.T))
    tops = [one[-1] for one in values]
    distance = {name: np.mean([distance_to_law(one[:-1], law) for one in values]) for name, law in laws.items()}
    assert distance["exact"] < 0.5 / beta / np.sqrt(d)  # one batch moves the law by order 1/√n0 at most
    assert distance["isotropic"] > 2 * distance["exact"]
    assert np.mean(tops) == pytest.approx(float(exact["outlier"]), rel=5.0 / np.sqrt(alpha0 * d))
