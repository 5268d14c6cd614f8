"""Fixed points of maps of the upper half plane, followed down to the real axis.

A resolvent's trace s(z), z = -x - iη, solves a system V = step(V, z) whose map sends the upper half plane to
itself: for η > 0 there is one fixed point there, and averaging V with its image converges to it. Slowly near
the real axis, where Newton's method takes over, started from a solved neighbour or from a larger η. A Newton step
that leaves the half plane or does not help is replaced by another. Wherever it started from, what has converged
inside the half plane is the one fixed point.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...theory.symmetric import solve_small

if TYPE_CHECKING:
    from .equations import SpectralEquations


class Image(NamedTuple):
    """Where a map sends V: [A, P], and its derivative by V there, [A, P, P]."""

    value: np.ndarray
    slopes: np.ndarray


NEAR = 1e-9  # η/x at which the real axis counts as reached
_LEVELS = NEAR ** (np.arange(0, 12) / 12.0)  # η/x on the way there from |z| ~ x
_HEIGHTS = 10.0 ** np.arange(3, -17, -1)  # |z| over the scale, down the imaginary axis
_ROUNDS, _TOLERANCE = 60, 1e-12
_FEW_ROUNDS = 12  # to settle from a good start
_SPARSE = 8  # one in so many points is reached from far above, if none is known yet
_ON_THE_WAY = 1e-3  # tolerance, over η/x, where one only passes through: Im V must come out right
_STALLED = 1e-9  # residual at which rounding errors may keep Newton's method from improving
_ROUNDED = 1e-11  # imaginary part, over the size, that rounding errors may take away
_DIFFERENCE = 1e-7  # relative step of the numerical derivative, exact enough for Newton's method
TINY = float(np.finfo(float).tiny)


class HalfPlaneSolver:
    """The fixed point of some equations at any x > 0; `scale` is a typical eigenvalue."""

    def __init__(self, equations: SpectralEquations, scale: float):
        self.equations, self._heights = equations, scale * _HEIGHTS
        z = -1j * self._heights
        V, residual = self.settle(equations.start * z[:, None] ** equations.powers, z, rounds=_FEW_ROUNDS)
        # far above anything, at height 0, rounding errors may be all that there is
        for i in 1 + np.flatnonzero(~(residual[1:] <= _STALLED)):
            above = V[i - 1 : i] * (self._heights[i] / self._heights[i - 1]) ** equations.powers
            V[i : i + 1], _ = self.settle(above, z[i : i + 1])
        self._chain = V
        self._known = np.empty(0), np.empty((0, V.shape[1]), complex)  # x in order, and V near the axis there

    def near_axis(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """V at z = -x(1 + i·NEAR), [A, P], and its relative residual [A].

        From the nearest solution, then from that on the other side of x (the nearest is no help across an edge of the
        support), and at last from far above.
        """
        if not len(x):
            return np.empty((0, self._chain.shape[1]), complex), np.empty(0)
        if not len(self._known[0]):
            self._remember(x[::_SPARSE], *self._from_above(x[::_SPARSE]))
        V, residual = np.empty((len(x), self._chain.shape[1]), complex), np.full(len(x), np.inf)
        sides = [partial(self._from_neighbour, nearest=near) for near in (True, False)]
        for solve in (*(sides if len(self._known[0]) else ()), self._from_above):
            lost = np.flatnonzero(~(residual <= _STALLED))
            if len(lost):
                V[lost], residual[lost] = solve(x[lost])
        self._remember(x, V, residual)
        return V, residual

    def _from_neighbour(self, x: np.ndarray, nearest: bool) -> tuple[np.ndarray, np.ndarray]:
        """From what is known next to x, on the side where that is nearest or on the other, as if V went as far out."""
        known, V = self._known
        right = np.clip(np.searchsorted(known, x), 0, len(known) - 1)
        left = np.maximum(right - 1, 0)
        at = np.where((x * x > known[left] * known[right]) == nearest, right, left)
        moved = V[at] * (x / known[at])[:, None] ** self.equations.powers
        return self.settle(moved, -x * (1.0 + 1j * NEAR), rounds=_FEW_ROUNDS)

    def _from_above(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """From |z| ~ x down to the axis, level by level."""
        above = np.searchsorted(-np.log(self._heights), -np.log(x))
        V = self._chain[np.clip(above, 0, len(self._heights) - 1)]
        for level in _LEVELS:
            V, _ = self.settle(V, -x * (1.0 + 1j * level), max(_TOLERANCE, _ON_THE_WAY * level))
        return self.settle(V, -x * (1.0 + 1j * NEAR))

    def _remember(self, x: np.ndarray, V: np.ndarray, residual: np.ndarray) -> None:
        """Keep what is solved, to start its neighbours from."""
        solved = residual <= _STALLED
        all_x = np.concatenate([self._known[0], x[solved]])
        order = np.argsort(all_x)
        self._known = all_x[order], np.concatenate([self._known[1], V[solved]])[order]

    def settle(
        self, V: np.ndarray, z: np.ndarray, tolerance: float = _TOLERANCE, rounds: int = _ROUNDS
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve at z from V: the solution and its relative residual."""
        V = V.copy()
        image, slopes = (part.copy() for part in self.equations.step(V, z))
        residual = self._residual(V, image)
        active = np.arange(len(z))
        for _ in range(rounds):
            active = active[~(residual[active] <= tolerance)]
            if not len(active):
                break
            v, zz, f, before = V[active], z[active], image[active], residual[active]
            system = np.eye(v.shape[1]) - slopes[active]
            new = v + solve_small(system, f - v)
            new_image, new_slopes = self.equations.step(new, zz)
            after = self._residual(new, new_image)
            fine = self.equations.inside(new) & (after < before)
            settled = ~fine & (before < _STALLED)
            lost = np.flatnonzero(~fine & ~settled)
            if len(lost):
                # to the mirror image, which near the axis is close to a solution if it is itself, or to the average
                mirrored = np.conj(new[lost])
                usable = self.equations.inside(mirrored)[:, None]
                new[lost] = np.where(usable, mirrored, 0.5 * (v[lost] + f[lost]))
                new_image[lost], new_slopes[lost] = self.equations.step(new[lost], zz[lost])
                after[lost] = self._residual(new[lost], new_image[lost])
            keep = ~settled
            moved = active[keep]
            V[moved], image[moved], slopes[moved] = new[keep], new_image[keep], new_slopes[keep]
            residual[moved] = after[keep]
            active = moved
        return V, np.where(self.equations.inside(V), residual, np.inf)

    def _residual(self, V: np.ndarray, image: np.ndarray) -> np.ndarray:
        found = (np.abs(image - V) / self.equations.sizes(V)).max(axis=1)
        return np.where(np.isfinite(found), found, np.inf)


def in_half_plane(matrices: np.ndarray) -> np.ndarray:
    """Whether symmetric matrices [A, n, n] have a positive imaginary part, up to rounding errors of their own size, and
    of each entry: samples of an infinite batch have diagonal entries of almost 0 beside others that are not."""
    size = np.sqrt(np.abs(np.diagonal(matrices, axis1=-2, axis2=-1))) + TINY
    imaginary = np.where(np.abs(np.imag(matrices)) > _ROUNDED * np.abs(matrices), np.imag(matrices), 0.0)
    imaginary /= size[:, :, None] * size[:, None, :]
    if matrices.shape[-1] == 1:
        return imaginary[:, 0, 0] > -_ROUNDED
    finite = np.asarray(np.isfinite(imaginary).all(axis=(1, 2)))
    return finite & (np.linalg.eigvalsh(np.where(finite[:, None, None], imaginary, 0.0))[:, 0] > -_ROUNDED)


def differentiated(f: Callable[[np.ndarray], np.ndarray], V: np.ndarray) -> Image:
    """f(V), [A, P], with its derivative by differences."""
    value, delta = f(V), _DIFFERENCE * (np.abs(V) + TINY)
    units = np.eye(V.shape[1]) * delta[:, None, :]  # [A, P, P]
    slopes = [(f(V + units[:, j]) - value) / delta[:, [j]] for j in range(V.shape[1])]
    return Image(value, np.stack(slopes, axis=-1))
