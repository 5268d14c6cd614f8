"""Fixed points of small maps: they are found, and a search ends."""

from __future__ import annotations

import numpy as np

from giantstep.theory.equations.anderson import FixedPoint, Search, Secants, anderson, newton

POINTS, SIZE = 5, 7
LIMIT = np.full(SIZE, 10.0)


def sizes(x: np.ndarray) -> np.ndarray:
    return np.ones_like(x)


def always() -> np.ndarray:
    return np.ones(POINTS, bool)


def started(x: np.ndarray, secants: Secants | None = None) -> FixedPoint:
    return FixedPoint(x.copy(), secants or Secants(*x.shape))


def test_a_past_that_misleads_is_forgotten():
    """Contractions with some curvature, one for each point, after four pairs of differences that are noise."""
    rng = np.random.default_rng(2)
    turn = np.linalg.qr(rng.standard_normal((POINTS, SIZE, SIZE)))[0]
    matrix = turn * rng.uniform(-0.9, 0.9, (POINTS, 1, SIZE)) @ np.swapaxes(turn, -1, -2)
    root = rng.standard_normal((POINTS, SIZE))

    def step(x: np.ndarray, active: np.ndarray) -> np.ndarray:
        off = x - root
        return root + (matrix @ (off + 0.05 * np.tanh(off) ** 2)[..., None])[..., 0]

    misled = Secants(POINTS, SIZE)
    for _ in range(4):
        misled.add(always(), *rng.standard_normal((2, POINTS, SIZE)))
    found = started(np.zeros_like(root), misled)
    anderson(Search(step, sizes, LIMIT, 1e-10, always), found, 80)
    assert np.all(found.residual <= 1e-10)
    assert np.abs(found.x - root).max() <= 1e-8  # a residual of 1e-10 where the map contracts by 0.9


def test_a_small_residual_far_from_the_fixed_point_is_not_the_end():
    """x → x - 1e-4 (x - root): at a distance of 5e-5 the residual is 5e-9, and only the past tells."""
    root = np.linspace(-1.0, 1.0, POINTS)[:, None] + np.zeros((POINTS, SIZE))

    def soft(x: np.ndarray, active: np.ndarray) -> np.ndarray:
        return x - 1e-4 * (x - root)

    before = started(root + 1.0)
    anderson(Search(soft, sizes, LIMIT, 1e-8, always), before, 80)
    found = started(root + 5e-5, before.secants)
    anderson(Search(soft, sizes, LIMIT, 1e-8, always), found, 80)
    assert np.abs(found.x - root).max() <= 1e-7  # ten times the residual allowed, as for any other map


def test_a_search_ends_where_work_is_not_worthwhile():
    rng = np.random.default_rng(4)

    def noise(x: np.ndarray, active: np.ndarray) -> np.ndarray:
        return x + 0.1 + 0.01 * rng.standard_normal(x.shape)

    some = Search(noise, sizes, LIMIT, 1e-10, lambda: np.arange(POINTS) > 0)
    for method in (anderson, newton):
        tired = started(np.zeros((POINTS, SIZE)))
        method(some, tired, 50)
        assert tired.evaluations[0] <= 1 < tired.evaluations[1]


def test_newtons_method_follows_a_curve_along_which_the_map_is_close_to_the_identity():
    """x → x - (1e-6 (x0 - root), x1 - x0², ...): residuals of 1e-9 at a distance of 1e-3. A step along the curve leaves
    it by 1e-6, and residuals rise before they fall; the distance by the same Jacobian falls all along."""
    root = np.linspace(0.5, 1.0, POINTS)

    def curved(x: np.ndarray, active: np.ndarray) -> np.ndarray:
        f = x[:, :1] ** 2 - x
        f[:, 0] = -1e-6 * (x[:, 0] - root)
        return x + f

    at = np.stack([root, *[root**2] * (SIZE - 1)], axis=1)
    begin = root + 1e-3
    found = started(np.stack([begin, *[begin**2] * (SIZE - 1)], axis=1))
    search = Search(curved, sizes, LIMIT, 1e-8, always, near=1e-7)
    anderson(search, found, 80)
    assert np.all(found.residual <= 1e-8)
    assert np.abs(found.x - at).max() > 1e-4  # which the residual does not tell,
    found.away[:] = np.inf  # and somebody must ask for
    newton(search, found, 12)
    assert np.abs(found.x - at).max() <= 1e-7
    assert np.all(found.away <= 1e-7)
