"""Every bulk: derivatives against differences, forms that are forms, and traces of actual random matrices."""

import numpy as np
import pytest

import giantstep as gs
from giantstep.theory.bulk import Bulk, Isotropic, Orthogonal, TrainedBulk
from giantstep.theory.bulk.interpolated import ChebyshevLine, InterpolatedBulk
from giantstep.theory.equations.response import signal_norms
from giantstep.theory.modes import Modes
from giantstep.theory.problem import model_grid, pose
from giantstep.theory.symmetric import packing

from ..zoo import TRAINED, Case, named
from . import rows

# fourth-order differences with step 3e-4: truncation about 1e-14 times a fifth derivative, which may be 1e4 where Ṽ is
# nearly singular, and rounding about 1e-16/3e-4 = 3e-13, of size one
STEP, DIFFERENCES = 3e-4, 1e-8
ONE = np.ones((1, 1))
BETA, LAM = 1.3 * ONE, 0.4 * ONE


def bulk_of(case: Case) -> Bulk:
    grid = model_grid(case.model, case.label, alpha=1.0, lam=1.0)
    return pose(case.model, case.label, grid).bulks(np.arange(1))[0]


def _all_bulks():
    both, plane = np.array([0.4, 0.6]), Modes(spikes=2, signals=2)
    bulks = {
        "isotropic": Isotropic(np.array([[1.3]]), np.ones(1)),
        "isotropic letters": Isotropic(np.array([[1.3, 0.7, 1.3]]), np.array([0.2, 0.5, 0.3])),
        "isotropic, two spikes": Isotropic(np.array([[1.3, 0.7]]), both, plane),
        "orthogonal": Orthogonal(both),
        "orthogonal, two spikes": Orthogonal(both, plane),
    }
    for case in TRAINED:
        bulks[f"exact, {case.name}"] = exact = bulk_of(case)
        if isinstance(exact, TrainedBulk) and len(exact.weights) == 1:
            line = ChebyshevLine(exact)
            bulks[f"along a line, {case.name}"] = InterpolatedBulk(line, slice(None))
    return pytest.mark.parametrize("bulk", [pytest.param(bulk, id=name) for name, bulk in bulks.items()])


every_bulk = _all_bulks()


def _point(bulk: Bulk, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A positive Ṽ, a symmetric direction to move it, and a drive of the modes."""
    rng, K = np.random.default_rng(seed), len(bulk.weights)
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


def _energy(forms: np.ndarray, u: np.ndarray) -> np.ndarray:
    return np.einsum("uasktl,uask,uatl->ua", forms, u, u)


def _close(found: np.ndarray, expected: np.ndarray, tolerance: float = DIFFERENCES) -> bool:
    return float(np.abs(found - expected).max()) <= tolerance * max(1.0, float(np.abs(expected).max()))


@every_bulk
def test_slopes_are_the_derivatives_of_the_resolvent(bulk):
    """And the cotangent is the gradient of the driven form."""
    Vt, move, u = _point(bulk)
    at = bulk.resolvent(Vt)
    units = 0.2 * packing(len(bulk.weights)).units  # where Ṽ is nearly singular, 1 is too far for differences
    for found, f in zip(at.slopes, (lambda x: -bulk.resolvent(x).T, lambda x: bulk.resolvent(x).T @ x), strict=True):
        for along, unit in zip(found[0, 0], units, strict=True):
            assert _close(0.2 * along, _slope(f, Vt, unit[None, None])[0, 0])
    pull = _slope(lambda x: _energy(bulk.resolvent(x).forms(), u), Vt, move)[0]
    assert _close(np.array([(at.cotangent(u) * move).sum()]), pull)


@every_bulk
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


@pytest.mark.parametrize(
    ("net", "target"),
    [
        (gs.Network("tanh", eta=3, alpha0=0.3), "sin"),
        (gs.Network("relu", eta=3, alpha0=0.3, steps=2), "sin"),
        (gs.Network("relu", eta=1, alpha0=1), gs.Target("sin", inputs=gs.Inputs.power_law(0.4, d=100))),
    ],
    ids=["one step", "two steps", "inputs with a covariance"],
)
def test_answers_do_not_depend_on_how_many_readouts_share_a_first_layer(net, target):
    """A few are solved one by one, many along a line: here over many decades of Ṽ, and rows of a wide spectrum."""
    lam = np.geomspace(1e-6, 1e6, 61)
    many, few = (gs.predict(net, target, alpha=1.3, lam=some, d=1e4) for some in (lam, lam[::20]))
    for name in ("test_error", "train_error", "m", "zeta", "psi", "chi", "q1", "q2", "V1", "V2"):
        np.testing.assert_allclose(many[name][::20], few[name], rtol=1e-10, err_msg=name)


# the relation between responses and their conjugates


@every_bulk
def test_the_total_tangent_is_a_hessian_and_the_signal_s_norms_minus_the_gradient_of_its_energy(bulk):
    """-∂V/∂V̂ equals differences of the closed relation; weighted by multiplicity it is symmetric and positive, being
    the Hessian of -(1/p) ln det H. The energy is uᵀGu + Σ βd V2 um²; off-diagonal entries of its gradient are halved.
    """
    K, pack, (_, _, u) = len(bulk.weights), packing(len(bulk.weights)), _point(bulk, 3)
    hat = pack.pack(_point(bulk, 7)[0] + 0.3 * np.eye(K), np.linspace(0.2, 0.5, K)[None, None])
    um = np.linspace(0.5, 1.0, K)

    def responses_and_energy(x: np.ndarray) -> np.ndarray:
        at = rows.closed(bulk, x, BETA, LAM)
        energy = _energy(at.resolvent.forms(), at.root[:, :, None] * u)
        return np.concatenate([at.V, (energy + (pack.vector(at.V) * um**2).sum(axis=-1))[..., None]], axis=-1)

    at = rows.closed(bulk, hat, BETA, LAM)
    tangent = np.stack([at.moved(unit[None, None])[0, 0] for unit in np.eye(pack.size)], axis=1)
    driven = at.root[:, :, None] * u
    by_log_tau = np.einsum("uasktl,uask,uatl->uak", at.resolvent.forms(), driven, driven)
    stiff = by_log_tau + pack.vector(at.V) * um**2
    source, rest = signal_norms(at, u, np.zeros((1, 1, 0, K)), stiff, np.zeros_like(hat))
    share = (at.moved(source) + rest)[0, 0]
    slopes = _slopes(responses_and_energy, hat)
    assert _close(-tangent, slopes[:, :-1].T)
    assert -share * pack.counts == pytest.approx(slopes[:, -1], rel=1e-7, abs=1e-8)
    hessian = pack.counts[:, None] * tangent
    assert _close(hessian, hessian.T, 1e-11)
    # W = Π⊥ answers only to V̂1 + V̂2: its Hessian has null directions
    least = -1e-12 if isinstance(bulk, Orthogonal) else 0.0
    assert np.linalg.eigvalsh(0.5 * (hessian + hessian.T)).min() > least


# the exact bulk against matrices


@pytest.mark.parametrize("case", TRAINED, ids=named(TRAINED))
def test_the_exact_bulk_is_that_of_actually_trained_rows(case: Case):
    """V1, V2, overlaps of covariances and all forms, 16 draws at d = 300.

    Traces differ from the limit by O(1/d): 3/d is allowed, for each step. Forms fluctuate by O(d^-½), beside which
    O(1/d) shows as a bias of about half a standard error of the mean: z-scores have rms below 1.8, and, with 15 degrees
    of freedom and up to 81 entries, none above 5 (a chance of 1 in 100 for each case if there is no bias). The variance
    of norms after three steps has corrections of 30/d: each further step is allowed 3/d beside the standard error.
    """
    bulk, pack = bulk_of(case), packing(len(case.model.readout.values))
    K, lam, allowed = len(bulk.weights), 0.3, 3.0 * case.model.most_steps / 300
    hat1, hat2 = 0.5 * np.ones((K, K)) + 0.3 * np.eye(K), np.linspace(0.2, 0.4, K)
    at = rows.closed(bulk, pack.pack(hat1, hat2)[None, None], case.model.beta * ONE, lam * ONE)
    root, rng = at.root[0, 0], np.random.default_rng(11)
    draws = [rows.measured(rows.train(case, 300, rng), hat1, lam + hat2) for _ in range(16)]
    expected = {"V1": pack.matrix(at.V), "V2": pack.vector(at.V), "overlap": bulk.norm_overlap()[:, None]}
    for name, value in expected.items():
        values = np.array([draw[name] for draw in draws])
        scatter = 4.0 * values.std(axis=0, ddof=1) / 4.0 if name == "overlap" else 0.0
        assert np.all(np.abs(values.mean(axis=0) - value[0, 0]) < allowed * np.abs(value).max() + scatter), name
    forms = at.resolvent.forms()[0, 0] * root[:, None, None] * root
    z = rows.z_scores([draw["G"] for draw in draws], forms, allowed - 3.0 / 300)
    assert np.sqrt(np.mean(z**2)) < 1.8
    assert np.abs(z).max() < 5.0
