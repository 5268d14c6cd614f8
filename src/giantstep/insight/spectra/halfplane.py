"""Fixed points of maps of the upper half plane, followed down to the real axis.

A resolvent's trace s(z), z = -x - iη, solves a system V = step(V, z) whose map sends the upper half plane to
itself: for η > 0 there is one fixed point there, and averaging V with its image converges to it. Slowly near
the real axis, where Newton's method, started from a larger η, takes over. A Newton step that leaves the half
plane or does not help is replaced by an average.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Step = Callable[[np.ndarray, np.ndarray], np.ndarray]

NEAR = 1e-9  # η/x at which the real axis counts as reached
_LEVELS = NEAR ** (np.arange(1, 12) / 12.0)  # η/x on the way there from |z| ~ x
_SHRINK = 0.3  # per step down the imaginary axis
_ROUNDS, _TOLERANCE = 60, 1e-12
_ON_THE_WAY = 1e-3  # tolerance, over η/x, where one only passes through: Im V must come out right
_STALLED = 1e-9  # residual at which rounding errors may keep Newton's method from improving
_DIFFERENCE = 1e-7  # relative step of the numerical derivative, exact enough for Newton's method


class Follower:
    """The fixed point of `step(V [A, P], z [A])` at any x > 0; `leading` are the entries of V that stay in the
    half plane (off-diagonal ones need not). `start` is V·z for |z| → ∞, and `scale` a typical eigenvalue."""

    def __init__(self, step: Step, start: np.ndarray, leading: np.ndarray, scale: float):
        self._step, self._leading = step, leading
        eta = scale * 1e3
        V = start[None] / (-1j * eta)
        heights, chain = [], []
        while eta > scale * 1e-17:
            V, _ = self.settle(V, np.array([-1j * eta]))
            heights.append(eta)
            chain.append(V[0])
            V, eta = V / _SHRINK, eta * _SHRINK
        self._heights, self._chain = np.array(heights), np.array(chain)

    def near_axis(self, x: np.ndarray, eta: float = NEAR) -> tuple[np.ndarray, np.ndarray]:
        """V at z = -x(1 + i·eta), [A, P], and its relative residual [A]."""
        index = np.clip(np.searchsorted(-np.log(self._heights), -np.log(x)), 0, len(self._heights) - 1)
        V = self._chain[index]
        for level in (1.0, *_LEVELS[eta < _LEVELS]):
            V, _ = self.settle(V, -x * (1.0 + 1j * level), max(_TOLERANCE, _ON_THE_WAY * level))
        return self.settle(V, -x * (1.0 + 1j * eta))

    def settle(
        self, V: np.ndarray, z: np.ndarray, tolerance: float = _TOLERANCE
    ) -> tuple[np.ndarray, np.ndarray]:
        """Solve at z from V: the solution and its relative residual."""
        V, size = V.copy(), self._size
        image = self._step(V, z)
        residual = self._residual(V, image)
        active = np.arange(len(z))
        for _ in range(_ROUNDS):
            active = active[~(residual[active] <= tolerance)]
            if not len(active):
                break
            v, zz, f, before = V[active], z[active], image[active], residual[active]
            slopes = [
                (self._step(v + unit, zz) - f) / unit[:, [j]]
                for j, unit in enumerate(self._units(_DIFFERENCE * size(v)))
            ]
            system = np.eye(v.shape[1]) - np.stack(slopes, axis=-1)
            new = v + np.linalg.solve(system, (f - v)[..., None])[..., 0]
            new_image = self._step(new, zz)
            after = self._residual(new, new_image)
            fine = np.all(new[:, self._leading].imag > 0, axis=1) & (after < before)
            settled = ~fine & (before < _STALLED)
            lost = np.flatnonzero(~fine & ~settled)
            if len(lost):
                new[lost] = 0.5 * (v[lost] + f[lost])
                new_image[lost] = self._step(new[lost], zz[lost])
                after[lost] = self._residual(new[lost], new_image[lost])
            keep = ~settled
            moved = active[keep]
            V[moved], image[moved], residual[moved] = new[keep], new_image[keep], after[keep]
            active = moved
        return V, residual

    def _residual(self, V: np.ndarray, image: np.ndarray) -> np.ndarray:
        found = (np.abs(image - V) / self._size(V)).max(axis=1)
        return np.where(np.isfinite(found), found, np.inf)

    def _size(self, V: np.ndarray) -> np.ndarray:
        """What entries are measured against: leading ones themselves, the others the largest leading one."""
        size = np.abs(V)
        others = np.setdiff1d(np.arange(V.shape[1]), self._leading)
        size[:, others] = size[:, self._leading].max(axis=1, keepdims=True)
        return size + 1e-300

    def _units(self, size: np.ndarray) -> np.ndarray:
        """One perturbation per entry, [P, A, P]."""
        P = size.shape[1]
        return np.eye(P)[:, None, :] * size[None]
