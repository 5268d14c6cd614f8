"""Fixed points of small maps: what carries over from one map to the next, and when a search ends."""

from __future__ import annotations

import numpy as np

from giantstep.theory.equations.anderson import FixedPoint, Search, Secants, anderson, newton

POINTS, SIZE = 5, 7
TOLERANCE = 1e-10
LIMIT = np.full(SIZE, 10.0)


def maps(rng: np.random.Generator, nearly: float):
    """A contraction of each point with some curvature, one `nearly` the same, and the fixed points of the first."""
    turn = np.linalg.qr(rng.standard_normal((POINTS, SIZE, SIZE)))[0]
    matrix = turn * rng.uniform(-0.9, 0.9, (POINTS, 1, SIZE)) @ np.swapaxes(turn, -1, -2)
    root = rng.standard_normal((POINTS, SIZE))

    def made(matrix: np.ndarray, root: np.ndarray):
        def step(x: np.ndarray, active: np.ndarray) -> np.ndarray:
            off = x - root
            return root + (matrix @ (off + 0.05 * np.tanh(off) ** 2)[..., None])[..., 0]

        return step

    close = made(matrix + nearly * rng.standard_normal(matrix.shape), root + nearly)
    return made(matrix, root), close, root


def sizes(x: np.ndarray) -> np.ndarray:
    return np.ones_like(x)


def always() -> np.ndarray:
    return np.ones(POINTS, bool)


def started(x: np.ndarray, secants: Secants | None = None) -> FixedPoint:
    return FixedPoint(x.copy(), secants or Secants(*x.shape))


def test_what_one_map_has_taught_saves_steps_on_another_that_is_nearly_the_same():
    step, close, root = maps(np.random.default_rng(1), 1e-3)
    found = started(np.zeros_like(root))
    anderson(Search(step, sizes, LIMIT, TOLERANCE, always), found, 80)
    assert np.abs(found.x - root).max() <= 1e-8  # a residual of 1e-10 where the map contracts by 0.9
    with_past = found.again()
    without = started(found.x)
    for other in (with_past, without):
        anderson(Search(close, sizes, LIMIT, TOLERANCE, always), other, 80)
        assert np.abs(other.x - (root + 1e-3)).max() <= 1e-8
    assert (with_past.evaluations - found.evaluations).sum() < 0.75 * without.evaluations.sum()


def test_a_past_that_misleads_is_forgotten():
    step, _, root = maps(np.random.default_rng(2), 0.0)
    misled = Secants(POINTS, SIZE)
    rng = np.random.default_rng(3)
    for _ in range(4):
        misled.add(always(), *rng.standard_normal((2, POINTS, SIZE)))
    found = started(np.zeros_like(root), misled)
    anderson(Search(step, sizes, LIMIT, TOLERANCE, always), found, 80)
    assert np.all(found.residual <= TOLERANCE)
    assert np.abs(found.x - root).max() <= 1e-8


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

    some = Search(noise, sizes, LIMIT, TOLERANCE, lambda: np.arange(POINTS) > 0)
    for method in (anderson, newton):
        tired = started(np.zeros((POINTS, SIZE)))
        method(some, tired, 50)
        assert tired.evaluations[0] <= 1 < tired.evaluations[1]


def test_secants_solve_a_linear_map_at_once():
    """With as many pairs as unknowns of a linear residual f = A (x - root), the mixed step leads to the root."""
    rng = np.random.default_rng(5)
    size = 4
    matrix, root, x = rng.standard_normal((size, size)), rng.standard_normal(size), np.zeros((1, size))
    secants = Secants(1, size)
    for move in rng.standard_normal((size, 1, size)):
        secants.add(np.ones(1, bool), move, move @ matrix.T)
    f = (x - root) @ matrix.T
    step = f - secants.correction(f, np.ones_like(f))
    np.testing.assert_allclose(x + step, root[None], rtol=1e-9)


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
