"""Every bulk: derivatives against differences, forms that are forms, and traces of actual random matrices."""

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.bulk import Bulk, InterpolatedBulk, Isotropic, Orthogonal, TrainedBulk
from giantstep.theory.bulks import BulkLaw
from giantstep.theory.equations.response import respond, signal_energy_gradient, total_tangent
from giantstep.theory.modes import Modes
from giantstep.theory.problem import model_grid, pose
from giantstep.theory.symmetric import packing

from ..zoo import TRAINED, Case, named, trained
from . import rows
from .reference import PLAIN, averages
from .sampled import sampled

# fourth-order differences with step 3e-4: truncation about 1e-14 times a fifth derivative, which may be 1e4 where Ṽ is
# nearly singular, and rounding about 1e-16/3e-4 = 3e-13, of size one
STEP, DIFFERENCES = 3e-4, 1e-8


def bulk_of(case: Case, bulk: str | BulkLaw = "exact") -> Bulk:
    grid = model_grid(case.model, case.label, alpha=1.0, lam=1.0)
    return pose(case.model, case.label, grid, bulk).bulks(np.arange(1))[0]


def _all_bulks():
    one, both, plane = np.ones(1), np.array([0.4, 0.6]), Modes(spikes=2, signals=2)
    named = {
        "isotropic": Isotropic(np.array([[1.3]]), one),
        "isotropic letters": Isotropic(np.array([[1.3, 0.7, 1.3]]), np.array([0.2, 0.5, 0.3])),
        "isotropic, two spikes": Isotropic(np.array([[1.3, 0.7]]), both, plane),
        "orthogonal": Orthogonal(both),
        "orthogonal, two spikes": Orthogonal(both, plane),
    }
    for case in TRAINED:
        named[f"exact, {case.name}"] = exact = bulk_of(case)
        if isinstance(exact, TrainedBulk) and len(exact.weights) == 1:
            named[f"along a line, {case.name}"] = InterpolatedBulk.nested([exact])[0]
    return [pytest.param(bulk, id=name) for name, bulk in named.items()]


BULKS = _all_bulks()


def _point(bulk: Bulk, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A positive Ṽ, a symmetric direction to move it, and a drive of the modes."""
    rng = np.random.default_rng(seed)
    K = len(bulk.weights)
    root, move = rng.standard_normal((2, K, K))
    u = rng.standard_normal((1, 1, bulk.modes.count, K))
    return 0.5 * (root @ root.T)[None, None], (move + move.T)[None, None], u


def _slope(f, x: np.ndarray, move: np.ndarray) -> np.ndarray:
    near, far = (f(x + k * STEP * move) - f(x - k * STEP * move) for k in (1.0, 2.0))
    return (8.0 * near - far) / (12.0 * STEP)


def _slopes(f, x: np.ndarray) -> np.ndarray:
    """Along each coordinate of x [1, 1, n], first axis; f takes all the points at once, [1, points, n]."""
    steps = STEP * np.multiply.outer([1.0, -1.0, 2.0, -2.0], np.eye(x.shape[-1]))
    up, down, far_up, far_down = np.split(f(x + steps.reshape(1, -1, x.shape[-1]))[0], 4)
    return (8.0 * (up - down) - (far_up - far_down)) / (12.0 * STEP)


def _close(found: np.ndarray, expected: np.ndarray, tolerance: float = DIFFERENCES) -> bool:
    return float(np.abs(found - expected).max()) <= tolerance * max(1.0, float(np.abs(expected).max()))


@pytest.mark.parametrize("bulk", BULKS)
def test_tangent_and_leak_are_the_derivatives_of_the_resolvent(bulk):
    """And the cotangent is the gradient of the driven form."""
    Vt, move, u = _point(bulk)
    at = bulk.resolvent(Vt)
    assert _close(-at.tangent(move[:, :, None])[:, :, 0], _slope(lambda x: bulk.resolvent(x).T, Vt, move))
    leak = _slope(lambda x: bulk.resolvent(x).T @ x, Vt, move)
    assert _close(at.leak(move[:, :, None])[:, :, 0], leak)

    def energy(x: np.ndarray) -> np.ndarray:
        return np.einsum("uasktl,uask,uatl->ua", bulk.resolvent(x).forms(), u, u)

    assert _close(np.array([(at.cotangent(u) * move).sum()]), _slope(energy, Vt, move)[0])


@pytest.mark.parametrize("bulk", BULKS)
def test_forms_are_symmetric_and_positive(bulk):
    """And those of many points are those of each."""
    points = [_point(bulk, seed)[0] for seed in range(3)]
    together = bulk.resolvent(np.concatenate(points, axis=1))
    size = bulk.modes.count * len(bulk.weights)
    for i, Vt in enumerate(points):
        alone = bulk.resolvent(Vt)
        G = alone.forms().reshape(size, size)
        assert _close(G, G.T, 1e-13)
        assert np.linalg.eigvalsh(G).min() > -1e-12 * np.abs(G).max()
        assert _close(together.T[:, i], alone.T[:, 0], 1e-12)
        assert _close(together.forms()[:, i].reshape(size, size), G, 1e-12)


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_bulk_along_a_line_is_the_bulk_itself(activation, steps):
    """Over sixteen decades of Ṽ, for rows with a wide spectrum; beyond them the bulk is asked itself."""
    model, target = gs.Network(activation, eta=3.0, alpha0=0.3, steps=steps), gs.Target("sin", noise=0.1)
    posed = pose(model, target, model_grid(model, target, alpha=1.0, lam=1.0))
    exact = posed.bulks(np.arange(1))[0]
    assert isinstance(exact, TrainedBulk)
    Vt = np.geomspace(1e-5, 1e11, 33)[None, :, None, None] / exact.c[0, 0]
    along, here = InterpolatedBulk.nested([exact])[0].resolvent(Vt), exact.resolvent(Vt)
    assert type(along) is not type(here)
    u = np.random.default_rng(0).standard_normal((1, Vt.shape[1], exact.modes.count, 1))
    unit = np.ones((*u.shape[:2], 1, 1, 1))
    for found, expected in (
        (along.T, here.T),
        (along.tangent(unit), here.tangent(unit)),
        (along.leak(unit), here.leak(unit)),
        (along.cotangent(u), here.cotangent(u)),
    ):
        np.testing.assert_allclose(found, expected, rtol=1e-11)
    scale = np.sqrt(np.einsum("uamsms->uam", here.forms()))
    close = (along.forms() - here.forms())[:, :, :, 0, :, 0] / (scale[..., :, None] * scale[..., None, :])
    assert np.abs(close).max() < 1e-11
    assert type(InterpolatedBulk.nested([exact])[0].resolvent(0.01 * Vt)) is type(here)


def test_answers_do_not_depend_on_how_many_readouts_share_a_first_layer():
    """A few are solved one by one, many along a line."""
    alphas = np.geomspace(0.1, 10.0, 60)
    for net in (gs.Network("tanh", eta=3, alpha0=1), gs.Network("relu", eta=2, alpha0=1, steps=2)):
        many = gs.predict(net, "sin", alpha=alphas, lam=0.01)
        few = gs.predict(net, "sin", alpha=alphas[::20], lam=0.01)
        for name in ("test_error", "train_error", "m", "q1", "q2", "V1", "V2"):
            np.testing.assert_allclose(many[name][::20], few[name], rtol=1e-11, err_msg=name)


# the relation between responses and their conjugates


def _closed(bulk: Bulk, hat: np.ndarray, beta: np.ndarray, lam: np.ndarray):
    """The response to V̂ [1, points, ...] with the relation closed, by plain iteration: V2 = response(V2)."""
    pack = packing(len(bulk.weights))
    V = np.concatenate([np.zeros((1, 1, pack.pairs)), (bulk.weights / lam)[None]], axis=-1)
    V = np.repeat(V, hat.shape[1], axis=1)
    for _ in range(2000):
        new = respond(bulk, V, hat, beta, lam)
        if np.abs(new.V - V).max() < 1e-15:
            break
        V = new.V
    return new


def _conjugates(bulk: Bulk) -> np.ndarray:
    pack = packing(len(bulk.weights))
    Vt = _point(bulk, 7)[0] + 0.3 * np.eye(len(bulk.weights))
    return pack.pack(Vt, np.linspace(0.2, 0.5, len(bulk.weights))[None, None])


@pytest.mark.parametrize("bulk", BULKS)
def test_the_total_tangent_is_a_derivative_and_a_hessian(bulk):
    """-∂V/∂V̂ equals differences of the closed relation; weighted by multiplicity it is symmetric and positive,
    being the Hessian of -(1/p) ln det H."""
    beta, lam = np.array([[1.3]]), np.array([[0.4]])
    hat, counts = _conjugates(bulk), packing(len(bulk.weights)).counts
    tangent = total_tangent(_closed(bulk, hat, beta, lam))[0, 0]
    for j, slope in enumerate(_slopes(lambda x: _closed(bulk, x, beta, lam).V, hat)):
        assert _close(-tangent[:, j], slope), j
    hessian = counts[:, None] * tangent
    assert _close(hessian, hessian.T, 1e-11)
    # W = Π⊥ answers only to V̂1 + V̂2: its Hessian has null directions
    assert np.linalg.eigvalsh(0.5 * (hessian + hessian.T)).min() > (
        -1e-12 if isinstance(bulk, Orthogonal) else 0.0
    )


@pytest.mark.parametrize("bulk", BULKS)
def test_the_signal_s_share_of_the_norms_is_minus_the_gradient_of_its_energy(bulk):
    """Total derivative of uᵀGu + Σ βd V2 um², the relation closed; off-diagonal entries are halved."""
    beta, lam = np.array([[1.3]]), np.array([[0.4]])
    hat, (_, _, u), pack = _conjugates(bulk), _point(bulk, 3), packing(len(bulk.weights))
    um = np.linspace(0.5, 1.0, len(bulk.weights))

    def energy(x: np.ndarray) -> np.ndarray:
        at = _closed(bulk, x, beta, lam)
        driven = at.root[:, :, None] * u
        form = np.einsum("uasktl,uask,uatl->ua", at.resolvent.forms(), driven, driven)
        return form + (pack.vector(at.V) * um**2).sum(axis=-1)

    at = _closed(bulk, hat, beta, lam)
    stiff = pack.vector(at.V) * um**2
    share = signal_energy_gradient(at, total_tangent(at), u, stiff, np.zeros_like(hat))[0, 0]
    for j, slope in enumerate(_slopes(energy, hat)):
        assert -share[j] * pack.counts[j] == pytest.approx(slope, rel=1e-7, abs=1e-8), j


# the exact bulk against matrices


@pytest.mark.parametrize("case", TRAINED, ids=named(TRAINED))
def test_the_exact_bulk_is_that_of_actually_trained_rows(case: Case):
    """V1, V2 and all forms, 16 draws at d = 300.

    Traces differ from the limit by O(1/d): 3/d is allowed. Forms fluctuate by O(d^-½), beside which O(1/d)
    shows as a bias of about half a standard error of the mean: z-scores have rms below 1.8, and, with 15 degrees
    of freedom and up to 81 entries, none above 5 (a chance of 1 in 100 for each case if there is no bias).
    """
    bulk, pack = bulk_of(case), packing(len(case.model.readout.values))
    K, lam = len(bulk.weights), 0.3
    hat1 = 0.5 * np.ones((K, K)) + 0.3 * np.eye(K)
    hat2 = np.linspace(0.2, 0.4, K)
    at = _closed(bulk, pack.pack(hat1, hat2)[None, None], np.array([[case.model.beta]]), np.array([[lam]]))
    root = at.root[0, 0]
    G = at.resolvent.forms()[0, 0] * root[:, None, None] * root
    rng = np.random.default_rng(11)
    draws = [rows.measured(rows.train(case, 300, rng), hat1, lam + hat2) for _ in range(16)]
    for name, value in {"V1": pack.matrix(at.V)[0, 0], "V2": pack.vector(at.V)[0, 0]}.items():
        mean = np.mean([draw[name] for draw in draws], axis=0)
        assert np.abs(mean - value).max() < 3.0 / 300 * np.abs(value).max(), name
    z = rows.z_scores([draw["G"] for draw in draws], G)
    assert np.sqrt(np.mean(z**2)) < 1.8
    assert np.abs(z).max() < 5.0


def test_overlaps_of_the_covariances_equal_the_free_cumulant_formula_for_odd_activations():
    """(1/d) tr C_s C_t = 1 + (g_s + g_t) E y² + g_s g_t ((E y²)² + E y⁴/α0)."""
    case, net = TRAINED[5], TRAINED[5].model
    assert (net.activation.name, case.target) == ("tanh", "sin")
    second, fourth = (1 - np.exp(-2.0)) / 2, (3 - 4 * np.exp(-2.0) + np.exp(-8.0)) / 8
    # E N² = E σ'² - h1², by the reference's own rule
    slope = PLAIN["tanh"]._replace(f=lambda x: 1.0 / np.cosh(x) ** 2)
    mean, _, square, _ = averages(slope, 0.0, 1.0)
    g = (net.eta / net.beta * np.array(net.readout.values)) ** 2 * (square - mean**2) / net.alpha0
    expected = 1 + (g[:, None] + g) * second + np.outer(g, g) * (second**2 + fourth / net.alpha0)
    assert bulk_of(case).norm_overlap()[0] == pytest.approx(expected, rel=1e-11)


@pytest.mark.parametrize("case", TRAINED[3:5], ids=named(TRAINED[3:5]))
def test_overlaps_of_the_covariances_equal_traces_for_any_activation(case: Case):
    """(1/d) tr C² with C = M² + gA built from batches at d = 300; corrections of order 1/d, 1 per cent allowed."""
    net, slope = case.model, case.model.activation.derivative
    z, w = np.polynomial.hermite_e.hermegauss(200)
    w = w / w.sum()
    if net.activation.name == "relu":  # the derivative jumps: exact values instead
        h2, rest = 1 / np.sqrt(2 * np.pi), 0.25 - 1 / (2 * np.pi)
    else:
        h1, h2 = w @ slope(z), w @ (z * slope(z))
        rest = w @ (slope(z) - h1 - h2 * z) ** 2
    k = net.eta / net.beta
    traces = []
    rng = np.random.default_rng(4)
    for _ in range(12):
        batch = rows.train(case, 300, rng)
        X, e = batch.X, batch.residual
        M = np.eye(300) + k * h2 * (X.T * e) @ X / len(e)
        C = M @ M + k**2 * rest / net.alpha0 * (X.T * e**2) @ X / len(e)
        traces.append((C**2).sum() / 300)
    expected = float(bulk_of(case).norm_overlap().item())
    error = np.std(traces, ddof=1) / np.sqrt(len(traces))
    assert abs(np.mean(traces) - expected) < 4 * error + 0.01 * expected


# limits


def test_without_a_third_hermite_coefficient_a_population_step_leaves_an_isotropic_bulk():
    """At α0 = ∞ only the norms' correlation with the row (E[σ'(h)(h² - 1)], zero here) would be left."""
    net = gs.Network("x + 0.05*(x**5 - 10*x**3 + 15*x)", eta=1.1, alpha0=np.inf)
    exact, isotropic = (gs.predict(net, "sin", alpha=1.3, lam=0.1, bulk=b) for b in ("exact", "isotropic"))
    for name in ("test_error", "train_error", "m", "zeta", "psi", "q1", "q2", "V1", "V2"):
        assert float(exact[name]) == pytest.approx(float(isotropic[name]), rel=1e-11, abs=1e-12), name


def test_a_population_step_leaves_isotropic_covariances_for_odd_activations():
    exact = bulk_of(trained("", "tanh", "sin", alpha0=np.inf)).resolvent(np.full((1, 1, 1, 1), 0.7))
    plain = Isotropic(np.ones((1, 1)), np.ones(1)).resolvent(np.full((1, 1, 1, 1), 0.7))
    assert exact.T.item() == pytest.approx(plain.T.item(), rel=1e-13)
    # γ = 1 leaves no ê mode; along the spike the forms agree
    assert exact.forms()[0, 0, 0, 0, 0, 0] == pytest.approx(plain.forms()[0, 0, 0, 0, 0, 0], rel=1e-12)


@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_a_vanishing_step_leaves_an_isotropic_bulk(activation):
    def difference(eta: float) -> float:
        net = gs.Network(activation, eta=eta, alpha0=0.7)
        a, b = (
            gs.predict(net, "sin", alpha=1.3, lam=0.1, bulk=b, tolerance=1e-12)
            for b in ("exact", "isotropic")
        )
        return abs(float(a.test_error) / float(b.test_error) - 1.0)

    assert difference(1e-7) < 1e-6  # of first order in η for what the isotropic mapping leaves out
    assert difference(1e-6) < 11.0 * difference(1e-7) + 1e-10


@pytest.mark.parametrize("case", TRAINED[:5], ids=named(TRAINED[:5]))
def test_the_exact_bulk_agrees_with_a_diagonalised_batch(case: Case):
    """Two derivations of one limit: the analytic one, and the covariance of one drawn batch of 600 dimensions."""
    exact, drawn = (
        float(case.predict(alpha=1.3, bulk=b, d=600).test_error) for b in ("exact", sampled(600, 3))
    )
    assert drawn == pytest.approx(exact, rel=0.05)  # one draw: fluctuations of order d^-½ = 0.04


@pytest.mark.parametrize("case", TRAINED, ids=named(TRAINED))
def test_every_mode_of_a_diagonalised_batch_weighs_what_the_limit_says(case: Case):
    """The forms' diagonal at d = 600, one draw: 4 d^-½ = 0.16 of it."""
    exact, drawn = bulk_of(case), bulk_of(case, sampled(600, 3))
    Vt = _point(exact)[0]
    size = exact.modes.count * len(exact.weights)
    a, b = (np.diag(bulk.resolvent(Vt).forms().reshape(size, size)) for bulk in (exact, drawn))
    assert b == pytest.approx(a, rel=0.16, abs=1e-12)  # a silent letter's norms do not vary
