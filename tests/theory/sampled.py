"""The bulk of a trained network with its batches drawn at finite d: an independent check of the exact one.

`gs.predict(net, target, bulk=sampled(d, seed), ...)`. Each batch is drawn; spikes, rows' covariances C_s and the
correlations of their norms follow from its samples as they are, step by step. No pencil, no free probability:

    P = (C⁻¹ + Ṽ ⊗ 1)⁻¹,    C = diag(C_s),

is one matrix over groups and directions of input space, [K·d, K·d]. As plain as it can be, and as slow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

import giantstep as gs
from giantstep.theory.batch import BatchLaw
from giantstep.theory.bulk import Bulk, Resolvent
from giantstep.theory.bulks import BulkLaw, Bulks
from giantstep.theory.derivative_moments import at_rest, shifted
from giantstep.theory.first_layers import FirstLayers
from giantstep.theory.labels import BinaryLaw, labels_of
from giantstep.theory.layer import FirstLayer
from giantstep.theory.modes import Modes
from giantstep.theory.problem import Problem
from giantstep.theory.step_covariance import StepCovariance


def sampled(d: int, seed: int) -> BulkLaw:
    """The rows of a trained network, with batches drawn at dimension d."""
    return BulkLaw(f"sampled:{d}:{seed}", partial(_make, d=d, seed=seed), trained=True)


def _make(problem: Problem, chunk: np.ndarray, refinement: int, d: int, seed: int) -> Bulks:
    """Some networks' bulk; they share the random numbers of their batches."""
    trained = problem.first_layers
    frame = trained.layer.at(chunk).frame()
    parts = []
    for u, to_target, to_spikes in zip(chunk, *frame.in_target_and_spikes(), strict=True):
        one = _drawn(trained, int(u), d, seed)
        parts.append(_rooted(one, _orthonormal(to_target @ one.theta + to_spikes @ one.spikes)))
    root, y, direct = (np.stack(values) for values in zip(*parts, strict=True))
    return (Dense(trained.neurons.weights, root, y, direct, trained.neurons.modes(frame)),)


@dataclass
class Dense(Bulk):
    """Symmetric roots of C [U, K, d, d], and modes as W_s y [U, modes, K, d]; norms and biases have an independent part
    besides, of covariance `direct` [U, K, own, own]."""

    weights: np.ndarray
    root: np.ndarray
    y: np.ndarray
    direct: np.ndarray
    modes: Modes

    @property
    def c(self) -> np.ndarray:  # type: ignore[override]
        return (self.root**2).sum(axis=(-1, -2)) / self.root.shape[-1]

    def resolvent(self, Vt: np.ndarray) -> DenseResolvent:
        return DenseResolvent(self, Vt)

    def norm_overlap(self) -> np.ndarray:
        C = self.root @ self.root
        return np.einsum("usij,utij->ust", C, C, optimize=True) / C.shape[-1]


class DenseResolvent(Resolvent):
    """P as blocks [U, A, K, K, d, d]."""

    def __init__(self, bulk: Dense, Vt: np.ndarray):
        self.bulk, self.Vt = bulk, Vt
        U, K, d, _ = bulk.root.shape
        A = Vt.shape[1]
        self._P = np.empty((U, A, K, K, d, d))
        for u in range(U):
            pairs = np.einsum("sij,tjk->stik", bulk.root[u], bulk.root[u])
            for a in range(A):
                coupled: np.ndarray = np.eye(K * d) + (Vt[u, a][:, :, None, None] * pairs).swapaxes(
                    1, 2
                ).reshape(K * d, K * d)
                inner = np.linalg.inv(coupled).reshape(K, d, K, d).swapaxes(1, 2)
                self._P[u, a] = bulk.root[u][:, None] @ inner @ bulk.root[u][None]
        self.T = np.einsum("uastii->uast", self._P) / d

    def tangent(self, dVt: np.ndarray) -> np.ndarray:
        moved = np.einsum("uanbc,uasbij,uactji->uanst", dVt, self._P, self._P, optimize=True)
        return moved / self.bulk.root.shape[-1]

    def forms(self) -> np.ndarray:
        y = self.bulk.y
        G = np.einsum("umsi,uastij,untj->uamsnt", y, self._P, y, optimize=True)
        own = self.bulk.modes.own  # the part of norms and biases that no row knows of
        for s in range(G.shape[3]):
            G[:, :, own, s, own, s] += self.bulk.direct[:, None, s]
        return G

    def cotangent(self, u: np.ndarray) -> np.ndarray:
        driven = np.einsum("umsi,uams->uasi", self.bulk.y, u, optimize=True)
        pulled = np.einsum("uastij,uatj->uasi", self._P, driven, optimize=True)
        return -np.einsum("uasi,uati->uast", pulled, pulled)


class _Drawn(NamedTuple):
    """Rows after drawn batches, by group: d times the covariance of (w, δ), or (w, δ, b) with biases; spikes; and θ̂."""

    joint: np.ndarray  # [K, d + own, d + own]
    spikes: np.ndarray  # [K, d]
    theta: np.ndarray  # [k, d]

    @property
    def d(self) -> int:
        return self.spikes.shape[1]

    @property
    def C(self) -> np.ndarray:
        """Of the rows, [K, d, d]."""
        return self.joint[:, : self.d, : self.d]

    @property
    def pull(self) -> np.ndarray:
        """dE[δw], and dE[bw], [K, own, d]."""
        return self.joint[:, self.d :, : self.d]

    @property
    def own(self) -> np.ndarray:
        """d times the covariance of (δ, b), [K, own, own]."""
        return self.joint[:, self.d :, self.d :]


def _drawn(trained: FirstLayers, u: int, d: int, seed: int) -> _Drawn:
    neurons, K = trained.neurons, len(trained.neurons.values)
    rng = np.random.default_rng([seed, d])
    theta = np.eye(d)[: trained.target.directions]  # along the first axes, without loss of generality
    biases = [neurons.bias_spread] if neurons.bias_spread else []
    start = np.diag([*[1.0] * d, neurons.spread, *biases])
    state = _Drawn(np.broadcast_to(start, (K, *start.shape)), np.zeros((K, d)), theta)
    for t in np.flatnonzero(trained.taken[u]):
        state = _after(trained, u, int(t), state, rng)
    return state


def _after(trained: FirstLayers, u: int, t: int, state: _Drawn, rng: np.random.Generator) -> _Drawn:
    """One step on a batch of its own, for all groups."""
    neurons, step, target = trained.neurons, trained.steps[t].at(np.array([u])), trained.target
    K, d = state.spikes.shape
    n = max(1, round(d / float(step.share[0])))
    X = rng.standard_normal((n, d))
    z = X @ state.theta.T
    labels = _labels(target, z, float(step.noise[0]), rng)
    c = np.einsum("sii->s", state.C)[None] / d
    first = not state.spikes.any()
    if first:
        slopes, _ = at_rest(neurons.activation, neurons.biases)
    else:
        slopes, _ = shifted(neurons.activation, (state.spikes @ X.T + neurons.biases[:, None])[None], c)
    output = neurons.output(slopes)[0] + np.zeros(n)
    e = -np.asarray(step.loss.derivative(labels, output))
    pairs = np.triu_indices(z.shape[1])
    rows = np.concatenate([np.ones((1, n)), z.T, z.T[pairs[0]] * z.T[pairs[1]]])
    law = BatchLaw(e[None], rows[None] / n, slopes)
    before = FirstLayer(c, state.spikes @ state.spikes.T[None], np.zeros((1, K, z.shape[1])), np.ones((1, K)))
    one = StepCovariance(neurons, before, step._replace(share=np.array([d / n])), law, first)
    level, k = np.broadcast_to, one.k[0]
    s0, s1, n2 = (level(part[0], (K, n)) for part in (slopes.s0, slopes.s1, slopes.n2))
    functions = {"fa": one.fa[0, 0], "fb": one.fb[0, 0], "fg": one.fg[0], "fs": one.fs[0]}
    vector = {name: level(values, (K, n)) @ X / n for name, values in functions.items()}
    joint, norm = np.empty_like(state.joint), d  # a norm's place; that of a bias is the next
    for s in range(K):
        fa, fb, fg, fs = (vector[name][s] for name in ("fa", "fb", "fg", "fs"))
        turn, noise = np.eye(joint.shape[-1]), np.zeros(joint.shape[1:])
        turn[:d, :d] += k[s] * (X.T * (e * s1[s])) @ X / n
        turn[:d, norm], turn[norm, :d], turn[norm, norm] = (
            k[s] * fg,
            fb,
            (one.earlier[1] + one.gain)[0, s, 0, 0],
        )
        if neurons.bias_spread:
            turn[:d, norm + 1], turn[norm, norm + 1] = k[s] * fs, one.lift[0, s]
        noise[:d, :d] = k[s] ** 2 * d / n * (X.T * (e**2 * n2[s])) @ X / n
        noise[:d, norm] = noise[norm, :d] = fa
        noise[norm, norm] = one.direct[0, s, 0, 0]
        joint[s] = turn @ state.joint[s] @ turn.T + noise
    spikes = state.spikes + k[:, None] * ((e * s0) @ X / n)
    return _Drawn(joint, spikes, state.theta)


def _labels(target: gs.Target, z: np.ndarray, noise: float, rng: np.random.Generator) -> np.ndarray:
    """Labels at projections z [n, k]."""
    law, n = labels_of(target).law, len(z)
    if law is None or not labels_of(target).binary:
        return target.function(*z.T) + noise * rng.standard_normal(n)
    up = law.chance(z[:, 0], np.zeros(n))[0] if isinstance(law, BinaryLaw) else 0.5 * (1.0 + law.mean(*z.T))
    return np.where(rng.random(n) < up, 1.0, -1.0)


def _orthonormal(vectors: np.ndarray) -> np.ndarray:
    """One after the other, made unit and orthogonal to those before; 0 stays 0."""
    found: list[np.ndarray] = []
    for vector in vectors:
        for other in found:
            vector = vector - (vector @ other) * other
        length = np.linalg.norm(vector)
        found.append(vector / length if length > 1e-9 else 0.0 * vector)
    return np.stack(found)


def _vectors(one: _Drawn, units: np.ndarray) -> np.ndarray:
    """The modes but for the rows' covariance, [modes, K, d]: directions, dE[δw] and dE[bw]."""
    return np.concatenate([np.repeat(units[:, None], len(one.C), axis=1), np.swapaxes(one.pull, 0, 1)])


def _rooted(one: _Drawn, units: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Symmetric roots of the covariances [K, d, d], modes, and what is left of the covariance of (δ, b)."""
    values, bases = np.linalg.eigh(one.C)
    root = (bases * np.sqrt(np.maximum(values, 0.0))[:, None]) @ np.swapaxes(bases, -1, -2)
    y = _vectors(one, units)
    own = y[len(units) :]
    own[:] = np.linalg.solve(one.C, own[..., None])[..., 0]
    return root, y, _positive(one.own - np.einsum("msi,sij,nsj->smn", own, one.C, own))


def _positive(matrices: np.ndarray) -> np.ndarray:
    """Without what rounding has made negative."""
    values, vectors = np.linalg.eigh(matrices)
    return (vectors * np.maximum(values, 0.0)[..., None, :]) @ np.swapaxes(vectors, -1, -2)
